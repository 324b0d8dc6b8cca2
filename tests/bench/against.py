"""`make bench ARGS='--against COMMIT'`: gradeval as it is beside gradeval as it was, in pairs."""

import io
import subprocess
import tarfile
from pathlib import Path

from .measure import ROOT, Result, in_turn
from .suite import IN_PROCESS, Benchmark, Tool

HEADER = ["work", "cpu s", "was", "cpu ×", "wall s", "was", "wall ×", "output"]
LEGEND = "Minima of runs in turn. ×: what it is now over what it was; of CPU it is the steadier one."
IN_FOLDER = 'cd "$0" && PYTHONPATH="$0" exec "$@"'  # both for -m gradeval and for scripts that import it


def build(commit: str, folder: Path) -> None:
    """Write the files of a commit. Raises ValueError where git does not know it."""
    done = subprocess.run(["git", "archive", commit], cwd=ROOT, capture_output=True, check=False)
    if done.returncode:
        raise ValueError(done.stderr.decode(errors="replace").strip())
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        archive.extractall(folder, filter="data")


def is_ours(tool: Tool) -> bool:
    """Whether it is gradeval, as a command or as a library."""
    return not tool.missing and (
        tuple(tool.command[1:3]) == ("-m", "gradeval") or str(IN_PROCESS) in tool.command
    )


def compare(benchmark: Benchmark, then: Path, repeat: int) -> list[list[str]]:
    """A row for each of our tools, and for each measurement of the library."""
    tools = [tool for tool in benchmark.tools if is_ours(tool)]
    commands = {
        f"{side} {tool.name}": ["sh", "-c", IN_FOLDER, str(folder), *tool.command]
        for tool in tools
        for side, folder in (("now", ROOT), ("then", then))
    }
    results = in_turn(commands, dict.fromkeys(commands, repeat))
    return [
        row for tool in tools for row in rows(tool, results[f"now {tool.name}"], results[f"then {tool.name}"])
    ]


def rows(tool: Tool, now: Result, then: Result) -> list[list[str]]:
    """The rows of a tool, from its results on both sides."""
    if now.failure or then.failure:
        return [[tool.name, *["-"] * (len(HEADER) - 2), f"FAILED: {now.failure or 'then: ' + then.failure}"]]
    if str(IN_PROCESS) not in tool.command:
        cells = [cell for what in ("cpu", "wall") for cell in ratio(least(now, what), least(then, what))]
        is_same = now.outputs == then.outputs
        return [[tool.name, *cells, "same" if is_same else "DIFFERS"]]
    values = [
        [dict(line.split("\t") for line in output.splitlines()) for output in one.outputs]
        for one in (now, then)
    ]
    names = [name for name in values[0][0] if name in values[1][0]]
    return [
        [name, *["-"] * 3, *ratio(*(min(float(output[name]) for output in of) for of in values)), ""]
        for name in names
    ]


def least(result: Result, what: str) -> float:
    """The minimum of all samples."""
    return min(getattr(sample, what) for sample in result.samples)


def ratio(now: float, then: float) -> list[str]:
    """Three cells: now, then, and now over then."""
    return [f"{now:.4g}", f"{then:.4g}", f"{now / then:.3f}" if then else "-"]

"""`make bench ARGS='--against COMMIT'`: gradeval as it is beside gradeval as it was, in pairs."""

import io
import subprocess
import tarfile
from pathlib import Path

from .measure import ROOT, Result, in_turn
from .suite import IN_PROCESS, Benchmark, Tool, lines_of

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


def compare(benchmark: Benchmark, then: Path, repeat: int) -> list[list[str]]:
    """A row for each tool that is gradeval as a command, and for each measurement of it as a library."""
    tools = {
        tool.name: tool
        for tool in benchmark.tools
        if not tool.missing and (tool.command[1:3] == ["-m", "gradeval"] or str(IN_PROCESS) in tool.command)
    }
    commands = {
        f"{side} {name}": ["sh", "-c", IN_FOLDER, str(folder), *tool.command]
        for name, tool in tools.items()
        for side, folder in (("now", ROOT), ("then", then))
    }
    results = in_turn(commands, dict.fromkeys(commands, repeat))
    sides = ((tool, results[f"now {name}"], results[f"then {name}"]) for name, tool in tools.items())
    return [row for one in sides for row in rows(*one)]


def rows(tool: Tool, now: Result, then: Result) -> list[list[str]]:
    if now.failure or then.failure:
        return [[tool.name, *["-"] * (len(HEADER) - 2), f"FAILED: {now.failure or 'then: ' + then.failure}"]]
    if str(IN_PROCESS) not in tool.command:
        same = "same" if now.outputs == then.outputs else "DIFFERS"
        cells = [cell for what in ("cpu", "wall") for cell in ratio(min(now.of(what)), min(then.of(what)))]
        return [[tool.name, *cells, same]]
    values = [[lines_of(output) for output in result.outputs] for result in (now, then)]
    names = [name for name in values[0][0] if name in values[1][0]]
    return [[name, *["-"] * 3, *ratio(*(min(o[name] for o in of) for of in values)), ""] for name in names]


def ratio(now: float, then: float) -> list[str]:
    """Three cells: now, then, and now over then."""
    return [f"{now:.4g}", f"{then:.4g}", f"{now / then:.3f}" if then else "-"]

"""`make bench`, or `python -m tests.bench`: time, CPU and memory of gradeval and its peers."""

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import StatisticsError
from typing import Any

from . import against
from .measure import Result, in_turn
from .suite import DEFAULTS, MIB, OURS, SUITE, Benchmark, Results, Tool, Values, differences, values_of

WORKLOADS = Path(__file__).with_name("workloads.py")
PACKAGES = ("numpy", "click", "scipy", "ir_measures", "pytrec_eval-terrier", "ranx", "scikit-learn")
HEADER = [
    "tool",
    "wall s",
    "from - to",
    "cpu s",
    "peak MiB",
    "runs",
    "wall ×",
    "peak ×",
    "defaults ×",
    "values",
]
LEGEND = """\
Whole processes, in turn; medians. cpu: user and system. peak: largest resident set of the process.
wall ×, peak ×: gradeval's AP and nDCG@10 over the tool's; defaults ×: wall time of gradeval without -m over
the tool's. values: whether AP and nDCG@10 are gradeval's, to 4 decimals. A peak with < does not differ from
the runner's own, and has no ratio."""


def machine() -> dict[str, Any]:
    """What the times depend on."""
    packages = dict.fromkeys(PACKAGES, "not installed")
    for name in PACKAGES:
        with suppress(PackageNotFoundError):
            packages[name] = version(name)
    processor, trec_eval = platform.processor() or platform.machine(), "not on PATH: left out"
    with suppress(OSError, StopIteration):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        processor = next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    if shutil.which("trec_eval"):
        done = subprocess.run(["trec_eval", "--version"], capture_output=True, text=True, check=False)
        trec_eval = (done.stdout + done.stderr).strip().removeprefix("trec_eval version ")
    return {
        "processor": processor,
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "system": f"{platform.system()} {platform.release()}",
        "load": os.getloadavg()[0],
        "python": platform.python_version(),
        **packages,
        "trec_eval": trec_eval,
    }


def verdict(tool: Tool, result: Result, ours: Values) -> str:
    """The last column: same, DIFFERS, FAILED, or nothing where a tool evaluates nothing."""
    if tool.missing:
        return f"left out: {tool.missing}"
    if result.failure:
        return f"FAILED: {result.failure}"
    if not tool.values:
        return ""
    if not ours:
        return "not compared: gradeval has no values"
    for output in result.outputs:
        if different := differences(ours, values_of(tool, output)):
            return f"DIFFERS: {different[0]}"
    return "what others are compared with" if tool.name == OURS else "same"


def report(
    key: str, benchmark: Benchmark, size: int, least: float, results: Results, scale: float = 1
) -> dict[str, Any]:
    """Everything about one workload, as it goes into the JSON. Targets are met or not at scale 1 only."""
    results = defaultdict(Result, results)
    read = {tool.name: values_of(tool, *results[tool.name].outputs[-1:]) for tool in benchmark.tools}

    def over(ours: str, tool: str, what: str) -> float | None:
        if ours == tool or not (results[ours].samples and results[tool].samples):
            return None
        return results[ours].median(what) / results[tool].median(what)

    tools, targets = [], []
    for tool in benchmark.tools:
        result = results[tool.name]
        row: dict[str, Any] = {
            "tool": tool.name,
            "command": list(tool.command),
            "values": verdict(tool, result, read[OURS]),
            "read": [[*key, value] for key, value in read[tool.name].items()],
            "samples": [vars(sample) for sample in result.samples],
        }
        if result.samples:
            row["median"] = {what: result.median(what) for what in ("wall", "cpu", "peak")}
            row["hidden"] = row["median"]["peak"] <= least
            row["ratio"] = {what: over(OURS, tool.name, what) for what in ("wall", "cpu", "peak")}
            row["ratio"] |= {"wall, defaults": over(DEFAULTS, tool.name, "wall")}
            row["ratio"] |= {"peak": None} if row["hidden"] else {}
        tools.append(row)
    for target in benchmark.targets:
        value = None  # where a tool that it needs is missing or failed
        with suppress(KeyError, StatisticsError):
            value = target.value(results)
        met = None if value is None or scale != 1 else value <= target.limit
        targets.append({"what": target.what, "limit": target.limit, "value": value, "met": met})
    about = {"workload": key, "title": benchmark.title, "bytes": size, "load": os.getloadavg()[0]}
    return {**about, "tools": tools, "targets": targets, "left_out": benchmark.left_out}


def cells(row: dict[str, Any]) -> list[str]:
    if not row["samples"]:
        return [row["tool"], *["-"] * (len(HEADER) - 2), row["values"]]
    median, walls = row["median"], [sample["wall"] for sample in row["samples"]]
    ratios = [row["ratio"][what] for what in ("wall", "peak", "wall, defaults")]
    return [
        row["tool"],
        f"{median['wall']:.3f}",
        f"{min(walls):.3f} - {max(walls):.3f}",
        f"{median['cpu']:.3f}",
        f"{'< ' if row['hidden'] else ''}{median['peak'] / MIB:.0f}",
        str(len(walls)),
        *("" if value is None else f"{value:.3f}" for value in ratios),
        row["values"],
    ]


def table(rows: Sequence[Sequence[str]]) -> str:
    """Columns as wide as they need, numbers to the right, the first and last column to the left."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for first, *numbers, last in rows:
        middle = [cell.rjust(width) for cell, width in zip(numbers, widths[1:-1], strict=True)]
        lines.append("  ".join([first.ljust(widths[0]), *middle, last]).rstrip())
    return "\n".join(lines)


def printed(report: dict[str, Any]) -> str:
    def outcome(what: str, limit: float, value: float | None, met: bool | None) -> str:
        if value is None:
            return f"{what}: not measured, target ≤ {limit:g}"
        said = {True: ": met", False: ": NOT MET", None: " at scale 1"}[met]
        return f"{what}: {value:.3f}, target ≤ {limit:g}{said}"

    parts = [
        f"\n({report['workload']}) {report['title']}; {report['bytes'] / 1e6:.1f} MB of files; "
        f"load {report['load']:.1f} at the end",
        table([HEADER, *map(cells, report["tools"])]),
        *(outcome(**target) for target in report["targets"]),
        report["left_out"],
    ]
    return "\n".join(filter(None, parts))


def wrong(verdicts: Sequence[str]) -> bool:
    return any(verdict.startswith(("DIFFERS", "FAILED")) for verdict in verdicts)


@contextmanager
def made(key: str, options: argparse.Namespace) -> Iterator[tuple[Benchmark, int]]:
    """A workload, made in a folder for as long: what is measured there, and the size of its files."""
    with tempfile.TemporaryDirectory(prefix="gradeval-bench-") as temporary:
        folder = (options.keep.resolve() if options.keep else Path(temporary)) / key
        subprocess.run([sys.executable, str(WORKLOADS), str(folder), key, str(options.scale)], check=True)
        size = 0
        for path in folder.iterdir():  # read once, so that all are in the page cache
            with path.open("rb") as file:
                while block := file.read(1 << 20):
                    size += len(block)
        yield SUITE[key](folder), size


def main_against(options: argparse.Namespace) -> int:
    """Print gradeval as it is beside gradeval at a commit."""
    print(against.LEGEND, flush=True)
    verdicts = []
    with tempfile.TemporaryDirectory(prefix="gradeval-then-") as then:
        try:
            against.build(options.against, Path(then))
        except ValueError as error:
            print(f"--against {options.against}: {error}", file=sys.stderr)
            return 2
        for key in options.only:
            with made(key, options) as (benchmark, _):
                rows = against.compare(benchmark, Path(then), options.repeat)
            print(f"\n({key}) {benchmark.title}\n{table([against.HEADER, *rows])}", flush=True)
            verdicts += [row[-1] for row in rows]
    return int(wrong(verdicts))


def arguments(given: Sequence[str] | None) -> argparse.Namespace:
    def keys(text: str) -> list[str]:
        chosen = text.split(",")
        if unknown := [key for key in chosen if key not in SUITE]:
            raise argparse.ArgumentTypeError(f"no workload {', '.join(unknown)}; there are {', '.join(SUITE)}")
        return chosen

    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--only", type=keys, default=list(SUITE), metavar="a,c", help="these workloads")
    parser.add_argument("--repeat", type=int, default=5, metavar="N", help="runs of each tool (5)")
    parser.add_argument("--scale", type=float, default=1, metavar="X", help="size of the workloads (1)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all of it, every sample included")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="make the workloads here and keep them")
    parser.add_argument("--against", metavar="COMMIT", help="compare gradeval with itself at this commit")
    options = parser.parse_args(given)
    if options.repeat < 1 or options.scale <= 0:
        parser.error("--repeat and --scale must be above 0")
    return options


def main(given: Sequence[str] | None = None) -> int:
    options = arguments(given)
    if options.against:
        return main_against(options)
    about = machine()
    load = f"load {about['load']:.2f} at the start"
    print(about["processor"], f"{about['cores']} cores", about["system"], load, sep=", ")
    print(*(f"{name} {about[name]}" for name in ("python", *PACKAGES, "trec_eval")), sep=", ")
    print(LEGEND, flush=True)
    if options.scale != 1:
        print(f"Scale {options.scale:g}: less or more of everything than the titles say.")
    reports = []
    for key in options.only:
        with made(key, options) as (benchmark, size):
            present = [tool for tool in benchmark.tools if not tool.missing]
            results = in_turn(
                {tool.name: tool.command for tool in present},
                {tool.name: 1 if tool.once else options.repeat for tool in present},
            )
        floor = in_turn({"": ["true"]}, {"": 1})[""].median("peak")  # a process which does nothing
        reports.append(report(key, benchmark, size, floor, results, options.scale))
        print(printed(reports[-1]), flush=True)
        if options.json:
            whole = {"machine": about, "repeat": options.repeat, "scale": options.scale, "workloads": reports}
            options.json.write_text(json.dumps(whole, indent=1, ensure_ascii=False) + "\n")
    return int(wrong([row["values"] for report in reports for row in report["tools"]]))


if __name__ == "__main__":
    sys.exit(main())

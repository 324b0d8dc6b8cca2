"""What is compared on each workload: the tools, the values they must agree on, the targets to reach."""

import importlib.util
import shutil
import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from .measure import Result

Values = dict[tuple[str, str], str]  # (run, metric): the value with 4 decimals
Results = dict[str, Result]

PEERS = Path(__file__).with_name("peers.py")
IN_PROCESS = Path(__file__).with_name("inprocess.py")
OURS = "gradeval"
DEFAULTS = "gradeval, defaults"
METRICS = ("-m", "AP", "-m", "nDCG@10")
NAMES = {"map": "AP", "ndcg_cut_10": "nDCG@10"}
CHECKED = ("AP", "nDCG@10")
MIB = 2**20


@dataclass(frozen=True)
class Tool:
    """A command. `values` reads what it printed; `missing` says why it cannot run here."""

    name: str
    command: Sequence[str]
    values: Callable[[str], Values] | None = None
    once: bool = False
    missing: str = ""


@dataclass(frozen=True)
class Target:
    """`value` is worked out of the results; it is met if at most `limit`."""

    what: str
    limit: float
    value: Callable[[Results], float]


@dataclass(frozen=True)
class Benchmark:
    title: str
    tools: Sequence[Tool]
    targets: Sequence[Target] = field(default_factory=tuple)
    left_out: str = ""


def gradeval_values(text: str) -> Values:
    rows = (line.split("\t") for line in text.splitlines()[1:])
    return {(run, metric): value for run, query, metric, value in rows if query == "all" and metric in CHECKED}


def other_values(run: str) -> Callable[[str], Values]:
    """The reader of tools that print a metric and its value a line; of trec_eval, also the run before them."""

    def read(text: str) -> Values:
        values: Values = {}
        name = run
        for metric, *_, value in map(str.split, text.splitlines()):
            if metric == "runid":
                name = value
            else:
                values[name, NAMES.get(metric, metric)] = value
        return values

    return read


def values_of(tool: Tool, output: str = "") -> Values:
    """What a tool printed; nothing where that cannot be read."""
    try:
        return tool.values(output) if tool.values else {}
    except (ValueError, KeyError):
        return {}


def differences(ours: Values, theirs: Values) -> list[str]:
    """What a tool has otherwise than gradeval; a tool that has nothing at all differs too."""
    if not theirs:
        return ["no values"]
    return [
        f"{run} {metric} {value}, gradeval {ours.get((run, metric), 'none')}"
        for (run, metric), value in theirs.items()
        if ours.get((run, metric)) != value
    ]


def lines_of(output: str) -> dict[str, float]:
    """The measurements of a script, a name and a number in each line with a tab between."""
    return {name: float(value) for name, value in (line.split("\t") for line in output.splitlines())}


def module(name: str) -> str:
    return "" if importlib.util.find_spec(name) else f"{name} is not installed"


def gradeval(name: str, *arguments: str | Path) -> Tool:
    command = [sys.executable, "-m", "gradeval", *map(str, arguments), "-f", "tsv"]
    return Tool(name, command, gradeval_values)


def both(*arguments: str | Path) -> list[Tool]:
    """The two metric sets."""
    return [gradeval(OURS, *arguments, *METRICS), gradeval(DEFAULTS, *arguments)]


def trec_eval(qrels: Path, *runs: Path, once: bool = False) -> Tool:
    """trec_eval, called once for each run."""
    loop = 'for run; do trec_eval -m runid -m map -m ndcg_cut.10 "$0" "$run" || exit; done'
    name = "trec_eval" if len(runs) == 1 else f"trec_eval, {len(runs)} calls"
    missing = "" if shutil.which("trec_eval") else "trec_eval is not on PATH"
    return Tool(name, ["sh", "-c", loop, str(qrels), *map(str, runs)], other_values(""), once, missing)


def with_peers(folder: Path, *once: str) -> list[Tool]:
    """gradeval and all who read TREC files. once: those that take too long to be run again."""
    qrels, run = folder / "qrels.txt", folder / "bm25.txt"
    commands = {
        "ir_measures": ["-m", "ir_measures", str(qrels), str(run), "AP", "nDCG@10"],
        "pytrec_eval": [str(PEERS), "pytrec_eval", str(qrels), str(run)],
    }
    read = other_values(run.stem)
    libraries = [
        Tool(name, [sys.executable, *command], read, name in once, module(name))
        for name, command in commands.items()
    ]
    return [*both(qrels, run), trec_eval(qrels, run, once="trec_eval" in once), *libraries]


def wall(tool: str, peer: str) -> Callable[[Results], float]:
    return lambda results: results[tool].median("wall") / results[peer].median("wall")


def cpu(tool: str, peer: str) -> Callable[[Results], float]:
    return lambda results: results[tool].median("cpu") / results[peer].median("cpu")


def peak(tool: str) -> Callable[[Results], float]:
    return lambda results: results[tool].median("peak") / MIB


def added(results: Results) -> float:
    return results[DEFAULTS].median("wall") - results[OURS].median("wall")


def msmarco(folder: Path) -> Benchmark:
    targets = [
        Target("wall time, of trec_eval's", 0.18, wall(OURS, "trec_eval")),
        Target("wall time, of ir_measures'", 0.12, wall(OURS, "ir_measures")),
        Target("peak memory, MiB", 200, peak(OURS)),
        Target("peak memory with the defaults, MiB", 200, peak(DEFAULTS)),
        Target("seconds the defaults add", 1, added),
    ]
    title = "6,980 queries × 1,000 documents, 75 judgments a query"
    return Benchmark(title, with_peers(folder), targets)


def many_queries(folder: Path) -> Benchmark:
    """trec_eval looks for each query in a list, and takes a minute."""
    targets = [Target("wall time, of ir_measures'", 0.08, wall(OURS, "ir_measures"))]
    title = "100,000 queries × 10 documents, 5 judgments a query"
    return Benchmark(title, with_peers(folder, "trec_eval"), targets)


def small(folder: Path) -> Benchmark:
    imports = Tool("python, import numpy, click", [sys.executable, "-c", "import numpy, click"])
    targets = [Target("wall time, of python importing numpy and click", 1.5, wall(OURS, imports.name))]
    title = "50 queries × 1,000 documents, 75 judgments a query"
    return Benchmark(title, [*with_peers(folder), imports], targets)


def deep(folder: Path) -> Benchmark:
    qrels, run = folder / "qrels.txt", folder / "deep.txt"
    flat = replace(gradeval("gradeval on (a)", qrels, folder / "bm25.txt", *METRICS), values=None)
    return Benchmark(
        "4 × (a): the same judgments, 4,000 documents a query",
        [*both(qrels, run), flat, trec_eval(qrels, run, once=True)],
        [
            Target("wall time, of gradeval's on (a)", 4.4, wall(OURS, flat.name)),
            Target("peak memory, of gradeval's on (a)", 1.1, lambda r: peak(OURS)(r) / peak(flat.name)(r)),
        ],
        "ir_measures and pytrec_eval are left out: they would need four times the memory and time of (a)",
    )


def letor(folder: Path) -> Benchmark:
    file, command, none = folder / "letor.txt", [sys.executable, str(PEERS)], module("sklearn")
    every = gradeval("gradeval, 136 features", file, file, "--feature", "1-136", *METRICS)

    def against_reader(results: Results) -> float:
        """Wall time of our whole process over that of scikit-learn's call alone, without its imports."""
        reader = statistics.median(float(output.split()[1]) for output in results["scikit-learn"].outputs)
        return results[OURS].median("wall") / reader

    def feature_1(text: str) -> Values:
        """Of many features' values, those that can be compared."""
        return {key: value for key, value in gradeval_values(text).items() if key[0] == "feature1"}

    evaluated = [*command, "scikit-learn+pytrec_eval", str(file)]
    missing = none or module("pytrec_eval")
    return Benchmark(
        "LETOR, 100,000 lines × 136 features; gradeval and its defaults read one of them",
        [
            *both(file, file, "--feature", "1"),
            replace(every, values=feature_1),
            Tool("scikit-learn", [*command, "scikit-learn", str(file)], missing=none),
            Tool("scikit-learn + pytrec_eval", evaluated, other_values("feature1"), True, missing),
        ],
        [
            Target("wall time, of scikit-learn's reader as a process", 0.5, wall(OURS, "scikit-learn")),
            Target("the same, of its reader without imports", 0.5, against_reader),
            Target("136 features, of the reader as a process", 0.5, wall(every.name, "scikit-learn")),
        ],
    )


def twenty_runs(folder: Path) -> Benchmark:
    qrels, runs = folder / "qrels.txt", sorted(folder.glob("run*.txt"))
    one = gradeval("gradeval, one run", qrels, *runs[:1], *METRICS)
    targets = [Target("wall time, of one run's", 4, wall(OURS, one.name))]
    return Benchmark(
        "20 runs of (c)'s size in one call", [*both(qrels, *runs), one, trec_eval(qrels, *runs)], targets
    )


def many_runs(folder: Path) -> Benchmark:
    """What is evaluated leaves with its run: the judgments of 500 runs do not pile up."""
    qrels, run = folder / "qrels.txt", folder / "bm25.txt"
    names = [f"run{number}={run}" for number in range(500)]
    every = replace(gradeval("500 runs", qrels, *names, *METRICS, "-j", "1"), values=None, once=True)
    one = gradeval(OURS, qrels, run, *METRICS, "-j", "1")
    return Benchmark(
        "500 runs in one call: 5,000 queries × 10 documents, 100 judgments a query",
        [one, every],
        [
            Target(
                "peak memory, of one run's", 2, lambda results: peak(every.name)(results) / peak(OURS)(results)
            )
        ],
        "other tools evaluate a run at a time",
    )


def shuffled(folder: Path) -> Benchmark:
    targets = [Target("wall time, of trec_eval's", 1, wall(OURS, "trec_eval"))]
    return Benchmark("(a) shuffled by lines", with_peers(folder, "ir_measures", "pytrec_eval"), targets)


def with_script(folder: Path, title: str, tool: Tool, limits: dict[str, float], left_out: str) -> Benchmark:
    """gradeval beside a script that prints a line for each measurement. limits: of these."""

    def said(name: str) -> Callable[[Results], float]:
        return lambda results: statistics.median(lines_of(text)[name] for text in results[tool.name].outputs)

    targets = [Target(name, limit, said(name)) for name, limit in limits.items()]
    return Benchmark(title, [*both(folder / "qrels.txt", folder / "bm25.txt"), tool], targets, left_out)


def in_memory(folder: Path) -> Benchmark:
    files = [str(folder / name) for name in ("qrels.txt", "bm25.txt")]
    limits = {
        "dicts, of pytrec_eval": 0.5,
        "Evaluator, 50 x 100, of pytrec_eval": 0.65,
        "Evaluator, one query of 10": 0.001,
        "pandas, of ir_measures": 0.06,
        "polars, of ir_measures": 0.03,
        "10^7 rows from Arrow, MiB added": 300,
        "score_arrays, 64 x 100, of numpy by hand": 4,
        "score_arrays, 1,024 x 100, of numpy by hand": 3,
        "score_arrays, 500 x 5,000, of numpy by hand": 3,
    }
    return with_script(
        folder,
        "1,000 queries × 1,000 documents in memory, 50 judgments a query; arrays",
        Tool("in one process", [sys.executable, str(IN_PROCESS), *files], once=True),
        limits,
        "the library is called in one process with its peers, as far as they are installed",
    )


def on_spark(folder: Path) -> Benchmark:
    command = [sys.executable, "-W", "ignore", "-m", "tests.bench.on_spark", (folder / "rows").read_text()]
    missing = module("pyspark") or ("" if shutil.which("java") else "java is not on PATH")
    peers = {"cogroup that does nothing": 1.3, "MLlib, nDCG@10": 1.3, "pandas function for each query": 0.2}
    return with_script(
        folder,
        "5 × 10⁶ rows on Spark, 100 documents and 10 judgments a query; gradeval alone on 10⁵ of them",
        Tool("on Spark", command, once=True, missing=missing),
        {f"of {peer}": limit for peer, limit in peers.items()},
        "make test-spark installs PySpark",
    )


def scores(folder: Path) -> Benchmark:
    """The same run with its scores written in other ways, which change no digit of the result."""

    def as_bm25(text: str) -> Values:
        return {("bm25", metric): value for (_, metric), value in gradeval_values(text).items()}

    def read(name: str, run: str) -> Tool:
        tool = gradeval(name, folder / "qrels.txt", folder / f"{run}.txt", *METRICS, "-j", "1")
        return replace(tool, values=as_bm25)

    others = [read(f"{run} scores", run) for run in ("negative", "long", "mixed")]
    return Benchmark(
        "1,000 queries × 1,000 documents, one thread: short positive scores; negative, long, and both mixed",
        [read(OURS, "bm25"), *others],
        [Target(f"CPU time of {tool.name}, of short ones", 1.15, cpu(tool.name, OURS)) for tool in others],
    )


def changed(folder: Path) -> Benchmark:
    """Two runs of (a)'s size against each other, without judgments."""
    old, new = folder / "bm25.txt", folder / "new.txt"
    diff = replace(gradeval("gradeval diff", "diff", old, new), values=None)
    return Benchmark(
        "diff of two runs of (a)'s size, against the evaluation of one",
        [gradeval(OURS, folder / "qrels.txt", old, *METRICS), diff],
        [
            Target("wall time, of evaluating one", 3, wall(diff.name, OURS)),
            Target("peak memory, MiB", 500, peak(diff.name)),
        ],
        "no peer compares whole runs by RBO with ties",
    )


def fused(folder: Path) -> Benchmark:
    """Two runs of (a)'s size fused to one, which is written."""
    files = [str(folder / name) for name in ("bm25.txt", "new.txt")]
    fuse = replace(gradeval(OURS, "fuse", *files, "-o", folder / "fused.run"), values=None)
    command = [sys.executable, str(PEERS), "ranx", *files, str(folder / "ranx.run")]
    return Benchmark(
        "fuse of two runs of (a)'s size, by reciprocal ranks",
        [fuse, Tool("ranx", command, once=True, missing=module("ranx"))],
        [
            Target("seconds", 20, lambda results: results[fuse.name].median("wall")),
            Target("peak memory, MiB", 1024, peak(fuse.name)),
        ],
    )


SUITE: dict[str, Callable[[Path], Benchmark]] = {
    "a": msmarco, "b": many_queries, "c": small, "d": deep, "e": letor, "f": twenty_runs, "g": shuffled,
    "h": in_memory, "i": on_spark, "j": scores, "k": many_runs,
    "l": changed, "m": fused,
}  # fmt: skip

"""Attack: all metrics and options together, on small random collections, against the slow pipeline."""

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest import mock

from gradeval.registry.metric import REGISTRY
from gradeval.tables import qrels

from . import asked, data, slow
from .call import blocks_of, check_values, gradeval, obeyed, require

UNIT = "values"

WRITTEN = {
    "rel": ["-l{}", "--rel={}"],
    "depth": ["-M{}", "--depth={}"],
    "judged_only": ["-J", "--judged-only"],
    "queries": ["--queries={}"],
    "ties": ["--ties={}"],
    "zero_grade": ["--zero-grade={}"],
}
SEEN = ("table", "md")  # formats for people, in which nothing may stand that a terminal obeys


def make(rng: random.Random) -> tuple[Any, ...]:
    collection = data.made(rng, runs=rng.choice([1, 1, 1, 2, 3]))
    qrels = data.dressed(rng, data.ordered(rng, data.qrels_rows(collection.qrels), key=lambda row: row[0]))
    files = {"q": data.compressed(rng, qrels)}
    runs = []
    delimiter, is_best = rng.choice([b"", b"", b"", b"#", b"::", b"%"]), rng.random() < 0.2
    for n, plain in enumerate(collection.runs):
        repeated = _repeated(rng, plain, delimiter, is_best)
        lines = data.ordered(rng, repeated, key=lambda line: line[0]) if delimiter or is_best else plain
        text = data.dressed(rng, data.run_rows(lines))
        files[f"r{n}"] = data.compressed(rng, text)
        runs.append(slow.read_run(text, delimiter, is_best))
    formats = [["--qrels-format", "trec"], ["--run-format", "trec"]]
    given = [word for pair in formats if rng.random() < 0.2 for word in pair]
    given += ["--max-passage", delimiter.decode()] if delimiter else []
    given += ["--duplicates=best"] if is_best else []
    return _asked(rng, files, given, slow.read_qrels(qrels), runs)


def _repeated(
    rng: random.Random, lines: Sequence[tuple[bytes, ...]], delimiter: bytes, is_best: bool
) -> list[tuple[bytes, ...]]:
    """The lines of a run, of some documents several: of passages, and where the best counts, of themselves."""
    score, repeated = rng.choice(data.SCORES), list(lines)
    for n, (query, document, first, tag) in enumerate(lines):
        passages = [
            document + delimiter + b"%d" % number for number in range(rng.randrange(4) * bool(delimiter))
        ]
        if passages and rng.random() < 0.5:
            repeated[n] = (query, passages.pop(), first, tag)
        passages += [document] * (rng.randrange(3) * is_best)
        repeated += [(query, name, score(rng).encode(), tag) for name in passages]
    return repeated


def _asked(
    rng: random.Random,
    files: dict[str, bytes],
    given: list[str],
    qrels: slow.Grades,
    runs: list[slow.Run],
) -> tuple[Any, ...]:
    by_level = rng.random() < 0.15
    names = [name for name in REGISTRY if name in slow.REFERENCE and not (by_level and name == "AP")]
    chosen = asked.metrics(rng, names)
    if by_level:
        chosen = [one for one in chosen if one[1][0] != "AP"] or [("muAP", ("muAP", ()))]
    args = [*files, *given]
    if rng.random() < 0.5:
        args += [f"-m{rng.choice([' ', ', ']).join(word for word, _ in chosen)}"]
    else:
        args += [f"--metric={word}" for word, _ in chosen]
    values = asked.options(rng, qrels)
    args += [rng.choice(WRITTEN[name]).format(value) for name, value in values.items() if name in WRITTEN]
    if "queries" not in values and rng.random() < 0.3:
        args += [rng.choice(["-c", "--queries=judged"])]
    if "query_ids" in values:
        values["query_ids"] = some = (*values["query_ids"], *[b"nowhere"] * (rng.random() < 0.05))
        as_list = b",".join(some)
        if rng.random() < 0.5 and b"/" not in as_list and as_list.count(b",") == len(some) - 1:
            args += [f"--query-ids={as_list.decode('utf-8', 'surrogateescape')}"]
        else:
            files["ids"] = data.compressed(rng, data.dressed(rng, [[one] for one in some]))
            args += ["--query-ids", "./ids"]
    what = slow.Asked(tuple(metric for _, metric in chosen), by_level=by_level, **values)
    kinds = {name for name, _ in what.metrics}
    per_query = rng.random() < 0.8 or kinds <= slow.QUERIES_ONLY
    summary = not per_query or rng.random() < 0.8 or kinds <= slow.SUMMARY_ONLY
    args += [*(["-q"] if per_query else []), *([] if summary else ["-n"])]
    form = rng.choice(["tsv", "tsv", "tsv", "csv", "csv", "jsonl", "jsonl", "json", "json", *SEEN])
    digits = rng.choice([None, None, 4, 0, 12])
    args += ["-f", form, f"--digits={'full' if digits is None else digits}", f"-j{rng.choice([1, 1, 2, 4])}"]
    if by_level:
        args += ["--by-level"]
    share, block = rng.choice([1, 5, 1 << 16]), rng.choice([None, None, 1, 30, 100])
    shown = {"form": form, "per_query": per_query, "summary": summary, "digits": digits}
    return files, args, what, qrels, runs, shown, share, block


def check(
    files: dict[str, bytes],
    args: list[str],
    what: slow.Asked,
    judged: slow.Grades,
    runs: list[slow.Run],
    shown: dict[str, Any],
    share: int,
    block: int | None,
) -> int:
    """what, judged, runs: what the slow pipeline is to evaluate. shown: how the values are printed."""
    for name, content in files.items():
        Path(name).write_bytes(content)
    with mock.patch.object(qrels, "SHARE", share), blocks_of(block):
        done = gradeval(*args)
    try:
        expected = [slow.evaluate(judged, run, what) for run in runs]
    except slow.Refused as refused:
        if len(runs) == 1:
            require(done.code == 2 and not done.out, f"it should be refused ({refused})", args, done)
        return 1
    if shown["form"] in SEEN:
        require(done.code == 0, "it fails where it should not", args, done)
        seen = obeyed(done.out)
        require(not seen, f"a {shown['form']} that a terminal would obey\n{seen!r}", args, done)
        return 1
    return check_values(args, done, expected, **shown)

"""Attack: all metrics and options together, on small random collections, against the slow pipeline."""

from __future__ import annotations

import random
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from unittest import mock

from gradeval.registry.metric import REGISTRY
from gradeval.tables import qrels

from . import asked, data, slow
from .call import blocks_of, check_values, gradeval, obeyed, require

UNIT = "values"

# their values do not change where all grades are multiplied: these are tried with grades of any size, too
SCALE_FREE = ["muAP", "nDCG", "NDCNG", "nDCGphi", "rankDCG", "AP", "P", "RR", "Rprec", "bpref", "tau", "rho"]
SCALE_FREE += ["ndcg_rel", "Rndcg", "ndcg_p", "JKnDCG"]
WRITTEN = {
    "rel": ["-l{}", "--rel={}"],
    "depth": ["-M{}", "--depth={}"],
    "judged_only": ["-J", "--judged-only"],
    "queries": ["--queries={}"],
    "ties": ["--ties={}"],
    "zero_grade": ["--zero-grade={}"],
}
SEEN = ("table", "md")  # formats for people, in which nothing may stand that a terminal obeys


@dataclass(frozen=True)
class Case:
    """files: name -> bytes. args: of the command. asked, runs: what the slow pipeline is to evaluate.

    sound: whether all grades are in the range of those that are taken.
    """

    files: dict[str, bytes]
    args: list[str]
    asked: slow.Asked
    qrels: slow.Grades
    runs: list[slow.Run]
    form: str
    per_query: bool
    summary: bool
    digits: int | None
    share: int
    block: int | None
    sound: bool = True


def make(rng: random.Random) -> Case:
    if rng.random() < 0.12:
        return _of_any_size(rng)
    while rng.random() < 0.25:
        with suppress(slow.Refused):  # where an id is that of a place, too
            return _letor(rng)
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
    return _asked(rng, files, [*files], given, slow.read_qrels(qrels), runs)


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


def _letor(rng: random.Random) -> Case:
    """Labels or a feature as grades; features, scores or TREC runs."""
    queries = list({name.replace(b"#", b"!"): None for name in data.ids(rng, rng.randint(1, 4))})
    with_query, has_names = rng.random() < 0.7, rng.random() < 0.5
    grades = rng.choice(data.GRADES)
    rows, sizes = [], []
    for query in queries:
        documents = data.ids(rng, rng.randint(1, 8))
        sizes.append(len(documents))
        for document in documents:
            features = [
                b"%d:%s" % (k, rng.choice(data.SCORES[:4])(rng).encode())
                for k in (1, 2, 3)
                if rng.random() < 0.9
            ]
            name = rng.choice(
                [[b"#", document], [b"#docid", b"=", document], [b"#", b"docid=" + document, b"x"]]
            )
            row = [rng.choice(grades).encode(), *([b"qid:" + query] if with_query else []), *features]
            rows.append([*row, *(name if has_names else [])])
    rows[0][1 + with_query :] = [b"1:1", b"2:2", b"3:3"]  # of which the first line has all
    if with_query:
        rows = data.ordered(rng, rows, key=lambda row: row[1])
    text = data.dressed(rng, rows)
    files = {"l": data.compressed(rng, text)}
    lines = slow.read_letor(text, (1, 2, 3), None if with_query else sizes)
    given: list[str] = []
    if not with_query:
        name = rng.choice(["l.query", "l.group", "sizes"])
        files[name] = data.dressed(rng, [[b"%d" % size] for size in sizes])
        given += ["--groups", name] if name == "sizes" else []
    chosen = None
    if rng.random() < 0.2:
        chosen = 3
        given += ["--qrels-feature", "3"]
    qrels = slow.letor_qrels(lines, chosen)
    kind = rng.choice(["features", "features of a run", "scores", "trec"])
    words = ["l"]
    if kind.startswith("features"):
        if kind == "features of a run":
            words.append("l")
        numbers = sorted(rng.sample([1, 2, 3], rng.randint(1, 3)))
        given += ["--feature", ",".join(map(str, numbers))]
        runs = [slow.letor_run(lines, number) for number in numbers]
    elif kind == "scores":
        files["s"] = data.dressed(rng, [[rng.choice(data.SCORES)(rng).encode()] for _ in lines])
        words.append("s")
        runs = [slow.scores_run(lines, files["s"], b"s")]
    else:
        found = [
            (line.query, line.document, b"%d" % rng.randrange(5), b"t") for line in lines if rng.random() < 0.8
        ]
        found = found or [(lines[0].query, lines[0].document, b"1", b"t")]
        files["r"] = data.dressed(rng, data.run_rows(found))
        words.append("r")
        runs = [slow.read_run(files["r"])]
    given += ["--qrels-format", "letor"] if rng.random() < 0.2 else []
    return _asked(rng, files, words, given, qrels, runs)


def _of_any_size(rng: random.Random) -> Case:
    """Grades of all that are taken: each query's are those of a plain collection times a power of two."""
    sizes = [0, -1, -498, -400, -40, 40, 300, 496, *([-1074, -500, 498, 1019] if rng.random() < 0.2 else [])]
    queries = {b"q%d" % n: rng.choice(sizes) for n in range(4)}
    plain = {q: {b"d%d" % n: rng.randrange(4) for n in range(rng.randint(1, 6))} for q in queries}
    lines = [
        (q, d, b"%d" % rng.randrange(6), b"t") for q, of in plain.items() for d in of if rng.random() < 0.8
    ]
    lines = lines or [(b"q0", b"d0", b"1", b"t")]
    rows = [
        [q, b"0", d, repr(grade * 2.0 ** queries[q]).encode()]
        for q, of in plain.items()
        for d, grade in of.items()
    ]
    files = {"q": data.dressed(rng, rows), "r0": data.dressed(rng, data.run_rows(lines))}
    names = rng.sample(SCALE_FREE, rng.randint(1, 6))
    chosen: list[slow.Metric] = []
    for name in names:
        needed = [(param.name, rng.randint(1, 6)) for param in REGISTRY[name].params if param.name == "cutoff"]
        chosen.append((name, tuple(needed)))
    words = [asked.written(rng, one) for one in chosen]
    sound = all(slow.is_grade(grade * 2.0 ** queries[q]) for q, of in plain.items() for grade in of.values())
    grades = {q: {d: Decimal(grade) for d, grade in of.items()} for q, of in plain.items()}
    runs = [slow.read_run(files["r0"])]
    args = ["q", "r0", "-m", " ".join(words), "-q", "--digits", "full", "-f", "tsv"]
    what = slow.Asked(tuple(chosen))
    return Case(files, args, what, grades, runs, "tsv", True, True, None, rng.choice([1, 1 << 16]), None, sound)


def _asked(
    rng: random.Random,
    files: dict[str, bytes],
    words: list[str],
    given: list[str],
    qrels: slow.Grades,
    runs: list[slow.Run],
) -> Case:
    """With random metrics and options."""
    by_level = rng.random() < 0.15
    names = [name for name in REGISTRY if name in slow.REFERENCE and not (by_level and name == "AP")]
    chosen = asked.metrics(rng, names)
    if by_level:
        chosen = [one for one in chosen if one[1][0] != "AP"] or [("muAP", ("muAP", ()))]
    args = [*words, *given]
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
    return Case(files, args, what, qrels, runs, form, per_query, summary, digits, share, block)


def check(case: Case) -> int:
    for name, content in case.files.items():
        Path(name).write_bytes(content)
    with mock.patch.object(qrels, "SHARE", case.share), blocks_of(case.block):
        done = gradeval(*case.args)
    try:
        expected = [slow.evaluate(case.qrels, run, case.asked) for run in case.runs]
    except slow.Refused as refused:
        if len(case.runs) == 1:
            require(done.code == 2 and not done.out, f"it should be refused ({refused})", case.args, done)
        return 1
    if not case.sound:
        refused = done.code == 2 and not done.out and done.err.startswith("q:")
        require(refused, "a grade out of range is taken", case.args, done)
        return 1
    if case.form in SEEN:
        require(done.code == 0, "it fails where it should not", case.args, done)
        seen = obeyed(done.out)
        require(not seen, f"a {case.form} that a terminal would obey\n{seen!r}", case.args, done)
        return 1
    return check_values(
        case.args, done, expected, case.form, per_query=case.per_query, summary=case.summary, digits=case.digits
    )

"""Attack: all metrics and options together, on small random collections, against the slow pipeline."""

import random
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any
from unittest import mock

from metrics.strategies import drawn, params_of

from gradeval.registry.dialects import AMBIGUOUS
from gradeval.registry.metric import REGISTRY
from gradeval.tables import qrels

from . import data, slow
from .call import blocks_of, check_values, gradeval, obeyed, require

UNIT = "values"

WRITTEN = {
    "rel": ["-l{}", "--rel={}"],
    "depth": ["-M{}", "--depth={}"],
    "judged_only": ["-J", "--judged-only"],
    "queries": ["--queries={}"],
    "ties": ["--ties={}"],
    "zero_grade": ["--zero-grade={}"],
    "unjudged_grade": ["--unjudged-grade={}"],
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
    judged = slow.read_qrels(qrels)
    by_level = rng.random() < 0.15
    names = [name for name in REGISTRY if name in slow.REFERENCE and not (by_level and name == "AP")]
    chosen = random_metrics(rng, names)
    if by_level:
        chosen = [one for one in chosen if one[1][0] != "AP"] or [("muAP", ("muAP", ()))]
    args = [*files, *given]
    if rng.random() < 0.5:
        args += [f"-m{rng.choice([' ', ', ']).join(word for word, _ in chosen)}"]
    else:
        args += [f"--metric={word}" for word, _ in chosen]
    values = random_options(rng, judged)
    if any(dict(params).get("judged_only") for _, (_, params) in chosen):
        values.pop("unjudged_grade", None)  # which grades what these remove
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
    return files, args, what, judged, runs, shown, share, block


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


# trec_eval's names, and what they are here
TREC: dict[str, slow.Metric] = {
    "map": ("AP", ()),
    "recip_rank": ("RR", ()),
    "ndcg": ("nDCG", ()),
    "ndcg_cut.5": ("nDCG", (("cutoff", 5),)),
    "ndcg_cut_10": ("nDCG", (("cutoff", 10),)),
    "P.3": ("P", (("cutoff", 3),)),
    "recall_4": ("R", (("cutoff", 4),)),
    "success.1": ("Success", (("cutoff", 1),)),
    "map_cut.2": ("AP", (("cutoff", 2),)),
    "ndcg.1=3,2=9": ("nDCG", (("gain", ((1.0, 3.0), (2.0, 9.0))),)),
    "iprec_at_recall.0.4": ("iprec_at_recall", (("recall", 0.4),)),
    "rbp.p=0.8": ("rbp", (("p", 0.8),)),
}


def _metric(rng: random.Random, name: str) -> slow.Metric:
    """The metric with parameters that it accepts; those it needs are always there."""
    params: dict[str, Any] = params_of(REGISTRY[name], drawn(rng.getrandbits(32)))
    if params.get("norm") == "min":
        params.setdefault("cutoff", rng.randint(1, 20))
    if "cutoff" in params and rng.random() < 0.2:
        # the reference writes down as many gains as these have
        is_listed = params.get("ideal") == "max" or "max_rel" in params or name in ("alpha_DCG", "ERR_IA")
        params["cutoff"] = 1000 if is_listed else 10**9
    if name in ("INST", "INSQ", "NERR10", "NERR11"):
        params["n"] = min(params.get("n", 1000), 30)  # the reference takes a while for all 1,000
    return name, tuple(params.items())


def random_options(rng: random.Random, qrels: slow.Grades) -> dict[str, Any]:
    """Values of some of the options that slow.Asked has."""
    grades = sorted({grade for of in qrels.values() for grade in of.values()})
    zero = Decimal(0) if rng.random() < 0.7 else rng.choice([*grades, *map(Decimal, ("1", "0.1", "-1"))])
    levels = [*(slow.EXACT.subtract(grade, zero) for grade in grades), Decimal(2), Decimal("0.5")]
    levels = [level for level in levels if level >= 0]
    chosen = {
        "rel": float(rng.choice(levels)),
        "depth": rng.choice([1, 1, 2, 2, 3, 5, 1000, 10**9]),
        "judged_only": True,
        "queries": "both",
        "query_ids": tuple(rng.sample(list(qrels), rng.randint(1, len(qrels)))),
    }
    chosen = {name: value for name, value in chosen.items() if rng.random() < 0.3}
    if zero:
        chosen["zero_grade"] = zero
    if "judged_only" not in chosen and rng.random() < 0.2:
        chosen["unjudged_grade"] = rng.choice([*grades, *map(Decimal, ("0", "1", "0.1", "-1"))])
    if rng.random() < 0.6:
        chosen["ties"] = rng.choice(["trec", "input", "best", "worst"])
    return chosen


def _written(rng: random.Random, metric: slow.Metric) -> str:
    name, params = metric
    texts = {key: _text(value) for key, value in params}
    at = texts.pop(REGISTRY[name].at, None)
    behind = ""
    if at is not None and rng.random() < 0.8:
        behind = f"@{at}"
    elif at is not None:
        texts[REGISTRY[name].at] = at
    inside = ",".join(f"{key}={value}" for key, value in texts.items())
    spelled = rng.choice([name, name, name.lower(), name.upper()])
    spelled = name if name.lower() in AMBIGUOUS else spelled
    return spelled + (f"({inside})" if inside else "") + behind


def _text(value: Any, separators: str = "/:") -> str:
    if isinstance(value, tuple):
        return separators[0].join(_text(one, separators[1:]) for one in value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def random_metrics(rng: random.Random, names: list[str], most: int = 8) -> list[tuple[str, slow.Metric]]:
    """Some different metrics: how they are written, and what they are."""
    chosen = [_metric(rng, name) for name in rng.sample(names, rng.randint(1, min(most, len(names))))]
    asked = [(_written(rng, one), one) for one in chosen]
    if rng.random() < 0.2:
        spelling, one = rng.choice(list(TREC.items()))
        if one[0] not in [name for name, _ in chosen]:
            asked.insert(rng.randrange(len(asked) + 1), (spelling, one))
    return asked

"""Options: those that decide values have their effect wherever they are computed; values of every kind."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import each, raises
from junk import junk

import gradeval
from gradeval import OptionError, evaluate
from gradeval.commands.study.agreement import collect
from gradeval.options import VALUES, Options
from gradeval.registry.spec import parse
from gradeval.spark.kernel import SparkJob, evaluate_bucket

METRICS = "nDCG@3 AP gP@3"
QRELS = {
    "q1": {"a": 3, "b": 1, "q1": 0, "c": 2, "n": -1},
    "q2": {"a": 1, "b": 2, "c": 3},
    "q3": {"a": 0, "b": 0},
    "q4": {"a": 2},
}
RUN = {
    "q1": {"q1": 4.0, "b": 2.0, "a": 2.0, "x": 2.0, "c": 1.0},
    "q2": {"b": 2.0, "x": 3.0, "c": 1.0, "c#2": 2.5},
    "q3": {"a": 1.0, "b": 2.0},
}
CHANGES: dict[str, Any] = {
    "rel": 2.0,
    "depth": 2,
    "judged_only": True,
    "queries": "both",
    "query_ids": ("q1", "q3"),
    "ties": "best",
    "top_grade": 5.0,
    "zero_grade": 1.0,
    "unjudged_grade": 2.0,
    "no_relevant": "1",
    "qrels_feature": 2,
    "unlabelled": "unjudged",
    "merge": "mean",
    "columns": (("grade", "stars"), ("score", "other")),
    "ignore_identical_ids": True,
    "exclude": (("q1", "a"), ("q2", "x")),
    "max_passage": "#",
    "duplicates": "best",
}
OF_FILES = ("qrels_feature", "unlabelled", "merge", "columns")


def evaluated(qrels: Any, run: Any, **options: Any) -> str:
    results = gradeval.evaluate(qrels, run, METRICS, **options)
    return repr((results.means, results.per_query(0, 0), results.per_query(0, 1)))


def explained(qrels: Any, run: Any, **options: Any) -> str:
    return repr([(one.query, one.value) for one in gradeval.explain(qrels, run, "AP", worst=9, **options)])


def studied(qrels: Any, run: Any, **options: Any) -> str:
    runs, *_ = collect(qrels, [(None, run)], Options(**options))
    [outcome] = runs.evaluated(parse(METRICS))
    return repr((outcome.result.values, outcome.result.counted))


def plotted(qrels: Any, run: Any, **options: Any) -> str:
    return gradeval.plot.curve(qrels, run, "nDCG AP gP", at="1-3", **options).render("tsv")


def phi(qrels: Any, run: Any, **options: Any) -> str:
    return gradeval.plot.phi(qrels, **options).render("tsv")


def in_a_bucket(qrels: Any, run: Any, **options: Any) -> str:
    pl = pytest.importorskip("polars")

    def table(rows: dict[str, dict[str, float]]) -> Any:
        columns = zip(*((q, d, float(n)) for q, of in rows.items() for d, n in of.items()), strict=True)
        return pl.DataFrame(dict(zip(("query", "document", "number"), map(list, columns), strict=True)))

    chosen = Options(**options)
    scale = np.unique([grade - chosen.zero_grade for of in qrels.values() for grade in of.values()])
    job = SparkJob(tuple(parse(METRICS)), chosen, scale, ("r",), ("r",))
    _, values = evaluate_bucket(table(qrels), [table(run)], job)
    return repr([(queries.tolist(), numbers) for _, queries, numbers in values])


def files(folder: Path) -> dict[str, tuple[str, str]]:
    letor, scores = folder / "q.letor", folder / "r.scores"
    letor.write_text("".join(f"{n % 3} qid:{n // 4} 1:{n} 2:{n % 4}\n" for n in range(16)))
    scores.write_text("".join(f"{n * 7 % 5}\n" for n in range(16)))
    qrels, run = folder / "q.csv", folder / "r.csv"
    for path, names, by in ((qrels, "grade,stars", 2), (run, "score,other", 5)):
        lines = (f"{q},{d},{n * by % 3},{n * by % 4}\n" for q in QRELS for n, d in enumerate("abcd"))
        path.write_text(f"query_id,doc_id,{names}\n" + "".join(lines))
    gaps = folder / "gaps.csv"
    gaps.write_text(qrels.read_text() + "q1,e,,\n")
    several = folder / "several.csv"
    several.write_text(qrels.read_text() + "q1,b,0,0\n")
    twice = folder / "twice.csv"
    twice.write_text(run.read_text() + "q1,b,9,9\n")
    return {
        "qrels_feature": (str(letor), str(scores)),
        "unlabelled": (str(gaps), str(run)),
        "merge": (str(several), str(run)),
        "columns": (str(qrels), str(run)),
        "duplicates": (str(qrels), str(twice)),
    }


def outcome(command: Callable[..., str], *data: Any, **options: Any) -> str:
    try:
        return command(*data, **options)
    except gradeval.GradevalError as error:
        return str(error)


TAKEN: dict[Callable[..., str], set[str]] = {
    evaluated: set(CHANGES),
    explained: set(CHANGES) - {"top_grade"},  # which AP does not take
    studied: set(CHANGES) - {"query_ids"},  # agreement, which has a collection, rejects it
    plotted: set(CHANGES),
    phi: {"zero_grade", *OF_FILES},  # of the judgments alone
    in_a_bucket: set(CHANGES) - {*OF_FILES, "duplicates"},  # it has no files, and here no duplicates
}


@pytest.mark.parametrize("command", TAKEN)
def test_every_option_of_values_changes_them(command: Callable[..., str], tmp_path: Path) -> None:
    assert set(CHANGES) == set(Options.rows(within=VALUES))
    data = files(tmp_path)
    plain = outcome(command, QRELS, RUN)
    without_effect = set()
    for name in TAKEN[command]:
        qrels, run = data.get(name, (QRELS, RUN))
        before = outcome(command, qrels, run) if name in data else plain
        if before == outcome(command, qrels, run, **{name: CHANGES[name]}):
            without_effect.add(name)
    assert not without_effect


def test_every_option_counts_where_documents_are_looked_up() -> None:
    """Dicts give what rows give; a document with its query's id would have both read as rows."""
    run = {query: {id: score for id, score in of.items() if id != query} for query, of in RUN.items()}
    rows = [(query, id, score) for query, of in run.items() for id, score in of.items()]
    for name in set(CHANGES) - {*OF_FILES}:
        change = {name: CHANGES[name]}
        assert evaluated(QRELS, run, **change) == evaluated(QRELS, rows, **change), name


NUMBERS = {"0", "1", "-1", "1.5", "Fraction", "np.int64", "np.uint8", "np.float32", "np.float64"}
WHOLE = {"1", "np.int64", "np.uint8"}
TRUTHS = {"True", "np.bool"}
TEXTS = {"'1'", "'x'", "NUL", "surrogate", "np.str_"}
PATHS = TEXTS | {"b'1'", "np.bytes_"}
LISTS = {"[1]", "(1,)", "set", "range", "generator", "array", "array of texts"}
# the good values, by field; those of integers and flags follow from the row, and None from the default
GOOD = {
    "rel": NUMBERS - {"-1"},
    "top_grade": NUMBERS,
    "zero_grade": NUMBERS,
    "unjudged_grade": NUMBERS,
    "query_ids": PATHS | LISTS | {"[b'1']", "['1', 'x']"},
    "features": LISTS | WHOLE | {"0", "'1'", "[]", "()", "np.str_", "empty array"},
    "no_relevant": WHOLE | {"0", "'1'", "np.str_"},
    "columns": {"''", "b''", "[]", "()", "{}", "empty array"},
    "split": TEXTS,
    "max_passage": TEXTS - {"surrogate"},
    "groups": PATHS,
    "exclude": PATHS | {"[]", "()", "{}", "empty array"},
    "query_weights": PATHS | {"{'1': 1}"},
}


@each("field", [*Options.table])
def test_any_value_of_any_field(field):
    accepted = set()
    for name, value in junk().items():
        try:
            options = Options(**{field: value})
        except OptionError as error:
            assert "\n" not in str(error)
            assert str(error).startswith((field, "query_ids", "feature"))
            assert len(str(error)) < 300
        else:
            accepted.add(name)
            kept = getattr(options, field)
            assert type(kept) in (str, bool, int, float, tuple, type(None))
            assert options == options
        try:  # a program may make Options itself; what is accepted needs no conversion
            made = getattr(Options(**{field: value}), field)
        except OptionError:
            continue
        assert type(made) in (str, np.str_, bool, int, float, np.float64, tuple, type(None))
    row = Options.table[field]
    good = GOOD.get(field, TRUTHS if row.kind.type == "flag" else set())
    if row.kind.type == "integer":
        good = WHOLE if row.kind.bounds[0] else {"0", *WHOLE}
    assert accepted == good | ({"None"} if row.default is None else set())


def test_a_wrong_option_of_evaluate():
    wrong = {"zero_grade": None, "jobs": None, "features": None, "rel": [1], "ties": np.ones(2)}
    for name, value in wrong.items():
        raises(OptionError, f"^{name}", evaluate, {"q": {"a": 1}}, {"q": {"a": 1.0}}, "AP", **{name: value})

"""Attack: the Python function with data of every kind and options of every type, against the slow pipeline."""

import random
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import gradeval
from gradeval.registry.metric import REGISTRY

from . import asked, data, slow
from .attack import Wrong
from .call import same

UNIT = "values"

COLUMNS = ["query_id", "doc_id", "relevance", "score"]

Rows = list[tuple[Any, Any, float]]


def _nested(rows: Rows) -> Any:
    found: dict[Any, dict[Any, float]] = {}
    for query, document, number in rows:
        found.setdefault(query, {})[document] = number
    return found


def _frame(module: str, rows: Rows) -> Any:
    how = {"columns": COLUMNS} if module == "pandas" else {"schema": COLUMNS, "orient": "row"}
    return import_module(module).DataFrame([(*row, row[2]) for row in rows], **how)


FORMS: dict[str, Callable[[Rows], Any]] = {
    "dicts": _nested,
    "tuples": list,
    "lists": lambda rows: [list(row) for row in rows],
    "arrays of objects": lambda rows: [np.array(row, object) for row in rows],
    **{name: partial(_frame, name) for name in ("pandas", "polars") if find_spec(name)},
}
TEXT_ALONE = ("polars",)  # it has no column of whatever objects there are


def make(rng: random.Random) -> tuple[Any, ...]:
    collection = data.made(rng, runs=rng.choice([1, 1, 2]))
    of_qrels, *of_runs = (rng.choice(list(FORMS)) for _ in range(1 + len(collection.runs)))
    as_text = rng.random() < 0.7 or any(form in TEXT_ALONE for form in (of_qrels, *of_runs))

    def name(text: bytes) -> Any:
        return text.decode("latin-1") if as_text else text

    rows = [(name(q), name(d), float(grade)) for q, _, d, grade in data.qrels_rows(collection.qrels)]
    rows = data.ordered(rng, rows, key=lambda row: row[0])
    runs = [[(name(q), name(d), float(score)) for q, d, score, _ in lines] for lines in collection.runs]
    chosen = asked.metrics(rng, [name for name in REGISTRY if name in slow.REFERENCE])
    given = asked.options(rng, _grades(rows))
    what = slow.Asked(tuple(metric for _, metric in chosen), **given)
    if "query_ids" in given:
        some = [one.decode() if as_text else one for one in given["query_ids"]]
        given["query_ids"] = rng.choice([list, tuple, iter])(some)
    types = {"depth": (int, np.int64), "rel": (float, np.float64), "zero_grade": (float, np.float64)}
    types["judged_only"] = (bool, np.bool_)
    options = {name: rng.choice(types.get(name, [lambda value: value]))(value) for name, value in given.items()}
    options["jobs"] = rng.choice([0, 1, 2, 5])
    given_runs = list(zip(of_runs, runs, strict=True))
    return (of_qrels, rows), given_runs, [word for word, _ in chosen], options, what


Given = tuple[str, Rows]  # a form, and what is in it


def check(
    judged: Given, ranked: list[Given], names: list[str], options: dict[str, Any], what: slow.Asked
) -> int:
    form, rows = judged
    qrels = FORMS[form](rows)
    runs = [FORMS[form](rows) for form, rows in ranked]
    how = f"gradeval.evaluate({judged!r}, {ranked!r}, {names!r}, **{options!r})"
    Path("call.txt").write_text(how, errors="backslashreplace")
    try:
        expected = [slow.evaluate(_grades(rows), _run(run), what) for run in ranked]
    except slow.Refused:
        expected = []
    given = {f"n{n}": run for n, run in enumerate(runs)} if len(runs) > 1 or form == "dicts" else runs[0]
    try:
        results = gradeval.evaluate(qrels, given, names, **options)
    except gradeval.InputError as error:
        if expected:
            raise Wrong(f"it fails where it should not: {error}\n{how}") from None
        return 1
    if not expected:
        raise Wrong(f"it should be refused\n{how}")
    return sum(_compare(results, r, values, how) for r, values in enumerate(expected))


def _bytes(name: Any) -> bytes:
    return name if isinstance(name, bytes) else name.encode()


def _grades(rows: Rows) -> slow.Grades:
    grades: slow.Grades = {}
    for query, document, grade in rows:
        grades.setdefault(_bytes(query), {})[_bytes(document)] = Decimal(repr(grade))
    return grades


def _run(run: tuple[str, Rows]) -> slow.Run:
    form, rows = run
    if form == "dicts":  # in which the documents of a query stand together
        rows = [
            (query, document, score) for query, of in _nested(rows).items() for document, score in of.items()
        ]
    return slow.Run([(_bytes(query), _bytes(document), score) for query, document, score in rows])


def _compare(results: gradeval.Results, r: int, values: slow.Values, how: str) -> int:
    queries = [query.decode("utf-8", "surrogateescape") for query in values.queries]
    compared = 0
    for m, metric in enumerate(values.metrics):
        name = metric[0]
        if name == "runid":
            continue
        column = results.texts(r, m) if name in slow.TEXTS else results.per_query(r, m)
        expected: Sequence[Any] = [row[m] for row in values.per_query]
        pairs = list(zip([*column.values()], expected, strict=True))
        if name not in slow.TEXTS:
            pairs.append((results.mean(r, m), values.summary[m]))
        if list(column) != queries or not all(same(*pair) for pair in pairs):
            raise Wrong(f"{name}: {column} where it should be {expected}\n{metric}, run {r}\n{how}")
        compared += len(pairs)
    return compared

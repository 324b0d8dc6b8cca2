"""Judgments made from plain Python values, without reading a file, and checks of many metrics on them."""

import functools
import inspect
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest
from hypothesis import settings

from gradeval.arrays.segments import Segments
from gradeval.registry import spec
from gradeval.registry.metric import REGISTRY, UNCHECKED, load
from gradeval.registry.spec import parse
from gradeval.tables.judgments import Judgments

load()  # all families in their order, before a test imports one by itself

THOROUGH = settings.default.max_examples > 100
Case = TypeVar("Case")
Query = tuple[Mapping[str, float], Mapping[str, float]]
"""(qrels, run) of one query: document -> grade, document -> score."""


NEEDED = {"cutoff": "3", "max_rel": "3", "recall": "0.5", "multiple": "0.6"}


@contextmanager
def own_metrics_only() -> Iterator[Callable[[], None]]:
    """Metrics that are declared or loaded within are forgotten at the end, and where it is called."""
    spec._check_declared()
    registered, names = dict(REGISTRY), dict(spec._METRICS)

    def forget() -> None:
        UNCHECKED.clear()
        for known, before in ((REGISTRY, registered), (spec._METRICS, names)):
            known.clear()
            known.update(before)
        spec.load_plugins.cache_clear()

    try:
        yield forget
    finally:
        forget()


def with_needed(name: str, **more: object) -> str:
    """The metric with the parameters that it needs, and more."""
    given = {p.name: NEEDED.get(p.name, p.example) for p in REGISTRY[name].params if p.required} | more
    return f"{name}({','.join(f'{key}={value}' for key, value in given.items())})" if given else name


def one_by_one(values: Iterable[float]) -> float:
    """The sum, rounded after each term; that of sum() is compensated."""
    total = 0.0
    for value in values:
        total += value
    return total


def ranking(run: Mapping[str, float]) -> list[str]:
    """The documents of a run in trec_eval's order: score falling, ties by id from the last to the first."""
    return sorted(sorted(run, reverse=True), key=lambda document: -run[document])


def judgments_of(queries: Iterable[Query], level: float | None = None) -> Judgments:
    rows: list[tuple[float, float, float]] = []
    sizes, retrieved = [], []
    for qrels, run in queries:
        rank = {document: place for place, document in enumerate(ranking(run), 1)}
        own = [(grade, rank.get(d, np.inf), run.get(d, -np.inf)) for d, grade in qrels.items()]
        rows += sorted(own, key=lambda row: row[1])
        sizes.append(len(qrels))
        retrieved.append(len(run))
    grade, ranks, score = np.array(rows, np.float64).reshape(-1, 3).T
    offsets = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
    document = np.arange(len(rows))
    return Judgments(Segments(offsets), grade, ranks, score, document, np.array(retrieved, np.int64), level)


def ranked(grades: Sequence[float | None], missed: Sequence[float] = ()) -> Query:
    """A query whose run has documents with these grades from the first rank; None is an unjudged one.

    missed: the grades of judged documents that were not retrieved.
    """
    run = {f"d{place:04}": float(-place) for place in range(len(grades))}
    qrels = {name: grade for name, grade in zip(run, grades, strict=True) if grade is not None}
    return qrels | {f"m{place:04}": grade for place, grade in enumerate(missed)}, run


def scored(grades: Sequence[float], scores: Sequence[float]) -> Query:
    """A query whose documents all have a grade and a score."""
    names = [f"d{place:04}" for place in range(len(grades))]
    return dict(zip(names, grades, strict=True)), dict(zip(names, scores, strict=True))


def values(spec: str, *queries: Query, level: float | None = None) -> list[float]:
    [one] = parse(spec)
    result = one.metric(judgments_of(queries, level), **one.params)
    assert result.dtype == np.float64
    assert result.shape == (len(queries),)
    return result.tolist()


def value(spec: str, query: Query, level: float | None = None) -> float:
    [result] = values(spec, query, level=level)
    return result


def examples(times: float) -> settings:
    """The settings of a property that needs more or fewer examples: so many times those of the profile."""
    return settings(max_examples=max(1, round(times * settings.default.max_examples)))


def some(cases: Iterable[Case], share: int) -> list[Case]:
    """All cases in the thorough profile; in the quick one every third where share is 3."""
    return [*cases][:: 1 if THOROUGH else share]


def golden(path: Path) -> bytes:
    """A whole output that is kept in a file. That of JSON has several members in a line there."""
    data = path.read_bytes()
    return (json.dumps(json.loads(data), indent=2) + "\n").encode() if path.stem == "json" else data


def error_of(kind: Any, call: Callable[..., object], *args: Any, **options: Any) -> str:
    """The message of the error of this kind that a call raises."""
    with pytest.raises(kind) as caught:
        call(*args, **options)
    return str(caught.value)


def raises(kind: Any, pattern: str, call: Callable[..., object], *args: Any, **options: Any) -> None:
    """Check that a call raises an error of this kind, whose message fits the pattern."""
    assert re.search(pattern, error_of(kind, call, *args, **options))


def check_each(cases: Iterable[Case], check: Callable[[Case], object]) -> None:
    """Call check(case) for every case, as a metric. One error names all that fail, and shows the first."""
    failed: dict[str, BaseException] = {}
    skipped = None
    for case in cases:
        try:
            check(case)
        except pytest.skip.Exception as reason:
            skipped = reason
        except (Exception, pytest.fail.Exception) as error:
            failed[str(getattr(case, "name", case))] = error
    if failed:
        name, first = next(iter(failed.items()))
        others = f" (and {', '.join([*failed][1:])})" if len(failed) > 1 else ""
        raise AssertionError(f"{name}{others}: {first}") from first
    if skipped:
        raise skipped


def each(names: str | Sequence[str], cases: Iterable[object], **_: object) -> Callable[..., Any]:
    """Instead of pytest.mark.parametrize where there are many cases: one test tries them all, in one folder."""
    columns = [name.strip() for name in names.split(",")] if isinstance(names, str) else names
    kept = list(cases)

    def decorated(test: Callable[..., object]) -> Callable[..., None]:
        def tries(**fixtures: Any) -> None:
            def check(case: Any) -> None:
                values = dict(zip(columns, case if len(columns) > 1 else [case], strict=True))
                if "monkeypatch" not in fixtures:
                    test(**fixtures, **values)
                    return
                with fixtures["monkeypatch"].context() as patch:
                    test(**{**fixtures, "monkeypatch": patch}, **values)

            check_each(kept, check)

        wanted = inspect.signature(test)
        rest = [param for name, param in wanted.parameters.items() if name not in columns]
        functools.update_wrapper(tries, test)
        tries.__signature__ = wanted.replace(parameters=rest)  # type: ignore[attr-defined]
        return tries

    return decorated


def each_row(*rows: Sequence[object]) -> Callable[..., Any]:
    """As each(), of rows that are the values of the first parameters of the test."""

    def decorated(test: Callable[..., object]) -> Callable[..., None]:
        return each([*inspect.signature(test).parameters][: len(rows[0])], rows)(test)

    return decorated

"""The document of a diff: the measures, the grades of what moved, and the queries that changed most."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from typing import Any

from gradeval.arrays import Floats
from gradeval.commands.diff.diff import ALL, Diff, RunDiff, mean
from gradeval.commands.diff.moved import ChangedQuery, MovedDocument
from gradeval.commands.diff.rankings import CHANGES, COUNTS
from gradeval.errors import visible
from gradeval.notices import many
from gradeval.render import Digits
from gradeval.render import document as doc
from gradeval.render.document import ABSENT

_WHOLE = (*(f"{name}@" for name in CHANGES), *(f"{name}(" for name in COUNTS))  # numbers of documents, 0 and 1


def document(diff: Diff, options: doc.RenderOptions, *, per_query: bool = False) -> doc.OutputDocument:
    """per_query: the values of each query too."""
    digits = options.digits

    def blocks() -> Iterator[doc.Block]:
        for run in diff.runs if per_query else ():
            yield _queries(diff, run, digits)
        yield _means(diff, digits)
        for run in diff.runs if diff.grades else ():
            yield from (_grades(diff, run, k, digits) for k in diff.options.k)
        yield doc.Sentences(list(_legend(diff)))
        for run in diff.runs:
            yield from (_side_by_side(diff, run, changed, digits) for changed in run.worst)

    def records() -> list[Any]:
        return [doc.exact(row) for row in (*(diff.rows(per_query=True) if per_query else ()), *diff.rows())]

    return doc.OutputDocument(
        blocks=blocks,
        rows=lambda: [_rows(diff, per_query, digits)],
        content=lambda: diff.to_dict(per_query=per_query),
        records=records,
    )


def _rows(diff: Diff, per_query: bool, digits: Digits) -> doc.Rows:
    """The queries of each run, then its means."""

    def parts() -> Iterator[list[list[doc.Text]]]:
        for run in diff.runs:
            columns = list(diff.columns(run))
            for queries in (run.queries, run.judged_queries) if per_query else ():
                of_queries = ((name, values) for name, ids, values in columns if ids is queries)
                yield [
                    [run.name, [*queries], name, _texts(name, values, digits)] for name, values in of_queries
                ]
            yield [[run.name, [ALL], name, [doc.plain(mean(values), digits)]] for name, _, values in columns]

    return doc.Rows(("run", "query", "metric", "value"), parts(), frozenset((0, 1, 2)))


def _texts(metric: str, values: Floats, digits: Digits) -> list[str]:
    return doc.decimals(values, metric.startswith(_WHOLE), digits=digits)


def _queries(diff: Diff, run: RunDiff, digits: Digits) -> doc.Grid:
    """The values of the queries in both."""
    columns = [(name, values) for name, ids, values in diff.columns(run) if ids is run.queries]
    cells = zip(
        map(visible, run.queries), *(_texts(name, values, digits) for name, values in columns), strict=True
    )
    return doc.Grid(visible(run.name), ("query", *(name for name, _ in columns)), list(cells))


def _means(diff: Diff, digits: Digits) -> doc.Grid:
    """A row for each measure, a column for each run; differences of metrics have a sign."""
    by_run = [{name: mean(values) for name, _, values in diff.columns(run)} for run in diff.runs]
    head = ("", *(visible(run.name) for run in diff.runs))
    measures = [name for name in diff.measures if "(" not in name]
    rows = [(name, *(doc.number(means[name], digits) for means in by_run)) for name in measures]
    rows += [(f"Δ {name}", *(doc.signed(means[name], digits) for means in by_run)) for name in diff.metrics]
    return doc.Grid(f"Changes from {visible(diff.old)}", head, rows, runs_in_head=True)


def _grades(diff: Diff, run: RunDiff, k: int, digits: Digits) -> doc.Grid:
    means = {name: mean(values) for name, _, values in diff.columns(run)}
    rows = [
        (grade.removeprefix("grade="), *(doc.number(means[f"{name}({grade})@{k}"], digits) for name in COUNTS))
        for grade in diff.grades
    ]
    title = f"Documents that moved in the first {k} of a query, by grade"
    return doc.Grid(f"{title}: {visible(run.name)}", ("grade", *COUNTS), rows)


def _legend(diff: Diff) -> Iterator[str]:
    counts = {visible(run.name): len(run.queries) for run in diff.runs}
    queries = ", ".join(f"{count:,} ({name})" for name, count in counts.items()) + " queries"
    if len(counts) == 1:
        queries = many(sum(counts.values()), "query", "queries")
    settings = diff.options
    yield (
        f"Means over {queries} in both, to a depth of {settings.diff_depth:,}. RBO: p = {settings.p:g}, ties "
        f"{settings.rbo_ties}; whatever follows below the lists, it is between RBO_min and RBO_max."
    )
    yield (
        "same: the share of queries with the same first k documents in order, same_set: as a set. new, lost: "
        "documents that only the new, only the old run has in its first k; up, down: in both, moved."
    )


def _side_by_side(diff: Diff, run: RunDiff, changed: ChangedQuery, digits: Digits) -> doc.Grid:
    """A row for each rank: the document of both runs there, and its rank in the other."""
    columns = {"id": True, "grade": bool(diff.grades), "title": bool(diff.texts), "other": True}
    shown = [column for column, is_shown in columns.items() if is_shown]
    head = ["rank"]
    for name, other in ((diff.old, run.name), (run.name, diff.old)):
        heads = {"id": visible(name), "other": visible(f"in {other}")}
        head += (heads.get(column, column) for column in shown)

    def cells(document: MovedDocument | None) -> list[str]:
        if document is None:
            return [""] * len(shown)
        texts = {
            "id": visible(document.id),
            "grade": ABSENT if document.grade is None else f"{document.grade:.15g}",
            "title": visible(diff.texts.get(document.id, "")),
            "other": ABSENT if document.other_rank is None else str(document.other_rank),
        }
        return [texts[column] for column in shown]

    pairs = enumerate(zip_longest(changed.old, changed.new), 1)
    rows = [(str(rank), *cells(old), *cells(new)) for rank, (old, new) in pairs]
    left_columns = frozenset(c for c, column in enumerate(["id", *shown, *shown]) if column in ("id", "title"))
    title = f"Query {visible(changed.query)}: RBO {doc.number(changed.rbo, digits)}"
    return doc.Grid(title, tuple(head), rows, left_columns=left_columns, runs_in_head=True)

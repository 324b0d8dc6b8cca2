"""The documents of Results: queries, then the summary, for each run; or runs side by side."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from gradeval.compare_options import Groups
from gradeval.errors import OptionError, visible
from gradeval.evaluation.results import (
    BOUNDS,
    INTERVAL,
    TIE_RANGE,
    MetricColumn,
    Results,
    columns_by_spec,
    failed_to_dicts,
    has_numbers,
    position_of,
)
from gradeval.notices import lines, many
from gradeval.records import Record
from gradeval.registry.metric import NO_BOUNDS, OUTER
from gradeval.registry.spec import Spec
from gradeval.render import Digits
from gradeval.render import document as doc
from gradeval.version import document_head

ALL = "all"  # the query id of the summary


def document(
    results: Results,
    options: doc.RenderOptions,
    *,
    per_query: bool = False,
    summary: bool = True,
    wide: bool = False,
    labels: Sequence[str] | None = None,
    signature: bool = False,
    rank: str | None = None,
    by: Groups = (),
    spread: bool = False,
) -> doc.OutputDocument:
    """Runs and metrics are in the given order, counted queries in qrels order. wide: queries are rows and runs
    columns, for each metric, but in json and jsonl. labels: for trec, the first column of each metric, by
    default its name in trec_eval. signature: that of each metric, in md, latex and json. rank: the metric by
    which runs have a rank, in a column. by: groups of queries, whose means are printed too. spread: of each
    query the lowest, median and highest value over the runs, in place of the values of runs. Raises
    OptionError.
    """
    if spread:
        return _document_of_spread(results, options)
    if wide and (options.format == "trec" or _limits(results)):
        message = "the format trec" if options.format == "trec" else "ranges, intervals and bounds"
        raise OptionError(f"{message} cannot be printed wide")
    texts = partial(_texts, digits=options.digits)
    of_words = partial(texts, escape=doc.not_a_formula if options.spreadsheet else str)
    parts = partial(_parts, results, per_query, summary)
    groups = _Groups(_of_groups(results, by), rank, options.digits)

    def blocks() -> Iterator[doc.Block]:
        of_tables = partial(texts, escape=visible)
        if wide:
            yield from _wide_grids(results, per_query, summary, of_tables)
        else:
            yield from _grids(results, per_query, summary, of_tables, groups.ranks(results))
        yield from groups.grids(of_tables)
        yield from _about_ranks(results, rank)
        yield from _about_bounds(results)
        if signature and options.format != "table":  # in the formats of papers
            yield doc.Lines(list(map(visible, results.signatures())))

    def rows() -> list[doc.Rows]:
        if wide:
            return [_wide_rows(results, per_query, summary, of_words)]
        return [groups.rows(results, parts(), partial(_long_rows, texts=of_words, absent=""))]

    def records() -> doc.Rows:
        from json.encoder import encode_basestring_ascii

        write = partial(_long_rows, texts=_exact_texts, absent="null", word=encode_basestring_ascii)
        return groups.rows(results, parts(), write, encode_basestring_ascii)

    def content() -> dict[str, Any]:
        of_all = _content(results, per_query, summary, signature, groups.ranks(results))
        return {**of_all, **groups.content()}

    return doc.OutputDocument(
        blocks=blocks,
        rows=rows,
        content=content,
        records=records,
        columns=lambda: _trec_eval(results, parts(), partial(texts, width=6, signed=True), labels),
    )


Texts = Callable[[MetricColumn], list[str]]
Ranks = Sequence[int | None]  # of runs


class _Part(Record, eq=False):
    """Consecutive rows of a run."""

    run: int
    queries: list[str]  # or ALL
    columns: list[MetricColumn]
    is_summary: bool = False


def _parts(results: Results, per_query: bool, summary: bool) -> Iterator[_Part]:
    for r in range(len(results.runs)):
        if per_query:
            yield _Part(r, results.counted_queries(r), results.columns(r, per_query=True))
        if summary:
            yield _Part(r, [ALL], results.columns(r, per_query=False), is_summary=True)


def _texts(
    column: MetricColumn,
    *,
    digits: Digits,
    escape: Callable[[str], str] = str,
    width: int = 0,
    signed: bool = False,
) -> list[str]:
    """The values of a column as text. escape: for text values. digits, width, signed: of decimals()."""
    if column.texts is not None:
        return list(map(escape, column.texts))
    return doc.decimals(column.values, column.spec.metric.is_count, digits=digits, width=width, signed=signed)


def _exact_texts(column: MetricColumn) -> list[str]:
    """The values as JSON."""
    if column.texts is not None:
        import json

        return list(map(json.dumps, column.texts))
    kind = int if column.spec.metric.is_count else float
    return doc.of_distinct(column.values + 0.0, lambda n: repr(kind(n)) if math.isfinite(n) else "null")


def _limits(results: Results) -> list[str]:
    """The names of MetricColumn.limits."""
    limits: tuple[str, ...] = ()
    if any(run.tie_range is not None for run in results.runs):
        limits = TIE_RANGE
    elif any(run.interval is not None for run in results.runs):
        limits = INTERVAL
    return [*limits, *(BOUNDS if results.has_bounds else ())]


def _long_rows(
    results: Results,
    parts: Iterator[_Part],
    texts: Texts,
    absent: str,
    word: Callable[[str], str] = str,
    *,
    ranks: Ranks | None = None,
) -> doc.Rows:
    """A row for each value. absent: a range, bounds or a rank where there is none. word: writes the names."""
    limits = _limits(results)

    def of_limit(column: MetricColumn, name: str) -> doc.Text:
        has_limit = name in column.limits and not (name in BOUNDS and column.spec.bounds == NO_BOUNDS)
        return texts(column.limits[name]) if has_limit else absent

    def of_parts() -> Iterator[list[list[doc.Text]]]:
        for part in parts:
            run = word(results.runs[part.run].name)
            ids = list(map(word, part.queries))
            rank = [] if ranks is None else [_rank(ranks[part.run] if part.is_summary else None, absent)]
            rows: list[list[doc.Text]] = []
            for column in part.columns:
                of_limits = (of_limit(column, name) for name in limits)
                rows.append([run, ids, word(str(column.spec)), texts(column), *of_limits, *rank])
            yield rows

    head = ("run", "query", "metric", "value", *limits, *(() if ranks is None else ("rank",)))
    return doc.Rows(head, of_parts(), frozenset((0, 1, 2) if word is str else ()))


def _rank(rank: int | None, absent: str) -> str:
    return absent if rank is None else str(rank)


def _wide_rows(results: Results, per_query: bool, summary: bool, texts: Texts) -> doc.Rows:
    """A row for each metric and query, with a column for each run."""
    by_metric = _by_metric(results, per_query, summary, texts)
    cells: Iterator[list[list[doc.Text]]] = ([[ids, str(spec), *columns]] for spec, ids, columns in by_metric)
    return doc.Rows(("query", "metric", *(run.name for run in results.runs)), cells, frozenset((0, 1)))


def _by_metric(
    results: Results, per_query: bool, summary: bool, texts: Texts
) -> Iterator[tuple[Spec, list[str], list[list[str]]]]:
    """For each metric its queries, then ALL, and the texts of each run; '' where a query is not counted."""
    runs = range(len(results.runs))
    counted = [results.counted_queries(r) for r in runs]
    counted_by_any = set().union(*counted) if per_query else set()
    shown = [query for query in results.queries if query in counted_by_any]
    values = columns_by_spec(results, per_query=True)
    means = columns_by_spec(results, per_query=False)
    for spec in results.specs:
        queries: list[str] = []
        columns: list[list[str]] = [[] for _ in runs]
        if shown and spec.metric.per_query:
            queries += shown
            for r in runs:
                text_of = dict(zip(counted[r], texts(values[r][spec]), strict=True))
                columns[r] += (text_of.get(query, "") for query in shown)
        if summary and spec.metric.has_summary:
            queries.append(ALL)
            for r in runs:
                columns[r] += texts(means[r][spec])
        if queries:
            yield spec, queries, columns


def _trec_eval(
    results: Results, parts: Iterator[_Part], texts: Texts, labels: Sequence[str] | None
) -> Iterator[doc.Rows]:
    """trec_eval's columns. It evaluates one run: before each of several runs is a row runid with its name."""
    firsts = labels or [f"{spec.trec:<22}" for spec in results.specs]
    label = dict(zip(results.specs, firsts, strict=True))
    is_named = len(results.runs) < 2 or any(spec.metric.name == "runid" for spec in results.specs)
    last = None
    for part in parts:
        if part.run != last and not is_named:
            yield doc.Rows((), [[[f"{'runid':<22}", ALL, results.runs[part.run].name]]], frozenset((2,)))
        last = part.run
        rows: list[list[doc.Text]] = []
        for column in part.columns:
            values = texts(column)
            if not column.spec.metric.has_summary:  # relstring
                values = [f"'{text}'" for text in values]
            rows.append([label[column.spec], part.queries, values])
        yield doc.Rows((), [rows], frozenset((1,)))


def _grids(
    results: Results, per_query: bool, summary: bool, texts: Texts, ranks: Ranks | None
) -> Iterator[doc.Grid]:
    """A table of queries for each run, then one of the summaries."""
    for part in _parts(results, per_query, False):
        head = ("query", *chain.from_iterable(_heads(results, column.spec) for column in part.columns))
        values = (cells for column in part.columns for cells in _columns(results, column, texts))
        rows = list(zip(map(visible, part.queries), *values, strict=True))
        yield doc.Grid(visible(results.runs[part.run].name), head, rows, joined=_bounds_columns(head))
    if summary:
        yield _summary_grid(results, texts, ranks)


def _summary_grid(results: Results, texts: Texts, ranks: Ranks | None) -> doc.Grid:
    shown = [spec for spec in results.specs if spec.metric.has_summary]
    by_run = [
        [cell for column in part.columns for cells in _columns(results, column, texts) for cell in cells]
        for part in _parts(results, False, True)
    ]
    heads = [(spec, head) for spec in shown for head in _heads(results, spec)]
    cells = [
        list(row) if head == BOUNDS_HEAD else _best_in_row(spec, row)
        for (spec, head), row in zip(heads, zip(*by_run, strict=True), strict=False)
    ]
    runs = [visible(run.name) for run in results.runs]
    head = ("run", *(head for _, head in heads))
    if ranks is None:
        return doc.Grid("", head, list(zip(runs, *cells, strict=True)), joined=_bounds_columns(head))
    positions = [_rank(rank, doc.ABSENT) for rank in ranks]
    head = ("rank", *head)
    rows = list(zip(positions, runs, *cells, strict=True))
    return doc.Grid("", head, rows, 2, frozenset((1,)), _bounds_columns(head))


BOUNDS_HEAD = "bounds"  # of the column behind that of a metric


def _bounds_columns(head: Sequence[str]) -> frozenset[int]:
    return frozenset(column for column, name in enumerate(head) if name == BOUNDS_HEAD)


def _shows_bounds(results: Results, spec: Spec) -> bool:
    """Whether the metric has a column of bounds in tables, which may be empty."""
    return results.has_bounds and not (spec.metric.text or spec.metric.constant)


def _heads(results: Results, spec: Spec) -> tuple[str, ...]:
    return (spec.display, BOUNDS_HEAD) if _shows_bounds(results, spec) else (spec.display,)


def _columns(results: Results, column: MetricColumn, texts: Texts) -> Iterator[list[str | doc.Cell]]:
    """The cells of the values, and those of their bounds."""
    yield _cells(column, texts)
    if _shows_bounds(results, column.spec):
        yield _bounds(column, texts)


def _bounds(column: MetricColumn, texts: Texts) -> list[str | doc.Cell]:
    """0.374 to 0.743, with a mark where no judgments need reach them."""
    if column.spec.bounds == NO_BOUNDS:
        return [doc.ABSENT] * len(column.values)
    pairs = zip(*(texts(column.limits[name]) for name in BOUNDS), strict=True)
    mark = " *" if column.spec.bounds == OUTER else ""
    return [doc.Cell(f"{lower} to {upper}", mark) for lower, upper in pairs]


def _about_ranks(results: Results, rank: str | None) -> Iterator[doc.Block]:
    """By which metric they are."""
    if rank is not None:
        spec = results.specs[position_of(rank, results.specs)]
        yield doc.Sentences([f"Ranks: by {spec.display}."])


def _about_bounds(results: Results) -> Iterator[doc.Block]:
    """What the columns of bounds are, if there are any."""
    if not results.has_bounds:
        return
    about = (
        "Bounds: the lowest and the highest value that judgments of the unjudged documents retrieved could "
        "give; worst cases, not intervals of confidence."
    )
    outer = ", ".join(spec.display for spec in results.specs if spec.bounds == OUTER)
    marked = f"*: outer bounds of {outer}, which no judgments need reach."
    yield doc.Sentences([about, marked] if outer else [about])


def _wide_grids(results: Results, per_query: bool, summary: bool, texts: Texts) -> Iterator[doc.Grid]:
    """A table for each metric, with a column for each run."""
    names = tuple(visible(run.name) for run in results.runs)
    for spec, queries, of_runs in _by_metric(results, per_query, summary, texts):
        values = (_best_in_row(spec, row) for row in zip(*of_runs, strict=True))
        rows = [(visible(query), *row) for query, row in zip(queries, values, strict=True)]
        title = spec.display if len(results.specs) > 1 else ""
        yield doc.Grid(title, ("query", *names), rows, runs_in_head=True)


def _cells(column: MetricColumn, texts: Texts) -> list[str | doc.Cell]:
    """The values, with the range behind those that the order of ties changes, and the mean within it."""
    values = texts(column)
    if "low" not in column.limits:
        return list(values)
    low, high, *expected = (texts(column.limits[name]) for name in TIE_RANGE if name in column.limits)
    ranges = map(", ".join, zip(low, *expected, high, strict=True))
    return [
        value if value == least == most else doc.Cell(value, f" [{shown}]")
        for value, least, most, shown in zip(values, low, high, ranges, strict=True)
    ]


def _best_in_row(spec: Spec, row: Sequence[str | doc.Cell]) -> list[str | doc.Cell]:
    """The best values of several runs in bold; values with the same text are equally good."""
    cells = [cell if isinstance(cell, doc.Cell) else doc.Cell(cell) for cell in row]
    higher_is_better = spec.metric.higher_is_better
    texts = [cell.text for cell in cells if cell.text not in ("", "nan")]
    if len(row) < 2 or higher_is_better is None or spec.metric.text or not texts:
        return list(row)
    best = (max if higher_is_better else min)(texts, key=float)
    return [cell.replace(bold=cell.text == best) for cell in cells]


def _content(
    results: Results, per_query: bool, summary: bool, signature: bool, ranks: Ranks | None
) -> dict[str, Any]:
    of_runs = [_content_of_run(results, r, per_query, summary, signature) for r in range(len(results.runs))]
    if ranks is not None:
        of_runs = [{**of_run, "rank": rank} for of_run, rank in zip(of_runs, ranks, strict=True)]
    interval = next((run.interval for run in results.runs), None)
    return {
        **document_head("results"),
        "qrels": results.judged_by,
        "options": dict(results.options),
        **({} if interval is None else {"interval": {"method": interval[0], "confidence": interval[1]}}),
        **({"bounds": _kinds_of_bounds(results)} if results.has_bounds else {}),
        "metrics": [str(spec) for spec in results.specs],
        **({"asked": {str(spec): name for spec, name in results.asked.items()}} if results.asked else {}),
        "warnings": list(lines(results.notices, len(results.runs))),
        "notices": [notice.to_dict() for notice in results.notices],
        "failed": failed_to_dicts(results.failed),
        "runs": of_runs,
    }


def _kinds_of_bounds(results: Results) -> dict[str, str | None]:
    """How the bounds of each metric are known; null for those without."""
    numeric = (spec for spec in results.specs if not spec.metric.text)
    return {str(spec): None if spec.bounds == NO_BOUNDS else spec.bounds for spec in numeric}


def _of_groups(results: Results, groups: Groups) -> dict[str, Results]:
    if not groups:
        return {}
    from gradeval.evaluation.groups import results_of_groups  # imported only when needed

    return results_of_groups(results, groups)


class _Groups(Record, eq=False):
    """The results of groups of queries, and the ranks of runs, each where it is asked for."""

    results: Mapping[str, Results]
    rank: str | None  # the metric of ranks
    digits: Digits

    def ranks(self, results: Results) -> Ranks | None:
        return None if self.rank is None else results.ranks(self.rank, self.digits)

    def grids(self, texts: Texts) -> Iterator[doc.Grid]:
        """A table of the means of each group."""
        for name, part in self.results.items():
            title = f"{visible(name)}: {many(_counted(part), 'query', 'queries')}"
            yield _summary_grid(part, texts, self.ranks(part)).replace(title=title)

    def rows(
        self,
        results: Results,
        parts: Iterator[_Part],
        write: Callable[..., doc.Rows],
        word: Callable[[str], str] = str,
    ) -> doc.Rows:
        """The rows of all queries, then those of the means of each group, behind its name. word: writes it."""
        of_all = write(results, parts, ranks=self.ranks(results))
        if not self.results:
            return of_all
        by_name = {ALL: of_all}
        for name, part in self.results.items():
            by_name[name] = write(part, _parts(part, False, True), ranks=self.ranks(part))
        named = ((word(name), rows) for name, rows in by_name.items())
        together = ([[name, *row] for row in part] for name, rows in named for part in rows.parts)
        names = frozenset({0, *(column + 1 for column in of_all.names)}) if of_all.names else of_all.names
        return doc.Rows(("group", *of_all.head), together, names)

    def content(self) -> dict[str, Any]:
        """The means of each group, if there are any."""
        content = []
        for name, part in self.results.items():
            runs = _content(part, False, True, False, self.ranks(part))["runs"]
            content.append({"group": name, "queries": _counted(part), "runs": runs})
        return {"groups": content} if content else {}


def _counted(results: Results) -> int:
    """How many queries count for any run."""
    return int(results.counted_by_any.sum())


_SPREAD = [
    doc.Column("query", "query", doc.NAME),
    doc.Column("metric", "", doc.WORD),
    doc.Column("lowest", "lowest", doc.NUMBER),
    doc.Column("lowest_run", "run", doc.NAME),
    doc.Column("median", "median", doc.NUMBER),
    doc.Column("highest", "highest", doc.NUMBER),
    doc.Column("highest_run", "run", doc.NAME),
]


def _document_of_spread(results: Results, options: doc.RenderOptions) -> doc.OutputDocument:
    """Of each query and metric the lowest, median and highest value over the runs, and whose they are."""
    if len(results.runs) < 2:
        raise OptionError("a spread is over two runs or more")
    rows = {spec: list(_spread(results, spec)) for spec in results.specs if has_numbers(spec)}
    every = [row for of_metric in rows.values() for row in of_metric]
    content = [doc.exact(row) for row in every]

    def blocks() -> Iterator[doc.Grid]:
        for spec, of_metric in rows.items():
            title = f"{spec.display} over {many(len(results.runs), 'run', 'runs')}"
            grid = doc.grid_of(title, _SPREAD, of_metric, options.digits)
            runs = frozenset((2, 5))
            yield grid.replace(left_columns=runs | {0}, joined=runs)

    return doc.OutputDocument(
        blocks=blocks,
        rows=lambda: [doc.rows_of(_SPREAD, every, options.digits)],
        content=lambda: {**_content(results, False, True, False, None), "spread": content},
        records=lambda: content,
    )


def _spread(results: Results, spec: Spec) -> Iterator[dict[str, Any]]:
    """The rows of the queries for which any run has a value; of equal runs the first is named."""
    values = np.array([results.values(r, spec) for r in range(len(results.runs))])
    for q in np.flatnonzero(~np.isnan(values).all(axis=0)).tolist():
        of_query = values[:, q]
        lowest, highest = int(np.nanargmin(of_query)), int(np.nanargmax(of_query))
        yield {
            "query": results.queries[q],
            "metric": str(spec),
            "lowest": float(of_query[lowest]),
            "lowest_run": results.runs[lowest].name,
            "median": float(np.nanmedian(of_query)),
            "highest": float(of_query[highest]),
            "highest_run": results.runs[highest].name,
        }


def _content_of_run(
    results: Results, r: int, per_query: bool, summary: bool, signature: bool
) -> dict[str, Any]:
    run = results.runs[r]
    limits = _limits(results)
    numeric = [spec for spec in results.specs if not spec.metric.text]
    content: dict[str, Any] = {name: getattr(run, name) for name in ("name", "path", "sha256", "ties")}
    if run.read_with:
        content["options"] = dict(run.read_with)
    content["queries"] = run.queries
    content["depths"] = None if run.depths is None else list(run.depths)
    if summary:
        for key, columns in _with_limits(limits, results.columns(r, per_query=False)):
            content[key or "summary"] = {str(column.spec): column.exact for column in columns}
        content["undefined"] = {str(spec): n for spec in numeric if (n := results.undefined(r, spec))}
    if signature:
        content["signatures"] = {str(spec): results.signature(r, spec) for spec in numeric}
    if per_query:
        queries = results.counted_queries(r)
        for key, columns in _with_limits(limits, results.columns(r, per_query=True)):
            names = [str(column.spec) for column in columns]
            content[f"per_query_{key}" if key else "per_query"] = doc.Values(
                queries, names, list(map(_exact_texts, columns))
            )
    return content


def _with_limits(
    limits: Sequence[str], columns: list[MetricColumn]
) -> Iterator[tuple[str, list[MetricColumn]]]:
    """The columns, by '', and by the name of each limit that any has those that have it."""
    yield "", columns
    for name in limits:
        if having := [column.limits[name] for column in columns if name in column.limits]:
            yield name, having

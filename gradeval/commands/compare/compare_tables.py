"""Tables of values, from any tool, compared: what `gradeval compare --values` does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from gradeval.commands.compare.compare import compare_values
from gradeval.commands.compare.options import CompareOptions
from gradeval.commands.compare.result import Comparison
from gradeval.commands.compare.values import all_queries, from_tables, read_tables
from gradeval.errors import OptionError
from gradeval.evaluation.given import separate_runs
from gradeval.options import Options
from gradeval.tables.load import is_path, source_of


def compare_tables(
    tables: Any,
    metrics: str | Iterable[str] | None = None,
    *,
    lower_is_better: str | Iterable[str] = (),
    queries: str = "judged",
    query_ids: str | Iterable[str] | None = None,
    columns: Any = (),
    **options: Any,
) -> Comparison:
    """Compare tables of values per query, which any tool may have computed.

    tables: files, or a dict of them by name: CSV or TSV with a column of query ids and one for each metric,
    gradeval's own rows (-q), or the output of trec_eval -q. metrics: their names; by default all that every
    table has. lower_is_better: metrics where lower values are better; by default as gradeval's metric of the
    name, or higher. queries: 'judged' counts a query that a table lacks as 0, or excludes it where lower values
    are better; 'both' excludes it. query_ids: these queries only. columns: {'query': NAME}, the column of
    query ids; by default it has a usual name. options: as compare() has them. Raises GradevalError.
    """
    given = separate_runs(tables)
    if other := next((table for _, table in given if not is_path(table)), None):
        raise OptionError(f"a table of values must be a file, not a {type(other).__name__}")
    names = [metrics] if isinstance(metrics, str) else list(metrics or ())
    lower = [lower_is_better] if isinstance(lower_is_better, str) else list(lower_is_better)
    chosen = Options.of(queries=queries, query_ids=query_ids, columns=columns)
    return compare_files(
        [(label, source_of(table).path) for label, table in given],
        names,
        lower,
        chosen,
        CompareOptions.of(**options),
    )


def compare_files(
    files: Sequence[tuple[str | None, str]],
    metrics: Sequence[str],
    lower_is_better: Sequence[str],
    evaluation: Options,
    options: CompareOptions,
    query_ids: Callable[[Iterable[str], str], Sequence[str]] | None = None,
) -> Comparison:
    """The tables in (label, path) files compared. query_ids: chooses queries, given those of all tables."""
    columns = dict(evaluation.columns)
    if others := [role for role in columns if role != "query"]:
        raise OptionError(f"columns {others[0]}: tables of values have query=NAME only")
    tables = read_tables(files, columns.get("query"))
    chosen = evaluation.query_ids if query_ids is None else query_ids(all_queries(tables), "the tables")
    values, notices = from_tables(
        tables,
        metrics,
        complete=evaluation.queries == "judged",
        lower_is_better=lower_is_better,
        query_ids=chosen,
    )
    return compare_values(values, options, notices)

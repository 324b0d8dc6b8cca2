"""Qrels and runs that are read once, for several calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradeval.arrays.threads import default_jobs
from gradeval.errors import OptionError
from gradeval.options import OF_ONE_RUN, OF_QRELS, OF_RUN, Options, takes
from gradeval.tables.excluded import with_excluded
from gradeval.tables.load import (
    NOTHING_JUDGED,
    OpenedQrels,
    RunTable,
    as_file,
    check_ids_of_responses,
    check_inputs,
    is_path,
    joined,
    open_all,
    open_qrels,
    source_of,
    with_sources,
)

if TYPE_CHECKING:
    from gradeval.keywords import ReadQrels, ReadRun, Unpack


@takes(Options.rows(within=OF_QRELS))
def read_qrels(qrels: Any, **options: Unpack[ReadQrels]) -> OpenedQrels:
    """Read judgments once, for several calls of evaluate().

        >>> qrels = gradeval.read_qrels("qrels.txt")
        >>> gradeval.evaluate(qrels, "bm25.run", "AP")

    qrels: what evaluate() takes. options: qrels_format, qrels_feature, groups, unlabelled, merge, columns and
    jobs, as of evaluate(); and features, those of a LETOR file that are runs. Signatures name those that
    decide the judgments, which evaluate() cannot change.
    Raises GradevalError: InputError for data, OptionError for options.
    """
    chosen = Options(**options)
    if chosen.exclude is not None:
        raise OptionError("exclude: give it to evaluate(), which removes the documents from the runs too")
    check_inputs([("qrels", qrels)], chosen)
    return open_qrels(qrels, chosen, hashes=True)


@takes(OF_ONE_RUN)
def read_run(run: Any, **options: Unpack[ReadRun]) -> RunTable:
    """Read a run once, for several calls of evaluate(), whatever the judgments.

        >>> run = gradeval.read_run("bm25.run")
        >>> gradeval.evaluate("qrels.txt", {"bm25": run}, "AP")

    run: a path, {query: {document: score}}, tuples (query, document, score), or a data frame. options:
    run_format, groups, columns, split, ignore_identical_ids, max_passage, duplicates and jobs of
    evaluate(); features, one, of a LETOR file; and query_ids, of responses of search engines. Signatures name
    those that decide the ranking. exclude is evaluate()'s too, for the judgments.
    Raises GradevalError: InputError for data, OptionError for options.
    """
    chosen = with_excluded(Options(**options))
    if isinstance(run, RunTable):
        return run
    [(name, run)] = with_sources([("run", as_file(run, "run"))])
    check_inputs([(name, run)], chosen)
    opened_run, *further = open_all([(name, run)], NOTHING_JUDGED, chosen)
    check_ids_of_responses([run], chosen)
    if further:
        raise OptionError(f"features must be the one feature of {source_of(run).name} that is the run")
    columns = joined(opened_run.opened(), chosen.jobs or default_jobs())
    path = opened_run.path if is_path(run) else None
    read_with = chosen.of_reading(OF_RUN)
    return RunTable(path, columns, opened_run.ties, opened_run.collapse, read_with, chosen.exclude)

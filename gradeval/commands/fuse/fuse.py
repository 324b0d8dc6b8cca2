"""Fusion of several runs to one by sums of ranks or scores: fuse() makes a Fusion."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gradeval.arrays.segments import Segments
from gradeval.arrays.strings import Ids, Texts
from gradeval.arrays.threads import default_jobs
from gradeval.commands.fuse.options import SUM, FuseOptions
from gradeval.commands.fuse.rankings import Rankings
from gradeval.commands.fuse.tuning import Tuning, tuned
from gradeval.errors import OptionError
from gradeval.evaluation.results import Runs
from gradeval.evaluation.runs import check_labels, separate_runs
from gradeval.formats.columns import Columns
from gradeval.formats.diagnostics import Problems
from gradeval.formats.format import check_role, format_by_ending, writer_of
from gradeval.formats.output import OutputFile
from gradeval.formats.sources import compressed
from gradeval.formats.write import Content
from gradeval.notices import Notice
from gradeval.options import MORE, Options, takes
from gradeval.render.document import exact
from gradeval.render.printable import Tabular, WithNotices, warned
from gradeval.tables.excluded import with_excluded
from gradeval.tables.load import RunTable, names_of, open_inputs
from gradeval.version import document_head

if TYPE_CHECKING:
    from gradeval.keywords import FuseKeywords, Unpack

FORMAT = "trec"  # of a run, where the suffix of the file name is unknown
_TAG = b"gradeval"
# those of reading, and of evaluations that tune weights; depth and the order of ties are those of fusions
EVALUATED = {
    name: row
    for name, row in {**Options.rows(without=(MORE,)), "query_weights": Options.table["query_weights"]}.items()
    if name not in ("depth", "ties")
}
_NO_ROWS = Columns.whole(Ids.of([]), Ids.of([]), np.empty(0))


class RunOfFusion(NamedTuple):
    """One of the runs that are fused."""

    run: str
    path: str
    weight: float | None  # None for sum, which has no weights
    queries: int
    documents: int  # over its queries


class Fusion(RunTable, WithNotices, Tabular, eq=False):
    """A fused run, which evaluate() and other functions take as a run, with what it was made from.

    >>> fused = gradeval.fuse(["bm25.run", "dense.run"])
    >>> fused.save("fused.run")
    >>> gradeval.evaluate("qrels.txt", ["bm25.run", fused], "nDCG@10")
    """

    layout = "gradeval.commands.fuse.layout"

    options: FuseOptions = FuseOptions()
    runs: tuple[RunOfFusion, ...] = ()
    queries: int = 0
    documents: int | None = None  # over the queries; None where the run was not made
    tuning: Tuning | None = None

    @property
    def notices(self) -> Sequence[Notice]:
        return () if self.tuning is None else self.tuning.comparison.notices

    @property
    def runs_read(self) -> int:
        return 1 if self.tuning is None else self.tuning.comparison.runs_read

    def rows(self) -> list[dict[str, Any]]:
        """A dict for each line: query_id, doc_id, score and rank, by query and rank."""
        columns = self.columns
        lists = Segments(columns.bounds)
        queries = Texts(columns.queries.take(lists.query))
        lines = zip(
            queries, Texts(columns.documents), columns.value.tolist(), (lists.place + 1).tolist(), strict=True
        )
        return [dict(zip(("query_id", "doc_id", "score", "rank"), line, strict=True)) for line in lines]

    def save(self, path: str | os.PathLike[str], format: str | None = None) -> None:
        """Write the run atomically, in one of file_formats.WRITTEN_RUNS, by default that of the ending, or
        TREC's. Raises GradevalError.
        """
        name = os.fspath(path)
        with OutputFile(name, (), "save").stream() as sink:
            lists = Segments(self.columns.bounds)
            rank = (lists.place + 1).astype(np.float64)
            write_run(iter([self.columns.replace(rank=rank)]), sink, name, format)

    def to_dict(self) -> dict[str, Any]:
        """The object that the json format prints: how the run was made, without its lines."""
        chosen = self.options
        settings = {
            "method": chosen.method,
            "norm": chosen.normalization,
            "k": chosen.constant,
            "depth": chosen.depth,
            "top": chosen.top,
        }
        content: dict[str, Any] = {
            **document_head("fusion"),
            "settings": settings,
            "runs": [of_run._asdict() for of_run in self.runs],
            "queries": self.queries,
            "documents": self.documents,
            "notices": [notice.to_dict() for notice in self.notices],
        }
        if self.tuning is not None:
            tuning = self.tuning
            content["tuning"] = {
                "metric": tuning.metric,
                "step": 1 / chosen.steps,
                "folds": [exact({**vars(fold), "weights": list(fold.weights)}) for fold in tuning.folds],
                "all": exact({**vars(tuning.whole), "weights": list(tuning.whole.weights)}),
                "comparisons": [pair.to_dict() for pair in tuning.comparison.comparisons],
            }
        return content

    def __repr__(self) -> str:
        counts = f"runs={len(self.runs)}, queries={self.queries}, documents={self.documents}"
        return f"Fusion({self.options.method!r}, {counts})"


@takes({**FuseOptions.table, **EVALUATED})
def fuse(runs: Any, qrels: Any = None, **options: Unpack[FuseKeywords]) -> Fusion:
    """One run from several, by their ranks or their scores.

        >>> gradeval.evaluate("qrels.txt", gradeval.fuse(["bm25.run", "dense.run"]), "nDCG@10")

    runs: two or more, as evaluate() takes them. Documents are ranked by score, ties by id, both descending; the
    fused run has the queries of any. rrf adds w / (k + rank) over the runs that retrieve a document, sum its
    normalized scores and wsum these by the weights w of the runs; a run that lacks the document adds nothing.
    qrels: as evaluate() takes them, for tune; or the LETOR file whose lines runs are scores of.
    tune: the weights are chosen by a metric. Each query gets those, of all weights in multiples of step that
    sum to 1, that are best for the queries of the other folds, so that its value is out of sample; queries
    without judgments get those that are best for all. Query i of the qrels, from 0, is in fold i mod folds. Of
    equally good weights, those with more on the runs named first are taken.
    Raises InputError, OptionError, MetricError.
    Source: Cormack, Clarke, Buettcher, "Reciprocal rank fusion outperforms Condorcet and individual rank
    learning methods", SIGIR 2009; sum: CombSUM of Fox and Shaw, "Combination of multiple searches", TREC-2.
    """
    evaluation = Options.of(options, without=FuseOptions.table)
    fusion, batches = fused(qrels, separate_runs(runs), FuseOptions.of(options), evaluation)
    columns = Columns.joined(list(batches))
    return warned(fusion.replace(columns=columns, documents=len(columns.value)))


def fused(
    qrels: Any, runs: Runs, options: FuseOptions, evaluation: Options
) -> tuple[Fusion, Iterator[Columns]]:
    """The fusion without its rows, and these, computed as they are taken, whole queries at a time. The weights
    are chosen at once where they are tuned. Raises GradevalError.
    """
    if options.tune is not None and qrels is None:
        raise OptionError("tune needs the judgments: qrels=FILE", "tune", "qrels")
    evaluation = with_excluded(evaluation)
    check_labels(runs)
    judged, opened = open_inputs(qrels, runs, evaluation)
    if len(opened) < 2:
        raise OptionError(f"fuse needs two or more runs, not {len(opened)}")
    weights: Sequence[float | None] = options.weights or (1.0,) * len(opened)
    if len(weights) != len(opened):
        raise OptionError(f"weights: there are {len(weights)} for {len(opened)} runs", "weights")
    jobs = evaluation.jobs or default_jobs()
    rankings = Rankings.of(names_of(opened), opened, options, jobs)
    of_queries = np.broadcast_to(np.array(weights, np.float64), (len(rankings.queries), len(weights)))
    tuning = None
    if options.tune is not None:
        tuning = tuned(rankings, judged, options, evaluation)
        weights, of_queries = tuning.whole.weights, tuning.weights
    elif options.method == SUM:
        weights = [None] * len(opened)
    of_runs = [
        RunOfFusion(name, table.path or name, weight, len(table.columns.queries), len(table.columns.value))
        for name, table, weight in zip(rankings.names, rankings.tables, weights, strict=True)
    ]
    count = len(rankings.queries)
    fusion = Fusion("fused", _NO_ROWS, options=options, runs=tuple(of_runs), queries=count, tuning=tuning)
    return fusion, (block.ranked(of_queries, options.top) for block in rankings.blocks(options, jobs))


def write_run(batches: Iterator[Columns], sink: Any, name: str, to: str | None) -> int:
    """Write a run with ranks, compressed as the name of the file says. to: the format, None for that of the
    ending, or TREC's. Returns how many rows it has. Raises GradevalError for what the format cannot hold.
    """
    to = to or format_by_ending(name, FORMAT)
    check_role("run", to)
    writer = writer_of(to)
    content = Content("run", _TAG)
    writer.check_name(name, to)
    problems = Problems(name or "standard output")

    def checked() -> Iterator[Columns]:
        for batch in batches:
            problems.add(writer.refused(batch, content), problems.lines)
            problems.lines += len(batch.value)
            if not problems.found.total:
                yield batch

    with compressed(sink, name) as opened:
        writer.write(checked(), opened, content)
        problems.check()
    return problems.lines

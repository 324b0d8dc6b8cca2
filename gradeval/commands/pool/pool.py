"""The documents to judge next: those that runs retrieve and nobody has judged, the most useful first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gradeval.arrays import Bools, Floats, Ints
from gradeval.arrays.segments import stable_order
from gradeval.arrays.strings import Texts
from gradeval.arrays.threads import default_jobs
from gradeval.commands.pool.effects import Decision, OpenJudgments, metric_of
from gradeval.commands.pool.options import BY_METRIC, DECIDE, DEPTH, EFFECT, METRIC, RRF, PoolOptions
from gradeval.commands.pool.retrieved import Retrieved
from gradeval.errors import InputError, OptionError, UnknownQueryError
from gradeval.evaluation.caveats import line_notices
from gradeval.evaluation.results import Runs
from gradeval.evaluation.runs import separate_runs
from gradeval.file_formats import LabelledRuns, labelled, run_files
from gradeval.formats.detect import role_of
from gradeval.formats.lines import read_texts
from gradeval.formats.sources import Source
from gradeval.notices import Notice, NoticeKind, Notices, many
from gradeval.options import OF_RUNS, RULES_OF_RANKS, LaterIds, Options, takes
from gradeval.registry.spec import Metrics
from gradeval.render.printable import Tabular, WithNotices, warned
from gradeval.tables.excluded import with_excluded
from gradeval.tables.load import is_path, names_of, open_inputs, source_of

if TYPE_CHECKING:
    from gradeval.keywords import PoolKeywords, Unpack

_RRF_CONSTANT = 60  # Cormack, Clarke, Buettcher, SIGIR 2009
_SAME = 12  # decimals: sums of reciprocal ranks in another order may end in another last digit


class PooledDocument(NamedTuple):
    """An unjudged document."""

    query: str
    document: str
    best_rank: int  # over the runs
    runs: int  # how many retrieve it to the depth
    effect: float | None  # what its judgment can change; None where the order is not by effects


@dataclass(frozen=True, eq=False, repr=False)
class Pool(Tabular, WithNotices):
    """Unjudged documents in the order in which they should be judged.

    >>> pool = gradeval.pool("qrels.txt", ["bm25.run", "dense.run"], order="rrf", top=20)
    >>> [(found.query, found.document) for found in pool.documents]
    """

    layout = "gradeval.commands.pool.layout"

    documents: tuple[PooledDocument, ...]
    runs: tuple[str, ...]
    options: PoolOptions
    unjudged: int  # how many documents without judgment the runs have to the depth, of the chosen queries
    queries: int  # of how many queries
    texts: Mapping[str, str] | None = None  # of documents; None without a file of them
    metric: str = ""  # of the effects, '' without
    # of the order decide: the second run's mean less that of the first, and how many documents, from the first
    # on, decide its sign if all turn out 0: 0 where it is decided, None where all of them do not
    difference: float | None = None
    forecast: int | None = None
    notices: tuple[Notice, ...] = ()

    @property
    def runs_read(self) -> int:
        return len(self.runs)

    def rows(self) -> list[dict[str, Any]]:
        """A dict for each document, with the columns of tsv."""
        rows = [document._asdict() for document in self.documents]
        if self.texts is not None:
            rows = [{**row, "text": self.texts.get(row["document"], "")} for row in rows]
        return rows

    def __repr__(self) -> str:
        return f"Pool(documents={len(self.documents)}, runs={len(self.runs)}, order={self.options.order!r})"


@takes({**PoolOptions.table, **OF_RUNS})
def pool(
    qrels: Any, runs: Any, metrics: Metrics = METRIC, *, text: Any = None, **options: Unpack[PoolKeywords]
) -> Pool:
    """The documents to judge next: those that runs retrieve and the qrels lack, the most useful first.

        >>> gradeval.pool("qrels.txt", ["bm25.run", "dense.run"], order="rrf", top=20).to_pandas()

    qrels: what is judged so far, as evaluate() takes it; None for nothing. runs: as evaluate() takes them.
    metrics: one, of the orders effect and decide; decide takes those whose
    differences have exact bounds: nDCG, DCG, P, R and others.
    text: titles or texts of documents, {document: text} or a file as explain() takes. pool_depth: the ranks of
    the pool; depth is that of evaluations. Raises InputError, OptionError.
    Source: depth: the pools of TREC; rrf: Cormack, Clarke, Buettcher, "Reciprocal rank fusion outperforms
    Condorcet and individual rank learning methods", SIGIR 2009.
    """
    separate = separate_runs(runs)
    return warned(pool_of(qrels, separate, metrics, PoolOptions.of(options), Options.of(options), text=text))


def separate_qrels(files: Sequence[str], qrels: str | None, options: Options) -> tuple[Any, LabelledRuns]:
    """The qrels, None without, and the runs of a command line. The first file may be the qrels, which its
    content shows. Raises InputError where it could be both.
    """
    first: Any = None
    if qrels is None and labelled(files[0])[0] is None and run_files(files[0]) == [files[0]]:
        first = Source(files[0])
        role = role_of(first, options)
        if role is None:
            hint = "Give it as --qrels FILE if it has judgments, else as NAME=FILE"
            raise InputError(first.name, "this may be qrels or a run", hint=hint)
        if role == "qrels":
            qrels = first
            first = None
            files = files[1:]
    runs = LabelledRuns.of_arguments(files)
    if first is not None:
        runs = LabelledRuns([(None, first), *runs[1:]])
    if not runs and not options.features:
        raise OptionError("no runs given")
    return qrels, runs


def pool_of(
    qrels: Any,
    runs: Runs,
    metrics: Metrics,
    options: PoolOptions,
    evaluation: Options,
    *,
    text: Any = None,
) -> Pool:
    """Raises GradevalError."""
    if evaluation.judged_only:
        raise OptionError("judged_only leaves no unjudged documents", "judged_only")
    if evaluation.unjudged_grade is not None:
        raise OptionError("unjudged_grade leaves no unjudged documents", "unjudged_grade")
    evaluation = with_excluded(evaluation)
    judged, opened = open_inputs(qrels, runs, evaluation)
    if options.order is None:
        options = options.replace(order=DECIDE if len(opened) == 2 and qrels is not None else DEPTH)
    _check(options, evaluation, len(opened), has_qrels=qrels is not None)
    depth = min(options.pool_depth, evaluation.depth or options.pool_depth)
    jobs = evaluation.jobs or default_jobs()
    retrieved = Retrieved.of(judged.qrels, opened, depth, jobs)
    names = names_of(opened)
    chosen = _chosen(retrieved, options, evaluation)
    if options.order in BY_METRIC:
        chosen[len(judged.qrels.queries) :] = False  # these have no values
    candidates = _Candidates(retrieved, chosen)
    notices: list[Notice] = []
    for name, of_run in zip(names, retrieved.reduced, strict=True):
        of_lines = Notices(line_notices(of_run)).renamed(name)
        # their documents are in the pool, but of the orders by a metric
        notices += of_lines if options.order in BY_METRIC else of_lines.without(NoticeKind.UNJUDGED)
    of_metric: dict[str, Any] = {}
    if options.order in BY_METRIC:
        spec = metric_of(metrics)
        open_judgments = OpenJudgments(
            judged.qrels,
            retrieved.reduced,
            candidates.query,
            retrieved.documents.ranks(len(opened)),
            candidates.by_id,
            is_averaged=chosen[: len(judged.qrels.queries)],
            spec=spec,
            options=evaluation,
        )
        of_metric["metric"] = str(spec)
        decision = candidates.judge(open_judgments, options)
        if decision is not None:
            of_metric |= {"difference": decision.difference, "forecast": decision.forecast}
            sentence = _forecast(decision, f"{spec} of {names[1]} − {names[0]}")
            if _has_more(retrieved, open_judgments, depth):
                sentence += (
                    f"; documents below rank {depth} count as not relevant: judging them could change it"
                )
            notices.append(Notice(NoticeKind.FORECAST, "", decision.forecast or 0, str(spec), rule=sentence))
    order = candidates.ordered(options)
    documents = candidates.documents(_first(order, candidates.query, options))
    return Pool(
        documents,
        tuple(names),
        options,
        int(candidates.is_chosen.sum()),
        len(set(candidates.query[order].tolist())),
        texts=_texts(text, documents),
        notices=tuple(notices),
        **of_metric,
    )


def _check(options: PoolOptions, evaluation: Options, runs: int, *, has_qrels: bool) -> None:
    """Raise OptionError for an order that these do not have."""
    if options.order == DECIDE and runs != 2:
        raise OptionError(f"--order decide (order='decide') needs two runs, not {runs}")
    if options.order in BY_METRIC:
        order = f"--order {options.order} (order='{options.order}')"
        if not has_qrels:
            raise OptionError(f"{order} needs qrels")
        if evaluation.ties not in (None, *RULES_OF_RANKS):
            raise OptionError(f"{order} needs --ties trec or input (ties=), not {evaluation.ties}")
        if evaluation.no_relevant == "skip":
            raise OptionError(f"{order} needs a value for queries without relevant documents")


def _forecast(decision: Decision, difference: str) -> str:
    """difference: of which metric and runs it is."""
    forecast = decision.forecast
    if decision.is_fixed:
        return f"{difference} is 0, whatever the judgments: the metric sees no difference between the runs"
    if forecast is None:
        decides = "judgments of 0 do not decide its sign"
    elif forecast == 0:
        decides = "its sign is decided, whatever the judgments"
    else:
        decides = f"{many(forecast, 'judgment decides', 'judgments decide')} its sign, if all turn out 0"
    return f"{difference} is {decision.difference:+.4f}: {decides}"


def _has_more(retrieved: Retrieved, judgments: OpenJudgments, depth: int) -> bool:
    """Whether the metric depends on documents below the pool's depth."""
    if depth >= min(judgments.last_rank, judgments.options.depth or np.inf):
        return False
    return any((of_run.retrieved[judgments.is_averaged] > depth).any() for of_run in retrieved.reduced)


def _texts(text: Any, documents: Sequence[PooledDocument]) -> Mapping[str, str] | None:
    if text is None or not is_path(text):
        return None if text is None else dict(text)
    return read_texts(source_of(text), {row.document for row in documents})


def _chosen(retrieved: Retrieved, options: PoolOptions, evaluation: Options) -> Bools:
    """Which queries are judged, (Q,). Raises OptionError, UnknownQueryError."""
    names = Texts(retrieved.queries)
    ids = evaluation.query_ids
    chosen = np.ones(len(names), bool)
    if ids is not None:
        wanted = ids.choose(names, "the files") if isinstance(ids, LaterIds) else ids
        if unknown := [query for query in wanted if query not in set(names)]:
            raise UnknownQueryError(unknown, "the files")
        chosen = np.isin(np.arange(len(names)), [names.index(query) for query in wanted])
    if options.size is None:
        return chosen
    # by id, so that the sample does not depend on the order of files
    queries = np.flatnonzero(chosen & retrieved.in_runs).tolist()
    queries.sort(key=retrieved.queries.tolist().__getitem__)
    if options.size > len(queries):
        raise OptionError(
            f"size: there are {many(len(queries), 'query', 'queries')}, fewer than {options.size}", "size"
        )
    random = np.random.default_rng(options.seed)
    sample = random.choice(len(queries), options.size, replace=False)
    return np.isin(np.arange(len(names)), np.array(queries)[sample])


class _Candidates:
    """The U unjudged documents."""

    def __init__(self, retrieved: Retrieved, is_chosen: Bools) -> None:
        """is_chosen: which queries are, (Q,)."""
        of_runs = retrieved.documents
        row, rank = of_runs.document, of_runs.rank
        self.query, self.ids = of_runs.query, of_runs.documents
        self.is_chosen = is_chosen[self.query]
        self.queries = retrieved.queries
        count = len(self.query)
        self.best_rank = np.full(count, np.inf)
        np.minimum.at(self.best_rank, row, rank)
        self.runs = np.bincount(row, minlength=count)
        self.runs_at_best = np.bincount(row, rank == self.best_rank[row], count)
        self.fused = np.bincount(row, 1 / (_RRF_CONSTANT + rank), count).round(_SAME)
        descending = self.ids.descending(np.zeros(count, np.int64))
        self.by_id = np.empty(count, np.int64)  # the position of each by its id
        self.by_id[descending[::-1]] = np.arange(count)
        self.effect: Floats | None = None
        self._order: Ints | None = None

    def judge(self, judgments: OpenJudgments, options: PoolOptions) -> Decision | None:
        """Take the effects, and in the order decide what decides."""
        if options.order == EFFECT:
            self.effect = judgments.effects()
            return None
        decision = judgments.decided()
        self._order = decision.order
        self.effect = np.zeros(len(self.query))
        self.effect[decision.order] = decision.gain
        return decision

    def ordered(self, options: PoolOptions) -> Ints:
        """All of the chosen queries, in the order in which they should be judged."""
        if self._order is not None:
            return self._order
        keys: tuple[Floats | Ints, ...] = (self.by_id, -self.runs_at_best, self.best_rank, self.query)
        if options.order == RRF:
            keys = (self.by_id, -self.fused, self.query)
        elif options.order == EFFECT and self.effect is not None:
            keys = (self.by_id, self.query, -self.effect)
        order = np.lexsort(keys)
        return order[self.is_chosen[order]]

    def documents(self, rows: Ints) -> tuple[PooledDocument, ...]:
        effects = [None] * len(rows) if self.effect is None else self.effect[rows].tolist()
        columns = (
            Texts(self.queries.take(self.query[rows])),
            Texts(self.ids.take(rows)),
            self.best_rank[rows].astype(np.int64).tolist(),
            self.runs[rows].tolist(),
            effects,
        )
        return tuple(map(PooledDocument, *columns))


def _first(order: Ints, query: Ints, options: PoolOptions) -> Ints:
    """The documents that --per-query and --top leave. query: of each document."""
    if options.per_query is not None:
        by_query = stable_order(query[order])
        in_order = query[order][by_query]
        position = np.empty(len(order), np.int64)
        position[by_query] = np.arange(len(order)) - np.searchsorted(in_order, in_order)
        order = order[position < options.per_query]
    return order[: options.top]

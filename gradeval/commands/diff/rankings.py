"""Runs compared with one whose first ranks are kept, query by query, while they are read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from gradeval.arrays import Bools, Floats, Ints, Words, cached_property
from gradeval.arrays.segments import Segments, offsets_of, ranges
from gradeval.arrays.strings import Ids, Texts
from gradeval.arrays.threads import default_jobs
from gradeval.commands.diff.options import DiffOptions
from gradeval.errors import GradevalError, InputError, OptionError, named
from gradeval.evaluation.caveats import line_notices
from gradeval.evaluation.outcome import SHOWN_IDS, no_common_query
from gradeval.evaluation.results import FailedRun, Results, Runs, SavedResult
from gradeval.evaluation.runs import check_labels, path_of
from gradeval.evaluation.saved import is_saved
from gradeval.file_formats import LabelledRun
from gradeval.formats.sources import Source
from gradeval.notices import MAX_QUERIES, NoticeKind, Notices
from gradeval.options import EXPECTED, LaterIds, Options
from gradeval.records import Record
from gradeval.statistics.overlap import (
    RankedLists,
    RankedPairs,
    correlations,
    first_ranks,
    rank_biased_overlap,
)
from gradeval.tables.excluded import with_excluded
from gradeval.tables.load import (
    NOTHING_JUDGED,
    OpenedQrels,
    Run,
    check_inputs,
    inputs_of,
    is_path,
    names_of,
    open_runs,
    to_be_read_twice,
)
from gradeval.tables.qrels import Qrels
from gradeval.tables.ranking import NO_TIES, Collapse, Ranked, RunLines, ranked_lines
from gradeval.tables.reduction import Total

OVERLAPS = ("overlap", "jaccard", "AO")
COUNTS = ("new", "lost", "up", "down")
CHANGES = ("same", "same_set", *COUNTS)
Measures = Callable[[RankedPairs], Mapping[str, Floats]]


class FirstRanks(Record, eq=False):
    """The first ranks of Q queries of a run."""

    queries: Ids
    segments: Segments  # the documents by rank
    documents: Ids
    is_tied: Bools  # whether each has the score of the one before it in its query
    keys: Words  # of the documents, but of short ids, whose keys are made in less time than is worth memory

    @classmethod
    def joined(cls, parts: Sequence[FirstRanks]) -> FirstRanks:
        lengths = [np.zeros(1, np.int64), *(part.segments.lengths for part in parts)]
        return cls(
            Ids.joined([Ids.of([]), *(part.queries for part in parts)]),
            Segments(np.cumsum(np.concatenate(lengths))),
            Ids.joined([part.documents for part in parts]) if parts else Ids.of([]),
            np.concatenate([np.zeros(0, bool), *(part.is_tied for part in parts)]),
            np.concatenate([np.zeros(0, np.uint64), *(part.keys for part in parts)]),
        )

    def of_query(self, q: int) -> list[str]:
        """The ids of its documents, the best first."""
        return list(Texts(self.documents.take(slice(*self.segments.offsets[q : q + 2].tolist()))))


class _Part(Record, eq=False):
    """The results for the lines of some queries."""

    query: Ints  # their indices, (S,)
    line: Ints  # the first line of each, (S,)
    cut: int  # how many of them have more documents than the depth
    ranked: FirstRanks | None = None
    values: Floats | None = None  # (M, S)


class _RankedTotal(Total):
    """Collects what the first ranks of a run show, query by query."""

    keeps_ranks = False

    def __init__(self, path: str, qrels: Qrels, ties: str, collapse: Collapse, depth: int) -> None:
        super().__init__(qrels, ties, collapse)
        self.path = path
        self.depth = depth
        self.names: dict[int, bytes] = {}  # of the queries by their index
        self.parts: list[_Part] = []

    def see(self, index: Ints, queries: Ids) -> None:
        for number, name in zip(index.tolist(), queries.tolist(), strict=True):
            if (other := self.names.setdefault(number, name)) != name:
                ids = " and ".join(named(text.decode("utf-8", "surrogateescape")) for text in (other, name))
                message = f"the queries {ids} cannot be told apart: their keys are equal"
                raise InputError(self.path, message, hint="Rename one of them")

    def ranked(self, lines: RunLines) -> Ranked:
        ranked = super().ranked(lines)
        details = self.part(lines, ranked)
        none = np.empty(0, np.int64)
        return ranked.replace(
            details=details, row=none, segment=none, rank=none, score=np.empty(0), line=none, ties=NO_TIES
        )

    def part(self, lines: RunLines, ranked: Ranked) -> _Part:
        segments = Segments(lines.bounds)
        cut = int(np.count_nonzero(segments.lengths > self.depth))
        return _Part(lines.query, lines.line[lines.bounds[:-1]], cut, self.first_ranks(lines, self.depth))

    def first_ranks(self, lines: RunLines, depth: int) -> FirstRanks:
        segments = Segments(lines.bounds)
        order = ranked_lines(lines, self.ties_rule)
        rows = segments.first(depth)
        lengths = np.minimum(segments.lengths, depth)
        documents = lines.documents.take(order.line[rows])
        return FirstRanks(
            Ids.of([self.names[number] for number in lines.query.tolist()]),
            Segments(offsets_of(lengths)),
            documents.detached(),
            order.is_tied[rows],
            np.zeros(0, np.uint64) if documents.short else documents.keys(),
        )

    def add(self, result: Ranked, first_line: int) -> None:
        super().add(result, first_line)
        self.parts.append(result.details.replace(line=result.details.line + first_line))

    @property
    def cut(self) -> int:
        """How many queries have more documents than the depth."""
        return sum(part.cut for part in self.parts)

    def notices(self) -> Notices:
        """The notices of the lines that were read."""
        return Notices(line_notices(self.reduced())).without(NoticeKind.UNJUDGED)


class Baseline(Record, eq=False):
    """The run that others are compared with: its first ranks, as judgments of its documents."""

    name: str
    ranked: FirstRanks
    qrels: Qrels  # the same queries and documents, by rank; the grades mean nothing
    order: Ints  # the queries in the order of the file, (Q,)
    cut: int
    depth: int
    notices: Notices

    @classmethod
    def of(cls, name: str, run: Run, depth: int, jobs: int) -> Baseline:
        """Raises InputError(s)."""
        total = run.collect(
            lambda ties: _RankedTotal(run.path, NOTHING_JUDGED.qrels, ties, run.collapse, depth), jobs
        )
        notices, cut = total.notices(), total.cut
        line = np.concatenate([part.line for part in total.parts])
        parts = [part.ranked for part in total.parts if part.ranked is not None]
        total.parts.clear()  # to free its memory
        ranked = FirstRanks.joined(parts)
        grades = np.broadcast_to(np.zeros(1), len(ranked.is_tied))  # takes no memory
        qrels = Qrels(run.path, ranked.queries, ranked.segments.offsets, ranked.documents, grades)
        if len(ranked.keys) == len(ranked.is_tied):
            # fills the cached property, of which threads would all make it
            qrels.__dict__["keys"] = ranked.keys
        return cls(name, ranked, qrels, line.argsort(kind="stable"), cut=cut, depth=depth, notices=notices)

    @cached_property
    def queries(self) -> Texts:
        """The ids, (Q,)."""
        return Texts(self.qrels.queries)


class _Compared(_RankedTotal):
    """Compares each query with that of the baseline. shown: how many ranks are kept."""

    def __init__(
        self, path: str, baseline: Baseline, run: tuple[str, Collapse], measures: Measures, shown: int
    ) -> None:
        """run: the order of its ties, and which lines are one document."""
        super().__init__(path, baseline.qrels, *run, baseline.depth)
        self.baseline, self.measures, self.shown = baseline, measures, shown

    def part(self, lines: RunLines, ranked: Ranked) -> _Part:
        lengths = lines.lengths
        is_common = lines.query < len(self.qrels.queries)
        cut = int(np.count_nonzero(lengths[is_common] > self.depth))
        pairs = self._pairs(lines, ranked, np.flatnonzero(is_common))
        values = np.full((len(self.names_of_measures), len(lines.query)), np.nan)
        if pairs.count:
            values[:, is_common] = list(self.measures(pairs).values())
        shown = self.first_ranks(lines, self.shown) if self.shown else None
        return _Part(lines.query, lines.line[lines.bounds[:-1]], cut, shown, values)

    @cached_property
    def names_of_measures(self) -> list[str]:
        nothing = RankedLists(Segments(np.zeros(1, np.int64)), np.zeros(0, bool))
        return [*self.measures(RankedPairs((nothing, nothing), np.empty((2, 0), np.int64)))]

    def _pairs(self, lines: RunLines, ranked: Ranked, common: Ints) -> RankedPairs:
        """common: the queries that both have, of those of the lines."""
        query = lines.query[common]
        begins = self.qrels.offsets[query]
        counts = self.qrels.offsets[query + 1] - begins
        old = RankedLists(Segments(offsets_of(counts)), self.baseline.ranked.is_tied[ranges(begins, counts)])
        lengths = np.minimum(lines.lengths[common], self.depth)
        is_tied = np.zeros(len(lines.score), bool)
        if lines.by_score is not None:
            is_tied[lines.by_score.repeated] = True
        new = RankedLists(Segments(offsets_of(lengths)), is_tied[ranges(lines.bounds[common], lengths)])
        number = np.zeros(len(lines.query), np.int64)
        number[common] = np.arange(len(common))
        within = np.flatnonzero(ranked.rank <= self.depth)
        pair = number[ranked.segment[within]]
        rows = [
            ranked.row[within] - (begins - old.segments.starts)[pair],
            new.segments.offsets[pair] + ranked.rank[within] - 1,
        ]
        return RankedPairs((old, new), np.array(rows))


class ComparedRun(Record, eq=False):
    """A run compared with the baseline."""

    name: str
    path: str
    measures: Sequence[str]
    values: Floats  # of each measure for each query of the baseline, (M, Q), NaN where the run lacks it
    in_both: Bools  # which queries it has, (Q,)
    new_queries: int  # how many queries only the run has
    new_ids: Sequence[str]  # of the first of them
    cut: int  # how many of the queries in both have more documents than the depth
    notices: Notices
    shown: int  # how many first ranks are kept
    ranked: FirstRanks  # what is kept: the documents of these ranks
    row: Ints  # which of the queries of `ranked` each of the baseline is, (Q,), -1 for none

    @classmethod
    def of(
        cls, name: str, run: Run, baseline: Baseline, measures: Measures, *, shown: int = 0, jobs: int = 1
    ) -> ComparedRun:
        """shown: how many ranks are kept. Raises InputError(s)."""
        total = run.collect(
            lambda ties: _Compared(run.path, baseline, (ties, run.collapse), measures, shown), jobs
        )
        count = len(baseline.qrels.queries)
        values = np.full((len(total.names_of_measures), count), np.nan)
        row = np.full(count, -1)
        only_new: list[tuple[int, int]] = []
        before = 0
        for part in total.parts:
            is_common = part.query < count
            values[:, part.query[is_common]] = part.values[:, is_common]  # type: ignore[index]
            row[part.query[is_common]] = before + np.flatnonzero(is_common)
            before += len(part.query)
            only_new += zip(part.line[~is_common].tolist(), part.query[~is_common].tolist(), strict=True)
        first_ids = [total.names[number] for _, number in sorted(only_new)[:MAX_QUERIES]]
        kept = [part.ranked for part in total.parts if part.ranked is not None]
        return cls(
            name,
            run.path,
            total.names_of_measures,
            values,
            in_both=row >= 0,
            new_queries=len(only_new),
            new_ids=tuple(text.decode("utf-8", "surrogateescape") for text in first_ids),
            cut=total.cut,
            notices=total.notices(),
            shown=shown,
            ranked=FirstRanks.joined(kept),
            row=row,
        )


# --- runs as a user has them


class DiffedRuns(NamedTuple):
    """(label, run) of the old run, and of each of the others."""

    old: LabelledRun
    new: Runs

    @classmethod
    def of(cls, old: Runs, new: Runs) -> DiffedRuns:
        """Data without a name are 'old', and 'new' if it is one. Raises OptionError for several old runs."""
        if len(old) != 1:
            raise OptionError(f"old must be one run, not {len(old)}")
        [(label, run)] = old
        first = label if label or is_path(run) else "old", run
        if len(new) == 1 and new[0][0] is None and not is_path(new[0][1]):
            return cls(first, [("new", new[0][1])])
        return cls(first, new)

    def opened(self) -> DiffedRuns:
        """With the Source of each path, since a run may be read again. Raises OptionError for saved results."""
        runs = to_be_read_twice((self.old, *self.new))
        for _, run in runs:
            if isinstance(run, (Results, SavedResult)) or (isinstance(run, Source) and is_saved(run)):
                path = run.name if isinstance(run, Source) else path_of(run, "this")
                raise OptionError(f"{path} is a saved result, which has no rankings. Give the run itself")
        return DiffedRuns(runs[0], runs[1:])


class Compared(NamedTuple):
    """The rankings of runs compared with those of a baseline, before they are summarized."""

    baseline: Baseline
    chosen: Ints  # which of its queries count, in the order of its file
    runs: Sequence[ComparedRun]
    failed: Sequence[FailedRun]

    def in_both(self, run: ComparedRun) -> Ints:
        """Which of the queries that count a run has."""
        return self.chosen[run.in_both[self.chosen]]


def measures_of(options: DiffOptions) -> Measures:
    """A function from pairs of lists to their values, by measure in the order of printing."""

    def measures(pairs: RankedPairs) -> Mapping[str, Floats]:
        rbo = rank_biased_overlap(pairs, options.p, options.rbo_ties)
        tau, tau_ap = correlations(pairs)
        first = first_ranks(pairs, options.k)
        in_order = [*names_at(OVERLAPS, options.k), "same@1", *names_at(CHANGES, options.k)]
        values = {"RBO": rbo.value, "RBO_min": rbo.low, "RBO_max": rbo.high, "tau": tau, "tau_ap": tau_ap}
        return {**values, **{name: first[name] for name in in_order}}

    return measures


def names_at(measures: Sequence[str], cutoffs: Sequence[int]) -> list[str]:
    return [f"{name}@{k}" for name in measures for k in cutoffs]


def compare_rankings(
    runs: DiffedRuns,
    options: DiffOptions,
    evaluation: Options,
    *,
    judged: OpenedQrels = NOTHING_JUDGED,
    shown: int = 0,
) -> Compared:
    """Read the first ranks of the old run, then compare each new run with them. Runs that cannot be read are in
    Compared.failed. shown: how many ranks are kept of all. Raises GradevalError for the old run and options.
    """
    if evaluation.ties in ("best", "worst", EXPECTED):
        reason = f"ties={evaluation.ties} needs judgments; rankings are compared with trec or input"
        raise OptionError(reason, "ties")
    evaluation = with_excluded(evaluation)
    check_inputs(inputs_of([], (runs.old, *runs.new)), evaluation)
    check_labels([runs.old, *runs.new])
    first, *new = (_opened(run, judged, evaluation, n) for n, run in enumerate((runs.old, *runs.new), 1))
    old = first[0]
    if isinstance(old, FailedRun):
        raise old.error
    if len(first) > 1:
        raise OptionError(f"old must be one run, not {len(first)} features. Choose one")
    opened = [run for of_file in new for run in of_file if isinstance(run, Run)]
    names = names_of((old, *opened))
    jobs = evaluation.jobs or default_jobs()
    baseline = Baseline.of(names[0], old, options.diff_depth, jobs)
    chosen = _chosen(baseline, evaluation)
    compared: list[ComparedRun] = []
    failed = [run for of_file in new for run in of_file if isinstance(run, FailedRun)]
    for name, run in zip(names[1:], opened, strict=True):
        try:
            of_run = ComparedRun.of(name, run, baseline, measures_of(options), shown=shown, jobs=jobs)
            _check_common(of_run, baseline, chosen)
            compared.append(of_run)
        except GradevalError as error:
            failed.append(FailedRun(run.path, error))
    return Compared(baseline, chosen, compared, failed)


def _opened(run: LabelledRun, judged: OpenedQrels, options: Options, position: int) -> list[Run | FailedRun]:
    """A run, or those of a file with several."""
    label, data = run
    try:
        opened = open_runs(label, data, judged, options, position=position)
    except GradevalError as error:
        return [FailedRun(path_of(data, label or f"run{position}"), error)]
    return [item if isinstance(item, Run) else FailedRun(item.path, item) for item in opened]


def _chosen(baseline: Baseline, options: Options) -> Ints:
    """The queries of the baseline that count. Raises OptionError, UnknownQueryError."""
    ids = options.query_ids
    if ids is None:
        return baseline.order
    path = baseline.qrels.path
    wanted = ids.choose(baseline.queries, path) if isinstance(ids, LaterIds) else ids
    is_chosen = np.zeros(len(baseline.order), bool)
    is_chosen[baseline.qrels.positions(wanted)] = True
    return baseline.order[is_chosen[baseline.order]]


def _check_common(run: ComparedRun, baseline: Baseline, chosen: Ints) -> None:
    """Raise InputError where a run has none of the chosen queries."""
    if not run.in_both[chosen].any():
        ids = [baseline.queries[q] for q in chosen[: SHOWN_IDS + 1].tolist()]
        raise no_common_query(run.path, baseline.qrels.path, run.new_ids[: SHOWN_IDS + 1], ids)

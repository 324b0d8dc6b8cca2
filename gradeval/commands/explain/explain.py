"""How the value of a metric for a query comes about: explain() makes Explanations."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gradeval.arrays import Floats, Ints
from gradeval.arrays.segments import Segments, offsets_of, ratio
from gradeval.arrays.strings import IdIndex, Ids, Texts
from gradeval.arrays.threads import default_jobs
from gradeval.errors import MetricError, OptionError
from gradeval.evaluation.caveats import qrels_notices, qrels_notices_for, rank_notices, unscaled_notices
from gradeval.evaluation.plan import chosen_queries, counted_queries, with_ids
from gradeval.evaluation.runs import check_labels, separate_runs
from gradeval.evaluation.score import Judge, prepared, score, scored
from gradeval.file_formats import LabelledRun
from gradeval.formats.columns import Columns
from gradeval.formats.lines import read_texts
from gradeval.formats.sources import kept_open
from gradeval.metrics._kernels import exp2_gain
from gradeval.notices import NO_TEXT, NO_TITLE, Notice, NoticeKind, Notices
from gradeval.options import EXPECTED, OF_RUNS, QUERIES_SECTION, Options, takes, whole
from gradeval.registry.spec import Spec, parse
from gradeval.render.document import exact
from gradeval.render.printable import Tabular, WithNotices, warned
from gradeval.tables.assumed import completed
from gradeval.tables.excluded import with_excluded
from gradeval.tables.judgments import Judgments
from gradeval.tables.levels import Level, LevelGroup
from gradeval.tables.load import (
    Run,
    check_inputs,
    inputs_of,
    is_path,
    names_of,
    names_responses,
    open_all,
    open_qrels,
    source_of,
    with_all_features,
    with_feature_runs,
    with_sources,
)
from gradeval.tables.qrels import Qrels
from gradeval.tables.reduction import Reduced, reduce_columns
from gradeval.tables.terms import DiscountedTerms, RelevanceFunction, Terms

if TYPE_CHECKING:
    from gradeval.keywords import Runs, Unpack

METRIC = "nDCG@10"
_SAMPLES = 64  # of the curve of φ, between its ends
_AT_ONCE = 1 << 20  # judgments of the tables that are scored together, each without a document
_AT_MOST = 10**8  # judgments of all these tables: about 5 seconds


class Document(NamedTuple):
    """A document. rank, score: None if not retrieved. grade: less --zero-grade; None if not judged."""

    id: str
    rank: int | None
    score: float | None
    grade: float | None


class Term(NamedTuple):
    """What a document adds to a sum."""

    document: Document | None  # None for one that only the ideal ranking has
    value: float  # the term
    running: float  # the sum up to and with it
    contribution: float  # what it adds to the value of the metric
    # where the metric has it: not its rank if unjudged ones are removed or ties reordered; None: anywhere
    position: int | None = None
    gain: float | None = None  # of a discounted sum, whose term is gain / discount
    discount: float | None = None
    scaled: float | None = None  # what the gain is made from in place of the grade (grade / m, φ)


class Change(NamedTuple):
    """The value of the metric if a document were in neither the run nor the judgments."""

    document: Document
    value: float
    change: float  # from the value with the document


class Loss(NamedTuple):
    """The loss of value because a document is not at its ideal rank."""

    document: Document
    ideal_position: int | None  # None if it is not in the ideal ranking, or below its cutoff
    contribution: float
    ideal_contribution: float
    loss: float  # ideal_contribution - contribution, negative above its ideal rank


class Difference(NamedTuple):
    """The share of a document in the difference of two runs; of a metric that is no sum, see Change."""

    id: str
    grade: float | None
    rank: int | None  # None where it was not retrieved, as other_rank
    other_rank: int | None
    contribution: float  # to the value of the run
    other: float  # to that of the other run
    difference: float  # contribution - other


class Phi(NamedTuple):
    """The relevance function of a metric for a query, by its control points."""

    points: tuple[tuple[str, float, float], ...]  # (name, grade, φ), none where no grade is above 0
    whisker: float | None  # Q3 + 1.5 (Q3 - Q1), or as in the released code; None if points are given, or none
    values: tuple[tuple[float, int, float, float], ...]  # (grade, documents, φ, gain), the highest grade first
    curve: tuple[tuple[float, float], ...]  # (grade, φ) between the ends of the points


class Selection(NamedTuple):
    """The documents of an explanation that a reader wants to see first, as Explanation.selected() says."""

    documents: tuple[Document, ...]
    hidden: int  # how many retrieved documents are left out
    hidden_contribution: float  # what these add
    missed: int  # how many documents with a grade above 0 were not retrieved


@dataclass(frozen=True, eq=False, repr=False)
class Explanation(WithNotices, Tabular):
    """How the value of a metric for one query of a run comes about.

        >>> [why] = gradeval.explain("qrels.txt", "bm25.run", "nDCG@10", "401")
        >>> why.value, why.losses[0].document.id, why.rows()

    Of a sum over documents, value = scale · (total - base) / normalizer; of another metric, terms is None, and
    changes has the value without each document.
    """

    layout = "gradeval.commands.explain.layout"

    metric: str  # its canonical name
    display: str  # its name as tables show it
    qrels: str  # the path
    run: str
    query: str
    value: float
    documents: tuple[Document, ...]  # those retrieved, by rank; then judged ones, by descending grade
    # where the metric has documents, if not at their ranks: without unjudged documents (-J), or, where it has
    # groups, with all judged ones
    positions: Mapping[Document, int] | None = None
    is_empty: bool = False  # whether the metric needs a relevant document and has none: see --no-relevant
    terms: tuple[Term, ...] | None = None  # of a sum, in the order in which they are added
    total: float = math.nan  # the sum
    base: float = 0.0  # what is subtracted from it
    scale: float = 1.0  # what it is multiplied with
    normalizer: float = 1.0  # what it is divided by
    ideal: tuple[Term, ...] | None = None  # of the ideal ranking, whose total - base is the normalizer
    by_rank: tuple[float, ...] = ()  # of normalized DCGs: the value if the ranking were cut at rank 1, 2, …
    discounts: tuple[float, ...] = ()  # of rank 1, 2, …, for DCGs whose documents without a gain have no terms
    scaled: str = ""  # what Term.scaled is
    changes: tuple[Change, ...] = ()  # without a sum: of each document, in their order, but for untried ones
    untried: int = 0  # documents without a change, since they are too many
    assumed: frozenset[str] = frozenset()  # documents whose grade is that of unjudged_grade
    levels: tuple[Level, ...] = ()  # what the metric has to show besides its terms, as are phi and groups
    phi: Phi | None = None
    groups: tuple[LevelGroup, ...] = ()
    cutoff: int | None = None  # of the metric
    ties: str = ""  # the rule for tied scores
    against: Explanation | None = None  # the explanation for the other run
    titles: Mapping[str, str] = field(default_factory=dict)  # document -> text
    query_text: str = ""  # '' if unknown
    options: Mapping[str, object] = field(default_factory=dict)
    notices: tuple[Notice, ...] = ()  # of all inputs

    def __repr__(self) -> str:
        about = f"{self.metric} of query {self.query!r}, {self.run}: {self.value:.4f}"
        return f"Explanation({about}, notices={len(self.warnings)})"

    @property
    def runs_read(self) -> int:
        return 1 if self.against is None else 2

    def rows(self) -> list[dict[str, Any]]:
        """A dict for each document: its rank, id, score and grade, and what it adds to the value."""
        return [
            {**document._asdict(), "contribution": self.contributions.get(document)}
            for document in self.documents
        ]

    @property
    def is_sum(self) -> bool:
        """Whether the value is a sum over documents, which `terms` has; else see `changes`."""
        return self.terms is not None

    @cached_property
    def contributions(self) -> Mapping[Document, float]:
        """The contribution of each document to the value; without a sum, minus the change without it."""
        if self.terms is None:
            return {change.document: -change.change for change in self.changes}
        return {term.document: term.contribution for term in self.terms if term.document is not None}

    def place(self, document: Document) -> int | None:
        """Where the metric has the document, from 1; None where it is not ranked."""
        return document.rank if self.positions is None else self.positions.get(document)

    @cached_property
    def retrieved(self) -> int:
        """How many of the documents were retrieved; these are the first."""
        return sum(document.rank is not None for document in self.documents)

    @cached_property
    def ranked(self) -> Sequence[Document]:
        """The documents that have a place, in order."""
        if self.positions is None:
            return self.documents[: self.retrieved]
        return sorted(filter(self.place, self.documents), key=lambda document: self.place(document) or 0)

    @property
    def first_ranks(self) -> int:
        """How many ranks are shown by default: the cutoff of the metric, up to 20, or 10."""
        return min(self.cutoff or 10, 20)

    def selected(self, ranks: int, further: int | None = None) -> Selection:
        """The documents of the first ranks; then so many further ones that add most to the value, in order; so
        many judged ones not retrieved, of the ideal ranking if there is one. further: by default as ranks.
        """
        further = ranks if further is None else further
        adds = self.contributions
        first = self.ranked[:ranks]
        below = {document: self.place(document) or 0 for document in set(adds).difference(first)}
        most = self._adding(below)[:further]
        missed = [document for document in self.documents[self.retrieved :] if self.place(document) is None]
        positive = [document for document in missed if (document.grade or 0) > 0]
        best: set[Document | None] = {*positive, *filter(adds.get, missed)}
        if self.ideal is not None:
            best = {term.document for term in self.ideal}
        absent = [document for document in missed if document in best][:further]
        documents = *first, *sorted(most, key=below.__getitem__), *absent
        hidden = math.fsum(adds[document] for document in set(below).difference(most) if below[document])
        return Selection(documents, len(self.ranked) - len(first) - len(most), hidden, len(positive))

    def _adding(self, places: Mapping[Document, int]) -> list[Document]:
        """Those of the documents at these places that add to the value, the one that adds most first; none
        where there are groups, since every judged document adds.
        """
        if self.groups:
            return []
        adds = self.contributions
        adding = [document for document, rank in places.items() if rank and abs(adds[document]) > 0]
        return sorted(adding, key=lambda document: (-abs(adds[document]), places[document]))

    @property
    def has_losses(self) -> bool:
        """Whether losses are defined: it is a DCG whose ideal ranking is of documents of the query."""
        parts = [part for term in self.ideal or () for part in (term.discount, term.document)]
        return self.ideal is not None and None not in parts

    @cached_property
    def losses(self) -> tuple[Loss, ...]:
        """The loss of each document, the largest first. Their sum is 1 - value. Empty if not has_losses."""
        best = {term.document: term for term in self.ideal or () if self.has_losses}
        losses = []
        for document in self.documents if self.has_losses else ():
            adds = self.contributions.get(document, 0.0)
            ideal = best.get(document)
            position, ideally = (ideal.position, ideal.contribution) if ideal else (None, 0.0)
            if ideal or adds:
                losses.append(Loss(document, position, adds, ideally, ideally - adds))
        return tuple(sorted(losses, key=lambda loss: -loss.loss))

    @cached_property
    def differences(self) -> tuple[Difference, ...]:
        """The contribution of each document to the difference of the runs, the largest first."""
        if self.against is None:
            return ()
        sides = (self, self.against)
        by_id = [{document.id: document for document in side.documents} for side in sides]
        differences = []
        for name, document in {**by_id[0], **by_id[1]}.items():
            ours, theirs = (documents.get(name) for documents in by_id)
            adds, other_adds = (  # None for a document that was not tried
                0.0
                if document_of_side is None
                else side.contributions.get(document_of_side, None if side.untried else 0.0)
                for side, document_of_side in zip(sides, (ours, theirs), strict=True)
            )
            if adds is not None and other_adds is not None:
                row = (document.grade, ours and ours.rank, theirs and theirs.rank, adds, other_adds)
                differences.append(Difference(name, *row, adds - other_adds))
        return tuple(sorted(differences, key=lambda difference: -abs(difference.difference)))

    @cached_property
    def _places(self) -> list[dict[str, int]]:
        """The place of each document in the run and in the other run, from 0."""
        sides = self, self.against or self
        return [{document.id: position for position, document in enumerate(side.ranked)} for side in sides]

    def displaced_by(self, document: str) -> list[Document]:
        """The documents that took the place that a document has in the other run, if it is lower here."""
        ours, theirs = self._places
        position = theirs.get(document)
        if position is None or ours.get(document, math.inf) <= position:
            return []
        return [taken for taken in self.ranked[: position + 1] if theirs.get(taken.id, math.inf) > position]

    def to_dict(self) -> dict[str, Any]:
        """The object of json. Numbers are exact, undefined ones None."""
        content = self._content()
        if self.has_losses:
            content["losses"] = list(map(_of_document, self.losses))
        if self.against is not None:
            content["against"] = self.against._content()
            content["differences"] = [
                {**row._asdict(), "displaced_by": [taken.id for taken in self.displaced_by(row.id)]}
                for row in self.differences
            ]
        content["notices"] = [notice.to_dict() for notice in self.notices]
        return dict(exact({**content, "options": dict(self.options)}))

    def _content(self) -> dict[str, Any]:
        """Everything but what is derived from the rest."""
        content = {name: getattr(self, name) for name in ("metric", "qrels", "run", "query", "value")}
        content |= {"method": "sum" if self.is_sum else "leave-one-out", "ties": self.ties}
        content["query_text"] = self.query_text or None
        content["documents"] = list(map(self._document_content, self.documents))
        if self.terms is not None:
            content["sum"] = {name: getattr(self, name) for name in ("total", "base", "scale", "normalizer")}
            content["terms"] = list(map(_of_document, self.terms))
        else:
            content |= {"changes": list(map(_of_document, self.changes)), "untried": self.untried or None}
        content["ideal"] = None if self.ideal is None else list(map(_of_document, self.ideal))
        content["by_rank"] = list(self.by_rank) or None
        for name in ("levels", "groups"):
            content[name] = [part._asdict() for part in getattr(self, name)] or None
        content["phi"] = self.phi and self.phi._asdict()
        return {name: value for name, value in content.items() if value is not None}

    def _document_content(self, document: Document) -> dict[str, Any]:
        position = {} if self.positions is None else {"position": self.positions.get(document)}
        title = {"title": self.titles[document.id]} if document.id in self.titles else {}
        assumed = {"assumed": True} if document.id in self.assumed else {}
        return {**document._asdict(), **position, **assumed, **title}


class Explanations(WithNotices, Tabular, list[Explanation]):
    """Explanations, which print one after the other."""

    layout = Explanation.layout

    def rows(self) -> list[dict[str, Any]]:
        """Those of each explanation, with the query and its value."""
        return [
            {"query": explanation.query, "value": explanation.value, **row}
            for explanation in self
            for row in explanation.rows()
        ]

    @property
    def notices(self) -> tuple[Notice, ...]:
        return tuple(dict.fromkeys(chain(*(explanation.notices for explanation in self))))

    @property
    def runs_read(self) -> int:
        return max((explanation.runs_read for explanation in self), default=1)


def _of_document(record: Term | Change | Loss) -> dict[str, Any]:
    """As in JSON: with the id of the document, and without what the record does not have."""
    fields = {name: part for name, part in record._asdict().items() if part is not None}
    return {"document": None, **fields, **({"document": record.document.id} if record.document else {})}


# --- from qrels and runs


@takes(OF_RUNS)
def explain(
    qrels: Any,
    run: Any,
    metric: str | Iterable[str] = METRIC,
    query: str | Iterable[str] | None = None,
    *,
    worst: int | None = None,
    against: Any = None,
    text: Any = None,
    queries_text: Any = None,
    **options: Unpack[Runs],
) -> Explanations:
    """Explain the value of a metric for queries of a run: a list, which prints and renders as a whole.

        >>> [why] = gradeval.explain("qrels.txt", "bm25.run", "nDCG@10", "401")
        >>> print(why)

    qrels, run, against: as evaluate() takes them; against is another run, for Explanation.differences. metric:
    one or several. query: an id, or several. worst: instead of these, this many queries with the lowest value,
    or, with against, with the largest drop from the other run. text: {document: text}, or a file of these (TSV
    or JSON lines), for Explanation.titles. queries_text: the same of queries, such as BEIR's queries.jsonl.
    options: those listed below. Raises GradevalError.
    """
    queries = _query_ids(query)
    worst = _count_of_worst(worst, queries)
    compared = [run] if against is None else [run, against]
    labelled = with_sources([named_run for given in compared for named_run in separate_runs(given)])
    check_labels(labelled)
    spec = _one_metric(metric)
    chosen = Options(**options)
    _check_options(chosen, queries, names_responses(labelled, chosen))
    judged, runs, chosen = open_to_explain(qrels, labelled, chosen)
    if len(runs) > len(compared):
        raise OptionError(f"one run is explained at a time, beside one to compare with, not {len(runs)} runs")
    positions = _worst(judged, runs, spec, chosen, worst) if worst else judged.positions(queries)
    sides = [list(chain(*of_runs)) for of_runs in explained(judged, runs, positions, [spec], chosen)]
    return warned(Explanations(_with_texts(sides, text, queries_text)))


def _with_texts(sides: Sequence[Sequence[Explanation]], text: Any, queries_text: Any) -> Iterator[Explanation]:
    """The explanation of each query, with that for the other run, and its texts. sides: both, of each query."""
    ids = {document.id for side in chain(*sides) for document in side.documents} if text is not None else set()
    titles = titles_of(text, ids)
    texts = titles_of(queries_text, {ours.query for ours, *_ in sides})
    for ours, *theirs in sides:
        yield replace(
            ours,
            against=theirs[0] if theirs else None,
            titles=titles,
            query_text=texts.get(ours.query, ""),
            notices=tuple(dict.fromkeys(chain(*(side.notices for side in (ours, *theirs))))),
        )


def _count_of_worst(worst: int | None, queries: Sequence[str]) -> int:
    """How many queries `worst` chooses, 0 where they are named. Raises OptionError."""
    count = 0 if worst is None else whole("worst", worst, 1, 10**9)
    if bool(queries) == bool(count):
        problem = "queries are chosen twice" if count else "no query is chosen"
        raise OptionError(f"{problem}: give --query ID or --worst N (in Python query or worst)")
    return count


def _query_ids(query: str | Iterable[str] | None) -> list[str]:
    if query is None:
        return []
    return [str(query)] if isinstance(query, (str, int)) else list(map(str, query))


def _one_metric(metric: str | Iterable[str]) -> Spec:
    """Raises MetricError for several metrics, or one of texts."""
    spec, *more = parse(metric)
    if more or spec.metric.text:
        names = ", ".join(map(str, [spec, *more]))
        raise MetricError(f"one metric with numbers is explained at a time, not {names}")
    return spec


def _check_options(options: Options, queries: Sequence[str], of_responses: bool) -> None:
    """Raise OptionError for options that an explanation has no use for. queries: those that are named.
    of_responses: whether query_ids are the ids of these.
    """
    of_queries = [row for row in OF_RUNS.values() if row.section == QUERIES_SECTION]
    used = [row.name for row in of_queries if getattr(options, row.name) != row.default]
    if queries and set(used) - {"query_ids" * of_responses}:
        names = " and ".join(row.name for row in of_queries)
        raise OptionError(f"{names} are those that worst chooses from; query names them")
    if options.ties == EXPECTED:
        reason = f"ties={EXPECTED} is a mean over all orders: an explanation shows the ranks of one"
        raise OptionError(reason, "ties")


def open_to_explain(
    qrels: Any, labelled: Sequence[LabelledRun], options: Options
) -> tuple[Qrels, list[Run], Options]:
    """The qrels and the (label, run) pairs; a LETOR file is as many runs as it has features chosen. The options
    with the query ids that are chosen.
    """
    # a pipe that was opened once is read from the copy that its Source has
    qrels = source_of(qrels) if is_path(qrels) else qrels
    labelled = with_sources(labelled)
    # of the runs, which are read twice where the worst queries are explained
    with kept_open(run for _, run in labelled):
        check_inputs(inputs_of([qrels], labelled), options)
        options = with_excluded(options)
        judgments = open_qrels(qrels, options)
        is_part = names_responses(labelled, options)
        options = with_all_features(with_ids(options, judgments.qrels, is_part=is_part), judgments)
        runs = open_all(with_feature_runs(labelled, judgments, options), judgments, options)
    if is_part:  # each response has its name, and those of the judged queries can be explained
        judged = set(Texts(judgments.qrels.queries)).intersection(options.query_ids or ())
        ids = tuple(query for query in options.query_ids or () if query in judged)
        options = options.replace(query_ids=ids or options.query_ids)
    return judgments.qrels, runs, options


def _worst(qrels: Qrels, runs: Sequence[Run], spec: Spec, options: Options, count: int) -> Ints:
    """The queries with the lowest value, or with the largest drop from the second run; ties as in the qrels.
    Those without a relevant document come last: there is nothing to find, and --no-relevant decides the value.
    """
    if spec.metric.higher_is_better is None:
        raise MetricError(f"{spec}: neither high nor low values are better, so no query is the worst")
    jobs = options.jobs or default_jobs()
    chosen = chosen_queries(qrels, options)
    reduced = [run.reduce(qrels, jobs) for run in runs]
    by_run = [counted_queries(chosen, of_run.retrieved > 0, options) for of_run in reduced]
    counted = np.logical_and.reduce(by_run)
    if not counted.any():
        reason = f"no query is left to choose from: queries={options.queries}, and no run has them"
        raise OptionError(reason, "queries")
    scores = [Judge(qrels, of_run, options).scored([spec], jobs) for of_run in reduced]
    is_empty = np.logical_or.reduce([of_run.empty[0] for of_run in scores])
    worth, *other_values = (of_run.values[0] for of_run in scores)
    worth = worth - other_values[0] if other_values else worth
    defined = np.flatnonzero(counted & ~np.isnan(worth))
    if not len(defined):
        raise MetricError(f"{spec} is undefined for all queries")
    sign = 1 if spec.metric.higher_is_better else -1
    return defined[np.lexsort((sign * worth[defined], is_empty[defined]))[:count]]


def explained(
    qrels: Qrels, runs: Sequence[Run], positions: Ints, specs: Sequence[Spec], options: Options
) -> Iterator[tuple[list[Explanation], ...]]:
    """Those of each of these queries, by run and by metric; those of one query are in memory at a time."""
    by_run = (
        _of_run(run, name, qrels, positions, specs=specs, options=options)
        for run, name in zip(runs, names_of(runs), strict=True)
    )
    return zip(*by_run, strict=True)


def _of_run(
    run: Run, name: str, qrels: Qrels, positions: Ints, *, specs: Sequence[Spec], options: Options
) -> Iterator[list[Explanation]]:
    """The explanations of each of these queries, one for each metric, from one pass over the run."""
    ids = qrels.queries.take(positions)
    queries = IdIndex(ids)
    columns = run.rows(lambda block: block.of_queries(queries), options.jobs or default_jobs())
    reduced = reduce_columns(columns, qrels, run.ties, run.path, run.collapse)
    columns = run.collapse.columns(columns) if run.collapse else columns
    notices = _notices(name, qrels, reduced, specs, options)
    judged_qrels, reduced = completed(qrels, reduced, options.depth)
    scores = scored(Judge(judged_qrels, reduced, options)(positions), specs)
    whole_run = Judge(judged_qrels, reduced, options.replace(depth=None, judged_only=False))
    options_used = options.to_dict()
    rows = zip(positions.tolist(), Texts(ids), scores.values.T.tolist(), scores.empty.T.tolist(), strict=True)
    for q, query, values, empty in rows:
        table = whole_run(np.array([q]))
        documents, judged = _documents(run, qrels, q, table, columns)
        in_qrels = int(qrels.offsets[q + 1] - qrels.offsets[q])
        assumed = [*judged.values()][in_qrels:]  # these follow those of the qrels
        of_query: dict[str, Any] = {
            "qrels": qrels.path,
            "run": name,
            "query": query,
            "documents": documents,
            "assumed": frozenset(document.id for document in assumed),
            "ties": run.ties,
            "options": options_used,
            "notices": notices,
        }
        of_metrics = []
        for spec, value, is_empty in zip(specs, values, empty, strict=True):
            names = str(spec), spec.display
            basis = Explanation(*names, value=value, is_empty=is_empty, cutoff=spec.cutoff, **of_query)
            of_metrics.append(_made_of(basis, spec, table, options, judged))
        yield of_metrics


def _notices(
    name: str, qrels: Qrels, reduced: Reduced, specs: Sequence[Spec], options: Options
) -> tuple[Notice, ...]:
    """About the qrels, and about the run of this name."""
    excluded = [Notice(NoticeKind.EXCLUDED, "", reduced.excluded)] if reduced.excluded else []
    of_run = chain(rank_notices(reduced.ranks), excluded, qrels_notices(qrels, reduced, options))
    return (
        *qrels_notices_for(qrels, specs),
        *unscaled_notices(qrels.path, qrels.scale, specs),
        *Notices(of_run).renamed(name),
    )


def titles_of(text: Any, documents: Set[str]) -> Mapping[str, str]:
    """Document -> title, from a mapping or a file of them; or query -> text. Raises InputError(s)."""
    if isinstance(text, Mapping):
        return {str(name): str(title) for name, title in text.items() if str(name) in documents}
    return {} if text is None else read_texts(source_of(text), documents)


def text_notices(text: str | None, titles: object, queries_text: str | None, texts: object) -> list[Notice]:
    """The notices about files of titles, and of the texts of queries, that have none of those wanted."""
    files = (text, titles, NO_TITLE), (queries_text, texts, NO_TEXT)
    return [
        Notice(NoticeKind.NO_TITLES, path, 0, rule=rule)
        for path, texts_of_file, rule in files
        if path and not texts_of_file
    ]


# --- the documents of a query, and what each contributes


def _documents(
    run: Run, qrels: Qrels, q: int, judgments: Judgments, columns: Columns
) -> tuple[tuple[Document, ...], dict[int, Document]]:
    """All documents of query q, as Explanation.documents, and the judged ones by their rows in the judgments:
    those of the qrels come first.
    """
    first, last = qrels.offsets[q : q + 2].tolist()
    ids = qrels.documents.take(slice(first, last)).compact()
    query = qrels.queries.take(np.array([q]))
    rows = columns.of_queries(IdIndex(query))
    unjudged = np.flatnonzero(IdIndex(ids).find(rows.documents) < 0)
    ids = Ids.joined([ids, rows.documents.take(unjudged).compact()])
    # ranked as the judged ones are: a table of judgments in which all are judged, with grade 0
    grades = np.append(qrels.grade[first:last], np.zeros(len(unjudged)))
    everything = Qrels(qrels.path, query, np.array([0, len(ids)]), ids, grades)
    ranked = reduce_columns(rows, everything, run.ties, run.path)
    grades[last - first :] = np.nan
    columns_of_all = Texts(ids), ranked.rank.tolist(), ranked.score.tolist(), grades.tolist()
    documents = [
        Document(name, None, None, grade)
        if rank == math.inf
        else Document(name, int(rank), score, None if math.isnan(grade) else grade)
        for name, rank, score, grade in zip(*columns_of_all, strict=True)
    ]
    first_row = int(judgments.document.min())
    missed = judgments.document[np.isinf(judgments.rank)] - first_row
    retrieved = np.argsort(ranked.rank, kind="stable")[: np.count_nonzero(np.isfinite(ranked.rank))]
    order = np.append(retrieved, missed[np.argsort(-grades[missed], kind="stable")])
    # those with a judgment that is assumed follow the others, by rank
    assumed = retrieved[retrieved >= last - first][: len(judgments.document) - (last - first)].tolist()
    for d in assumed:
        documents[d] = documents[d]._replace(grade=qrels.assumed)
    judged = [*documents[: last - first], *(documents[d] for d in assumed)]
    return tuple(documents[d] for d in order.tolist()), dict(enumerate(judged, first_row))


def _made_of(
    basis: Explanation, spec: Spec, whole: Judgments, options: Options, judged: Mapping[int, Document]
) -> Explanation:
    """The explanation, with what its value is made of. whole: the table before options are applied."""
    judgments = prepared(whole, options)
    terms = spec.metric.terms(judgments, **spec.params)
    if spec.params.get("judged_only"):
        judgments = judgments.judged_only()
    documents = [judged[row] for row in judgments.document.tolist()]
    if options.judged_only or spec.params.get("judged_only"):
        ranks = zip(documents, judgments.rank.tolist(), strict=True)
        basis = replace(basis, positions={document: int(rank) for document, rank in ranks if rank != math.inf})
    if terms is not None:
        return _of_sum(basis, terms, judgments, documents)
    rows = [judged[row] for row in whole.document.tolist()]
    without = _leave_one_out(spec, whole, options, rows, _unjudged(basis))
    tried = [document for document in basis.documents if document in without]
    changes = tuple(Change(document, without[document], without[document] - basis.value) for document in tried)
    return replace(basis, changes=changes, untried=len(basis.documents) - len(changes))


def _unjudged(explanation: Explanation) -> list[Document]:
    return [document for document in explanation.documents if document.grade is None]


def _of_sum(
    basis: Explanation, terms: Terms, judgments: Judgments, documents: Sequence[Document]
) -> Explanation:
    """The explanation by the terms of a sum. documents: of the rows of the table that the terms are of."""
    details = terms.details()
    positions = basis.positions
    best = None if terms.ideal is None else terms.ideal()
    parts = terms.total, terms.base, terms.normalizer
    total, base, normalizer = (float(np.broadcast_to(part, 1)[0]) for part in parts)
    of_rows = judgments.rank, documents, details.scaled
    added = _terms(terms, terms, *of_rows)
    ideal = None if best is None else _terms(best, terms, *of_rows)
    if unjudged := _unjudged_terms(basis, terms, judgments.depth, total, normalizer):
        added += unjudged
        total += terms.unjudged * len(unjudged)
        base += terms.unjudged * len(unjudged)
    if details.groups:
        positions = {term.document: term.position for term in added if term.document and term.position}
    return replace(
        basis,
        terms=added,
        ideal=ideal,
        positions=positions,
        total=total,
        base=base,
        scale=terms.scale,
        normalizer=normalizer,
        scaled=details.symbol,
        levels=tuple(level._replace(marks=_marks(level, basis.ranked)) for level in details.levels),
        phi=None if details.phi is None else phi_of(details.phi, judgments),
        groups=tuple(details.groups),
        **_by_rank(basis, terms, best, judgments),
    )


def _unjudged_terms(
    basis: Explanation, terms: Terms, depth: float, total: float, normalizer: float
) -> tuple[Term, ...]:
    """The terms of documents that are not judged, which have no rows, but names here. total: of the others."""
    if not terms.unjudged or basis.positions is not None:
        return ()
    unjudged = [document for document in _unjudged(basis) if (document.rank or 0) <= depth]
    contribution = terms.scale * terms.unjudged / normalizer
    return tuple(
        Term(document, terms.unjudged, total + n * terms.unjudged, contribution, document.rank)
        for n, document in enumerate(unjudged, 1)
    )


def _by_rank(basis: Explanation, terms: Terms, best: Terms | None, judgments: Judgments) -> dict[str, Any]:
    """What a DCG has at each rank: its value, where its ideal ranking is a DCG too, and its discount."""
    last = basis.cutoff or int(judgments.retrieved[0])
    made: dict[str, Any] = {}

    def dcg(ranking: DiscountedTerms) -> Floats:
        """The sum up to each rank."""
        inside = ranking.rank <= last
        return np.bincount(ranking.rank[inside].astype(np.int64) - 1, ranking.value[inside], last).cumsum()

    if isinstance(terms, DiscountedTerms):
        if isinstance(best, DiscountedTerms) and not (isinstance(terms.base, np.ndarray) or basis.is_empty):
            made["by_rank"] = tuple(ratio(terms.scale * dcg(terms), dcg(best)).tolist())
        if terms.discount_at is not None:  # for terms of 0, which have no rows
            made["discounts"] = tuple(terms.discount_at(np.arange(1.0, last + 1)).tolist())
    return made


def _marks(level: Level, ranked: Sequence[Document]) -> str:
    """ranked: the documents in rank order."""
    grades = np.array([document.grade for document in ranked], np.float64)  # NaN where it is not judged
    return np.where(grades >= level.grade, b"+", b"-").tobytes().decode()


def _terms(
    terms: Terms, whole: Terms, rank: Floats, documents: Sequence[Document], scaled: Floats | None
) -> tuple[Term, ...]:
    """The terms as data. whole: those of the value. rank, documents, scaled: of the rows."""
    value = np.broadcast_to(terms.value, terms.row.shape)
    of_row = [None if row < 0 else documents[row] for row in terms.row.tolist()]
    nothing: list[Any] = [None] * len(of_row)
    gain = nothing
    discount = nothing
    ranks = rank[terms.row].tolist() if terms is whole else nothing
    if isinstance(terms, DiscountedTerms):
        ranks, gain, discount = (column.tolist() for column in (terms.rank, terms.gain, terms.discount))
    position = [None if at is None or at == math.inf else int(at) for at in ranks]
    adds = ratio(whole.scale * value, float(np.broadcast_to(whole.normalizer, 1)[0]))
    made_of = nothing
    if scaled is not None:
        made_of = [None if row < 0 else float(scaled[row]) for row in terms.row.tolist()]
    columns = value.tolist(), np.cumsum(value).tolist(), adds.tolist(), position, gain, discount, made_of
    return tuple(map(Term, of_row, *columns))


def phi_of(function: RelevanceFunction, judgments: Judgments, samples: int = _SAMPLES) -> Phi:
    """The relevance function of a table of one query. samples: of the curve."""
    points = function.points(0)
    whisker = float(function.whisker[0]) if points and function.whisker is not None else None

    def phi(grade: Floats) -> Floats:
        return function.of(grade, np.zeros(len(grade), np.int64))

    grades, counts = np.unique(judgments.grade, return_counts=True)
    values = phi(grades)
    rows = zip(*(column.tolist()[::-1] for column in (grades, counts, values, exp2_gain(values))), strict=True)
    grade_range = (min(points[0][1], float(grades[0])), points[-1][1]) if points else (0.0, 0.0)
    at = np.linspace(*grade_range, samples)
    return Phi(points, whisker, tuple(rows), tuple(zip(at.tolist(), phi(at).tolist(), strict=True)))


def _leave_one_out(
    spec: Spec, judgments: Judgments, options: Options, judged: list[Document], unjudged: list[Document]
) -> dict[Document, float]:
    """The value without each document: removed from the run and the judgments, with the ranks closed up.
    judgments: of the query; options are applied after a document was removed, so that documents below the depth
    move up. The scale of grades stays that of the whole qrels. Where that takes more than _AT_MOST
    judgments, only documents of the first ranks and the highest grades that were not retrieved are removed.
    judged: the document of each row. unjudged: those that were retrieved only, by rank.
    """
    unjudged_rank = np.array([document.rank for document in unjudged], np.float64)
    # between two judged documents it does not matter which one is removed
    gap = np.searchsorted(judgments.rank[judgments.is_retrieved], unjudged_rank)
    _, first, which = np.unique(gap, return_index=True, return_inverse=True)
    count = len(judgments.rank)
    # the cases: without each judged document, and without an unjudged one of each gap
    rank = np.append(judgments.rank, unjudged_rank[first])
    tried = np.arange(len(rank))
    most = max(2, _AT_MOST // max(1, count))
    if len(tried) > most:
        missed = np.flatnonzero(~judgments.is_retrieved)
        missed = missed[np.argsort(-judgments.grade[missed], kind="stable")][: most // 2]
        tried = np.unique(np.append(np.argsort(rank, kind="stable")[: most - len(missed)], missed))
    step = max(1, _AT_ONCE // (count + 1))
    values: dict[int, float] = {}
    for cases in (tried[a : a + step] for a in range(0, len(tried), step)):
        stays = np.arange(count) != cases[:, None]  # a query for each case
        case, row = np.nonzero(stays)
        before = judgments.rank[row]
        table = judgments.replace(
            segments=Segments(offsets_of(stays.sum(axis=1))),
            grade=judgments.grade[row],
            rank=before - (before > rank[cases][case]),
            score=judgments.score[row],
            document=judgments.document[row],
            retrieved=judgments.retrieved[0] - np.isfinite(rank[cases]),
        )
        values.update(zip(cases.tolist(), score(prepared(table, options), [spec])[0].tolist(), strict=True))
    cases_of = zip([*judged, *unjudged], [*range(count), *(count + which).tolist()], strict=True)
    return {document: values[case] for document, case in cases_of if case in values}

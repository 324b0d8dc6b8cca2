"""How the value of a metric for a query comes about.

explain       qrels, a run and a metric -> an Explanation for each query asked for
explain_run   the same with parsed arguments
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from gradeval.analysis.details import groups_of, levels_of, phi_of, scaled
from gradeval.analysis.explanation import Change, Document, Explanation, Term
from gradeval.analysis.leave_one_out import leave_one_out
from gradeval.arrays import Floats, Ints
from gradeval.arrays.numbers import ratio
from gradeval.arrays.strings import IdIndex, Ids, Texts
from gradeval.arrays.threads import default_jobs
from gradeval.errors import InputError, MetricError, OptionError, UnknownQueryError, described
from gradeval.evaluation import (
    check_labels,
    judge_of,
    judgments_of,
    names_of_runs,
    prepared,
    score_queries,
    separate_runs,
)
from gradeval.formats.columns import Columns
from gradeval.formats.sources import Source
from gradeval.formats.titles import read_titles
from gradeval.options import Options
from gradeval.registry.example import columns_of
from gradeval.registry.spec import Spec, parse
from gradeval.scoring import scored
from gradeval.tables.judgments import Judgments
from gradeval.tables.load import Given, Run, is_file, is_path, open_qrels, open_runs, source_of
from gradeval.tables.qrels import Qrels
from gradeval.tables.reduced import Reduced
from gradeval.tables.reduction import reduce_columns
from gradeval.tables.terms import DiscountedTerms, Terms

METRIC = "nDCG@10"
Named = tuple[str | None, Any]
"""The label of a run, None if it has none, and the run."""


def explain(
    qrels: Any,
    run: Any,
    metric: str = METRIC,
    query: str | Iterable[str] | None = None,
    *,
    worst: int | None = None,
    against: Any = None,
    text: Any = None,
    **options: Any,
) -> list[Explanation]:
    """Explain the value of a metric for queries of a run.

    qrels, run, against: as evaluate() takes them; against is another run, for Explanation.differences. query:
    an id, or several. worst: in their place, so many queries with the lowest value, or, with against, with the
    largest drop from the other run. text: {document: text}, or a file of these (TSV or JSON lines), for
    Explanation.titles. options: those of options.Options.
    Raises GradevalError.
    """
    queries = (
        () if query is None else (str(query),) if isinstance(query, (str, int)) else tuple(map(str, query))
    )
    is_count = isinstance(worst, int) and not isinstance(worst, bool) and worst > 0
    if worst is not None and not is_count:
        raise OptionError(f"worst must be a positive integer, not {described(worst)}")
    return explain_run(
        qrels,
        _single(run, "run"),
        one_metric(metric),
        Options.of(**options),
        queries=queries,
        worst=worst or 0,
        against=None if against is None else _single(against, "against"),
        text=text,
    )


def _single(run: Any, name: str) -> Named:
    runs = separate_runs(run)
    if len(runs) > 1:
        raise OptionError(f"{name} must be one run, not {len(runs)}")
    return runs[0]


def one_metric(text: str | Iterable[str]) -> Spec:
    """The metric to explain. Raises MetricError."""
    specs = parse(text)
    if len(specs) > 1:
        raise MetricError(f"one metric is explained at a time, not {', '.join(map(str, specs))}")
    if specs[0].metric.text:
        raise MetricError(f"{specs[0]} is a text, and no number to explain")
    return specs[0]


def explain_run(
    qrels: Any,
    run: Named,
    spec: Spec,
    options: Options,
    *,
    queries: Sequence[str] = (),
    worst: int = 0,
    against: Named | None = None,
    text: Any = None,
    watch: Callable[[Source], None] | None = None,
) -> list[Explanation]:
    """An explanation for each of the queries, or for the worst ones.

    watch: is shown each source before it is read. The run is read once, and only the documents of these queries
    are kept; to find the worst queries, it is read before.
    """
    if bool(queries) == bool(worst):
        raise OptionError(
            "query and worst are mutually exclusive" if worst else "no query given: query, or worst, chooses it"
        )
    # a pipe that was opened once is read from the copy that its Source has
    qrels = source_of(qrels) if is_path(qrels) else qrels
    named = [
        (name, source_of(one) if is_path(one) else one) for name, one in ([run, against] if against else [run])
    ]
    check_labels(named)
    jobs = options.jobs or default_jobs()
    features = is_path(qrels) and any(is_file(one, qrels.name) for _, one in named)
    given = open_qrels(qrels, options, jobs, watch, features)
    runs = [_opened(name, one, given, options, watch, place) for place, (name, one) in enumerate(named, 1)]
    judged = given.qrels.shift_grades(options.zero_grade)
    at = _worst(judged, runs, spec, options, worst, jobs) if worst else _positions(judged, queries)
    of_runs = [
        _explain(one, name, judged, at, spec, options, jobs)
        for one, name in zip(runs, names_of_runs(runs), strict=True)
    ]
    found = of_runs[0]
    if against is not None:
        found = [replace(own, against=other) for own, other in zip(*of_runs, strict=True)]
    return _with_titles(found, text, watch)


def _opened(
    name: str | None,
    run: Any,
    given: Given,
    options: Options,
    watch: Callable[[Source], None] | None,
    position: int,
) -> Run:
    found = open_runs(name, run, given, options, watch, position)
    if len(found) > 1:
        raise OptionError(f"features must be one feature, not {len(found)}: one run is explained at a time")
    [one] = found
    if isinstance(one, InputError):
        raise one
    return one


def _positions(qrels: Qrels, queries: Sequence[str]) -> Ints:
    """Where in the qrels the queries are. Raises UnknownQueryError."""
    known = {query: position for position, query in enumerate(Texts(qrels.queries))}
    unknown = [query for query in queries if query not in known]
    if unknown:
        raise UnknownQueryError(unknown, qrels.path)
    return np.array([known[query] for query in dict.fromkeys(queries)])


def _worst(qrels: Qrels, runs: Sequence[Run], spec: Spec, options: Options, count: int, jobs: int) -> Ints:
    """The queries with the lowest value, or with the largest drop from the second run; ties as in the qrels."""
    better = spec.metric.higher_is_better
    if better is None:
        raise MetricError(f"{spec}: neither high nor low values are better, so no query is the worst")
    wanted = np.ones(len(qrels.queries), bool)
    if options.query_ids is not None:
        wanted[:] = False
        wanted[_positions(qrels, options.query_ids)] = True
    values = []
    for run in runs:
        reduced = run.reduce(qrels, options.ties or run.ties, jobs)
        judge = judge_of(qrels, reduced, options)
        values.append(score_queries(qrels, judge, reduced.rank, [spec], jobs).values[0])
        if options.queries == "both":
            wanted &= reduced.retrieved > 0
    worth = values[0] - values[1] if len(values) > 1 else values[0]
    defined = np.flatnonzero(wanted & ~np.isnan(worth))
    if not len(defined):
        raise MetricError(f"{spec} is undefined for all queries")
    order = np.argsort(worth[defined] * (1 if better else -1), kind="stable")
    return defined[order[:count]]


def _explain(
    run: Run, name: str, qrels: Qrels, positions: Ints, spec: Spec, options: Options, jobs: int
) -> list[Explanation]:
    """The explanations of these queries, from one pass over the run."""
    wanted = IdIndex(qrels.queries.take(positions))
    columns = run.rows(lambda block: block.of_queries(wanted), jobs)
    ties = options.ties or run.ties
    reduced = reduce_columns(columns, qrels, ties, run.path)
    found = []
    for q, query in zip(positions.tolist(), Texts(qrels.queries.take(positions)), strict=True):
        ranking = _Ranking.of(qrels, q, reduced, columns, ties, run.path)
        whole = judgments_of(qrels, reduced, np.array([q]), replace(options, depth=None, judged_only=False), "")
        basis = Explanation(
            str(spec),
            spec.display,
            qrels.path,
            name,
            query,
            0.0,
            ranking.in_order(whole),
            cutoff=spec.params.get("cutoff"),
            ties=ties,
            options=options.to_dict(),
        )
        found.append(_with_value(basis, spec, whole, options, ranking))
    return found


class _Ranking(NamedTuple):
    """All documents of a query. judged: by row of the qrels. others: those retrieved only, by rank."""

    judged: Mapping[int, Document]
    others: Sequence[Document]

    @classmethod
    def of(cls, qrels: Qrels, q: int, reduced: Reduced, columns: Columns, ties: str, path: str) -> _Ranking:
        """The documents of query q. columns: the rows of the run."""
        first, last = int(qrels.offsets[q]), int(qrels.offsets[q + 1])
        ids = qrels.documents.take(slice(first, last)).compact()
        names, grades = list(Texts(ids)), qrels.grade[first:last].tolist()
        rank, score = reduced.rank[first:last].tolist(), reduced.score[first:last].tolist()
        rows = zip(names, rank, score, grades, strict=True)
        judged = {
            first + i: Document(name, None, None, grade)
            if np.isinf(at)
            else Document(name, int(at), value, grade)
            for i, (name, at, value, grade) in enumerate(rows)
        }
        own = columns.of_queries(IdIndex(qrels.queries.take(np.array([q]))))
        unjudged = np.flatnonzero(IdIndex(ids).find(own.documents) < 0)
        if not len(unjudged):
            return cls(judged, ())
        # ranked as the judged ones are: a table of judgments in which these are judged too, with grade 0
        more = own.documents.take(unjudged).compact()
        everything = Qrels(
            qrels.path,
            qrels.queries.take(np.array([q])),
            np.array([0, last - first + len(more)]),
            Ids.joined([ids, more]),
            np.concatenate([qrels.grade[first:last], np.zeros(len(more))]),
        )
        found = reduce_columns(own, everything, ties, path)
        ranks, scores = found.rank[last - first :], found.score[last - first :]
        order = np.argsort(ranks)
        others = zip(Texts(more.take(order)), ranks[order].tolist(), scores[order].tolist(), strict=True)
        return cls(judged, [Document(name, int(rank), score, None) for name, rank, score in others])

    def in_order(self, judgments: Judgments) -> tuple[Document, ...]:
        """All documents: by rank, then those not retrieved by descending grade."""
        rows = judgments.document.tolist()
        judged = [self.judged[row] for row in rows]
        retrieved = [*(one for one in judged if one.rank is not None), *self.others]
        missed = [one for one in judged if one.rank is None]
        return (
            *sorted(retrieved, key=lambda one: one.rank or 0),
            *sorted(missed, key=lambda one: -(one.grade or 0.0)),
        )


def _with_value(
    basis: Explanation, spec: Spec, whole: Judgments, options: Options, ranking: _Ranking
) -> Explanation:
    """The explanation, with the value and what it is made of. whole: the table before options are applied."""
    judgments = prepared(whole, options)
    found = scored(judgments, [spec])
    [[value]], [[is_empty]] = found.values.tolist(), found.empty.tolist()
    basis = replace(basis, value=value, is_empty=is_empty)
    terms = spec.metric.terms(judgments, **spec.params)
    if spec.params.get("judged_only"):
        judgments = judgments.judged_only()
    names = {row: ranking.judged[document] for row, document in enumerate(judgments.document.tolist())}
    if options.judged_only or spec.params.get("judged_only"):
        found_at = enumerate(judgments.rank.tolist())
        basis = replace(basis, positions={names[row]: int(at) for row, at in found_at if np.isfinite(at)})
    if terms is None:
        return replace(basis, changes=_changes(basis, spec, whole, options, ranking))
    params = {name: value for name, value in spec.given if name != "judged_only"}
    scaled_name, scale = scaled(spec.metric.name, judgments, params)
    normalizer = float(np.broadcast_to(terms.normalizer, 1)[0])

    def listed(some: Terms, judgments: Judgments | None) -> tuple[Term, ...]:
        return _terms(some, terms, names, judgments, scale if scaled_name else None)

    best = None if terms.ideal is None else terms.ideal()
    ideal = None if best is None else listed(best, None)
    is_mean = spec.metric.name == "muAP"
    added = listed(terms, judgments)
    if spec.metric.name == "rankDCG":
        positions = {one.document: one.position for one in added if one.document and one.position}
        basis = replace(basis, positions=positions)
    return replace(
        basis,
        terms=added,
        total=float(terms.total[0]),
        base=float(np.broadcast_to(terms.base, 1)[0]),
        scale=terms.scale,
        normalizer=normalizer,
        ideal=ideal,
        by_rank=_by_rank(terms, best, basis.cutoff or int(judgments.retrieved[0])),
        scaled=scaled_name,
        levels=levels_of(judgments, basis.ranked) if is_mean else (),
        phi=phi_of(judgments, params) if scaled_name == "φ" else None,
        groups=groups_of(ideal) if ideal and spec.metric.name == "rankDCG" else (),
    )


def _terms(
    terms: Terms,
    of: Terms,
    names: Mapping[int, Document],
    judgments: Judgments | None,
    scale: Callable[[Floats], Floats] | None,
) -> tuple[Term, ...]:
    """The terms as data. of: those of the run, whose normalizer divides both. judgments: of the run's terms."""
    value = np.broadcast_to(terms.value, terms.row.shape)
    columns = columns_of(judgments, terms) if judgments is not None else {}
    if isinstance(terms, DiscountedTerms):
        columns = {"position": terms.rank, "gain": terms.gain, "discount": terms.discount}
    elif judgments is not None:
        columns = {"position": judgments.rank[terms.row]}
    documents = [None if row < 0 else names[row] for row in terms.row.tolist()]
    if scale is not None:
        grade = np.array([0.0 if one is None else one.grade for one in documents], np.float64)
        columns = {**columns, "scaled": scale(grade)}
    running = np.cumsum(value)
    contribution = ratio(of.scale * value, float(np.broadcast_to(of.normalizer, 1)[0]))
    rows = zip(documents, value.tolist(), running.tolist(), contribution.tolist(), strict=True)
    lists = {name: column.tolist() for name, column in columns.items()}
    return tuple(
        Term(*row, **{name: _whole(name, column[i]) for name, column in lists.items()})
        for i, row in enumerate(rows)
    )


def _whole(name: str, value: float) -> Any:
    """A position is an integer, or None for a document that was not retrieved."""
    if name != "position":
        return value
    return None if np.isinf(value) else int(value)


def _by_rank(terms: Terms, ideal: Terms | None, last: int) -> tuple[float, ...]:
    """The value if the ranking were cut at each rank, for a DCG divided by the DCG of the ideal ranking."""
    is_dcg = isinstance(terms, DiscountedTerms) and isinstance(ideal, DiscountedTerms)
    if not is_dcg or isinstance(terms.base, np.ndarray):
        return ()
    own, best = (_running(one, last) for one in (terms, ideal))
    return tuple(ratio(terms.scale * own, best).tolist())


def _running(terms: Any, last: int) -> Floats:
    """The DCG at each rank."""
    at_rank = np.zeros(last)
    inside = terms.rank <= last
    at_rank[terms.rank[inside].astype(np.int64) - 1] = terms.value[inside]
    return np.cumsum(at_rank)


def _changes(
    basis: Explanation, spec: Spec, whole: Judgments, options: Options, ranking: _Ranking
) -> tuple[Change, ...]:
    """What removing each document changes."""
    ranks = np.array([one.rank for one in ranking.others], np.float64)
    judged, others = leave_one_out(spec, whole, options, ranks)
    without = {
        ranking.judged[document]: value
        for document, value in zip(whole.document.tolist(), judged.tolist(), strict=True)
    }
    without |= zip(ranking.others, others.tolist(), strict=True)
    return tuple(Change(one, without[one], without[one] - basis.value) for one in basis.documents)


def _with_titles(
    found: list[Explanation], text: Any, watch: Callable[[Source], None] | None
) -> list[Explanation]:
    if text is None:
        return found
    documents = {
        one.id for each in found for of in (each, each.against) if of is not None for one in of.documents
    }
    if isinstance(text, Mapping):
        titles = {str(name): str(title) for name, title in text.items() if str(name) in documents}
    else:
        source = source_of(text)
        if watch is not None:
            watch(source)
        titles = read_titles(source, documents)
    return [replace(one, titles=titles) for one in found]

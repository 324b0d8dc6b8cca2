"""How the value of a metric for a query comes about.

explain        qrels, a run and a metric -> an Explanation for each of the queries
explain_runs   several runs and metrics, one query after another
titles_of      a file of titles -> those of some documents
made_of        the documents of a query, what each contributes to the value, the ideal ranking
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from itertools import chain, groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from gradeval.arrays import Floats, Ints
from gradeval.arrays.numbers import ratio
from gradeval.arrays.segments import Segments, distinct
from gradeval.arrays.strings import IdIndex, Ids, Texts
from gradeval.arrays.threads import default_jobs
from gradeval.commands.explain.result import (
    Change,
    Document,
    Explanation,
    Explanations,
    Level,
    LevelGroup,
    Phi,
    Term,
)
from gradeval.errors import MetricError, OptionError, described
from gradeval.evaluation.outcome import (
    chosen_queries,
    counted_queries,
    judge_of,
    judgments_of,
    prepared,
    qrels_notices,
    qrels_notices_for,
    score_queries,
    with_ids,
)
from gradeval.evaluation.runs import check_labels, names_of, separate_runs
from gradeval.evaluation.score import score, scored
from gradeval.formats.columns import Columns
from gradeval.formats.lines import read_texts
from gradeval.metrics._kernels import exp2_gain
from gradeval.metrics.average_precision import average_precision
from gradeval.metrics.ndcg_phi import control_points, fitted_phi, named_points, phi_through
from gradeval.notices import NO_TEXT, NO_TITLE, Kind, Notice
from gradeval.options import EXPECTED, OF_RUNS, QUERIES_SECTION, Options, takes
from gradeval.registry.spec import Spec, parse
from gradeval.render.document import warned
from gradeval.tables.judgments import Judgments
from gradeval.tables.load import Run, check_columns, is_path, open_all, open_qrels, source_of
from gradeval.tables.qrels import Qrels
from gradeval.tables.reduction import Reduced, reduce_columns
from gradeval.tables.terms import DiscountedTerms, Terms

if TYPE_CHECKING:
    from gradeval.keywords import Runs, Unpack

METRIC = "nDCG@10"
_SAMPLES = 64  # of the curve of φ, between its ends
_AT_ONCE = 1 << 20  # judgments of the tables that are scored together, each without a document
_AT_MOST = 10**8  # judgments of all these tables: about 5 seconds
LabelledRun = tuple[str | None, Any]
"""The label of a run, None if it has none, and the run."""


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

    qrels, run, against: as evaluate() takes them; against is another run, for Explanation.differences. query:
    an id, or several. worst: instead of these, this many queries with the lowest value, or, with against,
    with the largest drop from the other run. text: {document: text}, or a file of these (TSV or JSON lines),
    for Explanation.titles. queries_text: the same of queries, such as BEIR's queries.jsonl. options: those
    listed below. Raises GradevalError.
    """
    queries = [] if query is None else [str(query)] if isinstance(query, (str, int)) else list(map(str, query))
    is_count = isinstance(worst, int) and not isinstance(worst, bool) and worst > 0
    if worst is not None and not is_count:
        raise OptionError(f"worst must be a positive integer, not {described(worst)}")
    labelled = [_single(run, "run")]
    spec, *others = parse(metric)
    if others:
        raise MetricError(f"one metric is explained at a time, not {', '.join(map(str, [spec, *others]))}")
    if spec.metric.text:
        raise MetricError(f"{spec} is a text, and no number to explain")
    chosen = Options(**options)
    of_queries = {name: row for name, row in OF_RUNS.items() if row.section == QUERIES_SECTION}
    if query is not None and any(getattr(chosen, name) != row.default for name, row in of_queries.items()):
        raise OptionError(f"{' and '.join(of_queries)} are those that worst chooses from; query names them")
    labelled += [] if against is None else [_single(against, "against")]
    if bool(queries) == bool(worst):
        raise OptionError(
            "query and worst are mutually exclusive" if worst else "no query given: query, or worst, chooses it"
        )
    if chosen.ties == EXPECTED:
        raise OptionError(f"ties={EXPECTED} is a mean over all orders: an explanation shows the ranks of one")
    check_labels(labelled)
    judged, runs = _opened(qrels, labelled, chosen)
    chosen = with_ids(chosen, judged)
    if len(runs) > len(labelled):
        count = len(chosen.features)
        raise OptionError(f"features must be one feature, not {count}: one run is explained at a time")
    positions = _worst(judged, runs, spec, chosen, worst) if worst else judged.positions(queries)
    sides = [list(chain(*of_runs)) for of_runs in _explained(judged, runs, positions, [spec], chosen)]
    titles: Mapping[str, str] = {}
    texts: Mapping[str, str] = {}
    if text is not None:
        titles = titles_of(text, {document.id for side in chain(*sides) for document in side.documents})
    if queries_text is not None:
        texts = titles_of(queries_text, {side.query for side in chain(*sides)})
    explanations = Explanations()
    for ours, *theirs in sides:
        notices = tuple(dict.fromkeys(chain(*(side.notices for side in (ours, *theirs)))))
        side_by_side = replace(ours, against=theirs[0] if theirs else None, notices=notices)
        query_text = texts.get(ours.query, "")
        explanations.append(replace(side_by_side, titles=titles, query_text=query_text))
    return warned(explanations)


def _single(run: Any, name: str) -> LabelledRun:
    runs = separate_runs(run)
    if len(runs) > 1:
        raise OptionError(f"{name} must be one run, not {len(runs)}")
    return runs[0]


def explain_runs(
    qrels: Any, labelled: Sequence[LabelledRun], specs: Sequence[Spec], options: Options, queries: Sequence[str]
) -> Iterator[tuple[list[Explanation], ...]]:
    """For each query, the explanations by each run, by each metric; those of one query are in memory at a time.

    A LETOR file is as many runs as it has features chosen.
    """
    judged, runs = _opened(qrels, labelled, options)
    return _explained(judged, runs, judged.positions(queries), specs, options)


def _opened(qrels: Any, labelled: Sequence[LabelledRun], options: Options) -> tuple[Qrels, list[Run]]:
    """The qrels and the runs: several of a LETOR file with several features."""
    # a pipe that was opened once is read from the copy that its Source has
    qrels = source_of(qrels) if is_path(qrels) else qrels
    labelled = [(label, source_of(run) if is_path(run) else run) for label, run in labelled]
    check_columns([qrels, *(run for _, run in labelled)], options)
    judgments = open_qrels(qrels, options)
    return judgments.qrels, open_all(labelled, judgments, options)


def _worst(qrels: Qrels, runs: Sequence[Run], spec: Spec, options: Options, count: int) -> Ints:
    """The queries with the lowest value, or with the largest drop from the second run; ties as in the qrels.

    Those without a relevant document come last: there is nothing to find, and --no-relevant decides the value.
    """
    better = spec.metric.higher_is_better
    if better is None:
        raise MetricError(f"{spec}: neither high nor low values are better, so no query is the worst")
    counted = chosen_queries(qrels, options)
    jobs = options.jobs or default_jobs()
    values, is_empty = [], np.zeros(len(qrels.queries), bool)
    for run in runs:
        reduced = run.reduce(qrels, jobs)
        scores = score_queries(qrels, judge_of(qrels, reduced, options), reduced.rank, [spec], jobs)
        values.append(scores.values[0])
        is_empty |= scores.empty[0]
        counted = counted_queries(counted, reduced.retrieved > 0, options)
    if not counted.any():
        where = "the run" if len(runs) == 1 else "both runs"
        raise OptionError(
            f"no query is left to choose from: queries={options.queries}, and none of them is in {where}"
        )
    worth = values[0] - values[1] if len(values) > 1 else values[0]
    defined = np.flatnonzero(counted & ~np.isnan(worth))
    if not len(defined):
        raise MetricError(f"{spec} is undefined for all queries")
    order = np.lexsort((worth[defined] * (1 if better else -1), is_empty[defined]))
    return defined[order[:count]]


def _explained(
    qrels: Qrels, runs: Sequence[Run], positions: Ints, specs: Sequence[Spec], options: Options
) -> Iterator[tuple[list[Explanation], ...]]:
    """The explanations of each of these queries, by run and by metric."""
    named_runs = zip(runs, names_of(runs), strict=True)
    return zip(*(_of_run(run, name, qrels, positions, specs, options) for run, name in named_runs), strict=True)


def _of_run(
    run: Run, name: str, qrels: Qrels, positions: Ints, specs: Sequence[Spec], options: Options
) -> Iterator[list[Explanation]]:
    """The explanations of each of these queries, one for each metric, from one pass over the run."""
    ids = qrels.queries.take(positions)
    queries = IdIndex(ids)
    columns = run.rows(lambda block: block.of_queries(queries), options.jobs or default_jobs())
    reduced = reduce_columns(columns, qrels, run.ties, run.path, run.collapse)
    columns = run.collapse.columns(columns) if run.collapse else columns
    notices = (
        *qrels_notices_for(qrels, specs),
        *(notice.replace(subject=name) for notice in qrels_notices(qrels, reduced, options)),
    )
    scores = scored(judgments_of(qrels, reduced, positions, options, ""), specs)
    whole_run, options_used = options.replace(depth=None, judged_only=False), options.to_dict()
    rows = zip(positions.tolist(), Texts(ids), scores.values.T.tolist(), scores.empty.T.tolist(), strict=True)
    for q, query, values, empty in rows:
        judgments = judgments_of(qrels, reduced, np.array([q]), whole_run, "")
        documents, judged = documents_of(run, qrels, q, judgments, reduced, columns)
        explanations = []
        for spec, value, is_empty in zip(specs, values, empty, strict=True):
            basis = Explanation(
                str(spec),
                spec.display,
                qrels.path,
                name,
                query,
                value,
                documents,
                is_empty=is_empty,
                cutoff=spec.params.get("cutoff"),
                ties=run.ties,
                options=options_used,
                notices=notices,
            )
            explanations.append(made_of(basis, spec, judgments, options, judged))
        yield explanations


def titles_of(text: Any, documents: Set[str]) -> Mapping[str, str]:
    """Document -> title, from a mapping or a file of them; or query -> text. Raises InputError(s)."""
    if isinstance(text, Mapping):
        return {str(name): str(title) for name, title in text.items() if str(name) in documents}
    return read_texts(source_of(text), documents)


def text_notices(text: str | None, has_title: bool, queries_text: str | None, has_text: bool) -> list[Notice]:
    """The notices about files of titles, and of the texts of queries, that have none of those wanted."""
    files = (text, has_title, NO_TITLE), (queries_text, has_text, NO_TEXT)
    return [Notice(Kind.NO_TITLES, path, 0, rule=rule) for path, has, rule in files if path and not has]


# --- the documents of a query, and what each contributes


def documents_of(
    run: Run, qrels: Qrels, q: int, judgments: Judgments, reduced: Reduced, columns: Columns
) -> tuple[tuple[Document, ...], dict[int, Document]]:
    """All documents of query q, as Explanation.documents, and those that are judged by their rows in the qrels.

    judgments: of the query. reduced, columns: the run.
    """
    first, last = int(qrels.offsets[q]), int(qrels.offsets[q + 1])
    of_query = slice(first, last)
    ids, grade = qrels.documents.take(of_query).compact(), qrels.grade[of_query]
    rank, score = reduced.rank[of_query], reduced.score[of_query]
    query = qrels.queries.take(np.array([q]))
    rows = columns.of_queries(IdIndex(query))
    unjudged = np.flatnonzero(IdIndex(ids).find(rows.documents) < 0)
    if len(unjudged):
        # ranked as the judged ones are: a table of judgments in which these are judged too, with grade 0
        ids = Ids.joined([ids, rows.documents.take(unjudged).compact()])
        grades = np.append(grade, np.zeros(len(unjudged)))
        everything = Qrels(qrels.path, query, np.array([0, len(ids)]), ids, grades)
        ranked = reduce_columns(rows, everything, run.ties, run.path)
        rank, score = ranked.rank, ranked.score
        grade = np.append(grade, np.full(len(unjudged), np.nan))
    missed = judgments.document[np.isinf(judgments.rank)] - first
    retrieved = np.argsort(rank, kind="stable")[: np.count_nonzero(np.isfinite(rank))]
    order = np.append(retrieved, missed[np.argsort(-grade[missed], kind="stable")])
    documents = [
        Document(
            name,
            None if rank == math.inf else int(rank),
            None if rank == math.inf else score,
            None if math.isnan(grade) else grade,
        )
        for name, rank, score, grade in zip(
            Texts(ids), rank.tolist(), score.tolist(), grade.tolist(), strict=True
        )
    ]
    judged = dict(enumerate(documents[: last - first], first))
    return tuple(documents[row] for row in order.tolist()), judged


def made_of(
    basis: Explanation, spec: Spec, whole: Judgments, options: Options, judged: Mapping[int, Document]
) -> Explanation:
    """The explanation, with what its value is made of. whole: the table before options are applied. judged: as
    of documents_of().
    """
    name = spec.metric.name
    judgments = prepared(whole, options)
    terms = spec.metric.terms(judgments, **spec.params)
    if spec.params.get("judged_only"):
        judgments = judgments.judged_only()
    documents = [judged[row] for row in judgments.document.tolist()]
    if options.judged_only or spec.params.get("judged_only"):
        ranks = zip(documents, judgments.rank.tolist(), strict=True)
        basis = replace(basis, positions={document: int(rank) for document, rank in ranks if rank != np.inf})
    unjudged = [document for document in basis.documents if document.grade is None]
    if terms is None:
        without = leave_one_out(
            spec, whole, options, [judged[row] for row in whole.document.tolist()], unjudged
        )
        values = [(document, without[document]) for document in basis.documents if document in without]
        changes = tuple(Change(document, value, value - basis.value) for document, value in values)
        return replace(basis, changes=changes, untried=len(basis.documents) - len(changes))
    params = {key: value for key, value in spec.given if key != "judged_only"}
    # the scaled grades that the gains are made from: their name, and grades -> them
    scaled, scale = ("φ", _phi(judgments, params)) if name == "nDCGphi" else ("", None)
    if name == "NDCNG":
        highest = float(judgments.highest[0]) or 1.0
        scaled, scale = "grade/m", lambda grade: np.maximum(grade, 0.0) / highest
    best = None if terms.ideal is None else terms.ideal()
    ideal = None if best is None else _terms(best, terms, documents, None, scale)
    total, base = float(terms.total[0]), float(np.broadcast_to(terms.base, 1)[0])
    normalizer = float(np.broadcast_to(terms.normalizer, 1)[0])
    added = _terms(terms, terms, documents, judgments, scale)
    if (each := terms.unjudged) and basis.positions is None:
        # documents that are not judged have no rows, but names here
        lowest = options.depth or math.inf
        others = [document for document in unjudged if (document.rank or 0) <= lowest]
        adds = terms.scale * each / normalizer
        numbered = enumerate(others, 1)
        added += tuple(Term(other, each, total + n * each, adds, other.rank) for n, other in numbered)
        total, base = total + each * len(others), base + each * len(others)
    if name == "rankDCG":
        positions = {term.document: term.position for term in added if term.document and term.position}
        basis = replace(basis, positions=positions)
    last = basis.cutoff or int(judgments.retrieved[0])
    # for a DCG whose terms of 0 have no rows
    discount_at = terms.discount_at if isinstance(terms, DiscountedTerms) else None
    return replace(
        basis,
        terms=added,
        total=total,
        base=base,
        scale=terms.scale,
        normalizer=normalizer,
        ideal=ideal,
        by_rank=() if basis.is_empty else _by_rank(terms, best, last),
        discounts=() if discount_at is None else tuple(discount_at(np.arange(1.0, last + 1)).tolist()),
        scaled=scaled,
        levels=_levels(judgments, basis.ranked) if name == "muAP" else (),
        phi=phi_of(judgments, params) if name == "nDCGphi" else None,
        groups=_groups(ideal) if ideal and name == "rankDCG" else (),
    )


_Scale = Callable[[Floats], Floats]


def _terms(
    terms: Terms, run: Terms, documents: Sequence[Document], judgments: Judgments | None, scale: _Scale | None
) -> tuple[Term, ...]:
    """The terms as data. run: those whose normalizer divides all. judgments: None for the ideal ranking."""
    value = np.broadcast_to(terms.value, terms.row.shape)
    of_row = [None if row < 0 else documents[row] for row in terms.row.tolist()]
    position: Sequence[int | None]
    position = gain = discount = scaled = [None] * len(of_row)
    rank = None if judgments is None else judgments.rank[terms.row]
    if isinstance(terms, DiscountedTerms):
        rank, gain, discount = terms.rank, terms.gain.tolist(), terms.discount.tolist()
    if rank is not None:
        position = [None if at == math.inf else int(at) for at in rank.tolist()]
    if scale is not None:
        grades = [0.0 if document is None else document.grade for document in of_row]
        scaled = scale(np.array(grades, np.float64)).tolist()
    contribution = ratio(run.scale * value, float(np.broadcast_to(run.normalizer, 1)[0]))
    sums = value.tolist(), np.cumsum(value).tolist(), contribution.tolist()
    return tuple(map(Term, of_row, *sums, position, gain, discount, scaled))


def _by_rank(terms: Terms, ideal: Terms | None, last: int) -> tuple[float, ...]:
    """The value if the ranking were cut at each rank, for a DCG divided by the DCG of the ideal ranking."""
    if not (isinstance(terms, DiscountedTerms) and isinstance(ideal, DiscountedTerms)):
        return ()
    if isinstance(terms.base, np.ndarray):
        return ()
    dcg = np.zeros((2, last))
    for row, ranking in zip(dcg, (terms, ideal), strict=True):
        inside = ranking.rank <= last
        row[ranking.rank[inside].astype(np.int64) - 1] = ranking.value[inside]
    run, best = dcg.cumsum(axis=1)
    return tuple(ratio(terms.scale * run, best).tolist())


def _levels(judgments: Judgments, ranked: Sequence[Document]) -> tuple[Level, ...]:
    """The levels of µAP for a table of one query, the lowest first. ranked: the documents in rank order."""
    grades = distinct(judgments.grade[judgments.grade > 0]).tolist()
    by_rank = np.array([document.grade for document in ranked], np.float64)  # NaN where it is not judged
    return tuple(
        Level(
            grade,
            int(np.count_nonzero(judgments.grade >= grade)),
            float(average_precision(judgments, rel=grade).values()[0]),
            (grade - before) / grades[-1],
            np.where(by_rank >= grade, b"+", b"-").tobytes().decode(),
        )
        for before, grade in zip([0.0, *grades], grades, strict=False)
    )


def _groups(ideal: Sequence[Term]) -> tuple[LevelGroup, ...]:
    groups = []
    for level, members in groupby(ideal, key=lambda term: term.gain):
        terms = list(members)
        first, last = terms[0], terms[-1]
        if first.document is not None:
            grade, positions = first.document.grade or 0.0, (first.position or 0, last.position or 0)
            groups.append(LevelGroup(int(level or 0), grade, *positions, first.discount or 0.0))
    return tuple(groups)


def _phi(judgments: Judgments, params: dict[str, Any]) -> _Scale:
    if "points" in params:
        return lambda grade: phi_through(params["points"], grade)
    fitted = fitted_phi(judgments, params.get("variant", "paper"))
    return lambda grade: fitted(np.maximum(grade, 0.0), np.zeros(len(grade), np.int64))


def phi_of(judgments: Judgments, params: dict[str, Any], samples: int = _SAMPLES) -> Phi:
    """φ of nDCGφ for a table of one query. samples: of the curve."""
    phi = _phi(judgments, params)
    points: list[tuple[str, float, float]]
    if "points" in params:
        points, whisker = [("given", *point) for point in params["points"]], None
    else:
        variant = params.get("variant", "paper")
        points = [(name, *point) for name, point in named_points(judgments, variant)[0].items()]
        whisker = float(control_points(judgments, variant)[0][0, 2])
        if judgments.highest[0] <= 0:  # φ is 0 at every grade, which points would contradict
            points, whisker = [], None
    grades, ordered = distinct(judgments.grade)[::-1], np.sort(judgments.grade)
    counts = np.searchsorted(ordered, grades, "right") - np.searchsorted(ordered, grades)
    values = phi(grades)
    rows = zip(grades.tolist(), counts.tolist(), values.tolist(), exp2_gain(values).tolist(), strict=True)
    ends = (min(points[0][1], float(grades[-1])), points[-1][1]) if points else (0.0, 0.0)
    at = np.linspace(*ends, samples)
    curve = zip(at.tolist(), phi(at).tolist(), strict=True)
    return Phi(tuple(points), whisker, tuple(rows), tuple(curve))


def leave_one_out(
    spec: Spec, judgments: Judgments, options: Options, judged: list[Document], unjudged: list[Document]
) -> dict[Document, float]:
    """The value without each document: removed from the run and the judgments, with the ranks closed up.

    judgments: the table of the query, to which options are applied after a document was removed, so that
    documents below the depth move up. The scale of grades stays that of the whole qrels. Where that takes more
    than _AT_MOST judgments, only documents of the first ranks and the highest grades that were not retrieved
    are removed. judged: the document of each row. unjudged: those that were retrieved only, by rank.
    """
    unjudged_ranks = np.array([document.rank for document in unjudged], np.float64)
    ranks = judgments.rank[judgments.is_retrieved]
    # between two judged documents it does not matter which one is removed
    gap = np.searchsorted(ranks, unjudged_ranks)
    gaps, first, which = np.unique(gap, return_index=True, return_inverse=True)
    # judged documents from here on move up
    above = np.append(ranks, np.inf)[gaps] - 0.5
    count = len(judgments.rank)
    removed = np.concatenate([np.arange(count), np.full(len(above), -1)])
    rank = np.concatenate([judgments.rank, above])
    is_retrieved = np.concatenate([judgments.is_retrieved, np.ones(len(above), bool)])
    tried = np.arange(len(removed))
    most = max(2, _AT_MOST // max(1, count))
    if len(tried) > most:
        at = np.concatenate([judgments.rank, unjudged_ranks[first]])
        missed = np.flatnonzero(~judgments.is_retrieved)
        missed = missed[np.argsort(-judgments.grade[missed], kind="stable")][: most // 2]
        tried = np.unique(np.append(np.argsort(at, kind="stable")[: most - len(missed)], missed))
    step = max(1, _AT_ONCE // (count + 1))
    values: dict[int, float] = {}
    for some in (tried[a : a + step] for a in range(0, len(tried), step)):
        stays = np.arange(count) != removed[some][:, None]  # a query for each removal
        case, row = np.nonzero(stays)
        before = judgments.rank[row]
        table = judgments.replace(
            segments=Segments(np.append(0, np.cumsum(stays.sum(axis=1)))),
            grade=judgments.grade[row],
            rank=before - (before > rank[some][case]),
            score=judgments.score[row],
            document=judgments.document[row],
            retrieved=judgments.retrieved[0] - is_retrieved[some],
        )
        values.update(zip(some.tolist(), score(prepared(table, options), [spec])[0].tolist(), strict=True))
    cases = [*range(count), *(count + which).tolist()]
    documents = [*judged, *unjudged]
    return {document: values[case] for document, case in zip(documents, cases, strict=True) if case in values}

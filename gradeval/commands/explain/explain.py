"""How the value of a metric for a query comes about.

explain     qrels, a run and a metric -> an Explanation for each of the queries
explained   several runs and metrics, one query after another
titles_of   a file of titles -> those of some documents
phi_of      φ of nDCGφ for the grades of a query
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from itertools import chain, groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from gradeval.arrays import Floats, Ints
from gradeval.arrays.segments import Segments, distinct, ratio
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
from gradeval.errors import MetricError, OptionError
from gradeval.evaluation.evaluator import check_labels, separate_runs
from gradeval.evaluation.outcome import (
    chosen_queries,
    outcome_of,
    qrels_notices,
    qrels_notices_for,
    with_ids,
)
from gradeval.evaluation.score import Judge, prepared, score, scored
from gradeval.file_formats import run_names
from gradeval.formats.columns import Columns
from gradeval.formats.lines import read_texts
from gradeval.metrics._kernels import exp2_gain
from gradeval.metrics.average_precision import average_precision
from gradeval.metrics.ndcg_phi import control_points, fitted_phi, named_points, phi_through
from gradeval.notices import NO_TEXT, NO_TITLE, Kind, Notice
from gradeval.options import EXPECTED, OF_RUNS, QUERIES_SECTION, Options, takes, whole
from gradeval.registry.spec import Spec, parse
from gradeval.render.document import warned
from gradeval.tables.judgments import Judgments
from gradeval.tables.load import Run, check_columns, is_path, open_all, open_qrels, source_of
from gradeval.tables.qrels import Qrels
from gradeval.tables.reduction import reduce_columns
from gradeval.tables.terms import DiscountedTerms, Terms

if TYPE_CHECKING:
    from gradeval.keywords import Runs, Unpack

METRIC = "nDCG@10"
_SAMPLES = 64  # of the curve of φ, between its ends
_AT_ONCE = 1 << 20  # judgments of the tables that are scored together, each without a document
_AT_MOST = 10**8  # judgments of all these tables: about 5 seconds


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
    queries = list(map(str, [query] if isinstance(query, (str, int)) else () if query is None else query))
    if worst is not None:
        worst = whole("worst", worst, 1, 10**9)
    if bool(queries) == bool(worst):
        raise OptionError("one of query and worst chooses what is explained (--query ID, --worst N)")
    labelled = [side for of in ([run] if against is None else [run, against]) for side in separate_runs(of)]
    check_labels(labelled)
    spec, *others = parse(metric)
    if others or spec.metric.text:
        names = ", ".join(map(str, [spec, *others]))
        raise MetricError(f"one metric with numbers is explained at a time, not {names}")
    chosen = Options(**options)
    of_queries = {name: row for name, row in OF_RUNS.items() if row.section == QUERIES_SECTION}
    if queries and any(getattr(chosen, name) != row.default for name, row in of_queries.items()):
        raise OptionError(f"{' and '.join(of_queries)} are those that worst chooses from; query names them")
    if chosen.ties == EXPECTED:
        raise OptionError(f"ties={EXPECTED} is a mean over all orders: an explanation shows the ranks of one")
    judged, runs = open_to_explain(qrels, labelled, chosen)
    chosen = with_ids(chosen, judged)
    if len(runs) > (1 if against is None else 2):
        raise OptionError(f"one run is explained at a time, beside one to compare with, not {len(runs)} runs")
    positions = _worst(judged, runs, spec, chosen, worst) if worst else judged.positions(queries)
    sides = [list(chain(*of_runs)) for of_runs in explained(judged, runs, positions, [spec], chosen)]
    ids = {document.id for side in chain(*sides) for document in side.documents} if text is not None else set()
    titles = titles_of(text, ids)
    texts = titles_of(queries_text, {ours.query for ours, *_ in sides})
    return warned(
        Explanations(
            replace(
                ours,
                against=theirs[0] if theirs else None,
                titles=titles,
                query_text=texts.get(ours.query, ""),
                notices=tuple(dict.fromkeys(chain(*(side.notices for side in (ours, *theirs))))),
            )
            for ours, *theirs in sides
        )
    )


def open_to_explain(
    qrels: Any, labelled: Sequence[tuple[str | None, Any]], options: Options
) -> tuple[Qrels, list[Run]]:
    """The qrels and the (label, run) pairs; a LETOR file is as many runs as it has features chosen."""
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
    if spec.metric.higher_is_better is None:
        raise MetricError(f"{spec}: neither high nor low values are better, so no query is the worst")
    jobs, chosen = options.jobs or default_jobs(), chosen_queries(qrels, options)
    outcomes = [
        outcome_of(
            Judge(qrels, run.reduce(qrels, jobs), options), run.path, run.path, run.ties, [spec], jobs, chosen
        )
        for run in runs
    ]
    counted = np.logical_and.reduce([outcome.result.counted for outcome in outcomes])
    if not counted.any():
        raise OptionError(f"no query is left to choose from: queries={options.queries}, and no run has them")
    is_empty = np.logical_or.reduce([outcome.empty[0] for outcome in outcomes])
    worth, *others = (outcome.result.values[0] for outcome in outcomes)
    worth = worth - others[0] if others else worth
    defined = np.flatnonzero(counted & ~np.isnan(worth))
    if not len(defined):
        raise MetricError(f"{spec} is undefined for all queries")
    sign = 1 if spec.metric.higher_is_better else -1
    return defined[np.lexsort((sign * worth[defined], is_empty[defined]))[:count]]


def explained(
    qrels: Qrels, runs: Sequence[Run], positions: Ints, specs: Sequence[Spec], options: Options
) -> Iterator[tuple[list[Explanation], ...]]:
    """Those of each of these queries, by run and by metric; those of one query are in memory at a time."""
    named_runs = zip(runs, run_names((run.name, run.path, run.short_name) for run in runs), strict=True)
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
    about_run = (notice.replace(subject=name) for notice in qrels_notices(qrels, reduced, options))
    notices = (*qrels_notices_for(qrels, specs), *about_run)
    scores = scored(Judge(qrels, reduced, options)(positions), specs)
    whole_run = Judge(qrels, reduced, options.replace(depth=None, judged_only=False))
    options_used = options.to_dict()
    rows = zip(positions.tolist(), Texts(ids), scores.values.T.tolist(), scores.empty.T.tolist(), strict=True)
    for q, query, values, empty in rows:
        table = whole_run(np.array([q]))
        documents, judged = _documents(run, qrels, q, table, columns)
        of_query: dict[str, Any] = {"qrels": qrels.path, "run": name, "query": query, "documents": documents}
        of_query |= {"ties": run.ties, "options": options_used, "notices": notices}
        explanations = []
        for spec, value, is_empty in zip(specs, values, empty, strict=True):
            of_metric = {"value": value, "is_empty": is_empty, "cutoff": spec.params.get("cutoff")}
            basis = Explanation(str(spec), spec.display, **of_metric, **of_query)
            explanations.append(_made_of(basis, spec, table, options, judged))
        yield explanations


def titles_of(text: Any, documents: Set[str]) -> Mapping[str, str]:
    """Document -> title, from a mapping or a file of them; or query -> text. Raises InputError(s)."""
    if isinstance(text, Mapping):
        return {str(name): str(title) for name, title in text.items() if str(name) in documents}
    return {} if text is None else read_texts(source_of(text), documents)


def text_notices(text: str | None, has_title: bool, queries_text: str | None, has_text: bool) -> list[Notice]:
    """The notices about files of titles, and of the texts of queries, that have none of those wanted."""
    files = (text, has_title, NO_TITLE), (queries_text, has_text, NO_TEXT)
    return [Notice(Kind.NO_TITLES, path, 0, rule=rule) for path, has, rule in files if path and not has]


# --- the documents of a query, and what each contributes


def _documents(
    run: Run, qrels: Qrels, q: int, judgments: Judgments, columns: Columns
) -> tuple[tuple[Document, ...], dict[int, Document]]:
    """All documents of query q, as Explanation.documents, and those that are judged by their rows in the qrels.

    judgments: of the query. columns: the run.
    """
    first, last = qrels.offsets[q : q + 2].tolist()
    ids, query = qrels.documents.take(slice(first, last)).compact(), qrels.queries.take(np.array([q]))
    rows = columns.of_queries(IdIndex(query))
    unjudged = np.flatnonzero(IdIndex(ids).find(rows.documents) < 0)
    ids = Ids.joined([ids, rows.documents.take(unjudged).compact()])
    # ranked as the judged ones are: a table of judgments in which all are judged, with grade 0
    grades = np.append(qrels.grade[first:last], np.zeros(len(unjudged)))
    everything = Qrels(qrels.path, query, np.array([0, len(ids)]), ids, grades)
    ranked = reduce_columns(rows, everything, run.ties, run.path)
    grades[last - first :] = np.nan
    documents = [
        Document(name, None, None, grade)
        if rank == math.inf
        else Document(name, int(rank), score, None if math.isnan(grade) else grade)
        for name, rank, score, grade in zip(
            Texts(ids), ranked.rank.tolist(), ranked.score.tolist(), grades.tolist(), strict=True
        )
    ]
    missed = judgments.document[np.isinf(judgments.rank)] - first
    retrieved = np.argsort(ranked.rank, kind="stable")[: np.count_nonzero(np.isfinite(ranked.rank))]
    order = np.append(retrieved, missed[np.argsort(-grades[missed], kind="stable")])
    return tuple(documents[d] for d in order.tolist()), dict(enumerate(documents[: last - first], first))


def _made_of(
    basis: Explanation, spec: Spec, whole: Judgments, options: Options, judged: Mapping[int, Document]
) -> Explanation:
    """The explanation, with what its value is made of. whole: the table before options are applied. judged: as
    of _documents().
    """
    name = spec.metric.name
    judgments = prepared(whole, options)
    terms = spec.metric.terms(judgments, **spec.params)
    if spec.params.get("judged_only"):
        judgments = judgments.judged_only()
    documents = [judged[row] for row in judgments.document.tolist()]
    if options.judged_only or spec.params.get("judged_only"):
        ranks = zip(documents, judgments.rank.tolist(), strict=True)
        basis = replace(basis, positions={document: int(rank) for document, rank in ranks if rank != math.inf})
    unjudged = [document for document in basis.documents if document.grade is None]
    if terms is None:
        rows = [judged[row] for row in whole.document.tolist()]
        without = _leave_one_out(spec, whole, options, rows, unjudged)
        tried = [document for document in basis.documents if document in without]
        changes = tuple(Change(one, without[one], without[one] - basis.value) for one in tried)
        return replace(basis, changes=changes, untried=len(basis.documents) - len(changes))
    scaled: dict[float | None, float] = {}  # grade -> what the gain is made from
    phi = None
    if name == "nDCGphi":
        phi = phi_of(judgments, {key: value for key, value in spec.given if key != "judged_only"})
        scaled = {grade: value for grade, _, value, _ in phi.values}
    elif name == "NDCNG":
        highest = float(judgments.highest[0]) or 1.0
        scaled = {grade: max(grade, 0.0) / highest for grade in judgments.grade.tolist()}
    best = None if terms.ideal is None else terms.ideal()
    total, base, normalizer = (
        float(np.broadcast_to(part, 1)[0]) for part in (terms.total, terms.base, terms.normalizer)
    )
    shared = terms.scale, normalizer, documents, scaled
    added = _terms(terms, judgments.rank, *shared)
    ideal = None if best is None else _terms(best, None, *shared)
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
        scaled={"nDCGphi": "φ", "NDCNG": "grade/m"}.get(name, ""),
        levels=_levels(judgments, basis.ranked) if name == "muAP" else (),
        phi=phi,
        groups=_groups(ideal) if ideal and name == "rankDCG" else (),
    )


def _terms(
    terms: Terms,
    rank: Floats | None,
    scale: float,
    normalizer: float,
    documents: Sequence[Document],
    scaled: Mapping[float | None, float],
) -> tuple[Term, ...]:
    """The terms as data. rank: of the rows of the table; None for the ideal ranking. scale, normalizer: of the
    value. documents: of the rows. scaled: grade -> what its gain is made from.
    """
    value = np.broadcast_to(terms.value, terms.row.shape)
    of_row = [None if row < 0 else documents[row] for row in terms.row.tolist()]
    position: Sequence[int | None]
    position = gain = discount = [None] * len(of_row)
    rank = None if rank is None else rank[terms.row]
    if isinstance(terms, DiscountedTerms):
        rank, gain, discount = terms.rank, terms.gain.tolist(), terms.discount.tolist()
    if rank is not None:
        position = [None if at == math.inf else int(at) for at in rank.tolist()]
    sums = value.tolist(), np.cumsum(value).tolist(), ratio(scale * value, normalizer).tolist()
    of_grade = [scaled.get(document.grade) if document else None for document in of_row]
    return tuple(map(Term, of_row, *sums, position, gain, discount, of_grade))


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
    for level, terms in groupby(ideal, key=lambda term: term.gain):
        first, *others = terms
        last = others[-1] if others else first
        if first.document is not None:
            grade, positions = first.document.grade or 0.0, (first.position or 0, last.position or 0)
            groups.append(LevelGroup(int(level or 0), grade, *positions, first.discount or 0.0))
    return tuple(groups)


def phi_of(judgments: Judgments, params: dict[str, Any], samples: int = _SAMPLES) -> Phi:
    """φ of nDCGφ for a table of one query. samples: of the curve."""
    points: list[tuple[str, float, float]]
    if "points" in params:
        points, whisker = [("given", *point) for point in params["points"]], None
    else:
        variant = params.get("variant", "paper")
        points = [(name, *point) for name, point in named_points(judgments, variant)[0].items()]
        whisker = float(control_points(judgments, variant)[0][0, 2])
        fitted = fitted_phi(judgments, variant)
        if judgments.highest[0] <= 0:  # φ is 0 at every grade, which points would contradict
            points, whisker = [], None

    def phi(grade: Floats) -> Floats:
        if "points" in params:
            return phi_through(params["points"], grade)
        return fitted(np.maximum(grade, 0.0), np.zeros(len(grade), np.int64))

    grades, counts = np.unique(judgments.grade, return_counts=True)
    grades = grades[::-1]
    values = phi(grades)
    columns = grades, counts[::-1], values, exp2_gain(values)
    ends = (min(points[0][1], float(grades[-1])), points[-1][1]) if points else (0.0, 0.0)
    at = np.linspace(*ends, samples)
    curve = zip(at.tolist(), phi(at).tolist(), strict=True)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return Phi(tuple(points), whisker, tuple(rows), tuple(curve))


def _leave_one_out(
    spec: Spec, judgments: Judgments, options: Options, judged: list[Document], unjudged: list[Document]
) -> dict[Document, float]:
    """The value without each document: removed from the run and the judgments, with the ranks closed up.

    judgments: the table of the query, to which options are applied after a document was removed, so that
    documents below the depth move up. The scale of grades stays that of the whole qrels. Where that takes more
    than _AT_MOST judgments, only documents of the first ranks and the highest grades that were not retrieved
    are removed. judged: the document of each row. unjudged: those that were retrieved only, by rank.
    """
    unjudged_rank = np.array([document.rank for document in unjudged], np.float64)
    # between two judged documents it does not matter which one is removed
    gap = np.searchsorted(judgments.rank[judgments.is_retrieved], unjudged_rank)
    _, first, which = np.unique(gap, return_index=True, return_inverse=True)
    count = len(judgments.rank)
    # the cases: without each judged document, and without an unjudged one of each gap
    removed = np.append(np.arange(count), np.full(len(first), -1))
    rank = np.append(judgments.rank, unjudged_rank[first])
    tried = np.arange(len(removed))
    most = max(2, _AT_MOST // max(1, count))
    if len(tried) > most:
        missed = np.flatnonzero(~judgments.is_retrieved)
        missed = missed[np.argsort(-judgments.grade[missed], kind="stable")][: most // 2]
        tried = np.unique(np.append(np.argsort(rank, kind="stable")[: most - len(missed)], missed))
    step = max(1, _AT_ONCE // (count + 1))
    values: dict[int, float] = {}
    for cases in (tried[a : a + step] for a in range(0, len(tried), step)):
        stays = np.arange(count) != removed[cases][:, None]  # a query for each case
        case, row = np.nonzero(stays)
        before = judgments.rank[row]
        table = judgments.replace(
            segments=Segments(np.append(0, np.cumsum(stays.sum(axis=1)))),
            grade=judgments.grade[row],
            rank=before - (before > rank[cases][case]),
            score=judgments.score[row],
            document=judgments.document[row],
            retrieved=judgments.retrieved[0] - np.isfinite(rank[cases]),
        )
        values.update(zip(cases.tolist(), score(prepared(table, options), [spec])[0].tolist(), strict=True))
    cases_of = zip([*judged, *unjudged], [*range(count), *(count + which).tolist()], strict=True)
    return {document: values[case] for document, case in cases_of if case in values}

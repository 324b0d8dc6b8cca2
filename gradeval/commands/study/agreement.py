"""Whether metrics, and sets of judgments, order systems alike, and how well they separate them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gradeval.arrays import Bools, Floats, Ints
from gradeval.arrays.segments import Segments, distinct
from gradeval.arrays.strings import Texts
from gradeval.arrays.threads import default_jobs, map_all
from gradeval.commands.study.options import AGREEMENT_METRICS, OF_SYSTEMS, AgreementOptions, refuse
from gradeval.commands.study.tables import Row, Study, StudyTable, averaged_metrics
from gradeval.compare_options import MAXT, TUKEY
from gradeval.errors import GRADE_RANGE, GradevalError, InputError, MetricError, OptionError
from gradeval.evaluation.caveats import caveats, relevance_notices
from gradeval.evaluation.evaluation import OnErrors, check_errors, joined_errors
from gradeval.evaluation.outcome import Evaluated, ReducedRun, check_common, evaluate, no_common_query
from gradeval.evaluation.plan import EvaluationSetting, Plan, chosen_queries, weights_of, with_ids
from gradeval.evaluation.results import FailedRun
from gradeval.evaluation.runs import is_row, path_of, separate_runs
from gradeval.evaluation.score import summarize
from gradeval.file_formats import LabelledRun
from gradeval.formats.columns import Columns
from gradeval.notices import MAX_QUERIES, Notice, NoticeKind, Notices, by_judgments
from gradeval.options import OF_RUNS, Options, takes
from gradeval.registry.spec import Metrics, Spec
from gradeval.render.printable import warned
from gradeval.statistics.agreement import (
    HalvesAgreement,
    JudgesAgreement,
    OrderCorrelations,
    Ratings,
    correlations,
    estimates,
    halves,
    judges,
    kendall_tau,
    levels_of,
)
from gradeval.statistics.multiple import CORRECTIONS, maxt, randomized_tukey_hsd
from gradeval.statistics.sampling import Sampling
from gradeval.statistics.tests import paired_differences, paired_tests
from gradeval.tables.excluded import with_excluded
from gradeval.tables.judges import by_judge, column_of_judges
from gradeval.tables.load import (
    OpenedQrels,
    Run,
    check_inputs,
    inputs_of,
    names_of,
    open_all,
    open_qrels,
    with_all_features,
    with_feature_runs,
)
from gradeval.tables.qrels import Qrels, out_of_range
from gradeval.tables.ranking import IdenticalIds, Ties
from gradeval.tables.reduction import Reduced, reduce_columns

if TYPE_CHECKING:
    from gradeval.keywords import Agreement, Unpack

MOST_GRADES = 1_000  # different ones: the time of κ and α depends on them
RESAMPLES = 2_000  # of the queries, for the agreement of grades
_SHOWN = 12  # grades of a confusion matrix that is shown


_TAUS = OrderCorrelations._fields


@takes({**AgreementOptions.table, **OF_RUNS})
def agreement(
    qrels: Any,
    runs: Any = None,
    metrics: Metrics = AGREEMENT_METRICS,
    *,
    qrels2: Any = None,
    per_query: bool = False,
    errors: OnErrors = "raise",
    **options: Unpack[Agreement],
) -> Study:
    """Whether metrics order systems alike, how well they separate them, and how stable their orders are.

        >>> print(gradeval.study.agreement("qrels.txt", ["bm25.run", "dense.run", "hybrid.run"], "nDCG@10 AP"))

    For each pair of metrics: Kendall's τ-b and the AP correlation between the orders of the systems by their
    means. For each metric: the share of pairs of systems that a paired test separates at α after correction for
    all pairs (discriminative power: Sakai 2006); the agreement of two random halves of the queries; and what
    multiplying all grades by the factors of `rescale` changes, where thresholds given as numbers stay.

    With qrels2, one further set of judgments or a list of them, all of it for each set on the queries that all
    have, and the agreement between them: of the orders of systems by each metric, and of the grades. Each two
    sets have the share of equal grades, Cohen's κ (unweighted, linear, quadratic), Krippendorff's α (nominal,
    ordinal, interval) and the mean difference, the second less the first, over the documents that both judge;
    three sets or more have α over the documents that two or more of them judge; the table disagreements lists
    the documents to which they give different grades. Without qrels2, qrels with a column judge or annotator
    are the judgments of each of these. Intervals have the confidence
    1 - α, with 2,000 bootstrap resamples of the queries: BCa for grades; percentiles for τ, the AP correlation
    and the share of the pairs separated by the first set that the second orders the other way. per_query: the
    agreement of the grades of each query too. Without runs there is the agreement of the grades only, with more
    than 1,000 different grades none of them.

    qrels, runs, errors: as evaluate() takes them; runs=None with features: those of the qrels. metrics: names.
    qrels2: further judgments, as qrels, or a list of them.
    Raises InputError, MetricError, OptionError.
    Source: Sakai, "Evaluating evaluation metrics based on the bootstrap", SIGIR 2006; Voorhees and Buckley,
    "The effect of topic set size on retrieval experiment error", SIGIR 2002.
    """
    specs = averaged_metrics(metrics, orders_systems=True)
    chosen = Options.of(options)
    study_options = AgreementOptions.of(options)
    other_qrels = _separate_qrels(qrels2)
    if not other_qrels and chosen.merge is None:
        qrels, *other_qrels = by_judge(qrels, chosen)
    _check_qrels2(other_qrels, chosen, per_query)
    is_of_runs = runs is not None or bool(chosen.features)
    if not is_of_runs:
        _check_without_runs([qrels, *other_qrels], metrics, study_options, chosen)
    named_runs = separate_runs(qrels if runs is None else runs) if is_of_runs else []
    check_errors(errors)
    union, judged, failed = collect(qrels, named_runs, chosen, other_qrels=other_qrels, errors=errors)
    sets = _JudgmentSets(union, judged)
    if is_of_runs:
        check_systems(union, failed)
    sampling = Sampling(study_options.samples, study_options.seed, chosen.jobs or default_jobs())
    collections = [union]
    tables = list[StudyTable]()
    groups: list[Sequence[Notice]] = [()]
    if other_qrels:
        collections, notices = _by_each(sets, is_of_runs)
        groups = [notices]
        if not any(notice.kind is NoticeKind.MANY_GRADES for notice in notices):
            tables += _of_grades(_rated(sets), study_options.alpha, sampling, per_query)
            tables.append(_disagreements(sets))
    if is_of_runs:
        findings = [_findings(collection, specs, study_options, sampling) for collection in collections]
        groups += by_judgments(sets.paths, [of_set.notices for of_set in findings])
        if other_qrels:
            names = list(map(str, specs))
            of_orders = _judgments_table(names, sets.paths, findings, study_options.alpha, sampling)
            position = next((p for p, table in enumerate(tables) if table.name == "labels"), 0)
            tables.insert(position, of_orders)
        tables = _tables(sets.paths, findings, tables)
    else:
        specs = []
        groups += [collection.qrels.notices for collection in collections]
    about = _about(specs, study_options, bool(other_qrels))
    study = Study(
        name="agreement",
        finding=_finding({table.name: table for table in tables}),
        options={**about, "seed": study_options.seed, "evaluation": union.options.to_dict()},
        noticed=tuple(map(tuple, groups)),
        runs_read=len(union.runs),
        tables=tuple(tables),
        failed=tuple(failed),
    )
    return warned(study)


def check_systems(union: JudgedCollection, failed: Sequence[FailedRun]) -> None:
    """Raise the error of a run, or InputError, where there are no two systems to order."""
    if len(union.runs) < 2:
        hint = "The others could not be evaluated" if failed else "Give two runs or more"
        few = InputError(union.qrels.path, "an order needs two systems", hint=hint)
        raise joined_errors(failed, few) if failed else few


def _separate_qrels(qrels2: Any) -> list[Any]:
    """The further sets of judgments, of which there may be none, one, or a list."""
    if qrels2 is None:
        return []
    is_list = isinstance(qrels2, (list, tuple)) and bool(qrels2) and not is_row(qrels2[0])
    return list(qrels2) if is_list else [qrels2]


def _check_qrels2(other_qrels: Sequence[Any], options: Options, per_query: bool) -> None:
    """Raise OptionError where an option does not go with further sets of judgments, or requires them."""
    if other_qrels and options.ties in ("best", "worst"):
        reason = f"ties={options.ties} orders by one set of judgments, so it does not go with qrels2"
        raise OptionError(reason, "ties", "qrels2")
    if per_query and not other_qrels:
        raise OptionError("per_query requires qrels2", "per_query", "qrels2")


def _lacks_judgments(qrels: Any, chosen: Options) -> OptionError:
    """That there is nothing to compare. Raises InputError."""
    lacking = "runs or qrels2 is missing: systems to order, or judgments to compare with"
    column = None if isinstance(qrels, OpenedQrels) or chosen.merge else column_of_judges(qrels, chosen)
    return OptionError(f"{lacking}; the column {column} names one judge" if column else lacking)


def _check_without_runs(
    sets: Sequence[Any], metrics: Metrics, study_options: AgreementOptions, chosen: Options
) -> None:
    """Raise OptionError where there is nothing to compare, or an option is of systems. sets: of judgments."""
    if len(sets) < 2:
        raise _lacks_judgments(sets[0], chosen)
    why = "requires runs: without runs, only grades are compared"
    if metrics != AGREEMENT_METRICS:
        raise OptionError(f"metrics {why}", "metrics")
    refuse(study_options, OF_SYSTEMS, why)
    refuse(chosen, OF_SYSTEMS, why)


def _about(specs: Sequence[Spec], options: AgreementOptions, compares_grades: bool) -> dict[str, Any]:
    """The options of the study, as JSON types. specs: none where only grades are compared."""
    about: dict[str, Any] = {"metrics": [str(spec) for spec in specs]}
    if specs:
        about["test"] = options.test
        if options.test != TUKEY:
            about["correction"] = options.correction
    about["alpha"] = options.alpha
    if specs:
        about |= {"splits": options.splits, "rescale": list(options.rescale)}
    if compares_grades:
        about["resamples"] = RESAMPLES
    return about


def _finding(tables: Mapping[str, StudyTable]) -> str:
    """Where the orders of systems, or the grades, agree least."""
    sources = {"judgments": "two sets of judgments", "correlations": "", "halves": "two halves of the queries"}
    if name := next((name for name in sources if name in tables and tables[name].rows), ""):
        return _least_agreement(tables[name], sources[name])
    rows = tables["labels"].rows if "labels" in tables else []
    values = [float(value or 0) for *_, statistic, value, _, _ in rows if statistic == "agreement"]
    if not (shares := [value for value in values if not math.isnan(value)]):
        return ""
    low, high = (f"{100 * share:.0f}" for share in (min(shares), max(shares)))
    percent = f"{low} %" if low == high else f"{low} to {high} %"
    by_pair = ", by pair" if len(shares) > 1 else ""
    return f"The sets give the same grade to {percent} of the documents that both have{by_pair}."


def _least_agreement(table: StudyTable, source: str) -> str:
    """The finding of a table of correlations. source: of the two orders in a row, if it is not their labels."""
    tau = table.columns.index("tau")
    defined = [row for row in table.rows if isinstance(row[tau], float) and row[tau] == row[tau]]
    if not defined:
        return ""
    least = min(defined, key=lambda row: float(row[tau] or 0))
    labels = ", ".join(map(str, least[:tau]))
    compared = f"{source} ({labels})" if source else labels
    if len(defined) == 1:
        return f"The orders of systems by {compared} agree with a tau of {least[tau]:.2f}."
    return f"The orders of systems agree least by {compared}: tau {least[tau]:.2f}."


class _Findings(NamedTuple):
    """By one set of judgments."""

    notices: Notices
    orders: list[Ints]  # of the systems, by each metric
    values: Floats  # the higher the better, (M, Q, R), NaN where they do not count
    separated: list[Bools]  # the pairs of systems, by each metric
    tables: list[StudyTable]


def _tables(
    paths: Sequence[str], findings: Sequence[_Findings], more: Sequence[StudyTable]
) -> list[StudyTable]:
    """findings: by each set of judgments. more: tables that only several sets have."""
    if len(paths) == 1:
        return findings[0].tables
    tables = list(more)
    for of_sets in zip(*(of_set.tables for of_set in findings), strict=True):
        rows = [(path, *row) for path, table in zip(paths, of_sets, strict=True) for row in table.rows]
        tables.append(replace(of_sets[0], columns=("judgments", *of_sets[0].columns), rows=rows))
    return tables


def _judgments_table(
    metrics: Sequence[str],
    paths: Sequence[str],
    findings: Sequence[_Findings],
    alpha: float,
    sampling: Sampling,
) -> StudyTable:
    """How alike each two sets of judgments order the systems."""
    sets, which = (("judgments", "other"), "each two") if len(paths) > 2 else ((), "the two")
    sampling = sampling.replace(samples=RESAMPLES)
    rows = list[Row]()
    for a, b in combinations(range(len(paths)), 2):
        first, second = findings[a], findings[b]
        for m, name in enumerate(metrics):
            of_orders = correlations(first.orders[m], second.orders[m])
            of_samples = judges(first.values[m], second.values[m], first.separated[m], alpha, sampling)
            rows.append((*(paths[a], paths[b])[: len(sets)], name, *of_orders, *of_samples))
    title = f"Agreement of the orders of systems by {which} sets of judgments"
    title += f", with {100 * (1 - alpha):g} % intervals"
    return StudyTable("judgments", title, (*sets, "metric", *_TAUS, *JudgesAgreement._fields), rows)


def _findings(
    collection: JudgedCollection, specs: Sequence[Spec], options: AgreementOptions, sampling: Sampling
) -> _Findings:
    runs = collection.evaluated(specs)
    notices = _evaluation_notices(collection, specs, runs)
    means = means_of(specs, runs)  # (M, R)
    signs = np.array([1.0 if spec.metric.higher_is_better else -1.0 for spec in specs])[:, None]
    orders = [levels_of(better) for better in means * signs]
    rescaled = [_rescaled_means(collection, specs, factor) for factor in options.rescale]
    values = _values_by_id(collection, runs)
    separated = [separated_pairs(of_metric, options, sampling) for of_metric in values]
    names = [*map(str, specs)]
    systems = [run.result.name for run in runs]
    power = list[Row]()
    of_halves = list[Row]()
    of_factors = list[Row]()
    of_systems = list[Row]()
    for m, name in enumerate(names):
        pairs = separated[m]
        power.append((name, len(pairs), int(pairs.sum()), float(pairs.mean())))
        of_halves.append((name, *halves(values[m], options.splits, options.seed), options.seed))
        for factor, scaled in zip(options.rescale, rescaled, strict=True):
            tau = kendall_tau(levels_of(means[m]), levels_of(scaled[m]))
            of_factors.append((name, factor, float(np.abs(scaled[m] - means[m]).max()), tau))
        of_systems += ((name, *row) for row in zip(systems, means[m].tolist(), strict=True))
    columns = ("metric", *HalvesAgreement._fields, "seed")
    changes = ("metric", "factor", "change", "tau")
    separates = "Pairs of systems that the metric separates"
    rescales = "What multiplying all grades changes"
    tables = [
        _correlation_table(names, orders),
        StudyTable("power", separates, ("metric", "pairs", "separated", "share"), power),
        StudyTable("halves", f"{_ALIKE} halves of the queries", columns, of_halves),
        StudyTable("rescaled", rescales, changes, of_factors, shown=bool(of_factors)),
        StudyTable("systems", "Mean of each system", ("metric", "system", "mean"), of_systems, shown=False),
    ]
    return _Findings(notices, orders, values * signs[..., None], separated, tables)


def _evaluation_notices(
    collection: JudgedCollection, specs: Sequence[Spec], runs: Sequence[Evaluated]
) -> Notices:
    qrels, chosen = collection.qrels, collection.chosen
    facts = map_all(lambda run, jobs: caveats(run), runs, collection.jobs)
    share = max(of_run.judged_share for of_run in facts)
    of_qrels = relevance_notices(qrels, specs, runs[0].empty, chosen, collection.options, share=share)
    of_runs = chain.from_iterable(of_run.notices for of_run in facts)
    # FEW_DOCUMENTS is a note of evaluations
    return Notices((*qrels.notices, *of_qrels, *of_runs)).without(NoticeKind.FEW_DOCUMENTS)


def _values_by_id(collection: JudgedCollection, runs: Sequence[Evaluated]) -> Floats:
    """The values, (M, Q, R), NaN where they do not count. The queries are in the order of their ids: what is
    random depends on these, not on the file.
    """
    ids = collection.qrels.queries.tolist()
    by_id = sorted(np.flatnonzero(collection.chosen).tolist(), key=ids.__getitem__)
    results = [run.result for run in runs]
    return np.stack([np.where(run.counted, run.values, np.nan) for run in results], axis=-1)[:, by_id]


_ALIKE = "Agreement of the orders of systems by two"


def _correlation_table(names: Sequence[str], orders: Sequence[Ints]) -> StudyTable:
    rows = [
        (first, second, *correlations(*pair))
        for (first, second), pair in zip(combinations(names, 2), combinations(orders, 2), strict=True)
    ]
    columns = "metric", "other", *_TAUS
    return StudyTable("correlations", f"{_ALIKE} metrics", columns, rows, shown=bool(rows))


def _rescaled_means(collection: JudgedCollection, specs: Sequence[Spec], factor: float) -> Floats:
    """The means of the runs, (M, R), with all grades multiplied. Raises OptionError, MetricError."""
    grade = collection.qrels.grade * factor
    if len(out_of_range(grade)):
        raise OptionError(f"grades multiplied by {factor:g} are out of range: grades are {GRADE_RANGE}")
    of_factor = replace(collection, qrels=collection.qrels.replace(grade=grade))
    try:
        return means_of(specs, of_factor.evaluated(specs))
    except MetricError as error:
        raise MetricError(f"{error} (grades multiplied by {factor:g})") from None


def means_of(specs: Sequence[Spec], runs: Sequence[Evaluated]) -> Floats:
    """Of each metric and run, (M, R)."""
    means = [summarize(specs, run.result.values, run.result.counted) for run in runs]
    return np.stack(means, axis=1)


def separated_pairs(values: Floats, options: AgreementOptions, sampling: Sampling) -> Bools:
    """Which of the pairs of systems, in the order of np.triu_indices, the values (Q, R) separate: those whose
    corrected p is below α.
    """
    first, second = np.triu_indices(values.shape[1], 1)
    differences = paired_differences(values[:, first], values[:, second])
    if options.test == TUKEY:
        p = randomized_tukey_hsd(values, options.alpha, sampling).p[first, second]
    elif options.correction == MAXT:
        p = maxt(differences, sampling)
    else:
        outcomes = paired_tests(options.test, differences, options.alpha, sampling)
        p = CORRECTIONS[options.correction](np.array([outcome.p for outcome in outcomes]))
    return p < options.alpha


@dataclass(frozen=True, eq=False)
class _JudgmentSets:
    """One or more sets of judgments."""

    union: JudgedCollection  # has the documents of all sets
    judged: list[Qrels]  # each as it was read

    @cached_property
    def paths(self) -> list[str]:
        """Their paths; one that is given again has its number."""
        files = [qrels.path for qrels in self.judged]
        times = [files[: position + 1].count(path) for position, path in enumerate(files)]
        return [path if count == 1 else f"{path}#{count}" for path, count in zip(files, times, strict=True)]

    @cached_property
    def grades(self) -> Floats:
        """Of each set and document of the union, (S, N), NaN where it gives none."""
        return np.array([self.union.grades_of(qrels) for qrels in self.judged])


def _by_each(sets: _JudgmentSets, is_of_runs: bool) -> tuple[list[JudgedCollection], list[Notice]]:
    """The runs with each set of judgments, of the queries that all sets have, or two if only grades are
    compared; and notices.
    """
    union, judged = sets.union, sets.judged
    query = Segments(union.qrels.offsets).query
    has = np.array(
        [
            np.bincount(query[is_in_one], minlength=len(union.qrels.queries)) > 0
            for is_in_one in ~np.isnan(sets.grades)
        ]
    )
    is_common = has.sum(axis=0) >= (len(judged) if is_of_runs else 2)
    common = np.flatnonzero(is_common)
    if not len(common):
        others_named = "the other judgments" if len(judged) > 2 else judged[0].path
        missing, listed = Texts(judged[1].queries), Texts(judged[0].queries)
        raise no_common_query(judged[1].path, others_named, missing, listed)
    collections = [
        union.judged_by(qrels, grade, common) for qrels, grade in zip(judged, sets.grades, strict=True)
    ]
    notices = []
    for qrels, is_in_one in zip(judged, has, strict=True):
        if len(lacking := np.flatnonzero(is_in_one & ~is_common)):
            ids = tuple(Texts(union.qrels.queries.take(lacking[:MAX_QUERIES])))
            notices.append(Notice(NoticeKind.NOT_IN_BOTH, qrels.path, len(lacking), queries=ids))
    return collections, [*notices, *_many_grades(sets, is_of_runs)]


def _many_grades(sets: _JudgmentSets, is_of_runs: bool) -> Iterator[Notice]:
    """A notice if there are too many different grades to compare them. Raises InputError where that, or a
    document that two sets judge, is all that is asked for.
    """
    is_judged = ~np.isnan(sets.grades)
    levels = len(distinct(sets.grades[is_judged]))
    if not is_of_runs and is_judged.sum(axis=0).max() < 2:
        message = f"no document is judged by two of these: {', '.join(sets.paths)}"
        raise InputError(sets.paths[0], message, hint="Check the document ids")
    if levels > MOST_GRADES and not is_of_runs:
        message = f"{levels:,} different grades, and a scale of grades to agree in has {MOST_GRADES:,} at most"
        raise InputError(sets.paths[0], message, hint="Round them first")
    if levels > MOST_GRADES:
        yield Notice(NoticeKind.MANY_GRADES, "", levels, total=MOST_GRADES)


class _RatedSets(NamedTuple):
    """Sets of judgments as raters of documents."""

    columns: tuple[str, ...]  # that name the two sets of a row; none where there are only two
    pairs: list[tuple[tuple[str, str], Floats]]  # the paths of each two sets, and their grades, (2, N)
    ratings: list[tuple[tuple[str, ...], Ratings]]  # of each two sets and, of more, of all, by their labels
    query: Ints  # of each document, (N,), in the order of the ids: what is random depends on these
    queries: Texts  # their ids, in this order


def _rated(sets: _JudgmentSets) -> _RatedSets:
    paths = sets.paths
    grades = sets.grades
    union = sets.union.qrels
    ids = union.queries.tolist()
    by_id = sorted(range(len(ids)), key=ids.__getitem__)
    query = np.argsort(by_id)[Segments(union.offsets).query]
    columns = ("judgments", "other") if len(paths) > 2 else ()
    pairs = [((paths[a], paths[b]), grades[[a, b]]) for a, b in combinations(range(len(paths)), 2)]
    all_sets = [(("all", "all"), grades)] if columns else []
    ratings = [(names[: len(columns)], Ratings.of(of_sets, query)) for names, of_sets in chain(pairs, all_sets)]
    return _RatedSets(columns, pairs, ratings, query, Texts(union.queries.take(np.array(by_id))))


def _of_grades(rated: _RatedSets, alpha: float, sampling: Sampling, per_query: bool) -> Iterator[StudyTable]:
    """How the sets of judgments agree about grades."""
    if per_query:
        yield _query_table(rated)
    sampling = sampling.replace(samples=RESAMPLES)
    rows: list[Row] = [
        (*label, name, *estimate)
        for label, ratings in rated.ratings
        for name, estimate in zip(ratings.names, estimates(ratings, alpha, sampling), strict=True)
    ]
    title = f"Agreement of the grades, with {100 * (1 - alpha):g} % intervals"
    yield StudyTable("labels", title, (*rated.columns, "statistic", "value", "low", "high"), rows)
    yield from _confusion(rated)


def _query_table(rated: _RatedSets) -> StudyTable:
    rows = [
        (rated.queries[q], *label, name, value)
        for label, ratings in rated.ratings
        for q, values in zip(ratings.queries.tolist(), ratings.by_query().tolist(), strict=True)
        for name, value in zip(ratings.names, values, strict=True)
    ]
    columns = "query", *rated.columns, "statistic", "value"
    return StudyTable("queries", "Agreement of the grades of each query", columns, rows)


def _confusion(rated: _RatedSets) -> Iterator[StudyTable]:
    """How many documents of their common queries two sets of judgments share, and with which grades."""
    sets, query = rated.columns, rated.query
    documents = list[Row]()
    cells = list[Row]()
    matrices = []
    for names, grades in rated.pairs:
        label = names[: len(sets)]
        by_first, by_second = ~np.isnan(grades)
        is_common = (np.bincount(query, by_first) * np.bincount(query, by_second) > 0)[query]
        both = by_first & by_second
        counts = (int((is_common & part).sum()) for part in (both, by_first > both, by_second > both))
        documents.append((*label, *counts))
        levels = distinct(grades[:, both].reshape(-1))
        first, second = np.searchsorted(levels, grades[:, both])
        kind, count = np.unique(first * len(levels) + second, return_counts=True)
        if 0 < len(levels) <= _SHOWN:  # few enough to list those that no document has
            count = np.bincount(kind, count, len(levels) ** 2).astype(np.int64)
            kind = np.arange(len(count))
            by_level = count.reshape(len(levels), -1)
            texts = [f"{level:g}" for level in levels.tolist()]
            title = "Documents by their grades: rows by {}, columns by {}".format(*names)
            matrix: list[Row] = [(text, *row) for text, row in zip(texts, by_level.tolist(), strict=True)]
            matrices.append(StudyTable("matrix", title, ("grade", *texts), matrix, data=False))
        pair_grades = (levels[part].tolist() for part in np.divmod(kind, max(len(levels), 1)))
        cells += [(*label, *cell) for cell in zip(*pair_grades, count.tolist(), strict=True)]
    columns = ("both", "only_first", "only_second")
    yield StudyTable("documents", "Documents that both judge, or only one", (*sets, *columns), documents)
    yield StudyTable("confusion", "", (*sets, "grade", "grade2", "documents"), cells, shown=False)
    yield from matrices


def _disagreements(sets: _JudgmentSets) -> StudyTable:
    """The documents with different grades, those with the largest difference first."""
    grades = sets.grades
    is_rated = (~np.isnan(grades)).sum(axis=0) > 1
    difference = np.zeros(grades.shape[1])
    difference[is_rated] = np.nanmax(grades[:, is_rated], axis=0) - np.nanmin(grades[:, is_rated], axis=0)
    differing = np.flatnonzero(difference > 0)
    order = differing[np.argsort(-difference[differing], kind="stable")]
    union = sets.union.qrels
    queries = Texts(union.queries.take(Segments(union.offsets).query[order]))
    documents = Texts(union.documents.take(order))
    rows = [
        (query, document, float(difference[row]), *grades[:, row].tolist())
        for query, document, row in zip(queries, documents, order.tolist(), strict=True)
    ]
    columns = ("query", "document", "difference", *sets.paths)
    return StudyTable("disagreements", "Documents with different grades", columns, rows, shown=False)


# --- runs reduced to judgments once, and scored as often as the grades change


@dataclass(frozen=True, eq=False)
class JudgedCollection:
    """Judgments, and where runs put the judged documents."""

    qrels: Qrels
    runs: tuple[ReducedRun, ...]
    options: Options
    chosen: Bools  # which queries are evaluated, (Q,)

    def evaluated(self, specs: Sequence[Spec]) -> list[Evaluated]:
        """Each run, in order, by each metric."""
        weights = weights_of(Texts(self.qrels.queries), self.chosen, self.options)
        setting = EvaluationSetting(Plan(specs, self.options), self.qrels, self.chosen, weights)
        return map_all(lambda run, jobs: evaluate(setting, run, jobs), self.runs, self.jobs)

    @property
    def jobs(self) -> int:
        return self.options.jobs or default_jobs()

    def grades_of(self, qrels: Qrels) -> Floats:
        """The grade that the judgments give each row, (N,), NaN where they give none or it is not evaluated."""
        reduced = reduce_columns(_columns(qrels, qrels.grade), self.qrels, "input", qrels.path)
        is_judged = np.isfinite(reduced.rank) & self.chosen[Segments(self.qrels.offsets).query]
        return np.where(is_judged, reduced.score, np.nan)

    def judged_by(self, qrels: Qrels, grade: Floats, queries: Ints) -> JudgedCollection:
        """With other judgments of these queries, ascending. grade: of each row, (N,), NaN where not judged."""
        query = Segments(self.qrels.offsets).query
        rows = np.flatnonzero(~np.isnan(grade) & np.isin(query, queries))
        offsets = np.append(np.searchsorted(query[rows], queries), len(rows))
        ids, documents = self.qrels.queries.take(queries), self.qrels.documents.take(rows)
        table = Qrels(qrels.path, ids, offsets, documents, grade[rows], qrels.notices)
        table = table.replace(assumed=self.qrels.assumed)
        position = np.full(len(query), -1)
        position[rows] = np.arange(len(rows))
        runs = []
        for reduced_run in self.runs:
            run = reduced_run.reduced
            is_judged = position[run.ties.row] >= 0
            ties = Ties(position[run.ties.row[is_judged]], run.ties.first[is_judged], run.ties.last[is_judged])
            is_kept = np.isin(run.identical.query, queries)
            query_of = np.searchsorted(queries, run.identical.query[is_kept])
            identical = IdenticalIds(query_of, run.identical.rank[is_kept])
            of_rows = run.replace(
                rank=run.rank[rows],
                score=run.score[rows],
                retrieved=run.retrieved[queries],
                scores=run.scores_of(queries),
            )
            runs.append(reduced_run.replace(reduced=of_rows.replace(ties=ties, identical=identical)))
        return replace(self, qrels=table, runs=tuple(runs), chosen=np.ones(len(queries), np.bool_))


def collect(
    qrels: Any,
    runs: Sequence[LabelledRun],
    options: Options,
    *,
    other_qrels: Sequence[Any] = (),
    errors: OnErrors = "raise",
) -> tuple[JudgedCollection, list[Qrels], list[FailedRun]]:
    """The (name, run) pairs reduced to the judgments; these as read: qrels, then the others; and the runs that
    cannot be read.
    """
    check_inputs(inputs_of([qrels, *other_qrels], runs), options)
    options = with_excluded(options)
    source = open_qrels(qrels, options)
    plain = options.replace(qrels_format=None, qrels_feature=None, groups=None)
    judged = [source.qrels, *(open_qrels(other, plain).qrels for other in other_qrels)]
    table = judged[0]
    if other_qrels:  # what any of them judges, in order of first appearance, with grades of 0
        columns = (_columns(table, np.zeros(len(table.grade))) for table in judged)
        table = Qrels.of(judged[0].path, columns).replace(notices=(), assumed=table.assumed)
    options = with_all_features(with_ids(options, table), source)
    chosen = chosen_queries(table, options)
    opened, failed = _opened(with_feature_runs(runs, source, options), source, options)

    def reduced(run: Run, jobs: int) -> Reduced | FailedRun:
        try:
            reduction = run.reduce(table, jobs)
            check_common(run, reduction, table, chosen)
        except GradevalError as error:
            return FailedRun(run.path, error)
        return reduction

    reductions = map_all(reduced, opened, options.jobs or default_jobs())
    failed += [reduction for reduction in reductions if isinstance(reduction, FailedRun)]
    for of_run in failed if errors == "raise" else ():
        raise of_run.error
    reduced_runs = tuple(
        ReducedRun(name, name, run.ties, reduction, reduction.tag)
        for name, run, reduction in zip(names_of(opened), opened, reductions, strict=True)
        if isinstance(reduction, Reduced)
    )
    return JudgedCollection(table, reduced_runs, options, chosen), judged, failed


def _opened(
    runs: Sequence[LabelledRun], judged: OpenedQrels, options: Options
) -> tuple[list[Run], list[FailedRun]]:
    """The runs, and those that cannot be opened."""
    opened = []
    failed = []
    for position, (name, run) in enumerate(runs, 1):
        try:
            opened += open_all([(name, run)], judged, options, first=position)
        except GradevalError as error:
            failed.append(FailedRun(path_of(run, name or f"run{position}"), error))
    return opened, failed


def _columns(qrels: Qrels, number: Floats) -> Columns:
    """The judgments as rows with these numbers."""
    rows = np.arange(len(number))
    return Columns(qrels.queries, qrels.offsets, qrels.documents, number, rows, lines=len(rows))

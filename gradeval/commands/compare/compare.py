"""Is B better than A? Runs compared by their values for the same queries.

compare               qrels, runs and metrics -> Comparison
evaluate_to_compare   qrels and runs, saved results among them -> the results to compare
compare_results       results -> Comparison
compare_values        values for the same queries, from anywhere -> Comparison, with all numbers printed
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, product
from typing import TYPE_CHECKING, Any

import numpy as np

from gradeval.arrays.threads import default_jobs
from gradeval.commands.compare.result import (
    POWER,
    Change,
    ComparedMetric,
    Comparison,
    Judged,
    PairComparison,
    Power,
    QueryValues,
    Section,
    comparable,
    comparable_metrics,
    is_judged,
    judged_spec,
    lowest,
    without_judged,
)
from gradeval.compare_options import COMPARED, MAXT, TUKEY, CompareOptions, split_options
from gradeval.errors import InputError, first_names
from gradeval.evaluation import evaluate_all, with_saved
from gradeval.evaluation.outcome import no_common_query
from gradeval.evaluation.results import Results
from gradeval.evaluation.runs import Runs, separate_runs
from gradeval.evaluation.saved import common_metrics
from gradeval.notices import ENOUGH_QUERIES, MAX_QUERIES, Kind, Notice
from gradeval.options import COMPARED_METRICS, Options, takes, weighted_error
from gradeval.registry.spec import Metrics, Spec, parse
from gradeval.render.document import warned
from gradeval.statistics.anova import randomized_tukey_hsd, two_way_anova
from gradeval.statistics.corrections import CORRECTIONS, maxt
from gradeval.statistics.intervals import agreeing
from gradeval.statistics.power import queries_needed, smallest_effect_size
from gradeval.statistics.sampling import Sampling
from gradeval.statistics.tests import NO_P as NO_P_BY_DESIGN
from gradeval.statistics.tests import Outcome, Summary, paired_tests, summarize, valid_pairs, without_p

if TYPE_CHECKING:
    from gradeval.keywords import Compare, Unpack

Pairs = tuple[tuple[int, int], ...]
"""(baseline, run) of each comparison, as positions."""


@takes(COMPARED, refused=("query_weights",))
def compare(qrels: Any, runs: Any, metrics: Metrics | None = None, **options: Unpack[Compare]) -> Comparison:
    """Compare runs with a baseline, or all with each other.

    qrels, runs: as evaluate() takes them; a run may also be a file of saved results (gradeval -f json -q).
    metrics: names; by default those that all saved results have, or else nDCG@10 and AP.

    options: those listed below. Raises GradevalError.
    """
    if "query_weights" in options:
        raise weighted_error("tests")
    how, evaluation = split_options(options)
    results, compared = evaluate_to_compare(qrels, separate_runs(runs), metrics, evaluation)
    for failed in results.failed:
        raise failed.error
    return warned(compare_results(results, compared, how))


def evaluate_to_compare(
    qrels: Any,
    runs: Runs,
    metrics: Metrics | None,
    options: Options,
    *,
    why: str = "so runs cannot be compared by it",
    more: Sequence[Spec] = (),
    **how: Any,
) -> tuple[Results, list[Spec]]:
    """The runs' results, with the metrics to compare and Judged@k; and which metrics to compare.

    metrics: None for those that all saved results have, or else the default ones. why: a metric without a value
    for each query is an error. more: evaluated too. how: of evaluate_all.
    """
    specs: list[Spec] = []
    left_out: Sequence[Notice] = ()
    if metrics is not None:
        specs, left_out = comparable_metrics(metrics, why)
    qrels, opened = with_saved(qrels, runs)
    if not specs:
        specs, left_out = common_metrics(opened, is_judged)
        specs = without_judged(comparable(specs or parse(COMPARED_METRICS)))
    judged = [] if options.judged_only else [judged_spec(specs, opened)]
    optional = [*(spec for spec in more if spec not in judged), *judged]
    results = evaluate_all(qrels, opened, specs, options, optional=optional, **how)
    return results.replace(notices=(*results.notices, *left_out)), specs


def compare_results(results: Results, specs: Sequence[Spec] | None, options: CompareOptions) -> Comparison:
    """Compare the runs of results by these metrics, by default by all that have a number for each query, but
    Judged@k.
    """
    results.check_unweighted("tests and the means beside them")
    if specs is None:
        specs = without_judged(comparable(results.specs))
    elif specs:
        comparable_metrics(list(map(str, specs)))
    values = QueryValues.of(results, specs)
    has_value = [~np.isnan(of_run).all(axis=0) for of_run in values.values]
    for baseline, run in pairs_of(values, options):
        first, second = has_value[baseline], has_value[run]
        if first.any() and second.any() and not (first & second).any():
            other, ids = ([values.queries[q] for q in np.flatnonzero(of_run)] for of_run in (first, second))
            hint = "Check the query ids, or average over --queries judged"
            raise no_common_query(values.paths[run], values.runs[baseline], ids, other, hint)
    return compare_values(
        values,
        options,
        notices_of(results, values),
        judged=Judged.of(results),
        inputs={"qrels": results.judged_by, "options": dict(results.options)},
    )


def notices_of(results: Results, values: QueryValues) -> list[Notice]:
    names = {"", *(column.name for column in values.metrics)}
    return [notice for notice in results.notices if notice.metric in names or notice.kind is Kind.JUDGED_SHARE]


def compare_values(
    values: QueryValues,
    options: CompareOptions,
    notices: Sequence[Notice] = (),
    *,
    judged: Judged | None = None,
    inputs: Mapping[str, Any] | None = None,
    sections: tuple[Section, ...] = (),
) -> Comparison:
    """Compare runs by their values. notices: what is known of these already. sections: the comparisons, where
    they are made elsewhere. Raises GradevalError.
    """
    if options.sort is not None:  # undefined means are last, and the baseline is the run that it was
        m = values.metric(options.sort.removeprefix("-"))
        is_descending = (values.metrics[m].higher_is_better is not False) != options.sort.startswith("-")
        means = values.means[:, m]
        order = np.argsort(-means if is_descending else means, kind="stable").tolist()
        if not options.all_pairs:
            baseline = values.run(0 if options.baseline is None else options.baseline)
            options = options.replace(baseline=order.index(baseline))
        if judged is not None:
            judged = replace(judged, means=judged.means[order])
        runs, paths = (tuple(names[r] for r in order) for names in (values.runs, values.paths))
        values = replace(values, runs=runs, paths=paths, values=values.values[order])
    pairs = pairs_of(values, options)
    parts, of_groups = _parts(values, options)
    for group, part in () if sections else parts:
        ordered, counted = part.select(part.by_id), int((~np.isnan(part.values)).any(axis=(0, 1)).sum())
        anova = map(two_way_anova, ordered.values.transpose(1, 2, 0) if options.anova else ())
        compared = tuple(_compared(ordered, pairs, options))
        sections = (*sections, Section(group, counted, part.means, compared, tuple(anova)))
    changes = tuple(change for group, part in parts for change in _changes(group, part, pairs, options))
    notices = [*notices]
    whole, *groups = (min(pair.n for pair in section.comparisons) for section in sections)
    if whole < ENOUGH_QUERIES:
        notices.append(Notice(Kind.FEW_QUERIES, "", whole))
    if small := [part.group for part, n in zip(sections[1:], groups, strict=True) if n < ENOUGH_QUERIES]:
        rule = first_names(map(str, small), MAX_QUERIES)
        notices.append(Notice(Kind.SMALL_GROUPS, "", len(small), rule=rule))
    all_pairs = [pair for section in sections for pair in section.comparisons]
    without = [pair.reason for pair in all_pairs if math.isnan(pair.p) and math.isnan(pair.p_corrected)]
    for reason, count in Counter(without).items():
        if reason != NO_P_BY_DESIGN:
            notices.append(Notice(Kind.NO_P, "", count, rule=reason))
    notices += [*of_groups, *(() if judged is None else judged.notices(values.runs))]
    if judged is not None and (not judged.differs or judged.name in [column.name for column in values.metrics]):
        judged = None
    return Comparison(values, pairs, options, sections, changes, judged, tuple(notices), inputs or {})


def pairs_of(values: QueryValues, options: CompareOptions) -> Pairs:
    """Raises GradevalError where there is no pair."""
    count = len(values.runs)
    if count < 2:
        raise InputError("runs", f"there is {count or 'no'} run", hint="Give two runs or more")
    if options.all_pairs:
        return tuple(combinations(range(count), 2))
    baseline = values.run(0 if options.baseline is None else options.baseline)
    return tuple((baseline, run) for run in range(count) if run != baseline)


def _parts(
    values: QueryValues, options: CompareOptions
) -> tuple[list[tuple[str | None, QueryValues]], list[Notice]]:
    """All queries, then those of each group; and what should be known of the groups."""
    parts: list[tuple[str | None, QueryValues]] = [(None, values)]
    if not options.by:
        return parts, []
    position = {query: q for q, query in enumerate(values.queries)}
    grouped = np.zeros(len(position), np.bool_)
    for group, queries in options.by:
        chosen = np.zeros(len(position), np.bool_)
        chosen[[position[query] for query in queries if query in position]] = True
        grouped |= chosen
        if chosen.any():
            parts.append((group, values.select(chosen)))
    if len(parts) == 1:
        raise InputError("groups", "none of their queries is among those compared", hint="Check the query ids")
    counted = ~np.isnan(values.values).all(axis=(0, 1))
    ungrouped = [values.queries[q] for q in np.flatnonzero(counted & ~grouped).tolist()]
    unknown = list(dict.fromkeys(query for _, ids in options.by for query in ids if query not in position))
    kinds = ((Kind.UNGROUPED, ungrouped), (Kind.UNKNOWN_GROUPED, unknown))
    return parts, [Notice(kind, "", len(ids), queries=tuple(ids[:MAX_QUERIES])) for kind, ids in kinds if ids]


def _compared(values: QueryValues, pairs: Pairs, options: CompareOptions) -> Iterator[PairComparison]:
    """The comparisons by pair, then by metric. values: with the queries in order of their ids."""
    sampling = Sampling(options.samples, options.seed, options.jobs or default_jobs())
    if options.test == TUKEY:  # metric by metric, for the queries where all runs have a value
        incomplete = np.isnan(values.values).any(axis=0)
        values = replace(values, values=np.where(incomplete, np.nan, values.values))
    keys = list(product(pairs, range(len(values.metrics))))
    differences = np.concatenate([values.differences(*pair) for pair in pairs])
    if options.test == TUKEY:
        of_metrics = [
            randomized_tukey_hsd(of_metric.T, options.alpha, sampling)
            for of_metric in values.values.transpose(1, 0, 2)
        ]
        outcomes, corrected = [], []
        for ((baseline, run), m), column in zip(keys, differences, strict=True):
            hsd, outcome, p = of_metrics[m], without_p(valid_pairs(column)), math.nan
            if outcome is None:
                difference, p = float(hsd.differences[run, baseline]), float(hsd.p[run, baseline])
                interval = difference - hsd.margin, difference + hsd.margin
                low, high = agreeing(interval, p, options.alpha, difference)
                outcome = Outcome(math.nan, low, high, difference, hsd.method)
            outcomes.append(outcome)
            corrected.append(p)
    else:
        outcomes = paired_tests(options.test, differences.T, options.alpha, sampling)
        if options.used_correction == MAXT:
            corrected = maxt(differences.T, sampling).tolist()
        else:
            p_values = np.array([outcome.p for outcome in outcomes])
            corrected = CORRECTIONS[options.used_correction](p_values).tolist()
    for (pair, m), column, outcome, p in zip(keys, differences, outcomes, corrected, strict=True):
        paired = [values.values[r, m, ~np.isnan(column)].tolist() for r in pair]
        means = [math.fsum(of_run) / len(of_run) if of_run else math.nan for of_run in paired]
        baseline_name, name = (values.runs[r] for r in pair)
        metric, summary = values.metrics[m], summarize(column)
        yield pair_comparison(name, baseline_name, metric, means, summary, outcome, p, options)


def pair_comparison(
    run: str,
    baseline: str,
    column: ComparedMetric,
    means: Sequence[float],
    summary: Summary,
    outcome: Outcome,
    p_corrected: float,
    options: CompareOptions,
) -> PairComparison:
    """The outcome of a test of a run. means: of the baseline and of the run. summary: of the differences."""
    # significant where the corrected p is below alpha; of the bootstrap, where the interval leaves out 0
    if options.test == "bootstrap":
        significant = not outcome.low <= 0 <= outcome.high and outcome.low < outcome.high
    else:
        significant = p_corrected < options.alpha
    gain = column.sign * outcome.estimate if significant else 0.0
    power = None
    if options.power:
        has_p = not math.isnan(summary.effect_size)
        smallest = smallest_effect_size(summary.n, options.alpha, POWER) * summary.sd if has_p else math.nan
        power = Power(smallest, queries_needed(summary.effect_size, options.alpha, POWER))
    won, lost = (summary.wins, summary.losses)[:: column.sign]
    return PairComparison(
        run=run,
        baseline=baseline,
        metric=column.name,
        n=summary.n,
        baseline_mean=means[0],
        mean=means[1],
        difference=summary.mean,
        sd=summary.sd,
        p_corrected=p_corrected,
        effect_size=summary.effect_size,
        won=won,
        tied=summary.ties,
        lost=lost,
        verdict="better" if gain > 0 else "worse" if gain < 0 else "",
        power=power,
        **vars(outcome),
    )


def _changes(group: str | None, values: QueryValues, pairs: Pairs, options: CompareOptions) -> Iterator[Change]:
    if not options.worst and not options.best:
        return
    by_id, kinds = values.by_id, {"worst": (options.worst, 1), "best": (options.best, -1)}
    for baseline, run in pairs:
        names, differences = (values.runs[run], values.runs[baseline]), values.differences(baseline, run)
        for m, column in enumerate(values.metrics):
            for kind, (count, direction) in kinds.items():
                gains = direction * column.sign * differences[m]
                for rank, q in enumerate((q for q in lowest(gains, by_id, count) if gains[q] < 0), 1):
                    old, new = values.values[[baseline, run], m, q].tolist()
                    query, difference = values.queries[q], float(differences[m, q])
                    yield Change(kind, *names, column.name, rank, query, old, new, difference, group)

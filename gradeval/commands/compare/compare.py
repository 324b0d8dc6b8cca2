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
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from gradeval.arrays import Floats
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
    Verdict,
    check_comparable,
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
from gradeval.statistics.tests import Outcome, Summary, paired_tests, summarize, without_p

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
    specs, left_out = (None, ()) if metrics is None else comparable_metrics(metrics, why)
    qrels, opened = with_saved(qrels, runs)
    if not specs:
        specs, excluded = common_metrics(opened, is_judged)
        specs, left_out = without_judged(comparable(specs or parse(COMPARED_METRICS))), tuple(excluded)
    compared = comparable(specs)
    judged = [] if options.judged_only else [judged_spec(compared, opened)]
    optional = [*(spec for spec in more if spec not in judged), *judged]
    results = evaluate_all(qrels, opened, compared, options, optional=optional, **how)
    return results.replace(notices=(*results.notices, *left_out)), compared


def compare_results(results: Results, specs: Sequence[Spec] | None, options: CompareOptions) -> Comparison:
    """Compare the runs of results by these metrics, by default by all that have a number for each query, but
    Judged@k.
    """
    results.check_unweighted("tests and the means beside them")
    if specs is None:
        specs = without_judged(comparable(results.specs))
    check_comparable(specs)
    values = QueryValues.of(results, specs)
    has_value = [~np.isnan(of_run).all(axis=0) for of_run in values.values]
    for baseline, run in pairs_of(values, options):
        first, second = has_value[baseline], has_value[run]
        if first.any() and second.any() and not (first & second).any():
            other, ids = ([values.queries[q] for q in np.flatnonzero(of_run)] for of_run in (first, second))
            hint = "Check the query ids, or average over --queries judged"
            raise no_common_query(values.paths[run], values.runs[baseline], ids, other, hint)
    inputs = {"qrels": results.judged_by, "options": dict(results.options)}
    notices = notices_of(results, values)
    return compare_values(values, options, notices, judged=Judged.of(results), inputs=inputs)


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
    if options.sort is not None:
        values, options, judged = _sorted(values, options, judged)
    pairs = pairs_of(values, options)
    parts, of_groups = _parts(values, options)
    sections = sections or tuple(_section(group, part, pairs, options) for group, part in parts)
    changes = tuple(change for group, part in parts for change in _changes(group, part, pairs, options))
    of_judged = [] if judged is None else judged.notices(values.runs)
    notices = (*notices, *_notices_of_sections(sections), *of_groups, *of_judged)
    names = [column.name for column in values.metrics]
    shown = judged if judged is not None and judged.differs and judged.name not in names else None
    return Comparison(values, pairs, options, sections, changes, shown, notices, inputs or {})


def pairs_of(values: QueryValues, options: CompareOptions) -> Pairs:
    """Raises GradevalError where there is no pair."""
    count = len(values.runs)
    if count < 2:
        raise InputError("runs", f"there is {count or 'no'} run", hint="Give two runs or more")
    if options.all_pairs:
        return tuple(combinations(range(count), 2))
    baseline = values.run(0 if options.baseline is None else options.baseline)
    return tuple((baseline, run) for run in range(count) if run != baseline)


def _sorted(
    values: QueryValues, options: CompareOptions, judged: Judged | None
) -> tuple[QueryValues, CompareOptions, Judged | None]:
    """The runs in the order of options.sort, undefined means last; the baseline is the run that it was."""
    name = str(options.sort)
    m = values.metric(name.removeprefix("-"))
    is_descending = (values.metrics[m].higher_is_better is not False) != name.startswith("-")
    means = values.means[:, m]
    order = np.argsort(-means if is_descending else means, kind="stable")
    if not options.all_pairs:
        baseline = values.run(0 if options.baseline is None else options.baseline)
        options = options.replace(baseline=order.tolist().index(baseline))
    if judged is not None:
        judged = replace(judged, means=judged.means[order])
    return values.of_runs(order), options, judged


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
    unknown = dict.fromkeys(query for _, queries in options.by for query in queries if query not in position)
    kinds = {Kind.UNGROUPED: ungrouped, Kind.UNKNOWN_GROUPED: list(unknown)}
    return parts, [
        Notice(kind, "", len(ids), queries=tuple(ids[:MAX_QUERIES])) for kind, ids in kinds.items() if ids
    ]


def _section(group: str | None, values: QueryValues, pairs: Pairs, options: CompareOptions) -> Section:
    ordered = values.select(values.by_id)
    sampling = Sampling(options.samples, options.seed, options.jobs or default_jobs())
    tested = _tukey if options.test == TUKEY else _by_pairs
    of_metrics = [ordered.values[:, m].T for m in range(len(values.metrics))] if options.anova else []
    counted = int((~np.isnan(values.values)).any(axis=(0, 1)).sum())
    comparisons = tuple(tested(ordered, pairs, options, sampling))
    return Section(group, counted, values.means, comparisons, tuple(map(two_way_anova, of_metrics)))


def _by_pairs(
    values: QueryValues, pairs: Pairs, options: CompareOptions, sampling: Sampling
) -> Iterator[PairComparison]:
    differences = np.concatenate([values.differences(*pair) for pair in pairs]).T
    outcomes = paired_tests(options.test, differences, options.alpha, sampling)
    if options.used_correction == MAXT:
        p = maxt(differences, sampling)
    else:
        p = CORRECTIONS[options.used_correction](np.array([outcome.p for outcome in outcomes]))
    keys = ((pair, m) for pair in pairs for m in range(len(values.metrics)))
    for (pair, m), column, outcome, p_corrected in zip(keys, differences.T, outcomes, p.tolist(), strict=True):
        yield _of_pair(values, pair, m, column, outcome, p_corrected, options)


def _tukey(
    values: QueryValues, pairs: Pairs, options: CompareOptions, sampling: Sampling
) -> Iterator[PairComparison]:
    """The comparisons by Tukey's test, metric by metric, for the queries where all runs have a value."""
    tests = []
    for m in range(len(values.metrics)):
        of_metric = values.values[:, m].T
        part = values.select(~np.isnan(of_metric).any(axis=1))
        tests.append((part, randomized_tukey_hsd(of_metric, options.alpha, sampling)))
    for baseline, run in pairs:
        for m, (part, hsd) in enumerate(tests):
            column = part.differences(baseline, run)[m]
            outcome, p = without_p(column), math.nan
            if outcome is None:
                difference, p = float(hsd.differences[run, baseline]), float(hsd.p[run, baseline])
                interval = difference - hsd.margin, difference + hsd.margin
                low, high = agreeing(interval, p, options.alpha, difference)
                outcome = Outcome(math.nan, low, high, difference, hsd.method)
            yield _of_pair(part, (baseline, run), m, column, outcome, p, options)


def _of_pair(
    values: QueryValues,
    pair: tuple[int, int],
    m: int,
    differences: Floats,
    outcome: Outcome,
    p_corrected: float,
    options: CompareOptions,
) -> PairComparison:
    paired = values.values[:, m, ~np.isnan(differences)].tolist()
    means = [math.fsum(paired[r]) / len(paired[r]) if paired[r] else math.nan for r in pair]
    baseline, run = (values.runs[r] for r in pair)
    summary = summarize(differences)
    return pair_comparison(run, baseline, values.metrics[m], means, summary, outcome, p_corrected, options)


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
    verdict: Verdict = ""
    if significant and outcome.estimate:
        verdict = "better" if (outcome.estimate > 0) == (column.sign > 0) else "worse"
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
        verdict=verdict,
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


def _notices_of_sections(sections: Sequence[Section]) -> Iterator[Notice]:
    whole, *groups = sections
    fewest = min(pair.n for pair in whole.comparisons)
    if fewest < ENOUGH_QUERIES:
        yield Notice(Kind.FEW_QUERIES, "", fewest)
    if small := [str(of.group) for of in groups if min(pair.n for pair in of.comparisons) < ENOUGH_QUERIES]:
        yield Notice(Kind.SMALL_GROUPS, "", len(small), rule=first_names(small, MAX_QUERIES))
    pairs = [pair for section in sections for pair in section.comparisons]
    without = [pair.reason for pair in pairs if math.isnan(pair.p) and math.isnan(pair.p_corrected)]
    for reason, count in Counter(without).items():
        if reason != NO_P_BY_DESIGN:
            yield Notice(Kind.NO_P, "", count, rule=reason)

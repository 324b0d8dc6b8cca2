"""Studies of metrics: the experiments of the papers that gradeval's metrics come from, on any data."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress, product
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from gradeval.arrays import Floats, Ints
from gradeval.arrays.threads import default_jobs, map_all, ordered_map, with_fewer
from gradeval.commands.study.agreement import agreement as agreement
from gradeval.commands.study.options import (
    CRITERIA_METRICS,
    LEVELS_METRICS,
    RANDOM,
    SWAPS_METRICS,
    DivergenceOptions,
    SwapsOptions,
    refuse,
)
from gradeval.commands.study.reuse import reuse as reuse
from gradeval.commands.study.tables import (
    Row,
    Study,
    StudyTable,
    averaged_metrics,
    fields_of,
    full_rankings,
    shares,
    spaced,
)
from gradeval.errors import MetricError, OptionError
from gradeval.evaluation.evaluation import OnErrors, accepted, check_errors, evaluate_all
from gradeval.evaluation.plan import Plan
from gradeval.evaluation.results import Results
from gradeval.evaluation.runs import separate_runs
from gradeval.evaluation.score import score
from gradeval.notices import NoticeKind
from gradeval.options import OF_RUNS, PROCESS, Options, takes, whole
from gradeval.records import grouped
from gradeval.registry.spec import Metrics, Spec, parse
from gradeval.render.printable import warned
from gradeval.statistics.agreement import levels_of, rank_correlation
from gradeval.statistics.tests import paired_differences
from gradeval.tables.qrels import SHARE

if TYPE_CHECKING:
    from gradeval.keywords import Divergence, Runs, SwapsKeywords, Unpack

USES = ("even", "uneven")
MAX_ROWS = 10**7  # of one repeat, whose rankings are held at once
_DRAWS = 1000  # of the noise
_SHOWN = 5  # steps of swaps, or thresholds, that an overview has
LISTS: Final = (
    (9, 4, 4, 2, 2, 2, 1, 1, 1, 1),
    (9, 4, 4, 2, 2, 1, 2, 1, 1, 1),
    (4, 4, 2, 9, 2, 2, 1, 1, 1, 1),
    (1, 4, 4, 2, 2, 2, 9, 1, 1, 1),
    (1, 4, 4, 2, 2, 2, 1, 1, 1, 9),
    (1, 1, 1, 1, 2, 2, 2, 4, 4, 9),
)
"""Katerenchuk and Rosenberg's lists: the score that a system predicts for each document, in descending order of
the documents' grades. The first is the reference: these are the grades; the last is its reverse."""
RANKINGS: Final = (
    (1, 2, 3, 4, 5, 6, 7, 8, 9, 10),
    (1, 2, 3, 4, 5, 7, 6, 8, 9, 10),
    (4, 1, 2, 3, 5, 6, 7, 8, 9, 10),
    (7, 2, 3, 4, 5, 6, 1, 8, 9, 10),
    (10, 2, 3, 4, 5, 6, 7, 8, 9, 1),
    (10, 9, 8, 7, 6, 5, 4, 3, 2, 1),
)
"""The documents by rank, from 1 for the first of the reference. The lists leave the order of tied documents
open; these are the orders by which the paper's nDCG was computed."""
EQUAL = 1e-9  # values that differ by no more are equal: rounding meets and misses no criterion
CRITERIA = ("ties", "skew", "emphasis", "range")
QUARTILES = ("min", "q1", "median", "q3", "max")
MAX_SCORES = 10**7


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Swaps(Study):
    """The curves as arrays too, since they are drawn: (2, L, M, K + 1), by USES, level count, metric, swaps."""

    mean: Floats  # over the repeats
    sd: Floats  # NaN for one repeat
    count: Ints  # the repeats whose value is defined


@takes(SwapsOptions.table)
def swaps(
    metrics: Metrics = SWAPS_METRICS,
    *,
    progress: Callable[[int, int], None] | None = None,
    **options: Unpack[SwapsKeywords],
) -> Swaps:
    """How metrics fall as pairs of documents of an ideal ranking are swapped.

        >>> gradeval.study.swaps("nDCG rankDCG", levels=[3, 5]).table("distances").to_pandas()

    The documents have the grades 0 … L - 1 for each number of levels L, evenly used (level sizes differ by 1 at
    most), or unevenly: the probabilities of the levels are drawn from a flat Dirichlet distribution, each
    document's level from these, again for each repeat, until two levels are used. In each repeat random pairs
    of ranks are swapped one after the other, the same for all level counts, so that their curves differ by the
    grades alone. The paper does not say which grades its levels have; a metric that depends on the lowest one,
    as muAP does, has other values with 1 … L.

    The largest of many distances is above 0 even where the curves are equal but for chance: one above the noise
    beside it, that of such a maximum, shows that the metric depends on the levels.

    metrics: names. progress: is called with the repeats done and their number. Raises MetricError, OptionError.
    Source: Scheel, Lommatzsch, Albayrak, "Performance Measures for Multi-Graded Relevance", 2011, figures 4, 5.
    """
    specs = averaged_metrics(metrics)
    study_options = SwapsOptions(**options)
    items = study_options.items
    repeats = study_options.repeats
    steps = study_options.swaps
    seed = study_options.seed
    counts = tuple(dict.fromkeys(whole("levels", count, 2, items) for count in study_options.levels))
    if not counts:
        raise OptionError("levels: no number of levels given", "levels")
    if items * (steps + 1) > MAX_ROWS:
        product = f"at most {MAX_ROWS}, not {items} times {steps}"
        raise OptionError(f"items times swaps must be {product}", "items", "swaps")

    def values_of(part: slice) -> Floats:
        """(2, L, M, repeats of the part, steps + 1)."""
        in_part = range(part.start, part.stop)
        order = np.array([_swapped(items, steps, seed, repeat) for repeat in in_part])
        values = np.empty((len(USES), len(counts), len(specs), len(in_part), steps + 1))
        for i, count in enumerate(counts):
            scale = np.arange(float(count))
            even = np.broadcast_to(np.arange(items)[::-1] * count // items, (len(in_part), items))
            uneven = np.array([_uneven(items, count, seed, repeat) for repeat in in_part])
            for u, ideal in enumerate((even, uneven)):
                grade = np.take_along_axis(ideal[:, None, :], order, axis=2)
                of_use = score(full_rankings(grade.reshape(-1, items), scale), specs)
                values[u, i] = of_use.reshape(len(specs), len(in_part), steps + 1)
        return values

    def all_values(jobs: int) -> list[Floats]:
        parts = list(shares(repeats, items * (steps + 1)))
        done = []
        for part, values in zip(parts, ordered_map(values_of, parts, jobs), strict=True):
            done.append(values)
            if progress is not None:
                progress(part.stop, repeats)
        return done

    values = np.concatenate(with_fewer(all_values, study_options.jobs or default_jobs()), axis=3)
    averages = _averages(values, axis=3)
    tables = _tables_of_swaps(specs, counts, values, averages, seed)
    sizes = {"items": items, "repeats": repeats, "swaps": steps, "seed": seed}
    return Swaps(
        name="swaps",
        options={"metrics": [str(spec) for spec in specs], "levels": list(counts), **sizes},
        mean=averages.mean,
        sd=averages.sd,
        count=averages.size,
        tables=tables,
        finding=_finding_of_swaps(tables[0].rows) if len(counts) > 1 else "",
    )


def _finding_of_swaps(distances: Sequence[Row]) -> str:
    depends: dict[str, bool] = {}
    for _, metric, distance, noise, *_ in distances:
        is_above = float(distance or 0) > float(noise or 0)
        depends[str(metric)] = depends.get(str(metric), False) or is_above
    above, within = (", ".join(name for name in depends if depends[name] is value) for value in (True, False))
    parts = [f"The distance is above the noise, so the number of levels matters, for {above}"] if above else []
    parts += [f"{'it' if above else 'The distance'} is within the noise for {within}"] if within else []
    return "; ".join(parts) + "."


def _tables_of_swaps(
    specs: Sequence[Spec], levels: Sequence[int], values: Floats, averages: _Averages, seed: int
) -> tuple[StudyTable, ...]:
    shown = spaced(averages.mean.shape[-1], _SHOWN)
    distances, overview, curves = [], [], []
    for (u, use), (m, spec) in product(enumerate(USES), enumerate(specs)):
        means = averages.mean[u, :, m]
        apart = np.ptp(means, axis=0)
        at = int(np.argmax(apart))  # so many swaps
        extremes = levels[int(means[:, at].argmin())], levels[int(means[:, at].argmax())]
        distances.append((use, str(spec), float(apart[at]), _noise(values[u, :, m], seed), at, *extremes, seed))
        for i, level in enumerate(levels):
            label = (use, str(spec), level)
            of_steps = means[i].tolist()
            overview.append((*label, *(of_steps[k] for k in shown)))
            pairs = zip(of_steps, averages.sd[u, i, m].tolist(), strict=True)
            curves += [(*label, k, *pair, seed) for k, pair in enumerate(pairs)]
    apart_by = "Largest distance between the curves of different level counts, and its noise (95 % of chance)"
    where = ("use", "metric", "distance", "noise", "swaps", "levels_low", "levels_high", "seed")
    after = "Mean and standard deviation over the repeats after each number of swaps"
    several = len(levels) > 1
    head = ("use", "metric", "levels")
    return (
        StudyTable("distances", apart_by, where, distances, data=several, shown=several),
        StudyTable("overview", "Mean after so many swaps", (*head, *map(str, shown)), overview, data=False),
        StudyTable("curves", after, (*head, "swaps", "mean", "sd", "seed"), curves, shown=False),
    )


def _noise(values: Floats, seed: int) -> float:
    """The 95 % quantile of the largest distance of the mean curves if only chance separated them.

    values: (L, repeats, K + 1). A multiplier bootstrap: the deviations of the repeats from the means, with
    random weights that all curves share, as they share the swaps. Fewer repeats have heavier tails, as in t.
    Source: Chernozhukov, Chetverikov, Kato, "Gaussian approximations and multiplier bootstrap for maxima of
    sums of high-dimensional random vectors", Annals of Statistics 2013.
    """
    levels, repeats, steps = values.shape
    if repeats < 2 or levels < 2:
        return np.nan
    random = np.random.default_rng((seed, repeats, _DRAWS))
    largest = np.zeros(_DRAWS)
    part = max(1, SHARE // (_DRAWS * levels))
    weights = random.standard_normal((_DRAWS, repeats)) / np.sqrt(repeats * (repeats - 1))
    weights *= np.sqrt((repeats - 1) / random.chisquare(repeats - 1, (_DRAWS, 1)))
    for start in range(0, steps, part):
        some = values[:, :, start : start + part]
        off = np.nan_to_num(some - _averages(some, axis=1).mean[:, None])
        largest = np.maximum(largest, np.ptp(weights @ off, axis=0).max(axis=1))  # of (L, draws, part)
    return float(np.quantile(largest, 0.95))


class _Averages(NamedTuple):
    """Of what is not NaN."""

    mean: Floats
    sd: Floats  # with n - 1 in the denominator
    size: Ints  # n


def _averages(values: Floats, axis: int) -> _Averages:
    defined = ~np.isnan(values)
    count = defined.sum(axis=axis)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.where(defined, values, 0.0).sum(axis=axis) / count
        off = np.where(defined, values - np.expand_dims(mean, axis), 0.0)
        return _Averages(mean, np.sqrt((off * off).sum(axis=axis) / (count - 1)), count)


def _swapped(items: int, swaps: int, seed: int, repeat: int) -> Ints:
    """Which place of the ideal ranking stands at each rank after 0, 1, … swaps, (swaps + 1, items)."""
    random = np.random.default_rng((seed, repeat))
    first = random.integers(0, items, swaps)
    second = random.integers(0, items - 1, swaps)
    second += second >= first  # another rank than the first
    order = np.empty((swaps + 1, items), np.int64)
    order[0] = now = np.arange(items)
    for k, (a, b) in enumerate(zip(first.tolist(), second.tolist(), strict=True), 1):
        now[a], now[b] = now[b], now[a]
        order[k] = now
    return order


def _uneven(items: int, levels: int, seed: int, repeat: int) -> Ints:
    """The grades of the ideal ranking of this repeat, unevenly used, at least two of them, (items,)."""
    random = np.random.default_rng((seed, repeat, levels))
    while True:
        used = random.multinomial(items, random.dirichlet(np.ones(levels)))
        if np.count_nonzero(used) > 1:
            return np.repeat(np.arange(levels), used)[::-1]


@takes(OF_RUNS)
def levels(
    qrels: Any,
    runs: Any = None,
    metrics: Metrics = LEVELS_METRICS,
    *,
    errors: OnErrors = "raise",
    **options: Unpack[Runs],
) -> Study:
    """Average precision at every threshold, and metrics that combine the thresholds, of several runs.

        >>> print(gradeval.study.levels("qrels.txt", "bm25.run", "AP nDCG@10"))

    metrics: names. qrels, runs, options: as evaluate() takes them. The features of a LETOR file are runs with
    features=…, its own where no runs are given, and the virtual assessor with qrels_feature=…, which scores 1
    as a run; but AP at a threshold is 0 for a query without such a grade, unless no_relevant says otherwise.
    errors: as of evaluate().

    Raises InputError, MetricError, OptionError.
    Source: Scheel, Lommatzsch, Albayrak, "Performance Measures for Multi-Graded Relevance", 2011, figures 6-8.
    """
    specs = averaged_metrics(metrics, orders_systems=True)
    chosen = Options(**{**options, "by_level": True})
    check_errors(errors)
    separate = separate_runs(qrels if runs is None else runs)
    results = accepted(evaluate_all(Plan(specs, chosen), qrels, separate), errors)
    names = [run.name for run in results.runs]
    feature = f"feature{chosen.qrels_feature}"
    reference = {"reference": feature} if feature in names else {}
    # the virtual assessor, as a run, is the judgments: that was asked for
    of_assessor = NoticeKind.QRELS_AS_RUN, reference.get("reference")
    combined = results.means[:, [results.specs.index(spec) for spec in specs]]
    orders = {str(spec): _order(spec, combined[:, m], names) for m, spec in enumerate(specs)}
    notices = [notice for notice in results.notices if (notice.kind, notice.subject) != of_assessor]
    tables = (
        *_tables_of_levels(results, specs, combined),
        StudyTable("orders", "Runs from the best to the worst", ("metric", "order"), list(orders.items())),
    )
    finding = _orders_finding(orders) if len(names) > 1 else ""
    fields = fields_of("levels", results, specs, notices, **reference)
    return warned(Study(**fields, finding=finding, tables=tables))


def _tables_of_levels(
    results: Results, specs: Sequence[Spec], combined: Floats
) -> tuple[StudyTable, StudyTable]:
    """The values of all runs, and an overview of them. combined: the means by these metrics, (R, M)."""
    is_level = [spec.metric.name == "AP" and [*spec.params] == ["rel"] for spec in results.specs]
    thresholds = [spec.params["rel"] for spec in compress(results.specs, is_level)]
    count = len(thresholds)
    shown = spaced(count, _SHOWN)
    values, overview = [], []
    by_run = zip(results.runs, results.means[:, is_level].tolist(), combined.tolist(), strict=True)
    for run, precisions, means in by_run:
        values += [(run.name, "AP", *pair) for pair in zip(thresholds, precisions, strict=True)]
        values += [(run.name, str(spec), None, mean) for spec, mean in zip(specs, means, strict=True)]
        overview.append((run.name, *(precisions[t] for t in shown), *means))
    caption = "Mean of each run and metric"
    part = f", {len(shown)} of {count} thresholds" if len(shown) < count else ""
    title = f"AP with grades from the threshold up relevant, and metrics for grades{part}"
    columns = ("run", *(f"AP>={thresholds[t]:g}" for t in shown), *map(str, specs))
    return (
        StudyTable("values", caption, ("run", "metric", "threshold", "mean"), values, shown=False),
        StudyTable("overview", title, columns, overview, data=False),
    )


def _orders_finding(orders: Mapping[str, str]) -> str:
    """Which metrics order the runs alike. orders: of each metric."""
    alike = grouped((order, metric) for metric, order in orders.items())
    groups = "; ".join(map(", ".join, alike.values()))
    if len(alike) == 1:
        return f"The order of the runs is the same by {groups}."
    return f"The metrics order the runs in {len(alike)} ways: {groups}."


def _order(spec: Spec, means: Floats, runs: Sequence[str]) -> str:
    """The runs from the best to the worst; those with equal means together."""
    levels = levels_of(means * (1 if spec.metric.higher_is_better else -1)).tolist()
    equal = grouped(sorted(zip(levels, runs, strict=True), key=lambda pair: -pair[0]))
    return " > ".join(map(" = ".join, equal.values()))


def quartiles(values: Floats) -> list[float]:
    """The smallest value, the quartiles and the largest, NaN left out; quartiles by linear interpolation."""
    valid = values[~np.isnan(values)]
    if not len(valid):
        return [np.nan] * len(QUARTILES)
    numbers: list[float] = np.quantile(valid, np.linspace(0, 1, len(QUARTILES))).tolist()
    return numbers


@takes({**DivergenceOptions.table, **OF_RUNS})
def divergence(
    qrels: Any = None,
    runs: Any = None,
    metrics: Metrics | None = None,
    *,
    errors: OnErrors = "raise",
    **options: Unpack[Divergence],
) -> Study:
    """Where nDCG with grades made from places, and nDCGφ with gains from the gaps between scores, part.

        >>> print(gradeval.study.divergence("qrels.txt", "bm25.run", "nDCG@10 AP"))

    Without qrels, on random scores: balanced ones are uniform on [1, 1000]; of imbalanced ones 90 % are uniform
    on [1, 100] and 10 % on [100, 1000]. Two errors are made in the ideal ranking of each draw: the documents at
    ranks cutoff and cutoff + 1 are swapped, or the first `cutoff` ranks are reversed. Each metric after the
    first is compared with the first, which overestimates an error where it costs more by the first.

    qrels, runs: as evaluate() takes them. With these: the first of two metrics less the second, for each query.
    metrics: by default nDCG(gain=exp,top=10/25/50) and nDCGphi at the cutoff 10; at another one the
    places of grades are in proportion, top=5/13/25 at 5. errors: as of evaluate().

    Raises InputError, MetricError, OptionError.
    Source: Moniz, Torgo, Vinagre, "Data-driven relevance judgments for ranking evaluation", 2016, fig. 2 and 4.
    """
    chosen = Options.of(options)
    study_options = DivergenceOptions.of(options)
    k = study_options.cutoff
    # the paper's places of grades, in proportion, so that ranks k and k + 1 have different grades
    default = f"nDCG(gain=exp,top={k}/{(5 * k + 1) // 2}/{5 * k})@{k} nDCGphi@{k}"
    specs = averaged_metrics(default if metrics is None else metrics)
    if qrels is None:
        if runs is not None:
            raise OptionError("runs need qrels")
        refuse(chosen, Options.rows(without=(PROCESS,)), "requires qrels")
        return _synthetic(specs, study_options, chosen.jobs or default_jobs())
    refuse(
        study_options,
        DivergenceOptions.rows(within=RANDOM),
        "is for random scores, and goes without qrels",
    )
    if len(specs) != 2:
        hint = "for example 'nDCG@10 nDCGphi@10'"
        raise MetricError(f"the difference is of two metrics, not {len(specs)}", hint=hint)
    if metrics is not None:
        refuse(
            study_options, ("cutoff",), "is that of the default metrics, and metrics have theirs, as in nDCG@5"
        )
    check_errors(errors)
    separate = separate_runs(qrels if runs is None else runs)
    results = accepted(evaluate_all(Plan(specs, chosen), qrels, separate), errors)
    finding, tables = _differences(specs, results)
    fields = fields_of("divergence", results, specs, results.notices)
    return warned(Study(**fields, finding=finding, tables=tables))


def _differences(specs: Sequence[Spec], results: Results) -> tuple[str, tuple[StudyTable, StudyTable]]:
    """How often either metric is higher, and the tables."""
    first, second = map(str, specs)
    boxes, rows, of_runs = list[Row](), list[Row](), list[Floats]()
    for run in results.runs:
        base, other = run.values[:, run.counted]
        difference = paired_differences(other, base)
        is_defined = ~np.isnan(difference)
        defined = difference[is_defined]
        signs = [float(np.mean(sign * defined > 0)) if len(defined) else np.nan for sign in (1, -1)]
        rho = rank_correlation(base[is_defined], defined)
        boxes.append((run.name, len(defined), *quartiles(defined), *signs, rho))
        of_runs.append(defined)
        ids = (results.queries[q] for q in np.flatnonzero(run.counted).tolist())
        columns = (values.tolist() for values in (base, other, difference))
        rows += [(run.name, *row) for row in zip(ids, *columns, strict=True)]
    finding = ""
    if len(differences := np.concatenate(of_runs)):
        above, below = (f"{100 * np.mean(sign * differences > 0):.0f} %" for sign in (1, -1))
        which = f"for {above} of the values of queries and runs, lower for {below}"
        finding = f"{first} is higher than {second} {which}."
    title = f"{first} - {second} over the queries; rho: its rank correlation with {first}"
    by_run = ("run", "queries", *QUARTILES, "positive", "negative", "rho")
    by_query = ("run", "query", first, second, "difference")
    return finding, (
        StudyTable("differences", title, by_run, boxes),
        StudyTable("queries", "Values and difference of each query", by_query, rows, shown=False),
    )


def _random_scores(items: int, draws: int, seed: int) -> Iterator[tuple[str, Floats]]:
    """Each distribution of scores, and ideal rankings of it, (draws, items)."""
    high = round(items / 10)
    ranges = {"balanced": [(1, 1000, items)], "imbalanced": [(100, 1000, high), (1, 100, items - high)]}
    for d, distribution in enumerate(ranges):
        random = np.random.default_rng((seed, d))
        parts = [random.uniform(low, end, (draws, size)) for low, end, size in ranges[distribution]]
        yield distribution, -np.sort(-np.concatenate(parts, axis=1), axis=1)


def _values_in_order(ideal: Floats, order: list[int], specs: Sequence[Spec], jobs: int) -> Floats:
    """The values of rankings whose documents are in another order than in the ideal ones, (M, draws)."""

    def of_share(share: slice, jobs: int) -> Floats:
        return score(full_rankings(ideal[share][:, order]), specs)

    return np.concatenate(map_all(of_share, list(shares(*ideal.shape)), jobs), axis=1)


def _synthetic(specs: Sequence[Spec], options: DivergenceOptions, jobs: int) -> Study:
    """divergence() on random scores."""
    cutoff, draws, seed = options.cutoff, options.draws, options.seed
    items = whole("items", options.items, cutoff + 1, 10**6)
    if items * draws > MAX_SCORES:
        product = f"at most {MAX_SCORES}, not {items} times {draws}"
        raise OptionError(f"items times draws must be {product}", "items", "draws")
    orders = {
        "swap": [*range(cutoff - 1), cutoff, cutoff - 1, *range(cutoff + 1, items)],
        "reverse": [*range(cutoff - 1, -1, -1), *range(cutoff, items)],
    }
    boxes, impacts, each_draw = list[Row](), list[Row](), list[Row]()
    over: dict[str, list[float]] = {scenario: [] for scenario in orders}  # shares of overestimates
    for distribution, ideal in _random_scores(items, draws, seed):
        for scenario, order in orders.items():
            values = _values_in_order(ideal, order, specs, jobs)
            for m, (spec, of_draws) in enumerate(zip(specs, values, strict=True)):
                labels = (distribution, scenario, str(spec))
                boxes.append((*labels, *quartiles(of_draws), seed))
                each_draw += [(*labels, draw, value, seed) for draw, value in enumerate(of_draws.tolist(), 1)]
                if m:
                    apart = paired_differences(values[0], of_draws)
                    above, below = (float(np.mean(sign * apart > 0)) for sign in (1, -1))
                    over[scenario].append(above)
                    impacts.append((*labels, above, below, seed))
    finding = ""
    if impacts:
        swap, reverse = (f"{100 * np.mean(of_scenario):.0f} %" for of_scenario in over.values())
        errors = f"the swap in {swap} and the reverse in {reverse}"
        finding = f"By {', '.join(map(str, specs[1:]))}, {specs[0]} overestimates {errors} of the draws."
    title = f"Share of draws in which {specs[0]} over- or underestimates the error, by each metric"
    labelled = ("distribution", "scenario", "metric")
    of_impacts = (*labelled, "overestimates", "underestimates", "seed")
    return Study(
        name="divergence",
        finding=finding,
        options={"metrics": list(map(str, specs)), **vars(options)},
        tables=(
            StudyTable("quartiles", "Values over the draws", (*labelled, *QUARTILES, "seed"), boxes),
            StudyTable("impact", title, of_impacts, impacts, shown=bool(impacts)),
            StudyTable(
                "draws", "Value of each draw", (*labelled, "draw", "value", "seed"), each_draw, shown=False
            ),
        ),
    )


@takes({})
def criteria(metrics: Metrics = CRITERIA_METRICS) -> Study:
    """Which of Katerenchuk and Rosenberg's four criteria metrics meet, by their six lists.

        >>> print(gradeval.study.criteria("nDCG rankDCG"))

    A list has the scores that a system predicts for ten documents, whose grades list 1 has. The criteria:
    ties: lists 4 and 5, which exchange the highest grade with different documents of the lowest, have the same
    value, below that of list 1; evidence: the difference between 4 and 5, expected 0. skew: the values fall
    with the error: list 1, 2, 3, then 4 and 5, then 6; evidence: the smallest fall, expected > 0. emphasis:
    misplacing the highest grade (list 3) costs more, relative to misplacing a low one (list 2), than by
    Kendall's tau, which counts pairs; evidence: the ratio of the two ratios, expected > 1. range: list 1 has
    the best value of the metric's range, list 6 the worst; evidence: the distance from the worst, expected 0.

    AP(rel=2) stands for the paper's AveP, the mean over the places of the share right so far, where a place is
    right with its own grade, and has other values; those of tau, nDCG and rankDCG are the paper's.

    metrics: names. Raises MetricError.
    Source: Katerenchuk and Rosenberg, "RankDCG: Rank-ordering evaluation measure", LREC 2016, table 1.
    """
    specs = averaged_metrics(metrics, orders_systems=True)
    order = np.array(RANKINGS) - 1
    scores = np.take_along_axis(np.array(LISTS, np.float64), order, axis=1)
    table = full_rankings(np.array(LISTS[0], np.float64)[order], score=scores)
    *values, tau = score(table, [*specs, *parse("tau")])
    # the costs of misplacing the highest grade (list 3), relative to misplacing a low one (list 2)
    pair_ratio = float((tau[0] - tau[2]) / (tau[0] - tau[1]))
    verdicts, by_metric, best = [], [], []
    for spec, of_lists in zip(specs, values, strict=True):
        all_met = []
        for criterion, (holds, number) in _evidence(spec, of_lists, pair_ratio).items():
            # undefined where values are, or the evidence is 0 / 0
            is_defined = not (np.isnan(of_lists).any() or math.isnan(number))
            all_met.append(holds if is_defined else None)
            verdicts.append((str(spec), criterion, all_met[-1], number if is_defined else math.nan))
        by_metric.append((str(spec), *("undefined" if met is None else met for met in all_met)))
        if all(all_met):
            best.append(str(spec))
    names = [str(spec) for spec in specs]
    values_of = zip(*(of_lists.tolist() for of_lists in values), strict=True)
    lists = [(n, " ".join(map(str, LISTS[n - 1])), *row) for n, row in enumerate(values_of, 1)]
    value_rows = [(n, text, *pair) for n, text, *row in lists for pair in zip(names, row, strict=True)]
    decided = ("metric", "criterion", "holds", "evidence")
    title = "Value of each list of predicted scores"
    criteria_title = "Whether the metric meets the criterion, and the number that decides"
    return Study(
        name="criteria",
        finding=f"All 4 criteria are met by {', '.join(best)}." if best else "No metric meets all 4 criteria.",
        options={"metrics": names},
        tables=(
            StudyTable("verdicts", criteria_title, decided, verdicts, shown=False),
            StudyTable("values", title, ("list", "scores", "metric", "value"), value_rows, shown=False),
            StudyTable("lists", title, ("list", "scores", *names), lists, data=False),
            StudyTable(
                "criteria", "Which criteria each metric meets", ("metric", *CRITERIA), by_metric, data=False
            ),
        ),
    )


def _evidence(spec: Spec, of_lists: Floats, pair_ratio: float) -> dict[str, tuple[bool, float]]:
    """Whether each criterion holds, and the number that decides. of_lists: the values of the six lists.
    pair_ratio: what misplacing the highest grade costs by Kendall's tau, relative to misplacing a low one.
    """
    sign = 1 if spec.metric.higher_is_better else -1
    low, high = spec.metric.range
    extremes = sign * (-math.inf if low is None else low), sign * (math.inf if high is None else high)
    first, second, third, fourth, fifth, sixth = (sign * of_lists).tolist()
    falls = first - second, second - third, third - max(fourth, fifth), min(fourth, fifth) - sixth
    emphasis = _cost_ratio(first - third, first - second) / pair_ratio
    from_worst = abs(sixth - min(extremes))
    return {
        "ties": (abs(fourth - fifth) <= EQUAL and first - fourth > EQUAL, abs(fourth - fifth)),
        "skew": (min(falls) > EQUAL, min(falls)),
        "emphasis": (emphasis > 1 + EQUAL, emphasis),
        "range": (from_worst <= EQUAL and abs(first - max(extremes)) <= EQUAL, from_worst),
    }


def _cost_ratio(high_cost: float, low_cost: float) -> float:
    """The ratio of two costs; NaN for 0 / 0, infinite where the other costs nothing."""
    if abs(high_cost) <= EQUAL:
        high_cost = 0.0
    if low_cost > EQUAL:
        return high_cost / low_cost
    return math.nan if high_cost == 0 else math.copysign(math.inf, high_cost)

"""How metrics fall as random pairs of an ideal ranking are swapped (Scheel et al. 2011, fig. 4 and 5)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from gradeval.arrays import Floats, Ints
from gradeval.arrays.threads import default_jobs, ordered_map, with_fewer
from gradeval.commands.study.options import SWAPS_METRICS, SwapsOptions
from gradeval.commands.study.tables import (
    Row,
    Study,
    Table,
    averaged_metrics,
    full_rankings,
    shares,
    spaced,
)
from gradeval.errors import OptionError
from gradeval.evaluation.score import score
from gradeval.options import takes, whole
from gradeval.registry.spec import Metrics, Spec
from gradeval.tables.qrels import SHARE

if TYPE_CHECKING:
    from gradeval.keywords import SwapsKeywords, Unpack

USES = ("even", "uneven")
MAX_ROWS = 10**7  # of one repeat, whose rankings are held at once
_DRAWS = 1000  # of the noise
_SHOWN = 5  # steps of swaps that the overview has


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Swaps(Study):
    """The curves, as arrays too, since they are drawn.

    specs: M metrics. levels: L level counts. mean, sd: over the repeats, (2, L, M, K + 1): for each of USES,
    level count and metric, after 0, 1, … K swaps; sd is NaN for one repeat. count: the repeats whose value is
    defined.
    """

    specs: tuple[Spec, ...]
    levels: tuple[int, ...]
    mean: Floats
    sd: Floats
    count: Ints


@takes(SwapsOptions.table)
def swaps(
    metrics: Metrics = SWAPS_METRICS,
    *,
    progress: Callable[[int, int], None] | None = None,
    **options: Unpack[SwapsKeywords],
) -> Swaps:
    """How metrics fall as pairs of documents of an ideal ranking are swapped.

    The documents have the grades 0 … L - 1 for each number of levels L, evenly used (level sizes differ by 1 at
    most), or unevenly: the probabilities of the levels are drawn from all distributions alike (a flat Dirichlet
    distribution), each document's level from these, again for each repeat, until two levels are used. In each
    repeat random pairs of ranks are swapped one after the other, and each metric is computed after each swap.
    The same ranks are swapped for all level counts, so that their curves differ by the grades alone. The paper
    does not say which grades its levels have; a metric that depends on the lowest one, as muAP does, has other
    values with 1 … L.

    The largest of many distances is above 0 even where the curves are equal but for chance, so each has the
    noise of such a maximum beside it: a distance above the noise shows that the metric depends on the levels.

    jobs: the digits do not depend on them. progress: is called with the repeats done and their number.
    Raises MetricError, OptionError.
    Source: Scheel, Lommatzsch, Albayrak, "Performance Measures for Multi-Graded Relevance", 2011, figures 4, 5.
    """
    specs = averaged_metrics(metrics)
    how = SwapsOptions(**options)
    items, repeats, steps, seed = how.items, how.repeats, how.swaps, how.seed
    counts = tuple(dict.fromkeys(whole("levels", count, 2, items) for count in how.levels))
    if not counts:
        raise OptionError("levels: no number of levels given")
    if items * (steps + 1) > MAX_ROWS:
        raise OptionError(f"items times swaps must be at most {MAX_ROWS}, not {items} times {steps}")

    def values_of(part: slice) -> Floats:
        """(2, L, M, repeats of the part, steps + 1)."""
        in_part = range(part.start, part.stop)
        order = np.array([_swapped(items, steps, seed, repeat) for repeat in in_part])
        values = np.empty((len(USES), len(counts), len(specs), len(in_part), steps + 1))
        for i, count in enumerate(counts):
            scale = np.arange(float(count))
            even = np.broadcast_to(_even(items, count), (len(in_part), items))
            uneven = np.array([_uneven(items, count, seed, repeat) for repeat in in_part])
            for u, ideal in enumerate((even, uneven)):
                grade = np.take_along_axis(ideal[:, None, :], order, axis=2)
                of_use = score(full_rankings(grade.reshape(-1, items), scale), specs)
                values[u, i] = of_use.reshape(len(specs), len(in_part), steps + 1)
        return values

    def all_values(jobs: int) -> list[Floats]:
        done = []
        for part in ordered_map(values_of, list(shares(repeats, items * (steps + 1))), jobs):
            done.append(part)
            if progress is not None:
                progress(sum(values.shape[3] for values in done), repeats)
        return done

    values = np.concatenate(with_fewer(all_values, how.jobs or default_jobs()), axis=3)
    mean, sd, count = _mean_sd_count(values, axis=3)
    tables = _tables(specs, counts, values, mean, sd, seed)
    sizes = {"items": items, "repeats": repeats, "swaps": steps, "seed": seed}
    return Swaps(
        name="swaps",
        options={"metrics": [str(spec) for spec in specs], "levels": list(counts), **sizes},
        specs=tuple(specs),
        levels=counts,
        mean=mean,
        sd=sd,
        count=count,
        tables=tables,
        finding=_finding(tables[0].rows) if len(counts) > 1 else "",
    )


def _finding(distances: Sequence[Row]) -> str:
    depends: dict[str, bool] = {}
    for _, metric, distance, noise, *_ in distances:
        is_above = isinstance(distance, float) and isinstance(noise, float) and distance > noise
        depends[str(metric)] = depends.get(str(metric), False) or is_above
    above, within = (", ".join(name for name in depends if depends[name] is value) for value in (True, False))
    parts = [f"The distance is above the noise, so the number of levels matters, for {above}"] if above else []
    parts += [f"{'it' if above else 'The distance'} is within the noise for {within}"] if within else []
    return "; ".join(parts) + "."


def _tables(
    specs: Sequence[Spec], levels: Sequence[int], values: Floats, mean: Floats, sd: Floats, seed: int
) -> tuple[Table, ...]:
    shown = spaced(mean.shape[-1], _SHOWN)
    distances: list[Row] = []
    overview: list[Row] = []
    curves: list[Row] = []
    for (u, use), (m, spec) in product(enumerate(USES), enumerate(specs)):
        means = mean[u, :, m]
        apart = np.ptp(means, axis=0)
        at = int(np.argmax(apart))  # so many swaps
        ends = levels[int(means[:, at].argmin())], levels[int(means[:, at].argmax())]
        noise = _noise(values[u, :, m], seed)
        distances.append((use, str(spec), float(apart[at]), noise, at, *ends, seed))
        for i, level in enumerate(levels):
            label, of_steps = (use, str(spec), level), means[i].tolist()
            overview.append((*label, *(of_steps[k] for k in shown)))
            pairs = zip(of_steps, sd[u, i, m].tolist(), strict=True)
            curves += [(*label, k, *pair, seed) for k, pair in enumerate(pairs)]
    apart_by = "Largest distance between the curves of different level counts, and its noise (95 % of chance)"
    where = ("use", "metric", "distance", "noise", "swaps", "levels_low", "levels_high", "seed")
    after = "Mean and standard deviation over the repeats after each number of swaps"
    several, head = len(levels) > 1, ("use", "metric", "levels")
    return (
        Table("distances", apart_by, where, distances, data=several, shown=several),
        Table("overview", "Mean after so many swaps", (*head, *map(str, shown)), overview, data=False),
        Table("curves", after, (*head, "swaps", "mean", "sd", "seed"), curves, shown=False),
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
        off = np.nan_to_num(some - _mean_sd_count(some, axis=1)[0][:, None])
        means = weights @ off  # (L, draws, part)
        largest = np.maximum(largest, np.ptp(means, axis=0).max(axis=1))
    return float(np.quantile(largest, 0.95))


def _mean_sd_count(values: Floats, axis: int) -> tuple[Floats, Floats, Ints]:
    """The mean and the standard deviation (n - 1 in the denominator) of what is not NaN, and its number n."""
    defined = ~np.isnan(values)
    count = defined.sum(axis=axis)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.where(defined, values, 0.0).sum(axis=axis) / count
        off = np.where(defined, values - np.expand_dims(mean, axis), 0.0)
        return mean, np.sqrt((off * off).sum(axis=axis) / (count - 1)), count


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


def _even(items: int, levels: int) -> Ints:
    """The grades of the ideal ranking, evenly used, (items,)."""
    return np.arange(items)[::-1] * levels // items


def _uneven(items: int, levels: int, seed: int, repeat: int) -> Ints:
    """The grades of the ideal ranking of this repeat, unevenly used, at least two of them, (items,)."""
    random = np.random.default_rng((seed, repeat, levels))
    while True:
        used = random.multinomial(items, random.dirichlet(np.ones(levels)))
        if np.count_nonzero(used) > 1:
            return np.repeat(np.arange(levels), used)[::-1]

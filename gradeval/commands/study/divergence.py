"""nDCG beside nDCGφ, whose gains follow the gaps between grades (Moniz et al. 2016, fig. 2 and 4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gradeval.arrays import Floats
from gradeval.arrays.threads import default_jobs, map_all
from gradeval.commands.study.options import RANDOM, DivergenceOptions, refuse
from gradeval.commands.study.tables import Row, Study, Table, averaged_metrics, full_rankings, shares
from gradeval.errors import MetricError, OptionError
from gradeval.evaluation.evaluator import complete, evaluate_all, separate_runs
from gradeval.evaluation.results import Results
from gradeval.evaluation.score import score
from gradeval.options import OF_RUNS, PROCESS, Options, takes, whole
from gradeval.registry.spec import Metrics, Spec
from gradeval.render.document import warned
from gradeval.statistics.agreement import rank_correlation
from gradeval.statistics.tests import paired_differences

if TYPE_CHECKING:
    from gradeval.keywords import Divergence, Unpack

METRICS = "nDCG(gain=exp,top={top})@{k} nDCGphi@{k}"
QUARTILES = ("min", "q1", "median", "q3", "max")
MAX_SCORES = 10**7


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
    **options: Unpack[Divergence],
) -> Study:
    """Where nDCG with grades made from places, and nDCGφ with gains from the gaps between scores, part.

    Without qrels, on random scores: balanced ones are uniform on [1, 1000]; of imbalanced ones 90 % are uniform
    on [1, 100] and 10 % on [100, 1000]. Two errors are made in the ideal ranking of each draw: the documents at
    ranks cutoff and cutoff + 1 are swapped, or the first `cutoff` ranks are reversed. Each metric after the
    first is compared with the first, which overestimates an error where it costs more by the first.

    With qrels and runs, options as evaluate() takes them: the difference of two metrics, the first less the
    second, for each query.

    metrics: by default nDCG(gain=exp,top=10/25/50) and nDCGphi at the cutoff 10; at another one the places of
    grades are in proportion, top=5/13/25 at 5.
    Raises InputError, MetricError, OptionError.
    Source: Moniz, Torgo, Vinagre, "Data-driven relevance judgments for ranking evaluation", 2016, figures 2 and
    4.
    """
    chosen = Options(**{name: value for name, value in options.items() if name in OF_RUNS})
    how = DivergenceOptions(
        **{name: value for name, value in options.items() if name in DivergenceOptions.table}
    )
    cutoff = how.cutoff
    # the paper's places of grades, in proportion, so that ranks cutoff and cutoff + 1 have different grades
    top = f"{cutoff}/{(5 * cutoff + 1) // 2}/{5 * cutoff}"
    specs = averaged_metrics(METRICS.format(k=cutoff, top=top) if metrics is None else metrics)
    if qrels is None:
        if runs is not None:
            raise OptionError("runs need qrels")
        refuse(chosen, Options.names(without=(PROCESS,)), "requires qrels")
        return _synthetic(specs, how, chosen.jobs or default_jobs())
    refuse(how, DivergenceOptions.names(within=RANDOM), "is for random scores, and goes without qrels")
    if len(specs) != 2:
        raise MetricError(
            f"the difference is of two metrics, not {len(specs)}", hint="for example 'nDCG@10 nDCGphi@10'"
        )
    if metrics is not None:
        refuse(how, ("cutoff",), "is that of the default metrics, and metrics have theirs, as in nDCG@5")
    named_runs = separate_runs(qrels if runs is None else runs)
    results = complete(evaluate_all(qrels, named_runs, specs, chosen))
    finding, tables = _differences(specs, results)
    study = Study(
        name="divergence",
        finding=finding,
        options={"metrics": [str(spec) for spec in specs], "evaluation": dict(results.options)},
        noticed=(results.notices,),
        runs_read=len(results.runs),
        tables=tables,
    )
    return warned(study)


def _differences(specs: Sequence[Spec], results: Results) -> tuple[str, tuple[Table, Table]]:
    """How often either metric is higher, and the tables."""
    first, second = map(str, specs)
    boxes: list[Row] = []
    rows: list[Row] = []
    of_runs: list[Floats] = []
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
        Table("differences", title, by_run, boxes),
        Table("queries", "Values and difference of each query", by_query, rows, shown=False),
    )


def _synthetic(specs: Sequence[Spec], how: DivergenceOptions, jobs: int) -> Study:
    cutoff, draws, seed = how.cutoff, how.draws, how.seed
    items = whole("items", how.items, cutoff + 1, 10**6)
    if items * draws > MAX_SCORES:
        raise OptionError(f"items times draws must be at most {MAX_SCORES}, not {items} times {draws}")
    orders = {
        "swap": [*range(cutoff - 1), cutoff, cutoff - 1, *range(cutoff + 1, items)],
        "reverse": [*range(cutoff - 1, -1, -1), *range(cutoff, items)],
    }
    high = round(items / 10)
    boxes: list[Row] = []
    impacts: list[Row] = []
    each_draw: list[Row] = []
    over: dict[str, list[float]] = {scenario: [] for scenario in orders}  # shares of overestimates
    for d, distribution in enumerate(("balanced", "imbalanced")):
        random = np.random.default_rng((seed, d))
        if distribution == "balanced":
            scores = random.uniform(1, 1000, (draws, items))
        else:
            parts = random.uniform(100, 1000, (draws, high)), random.uniform(1, 100, (draws, items - high))
            scores = np.concatenate(parts, axis=1)
        ideal = -np.sort(-scores, axis=1)
        for scenario, order in orders.items():

            def of_share(share: slice, jobs: int, ideal: Floats = ideal, order: list[int] = order) -> Floats:
                return score(full_rankings(ideal[share][:, order]), specs)

            values = np.concatenate(map_all(of_share, list(shares(draws, items)), jobs), axis=1)  # (M, draws)
            for m, (spec, of_draws) in enumerate(zip(specs, values, strict=True)):
                labels = (distribution, scenario, str(spec))
                boxes.append((*labels, *quartiles(of_draws), seed))
                each_draw += [(*labels, draw, value, seed) for draw, value in enumerate(of_draws.tolist(), 1)]
                if m:
                    apart = paired_differences(values[0], of_draws)
                    above, below = (float(np.mean(sign * apart > 0)) for sign in (1, -1))
                    over[scenario].append(above)
                    impacts.append((*labels, above, below, seed))
    labelled = ("distribution", "scenario", "metric")
    finding = ""
    if impacts:
        swap, reverse = (f"{100 * np.mean(of_scenario):.0f} %" for of_scenario in over.values())
        errors = f"the swap in {swap} and the reverse in {reverse}"
        finding = f"By {', '.join(map(str, specs[1:]))}, {specs[0]} overestimates {errors} of the draws."
    title = f"Share of draws in which {specs[0]} over- or underestimates the error, by each metric"
    of_impacts = (*labelled, "overestimates", "underestimates", "seed")
    return Study(
        name="divergence",
        finding=finding,
        options={"metrics": list(map(str, specs)), **vars(how)},
        tables=(
            Table("quartiles", "Values over the draws", (*labelled, *QUARTILES, "seed"), boxes),
            Table("impact", title, of_impacts, impacts, shown=bool(impacts)),
            Table("draws", "Value of each draw", (*labelled, "draw", "value", "seed"), each_draw, shown=False),
        ),
    )

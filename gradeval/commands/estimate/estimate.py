"""What the judgments of people for some queries, and of a model for all, say of the means of runs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gradeval.arrays import Bools, Floats
from gradeval.commands.compare.compare import ComparedMetric, QueryValues, comparable_metrics, lacks_baseline
from gradeval.commands.estimate.options import EstimateOptions
from gradeval.compare_options import CompareOptions
from gradeval.errors import GradevalError, InputError, OptionError, first_names, named
from gradeval.evaluation.evaluation import OnErrors, check_errors, complete, evaluate_all
from gradeval.evaluation.outcome import no_common_query
from gradeval.evaluation.plan import Plan
from gradeval.evaluation.results import FailedRun, Results, Runs, failed_to_dicts
from gradeval.evaluation.runs import separate_runs
from gradeval.notices import MAX_SUBJECTS, Notice, NoticeKind, by_judgments, many
from gradeval.options import COMPARED_METRICS, OF_RUNS, Options, takes
from gradeval.records import grouped
from gradeval.registry.spec import Metrics, parse
from gradeval.render.document import exact
from gradeval.render.printable import Tabular, WithNoticeGroups, warned
from gradeval.statistics.intervals import UNBOUNDED, within
from gradeval.statistics.multiple import CORRECTIONS, two_way_anova
from gradeval.statistics.predicted import predicted_mean, welch_p
from gradeval.statistics.tests import interval_of_mean
from gradeval.tables.load import check_inputs, inputs_of, is_path, open_qrels, source_of, to_be_read_twice
from gradeval.version import __version__, schema_of

if TYPE_CHECKING:
    from gradeval.keywords import EstimateKeywords, Unpack

LEAST_QUERIES = 5  # that people judged; of fewer nothing is estimated
ENOUGH_JUDGED = 15  # fewer are warned of
LEVEL = 0.05  # of the tests that warnings follow from, after Holm's correction


@dataclass(frozen=True)
class Estimate:
    """A run's mean over all queries, or the difference of the means of two runs, in the unit of the metric."""

    run: str
    against: str  # the run that is subtracted; '' for a mean
    metric: str  # canonical
    estimate: float  # by the judgments of both
    low: float  # its interval; NaN where there is one query of the model alone
    high: float
    weight: float  # λ, how much the model's judgments count
    judged: int  # n, queries with a value by people and by the model
    others: int  # N, queries with a value by the model alone
    human: float  # by people alone, over n queries
    human_low: float
    human_high: float
    model: float  # by the model alone, over n + N queries
    bias: float  # the mean of the model's value less that of people, over n queries
    bias_low: float
    bias_high: float
    sample_p: (
        float  # Welch's test of the n queries against the N others by the model's values; NaN where untested
    )

    def to_dict(self) -> dict[str, Any]:
        """The numbers by the names of the columns of tsv."""
        names = {"weight": "lambda", "judged": "n", "others": "N"}
        return {names.get(name, name): value for name, value in vars(self).items()}


@dataclass(frozen=True, eq=False, repr=False)
class Estimates(WithNoticeGroups, Tabular):
    """The means of runs, then the differences from the first run.

    >>> estimates = gradeval.estimate("people.qrels", "bm25.run", "AP", model_qrels="llm.qrels")
    >>> found = estimates.find("bm25", "AP")
    >>> found.estimate, found.low, found.high
    """

    layout = "gradeval.commands.estimate.layout"

    estimates: tuple[Estimate, ...]  # by run, then by metric
    runs: tuple[str, ...]
    metrics: tuple[ComparedMetric, ...]
    options: EstimateOptions
    queries: int  # how many the model has judged
    judged_queries: int  # those of them that people have judged
    # that the model's bias differs between runs, by metric: repeated measures; NaN where untested
    bias_p: Mapping[str, float]
    inputs: Mapping[str, Any] = field(default_factory=dict)  # what it was made from, as JSON has it
    noticed: tuple[tuple[Notice, ...], ...] = ()
    failed: tuple[FailedRun, ...] = ()  # the runs that could not be evaluated, and are left out

    @property
    def runs_read(self) -> int:
        return len(self.runs)

    def find(self, run: str, metric: str, *, against: str = "") -> Estimate:
        """One estimate. metric: any spelling. against: the first run, for the difference from it. Raises
        GradevalError.
        """
        name = str(parse(metric)[0])
        for estimate in self.estimates:
            if (estimate.run, estimate.against, estimate.metric) == (run, against, name):
                return estimate
        raise GradevalError(f"there is no such estimate of {run}")

    def rows(self) -> list[dict[str, Any]]:
        """A dict for each estimate, with the columns of tsv and sample_p."""
        return [estimate.to_dict() for estimate in self.estimates]

    def to_dict(self) -> dict[str, Any]:
        """The object that the json format prints. Numbers are exact; what is undefined is None."""
        return {
            "gradeval": __version__,
            "schema": schema_of("estimate"),
            **self.inputs,
            "settings": {"confidence": self.options.confidence, "lambda": self.options.lambda_},
            "runs": list(self.runs),
            **({"failed": failed_to_dicts(self.failed)} if self.failed else {}),
            "metrics": [metric.name for metric in self.metrics],
            "queries": self.queries,
            "judged_queries": self.judged_queries,
            "notices": [notice.to_dict() for notice in self.notices],
            "estimates": exact([{**row, "against": row["against"] or None} for row in self.rows()]),
            "bias_p": exact(dict(self.bias_p)),
        }

    def __repr__(self) -> str:
        counts = f"runs={len(self.runs)}, metrics={len(self.metrics)}, queries={self.queries}"
        return f"Estimates({counts}, judged_queries={self.judged_queries}, notices={len(self.warnings)})"


@takes({**EstimateOptions.table, **OF_RUNS})
def estimate(
    qrels: Any,
    runs: Any = None,
    metrics: Metrics = COMPARED_METRICS,
    *,
    model_qrels: Any,
    errors: OnErrors = "raise",
    **options: Unpack[EstimateKeywords],
) -> Estimates:
    """Estimate the means of runs from the judgments of people for some queries and of a model for all.

        >>> gradeval.estimate("people.qrels", "bm25.run", "nDCG@10", model_qrels="llm.qrels").rows()

    The mean that people's judgments of all queries would give is estimated without the model's bias, and more
    precisely than by people alone (prediction-powered inference): θ = λ mean(f of the others) + mean(y - λ f),
    with y the value of a query by people and f by the model. The queries that people judged are taken for a
    random sample of all. Of each run after the first there is the difference from the first too.

    qrels: people's judgments, of 5 queries or more, as evaluate() takes them. model_qrels: those of the model,
    or of clicks, of these queries and others. metrics: names; by default nDCG@10 and AP. runs, errors: as
    evaluate() takes them, but the first run may not fail; runs=None with features: those of qrels. query_ids:
    some of the model's queries. Raises InputError, MetricError, OptionError. Source: Angelopoulos, Duchi,
    Zrnic, "PPI++: Efficient prediction-powered inference", 2023; Oosterhuis et al., "Reliable confidence
    intervals for information retrieval evaluation using generative AI", KDD 2024.
    """
    judges = Judges(qrels, model_qrels)
    runs = separate_runs(qrels if runs is None else runs)
    check_errors(errors)
    chosen = EstimateOptions.of(options), Options.of(options, without=EstimateOptions.table)
    return warned(estimates_of(judges, runs, metrics, *chosen, errors=errors))


class Judges(NamedTuple):
    """Who judged, each with qrels as evaluate() takes them."""

    people: Any
    model: Any


def estimates_of(
    judges: Judges,
    runs: Runs,
    metrics: Metrics,
    options: EstimateOptions,
    evaluation: Options,
    *,
    errors: OnErrors = "raise",
    hashes: bool = False,
) -> Estimates:
    """hashes: whether the SHA-256 of the files is taken. Raises GradevalError."""
    specs, left_out = comparable_metrics(metrics)
    plan = Plan(specs, evaluation, hashes=hashes, is_part=True)
    by_people, by_model = results = _evaluated(judges, runs, plan, errors)
    values = _values(by_people, by_model, evaluation)
    estimates = tuple(_estimates(values, options))
    # people's judgments lack most queries of the runs by design
    of_people = by_people.notices.without(NoticeKind.UNJUDGED, NoticeKind.MISSING)
    bias_p = {metric.name: _bias_p(values, m) for m, metric in enumerate(values.metrics)}
    notices = [*left_out, *_notices(estimates, bias_p)]
    paths = [result.qrels for result in results]
    return Estimates(
        estimates=estimates,
        runs=values.runs,
        metrics=values.metrics,
        options=options,
        queries=int(values.is_chosen.sum()),
        judged_queries=int((values.is_chosen & values.is_judged).sum()),
        bias_p=bias_p,
        inputs={
            "qrels": by_people.judged_by,
            "model_qrels": by_model.judged_by,
            "options": dict(by_model.options),
        },
        noticed=(*by_judgments(paths, [of_people, by_model.notices]), tuple(notices)),
        failed=by_model.failed,
    )


def _evaluated(judges: Judges, runs: Runs, plan: Plan, errors: OnErrors) -> list[Results]:
    """The results by people and by the model, of the runs that both can evaluate. Files are opened once: a pipe
    can be read again then.
    """
    options = plan.options
    if options.ties in ("best", "worst"):
        reason = f"ties={options.ties} orders by one set of judgments, so it does not go with two"
        raise OptionError(reason, "ties")
    people, model = (source_of(qrels) if is_path(qrels) else qrels for qrels in judges)
    runs = to_be_read_twice(runs)
    check_inputs(inputs_of([people, model], runs), options)
    # those of the model have a format of their own; some of its queries are chosen, not of those of people
    of_model = options.replace(qrels_format=None, qrels_feature=None, groups=None)
    of_people = plan.replace(options=options.replace(query_ids=None))
    if not is_path(model):
        model = open_qrels(model, of_model, name="model_qrels")
    results = [
        evaluate_all(of_people, people, runs),
        evaluate_all(plan.replace(options=of_model), model, runs),
    ]
    failed = tuple({run.path: run for by_judge in results for run in by_judge.failed}.values())
    results = [by_judge.replace(failed=failed) for by_judge in results]
    names = set.intersection(*({run.name for run in by_judge.runs} for by_judge in results))
    if errors == "raise" or not names or lacks_baseline(results[0], runs, CompareOptions()):
        complete(results[0])
    return [
        by_judge.replace(runs=tuple(run for run in by_judge.runs if run.name in names)) for by_judge in results
    ]


class _Values(NamedTuple):
    """The values of R runs, M metrics and the Q queries of the model."""

    runs: tuple[str, ...]
    metrics: tuple[ComparedMetric, ...]
    by_people: Floats  # (R, M, Q), NaN where people have not judged the query, or it has no value
    by_model: Floats  # (R, M, Q), NaN where the query is not chosen, or has no value
    is_judged: Bools  # by people, (Q,)
    is_chosen: Bools  # (Q,)
    path: str  # of people's judgments


def _values(people: Results, model: Results, options: Options) -> _Values:
    """Raises InputError where the judgments do not go together."""
    position = {query: q for q, query in enumerate(model.queries)}
    lacking = [query for query in people.queries if query not in position]
    if len(lacking) == len(people.queries):
        raise no_common_query(model.qrels, people.qrels, model.queries, people.queries)
    if lacking and options.query_ids is None:
        count = many(len(lacking), "query that people judged", "queries that people judged")
        message = f"it lacks {count} in {people.qrels}: {first_names(map(named, lacking), MAX_SUBJECTS)}"
        hint = "Let the model judge them too, or choose queries with query_ids (--query-ids)"
        raise InputError(model.qrels, message, hint=hint)
    of_people, of_model = (QueryValues.of(results, results.specs) for results in (people, model))
    common = [q for q, query in enumerate(people.queries) if query in position]
    columns = [position[people.queries[q]] for q in common]
    by_people = np.full(of_model.values.shape, np.nan)
    by_people[..., columns] = of_people.values[..., common]
    is_judged = np.isin(np.arange(len(model.queries)), columns)
    is_chosen = np.zeros(len(model.queries), np.bool_)
    for run in model.runs:
        is_chosen |= run.counted
    return _Values(
        of_model.runs, of_model.metrics, by_people, of_model.values, is_judged, is_chosen, people.qrels
    )


def _estimates(values: _Values, options: EstimateOptions) -> Iterator[Estimate]:
    """The means, then the differences from the first run. Raises InputError."""
    by_people, by_model = values.by_people, values.by_model
    for r, run in enumerate(values.runs):
        for m, metric in enumerate(values.metrics):
            sample = _Sample.of(by_people[r, m], by_model[r, m], values.is_judged)
            if len(sample.people) < LEAST_QUERIES:
                count = many(len(sample.people), "query", "queries")
                message = f"{metric.name} of {run} has values by people and by the model for {count}"
                least = f"an estimate needs {LEAST_QUERIES} or more"
                hint = "Let people judge more queries, drawn at random"
                raise InputError(values.path, f"{message}, and {least}", hint=hint)
            yield _estimate((run, "", metric.name), sample, metric.bounds, options)
    for r, run in enumerate(values.runs[1:], 1):
        for m, metric in enumerate(values.metrics):
            of_people = by_people[r, m] - by_people[0, m]
            of_model = by_model[r, m] - by_model[0, m]
            sample = _Sample.of(of_people, of_model, values.is_judged)
            yield _estimate((run, values.runs[0], metric.name), sample, UNBOUNDED, options)


class _Sample(NamedTuple):
    """Numbers of queries: the values of a run, or the differences of two."""

    people: Floats  # by people, (n,)
    model: Floats  # by the model, of the same queries, (n,)
    others: Floats  # by the model, of the queries that people have not judged, (N,)

    @classmethod
    def of(cls, by_people: Floats, by_model: Floats, is_judged: Bools) -> _Sample:
        """Of numbers (Q,), NaN where there is none. is_judged: by people, (Q,)."""
        has_model = ~np.isnan(by_model)
        has_both = has_model & ~np.isnan(by_people)
        return cls(by_people[has_both], by_model[has_both], by_model[has_model & ~is_judged])


def _estimate(
    names: tuple[str, str, str], sample: _Sample, bounds: tuple[float, float], options: EstimateOptions
) -> Estimate:
    """names: of the run, of the one that is subtracted, and of the metric. bounds: of the values."""
    people, model, others = sample
    confidence = options.confidence
    predicted = predicted_mean(people, model, others, options.alpha, options.lambda_)
    human = float(people.mean())
    bias = float((model - people).mean())
    return Estimate(
        *names,
        predicted.estimate,
        *within((predicted.low, predicted.high), predicted.estimate, bounds),
        predicted.weight,
        len(people),
        len(others),
        human,
        *interval_of_mean(people, human, "t", confidence, bounds=bounds),
        float(np.concatenate([model, others]).mean()),
        bias,
        *interval_of_mean(model - people, bias, "t", confidence),
        welch_p(model, others),
    )


def _bias_p(values: _Values, m: int) -> float:
    """That the model's bias by a metric differs between the runs."""
    bias = (values.by_model - values.by_people)[:, m]
    return two_way_anova(bias.T).system.p if len(bias) > 1 else math.nan


def _notices(estimates: Sequence[Estimate], bias_p: Mapping[str, float]) -> Iterator[Notice]:
    """Of few queries, of those that seem no random sample, and of a bias that differs between runs."""
    fewest = min(estimate.judged for estimate in estimates)
    if fewest < ENOUGH_JUDGED:
        yield Notice(NoticeKind.FEW_QUERIES, "", fewest, rule="people")
    means = [estimate for estimate in estimates if not estimate.against]
    yield from _of_sample(means)
    corrected = CORRECTIONS["holm"](np.array(list(bias_p.values()))).tolist()
    for metric, p in zip(bias_p, corrected, strict=True):
        if p < LEVEL:
            of_metric = [mean for mean in means if mean.metric == metric]
            low, high = (choose(of_metric, key=lambda mean: mean.bias) for choose in (min, max))
            extremes = f"{low.bias:+.4f} ({low.run}) to {high.bias:+.4f} ({high.run})"
            about = f"{metric} from {extremes}, p = {p:.2g}"
            yield Notice(
                NoticeKind.BIAS_DIFFERS, "", len(of_metric), metric, rule=about, low=low.bias, high=high.bias
            )


def _of_sample(means: Sequence[Estimate]) -> Iterator[Notice]:
    """A notice for each metric by which the queries that people judged seem no random sample."""
    p_values = CORRECTIONS["holm"](np.array([mean.sample_p for mean in means])).tolist()
    tested = zip(means, p_values, strict=True)
    apart = grouped((mean.metric, (p, mean.run)) for mean, p in tested if p < LEVEL)
    for metric, runs in apart.items():
        p, run = min(runs)
        also = f", and of {many(len(runs) - 1, 'other run', 'other runs')}" if len(runs) > 1 else ""
        about = f"{metric} of {run}, p = {p:.2g}{also}"
        yield Notice(NoticeKind.NO_RANDOM_SAMPLE, run, len(runs), metric, rule=about)

"""What metrics promise: their ranges, and each invariant on every metric that claims it, for its parameters."""

import math
from collections.abc import Callable, Collection, Sequence
from random import Random

import numpy as np
from helpers import Query, check_each, each, error_of, examples, judgments_of, ranking
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st
from hypothesis.errors import UnsatisfiedAssumption
from metrics import strategies

from gradeval.arrays import Bools, Floats
from gradeval.errors import MetricError
from gradeval.registry import invariants as registry
from gradeval.registry.invariants import Condition, Invariant
from gradeval.registry.metric import REGISTRY, Metric

NUMBERS = {name: metric for name, metric in REGISTRY.items() if not metric.text}
TABLES = strategies.crowds(100)
Params = Callable[[Metric, Floats], dict[str, object]]
"""(metric, the distinct grades) -> the parameters that it is tried with."""
Check = Callable[[Metric, Params], None]
TRIALS: dict[Invariant, Callable[[st.DataObject], Check]] = {}


def trial(invariant):
    """A function that draws what the invariant is tried on, once, and returns its check of one metric."""

    def keep(function):
        TRIALS[invariant] = function
        return function

    return keep


def unmet(metric: Metric, invariant: Invariant, params: dict[str, object], scale: Floats) -> list[Condition]:
    given = {param.name: param.default for param in metric.params} | params
    declared = next((one for one in metric.invariants if one.about == invariant.about), invariant)
    return [one for one in declared.conditions if not one.is_met(given, scale)]


def without(params: dict[str, object], conditions: Collection[Condition]) -> dict[str, object]:
    """The parameters without those that the conditions are about."""
    dropped = {condition.param for condition in conditions}
    dropped |= {"max_grade"} if "ideal" in dropped else set()
    return {k: v for k, v in params.items() if k not in dropped}


def params_under(invariant: Invariant, parameters: strategies.Parameters) -> Params:
    """Any parameters, but for those under which the metric does not declare the invariant."""

    def params_of(metric: Metric, scale: Floats) -> dict[str, object]:
        params = strategies.params_of(metric, parameters)
        if (scale < 0).any():
            params.pop("judged_only", None)
        return without(params, unmet(metric, invariant, params, scale))

    return params_of


def params_outside(invariant: Invariant, condition: Condition, parameters: strategies.Parameters) -> Params:
    """Parameters with which this condition alone is not met; assume()s that they do that."""
    forced = {
        name: (name == condition.param or present, value) for name, (present, value) in parameters.items()
    }
    if condition.param == "max_grade":
        forced["ideal"] = (True, "max")
    if condition.param == "gain":
        forced["rel"] = (False, 0.0)

    def params_of(metric: Metric, scale: Floats) -> dict[str, object]:
        params = strategies.params_of(metric, forced)
        params.pop("judged_only", None)
        others = [one for one in unmet(metric, invariant, params, scale) if one is not condition]
        params = without(params, others)
        assume(unmet(metric, invariant, params, scale) == [condition])
        return params

    return params_of


def draw_queries(data, fits: Callable[[Query], bool] = lambda query: True) -> list[Query]:
    queries = [query for query in data.draw(TABLES) if fits(query)]
    assume(queries)
    return queries


def some_relevant(query: Query, level: float | None = None) -> bool:
    return any(grade > 0 if level is None else grade >= level for grade in query[0].values())


def ordered(qrels, sign=-1.0):
    order = sorted(qrels, key=lambda document: sign * qrels[document])
    return {document: float(-place) for place, document in enumerate(order)}


def same(a: Floats | float, b: Floats | float) -> Bools:
    return np.isclose(a, b, rtol=1e-9, atol=1e-9, equal_nan=True)


def compare(
    queries: Sequence[Query], others: Sequence[Query], agree: Callable[[Floats, Floats], Bools]
) -> Check:
    """The values of the queries and of the others, which are made from them, agree one by one."""
    tables = judgments_of(queries), judgments_of(others)

    def check(metric, params):
        given = params(metric, tables[0].scale)
        found, other = (metric(table, **given) for table in tables)
        for q in np.flatnonzero(~agree(found, other)):
            raise AssertionError(f"{found[q]} of {queries[q]}, but {other[q]} of {others[q]}: {given}")

    return check


def always(queries: Sequence[Query], expected: float) -> Check:
    """Each query that has something relevant to the metric has this value, or none."""
    table = judgments_of(queries)

    def check(metric, params):
        given = params(metric, table.scale)
        values, _ = metric.values(table, **given)  # NaN where a metric that needs a relevant document has none
        relevant = np.array([some_relevant(query, given.get("rel")) for query in queries])
        for q in np.flatnonzero(relevant & ~np.isnan(values) & ~same(values, expected)):
            raise AssertionError(f"{values[q]} of {queries[q]}: {given}")

    return check


@trial(registry.IDEAL_IS_ONE)
def _(data):
    queries = [(qrels, ordered(qrels)) for qrels, _ in draw_queries(data, some_relevant)]
    return always(queries, 1.0)


@trial(registry.SCALE_FREE)
def _(data):
    queries, factor = draw_queries(data), data.draw(st.floats(0.001, 1000))
    scaled = [({d: factor * grade for d, grade in qrels.items()}, run) for qrels, run in queries]
    return compare(queries, scaled, same)


@trial(registry.PROMOTION_HELPS)
def _(data):
    random = Random(data.draw(strategies.SEEDS))
    plain, promoted = [], []
    for qrels, given_run in draw_queries(data):
        run = {document: float(-place) for place, document in enumerate(ranking(given_run))}
        score = {document: run.get(document, -math.inf) for document in qrels}
        if pairs := [(d, e) for d in qrels for e in qrels if qrels[d] > qrels[e] and score[d] < score[e]]:
            better, worse = random.choice(pairs)
            names = {better: worse, worse: better}
            plain.append((qrels, run))
            promoted.append((qrels, {names.get(d, d): score for d, score in run.items()}))
    assume(plain)

    def no_lower(before: Floats, after: Floats) -> Bools:
        return np.isnan(before) | (after >= before - 1e-12 * np.maximum(1.0, np.abs(before)))

    return compare(plain, promoted, no_lower)


@trial(registry.BINARY_IS_AP)
def _(data):
    top = data.draw(st.sampled_from([1.0, 3.0, 0.1, 7.3]))
    queries = [({d: top if g > 0 else g for d, g in qrels.items()}, run) for qrels, run in draw_queries(data)]
    table = judgments_of(queries)

    def check(metric, params):
        given = params(metric, table.scale)
        expected = REGISTRY["AP"](table, judged_only=given.get("judged_only", False))
        found = metric(table, **given)
        for q in np.flatnonzero(found != expected):  # to the bit
            raise AssertionError(f"{found[q]}, not {expected[q]}: {queries[q]}")

    return check


@trial(registry.REVERSAL_NEGATES)
def _(data):
    queries = draw_queries(data)
    back = [(qrels, {document: -score for document, score in run.items()}) for qrels, run in queries]
    return compare(queries, back, lambda forth, back: same(back, -forth))


@trial(registry.REVERSE_IS_ZERO)
def _(data):
    queries = [(qrels, ordered(qrels, 1.0)) for qrels, _ in draw_queries(data, some_relevant)]
    return always(queries, 0.0)


@trial(registry.UNJUDGED_IGNORED)
def _(data):
    random = Random(data.draw(strategies.SEEDS))
    # with nothing retrieved the query is missing, which is another case
    queries = draw_queries(data, lambda query: bool(query[1]))
    longer = []
    for qrels, run in queries:
        scores = [random.choice([*run.values(), random.uniform(-2, 3)]) for _ in range(random.randint(1, 5))]
        longer.append((qrels, run | {f"new{place}": score for place, score in enumerate(scores)}))
    return compare(queries, longer, same)


CLAIMS = {
    invariant: [of for of in REGISTRY.values() if invariant.about in [one.about for one in of.invariants]]
    for invariant in TRIALS
}


@each("invariant", TRIALS)
def test_holds(invariant):
    @examples(times=0.3)
    @given(strategies.parameters, st.data())
    def run(parameters, data):
        check, params = TRIALS[invariant](data), params_under(invariant, parameters)
        check_each(CLAIMS[invariant], lambda metric: check(metric, params))

    run()


CONDITIONS = {
    invariant: [
        (metric, one)
        for metric in metrics
        for declared in metric.invariants
        if declared.about == invariant.about
        for one in declared.conditions
    ]
    for invariant, metrics in CLAIMS.items()
}


@each("invariant", [one for one in TRIALS if CONDITIONS[one]])
def test_does_not_hold_outside_its_conditions(invariant):
    """No condition is there without need: where it alone is not met, some query shows that."""
    pending = {(metric.name, one.about): (metric, one) for metric, one in CONDITIONS[invariant]}

    how = {"max_examples": 400, "derandomize": True, "database": None, "phases": [Phase.generate]}

    @settings(**how, suppress_health_check=[*HealthCheck])
    @given(strategies.parameters, st.data())
    def run(parameters, data):
        check = TRIALS[invariant](data)
        for name, (metric, condition) in [*pending.items()]:
            try:
                check(metric, params_outside(invariant, condition, parameters))
            except AssertionError:
                del pending[name]
            except (MetricError, UnsatisfiedAssumption):
                pass
        if not pending:
            raise EOFError  # ends the search for counterexamples

    error_of(EOFError, run)


def test_every_invariant_is_tried_and_claimed():
    assert {one for one in vars(registry).values() if isinstance(one, Invariant)} == set(TRIALS)
    assert all(CLAIMS.values())
    assert sum(map(len, CLAIMS.values())) == sum(len(metric.invariants) for metric in REGISTRY.values())


@examples(times=0.3)
@given(TABLES, st.sampled_from([None, 1.0]), strategies.parameters)
def test_range(queries, level, parameters):
    table = judgments_of(queries, level)

    def check(metric):
        least, most = metric.range
        params = strategies.params_of(metric, parameters)
        values = metric(table, **params)
        undefined = np.isnan(values)

        def none(wrong: Bools, what: str = "") -> None:
            for q in np.flatnonzero(wrong):
                raise AssertionError(f"{what}{values[q]} of {queries[q]}, level {level}, {params}")

        if not metric.undefined:
            none(undefined, f"declare {metric.name} with undefined=True, or give no NaN: ")
        none(values < (-np.inf if least is None else least - 1e-12))
        none(values > (np.inf if most is None else most + 1e-12))
        if metric.is_count:
            none(~undefined & (values != np.round(values)))

    check_each(NUMBERS.values(), check)


def test_a_missing_query_scores_zero():
    values = {"cutoff": 5, "max_rel": 3.0, "recall": 0.5, "multiple": 1.0}
    # the odds of AP = 0, and what is said of the qrels alone
    others = {"num_q": 1.0, "num_rel": 2.0, "yaap": math.log(1 / 3), "ideal_dcg": 2 + 1 / math.log2(3)}
    missing = judgments_of([({"a": 2.0, "b": 1.0, "c": 0.0}, {})])

    def check(metric):
        params = {p.name: values.get(p.name, p.parse(p.example)) for p in metric.params if p.required}
        assert metric(missing, **params).tolist() == [others.get(metric.name, 0.0)]

    # where lower is better, 0 would be the best value
    check_each([metric for metric in NUMBERS.values() if metric.higher_is_better is not False], check)

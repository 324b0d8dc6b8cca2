"""May this be merged? Checks of a run, by itself and against a baseline, from results alone.

judge              results and checks -> GateReport
evaluate_to_gate   qrels, a run and a baseline, saved results among them -> the results to judge
first_checks       what a first file of checks is made from
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gradeval.commands.compare.values import Judged, comparable, judged_spec, missing_notices
from gradeval.commands.gate.checks import NO_WORSE, REQUIRE, Check, check_number
from gradeval.commands.gate.result import FULL_COVERAGE, CheckOutcome, Coverage, GateReport
from gradeval.commands.gate.verdicts import BASELINE, JUDGES, RUN, at_least
from gradeval.errors import InputError, OptionError
from gradeval.evaluation.results import Results
from gradeval.evaluation.saved import Runs, check_metrics, evaluate_with_saved, saved_specs
from gradeval.formats.saved import SavedResult
from gradeval.formats.sources import Source
from gradeval.notices import ENOUGH_TO_GATE, Kind, Notice
from gradeval.options import Options
from gradeval.registry.spec import Spec, is_num_q, parse

_JUDGED = (Kind.JUDGED_SHARE, Kind.JUDGED_DIFFERS)  # which name Judged@k, whether it is checked or not
DEFAULT_METRICS = "nDCG@10 AP"  # of a first file of checks


def first_checks(runs: Runs, specs: Sequence[Spec] | None) -> list[Check]:
    """What a first file of checks is made from: by default the metrics of a saved result, or DEFAULT_METRICS.

    runs: the run, and its baseline if there is one.
    """
    specs = specs or comparable(saved_specs(runs[:1]) or parse(DEFAULT_METRICS))
    for spec in specs:
        check_number(spec)
    kinds = [REQUIRE, NO_WORSE] if len(runs) > 1 else [REQUIRE]
    return [Check(kind, spec) for spec in specs for kind in kinds if kind == REQUIRE or spec.metric.per_query]


def check_baseline(checks: Sequence[Check], baseline: Any | None) -> None:
    """Raise OptionError where there are no checks, or one that lacks its baseline."""
    if not checks:
        raise OptionError("no checks given. Add --require 'nDCG@10 >= 0.45', or a file of checks with --config")
    for check in checks:
        if check.needs_baseline and baseline is None:
            raise OptionError(f"'{check}' compares with a baseline. Add --baseline RUN")


def evaluate_to_gate(
    qrels: Any,
    runs: Runs,
    checks: Sequence[Check],
    options: Options,
    *,
    watch: Callable[[Source], None] | None = None,
    hashes: bool = False,
    query_ids: Callable[[Iterable[str], str], tuple[str, ...]] | None = None,
) -> Results:
    """The results of the run, then of the baseline, with all metrics of the checks.

    qrels, runs: as saved.with_saved gives them. Runs that could not be read are in Results.failed. Raises
    GradevalError, also where a file has several runs.
    """
    if len(options.features) > 1:
        raise OptionError(f"there are {len(options.features)} features, and a gate judges one run. Choose one")
    specs = dict.fromkeys(check.spec for check in checks if check.spec is not None)
    compared = dict.fromkeys(check.spec for check in checks if check.spec is not None and check.needs_baseline)
    judged = runs[RUN][1]
    if isinstance(judged, SavedResult):
        check_metrics(judged, list(specs))
    results = evaluate_with_saved(
        qrels,
        runs,
        list(compared),
        options,
        optional=[*(specs or parse("num_q")), *_judged(compared, runs, options)],
        watch=watch,
        hashes=hashes,
        query_ids=query_ids,
    )
    if not results.failed and len(results.runs) != len(runs):
        path, count = Counter(one.path for one in results.runs).most_common(1)[0]
        hint = "Save the results of one run"
        raise InputError(path, f"it has {count} runs, and a gate judges one", hint=hint)
    return results


def _judged(compared: Collection[Spec], runs: Runs, options: Options) -> list[Spec]:
    """What shows whether unjudged documents decide checks against a baseline."""
    return [judged_spec([*compared], runs)] if compared and not options.judged_only else []


def judge(
    results: Results,
    checks: Sequence[Check],
    *,
    min_coverage: float | None = None,
    allow: Collection[Kind] = (),
    worst: int = 5,
) -> GateReport:
    """Judge results of a run, and of its baseline if there is a second one.

    min_coverage: the percentage of the judged queries that each of them must have, and for which a metric must
    have a value unless allow has Kind.UNDEFINED; by default all, but of the run what a check of its coverage
    requires. worst: how many queries to list for each check that did not hold.
    """
    covered = tuple(coverage(results, r) for r in range(len(results.runs)))
    outcomes = [JUDGES[check.kind](check, results, covered, worst) for check in checks]
    bounded, defined = covered, min_coverage
    if min_coverage is None:
        min_coverage = defined = FULL_COVERAGE
        bounds = [one.amount for one in checks if one.spec is None and one.operator in (">=", ">")]
        if bounds:
            bounded, defined = covered[BASELINE:], 100 * max(bounds)
    if Kind.UNDEFINED not in allow:
        outcomes = [_with_values(one, results, covered[RUN].judged, defined or 0.0) for one in outcomes]
    if lacking := next((one for one in bounded if not at_least(100 * one.share, min_coverage)), None):
        reason = (
            f"{lacking.name} has {lacking.queries:,} of {lacking.judged:,} judged queries "
            f"({100 * lacking.share:.4g} %), fewer than --min-coverage {min_coverage:g} %"
        )
        outcomes = [replace(one, verdict="error", reason=one.reason or reason) for one in outcomes]
    names = {str(check.spec) for check in checks}
    compared = {str(check.spec) for check in checks if check.needs_baseline}
    of_runs = (
        one
        for one in results.notices
        if not one.metric
        or one.metric in (compared if one.kind is Kind.DEPTH else names)
        or one.kind in _JUDGED
    )
    notices = [*of_runs, *_few_queries(outcomes)]
    if any(check.needs_baseline for check in checks) and (judged := Judged.of(results)) is not None:
        notices += judged.notices([one.name for one in covered])
    inputs = {
        "qrels": results.judged_by,
        "options": dict(results.options),
    }
    return GateReport(tuple(outcomes), covered, min_coverage, tuple(notices), inputs=inputs)


def _with_values(outcome: CheckOutcome, results: Results, judged: int, percent: float) -> CheckOutcome:
    """The outcome; an error where fewer than this percentage of the judged queries have a value.

    The mean of the others says nothing about all. Queries that --no-relevant skip excludes were chosen.
    """
    check, spec = outcome.check, outcome.check.spec
    if spec is None or is_num_q(spec) or outcome.verdict == "error":
        return outcome
    counted = np.logical_and.reduce([run.counted for run in results.runs[: 1 + check.needs_baseline]])
    skipped = sum(
        one.count
        for one in results.notices
        if one.kind is Kind.NO_RELEVANT and one.rule == "skip" and one.metric == check.metric
    )
    undefined = int(counted.sum()) - outcome.n - skipped
    if undefined <= 0 or at_least(100 * (judged - undefined) / judged, percent):
        return outcome
    reason = (
        f"{check.metric} is undefined for {undefined:,} of {judged:,} judged queries, where --min-coverage is "
        f"{percent:g} %; --allow undefined excludes them"
    )
    return replace(outcome, verdict="error", reason=reason)


def coverage(results: Results, r: int) -> Coverage:
    """How many of the queries that are evaluated the run has."""
    run, ids = results.runs[r], results.options.get("query_ids")
    judged = len(results.queries) if ids is None else len(set(ids))  # type: ignore[call-overload]
    # with --queries both, the queries that are missing are not counted
    missing = sum(notice.count for notice in missing_notices(results, r) if notice.rule != "both")
    return Coverage(run.name, run.path, max(int(run.counted.sum()) - missing, 0), judged)


def _few_queries(outcomes: Sequence[CheckOutcome]) -> Iterator[Notice]:
    counts = [one.n for one in outcomes if one.n]
    if counts and min(counts) < ENOUGH_TO_GATE:
        yield Notice(Kind.FEW_QUERIES, "", min(counts), rule="gate")

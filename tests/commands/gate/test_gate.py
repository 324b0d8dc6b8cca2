"""The checks of a gate: how they are written, slow statements of them, what never reads as held; reports."""

import json
import math
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from helpers import each, golden
from scipy import stats

import gradeval
from gradeval.commands.gate import layout as ci
from gradeval.commands.gate.checks import Check, parse_checks
from gradeval.commands.gate.command import FORMATS
from gradeval.commands.gate.configuration import GateConfig
from gradeval.commands.gate.gate import CheckOutcome, Coverage, GateReport, WorstQuery
from gradeval.commands.gate.gate import judge as judge_by
from gradeval.commands.gate.layout import texts, verdict_line
from gradeval.errors import GradevalError, printable
from gradeval.evaluation.results import Results, RunResult
from gradeval.notices import Notice, NoticeKind, Notices
from gradeval.options import Options
from gradeval.registry.spec import Spec, parse

NAN = math.nan
SLACK = 1e-9
[AP] = parse("AP")
LOWER = AP.replace(metric=AP.metric.replace(higher_is_better=False))


def results(*runs: Sequence[float], spec: Spec = AP, missing: int = 0, **options: object) -> Results:
    """Results of one metric: the run, then its baseline. missing: judged queries that the run lacks."""
    values = [np.array([of], np.float64) for of in runs]
    names = ("run", "baseline", "third")[: len(runs)]
    notices = [Notice(NoticeKind.MISSING, "run", missing, queries=("q1",), rule="judged")] if missing else []
    return Results(
        "qrels",
        None,
        [f"q{q}" for q in range(len(runs[0]))],
        (spec,),
        tuple(
            RunResult(name, f"{name}.txt", None, of, np.ones(of.shape[1], bool))
            for name, of in zip(names, values, strict=True)
        ),
        {**Options().to_dict(), **options},
        Notices(notices),
        chosen=len(runs[0]),
    )


def judge(
    given: Results, checks: Sequence[Check], min_coverage: float | None = None, **more: object
) -> GateReport:
    return judge_by(given, GateConfig(tuple(checks), min_coverage=min_coverage), **more)  # type: ignore[arg-type]


def outcome(kind: str, text: str, *runs: Sequence[float], spec: Spec = AP, **more: object) -> CheckOutcome:
    [check] = parse_checks(kind, text)
    checks = [replace(check, spec=spec)] if check.spec is not None else [check]
    [one] = judge(results(*runs, spec=spec, **more), checks).outcomes  # type: ignore[arg-type]
    return one


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def stated(kind: str, run: Sequence[float], old: Sequence[float], x: float, percent: float, sign: int) -> str:
    """What a check is, in so many words. sign: -1 where lower values are better."""
    gains = [sign * (new - before) for new, before in zip(run, old, strict=True)]
    fall = -mean(gains)
    if kind == "max-drop":
        return "held" if fall <= x + SLACK else "failed"
    if kind == "max-drop %":
        return "held" if fall <= x * abs(mean(old)) + SLACK else "failed"
    if kind == "non-inferior %":
        x *= abs(mean(old))
    if kind == "max-query-drop":
        fallen = [gain for gain in gains if -gain > x + SLACK]
        return "held" if 100 * len(fallen) <= percent * len(gains) else "failed"
    interval = stats.ttest_1samp(gains, 0).confidence_interval(0.95)
    if kind == "no-worse":
        return "failed" if interval.high < -SLACK else "held"
    if interval.low >= -x - SLACK:
        return "held"
    return "failed" if interval.high < -x - SLACK else "inconclusive"


FORMS = {
    "max-drop": "AP {x!r}",
    "max-drop %": "AP {x_percent!r}%",
    "max-query-drop": "AP {x!r} in {percent!r}%",
    "no-worse": "AP",
    "non-inferior": "AP {x!r}",
    "non-inferior %": "AP {x_percent!r}%",
}


@each("kind", FORMS)
@each("sign", [1, -1])
def test_checks_against_a_baseline_are_as_stated(kind: str, sign: int) -> None:
    rng = np.random.default_rng(8)
    seen = set()
    for _ in range(25):
        n = int(rng.integers(2, 40))
        old = np.round(rng.random(n), 2)
        run = np.round(np.clip(old + rng.normal(rng.choice([-0.08, 0, 0.08]), 0.1, n), 0, 1), 2)
        x, percent = round(float(rng.choice([0, 0.01, 0.05, 0.1])), 2), float(rng.choice([0, 5, 20]))
        text = FORMS[kind].format(x=x, percent=percent, x_percent=100 * x)
        one = outcome(kind.split()[0], text, run, old, spec=AP if sign > 0 else LOWER)
        if one.reason == "no interval: all differences are equal":
            raise AssertionError("an interval of equal differences is that one value")
        if len(set(np.round(run - old, 9))) == 1:  # scipy has no interval of these
            continue
        assert one.verdict == stated(kind, run.tolist(), old.tolist(), x, percent, sign)
        assert (one.margin >= -SLACK) == (one.verdict == "held")
        assert bool(one.worst) <= (one.verdict != "held")
        seen.add(one.verdict)
    assert {"held", "failed"} <= seen


def test_required_values_are_as_stated() -> None:
    for value in (0.44, 0.45, 0.45 - 1e-12, 0.45 + 1e-12, 0.46):
        equal = abs(value - 0.45) <= SLACK
        for operator, holds in {
            ">=": value > 0.45 or equal,
            ">": value > 0.45 and not equal,
            "<=": value < 0.45 or equal,
            "<": value < 0.45 and not equal,
        }.items():
            one = outcome("require", f"AP {operator} 0.45", [value])
            assert (one.verdict, one.value, one.bound) == ("held" if holds else "failed", value, 0.45)


def test_rounding_does_not_decide() -> None:
    old = np.array([0.1, 0.2, 0.3] * 20)
    of_amount = {"max-drop": "AP 0.01", "non-inferior": "AP 0.01", "max-query-drop": "AP 0.01 in 50%"}
    for fall, slack, verdict in ((0.01, 0, "held"), (0.01, 5e-10, "held"), (0.01, 5e-9, "failed")):
        for kind, text in of_amount.items():
            assert outcome(kind, text, old - fall - slack, old).verdict == verdict
        assert outcome("no-worse", "AP", old - slack, old).verdict == verdict
    # 3 of 60 are 5 %, whatever 3 / 60 is in binary
    fallen = np.where(np.arange(60) < 3, old - 0.09, old)
    assert outcome("max-query-drop", "AP 0.05 in 5%", fallen, old).verdict == "held"


def test_the_numbers_of_a_check() -> None:
    old, run = [0.5, 0.25, 0.75, 0.5], [0.5, 0.5, 0.25, 0.25]
    drop = outcome("max-drop", "AP 10%", run, old)
    assert (drop.value, drop.bound, drop.margin) == (0.375, 0.45, pytest.approx(-0.075))
    assert (drop.mean, drop.baseline_mean, drop.n) == (0.375, 0.5, 4)
    worst = [(query.query, query.value, query.baseline_value) for query in drop.worst]
    assert worst == [("q2", 0.25, 0.75), ("q3", 0.25, 0.5)]
    lower = outcome("max-drop", "AP 10%", old, run, spec=LOWER)  # it rises from 0.375 to 0.5
    assert (lower.verdict, lower.bound, lower.margin) == ("failed", *map(pytest.approx, (0.4125, -0.0875)))
    assert [query.query for query in lower.worst] == ["q2", "q3"]
    share = outcome("max-query-drop", "AP 0.3 in 20%", run, old)
    assert (share.value, share.bound, share.margin) == (0.25, 0.2, pytest.approx(-0.05))
    shown = outcome("non-inferior", "AP 0.1", run, old)
    interval = stats.ttest_rel(run, old).confidence_interval(0.95)
    assert (shown.low, shown.high) == pytest.approx((interval.low, interval.high))
    assert (shown.value, shown.bound) == (-0.125, -0.1)
    mirrored = outcome("non-inferior", "AP 0.1", old, run, spec=LOWER)
    assert (mirrored.low, mirrored.high) == pytest.approx((-interval.high, -interval.low))
    assert (mirrored.value, mirrored.bound, mirrored.margin) == (0.125, 0.1, pytest.approx(shown.margin))
    # the worst queries of a required value
    some = results([0.5, 0.1, NAN, 0.1], [1, 2, 3, 4])
    [check] = judge(some, parse_checks("require", "AP > 0.9"), min_coverage=75, worst=2).outcomes
    worst = [(query.query, query.value, query.baseline_value) for query in check.worst]
    assert worst == [("q1", 0.1, 2), ("q3", 0.1, 4)]
    [high] = judge(results([0.5, 0.1]), parse_checks("require", "AP < 0.1"), worst=1).outcomes
    assert [query.query for query in high.worst] == ["q0"]


# what must never read as held


def test_undefined_values() -> None:
    nowhere = "AP is undefined: no query has a value in both runs"
    lost = "AP is undefined for 1 query where the baseline has a value"
    cases = [
        (kind.split()[0], form.format(x=0.9, percent=100.0, x_percent=90.0), *runs)
        for kind, form in FORMS.items()
        for runs in (
            ([NAN, NAN], [0.5, 0.5], nowhere),
            ([0.5, 0.5], [NAN, NAN], nowhere),
            ([0.9, NAN, 0.8], [0.5, 0.5, 0.1], lost),
        )
    ]
    of_one = ([0.9], [0.5], "no interval: fewer than 2 pairs")
    cases += [("no-worse", "AP", *of_one), ("non-inferior", "AP 0.9", *of_one)]
    cases += [("require", f"AP {bound}", [NAN, NAN], "AP is undefined") for bound in (">= 0", "> 0", "<= 1")]
    for kind, text, *runs, reason in cases:
        one = outcome(kind, text, *runs)
        assert (one.verdict, one.reason, one.worst) == ("error", reason, ())


@each(("kind", "text"), [("require", "AP <= 0.5"), *((kind.split()[0], text) for kind, text in FORMS.items())])
def test_a_mean_of_few_queries_is_not_judged(kind: str, text: str) -> None:
    """Where more queries have no value than --min-coverage leaves out, unless --allow undefined."""
    values = [NAN, 0.5, 0.5, 0.4]
    some = results(values, values)
    checks = parse_checks(kind, text.format(x=0.9, percent=100.0, x_percent=90.0))
    [one] = judge(some, checks).outcomes
    assert one.verdict == "error" and one.reason == (
        "AP is undefined for 1 of 4 judged queries, where --min-coverage is 100 %; "
        "--allow undefined excludes them"
    )
    assert judge(some, checks, min_coverage=76).exit_code == 2
    assert judge(some, checks, min_coverage=75).exit_code == 0
    assert judge(some, checks, allow=[NoticeKind.UNDEFINED]).exit_code == 0
    for bound, code in (("75%", 0), ("76%", 2)):
        assert judge(some, [*checks, *parse_checks("require", f"coverage >= {bound}")]).exit_code == code
        lower = parse_checks("require", "coverage >= 50%")  # of two, the higher one
        assert (
            judge(some, [*checks, *lower, *parse_checks("require", f"coverage >= {bound}")]).exit_code == code
        )
    # --no-relevant skip has excluded it
    skipped = some.replace(
        given_notices=Notices([Notice(NoticeKind.NO_RELEVANT, "qrels", 1, "AP", rule="skip")])
    )
    assert judge(skipped, checks).exit_code == 0


def test_what_counts_as_a_value() -> None:
    [spec] = parse("num_rel_ret")
    checks = parse_checks("require", "num_rel_ret <= 9")
    [one] = judge(results([1, NAN], spec=spec), checks, allow=[NoticeKind.UNDEFINED]).outcomes
    assert (one.verdict, one.reason) == ("error", "num_rel_ret is undefined")
    # values that the baseline alone lacks are left out
    some = results([0.5, 0.1, 0.5], [0.5, NAN, 0.5])
    [one] = judge(some, parse_checks("max-drop", "AP 0.1"), min_coverage=60).outcomes
    assert (one.verdict, one.n) == ("held", 2)
    # of two reasons that of the check is said
    [one] = judge(results([NAN, NAN], missing=1), parse_checks("require", "AP > 0")).outcomes
    assert one.reason == "AP is undefined"
    # what cannot be judged for coverage still lists its worst queries
    some = results([0.5, 0, 0.1, 0.5], [0.5] * 4, missing=1)
    [one] = judge(some, parse_checks("max-drop", "AP 0.1")).outcomes
    assert (one.verdict, [each.query for each in one.worst]) == ("error", ["q1", "q2"])
    # number of queries
    [spec] = parse("num_q")
    assert outcome("require", "num_q >= 3", [1, 1, 1], spec=spec).value == 3
    assert outcome("require", "num_q >= 3", [NAN, NAN, NAN], spec=spec).value == 3  # of a saved result
    assert outcome("require", "num_q > 3", [1, 1, 1], spec=spec).verdict == "failed"
    # notices
    assert judge(results([0.5] * 50), parse_checks("require", "AP > 0")).notices == ()
    [notice] = judge(results([0.5] * 49), parse_checks("require", "AP > 0")).notices
    few = "only 49 queries; with fewer than 50, means depend on few queries and intervals are wide"
    assert str(notice) == few
    # And those about what is judged, of which Judged@k is no check.
    notices = (
        Notice(NoticeKind.JUDGED_SHARE, "run", 1, "Judged@10", low=0.1),
        Notice(NoticeKind.NO_RELEVANT, "qrels", 1, "RR", rule="0"),
        Notice(NoticeKind.NO_RELEVANT, "qrels", 1, "AP", rule="0"),
    )
    some = results([0.5] * 50).replace(given_notices=Notices(notices))
    assert judge(some, parse_checks("require", "AP > 0")).notices == (notices[0], notices[2])


def test_checks_of_coverage() -> None:
    checks = [*parse_checks("require", "AP >= 0.1"), *parse_checks("require", "coverage >= 75%")]
    some = results([0.5, 0, 0.5, 0.5], missing=1)
    for given in (checks[:1], checks):
        report = judge(some, given, min_coverage=None if given == checks[:1] else 100)
        assert [one.verdict for one in report.outcomes] == ["error"] * len(given)
        assert report.exit_code == 2
        assert report.outcomes[0].reason == (
            "run has 3 of 4 judged queries (75 %), fewer than --min-coverage 100 %; it lacks q1"
        )
    allowed = judge(some, checks, min_coverage=75)
    assert [one.verdict for one in allowed.outcomes] == ["held", "held"]
    assert allowed.outcomes[1].value == 0.75
    higher = judge(some, parse_checks("require", "coverage > 0.75"), min_coverage=0).outcomes[0]
    assert (higher.verdict, [one.query for one in higher.worst]) == ("failed", ["q1"])
    # unless --min-coverage is given; the baseline must have all queries
    some = results([0.5, 0, 0.5, 0.5], [0.5] * 4, missing=1)
    for bound, code in (("75%", 0), ("76%", 1)):
        checks = [*parse_checks("require", "AP >= 0.1"), *parse_checks("require", f"coverage >= {bound}")]
        report = judge(some, checks)
        assert (report.exit_code, report.outcomes[0].verdict) == (code, "held")
        assert judge(some, checks, min_coverage=76).exit_code == 2
    lacking = some.replace(given_notices=Notices([Notice(NoticeKind.MISSING, "baseline", 1, rule="judged")]))
    assert judge(lacking, checks).exit_code == 2
    assert judge(some, parse_checks("require", "coverage <= 1")).exit_code == 2
    # coverage of both runs
    both = results([0.5, NAN], queries="both")
    run = both.runs[0].replace(counted=np.array([True, False]))
    notice = Notice(NoticeKind.MISSING, "run", 1, rule="both")
    report = judge(
        both.replace(runs=(run,), given_notices=Notices([notice])), parse_checks("require", "AP > 0")
    )
    assert (report.coverage[0].queries, report.coverage[0].judged_queries, report.exit_code) == (1, 2, 2)
    chosen = results([0.5, NAN], query_ids=["q0"]).replace(runs=(run,), chosen=1)
    assert judge(chosen, parse_checks("require", "AP > 0")).exit_code == 0
    # Queries that it lacks would count as 0, and hide a loss.
    both = results([0.5, 0.5], [0.5, 0])
    lacking = both.replace(given_notices=Notices([Notice(NoticeKind.MISSING, "baseline", 1, rule="judged")]))
    report = judge(lacking, parse_checks("max-drop", "AP 0.1"))
    assert (report.exit_code, report.outcomes[0].verdict) == (2, "error")
    assert report.outcomes[0].reason.startswith("the baseline baseline.txt has 1 of 2 judged queries")


# how checks are written


@each("kind, text, written", [
    ("require", "nDCG@10 >= 0.45", ["nDCG@10 >= 0.45"]),
    ("require", " ndcg_cut_10>0.45 ", ["nDCG@10 > 0.45"]),
    ("require", "AP(rel=2)@5<=45%", ["AP(rel=2)@5 <= 0.45"]),
    ("require", "num_q < 1e3", ["num_q < 1000"]),
    ("require", "τ >= -.5", ["tau >= -0.5"]),
    ("require", "AP <= 1", ["AP <= 1"]),
    ("require", "Coverage >= 95 %", ["coverage >= 0.95"]),
    ("require", "nDCG@5,10 >= 0", ["nDCG@5 >= 0", "nDCG@10 >= 0"]),
    ("max-drop", "nDCG@10 0.01", ["max-drop nDCG@10 0.01"]),
    ("max-drop", "P(rel=2, cutoff=5)   2%", ["max-drop P(rel=2)@5 2%"]),
    ("max-drop", "tau 1.5", ["max-drop tau 1.5"]),  # from -1 to 1
    ("non-inferior", "AP 0.01", ["non-inferior AP 0.01"]),
    ("non-inferior", "AP nDCG@10 4 %", ["non-inferior AP 4%", "non-inferior nDCG@10 4%"]),
    ("max-query-drop", "RR 0.5 in 5%", ["max-query-drop RR 0.5 in 5%"]),
    ("max-query-drop", "RR 0.5", ["max-query-drop RR 0.5 in 0%"]),
])  # fmt: skip
def test_checks(kind: str, text: str, written: list[str]) -> None:
    checks = parse_checks(kind, text)
    assert list(map(str, checks)) == written
    for check in checks:
        again = str(check).removeprefix(f"{kind} ")
        assert parse_checks(kind, again) == [check]


@each("kind, text, message", [
    ("require", "AP", "require 'AP' is not of the form"),
    ("require", "AP = 0.4", "require 'AP = 0.4' is not of the form"),
    ("require", "AP >= nan", "not a finite number, as in 'nDCG@10 >= 0.45'"),
    ("require", "AP >= 0.4 0.5", "is not of the form"),
    ("require", "nDGC@10 >= 0.4", "nDGC@10: did you mean nDCG@10?"),
    ("require", "AP coverage >= 0.4", "'AP coverage >= 0.4': coverage is checked by itself"),
    ("require", "coverage >= 95", "coverage is from 0 to 1, so this never holds. A percentage is written 95%"),
    ("require", "nDCG@10 > 1", "nDCG@10 is from 0 to 1, so this never holds. A percentage is written 1%"),
    ("require", "AP >= -0.5", "AP is from 0 to 1, so this always holds"),
    ("require", "num_q < 0", "num_q is from 0 to inf, so this never holds"),
    ("require", "tau <= 1.5", "tau is from -1 to 1, so this always holds"),
    ("require", "same@1 >= 99 in 5%", "same@1 is from 0 to 1, so this never holds. A percentage is"),
    ("require", "RBOO >= 0.9", "did you mean RBO?"),
    ("require", "overlp@5 >= 0.9", "did you mean overlap@5?"),
    ("require", "RBO(p=.8) >= 0.9", "RBO(p=.8): a gate computes RBO with p = 0.9, without parameters"),
    ("require", "relstring >= 1", "relstring is text and cannot be checked"),
    ("max-drop", "AP", "max-drop 'AP' is not of the form 'nDCG@10 0.01' or 'nDCG@10 2%'"),
    ("max-drop", "AP -0.1", "the amount must not be below 0: improvement never fails"),
    ("max-drop", "num_q 1", "num_q has no value for each query, so runs cannot be compared by it. Use "
     "require"),
    ("max-drop", "coverage 1%", "'coverage 1%': coverage is checked by itself, with require"),
    ("max-drop", "nDCG@10 4", "nDCG@10 cannot fall by more, so this never fails. Write 'nDCG@10 4%'"),
    ("non-inferior", "RR tau 1", "RR cannot fall by more, so this never fails. Write 'RR 1%'"),
    ("non-inferior", "AP 400%", "AP cannot fall by more, so this never fails. Write 'AP 2%'"),
    ("max-query-drop", "AP 1 in 5%", "AP cannot fall by more, so this never fails. Write 'AP 0.5 in 5%'"),
    ("no-worse", "", "is not of the form"),
    ("no-worse", "AP 0.01", "0.01: unknown metric"),
    ("max-query-drop", "RR 0.5 in 101%", "the share of queries must be from 0% to 100%"),
])  # fmt: skip
def test_refused(kind: str, text: str, message: str) -> None:
    with pytest.raises(GradevalError) as raised:
        parse_checks(kind, text)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


GOLDEN = Path(__file__).parent / "golden"


def made(kind: str, text: str, verdict: str, *numbers: float, **more: object) -> CheckOutcome:
    [check] = parse_checks(kind, text)
    return CheckOutcome(check, verdict, *numbers, **more)  # type: ignore[arg-type]


def report() -> GateReport:
    worst = (WorstQuery("a|b_%\udcff", 0.25, 0.75), WorstQuery("=4", 0.5, 0.625))
    pairs = {"n": 5, "mean": 0.5, "baseline_mean": 0.53}
    outcomes = (
        made("require", "num_q >= 4", "held", 5.0, 4.0, 1.0),
        made("require", "coverage >= 95%", "held", 1.0, 0.95, 0.05),
        made("require", "nDCGphi@10 > 0.5", "failed", 0.499999, 0.5, -1e-6, n=5, worst=worst),
        made("max-drop", "AP 2%", "failed", 0.5, 0.5194, -0.0194, worst=worst[:1], **pairs),
        made("no-worse", "AP", "held", -0.03, 0.0, 0.01, low=-0.07, high=0.01, **pairs),
        made("non-inferior", "AP 0.01", "inconclusive", -0.03, -0.01, -0.06, low=-0.07, high=0.01, **pairs),
        made("max-query-drop", "RR 0.5 in 5%", "failed", 0.2, 0.05, -0.15, worst=worst[:1], **pairs),
        made("max-drop", "tau 0.1", "error", reason="tau is undefined: no query has a value in both runs"),
    )
    runs = (Coverage("neural|2", "neural|2.run", 5, 5), Coverage("bm25", "bm25.json", 5, 5))
    notices = (Notice(NoticeKind.FEW_QUERIES, "", 5, rule="gate"),)
    inputs = {"qrels": {"path": "q", "sha256": None}}
    subject = {"run": "neural|2.run", "baseline": "bm25.json", "qrels": "q", "options": "rel = 2"}
    return GateReport(outcomes, runs, 100.0, notices, inputs=inputs, name="all, 5%", subject=subject)


@each("format", [*FORMATS, "junit", "github"])
def test_whole_output(format: str) -> None:
    layouts = {
        "junit": lambda: ci.junit(report(), 4),
        "github": lambda: ci.github(report(), 4, ["few queries: 5 %"]),
    }
    text = layouts.get(format, lambda: report().render(format))()
    text = text.replace(f'"{gradeval.__version__}"', '"VERSION"')
    assert text.encode(errors="surrogateescape") == golden(GOLDEN / f"{format}.txt")


def test_verdict_lines() -> None:
    wrong = "the gate could not decide: 1 of 2 checks could not be judged"
    for verdicts, code, line in (
        ("held", 0, "gate held: 1 of 1 check held"),
        ("held held", 0, "gate held: 2 of 2 checks held"),
        ("held failed", 1, "gate failed: 1 of 2 checks did not hold (1 failed)"),
        ("failed inconclusive", 1, "gate failed: 2 of 2 checks did not hold (1 failed, 1 inconclusive)"),
        ("held error", 2, wrong),
        ("failed error", 2, f"{wrong}; 1 failed"),
        ("", 2, "the gate could not decide: see the errors"),
    ):
        gate = GateReport(tuple(made("no-worse", "AP", verdict) for verdict in verdicts.split()))
        assert (verdict_line(gate), gate.exit_code) == (line, code)
    # a margin that would be rounded to 0 is shown
    check = made("require", "AP > 0.5", "failed", 0.5, 0.5)
    shown = [texts(replace(check, margin=value), 4)["margin text"] for value in (-4e-6, -1e-12, NAN)]
    assert shown == ["-4e-06", "0.0000", "-"]


# attacks

IDS = [
    "::error::x", "\n::error::x", "%0A::error::x", "a\r\n::warning file=x::y", "\u2028::error::x",
    "\x85::error::x", "##[error]x", "x##[add-mask]y", "%", "%25", "@octocat", ":tada:", "octo/repo#12", "]]>",
    "]]><failure/>", "</failure></testcase>", "<script>alert(1)</script>", "<!-- -->", "&lt;&amp;&#10;",
    "\"'/>", "a|b", "a\\|b", "| x | y |\n|---|---|", "`code`", "**bold** _it_ ~~x~~", "# head", "$x$", "a\tb",
    "[a](https://example.org)", "![a](https://example.org/a.png)", "<https://example.org>",
    "https://example.org", "www.example.org", "\x00\x1b[31m\x07", "\udcff\ufffe\uffff", "\u202eabc",
]  # fmt: skip


def attacked() -> GateReport:
    worst = tuple(WorstQuery(id_, 0.1, 0.2) for id_ in IDS)
    outcomes = [made("max-drop", "AP 0.1", "failed", 0.1, 0.2, -0.1, worst=worst)]
    outcomes += [made("no-worse", "AP", "error", reason=f"{id_} has 1 of 2 judged queries") for id_ in IDS]
    runs = tuple(Coverage(id_, f"{id_}.run", 1, 2) for id_ in IDS[:2])
    return GateReport(tuple(outcomes), runs, problems=tuple(f"{id_}: no such file" for id_ in IDS))


COMMAND = re.compile(r"^\s*::[a-z-]+( [^:]*)?::|##\[\w+[^\]]*\]")


def commands(text: str) -> list[str]:
    """What GitHub's runner would take for a command: its two forms, after its ways to end a line."""
    return [line for line in re.split(r"\r\n|\r|\n", text) if COMMAND.search(line)]


@each("format", FORMATS)
def test_no_data_is_a_command(format: str) -> None:
    assert len(commands("\n".join(IDS))) == 7  # which the runner would obey
    text = attacked().render(format)
    assert commands(text) == []
    if format == "json":
        content = json.loads(text)
        assert [query["query"] for query in content["checks"][0]["worst"]] == IDS
        assert text.isascii()


def test_attacked_reports_are_ours() -> None:
    gate = attacked()
    lines = ci.github(gate, 4, IDS).split("\n")
    assert lines.pop() == ""
    assert len(lines) == len(gate.problems) + len(IDS) + len(gate.outcomes) + 1
    for line in lines:
        found = re.fullmatch(r"::(error|warning) title=gradeval gate::(.*)", line)
        assert found is not None and found[2].isprintable()
        assert not re.search("%(?!25)", found[2])
    shown = [line.partition("gate::")[2].replace("%25", "%") for line in lines]
    assert shown[1 : len(IDS) + 1] == [printable(problem) for problem in gate.problems]
    assert all(printable(id_) in shown[2 * len(IDS) + 1] for id_ in IDS)
    # a junit file is ours
    gate = attacked()
    text = ci.junit(gate, 4)
    text.encode()  # there is no byte that is not UTF-8
    suites = ElementTree.fromstring(text)
    assert [element.tag for element in suites.iter()][:2] == ["testsuites", "testsuite"]
    cases = suites.findall("./testsuite/testcase")
    assert len(cases) == len(gate.outcomes) + 1 == int(suites.attrib["tests"])
    assert {element.tag for case in cases for element in case} == {"failure", "error"}
    assert all(len(case) == 1 and not len(case[0]) for case in cases)
    assert all(f"query {printable(id_)}: baseline" in (cases[0][0].text or "") for id_ in IDS)
    said = [f"error: {printable(id_)} has 1 of 2 judged queries" for id_ in IDS]
    assert [case[0].attrib["message"] for case in cases[1:-1]] == said
    assert [suites.attrib[name] for name in ("failures", "errors")] == ["1", str(len(IDS) + 1)]

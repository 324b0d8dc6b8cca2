"""The verdicts of checks: a run is judged by them, against its baseline, a history or rankings."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

import numpy as np

from gradeval.arrays import Floats
from gradeval.commands.compare import compare as comparison
from gradeval.commands.compare.bounds import bounded_differences
from gradeval.commands.compare.coverage import (
    TOLERANCE,
    Coverage,
    at_least,
    coverage,
    coverage_of_runs,
    missing_notices,
)
from gradeval.commands.gate.checks import ALPHA, COVERAGE, KINDS, MAX_DROP, MAX_QUERY_DROP, NON_INFERIOR, Check
from gradeval.commands.gate.configuration import (
    FULL_COVERAGE,
    GateConfig,
    open_config,
    options_in_words,
    read_config,
)
from gradeval.commands.gate.history import LEAST as LEAST_LINES
from gradeval.commands.gate.history import GateHistory, HistoryChoice
from gradeval.commands.gate.rankings import RankingValues
from gradeval.commands.history.history import Window, means_of, records
from gradeval.compare_options import ALL, Groups
from gradeval.errors import InputError, OptionError, described, first_names
from gradeval.evaluation.bounds import check_bounds
from gradeval.evaluation.evaluation import complete, evaluate_all
from gradeval.evaluation.groups import positions_of_groups, results_of_groups
from gradeval.evaluation.loaded import results_of
from gradeval.evaluation.plan import Plan
from gradeval.evaluation.results import Results, Runs, SavedResult, notices_warned
from gradeval.evaluation.runs import separate_runs, with_saved
from gradeval.evaluation.saved import check_metrics
from gradeval.file_formats import LabelledRuns, labelled, short_name
from gradeval.formats.lines import TomlFile
from gradeval.formats.output import AppendedFile
from gradeval.notices import ENOUGH_TO_GATE, Notice, NoticeKind, lines, many
from gradeval.options import OF_WEIGHTED_RUNS, Options, checked_path, takes
from gradeval.registry.spec import Spec, is_num_q, parse
from gradeval.render.document import exact
from gradeval.render.printable import Printable, of_kind, warn
from gradeval.statistics.sampling import Sampling
from gradeval.statistics.tests import paired_tests
from gradeval.statistics.weighted import Sample
from gradeval.version import document_head

if TYPE_CHECKING:
    from gradeval.keywords import GateKeywords, Unpack


MISSING_SHOWN = 5  # ids of queries that a run lacks
RUN, BASELINE = 0, 1  # positions in Results.runs
_ONE_RUN = "Save the results of one run; in Python results.only(NAME) has one"
Part = TypeVar("Part")  # what is judged of a group
DifferenceLimits = dict[str, list[float]]  # of the difference of each query, NaN where there is none
Verdict = Literal["held", "failed", "inconclusive", "error"]  # error: it could not be judged


class Median(NamedTuple):
    """Of a history, in the place of the mean of a baseline."""

    history: str  # its path
    lines: int  # that the median is of


class WorstQuery(NamedTuple):
    """A query that counts against a check. NaN where there is no value."""

    query: str
    value: float
    baseline_value: float = math.nan

    def to_dict(self) -> dict[str, Any]:
        return {**self._asdict(), "difference": self.value - self.baseline_value}


@dataclass(frozen=True)
class CheckOutcome:
    """The outcome of a check, with NaN where there is no number."""

    check: Check
    verdict: Verdict
    # compared with the bound: of REQUIRE and MAX_DROP the value of the run, of NO_WORSE and NON_INFERIOR
    # the difference from the baseline, of the others a share from 0 to 1
    value: float = math.nan
    bound: float = math.nan
    margin: float = math.nan  # how far the value, or the deciding end of the interval, is on its right side
    mean: float = math.nan  # over the n pairs of values, as baseline_mean
    baseline_mean: float = math.nan
    low: float = math.nan  # of the interval of the difference
    high: float = math.nan
    n: int = 0
    reason: str = ""  # why it could not be judged, or has no bounds
    worst: tuple[WorstQuery, ...] = ()  # that count most against a check that did not hold
    exceeds: bool = False  # whether the mean is better by more than is tolerated below the baseline's
    # of the margin over the judgments that are missing, where these bounds are asked for and known
    lower_bound: float = math.nan
    upper_bound: float = math.nan
    median: Median | None = None  # that the bound is of

    def to_dict(self) -> dict[str, Any]:
        """Its fields, and those of its check as text."""
        of_check = self.check
        check = {"check": str(of_check), "kind": of_check.kind, "metric": of_check.metric}
        if of_check.group:
            check["group"] = of_check.group
        content = {**check, **vars(self), **check, "worst": [query.to_dict() for query in self.worst]}
        if math.isnan(self.lower_bound):
            del content["lower_bound"], content["upper_bound"]
        del content["median"]
        return content if self.median is None else {**content, "median": self.median._asdict()}


@dataclass(frozen=True, eq=False)
class GateReport(Printable):
    """The outcomes of all checks.

    >>> report = gradeval.gate("qrels.txt", "bm25.run", require="nDCG@10 >= 0.1")
    >>> report.held, report.verdict, [outcome.value for outcome in report.outcomes]
    """

    layout = "gradeval.commands.gate.layout"
    _for_layouts = ("updates", "has_bounds")

    outcomes: tuple[CheckOutcome, ...] = ()
    coverage: tuple[Coverage, ...] = ()  # of the run, and of the baseline if there is one
    min_coverage: float = FULL_COVERAGE
    notices: tuple[Notice, ...] = ()
    problems: tuple[str, ...] = ()  # errors that kept the checks from being judged at all, a line each
    inputs: Mapping[str, Any] = field(default_factory=dict)  # what was judged, as JSON can hold it
    name: str = ""
    subject: Mapping[str, str] = field(default_factory=dict)  # run, baseline, qrels and options, in words
    updates: bool = False  # whether RUN becomes the baseline where all checks hold
    has_bounds: bool = False  # whether checks against a baseline have bounds

    @property
    def counts(self) -> Counter[Verdict]:
        """How many checks have each verdict."""
        return Counter(outcome.verdict for outcome in self.outcomes)

    @property
    def held(self) -> bool:
        """Whether all checks held."""
        return self.exit_code == 0

    def __bool__(self) -> bool:
        return self.held

    def __repr__(self) -> str:
        return f"GateReport({self.verdict}, checks={len(self.outcomes)}, held={self.counts['held']})"

    @property
    def exit_code(self) -> int:
        """0: all checks held. 1: some did not. 2: they could not all be judged, or there are none."""
        if self.problems or not self.outcomes or self.counts["error"]:
            return 2
        return 0 if self.counts["held"] == len(self.outcomes) else 1

    @property
    def verdict(self) -> str:
        """That of all checks: held, failed or error."""
        return ("held", "failed", "error")[self.exit_code]

    def bounds(self) -> dict[str, float]:
        """By metric, the strictest bound that a mean has to be above, or below where low values are better."""
        bounds: dict[str, float] = {}
        for outcome in self.outcomes:
            check = outcome.check
            if check.is_bound_of_mean and not math.isnan(outcome.bound):
                stricter = min if check.low_is_better else max
                bounds[check.metric] = stricter(outcome.bound, bounds.get(check.metric, outcome.bound))
        return bounds

    def to_dict(self) -> dict[str, Any]:
        """The object that the json format prints."""
        return {
            **document_head("gate", "gate_format"),
            "name": self.name,
            **self.inputs,
            "verdict": self.verdict,
            "exit_code": self.exit_code,
            "min_coverage_percent": self.min_coverage,
            "runs": [
                {"role": role, **run.to_dict()}
                for role, run in zip(("run", "baseline"), self.coverage, strict=False)
            ],
            "checks": exact([outcome.to_dict() for outcome in self.outcomes]),
            "problems": list(self.problems),
            "notices": [notice.to_dict() for notice in self.notices],
        }


def judged_means(
    report: GateReport, results: Results | None, rankings: RankingValues | None, label: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    """The lines of a history: the means of the run that was judged. Raises OptionError for a label."""
    means: list[dict[str, Any]] = []
    if results is not None and report.outcomes:
        run = results.replace(runs=results.runs[:1])
        means += means_of(run, [outcome.check.spec for outcome in report.outcomes if outcome.check.spec])
    if rankings is not None and report.outcomes:
        means += rankings.means(outcome.check.measure for outcome in report.outcomes if outcome.check.measure)
    return records(means, label, bounds=report.bounds(), verdict=report.verdict)


@takes(OF_WEIGHTED_RUNS)
def gate(
    qrels: Any,
    run: Any = None,
    *,
    require: str | Iterable[str] = (),
    max_drop: str | Iterable[str] = (),
    no_worse: str | Iterable[str] = (),
    non_inferior: str | Iterable[str] = (),
    max_query_drop: str | Iterable[str] = (),
    config: str | os.PathLike[str] | None = None,
    baseline: Any = None,
    history: str | os.PathLike[str] | None = None,
    window: int | None = None,
    min_coverage: float | None = None,
    by: Any = None,
    bounds: bool = False,
    allow: str | Iterable[str] = (),
    worst: int = 5,
    name: str = "",
    **options: Unpack[GateKeywords],
) -> GateReport:
    """Judge a run by checks, as 'gradeval gate' does.

        >>> report = gradeval.gate("qrels.txt", "bm25.run", require=["nDCG@10 >= 0.45", "coverage >= 95%"])
        >>> assert report.held, report

    qrels, run: as evaluate() takes them; the run may also be Results of one run, or a file of saved ones.
    Without run, qrels are results alone, of one run or, with a baseline, joined with its. require: values that
    the run must have, such as 'nDCG@10 >= 0.45'. max_drop: by how much the mean may fall, such as 'nDCG@10 2%'.
    no_worse: metrics by which the run must not be significantly worse, such as 'nDCG@10'. non_inferior: by how
    much the interval of the difference may fall, such as 'nDCG@10 0.01'. max_query_drop: of how many queries
    the value may fall by more, such as 'RR 0.5 in 5%'. config: a file of checks in TOML, to which those above
    are added, and whose options those below replace. baseline: the run to compare with. history: a file of JSON
    Lines to which the means of the run are appended; without baseline, max_drop compares with it. window:
    compare max_drop with the median of so many last means of this name that held (14), with a baseline too.
    min_coverage: the percentage of the judged queries that a run must have to be judged; None: 100, or what a
    check of coverage requires. by: groups of queries, which checks name, 'nDCG@10[head] >= 0.4': a file or
    {query: group}. bounds: whether a check against the baseline is inconclusive where judgments of unjudged
    documents could turn it. allow: kinds of warnings that keep no check from being judged: 'undefined'. worst:
    queries to list for each check that did not hold. name: of the gate, in its title.

    Returns a GateReport: held, outcomes, exit_code, and what render() prints. Raises GradevalError for checks,
    data and options.
    """
    given = (require, max_drop, no_worse, non_inferior, max_query_drop)
    texts = {kind: _texts_of(kind, value) for kind, value in zip(KINDS, given, strict=True)}
    accepted = [_kind_of(kind) for kind in _texts_of("allow", allow)]
    no_file = TomlFile("checks", "", {})
    file = no_file if config is None else open_config(os.fspath(checked_path("config", config)))
    chosen_history = HistoryChoice(history, window)
    settings = read_config(file, texts, baseline, min_coverage, by, history=chosen_history, bounds=bounds)
    past = _opened_history(settings, [qrels, run, settings.baseline, config])
    evaluation = Options(**{**settings.options, **options})
    results = rankings = None
    if settings.of_metrics or (qrels is not None and run is not None):
        results = _results(qrels, run, settings, evaluation)
        _check_count(results, 1 + (settings.baseline is not None))
    if settings.of_rankings:
        sides = (separate_runs(qrels if run is None else run), separate_runs(settings.baseline))
        rankings = rankings_of(LabelledRuns(pair for side in sides for pair in side), settings, evaluation)
    settings = replace(settings, windows=past.windows(results))
    report = judge_all(results, rankings, settings, allow=accepted, worst=worst)
    past.append(judged_means(report, results, rankings, {}))
    before = notices_warned(qrels, run, baseline)
    for text in lines(of_kind(report.notices, False, before), len(report.coverage), in_python=True):
        warn(text)
    names = ("run", "baseline") if settings.uses_baseline else ("run",)
    roles = zip(names, map(_in_words, report.coverage), strict=False)
    judged = {} if results is None else {"qrels": results.qrels}
    subject = {**dict(roles), **judged, **options_in_words(evaluation, None)}
    return replace(report, name=name or settings.name, subject=subject)


def _in_words(run: Coverage) -> str:
    """Its path, with its name if that is not of the path: a history has lines of the name."""
    return run.path if run.name in (run.path, short_name(run.path)) else f"{run.name} ({run.path})"


def _opened_history(settings: GateConfig, inputs: Iterable[Any]) -> GateHistory:
    """That of a call in Python. Raises OptionError for one of the inputs, InputError(s) for a wrong line."""
    path = settings.history.path
    files = [os.fspath(file) for file in inputs if isinstance(file, (str, os.PathLike))]
    opened = None if path is None else AppendedFile(os.fspath(path), files, "history")
    return settings.opened_history(opened)


def _results(qrels: Any, run: Any, settings: GateConfig, evaluation: Options) -> Results:
    """The results of the run, and of the baseline if there is one."""
    runs = [data for data in (run, settings.baseline) if data is not None]
    if run is None and not evaluation.features:
        return results_of([qrels, *runs] if runs else qrels, evaluation)
    pairs = [pair for data in runs or [qrels] for pair in separate_runs(data)]
    judgments, opened_runs = with_saved(qrels, pairs)
    results = evaluate_to_gate(
        judgments,
        opened_runs,
        settings.of_metrics,
        evaluation,
        hashes=settings.history.path is not None,
        bounds=settings.bounds,
    )
    return complete(results)


def rankings_of(runs: Runs, settings: GateConfig, options: Options) -> RankingValues:
    """What checks of rankings judge: a run, then its baseline. Raises GradevalError."""
    if len(runs) != 2:
        raise InputError("run", f"there are {len(runs)} runs, and a gate judges one, against one baseline")
    measures = list(dict.fromkeys(check.measure for check in settings.of_rankings))
    return RankingValues.of(runs[RUN], runs[BASELINE], measures, options)


def _texts_of(name: str, texts: Any) -> list[str]:
    """One text or several. Raises OptionError for anything else."""
    is_several = isinstance(texts, Iterable) and not isinstance(texts, str)
    several = list(texts) if is_several else [texts]
    for text in several:
        if not isinstance(text, str):
            raise OptionError(f"{name.replace('-', '_')} must be strings, not {described(text)}")
    return several


def _kind_of(name: str) -> NoticeKind:
    """The kind of warnings of this name. Raises OptionError."""
    for kind in NoticeKind:
        if kind == name:
            return kind
    raise OptionError(f"allow: unknown kind of warnings {described(name)}")


def _check_count(results: Results, count: int) -> None:
    """Raise InputError where there are more runs than are judged, or fewer."""
    if len(results.runs) != count:
        names = first_names(run.name for run in results.runs)
        message = f"there are {len(results.runs)} runs ({names}), and a gate judges one"
        raise InputError("run", message + (", against one baseline" if count > 1 else ""), hint=_ONE_RUN)


def opened(qrels: str, run: str | None, baseline: str | None) -> tuple[Any, LabelledRuns]:
    """The qrels and the runs of a command line; without a run it is a feature of the qrels."""
    runs = [(None, qrels) if run is None else labelled(run)]
    judgments, opened = with_saved(qrels, runs if baseline is None else [*runs, labelled(baseline)])
    return judgments, LabelledRuns(opened)


def evaluate_to_gate(
    qrels: Any,
    runs: Runs,
    checks: Sequence[Check],
    options: Options,
    *,
    hashes: bool = False,
    bounds: bool = False,
) -> Results:
    """The results of the run, then of the baseline, with all metrics of the checks. hashes: as of Plan. bounds:
    whether those of differences are wanted.
    """
    if len(options.features) > 1:
        raise OptionError(f"there are {len(options.features)} features, and a gate judges one run. Choose one")
    specs = [*dict.fromkeys(check.spec for check in checks if check.spec is not None)]
    against = {check.spec for check in checks if check.needs_baseline}
    compared = [spec for spec in specs if spec in against]
    extra = list(specs or parse("num_q"))
    if compared and not options.judged_only:  # whether unjudged documents decide checks against a baseline
        extra.append(comparison.judged_spec(compared, runs))
    if isinstance(run := runs[RUN][1], SavedResult):
        check_metrics(run, specs)
    if bounds:
        options.replace(bounds=True)  # which is an error with options that leave no bounds
        check_bounds(compared)
    plan = Plan(
        compared,
        options,
        extra=list(dict.fromkeys(extra)),
        shows_queries=True,
        hashes=hashes,
        keeps_unjudged=bounds,
    )
    results = evaluate_all(plan, qrels, runs)
    if not results.failed and len(results.runs) != len(runs):
        path, count = Counter(result.path for result in results.runs).most_common(1)[0]
        raise InputError(path, f"it has {count} runs, and a gate judges one", hint=_ONE_RUN)
    return results


def needs_qrels(check: Check) -> str:
    """That a check of metrics needs QRELS, and which do not."""
    return (
        f"'{check}' is a check of a metric, which needs QRELS and RUN; without QRELS, checks are of rankings: "
        "RBO, overlap@k, jaccard@k, AO@k, same@k and same_set@k"
    )


def judge_all(
    results: Results | None,
    rankings: RankingValues | None,
    settings: GateConfig,
    *,
    allow: Collection[NoticeKind] = (),
    worst: int = 5,
) -> GateReport:
    """Judge results by the checks of metrics, and rankings by those of rankings; one of them at least is given.
    The other arguments are those of judge().
    """
    reports = []
    if results is not None:
        reports.append(judge(results, settings, allow=allow, worst=worst))
    if rankings is not None:
        reports.append(judge_rankings(rankings, settings, worst))
    outcome_of = {outcome.check: outcome for report in reports for outcome in report.outcomes}
    notices = dict.fromkeys(notice for report in reports for notice in report.notices)
    if settings.baseline is not None and not settings.uses_baseline:
        notices[Notice(NoticeKind.UNUSED_BASELINE, reports[0].coverage[BASELINE].name, 1)] = None
    return replace(
        reports[0],
        outcomes=tuple(outcome_of[check] for check in settings.checks),
        notices=tuple(notices),
    )


def judge_rankings(rankings: RankingValues, settings: GateConfig, worst: int) -> GateReport:
    """Judge a run by checks of its rankings; its coverage is that of the baseline's queries."""
    percent = settings.least_coverage
    checks = settings.of_rankings
    positions = _of_named_groups(checks, partial(positions_of_groups, rankings.queries), settings.groups)
    ids = dict(settings.groups)
    of_groups = {group: rankings.taken(chosen, group, ids[group]) for group, chosen in positions.items()}
    by_group = {"": rankings, **of_groups}
    outcomes = []
    for check in checks:
        part = by_group[check.group]
        outcome = _of_rankings(check, part, worst)
        if lacks := part.coverage[RUN].shortfall(percent):
            lacks += f"; it lacks {first_names(part.missing, MISSING_SHOWN)}"
            outcome = replace(outcome, verdict="error", reason=lacks)
        outcomes.append(outcome)
    return GateReport(
        outcomes=tuple(outcomes),
        coverage=rankings.coverage,
        min_coverage=percent,
        notices=tuple(rankings.notices),
    )


def _of_rankings(check: Check, rankings: RankingValues, worst: int) -> CheckOutcome:
    """The outcome of a check of rankings, by the mean or by the share of the queries for which it holds."""
    values = rankings.values[check.metric]
    gains = check.sign * (values - check.amount)
    value = float(values.mean())
    bound = check.amount
    margin = check.sign * (value - bound)
    holds = _holds(check, margin)
    if check.share:
        value = float(_holds(check, gains).mean())
        bound = check.share / 100
        margin = value - bound
        holds = at_least(margin, 0.0)
    outcome = CheckOutcome(check, "held" if holds else "failed", value, bound, margin, n=len(values))
    if holds:
        return outcome
    lowest = sorted(range(len(values)), key=lambda q: (gains[q], rankings.queries[q]))[:worst]
    of_queries = (WorstQuery(rankings.queries[q], float(values[q])) for q in lowest)
    return replace(outcome, worst=tuple(of_queries))


def _holds(check: Check, margin: Any) -> Any:
    """Whether a margin, or each of an array, is on the right side of the bound."""
    return margin > TOLERANCE if check.operator in (">", "<") else margin >= -TOLERANCE


def judge(
    results: Results, settings: GateConfig, *, allow: Collection[NoticeKind] = (), worst: int = 5
) -> GateReport:
    """Judge results of a run, and of its baseline if there is a second one, by the checks of metrics. Each must
    have the percentage of the judged queries that the settings say, and a metric values for so many unless
    allow has UNDEFINED; by default the run must have what a check of its coverage requires. worst: queries to
    list for each check. Raises OptionError, InputError.
    """
    checks = settings.of_metrics
    of_groups = _of_named_groups(checks, partial(results_of_groups, results), settings.groups)
    by_group = {"": results, **of_groups}
    bounded, of_bounds = _bounded(results, checks) if settings.bounds else ({}, [])
    outcomes = []
    for check in checks:
        if check.of_history:
            outcome = _against_history(check, results, settings)
        else:
            judge_check = _against_baseline if check.needs_baseline else _require
            outcome = judge_check(check, by_group[check.group], worst)
        reason = outcome.reason or _too_few(check, results, by_group[check.group], settings, allow)
        outcome = _with_bounds(outcome, by_group[check.group], bounded.get(check.spec))
        if reason:
            outcome = replace(outcome, verdict="error", reason=reason)
        outcomes.append(outcome)
    return GateReport(
        outcomes=tuple(outcomes),
        coverage=coverage_of_runs(results),
        min_coverage=settings.least_coverage,
        notices=(*_notices(results, checks, outcomes), *_of_history(results, settings.windows), *of_bounds),
        inputs={"qrels": results.judged_by, "options": dict(results.options)},
        has_bounds=settings.bounds,
    )


def _too_few(
    check: Check, results: Results, part: Results, settings: GateConfig, allow: Collection[NoticeKind]
) -> str:
    """Why the queries that a run has, or those with values, are too few to judge a check; '' if not. part: the
    results of the group of the check.
    """
    percent = settings.least_coverage
    required = _required_coverage(check.group, settings)
    lacks = []
    for r, run in enumerate(part.runs):
        of_group = check.group if run.missing is not None else ""
        is_checked = r == RUN and required is not None  # by that check, which fails where it has too few
        lacks.append("" if is_checked else _lacks(part if of_group else results, r, percent, of_group))
    defined = percent if required is None else required
    undefined = "" if NoticeKind.UNDEFINED in allow else _undefined(check, part, defined)
    return undefined or next(filter(None, lacks), "")


def _required_coverage(group: str, settings: GateConfig) -> float | None:
    """The percentage that checks of the coverage require of the run in place of --min-coverage: those of the
    group, or without any, of all queries.
    """
    if settings.min_coverage is not None:
        return None
    amounts: dict[str, float] = {}
    for check in settings.of_metrics:
        if check.spec is None and check.sign > 0:
            amounts[check.group] = max(100 * check.amount, amounts.get(check.group, 0.0))
    return amounts.get(group, amounts.get(""))


def _of_named_groups(
    checks: Sequence[Check], divided: Callable[[Groups], dict[str, Part]], groups: Groups
) -> dict[str, Part]:
    """What is judged of each group, where checks name groups. divided: takes it apart. Raises OptionError where
    there is no such group.
    """
    named = [check for check in checks if check.group]
    if not named:
        return {}
    for check in named:
        if check.group == ALL:
            plain = replace(check, group="")
            raise OptionError(f"'{check}': the mean over all queries needs no brackets, as in '{plain}'")
    if not groups:
        raise OptionError(f"'{named[0]}' is of a group of queries. Add --by FILE, with 'query TAB group' lines")
    of_groups = divided(groups)
    for check in named:
        if check.group not in of_groups:
            raise OptionError(f"'{check}': no query is in such a group: there are {first_names(of_groups)}")
    return of_groups


def _notices(results: Results, checks: Sequence[Check], outcomes: Iterable[CheckOutcome]) -> Iterator[Notice]:
    """The notices of the results that concern the checks, and of how far they can be judged."""
    names = {"", *(str(check.spec) for check in checks)}
    # those that name Judged@k, whether it is checked or not
    of_judged = (NoticeKind.JUDGED_SHARE, NoticeKind.JUDGED_DIFFERS)
    notices = (notice for notice in results.notices if notice.metric in names or notice.kind in of_judged)
    yield from that_matter(notices, checks)
    counts = [outcome.n for outcome in outcomes if outcome.n and outcome.check.metric != COVERAGE]
    fewest = min(counts, default=ENOUGH_TO_GATE)
    if fewest < ENOUGH_TO_GATE:
        yield Notice(NoticeKind.FEW_QUERIES, "", fewest, rule="gate")
    if any(check.needs_baseline for check in checks) and (judged := comparison.Judged.of(results)) is not None:
        yield from judged.notices([run.name for run in results.runs])


def that_matter(notices: Iterable[Notice], checks: Iterable[Check]) -> list[Notice]:
    """Without those of ties that change values of queries alone, where no check compares these."""
    by_query = {check.metric for check in checks if check.kind == MAX_QUERY_DROP}
    return [notice for notice in notices if notice.concerns_means or notice.metric in by_query]


def _undefined(check: Check, results: Results, percent: float) -> str:
    """Why the mean of the queries with values says nothing about all: they are fewer than this; '' if not."""
    if check.spec is None or is_num_q(check.spec):
        return ""
    runs = range(1 + check.needs_baseline)
    counted = np.logical_and.reduce([results.runs[r].counted for r in runs])
    has_values = ~np.isnan([results.values(r, check.spec) for r in runs]).any(axis=0)
    skipped = sum(
        notice.count
        for notice in results.notices
        # queries that it excludes were chosen
        if (notice.kind, notice.rule, notice.metric) == (NoticeKind.NO_RELEVANT, "skip", check.metric)
    )
    total = results.chosen
    if check.group:
        total = coverage(results, RUN).judged_queries
        if skipped and results.without_relevant is not None:
            skipped = len(comparison.without_relevant(results, check.spec))
    undefined = int((counted & ~has_values).sum()) - skipped
    if undefined <= 0 or at_least(100 * (total - undefined) / total, percent):
        return ""
    message = f"{check.label} is undefined for {undefined:,} of {total:,} judged queries"
    return f"{message}, where --min-coverage is {percent:g} %; --allow undefined excludes them"


def check_baseline(results: Results, path: str, percent: float) -> None:
    """Raise OptionError where the first run, as the baseline in this file, would let no gate decide."""
    if lacks := _lacks(results, RUN, percent):
        raise OptionError(f"--update-baseline {path}: {lacks}. No gate could decide by it: complete the run")


def _lacks(results: Results, r: int, percent: float, group: str = "") -> str:
    """Why a run is not judged: it has too few of the judged queries; '' if not. group: of which results are."""
    run = coverage(results, r)
    if group:
        run = run._replace(unit=f"{run.unit} in {group}")
    shortfall = run.shortfall(percent, f"the baseline {run.path}" if r == BASELINE else "")
    missing = _missing_ids(results, r)
    lacks = f"; it lacks {first_names(missing, MISSING_SHOWN)}" if missing else ""
    return shortfall and shortfall + lacks


def _require(check: Check, results: Results, worst: int) -> CheckOutcome:
    if check.group and check.spec is None and results.runs[RUN].missing is None:
        reason = "the saved result does not name all queries that the run lacks, so a group has no coverage"
        return CheckOutcome(check, "error", bound=check.amount, reason=reason)
    value, n = _required_value(check.spec, results)
    if math.isnan(value):
        return CheckOutcome(check, "error", bound=check.amount, reason=f"{check.metric} is undefined", n=n)
    margin = check.sign * (value - check.amount)
    outcome = CheckOutcome(check, "held", value, check.amount, margin, n=n)
    if not _holds(check, margin):
        outcome = replace(outcome, verdict="failed", worst=_worst_required(check, results, worst))
    return outcome


def _required_value(spec: Spec | None, results: Results) -> tuple[float, int]:
    """The value of the run, and of how many queries it is one, or 0. spec: None for coverage."""
    if spec is None:
        of_run = coverage(results, RUN)
        return of_run.share, of_run.judged_queries
    if is_num_q(spec):
        return float(results.runs[RUN].counted.sum()), 0
    is_summed = spec.metric.is_summed
    n = Sample.of(results.values(RUN, spec), None if is_summed else results.weights).n
    if is_summed and results.undefined(RUN, spec):
        return math.nan, n
    return results.mean(RUN, spec), n


def _worst_required(check: Check, results: Results, count: int) -> tuple[WorstQuery, ...]:
    """The queries that count most against a check of a value, as many as this."""
    if check.spec is None:
        missing = _missing_ids(results, RUN)
        return tuple(WorstQuery(query, math.nan) for query in missing[:count])
    if not check.spec.metric.per_query:
        return ()
    by_id = comparison.QueryValues.of(results, [check.spec]).in_order_of_ids()
    gains = by_id.values[RUN, 0] * check.sign
    empty = comparison.without_relevant(results, check.spec)
    lowest = comparison.lowest(gains, len(gains))
    relevant_first = sorted(lowest, key=lambda q: by_id.queries[q] in empty)
    return _worst(by_id, relevant_first[:count])


def _missing_ids(results: Results, r: int) -> list[str]:
    """The judged queries that a run lacks; the first ones where no more is known."""
    missing = results.runs[r].missing
    if missing is None:
        return [query for notice in missing_notices(results, r) for query in notice.queries]
    return [results.queries[q] for q in np.flatnonzero(missing).tolist()]


def _worst(values: comparison.QueryValues, positions: Iterable[int]) -> tuple[WorstQuery, ...]:
    return tuple(WorstQuery(values.queries[q], *values.values[:, 0, q].tolist()) for q in positions)


def _against_baseline(check: Check, results: Results, worst: int) -> CheckOutcome:
    """By the queries where both the run and the baseline have a value."""
    assert check.spec is not None
    values = comparison.QueryValues.of(results, [check.spec])
    sign = values.metrics[0].sign
    gains = _gains(values)
    outcome = _paired_means(check, values, gains)
    gain = Sample.of(gains, values.weights).mean
    if undefined := _without_pairs(results, values, gain):
        return replace(outcome, reason=f"{check.metric} is undefined{undefined}")
    amount = check.amount
    if check.is_relative:
        amount *= abs(outcome.baseline_mean) / 100
    if check.kind == MAX_DROP:
        bound = outcome.baseline_mean - sign * amount
        outcome = replace(outcome, value=outcome.mean, bound=bound, margin=amount + gain)
    elif check.kind == MAX_QUERY_DROP:
        share = _share_below(gains, -amount)
        bound = check.share / 100
        outcome = replace(outcome, value=share, bound=bound, margin=bound - share)
    else:
        outcome = replace(outcome, value=sign * gain, bound=0.0 - sign * amount)
        outcome = _with_interval(outcome, values, gains, amount)
        if outcome.reason:
            return outcome
    if at_least(outcome.margin, 0.0):
        exceeds = check.kind in (MAX_DROP, NON_INFERIOR) and gain > amount + TOLERANCE
        return replace(outcome, verdict="held", exceeds=exceeds)
    contains_bound = False
    if check.kind == NON_INFERIOR:
        highest_gain = outcome.high if sign > 0 else -outcome.low
        contains_bound = at_least(highest_gain + amount, 0.0)
    verdict: Verdict = "inconclusive" if contains_bound else "failed"
    return replace(outcome, verdict=verdict, worst=_fallen(values, worst))


def _against_history(check: Check, results: Results, settings: GateConfig) -> CheckOutcome:
    """The mean against the median of a history."""
    window = settings.windows[check.metric]
    path = os.fspath(settings.history.path or "")
    value, n = _required_value(check.spec, results)
    outcome = CheckOutcome(check, "error", value=value, mean=value, n=n)
    if check.group:
        return replace(outcome, reason="a history has the means of all queries, not of groups")
    if (count := len(window.means)) < LEAST_LINES:
        lacks = f"{path} has {many(count, 'line', 'lines')} of {results.runs[RUN].name} that held"
        hint = f"gradeval QRELS NAME=RUN -m '{check.metric}' --history FILE adds one, and this gate none"
        return replace(outcome, reason=f"{lacks}, and a median needs {LEAST_LINES}; {hint}")
    if math.isnan(value):
        return replace(outcome, reason=f"{check.metric} is undefined")
    sign = -1 if check.low_is_better else 1
    amount = check.amount * abs(window.median) / 100 if check.is_relative else check.amount
    gain = sign * (value - window.median)
    bound, margin = window.median - sign * amount, amount + gain
    median = Median(path, count)
    outcome = replace(outcome, bound=bound, margin=margin, baseline_mean=window.median, median=median)
    return replace(outcome, verdict="held" if at_least(margin, 0.0) else "failed")


def _of_history(results: Results, windows: Mapping[str, Window]) -> Iterator[Notice]:
    """The notices of lines of a history with another signature than the run has now."""
    run = results.runs[RUN].name
    for metric, window in windows.items():
        count = window.differing(results.signature(RUN, metric))
        if count and len(window.means) >= LEAST_LINES:
            yield Notice(NoticeKind.SIGNATURES, run, count, metric, total=len(window.means))


def _bounded(
    results: Results, checks: Iterable[Check]
) -> tuple[dict[Spec | None, DifferenceLimits], list[Notice]]:
    """The lowest and the highest difference of each query from the baseline by the metrics of the checks, and
    what is to be said of those without.
    """
    specs = [*dict.fromkeys(check.spec for check in checks if check.spec is not None and check.needs_baseline)]
    by_pair, notices = bounded_differences(results, specs, [(BASELINE, RUN)])
    [bounded] = by_pair.values()
    values = comparison.QueryValues.of(results, specs)
    of_specs = zip(specs, values.differences(BASELINE, RUN), strict=True)
    limits: dict[Spec | None, DifferenceLimits] = {
        spec: dict(zip(values.queries, bounded.limits(m, differences).T.tolist(), strict=True))
        for m, (spec, differences) in enumerate(of_specs)
    }
    return limits, notices


def _with_bounds(outcome: CheckOutcome, results: Results, limits: DifferenceLimits | None) -> CheckOutcome:
    """With the bounds of its margin; inconclusive where judgments could turn it. The interval of a difference
    is moved, as wide as it is, and an amount in percent stays that of the baseline's mean as it is judged.
    """
    check = outcome.check
    if limits is None or check.spec is None or not check.needs_baseline or outcome.reason:
        return outcome
    values = comparison.QueryValues.of(results, [check.spec])
    of_queries = values.metrics[0].sign * np.array([limits[query] for query in values.queries]).T
    gains = _gains(values)
    lowest = of_queries.min(axis=0)
    highest = of_queries.max(axis=0)
    if np.isnan(lowest).all():
        return replace(outcome, reason=f"no bounds over missing judgments are known of {check.metric}")
    if check.kind == MAX_QUERY_DROP:
        margins = [outcome.bound - _share_below(of_world, -check.amount) for of_world in (lowest, highest)]
    else:
        gain, *of_worlds = (Sample.of(column, values.weights).mean for column in (gains, lowest, highest))
        margins = [outcome.margin + of_world - gain for of_world in of_worlds]
    lower, upper = margins
    is_open = at_least(lower, 0.0) != at_least(upper, 0.0)
    verdict = "inconclusive" if is_open else outcome.verdict
    return replace(outcome, verdict=verdict, lower_bound=lower, upper_bound=upper)


def _share_below(gains: Floats, amount: float) -> float:
    """The share of the queries with a value whose gain is below the amount, from 0 to 1."""
    return float((gains[~np.isnan(gains)] < amount - TOLERANCE).mean())


def _gains(values: comparison.QueryValues) -> Floats:
    """How much better the run is for each query, (Q,): a loss is below 0. NaN without both values."""
    gains: Floats = values.metrics[0].sign * values.differences(BASELINE, RUN)[0]
    return gains


def _paired_means(check: Check, values: comparison.QueryValues, gains: Floats) -> CheckOutcome:
    """The means of both runs over their pairs of values, before the verdict."""
    is_paired = ~np.isnan(gains)
    mean, baseline_mean = (
        Sample.of(np.where(is_paired, of_run, np.nan), values.weights).mean for of_run in values.values[:, 0]
    )
    n = int(is_paired.sum()) if check.kind == MAX_QUERY_DROP else Sample.of(gains, values.weights).n
    return CheckOutcome(check, "error", n=n, mean=mean, baseline_mean=baseline_mean)


def _without_pairs(results: Results, values: comparison.QueryValues, gain: float) -> str:
    """Where the metric is undefined so that no check against the baseline can be judged, '' if nowhere."""
    if math.isnan(gain):
        of_weight = "" if values.weights is None else " with a weight above 0"
        return f": no query{of_weight} has a value in both runs"
    lacks, baseline_lacks = np.isnan(values.values[:, 0])
    lost = int((lacks & ~baseline_lacks & results.runs[RUN].counted).sum())
    return f" for {many(lost, 'query', 'queries')} where the baseline has a value" if lost else ""


def _with_interval(
    outcome: CheckOutcome, values: comparison.QueryValues, gains: Floats, amount: float
) -> CheckOutcome:
    """With the interval, which must reach 0; for NON_INFERIOR, it must lie above minus the amount."""
    [test] = paired_tests("t", gains[:, None], ALPHA, Sampling(), values.weights)
    if math.isnan(test.low):
        return replace(outcome, reason=f"no interval: {test.reason}")
    low, high = (test.low, test.high) if values.metrics[0].sign > 0 else (-test.high, -test.low)
    margin = (test.low if outcome.check.kind == NON_INFERIOR else test.high) + amount
    return replace(outcome, margin=margin, low=low, high=high)


def _fallen(values: comparison.QueryValues, count: int) -> tuple[WorstQuery, ...]:
    """The queries that lost most, as many as this."""
    by_id = values.in_order_of_ids()
    gains = _gains(by_id)
    return _worst(by_id, [q for q in comparison.lowest(gains, count) if gains[q] < 0])

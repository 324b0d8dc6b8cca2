"""Saved results instead of runs: they are read, checked against the request, and not evaluated."""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, NoReturn, cast

import numpy as np

from gradeval.arrays import Bools
from gradeval.errors import GradevalError, InputError, MetricError, OptionError, first_names, named
from gradeval.evaluation import evaluate_all
from gradeval.evaluation.evaluator import Evaluator
from gradeval.evaluation.findings import with_depths
from gradeval.evaluation.results import FailedRun, Results, RunResult
from gradeval.evaluation.runs import Planned, check_labels, names_of
from gradeval.evaluation.score import summarize
from gradeval.formats.saved import SavedResult, SavedRun, is_saved, read_saved
from gradeval.formats.sources import Source
from gradeval.notices import Kind, Notice, many
from gradeval.options import DEFAULT_TIES, VALUES, Options
from gradeval.registry.spec import Spec, is_num_q, parse
from gradeval.tables.load import is_file, is_path, source_of

Runs = Sequence[tuple[str | None, Any]]
"""(name, run) pairs; a run may be a SavedResult, or a FailedRun instead of one that cannot be read."""

# the options that decide the values; the others say how to read files, or what is printed
_DECIDING = Options.names(within=VALUES)
_DEFAULTS = Options().to_dict()  # of a saved result that does not have them
_SHORT_HASH = 12
_SAME = 1e-9  # of a summary and the mean of its values


def with_saved(qrels: Any, runs: Runs) -> tuple[Any, list[tuple[str | None, Any]]]:
    """The qrels and the runs, with each run file that holds saved results read as a SavedResult.

    Other files come back as Sources, since a pipe that was looked at cannot be opened again. A damaged saved
    result comes back as a FailedRun; any other file that cannot be read is left to the evaluation to report.
    Raises InputError where the qrels are a saved result.
    """
    if is_path(qrels):
        qrels = source_of(qrels)
        if _is_saved(qrels):
            hint = "The qrels come first, then runs and saved results"
            raise InputError(qrels.name, "this saved result is in the place of the qrels", hint=hint)
    found: list[tuple[str | None, Any]] = []
    for name, run in runs:
        if not is_path(run) or (is_path(qrels) and is_file(run, qrels.name)):
            found.append((name, run))
            continue
        source = source_of(run)
        found.append((name, _read(source) if _is_saved(source) else source))
    return qrels, found


def _read(source: Source) -> SavedResult | FailedRun:
    try:
        saved = read_saved(source)
        _check_options(saved)
        _check_notices(saved)
        for run in saved.runs:
            _check_values(saved, run)
        return saved
    except InputError as error:
        return FailedRun(source.name, error)


def _check_options(saved: SavedResult) -> None:
    """Raise InputError for a value that an option cannot have."""
    try:
        Options.of(**{name: saved.options[name] for name in _DECIDING if name in saved.options})
    except OptionError as error:
        raise InputError(saved.path, f"an option in it is not valid ({error})") from None


def _check_notices(saved: SavedResult) -> None:
    """Raise InputError for one that cannot be read, or has no sentence."""
    try:
        for one in saved.notices:
            notice = Notice.from_dict(one, str(one.get("subject", "")))
            str(notice)
            if notice.kind is Kind.JUDGED_SHARE:
                int(notice.metric.removeprefix("Judged@"))
    except (TypeError, ValueError, KeyError):
        raise InputError(saved.path, "a notice in it is not valid") from None


def _check_values(saved: SavedResult, run: SavedRun) -> None:
    """Raise InputError where a run has not the values that it says, or their summary is another one."""

    def fail(what: str) -> NoReturn:
        raise InputError(saved.path, f"run {named(run.name)}: {what}", hint="Evaluate the run again")

    columns = next(iter(run.values.values()), {})
    for name in columns:
        if name not in saved.metrics:
            fail(f"there are values of {named(name)}, which is not among its metrics")
    for name in saved.metrics:
        spec = _known(name)
        if spec is None or not spec.metric.per_query or spec.metric.text:
            continue
        if name not in columns:
            fail(f"there are no numbers of {name}")
        if run.summary is None:
            continue
        values = np.array([[row[name] for row in run.values.values()]])
        undefined, stated = int(np.isnan(values).sum()), run.undefined.get(name, 0)
        if undefined != stated:
            fail(f"{name} is undefined for {many(undefined, 'query', 'queries')}, and not for {stated:,}")
        [mean] = summarize([spec], values, np.ones(values.shape[1], np.bool_)).tolist()
        if name not in run.summary:
            fail(f"there is no summary of {name}")
        summary = run.summary[name]
        is_same = math.isclose(mean, summary, rel_tol=_SAME, abs_tol=_SAME)
        if not is_same and not (math.isnan(mean) and math.isnan(summary)):
            fail(f"the summary of {name} is {summary!r}, and that of its values {mean!r}")


def _known(name: str) -> Spec | None:
    """The metric, None without the plugin that has it."""
    try:
        [spec] = parse(name)
    except (MetricError, ValueError):
        return None
    return spec


def _is_saved(source: Source) -> bool:
    try:
        return is_saved(source)
    except InputError:
        return False


def saved_specs(runs: Runs) -> list[Spec] | None:
    """The metrics that all saved results have, None if there are none: what to take where nothing is chosen.

    Raises InputError where they have none in common.
    """
    saved = [run for _, run in runs if isinstance(run, SavedResult)]
    if not saved:
        return None
    first, *others = (_specs(run) for run in saved)
    common = [spec for spec in first if all(spec in other for other in others)]
    if first and not common:
        what = f"no metric is in every saved result ({_metrics_by_file(saved)})"
        raise InputError(saved[-1].path, what, hint="Evaluate the runs again, with the same metrics")
    return common or None


def excluded_metrics(runs: Runs, unlisted: Callable[[Spec], bool] = lambda spec: False) -> list[Notice]:
    """That saved results have metrics that are not among saved_specs. unlisted: of which nobody need know."""
    saved = [run for _, run in runs if isinstance(run, SavedResult)]
    common = saved_specs(runs) or []
    every = dict.fromkeys(spec for run in saved for spec in _specs(run))
    left = [str(spec) for spec in every if spec not in common and not unlisted(spec)]
    if not left:
        return []
    rule = f"{', '.join(left)} ({_metrics_by_file(saved)})"
    return [Notice(Kind.EXCLUDED_METRICS, "", len(left), rule=rule)]


def _specs(saved: SavedResult) -> list[Spec]:
    """The metrics that can be taken from it. Raises InputError."""
    try:
        return [spec for spec in parse(saved.metrics) if _has_numbers(spec)]
    except MetricError as error:
        raise InputError(saved.path, f"its metrics: {error}") from None


def _metrics_by_file(saved: Sequence[SavedResult]) -> str:
    """'a.json has AP, nDCG@10; b.json has P@5'."""
    of_file = {run.path: first_names(map(str, _specs(run))) for run in saved}
    return "; ".join(f"{path} has {names}" for path, names in of_file.items())


def _has_numbers(spec: Spec) -> bool:
    """Whether a saved result has what makes its value."""
    return not spec.metric.text and (spec.metric.per_query or is_num_q(spec))


def evaluate_with_saved(
    qrels: Any,
    runs: Runs,
    specs: Sequence[Spec],
    options: Options,
    on_run: Callable[[Results], None] | None = None,
    keep_values: bool = True,
    *,
    optional: Sequence[Spec] = (),
    hashes: bool = False,
    is_part: bool = False,
    **how: Any,
) -> Results:
    """evaluation.evaluate_all for runs and saved results; they keep their order.

    optional: metrics to evaluate too, which a saved result may lack; its values are then NaN. Queries are those
    of the qrels. A saved result made from other qrels, with other options or without a metric becomes an error.
    on_run: where there are saved results, it is shown them and the runs after all have been evaluated.
    """
    metrics = list(dict.fromkeys([*specs, *optional]))
    if not any(isinstance(run, (SavedResult, FailedRun)) for _, run in runs):
        return evaluate_all(qrels, runs, metrics, options, on_run, keep_values, is_part, hashes=hashes, **how)
    check_labels(runs)
    fresh = [(name, run) for name, run in runs if not isinstance(run, (SavedResult, FailedRun))]
    parts: deque[Results] = deque()
    evaluator = Evaluator.of(qrels, metrics, options, runs=fresh, hashes=True, **how)
    results = evaluator.evaluate_each(fresh, parts.append)
    empty = evaluator.without_relevant()
    wanted = [spec for spec in results.specs if spec in specs or spec not in optional]
    each = len(options.features) or 1  # runs of a file
    merged: list[_Merged] = []
    for name, run in runs:
        if isinstance(run, FailedRun):
            merged.append(_Merged(run))
        elif isinstance(run, SavedResult):
            merged += _of_saved(name, run, evaluator, results, wanted, options, empty)
        else:
            merged += (_Merged.of(part, name is not None) for part in _taken(parts, run, each))
    found = [(one.run, one.notices) for one in merged if isinstance(one.run, RunResult)]
    names = _names([(one.run, one.is_labelled) for one in merged if isinstance(one.run, RunResult)])
    renamed = [replace(run, name=name) for (run, _), name in zip(found, names, strict=True)]
    noted = [
        tuple(replace(notice, subject=name) for notice in notices)
        for (_, notices), name in zip(found, names, strict=True)
    ]
    if on_run is not None:
        of_runs = iter(zip(renamed, noted, strict=True))
        for one in merged:
            if isinstance(one.run, FailedRun):
                on_run(replace(results, runs=(), notices=(), failed=(one.run,)))
            else:
                run, notices = next(of_runs)
                on_run(replace(results, runs=(run,), notices=notices, failed=()))
    counted = np.any([run.counted for run in renamed], axis=0) if renamed else np.empty(0, np.bool_)
    # it shows that enough was judged; of a saved run nothing else does
    saved = (notice for _, run in runs if isinstance(run, SavedResult) for notice in run.notices)
    kinds = {*(notice.kind.value for notice in results.notices), *(notice["kind"] for notice in saved)}
    share = 1.0 if Kind.ALL_RELEVANT.value in kinds else 0.0
    of_qrels = evaluator.notices_of_qrels(counted, share, empty if renamed else None)
    depths = [(run.name, run.depth) for run in renamed]
    found_notices = (*of_qrels, *(notice for notices in noted for notice in notices))
    whole = replace(
        results,
        runs=tuple(renamed),
        notices=with_depths(found_notices, depths, results.specs, results.options),
        failed=tuple(one.run for one in merged if isinstance(one.run, FailedRun)),
    )
    return whole if keep_values else whole.summarized()


class _Merged(NamedTuple):
    """A run, evaluated or saved, with the notices about it."""

    run: RunResult | FailedRun
    notices: tuple[Notice, ...] = ()
    is_labelled: bool = False

    @classmethod
    def of(cls, part: Results, is_labelled: bool) -> _Merged:
        """Of the results of one run."""
        return cls(part.failed[0]) if part.failed else cls(part.runs[0], part.notices, is_labelled)


def _taken(parts: deque[Results], run: Any, count: int) -> Iterator[Results]:
    """The parts that are about a run, which begins the parts: up to `count` with its path, at least one."""
    path = source_of(run).name if is_path(run) else None
    for k in range(count):
        if not parts or (k and path is not None and not _path_of(parts[0]).startswith(path)):
            return
        yield parts.popleft()


def _path_of(part: Results) -> str:
    return part.failed[0].path if part.failed else part.runs[0].path


def _of_saved(
    name: str | None,
    saved: SavedResult,
    evaluator: Evaluator,
    results: Results,
    specs: Sequence[Spec],
    options: Options,
    empty: Bools,
) -> list[_Merged]:
    """The runs of a saved result, or why it cannot be used.

    empty: which queries have nothing relevant to a metric of the results that needs it, (M, Q).
    """
    try:
        if options.tie_range:
            raise InputError(saved.path, "it has no values of other orders of ties", hint="Give the run itself")
        _check(saved, results, specs)
        several = len(saved.runs) > 1
        lacking = [spec for spec in results.specs if not is_num_q(spec) and str(spec) not in saved.metrics]
        merged = []
        for run in saved.runs:
            own = run.name if not name else f"{name}:{run.name}" if several else name
            result = _run_result(own, saved, run, results)
            noted = (one for one in saved.notices if one.get("subject") == run.name)
            notices = (Notice.from_dict(one, own) for one in noted)
            kept = evaluator.notices_of_saved(result, notices, empty, lacking)
            merged.append(_Merged(result, tuple(kept), bool(name)))
        return merged
    except GradevalError as error:
        return [_Merged(FailedRun(saved.path, error))]


def _check(saved: SavedResult, results: Results, specs: Sequence[Spec]) -> None:
    """Raise InputError where the saved result was not made as the results are, with the difference."""
    if saved.qrels_sha256 != results.qrels_sha256:
        ours = "no file" if results.qrels_sha256 is None else f"SHA-256 {results.qrels_sha256[:_SHORT_HASH]}"
        what = (
            f"it was made from other qrels: {saved.qrels} (SHA-256 {saved.qrels_sha256[:_SHORT_HASH]}), "
            f"not {results.qrels} ({ours})"
        )
        raise InputError(saved.path, what, hint="Evaluate the run again with these qrels")
    if saved.groups_sha256 != results.groups_sha256:
        hashes = (saved.groups_sha256, results.groups_sha256)
        theirs, ours = ("no file of them" if one is None else f"SHA-256 {one[:_SHORT_HASH]}" for one in hashes)
        what = f"it was made with other group sizes ({theirs}), not those of this command ({ours})"
        raise InputError(saved.path, what, hint="Give the same --groups, or evaluate the run again")
    for name in _DECIDING:
        theirs, ours = (
            _comparable(name, of) for of in (saved.options.get(name, _DEFAULTS[name]), results.options[name])
        )
        if theirs != ours and not (name == "ties" and _same_ties(theirs, saved, ours, results)):
            flag = "--" + name.replace("_", "-")
            made = f"the default {flag}" if theirs is None else f"{flag} {_shown(theirs)}"
            what = f"it was made with {made}, and this command has {_shown(ours)}"
            raise InputError(saved.path, what, hint="Give the same options, or evaluate the run again")
    check_metrics(saved, specs)
    if not saved.runs:
        raise InputError(saved.path, "it has no runs")


def check_metrics(saved: SavedResult, specs: Sequence[Spec]) -> None:
    """Raise InputError where the saved result lacks a metric, or has no numbers per query of it."""
    for spec in specs:
        if not _has_numbers(spec):
            what = f"{spec} cannot be taken from a saved result, which has numbers per query"
            raise InputError(saved.path, what, hint="Choose other metrics, or give the run itself")
    specs = [spec for spec in specs if not is_num_q(spec)]
    lacking = [str(spec) for spec in specs if str(spec) not in saved.metrics]
    if lacking:
        what = f"it has no values of {', '.join(lacking)}, only of {', '.join(saved.metrics)}"
        raise InputError(saved.path, what, hint="Choose other metrics, or evaluate the run again")


def _same_ties(theirs: Any, saved: SavedResult, ours: Any, results: Results) -> bool:
    """Whether the order of ties is the same though only one of the two was asked for by its name."""
    used = [_used_ties(theirs, saved.runs), _used_ties(ours, results.runs)]
    return used[0] is not None and used[0] == used[1]


def _used_ties(given: str | None, runs: Sequence[SavedRun] | Sequence[RunResult]) -> str | None:
    """The order of ties that was asked for, or else that of all runs; None where it is unknown or differs."""
    used = {run.ties for run in runs}
    return used.pop() if given is None and len(used) == 1 else given


def _comparable(name: str, value: Any) -> Any:
    if name == "columns" and isinstance(value, (list, tuple)):  # that of scores is of the run alone
        return sorted("=".join(map(str, one)) for one in value if one[0] != "score") or None
    return sorted(map(str, value)) if isinstance(value, (list, tuple)) else value


def _shown(value: Any) -> str:
    if value is None:
        return "the default"
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, float):
        return repr(value).removesuffix(".0")
    return named(",".join(value)) if isinstance(value, list) else str(value)


def _run_result(name: str, saved: SavedResult, run: SavedRun, results: Results) -> RunResult:
    """The values of a saved run, aligned with the queries of the results."""
    position = {query: q for q, query in enumerate(results.queries)}
    unknown = [query for query in run.values if query not in position]
    if unknown:
        raise InputError(saved.path, f"query {named(unknown[0])} is not in {results.qrels}")
    asked = results.options["query_ids"]
    wanted = position if asked is None else set(cast("tuple[str, ...]", asked))
    if other := next((query for query in run.values if query not in wanted), None):
        raise InputError(saved.path, f"query {named(other)} of run {named(run.name)} was not asked for")
    if results.options["queries"] == "judged" and len(run.values) < len(wanted):
        lacking = next(query for query in wanted if query not in run.values)
        what = f"run {named(run.name)} has no values of query {named(lacking)}"
        raise InputError(saved.path, what, hint="Evaluate the run again")
    values = np.full((len(results.specs), len(position)), np.nan)
    counted = np.zeros(len(position), np.bool_)
    at = [position[query] for query in run.values]
    counted[at] = True
    for m, spec in enumerate(results.specs):
        column = str(spec)
        if is_num_q(spec):
            values[m, at] = 1.0
            continue
        values[m, at] = [row.get(column, np.nan) for row in run.values.values()]
    ties = run.ties or DEFAULT_TIES
    return RunResult(name, saved.path, run.sha256, values, counted, ties=ties, depth=run.depth)


def _names(runs: Sequence[tuple[RunResult, bool]]) -> list[str]:
    """Different names: labels, and those that the runs have; where two have one, it becomes that of the file.

    runs: each run, and whether its name is a label. A run of a file of several has its own name behind that of
    the file.
    """
    count = Counter(run.path for run, _ in runs)
    return names_of(
        [
            Planned(
                run.name if is_labelled else None,
                f"{run.path}:{run.name}" if count[run.path] > 1 else run.path,
                run.name,
            )
            for run, is_labelled in runs
        ]
    )

"""Saved results, printed by `gradeval -f json -q`, in the place of the runs that they were made from."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain
from types import NoneType
from typing import Any, NamedTuple

import numpy as np

from gradeval.arrays import Bools, Floats
from gradeval.errors import GradevalError, InputError, MetricError, OptionError, described, first_names, named
from gradeval.evaluation.caveats import Outcome, facts_of_saved, left_out_of_groups
from gradeval.evaluation.depths import QUANTILES
from gradeval.evaluation.plan import EvaluationSetting, Plan
from gradeval.evaluation.results import (
    BOUNDS,
    TIE_RANGE,
    FailedRun,
    Results,
    RunResult,
    Runs,
    SavedResult,
    SavedRun,
    Summary,
    has_numbers,
    is_summarized,
    option_text,
)
from gradeval.evaluation.score import summarize
from gradeval.file_formats import LabelledRun
from gradeval.formats.detect import begins_saved
from gradeval.formats.json import parse_json
from gradeval.formats.lines import read_text
from gradeval.formats.sources import Source
from gradeval.notices import Notice, NoticeKind, Notices
from gradeval.options import DEFAULT_TIES, LETOR_TIES, OF_RUN, VALUES, Options
from gradeval.registry.spec import Spec, group_of, is_num_q, named_specs, parse
from gradeval.version import __version__, document_head

_SAME = 1e-9  # of a summary and the mean of its values


def look_for_saved(qrels: Any, runs: Runs) -> tuple[Any, list[LabelledRun]]:
    """with_saved(), where files may be saved results."""
    if isinstance(qrels, Source) and is_saved(qrels):
        hint = "The qrels come first, then runs and saved results"
        raise InputError(qrels.name, "this saved result is in the place of the qrels", hint=hint)

    def opened(run: Any) -> Any:
        try:
            return read_saved(run) if isinstance(run, Source) and is_saved(run) else run
        except InputError as error:
            return FailedRun(run.name, error)

    return qrels, [(name, opened(run)) for name, run in runs]


def is_saved(source: Source) -> bool:
    """Whether the file begins as saved results do, and not as JSON of qrels and runs."""
    with suppress(InputError):  # which the evaluation reports
        return begins_saved(source.head.lstrip())
    return False


class _Part(NamedTuple):
    """An object in a saved result."""

    path: str  # of the file
    content: Mapping[str, Any]
    place: str  # ' of run …', as messages name it

    def error(self, message: str) -> InputError:
        return InputError(self.path, message, hint="Save results with 'gradeval QRELS RUN -q -f json -o FILE'")

    def item(self, key: str, kind: Any, is_valid: Callable[[Any], bool] = lambda value: True) -> Any:
        """The value of a key, of this type."""
        value = self.content.get(key)
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)) or not is_valid(value):
            raise self.error(f"'{key}'{self.place} is {'not valid' if key in self.content else 'missing'}")
        return value

    def part(self, key: str) -> _Part:
        return _Part(self.path, self.item(key, dict), f" of the {key}{self.place}")


def read_saved(source: Source) -> SavedResult:
    """The saved result in a file. Raises InputError where it is none, or has no values per query."""
    source.hash_while_reading()
    content = parse_json(read_text(source), source.name)
    return saved_result(source.name, content).replace(sha256=source.sha256())


def saved_result(path: str, content: Any, *, needs_values: bool = True) -> SavedResult:
    """The saved result in the JSON of a file. needs_values: whether each run must have the values of queries.
    Raises InputError where it is none.
    """
    file = _Part(path, content if isinstance(content, dict) else {}, "")
    if "gradeval" not in file.content or "comparisons" in file.content:
        raise file.error("this JSON is not a saved result of 'gradeval eval'")
    head = document_head("results")
    schema = file.content.get("schema", head["schema"])  # version 0.1.0 saved none
    if schema != head["schema"]:
        message = f"its schema is {described(schema)}; this gradeval reads saved results of '{head['schema']}'"
        raise file.error(message)
    version = file.item("format", int)
    if version != head["format"]:
        message = f"its format is {version}; this gradeval reads format {head['format']}"
        raise InputError(path, message)
    qrels, runs = file.part("qrels"), file.item("runs", list)
    metrics = file.item(
        "metrics", list, lambda names: all(isinstance(n, str) for n in names) and len({*names}) == len(names)
    )
    names = [str(run.get("name")) for run in runs if isinstance(run, dict)]
    if len(set(names)) < len(names):
        raise file.error(f"two runs have the name {named(max(names, key=names.count))}")
    options = _options(file)
    read_run = partial(_run, metrics=metrics, options=options, needs_values=needs_values)
    return SavedResult(
        path,
        "",
        qrels.item("sha256", (str, NoneType)),
        qrels.item("groups_sha256", (str, NoneType)),
        options,
        metrics=tuple(metrics),
        runs=tuple(read_run(file, r, run) for r, run in enumerate(runs)),
        notices=Notices(_notice(file, n, notice) for n, notice in enumerate(file.item("notices", list))),
    )


def _options(file: _Part) -> dict[str, object]:
    """The options that the results were made with. Raises InputError."""
    options = file.item("options", dict)
    saved_by = str(file.content["gradeval"])
    unknown = [name for name in options if name not in Options.table]
    if unknown and saved_by != __version__:
        message = f"gradeval {saved_by} saved it with an option that gradeval {__version__} does not have"
        raise InputError(
            file.path, f"{message} ({first_names(unknown)})", hint=f"Use gradeval {saved_by} or newer"
        )
    if unknown:
        raise InputError(file.path, f"an option in it is not known ({first_names(unknown)})")
    try:
        Options(**options)
    except OptionError as error:
        raise InputError(file.path, f"an option in it is not valid ({error})") from None
    return Options.of_saved(options)


def _read_with(run: _Part) -> dict[str, object]:
    """The options that the run was read with. Raises InputError."""
    if "options" not in run.content:
        return {}
    try:
        return Options(**run.item("options", dict)).of_reading(OF_RUN)
    except OptionError as error:
        raise run.error(f"an option{run.place} is not valid ({error})") from None


def _notice(file: _Part, index: int, content: Any) -> Notice:
    """Raises InputError for one that cannot be read, or has no sentence."""
    try:
        notice = Notice.from_dict(content, str(content.get("subject", "")))
        str(notice)
        if notice.kind is NoticeKind.JUDGED_SHARE:
            int(notice.metric.removeprefix("Judged@"))
    except (TypeError, ValueError, KeyError, AttributeError):
        raise file.error(f"notices[{index}] is not valid") from None
    return notice


def _run(
    file: _Part,
    r: int,
    content: Any,
    *,
    metrics: Sequence[str],
    options: Mapping[str, Any],
    needs_values: bool,
) -> SavedRun:
    """Raises InputError for one that cannot be read, or whose summary is not that of its values."""
    if not isinstance(content, dict):
        raise file.error(f"runs[{r}] is not an object")
    name = _Part(file.path, content, f" of runs[{r}]").item("name", str)
    run = _Part(file.path, content, f" of run {named(name)}")
    if "per_query" not in content and not needs_values and "summary" in content:
        return _run_of_means(run, name, metrics)
    if "per_query" not in content:
        raise file.error(f"run {named(name)} has no values per query, since it was made without -q")
    rows = run.item("per_query", dict)
    run.item("queries", int, lambda count: count == len(rows))
    run.item("path", str)
    rules = {None, "trec", LETOR_TIES} if options["ties"] is None else {None, options["ties"]}
    ties = run.item("ties", (str, NoneType), rules.__contains__)
    depths = run.item("depths", (list, NoneType), lambda depths: depths is None or _are_depths(depths))
    values = _numbers(run, rows)
    for metric in sorted(values.keys() - set(metrics)):
        raise run.error(f"there are values of {named(metric)}{run.place}, which is not among its metrics")
    specs = specs_where(has_numbers, metrics)
    for spec in specs:
        if str(spec) not in values:
            raise run.error(f"there are no numbers of {spec}{run.place}")
    weights = weights_of_saved(options, rows)
    means: dict[str, float] = {}
    if "summary" in content or "undefined" in content:
        means = _means(run, "summary")
        _check_means(run, specs, values, weights, stated=means, undefined=run.item("undefined", dict))
    bounds = _bounds(run, rows, specs, weights)
    tie_range = _tie_range(run, rows, specs, weights)
    limits = [*([] if tie_range is None else TIE_RANGE), *([] if bounds is None else BOUNDS)]
    return SavedRun(
        name,
        run.item("sha256", (str, NoneType)),
        tuple(rows),
        values,
        ties,
        depths=None if depths is None else (*depths,),
        bounds=bounds,
        tie_range=tie_range,
        texts=_texts(run, rows, metrics),
        stated={name: mean for name, mean in means.items() if name not in values},
        stated_limits={name: _means(run, name, "of") for name in limits if name in content},
        read_with=_read_with(run),
    )


def _tie_range(
    run: _Part, rows: Mapping[str, Any], specs: Sequence[Spec], weights: Floats | None
) -> dict[str, Floats] | None:
    """The range over ties of each metric, (3, n), as of RunResult; None where it was not saved."""
    limits = _bounds(run, rows, specs, weights, names=TIE_RANGE[:2])
    if limits is None:
        return None
    key = f"per_query_{TIE_RANGE[2]}"
    of_queries = run.item(key, dict) if key in run.content else {}
    expected = _numbers(run, {query: of_queries.get(query, {}) for query in rows})
    nothing = np.full(len(rows), np.nan)
    return {name: np.array([*limits[name], expected.get(name, nothing)]) for name in limits}


def _texts(run: _Part, rows: Mapping[str, Any], metrics: Sequence[str]) -> dict[str, list[str]]:
    """The texts of each metric that is text, (n,)."""
    of_run = run.content.get("summary", {})  # what is the same for all queries
    texts = {}
    for name in map(str, specs_where(lambda spec: spec.metric.text, metrics)):
        of_queries = [row.get(name, of_run.get(name)) for row in rows.values()]
        if all(isinstance(text, str) for text in of_queries):
            texts[name] = of_queries
    return texts


def _bounds(
    run: _Part,
    rows: Mapping[str, Any],
    specs: Sequence[Spec],
    weights: Floats | None,
    *,
    names: Sequence[str] = BOUNDS,
) -> dict[str, Floats] | None:
    """The lowest and the highest values of each metric, (2, n); None where they were not saved."""
    if f"per_query_{names[0]}" not in run.content:
        return None
    limits = []
    for name in names:
        of_queries = run.item(f"per_query_{name}", dict, lambda queries: queries.keys() == rows.keys())
        values = _numbers(run, {query: of_queries[query] for query in rows})
        if any(str(spec) not in values for spec in specs):
            raise run.error(f"there are no bounds of {first_names(map(str, specs))}{run.place}")
        if "summary" in run.content:
            _check_means(run, specs, values, weights, stated=_means(run, name))
        limits.append(values)
    return {str(spec): np.array([values[str(spec)] for values in limits]) for spec in specs}


def _run_of_means(run: _Part, name: str, metrics: Sequence[str]) -> SavedRun:
    """One that was saved without the values of queries."""
    numbers = {"summary": _means(run, "summary")}
    undefined = run.item("undefined", dict)
    specs = specs_where(is_summarized, metrics)
    queries = run.item("queries", int)
    # of intervals, or over ties, where they were saved
    numbers |= {limit: _means(run, limit, "of") for limit in TIE_RANGE if limit in run.content}
    limits = {
        key: np.array([means.get(str(spec), math.nan) for spec in specs]) for key, means in numbers.items()
    }
    counts = np.array([int(undefined.get(str(spec), 0)) for spec in specs], np.int64)
    summary = Summary(queries, limits.pop("summary"), counts, limits, {})
    sha256 = run.item("sha256", (str, NoneType))
    return SavedRun(name, sha256, (), {}, summary=summary, read_with=_read_with(run))


def interval_of_saved(path: str, content: Mapping[str, Any]) -> tuple[str, float] | None:
    """The method and the confidence of the intervals, None without. Raises InputError."""
    if "interval" not in content:
        return None
    interval = _Part(path, content, "").part("interval")
    method, confidence = interval.item("method", str), interval.item("confidence", (int, float))
    try:
        Options(interval=method, confidence=confidence)
    except OptionError as error:
        raise InputError(path, f"the interval in it is not valid ({error})") from None
    return method, float(confidence)


def failed_of_saved(path: str, content: Mapping[str, Any]) -> tuple[FailedRun, ...]:
    """The runs that could not be evaluated. Raises InputError."""
    parts = [_Part(path, run, " of a failed run") for run in content.get("failed", ()) if isinstance(run, dict)]
    return tuple(
        FailedRun(part.item("path", str), GradevalError("\n".join(map(str, part.item("errors", list)))))
        for part in parts
    )


def asked_of_saved(content: Mapping[str, Any], specs: Sequence[Spec]) -> dict[Spec, str]:
    """What metrics were asked for as, where that is another name of theirs."""
    asked = content.get("asked")
    names = asked if isinstance(asked, dict) else {}
    return {spec: str(names[str(spec)]) for spec in specs if str(spec) in names}


def specs_where(is_chosen: Callable[[Spec], bool], metrics: Sequence[str]) -> list[Spec]:
    """The metrics of which this holds, but for those whose plugin is not there."""
    specs = []
    for metric in metrics:
        with suppress(MetricError, ValueError):
            [spec] = parse(metric)
            if is_chosen(spec):
                specs.append(spec)
    return specs


def weights_of_saved(options: Mapping[str, Any], rows: Mapping[str, Any]) -> Floats | None:
    """Of the queries of a run, NaN for those that have none."""
    weights = options.get("query_weights")
    return None if weights is None else np.array([weights.get(query, np.nan) for query in rows])


def _check_means(
    run: _Part,
    specs: Sequence[Spec],
    values: Mapping[str, Floats],
    weights: Floats | None,
    *,
    stated: Mapping[str, float],
    undefined: Mapping[str, Any] | None = None,
) -> None:
    """Raise InputError where a summary is not that of the values. undefined: how many are stated to be."""
    for spec in specs:
        metric = str(spec)
        [mean] = summarize([spec], values[metric][None], np.ones(values[metric].shape, np.bool_), weights)
        count = int(np.isnan(values[metric]).sum())
        is_same = np.allclose(stated.get(metric, math.inf), mean, _SAME, _SAME, equal_nan=True)
        if not is_same or (undefined is not None and undefined.get(metric, 0) != count):
            message = f"the summary of {metric}{run.place} is not that of its values"
            raise run.error(f"{message} ({float(mean)!r}, {count} undefined)")


def _are_depths(depths: list[Any]) -> bool:
    are_counts = all(type(documents) is int and 1 <= documents < 2**53 for documents in depths)
    return are_counts and len(depths) == len(QUANTILES) and depths == sorted(depths)


def _means(run: _Part, key: str, preposition: str = "in the") -> dict[str, float]:
    """The number of each metric in a summary, NaN for null. preposition: before the key, in an error."""
    numbers = _numbers(run, {"": run.item(key, dict)}, f" {preposition} {key}")
    return {metric: float(number[0]) for metric, number in numbers.items()}


def _numbers(run: _Part, rows: Mapping[str, Any], where_else: str = "") -> dict[str, Floats]:
    """The numbers of each metric by query, NaN for null, without metrics of strings. where_else: of rows
    that are of no query, in errors.
    """
    for query, row in rows.items():
        if not isinstance(row, dict):
            raise run.error(f"the values of query {named(query)}{run.place} are not an object")
    numbers = {}
    for metric in dict.fromkeys(chain.from_iterable(rows.values())):
        column = [row.get(metric, "") for row in rows.values()]
        if all(isinstance(value, str) for value in column):
            continue
        for query, value in zip(rows, column, strict=True):
            if value is not None and not (type(value) in (int, float) and abs(value) <= 1e300):
                where = where_else or f" of query {named(query)}"
                raise run.error(f"{metric}{where}{run.place} is not a finite number")
        numbers[metric] = np.array(column, np.float64)  # None is NaN
    return numbers


def common_metrics(
    runs: Runs, is_hidden: Callable[[Spec], bool] = lambda spec: False
) -> tuple[list[Spec], Notices]:
    """The metrics that all saved results have, and a notice of those that some lack. is_hidden: whether the
    notice does not name a metric. Raises InputError.
    """
    files = {id(run): (run.path, specs_of_saved(run)) for _, run in runs if isinstance(run, SavedResult)}
    if not files:
        return [], Notices()
    paths, of_files = zip(*files.values(), strict=True)
    first = of_files[0]
    by_file = "; ".join(f"{path} has {first_names(map(str, specs))}" for path, specs in files.values())
    common = [spec for spec in first if all(spec in specs for specs in of_files)]
    if first and not common:
        message = f"no metric is in every saved result ({by_file})"
        hint = "Evaluate the runs again, with the same metrics"
        raise InputError(paths[-1], message, hint=hint)
    every = dict.fromkeys(chain.from_iterable(of_files))
    lacking = [str(spec) for spec in every if spec not in common and not is_hidden(spec)]
    notice = Notice(NoticeKind.EXCLUDED_METRICS, "", len(lacking), rule=f"{', '.join(lacking)} ({by_file})")
    return common, Notices([notice] if lacking else [])


def metrics_of_saved(metrics: Sequence[str]) -> tuple[list[Spec], Notices]:
    """The metrics, and a notice of those of groups that no saved result has, which are left out."""
    pairs = [(group_of(name), spec) for name, specs in named_specs(metrics) for spec in specs]
    chosen = dict.fromkeys(spec for group, spec in pairs if group is None or _has_numbers(spec))
    left_out = dict.fromkeys(str(spec) for _, spec in pairs if spec not in chosen)
    return list(chosen), left_out_of_groups(list(left_out))


def specs_of_saved(saved: SavedResult) -> list[Spec]:
    """The metrics that can be taken from it. Raises InputError."""
    try:
        return [spec for spec in parse(saved.metrics) if _has_numbers(spec)]
    except MetricError as error:
        raise InputError(saved.path, f"its metrics: {error}") from None


def _has_numbers(spec: Spec) -> bool:
    """Whether a saved result has what makes its value."""
    return has_numbers(spec) or is_num_q(spec)


def check_made_alike(saved: SavedResult, results: Results, plan: Plan) -> None:
    """Raise InputError where a saved result has other qrels, options or metrics than the results."""
    if plan.options.tie_range:
        raise InputError(saved.path, "it has no values of other orders of ties", hint="Give the run itself")
    if plan.options.bounds and any(run.bounds is None for run in saved.runs):
        raise InputError(
            saved.path, "it has no bounds", hint="Save results with --bounds, or give the run itself"
        )
    check_same_inputs(saved, results)
    check_metrics(saved, [spec for spec in results.specs if spec not in plan.optional])
    if not saved.runs:
        raise InputError(saved.path, "it has no runs")


def check_same_inputs(saved: SavedResult, results: Results) -> None:
    """Raise InputError where a saved result has other qrels or options. Qrels in memory have no hash."""
    if saved.qrels_sha256 is None and results.qrels_sha256 is not None:
        message = "it has no SHA-256 of its qrels, as results of 'gradeval spark' and of data in memory"
        hint = "Save results with 'gradeval QRELS RUN -q -f json -o FILE'"
        raise InputError(saved.path, message, hint=hint)
    _check_same_file(saved.path, "qrels", saved.qrels_sha256, results.qrels_sha256)
    _check_same_file(saved.path, "group sizes", saved.groups_sha256, results.groups_sha256)
    _check_same_options(saved, results)


def _check_same_file(path: str, subject: str, saved_sha256: str | None, sha256: str | None) -> None:
    if saved_sha256 == sha256:
        return
    made, here = (
        "no file" if digest is None else f"SHA-256 {digest[:12]}" for digest in (saved_sha256, sha256)
    )
    hint = "Give the same files, or evaluate the run again"
    raise InputError(path, f"it was made from other {subject} ({made}, here {here})", hint=hint)


def _check_same_options(saved: SavedResult, results: Results) -> None:
    hint = "Give the same options, or evaluate the run again"
    for name in Options.rows(within=VALUES):
        made = _comparable(name, saved.options[name])
        here = _comparable(name, results.options[name])
        is_same = made == here
        if name == "ties":  # the same order may be named in one of the two only
            is_same |= {here or DEFAULT_TIES} == ({made} if made else {run.ties for run in saved.runs})
        if not is_same:
            flag = Options.table[name].flags.split()[-1]
            made, here = ("default" if value is None else option_text(value) for value in (made, here))
            raise InputError(saved.path, f"it was made with {flag} {made}, and here it is {here}", hint=hint)
    if "query_weights" in saved.options and "query_weights" not in results.options:
        raise InputError(saved.path, "its means were made with --query-weights, and here are none", hint=hint)


def _comparable(name: str, value: Any) -> Any:
    if name == "columns" and isinstance(value, (list, tuple)):  # that of scores is of the run alone
        return sorted("=".join(map(str, pair)) for pair in value if pair[0] != "score") or None
    return sorted(map(str, value)) if isinstance(value, (list, tuple)) else value


def check_metrics(saved: SavedResult, specs: Sequence[Spec]) -> None:
    """Raise InputError where the saved result lacks a metric, or has no numbers per query of it."""
    for spec in specs:
        if not _has_numbers(spec):
            message = f"{spec} cannot be taken from a saved result, which has numbers per query"
            raise InputError(saved.path, message, hint="Choose other metrics, or give the run itself")
    lacking = [str(spec) for spec in specs if not is_num_q(spec) and str(spec) not in saved.metrics]
    if lacking:
        message = f"it has no values of {', '.join(lacking)}, only of {', '.join(saved.metrics)}"
        raise InputError(saved.path, message, hint="Choose other metrics, or evaluate the run again")


def outcomes_of_saved(
    saved: SavedResult, names: Sequence[str], setting: EvaluationSetting, empty: Bools
) -> list[Outcome]:
    """The outcome of each run of a saved result, as if it were evaluated: NaN for metrics it lacks. names: of
    the runs. empty: that of without_relevant(). Raises InputError for other queries.
    """
    outcomes = []
    for name, run in zip(names, saved.runs, strict=True):
        result = _result_of(saved, run, name, setting)
        outcomes.append(Outcome(result, empty, facts_of_saved(saved, run, setting, result, empty)))
    return outcomes


def _result_of(saved: SavedResult, run: SavedRun, name: str, setting: EvaluationSetting) -> RunResult:
    """Raises InputError."""
    path = saved.path
    options = setting.plan.options
    queries = setting.queries
    position = {query: q for q, query in enumerate(queries) if setting.chosen[q]}
    unknown = [query for query in run.queries if query not in position]
    if unknown:
        of_run = f"query {named(unknown[0])} of run {named(run.name)}"
        raise InputError(path, f"{of_run} is not among those of {setting.qrels.path} that are evaluated")
    result = run.placed(setting.plan.specs, [position[query] for query in run.queries], len(queries))
    counted = setting.counted(result.counted)
    for q in np.flatnonzero(counted & ~result.counted)[:1]:
        message = f"run {named(run.name)} has no values of query {named(queries[q])}"
        raise InputError(path, message, hint="Evaluate the run again")
    return result.replace(
        name=name,
        path=path,
        counted=counted,
        interval=options.intervals,
        weights=setting.weights,
        bounds=result.bounds if options.bounds else None,
        missing=_missing(saved, run, setting, counted),
    )


def _missing(saved: SavedResult, run: SavedRun, setting: EvaluationSetting, counted: Bools) -> Bools | None:
    """Which of the chosen queries the run lacks, (Q,); None where its notice does not name all of them."""
    if setting.plan.options.queries == "both":
        return setting.chosen & ~counted
    notices = saved.notices.about(run.name).only(NoticeKind.MISSING)
    ids = {query for notice in notices for query in notice.queries}
    if len(ids) < sum(notice.count for notice in notices):
        return None
    return np.array([query in ids for query in setting.queries], np.bool_) & setting.chosen

"""Saved results, printed by `gradeval -f json -q`, in the place of the runs that they were made from.

look_for_saved       runs -> those that are files of saved results read and checked
common_metrics       the metrics that all of them have
check_made_alike     whether they were made as the other runs are evaluated
outcomes_of_saved    their values
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from types import NoneType
from typing import Any

import numpy as np

from gradeval.arrays import Bools, Floats
from gradeval.errors import InputError, MetricError, OptionError, first_names, named
from gradeval.evaluation.layout import FORMAT_VERSION
from gradeval.evaluation.outcome import (
    QUANTILES,
    Noticed,
    Outcome,
    counted_queries,
    judged_notices,
    left_out_of_groups,
    undefined_notices,
    weights_of,
)
from gradeval.evaluation.results import FailedRun, Results, RunResult
from gradeval.evaluation.runs import Runs, SavedResult, SavedRun
from gradeval.evaluation.score import Scored, summarize
from gradeval.formats.json import begins_saved, parse_json
from gradeval.formats.lines import read_text
from gradeval.formats.sources import Source
from gradeval.notices import OF_QRELS, Kind, Notice, is_accepted, many
from gradeval.options import DEFAULT_TIES, LETOR_TIES, TIES, VALUES, Options
from gradeval.registry.spec import Spec, group_of, is_num_q, named_specs, parse
from gradeval.tables.load import is_file, is_path, source_of
from gradeval.tables.qrels import Qrels

_OPTIONS = Options().to_dict().keys()  # of every saved result
_SHORT_HASH = 12
_SAME = 1e-9  # of a summary and the mean of its values
_HINT = "Save results with 'gradeval QRELS RUN -q -f json -o FILE'"


def look_for_saved(qrels: Any, runs: Runs) -> tuple[Any, list[tuple[str | None, Any]]]:
    """with_saved(), where files may be saved results."""
    if is_path(qrels):
        qrels = source_of(qrels)
        if is_saved(qrels):
            hint = "The qrels come first, then runs and saved results"
            raise InputError(qrels.name, "this saved result is in the place of the qrels", hint=hint)
    opened: list[tuple[str | None, Any]] = []
    for name, run in runs:
        if not is_path(run) or (is_path(qrels) and is_file(run, qrels.name)):
            opened.append((name, run))
            continue
        source = source_of(run)
        try:
            opened.append((name, read_saved(source) if is_saved(source) else source))
        except InputError as error:
            opened.append((name, FailedRun(source.name, error)))
    return qrels, opened


def is_saved(source: Source) -> bool:
    """Whether the file begins as saved results do, and not as JSON of qrels and runs."""
    try:
        for block in source.blocks(1 << 12):
            start = block.bytes[: block.size].tobytes()
            if start.strip():
                return begins_saved(start)
    except InputError:  # which the evaluation reports
        pass
    return False


def read_saved(source: Source) -> SavedResult:
    """The saved result in a file. Raises InputError where it is none, or has no values per query."""
    content = parse_json(read_text(source), source.name)
    if not isinstance(content, dict) or "gradeval" not in content:
        raise _invalid(source, "this JSON is not a saved result of gradeval")
    if "comparisons" in content:
        raise _invalid(source, "this is the output of 'gradeval compare', not a saved result")
    version = _item(source, content, "format", int)
    if version != FORMAT_VERSION:
        raise InputError(source.name, f"its format is {version}; this gradeval reads format {FORMAT_VERSION}")
    qrels = _item(source, content, "qrels", dict)
    runs = _item(source, content, "runs", list)
    if qrels.get("sha256") is None:
        if all(isinstance(run, dict) and "per_query" not in run for run in runs):
            what = "it has neither values per query nor the SHA-256 of its qrels"
            why = "as all results of 'gradeval spark', which compares runs itself (--baseline)"
            raise _invalid(source, f"{what}, {why}")
        raise _invalid(source, "it does not name the qrels file that it was made from")
    metrics = _item(source, content, "metrics", list)
    if not all(isinstance(name, str) for name in metrics) or len(set(metrics)) < len(metrics):
        raise _invalid(source, "'metrics' is not valid")
    names = [run.get("name") for run in runs if isinstance(run, dict)]
    if len(set(map(str, names))) < len(names):
        raise _invalid(source, f"two runs have the name {named(str(max(names, key=names.count)))}")
    options = _item(source, content, "options", dict)
    unknown = options.keys() - _OPTIONS - {"query_weights"}  # which only weighted means have
    for is_wrong, option_names in (("missing", _OPTIONS - options.keys()), ("unknown", unknown)):
        if option_names:
            raise _invalid(source, f"option {named(min(option_names))} is {is_wrong}")
    try:
        Options(**options)
    except OptionError as error:
        raise InputError(source.name, f"an option in it is not valid ({error})") from None
    return SavedResult(
        source.name,
        str(qrels.get("path")),
        _item(source, qrels, "sha256", str, " of the qrels"),
        _item(source, qrels, "groups_sha256", (str, NoneType), " of the qrels"),
        options,
        tuple(metrics),
        tuple(_run(source, run, f"runs[{r}]", metrics, options) for r, run in enumerate(runs)),
        tuple(_notices(source, _item(source, content, "notices", list))),
    )


def _item(source: Source, content: Mapping[str, Any], key: str, kind: Any, place: str = "") -> Any:
    """The value of a key, of this type. place: ' of' what has it."""
    value = content.get(key)
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise _invalid(source, f"'{key}'{place} is {'not valid' if key in content else 'missing'}")
    return value


def _invalid(source: Source, what: str) -> InputError:
    return InputError(source.name, what, hint=_HINT)


def _notices(source: Source, notices: list[Any]) -> Iterator[Notice]:
    """Raises InputError for one that cannot be read, or has no sentence."""
    for place, content in enumerate(notices):
        try:
            notice = Notice.from_dict(content, str(content.get("subject", "")))
            str(notice)
            if notice.kind is Kind.JUDGED_SHARE:
                int(notice.metric.removeprefix("Judged@"))
        except (TypeError, ValueError, KeyError, AttributeError):
            raise _invalid(source, f"notices[{place}] is not valid") from None
        yield notice


def _run(source: Source, run: Any, place: str, metrics: Sequence[str], options: Mapping[str, Any]) -> SavedRun:
    if not isinstance(run, dict):
        raise _invalid(source, f"{place} is not an object")
    name = _item(source, run, "name", str, f" of {place}")
    if "per_query" not in run:
        raise _invalid(source, f"run {named(name)} has no values per query, since it was made without -q")
    of_run = f" of run {named(name)}"
    rows = _item(source, run, "per_query", dict, of_run)
    if _item(source, run, "queries", int, of_run) != len(rows):
        raise _invalid(source, f"run {named(name)} has {run['queries']} queries, and values of {len(rows)}")
    path = _item(source, run, "path", str, of_run)
    sha256, ties = (_item(source, run, key, (str, NoneType), of_run) for key in ("sha256", "ties"))
    if ties not in (None, *TIES):
        raise _invalid(source, f"'ties'{of_run} is not valid")
    rules = {None, "trec", LETOR_TIES} if options["ties"] is None else {None, options["ties"]}
    if ties not in rules:
        what = f"run {named(name)} has the ties {ties}, and the option ties is {options['ties'] or 'not set'}"
        raise InputError(source.name, what, hint="Evaluate the run again")
    depths = run.get("depths", "")
    if depths is not None and not (
        isinstance(depths, list)
        and len(depths) == len(QUANTILES)
        and all(type(documents) is int for documents in depths)
        and depths == sorted(depths)
        and 1 <= depths[0] <= depths[-1] < 2**53
    ):
        raise _invalid(source, f"'depths'{of_run} is {'not valid' if 'depths' in run else 'missing'}")
    values = _values(source, rows, of_run)
    summary, undefined = None, {}
    if "summary" in run or "undefined" in run:
        summary = _numbers(source, _item(source, run, "summary", dict, of_run), f" in the summary{of_run}")
        undefined = _item(source, run, "undefined", dict, of_run)
    if any(type(count) is not int for count in undefined.values()):
        raise _invalid(source, f"'undefined'{of_run} is not valid")
    weights = options.get("query_weights")
    of_queries = None if weights is None else np.array([weights.get(query, np.nan) for query in rows])
    if wrong := _contradiction(values, metrics, summary, undefined, of_queries):
        raise InputError(source.name, f"run {named(name)}: {wrong}", hint="Evaluate the run again")
    return SavedRun(name, path, sha256, tuple(rows), values, ties, None if depths is None else (*depths,))


def _values(source: Source, rows: Mapping[str, Any], of_run: str) -> dict[str, Floats]:
    """The numbers of each metric, NaN where it is undefined: the same metrics for all queries."""
    numbers = []
    for query, row in rows.items():
        place = f" of query {named(query)}{of_run}"
        if not isinstance(row, dict):
            raise _invalid(source, f"the values{place} are not an object")
        numbers.append(_numbers(source, row, place))
    metrics = dict.fromkeys(chain.from_iterable(numbers))
    for (query, row), of_query in zip(rows.items(), numbers, strict=True):
        if len(of_query) < len(metrics):
            metric = next(metric for metric in metrics if metric not in of_query)
            what = "is not a finite number" if metric in row else "is missing"
            raise _invalid(source, f"{metric} of query {named(query)}{of_run} {what}")
    return {metric: np.array([of_query[metric] for of_query in numbers]) for metric in metrics}


def _numbers(source: Source, row: Mapping[str, Any], place: str) -> dict[str, float]:
    """The numbers of a query or of the summary, NaN for null; the strings of text metrics are ignored."""
    numbers = {}
    for metric, value in row.items():
        if isinstance(value, str):
            continue
        try:
            numbers[metric] = math.nan if value is None else float(value)
        except (TypeError, OverflowError):
            numbers[metric] = math.inf
        if math.isinf(numbers[metric]) or isinstance(value, bool):
            raise _invalid(source, f"{metric}{place} is not a finite number")
    return numbers


def _contradiction(
    values: Mapping[str, Floats],
    metrics: Sequence[str],
    summary: Mapping[str, float] | None,
    undefined: Mapping[str, int],
    weights: Floats | None = None,
) -> str:
    """Where the values are not those of the metrics, or have another summary; '' where all is right."""
    for name in values:
        if name not in metrics:
            return f"there are values of {named(name)}, which is not among its metrics"
    for name in metrics:
        try:
            [spec] = parse(name)
        except (MetricError, ValueError):  # without the plugin that has it
            continue
        if not spec.metric.per_query or spec.metric.text:
            continue
        if name not in values:
            return f"there are no numbers of {name}"
        if summary is None:
            continue
        count, stated = int(np.isnan(values[name]).sum()), undefined.get(name, 0)
        if count != stated:
            return f"{name} is undefined for {many(count, 'query', 'queries')}, and not for {stated:,}"
        if name not in summary:
            return f"there is no summary of {name}"
        [mean] = summarize([spec], values[name][None], np.ones(len(values[name]), np.bool_), weights).tolist()
        pair = summary[name], mean
        if not math.isclose(*pair, rel_tol=_SAME, abs_tol=_SAME) and not all(map(math.isnan, pair)):
            shown, of_values = ("null" if math.isnan(number) else repr(number) for number in pair)
            return f"the summary of {name} is {shown}, and that of its values {of_values}"
    return ""


def common_metrics(
    runs: Runs, unlisted: Callable[[Spec], bool] = lambda spec: False
) -> tuple[list[Spec], list[Notice]]:
    """The metrics that all saved results have, none without them, and a notice of those that some of them lack.
    unlisted: of which metrics nobody need know. Raises InputError where they have none in common.
    """
    saved = [run for _, run in runs if isinstance(run, SavedResult)]
    if not saved:
        return [], []
    first, *others = of_each = [_specs(run) for run in saved]
    common = [spec for spec in first if all(spec in other for other in others)]
    if first and not common:
        what = f"no metric is in every saved result ({_metrics_by_file(saved)})"
        raise InputError(saved[-1].path, what, hint="Evaluate the runs again, with the same metrics")
    every = dict.fromkeys(chain.from_iterable(of_each))
    left = [str(spec) for spec in every if spec not in common and not unlisted(spec)]
    if not left:
        return common, []
    rule = f"{', '.join(left)} ({_metrics_by_file(saved)})"
    return common, [Notice(Kind.EXCLUDED_METRICS, "", len(left), rule=rule)]


def metrics_of_saved(metrics: Sequence[str]) -> tuple[list[Spec], tuple[Notice, ...]]:
    """The metrics, and a notice of those of groups that no saved result has, which are left out."""
    chosen: dict[Spec, None] = {}
    left_out: dict[Spec, None] = {}
    for name, specs in named_specs(metrics):
        for spec in specs:
            is_chosen = group_of(name) is None or _has_numbers(spec)
            (chosen if is_chosen else left_out)[spec] = None
    return list(chosen), left_out_of_groups([str(spec) for spec in left_out if spec not in chosen])


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


def check_made_alike(saved: SavedResult, results: Results, options: Options, optional: Sequence[Spec]) -> None:
    """Raise InputError where a saved result has other qrels or options than the results, or lacks a metric that
    is not optional.
    """
    if options.tie_range:
        raise InputError(saved.path, "it has no values of other orders of ties", hint="Give the run itself")
    if saved.qrels_sha256 != results.qrels_sha256:
        theirs, ours = _hash(saved.qrels_sha256), _hash(results.qrels_sha256)
        what = f"it was made from other qrels: {saved.qrels} ({theirs}), not {results.qrels} ({ours})"
        raise InputError(saved.path, what, hint="Evaluate the run again with these qrels")
    if saved.groups_sha256 != results.groups_sha256:
        theirs, ours = (_hash(of.groups_sha256, "no file of them") for of in (saved, results))
        what = f"it was made with other group sizes ({theirs}), not those of this command ({ours})"
        raise InputError(saved.path, what, hint="Give the same --groups, or evaluate the run again")
    for name in Options.names(within=VALUES):
        theirs, ours = (_comparable(name, of[name]) for of in (saved.options, results.options))
        if name == "ties":  # the same order may be named in one of the two only
            used = {run.ties for run in saved.runs} if theirs is None else {theirs}
            is_same = theirs == ours or used == {ours or DEFAULT_TIES}
        else:
            is_same = theirs == ours
        if not is_same:
            flag = "--" + name.replace("_", "-")
            made = f"the default {flag}" if theirs is None else f"{flag} {_shown(theirs)}"
            what = f"it was made with {made}, and this command has {_shown(ours)}"
            raise InputError(saved.path, what, hint="Give the same options, or evaluate the run again")
    if "query_weights" in saved.options and "query_weights" not in results.options:
        what = "its means were made with --query-weights, and this command has none"
        hint = "Give the same --query-weights, or evaluate the run again without them"
        raise InputError(saved.path, what, hint=hint)
    check_metrics(saved, [spec for spec in results.specs if spec not in optional])
    if not saved.runs:
        raise InputError(saved.path, "it has no runs")


def _hash(sha256: str | None, without: str = "no file") -> str:
    return without if sha256 is None else f"SHA-256 {sha256[:_SHORT_HASH]}"


def _comparable(name: str, value: Any) -> Any:
    if name == "columns" and isinstance(value, (list, tuple)):  # that of scores is of the run alone
        return sorted("=".join(map(str, pair)) for pair in value if pair[0] != "score") or None
    return sorted(map(str, value)) if isinstance(value, (list, tuple)) else value


def _shown(value: Any) -> str:
    if value is None:
        return "the default"
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, float):
        return repr(value).removesuffix(".0")
    return named(",".join(value)) if isinstance(value, list) else str(value)


def check_metrics(saved: SavedResult, specs: Sequence[Spec]) -> None:
    """Raise InputError where the saved result lacks a metric, or has no numbers per query of it."""
    for spec in specs:
        if not _has_numbers(spec):
            what = f"{spec} cannot be taken from a saved result, which has numbers per query"
            raise InputError(saved.path, what, hint="Choose other metrics, or give the run itself")
    lacking = [str(spec) for spec in specs if not is_num_q(spec) and str(spec) not in saved.metrics]
    if lacking:
        what = f"it has no values of {', '.join(lacking)}, only of {', '.join(saved.metrics)}"
        raise InputError(saved.path, what, hint="Choose other metrics, or evaluate the run again")


def outcomes_of_saved(
    saved: SavedResult,
    names: Sequence[str],
    results: Results,
    qrels: Qrels,
    options: Options,
    chosen: Bools,
    empty: Bools,
    unlisted: Sequence[Spec] = (),
) -> list[Outcome]:
    """The outcome of each run of a saved result, as if it were evaluated: NaN for metrics it lacks.

    results: those without runs that they are to be part of. chosen: which queries of the qrels are evaluated,
    (Q,). empty: as of Outcome. unlisted: metrics that the user does not see. Raises InputError where its
    queries are other ones.
    """
    known = [m for m, spec in enumerate(results.specs) if is_num_q(spec) or str(spec) in saved.metrics]
    specs = [results.specs[m] for m in known]
    listed = [spec for spec in specs if spec not in unlisted]
    # where not all was relevant, the notice that all is shows that enough was judged; nothing else does
    share = 1.0 if any(notice.kind is Kind.ALL_RELEVANT for notice in saved.notices) else 0.0
    position = {query: q for q, query in enumerate(results.queries)}

    def outcome(name: str, run: SavedRun) -> Outcome:
        at = []  # of its queries among those of the results
        for query in run.queries:
            if query not in position:
                raise InputError(saved.path, f"query {named(query)} is not in {results.qrels}")
            if not chosen[position[query]]:
                what = f"query {named(query)} of run {named(run.name)} was not asked for"
                raise InputError(saved.path, what)
            at.append(position[query])
        has_values = np.zeros(len(position), np.bool_)
        has_values[at] = True
        counted = counted_queries(chosen, has_values, options)
        if (lacking := counted & ~has_values).any():
            query = results.queries[int(lacking.argmax())]
            what = f"run {named(run.name)} has no values of query {named(query)}"
            raise InputError(saved.path, what, hint="Evaluate the run again")
        values = np.full((len(results.specs), len(position)), np.nan)
        for m, spec in enumerate(results.specs):
            values[m, at] = 1.0 if is_num_q(spec) else run.values.get(str(spec), np.nan)
        result = RunResult(
            name,
            saved.path,
            run.sha256,
            values,
            counted,
            ties=run.ties or DEFAULT_TIES,
            depths=run.depths,
            interval=options.intervals,
            weights=weights_of(results.queries, counted, options),
        )

        def notices() -> Iterator[Notice]:
            """Those that were saved about the run and these metrics, and those that the values show."""
            of_run = [notice for notice in saved.notices if notice.subject == run.name]
            for notice in of_run:
                if notice.kind in (Kind.TIES, Kind.FEW_DOCUMENTS):
                    is_wanted = notice.metric in map(str, specs)
                    if is_wanted and not (notice.kind is Kind.TIES and is_accepted(Kind.TIES, options)):
                        yield notice
                elif notice.kind not in (*OF_QRELS, Kind.UNDEFINED, Kind.JUDGED_SHARE):
                    yield notice
            yield from undefined_notices(qrels, specs, Scored(values[known], {}, empty[known]), counted)
            for notice in of_run:
                if notice.kind is Kind.JUDGED_SHARE:
                    cutoff = int(notice.metric.partition("@")[2])
                    yield from judged_notices(notice.value or 0.0, cutoff, listed, qrels.scale, options)

        named_notices = tuple(notice.replace(subject=name) for notice in notices())
        return Outcome(result, empty, partial(Noticed, named_notices, share, np.zeros(0, np.int64)))

    return [outcome(name, run) for name, run in zip(names, saved.runs, strict=True)]

"""Saved results in the place of runs: they are read, checked against what was asked for, and not evaluated."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gradeval.errors import GradevalError, InputError, named
from gradeval.evaluation import evaluate_all
from gradeval.formats.saved import SavedResult, SavedRun, is_saved, read_saved
from gradeval.formats.sources import Source
from gradeval.notices import Notice
from gradeval.options import Options
from gradeval.registry.spec import Spec, parse
from gradeval.results import FailedRun, Results, RunResult
from gradeval.tables.load import is_file, is_path, source_of
from gradeval.tables.run_names import run_names

Runs = Sequence[tuple[str | None, Any]]
"""(name, run) pairs; a run may be a SavedResult."""

# the options that decide the values; the others say how to read files, or what is printed
_DECIDING = (
    "rel",
    "depth",
    "judged_only",
    "queries",
    "query_ids",
    "ties",
    "zero_grade",
    "qrels_feature",
    "no_relevant",
)
_SHORT_HASH = 12


def with_saved(qrels: Any, runs: Runs) -> tuple[Any, list[tuple[str | None, Any]]]:
    """The qrels and the runs, with each run file that holds saved results read as a SavedResult.

    Other files come back as Sources, since a pipe that was looked at cannot be opened again. A file that cannot
    be read is left to the evaluation to report. Raises InputError.
    """
    if is_path(qrels):
        qrels = source_of(qrels)
        if _is_saved(qrels):
            hint = "The qrels come first, then runs and saved results"
            raise InputError(qrels.name, "this JSON file is in the place of the qrels", hint=hint)
    found: list[tuple[str | None, Any]] = []
    for name, run in runs:
        if not is_path(run) or (is_path(qrels) and is_file(run, qrels.name)):
            found.append((name, run))
            continue
        source = source_of(run)
        found.append((name, read_saved(source) if _is_saved(source) else source))
    return qrels, found


def _is_saved(source: Source) -> bool:
    try:
        return is_saved(source)
    except InputError:
        return False


def saved_specs(runs: Runs) -> list[Spec] | None:
    """The metrics of the first saved result, None if there is none: what to compare where nothing is chosen."""
    first = next((run for _, run in runs if isinstance(run, SavedResult)), None)
    return parse(first.metrics) if first is not None and first.metrics else None


def evaluate_with_saved(
    qrels: Any,
    runs: Runs,
    specs: Sequence[Spec],
    options: Options,
    *,
    optional: Sequence[Spec] = (),
    watch: Callable[[Source], None] | None = None,
    hashes: bool = False,
    query_ids: Callable[[Iterable[str], str], tuple[str, ...]] | None = None,
) -> Results:
    """evaluation.evaluate_all for runs of which some are saved results; the runs keep their order.

    optional: metrics to evaluate too, which a saved result may lack; its values are then NaN. Queries are those
    of the qrels. A saved result made from other qrels, with other options or without a metric becomes an error.
    """
    fresh = [(name, run) for name, run in runs if not isinstance(run, SavedResult)]
    has_saved = len(fresh) < len(runs)
    metrics = list(dict.fromkeys([*specs, *optional]))
    results = evaluate_all(
        qrels, fresh, metrics, options, watch=watch, hashes=hashes or has_saved, query_ids=query_ids
    )
    if not has_saved or results.failed:
        return results
    evaluated = iter(results.runs)
    each = len(options.features) or 1  # runs of a file
    merged: list[RunResult] = []
    notices: list[tuple[int, Notice]] = []
    evaluated_at: list[int] = []
    failed: list[FailedRun] = []
    for name, run in runs:
        if not isinstance(run, SavedResult):
            evaluated_at += range(len(merged), len(merged) + each)
            merged += [next(evaluated) for _ in range(each)]
            continue
        try:
            _check(run, results, specs)
            for saved in run.runs:
                notices += [(len(merged), notice) for notice in _notices(run, saved)]
                alone = name if len(run.runs) == 1 else None
                merged.append(_run_result(alone or saved.name, run, saved, results))
        except GradevalError as error:
            failed.append(FailedRun(run.path, error))
    names = _names(merged)
    renamed = {merged[r].name: names[r] for r in evaluated_at}
    place = {name: r for r, name in enumerate(names)}
    noted = [
        *(replace(notice, subject=renamed.get(notice.subject, notice.subject)) for notice in results.notices),
        *(replace(notice, subject=names[r]) for r, notice in notices),
    ]
    return replace(
        results,
        runs=tuple(replace(run, name=name) for run, name in zip(merged, names, strict=True)),
        notices=tuple(sorted(noted, key=lambda notice: place.get(notice.subject, -1))),
        failed=tuple(failed),
    )


def _check(saved: SavedResult, results: Results, specs: Sequence[Spec]) -> None:
    """Raise InputError where the saved result was not made as the results are, with the difference."""
    if saved.qrels_sha256 != results.qrels_sha256:
        ours = "no file" if results.qrels_sha256 is None else f"SHA-256 {results.qrels_sha256[:_SHORT_HASH]}"
        what = (
            f"it was made from other qrels: {saved.qrels} (SHA-256 {saved.qrels_sha256[:_SHORT_HASH]}), "
            f"not {results.qrels} ({ours})"
        )
        raise InputError(saved.path, what, hint="Evaluate the run again with these qrels")
    for name in _DECIDING:
        theirs, ours = _comparable(saved.options.get(name)), _comparable(results.options[name])
        if theirs != ours and not (name == "ties" and _same_ties(theirs, saved, ours, results)):
            flag = "--" + name.replace("_", "-")
            what = f"it was made with {flag} {_shown(theirs)}, and this command has {_shown(ours)}"
            raise InputError(saved.path, what, hint="Give the same options, or evaluate the run again")
    check_metrics(saved, specs)
    if not saved.runs:
        raise InputError(saved.path, "it has no runs")


def check_metrics(saved: SavedResult, specs: Sequence[Spec]) -> None:
    """Raise InputError where the saved result lacks a metric."""
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


def _comparable(value: Any) -> Any:
    return sorted(map(str, value)) if isinstance(value, (list, tuple)) else value


def _shown(value: Any) -> str:
    if value is None:
        return "at its default"
    if isinstance(value, bool):
        return "on" if value else "off"
    return named(",".join(value)) if isinstance(value, list) else str(value)


def _run_result(name: str, saved: SavedResult, run: SavedRun, results: Results) -> RunResult:
    """The values of a saved run, aligned with the queries of the results."""
    position = {query: q for q, query in enumerate(results.queries)}
    unknown = [query for query in run.values if query not in position]
    if unknown:
        raise InputError(saved.path, f"query {named(unknown[0])} is not in {results.qrels}")
    values = np.full((len(results.specs), len(position)), np.nan)
    counted = np.zeros(len(position), np.bool_)
    at = [position[query] for query in run.values]
    counted[at] = True
    for m, spec in enumerate(results.specs):
        column = str(spec)
        values[m, at] = [row.get(column, np.nan) for row in run.values.values()]
    return RunResult(name, saved.path, run.sha256, values, counted)


def _notices(saved: SavedResult, run: SavedRun) -> list[Notice]:
    """What was noted of the run when it was evaluated."""
    try:
        return [Notice.from_dict(one, run.name) for one in saved.notices if one.get("subject") == run.name]
    except (TypeError, ValueError, KeyError):
        raise InputError(saved.path, "a notice in it is not valid") from None


def _names(runs: Sequence[RunResult]) -> list[str]:
    """Different names: those that the runs have, or else those of their files."""
    names = [run.name for run in runs]
    if len(set(names)) == len(names):
        return names
    return run_names(
        [os.path.splitext(run.path)[0] if run.path.endswith(".json") else run.path for run in runs]
    )

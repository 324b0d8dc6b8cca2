"""Results read back from files, and results that are given without qrels."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gradeval.errors import InputError, OptionError, described
from gradeval.evaluation.results import Results, RunResult, SavedResult, SavedRun, is_summarized
from gradeval.evaluation.runs import names_by_path, separate_runs
from gradeval.evaluation.saved import (
    asked_of_saved,
    check_same_inputs,
    common_metrics,
    failed_of_saved,
    interval_of_saved,
    is_saved,
    read_saved,
    saved_result,
    specs_of_saved,
    specs_where,
    weights_of_saved,
)
from gradeval.formats.json import parse_json
from gradeval.formats.lines import read_text
from gradeval.notices import Notices
from gradeval.options import Options
from gradeval.registry.spec import Spec, parse
from gradeval.tables.load import is_path, source_of


def load(path: str | os.PathLike[str] | Mapping[str, Any]) -> Results:
    """Read results that Results.save(), render("json") or 'gradeval -f json' wrote.

        >>> results.save("bm25.json")
        >>> gradeval.load("bm25.json").mean("bm25", "nDCG@10")

    path: of the file, its JSON text, or what json.load() or Results.to_dict() gives. Without the values of
    queries, which save() and 'gradeval -q' write, there are the means alone, and nothing can be compared.
    Raises InputError for what is no saved result.
    """
    name, content = _content(path)
    results = joined([(None, saved_result(name, content, needs_values=False))], with_stated=True)
    interval = interval_of_saved(name, content)
    return results.replace(
        qrels=str(content["qrels"].get("path", "")),
        failed=failed_of_saved(name, content),
        asked=asked_of_saved(content, results.specs),
        runs=tuple(run.replace(interval=interval) for run in results.runs),
    )


def _content(data: Any) -> tuple[str, Any]:
    """The name and the JSON of a file, or of what json.load() gives, or of a text."""
    if isinstance(data, Mapping):
        return "results", dict(data)
    if isinstance(data, str) and data.lstrip().startswith("{"):
        return "results", parse_json(data.encode("utf-8", "surrogateescape"), "results")
    source = source_of(data)
    return source.name, parse_json(read_text(source), source.name)


def results_of(data: Any, options: Options) -> Results:
    """Results that are given without qrels: of Python, files of saved ones, or several of both, whose runs are
    joined. options: of an evaluation, which there is none of. Raises GradevalError.
    """
    for name, row in Options.table.items():
        if name != "jobs" and getattr(options, name) != row.default:
            raise OptionError(f"{name}: results are evaluated already. Give qrels and runs, or leave it out")
    if isinstance(data, Results):
        data.check_values()
        return data
    return joined([(label, _saved_alone(run)) for label, run in separate_runs(data)])


def _saved_alone(data: Any) -> SavedResult:
    """A saved result. Raises InputError."""
    if isinstance(data, SavedResult):
        return data
    hint = "Give qrels and runs, or results alone: of evaluate(), or files that Results.save() wrote"
    if not is_path(data):
        raise InputError("runs", f"no runs given, and {described(data)} has no results", hint=hint)
    source = source_of(data)
    if not is_saved(source):
        raise InputError(source.name, "no runs given, and this is no saved result", hint=hint)
    return read_saved(source)


def joined(runs: Sequence[tuple[str | None, SavedResult]], *, with_stated: bool = False) -> Results:
    """The runs of (label, saved result) pairs, by the metrics that all have. with_stated: of one, with metrics
    that have a summary alone. Raises InputError for results of other qrels or options than the first.
    """
    first = runs[0][1]
    left_out = Notices()
    if len(runs) > 1:
        common, left_out = common_metrics(runs)
    else:
        common = _specs_of(first, with_stated)
    queries = tuple(dict.fromkeys(query for _, saved in runs for run in saved.runs for query in run.queries))
    results = Results(
        "",
        first.qrels_sha256,
        queries,
        tuple(common),
        (),
        options=first.options,
        groups_sha256=first.groups_sha256,
        chosen=len(queries),
    )
    joined_runs = []
    for (_, saved), by_path in zip(runs, names_by_path(runs, Options(), [False] * len(runs)), strict=True):
        check_same_inputs(saved, results)
        for name, run in zip(by_path.values(), saved.runs, strict=True):
            joined_runs.append(_as_run_result(run.replace(name=name), results))
    if any(run.bounds is None for run in joined_runs):
        joined_runs = [run.replace(bounds=None) for run in joined_runs]
    if any(run.tie_range is None for run in joined_runs):
        joined_runs = [run.replace(tie_range=None) for run in joined_runs]
    notices = dict.fromkeys(notice for _, saved in runs for notice in saved.notices)
    return results.replace(runs=tuple(joined_runs), given_notices=Notices((*notices, *left_out)))


def _specs_of(saved: SavedResult, with_stated: bool) -> list[Spec]:
    """Its metrics. with_stated: those too that have a summary alone."""
    if any(run.summary is not None for run in saved.runs):
        return specs_where(is_summarized, saved.metrics)
    specs = specs_of_saved(saved)
    if not with_stated or not saved.runs:
        return specs
    stated = set.intersection(*({*run.stated, *run.texts} for run in saved.runs))
    return [spec for spec in parse(saved.metrics) if spec in specs or str(spec) in stated]


def _as_run_result(run: SavedRun, results: Results) -> RunResult:
    """The run with its values for all queries of the results."""
    queries = results.queries
    position = {query: q for q, query in enumerate(queries)}
    result = run.placed(results.specs, [position[query] for query in run.queries], len(queries))
    of_queries = weights_of_saved(results.options, dict.fromkeys(queries))
    weights = None if of_queries is None else np.nan_to_num(of_queries)
    stated = {name: mean for name, mean in run.stated.items() if name != "num_q"}
    return result.replace(weights=weights, summary=run.summary, stated=stated)

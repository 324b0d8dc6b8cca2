"""What a gate is to do: its checks, from a file in TOML and a command line; and the first such file."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from typing import Any

from gradeval.commands.compare import compare as comparison
from gradeval.commands.compare.coverage import coverage_of_runs
from gradeval.commands.gate.checks import (
    ALPHA,
    COVERAGE,
    IS_TEXT,
    KINDS,
    MAX_DROP,
    REQUIRE,
    Check,
    parse_checks,
)
from gradeval.commands.gate.history import LEAST as LEAST_LINES
from gradeval.commands.gate.history import GateHistory, HistoryChoice
from gradeval.commands.history.history import WINDOW, Window
from gradeval.compare_options import CompareOptions, Groups
from gradeval.errors import GradevalError, OptionError, described, first_names, printable
from gradeval.evaluation.results import Results, Runs
from gradeval.evaluation.saved import common_metrics
from gradeval.file_formats import labelled
from gradeval.formats.lines import TomlFile, files_named, read_toml
from gradeval.formats.output import AppendedFile
from gradeval.formats.sources import Source
from gradeval.options import COMPARED_METRICS, FILE_OPTIONS, FILE_PATHS, Options
from gradeval.registry.spec import Spec, is_num_q, parse
from gradeval.render.document import number

PYPROJECT = "pyproject.toml"
TABLE = "tool.gradeval.gate"  # of pyproject.toml
_KEYS = (*KINDS, "baseline", "min-coverage", "bounds", "name", "by", "history", "window", "options")
FULL_COVERAGE = 100.0  # percent


@dataclass(frozen=True)
class GateConfig:
    """The configuration of a gate; None where nothing is said."""

    checks: tuple[Check, ...]
    baseline: Any = None  # of a command a path, with or without a label
    # the percentage of the judged queries that a run needs to be judged; of rankings, of the baseline's queries
    min_coverage: float | None = None
    # those of the evaluation that the file has, by the names of Options
    options: Mapping[str, Any] = field(default_factory=dict)
    name: str = ""
    groups: Groups = ()  # of queries
    history: HistoryChoice = HistoryChoice()  # noqa: RUF009  # it is immutable
    windows: Mapping[str, Window] = field(default_factory=dict)  # of the history, by metric
    bounds: bool = False  # whether a check that missing judgments could turn is inconclusive

    @property
    def of_metrics(self) -> list[Check]:
        """The checks of metrics and of coverage."""
        return [check for check in self.checks if not check.measure]

    @property
    def of_rankings(self) -> list[Check]:
        """The checks of rankings, which need no judgments."""
        return [check for check in self.checks if check.measure]

    @property
    def uses_baseline(self) -> bool:
        """Whether any check compares with the baseline."""
        return any(check.needs_baseline for check in self.checks)

    @property
    def least_coverage(self) -> float:
        return FULL_COVERAGE if self.min_coverage is None else self.min_coverage

    def opened_history(self, file: AppendedFile | None) -> GateHistory:
        """Raises OptionError where there is nothing to append, InputError(s)."""
        if file is not None and all(check.metric == COVERAGE for check in self.checks):
            raise OptionError("history: it has means, and no check is of one: all are of coverage")
        compared = [check.metric for check in self.checks if check.of_history]
        return GateHistory(self.history, compared, file)


def open_config(path: str | None) -> TomlFile:
    """The file at the path, or ./pyproject.toml, with the content of its table of checks. Raises InputError."""
    nothing = TomlFile(PYPROJECT, "", {})  # where pyproject.toml was not asked for, and has nothing of gradeval
    if path is None and not os.path.isfile(PYPROJECT):
        return nothing
    file = read_toml(Source(path or PYPROJECT))
    if os.path.basename(file.path) != PYPROJECT:
        return file
    tool = _mapping(file.content.get("tool"))
    if path is None and "gradeval" not in tool:
        return nothing
    tables = _mapping(tool.get("gradeval"))
    file.check_keys(tables, ["gate"], "tool.gradeval")
    if not isinstance(tables.get("gate"), Mapping):
        raise file.error(f"it has no table [{TABLE}]")
    return file.replace(content=tables["gate"])


def named_files(file: TomlFile) -> list[str]:
    """The files that a configuration names, even where it has errors."""
    folder = os.path.dirname(file.path)
    options = _mapping(file.content.get("options"))
    paths = [file.content.get("baseline"), file.content.get("by"), *(options.get(name) for name in FILE_PATHS)]
    files = [labelled(os.path.join(folder, path))[1] for path in paths if isinstance(path, str)]
    return files + files_named(options.get("query_ids"), folder)


def named_history(file: TomlFile) -> str | None:
    """The history that a configuration names, None without one, or where it is no path."""
    path = file.content.get("history")
    return os.path.join(os.path.dirname(file.path), str(path)) if _is_path(path) else None


def read_config(
    file: TomlFile,
    texts: Mapping[str, Iterable[str]],
    baseline: Any,
    min_coverage: float | None,
    by: Any = None,
    *,
    history: HistoryChoice = HistoryChoice(),  # noqa: B008  # it is immutable
    bounds: bool = False,
) -> GateConfig:
    """The configuration of a file, and of the command line: checks are added, the others come first."""
    folder = os.path.dirname(file.path)
    content = file.content
    table = TABLE if os.path.basename(file.path) == PYPROJECT else ""
    file.check_keys(content, _KEYS, table)
    checks = [*_checks_of_file(file, table)]
    _check_values(file, table)
    options = content.get("options", {})
    file.check_keys(options, FILE_OPTIONS, options_table(file))
    evaluation = file.options(options, folder, options_table(file))
    for kind, texts_of_kind in texts.items():
        for text in texts_of_kind:
            checks += parse_checks(kind, text)
    if not checks:
        raise OptionError("no checks given. Add --require 'nDCG@10 >= 0.45', or a file of checks with --config")

    def path(argument: Any, name: str) -> Any:
        return os.path.join(folder, content[name]) if argument is None and name in content else argument

    baseline = path(baseline, "baseline")
    history = history.completed(content, folder)
    if history.is_baseline(baseline):
        checks = [replace(check, of_history=check.kind == MAX_DROP) for check in checks]
    if baseline is None and (check := next((check for check in checks if check.needs_baseline), None)):
        raise OptionError(f"'{check}' compares with a baseline. Add --baseline RUN")
    if min_coverage is None and "min-coverage" in content:
        min_coverage = float(content["min-coverage"])
    of_evaluation = {name: getattr(evaluation, name) for name in options}
    name = content.get("name", "")
    groups = CompareOptions(by=path(by, "by")).by
    bounds = _wants_bounds([bounds, content.get("bounds", False)], checks)
    distinct = tuple(dict.fromkeys(checks))
    return GateConfig(
        distinct,
        baseline,
        min_coverage,
        of_evaluation,
        name,
        groups=groups,
        history=history,
        bounds=bounds,
    )


def _wants_bounds(wanted: Iterable[bool], checks: Iterable[Check]) -> bool:
    """Whether any of these wants bounds. Raises OptionError where no check can have them."""
    if any(wanted) and not any(check.needs_baseline and not check.measure for check in checks):
        raise OptionError("bounds need checks of metrics against a baseline", "bounds")
    return any(wanted)


def _checks_of_file(file: TomlFile, table: str) -> Iterator[Check]:
    """The checks that a file lists, in its table. Raises InputError with the line of a wrong one."""
    for kind, (example, _) in KINDS.items():
        texts = file.content.get(kind, [])
        texts = [texts] if isinstance(texts, str) else texts
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            expected = f"must be a string or a list of strings such as '{example}', not {described(texts)}"
            raise file.error(f"{kind} {expected}", kind, table)
        for text in texts:
            try:
                yield from parse_checks(kind, text)
            except GradevalError as error:
                raise file.error(str(error), text, table) from None


def _is_path(value: Any) -> bool:
    return isinstance(value, str) and value not in ("", "-") and "\0" not in value


def _check_values(file: TomlFile, table: str) -> None:
    """Raise InputError where a key other than those of checks has a value of another kind."""

    def is_window(value: Any) -> bool:
        return type(value) is int and value >= LEAST_LINES

    def is_percentage(value: Any) -> bool:
        return type(value) in (int, float) and 0 <= value <= 100

    for key, is_valid, expected in (
        ("baseline", _is_path, "the path of a file"),
        ("by", _is_path, "the path of a file"),
        ("history", _is_path, "the path of a file"),
        ("window", is_window, "an integer from 3"),
        ("min-coverage", is_percentage, "a percentage from 0 to 100"),
        ("bounds", lambda value: isinstance(value, bool), "true or false"),
        ("name", lambda value: isinstance(value, str), "a string"),
        ("options", lambda value: isinstance(value, Mapping), "a table"),
    ):
        if key in file.content and not is_valid(file.content[key]):
            message = f"{key} must be {expected}, not {described(file.content[key])}"
            raise file.error(message, key, table)


def options_table(file: TomlFile) -> str:
    return f"{TABLE}.options" if os.path.basename(file.path) == PYPROJECT else "options"


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def first_checks(runs: Runs, metrics: Sequence[str]) -> list[Check]:
    """The checks of a first file for the run, and its baseline if there is one."""
    specs = parse(metrics) if metrics else common_metrics(runs[:1])[0] or parse(COMPARED_METRICS)
    specs = [spec for spec in specs if metrics or comparison.is_comparable(spec)]
    if of_text := [spec for spec in specs if spec.metric.text]:
        raise OptionError(f"{of_text[0]}{IS_TEXT}")
    compared = [spec for spec in specs if spec.metric.per_query and len(runs) > 1]
    return [Check(REQUIRE, spec) for spec in specs] + [Check(MAX_DROP, spec) for spec in compared]


def first_config(
    results: Results, checks: Iterable[Check], baseline: str | None, options: Options, path: str | None
) -> str:
    """A commented file of these checks, with bounds from the results. path: its own, None: standard output."""
    specs = list(dict.fromkeys(check.spec for check in checks if check.spec is not None))
    requirements = "\n".join(_requirements(results, specs))
    run = printable(results.runs[0].path)
    qrels = printable(results.qrels)
    compared = [str(spec) for spec in specs if _has_direction(spec) and spec.metric.per_query]
    is_path = baseline not in (None, "-")
    off = "" if is_path else "# "
    lowest = min(of_run.share for of_run in coverage_of_runs(results))
    percent = math.floor(10 * FULL_COVERAGE * lowest) / 10
    values = _options_of_file(options, results.options["query_ids"], path)
    return f"""\
# Checks of 'gradeval gate QRELS RUN --config FILE'.
# In {PYPROJECT} they belong below [{TABLE}] and [{TABLE}.options], and need no --config.
# Values of {run} for {qrels} when this was written are in comments.

# Values that the run must have: >=, >, <= or <.
require = [
{requirements}
]

# The run to compare with, or its saved result (gradeval QRELS RUN -q -f json -o baseline.json). The
# path is relative to this file; gradeval gate --update-baseline writes it, with --force the first time.
{off}baseline = {_toml(_beside(path, str(baseline)) if is_path else "baseline.json")}

# The mean must not fall by more than this, in the metric's unit or in percent of the baseline's.
{off}max-drop = {_toml([f"{name} 2%" for name in compared])}

# In place of the baseline max-drop can compare with the median of the last means of NAME=RUN in a history,
# which 'gradeval QRELS NAME=RUN --history history.jsonl' appends to: it needs {LEAST_LINES} lines.
# history = "history.jsonl"
# window = {WINDOW}

# The run must not be significantly worse: the interval of the difference must not lie below 0.
# Where nothing changed, {100 * ALPHA / 2:g} % of these checks fail by chance.
{off}no-worse = {_toml(compared)}

# The interval must show that the run is no worse than the baseline by more than this margin.
# non-inferior = {_toml([f"{name} 0.01" for name in compared])}

# Of this share of the queries at most, the value may fall by more than the amount.
# max-query-drop = {_toml([f"{name} 0.5 in 5%" for name in compared])}

# The percentage of the judged queries that the run and the baseline must have to be judged at all.
{"# " if percent == FULL_COVERAGE else ""}min-coverage = {number(percent, 1)}

# A check against the baseline is inconclusive where judgments of unjudged documents could turn it; then the
# baseline must be a run.
# bounds = true

# Groups of queries, 'query TAB group' lines, which checks name: "nDCG@10[head] >= 0.4".
# by = "groups.tsv"

# Options of the evaluation, such as rel = 2; the command line overrides them.
{"" if values else "# "}[options]
""" + "".join(f"{name} = {_toml(value)}\n" for name, value in values.items())


def _has_direction(spec: Spec) -> bool:
    return spec.metric.higher_is_better is not None or spec.metric.is_count


def _requirements(results: Results, specs: Iterable[Spec]) -> Iterator[str]:
    """The lines of a first file's `require`, with today's values in comments."""
    yield f"  {_toml(f'num_q >= {int(results.runs[0].counted.sum())}')},"
    for spec in specs:
        value = results.mean(0, spec)
        if math.isnan(value):
            yield f"  # {spec} is undefined"
        elif not is_num_q(spec):
            # neither high nor low is better: no bound follows from the value, except of what is judged
            off = "" if _has_direction(spec) or spec.metric.name == "Judged" else "# "
            yield f"  {off}{_toml(f'{spec} {_bound(spec, value)}')},  # {number(value, 4)}"


def _beside(path: str | None, other: str) -> str:
    """A path relative to the file of checks at the first one."""
    return other if path is None else os.path.relpath(other, os.path.dirname(os.path.realpath(path)))


def _options_of_file(options: Options, query_ids: Any, path: str | None) -> dict[str, Any]:
    """The options of a file of checks at this path, as it has them."""
    values = _not_default(options, query_ids)
    values |= {name: _beside(path, values[name]) for name in FILE_PATHS if name in values}
    if "columns" in values:
        values["columns"] = dict(values["columns"])
    return values


def _not_default(options: Options, query_ids: Any) -> dict[str, Any]:
    """Those of the options that a file may have and that differ from their defaults."""
    values = {**vars(options), "query_ids": query_ids}
    return {name: values[name] for name in FILE_OPTIONS if values[name] != Options.table[name].default}


def options_in_words(options: Options, ids: str | None) -> dict[str, str]:
    """The options that are not default, as in a file of checks. ids: the value of --query-ids."""
    texts = []
    for option, value in _not_default(options, ids or options.query_ids).items():
        text = f"{value:.15g}" if isinstance(value, float) else str(value)
        if isinstance(value, tuple):
            text = first_names("=".join(map(str, item)) if isinstance(item, tuple) else item for item in value)
        texts.append(option if value is True else f"{option} = {text}")
    return {"options": ", ".join(texts)} if texts else {}


def _toml(value: Any) -> str:
    """A value in TOML, whose strings, numbers and lists are as in JSON."""
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{key} = {_toml(text)}' for key, text in value.items())} }}"
    text = json.dumps(value, ensure_ascii=False).replace("\x7f", r"\u007f")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise GradevalError(f"{value} is not UTF-8 and cannot be written to TOML") from None
    return text.removesuffix(".0") if isinstance(value, float) else text


def _bound(spec: Spec, value: float) -> str:
    """'>= 0.68' for 0.6865: rounded so that the value is within it."""
    operator, rounding = ("<=", ROUND_CEILING) if spec.metric.higher_is_better is False else (">=", ROUND_FLOOR)
    two_digits = Context(prec=2, rounding=rounding).create_decimal(repr(value))
    return f"{operator} {float(two_digits) + 0.0:.15g}"

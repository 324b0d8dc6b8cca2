"""Files of checks, in TOML: how they are read, and a first one, with bounds from the values of a run."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any

from gradeval.commands.compare.values import comparable
from gradeval.commands.gate.checks import (
    EXAMPLES,
    KINDS,
    NO_WORSE,
    REQUIRE,
    Check,
    check_number,
    parse_checks,
)
from gradeval.commands.gate.result import FULL_COVERAGE
from gradeval.commands.gate.verdicts import ALPHA, coverage
from gradeval.errors import GradevalError, InputError, OptionError, described, named, printable
from gradeval.evaluation.results import Results
from gradeval.evaluation.runs import Runs
from gradeval.evaluation.saved import common_metrics
from gradeval.formats.lines import TomlFile, files_named, read_toml
from gradeval.formats.sources import Source
from gradeval.options import FILE_OPTIONS, Options
from gradeval.registry.spec import Spec, is_num_q, nearest, parse
from gradeval.render.numbers import number

PYPROJECT = "pyproject.toml"
TABLE = "tool.gradeval.gate"  # of pyproject.toml
DEFAULT_METRICS = "nDCG@10 AP"  # of a first file
_KEYS = (*KINDS, "baseline", "min-coverage", "options")
_PLACES = 2  # significant digits of a bound


@dataclass(frozen=True)
class GateConfig:
    """The configuration of a gate. baseline, min_coverage: None where nothing is said.

    options: those of the evaluation that a file has, by the names of Options.
    """

    checks: tuple[Check, ...] = ()
    baseline: str | None = None
    min_coverage: float | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def with_more(self, other: GateConfig) -> GateConfig:
        """The checks of both; a baseline and a coverage of the other, which has no options, replace these."""
        return GateConfig(
            tuple(dict.fromkeys([*self.checks, *other.checks])),
            self.baseline if other.baseline is None else other.baseline,
            self.min_coverage if other.min_coverage is None else other.min_coverage,
            self.options,
        )

    def check(self) -> None:
        """Raise OptionError where there are no checks, or one that lacks its baseline."""
        if not self.checks:
            what = "no checks given. Add --require 'nDCG@10 >= 0.45', or a file of checks with --config"
            raise OptionError(what)
        for check in self.checks:
            if check.needs_baseline and self.baseline is None:
                raise OptionError(f"'{check}' compares with a baseline. Add --baseline RUN")


# --- reading


def open_config(path: str | None) -> TomlFile | None:
    """The file at the path, or by default ./pyproject.toml, if it says anything about gradeval."""
    if path is not None:
        return read_toml(Source(path))
    if not os.path.isfile(PYPROJECT):
        return None
    file = read_toml(Source(PYPROJECT))
    return file if "gradeval" in _mapping(file.content.get("tool")) else None


def named_files(file: TomlFile) -> list[str]:
    """The files that a configuration names, even where it has errors: the baseline, group sizes, query ids."""
    content = _mapping(file.content)
    for name in TABLE.split(".") if os.path.basename(file.path) == PYPROJECT else ():
        content = _mapping(content.get(name))
    options = _mapping(content.get("options"))
    paths = (content.get("baseline"), options.get("groups"))
    return [
        *(_relative_to(file, path) for path in paths if isinstance(path, str)),
        *files_named(options.get("query_ids"), os.path.dirname(file.path)),
    ]


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _relative_to(file: TomlFile, path: str) -> str:
    return os.path.join(os.path.dirname(file.path), path)


def read_config(file: TomlFile) -> GateConfig:
    """The configuration in a TOML file, or in the table TABLE of a pyproject.toml. Raises InputError."""
    content, table = _table(file)
    checks: list[Check] = []
    options: Mapping[str, Any] = {}
    for key, value in content.items():
        if key in KINDS:
            checks += _checks(file, key, value, table)
        elif key == "options":
            options = _options(file, value, table)
        elif key not in _KEYS:
            raise _unknown(file, key, _KEYS, "key", table)
    baseline, least = content.get("baseline"), content.get("min-coverage")
    if baseline is not None:
        if not isinstance(baseline, str) or baseline in ("", "-") or "\0" in baseline:
            raise _wrong(file, "baseline", f"must be the path of a file, not {described(baseline)}", table)
        baseline = _relative_to(file, baseline)
    if least is not None:
        if not isinstance(least, (int, float)) or isinstance(least, bool) or not 0 <= least <= 100:
            what = f"must be a percentage from 0 to 100, not {described(least)}"
            raise _wrong(file, "min-coverage", what, table)
        least = float(least)
    return GateConfig(tuple(checks), baseline, least, options)


def _table(file: TomlFile) -> tuple[Mapping[str, Any], str]:
    """The table with the checks, and its name."""
    if os.path.basename(file.path) != PYPROJECT:
        return file.content, ""
    content: Any = file.content
    for name in TABLE.split("."):
        if name == "gate" and isinstance(content, Mapping) and (others := [*content.keys() - {name}]):
            raise _unknown(file, min(others), [name], "table")
        content = content.get(name) if isinstance(content, Mapping) else None
    if not isinstance(content, Mapping):
        raise InputError(file.path, f"it has no table [{TABLE}]")
    return content, TABLE


def _checks(file: TomlFile, kind: str, value: Any, table: str) -> Iterator[Check]:
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        what = f"must be a string or a list of strings such as '{EXAMPLES[kind]}', not {described(value)}"
        raise _wrong(file, kind, what, table)
    for text in texts:
        try:
            yield from parse_checks(kind, text)
        except GradevalError as error:
            raise InputError(file.path, str(error), line=file.line_of(text, table)) from None


def _options(file: TomlFile, value: Any, table: str) -> Mapping[str, Any]:
    """The options of the evaluation; a path among them is relative to the file."""
    table = f"{table}.options" if table else "options"
    if not isinstance(value, Mapping):
        raise InputError(file.path, f"[{table}] must be a table", line=file.line_of("options"))
    for key in value:
        if key not in FILE_OPTIONS:
            raise _unknown(file, key, FILE_OPTIONS, "option", table)
    if isinstance(value.get("groups"), str):
        value = {**value, "groups": _relative_to(file, value["groups"])}
    try:
        options = Options.of(**value)
    except OptionError as error:
        raise InputError(file.path, str(error), line=file.line_of(str(error).split()[0], table)) from None
    return {name: getattr(options, name) for name in value}


def _unknown(file: TomlFile, key: str, known: Sequence[str], what: str, table: str = "") -> InputError:
    near = nearest(key, known)
    hint = f"Did you mean '{near}'?" if near else f"There {'are' if known[1:] else 'is'} {', '.join(known)}"
    return InputError(file.path, f"unknown {what} {named(key)}", line=file.line_of(key, table), hint=hint)


def _wrong(file: TomlFile, key: str, what: str, table: str) -> InputError:
    return InputError(file.path, f"{key} {what}", line=file.line_of(key, table))


# --- a first file


def first_checks(runs: Runs, specs: Sequence[Spec]) -> list[Check]:
    """The checks of a first file: by default of the metrics of a saved result, or of DEFAULT_METRICS.

    runs: the run, and its baseline if there is one.
    """
    specs = specs or comparable(common_metrics(runs[:1])[0] or parse(DEFAULT_METRICS))
    for spec in specs:
        check_number(spec)
    kinds = [REQUIRE, NO_WORSE] if len(runs) > 1 else [REQUIRE]
    return [Check(kind, spec) for spec in specs for kind in kinds if kind == REQUIRE or spec.metric.per_query]


def first_config(
    results: Results, checks: Iterable[Check], baseline: str | None, options: Options, path: str | None
) -> str:
    """A commented file of these checks, with bounds from the results. Paths are relative to the file.

    baseline: its path. options: of the evaluation. path: of the file, None for standard output.
    """

    def beside(other: str) -> str:
        return other if path is None else os.path.relpath(other, os.path.dirname(os.path.realpath(path)))

    specs = list(dict.fromkeys(check.spec for check in checks if check.spec is not None))
    has_direction = [spec for spec in specs if spec.metric.higher_is_better is not None or spec.metric.is_count]
    required = [f"  {_quoted(f'num_q >= {int(results.runs[0].counted.sum())}')},"]
    for spec in specs:
        value = results.mean(0, spec)
        if math.isnan(value):
            required.append(f"  # {spec} is undefined")
        elif not is_num_q(spec):
            # neither high nor low is better: no bound follows from the value, except of what is judged
            off_bound = "" if spec in has_direction or spec.metric.name == "Judged" else "# "
            check = _quoted(f"{spec} {_bound(spec, value)}")
            required.append(f"  {off_bound}{check},  # {number(value, 4)}")
    compared = [str(spec) for spec in has_direction if spec.metric.per_query]
    off = "# " if baseline in (None, "-") else ""
    path_of_baseline = "baseline.json" if baseline in (None, "-") else beside(str(baseline))
    lowest = min(coverage(results, r).share for r in range(len(results.runs)))
    percent = math.floor(10 * FULL_COVERAGE * lowest) / 10
    values = {name: getattr(options, name) for name in FILE_OPTIONS}
    values["query_ids"] = results.options["query_ids"]
    values = {name: value for name, value in values.items() if value != getattr(Options(), name)}
    if "groups" in values:
        values["groups"] = beside(values["groups"])
    if "columns" in values:
        values["columns"] = dict(values["columns"])
    run, qrels = printable(results.runs[0].path), printable(results.qrels)
    lines = [
        "# Checks of 'gradeval gate QRELS RUN --config FILE'.",
        f"# In {PYPROJECT} they belong below [{TABLE}] and [{TABLE}.options], and need no --config.",
        f"# Values of {run} for {qrels} when this was written are in comments.",
        "",
        "# Values that the run must have: >=, >, <= or <.",
        "require = [",
        *required,
        "]",
        "",
        "# The run to compare with, or its saved result (gradeval QRELS RUN -q -f json -o baseline.json). The",
        "# path is relative to this file.",
        f"{off}baseline = {_quoted(path_of_baseline)}",
        "",
        "# The mean must not fall by more than this, in the metric's unit or in percent of the baseline's.",
        f"{off}max-drop = {_listed(compared, ' 2%')}",
        "",
        "# The run must not be significantly worse: the interval of the difference must not lie below 0.",
        f"# Where nothing changed, {100 * ALPHA / 2:g} % of these checks fail by chance.",
        f"{off}no-worse = {_listed(compared)}",
        "",
        "# The interval must show that the run is no worse than the baseline by more than this margin.",
        f"# non-inferior = {_listed(compared, ' 0.01')}",
        "",
        "# Of this share of the queries at most, the value may fall by more than the amount.",
        f"# max-query-drop = {_listed(compared, ' 0.5 in 5%')}",
        "",
        "# The percentage of the judged queries that the run and the baseline must have to be judged at all.",
        f"{'# ' if percent == FULL_COVERAGE else ''}min-coverage = {number(percent, 1)}",
        "",
        "# Options of the evaluation, such as rel = 2; the command line overrides them.",
        "[options]" if values else "# [options]",
        *(f"{name} = {_toml(value)}" for name, value in values.items()),
    ]
    return "".join(f"{line}\n" for line in lines)


def _toml(value: Any) -> str:
    """An option in TOML."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return repr(value).removesuffix(".0")
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{key} = {_quoted(text)}' for key, text in value.items())} }}"
    return _listed(list(value))


def _bound(spec: Spec, value: float) -> str:
    """'>= 0.68' for 0.6865: rounded so that the value is within it."""
    is_lower_better = spec.metric.higher_is_better is False
    exact = Decimal(repr(value + 0.0))
    step = Decimal(1).scaleb(exact.adjusted() - _PLACES + 1)
    rounded = exact.quantize(step, ROUND_CEILING if is_lower_better else ROUND_FLOOR)
    return f"{'<=' if is_lower_better else '>='} {float(rounded) + 0.0:.15g}"


def _listed(names: Sequence[str], more: str = "") -> str:
    return f"[{', '.join(_quoted(name + more) for name in names)}]"


def _quoted(text: str) -> str:
    """A string of TOML, which has JSON's escapes."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise GradevalError(f"{printable(text)} is not UTF-8 and cannot be written to TOML") from None
    return json.dumps(text, ensure_ascii=False).replace("\x7f", r"\u007f")

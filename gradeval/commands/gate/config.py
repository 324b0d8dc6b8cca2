"""Files of checks, in TOML: how they are read, and a first one, with bounds from the values of a run."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any

from gradeval.commands.compare.compare import is_comparable
from gradeval.commands.gate import verdicts
from gradeval.errors import GradevalError, InputError, OptionError, described, printable
from gradeval.evaluation.results import Results, Runs
from gradeval.evaluation.saved import common_metrics
from gradeval.file_formats import labelled
from gradeval.formats.lines import TomlFile, files_named, read_toml
from gradeval.formats.sources import Source
from gradeval.options import COMPARED_METRICS, FILE_OPTIONS, FILE_PATHS, Options
from gradeval.registry.spec import Spec, is_num_q, parse
from gradeval.render.numbers import number

PYPROJECT = "pyproject.toml"
TABLE = "tool.gradeval.gate"  # of pyproject.toml
_KEYS = (*verdicts.KINDS, "baseline", "min-coverage", "name", "options")
_PLACES = 2  # significant digits of a bound


@dataclass(frozen=True)
class GateConfig:
    """The configuration of a gate. baseline, min_coverage: None where nothing is said. options: those of the
    evaluation that a file has, by the names of Options.
    """

    checks: tuple[verdicts.Check, ...] = ()
    baseline: str | None = None
    min_coverage: float | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    name: str = ""

    def joined(
        self, texts: Mapping[str, Iterable[str]], baseline: str | None, min_coverage: float | None
    ) -> GateConfig:
        """With the checks of the command line too, texts by kind, and its baseline and coverage, where it has
        them. Raises OptionError where there are no checks, or one that lacks its baseline.
        """
        checks = [
            check for kind, of in texts.items() for text in of for check in verdicts.parse_checks(kind, text)
        ]
        every = tuple(dict.fromkeys([*self.checks, *checks]))
        baseline = self.baseline if baseline is None else baseline
        min_coverage = self.min_coverage if min_coverage is None else min_coverage
        if not every:
            what = "no checks given. Add --require 'nDCG@10 >= 0.45', or a file of checks with --config"
            raise OptionError(what)
        if baseline is None and (check := next((check for check in every if check.needs_baseline), None)):
            raise OptionError(f"'{check}' compares with a baseline. Add --baseline RUN")
        return replace(self, checks=every, baseline=baseline, min_coverage=min_coverage)


# --- reading


def open_config(path: str | None) -> TomlFile:
    """The file at the path, or ./pyproject.toml, with the content of its table of checks; empty if a
    pyproject.toml that was not asked for says nothing about gradeval. Raises InputError.
    """
    nothing = TomlFile(PYPROJECT, "", {})
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
        raise InputError(file.path, f"it has no table [{TABLE}]")
    return file.replace(content=tables["gate"])


def named_files(file: TomlFile) -> list[str]:
    """The files that a configuration names, even where it has errors."""
    folder, options = os.path.dirname(file.path), _mapping(file.content.get("options"))
    paths = [file.content.get("baseline"), *(options.get(name) for name in FILE_PATHS)]
    files = [labelled(os.path.join(folder, path))[1] for path in paths if isinstance(path, str)]
    return files + files_named(options.get("query_ids"), folder)


def read_config(file: TomlFile) -> GateConfig:
    """The configuration in a file. A path in it is relative to the file. Raises InputError."""
    folder, content = os.path.dirname(file.path), file.content
    table = TABLE if os.path.basename(file.path) == PYPROJECT else ""
    file.check_keys(content, _KEYS, table)
    checks: list[verdicts.Check] = []
    for kind, (example, _) in verdicts.KINDS.items():
        texts = content.get(kind, [])
        texts = [texts] if isinstance(texts, str) else texts
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            what = f"must be a string or a list of strings such as '{example}', not {described(texts)}"
            raise file.error(f"{kind} {what}", kind, table)
        for text in texts:
            try:
                checks += verdicts.parse_checks(kind, text)
            except GradevalError as error:
                raise InputError(file.path, str(error), line=file.line_of(text, table)) from None
    baseline, percent, name = (
        content.get("baseline"),
        content.get("min-coverage", 0),
        content.get("name"),
    )
    is_path = isinstance(baseline, str) and baseline not in ("", "-") and "\0" not in baseline
    is_percentage = type(percent) in (int, float) and 0 <= percent <= 100
    for key, is_right, what in (
        ("baseline", is_path, "the path of a file"),
        ("min-coverage", is_percentage, "a percentage from 0 to 100"),
        ("name", isinstance(name, str), "a string"),
        ("options", isinstance(content.get("options"), Mapping), "a table"),
    ):
        if key in content and not is_right:
            raise file.error(f"{key} must be {what}, not {described(content[key])}", key, table)
    options = content.get("options", {})
    file.check_keys(options, FILE_OPTIONS, options_table(file))
    evaluation = file.options(options, folder, options_table(file))
    return GateConfig(
        tuple(checks),
        None if baseline is None else os.path.join(folder, baseline),
        float(percent) if "min-coverage" in content else None,
        {name: getattr(evaluation, name) for name in options},
        name or "",
    )


def options_table(file: TomlFile) -> str:
    return f"{TABLE}.options" if os.path.basename(file.path) == PYPROJECT else "options"


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


# --- a first file


def first_checks(runs: Runs, specs: Sequence[Spec]) -> list[verdicts.Check]:
    """The checks of a first file for the run, and its baseline if there is one."""
    specs = specs or list(filter(is_comparable, common_metrics(runs[:1])[0] or parse(COMPARED_METRICS)))
    for spec in specs:
        verdicts.check_number(spec)
    required = [verdicts.Check(verdicts.REQUIRE, spec) for spec in specs]
    compared = [spec for spec in specs if spec.metric.per_query and len(runs) > 1]
    return required + [verdicts.Check(verdicts.MAX_DROP, spec) for spec in compared]


def first_config(
    results: Results, checks: Iterable[verdicts.Check], baseline: str | None, options: Options, path: str | None
) -> str:
    """A commented file of these checks, with bounds from the results. baseline, path: that of the baseline, and
    of the file, to which paths are relative, None for standard output.
    """

    def beside(other: str) -> str:
        return other if path is None else os.path.relpath(other, os.path.dirname(os.path.realpath(path)))

    specs = list(dict.fromkeys(check.spec for check in checks if check.spec is not None))
    has_direction = [spec for spec in specs if spec.metric.higher_is_better is not None or spec.metric.is_count]
    required = [f"  {_toml(f'num_q >= {int(results.runs[0].counted.sum())}')},"]
    for spec in specs:
        value = results.mean(0, spec)
        if math.isnan(value):
            required.append(f"  # {spec} is undefined")
        elif not is_num_q(spec):
            # neither high nor low is better: no bound follows from the value, except of what is judged
            off_bound = "" if spec in has_direction or spec.metric.name == "Judged" else "# "
            required.append(f"  {off_bound}{_toml(f'{spec} {_bound(spec, value)}')},  # {number(value, 4)}")
    requirements = "\n".join(required)
    run, qrels = printable(results.runs[0].path), printable(results.qrels)
    compared = [str(spec) for spec in has_direction if spec.metric.per_query]
    is_path = baseline not in (None, "-")
    off = "" if is_path else "# "
    lowest = min(verdicts.coverage(results, r).share for r in range(len(results.runs)))
    percent = math.floor(10 * verdicts.FULL_COVERAGE * lowest) / 10
    values = not_default({**vars(options), "query_ids": results.options["query_ids"]})
    values |= {name: beside(values[name]) for name in FILE_PATHS if name in values}
    if "columns" in values:
        values["columns"] = dict(values["columns"])
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
{off}baseline = {_toml(beside(str(baseline)) if is_path else "baseline.json")}

# The mean must not fall by more than this, in the metric's unit or in percent of the baseline's.
{off}max-drop = {_toml([f"{name} 2%" for name in compared])}

# The run must not be significantly worse: the interval of the difference must not lie below 0.
# Where nothing changed, {100 * verdicts.ALPHA / 2:g} % of these checks fail by chance.
{off if options.query_weights is None else "# "}no-worse = {_toml(compared)}

# The interval must show that the run is no worse than the baseline by more than this margin.
# non-inferior = {_toml([f"{name} 0.01" for name in compared])}

# Of this share of the queries at most, the value may fall by more than the amount.
# max-query-drop = {_toml([f"{name} 0.5 in 5%" for name in compared])}

# The percentage of the judged queries that the run and the baseline must have to be judged at all.
{"# " if percent == verdicts.FULL_COVERAGE else ""}min-coverage = {number(percent, 1)}

# Options of the evaluation, such as rel = 2; the command line overrides them.
{"" if values else "# "}[options]
""" + "".join(f"{name} = {_toml(value)}\n" for name, value in values.items())


def not_default(options: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the options that a file may have and that differ from their defaults."""
    return {name: options[name] for name in FILE_OPTIONS if options[name] != Options.table[name].default}


def _toml(value: Any) -> str:
    """A value in TOML, whose strings, numbers and lists are as in JSON."""
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{key} = {_toml(text)}' for key, text in value.items())} }}"
    text = json.dumps(value, ensure_ascii=False).replace("\x7f", r"\u007f")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise GradevalError(f"{printable(str(value))} is not UTF-8 and cannot be written to TOML") from None
    return text.removesuffix(".0") if isinstance(value, float) else text


def _bound(spec: Spec, value: float) -> str:
    """'>= 0.68' for 0.6865: rounded so that the value is within it."""
    is_lower_better = spec.metric.higher_is_better is False
    exact = Decimal(repr(value + 0.0))
    step = Decimal(1).scaleb(exact.adjusted() - _PLACES + 1)
    rounded = exact.quantize(step, ROUND_CEILING if is_lower_better else ROUND_FLOOR)
    return f"{'<=' if is_lower_better else '>='} {float(rounded) + 0.0:.15g}"

"""The checks of a gate as users write them, such as 'nDCG@10 >= 0.45', on the command line and in TOML."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from gradeval.commands.batch.manifest import OPTIONS
from gradeval.errors import GradevalError, InputError, MetricError, OptionError, described, named
from gradeval.formats.toml import TomlFile
from gradeval.options import Options, parse_number
from gradeval.registry.spec import Spec, nearest, parse

COVERAGE = "coverage"  # the share of the judged queries that are in the run
REQUIRE, MAX_DROP, NO_WORSE, NON_INFERIOR, MAX_QUERY_DROP = KINDS = (
    "require",
    "max-drop",
    "no-worse",
    "non-inferior",
    "max-query-drop",
)
TABLE = "tool.gradeval.gate"  # of pyproject.toml
PYPROJECT = "pyproject.toml"

_EXAMPLES = {
    REQUIRE: "nDCG@10 >= 0.45",
    MAX_DROP: "nDCG@10 0.01' or 'nDCG@10 2%",
    NO_WORSE: "nDCG@10",
    NON_INFERIOR: "nDCG@10 0.01",
    MAX_QUERY_DROP: "RR 0.5 in 5%",
}
_NUMBER = r"(?P<amount>[^\s%<>=]+)"
_PERCENT = r"(?P<percent>\s*%)?"
_METRICS = r"(?P<metrics>(?:[^\s\d.+-]\S*\s+)+)"  # words that are no numbers
_FORMS = {
    REQUIRE: rf"(?P<metrics>\S(?:.*?[^\s<>=])?)\s*(?P<operator>>=|<=|>|<)\s*{_NUMBER}{_PERCENT}",
    MAX_DROP: rf"{_METRICS}{_NUMBER}{_PERCENT}",
    NO_WORSE: r"(?P<metrics>.+)",
    NON_INFERIOR: rf"{_METRICS}{_NUMBER}",
    MAX_QUERY_DROP: rf"{_METRICS}{_NUMBER}(?:\s+in\s+(?P<share>[^\s%]+)\s*%)?",
}


@dataclass(frozen=True)
class Check:
    """One check of one metric.

    kind: one of KINDS. spec: the metric, None for coverage. operator: of REQUIRE. amount: the bound of REQUIRE,
    or by how much the metric may fall, in its unit or, if is_relative, in percent of the baseline's mean.
    share: for MAX_QUERY_DROP, the percentage of queries that may fall by more.
    """

    kind: str
    spec: Spec | None
    operator: str = ""
    amount: float = 0.0
    is_relative: bool = False
    share: float = 0.0

    @property
    def needs_baseline(self) -> bool:
        return self.kind != REQUIRE

    @property
    def metric(self) -> str:
        """The canonical name of the metric, or 'coverage'."""
        return COVERAGE if self.spec is None else str(self.spec)

    def __str__(self) -> str:
        if self.kind == REQUIRE:
            return f"{self.metric} {self.operator} {_text(self.amount)}"
        words = [self.kind, self.metric]
        if self.kind != NO_WORSE:
            words.append(_text(self.amount) + "%" * self.is_relative)
        if self.kind == MAX_QUERY_DROP:
            words.append(f"in {_text(self.share)}%")
        return " ".join(words)


def _text(number: float) -> str:
    return repr(number).removesuffix(".0")


def parse_checks(kind: str, text: str) -> list[Check]:
    """The checks of a text, one for each metric that it names. Raises OptionError, MetricError."""
    found = re.fullmatch(_FORMS[kind], text.strip(), re.DOTALL)
    if found is None:
        raise _invalid(kind, text, "is not of the form")
    parts = found.groupdict()
    specs: list[Spec | None] = [None]
    if kind != REQUIRE or parts["metrics"].lower() != COVERAGE:
        specs = [*_specs(kind, parts["metrics"])]
    is_percent = bool(parts.get("percent"))
    amount, share = _number(kind, text, parts.get("amount")), _number(kind, text, parts.get("share"))
    if kind == REQUIRE and is_percent:
        amount, is_percent = amount / 100, False
    if specs == [None] and not 0 <= amount <= 1:
        raise OptionError(f"{kind} {named(text)}: coverage is a share from 0 to 1; write 95% or 0.95")
    if kind != REQUIRE and amount < 0:
        raise OptionError(f"{kind} {named(text)}: the amount must not be below 0: improvement never fails")
    if not 0 <= share <= 100:
        raise OptionError(f"{kind} {named(text)}: the share of queries must be from 0% to 100%")
    return [Check(kind, spec, parts.get("operator") or "", amount, is_percent, share) for spec in specs]


def _specs(kind: str, names: str) -> list[Spec]:
    try:
        specs = parse(names)
    except MetricError:
        if not nearest(names.strip().lower(), [COVERAGE]):
            raise
        hint = f"did you mean {COVERAGE}?" if kind == REQUIRE else f"{COVERAGE} is checked with {REQUIRE}"
        raise MetricError(names.strip(), hint=hint) from None
    for spec in specs:
        check_number(spec)
        if kind != REQUIRE and not spec.metric.per_query:
            what = f"{spec} has no value for each query, so runs cannot be compared by it"
            raise MetricError(what, hint=f"use {REQUIRE}")
    return specs


def check_number(spec: Spec) -> None:
    """Raise MetricError where a metric has text instead of numbers."""
    if spec.metric.text:
        raise MetricError(f"{spec} is text and cannot be checked")


def _number(kind: str, text: str, number: str | None) -> float:
    if number is None:
        return 0.0
    try:
        return parse_number(number) + 0.0
    except ValueError:
        raise _invalid(kind, text, f"has {named(number)} where a number belongs, as in") from None


def _invalid(kind: str, text: str, what: str) -> OptionError:
    return OptionError(f"{kind} {named(text)} {what} '{_EXAMPLES[kind]}'")


@dataclass(frozen=True)
class GateConfig:
    """What a gate judges by, and against what. baseline, min_coverage: None where nothing is said.

    options: those of the evaluation that a file has, by the names of Options.
    """

    checks: tuple[Check, ...] = ()
    baseline: str | None = None
    min_coverage: float | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def with_more(self, other: GateConfig) -> GateConfig:
        """The checks and options of both; a baseline and a coverage of the other replace these."""
        return GateConfig(
            tuple(dict.fromkeys([*self.checks, *other.checks])),
            self.baseline if other.baseline is None else other.baseline,
            self.min_coverage if other.min_coverage is None else other.min_coverage,
            {**self.options, **other.options},
        )


def has_config(file: TomlFile) -> bool:
    """Whether a pyproject.toml says anything about gradeval."""
    tool = file.content.get("tool")
    return isinstance(tool, Mapping) and "gradeval" in tool


def named_files(file: TomlFile) -> list[str]:
    """The files that a configuration names, even where it has errors: the baseline and the group sizes."""
    content = _mapping(file.content)
    for name in TABLE.split(".") if os.path.basename(file.path) == PYPROJECT else ():
        content = _mapping(content.get(name))
    named = (content.get("baseline"), _mapping(content.get("options")).get("groups"))
    return [_relative_to(file, path) for path in named if isinstance(path, str)]


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _relative_to(file: TomlFile, path: str) -> str:
    return os.path.join(os.path.dirname(file.path), path)


def read_config(file: TomlFile) -> GateConfig:
    """The configuration in a TOML file, or in the table TABLE of a pyproject.toml. Raises InputError."""
    content, table = _table(file)
    given: dict[str, Any] = {}
    checks: list[Check] = []
    options: Mapping[str, Any] = {}
    for key, value in content.items():
        if key in KINDS:
            checks += [check for text in _texts(file, key, value, table) for check in text]
        elif key == "options":
            options = _options(file, value, f"{table}.options" if table else "options")
        else:
            given[_field(file, key, table)] = value
    baseline, coverage = given.get("baseline"), given.get("min_coverage")
    if baseline is not None:
        if not isinstance(baseline, str) or baseline in ("", "-") or "\0" in baseline:
            raise _wrong(file, "baseline", f"must be the path of a file, not {described(baseline)}", table)
        baseline = _relative_to(file, baseline)
    if coverage is not None and (
        not isinstance(coverage, (int, float)) or isinstance(coverage, bool) or not 0 <= coverage <= 100
    ):
        raise _wrong(
            file, "min-coverage", f"must be a percentage from 0 to 100, not {described(coverage)}", table
        )
    return GateConfig(tuple(checks), baseline, None if coverage is None else float(coverage), options)


def _options(file: TomlFile, given: Any, table: str) -> Mapping[str, Any]:
    """The options of the evaluation; a path among them is relative to the file."""
    if not isinstance(given, Mapping):
        raise InputError(file.path, f"[{table}] must be a table", line=file.line_of("options"))
    for key in given:
        if key not in OPTIONS:
            raise _unknown(file, key, [*OPTIONS], "option", table)
    if isinstance(given.get("groups"), str):
        given = {**given, "groups": _relative_to(file, given["groups"])}
    try:
        found = Options.of(**given)
    except OptionError as error:
        raise InputError(file.path, str(error), line=file.line_of(str(error).split()[0], table)) from None
    return {name: getattr(found, name) for name in given}


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


def _texts(file: TomlFile, kind: str, value: Any, table: str) -> Iterator[list[Check]]:
    """The checks of each string of a key."""
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        what = f"must be a string or a list of strings such as '{_EXAMPLES[kind]}', not {described(value)}"
        raise _wrong(file, kind, what, table)
    for text in texts:
        try:
            yield parse_checks(kind, text)
        except GradevalError as error:
            raise InputError(file.path, str(error), line=file.line_of(text, table)) from None


def _field(file: TomlFile, key: str, table: str) -> str:
    names = {one.name.replace("_", "-"): one.name for one in fields(GateConfig)}
    del names["checks"], names["options"]
    if key not in names:
        raise _unknown(file, key, [*KINDS, *names, "options"], "key", table)
    return names[key]


def _unknown(file: TomlFile, key: str, known: list[str], what: str, table: str = "") -> InputError:
    near = nearest(key, known)
    hint = f"Did you mean '{near}'?" if near else f"There {'are' if known[1:] else 'is'} {', '.join(known)}"
    return InputError(file.path, f"unknown {what} {named(key)}", line=file.line_of(key, table), hint=hint)


def _wrong(file: TomlFile, key: str, what: str, table: str) -> InputError:
    return InputError(file.path, f"{key} {what}", line=file.line_of(key, table))

"""The types of option values, their errors, and the completion of names of metrics, measures and families."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from gradeval.errors import GRADE_RANGE, is_grade
from gradeval.notices import Kind
from gradeval.options import parse_number

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


def _item(value: str, **about: str) -> CompletionItem:
    from click.shell_completion import CompletionItem

    return CompletionItem(value, **about)


class File(click.ParamType):  # type: ignore[type-arg]
    """The name of a file, checked only when it is read: an unreadable run does not affect the others."""

    name = "file"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return value

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        return [_item(incomplete, type="file")]


class OutputPath(File):
    """The name of a file that is written; a File is read."""


class Integer(click.ParamType):  # type: ignore[type-arg]
    """An integer in a range, or one of the words, each with its value."""

    def __init__(self, minimum: int, maximum: int, **words: Any) -> None:
        self.minimum, self.maximum, self.words = minimum, maximum, words
        self.name = "|".join(["N", *words])

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, int):
            return value
        if value in self.words:
            return self.words[value]
        digits = value.removeprefix("-")
        if not (digits.isascii() and digits.isdigit() and len(digits) < 20) or not (
            self.minimum <= int(value) <= self.maximum
        ):
            words = "".join(f" or '{word}'" for word in self.words)
            self.fail(f"'{value}' is not an integer from {self.minimum} to {self.maximum}{words}.", param, ctx)
        return int(value)


class Percentage(click.ParamType):  # type: ignore[type-arg]
    name = "PERCENT"

    def __init__(self, minimum: float, maximum: float) -> None:
        self.minimum, self.maximum = minimum, maximum

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            number = parse_number(str(value))
        except ValueError:
            number = -1.0
        if not self.minimum <= number <= self.maximum:
            self.fail(f"'{value}' is not a percentage from {self.minimum:g} to {self.maximum:g}.", param, ctx)
        return number


class Kinds(click.ParamType):  # type: ignore[type-arg]
    """Kinds of notices, comma-separated."""

    name = "LIST"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[Kind, ...]:
        names = value.replace(",", " ").split() if isinstance(value, str) else value
        kinds = {kind.value: kind for kind in Kind}
        unknown = [name for name in names if name not in kinds]
        if unknown:
            self.fail(f"unknown kind of warning '{unknown[0]}'; the kinds are {', '.join(kinds)}.", param, ctx)
        return tuple(kinds[name] for name in names)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """The kinds that begin as the last of several, without those given."""
        *given, last = incomplete.split(",")
        before = incomplete[: len(incomplete) - len(last)]
        names = [kind.value for kind in Kind if kind.value not in given]
        return [_item(before + name) for name in names if name.startswith(last)]


class Setting(click.ParamType):  # type: ignore[type-arg]
    name = "NAME=VALUE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        if isinstance(value, tuple):
            return value
        name, equals, text = value.partition("=")
        if not name or not equals:
            self.fail(f"'{value}' is not NAME=VALUE.", param, ctx)
        return name, text


class Finite(click.ParamType):  # type: ignore[type-arg]
    """A finite number that can be a grade. default: the word for the default."""

    name = "number"

    def __init__(self, default: str | None = None) -> None:
        self.default = default

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float | None:
        if value == self.default:
            return None
        try:
            number = parse_number(str(value))
        except ValueError:
            self.fail(f"'{value}' is not a finite number.", param, ctx)
        if not is_grade(number):
            self.fail(f"'{value}' is out of range: grades are {GRADE_RANGE}.", param, ctx)
        return number


_LAST = r"(?s)(.*(?:\s|,(?!\d))|)(.*)"  # a comma before a digit is between cutoffs


def complete_metric(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The completions of a metric name, the last of several: our names, aliases, trec_eval's, groups."""
    return _completed(incomplete, _ours())


def complete_trec_eval(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The completions of a measure of trec_eval, or of a gradeval metric."""
    from gradeval.registry.dialects import MEASURES, TREC_EVAL
    from gradeval.registry.metric import REGISTRY

    ours = _ours()
    measures = {name: REGISTRY[measure.metric].summary for name, measure in MEASURES.items()}
    return _completed(incomplete, measures | {name: group.about for name, group in TREC_EVAL.items()} | ours)


def complete_ir_measures(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The completions of a measure of ir_measures, or of a gradeval metric."""
    from gradeval.registry.dialects import IR_MEASURES
    from gradeval.registry.spec import metric_of

    ours = _ours()
    return _completed(incomplete, {name: metric_of(name).summary for name in IR_MEASURES} | ours)


def complete_family(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The first words of the names of families: bash would take a name with spaces as several."""
    from gradeval.registry.metric import REGISTRY, load

    load()
    words = {metric.group.split()[0]: metric.group for metric in REGISTRY.values()}
    return [
        _item(word, help=name)
        for word, name in sorted(words.items(), key=lambda pair: pair[0].lower())
        if word.lower().startswith(incomplete.lower())
    ]


def _ours() -> dict[str, str]:
    """The names that -m accepts, with a line about each."""
    from gradeval.registry.dialects import GROUPS, names_of
    from gradeval.registry.metric import REGISTRY, load

    load()
    names = {metric.name: metric.summary for metric in REGISTRY.values()}
    for metric in REGISTRY.values():
        for name in (*metric.aliases, *names_of(metric.name)):
            names.setdefault(name, metric.summary)
    return names | {name: group.about for name, group in GROUPS.items()}


def _completed(incomplete: str, names: Mapping[str, str]) -> list[CompletionItem]:
    """The names that begin as the last of several; names that differ in case only are offered once."""
    from gradeval.registry.metric import fold

    match = re.fullmatch(_LAST, incomplete)
    assert match is not None  # it matches every text
    before, last = match.groups()
    found: dict[str, tuple[str, str]] = {}
    is_parameter = before.count("(") > before.count(")")
    for name, about in () if is_parameter else names.items():
        if fold(name).startswith(fold(last)):
            found.setdefault(fold(name), (name, about))
    return [_item(before + name, help=about) for name, about in found.values()]

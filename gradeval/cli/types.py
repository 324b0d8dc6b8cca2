"""The types of option values, and the completion of names of metrics and measures."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

from gradeval.errors import GRADE_RANGE, is_grade
from gradeval.notices import Kind
from gradeval.options import parse_number

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


def completion(value: str, **about: str) -> CompletionItem:
    from click.shell_completion import CompletionItem

    return CompletionItem(value, **about)


class Value(click.ParamType):  # type: ignore[type-arg]
    """What parse() reads from a text, here the text itself; its ValueError says what the text is not."""

    def parse(self, text: str) -> Any:
        return text

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):  # a default
            return value
        try:
            return self.parse(value)
        except ValueError as error:
            self.fail(f"'{value}' is not {error}.", param, ctx)


class File(Value):
    """The name of a file, checked only when it is read: an unreadable run does not affect the others."""

    name = "file"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        return [completion(incomplete, type="file")]


class OutputPath(File):
    """The name of a file that is written; a File is read."""


class Integer(Value):
    """An integer in a range, or one of the words, each with its value."""

    def __init__(self, minimum: int, maximum: int, **words: Any) -> None:
        self.minimum, self.maximum, self.words = minimum, maximum, words
        self.name = "|".join(["N", *words])

    def parse(self, text: str) -> Any:
        if text in self.words:
            return self.words[text]
        if re.fullmatch("-?[0-9]{1,19}", text) and self.minimum <= int(text) <= self.maximum:
            return int(text)
        words = "".join(f" or '{word}'" for word in self.words)
        raise ValueError(f"an integer from {self.minimum} to {self.maximum}{words}")


class Percentage(Value):
    name = "PERCENT"

    def __init__(self, minimum: float, maximum: float) -> None:
        self.minimum, self.maximum = minimum, maximum

    def parse(self, text: str) -> float:
        with suppress(ValueError):
            if self.minimum <= (number := parse_number(text)) <= self.maximum:
                return number
        raise ValueError(f"a percentage from {self.minimum:g} to {self.maximum:g}")


class Grade(Value):
    """A number that can be a grade. default: the word for the default."""

    name = "number"

    def __init__(self, default: str | None = None) -> None:
        self.default = default

    def parse(self, text: str) -> float | None:
        if text == self.default:
            return None
        with suppress(ValueError):
            if is_grade(number := parse_number(text)):
                return number
        raise ValueError(f"a number that can be a grade: {GRADE_RANGE}")


class Setting(Value):
    name = "NAME=VALUE"

    def parse(self, text: str) -> tuple[str, str]:
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise ValueError(self.name)
        return name, value


class Kinds(Value):
    """Kinds of notices, comma-separated."""

    name = "LIST"

    def parse(self, text: str) -> tuple[Kind, ...]:
        kinds = {kind.value: kind for kind in Kind}
        try:
            return tuple(kinds[name] for name in text.replace(",", " ").split())
        except KeyError:
            raise ValueError(f"a list of kinds of warnings: {', '.join(kinds)}") from None


def complete_metric(
    ctx: click.Context, param: click.Parameter, incomplete: str, tool: str = ""
) -> list[CompletionItem]:
    """The completions of a metric, the last of several: our names, aliases, trec_eval's and groups; before them
    the measures of the tool. Names that differ in case only are offered once.
    """
    from gradeval.registry.dialects import GROUPS, IR_MEASURES, MEASURES, TREC_EVAL, names_of
    from gradeval.registry.metric import REGISTRY, fold, load
    from gradeval.registry.spec import metric_of

    last = re.split(r"\s|,(?!\d)", incomplete)[-1]  # a comma before a digit is between cutoffs
    before = incomplete.removesuffix(last)
    if before.count("(") > before.count(")"):  # it is a parameter
        return []
    load()
    metrics = REGISTRY.values()
    names = {"trec_eval": [*MEASURES, *TREC_EVAL], "ir_measures": [*IR_MEASURES]}.get(tool, [])
    names += [metric.name for metric in metrics]
    names += [name for metric in metrics for name in (*metric.aliases, *names_of(metric.name))]
    offered: dict[str, CompletionItem] = {}
    for name in (*names, *GROUPS):
        if fold(name).startswith(fold(last)) and fold(name) not in offered:
            about = GROUPS[name].about if name in GROUPS else metric_of(name).summary
            offered[fold(name)] = completion(before + name, help=about)
    return list(offered.values())

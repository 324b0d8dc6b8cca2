"""The types of option values, and their errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from gradeval.errors import GRADE_RANGE, is_grade
from gradeval.notices import Kind
from gradeval.options import parse_number

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from gradeval.render import Digits


class File(click.ParamType):  # type: ignore[type-arg]
    """The name of a file, checked only when it is read: an unreadable run does not affect the others."""

    name = "file"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return value

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        return [CompletionItem(incomplete, type="file")]


class OutputPath(File):
    """The name of a file that is written; a File is read."""


class Integer(click.ParamType):  # type: ignore[type-arg]
    """An integer in a range."""

    name = "N"

    def __init__(self, minimum: int, maximum: int) -> None:
        self.minimum, self.maximum = minimum, maximum

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        digits = value.removeprefix("-")
        if (
            digits.isascii()
            and digits.isdigit()
            and len(digits) < 20
            and self.minimum <= int(value) <= self.maximum
        ):
            return int(value)
        self.fail(f"'{value}' is not an integer from {self.minimum} to {self.maximum}.", param, ctx)


class Percentage(click.ParamType):  # type: ignore[type-arg]
    """A percentage in a range."""

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


class DigitsOrFull(Integer):
    """A number of decimals, or full."""

    name = "N|full"

    def __init__(self) -> None:
        super().__init__(0, 100)

    def convert(  # type: ignore[override]
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Digits:
        if value == "full":
            return "full"
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            self.fail(f"'{value}' is not an integer from 0 to {self.maximum} or 'full'.", param, ctx)


class IntegerOrAll(Integer):
    """An integer in a range, or all: None."""

    name = "N|all"

    def convert(  # type: ignore[override]
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> int | None:
        return None if value == "all" else super().convert(value, param, ctx)


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
        from click.shell_completion import CompletionItem

        *given, last = incomplete.split(",")
        before = incomplete[: len(incomplete) - len(last)]
        names = [kind.value for kind in Kind if kind.value not in given]
        return [CompletionItem(before + name) for name in names if name.startswith(last)]


class Finite(click.ParamType):  # type: ignore[type-arg]
    """A finite number that can be a grade."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            number = parse_number(str(value))
        except ValueError:
            self.fail(f"'{value}' is not a finite number.", param, ctx)
        if not is_grade(number):
            self.fail(f"'{value}' is out of range: grades are {GRADE_RANGE}.", param, ctx)
        return number

"""What the values of options may be, and what is said of others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from gradeval.grades import RANGE, is_grade
from gradeval.notices import Kind
from gradeval.options import parse_number

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from gradeval.render import Digits


class File(click.ParamType):  # type: ignore[type-arg]
    """The name of a file, which is not looked at before it is read or written: one bad run stops no other."""

    name = "file"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return value

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        return [CompletionItem(incomplete, type="file")]


class Whole(click.ParamType):  # type: ignore[type-arg]
    """A whole number in a range."""

    name = "N"

    def __init__(self, least: int, most: int) -> None:
        self.least, self.most = least, most

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        digits = value.removeprefix("-")
        if digits.isascii() and digits.isdigit() and len(digits) < 20 and self.least <= int(value) <= self.most:
            return int(value)
        self.fail(f"'{value}' is not a whole number from {self.least} to {self.most}.", param, ctx)


class DigitsOrFull(Whole):
    """A number of decimals, or all that are needed."""

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
            self.fail(f"'{value}' is neither a whole number from 0 to {self.most} nor 'full'.", param, ctx)


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


class Finite(click.ParamType):  # type: ignore[type-arg]
    """A finite number that can be a grade."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            number = parse_number(str(value))
        except ValueError:
            self.fail(f"'{value}' is not a finite number.", param, ctx)
        if not is_grade(number):
            self.fail(f"'{value}' is out of range: grades are {RANGE}.", param, ctx)
        return number

"""Options of all commands: --help and --version, written as results are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from gradeval.cli import output as out
from gradeval.version import __version__

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


class Command(click.Command):
    """A command that exits with an error if its help cannot be written completely."""

    def get_help_option(self, ctx: click.Context) -> click.Option | None:
        option = super().get_help_option(ctx)
        if option is not None:
            option.callback = _show_help
        return option


class CommandGroup(Command, click.Group):
    """A group of commands whose help, where none is given, goes to standard error."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args and not ctx.resilient_parsing:
            click.echo(ctx.get_help(), err=True)
            ctx.exit(2)
        return super().parse_args(ctx, args)


def _show_help(ctx: click.Context, param: click.Parameter, is_given: bool) -> None:
    if is_given and not ctx.resilient_parsing:
        out.write(ctx.get_help() + "\n")
        ctx.exit()


def version_option(*names: str, more: str = "") -> Callable[[Decorated], Decorated]:
    """An option that prints the version."""

    def show(ctx: click.Context, param: click.Parameter, is_given: bool) -> None:
        if is_given and not ctx.resilient_parsing:
            out.write(f"gradeval {__version__}{more}\n")
            ctx.exit()

    return click.option(
        *names,
        is_flag=True,
        expose_value=False,
        is_eager=True,
        callback=show,
        help="Show the version and exit.",
    )

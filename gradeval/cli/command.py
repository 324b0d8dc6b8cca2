"""Options of all commands: --help and --version, written as results are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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


class AbbreviatedCommand(Command):
    """`--query` is `--query_eval_wanted` if it is not a prefix of another option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not ctx.resilient_parsing:  # completion needs them as typed
            args = _written_out(ctx, args, self.get_params(ctx))
        return super().parse_args(ctx, args)


def _written_out(ctx: click.Context, args: list[str], params: Sequence[click.Parameter]) -> list[str]:
    """The arguments with unabbreviated options; unchanged if they are invalid.

    Raises UsageError for an ambiguous prefix.
    """
    from getopt import GetoptError, gnu_getopt

    options = [param for param in params if isinstance(param, click.Option)]
    takes = {name: not option.is_flag for option in options for name in option.opts}
    short = "".join(name[1:] + ":" * value for name, value in takes.items() if name[1] != "-")
    long = [name[2:] + "=" * value for name, value in takes.items() if name[1] == "-"]
    try:
        found, files = gnu_getopt(args, short, long)
    except GetoptError as error:
        near = [name for name in takes if name.startswith(f"--{error.opt}")]
        if len(near) > 1 and f"--{error.opt} " in error.msg:
            raise click.UsageError(f"--{error.opt} is ambiguous: {' or '.join(near)}.", ctx) from None
        return args  # the parser reports what is wrong
    return [*(part for name, value in found for part in [name, value][: 1 + takes[name]]), "--", *files]


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

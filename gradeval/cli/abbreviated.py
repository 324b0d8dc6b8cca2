"""A command whose long options can be abbreviated, as with getopt and argparse."""

from __future__ import annotations

from collections.abc import Sequence

import click

from gradeval.cli.command import Command


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

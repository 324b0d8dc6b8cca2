"""A command that takes long options by any beginning that only they have, as getopt and argparse do."""

from __future__ import annotations

from collections.abc import Sequence

import click

from gradeval.cli.command import Command


class AbbreviatedCommand(Command):
    """`--query` is `--query_eval_wanted` where no other option begins so."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not ctx.resilient_parsing:  # the shell, which completes them, has them as they are typed
            args = _written_out(ctx, args, self.get_params(ctx))
        return super().parse_args(ctx, args)


def _written_out(ctx: click.Context, args: list[str], params: Sequence[click.Parameter]) -> list[str]:
    """The arguments with the whole names of the options; as they are where something is wrong with them.

    Raises UsageError where a beginning is that of several options.
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
            raise click.UsageError(f"--{error.opt} can be {' or '.join(near)}.", ctx) from None
        return args  # what is wrong is said by who parses them
    return [*(part for name, value in found for part in [name, value][: 1 + takes[name]]), "--", *files]

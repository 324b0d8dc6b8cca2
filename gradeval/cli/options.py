"""Commands whose help has headings, and the options that several of them have; --help and --version."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any, TypeVar

import click

from gradeval.cli import output as out
from gradeval.cli.types import File, Finite, Integer, Kinds, OutputPath, Percentage, Setting, complete_metric
from gradeval.notices import Kind
from gradeval.options import (
    ANY_RELEVANT,
    CONFIDENCE,
    INPUT,
    METRICS,
    MORE,
    QUERIES_SECTION,
    OptionKind,
    Options,
    OptionTable,
)
from gradeval.render import WRITERS

Decorated = TypeVar("Decorated", bound=Callable[..., Any])
OptionOf = Callable[..., Callable[[Any], Any]]  # click.option, or that of a section


class Command(click.Command):
    """A command that exits with an error if its help cannot be written completely."""

    _help: click.Option | None = None

    def get_help_option(self, ctx: click.Context) -> click.Option | None:
        """Click's own, for its text, imports locale and looks for a translation."""

        def show(ctx: click.Context, param: click.Parameter, is_given: bool) -> None:
            if is_given and not ctx.resilient_parsing:
                out.write(ctx.get_help() + "\n")
                ctx.exit()

        names = self.get_help_option_names(ctx)
        if self._help is None and names:
            about = "Show this message and exit."
            self._help = click.Option(
                names, is_flag=True, expose_value=False, is_eager=True, help=about, callback=show
            )
        return self._help


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
        if ctx.resilient_parsing:  # completion needs them as typed
            return super().parse_args(ctx, args)
        from getopt import GetoptError, gnu_getopt

        options = [param for param in self.get_params(ctx) if isinstance(param, click.Option)]
        takes = {name: not option.is_flag for option in options for name in option.opts}
        short = "".join(name[1:] + ":" * value for name, value in takes.items() if name[1] != "-")
        long = [name[2:] + "=" * value for name, value in takes.items() if name[1] == "-"]
        try:
            given, files = gnu_getopt(args, short, long)
            written = (part for name, value in given for part in [name, value][: 1 + takes[name]])
            args = [*written, "--", *files]
        except GetoptError as error:  # the parser reports what else is wrong
            near = [name for name in takes if name.startswith(f"--{error.opt}")]
            if len(near) > 1 and f"--{error.opt} " in error.msg:
                raise click.UsageError(f"--{error.opt} is ambiguous: {' or '.join(near)}.", ctx) from None
        return super().parse_args(ctx, args)


def version_option(*names: str, more: str = "") -> Callable[[Decorated], Decorated]:

    def show(ctx: click.Context, param: click.Parameter, is_given: bool) -> None:
        if is_given and not ctx.resilient_parsing:
            from gradeval.version import __version__  # imported only when needed

            out.write(f"gradeval {__version__}{more}\n")
            ctx.exit()

    about = "Show the version and exit."
    return click.option(*names, is_flag=True, expose_value=False, is_eager=True, callback=show, help=about)


class SectionedOption(click.Option):
    """An option that the help lists under a heading."""

    def __init__(self, *args: Any, section: str, **more: Any) -> None:
        super().__init__(*args, **more)
        self.section = section


class SectionedCommand(Command):
    """A command whose help has a section for each heading of its options."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Write options with long names, and the value of a choice that needs none: a file after --interval is
        an argument. For each short name click first makes the error about an unknown long one, which takes 6 ms
        of the 90 of a small command.
        """
        if ctx.resilient_parsing:  # completion needs them as typed
            return super().parse_args(ctx, args)
        params = (param for param in self.get_params(ctx) if isinstance(param, click.Option))
        options = {name: param for param in params for name in param.opts}
        written: list[str] = []
        rest = list(args)
        while rest and rest[0] != "--":
            name, following = rest.pop(0), rest[:1]
            option = options.get(name)
            if option is None or not (following or option.is_flag):
                written.append(name)
                continue
            name = next((long for long in option.opts if long.startswith("--")), name)
            if isinstance(option.type, click.Choice) and isinstance(option.flag_value, str):
                written.append(name if following[0] in option.type.choices else f"{name}={option.flag_value}")
            else:
                written += [name] if option.is_flag else [name, rest.pop(0)]
        return super().parse_args(ctx, written + rest)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        from textwrap import wrap  # which click has imported for help

        sections: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            row = param.get_help_record(ctx) if isinstance(param, click.Option) else None
            if row:
                sections.setdefault(getattr(param, "section", "Other"), []).append(row)
        for heading, rows in sections.items():
            with formatter.section(heading):
                indent = " " * formatter.current_indent
                width = formatter.width - formatter.current_indent
                wrapped = []
                for names, about in rows:  # the names of an option and its choices, in lines that fit
                    behind = " " * (names.find("[") + 1)
                    lines = wrap(
                        names.replace("|", "| "), width, subsequent_indent=behind, break_on_hyphens=False
                    )
                    wrapped.append((f"\n{indent}".join(line.replace("| ", "|") for line in lines), about))
                formatter.write_dl(wrapped)


def sectioned_command(
    name: str, short_help: str, epilog: str | None = None, cls: type[SectionedCommand] = SectionedCommand
) -> Callable[..., click.Command]:
    """click.command for a command whose options have headings."""
    return click.command(name, cls=cls, short_help=short_help, options_metavar="[OPTIONS]", epilog=epilog)


def section(heading: str) -> OptionOf:
    """click.option for the options under a heading."""
    return partial(click.option, cls=SectionedOption, section=heading)


measure = section("Metrics")
queries = section("Queries")
output = section("Output")
inputs = section("Input")
other = section("Other")
_SEVERAL = "One or several metrics, such as 'nDCG@5,10 AP(rel=2)', or groups, such as trec-dl."


def together(*decorators: Callable[[Any], Any]) -> Callable[[Decorated], Decorated]:
    """One decorator for several options, which keep their order."""

    def decorate(function: Decorated) -> Decorated:
        for each in reversed(decorators):
            function = each(function)
        return function

    return decorate


_TYPES: dict[str, Callable[[OptionKind], dict[str, Any]]] = {
    "choice": lambda kind: {"type": click.Choice(kind.choices)},
    "choice or flag": lambda kind: {
        "type": click.Choice(kind.choices),
        "is_flag": False,
        "flag_value": kind.choices[0],
    },
    "integer": lambda kind: {"type": Integer(*kind.bounds)},
    "grade": lambda kind: {"type": Finite()},
    "threshold": lambda kind: {"type": Finite(ANY_RELEVANT)},
    "percentage": lambda kind: {"type": Percentage(*CONFIDENCE)},
    "flag": lambda kind: {"is_flag": True},
    "path": lambda kind: {"type": File(), "default": None},
    "ids": lambda kind: {"type": File()},
    "features": lambda kind: {"multiple": True, "default": ()},
    "columns": lambda kind: {"default": ""},
    "run": lambda kind: {},
    "metric": lambda kind: {"shell_complete": complete_metric},
    "text": lambda kind: {},
}


def row_option(table: type[OptionTable], name: str, **changes: Any) -> Callable[[Decorated], Decorated]:
    """The option of a row of the table. changes: arguments of click.option, and the section, that differ."""
    row = table.table[name]
    settings = {
        "section": row.section,
        "default": row.default,
        "show_default": isinstance(row.default, str),
        "metavar": row.kind.metavar,
        "help": row.about,
        **_TYPES[row.kind.type](row.kind),
        **changes,
    }
    return click.option(*row.flags.split(), name, cls=SectionedOption, **settings)


def row_options(
    table: type[OptionTable],
    heading: str,
    *,
    without: Sequence[str] = (),
    within: str | None = None,
    helps: Mapping[str, str] | None = None,
) -> Callable[[Decorated], Decorated]:
    """The options of the rows under a heading that are about none of these, and about this.

    helps: other help of options.
    """
    names = [
        name for name in table.names(without=without, within=within) if table.table[name].section == heading
    ]
    changes = {name: {"help": text} for name, text in (helps or {}).items()}
    return together(*(row_option(table, name, **changes.get(name, {})) for name in names))


def metric_option(about: str) -> Callable[[Decorated], Decorated]:
    """The metrics. about: the help."""
    return measure(
        "-m", "--metric", "metrics", multiple=True, metavar="NAME", shell_complete=complete_metric, help=about
    )


def measure_options(
    default: str, what: str = _SEVERAL, helps: Mapping[str, str] | None = None
) -> Callable[[Decorated], Decorated]:
    """The metrics, and how they are computed. default, what: what the help says of the metrics. helps: other
    help of options.
    """
    about = f"{what} 'gradeval metrics' lists them. Default: {default}."
    return together(metric_option(about), row_options(Options, METRICS, without=(MORE,), helps=helps))


# which queries count
query_options = together(
    queries("-c", "complete", is_flag=True, help="Same as --queries judged, as in trec_eval."),
    row_options(Options, QUERIES_SECTION),
)
input_options = row_options(Options, INPUT)
digits_option = output(
    "--digits",
    type=Integer(0, 100, full="full"),
    default=4,
    show_default=True,
    metavar="N|full",
    help="Number of decimals, or full for the shortest representation that round-trips.",
)
signature_option = output(
    "--signature",
    is_flag=True,
    help="A line for each metric with all that decides its values, for a paper: after the results on "
    "standard error, in json, under tables in md and latex.",
)
quiet_option = other("--quiet", is_flag=True, help="Do not print warnings or the progress bar.")
allow_option = other(
    "--allow",
    type=Kinds(),
    multiple=True,
    callback=lambda context, param, lists: tuple(chain(*lists)),
    metavar="LIST",
    help="Kinds of warnings that are not errors with --strict, and for --fail-on-warning no warnings: "
    f"{', '.join(kind.value for kind in Kind)}.",
)
warning_options = together(
    quiet_option,
    other("--verbose", is_flag=True, help="Print all warnings on a terminal too, not only the first four."),
    other("--strict", is_flag=True, help="Treat warnings as errors: print no results, and exit with code 2."),
    allow_option,
)
other_options = together(row_option(Options, "jobs"), warning_options)
fail_on_warning_option = other(
    "--fail-on-warning",
    is_flag=True,
    help="Exit with code 3 if there are warnings, after everything is printed.",
)


def table_option(tables: Sequence[str]) -> Callable[[Decorated], Decorated]:
    return output(
        "--table",
        type=click.Choice(tables),
        help="The table that -f tsv and -f csv print. Default: the first. -f json has all.",
    )


def output_option(about: str) -> Callable[[Decorated], Decorated]:
    return output("-o", "--output", type=OutputPath(), metavar="FILE", help=about)


def text_options(option: OptionOf) -> Callable[[Decorated], Decorated]:
    """Titles of documents, and texts of queries."""
    documents = "Show titles: a file with 'id TAB title' lines, or JSON lines with an id and a title or text."
    of_queries = "Show the texts of queries: a file as for --text, such as BEIR's queries.jsonl."
    return together(
        option("--text", type=File(), metavar="FILE", help=documents),
        option("--queries-text", type=File(), metavar="FILE", help=of_queries),
    )


def output_options(
    formats: Iterable[str], default: str = "table on a terminal, tsv elsewhere", more: str = ""
) -> Callable[[Decorated], Decorated]:
    """The format, and where to write. formats: those that the command has; default, more: for the help."""

    def different_names(
        context: click.Context, param: click.Parameter, labels: tuple[tuple[str, str], ...]
    ) -> tuple[tuple[str, str], ...]:
        names = [name for name, _ in labels]
        if twice := [name for name in names if names.count(name) > 1]:
            raise click.BadParameter(f"'{twice[0]}' is given twice.", context, param)
        return labels

    formats = tuple(formats)
    endings = ", ".join(WRITERS[name].ending for name in formats if WRITERS[name].ending)
    spreadsheet = output(
        "--spreadsheet",
        is_flag=True,
        help="With -f csv: prefix text that begins with =, +, - or @ with ', so that it is not read as a "
        "formula.",
    )
    in_rows = together(
        output("--no-header", is_flag=True, help="With -f tsv or csv: leave out the line of column names."),
        output(
            "--label",
            type=Setting(),
            multiple=True,
            callback=different_names,
            help="With -f tsv, csv or jsonl: a first column with this value in every row, such as "
            "date=2026-11-22; may be repeated.",
        ),
    )
    return together(
        output(
            "-f",
            "--format",
            "format_",
            type=click.Choice(formats),
            help=f"Default: by the ending of -o; otherwise {default}.",
        ),
        digits_option,
        *([spreadsheet] if "csv" in formats else []),
        *([in_rows] if "tsv" in formats else []),
        output_option(f"Write to this file, atomically. Its ending sets the format: {endings}.{more}"),
    )

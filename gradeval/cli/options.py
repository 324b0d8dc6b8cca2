"""Options of commands: the types of their values, help with headings, and those that several commands have."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import click

from gradeval import options as opts
from gradeval.errors import GRADE_RANGE, GradevalError, is_grade
from gradeval.notices import NoticeKind
from gradeval.render import WRITERS

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

Decorator = Callable[[Any], Any]
OptionOf = Callable[..., Decorator]  # option(), or that of a section


# --- the types of values


class ParsedType(click.ParamType):  # type: ignore[type-arg]
    """What parse() reads from a text, here the text itself; its ValueError says what the text is not."""

    def parse(self, text: str) -> Any:
        return text

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):  # a default
            return value
        try:
            return self.parse(value)
        except ValueError as error:
            text = f"'{value}' is not {error}"
            self.fail(text if text.endswith("?") else f"{text}.", param, ctx)


class File(ParsedType):
    """The name of a file, checked only when it is read: an unreadable run does not affect the others."""

    name, is_read = "file", True

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        return [CompletionItem(incomplete, type="file")]


class OutputPath(File):
    is_read = False


class Integer(ParsedType):
    """An integer in a range, or one of the words, each with its value."""

    def __init__(self, minimum: int, maximum: int, **words: Any) -> None:
        self.minimum, self.maximum, self.words = minimum, maximum, words
        self.name = "|".join(["N", *words])

    def parse(self, text: str) -> Any:
        if text in self.words:
            return self.words[text]
        digits = text.removeprefix("-")
        is_integer = digits.isascii() and digits.isdecimal() and len(digits) < 20
        if is_integer and self.minimum <= int(text) <= self.maximum:
            return int(text)
        words = "".join(f" or '{word}'" for word in self.words)
        raise ValueError(f"an integer from {self.minimum} to {self.maximum}{words}")


class Number(ParsedType):
    """A number. expected: what it must be. default: the word for the default."""

    def __init__(
        self, name: str, expected: str, is_valid: Callable[[float], bool], default: str | None
    ) -> None:
        self.name, self.expected, self.is_valid, self.default = name, expected, is_valid, default

    def parse(self, text: str) -> float | None:
        if text == self.default:
            return None
        with suppress(ValueError):
            if self.is_valid(number := opts.parse_number(text)):
                return number
        raise ValueError(self.expected)


def percentage(low: float, high: float) -> Number:
    expected = f"a percentage from {low:g} to {high:g}"
    return Number("PERCENT", expected, lambda number: low <= number <= high, None)


def grade() -> Number:
    return Number("number", f"a number that can be a grade: {GRADE_RANGE}", is_grade, None)


def threshold(default: str) -> Number:
    expected = f"a number >= 0 that can be a grade: {GRADE_RANGE}"
    return Number("number", expected, lambda number: number >= 0 and is_grade(number), default)


class NamedValue(ParsedType):
    name = "NAME=VALUE"

    def parse(self, text: str) -> tuple[str, str]:
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise ValueError(self.name)
        return name, value


class Kinds(ParsedType):
    name = "LIST"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        last = re.split("[ ,]", incomplete)[-1]
        before = incomplete.removesuffix(last)
        kinds = (kind.value for kind in NoticeKind if kind.value.startswith(last.lower()))
        return [CompletionItem(before + last + kind[len(last) :]) for kind in kinds]

    def parse(self, text: str) -> tuple[NoticeKind, ...]:
        kinds = {kind.value: kind for kind in NoticeKind}
        names = text.replace(",", " ").split()
        for name in names:
            if name not in kinds:
                near = nearest_name(name, kinds)
                hint = f"did you mean '{near}'?" if near else ", ".join(kinds)
                raise ValueError(f"a list of kinds of warnings: {hint}")
        return tuple(kinds[name] for name in names)


_CUTOFFS = (1, 3, 5, 10, 20, 50, 100, 1000)  # that are offered


def complete_metric(
    ctx: click.Context,
    param: click.Parameter,
    incomplete: str,
    tool: str = "",
    more: Mapping[str, str] = MappingProxyType({}),
) -> list[CompletionItem]:
    """Completions of the last of several metrics: the tool's measures, ours, aliases, trec_eval's, groups; its
    cutoffs behind @. more: other names, and what they are.
    """
    from click.shell_completion import CompletionItem

    from gradeval.registry.catalogue import fold
    from gradeval.registry.dialects import GROUPS, IR_MEASURES, MEASURES, TREC_EVAL, names_of
    from gradeval.registry.metric import REGISTRY, load
    from gradeval.registry.spec import is_metric, metric_of

    last = re.split(r"\s|,(?!\d)", incomplete)[-1]  # a comma before a digit is between cutoffs
    before = incomplete.removesuffix(last)
    if before.count("(") > before.count(")"):  # it is a parameter
        return []
    load()
    name, at, cutoff = last.partition("@")
    if at and is_metric(f"{name}@1"):
        offered = [f"{before}{name}@{k}" for k in _CUTOFFS if str(k).startswith(cutoff)]
        return list(map(CompletionItem, offered))
    metrics = REGISTRY.values()
    names = {"trec_eval": [*MEASURES, *TREC_EVAL], "ir_measures": [*IR_MEASURES]}.get(tool, [])
    names += [metric.name for metric in metrics]
    names += [name for metric in metrics for name in (*metric.aliases, *names_of(metric.name))]
    abouts = {**{name: group.about for name, group in GROUPS.items()}, **more}
    named: dict[str, CompletionItem] = {}
    for name in (*names, *abouts):
        if fold(name).startswith(fold(last)) and fold(name) not in named:
            about = abouts.get(name) or metric_of(name).summary
            named[fold(name)] = CompletionItem(before + _begun_with(last, name, fold), help=about)
    return list(named.values())


_MOST_READ = 16 << 20  # bytes of qrels that a completion waits for


def complete_query(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Completions of the last of several ids: those of the qrels on the line, none where they are large."""
    import os

    from click.shell_completion import CompletionItem

    words: list[str] = ctx.meta["gradeval.args"]
    behind = next((position for position, word in enumerate(words[:2], 1) if word == ctx.info_name), 0)
    words = words[behind:]
    if words[-1:] and words[-1].startswith("-"):  # without its value click finds no arguments
        words.pop()
    params = ctx.command.make_context(ctx.info_name, words, resilient_parsing=True).params
    path = params.get("qrels") or next(iter(params.get("files") or ()), None)
    if not path or not os.path.isfile(path) or os.path.getsize(path) > _MOST_READ:
        return []
    from gradeval.arrays.strings import Texts
    from gradeval.tables.load import open_qrels

    last = incomplete.rpartition(",")[2]
    before = incomplete.removesuffix(last)
    try:
        queries = Texts(open_qrels(path, opts.Options()).as_read.queries)
    except GradevalError:
        return []
    offered = (query for query in queries if query.startswith(last) and query not in before.split(","))
    return [CompletionItem(before + query) for query in offered]


class _QueryIds(File):
    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        return super().shell_complete(ctx, param, incomplete) + complete_query(ctx, param, incomplete)


def _begun_with(typed: str, name: str, fold: Callable[[str], str]) -> str:
    """The name, spelled as it is typed so far: a shell replaces what is typed by what its candidates share."""
    size = next(size for size in range(len(name) + 1) if fold(name[:size]).startswith(fold(typed)))
    is_within_letter = fold(name[:size]) != fold(typed)  # the m of µ
    return name if is_within_letter else typed + name[size:]


# --- commands


def _prints(text: Callable[[click.Context], str], about: str) -> dict[str, Any]:
    """The arguments of an option that prints a text and ends the program."""

    def show(ctx: click.Context, param: click.Parameter, is_given: bool) -> None:
        if is_given and not ctx.resilient_parsing:
            from gradeval.cli.job import write

            write(text(ctx) + "\n")
            ctx.exit()

    return {"is_flag": True, "expose_value": False, "is_eager": True, "callback": show, "help": about}


_BRIEF = 26  # characters of the names of options in a brief help


def _brief_row(option: click.Option, width: int) -> tuple[str, str]:
    """Its names and value, and the first sentence of its help, cut to this width."""
    from textwrap import shorten

    listed = "|".join(getattr(option.type, "choices", ())) or option.type.name.upper()
    value = "" if option.is_flag else f" {option.metavar or listed}"
    about = shorten((option.help or "").partition(". ")[0], width, placeholder=" …")
    return ", ".join(option.opts) + value, about


def _in_lines(flags: str, width: int) -> list[str]:
    """The names of an option and its choices, in lines that fit."""
    from textwrap import wrap  # which click has imported for help

    below = " " * (flags.rfind(" ") + 1 + ("[" in flags))
    lines = wrap(flags.replace("|", "| "), width, subsequent_indent=below, break_on_hyphens=False)
    return [line.replace("| ", "|") for line in lines]


def _wrapped_example(line: str, width: int) -> str:
    """A line of examples in this width: a command, its description behind three spaces or below it, or both."""
    from textwrap import wrap

    # before more of a description, before one behind a command, and before a command or a text
    start = re.match(r" {20,}|.*?\S {3,}| *", line)[0]  # type: ignore[index]
    is_command = start.isspace() and line.lstrip().startswith("gradeval ")
    # \0 stands for a space at which no line ends: within quotes, and between an option and its value
    text = re.sub("'[^']*'", lambda quoted: quoted[0].replace(" ", "\0"), line[len(start) :])
    text = re.sub("( -[^ ]+) (?=[^-])", "\\1\0", text) if is_command else text
    below = " " * (len(start) + 4 * is_command)
    room = width - 2 * is_command
    lines = wrap(text, room, initial_indent=start, subsequent_indent=below, break_on_hyphens=False)
    return (" \\\n" if is_command else "\n").join(lines).replace("\0", " ")


class Command(click.Command):
    """A command that exits with an error if its help cannot be written completely; -h is its brief help."""

    _help: click.Option | None = None
    _all_params: Sequence[click.Parameter] = ()  # with those for help

    def get_help_option(self, ctx: click.Context) -> click.Option | None:
        """Click's own, for its text, imports locale and looks for a translation."""
        names = self.get_help_option_names(ctx)
        if self._help is None and names:
            self._help = click.Option(names, **_prints(click.Context.get_help, "Show this message and exit."))
        return self._help

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Click asks for them five times, and looks for duplicates each time."""
        if not self._all_params:
            about = "Show the command's own options, and exit."
            brief_help = click.Option(["-h"], **_prints(self.brief_help, about))
            *params, full_help = super().get_params(ctx)
            self._all_params = (*params, brief_help, full_help)
        return [*self._all_params]

    def heading(self, param: click.Parameter) -> str:
        return "Options"

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            row = param.get_help_record(ctx) if isinstance(param, click.Option) else None
            if row:
                sections.setdefault(self.heading(param), []).append(row)
        for heading, rows in sections.items():
            with formatter.section(heading):
                indent = formatter.current_indent
                below = f"\n{' ' * indent}"
                width = formatter.width - indent
                formatter.write_dl([(below.join(_in_lines(names, width)), about) for names, about in rows])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Lines of examples are wrapped, which click leaves as they are."""
        with formatter.indentation():
            paragraphs = (self.epilog or "").split("\n\n")
            width = formatter.width - formatter.current_indent
            for paragraph in paragraphs:
                lines = paragraph.split("\n")
                lines = [_wrapped_example(line, width) for line in lines] if lines[0] == "\b" else lines
                formatter.write_paragraph()
                formatter.write_text("\n".join(lines))

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Errors of click's parser have no context, which names the help to read."""
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            error.ctx = error.ctx or ctx
            raise

    def brief_help(self, ctx: click.Context) -> str:
        """The usage, what the command does, a line for each option of its own, the names of the others; all of
        the help where no option is shared with other commands.
        """
        from textwrap import wrap

        formatter = ctx.make_formatter()
        self.format_usage(ctx, formatter)
        about = (self.help or "").partition("\n\n")[0]
        shared = [param for param in self.get_params(ctx) if getattr(param, "is_shared", False)]
        if not shared:
            return ctx.get_help()
        own = [param for param in self.params if isinstance(param, click.Option) and param not in shared]
        names = [max(option.opts, key=len) for option in shared]
        rows = [_brief_row(option, formatter.width - _BRIEF - 4) for option in own]
        lines = [formatter.getvalue(), *wrap(" ".join(about.split()), formatter.width), ""]
        for flags, text in rows:
            is_long = len(flags) > _BRIEF
            lines += [f"  {line}" for line in _in_lines(flags, formatter.width - 2)] if is_long else []
            lines.append(f"  {'' if is_long else flags:<{_BRIEF}}  {text}")
        lines.append("")
        lines += wrap(f"Also: {', '.join(names)}.", formatter.width, break_on_hyphens=False)
        lines.append(f"'{ctx.command_path} --help' describes all of them, with examples.")
        return "\n".join(lines)


def nearest_name(word: str, names: Iterable[str]) -> str | None:
    """The name that the word begins, that begins it or that is spelled like it."""
    from difflib import get_close_matches

    names = list(names)
    begun = [name for name in names if word and (word.startswith(name) or name.startswith(word))]
    return next(iter(begun or get_close_matches(word, names, n=1)), None)


class CommandGroup(Command, click.Group):
    """A group of commands whose help, where none is given, goes to standard error."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_options(ctx, formatter)
        self.format_commands(ctx, formatter)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if not (ctx.resilient_parsing or args[0].startswith("-") or self.get_command(ctx, args[0])):
            names = self.list_commands(ctx)
            near = nearest_name(args[0], names)
            hint = f"Did you mean '{near}'?" if near else f"Choose from {', '.join(names)}."
            raise click.UsageError(f"{args[0]}: no such command. {hint}", ctx)
        return super().resolve_command(ctx, args)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args and not ctx.resilient_parsing:
            click.echo(ctx.get_help(), err=True)
            ctx.exit(2)
        return super().parse_args(ctx, args)


def version_option(*names: str, more: str = "") -> Decorator:
    def text(ctx: click.Context) -> str:
        from gradeval.version import __version__  # imported only when needed

        return f"gradeval {__version__}{more}"

    return click.option(*names, **_prints(text, "Show the version and exit."))


def option(flags: str, about: str, metavar: str = "", **settings: Any) -> Decorator:
    """click.option with its names in one text; a flag where there is neither a metavar nor a type."""
    flag_settings: dict[str, Any] = {"metavar": metavar} if metavar else {"is_flag": "type" not in settings}
    return click.option(*flags.split(), help=about, **flag_settings, **settings)


class SectionedOption(click.Option):
    """An option under a heading. is_shared: other commands have it too; the brief help only names it."""

    def __init__(self, *args: Any, section: str, is_shared: bool = False, **more: Any) -> None:
        super().__init__(*args, **more)
        self.section = section
        self.is_shared = is_shared


class SectionedCommand(Command):
    """A command whose help has a section for each heading of its options."""

    def heading(self, param: click.Parameter) -> str:
        return getattr(param, "section", "Other")

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Write options with long names, and the value of a choice that needs none: a file after --interval is
        an argument. For each short name click first makes the error about an unknown long one, which takes 6 ms
        of the 90 of a small command.
        """
        if ctx.resilient_parsing:  # completion needs them as typed
            return super().parse_args(ctx, args)
        params = (param for param in self.get_params(ctx) if isinstance(param, click.Option))
        options = {name: param for param in params for name in param.opts}
        written = list[str]()
        unread = list(args)
        while unread and unread[0] != "--":
            argument = unread.pop(0)
            option = options.get(argument)
            if option is None or not (unread or option.is_flag):
                written.append(argument)
            else:
                written += self._with_long_name(option, argument, unread)
        return super().parse_args(ctx, written + unread)

    def _with_long_name(self, option: click.Option, argument: str, unread: list[str]) -> list[str]:
        """The option as it is written, with its value, which is taken from the unread arguments."""
        long_name = next((name for name in option.opts if name.startswith("--")), argument)
        if isinstance(option.type, click.Choice) and isinstance(option.flag_value, str):
            return [long_name if unread[0] in option.type.choices else f"{long_name}={option.flag_value}"]
        return [long_name] if option.is_flag else [long_name, unread.pop(0)]


def sectioned_command(name: str, short_help: str, epilog: str | None = None) -> Callable[..., click.Command]:
    """click.command for a command whose options have headings."""
    return click.command(
        name, cls=SectionedCommand, short_help=short_help, options_metavar="[OPTIONS]", epilog=epilog
    )


def section(heading: str) -> OptionOf:
    """option() for those under a heading."""
    return partial(option, cls=SectionedOption, section=heading)


measure = section("Metrics")
queries = section("Queries")
output = section("Output")
inputs = section("Input")
other = section("Other")
BY = "Means of groups of queries too: a file of 'query TAB group' lines."
_SEVERAL = "One or several metrics, such as 'nDCG@5,10 AP(rel=2)', or groups, such as basic or trec-dl."


def together(*decorators: Decorator) -> Decorator:
    """One decorator for several options, which keep their order."""

    def decorate(function: Any) -> Any:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return decorate


_TYPES: dict[str, dict[str, Any]] = {  # by the type of a row: arguments of click.option
    "grade": {"type": grade()},
    "threshold": {"type": threshold(opts.ANY_RELEVANT)},
    "choice or flag": {"is_flag": False},
    "flag": {"is_flag": True},
    "path": {"type": File()},
    "ids": {"type": _QueryIds()},
    "features": {"multiple": True},
    "columns": {"default": ""},
    "metric": {"shell_complete": complete_metric},
}


def row_option(table: type[opts.OptionTable], name: str, **changes: Any) -> Decorator:
    """The option of a row of the table. changes: flags, section and arguments of click.option that differ."""
    row = table.table[name]
    kind = row.kind
    arguments = {
        "section": row.section,
        "is_shared": table is opts.Options,
        "default": row.default,
        "show_default": isinstance(row.default, str),
        "metavar": kind.metavar,
        "help": row.about,
        **_TYPES.get(kind.type, {}),
    }
    if kind.choices:
        arguments["type"] = click.Choice(kind.choices)
    if kind.type == "choice or flag":
        arguments["flag_value"] = kind.choices[0]
    if kind.type == "integer":
        arguments["type"] = Integer(*map(int, kind.bounds))
    if kind.type == "percentage":
        arguments["type"] = percentage(*kind.bounds)
    flags = changes.pop("flags", row.flags).split()
    return click.option(*flags, name, cls=SectionedOption, **{**arguments, **changes})


def row_options(
    table: type[opts.OptionTable],
    heading: str,
    helps: Mapping[str, str] | None = None,
    flags: Mapping[str, str] | None = None,
    **scope: Any,
) -> Decorator:
    """The options of the rows under a heading. helps, flags: other ones. scope: that of OptionTable.rows()."""
    names = [name for name, row in table.rows(**scope).items() if row.section == heading]
    changes: dict[str, dict[str, str]] = {name: {"help": text} for name, text in (helps or {}).items()}
    for name, text in (flags or {}).items():
        changes.setdefault(name, {})["flags"] = text
    return together(*(row_option(table, name, **changes.get(name, {})) for name in names))


def metric_option(about: str) -> Decorator:
    return measure("-m --metric metrics", about, "NAME", multiple=True, shell_complete=complete_metric)


def measure_options(
    default: str, introduction: str = _SEVERAL, helps: Mapping[str, str] | None = None
) -> Decorator:
    """The metrics, and how they are computed. default, introduction: of their help. helps: of options."""
    about = f"{introduction} 'gradeval metrics' lists them. Default: {default}."
    rows = row_options(opts.Options, opts.METRICS, without=(opts.MORE,), helps=helps)
    return together(metric_option(about), rows)


# which queries count
query_options = together(
    queries("-c complete", "Same as --queries judged, as in trec_eval.", is_shared=True),
    row_options(opts.Options, opts.QUERIES_SECTION),
)
input_options = row_options(opts.Options, opts.INPUT)
runs_from_option = inputs(
    "--runs-from",
    "Evaluate the runs of this list too: a path, or NAME=path, on each line, relative to the list. "
    "Lines that begin with # are comments.",
    type=File(),
)
name_by_option = inputs(
    "--name-by",
    "Name runs of TREC by their tag, the last field of the first line, or by their file. Default: file.",
    type=click.Choice(("tag", "file")),
)
digits_option = output(
    "--digits",
    "Number of decimals, or full for the shortest representation that round-trips.",
    "N|full",
    type=Integer(0, 100, full="full"),
    default=4,
    show_default=True,
    is_shared=True,
)
history_option = output(
    "--history",
    "Append the means over all queries, and none of groups, to this file too, as JSON Lines with the time and "
    "--label; 'gradeval plot history' draws it.",
    "FILE",
    type=OutputPath(),
)
signature_option = output(
    "--signature",
    "A line for each metric with all that decides its values, for a paper: after the results on "
    "standard error, in json, under tables in md and latex.",
    is_shared=True,
)
quiet_option = other("--quiet", "Do not print warnings or the progress bar.", is_shared=True)
allow_option = other(
    "--allow",
    "Kinds of warnings that are not errors with --strict, and for --fail-on-warning no warnings, such as "
    "ties,missing; 'gradeval guide warnings' lists them.",
    "LIST",
    type=Kinds(),
    multiple=True,
    is_shared=True,
    callback=lambda context, param, lists: tuple(chain(*lists)),
)
warning_options = together(
    quiet_option,
    other("--verbose", "Print all warnings on a terminal too, not only the first four.", is_shared=True),
    other("--strict", "Treat warnings as errors: print no results, and exit with code 2.", is_shared=True),
    allow_option,
)
other_options = together(row_option(opts.Options, "jobs"), warning_options)
fail_on_warning_option = other(
    "--fail-on-warning",
    "Exit with code 3 if there are warnings, after everything is printed.",
    is_shared=True,
)


def table_option(tables: Sequence[str]) -> Decorator:
    about = "The table that -f tsv and -f csv print. Default: the first. -f json has all."
    return output("--table", about, type=click.Choice(tables))


def output_option(about: str) -> Decorator:
    return output("-o --output", about, type=OutputPath())


def text_options(option: OptionOf) -> Decorator:
    documents = "Show titles: a file with 'id TAB title' lines, or JSON lines with an id and a title or text."
    of_queries = "Show the texts of queries: a file as for --text, such as BEIR's queries.jsonl."
    return together(option("--text", documents, type=File()), option("--queries-text", of_queries, type=File()))


def output_options(
    formats: Iterable[str],
    default: str = "table on a terminal, tsv elsewhere",
    more: str = "",
    with_file: bool = True,
) -> Decorator:
    """The format, and where to write. formats: those that the command has; default, more: for the help.
    with_file: whether -o is for what is printed.
    """
    formats = tuple(formats)
    endings = ", ".join(WRITERS[name].ending for name in formats if WRITERS[name].ending)
    about = f"Default: by the ending of -o; otherwise {default}." if with_file else f"Default: {default}."
    options = [output("-f --format format_", about, type=click.Choice(formats)), digits_option]
    if "csv" in formats:
        about = "With -f csv: prefix text that begins with =, +, - or @ with ', so that it is not read as a "
        options.append(output("--spreadsheet", about + "formula.", is_shared=True))
    if "tsv" in formats:
        about = "With -f tsv or csv: leave out the line of column names."
        options.append(output("--no-header", about, is_shared=True))
        about = "With -f tsv, csv or jsonl: a first column with this value in every row, such as "
        about += "date=2026-11-22; may be repeated."
        options.append(output("--label", about, type=NamedValue(), multiple=True, is_shared=True))
    if with_file:
        options.append(
            output_option(f"Write to this file, atomically. Its ending sets the format: {endings}.{more}")
        )
    return together(*options)

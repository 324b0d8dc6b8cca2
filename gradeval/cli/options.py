"""The options that several commands have, under the headings of their help."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar

import click

from gradeval.cli.command import Command
from gradeval.cli.metrics import complete_metric
from gradeval.cli.types import DigitsOrFull, File, Finite, Integer, Kinds, OutputPath
from gradeval.notices import Kind
from gradeval.options import (
    NO_RELEVANT,
    QRELS_FORMATS,
    QUERIES,
    RANGES,
    RUN_FORMATS,
    TIES,
)
from gradeval.render import WRITERS

if TYPE_CHECKING:
    pass

Decorated = TypeVar("Decorated", bound=Callable[..., Any])
OptionOf = Callable[..., Callable[[Any], Any]]  # click.option, or that of a section


class SectionedOption(click.Option):
    """An option that the help lists under a heading."""

    def __init__(self, *args: Any, section: str, **more: Any) -> None:
        super().__init__(*args, **more)
        self.section = section


class SectionedCommand(Command):
    """A command whose help has a section for each heading of its options."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            row = param.get_help_record(ctx) if isinstance(param, click.Option) else None
            if row:
                sections.setdefault(getattr(param, "section", "Other"), []).append(row)
        for heading, rows in sections.items():
            with formatter.section(heading):
                formatter.write_dl(rows)


def sectioned_command(name: str, short_help: str, epilog: str | None = None) -> Callable[..., click.Command]:
    """click.command for a command whose options have headings."""
    return click.command(
        name,
        cls=SectionedCommand,
        short_help=short_help,
        options_metavar="[OPTIONS]",
        epilog=epilog,
    )


def section(heading: str) -> OptionOf:
    """click.option for the options under a heading."""
    return partial(click.option, cls=SectionedOption, section=heading)


measure = section("Metrics")
queries = section("Queries")
output = section("Output")
inputs = section("Input")
other = section("Other")
_TIES = "input for features and scores of LETOR files, else trec, with a warning if it can change a value"
_SEVERAL = "One or several metrics, such as 'nDCG@5,10 AP(rel=2)', or groups, such as trec-dl."


def together(*decorators: Callable[[Any], Any]) -> Callable[[Decorated], Decorated]:
    """One decorator for several options, which keep their order."""

    def decorate(function: Decorated) -> Decorated:
        for each in reversed(decorators):
            function = each(function)
        return function

    return decorate


def metric_option(about: str) -> Callable[[Decorated], Decorated]:
    """The metrics. about: the help."""
    return measure(
        "-m",
        "--metric",
        "metrics",
        multiple=True,
        metavar="NAME",
        shell_complete=complete_metric,
        help=about,
    )


def measure_options(default: str, what: str = _SEVERAL, ties: str = _TIES) -> Callable[[Decorated], Decorated]:
    """What is measured. default, what: what the help says of the metrics. ties: of the default of --ties."""
    return together(
        metric_option(f"{what} 'gradeval metrics' lists them. Default: {default}."),
        measure(
            "-l",
            "--rel",
            type=Finite(),
            metavar="GRADE",
            help="Relevance threshold: the lowest grade that counts as relevant. Default: any grade above 0.",
        ),
        measure(
            "--zero-grade",
            type=Finite(),
            default=0.0,
            metavar="GRADE",
            help="The grade that means non-relevant; it is subtracted from every grade. Default: 0.",
        ),
        measure(
            "-M",
            "--depth",
            type=Integer(*RANGES["depth"]),
            metavar="N",
            help="Evaluate the first N ranks of each query only.",
        ),
        measure(
            "-J",
            "--judged-only",
            is_flag=True,
            help="Remove unjudged documents from the rankings first (condensed lists).",
        ),
        measure(
            "--ties",
            type=click.Choice(TIES),
            help="Order of tied scores: by document id descending (trec, as in trec_eval), as in the file "
            f"(input), or by grade, highest (best) or lowest (worst) first. Default: {ties}.",
        ),
        measure(
            "--no-relevant",
            type=click.Choice(tuple(NO_RELEVANT)),
            help="The value of AP, nDCG, R and all other metrics that divide by what is relevant, for a query "
            "without a relevant document; skip excludes the query from their means. Default: 0, with a "
            "warning.",
        ),
    )


def query_options() -> Callable[[Decorated], Decorated]:
    """Which queries count."""
    return together(
        queries(
            "--queries",
            type=click.Choice(QUERIES),
            default="judged",
            show_default=True,
            help="Average over all judged queries, with 0 for those missing from the run (judged), or over "
            "those in both.",
        ),
        queries("-c", "complete", is_flag=True, help="Same as --queries judged, as in trec_eval."),
        queries(
            "--query-ids",
            type=File(),
            metavar="FILE|LIST",
            help="Evaluate these queries only: a file of ids, or comma-separated ids. If an id of the qrels is "
            "also the name of a file, the id is used; ./NAME is the file.",
        ),
    )


def digits_option() -> Callable[[Decorated], Decorated]:
    """How many digits numbers have."""
    return output(
        "--digits",
        type=DigitsOrFull(),
        default=4,
        show_default=True,
        metavar="N|full",
        help="Number of decimals, or full for the shortest representation that round-trips.",
    )


def table_option(tables: Sequence[str]) -> Callable[[Decorated], Decorated]:
    """Which of the tables is printed."""
    return output(
        "--table",
        type=click.Choice(tables),
        help="The table that -f tsv and -f csv print. Default: the first. -f json has all.",
    )


def output_option(about: str) -> Callable[[Decorated], Decorated]:
    """Where to write."""
    return output("-o", "--output", type=OutputPath(), metavar="FILE", help=about)


def text_option(option: OptionOf) -> Callable[[Decorated], Decorated]:
    """Titles of documents."""
    return option(
        "--text",
        type=File(),
        metavar="FILE",
        help="Show titles: a file with 'id TAB title' lines, or JSON lines with an id and a title or text.",
    )


def output_options(
    formats: Iterable[str], default: str = "table on a terminal, tsv elsewhere", more: str = ""
) -> Callable[[Decorated], Decorated]:
    """The format, and where to write. formats: those that the command has; default, more: for the help."""
    formats = tuple(formats)
    endings = ", ".join(WRITERS[name].ending for name in formats if WRITERS[name].ending)
    spreadsheet = output(
        "--spreadsheet",
        is_flag=True,
        help="With -f csv: prefix text that begins with =, +, - or @ with ', so that it is not read as a "
        "formula.",
    )
    return together(
        output(
            "-f",
            "--format",
            "format_",
            type=click.Choice(formats),
            help=f"Default: by the ending of -o; otherwise {default}.",
        ),
        digits_option(),
        *([spreadsheet] if "csv" in formats else []),
        output_option(f"Write to this file, atomically. Its ending sets the format: {endings}.{more}"),
    )


def columns_option(more: str = "") -> Callable[[Decorated], Decorated]:
    """more: what the help says of other roles."""
    return inputs(
        "--columns",
        default="",
        metavar="LIST",
        help="Names of columns in tables (csv, jsonl, parquet and others), such as "
        f"query=user,document=item,grade=stars (score=NAME in runs{more}). Default: common names.",
    )


def identical_ids_option() -> Callable[[Decorated], Decorated]:
    return inputs(
        "--ignore-identical-ids",
        is_flag=True,
        help="Leave out documents of runs whose id is their query's, as BEIR does.",
    )


def input_options() -> Callable[[Decorated], Decorated]:
    """What the files are."""
    return together(
        inputs(
            "--qrels-format", type=click.Choice(QRELS_FORMATS), help="Format of the qrels. Default: detected."
        ),
        inputs("--run-format", type=click.Choice(RUN_FORMATS), help="Format of the runs. Default: detected."),
        inputs(
            "--feature",
            "features",
            multiple=True,
            metavar="LIST",
            help="Evaluate features of LETOR files as runs, such as 1,5,9-12; of QRELS if no RUN is given.",
        ),
        inputs(
            "--qrels-feature",
            type=Integer(*RANGES["qrels_feature"]),
            metavar="K",
            help="Use a feature of the LETOR file as the grade.",
        ),
        inputs(
            "--groups",
            type=File(),
            metavar="FILE",
            help="Query sizes of SVMlight files without qid. Default: FILE.query or FILE.group in the same "
            "directory.",
        ),
        columns_option(),
        inputs("--split", metavar="NAME", help="SPLIT or SUBSET/SPLIT in a predictions file of MTEB."),
        identical_ids_option(),
    )


def other_options() -> Callable[[Decorated], Decorated]:
    """Threads and warnings."""
    return together(
        jobs_option(),
        warning_options(),
    )


def jobs_option() -> Callable[[Decorated], Decorated]:
    return other(
        "-j",
        "--jobs",
        type=Integer(*RANGES["jobs"]),
        metavar="N",
        help="Number of threads. Default: number of processors.",
    )


def quiet_option() -> Callable[[Decorated], Decorated]:
    return other("--quiet", is_flag=True, help="Do not print warnings or the progress bar.")


def warning_options() -> Callable[[Decorated], Decorated]:
    """What is done about warnings."""
    return together(
        quiet_option(),
        other(
            "--strict", is_flag=True, help="Treat warnings as errors: print no results, and exit with code 2."
        ),
        other(
            "--allow",
            type=Kinds(),
            multiple=True,
            callback=lambda context, param, lists: tuple(chain(*lists)),
            metavar="LIST",
            help="Kinds of warnings that are not errors with --strict: "
            f"{', '.join(kind.value for kind in Kind)}.",
        ),
    )

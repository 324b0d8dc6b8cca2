"""gradeval eval: runs against qrels."""

from __future__ import annotations

import os
import warnings as python_warnings
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from gradeval.cli import heap
from gradeval.cli import output as out
from gradeval.cli.command import Command
from gradeval.cli.metrics import complete_metric
from gradeval.cli.types import DigitsOrFull, File, Finite, Integer, Kinds
from gradeval.errors import UnknownQueryError
from gradeval.notices import Kind
from gradeval.options import (
    DEFAULT_METRICS,
    GROUP_SUFFIXES,
    NO_RELEVANT,
    QRELS_FORMATS,
    QUERIES,
    RANGES,
    RUN_FORMATS,
    TIES,
    Options,
)
from gradeval.render import BY_ROWS, FORMATS, Digits

if TYPE_CHECKING:
    from gradeval.registry.spec import Spec


class _Option(click.Option):
    """An option that the help lists under a heading."""

    def __init__(self, *args: Any, section: str, **more: Any) -> None:
        super().__init__(*args, **more)
        self.section = section


class _Command(Command):
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


_measure = partial(click.option, cls=_Option, section="Metrics")
_queries = partial(click.option, cls=_Option, section="Queries")
_output = partial(click.option, cls=_Option, section="Output")
_input = partial(click.option, cls=_Option, section="Input (formats are detected from the content by default)")
_other = partial(click.option, cls=_Option, section="Other")


@click.command(
    "eval",
    cls=_Command,
    short_help="Evaluate runs (the default command).",
    options_metavar="[OPTIONS]",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.argument("qrels", type=File())
@click.argument("runs", metavar="RUN...", type=File(), nargs=-1)
@_measure(
    "-m",
    "--metric",
    "metrics",
    multiple=True,
    metavar="NAME",
    shell_complete=complete_metric,
    help="One or several metrics, such as 'nDCG@5,10 AP(rel=2)'. 'gradeval metrics' lists them. "
    f"Default: {DEFAULT_METRICS}.",
)
@_measure(
    "-l",
    "--rel",
    type=Finite(),
    metavar="GRADE",
    help="Relevance threshold: the lowest grade that counts as relevant. Default: any grade above 0.",
)
@_measure(
    "--zero-grade",
    type=Finite(),
    default=0.0,
    metavar="GRADE",
    help="The grade that means non-relevant; it is subtracted from every grade. Default: 0.",
)
@_measure(
    "-M",
    "--depth",
    type=Integer(*RANGES["depth"]),
    metavar="N",
    help="Evaluate the first N ranks of each query only.",
)
@_measure(
    "-J",
    "--judged-only",
    is_flag=True,
    help="Remove unjudged documents from the rankings first (condensed lists).",
)
@_measure(
    "--ties",
    type=click.Choice(TIES),
    help="Order of tied scores: by document id descending (trec, as in trec_eval), as in the file (input), or "
    "by grade, highest (best) or lowest (worst) first. Default: input for features and scores of LETOR files, "
    "else trec, with a warning if another order could change a value.",
)
@_measure(
    "--tie-range",
    is_flag=True,
    help="Print beside each value the lowest and the highest value over the orders of tied scores tried.",
)
@_measure(
    "--no-relevant",
    type=click.Choice(tuple(NO_RELEVANT)),
    help="The value of AP, nDCG, R and all other metrics that divide by what is relevant, for a query without "
    "a relevant document; skip excludes the query from their means. Default: 0, with a warning.",
)
@_measure("--by-level", is_flag=True, help="Add AP with each grade as the relevance threshold, before muAP.")
@_queries("-q", "--per-query", is_flag=True, help="Print the values of each query too.")
@_queries("-n", "--no-summary", is_flag=True, help="Do not print the summary; requires -q.")
@_queries(
    "--queries",
    type=click.Choice(QUERIES),
    default="judged",
    show_default=True,
    help="Average over all judged queries, with 0 for those missing from the run (judged), or over those in "
    "both.",
)
@_queries("-c", "complete", is_flag=True, help="Same as --queries judged, as in trec_eval.")
@_queries(
    "--query-ids",
    type=File(),
    metavar="FILE|LIST",
    help="Evaluate these queries only: a file of ids, or comma-separated ids. If an id of the qrels is also "
    "the "
    "name of a file, the id is used; ./NAME is the file.",
)
@_output(
    "-f",
    "--format",
    "format_",
    type=click.Choice(tuple(FORMATS)),
    help="Default: table on a terminal, tsv elsewhere.",
)
@_output(
    "--digits",
    type=DigitsOrFull(),
    default=4,
    show_default=True,
    metavar="N|full",
    help="Number of decimals, or full for the shortest representation that round-trips.",
)
@_output(
    "--spreadsheet",
    is_flag=True,
    help="With -f csv: prefix text that begins with =, +, - or @ with ', so that it is not read as a formula.",
)
@_output(
    "-o",
    "--output",
    type=File(),
    metavar="FILE",
    help="Write to this file, atomically.",
)
@_input("--qrels-format", type=click.Choice(QRELS_FORMATS), help="Format of the qrels.")
@_input("--run-format", type=click.Choice(RUN_FORMATS), help="Format of the runs.")
@_input(
    "--feature",
    "features",
    multiple=True,
    metavar="LIST",
    help="Evaluate features of LETOR files as runs, such as 1,5,9-12; of QRELS if no RUN is given.",
)
@_input(
    "--qrels-feature",
    type=Integer(*RANGES["qrels_feature"]),
    metavar="K",
    help="Use a feature of the LETOR file as the grade.",
)
@_input(
    "--groups",
    type=File(),
    metavar="FILE",
    help="Query sizes of SVMlight files without qid. Default: FILE.query or FILE.group in the same directory.",
)
@_other(
    "-j",
    "--jobs",
    type=Integer(*RANGES["jobs"]),
    metavar="N",
    help="Number of threads. Default: number of processors.",
)
@_other("--quiet", is_flag=True, help="Do not print warnings or the progress bar.")
@_other("--strict", is_flag=True, help="Treat warnings as errors: print no results, and exit with code 2.")
@_other(
    "--allow",
    type=Kinds(),
    default=(),
    metavar="LIST",
    help=f"Kinds of warnings that are not errors with --strict: {', '.join(kind.value for kind in Kind)}.",
)
def eval_command(
    qrels: str,
    runs: tuple[str, ...],
    metrics: tuple[str, ...],
    per_query: bool,
    no_summary: bool,
    complete: bool,
    format_: str | None,
    digits: Digits,
    spreadsheet: bool,
    output: str | None,
    query_ids: str | None,
    jobs: int | None,
    quiet: bool,
    strict: bool,
    allow: tuple[Kind, ...],
    **options: Any,
) -> int:
    """Evaluate runs against relevance judgments.

    QRELS is a TREC file with lines 'query iter document grade', or a LETOR file. A RUN is a TREC file with
    lines 'query Q0 document rank score tag', or a file with one score for each line of the LETOR file.
    """
    if complete and options["queries"] == "both":
        raise click.UsageError("-c and --queries both are mutually exclusive.")
    if no_summary and not per_query:
        raise click.UsageError("-n requires -q: nothing would be printed.")
    if not runs and not options["features"]:
        raise click.UsageError("Missing argument 'RUN...' (or --feature, for LETOR files).")
    context = click.get_current_context()
    root = context.find_root().command
    if isinstance(root, click.Group) and qrels in root.list_commands(context) and not os.path.exists(qrels):
        raise click.UsageError(f"The command comes first: gradeval {qrels}, then its options.")
    inputs = [qrels, *runs, *filter(None, [options["groups"]])]
    if inputs.count("-") > 1:
        raise click.UsageError("'-' can be given once only: there is one standard input.")
    file = None
    if output is not None and output != "-":
        from gradeval.cli.output_file import OutputFile

        beside = [path + suffix for path in (qrels, *runs) for suffix in GROUP_SUFFIXES]
        file = OutputFile(output, [*inputs, *beside, *filter(None, [query_ids])])
    on_terminal = file is None and out.on_terminal()
    format_ = format_ or ("table" if on_terminal else "tsv")
    if spreadsheet and format_ != "csv":
        raise click.UsageError("--spreadsheet requires -f csv.")
    if options["tie_range"] and format_ == "trec":
        raise click.UsageError(
            "--tie-range and -f trec are mutually exclusive: the format has no columns for ranges."
        )

    from gradeval.evaluation import evaluate_all
    from gradeval.notices import lines
    from gradeval.registry.spec import parse
    from gradeval.render import render
    from gradeval.render.layout import ALL
    from gradeval.render.progress import Progress

    if quiet or strict:  # the warnings of other code, such as a plugin's, too
        python_warnings.simplefilter("error" if strict else "ignore")
    heap.imported()
    specs = parse(metrics or DEFAULT_METRICS)
    if not options["by_level"]:
        _check_printed(specs, per_query, not no_summary)
    asked = None
    if query_ids is not None:
        from gradeval.cli.query_ids import QueryIds

        asked = QueryIds(query_ids)
    chosen = Options.of(**options, jobs=jobs or 0)
    try:
        with Progress(enabled=False if quiet else None) as progress:
            results = evaluate_all(
                qrels,
                [(None, run) for run in runs or (qrels,)],
                specs,
                chosen,
                watch=progress.watch,
                hashes=format_ == "json",
                query_ids=None if asked is None else asked.chosen,
            )
    except UnknownQueryError as error:
        if asked is None:
            raise
        raise asked.unknown(error) from None
    for each in {str(failed.error): failed.error for failed in results.failed}.values():
        out.report(each)
    notices = [notice for notice in results.notices if not notice.informational]
    notes = lines((notice for notice in results.notices if notice.informational), len(results.runs))
    warnings = list(asked.warnings if asked else ())
    mixed = per_query and not no_summary and format_ in BY_ROWS
    if mixed and any(ALL in results.counted_queries(r) for r in range(len(results.runs))):
        warnings.append(f"a query is named '{ALL}', like the summary; -n omits the summary")
    is_wrong = bool(warnings) or any(notice.kind not in allow for notice in notices)
    if not quiet or strict:
        for warning in (*warnings, *lines(notices, len(results.runs))):
            out.echo_error(f"warning: {warning}")
    if not quiet:
        for note in notes:
            out.echo_error(f"note: {note}")
    if strict and is_wrong:
        out.echo_error("gradeval: warnings are treated as errors (--strict)")
        return 2
    if results.runs:
        text = render(
            results,
            format_,
            per_query=per_query,
            summary=not no_summary,
            digits=digits,
            colour=on_terminal and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb",
            width=out.columns() if on_terminal else None,
            spreadsheet=spreadsheet,
        )
        out.write(text, file, styled=format_ == "table")
    return 2 if results.failed else 0


def _check_printed(specs: Sequence[Spec], per_query: bool, summary: bool) -> None:
    """Raise if none of the metrics has a value of the kind to print."""
    names = ", ".join(map(str, specs))
    if not per_query and not any(spec.metric.has_summary for spec in specs):
        raise click.UsageError(f"{names}: it has values per query only. Add -q.")
    if not summary and not any(spec.metric.per_query for spec in specs):
        raise click.UsageError(f"{names}: it has a summary only. Remove -n.")

"""gradeval spark: runs against qrels on a Spark cluster."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from gradeval.cli import heap
from gradeval.cli import output as out
from gradeval.cli.destination import has_colour
from gradeval.cli.options import (
    SectionedCommand,
    check_queries,
    columns_option,
    identical_ids_option,
    inputs,
    measure,
    measure_options,
    other,
    output_file,
    output_options,
    passes,
    query_options,
    treat_warnings,
    warning_options,
)
from gradeval.cli.query_ids import QueryIds
from gradeval.cli.types import File, Integer
from gradeval.errors import OptionError, UnknownQueryError
from gradeval.notices import Kind
from gradeval.options import DEFAULT_METRICS, Options
from gradeval.render import FORMATS, Digits

if TYPE_CHECKING:
    from gradeval.results import Results

_KINDS = ("trec", "csv", "tsv", "jsonl", "parquet")
_VALUES = ".parquet"  # the ending of the values of queries


class Setting(click.ParamType):  # type: ignore[type-arg]
    """A setting of Spark, NAME=VALUE."""

    name = "NAME=VALUE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        if isinstance(value, tuple):
            return value
        name, equals, text = value.partition("=")
        if not name or not equals:
            self.fail(f"'{value}' is not NAME=VALUE.", param, ctx)
        return name, text


@click.command(
    "spark",
    cls=SectionedCommand,
    short_help="Evaluate runs on Spark.",
    options_metavar="[OPTIONS]",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.argument("qrels", type=File())
@click.argument("runs", metavar="RUN...", type=File(), nargs=-1, required=True)
@measure_options(DEFAULT_METRICS)
@measure(
    "--tie-range",
    is_flag=True,
    help="Print beside each value the lowest and the highest value over the orders of tied scores tried.",
)
@measure("--by-level", is_flag=True, help="Add AP with each grade as the relevance threshold, before muAP.")
@query_options()
@output_options(FORMATS, more=" With .parquet, Spark writes the values of all queries there.")
@inputs("--qrels-format", type=click.Choice(_KINDS), help="Format of the qrels. Default: by the ending.")
@inputs("--run-format", type=click.Choice(_KINDS), help="Format of the runs. Default: by the ending.")
@columns_option(", run=NAME for several runs in one table, order=NAME for --ties input")
@identical_ids_option()
@other("--master", metavar="URL", help="Where Spark runs. Default: local[*], or what spark-submit was given.")
@other("--conf", "settings", type=Setting(), multiple=True, help="A setting of Spark.")
@other(
    "--buckets",
    type=Integer(1, 100_000),
    metavar="N",
    help="Number of parts that the queries are divided into. Default: one for about a million rows.",
)
@warning_options()
def spark_command(
    qrels: str,
    runs: tuple[str, ...],
    metrics: tuple[str, ...],
    complete: bool,
    format_: str | None,
    digits: Digits,
    spreadsheet: bool,
    output: str | None,
    query_ids: str | None,
    columns: str,
    master: str | None,
    settings: tuple[tuple[str, str], ...],
    buckets: int | None,
    quiet: bool,
    strict: bool,
    allow: tuple[Kind, ...],
    **options: Any,
) -> int:
    """Evaluate runs against relevance judgments on a Spark cluster, or on this machine.

    QRELS and each RUN are paths, folders, patterns or URIs that Spark reads: Parquet, CSV, TSV or JSON Lines by
    their endings, and TREC's lines otherwise. NAME=RUN names a run; a table alone may have a column of runs.
    -o OUT.parquet writes the values of all queries, by Spark; the summary is printed in any case.
    """
    from gradeval.spark.session import check_installed

    check_queries(complete, options["queries"])
    check_installed()
    values = output if output is not None and output.endswith(_VALUES) else None
    read = [one for one in (qrels, *runs) if os.path.lexists(one)]
    file = output_file(None if values else output, [*read, *filter(None, [query_ids])])
    on_terminal = file is None and out.on_terminal()
    format_ = format_ or out.default_format(file, FORMATS)
    if spreadsheet and format_ != "csv":
        raise click.UsageError("--spreadsheet requires -f csv.")
    if options["tie_range"] and format_ == "trec":
        raise click.UsageError(
            "--tie-range and -f trec are mutually exclusive: the format has no columns for ranges."
        )

    from gradeval.registry.spec import parse
    from gradeval.render import render
    from gradeval.render.progress import Progress
    from gradeval.spark.files import evaluate_files, exists, resolved
    from gradeval.spark.frames import split_columns
    from gradeval.spark.session import engine_errors, opened_session, tasks_shown

    treat_warnings(quiet, strict)
    heap.imported()
    specs = parse(metrics or DEFAULT_METRICS)
    asked = None if query_ids is None else QueryIds(query_ids)
    if asked is not None:
        options["query_ids"] = asked.unchecked()
    known, own = split_columns(columns)
    chosen = Options.of(**options, columns=known)
    with engine_errors(), opened_session(master, settings) as spark:
        if values is not None and exists(spark, values):
            raise OptionError(f"{values} exists; choose another name, or remove it")
        evaluation = evaluate_files(spark, qrels, runs, specs, chosen, own, buckets)
        with Progress(enabled=False if quiet else None) as progress, tasks_shown(spark, progress.steps):
            if values is not None:
                evaluation.persist()
            try:
                results: Results = evaluation.results()
            except UnknownQueryError as error:
                if asked is None:
                    raise
                raise asked.unknown(error) from None
            progress.clear()
            for failed in results.failed:
                out.report(failed.error)
            may_go_on = not (strict and results.failed) and passes(
                [], results.notices, len(results.runs), quiet, strict, allow
            )
            if values is not None and may_go_on and not results.failed:
                evaluation.per_query().write.parquet(resolved(spark, values))
    if not may_go_on:
        return 2
    if results.runs:
        text = render(
            results,
            format_,
            digits=digits,
            colour=has_colour(on_terminal),
            width=out.columns() if on_terminal else None,
            spreadsheet=spreadsheet,
        )
        out.write(text, file, styled=format_ == "table")
    return 2 if results.failed else 0

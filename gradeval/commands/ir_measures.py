"""gradeval ir_measures: the command of that name, its measures and its output."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from gradeval import process
from gradeval.cli import output as out
from gradeval.cli.command import AbbreviatedCommand
from gradeval.cli.completion import complete_ir_measures
from gradeval.cli.types import File, Integer
from gradeval.errors import MetricError
from gradeval.notices import Kind

if TYPE_CHECKING:
    from gradeval.evaluation.results import Results

PLACES = 4
# what a user of the command can do something about, and does not know from its output
TOLD = (
    Kind.DUPLICATES,
    Kind.SUBTOPICS,
    Kind.EXTRA_FIELDS,
    Kind.RANKS,
    Kind.MISSING,
    Kind.UNJUDGED,
    Kind.NOTHING_JUDGED,
    Kind.QRELS_AS_RUN,
    Kind.IDENTICAL_IDS,
    Kind.TIES,
)
SUMMARY = "all"


@click.command(
    "ir_measures", cls=AbbreviatedCommand, short_help="Evaluate with the measures and output of ir_measures."
)
@click.argument("qrels", type=File())
@click.argument("run", type=File())
@click.argument("measures", nargs=-1, required=True, shell_complete=complete_ir_measures)
@click.option("-p", "--places", type=Integer(-1, 100), default=PLACES, help="Number of decimals; -1 for all.")
@click.option(
    "-q",
    "--by_query",
    is_flag=True,
    help="Print the values of each query too, in the order of the qrels. ir_measures prints them by "
    "provider, in "
    "the order of the run.",
)
@click.option("-n", "--no_summary", is_flag=True, help="Do not print the summary; requires -q.")
@click.option("-o", "--output_format", type=click.Choice(("tsv", "jsonl")), default="tsv", show_default=True)
@click.option("--provider", metavar="NAME", help="Ignored: gradeval has no providers.")
@click.option("--quiet", is_flag=True, help="Do not print warnings.")
def ir_measures_command(
    qrels: str,
    run: str,
    measures: tuple[str, ...],
    places: int,
    by_query: bool,
    no_summary: bool,
    output_format: str,
    provider: str | None,
    quiet: bool,
) -> int:
    """Evaluate RUN with MEASURES in the notation of ir_measures, and print its output format.

    Examples of measures: nDCG@10, P(rel=2)@5, ERR@20, Compat(p=0.9), BPM(T=1.0,max_rel=3)@10. All measures
    of a query missing from the run are 0, including counts. Ties are ordered by document id, descending;
    'gradeval metrics NAME' shows the order of ties of each ir_measures provider.
    """
    if no_summary and not by_query:
        raise click.UsageError("-n requires -q: nothing would be printed.")
    if [qrels, run].count("-") > 1:
        raise click.UsageError("'-' can be given once only: there is one standard input.")

    from gradeval.evaluation import evaluate_all
    from gradeval.options import Options
    from gradeval.registry.measures import parse_ir_measures
    from gradeval.registry.spec import parse

    if quiet:
        warnings.simplefilter("ignore")  # of other code, such as a plugin's
    process.imported()
    asked = parse_ir_measures(measures)
    for one in asked:
        if one.spec.metric.text:
            raise MetricError(f"{one.printed}: its values are strings", hint="use 'gradeval -m' instead")
    specs = list(dict.fromkeys([*(one.spec for one in asked), *parse("num_ret")]))
    results = evaluate_all(qrels, [(None, run)], specs, Options())
    for failed in results.failed:
        raise failed.error
    if not quiet:
        # an undefined value is counted as 0, or left out, as ir_measures does
        told = [notice for notice in results.notices if notice.kind in TOLD]
        out.passes((), told, 1, quiet, strict=False, allow=())
        if output_format == "jsonl" and places != PLACES:
            out.echo_error("warning: --places has no effect on jsonl")
    results = _without_gaps(results, alone={one.spec.metric.name for one in asked} == {"Accuracy"})
    names = [(one.printed, specs.index(one.spec)) for one in asked]
    rows = []
    if by_query:
        columns = [(name, results.runs[0].values[m].tolist()) for name, m in names]
        rows += [
            (query, name, of[q])
            for q, query in enumerate(results.queries)
            for name, of in columns
            if of[q] == of[q]
        ]
    if not no_summary:
        rows += [(SUMMARY, name, results.mean(0, m)) for name, m in names]
    write = _tsv if output_format == "tsv" else _jsonl
    out.write("".join(write(query if by_query else None, name, value, places) for query, name, value in rows))
    return 0


def _without_gaps(results: Results, alone: bool) -> Results:
    """0 for queries missing from the run, and for undefined Accuracy unless it is the only measure.

    Alone, ir_measures excludes such queries from the mean of Accuracy, as gradeval does for undefined values.
    """
    import numpy as np

    [run] = results.runs
    values = np.where(results.values(0, "num_ret") > 0, run.values, 0.0)
    for m, spec in enumerate(results.specs):
        if spec.metric.name == "Accuracy" and not alone:
            values[m] = np.nan_to_num(values[m])
    return replace(results, runs=(replace(run, values=values),))


def _tsv(query: str | None, name: str, value: float, places: int) -> str:
    number = repr(value) if places == -1 else f"{value:.{places}f}"
    return "\t".join([*([] if query is None else [query]), name, number]) + "\n"


def _jsonl(query: str | None, name: str, value: float, places: int) -> str:
    import json

    row = {} if query is None else {"query_id": query}
    return json.dumps({**row, "measure": name, "value": value}) + "\n"

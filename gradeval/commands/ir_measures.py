"""gradeval ir_measures: the command of that name, its measures and its output."""

from __future__ import annotations

from functools import partial

import click

from gradeval import process
from gradeval.cli import job as out
from gradeval.cli.job import Job, input_files, with_job
from gradeval.cli.options import AbbreviatedCommand, File, Integer, complete_metric, option
from gradeval.errors import MetricError

PLACES = 4
# what a user of the command can do something about, and does not know from its output
TOLD = {"duplicates", "subtopics", "extra_fields", "ranks", "missing", "unjudged", "nothing_judged"}
TOLD |= {"qrels_as_run", "identical_ids", "ties"}


@click.command(
    "ir_measures", cls=AbbreviatedCommand, short_help="Evaluate with the measures and output of ir_measures."
)
@click.argument("qrels", type=File())
@click.argument("run", type=File())
@click.argument(
    "measures", nargs=-1, required=True, shell_complete=partial(complete_metric, tool="ir_measures")
)
@option("-p --places", "Number of decimals; -1 for all.", "N", type=Integer(-1, 100), default=PLACES)
@option(
    "-q --by_query",
    "Print the values of each query too, in the order of the qrels. ir_measures prints them by provider, "
    "in the order of the run.",
)
@option("-n --no_summary", "Do not print the summary; requires -q.")
@click.option("-o", "--output_format", type=click.Choice(("tsv", "jsonl")), default="tsv", show_default=True)
@option("--provider", "Ignored: gradeval has no providers.", "NAME")
@option("--quiet", "Do not print warnings.")
@with_job()
def ir_measures_command(
    job: Job,
    qrels: str,
    run: str,
    measures: tuple[str, ...],
    places: int,
    by_query: bool,
    no_summary: bool,
    output_format: str,
    provider: str | None,
) -> int:
    """Evaluate RUN with MEASURES in the notation of ir_measures, and print its output format.

    Examples of measures: nDCG@10, P(rel=2)@5, ERR@20, Compat(p=0.9), BPM(T=1.0,max_rel=3)@10. All measures
    of a query missing from the run are 0, including counts. Ties are ordered by document id, descending;
    'gradeval metrics NAME' shows the order of ties of each ir_measures provider.
    """
    if no_summary and not by_query:
        raise click.UsageError("-n requires -q: nothing would be printed.")
    input_files()

    import json

    import numpy as np

    from gradeval.evaluation.evaluator import complete, evaluate_all
    from gradeval.options import Options
    from gradeval.registry.measures import parse_ir_measures
    from gradeval.registry.spec import parse

    process.imported()
    chosen = parse_ir_measures(measures)
    for measure in chosen:
        if measure.spec.metric.text:
            raise MetricError(f"{measure.printed}: its values are strings", hint="use 'gradeval -m' instead")
    specs = list(dict.fromkeys([*(measure.spec for measure in chosen), *parse("num_ret")]))
    results = complete(evaluate_all(qrels, [(None, run)], specs, Options()))
    # an undefined value is counted as 0, or left out, as ir_measures does
    job.passes([notice for notice in results.notices if notice.kind in TOLD], runs=1)
    if output_format == "jsonl" and places != PLACES and not job.quiet:
        out.echo_error("warning: --places has no effect on jsonl")
    # queries missing from the run are 0, and undefined Accuracy too unless it is the only measure: then
    # ir_measures excludes such queries from its mean, as gradeval does for undefined values
    [run_result] = results.runs
    values = np.where(results.values(0, "num_ret") > 0, run_result.values, 0.0)
    if len({measure.spec.metric.name for measure in chosen}) > 1:
        is_accuracy = [spec.metric.name == "Accuracy" for spec in specs]
        values[is_accuracy] = np.nan_to_num(values[is_accuracy])
    results = results.replace(runs=(run_result.replace(values=values),))
    metrics = [(measure.printed, specs.index(measure.spec)) for measure in chosen]
    rows = [
        (query, name, value)
        for query, of_query in zip(results.queries if by_query else (), values.T.tolist(), strict=False)
        for name, m in metrics
        if (value := of_query[m]) == value
    ]
    rows += [] if no_summary else [("all", name, results.mean(0, m)) for name, m in metrics]
    text = ""
    for query, name, value in rows:
        row = {**({"query_id": query} if by_query else {}), "measure": name, "value": value}
        if output_format == "tsv":
            row["value"] = repr(value) if places == -1 else f"{value:.{places}f}"
        text += ("\t".join(row.values()) if output_format == "tsv" else json.dumps(row)) + "\n"
    job.write(text)
    return 0

"""gradeval compare: is run B better than run A?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from gradeval import heap
from gradeval.cli import output as out
from gradeval.cli.arguments import asked_queries, check_queries, input_files, naming_queries, output_file
from gradeval.cli.destination import Destination
from gradeval.cli.options import (
    input_options,
    measure_options,
    other_options,
    output_options,
    queries,
    query_options,
    section,
    sectioned_command,
)
from gradeval.cli.types import File, Integer
from gradeval.commands.compare.command_options import comparison_options, with_baseline
from gradeval.commands.compare.options import RANGES, CompareOptions, split_options
from gradeval.notices import Kind
from gradeval.options import DEFAULT_METRICS, Options
from gradeval.render import Digits

if TYPE_CHECKING:
    from gradeval.cli.query_ids import QueryIds
    from gradeval.commands.compare.result import Comparison

EPILOG = """\b
Examples:
  gradeval compare qrels.txt bm25.run dense.run -m 'nDCG@10 AP'
                                       the second run against the first
  gradeval compare qrels.txt bm25.run dense.run --test randomization --worst 5
                                       by sign flips, and what got worse most
  gradeval compare qrels.txt *.run --all-pairs -f latex
                                       every run with every other, for a paper
  gradeval compare qrels.txt *.run --baseline bm25.run --by topics.tsv
                                       and for each group of queries
  gradeval qrels.txt old.run -q -f json -o old.json
  gradeval compare qrels.txt old.json new.run
                                       with a saved result
  gradeval compare --values a.csv b.csv
                                       values that any tool has computed

\b
A saved result must come from the same qrels, options and metrics. With --values
each file is CSV or TSV with a column of query ids (query, qid, query_id, … or
--columns query=NAME) and one for each metric, gradeval's own TSV (-q, also with
--wide), or the output of trec_eval -q. A query that a table lacks counts as 0, or
is excluded if lower values are better, or with --queries both.
"""
_more = section("Further output")
_values = section("Tables of values")

# options of the evaluation, which tables of values do not need
_EVALUATION = (
    *("rel", "zero_grade", "depth", "judged_only", "ties", "no_relevant"),
    *("qrels_format", "run_format", "features", "qrels_feature", "groups"),
    *("split", "ignore_identical_ids"),
)


FORMATS = ("table", "tsv", "csv", "json", "md", "latex")


@sectioned_command("compare", "Compare runs: differences, tests, intervals.", EPILOG)
@click.argument("files", metavar="QRELS RUN RUN...", type=File(), nargs=-1)
@comparison_options()
@_more("--by", type=File(), metavar="FILE", help="Repeat for each group: 'query TAB group' lines.")
@_more("--worst", type=Integer(*RANGES["worst"]), default=0, metavar="N", help="The N queries that lost most.")
@_more("--best", type=Integer(*RANGES["best"]), default=0, metavar="N", help="The N queries that gained most.")
@_more("--power", is_flag=True, help="The smallest difference that could have been shown, and queries needed.")
@_more("--anova", is_flag=True, help="Two-way analysis of variance, system by query, and its effect sizes.")
@_more("--relative", is_flag=True, help="Differences in percent of the baseline's mean too.")
@_values("--values", "of_values", is_flag=True, help="The files are tables of values per query; no qrels.")
@_values(
    "--lower-is-better",
    multiple=True,
    metavar="NAME",
    help="A metric of the tables where lower values are better; a query that a table lacks is excluded for it. "
    "Default: as gradeval's metric of that name, or higher.",
)
@measure_options(f"{DEFAULT_METRICS.removeprefix('num_q ')}, or all that saved results or tables have")
@queries(
    "-q", "--per-query", is_flag=True, help="Print every query too: the values of the runs, the differences."
)
@queries("-n", "--no-summary", is_flag=True, help="Do not print the comparisons; requires -q.")
@query_options()
@output_options(FORMATS)
@input_options()
@other_options()
def compare_command(
    files: tuple[str, ...],
    metrics: tuple[str, ...],
    of_values: bool,
    lower_is_better: tuple[str, ...],
    by: str | None,
    relative: bool,
    per_query: bool,
    no_summary: bool,
    complete: bool,
    format_: str | None,
    digits: Digits,
    spreadsheet: bool,
    output: str | None,
    query_ids: str | None,
    quiet: bool,
    strict: bool,
    allow: tuple[Kind, ...],
    **given: Any,
) -> int:
    """Compare runs by their values for the same queries.

    The first RUN is the baseline. For each other RUN and each metric: the difference of the means, its
    confidence interval, p before and after correction for multiple comparisons, effect size, and how many
    queries got better and worse. A RUN may be a saved result (gradeval -q -f json) too.
    NAME=RUN labels a run.
    """
    check_queries(complete, given["queries"])
    if no_summary and not per_query:
        raise click.UsageError("-n requires -q: nothing would be printed.")
    if no_summary and format_ == "json":
        raise click.UsageError("-n and -f json are mutually exclusive: JSON has the comparisons.")
    _check_files(files, of_values, given, lower_is_better)
    qrels, arguments = ((), files) if of_values else (files[:1], files[1:])
    runs = with_baseline(arguments, given["baseline"])
    files = (*qrels, *(path for _, path in runs))
    file = output_file(output, [*input_files(), *files])
    destination = Destination.of(file, format_, FORMATS, spreadsheet=spreadsheet)

    out.treat_warnings(quiet, strict)
    heap.imported()
    compared_as, evaluation = split_options({**given, "jobs": given["jobs"] or 0})
    options = CompareOptions.of(**compared_as, by=by or ())
    asked = asked_queries(query_ids)
    with naming_queries(asked):
        if of_values:
            from gradeval.commands.compare.compare_tables import compare_files

            chosen = Options.of(queries=given["queries"], columns=given["columns"])
            ids = None if asked is None else asked.chosen
            comparison = compare_files(runs, metrics, lower_is_better, chosen, options, ids)
        else:
            chosen, with_hashes = Options.of(**evaluation), destination.format == "json"
            found = _compare_runs(qrels[0], runs, metrics, chosen, options, asked, quiet, with_hashes)
            if found is None:
                return 2
            comparison = found
    warnings = asked.warnings if asked else ()
    if not out.passes(warnings, comparison.notices, len(comparison.values.runs), quiet, strict, allow):
        return 2
    text = comparison.render(
        destination.format,
        per_query=per_query,
        summary=not no_summary,
        relative=relative,
        digits=digits,
        spreadsheet=spreadsheet,
        **destination.style,
    )
    destination.write(text)
    return 0


def _check_files(
    files: Sequence[str], of_values: bool, given: Mapping[str, Any], lower_is_better: Sequence[str]
) -> None:
    """Raise UsageError where the arguments contradict each other."""
    context = click.get_current_context()
    if of_values:
        for name in _EVALUATION:
            if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
                flag = max(next(p for p in context.command.params if p.name == name).opts, key=len)
                raise click.UsageError(f"{flag} and --values are mutually exclusive: nothing is evaluated.")
        if not files:
            raise click.UsageError("Missing argument: the tables of values to compare.")
        return
    if lower_is_better:
        raise click.UsageError(
            "--lower-is-better requires --values: the direction of gradeval's metrics is known."
        )
    if not files or (len(files) < 2 and not given["features"]):
        hint = "tables without qrels go with --values" if files else "the qrels, then two runs or more"
        raise click.UsageError(f"Missing argument 'QRELS RUN RUN...': {hint}.")


def _compare_runs(
    qrels: str,
    runs: Sequence[tuple[str | None, str]],
    metrics: Sequence[str],
    evaluation: Options,
    options: CompareOptions,
    asked: QueryIds | None,
    quiet: bool,
    hashes: bool,
) -> Comparison | None:
    """The runs compared; None where one could not be read, which has been reported."""
    from gradeval.commands.compare.compare import compare_results, evaluate_to_compare
    from gradeval.render.progress import Progress

    with Progress(enabled=False if quiet else None) as progress:
        results, specs = evaluate_to_compare(
            qrels,
            runs or [(None, qrels)],
            metrics or None,
            evaluation,
            watch=progress.watch,
            hashes=hashes,
            query_ids=None if asked is None else asked.chosen,
        )
    out.report_failed(results.failed)
    return None if results.failed else compare_results(results, specs, options)

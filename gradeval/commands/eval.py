"""gradeval eval: runs against qrels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from gradeval.cli import options as cli
from gradeval.cli.job import Job, check_runs, expand_runs, listed_runs, named_by, with_job
from gradeval.compare_options import CompareOptions, Groups
from gradeval.errors import first_names
from gradeval.file_formats import LabelledRuns, labelled
from gradeval.notices import Notice, NoticeKind
from gradeval.options import DEFAULT_METRICS, METRICS, MORE, Options
from gradeval.render import WRITERS

if TYPE_CHECKING:
    from gradeval.evaluation.results import Results, Runs
    from gradeval.registry.spec import Spec

FORMATS = tuple(WRITERS)
BY_ROWS = ("tsv", "csv", "jsonl", "trec")  # the summary's rows are those of a query 'all'


@cli.sectioned_command("eval", "Evaluate runs (the default command).")
@click.argument("qrels", type=cli.File())
@click.argument("runs", metavar="RUN...", type=cli.File(), nargs=-1, callback=expand_runs)
@cli.measure_options(f"{DEFAULT_METRICS}, or those of a saved result")
@cli.row_options(Options, METRICS, within=MORE)
@cli.queries("-q --per-query", "Print the values of each query too.")
@cli.queries("-n --no-summary", "Do not print the summary; requires -q.")
@cli.query_options
@cli.output_options(FORMATS)
@cli.output(
    "--sort",
    "Order the runs by this metric, the best first, or the highest first for a metric of which neither "
    "high nor low is better, such as unj; -METRIC reverses the order.",
    "METRIC",
    shell_complete=cli.complete_metric,
)
@cli.output(
    "--top",
    "Print the first N runs only, with a note where further runs have the same value; requires --sort, or "
    "--rank, which then orders the runs too.",
    type=cli.Integer(1, 10**9),
)
@cli.output(
    "--rank",
    "A column with the rank of each run by the metric of --sort, else by the first of which high or low values "
    "are better; means that are printed alike share one.",
)
@cli.row_option(CompareOptions, "by", section="Output", help=cli.BY)
@cli.output(
    "--spread", "Print of each query the lowest, median and highest value over the runs, and whose they are."
)
@cli.history_option
@cli.signature_option
@cli.output("--wide", "With -q: queries as rows, runs side by side, for each metric.")
@cli.runs_from_option
@cli.name_by_option
@cli.input_options
@cli.other_options
@cli.fail_on_warning_option
@with_job(FORMATS)
def eval_command(
    job: Job,
    qrels: str,
    runs: tuple[str, ...],
    metrics: tuple[str, ...],
    per_query: bool,
    no_summary: bool,
    sort: str | None,
    top: int | None,
    rank: bool,
    by: str | None,
    spread: bool,
    wide: bool,
    runs_from: str | None,
    name_by: str | None,
    **options: Any,
) -> int:
    """Evaluate runs against relevance judgments.

    QRELS is a TREC file with lines 'query iter document grade', or a LETOR file. A RUN is a TREC file with
    lines 'query Q0 document rank score tag', or a file with one score for each line of the LETOR file. Both may
    be of BEIR, CSV, TSV, JSON, JSON Lines, Parquet or Arrow, a RUN of MS MARCO or MTEB too. A directory as RUN
    stands for its files. A saved result (-q -f json) from the same qrels and options is a RUN too. NAME=RUN
    names it in the results; a NAME contains no '/'. With -f jsonl the values of a run are printed as soon as
    they are there.
    """
    from gradeval.evaluation.evaluation import evaluate_all
    from gradeval.evaluation.plan import Plan
    from gradeval.evaluation.runs import with_saved

    _check_usage()
    chosen = Options(**options)
    check_runs(runs, options["features"], runs_from)
    listed = listed_runs(runs_from)
    all_runs = named_by(LabelledRuns((*map(labelled, runs), *listed)), name_by)
    job.open(*(path for _, path in listed))
    if job.format == "trec" and (option := _column_option()):
        raise click.UsageError(f"{option} and -f trec are mutually exclusive.")
    judgments, opened = with_saved(qrels, all_runs or [(None, qrels)])
    specs, excluded = _metrics(metrics, opened)
    _check_metrics(specs, per_query, not no_summary, sort, chosen.by_level)
    groups = CompareOptions(by=by or None).by
    choices: dict[str, Any] = {"per_query": per_query, "summary": not no_summary, "wide": wide}
    choices |= {"by": groups, "spread": spread, "rank": _rank_metric(specs, sort) if rank else None}
    is_streamed = _is_streamed(job)
    output = _Output(job, is_streamed, **choices)
    keeps = ((per_query or spread or bool(groups)) and not is_streamed) or job.history is not None
    with job.running():
        plan = Plan(
            specs,
            chosen,
            shows_queries=per_query,
            expected_of_ties=job.shows_notices,
            keeps_values=keeps,
            hashes=job.wants_hashes,
        )
        results = evaluate_all(plan, job.watched(judgments), job.watched(LabelledRuns(opened)), output.on_run)
    if spread and len(results.runs) + len(results.failed) < 2:
        raise click.UsageError("--spread is over two runs or more.")
    of_groups = _notices_of_groups(results, groups) if groups else ()
    has_failed = job.strict and results.failed
    notices = [*results.notices, *excluded, *output.notices, *of_groups]
    if has_failed or not job.passes(notices, runs=len(results.runs)):
        return 2
    if results.runs:
        output.finish(results, sort, top)
    return 2 if results.failed else 0


def _notices_of_groups(results: Results, groups: Groups) -> Iterable[Notice]:
    """Raises InputError where no query is in a group, before any warning."""
    from gradeval.evaluation.groups import group_notices, positions_of_groups

    if results.runs:
        positions_of_groups(results.queries, groups)
    return group_notices(results.queries, results.counted_by_any, groups)


def _check_usage() -> None:
    """Raise UsageError for options that do not go together."""
    values = click.get_current_context().params
    interval = values["interval"]
    no_summary = values["no_summary"]
    wide = values["wide"]
    has_confidence = values["confidence"] != Options.table["confidence"].default
    range_option = _range_option(values)
    column_option = range_option or ("--bounds" if values["bounds"] else "")
    for is_wrong, error in (
        (values["tie_range"] and interval, "--tie-range and --interval are mutually exclusive."),
        (has_confidence and not interval, "--confidence requires --interval."),
        (no_summary and not values["per_query"], "-n requires -q: nothing would be printed."),
        (values["top"] and not any(map(values.get, ("sort", "rank"))), "--top requires --sort or --rank."),
        (wide and not values["per_query"], "--wide requires -q."),
        (wide and column_option, f"--wide and {column_option} are mutually exclusive."),
        (values["rank"] and no_summary, "--rank and -n are mutually exclusive: ranks are by means."),
        (values["rank"] and wide, "--rank and --wide are mutually exclusive."),
        (values["by"] and no_summary, "--by and -n are mutually exclusive: groups have means."),
        (values["by"] and wide, "--by and --wide are mutually exclusive."),
        (
            values["spread"] and (values["per_query"] or values["rank"] or values["by"] or column_option),
            "--spread prints nothing else, and goes without -q, --rank, --by, --interval, --tie-range and "
            "--bounds.",
        ),
        (interval and no_summary, "--interval and -n are mutually exclusive: intervals are of means."),
    ):
        if is_wrong:
            raise click.UsageError(error)


def _is_streamed(job: Job) -> bool:
    """Whether the values of a run are printed as soon as they are known: no option needs those of others."""
    values = click.get_current_context().params
    needs_all = any(values[name] for name in ("sort", "wide", "rank", "by", "spread"))
    # with --strict nothing is printed before all warnings are known
    return job.format == "jsonl" and job.file is None and not needs_all and not job.strict


def _column_option() -> str:
    """The option that adds columns, which trec_eval's format has not; '' without one."""
    values = click.get_current_context().params
    chosen = (f"--{name}" for name in ("wide", "rank", "by", "spread", "bounds") if values[name])
    return next(chosen, _range_option(values))


def _rank_metric(specs: Sequence[Spec], sort: str | None) -> str:
    """The metric of ranks: that of --sort, else the first that runs can be ordered by. Raises UsageError."""
    from gradeval.registry.spec import parse

    candidates = specs if sort is None else parse(sort.removeprefix("-"))
    for spec in candidates:
        metric = spec.metric
        if metric.has_summary and not metric.text and metric.higher_is_better is not None:
            return str(spec)
    names = ", ".join(map(str, candidates))
    raise click.UsageError(f"--rank requires a metric of which high or low values are better, unlike {names}.")


def _range_option(options: Mapping[str, Any]) -> str:
    """The option by which values have ends, '' without one."""
    if options["tie_range"]:
        return "--tie-range"
    return "--interval" if options["interval"] else ""


class _Output:
    """What is printed: each run as soon as it is evaluated, or all in the end. choices: of Results.render()."""

    def __init__(self, job: Job, is_streamed: bool, **choices: Any) -> None:
        self.job = job
        self.is_streamed = is_streamed
        self.choices = choices
        self.notices: list[Notice] = []

    def on_run(self, results: Results) -> None:
        from gradeval.evaluation.layout import ALL

        self.job.report_failed(results.failed)
        if not results.runs:
            return
        if self.is_streamed:
            self.job.print(results, **self.choices)
        is_by_rows = self.choices["per_query"] and self.choices["summary"] and self.job.format in BY_ROWS
        if is_by_rows and ALL in results.counted_queries(0):
            self.notices = [Notice(NoticeKind.QUERY_ALL, "", 1, queries=(ALL,))]

    def finish(self, results: Results, sort: str | None, top: int | None) -> None:
        """Append the means to the history, and print all runs, in this order and no more than `top`, unless
        they have been; and the signatures.
        """
        if self.job.history_file is not None:
            from gradeval.commands.history.history import lines_of, means_of, records

            self.job.history_file.append(lines_of(records(means_of(results), self.job.label)))
        if not self.is_streamed:
            sort = sort or (self.choices["rank"] if top else None)
            if sort is not None:
                results = results.sorted_by(sort.removeprefix("-"), worst_first=sort.startswith("-"))
            first = results.replace(runs=results.runs[:top])
            self.job.print(first, signature=self.job.signature, **self.choices)
            if sort is not None and top is not None and not self.job.quiet:
                self.job.report(self._cut_ranks(results, sort.removeprefix("-"), top))
            results = first
        if self.job.signature:
            self.job.sign(results.signatures())

    def _cut_ranks(self, results: Results, metric: str, top: int) -> Iterator[str]:
        """A note where further runs share the rank of the last that is printed."""
        ranks = results.ranks(metric, self.job.digits)
        pairs = list(zip(results.runs, ranks, strict=True))[top:]
        if further := [run.name for run, rank in pairs if rank == ranks[top - 1]]:
            yield f"note: --top {top} leaves out {first_names(further)}, with the same {metric} as the last run"


def _metrics(metrics: Sequence[str], runs: Runs) -> tuple[list[Spec], Sequence[Notice]]:
    """The metrics, by default those that all saved results have; and a notice of those that are left out."""
    from gradeval.evaluation.results import SavedResult
    from gradeval.registry.spec import parse

    if not any(isinstance(run, SavedResult) for _, run in runs):
        return parse(metrics or DEFAULT_METRICS), ()
    from gradeval.evaluation.saved import common_metrics, metrics_of_saved

    if metrics:
        return metrics_of_saved(metrics)
    specs, excluded = common_metrics(runs)
    return specs or parse(DEFAULT_METRICS), excluded


def _check_metrics(
    specs: Sequence[Spec], per_query: bool, summary: bool, sort: str | None, by_level: bool
) -> None:
    """Raise UsageError if no metric has a value to print (by_level adds some), or --sort is none of them."""
    names = ", ".join(map(str, specs))
    if not (per_query or by_level or any(spec.metric.has_summary for spec in specs)):
        raise click.UsageError(f"{names}: it has values per query only. Add -q.")
    if not (summary or by_level or any(spec.metric.per_query for spec in specs)):
        raise click.UsageError(f"{names}: it has a summary only. Remove -n.")
    if sort is not None:
        from gradeval.registry.spec import parse

        first, *more = parse(sort.removeprefix("-"))
        if first.metric.text or (not by_level and (more or first not in specs)):
            raise click.UsageError(f"--sort {sort}: give one of the metrics with numbers: {names}.")

"""gradeval study: the experiments of the papers, on their data or the user's."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from gradeval.cli import options as cli
from gradeval.cli.job import Job, check_runs, expand_runs, listed_runs, named_by, with_job
from gradeval.commands.study import options as of_study
from gradeval.file_formats import LabelledRuns, labelled
from gradeval.options import METRICS, MORE, Options, OptionTable

if TYPE_CHECKING:
    from gradeval.commands.study.tables import Study

FORMATS = ("table", "tsv", "csv", "json")


def of_files(required: bool = True) -> cli.Decorator:
    """The arguments of a study of runs."""
    return cli.together(
        click.argument("qrels", type=cli.File(), required=required),
        click.argument("runs", metavar="[RUN]...", type=cli.File(), nargs=-1, callback=expand_runs),
    )


def of_runs(*tables: str, flags: Mapping[str, str] | None = None) -> cli.Decorator:
    """The options of a study of runs, after those of its own, and its Job. tables: those that it has. flags:
    other ones of options.
    """
    return cli.together(
        cli.row_options(Options, METRICS, flags=flags, without=(MORE,)),
        cli.query_options,
        cli.table_option(tables),
        cli.output_options(FORMATS),
        cli.runs_from_option,
        cli.name_by_option,
        cli.input_options,
        cli.other_options,
        with_job(FORMATS),
    )


def metrics_option(default: str) -> cli.Decorator:
    return cli.metric_option(f"One or several metrics; 'gradeval metrics' lists them. Default: {default}.")


def own_options(table: type[OptionTable]) -> cli.Decorator:
    """The options of a study's own table, whose other rows are rows of evaluations too."""
    defaults = {name: row.default for name, row in table.table.items() if row.section == ""}
    for name, default in defaults.items():
        if isinstance(default, tuple):
            defaults[name] = ",".join(f"{number:g}" for number in default)
    rows = (cli.row_option(table, name, show_default=True, default=defaults[name]) for name in defaults)
    return cli.together(*rows)


def example(*examples: str) -> str:
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in examples)


def _show(
    job: Job, name: str, *inputs: Any, has_steps: bool = False, files: Sequence[str] = (), **options: Any
) -> int:
    """Make the study of this name, and print it. has_steps: whether it shows its progress. files: that are
    read, though no argument names them.
    """
    from gradeval.commands.study import experiments

    job.open(*files)
    options = {name: value for name, value in options.items() if value != ()}
    with job.running() as progress:
        options |= {"progress": progress.steps} if has_steps else {}
        study = getattr(experiments, name)(*map(job.watched, inputs), **options)
    failed = job.report_failed(study.failed)
    if not job.passes(*study.noticed, runs=study.runs_read):
        return 2
    job.print(study, table=job.table)
    if job.table is None and job.format in ("tsv", "csv") and not job.quiet:
        job.report(_about_empty(study))
    return 2 if failed else 0


def _about_empty(study: Study) -> Iterator[str]:
    """A note where the table that is printed has no rows, as that of pairs of metrics has for one."""
    first, *further = study.data.values()
    if not first.rows:
        tables = ", ".join(table.name for table in further if table.rows)
        yield f"note: the table {first.name} ({first.title}) has no rows; --table has others: {tables}"


def _show_of_runs(
    job: Job,
    name: str,
    qrels: str | None,
    runs: Sequence[str],
    *,
    runs_from: str | None,
    name_by: str | None,
    **options: Any,
) -> int:
    """The study of runs, and of those of a list; of the qrels' features without any."""
    listed = listed_runs(runs_from)
    all_runs = named_by(LabelledRuns((*map(labelled, runs), *listed)), name_by) or None
    if qrels is not None:
        options["errors"] = job.on_errors
    return _show(job, name, qrels, all_runs, files=[path for _, path in listed], **options)


@click.group("study", cls=cli.CommandGroup, short_help="Study metrics: the experiments of their papers.")
def study_command() -> None:
    """Study metrics: the experiments of the papers they come from, on generated data or on yours.

    All random numbers depend on --seed alone. In Python: gradeval.study.swaps(...) and so on.
    """


def study(name: str, about: str, epilog: str) -> Callable[[Callable[..., Any]], click.Command]:
    return study_command.command(name, cls=cli.Command, short_help=about, epilog=epilog)


@study(
    "swaps",
    "Swap pairs of an ideal ranking: does a metric depend on the number of levels?",
    example(
        "gradeval study swaps",
        "gradeval study swaps -m 'rankDCG nDCGphi tau' --levels 3,5 --items 50",
        "gradeval study swaps -f tsv --table curves -o curves.tsv",
    ),
)
@metrics_option(of_study.SWAPS_METRICS)
@own_options(of_study.SwapsOptions)
@cli.table_option(("distances", "curves"))
@cli.output_options(FORMATS)
@cli.row_option(Options, "jobs")
@cli.quiet_option
@with_job(FORMATS)
def swaps_command(job: Job, **options: Any) -> int:
    """How metrics fall as random pairs of an ideal ranking are swapped.

    The documents have 2, 10, 20 or 50 levels, which are the grades 0 to L - 1, evenly or unevenly used (in each
    repeat random shares, all alike probable). The same ranks are swapped for all of them. A metric that does
    not depend on the number of levels has the same curve for all; the largest distance between its curves shows
    it (Scheel et al. 2011, figures 4 and 5). Chance alone stays below the noise in 95 % of studies; more
    --repeats lower it.
    """
    return _show(job, "swaps", **options, has_steps=True)


@study(
    "levels",
    "AP at every threshold, and the metrics that combine them.",
    example(
        "gradeval study levels qrels.txt bm25.run dense.run",
        "gradeval study levels test.letor --feature 1,5,9",
        "gradeval study levels test.letor --feature 1,5,9 --qrels-feature 9",
        "cat Fold*.txt.gz | gradeval study levels - --feature 1-5 -f tsv",
    ),
)
@of_files()
@metrics_option(of_study.LEVELS_METRICS)
@of_runs("values", "orders")
def levels_command(job: Job, qrels: str, runs: tuple[str, ...], **options: Any) -> int:
    """Average precision at every threshold, and the metrics that combine the thresholds.

    With --qrels-feature a feature of a LETOR file is a virtual assessor; as a run it scores 1 (Scheel et al.
    2011, figures 6 to 8). AP at a threshold that no document of a query reaches counts as 0; --no-relevant skip
    leaves such queries out.
    """
    check_runs(runs, options["features"], options["runs_from"])
    return _show_of_runs(job, "levels", qrels, runs, **options)


@study(
    "divergence",
    "nDCG beside nDCGφ, whose gains follow the gaps between grades.",
    example(
        "gradeval study divergence",
        "gradeval study divergence --cutoff 5 --draws 200 -f json",
        "gradeval study divergence shares.qrels my.run",
        "gradeval study divergence shares.qrels my.run -m 'nDCG@10 nDCGphi@10' --table queries -f tsv",
    ),
)
@of_files(required=False)
@metrics_option("nDCGphi and nDCG(gain=exp,top=10/25/50) at the cutoff 10, top in proportion at others")
@own_options(of_study.DivergenceOptions)
@of_runs("quartiles", "impact", "draws", "differences", "queries")
def divergence_command(job: Job, qrels: str | None, runs: tuple[str, ...], **options: Any) -> int:
    """nDCG beside nDCGφ, whose gains follow the gaps between the grades.

    Without QRELS: random scores, balanced or imbalanced, and two errors in their ideal ranking: ranks 10 and 11
    swapped, or the first 10 reversed (Moniz et al. 2016, figure 2).

    With QRELS and RUN: the difference of two metrics over the queries (figure 4).
    """
    if qrels is not None:
        check_runs(runs, options["features"], options["runs_from"])
    return _show_of_runs(job, "divergence", qrels, runs, **options)


@study(
    "criteria",
    "Which of four criteria for orderings a metric meets.",
    example(
        "gradeval study criteria",
        "gradeval study criteria -m 'muAP NDCNG nDCGphi rankDCG rho'",
        "gradeval study criteria -f tsv",
    ),
)
@metrics_option(of_study.CRITERIA_METRICS)
@cli.table_option(("verdicts", "values"))
@cli.output_options(FORMATS)
@with_job(FORMATS)
def criteria_command(job: Job, **options: Any) -> int:
    """Which of four criteria for metrics of orderings a metric meets.

    \b
    ties      documents with equal grades are interchangeable
    skew      values fall with the error, however often each grade occurs
    emphasis  misplacing a high grade costs more than by counting pairs
    range     the best and the worst ordering have the ends of the range

    The verdicts follow from six lists of predicted scores (Katerenchuk and Rosenberg 2016, table 1); the
    evidence is in the first table of -f tsv. A verdict is undefined where values are. tau, nDCG and rankDCG
    have the values of the paper; its AveP, which counts places with the right grade, is not AP(rel=2). Tables:
    verdicts, values.
    """
    return _show(job, "criteria", **options)


@study(
    "agreement",
    "Do metrics, or two sets of judgments, order systems alike?",
    example(
        "gradeval study agreement qrels.txt *.run",
        "gradeval study agreement qrels.txt *.run -m 'nDCG@10 AP' --test tukey",
        "gradeval study agreement people.qrels --qrels2 llm.qrels *.run",
        "gradeval study agreement people.qrels --qrels2 llm1.qrels --qrels2 llm2.qrels",
        "gradeval study agreement qrels.txt *.run -f tsv --table power",
        "gradeval study agreement judged.csv -f tsv --table disagreements",
    ),
)
@of_files()
@metrics_option(of_study.AGREEMENT_METRICS)
@click.option(
    "--qrels2",
    type=cli.File(),
    multiple=True,
    metavar="FILE",
    help="A second set of judgments, to compare with QRELS; several times for more sets.",
)
@click.option("-q", "--per-query", is_flag=True, help="With --qrels2: the agreement of each query too.")
@own_options(of_study.AgreementOptions)
@of_runs(
    *("correlations", "power", "halves", "rescaled", "systems"),
    *("judgments", "labels", "queries", "documents", "confusion", "disagreements"),
)
def agreement_command(job: Job, qrels: str, runs: tuple[str, ...], **options: Any) -> int:
    """Whether metrics order systems alike, how well they separate them, how stable their orders are.

    For each pair of metrics: Kendall's tau-b and the AP correlation between the orders of the systems; means
    that agree to 12 digits are tied. For each metric: the share of pairs of systems that it separates
    (discriminative power), the agreement of random halves of the queries (the mean tau, its 5 % and 95 %
    quantiles low and high, and swapped, the mean share of pairs of systems in opposite orders), and what
    multiplying all grades changes (change, the largest absolute change of a mean, and the tau of the orders).
    Tables: correlations, power, halves, rescaled, systems.

    With --qrels2: all of it for each set of judgments on the queries that all have, and the agreement of the
    orders of systems by each metric (table judgments), with bootstrap intervals over queries: tau, tau_ap, and
    swapped, the share of the pairs separated by the first set that the second orders the other way; and the
    share of resamples in which the first place changes. Without runs, or beside that, the agreement of the
    grades with bootstrap intervals over queries (table labels): the share of equal grades, Cohen's kappa,
    Krippendorff's alpha of two sets and of all, and the mean difference, the second less the first; the
    confusion matrix; with -q the same for each query; and the documents with different grades (table
    disagreements). QRELS with a column judge or annotator are the judgments of each of these. 'gradeval guide
    studies' says how to read it.
    """
    return _show_of_runs(job, "agreement", qrels, runs, **options)


@study(
    "reuse",
    "Do judgments favour the runs that were pooled for them?",
    example(
        "gradeval study reuse qrels.txt bm25.run dense.run --depth 100",
        "gradeval study reuse qrels.txt runs --depth 50 --teams teams.tsv -f tsv",
    ),
)
@of_files()
@metrics_option(of_study.REUSE_METRICS)
@own_options(of_study.ReuseOptions)
@click.option(
    "--teams",
    type=cli.File(),
    metavar="FILE",
    help="'run TAB team' lines: without what no run of another team has.",
)
@of_runs("runs", flags={"depth": "-M"})
def reuse_command(job: Job, qrels: str, runs: tuple[str, ...], **options: Any) -> int:
    """Whether judgments can be reused: what each run loses where its own documents are not judged.

    Of each run: the judged documents that no other run has in its first K ranks are removed from the qrels, and
    all runs are evaluated again, as if it had not been pooled (Zobel 1998). A new system, whose documents were
    not pooled, loses about as much.

    judged_share: the judged share of its first K ranks; own, own_relevant: how many documents are removed;
    mean, without, difference: of the metric; rank, rank_without: its place among the runs; tau: Kendall's tau
    of the orders of all runs before and after. Where runs of one team are alike, give --teams.
    """
    check_runs(runs, options["features"], options["runs_from"])
    return _show_of_runs(job, "reuse", qrels, runs, **options)

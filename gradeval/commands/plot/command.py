"""gradeval plot: pictures of results, in characters and as files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from gradeval.cli.arguments import check_queries, check_runs, expand_runs
from gradeval.cli.command import Command, CommandGroup
from gradeval.cli.options import (
    SectionedCommand,
    input_options,
    measure_options,
    metric_option,
    other_options,
    queries,
    query_options,
    row_option,
)
from gradeval.cli.types import File
from gradeval.commands.compare.command import with_baseline
from gradeval.commands.compare.options import CompareOptions
from gradeval.commands.plot.command_options import (
    DRAWING,
    drawing,
    mean_confidence_option,
    picture_options,
    run_plot,
)
from gradeval.commands.study.command import swaps_command
from gradeval.commands.study.command_options import as_eval_has, as_has, example
from gradeval.options import Options

if TYPE_CHECKING:
    from gradeval.commands.plot.picture import Picture
    from gradeval.render.progress import Progress


@click.group(
    "plot",
    cls=CommandGroup,
    short_help="Draw queries, curves and φ, in the terminal or to a file.",
)
def plot_command() -> None:
    """Draw pictures: in characters, or with --save as SVG, PNG or PDF, with matplotlib.

    -f tsv, csv and json print the numbers behind a picture. In Python: gradeval.plot.curve(...) and so on.
    """


@plot_command.command(
    "queries",
    cls=SectionedCommand,
    short_help="The value of each query, or its difference from a baseline.",
    epilog=example(
        "gradeval plot queries qrels.txt bm25.run",
        "gradeval plot queries qrels.txt bm25.run dense.run -m AP --save dense.pdf",
        "gradeval plot queries qrels.txt *.run --baseline bm25.run --save all.svg --size 7x5",
        "gradeval plot queries qrels.txt bm25.run dense.run -f tsv",
    ),
)
@click.argument("qrels", type=File())
@click.argument("runs", metavar="RUN...", type=File(), nargs=-1)
@row_option(CompareOptions, "baseline", section=DRAWING)
@mean_confidence_option("the means")
@picture_options("queries", "summary")
@measure_options("nDCG@10")
@query_options()
@input_options()
@other_options()
def queries_command(
    qrels: str,
    runs: tuple[str, ...],
    metrics: tuple[str, ...],
    complete: bool,
    baseline: str | None,
    **given: Any,
) -> int:
    """The value of each query, the highest first; of several runs, differences from a baseline.

    The first RUN is the baseline. The mean has its t interval, and differences are counted as won, tied and
    lost. A RUN may be a saved result (gradeval -q -f json) too. NAME=RUN labels a run.
    """
    check_queries(complete, given["queries"])
    check_runs(runs, given["features"])
    labelled = with_baseline(runs, baseline)

    def draw(progress: Progress, options: dict[str, Any]) -> Picture:
        from gradeval.commands.plot.queries import METRIC, draw_queries

        own, chosen = _split(options, "confidence")
        return draw_queries(
            qrels,
            labelled or [(None, qrels)],
            metrics or METRIC,
            chosen,
            baseline=baseline,
            watch=progress.watch,
            **own,
        )

    return run_plot(draw, given, [path for _, path in labelled])


@plot_command.command(
    "curve",
    cls=SectionedCommand,
    short_help="A metric by its cutoff, or precision by recall.",
    epilog=example(
        "gradeval plot curve qrels.txt bm25.run dense.run",
        "gradeval plot curve qrels.txt *.run -m 'P R' --at 1-10,20,50,100 --log --save depth.pdf",
        "gradeval plot curve qrels.txt *.run -m iprec_at_recall --save pr.svg",
        "gradeval plot curve qrels.txt bm25.run -m 'nDCG(gain=exp)@1,3,5,10' -f json",
    ),
)
@click.argument("qrels", type=File())
@click.argument("runs", metavar="RUN...", type=File(), nargs=-1, callback=expand_runs)
@drawing(
    "--at",
    metavar="LIST",
    help="The values after '@': cutoffs such as 1-20,50,100, or recall levels such as 0.1,0.5,0.9. Default: "
    "1-20; 0,0.1,...,1 for iprec_at_recall.",
)
@drawing("--log", is_flag=True, help="Logarithmic axis of the cutoffs.")
@mean_confidence_option("the means")
@picture_options("curve")
@measure_options("nDCG")
@query_options()
@input_options()
@other_options()
def curve_command(
    qrels: str, runs: tuple[str, ...], metrics: tuple[str, ...], at: str | None, complete: bool, **given: Any
) -> int:
    """The mean of a metric at each cutoff, with its t interval.

    A metric is given without cutoffs, which are then those of --at, or with them: nDCG@5,10,20.
    -m iprec_at_recall draws interpolated precision by recall. NAME=RUN labels a run.
    """
    check_queries(complete, given["queries"])
    check_runs(runs, given["features"])

    from gradeval.tables.run_names import labelled

    named = [labelled(run) for run in runs]

    def draw(progress: Progress, options: dict[str, Any]) -> Picture:
        from gradeval.commands.plot.curve import METRIC, curves_of, draw_curve

        own, chosen = _split(options, "confidence", "log")
        curves = curves_of(metrics or METRIC, at)
        return draw_curve(qrels, named or [(None, qrels)], curves, chosen, watch=progress.watch, **own)

    return run_plot(draw, given)


@plot_command.command(
    "phi",
    cls=SectionedCommand,
    short_help="φ of nDCGφ over the grades of a collection.",
    epilog=example(
        "gradeval plot phi qrels.txt",
        "gradeval plot phi qrels.txt --query 401 --query 402 --save phi.pdf",
        "gradeval plot phi qrels.txt -m 'nDCGphi(variant=released)'",
        "gradeval plot phi qrels.txt -f tsv --table points",
    ),
)
@click.argument("qrels", type=File())
@queries("--query", "asked", multiple=True, metavar="ID", help="φ of this query; may be repeated.")
@picture_options("phi", "points", "quartiles")
@metric_option("nDCGphi, with its parameters. Default: nDCGphi.")
@as_eval_has("zero_grade", "qrels_format", "qrels_feature", "groups", "columns")
@other_options()
def phi_command(qrels: str, asked: tuple[str, ...], metrics: tuple[str, ...], **given: Any) -> int:
    """φ of nDCGφ by grade, with its control points: lowest, median, whisker, highest.

    By default φ of all judgments as one query, and the median and the quartiles of φ over the queries that have
    the grade or a higher one. --query draws φ of one query, or of several.
    """

    def draw(progress: Progress, options: dict[str, Any]) -> Picture:
        from gradeval.commands.plot.phi import METRIC, draw_phi, phi_spec

        spec = phi_spec(metrics or METRIC)
        return draw_phi(qrels, spec, Options.of(**options), queries=asked, watch=progress.watch)

    return run_plot(draw, given)


@plot_command.command(
    "swaps",
    cls=Command,
    short_help="How metrics fall as pairs of an ideal ranking are swapped.",
    epilog=example(
        "gradeval plot swaps",
        "gradeval plot swaps -m 'rankDCG nDCGphi tau' --levels 3,5 --save swaps.pdf",
        "gradeval plot swaps -f tsv --table distances",
    ),
)
@as_has(swaps_command, "metrics", "levels", "items", "repeats", "swaps", "seed")
@mean_confidence_option("the means over the repeats")
@picture_options("curves", "distances")
@as_eval_has("jobs", "quiet")
def swaps_picture_command(metrics: tuple[str, ...], **given: Any) -> int:
    """The curves of 'gradeval study swaps': metrics after 0, 1, 2 … random swaps in an ideal ranking.

    One chart for each metric, with levels evenly used and unevenly, and a curve for each number of levels. A
    metric that does not depend on the number of relevance levels has the same curve for all.
    """

    def draw(progress: Progress, options: dict[str, Any]) -> Picture:
        from gradeval.commands.plot.swaps import swaps
        from gradeval.commands.study.swaps import METRICS

        return swaps(metrics or METRICS, **options, progress=progress.steps)

    return run_plot(draw, given)


def _split(options: dict[str, Any], *names: str) -> tuple[dict[str, Any], Options]:
    """Those that are the picture's, with query_ids, which chooses; and those of the evaluation."""
    own = {name: options.pop(name) for name in (*names, "query_ids") if name in options}
    return own, Options.of(**options)

"""gradeval plot: pictures of results, in characters and as files."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import click

from gradeval.cli import options as cli
from gradeval.cli.job import (
    Job,
    check_runs,
    expand_runs,
    input_files,
    named_by,
    with_job,
    write_data,
)
from gradeval.commands.compare.command import with_baseline
from gradeval.commands.study.command import FORMATS, example, metrics_option, own_options
from gradeval.commands.study.options import SWAPS_METRICS, SwapsOptions
from gradeval.compare_options import CompareOptions
from gradeval.file_formats import LabelledRuns
from gradeval.options import INPUT, METRICS, OF_GRADES, OF_QRELS, RUNS, Options, parse_number

DRAWING = "Picture"
drawing = cli.section(DRAWING)


class Size(cli.ParsedType):
    """Width and height in inches."""

    name = "WxH"

    def parse(self, text: str) -> tuple[float, float]:
        with suppress(ValueError):
            width, height = map(parse_number, text.lower().split("x"))
            if 0 < width <= 100 and 0 < height <= 100:
                return width, height
        raise ValueError("a width and height in inches, such as 5x3")


def picture_options(*tables: str, intervals: str = "") -> cli.Decorator:
    """Where the picture is saved, and the output. tables: those behind it. intervals: what they are of."""
    about = f"Of the intervals of {intervals}. Default: 95."
    confidence = cli.row_option(CompareOptions, "confidence", section=DRAWING, help=about)
    return cli.together(
        *([confidence] if intervals else []),
        drawing(
            "--save",
            "Save the picture too, atomically. Its ending sets the format: .svg, .png, .pdf. "
            "Requires matplotlib: pip install 'gradeval[plot]'.",
            type=cli.OutputPath(),
        ),
        drawing("--size", "Width and height of the saved picture in inches, such as 5x3.", "WxH", type=Size()),
        cli.table_option(tables),
        cli.output_options(FORMATS, default="table"),
    )


def runs_options(metric: str, *tables: str) -> cli.Decorator:
    """The options of a picture of runs, and its Job. metric: the default one."""
    return cli.together(
        picture_options(*tables, intervals="the means"),
        cli.measure_options(metric),
        cli.query_options,
        cli.runs_from_option,
        cli.name_by_option,
        cli.input_options,
        cli.other_options,
        with_job(FORMATS, otherwise="table"),
    )


def _plot(
    job: Job, name: str, *inputs: Any, files: Sequence[str] = (), has_steps: bool = False, **options: Any
) -> int:
    """Draw, print and save the picture of this name. files: that are read, though no argument
    names them.
    """
    from gradeval.commands.plot import pictures

    save, size = options.pop("save"), options.pop("size")
    if save is None and size is not None:
        raise click.UsageError("--size requires --save.")
    # without -m, the picture has its default metrics
    options = {name: value for name, value in options.items() if name != "metrics" or value}
    job.open(*files)
    file = None
    if save is not None:  # what would prevent it is an error before anything is read
        kind = pictures.format_of(save, "--save")
        pictures.drawing()
        file = job.output_file(save, input_files(*files), "--save")
        if job.file is not None and os.path.realpath(job.file.path) == os.path.realpath(save):
            raise click.UsageError("--output and --save name the same file.")
    with job.running() as progress:
        options |= {"progress": progress.steps} if has_steps else {}
        watched = [job.watched(data) for data in inputs]
        picture: pictures.Picture = getattr(pictures, name)(*watched, **options)
    data, notices = (b"", []) if file is None else picture.image(kind, size)
    failed = job.report_failed(picture.failed)
    if not job.passes([*picture.notices, *notices], runs=picture.runs_read):
        return 2
    text = picture.render(job.format, table=job.table, **job.render_options)
    if file is not None:
        write_data(data, file)
    job.write(text)
    return 2 if failed else 0


@click.group(
    "plot",
    cls=cli.CommandGroup,
    short_help="Draw means, queries, curves and histories in the terminal; these, φ and swaps to a file.",
)
def plot_command() -> None:
    """Draw pictures: with --save as SVG, PNG or PDF, with matplotlib; means, queries and curves in characters
    too.

    -f tsv, csv and json print the numbers behind a picture. In Python: gradeval.plot.curve(...) and so on.
    """


def picture(
    name: str, about: str, epilog: str, cls: type[click.Command] = cli.SectionedCommand
) -> Callable[[Callable[..., Any]], click.Command]:
    return plot_command.command(name, cls=cls, short_help=about, epilog=epilog)


@picture(
    "means",
    "The mean of each run with its interval.",
    example(
        "gradeval plot means qrels.txt bm25.run dense.run",
        "gradeval plot means qrels.txt *.run -m 'nDCG@10 AP' --save means.pdf",
        "gradeval plot means qrels.txt *.run -f tsv",
    ),
)
@click.argument("qrels", type=cli.File())
@click.argument("runs", metavar="RUN...", type=cli.File(), nargs=-1, callback=expand_runs)
@runs_options("nDCG@10 and AP", "means")
def means_command(job: Job, qrels: str, runs: tuple[str, ...], **options: Any) -> int:
    """The mean of each run with its t interval, by each metric.

    A RUN may be a saved result (gradeval -q -f json) too. NAME=RUN labels a run.
    """
    return _plot_runs(job, "means", qrels, runs, **options)


def _plot_runs(
    job: Job,
    name: str,
    qrels: str,
    runs: tuple[str, ...],
    *,
    runs_from: str | None,
    name_by: str | None,
    **options: Any,
) -> int:
    """The picture of this name, of runs, and of those of a list; of the qrels' features without any."""
    check_runs(runs, options["features"], runs_from)
    all_runs = with_baseline(runs, options.get("baseline"), runs_from)
    files = [path for _, path in all_runs if path != "-"]
    inputs = qrels, named_by(all_runs or LabelledRuns([(None, qrels)]), name_by)
    return _plot(job, name, *inputs, errors=job.on_errors, **options, files=files)


@picture(
    "queries",
    "The value of each query, or its difference from a baseline.",
    example(
        "gradeval plot queries qrels.txt bm25.run",
        "gradeval plot queries qrels.txt bm25.run dense.run -m AP --save dense.pdf",
        "gradeval plot queries qrels.txt *.run --baseline bm25.run --save all.svg --size 7x5",
        "gradeval plot queries qrels.txt bm25.run dense.run -f tsv",
    ),
)
@click.argument("qrels", type=cli.File())
@click.argument("runs", metavar="RUN...", type=cli.File(), nargs=-1)
@cli.row_option(CompareOptions, "baseline", section=DRAWING)
@runs_options("nDCG@10", "queries", "summary")
def queries_command(job: Job, qrels: str, runs: tuple[str, ...], **options: Any) -> int:
    """The value of each query, the highest first; of several runs, differences from a baseline.

    The first RUN is the baseline. The mean has its t interval, and differences are counted as won, tied and
    lost. A RUN may be a saved result (gradeval -q -f json) too. NAME=RUN labels a run.
    """
    return _plot_runs(job, "queries", qrels, runs, **options)


@picture(
    "curve",
    "A metric by its cutoff, or precision by recall.",
    example(
        "gradeval plot curve qrels.txt bm25.run dense.run",
        "gradeval plot curve qrels.txt *.run -m 'P R' --at 1-10,20,50,100 --log --save depth.pdf",
        "gradeval plot curve qrels.txt *.run -m iprec_at_recall --save pr.svg",
        "gradeval plot curve qrels.txt bm25.run -m 'nDCG(gain=exp)@1,3,5,10' -f json",
    ),
)
@click.argument("qrels", type=cli.File())
@click.argument("runs", metavar="RUN...", type=cli.File(), nargs=-1, callback=expand_runs)
@drawing(
    "--at",
    "The values after '@': cutoffs such as 1-20,50,100, or recall levels such as 0.1,0.5,0.9. Default: "
    "1-20; 0,0.1,...,1 for iprec_at_recall.",
    "LIST",
)
@drawing("--log", "Logarithmic axis of the cutoffs.")
@runs_options("nDCG", "curve")
def curve_command(job: Job, qrels: str, runs: tuple[str, ...], **options: Any) -> int:
    """The mean of a metric at each cutoff, with its t interval.

    A metric is given without cutoffs, which are then those of --at, or with them: nDCG@5,10,20.
    -m iprec_at_recall draws interpolated precision by recall. NAME=RUN labels a run.
    """
    return _plot_runs(job, "curve", qrels, runs, **options)


@picture(
    "phi",
    "φ of nDCGφ over the grades of a collection.",
    example(
        "gradeval plot phi qrels.txt",
        "gradeval plot phi qrels.txt --query 401 --query 402 --save phi.pdf",
        "gradeval plot phi qrels.txt -m 'nDCGphi(variant=released)'",
        "gradeval plot phi qrels.txt -f tsv --table points",
    ),
)
@click.argument("qrels", type=cli.File())
@cli.queries("--query", "φ of this query; may be repeated.", "ID", multiple=True)
@picture_options("phi", "points", "quartiles")
@cli.metric_option("nDCGphi, with its parameters. Default: nDCGphi.")
@cli.row_options(Options, METRICS, within=OF_GRADES)
@cli.row_options(Options, INPUT, within=OF_QRELS, without=(RUNS,))
@cli.other_options
@with_job(FORMATS, otherwise="table")
def phi_command(job: Job, qrels: str, metrics: tuple[str, ...], **options: Any) -> int:
    """φ of nDCGφ by grade, with its control points: lowest, median, whisker, highest.

    By default φ of all judgments as one query, and the median and the quartiles of φ over the queries that have
    the grade or a higher one. --query draws φ of one query, or of several.
    """
    return _plot(job, "phi", qrels, *([metrics] if metrics else []), **options)


@picture(
    "swaps",
    "How metrics fall as pairs of an ideal ranking are swapped.",
    example(
        "gradeval plot swaps",
        "gradeval plot swaps -m 'rankDCG nDCGphi tau' --levels 3,5 --save swaps.pdf",
        "gradeval plot swaps -f tsv --table distances",
    ),
    cls=cli.Command,
)
@metrics_option(SWAPS_METRICS)
@own_options(SwapsOptions)
@picture_options("curves", "distances", intervals="the means over the repeats")
@cli.row_option(Options, "jobs")
@cli.quiet_option
@with_job(FORMATS, otherwise="table")
def swaps_picture_command(job: Job, **options: Any) -> int:
    """The curves of 'gradeval study swaps': metrics after 0, 1, 2 … random swaps in an ideal ranking.

    One chart for each metric, with levels evenly used and unevenly, and a curve for each number of levels. A
    metric that does not depend on the number of relevance levels has the same curve for all.
    """
    return _plot(job, "swaps", **options, has_steps=True)


@picture(
    "history",
    "How means went over time, from a history.",
    example(
        "gradeval qrels.txt nightly=bm25.run --history history.jsonl --label build=1042",
        "gradeval plot history history.jsonl",
        "gradeval plot history history.jsonl -m nDCG@10 --last 60 --save history.svg",
        "gradeval plot history history.jsonl -f csv",
    ),
    cls=cli.Command,
)
@click.argument("file", type=cli.File())
@click.option(
    "-m",
    "--metric",
    "metrics",
    metavar="NAME",
    multiple=True,
    help="These metrics only. Default: all.",
    shell_complete=cli.complete_metric,
)
@click.option("--last", type=cli.Integer(1, 10**9), help="The last N entries only.")
@picture_options("history", "changes")
@cli.quiet_option
@with_job(FORMATS, otherwise="table")
def history_command(job: Job, file: str, **options: Any) -> int:
    """The means of a history by time, with their intervals, the bounds of gates, and a gap where a signature
    differs from that before.

    FILE is what --history of gradeval and of gate appends to, or a log of -f jsonl.
    """
    return _plot(job, "history", file, **options)

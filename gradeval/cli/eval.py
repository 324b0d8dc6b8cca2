"""gradeval eval: runs against qrels."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import click

from gradeval.cli.metrics import complete_metric
from gradeval.errors import InputError, OptionError
from gradeval.options import DEFAULT_METRICS, QRELS_FORMATS, QUERIES, RUN_FORMATS, TIES, Options
from gradeval.render import FORMATS

if TYPE_CHECKING:
    from gradeval.results import Digits


class _Digits(click.ParamType):  # type: ignore[type-arg]
    name = "N|full"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Digits:
        if isinstance(value, int):
            return value
        if value == "full":
            return "full"
        if value.isascii() and value.isdigit() and int(value) <= 100:
            return int(value)
        self.fail(f"'{value}' is neither a whole number up to 100 nor 'full'.", param, ctx)


@click.command("eval", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("qrels", type=click.Path())
@click.argument("runs", metavar="RUN...", type=click.Path(), nargs=-1)
@click.option(
    "-m",
    "--metric",
    "metrics",
    multiple=True,
    metavar="NAME",
    shell_complete=complete_metric,
    help="A metric, or several, such as 'nDCG@5,10 AP(rel=2)'; 'gradeval metrics' lists them.",
)
@click.option("-q", "--per-query", is_flag=True, help="Values of each query too.")
@click.option("-n", "--no-summary", is_flag=True, help="No means; with -q.")
@click.option(
    "-l",
    "--rel",
    type=float,
    metavar="GRADE",
    help="The least grade that is relevant (default: any above 0).",
)
@click.option(
    "-M", "--depth", type=click.IntRange(1), metavar="N", help="Documents below this rank do not count."
)
@click.option("-J", "--judged-only", is_flag=True, help="Take unjudged documents out of the rankings.")
@click.option(
    "--queries",
    type=click.Choice(QUERIES),
    default="judged",
    show_default=True,
    help="Average over all judged queries, missing ones as 0, or over those the run has too.",
)
@click.option("-c", "complete", is_flag=True, help="The same as --queries judged, trec_eval's option.")
@click.option(
    "--query-ids", metavar="FILE|LIST", help="Only these queries: a file of ids, or ids with commas between."
)
@click.option(
    "--ties",
    type=click.Choice(TIES),
    default="trec",
    show_default=True,
    help="Order of equal scores: document id descending, as in the file, or by grade.",
)
@click.option(
    "--zero-grade",
    type=float,
    default=0.0,
    metavar="G",
    help="The grade that means irrelevant, taken from all.",
)
@click.option("--by-level", is_flag=True, help="AP for each grade as the relevance level, above muAP.")
@click.option(
    "-f",
    "--format",
    "format_",
    type=click.Choice(tuple(FORMATS)),
    help="Default: table on a terminal, else tsv.",
)
@click.option(
    "--digits",
    type=_Digits(),
    default=4,
    show_default=True,
    metavar="N|full",
    help="Decimals, or all of them.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Write there, whole or not at all.",
)
@click.option(
    "-j", "--jobs", type=click.IntRange(1), metavar="N", help="Threads (default: the processors there are)."
)
@click.option("--qrels-format", type=click.Choice(QRELS_FORMATS), help="Default: told from the content.")
@click.option("--run-format", type=click.Choice(RUN_FORMATS), help="Default: told from the content.")
@click.option(
    "--feature", "features", multiple=True, metavar="LIST", help="Features of a LETOR file as runs: 1,5,9-12."
)
@click.option(
    "--qrels-feature", type=click.IntRange(0), metavar="K", help="A feature of a LETOR file as its grades."
)
@click.option("--groups", type=click.Path(), metavar="FILE", help="Group sizes of SVMlight files without qid.")
@click.option("--quiet", is_flag=True, help="No warnings.")
@click.option("--strict", is_flag=True, help="Warnings are errors.")
def eval_command(
    qrels: str,
    runs: tuple[str, ...],
    metrics: tuple[str, ...],
    per_query: bool,
    no_summary: bool,
    complete: bool,
    format_: str | None,
    digits: Digits,
    output: str | None,
    query_ids: str | None,
    jobs: int | None,
    quiet: bool,
    strict: bool,
    **options: Any,
) -> int:
    """Evaluate runs against relevance judgments.

    QRELS holds 'query iter document grade' lines, or is a LETOR file. A RUN holds 'query Q0 document rank score
    tag' lines, or one score for each line of the LETOR file.
    """
    if complete and options["queries"] == "both":
        raise click.UsageError("-c and --queries both exclude each other.")
    if no_summary and not per_query:
        raise click.UsageError("-n leaves nothing to print; give -q too.")
    if not runs and not options["features"]:
        raise click.UsageError("Missing argument 'RUN...': the files to evaluate.")
    if [qrels, *runs].count("-") > 1:
        raise click.UsageError("'-' can stand for one file only.")
    on_terminal = output is None and sys.stdout.isatty()
    format_ = format_ or ("table" if on_terminal else "tsv")

    from gradeval.evaluation import evaluate_all
    from gradeval.metrics.spec import parse
    from gradeval.render import render
    from gradeval.render.progress import Progress

    specs = parse(metrics or DEFAULT_METRICS)
    chosen = Options.of(**options, query_ids=_ids(query_ids), jobs=jobs or 0)
    with Progress() as progress:
        results, failed = evaluate_all(
            qrels,
            [(None, run) for run in runs or (qrels,)],
            specs,
            chosen,
            watch=progress.watch,
            hashes=format_ == "json",
        )
    for error in failed:
        click.echo(str(error), err=True)
    if not quiet or strict:
        for warning in results.warnings:
            click.echo(f"warning: {warning}", err=True)
    if strict and results.warnings:
        click.echo("gradeval: warnings are errors here (--strict)", err=True)
        return 2
    if results.runs:
        text = render(
            results,
            format_,
            per_query=per_query,
            summary=not no_summary,
            digits=digits,
            colour=on_terminal and "NO_COLOR" not in os.environ,
            width=_terminal_width() if on_terminal else None,
        )
        _write(text.encode("utf-8", "surrogateescape"), output)
    return 2 if failed else 0


def _terminal_width() -> int:
    import shutil

    return shutil.get_terminal_size().columns


def _ids(given: str | None) -> tuple[str, ...] | None:
    """The ids in the file of this name, or those of a list."""
    if given is None:
        return None
    try:
        with open(given, "rb") as file:
            ids = file.read().decode("utf-8-sig", "surrogateescape").split()
    except OSError as error:
        if os.path.exists(given) or "/" in given:
            raise InputError(given, f"the query ids cannot be read ({error.strerror})") from None
        ids = [one for one in given.replace(",", " ").split() if one]
    if not ids:
        raise OptionError(f"--query-ids {given}: no query is named")
    return tuple(ids)


def _write(text: bytes, output: str | None) -> None:
    """Write to the file whole or not at all, or to stdout."""
    if output is None:
        stream = sys.stdout.buffer
        stream.write(text)
        stream.flush()
        return
    if os.path.exists(output) and not os.path.isfile(output):  # a device or a pipe cannot be replaced
        with open(output, "wb") as file:
            file.write(text)
        return
    import tempfile

    target = os.path.realpath(output)
    handle, temporary = tempfile.mkstemp(prefix=".gradeval-", dir=os.path.dirname(target))
    try:
        with open(handle, "wb") as file:
            file.write(text)
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, os.stat(target).st_mode & 0o777 if os.path.exists(target) else 0o666 & ~umask)
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise

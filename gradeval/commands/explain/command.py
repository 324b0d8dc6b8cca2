"""gradeval explain: how a value comes about, document by document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import click

from gradeval.cli import options as cli
from gradeval.cli.job import Job, with_job
from gradeval.file_formats import LabelledRuns, labelled
from gradeval.notices import Notice, NoticeKind
from gradeval.options import QUERIES_SECTION, Options

if TYPE_CHECKING:
    from gradeval.commands.explain.explain import Explanation

EPILOG = """\b
Examples:
  gradeval explain qrels.txt bm25.run --query 401
                                       the documents, what each adds, the ideal
  gradeval explain qrels.txt bm25.run --query 401 --loss --text titles.tsv
                                       what each document costs, with titles
  gradeval explain qrels.txt bm25.run --against dense.run --worst 3
                                       where bm25 loses most to dense, and why
  gradeval explain qrels.txt bm25.run -m muAP --query 401
                                       AP at each relevance level
  gradeval explain qrels.txt bm25.run -m F@10 --worst 1 -f json
                                       no sum: the value without each document
"""
_explanation = cli.section("Explanation")

FORMATS = ("table", "md", "json")


@cli.sectioned_command("explain", "Explain a value, document by document.", EPILOG)
@click.argument("qrels", type=cli.File())
@click.argument("run", metavar="RUN", type=cli.File(), required=False)
@cli.queries(
    "--query ids",
    "The query to explain; may be repeated.",
    "ID",
    multiple=True,
    shell_complete=cli.complete_query,
)
@cli.queries(
    "--worst",
    "The N queries with the lowest value; with --against, those with the largest drop. Queries without a "
    "relevant document come last.",
    type=cli.Integer(1, 10**6),
)
@cli.row_options(
    Options,
    QUERIES_SECTION,
    helps={
        "queries": "Those that --worst chooses from: all judged queries (judged), or those that the runs have "
        "too (both).",
        "query_ids": "Those that --worst chooses from: a file of ids, or comma-separated ids. Default: all. "
        "Of responses of search engines the ids, in order.",
    },
)
@_explanation(
    "--against", "Show the documents that make the difference from another run.", "RUN2", type=cli.File()
)
@_explanation(
    "--loss",
    "For nDCG and its relatives: what each document costs by not being at its ideal rank. Documents of "
    "equal grade have ideal ranks in run order.",
)
@cli.text_options(_explanation)
@cli.measure_options("nDCG@10", "One metric, such as nDCG@5 or 'AP(rel=2)'.")
@cli.output(
    "--ranks",
    "Show the first N ranks, and up to N documents below that add to the value. Default: the cutoff of "
    "the metric, up to 20, or 10. JSON has all.",
    type=cli.Integer(1, 1000),
)
@cli.output_options(FORMATS, default="table")
@cli.input_options
@cli.other_options
@with_job(FORMATS, otherwise="table")
def explain_command(
    job: Job,
    qrels: str,
    run: str | None,
    ids: tuple[str, ...],
    against: str | None,
    metrics: tuple[str, ...],
    ranks: int | None,
    loss: bool,
    **options: Any,
) -> int:
    """Explain the value of a metric for a query: what each document adds.

    A metric that is a sum over documents shows its terms, and what they are divided by: for nDCG and its
    relatives gain, discount and the ideal ranking; for muAP the levels, for nDCGphi φ, for rankDCG the levels
    and discounts. Half of a pair of documents (AUC, tau) is for either of them. A metric that is no sum shows
    its value without each document (leave-one-out). RUN is left out with --feature of a LETOR file.
    """
    if run is None and not options["features"]:
        raise click.UsageError("Missing argument 'RUN' (or --feature, for LETOR files).")
    job.open()

    from gradeval.commands.explain.explain import METRIC, explain, text_notices

    options["against"] = None if against is None else LabelledRuns([labelled(against)])
    with job.running():
        runs = job.watched(LabelledRuns([labelled(run or qrels)]))
        explanations = explain(job.watched(qrels), runs, metrics or METRIC, ids or None, **options)
    notices = [*explanations[0].notices, *_nothing_retrieved(explanations)]
    texts = [explanation.query_text for explanation in explanations if explanation.query_text]
    notices += text_notices(options["text"], explanations[0].titles, options["queries_text"], texts)
    if not job.passes(notices, runs=explanations.runs_read):
        return 2
    job.print(explanations, ranks=ranks, loss=loss)
    return 0


def _nothing_retrieved(explanations: Iterable[Explanation]) -> Iterator[Notice]:
    """A notice for each run that has no documents for some of the queries."""
    queries_of_run: dict[str, list[str]] = {}
    for explanation in explanations:
        for side in (explanation, explanation.against):
            if side is not None and not side.retrieved:
                queries_of_run.setdefault(side.run, []).append(side.query)
    for name, queries in queries_of_run.items():
        yield Notice(NoticeKind.NOTHING_RETRIEVED, name, len(queries), queries=queries)

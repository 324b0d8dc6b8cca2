"""gradeval trec_eval: the options, the measures and the output of trec_eval."""

from __future__ import annotations

from typing import Any

import click

from gradeval import __version__
from gradeval.cli import output as out
from gradeval.cli.types import Finite, Whole
from gradeval.options import RANGES

VERSION = "10.0"  # of trec_eval, whose output this is
LONGEST = 2**63 - 1
DIFFERENCES = """\b
What differs from trec_eval 10, where it is wrong or leaves things to chance:
  a judged query is not in the run   left out, as its help says; it stops (-c counts it)
  grades such as 1.5                 as they are; it cuts them to 1
  a grade or score such as abc       an error with file and line; it takes 0
  gains such as ndcg.1=0.3,2=0.6     in their order; it mixes up those within 1 of each other
  rbp                                gains above 1 over the query's largest; its divisor is unset
  num_rel with -c and -l             at that level; it counts all grades above 0
  -J, and nothing judged is found    0; it prints nan in places
  -c, and a query is missing         all as for an empty ranking; it has a document where utility,
                                     rbp_resid or relstring take values
  dcg.1=2 beside ndcg                each its own gains; it mixes them up and ends in a crash
"""


class _OneFormat(click.ParamType):  # type: ignore[type-arg]
    """The one format there is."""

    name = "FORMAT"

    def __init__(self, only: str, others: str) -> None:
        self.only, self.others = only, others

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value != self.only:
            self.fail(f"gradeval reads '{self.only}' only, not '{value}'{self.others}.", param, ctx)
        return self.only


@click.command(
    "trec_eval",
    short_help="Take trec_eval's options, and print what it prints.",
    options_metavar="[OPTIONS]",
    epilog=DIFFERENCES,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.argument("qrels", type=click.Path())
@click.argument("run", type=click.Path())
@click.option("-q", "--query_eval_wanted", "per_query", is_flag=True, help="The values of each query too.")
@click.option(
    "-m",
    "--measure",
    "measures",
    multiple=True,
    metavar="NAME[.VALUES]",
    help="A measure, such as map, P.5,10 or ndcg.1=3,2=9; or official (the default), all_trec or set; or one "
    "of gradeval's own, such as muAP.",
)
@click.option(
    "-c",
    "--complete_rel_info_wanted",
    "complete",
    is_flag=True,
    help="Average over all judged queries, those that the run lacks as 0.",
)
@click.option("-n", "--nosummary", is_flag=True, help="No means.")
@click.option(
    "-l",
    "--level_for_rel",
    "level",
    type=Finite(),
    default=1.0,
    metavar="GRADE",
    help="The least grade that is relevant. Default: 1.",
)
@click.option(
    "-M",
    "--Max_retrieved_per_topic",
    "depth",
    type=Whole(1, LONGEST),
    metavar="N",
    help="Only the first N documents of a query count.",
)
@click.option(
    "-J",
    "--Judged_docs_only",
    "judged_only",
    is_flag=True,
    help="Take unjudged documents out of the rankings first.",
)
@click.option(
    "-N",
    "--Number_docs_in_coll",
    "size",
    type=Whole(0, LONGEST),
    default=0,
    metavar="N",
    help="The documents in the collection, for utility.",
)
@click.option(
    "-Z",
    "--Zscore",
    "zscores",
    type=click.Path(),
    metavar="FILE",
    help="Print z-scores, from the 'query measure mean deviation' lines of the file.",
)
@click.option(
    "-R",
    "--Rel_info_format",
    type=_OneFormat("qrels", ": preferences and several judges are not"),
    metavar="qrels",
    help="The format of the judgments.",
)
@click.option(
    "-T",
    "--Results_format",
    type=_OneFormat("trec_results", ""),
    metavar="trec_results",
    help="The format of the run.",
)
@click.option("-o", "--Output_old_results_format", is_flag=True, help="Changes nothing, as in trec_eval.")
@click.version_option(__version__, "-v", "--version", message=f"%(prog)s %(version)s, as trec_eval {VERSION}")
def trec_eval_command(
    qrels: str,
    run: str,
    per_query: bool,
    measures: tuple[str, ...],
    complete: bool,
    nosummary: bool,
    level: float,
    depth: int | None,
    judged_only: bool,
    size: int,
    zscores: str | None,
    **taken_as_they_are: Any,
) -> int:
    """Evaluate a run as trec_eval does, with its options and its output.

    Scripts go on as they are with 'gradeval trec_eval' in place of 'trec_eval'.
    """
    if level < 0:
        raise click.BadParameter("a grade below 0 is that of a document that was not judged.", param_hint="-l")
    if [qrels, run].count("-") > 1:
        raise click.UsageError("'-' can stand for one file only.")

    from gradeval.evaluation import evaluate_all
    from gradeval.metrics.trec_eval import parse_measures
    from gradeval.options import Options
    from gradeval.render.layout import Look
    from gradeval.render.trec import render
    from gradeval.zscores import read_zscores, standardized

    chosen = parse_measures(measures or ["official"], float(size))
    scores = None if zscores is None else read_zscores(zscores)
    options = Options(
        rel=level,
        depth=None if depth is None else min(depth, RANGES["depth"][1]),
        judged_only=judged_only,
        queries="judged" if complete else "both",
        qrels_format="trec",
        run_format="trec",
    )
    results, failed = evaluate_all(qrels, [(None, run)], [measure.spec for measure in chosen], options)
    for error in failed:
        raise error
    for warning in results.warnings:
        if warning.startswith(f"{results.qrels}: "):
            out.say(f"warning: {warning}")
    missing = int((~results.runs[0].counted).sum())
    if missing:
        which = "1 judged query is" if missing == 1 else f"{missing:,} judged queries are"
        out.say(f"warning: {results.runs[0].path}: {which} not in the run, left out; -c counts them as 0")

    results = results.by_id()
    prefixes = [""] * len(chosen)
    if scores is not None:
        results = standardized(results, [measure.printed for measure in chosen], scores, complete)
        prefixes = ["" if measure.spec.metric.text else "Z" for measure in chosen]
    labels = [f"{prefix}{one.printed:<22}" for prefix, one in zip(prefixes, chosen, strict=True)]
    out.write(render(results, Look(per_query, not nosummary), labels))
    return 0

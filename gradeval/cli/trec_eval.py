"""gradeval trec_eval: the options, the measures and the output of trec_eval."""

from __future__ import annotations

from typing import Any, NamedTuple

import click

from gradeval.cli import heap
from gradeval.cli import output as out
from gradeval.cli.abbreviated import AbbreviatedCommand
from gradeval.cli.command import version_option
from gradeval.cli.types import File, Finite, Whole
from gradeval.options import RANGES

VERSION = "10.0"  # of trec_eval, whose output this is
LONGEST = 2**63 - 1


class Difference(NamedTuple):
    """Where trec_eval 10 does one thing and gradeval another."""

    where: str
    trec_eval: str
    gradeval: str


# the table in the README, and the end of --help
DIFFERENCES = tuple(
    Difference(*texts)
    for texts in (
        (
            "a score such as `abc` or `nan`, a grade such as `x`",
            "takes it for a number, in silence, exit code 0",
            "stops, and names the line",
        ),
        ("a grade of 1.9, or `-l 1.9`", "takes it for 1, in silence", "takes it as it is"),
        ("`-l x`, `-M x`, `-N x`", "takes it for 0, in silence", "stops"),
        ("gains less than 1 apart, `ndcg.1=0.3,2=0.6`", "mixes them up", "takes them in their order"),
        ("`dcg.1=2` beside `ndcg`", "mixes up their gains and crashes", "has own gains for each"),
        (
            "a document twice for a query",
            "stops, without the line",
            "stops, and names the line; in the qrels, warns where it is the same grade",
        ),
        (
            "judged queries that the run lacks",
            "stops, or with `-c` counts them as 0",
            "leaves them out of the mean, as its help says and version 9 did, and reports it; with `-c`, 0",
        ),
        ("`-c`, and no query in common", "prints zeros", "stops, as it is nearly surely a mistake"),
        (
            "`-c`, a query missing, and `utility`, `rbp_resid` or `relstring` with values",
            "has a document of its own for it",
            "has an empty ranking for it",
        ),
        ("`-c`, `-l` and `num_rel`", "counts all grades above 0", "counts from the level up"),
        ("a query with all grades below 0", "stops", "says that nothing is relevant to it"),
        (
            "`rbp`",
            "divides by a variable that was never set",
            "divides by the largest gain of the query",
        ),
        ("`Rndcg` where what is relevant gains nothing (`-l 0`)", "prints nan", "prints 0"),
        (
            "`-J`, nothing judged found, and `iprec_at_recall` or `11pt_avg`",
            "prints nan",
            "prints 0",
        ),
        ("`-R prefs` and such, `-D 1`", "reads preferences; says more", "stops"),
    )
)


class _Command(AbbreviatedCommand):
    """A command whose help ends with the differences."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("What differs from trec_eval 10"):
            rows = [(one.where, f"it {one.trec_eval}; gradeval {one.gradeval}") for one in DIFFERENCES]
            formatter.write_dl([(where.replace("`", ""), what.replace("`", "")) for where, what in rows])


class _Only(click.ParamType):  # type: ignore[type-arg]
    """The one value there is. more: what else is said of others."""

    def __init__(self, only: str, more: str = "", name: str = "FORMAT") -> None:
        self.only, self.more, self.name = only, more, name

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value != self.only:
            self.fail(f"gradeval takes '{self.only}' only, not '{value}'{self.more}.", param, ctx)
        return self.only


@click.command(
    "trec_eval",
    cls=_Command,
    short_help="Take trec_eval's options, and print what it prints.",
    options_metavar="[OPTIONS]",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.argument("qrels", type=File())
@click.argument("run", type=File())
@click.option("-q", "--query_eval_wanted", "per_query", is_flag=True, help="The values of each query too.")
@click.option(
    "-m",
    "--measure",
    "measures",
    multiple=True,
    metavar="NAME[.VALUES]",
    help="A measure, such as map, P.5,10 or ndcg.1=3,2=9; or official (the default), all_trec or set; or one "
    "of gradeval's own, such as muAP. 'gradeval metrics NAME' explains one.",
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
    type=File(),
    metavar="FILE",
    help="Print z-scores, from the 'query measure mean deviation' lines of the file.",
)
@click.option(
    "-R",
    "--Rel_info_format",
    type=_Only("qrels", ": preferences and several judges are not read"),
    metavar="qrels",
    help="The format of the judgments.",
)
@click.option(
    "-T",
    "--Results_format",
    type=_Only("trec_results"),
    metavar="trec_results",
    help="The format of the run.",
)
@click.option(
    "-D",
    "--Debug_level",
    type=_Only("0", ": there is no debugging output"),
    metavar="0",
    help="Changes nothing.",
)
@click.option("-o", "old_output", is_flag=True, help="Changes nothing, as in trec_eval.")
@click.option(
    "--Output_old_results_format",
    metavar="X",
    help="The same, but it takes a value, as in trec_eval.",
)
@version_option("-v", "--version", more=f", as trec_eval {VERSION}")
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

    Scripts go on as they are with 'gradeval trec_eval' in place of 'trec_eval'. A long option may be cut short.
    """
    if level < 0:
        raise click.BadParameter("a grade below 0 is that of a document that was not judged.", param_hint="-l")
    if [qrels, run, zscores].count("-") > 1:
        raise click.UsageError("'-' can stand for one file only.")

    from gradeval.analysis.zscores import standardized
    from gradeval.evaluation import evaluate_all
    from gradeval.formats.zscores import read_zscores
    from gradeval.notices import Kind
    from gradeval.options import Options
    from gradeval.registry.measures import parse_trec_eval
    from gradeval.render.layout import RenderOptions
    from gradeval.render.trec import render

    heap.imported()
    chosen = parse_trec_eval(measures or ["official"], float(size))
    scores = None if zscores is None else read_zscores(zscores)
    options = Options(
        rel=level,
        depth=None if depth is None else min(depth, RANGES["depth"][1]),
        judged_only=judged_only,
        queries="judged" if complete else "both",
        qrels_format="trec",
        run_format="trec",
    )
    results = evaluate_all(qrels, [(None, run)], [measure.spec for measure in chosen], options)
    for failed in results.failed:
        raise failed.error
    for notice in results.notices:
        if notice.kind is Kind.DUPLICATES:
            out.say(f"warning: {notice}")
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
    out.write(render(results, RenderOptions(per_query, not nosummary), labels))
    return 0

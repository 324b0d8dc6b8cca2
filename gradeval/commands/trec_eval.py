"""gradeval trec_eval: the options, the measures and the output of trec_eval."""

from __future__ import annotations

from typing import Any, NamedTuple

import click

from gradeval import process
from gradeval.cli import output as out
from gradeval.cli.command import AbbreviatedCommand, version_option
from gradeval.cli.completion import complete_trec_eval
from gradeval.cli.types import File, Finite, Integer
from gradeval.options import Options

VERSION = "10.0"  # of trec_eval, whose output this is
LONGEST = 2**63 - 1


class Difference(NamedTuple):
    """A difference between trec_eval 10 and gradeval."""

    where: str
    trec_eval: str
    gradeval: str


# shown at the end of --help, and in the guide (evaluating.md)
DIFFERENCES = tuple(
    Difference(*texts)
    for texts in (
        (
            "a score such as `abc`, `nan` or `inf`, a grade such as `x`",
            "reads it as a number without an error",
            "stops with the line number",
        ),
        ("a grade of 1.9, or `-l 1.9`", "reads it as 1", "uses it"),
        ("`-l x`, `-M x`, `-N x`, `-M 2.9`, `-N 1e3`", "reads it as 0, 2 or 1", "stops"),
        ("`-l -1`", "counts unjudged documents as relevant", "stops"),
        ("`-M 0`, `-N -1`", "evaluates no document; uses -1", "stops"),
        ("a value that a measure or a group does not take, `map.5`, `official.5`", "ignores it", "stops"),
        (
            "a value out of range, `iprec_at_recall.1.5`, `rbp.p=2`, `relstring.0`",
            "calculates with it",
            "stops",
        ),
        ("gains less than 1 apart, `ndcg.1=0.3,2=0.6`", "confuses them", "uses them as given"),
        (
            "`dcg` or `ideal_dcg` beside `ndcg`, if one has gains, `dcg.1=2`",
            "confuses their gains or crashes",
            "uses separate gains",
        ),
        ("`ndcg_p`", "does not have it, though it is in its source", "evaluates it"),
        (
            "a duplicate document of a query",
            "stops without a line number",
            "stops with the line number; in the qrels, warns if the grade is the same",
        ),
        (
            "a document judged for several subtopics, the values of column 2 of the qrels",
            "stops as for a duplicate",
            "takes the highest grade, with a note",
        ),
        (
            "judged queries missing from the run, without `-c`",
            "stops with exit code 4 at the first of them, without a summary",
            "excludes them from the mean, as trec_eval 9 did, and warns, with exit code 0",
        ),
        ("`-c` without common queries", "prints zeros", "stops, since it is almost certainly a mistake"),
        (
            "`-c` with a missing query, for `utility`, `rbp_resid` and `relstring` with values, `relstring.5`",
            "inserts a document for it",
            "uses an empty ranking for it",
        ),
        (
            "`num_rel` of all queries with `-c` and `-l`",
            "counts all grades above 0",
            "counts grades from the threshold",
        ),
        (
            "a query with all grades below 0",
            "stops if it is the first, crashes if all are below -1",
            "counts it as a query without relevant documents",
        ),
        ("`rbp`", "scales gains by an uninitialized variable", "scales by the largest gain of the query"),
        ("`Rndcg` if no relevant document has a gain (`-l 0`)", "prints nan", "prints 0"),
        (
            "`iprec_at_recall`, `11pt_avg` with `-J` if no judged document is retrieved",
            "prints nan",
            "prints 0",
        ),
        ("`-R prefs` and other formats, `-D 1`", "reads preferences; prints details", "stops"),
        ("run lines without a tag, compressed files, gradeval's metrics, `MAP`", "stops", "evaluates them"),
        ("errors", "exits with code 1, 2, 4 or 255", "exits with code 2"),
        (
            "`-h`, `-v`",
            "describes all measures; prints the version to standard error",
            "describes its options, and `gradeval metrics` the measures; prints it to standard output",
        ),
    )
)


class _Command(AbbreviatedCommand):
    """A command whose help ends with the differences."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Differences from trec_eval 10"):
            rows = [(one.where, f"trec_eval {one.trec_eval}; gradeval {one.gradeval}") for one in DIFFERENCES]
            formatter.write_dl([(where.replace("`", ""), what.replace("`", "")) for where, what in rows])


class _Only(click.ParamType):  # type: ignore[type-arg]
    """The only value that is supported. more: added to the error for others."""

    def __init__(self, only: str, more: str = "", name: str = "FORMAT") -> None:
        self.only, self.more, self.name = only, more, name

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value != self.only:
            self.fail(f"only '{self.only}' is supported, not '{value}'{self.more}.", param, ctx)
        return self.only


@click.command("trec_eval", cls=_Command, short_help="Evaluate with the options and output of trec_eval.")
@click.argument("qrels", type=File())
@click.argument("run", type=File())
@click.option(
    "-q", "--query_eval_wanted", "per_query", is_flag=True, help="Print the values of each query too."
)
@click.option(
    "-m",
    "--measure",
    "measures",
    multiple=True,
    metavar="NAME[.VALUES]",
    shell_complete=complete_trec_eval,
    help="A measure, such as map, P.5,10 or ndcg.1=3,2=9; a group: official (the default), all_trec or set; "
    "or a "
    "metric of gradeval, such as muAP. 'gradeval metrics NAME' describes it.",
)
@click.option(
    "-c",
    "--complete_rel_info_wanted",
    "complete",
    is_flag=True,
    help="Average over all judged queries, with 0 for those missing from the run.",
)
@click.option("-n", "--nosummary", is_flag=True, help="Do not print the summary.")
@click.option(
    "-l",
    "--level_for_rel",
    "level",
    type=Finite(),
    default=1.0,
    metavar="GRADE",
    help="Relevance threshold: the lowest grade that counts as relevant. Default: 1.",
)
@click.option(
    "-M",
    "--Max_retrieved_per_topic",
    "depth",
    type=Integer(1, LONGEST),
    metavar="N",
    help="Evaluate the first N documents of each query only.",
)
@click.option(
    "-J",
    "--Judged_docs_only",
    "judged_only",
    is_flag=True,
    help="Remove unjudged documents from the rankings first (condensed lists).",
)
@click.option(
    "-N",
    "--Number_docs_in_coll",
    "size",
    type=Integer(0, LONGEST),
    default=0,
    metavar="N",
    help="Number of documents in the collection, for utility.",
)
@click.option(
    "-Z",
    "--Zscore",
    "zscores",
    type=File(),
    metavar="FILE",
    help="Print z-scores, based on a file with lines 'query measure mean deviation'.",
)
@click.option(
    "-R",
    "--Rel_info_format",
    type=_Only("qrels", ": preferences and several judges are not supported"),
    metavar="qrels",
    help="Format of the judgments.",
)
@click.option(
    "-T", "--Results_format", type=_Only("trec_results"), metavar="trec_results", help="Format of the run."
)
@click.option(
    "-D", "--Debug_level", type=_Only("0", ": there is no debugging output"), metavar="0", help="Ignored."
)
@click.option("-o", "old_output", is_flag=True, help="Ignored, as in trec_eval.")
@click.option("--Output_old_results_format", metavar="X", help="Ignored; takes a value, as in trec_eval.")
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
    **ignored: Any,
) -> int:
    """Evaluate a run with the options and the output of trec_eval.

    In scripts, replace 'trec_eval' with 'gradeval trec_eval'. Long options can be abbreviated.
    """
    if level < 0:
        raise click.BadParameter(
            "must not be negative: documents with grades below 0 count as unjudged.", param_hint="-l"
        )
    if [qrels, run, zscores].count("-") > 1:
        raise click.UsageError("'-' can be given once only: there is one standard input.")

    from gradeval.evaluation import evaluate_all
    from gradeval.evaluation.zscores import standardized
    from gradeval.formats.lines import read_zscores
    from gradeval.notices import Kind
    from gradeval.registry.measures import parse_trec_eval

    process.imported()
    chosen = parse_trec_eval(measures or ["official"], float(size))
    scores = None if zscores is None else read_zscores(zscores)
    options = Options(
        rel=level,
        depth=None if depth is None else min(depth, Options.table["depth"].kind.bounds[1]),
        judged_only=judged_only,
        queries="judged" if complete else "both",
        qrels_format="trec",
        run_format="trec",
    )
    specs = [measure.spec for measure in chosen]
    results = evaluate_all(qrels, [(None, run)], specs, options, as_trec_eval=True)
    for failed in results.failed:
        raise failed.error
    told = (Kind.DUPLICATES, Kind.SUBTOPICS, Kind.QRELS_AS_RUN)
    notices = [notice for notice in results.notices if notice.kind in told]
    out.passes((), notices, 1, quiet=False, strict=False, allow=())
    missing = int((~results.runs[0].counted).sum())
    if missing:
        which = "1 judged query is" if missing == 1 else f"{missing:,} judged queries are"
        out.echo_error(
            f"warning: {results.runs[0].path}: {which} not in the run and excluded; -c counts them as 0"
        )

    results = results.by_id()
    prefixes = [""] * len(chosen)
    if scores is not None:
        results = standardized(results, [measure.printed for measure in chosen], scores, complete)
        prefixes = ["" if measure.spec.metric.text else "Z" for measure in chosen]
    labels = [f"{prefix}{one.printed:<22}" for prefix, one in zip(prefixes, chosen, strict=True)]
    out.write(results.render("trec", per_query=per_query, summary=not nosummary, labels=labels))
    return 0

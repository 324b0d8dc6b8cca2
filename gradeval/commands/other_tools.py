"""gradeval trec_eval and gradeval ir_measures: the options, the measures and the output of these tools."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import compress
from typing import TYPE_CHECKING, Any

import click

from gradeval import process
from gradeval.cli import options as cli
from gradeval.cli.job import Job, echo_error, input_files, with_job
from gradeval.errors import InputError, InputErrors, MetricError
from gradeval.options import Options

if TYPE_CHECKING:
    from gradeval.evaluation.results import Results
    from gradeval.registry.measures import PrintedSpec

VERSION = "10.0"  # of trec_eval, whose output this is
LONGEST = 2**63 - 1
UNKNOWN = -1_000_000.0  # a z-score where the file has none, or the deviation is 0 and the value not the mean
PLACES = 4
# what a user of the command can do something about, and does not know from its output
TOLD = {"duplicates", "subtopics", "extra_fields", "ranks", "missing", "unjudged", "nothing_judged"}
TOLD |= {"qrels_as_run", "identical_ids", "ties"}


@contextmanager
def _naming_convert() -> Iterator[None]:
    """Errors of files in other formats name what makes them TREC's, not options, which these commands lack."""
    try:
        yield
    except InputErrors as error:
        raise InputErrors([*map(_with_convert, error.errors)], error.total, error.end, error.hint) from None
    except InputError as error:
        raise _with_convert(error) from None


_AS_TREC = "\0 NEW --to trec"
_BY_CONVERT = (  # what names an option in hints, and what these commands have instead; \0: convert and the file
    (r"--(qrels|run)-format \w+( and --run-format \w+)? reads? it", f"'{_AS_TREC}' makes it a file of TREC"),
    (r"(--(?:duplicates|merge|unlabelled) \w+) \(in Python .*?\)", rf"'{_AS_TREC} \1'"),
    ("Give its format: ", "Give its format to 'gradeval convert': "),
    ("give --", "give 'gradeval convert' --"),
)


def _with_convert(error: InputError) -> InputError:
    hint = error.hint
    for pattern, text in _BY_CONVERT:
        hint = re.sub(pattern, text, hint)
    hint = hint.replace("\0", f"gradeval convert {error.path}")
    return InputError(error.path, error.what, line=error.line, hint=hint)


class AbbreviatedCommand(cli.Command):
    """`--query` is `--query_eval_wanted` if it is not a prefix of another option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        names = [name for param in self.get_params(ctx) for name in param.opts]
        written = list(args)
        for n, arg in enumerate(args[: args.index("--")] if "--" in args else args):
            name, equals, value = arg.partition("=")
            near = [long for long in names if long.startswith(name)]
            if name.startswith("--") and name not in names and len(near) == 1:
                written[n] = near[0] + equals + value
        return super().parse_args(ctx, written)


@click.command(
    "trec_eval",
    cls=AbbreviatedCommand,
    short_help="Evaluate with the options and output of trec_eval.",
    epilog="'gradeval guide evaluating' lists the differences from trec_eval 10.",
)
@click.argument("qrels", type=cli.File())
@click.argument("run", type=cli.File())
@cli.option("-q --query_eval_wanted per_query", "Print the values of each query too.")
@cli.option(
    "-m --measure measures",
    "A measure, such as map, P.5,10 or ndcg.1=3,2=9; a group: official (the default), all_trec or set; "
    "or a metric of gradeval, such as muAP. 'gradeval metrics NAME' describes it.",
    "NAME[.VALUES]",
    multiple=True,
    shell_complete=partial(cli.complete_metric, tool="trec_eval"),
)
@cli.option(
    "-c --complete_rel_info_wanted all_judged",
    "Average over all judged queries, with 0 for those missing from the run.",
)
@cli.option("-n --nosummary", "Do not print the summary.")
@cli.option(
    "-l --level_for_rel level",
    "Relevance threshold: the lowest grade that counts as relevant. Default: 1.",
    "GRADE",
    type=cli.grade(),
    default=1.0,
)
@cli.option(
    "-M --Max_retrieved_per_topic depth",
    "Evaluate the first N documents of each query only.",
    type=cli.Integer(1, LONGEST),
)
@cli.option(
    "-J --Judged_docs_only judged_only", "Remove unjudged documents from the rankings first (condensed lists)."
)
@cli.option(
    "-N --Number_docs_in_coll size",
    "Number of documents in the collection, for utility.",
    type=cli.Integer(0, LONGEST),
    default=0,
)
@cli.option(
    "-Z --Zscore zscores",
    "Print z-scores, based on a file with lines 'query measure mean deviation'.",
    type=cli.File(),
)
@cli.option("-R --Rel_info_format", "Format of the judgments.", "qrels", type=click.Choice(["qrels"]))
@cli.option("-T --Results_format", "Format of the run.", "trec_results", type=click.Choice(["trec_results"]))
@cli.option("-D --Debug_level", "Ignored.", "0", type=click.Choice(["0"]))
@cli.option("-o old_output", "Ignored, as in trec_eval.")
@cli.option("--Output_old_results_format", "Ignored; takes a value, as in trec_eval.", "X")
@cli.version_option("-v", "--version", more=f", as trec_eval {VERSION}")
@with_job()
def trec_eval_command(
    job: Job,
    qrels: str,
    run: str,
    per_query: bool,
    measures: tuple[str, ...],
    all_judged: bool,
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
        raise click.UsageError("-l must not be negative: documents with grades below 0 count as unjudged.")
    input_files()

    from gradeval.evaluation.evaluation import complete, evaluate_all
    from gradeval.evaluation.plan import Plan
    from gradeval.formats.lines import read_zscores
    from gradeval.notices import MAX_QUERIES, Notice, NoticeKind
    from gradeval.registry.measures import parse_trec_eval

    process.resume_garbage_collection()
    chosen = parse_trec_eval(measures or ["official"], float(size))
    scores = None if zscores is None else read_zscores(zscores)
    options = Options(
        rel=level,
        depth=None if depth is None else min(depth, Options.table["depth"].kind.bounds[1]),
        judged_only=judged_only,
        queries="judged" if all_judged else "both",
        qrels_format="trec",
        run_format="trec",
    )
    specs = [measure.spec for measure in chosen]
    with _naming_convert():
        results = complete(evaluate_all(Plan(specs, options, as_trec_eval=True), qrels, [(None, run)]))
    reported = (NoticeKind.DUPLICATES, NoticeKind.SUBTOPICS, NoticeKind.QRELS_AS_RUN)
    notices = [notice for notice in results.notices if notice.kind in reported]
    if missing := [*compress(results.queries, ~results.runs[0].counted)]:
        ids = tuple(missing[:MAX_QUERIES])
        notices.append(
            Notice(NoticeKind.MISSING, results.runs[0].path, len(missing), queries=ids, rule="trec_eval")
        )
    job.passes(notices, runs=1)

    results = results.by_id()
    prefixes = [""] * len(chosen)
    if scores is not None:
        results = standardized(results, [measure.printed for measure in chosen], scores, all_judged)
        prefixes = ["" if measure.spec.metric.text else "Z" for measure in chosen]
    labels = [f"{prefix}{measure.printed:<22}" for prefix, measure in zip(prefixes, chosen, strict=True)]
    job.write(results.render("trec", per_query=per_query, summary=not nosummary, labels=labels))
    return 0


def standardized(
    results: Results,
    names: Sequence[str],
    scores: Mapping[tuple[str, str], tuple[float, float]],
    complete: bool,
) -> Results:
    """The results of one run as z-scores: distances from a mean in standard deviations, query by query.
    names: what the file calls the metrics. scores: (query, measure) -> mean, standard deviation. As in
    trec_eval, sums and means are those of the z-scores, but num_q stays, and num_rel where missing queries
    count (complete); a geometric mean takes z-scores of logarithms.
    """
    import numpy as np

    from gradeval.arrays.segments import natural_log
    from gradeval.registry.metric import GEOMETRIC_MIN, Kind
    from gradeval.registry.spec import Spec

    [run] = results.runs
    counted = np.flatnonzero(run.counted)
    queries = results.counted_queries(0)
    values = run.values.copy()
    means = results.means[0].copy()
    for m, (spec, name) in enumerate(zip(results.specs, names, strict=True)):
        if spec.metric.text:
            continue
        geometric = spec.metric.kind is Kind.GEOMETRIC
        raw = natural_log(np.maximum(values[m], GEOMETRIC_MIN)) if geometric else values[m]
        standard = []
        for query, value in zip(queries, raw[counted].tolist(), strict=True):
            mean, deviation = scores.get((query, name), (math.nan, 0.0))
            unknown = 0.0 if value == mean else UNKNOWN
            standard.append((value - mean) / deviation if deviation else unknown)
        values[m, counted] = standard
        if spec.metric.name != "num_q" and not (complete and spec.metric.name == "num_rel"):
            total = sum(standard) if spec.metric.is_summed else sum(standard) / len(standard)
            means[m] = math.exp(total) if geometric else total
    specs = tuple(  # z-scores of counts are no counts
        Spec(spec.metric.replace(kind=Kind.MEAN), spec.given) if spec.metric.is_count else spec
        for spec in results.specs
    )
    summary = run.summarized(results.specs).replace(means=means)
    return results.replace(specs=specs, runs=(run.replace(values=values, summary=summary),))


@click.command(
    "ir_measures", cls=AbbreviatedCommand, short_help="Evaluate with the measures and output of ir_measures."
)
@click.argument("qrels", type=cli.File())
@click.argument("run", type=cli.File())
@click.argument(
    "measures", nargs=-1, required=True, shell_complete=partial(cli.complete_metric, tool="ir_measures")
)
@cli.option("-p --places", "Number of decimals; -1 for all.", type=cli.Integer(-1, 100), default=PLACES)
@cli.option(
    "-q --by_query",
    "Print the values of each query too, in the order of the qrels. ir_measures prints them by provider, "
    "in the order of the run.",
)
@cli.option("-n --no_summary", "Do not print the summary; requires -q.")
@click.option("-o", "--output_format", type=click.Choice(("tsv", "jsonl")), default="tsv", show_default=True)
@cli.option("--provider", "Ignored: gradeval has no providers.", "NAME")
@cli.option("--quiet", "Do not print warnings.")
@with_job()
def ir_measures_command(
    job: Job,
    qrels: str,
    run: str,
    measures: tuple[str, ...],
    places: int,
    by_query: bool,
    no_summary: bool,
    output_format: str,
    provider: str | None,
) -> int:
    """Evaluate RUN with MEASURES in the notation of ir_measures, and print its output format.

    Examples of measures: nDCG@10, P(rel=2)@5, ERR@20, Compat(p=0.9), BPM(T=1.0,max_rel=3)@10. All measures
    of a query missing from the run are 0, including counts. Ties are ordered by document id, descending;
    'gradeval metrics NAME' shows the order of ties of each ir_measures provider.
    """
    if no_summary and not by_query:
        raise click.UsageError("-n requires -q: nothing would be printed.")
    input_files()

    from gradeval.evaluation.evaluation import complete, evaluate_all
    from gradeval.evaluation.plan import Plan
    from gradeval.registry.measures import parse_ir_measures
    from gradeval.registry.spec import parse

    process.resume_garbage_collection()
    chosen = parse_ir_measures(measures)
    for measure in chosen:
        if measure.spec.metric.text:
            raise MetricError(f"{measure.printed}: its values are strings", hint="use 'gradeval -m' instead")
    specs = list(dict.fromkeys([*(measure.spec for measure in chosen), *parse("num_ret")]))
    with _naming_convert():
        results = complete(evaluate_all(Plan(specs, Options(), shows_queries=by_query), qrels, [(None, run)]))
    # an undefined value is counted as 0, or left out, as ir_measures does
    job.passes([notice for notice in results.notices if notice.kind in TOLD], runs=1)
    if output_format == "jsonl" and places != PLACES and not job.quiet:
        echo_error("warning: --places has no effect on jsonl")
    results = _with_zeros(results, chosen)
    rows = list(_rows(results, chosen)) if by_query else []
    if not no_summary:
        rows += [("all", measure.printed, results.mean(0, measure.spec)) for measure in chosen]
    job.write("".join(_lines(rows, output_format, places, by_query)))
    return 0


def _with_zeros(results: Results, measures: Sequence[PrintedSpec]) -> Results:
    """The results of one run with its values as ir_measures counts them."""
    import numpy as np

    # queries missing from the run are 0, and undefined Accuracy too unless it is the only measure: then
    # ir_measures excludes such queries from its mean, as gradeval does for undefined values
    [run] = results.runs
    values = np.where(results.values(0, "num_ret") > 0, run.values, 0.0)
    if len({measure.spec.metric.name for measure in measures}) > 1:
        is_accuracy = [spec.metric.name == "Accuracy" for spec in results.specs]
        values[is_accuracy] = np.nan_to_num(values[is_accuracy])
    return results.replace(runs=(run.replace(values=values),))


def _rows(results: Results, measures: Sequence[PrintedSpec]) -> Iterator[tuple[str, str, float]]:
    """(query, measure, value) of one run, without those that are undefined."""
    metrics = [(measure.printed, results.specs.index(measure.spec)) for measure in measures]
    for query, values in zip(results.queries, results.runs[0].values.T.tolist(), strict=True):
        for name, m in metrics:
            if not math.isnan(values[m]):
                yield query, name, values[m]


def _lines(
    rows: Iterable[tuple[str, str, float]], output_format: str, places: int, by_query: bool
) -> Iterator[str]:
    from json import dumps

    for query, name, value in rows:
        fields: dict[str, Any] = {"query_id": query} if by_query else {}
        fields |= {"measure": name, "value": value}
        if output_format == "jsonl":
            yield dumps(fields) + "\n"
        else:
            fields["value"] = repr(value) if places == -1 else f"{value:.{places}f}"
            yield "\t".join(fields.values()) + "\n"

"""gradeval trec_eval: the options, the measures and the output of trec_eval."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from gradeval import process
from gradeval.cli.job import Job, input_files, with_job
from gradeval.cli.options import (
    AbbreviatedCommand,
    File,
    Grade,
    Integer,
    complete_metric,
    option,
    version_option,
)
from gradeval.options import Options

if TYPE_CHECKING:
    from gradeval.evaluation.results import Results

VERSION = "10.0"  # of trec_eval, whose output this is
LONGEST = 2**63 - 1
UNKNOWN = -1_000_000.0  # a z-score where the file has none, or the deviation is 0 and the value not the mean


@click.command(
    "trec_eval",
    cls=AbbreviatedCommand,
    short_help="Evaluate with the options and output of trec_eval.",
    epilog="'gradeval guide evaluating' lists the differences from trec_eval 10.",
)
@click.argument("qrels", type=File())
@click.argument("run", type=File())
@option("-q --query_eval_wanted per_query", "Print the values of each query too.")
@option(
    "-m --measure measures",
    "A measure, such as map, P.5,10 or ndcg.1=3,2=9; a group: official (the default), all_trec or set; "
    "or a metric of gradeval, such as muAP. 'gradeval metrics NAME' describes it.",
    "NAME[.VALUES]",
    multiple=True,
    shell_complete=partial(complete_metric, tool="trec_eval"),
)
@option(
    "-c --complete_rel_info_wanted all_judged",
    "Average over all judged queries, with 0 for those missing from the run.",
)
@option("-n --nosummary", "Do not print the summary.")
@option(
    "-l --level_for_rel level",
    "Relevance threshold: the lowest grade that counts as relevant. Default: 1.",
    "GRADE",
    type=Grade(),
    default=1.0,
)
@option(
    "-M --Max_retrieved_per_topic depth",
    "Evaluate the first N documents of each query only.",
    "N",
    type=Integer(1, LONGEST),
)
@option(
    "-J --Judged_docs_only judged_only", "Remove unjudged documents from the rankings first (condensed lists)."
)
@option(
    "-N --Number_docs_in_coll size",
    "Number of documents in the collection, for utility.",
    "N",
    type=Integer(0, LONGEST),
    default=0,
)
@option(
    "-Z --Zscore zscores",
    "Print z-scores, based on a file with lines 'query measure mean deviation'.",
    "FILE",
    type=File(),
)
@option("-R --Rel_info_format", "Format of the judgments.", "qrels", type=click.Choice(["qrels"]))
@option("-T --Results_format", "Format of the run.", "trec_results", type=click.Choice(["trec_results"]))
@option("-D --Debug_level", "Ignored.", "0", type=click.Choice(["0"]))
@option("-o old_output", "Ignored, as in trec_eval.")
@option("--Output_old_results_format", "Ignored; takes a value, as in trec_eval.", "X")
@version_option("-v", "--version", more=f", as trec_eval {VERSION}")
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

    from gradeval.evaluation.evaluator import complete, evaluate_all
    from gradeval.formats.lines import read_zscores
    from gradeval.notices import Kind, Notice
    from gradeval.registry.measures import parse_trec_eval

    process.imported()
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
    results = complete(evaluate_all(qrels, [(None, run)], specs, options, as_trec_eval=True))
    told = (Kind.DUPLICATES, Kind.SUBTOPICS, Kind.QRELS_AS_RUN)
    notices = [notice for notice in results.notices if notice.kind in told]
    if missing := int((~results.runs[0].counted).sum()):
        notices.append(Notice(Kind.MISSING, results.runs[0].path, missing, rule="trec_eval"))
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

    names: what the file calls the metrics. scores: (query, measure) -> mean, standard deviation.
    As in trec_eval, sums and means are those of the z-scores, but num_q stays, and num_rel where missing
    queries count (complete); a geometric mean takes z-scores of logarithms.
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

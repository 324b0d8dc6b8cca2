"""Qrels × runs × metrics → Results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from gradeval.evaluation.evaluator import Evaluator, complete
from gradeval.evaluation.given import separate_runs
from gradeval.options import DEFAULT_METRICS, Options
from gradeval.registry.spec import Spec, parse
from gradeval.results import Results
from gradeval.tables.given_columns import check_columns


def evaluate(qrels: Any, runs: Any, metrics: str | Iterable[str] = DEFAULT_METRICS, **options: Any) -> Results:
    """Evaluate one or several runs.

    qrels: a path, a dict of dicts {query: {document: grade}}, tuples (query, document, grade), or a data frame.
    runs: one run (a path, {query: {document: score}}, tuples (query, document, score), or a data frame), a list
    of runs, a dict of runs by name, or a directory or a pattern such as 'runs/*.run'. Data frames are read by
    column name: query_id, doc_id, relevance or score, and other common names. metrics: names as on the command
    line, such as 'nDCG@5,10 AP(rel=2)', or a list of these.

    Options, each with its default:
    rel: the relevance threshold, the lowest grade that counts as relevant (None: any grade above 0).
    zero_grade: the grade that means non-relevant; subtracted from every grade first (0).
    depth: evaluate this many of the first ranks of each query (None: all).
    judged_only: remove unjudged documents from the rankings first (False).
    ties: the order of tied scores, 'trec', 'input', 'best' or 'worst' (None: 'input' for features and scores
    of LETOR files, else 'trec', with a notice if another order could change a value).
    tie_range: find the lowest and the highest value over the orders of tied scores too (False).
    no_relevant: the value of metrics that divide by what is relevant, for a query without a relevant document:
    '0', '1' or 'skip' (None: '0', with a notice).
    by_level: add AP with each grade as the relevance threshold, before muAP (False).
    queries: average over all 'judged' queries, or those in 'both' qrels and run ('judged').
    query_ids: evaluate these queries only: a list, or a string such as '401,402' (None: all).
    qrels_format: 'trec', 'letor', 'beir', 'csv', 'tsv', 'json', 'jsonl', 'parquet' or 'arrow' (None: detected
    from the content).
    run_format: 'trec', 'letor', 'scores', 'ranklib', 'msmarco', 'beir', 'csv', 'tsv', 'json', 'jsonl',
    'parquet' or 'arrow' (None: detected from the content).
    features: the features of LETOR files that are runs: a list, or a string such as '1,5,9-12' (none).
    qrels_feature: the feature of a LETOR file that is the grade (None: its label).
    groups: the file of the sizes of queries, for SVMlight files without qid (None: FILE.query or FILE.group).
    columns: the names of columns of tables by role, such as 'query=user,document=item,grade=stars', or a dict;
    score is that of runs (none: usual names).
    split: the part of a predictions file of MTEB, as SPLIT or SUBSET/SPLIT (None: its only one).
    ignore_identical_ids: leave out documents of runs whose id is their query's (False).
    jobs: the number of threads (0: the number of processors).

    Raises GradevalError: InputError for data, MetricError for metrics, OptionError for options.
    """
    return complete(evaluate_all(qrels, separate_runs(runs), parse(metrics), Options.of(**options)))


def evaluate_all(
    qrels: Any,
    runs: Sequence[tuple[str | None, Any]],
    specs: Sequence[Spec],
    options: Options,
    on_run: Callable[[Results], None] | None = None,
    keep_values: bool = True,
    is_part: bool = False,
    **how: Any,
) -> Results:
    """Evaluate (name, run) pairs; a run that cannot be read is in Results.failed. how: for Evaluator.of().

    on_run, keep_values: those of Evaluator.evaluate_each(). is_part: whether there are other runs, which may
    have the columns that options name.
    Raises GradevalError where the qrels or the options are wrong.
    """
    if not is_part:
        check_columns([qrels, *(run for _, run in runs)], options)
    return Evaluator.of(qrels, specs, options, runs=runs, **how).evaluate_each(runs, on_run, keep_values)

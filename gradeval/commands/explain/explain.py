"""How the value of a metric for a query comes about.

explain        qrels, a run and a metric -> an Explanation for each of the queries
explain_runs   several runs and metrics, one query after another
titles_of      a file of titles -> those of some documents
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from gradeval.arrays import Ints
from gradeval.arrays.strings import IdIndex, Texts
from gradeval.arrays.threads import default_jobs
from gradeval.commands.explain.contributions import documents_of, made_of
from gradeval.commands.explain.result import Explanation, Explanations
from gradeval.errors import MetricError, OptionError, described
from gradeval.evaluation.outcome import (
    chosen_queries,
    counted_queries,
    judge_of,
    judgments_of,
    qrels_notices,
    qrels_notices_for,
    score_queries,
    with_ids,
)
from gradeval.evaluation.runs import check_labels, names_of, separate_runs
from gradeval.evaluation.score import scored
from gradeval.formats.lines import read_texts
from gradeval.notices import NO_TEXT, NO_TITLE, Kind, Notice
from gradeval.options import EXPECTED, OF_RUNS, QUERIES_SECTION, Options, takes
from gradeval.registry.spec import Spec, parse
from gradeval.render.document import warned
from gradeval.tables.load import Run, check_columns, is_path, open_all, open_qrels, source_of
from gradeval.tables.qrels import Qrels
from gradeval.tables.reduction import reduce_columns

if TYPE_CHECKING:
    from gradeval.keywords import Runs, Unpack

METRIC = "nDCG@10"
LabelledRun = tuple[str | None, Any]
"""The label of a run, None if it has none, and the run."""


@takes(OF_RUNS)
def explain(
    qrels: Any,
    run: Any,
    metric: str | Iterable[str] = METRIC,
    query: str | Iterable[str] | None = None,
    *,
    worst: int | None = None,
    against: Any = None,
    text: Any = None,
    queries_text: Any = None,
    **options: Unpack[Runs],
) -> Explanations:
    """Explain the value of a metric for queries of a run: a list, which prints and renders as a whole.

    qrels, run, against: as evaluate() takes them; against is another run, for Explanation.differences. query:
    an id, or several. worst: instead of these, this many queries with the lowest value, or, with against,
    with the largest drop from the other run. text: {document: text}, or a file of these (TSV or JSON lines),
    for Explanation.titles. queries_text: the same of queries, such as BEIR's queries.jsonl. options: those
    listed below. Raises GradevalError.
    """
    queries = [] if query is None else [str(query)] if isinstance(query, (str, int)) else list(map(str, query))
    is_count = isinstance(worst, int) and not isinstance(worst, bool) and worst > 0
    if worst is not None and not is_count:
        raise OptionError(f"worst must be a positive integer, not {described(worst)}")
    labelled = [_single(run, "run")]
    spec, *others = parse(metric)
    if others:
        raise MetricError(f"one metric is explained at a time, not {', '.join(map(str, [spec, *others]))}")
    if spec.metric.text:
        raise MetricError(f"{spec} is a text, and no number to explain")
    chosen = Options(**options)
    of_queries = {name: row for name, row in OF_RUNS.items() if row.section == QUERIES_SECTION}
    if query is not None and any(getattr(chosen, name) != row.default for name, row in of_queries.items()):
        raise OptionError(f"{' and '.join(of_queries)} are those that worst chooses from; query names them")
    labelled += [] if against is None else [_single(against, "against")]
    if bool(queries) == bool(worst):
        raise OptionError(
            "query and worst are mutually exclusive" if worst else "no query given: query, or worst, chooses it"
        )
    if chosen.ties == EXPECTED:
        raise OptionError(f"ties={EXPECTED} is a mean over all orders: an explanation shows the ranks of one")
    check_labels(labelled)
    judged, runs = _opened(qrels, labelled, chosen)
    chosen = with_ids(chosen, judged)
    if len(runs) > len(labelled):
        count = len(chosen.features)
        raise OptionError(f"features must be one feature, not {count}: one run is explained at a time")
    positions = _worst(judged, runs, spec, chosen, worst) if worst else judged.positions(queries)
    sides = [list(chain(*of_runs)) for of_runs in _explained(judged, runs, positions, [spec], chosen)]
    titles: Mapping[str, str] = {}
    texts: Mapping[str, str] = {}
    if text is not None:
        titles = titles_of(text, {document.id for side in chain(*sides) for document in side.documents})
    if queries_text is not None:
        texts = titles_of(queries_text, {side.query for side in chain(*sides)})
    explanations = Explanations()
    for ours, *theirs in sides:
        notices = tuple(dict.fromkeys(chain(*(side.notices for side in (ours, *theirs)))))
        side_by_side = replace(ours, against=theirs[0] if theirs else None, notices=notices)
        query_text = texts.get(ours.query, "")
        explanations.append(replace(side_by_side, titles=titles, query_text=query_text))
    return warned(explanations)


def _single(run: Any, name: str) -> LabelledRun:
    runs = separate_runs(run)
    if len(runs) > 1:
        raise OptionError(f"{name} must be one run, not {len(runs)}")
    return runs[0]


def explain_runs(
    qrels: Any, labelled: Sequence[LabelledRun], specs: Sequence[Spec], options: Options, queries: Sequence[str]
) -> Iterator[tuple[list[Explanation], ...]]:
    """For each query, the explanations by each run, by each metric; those of one query are in memory at a time.

    A LETOR file is as many runs as it has features chosen.
    """
    judged, runs = _opened(qrels, labelled, options)
    return _explained(judged, runs, judged.positions(queries), specs, options)


def _opened(qrels: Any, labelled: Sequence[LabelledRun], options: Options) -> tuple[Qrels, list[Run]]:
    """The qrels and the runs: several of a LETOR file with several features."""
    # a pipe that was opened once is read from the copy that its Source has
    qrels = source_of(qrels) if is_path(qrels) else qrels
    labelled = [(label, source_of(run) if is_path(run) else run) for label, run in labelled]
    check_columns([qrels, *(run for _, run in labelled)], options)
    judgments = open_qrels(qrels, options)
    return judgments.qrels, open_all(labelled, judgments, options)


def _worst(qrels: Qrels, runs: Sequence[Run], spec: Spec, options: Options, count: int) -> Ints:
    """The queries with the lowest value, or with the largest drop from the second run; ties as in the qrels.

    Those without a relevant document come last: there is nothing to find, and --no-relevant decides the value.
    """
    better = spec.metric.higher_is_better
    if better is None:
        raise MetricError(f"{spec}: neither high nor low values are better, so no query is the worst")
    counted = chosen_queries(qrels, options)
    jobs = options.jobs or default_jobs()
    values, is_empty = [], np.zeros(len(qrels.queries), bool)
    for run in runs:
        reduced = run.reduce(qrels, jobs)
        scores = score_queries(qrels, judge_of(qrels, reduced, options), reduced.rank, [spec], jobs)
        values.append(scores.values[0])
        is_empty |= scores.empty[0]
        counted = counted_queries(counted, reduced.retrieved > 0, options)
    if not counted.any():
        where = "the run" if len(runs) == 1 else "both runs"
        raise OptionError(
            f"no query is left to choose from: queries={options.queries}, and none of them is in {where}"
        )
    worth = values[0] - values[1] if len(values) > 1 else values[0]
    defined = np.flatnonzero(counted & ~np.isnan(worth))
    if not len(defined):
        raise MetricError(f"{spec} is undefined for all queries")
    order = np.lexsort((worth[defined] * (1 if better else -1), is_empty[defined]))
    return defined[order[:count]]


def _explained(
    qrels: Qrels, runs: Sequence[Run], positions: Ints, specs: Sequence[Spec], options: Options
) -> Iterator[tuple[list[Explanation], ...]]:
    """The explanations of each of these queries, by run and by metric."""
    named_runs = zip(runs, names_of(runs), strict=True)
    return zip(*(_of_run(run, name, qrels, positions, specs, options) for run, name in named_runs), strict=True)


def _of_run(
    run: Run, name: str, qrels: Qrels, positions: Ints, specs: Sequence[Spec], options: Options
) -> Iterator[list[Explanation]]:
    """The explanations of each of these queries, one for each metric, from one pass over the run."""
    ids = qrels.queries.take(positions)
    queries = IdIndex(ids)
    columns = run.rows(lambda block: block.of_queries(queries), options.jobs or default_jobs())
    reduced = reduce_columns(columns, qrels, run.ties, run.path, run.collapse)
    columns = run.collapse.columns(columns) if run.collapse else columns
    notices = (
        *qrels_notices_for(qrels, specs),
        *(notice.replace(subject=name) for notice in qrels_notices(qrels, reduced, options)),
    )
    scores = scored(judgments_of(qrels, reduced, positions, options, ""), specs)
    whole_run, options_used = options.replace(depth=None, judged_only=False), options.to_dict()
    rows = zip(positions.tolist(), Texts(ids), scores.values.T.tolist(), scores.empty.T.tolist(), strict=True)
    for q, query, values, empty in rows:
        judgments = judgments_of(qrels, reduced, np.array([q]), whole_run, "")
        documents, judged = documents_of(run, qrels, q, judgments, reduced, columns)
        explanations = []
        for spec, value, is_empty in zip(specs, values, empty, strict=True):
            basis = Explanation(
                str(spec),
                spec.display,
                qrels.path,
                name,
                query,
                value,
                documents,
                is_empty=is_empty,
                cutoff=spec.params.get("cutoff"),
                ties=run.ties,
                options=options_used,
                notices=notices,
            )
            explanations.append(made_of(basis, spec, judgments, options, judged))
        yield explanations


def titles_of(text: Any, documents: Set[str]) -> Mapping[str, str]:
    """Document -> title, from a mapping or a file of them; or query -> text. Raises InputError(s)."""
    if isinstance(text, Mapping):
        return {str(name): str(title) for name, title in text.items() if str(name) in documents}
    return read_texts(source_of(text), documents)


def text_notices(text: str | None, has_title: bool, queries_text: str | None, has_text: bool) -> list[Notice]:
    """The notices about files of titles, and of the texts of queries, that have none of those wanted."""
    files = (text, has_title, NO_TITLE), (queries_text, has_text, NO_TEXT)
    return [Notice(Kind.NO_TITLES, path, 0, rule=rule) for path, has, rule in files if path and not has]

"""How the value of a metric for a query comes about.

explain        qrels, a run and a metric -> an Explanation for each query asked for
explain_run    the same with parsed arguments
explain_runs   several runs and metrics, one query after another
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from typing import Any

import numpy as np

from gradeval.arrays import Ints
from gradeval.arrays.strings import IdIndex, Texts
from gradeval.arrays.threads import default_jobs
from gradeval.commands.explain.contributions import Ranking, made_of
from gradeval.commands.explain.result import Explanation
from gradeval.commands.explain.titles import read_titles
from gradeval.errors import InputError, MetricError, OptionError, UnknownQueryError, described
from gradeval.evaluation.findings import qrels_notices
from gradeval.evaluation.outcome import judge_of, judgments_of, score_queries
from gradeval.evaluation.runs import check_labels, names_of_runs, separate_runs
from gradeval.evaluation.score import scored
from gradeval.formats.sources import Source
from gradeval.options import Options
from gradeval.registry.spec import Spec, parse
from gradeval.tables.given_columns import check_columns
from gradeval.tables.load import Given, Run, is_file, is_path, open_qrels, open_runs, source_of
from gradeval.tables.qrels import Qrels
from gradeval.tables.reduction import reduce_columns

METRIC = "nDCG@10"
Named = tuple[str | None, Any]
"""The label of a run, None if it has none, and the run."""


def explain(
    qrels: Any,
    run: Any,
    metric: str = METRIC,
    query: str | Iterable[str] | None = None,
    *,
    worst: int | None = None,
    against: Any = None,
    text: Any = None,
    **options: Any,
) -> list[Explanation]:
    """Explain the value of a metric for queries of a run.

    qrels, run, against: as evaluate() takes them; against is another run, for Explanation.differences. query:
    an id, or several. worst: instead of these, this many queries with the lowest value, or, with against,
    with the largest drop from the other run. text: {document: text}, or a file of these (TSV or JSON lines),
    for Explanation.titles. options: those of options.Options. Raises GradevalError.
    """
    queries = (
        () if query is None else (str(query),) if isinstance(query, (str, int)) else tuple(map(str, query))
    )
    is_count = isinstance(worst, int) and not isinstance(worst, bool) and worst > 0
    if worst is not None and not is_count:
        raise OptionError(f"worst must be a positive integer, not {described(worst)}")
    return explain_run(
        qrels,
        _single(run, "run"),
        one_metric(metric),
        Options.of(**options),
        queries=queries,
        worst=worst or 0,
        against=None if against is None else _single(against, "against"),
        text=text,
    )


def _single(run: Any, name: str) -> Named:
    runs = separate_runs(run)
    if len(runs) > 1:
        raise OptionError(f"{name} must be one run, not {len(runs)}")
    return runs[0]


def one_metric(text: str | Iterable[str]) -> Spec:
    """The metric to explain. Raises MetricError."""
    specs = parse(text)
    if len(specs) > 1:
        raise MetricError(f"one metric is explained at a time, not {', '.join(map(str, specs))}")
    if specs[0].metric.text:
        raise MetricError(f"{specs[0]} is a text, and no number to explain")
    return specs[0]


def explain_run(
    qrels: Any,
    run: Named,
    spec: Spec,
    options: Options,
    *,
    queries: Sequence[str] = (),
    worst: int = 0,
    against: Named | None = None,
    text: Any = None,
    watch: Callable[[Source], None] | None = None,
) -> list[Explanation]:
    """An explanation for each of the queries, or for the worst ones.

    watch: is shown each source before it is read. The run is read once, and only the documents of these queries
    are kept; to find the worst queries, it is read before.
    """
    if bool(queries) == bool(worst):
        raise OptionError(
            "query and worst are mutually exclusive" if worst else "no query given: query, or worst, chooses it"
        )
    # a pipe that was opened once is read from the copy that its Source has
    qrels = source_of(qrels) if is_path(qrels) else qrels
    named = [
        (name, source_of(one) if is_path(one) else one) for name, one in ([run, against] if against else [run])
    ]
    check_labels(named)
    check_columns([qrels, *(one for _, one in named)], options)
    jobs = options.jobs or default_jobs()
    features = is_path(qrels) and any(is_file(one, qrels.name) for _, one in named)
    given = open_qrels(qrels, options, jobs, watch, features)
    runs = [_opened(name, one, given, options, watch, place) for place, (name, one) in enumerate(named, 1)]
    judged = given.qrels.shift_grades(options.zero_grade)
    at = _worst(judged, runs, spec, options, worst, jobs) if worst else _positions(judged, queries)
    of_runs = [
        [found for [found] in _explained(one, name, judged, at, [spec], options, jobs)]
        for one, name in zip(runs, names_of_runs(runs), strict=True)
    ]
    found = of_runs[0]
    if against is not None:
        found = [
            replace(own, against=other, notices=tuple(dict.fromkeys((*own.notices, *other.notices))))
            for own, other in zip(*of_runs, strict=True)
        ]
    return _with_titles(found, text, watch)


def explain_runs(
    qrels: Any,
    runs: Sequence[Named],
    specs: Sequence[Spec],
    options: Options,
    queries: Sequence[str],
) -> Iterator[list[list[Explanation]]]:
    """For each query, the explanations by each run, by each metric; those of one query are in memory at a time.

    A LETOR file is as many runs as it has features chosen.
    """
    qrels = source_of(qrels) if is_path(qrels) else qrels
    jobs = options.jobs or default_jobs()
    features = is_path(qrels) and any(is_file(one, qrels.name) for _, one in runs)
    given = open_qrels(qrels, options, jobs, None, features)
    opened: list[Run] = []
    for place, (name, run) in enumerate(runs, 1):
        for one in open_runs(name, run, given, options, None, place):
            if isinstance(one, InputError):
                raise one
            opened.append(one)
    judged = given.qrels.shift_grades(options.zero_grade)
    at = _positions(judged, queries)
    of_runs = [
        _explained(one, name, judged, at, specs, options, jobs)
        for one, name in zip(opened, names_of_runs(opened), strict=True)
    ]
    return map(list, zip(*of_runs, strict=True))


def _opened(
    name: str | None,
    run: Any,
    given: Given,
    options: Options,
    watch: Callable[[Source], None] | None,
    position: int,
) -> Run:
    found = open_runs(name, run, given, options, watch, position)
    if len(found) > 1:
        raise OptionError(f"features must be one feature, not {len(found)}: one run is explained at a time")
    [one] = found
    if isinstance(one, InputError):
        raise one
    return one


def _positions(qrels: Qrels, queries: Sequence[str]) -> Ints:
    """Where in the qrels the queries are. Raises UnknownQueryError."""
    known = {query: position for position, query in enumerate(Texts(qrels.queries))}
    unknown = [query for query in queries if query not in known]
    if unknown:
        raise UnknownQueryError(unknown, qrels.path)
    return np.array([known[query] for query in dict.fromkeys(queries)])


def _worst(qrels: Qrels, runs: Sequence[Run], spec: Spec, options: Options, count: int, jobs: int) -> Ints:
    """The queries with the lowest value, or with the largest drop from the second run; ties as in the qrels.

    Those without a relevant document come last: there is nothing to find, and --no-relevant decides the value.
    """
    better = spec.metric.higher_is_better
    if better is None:
        raise MetricError(f"{spec}: neither high nor low values are better, so no query is the worst")
    wanted = np.ones(len(qrels.queries), bool)
    if options.query_ids is not None:
        wanted[:] = False
        wanted[_positions(qrels, options.query_ids)] = True
    values, is_empty = [], np.zeros(len(qrels.queries), bool)
    for run in runs:
        reduced = run.reduce(qrels, options.ties or run.ties, jobs)
        judge = judge_of(qrels, reduced, options)
        found = score_queries(qrels, judge, reduced.rank, [spec], jobs)
        values.append(found.values[0])
        is_empty |= found.empty[0]
        if options.queries == "both":
            wanted &= reduced.retrieved > 0
    worth = values[0] - values[1] if len(values) > 1 else values[0]
    defined = np.flatnonzero(wanted & ~np.isnan(worth))
    if not len(defined):
        raise MetricError(f"{spec} is undefined for all queries")
    order = np.lexsort((worth[defined] * (1 if better else -1), is_empty[defined]))
    return defined[order[:count]]


def _explained(
    run: Run, name: str, qrels: Qrels, positions: Ints, specs: Sequence[Spec], options: Options, jobs: int
) -> Iterator[list[Explanation]]:
    """The explanations of each of these queries, one for each metric, from one pass over the run."""
    wanted = IdIndex(qrels.queries.take(positions))
    columns = run.rows(lambda block: block.of_queries(wanted), jobs)
    ties = options.ties or run.ties
    reduced = reduce_columns(columns, qrels, ties, run.path)
    notices = (*qrels.notices, *(replace(one, subject=name) for one in qrels_notices(qrels, reduced, options)))
    found = scored(judgments_of(qrels, reduced, positions, options, ""), specs)
    values, empty = found.values.T.tolist(), found.empty.T.tolist()
    unchanged, given = options.replace(depth=None, judged_only=False), options.to_dict()
    queries = Texts(qrels.queries.take(positions))
    for place, (q, query) in enumerate(zip(positions.tolist(), queries, strict=True)):
        ranking = Ranking.of(qrels, q, reduced, columns, ties, run.path)
        whole = judgments_of(qrels, reduced, np.array([q]), unchanged, "")
        documents = ranking.in_order(whole)
        yield [
            made_of(
                Explanation(
                    str(spec),
                    spec.display,
                    qrels.path,
                    name,
                    query,
                    value,
                    documents,
                    is_empty=is_empty,
                    cutoff=spec.params.get("cutoff"),
                    ties=ties,
                    options=given,
                    notices=notices,
                ),
                spec,
                whole,
                options,
                ranking,
            )
            for spec, value, is_empty in zip(specs, values[place], empty[place], strict=True)
        ]


def _with_titles(
    found: list[Explanation], text: Any, watch: Callable[[Source], None] | None
) -> list[Explanation]:
    if text is None:
        return found
    documents = {
        one.id for each in found for of in (each, each.against) if of is not None for one in of.documents
    }
    titles = titles_of(text, documents, watch)
    return [replace(one, titles=titles) for one in found]


def titles_of(
    text: Any, documents: Set[str], watch: Callable[[Source], None] | None = None
) -> Mapping[str, str]:
    """Document -> title, from a mapping or a file of them."""
    if isinstance(text, Mapping):
        return {str(name): str(title) for name, title in text.items() if str(name) in documents}
    source = source_of(text)
    if watch is not None:
        watch(source)
    return read_titles(source, documents)

"""How the value of a metric for a query comes about.

explain        qrels, a run and a metric -> an Explanation for each of the queries
explain_runs   several runs and metrics, one query after another
titles_of      a file of titles -> those of some documents
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from gradeval.arrays import Ints
from gradeval.arrays.strings import IdIndex, Texts
from gradeval.arrays.threads import default_jobs
from gradeval.commands.explain.contributions import Ranking, made_of
from gradeval.commands.explain.result import Explanation, Explanations
from gradeval.errors import MetricError, OptionError, described, named
from gradeval.evaluation.findings import qrels_notices, qrels_notices_for
from gradeval.evaluation.outcome import (
    chosen_queries,
    counted_queries,
    judge_of,
    judgments_of,
    score_queries,
    with_ids,
)
from gradeval.evaluation.runs import check_labels, names_of, separate_runs
from gradeval.evaluation.score import scored
from gradeval.formats.diagnostics import SHOWN, LineProblems, Problem, Problems
from gradeval.formats.lines import read_lines
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
_IDS = ("_id", "id", "doc_id", "docid", "docno", "pid", "query_id", "qid")
_TEXTS = ("title", "text", "contents", "body", "passage", "query")
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
    chosen = Options.of(**options)
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
        ranking = Ranking.of(run, qrels, q, judgments, reduced, columns)
        explanations = []
        for spec, value, is_empty in zip(specs, values, empty, strict=True):
            basis = Explanation(
                str(spec),
                spec.display,
                qrels.path,
                name,
                query,
                value,
                ranking.documents,
                is_empty=is_empty,
                cutoff=spec.params.get("cutoff"),
                ties=run.ties,
                options=options_used,
                notices=notices,
            )
            explanations.append(made_of(basis, spec, judgments, options, ranking))
        yield explanations


def titles_of(text: Any, documents: Set[str]) -> Mapping[str, str]:
    """Document -> title, from a mapping or a file of them; or query -> text. Raises InputError(s).

    Each line of a file is 'id TAB text', or each is a JSON object, as the first one shows. Blank lines are
    ignored. The first line of a document counts, and reading stops when all are found.
    """
    if isinstance(text, Mapping):
        return {str(name): str(title) for name, title in text.items() if str(name) in documents}
    source = source_of(text)
    titles: dict[str, str] = {}
    problems = Problems(source.name)
    ids = {name.encode("utf-8", "surrogateescape") for name in documents}
    row_of: Callable[[bytes], tuple[str, str] | str] | None = None
    for number, line in read_lines(source):
        if len(titles) == len(documents):
            break
        if not line.strip():
            continue
        row_of = row_of or (_json_row if line.lstrip().startswith(b"{") else _tab_row)
        if row_of is _tab_row and b"\t" in line and line.partition(b"\t")[0] not in ids:
            continue
        row = row_of(line)
        if isinstance(row, str):
            problems.add(LineProblems((Problem(number, row),), 1))
            if problems.found.total >= SHOWN:
                problems.end = number + 1
                break
        elif row[0] in documents:
            titles.setdefault(row[0], " ".join(row[1].split()))
    problems.check()
    return {document: title for document, title in titles.items() if title}


def text_notices(text: str | None, has_title: bool, queries_text: str | None, has_text: bool) -> list[Notice]:
    """The notices about files of titles, and of the texts of queries, that have none of those wanted."""
    files = (text, has_title, NO_TITLE), (queries_text, has_text, NO_TEXT)
    return [Notice(Kind.NO_TITLES, path, 0, rule=rule) for path, has, rule in files if path and not has]


def _tab_row(line: bytes) -> tuple[str, str] | str:
    name, tab, text = line.decode("utf-8", "surrogateescape").partition("\t")
    return (name.strip(), text) if tab else "there is no tab after the id"


def _json_row(line: bytes) -> tuple[str, str] | str:
    """The id and the text of an object, or what is wrong with it."""
    try:
        content = json.loads(line)
    except (ValueError, RecursionError):
        return "this is not a JSON object, as the first line is"
    if not isinstance(content, dict):
        return f"this is JSON, but not an object: {named(line.decode('utf-8', 'backslashreplace'))}"
    ids = [content[name] for name in _IDS if name in content]
    texts = [content[name] for name in _TEXTS if isinstance(content.get(name), str)]
    for values, what, names in ((ids, "id", _IDS), (texts, "text", _TEXTS)):
        if not values:
            return f"the object has no {what}; its name is one of {', '.join(names)}"
    return str(ids[0]), next(filter(None, texts), "")

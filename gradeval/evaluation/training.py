"""Metrics of arrays of grades and scores, as training loops have them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from gradeval.arrays import Floats, NDArray
from gradeval.errors import MetricError, NoExpectedValueError, OptionError
from gradeval.evaluation.score import Scored, check_expected, prepared, scored, summarize
from gradeval.options import EXPECTED, Options
from gradeval.registry.spec import Measure, Metrics, Spec, parse, parse_one
from gradeval.tables.documents import Documents, array_of, of_columns, of_rows, weights_of
from gradeval.tables.qrels import shares_of

_SHARE = 1 << 15  # documents ranked together: the memory of their columns is reused
_CUT_SHARE = 1 << 17  # the same where only the first of each query are ranked
_OTHER_TIES = "give ties='input', 'best' or 'worst'"


class Scores(Mapping[str, float]):
    """The mean of each metric over the queries, by any spelling of its name. queries: the id of each query,
    (Q,), in order of first appearance; with group sizes or rows, its index from 0; of an Evaluator, its text,
    in the order of the qrels. dict(scores) is a dict, as json.dumps() takes it.
    """

    def __init__(self, specs: Sequence[Spec], values: Floats, means: Floats, queries: NDArray[Any]) -> None:
        self._specs, self._values, self.queries = tuple(specs), values, queries
        self._means: dict[str, float] = dict(zip(map(str, specs), means.tolist(), strict=True))

    def __getitem__(self, metric: str | Spec | Measure) -> float:
        name = metric if isinstance(metric, str) and metric in self._means else None
        return self._means[name or str(self._specs[self._index(metric)])]

    def __iter__(self) -> Iterator[str]:
        return iter(self._means)

    def __len__(self) -> int:
        return len(self._means)

    def __repr__(self) -> str:
        return f"Scores({self._means!r})"

    def per_query(self, metric: str | Spec | Measure) -> Floats:
        """The value of each query, in the order of `queries`, (Q,); NaN where the metric is undefined."""
        values: Floats = self._values[self._index(metric)].copy()
        return values

    def _index(self, metric: str | Spec | Measure) -> int:
        specs = parse_one(metric) if isinstance(metric, str) else []
        if not isinstance(metric, (str, int)):
            specs = [metric] if isinstance(metric, Spec) else parse(metric)
        if len(specs) != 1 or specs[0] not in self._specs:
            raise KeyError(metric)
        return self._specs.index(specs[0])


def score_arrays(
    metrics: Metrics,
    *,
    grade: Any,
    score: Any,
    query: Any = None,
    group: Any = None,
    mask: Any = None,
    missed: Any = None,
    weights: Any = None,
    rel: float | Literal[">0"] | None = None,
    depth: int | None = None,
    ties: Literal["expected", "input", "best", "worst"] = "expected",
    no_relevant: Literal["0", "1", "skip", 0, 1] | None = None,
) -> Scores:
    """Score rankings that are arrays, as of a validation set in a training loop.

        >>> gradeval.score_arrays("nDCG@10 RR", grade=y, score=model.predict(x), query=qid)["nDCG@10"]

    The documents of a query are those with its id, and all are judged: the ranking is their order by score.
    This is right where the arrays have every judged document, as in reranking and learning to rank. Where they
    are the first k of a search, the relevant documents that it did not find are unknown, and recall and nDCG
    come out too high: give their grades as missed, or ids to Evaluator.evaluate_arrays().

    metrics: names with numbers. grade, score: of each document, (N,): numpy arrays, or anything with __array__
    or __dlpack__; or padded batches, (Q, N), a row for each query. query: the query id of each document, (N,),
    in any order and of any type. group: instead, the number of documents of each query, whose documents are
    neighbours, as LightGBM and XGBoost have them; without either all documents are of one query. mask: of
    batches, (Q, N), True where there is a document; a row without any is no query, and per_query() has no value
    for it.
    missed: the grades of judged documents that the arrays lack, (Q, M), padded with NaN: a row for each query
    id in order of first appearance, for each group, or for each row. They are judged and not retrieved, and
    count among what is relevant and in the ideal ranking; a query with no others counts too.
    weights: of the queries in the means, from 0, (Q,), in the same order; sums have none. rel, depth,
    no_relevant: as evaluate() takes them.
    ties: the order of documents with equal scores: 'expected', the mean of the values over all orders, which a
    model that gives all documents one score gains nothing by; 'input' as they stand, as in LightGBM and
    XGBoost; 'best' or 'worst' by grade.

    Returns the means, a mapping from names to floats; its per_query() has the values of each query. Nothing is
    warned of: a query without relevant documents has the value of no_relevant, 0 by default.
    Raises GradevalError: InputError for arrays, MetricError for metrics, OptionError for options.
    """
    specs = numbers_only(_parsed(metrics) if isinstance(metrics, str) else parse(metrics))
    options = Options(rel=rel, depth=depth, ties=ties, no_relevant=no_relevant)
    if options.ties in ("trec", None):
        raise OptionError("ties must be input, best, worst or expected: arrays have no document ids")
    if options.ties == EXPECTED:
        check_expected(specs, f"{_OTHER_TIES}; ")
    grade, score = array_of("grade", grade, 2), array_of("score", score, 2)
    if grade.ndim == 2 or score.ndim == 2 or mask is not None:
        if query is not None or group is not None:
            raise OptionError("query and group go with arrays of one dimension: a row of two is a query")
        documents = of_rows(grade, score, mask)
    else:
        documents = of_columns(grade, score, query, group)
    if missed is not None:
        documents = documents.with_missed(missed)
    weight = None if weights is None else weights_of(weights, documents.segments.count)
    filled = np.flatnonzero(documents.segments.lengths)
    if len(filled) < documents.segments.count:
        documents = documents.take(filled)
    try:
        values = _values(documents, specs, options)
    except NoExpectedValueError as error:
        raise MetricError(error.what, hint=_OTHER_TIES) from None
    means = summarize(specs, values, np.ones(len(filled), bool), None if weight is None else weight[filled])
    return Scores(specs, values, means, documents.queries)


@lru_cache(1 << 10)
def _parsed(metrics: str) -> Sequence[Spec]:
    """For a loop, in which reading the names takes a tenth of the time."""
    return parse(metrics)


def numbers_only(specs: Sequence[Spec]) -> Sequence[Spec]:
    """The metrics. Raises MetricError for one with strings for values."""
    for spec in specs:
        if spec.metric.text:
            raise MetricError(f"{spec} has no numbers")
    return specs


def _values(documents: Documents, specs: Sequence[Spec], options: Options) -> Floats:
    """The value of each metric for each query, (M, Q), in shares whose arrays fit the processor's cache."""
    last_rank = _last_rank(documents, specs)
    shares = shares_of(documents.segments.offsets, _SHARE if last_rank is None else _CUT_SHARE)
    tables = (documents.take(queries).ranked(options, last_rank) for queries in shares)
    return Scored.joined([scored(prepared(table, options), specs) for table in tables]).values


def _last_rank(documents: Documents, specs: Sequence[Spec]) -> int | None:
    """The last rank whose document can change a value, None where all can."""
    last_rank = 0
    longest = int(documents.segments.lengths.max())
    for spec in specs:
        last_rank = max(last_rank, spec.metric.last_rank(spec.params) or longest)
    return last_rank if last_rank < longest else None

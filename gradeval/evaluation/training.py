"""Metrics of arrays of grades and scores, as a training loop has them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

import numpy as np

from gradeval.arrays import Floats, Ints, NDArray
from gradeval.arrays.segments import Segments
from gradeval.errors import GRADE_RANGE, InputError, MetricError, OptionError, described
from gradeval.evaluation.score import check_expected, prepared, summarize
from gradeval.evaluation.score import score as score_judgments
from gradeval.formats.memory import A_TIME, Numeric, is_missing, is_time
from gradeval.options import EXPECTED, NO_RELEVANT, Options
from gradeval.registry.spec import Metrics, Spec, parse, parse_one
from gradeval.tables.judgments import Judgments
from gradeval.tables.qrels import out_of_range, range_problems


class Scores(Mapping[str, float]):
    """The mean of each metric over the queries, by any spelling of its name. queries: the id of each query in
    order of first appearance, (Q,); with group sizes, its index from 0.
    """

    def __init__(
        self, specs: tuple[Spec, ...], values: Floats, queries: NDArray[Any], weights: Floats | None = None
    ) -> None:
        self._specs, self._values, self.queries = specs, values, queries
        means = summarize(specs, values, np.ones(values.shape[1], bool), weights)
        self._means: dict[str, float] = dict(zip(map(str, specs), means.tolist(), strict=True))

    def __getitem__(self, metric: str) -> float:
        name = metric if metric in self._means else str(self._specs[self._index(metric)])
        return self._means[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._means)

    def __len__(self) -> int:
        return len(self._means)

    def __repr__(self) -> str:
        return f"Scores({self._means!r})"

    def per_query(self, metric: str) -> Floats:
        """The value of each query, in the order of `queries`, (Q,); NaN where the metric is undefined."""
        values: Floats = self._values[self._index(metric)].copy()
        return values

    def _index(self, metric: str) -> int:
        specs = parse_one(metric) if isinstance(metric, str) else []
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
    weights: Any = None,
    rel: float | Literal[">0"] | None = None,
    depth: int | None = None,
    ties: Literal["input", "best", "worst", "expected"] = "input",
    no_relevant: Literal["0", "1", "skip", 0, 1] | None = None,
) -> Scores:
    """Score rankings that are arrays, as of a validation set in a training loop.

        >>> gradeval.score_arrays("nDCG@10 RR", grade=y, score=model.predict(x), query=qid)["nDCG@10"]

    The documents of a query are those with its id, and all are judged: the ranking is their order by score.

    grade, score: of each document, (N,): numpy arrays, or anything with __array__ or __dlpack__. query: the
    query id of each document, (N,), in any order and of any type; or group: the number of documents of each
    query, whose documents are neighbours, as LightGBM and XGBoost have them. Without either all documents are
    of one query. Or padded batches: grade and score (Q, N), a row for each query, and mask, (Q, N), True where
    there is a document; a row without any is no query, and per_query() has no value for it. weights: of the
    queries in the means, from 0, (Q,): of each group, of each row, or of each query id in order of first
    appearance; sums have none. rel, depth, no_relevant: as in options.Options.
    ties: the order of documents with equal scores: 'input' as they stand, 'best' or 'worst' by grade, or
    'expected', the mean of the values over all orders. With 'worst' a model that gives all documents one score
    gains nothing by it.

    Returns the means, a mapping from names to floats; its per_query() has the values of each query. Nothing is
    warned of: a query without relevant documents has the value of no_relevant, 0 by default.
    Raises GradevalError: InputError for arrays, MetricError for metrics, OptionError for options.
    """
    specs = tuple(parse(metrics))
    if texts := [spec for spec in specs if spec.metric.text]:
        raise MetricError(f"{texts[0]} has no numbers")
    chosen = Options(rel=rel, depth=depth, ties=ties, no_relevant=no_relevant)
    if chosen.ties == "trec":
        raise OptionError("ties must be input, best, worst or expected: arrays have no document ids")
    if ties == EXPECTED:
        check_expected(specs)
    grade, score = _array("grade", grade, 2), _array("score", score, 2)
    if grade.ndim == 2 or score.ndim == 2 or mask is not None:
        if query is not None or group is not None:
            raise OptionError("query and group go with arrays of one dimension: a row of two is a query")
        grade, score, group = _unpadded(grade, score, mask)
    grades, scores = _numbers("grade", grade), _numbers("score", score)
    if len(grades) != len(scores):
        raise InputError("score", f"{len(scores):,} scores for {len(grades):,} grades")
    if not len(grades):
        raise InputError("grade", "no documents given")
    range_problems(grades, lambda: np.arange(len(grades))).check("grade")
    number, queries = _queries(len(grades), query, group)
    of_queries = None
    if weights is not None:
        of_queries = _numbers("weights", weights)
        count = len(queries) if group is None else len(_array("group", group))
        if len(of_queries) != count:
            raise InputError("weights", f"{len(of_queries):,} weights for {count:,} queries")
        if (of_queries < 0).any() or not of_queries.any():
            raise InputError("weights", "weights are numbers from 0, and one at least is above 0")
        if len(out_of_range(of_queries)):
            raise InputError("weights", f"weights are {GRADE_RANGE}")
        of_queries = of_queries if group is None else of_queries[queries]  # of those that have documents
    judgments = _judgments(grades, scores, number, len(queries), chosen)
    return Scores(specs, score_judgments(prepared(judgments, chosen), specs), queries, of_queries)


def _judgments(grade: Floats, score: Floats, query: Ints, count: int, options: Options) -> Judgments:
    """The documents of `count` queries, ranked by score, all judged."""
    by_grade = {"best": [-grade], "worst": [grade]}.get(options.ties or "", [])
    order = np.lexsort([*by_grade, -score, query])  # which keeps the order of equal ones
    counts = np.bincount(query, minlength=count)
    segments = Segments(np.append(0, np.cumsum(counts)))
    rank, default = (segments.place + 1).astype(np.float64), NO_RELEVANT[options.no_relevant_rule]
    judgments = Judgments(
        segments, grade[order], rank, score[order], order, counts, options.rel, no_relevant=default
    )
    if options.ties == EXPECTED:
        groups = segments.ties(judgments.score)
        first = rank[groups.offsets[:-1]][groups.query]
        judgments = judgments.replace(first=first, last=first + groups.lengths[groups.query] - 1)
    return judgments


def _unpadded(
    grade: NDArray[Any], score: NDArray[Any], mask: Any
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """The grades and the scores of the documents in rows, (N,), and how many each row has, (Q,)."""
    if grade.ndim != 2 or score.shape != grade.shape:
        what = f"grade and score need one shape of two dimensions, not {grade.shape} and {score.shape}"
        raise InputError("score", what)
    if mask is None:
        if grade.dtype.kind in "if" and (grade < 0).any():  # -1 is padding in many loaders, -100 in PyTorch's
            lowest = f"{grade.min():g}"
            hint = f"If it is padding, give mask=grade != {lowest}; if it is a grade, a mask of ones"
            raise InputError("grade", f"there is a grade {lowest} in rows without a mask", hint=hint)
        is_document = np.ones(grade.shape, bool)
    else:
        is_document = _array("mask", mask, 2)
        if is_document.dtype.kind not in "biu" or is_document.shape != grade.shape:
            what = f"booleans of the shape {grade.shape} are needed"
            raise InputError("mask", f"{what}, not {is_document.dtype} of {is_document.shape}")
        is_document = is_document.astype(bool)
    return grade[is_document], score[is_document], is_document.sum(axis=1)


def _array(name: str, values: Any, dimensions: int = 1) -> NDArray[Any]:
    """An array of one dimension, or of no more than these. Raises InputError."""
    if isinstance(values, np.ma.MaskedArray):
        hint = "Give the values without it, such as x[~x.mask], the same documents of each array"
        raise InputError(name, "a masked array is not read, since its mask has no meaning here", hint=hint)
    try:
        if not hasattr(values, "__array__") and hasattr(values, "__dlpack__"):
            values = np.from_dlpack(values)
        array: NDArray[Any] = np.asarray(values)
    except Exception as error:  # objects can fail wherever looked at
        raise InputError(name, f"it is no array ({type(error).__name__}: {error})") from None
    if not 1 <= array.ndim <= dimensions:
        needed = "one dimension or two" if dimensions > 1 else "one dimension"
        raise InputError(name, f"an array of {needed} is needed, not of shape {array.shape}")
    return array


def _numbers(name: str, values: Any) -> Floats:
    array = _array(name, values)
    if array.dtype.kind not in "biuf":
        raise InputError(name, f"an array of numbers is needed, not of {array.dtype}")
    numbers, wrong = Numeric(array).numbers(slice(None), name)
    wrong.check(name)
    return numbers


def _queries(count: int, query: Any, group: Any) -> tuple[Ints, NDArray[Any]]:
    """The index of each document's query, (N,), and the ids of the queries."""
    if query is not None and group is not None:
        raise OptionError("query and group are mutually exclusive")
    if group is not None:
        sizes = _array("group", group)
        if sizes.dtype.kind not in "iu" or (sizes < 0).any():
            raise InputError("group", f"the sizes are integers from 0, not {described(sizes.tolist())}")
        if sizes.sum() != count:
            raise InputError("group", f"the sizes add up to {sizes.sum():,}, but there are {count:,} documents")
        filled = sizes[sizes > 0].astype(np.int64)
        return np.repeat(np.arange(len(filled)), filled), np.flatnonzero(sizes)
    if query is None:
        return np.zeros(count, np.int64), np.zeros(1, np.int64)
    ids = _array("query", query)
    if len(ids) != count:
        raise InputError("query", f"{len(ids):,} query ids for {count:,} documents")
    of_floats = np.flatnonzero(ids != ids) if ids.dtype.kind in "fc" else ()
    for row in range(len(ids)) if ids.dtype.kind in "mMO" else of_floats:
        if is_missing(ids[row]):
            raise InputError("query", "the query id is missing", line=int(row) + 1)
        if is_time(ids[row]):
            raise InputError("query", f"the query id {described(ids[row])} {A_TIME}", line=int(row) + 1)
    try:
        starts = np.append(0, np.flatnonzero(ids[1:] != ids[:-1]) + 1)
        distinct, first, inverse = np.unique(ids[starts], return_index=True, return_inverse=True)
    except TypeError as error:
        others = (row for row, query_id in enumerate(ids, 1) if type(query_id) is not type(ids[0]))
        raise InputError("query", f"the ids cannot be compared ({error})", line=next(others, None)) from None
    by_appearance = np.argsort(first)
    index = np.argsort(by_appearance)
    return np.repeat(index[inverse], np.diff(np.append(starts, count))), distinct[by_appearance]

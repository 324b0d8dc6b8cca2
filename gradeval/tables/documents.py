"""Arrays of documents: of their grades and scores, as training loops have them, and of their ids, as searches
return them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from gradeval.arrays import Bools, Floats, Ints, NDArray
from gradeval.arrays.segments import Segments, distinct, offsets_of, ranges, stable_order
from gradeval.arrays.strings import Ids
from gradeval.errors import GRADE_RANGE, InputError, InputErrors, OptionError, described, named
from gradeval.formats.columns import Columns
from gradeval.formats.diagnostics import COLLAPSES, LineProblems
from gradeval.formats.memory import A_TIME, array_values, is_missing, is_time
from gradeval.options import EXPECTED, NO_RELEVANT, Options
from gradeval.records import Record
from gradeval.tables.judgments import Judgments
from gradeval.tables.load import RunTable
from gradeval.tables.qrels import out_of_range, range_problems

_LOWEST = np.finfo(np.float64).min  # the lowest score that a document can have
_NO_DOCUMENT = Ids.of([b"-1"])
_PADDING = {"document": "-1, which is no document", "missed": "NaN"}  # of rows of arrays


@contextmanager
def first_error() -> Iterator[None]:
    """Raise one InputError, with their number, for all that is wrong with arrays."""
    try:
        yield
    except InputErrors as errors:
        first = errors.errors[0]
        message = f"{first.what}, the first of {errors.total:,} errors"
        raise InputError(first.path, message, line=first.line, hint=_hint(first)) from None
    except InputError as error:
        if COLLAPSES not in error.hint:
            raise
        raise InputError(error.path, error.what, line=error.line, hint=_hint(error)) from None


def _hint(error: InputError) -> str:
    """That of arrays, whose function does not take the option itself."""
    return error.hint.replace(COLLAPSES, "Evaluator(…, duplicates='best') takes the best score")


class Documents(Record, eq=False):
    """The documents of queries, all judged, those of a query together."""

    queries: NDArray[Any]  # the ids, (Q,)
    segments: Segments
    # how many documents of each query the arrays have, (Q,); behind these are those that they lack
    retrieved: Ints
    grade: Floats  # of each document, (N,)
    score: Floats  # likewise; of one that the arrays lack -inf
    scale: Floats  # the different grades, ascending

    @classmethod
    def of(
        cls,
        queries: NDArray[Any],
        lengths: Ints,
        numbers: tuple[Floats, Floats],
        line: Callable[[], Ints],
        hint: str = "Leave these documents out of all arrays, as in grade[np.isfinite({name})]",
    ) -> Documents:
        """numbers: the grades and the scores, (N,). line: makes the 0-based line of each, for messages. hint:
        what to do where one is not finite.
        """
        grade, score = numbers
        if not len(grade):
            raise InputError("grade", "no documents given")
        scale = _scale("grade", grade, line, hint.format(name="grade"))
        _check_finite("score", "score", score, line, hint.format(name="score"))
        return cls(queries, _segments(lengths), lengths, grade, score, scale=scale)

    @first_error()
    def with_missed(self, missed: Any) -> Documents:
        """With judged documents that the arrays lack. missed: their grades, (Q, M), padded with NaN."""
        grade = _floats("missed", array_of("missed", missed, 2))
        count = self.segments.count
        if grade.ndim != 2 or len(grade) != count:
            rows = "a row for the query" if count == 1 else f"a row for each of the {count:,} queries"
            message = f"{rows} is needed, padded with NaN, not an array of shape {grade.shape}"
            raise InputError("missed", message)
        is_document = ~np.isnan(grade)
        lengths = np.count_nonzero(is_document, axis=1)
        grade = grade[is_document]
        if is_document.all() and (grade < 0).any():  # -1 is padding in many loaders
            lowest = f"{grade.min():g}"
            hint = f"If it is padding, give NaN in place of {lowest}; if it is a grade, add a column of NaN"
            raise InputError("missed", f"there is a grade {lowest} in rows without NaN", hint=hint)
        scale = _scale("missed", grade, lambda: np.arange(count).repeat(lengths))
        segments = _segments(self.retrieved + lengths)
        start = segments.starts
        columns = np.full((2, segments.offsets[-1]), -np.inf)
        columns[:, ranges(start, self.retrieved)] = self.grade, self.score
        columns[0, ranges(start + self.retrieved, lengths)] = grade
        scale = distinct(np.append(self.scale, scale))
        return self.replace(segments=segments, grade=columns[0], score=columns[1], scale=scale)

    def take(self, queries: slice | Ints) -> Documents:
        """Only these queries; all that are between two of them have no documents."""
        start = self.segments.starts[queries]
        end = self.segments.ends[queries]
        rows = slice(start[0], end[-1])
        return self.replace(
            queries=self.queries[queries],
            segments=Segments(np.append(start, end[-1:]) - start[0]),
            retrieved=self.retrieved[queries],
            grade=self.grade[rows],
            score=self.score[rows],
        )

    def ranked(self, options: Options, last_rank: int | None = None) -> Judgments:
        """The documents ranked by score. Those below the last rank, if there is one, count as not retrieved."""
        rows = self._ranked_rows(last_rank)
        within = self.segments if isinstance(rows, slice) else self.segments.take(rows)
        score = self.score[rows]
        order, ties = _by_score(within, score, self.grade[rows], options.ties)
        document = order
        columns: dict[str, Any] = {"rank": within.place + 1.0, "score": score[order]}
        if options.ties == EXPECTED and ties.count < len(order):
            first = columns["rank"][ties.starts]
            columns["first"] = first.repeat(ties.lengths)
            columns["last"] = (first + ties.lengths - 1).repeat(ties.lengths)
        if not isinstance(rows, slice):
            document, front = _in_front(self.segments, rows[order], within.lengths)
            for name, values in columns.items():
                columns[name] = np.full(len(document), -np.inf if name == "score" else np.inf)
                columns[name][front] = values
        return Judgments(
            self.segments,
            self.grade[document],
            document=document,
            retrieved=self.retrieved,
            relevance_level=options.rel,
            scale=self.scale,
            no_relevant=NO_RELEVANT[options.no_relevant_rule],
            **columns,
        )

    def _ranked_rows(self, last_rank: int | None) -> Ints | slice:
        """The documents to the last rank, and all with the score of the last of them."""
        if last_rank is not None:
            lowest = np.maximum(self.segments.nth_largest(self.score, last_rank), _LOWEST)
            return np.flatnonzero(self.score >= lowest.repeat(self.segments.lengths))
        has_missed = self.retrieved.sum() < len(self.score)
        return np.flatnonzero(self.score >= _LOWEST) if has_missed else slice(None)


def _by_score(within: Segments, score: Floats, grade: Floats, ties: str | None) -> tuple[Ints, Segments]:
    """The order of the documents of each query, and the ties."""
    if ties not in ("best", "worst"):
        return within.ranked(score)
    by_grade, _ = within.ranked(grade if ties == "best" else -grade)
    order, groups = within.ranked(score[by_grade])
    return by_grade[order], groups


def _in_front(segments: Segments, ranked: Ints, counts: Ints) -> tuple[Ints, Ints]:
    """The documents, (N,), with those that are ranked in front of their query, and where these are now. Those
    that were there have taken their rows. ranked: query by query. counts: how many of each query.
    """
    front = ranges(segments.starts, counts)
    document = np.arange(segments.offsets[-1])
    is_ranked, is_front = np.zeros((2, len(document)), bool)
    is_ranked[ranked] = True
    is_front[front] = True
    document[is_ranked & ~is_front] = front[~is_ranked[front]]
    document[front] = ranked
    return document, front


def _segments(lengths: Ints) -> Segments:
    return Segments(offsets_of(lengths))


@first_error()
def of_rows(grade: NDArray[Any], score: NDArray[Any], mask: Any) -> Documents:
    """Padded batches: each row is a query. Raises InputError(s)."""
    if grade.ndim != 2 or score.shape != grade.shape:
        message = f"grade and score need one shape of two dimensions, not {grade.shape} and {score.shape}"
        raise InputError("score", message)
    rows: Ints | slice = slice(None)
    hint = "Where this is padding, give mask=np.isfinite({name})"
    lengths = np.full(len(grade), grade.shape[1])
    if mask is not None:
        is_document = array_of("mask", mask, 2)
        if is_document.dtype.kind not in "biu" or is_document.shape != grade.shape:
            message = f"booleans of the shape {grade.shape} are needed"
            raise InputError("mask", f"{message}, not {is_document.dtype} of {is_document.shape}")
        rows = np.flatnonzero(is_document)
        hint = "Where this is padding, give mask=mask & np.isfinite({name})"
        lengths = np.count_nonzero(is_document, axis=1)
    elif grade.dtype.kind in "if" and (grade < 0).any():  # -1 is padding in many loaders, -100 in PyTorch's
        lowest = f"{grade.min():g}"
        hint = f"If it is padding, give mask=grade != {lowest}; if it is a grade, a mask of ones"
        raise InputError("grade", f"there is a grade {lowest} in rows without a mask", hint=hint)
    numbers = _floats("grade", grade).ravel()[rows], _floats("score", score).ravel()[rows]
    queries = np.arange(len(grade))
    return Documents.of(queries, lengths, numbers, lambda: queries.repeat(lengths), hint)


@first_error()
def of_columns(grade: NDArray[Any], score: NDArray[Any], query: Any, group: Any) -> Documents:
    """One document after the other, with the ids or the sizes of queries. Raises InputError(s)."""
    numbers = _floats("grade", grade), _floats("score", score)
    count = len(grade)
    if len(score) != count:
        raise InputError("score", f"{len(score):,} scores for {count:,} grades")
    if query is not None and group is not None:
        raise OptionError("query and group are mutually exclusive")
    if query is None:
        lengths = np.array([count]) if group is None else _sizes(group, count)
        return Documents.of(np.arange(len(lengths)), lengths, numbers, lambda: np.arange(count))
    index, queries = _queries(count, query)
    lengths = np.bincount(index, minlength=len(queries))
    documents = Documents.of(queries, lengths, numbers, lambda: np.arange(count))
    if (index[1:] >= index[:-1]).all():
        return documents
    order = stable_order(index)
    return documents.replace(grade=documents.grade[order], score=documents.score[order])


def _sizes(group: Any, count: int) -> Ints:
    """The number of documents of each group."""
    sizes = array_of("group", group)
    if sizes.dtype.kind not in "iu" or (sizes < 0).any():
        raise InputError("group", f"the sizes are integers from 0, not {described(sizes.tolist())}")
    if sizes.sum() != count:
        raise InputError("group", f"the sizes add up to {sizes.sum():,}, but there are {count:,} documents")
    return sizes.astype(np.int64)


def _queries(count: int, query: Any) -> tuple[Ints, NDArray[Any]]:
    """The index of each document's query, (N,), and the ids of the queries."""
    ids = array_of("query", query)
    if len(ids) != count:
        raise InputError("query", f"{len(ids):,} query ids for {count:,} documents")
    of_floats = np.flatnonzero(ids != ids) if ids.dtype.kind in "fc" else ()
    for row in range(len(ids)) if ids.dtype.kind in "mMO" else of_floats:
        if is_missing(ids[row]):
            raise InputError("query", "the query id is missing", line=int(row) + 1)
        if is_time(ids[row]):
            raise InputError("query", f"the query id {described(ids[row])} {A_TIME}", line=int(row) + 1)
    try:
        groups = Segments.of_equal(ids)
        different, first, inverse = np.unique(ids[groups.starts], return_index=True, return_inverse=True)
    except TypeError as error:
        unlike = (row for row, query_id in enumerate(ids, 1) if type(query_id) is not type(ids[0]))
        raise InputError("query", f"the ids cannot be compared ({error})", line=next(unlike, None)) from None
    by_appearance = np.argsort(first)
    index = np.argsort(by_appearance)
    return index[inverse].repeat(groups.lengths), different[by_appearance]


@first_error()
def weights_of(weights: Any, count: int) -> Floats:
    """The weight of each query in means. Raises InputError(s)."""
    weight = _floats("weights", array_of("weights", weights))
    _check_finite("weights", "weight", weight, lambda: np.arange(len(weight)))
    if len(weight) != count:
        raise InputError("weights", f"{len(weight):,} weights for {count:,} queries")
    if (weight < 0).any() or not weight.any():
        raise InputError("weights", "weights are numbers from 0, and one at least is above 0")
    if len(out_of_range(weight)):
        raise InputError("weights", f"weights are {GRADE_RANGE}")
    return weight


@first_error()
def run_of_arrays(query: Any, document: Any, score: Any) -> RunTable:
    """A run that is a row of documents for each query, (Q,), (Q, K) and (Q, K). Raises InputError(s)."""
    queries = array_of("query", query)
    documents = array_of("document", document, 2)
    scores = _floats("score", array_of("score", score, 2))
    if documents.ndim != 2:
        message = f"a row of documents for each query is needed, not an array of shape {documents.shape}"
        raise InputError("document", message)
    if len(queries) != len(documents):
        raise InputError("query", f"{len(queries):,} query ids for {len(documents):,} rows of documents")
    if scores.shape != documents.shape:
        message = f"an array of shape {documents.shape} is needed, as document has it, not {scores.shape}"
        raise InputError("score", message)
    query_ids = _ids("query", queries, np.arange(len(queries)))
    _check_different(query_ids)
    row = np.arange(len(documents)).repeat(documents.shape[1])
    ids = _ids("document", documents.ravel(), row)
    is_document = _are_documents(ids)
    kept = np.flatnonzero(is_document)
    line = row[kept]
    value = scores.ravel()[kept]
    if not len(kept):
        raise InputError("document", "no documents given")
    _check_finite("score", "score", value, lambda: line, "Where there is no document, its id is -1")
    lengths = np.count_nonzero(is_document.reshape(documents.shape), axis=1)
    filled = np.flatnonzero(lengths)
    bounds = _segments(lengths[filled]).offsets
    columns = Columns(query_ids.take(filled), bounds, ids.take(kept), value, line=line, lines=len(queries))
    return RunTable("arrays", columns)


def _are_documents(ids: Ids) -> Bools:
    """Which ids are not that of no document."""
    are_documents = np.ones(len(ids), bool)
    short = np.flatnonzero(ids.length == 2)
    are_documents[short] = ~ids.same(short, _NO_DOCUMENT, np.zeros(len(short), np.int64))
    return are_documents


def _ids(name: str, values: NDArray[Any], line: Ints) -> Ids:
    """Strings, or integers as they are written. line: the 0-based line of each, for messages."""
    if values.dtype.kind not in "iuUSOT":
        raise InputError(name, f"ids are strings or integers, not {values.dtype}")
    ids, wrong = array_values(values).ids(slice(None), f"{name} id")
    wrong.in_lines(line).check(name)
    return ids


def _check_different(ids: Ids) -> None:
    """Raise InputError(s) for queries that have two rows."""
    first, index = ids.distinct()
    first_row = first[index]
    again = np.flatnonzero(first_row < np.arange(len(ids)))

    def message(i: int) -> str:
        return f"duplicate query {named(ids[again[i]].decode('utf-8', 'backslashreplace'))}"

    LineProblems.of(again, message, lambda i: f"The first is in row {first_row[again[i]] + 1}").check("query")


def array_of(name: str, values: Any, dimensions: int = 1) -> NDArray[Any]:
    """An array of one dimension, or of no more than these. Raises InputError."""
    if isinstance(values, np.ma.MaskedArray):
        hint = "Give the values without it, such as x[~x.mask], the same documents of each array"
        raise InputError(name, "a masked array is not read, since its mask has no meaning here", hint=hint)
    try:
        if not hasattr(values, "__array__") and hasattr(values, "__dlpack__"):
            values = np.from_dlpack(values)
        array = np.asarray(values)
    except Exception as error:  # objects can fail wherever looked at
        padding = _PADDING.get(name, "any number, where the mask is False or the id is -1")
        is_ragged = dimensions > 1 and isinstance(error, ValueError)
        hint = f"Pad rows of different lengths with {padding}" if is_ragged else ""
        raise InputError(name, f"it is no array ({type(error).__name__}: {error})", hint=hint) from None
    if not 1 <= array.ndim <= dimensions:
        needed = "one dimension or two" if dimensions > 1 else "one dimension"
        raise InputError(name, f"an array of {needed} is needed, not of shape {array.shape}")
    return array


def _floats(name: str, array: NDArray[Any]) -> Floats:
    if array.dtype.kind not in "biuf":
        raise InputError(name, f"an array of numbers is needed, not of {array.dtype}")
    with np.errstate(over="ignore"):
        return array.astype(np.float64, copy=False)


def _scale(name: str, grade: Floats, line: Callable[[], Ints], hint: str = "") -> Floats:
    """The different grades, ascending. Raises InputError(s) for what is no grade."""
    scale = distinct(grade)
    if not np.isfinite(scale).all():
        _check_finite(name, "grade", grade, line, hint)
    if len(out_of_range(scale)):
        range_problems(grade, line).check(name)
    return scale


def _check_finite(name: str, noun: str, numbers: Floats, line: Callable[[], Ints], hint: str = "") -> None:
    """Raise InputError(s) for what is no number. name: of the array, noun: of one of its numbers."""
    if np.isfinite(numbers).all():
        return
    rows = np.flatnonzero(~np.isfinite(numbers))
    wrong = numbers[rows].tolist()
    LineProblems.of(line()[rows], lambda i: f"the {noun} {wrong[i]} is not a finite number", hint).check(name)

"""Functions that several families share: hits that count 1, gains and discounts, DCG and its ideal."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from gradeval.arrays import Floats, Ints
from gradeval.arrays.segments import Segments, log2
from gradeval.errors import MetricError
from gradeval.records import Record
from gradeval.registry.invariants import GAIN_RISES, IDEAL_IS_ONE, PROMOTION_HELPS, SCALE_FREE, Condition
from gradeval.registry.metric import EXACT, OUTER, Bounding
from gradeval.registry.params import Pairs, mapped
from gradeval.tables.judgments import Hits, Judgments
from gradeval.tables.terms import DiscountedTerms, Terms

SCALE_FREE_HITS = SCALE_FREE.unless("rel")  # of what counts relevant documents
_OF_DCG = [IDEAL_IS_ONE.where(GAIN_RISES), SCALE_FREE.where(gain="linear"), PROMOTION_HELPS.where(GAIN_RISES)]
NORMALIZED_DCG: dict[str, Any] = {"invariants": _OF_DCG, "needs_relevant": True}


def _bounded(name: str, about: str = EXACT, below: str = "all") -> Bounding:
    """Bounds by the function of this name in _bounds.py, which is imported only where they are asked for."""

    def find(*arguments: Any) -> Any:
        return getattr(import_module("gradeval.metrics._bounds"), name)(*arguments)

    return Bounding(about, find=find, below=below)


def _is_plain(params: Mapping[str, Any], scale: Floats) -> bool:
    gain = params.get("gain")
    return not isinstance(gain, tuple) or all(worth >= 0 and (grade or not worth) for grade, worth in gain)


_PLAIN = Condition("gain", "with gains of at least 0, and 0 of the grade 0", _is_plain)
LINEAR_BOUNDS = _bounded("linear", below="none")
MONOTONE_BOUNDS = _bounded("monotone", below="none")
RECALL_BOUNDS = _bounded("recall")
CAPPED_RECALL_BOUNDS = _bounded("capped_recall")
F_BOUNDS = _bounded("f_measure")
SUCCESS_BOUNDS = _bounded("success")
R_PRECISION_BOUNDS = _bounded("r_precision")
AP_BOUNDS = _bounded("average_precision")
MU_AP_BOUNDS = _bounded("mu_ap", OUTER)
NORMALIZED_BOUNDS = _bounded("normalized", below="cutoff").where(_PLAIN)
LARGEST_EXPONENT = 1000.0  # the gains of eight million documents, all of 2^1000, have a finite sum
_CANCELS = 1e-9  # below this the subtraction in 2^grade - 1 loses more than half of the digits


def one_each(
    hits: Hits, normalizer: Floats | Ints | float = 1.0, cutoff: float | Floats | Ints | None = None
) -> Terms:
    """Each hit in the first ranks adds 1."""
    top = hits.top(cutoff)
    terms = Terms(top.segments, top.rows, 1.0, normalizer, weight_at=np.ones_like, cutoff=cutoff)
    return terms.replace(has_relevant=hits.relevant > 0)


def hit_count(judgments: Judgments, rel: float | None, cutoff: int | None) -> Floats | Ints:
    """The number of hits of each query, (Q,), the expected one of Judgments.tied."""
    if judgments.first is None:
        return judgments.hits(rel, cutoff).count
    terms = judgments.expected(one_each(judgments.hits(rel), cutoff=cutoff))
    assert terms is not None
    return terms.total


def retrieved(judgments: Judgments, cutoff: int | None) -> Ints:
    """The number of documents retrieved, in the first ranks if there is a cutoff, (Q,)."""
    return judgments.retrieved if cutoff is None else np.minimum(judgments.retrieved, cutoff)


def before_rows(within: Segments, after: Floats, first: float | Floats) -> Floats:
    """The value before each row, where `after` holds after it and `first` at the start of a query, (N,)."""
    before = np.empty_like(after)
    before[1:] = after[:-1]
    before[within.starts[within.lengths > 0]] = first
    return before


def with_rows(ideal: Terms, within: Segments, worth: Floats) -> Terms:
    """The terms of an ideal ranking, by descending worth, (N,), with rows of the table for positions."""
    return ideal.replace(row=np.lexsort((-worth, within.query))[ideal.row])


def exp2_gain(grade: Floats) -> Floats:
    """gain = 2^grade - 1, 0 below 0. Raises MetricError where it is too large for a float."""
    if (highest := grade.max(initial=0.0)) > LARGEST_EXPONENT:
        hint = "NDCNG and nDCGphi accept grades of any size"
        raise MetricError(f"gain=exp: the gain 2^{highest:g} is too large", hint=hint)
    return _small_gains(np.exp2(np.maximum(grade, 0.0)) - 1, grade, 1.0)


def exp2_share(grade: Floats, largest: float | Floats) -> Floats:
    """(2^grade - 1) / 2^largest, 0 below 0, for grades up to the largest: none is too large."""
    scale = np.exp2(-largest)
    return _small_gains(np.where(grade > 0, np.exp2(grade - largest) - scale, 0.0), grade, scale)


def highest_grade(judgments: Judgments, max_grade: float | None) -> float:
    """The largest grade in the qrels. Raises MetricError for a max_grade below it."""
    highest = float(judgments.scale.max(initial=0.0))
    if max_grade is not None and max_grade < highest:
        raise MetricError(f"max_grade={max_grade:g} is below the largest grade, {highest:g}")
    return highest


def _small_gains(gain: Floats, grade: Floats, scale: float | Floats) -> Floats:
    """The gains, (2^grade - 1) * scale, with those of grades near 0 computed without the subtraction."""
    small = (grade > 0) & (grade < _CANCELS)
    if not small.any():
        return gain
    return np.where(small, np.expm1(np.minimum(grade, _CANCELS) * math.log(2)) * scale, gain)


class Gain(Record):
    """A gain function."""

    name: Hashable  # unique, for caches
    of: Callable[[Floats, Ints], Floats]  # (grade, query) of some rows -> their gain, which never falls with it


LINEAR = Gain("linear", lambda grade, query: np.maximum(grade, 0.0))
EXP2 = Gain("exp", lambda grade, query: exp2_gain(grade))
MAPPED = Gain("mapped", lambda grade, query: grade)  # the grades of the table are the mapped gains


def graded(
    judgments: Judgments, gain: str | Pairs, top: tuple[int, ...] | None = None
) -> tuple[Judgments, Gain]:
    """The table with its grades replaced as `top` or a mapping of gains requires, and the gain function."""

    def by_position() -> Judgments:
        # equal grades all have the last of their positions: for 10/25/50 at most ten documents get grade 3
        assert top is not None
        last = judgments.ideal_levels.ends[judgments.ideal_levels.query]
        position = last - judgments.segments.offsets[judgments.query]
        grade = np.empty(len(position))
        grade[judgments.by_grade] = len(top) - np.searchsorted(np.array(top), position)
        return judgments.replace(grade=np.where(judgments.grade > 0, grade, 0.0))

    table = judgments if top is None else judgments.once(("top", top), by_position)
    if isinstance(gain, str):
        return table, EXP2 if gain == "exp" else LINEAR
    return table.once(("mapped", gain), lambda: table.replace(grade=mapped(table.grade, gain))), MAPPED


def discount(rank: Floats, kind: str | float = "log2") -> Floats:
    """The divisor of the gain at each rank; a number is the base of a logarithm, which is at least 1."""
    if kind == "log2":
        return log2(rank + 1)
    if kind == "letor":
        return np.maximum(log2(rank), 1.0)
    if not isinstance(kind, str):
        log: Floats = np.log(rank) / np.log(kind)
        return np.maximum(log, 1.0)
    return rank if kind == "zipf" else np.ones(len(rank))


def dcg(
    judgments: Judgments, gain: Gain, cutoff: int | None, kind: str | float = "log2", **fields: Any
) -> DiscountedTerms:
    """The sum of gain / discount over the first k ranks. fields: further ones of the terms."""
    if gain is MAPPED:  # which may map the grade 0 to a gain
        gains = judgments.grade != 0
        number = judgments.segments.number
        hits = judgments.once("gaining", lambda: Hits.of(judgments, gains, number(gains))).top(cutoff)
    else:
        hits = judgments.hits_from(None).top(cutoff)
    gained = gain.of(judgments.grade[hits.rows], hits.segments.query)
    discount_at = partial(discount, kind=kind)
    fields |= {"discount_at": discount_at, "weight_at": lambda rank: 1 / discount_at(rank), "cutoff": cutoff}
    return DiscountedTerms.of(hits.segments, hits.rows, hits.rank, gained, discount_at(hits.rank), **fields)


def ideal_dcg(judgments: Judgments, gain: Gain, kind: str | float = "log2") -> DiscountedTerms:
    """dcg of all judged documents by descending grade; rows are positions in that ranking."""
    return judgments.best.once(("ideal dcg", gain.name, kind), lambda: _ideal_dcg(judgments, gain, kind))


def _ideal_dcg(
    judgments: Judgments, gain: Gain, kind: str | float, cutoff: int | None = None
) -> DiscountedTerms:
    if cutoff is None:
        places = np.flatnonzero(judgments.ideal > 0)
    else:
        places = judgments.segments.first(cutoff)
        places = places[judgments.ideal[places] > 0]
    best = judgments.segments.take(places)
    gained = gain.of(judgments.ideal[places], best.query)
    rank = (best.place + 1).astype(np.float64)
    return DiscountedTerms.of(best, places, rank, gained, discount(rank, kind))


def normalized_dcg(
    judgments: Judgments, gain: Gain, cutoff: int | None, kind: str | float = "log2", *, local: bool = False
) -> Terms:
    """DCG / ideal DCG. local: the ideal ranking contains the documents retrieved only."""
    if local:
        judgments.check_depth_divides_no_ties()
    table = judgments.found if local else judgments

    def ideal() -> Terms:
        placed = with_rows(ideal_dcg(table, gain, kind).top(cutoff), table.segments, table.grade)
        return placed.replace(row=np.flatnonzero(judgments.is_retrieved)[placed.row]) if local else placed

    # where nothing relevant was retrieved, the local ideal is 0, and so is the value
    has_relevant = ideal_dcg(judgments, gain, kind).total > 0 if local else None
    total = "ideal total", gain.name, kind, cutoff
    best = table.best.once(total, lambda: _ideal_dcg(table, gain, kind, cutoff).total)
    return dcg(judgments, gain, cutoff, kind, normalizer=best, ideal=ideal, has_relevant=has_relevant)

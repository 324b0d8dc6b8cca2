"""Rankings compared without judgments: rank-biased overlap, overlap of the first ranks, rank correlation.

Pairs of ranked lists are columns: the documents of each list by rank, and those that both lists have.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from gradeval.arrays import Bools, Floats, Ints, NDArray, cached_property
from gradeval.arrays.segments import Column, Segments, offsets_of, ranges, ratio, stable_order
from gradeval.records import Record

NEGLIGIBLE = 40  # e^-40 of the weight of the first rank does not change a sum
_CELLS = 1 << 18  # depths of lists that are held at once
_STEPS = 1 << 20  # depths of tied documents that are
_SAME = 12  # decimals: a list with itself has 1, in whatever order its shares are added


class RankedLists(Record, eq=False):
    """Q ranked lists."""

    segments: Segments  # the documents of each by rank
    is_tied: Bools  # whether each has the score of the one before it in its list, (N,)

    @cached_property
    def has_ties(self) -> bool:
        return bool(self.is_tied.any())

    @cached_property
    def spans(self) -> tuple[Ints, Ints]:
        """The ranks of the first and the last document with the score of each, (N,) and (N,)."""
        rank = self.segments.place + 1
        if not self.has_ties:
            return rank, rank
        spans = rank.copy(), rank
        for end, of_tied in zip(spans, self.tied_spans, strict=True):
            end[self.tied] = of_tied
        return spans

    @cached_property
    def tied(self) -> Ints:
        """The documents with the score of another one, (T,)."""
        return np.flatnonzero(self.in_ties)

    @cached_property
    def tied_spans(self) -> tuple[Ints, Ints]:
        """The spans of these alone, (T,) and (T,)."""
        starts = np.flatnonzero(~self.is_tied[self.tied])
        lengths = np.diff(starts, append=len(self.tied))
        first = (self.segments.place[self.tied[starts]] + 1).repeat(lengths)
        return first, first + (lengths - 1).repeat(lengths)

    @cached_property
    def group(self) -> Ints:
        """A number for each document, which those with its score share, ascending over all lists, (N,)."""
        return np.cumsum(~self.is_tied)

    @cached_property
    def in_ties(self) -> Bools:
        """Which documents have the score of another one, (N,)."""
        in_ties: Bools = self.is_tied | np.append(self.is_tied[1:], False)[: len(self.is_tied)]
        return in_ties

    def first(self, depth: int) -> RankedLists:
        """The first ranks of each list; all of it where the last of these is tied with the next."""
        lengths = self.segments.lengths
        longer = np.flatnonzero(lengths > depth)
        longer = longer[~self.is_tied[self.segments.offsets[longer] + depth]]
        cut = lengths.copy()
        cut[longer] = depth
        rows = ranges(self.segments.starts, cut)
        return RankedLists(Segments(offsets_of(cut)), self.is_tied[rows])

    def take(self, first: int, last: int) -> RankedLists:
        """Lists first:last."""
        offsets = self.segments.offsets[first : last + 1]
        return RankedLists(Segments(offsets - offsets[0]), self.is_tied[offsets[0] : offsets[-1]])

    def to_depth(self, of_tied: Column, width: int) -> NDArray[Any]:
        """Each depth, (Q, width), but the values of tied documents at the ranks of these. of_tied: (T,)."""
        table = np.tile(np.arange(1, width + 1, dtype=of_tied.dtype), (self.segments.count, 1))
        rank = self.segments.place[self.tied]
        within = np.flatnonzero(rank < width)
        table[self.segments.query[self.tied[within]], rank[within]] = of_tied[within]
        return table


class RankedPairs(Record, eq=False):
    """Q pairs of ranked lists, and the C documents that both lists of a pair have."""

    lists: tuple[RankedLists, RankedLists]
    # the rows of these documents in the lists, (2, C), by rank in the first list; pairs in order
    rows: Ints

    @property
    def count(self) -> int:
        return self.lists[0].segments.count

    @property
    def sides(self) -> Iterator[tuple[RankedLists, Ints]]:
        """Each list with its rows."""
        return zip(self.lists, self.rows, strict=True)

    @cached_property
    def has_ties(self) -> bool:
        return any(side.has_ties for side in self.lists)

    @cached_property
    def lengths(self) -> Ints:
        """Of the lists, (2, Q)."""
        return np.array([side.segments.lengths for side in self.lists])

    @cached_property
    def query(self) -> Ints:
        """The pair of each common document, (C,)."""
        return self.common.query

    @cached_property
    def common(self) -> Segments:
        """The common documents by pair."""
        return Segments(np.searchsorted(self.rows[0], self.lists[0].segments.offsets))

    @cached_property
    def ranks(self) -> Ints:
        """Of the common documents in both lists, (2, C)."""
        counts = self.common.lengths
        return np.array([rows - (side.segments.starts - 1).repeat(counts) for side, rows in self.sides])

    @cached_property
    def spans(self) -> tuple[Ints, Ints]:
        """The ranks of the first and the last document with the score of each, in both lists, (2, C) each."""
        spans = [[end[rows] for end in side.spans] for side, rows in self.sides]
        return np.array([first for first, _ in spans]), np.array([last for _, last in spans])

    @cached_property
    def positions(self) -> Ints:
        """How many common documents are above each in each list, (2, C)."""
        is_common = np.zeros(len(self.lists[1].is_tied), bool)
        is_common[self.rows[1]] = True
        number = np.cumsum(is_common)[self.rows[1]]
        # each pair has as many in the second list as in the first
        in_second = number - (self.common.starts + 1).repeat(self.common.lengths)
        return np.array([self.common.place, in_second])

    @cached_property
    def above_in_both(self) -> Ints:
        """How many common documents are above each in both lists, (C,)."""
        return self.common.lower_before_in_order(self.positions[1])

    def within(self, limits: Ints | int) -> Ints:
        """The common documents of ranks up to these. limits: for both lists, (2, C), or one for all."""
        return np.flatnonzero((self.ranks <= limits).all(axis=0))

    def first(self, depth: int) -> RankedPairs:
        """The first ranks of each list, as RankedLists.first() has them."""
        if not (self.lengths > depth).any():
            return self
        old, new = (side.first(depth) for side in self.lists)
        lengths = np.array([old.segments.lengths, new.segments.lengths])
        within = self.within(lengths.repeat(self.common.lengths, axis=1))
        query = self.query.take(within)
        rows = [
            side.segments.offsets.take(query) + ranks.take(within) - 1
            for side, ranks in zip((old, new), self.ranks, strict=True)
        ]
        return RankedPairs((old, new), np.array(rows))

    def parts(self, width: int) -> Iterator[RankedPairs]:
        """Some pairs at a time, so that numbers of them to this depth are few."""
        step = max(1, _CELLS // max(width, 1))
        if step >= self.count:
            yield self
            return
        for start in range(0, self.count, step):
            end = min(start + step, self.count)
            begin = np.array([[side.segments.offsets[start]] for side in self.lists])
            rows = self.rows[:, slice(*self.common.offsets[[start, end]].tolist())] - begin
            yield RankedPairs((self.lists[0].take(start, end), self.lists[1].take(start, end)), rows)

    def counted_to(self, depth: Ints, width: int, rows: Ints | None = None) -> Ints:
        """How many common documents have at most each depth, (Q, width). depth: of each, (C,). rows: of which
        of these, if not of all.
        """
        within = np.flatnonzero(depth <= width)
        query = self.query[within if rows is None else rows[within]]
        cell = query * width + depth[within] - 1
        counts = np.bincount(cell, minlength=self.count * width).reshape(self.count, width)
        return counts.cumsum(axis=1)


# --- rank-biased overlap


class RBO(NamedTuple):
    """The rank-biased overlap of each pair, (Q,)."""

    value: Floats  # extrapolated
    low: Floats  # the lowest value, whatever documents follow below the lists
    high: Floats  # likewise the highest


def rank_biased_overlap(pairs: RankedPairs, p: float = 0.9, ties: str = "b") -> RBO:
    """Rank-biased overlap, extrapolated, with its lowest and highest value.

    RBO = (1 - p) / p (Σ_{d <= l} A_d p^d + tail), with the agreement A_d of the first d documents of both
    lists, of which the longer one has l. At depth d, a document whose score has the ranks t to b contributes
    c = 1 if t <= d (ties 'w'), or (d - t + 1) / (b - t + 1) from t to b (a, b). X_d = Σ c_1 c_2 of the common
    documents; A_d = 2 X / (Σ c_1 + Σ c_2) (w), X / d (a), X / sqrt(Σ c_1² Σ c_2²) (b). Behind the end s of the
    shorter list, X_d gets what its unseen documents add: (d - s) A_s mean(c of what only the longer list has)
    for the value; 0 for the lowest; for the highest the sum of c of the first d - s of these. Tails as in the
    sources.

    p: the probability that a user continues to the next rank. ties: 'b', 'w', or 'a', by which a list with ties
    has less than 1 with itself. Two empty lists have 1, an empty and another one 0. Values in [0, 1].
    Source: Webber, Moffat and Zobel, "A similarity measure for indefinite rankings", TOIS 2010; ties: Corsi and
    Urbano, "The treatment of ties in rank-biased overlap", SIGIR 2024.
    """
    depth = math.ceil(NEGLIGIBLE / (1 - p))  # ranks below it have no weight
    width = min(depth, int(pairs.lengths.max(initial=0)))
    if not width:
        return RBO(*np.ones((3, pairs.count)))
    parts = [_rbo(part, p, ties, width) for part in pairs.first(depth).parts(width)]
    values = np.concatenate(parts, axis=1).round(_SAME)
    shorter, longer = np.sort(pairs.lengths, axis=0)
    values[:, shorter == 0] = 0.0
    values[:, longer == 0] = 1.0
    return RBO(*values)


def _rbo(pairs: RankedPairs, p: float, ties: str, width: int) -> Floats:
    """(3, Q): the value, the lowest, the highest. width: the last depth that counts."""
    depth = np.arange(1, width + 1)
    shorter, longer = np.minimum(np.sort(pairs.lengths, axis=0), width)
    overlap = _overlaps(pairs, ties, width)
    size = _sizes(pairs, ties, width)
    agreement = np.where(depth <= longer[:, None], overlap / size, 0.0)
    weight = p**depth
    sums = np.tile((agreement * weight).sum(axis=1), (3, 1))
    last = np.maximum(np.array([shorter, longer]) - 1, 0)
    row = np.arange(pairs.count)
    at_shorter = np.where(shorter > 0, agreement[row, last[0]], 0.0)
    uneven = np.flatnonzero(shorter < longer)
    if len(uneven):
        more, most = _unseen(pairs, ties, width)
        beyond = (depth > shorter[:, None]) & (depth <= longer[:, None])
        share = np.where(beyond, weight / size, 0.0)
        sums[0] += at_shorter * (share * more).sum(axis=1)
        sums[2] += (share * most).sum(axis=1)
    # 'w' also counts documents below that are tied with these
    common = np.minimum(overlap[row, last[1]].round(), shorter)
    sums += _tails(common, shorter, longer, at_shorter, p)
    return (1 - p) / p * sums


def _tails(common: Floats, shorter: Ints, longer: Ints, at_shorter: Floats, p: float) -> Floats:
    """What the depths below the longer list add, (3, Q). common: documents in both. at_shorter: agreement."""
    full = (longer + shorter - common).astype(np.int64)  # the depth where all are common at most
    depth = np.arange(1, int(full.max(initial=0)) + 1)
    powers, inverse = (np.append(0.0, np.cumsum(term)) for term in (p**depth, p**depth / depth))
    extrapolated = ratio(common + (longer - shorter) * at_shorter, longer) * p ** (longer + 1) / (1 - p)
    lowest = common * (-math.log1p(-p) - inverse[longer])
    filling = 2 * (powers[full] - powers[longer]) - full * (inverse[full] - inverse[longer])
    return np.array([extrapolated, lowest, filling + p ** (full + 1.0) / (1 - p)])


def _sizes(pairs: RankedPairs, ties: str, width: int) -> Floats:
    """What the overlap is divided by at each depth, (Q, width)."""
    depth = np.arange(1.0, width + 1)
    if ties == "a" or not pairs.has_ties:
        return np.tile(depth, (pairs.count, 1))
    if ties == "w":
        counts = [side.to_depth(side.tied_spans[1], width) for side in pairs.lists]
        mean: Floats = np.add(*counts) / 2
        return mean
    squares = []
    for side in pairs.lists:
        first, last = side.tied_spans
        rank = side.segments.place[side.tied] + 1
        square = first - 1 + np.square(rank - first + 1) / (last - first + 1)
        squares.append(side.to_depth(square, width))
    size: Floats = np.sqrt(squares[0] * squares[1])
    return size


def _overlaps(pairs: RankedPairs, ties: str, width: int) -> Floats:
    """X_d of each depth, (Q, width)."""
    first, last = pairs.spans
    if ties == "w" or not pairs.has_ties:
        return pairs.counted_to(first.max(axis=0), width).astype(np.float64)
    begin, end = first.max(axis=0), last.max(axis=0)
    overlap = pairs.counted_to(end, width).astype(np.float64)
    rising = np.flatnonzero((begin < end) & (begin <= width))
    # those with the same scores in both lists rise alike
    order, alike = _grouped(pairs.query[rising], *first[:, rising])
    rising, weight = rising[order[alike.starts]], alike.lengths
    steps = np.minimum(end[rising] - 1, width) - begin[rising] + 1
    for some in np.array_split(np.arange(len(rising)), int(steps.sum()) // _STEPS + 1):
        rows, count, number = rising[some], steps[some], weight[some]
        depth = ranges(begin[rows], count)
        rows = rows.repeat(count)
        shares = np.minimum((depth - first[:, rows] + 1) / (last - first + 1)[:, rows], 1.0)
        cell = pairs.query[rows] * width + depth - 1
        overlap += np.bincount(cell, number.repeat(count) * shares[0] * shares[1], overlap.size).reshape(
            overlap.shape
        )
    return overlap


def _grouped(*keys: Ints) -> tuple[Ints, Segments]:
    """An order in which rows with equal keys are together, otherwise as they stand; and these groups."""
    order = stable_order(*keys)
    return order, Segments.of_equal(*(key[order] for key in keys))


def _unseen(pairs: RankedPairs, ties: str, width: int) -> tuple[Floats, Floats]:
    """What the documents that the shorter list would have below its end add to the overlap at each depth, (Q,
    width): at the agreement 1 of its end for the value, and at most.
    """
    depth = np.arange(1, width + 1)
    is_first_longer = (pairs.lengths[0] > pairs.lengths[1])[:, None]
    both = [[side.to_depth(end, width) for end in side.tied_spans] for side in pairs.lists]
    first, last = (np.where(is_first_longer, ours, theirs) for ours, theirs in zip(*both, strict=True))
    tops, _ = pairs.spans
    of_common = np.where(is_first_longer[pairs.query, 0], tops[0], tops[1])
    counted = np.pad(pairs.counted_to(of_common, width), ((0, 0), (1, 0)))
    above = np.take_along_axis(counted, first - 1, axis=1)  # common ones above the group of each depth
    whole = first - 1 - above  # those above it that only the longer list has
    partial = last - first + 1 - (counted[:, 1:] - above)
    share = np.ones(first.shape) if ties == "w" else (depth - first + 1) / (last - first + 1)
    unseen = np.maximum(depth - np.minimum(*pairs.lengths)[:, None], 0)
    mean = (whole + share * partial) / np.maximum(whole + partial, 1)
    most = np.minimum(unseen, whole) + share * np.clip(unseen - whole, 0, partial)
    return unseen * mean, most


# --- the first ranks


def first_ranks(pairs: RankedPairs, cutoffs: Sequence[int]) -> Mapping[str, Floats]:
    """What the first k documents of both lists have in common, by measure, (Q,) each.

    overlap@k = |A ∩ B| / min(k, longest); jaccard@k = |A ∩ B| / |A ∪ B|; AO@k, the mean of overlap@1 … k; all 1
    where both are empty. same@k: whether they are the same in order, same_set@k: as sets. new@k: how many only
    the second list has in its first k, lost@k: only the first list; up@k, down@k: in both, at a smaller or
    larger rank of the second. same@1 is there for any cutoffs. Unit free, or counts.
    """
    parts = [_first_ranks_of_part(part, cutoffs) for part in pairs.parts(max(cutoffs))]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _first_ranks_of_part(pairs: RankedPairs, cutoffs: Sequence[int]) -> Mapping[str, Floats]:
    """first_ranks() of a part of the pairs: their numbers at all depths are in memory."""
    width = max(cutoffs)
    rows = pairs.within(width)
    old, new = pairs.ranks[:, rows]
    query = pairs.query[rows]
    common_to = pairs.counted_to(np.maximum(old, new), width, rows)
    longest = pairs.lengths.max(axis=0)
    at_most = np.minimum(np.arange(1, width + 1), longest[:, None])
    overlap = np.where(at_most > 0, common_to / np.maximum(at_most, 1), 1.0)
    in_place = pairs.counted_to(old[old == new], width, rows[old == new])
    values: dict[str, Floats] = {}
    for k in dict.fromkeys([1, *cutoffs]):
        retrieved = np.minimum(pairs.lengths, k)
        common = common_to[:, k - 1]
        is_even = retrieved[0] == retrieved[1]
        within = np.maximum(old, new) <= k
        measures = {
            "overlap": overlap[:, k - 1],
            "jaccard": ratio(common, retrieved.sum(axis=0) - common, empty=1.0),
            "AO": overlap[:, :k].mean(axis=1),
            "same": is_even & (in_place[:, k - 1] == retrieved[0]),
            "same_set": is_even & (common == retrieved[0]),
            "new": retrieved[1] - common,
            "lost": retrieved[0] - common,
            "up": np.bincount(query[within & (new < old)], minlength=pairs.count),
            "down": np.bincount(query[within & (new > old)], minlength=pairs.count),
        }
        values |= {f"{name}@{k}": value.astype(np.float64) for name, value in measures.items()}
    return values


# --- rank correlation


def correlations(pairs: RankedPairs) -> tuple[Floats, Floats]:
    """Kendall's τ-b of the scores, and the AP correlation of the ranks, over the documents in both lists, (Q,).

    τ-b = (concordant - discordant pairs) / sqrt((pairs not tied in one) (pairs not tied in the other)). τ_AP =
    2 / (n - 1) Σ_{i = 2 … n} C(i) / (i - 1) - 1, with C(i) the documents above rank i of the one list that are
    above its document in the other too; the mean of both directions. Values in [-1, 1]; NaN below 2 documents,
    and τ-b where all of them are tied in one list.
    Source: Kendall, "The treatment of ties in ranking problems", Biometrika 1945; Yilmaz, Aslam and Robertson,
    "A new rank correlation coefficient for information retrieval", SIGIR 2008.
    """
    within = pairs.common
    surplus = within.sum(2 * pairs.above_in_both - within.place)
    apart = np.tile(within.lengths * (within.lengths - 1) / 2, (2, 1))
    if pairs.has_ties:
        of_tied, tied = _tied_pairs(pairs)
        surplus -= of_tied[0] + of_tied[1] - of_tied[2]
        apart -= tied[:2]
    tau = ratio(surplus, np.sqrt(apart[0]) * np.sqrt(apart[1]), empty=np.nan)
    return tau.round(_SAME), _tau_ap(pairs).round(_SAME)


def _tied_pairs(pairs: RankedPairs) -> tuple[Floats, Floats]:
    """Pairs of documents tied in the first list, in the second, and in both, (3, Q): those in the same order by
    rank in both lists less the others; and all.
    """
    old, new = (side.in_ties[rows] for side, rows in pairs.sides)
    kinds = [np.flatnonzero(are_tied) for are_tied in (old, new, old & new)]  # by rank in the first list
    kind = np.arange(3).repeat([len(rows) for rows in kinds])
    documents = np.concatenate(kinds)
    groups = [side.group[rows[documents]] for side, rows in pairs.sides]
    order, within = _grouped(kind, np.where(kind == 1, 0, groups[0]), np.where(kind == 0, 0, groups[1]))
    documents = documents[order]
    position = np.empty_like(order)
    position[stable_order(within.query, pairs.ranks[1, documents])] = within.place
    surplus = 2 * within.lower_before_in_order(position) - within.place
    cell = kind[order] * pairs.count + pairs.query[documents]
    sums = (np.bincount(cell, values, 3 * pairs.count) for values in (surplus, within.place))
    by_kind = [total.astype(np.float64, copy=False).reshape(3, -1) for total in sums]
    return by_kind[0], by_kind[1]


def _tau_ap(pairs: RankedPairs) -> Floats:
    within = pairs.common
    first, second = pairs.above_in_both / np.maximum(pairs.positions, 1)
    # the mean of both directions: 2 / (n - 1) of half the sum of both
    mean = ratio(within.sum(first + second), within.lengths - 1, empty=np.nan)
    return np.where(within.lengths > 1, mean - 1, np.nan)

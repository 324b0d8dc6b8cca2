"""Permutation tests once more: slow, in plain Python, one flip or permutation at a time, in exact fractions.

The random streams are read here as the docstrings of gradeval.analysis.stats describe them.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise, product

from numpy.random import Philox

TOLERANCE = Fraction(1, 10**12)


def words(seed, purpose, block, count):
    generator = Philox(key=[seed, purpose], counter=[0, 0, block, 0])
    return [int(word) for word in generator.random_raw(count)]


def all_signs(n):
    return [list(signs) for signs in product((1, -1), repeat=n)]


def random_signs(n, samples, seed):
    """The signs of each random flip, of n rows."""
    size = -(-n // 64)
    flips = []
    for block in range(-(-samples // 1024)):
        rows = min(1024, samples - 1024 * block)
        stream = words(seed, 1, block, rows * size)
        for row in range(rows):
            bits = sum(word << (64 * i) for i, word in enumerate(stream[row * size : (row + 1) * size]))
            flips.append([-1 if bits >> q & 1 else 1 for q in range(n)])
    return flips


def is_extreme(values, signs):
    """Whether the signed sum is at least as extreme as the plain one, to 1e-12 of the largest there can be."""
    values = [Fraction(value) for value in values]
    slack = TOLERANCE * sum(abs(value) for value in values)
    return abs(sum(s * v for s, v in zip(signs, values, strict=True))) >= abs(sum(values)) - slack


def sign_flip_p(values, flips, observed_too):
    """observed_too: whether the flips hold the observed signs; if not, they count as one more."""
    extreme = sum(is_extreme(values, signs) for signs in flips)
    return extreme / len(flips) if observed_too else (extreme + 1) / (len(flips) + 1)


def t_squared(values):
    """t^2 of the values, or infinity."""
    n, total = len(values), sum(values)
    rest = n * sum(value * value for value in values) - total * total
    return (n - 1) * total * total / rest if rest else math.inf


def maxt(columns, flips, observed_too):
    """Step-down maxT: columns of (row -> Fraction), flips of signs by row."""
    observed = [t_squared(list(column.values())) for column in columns]
    order = sorted(range(len(columns)), key=lambda i: -observed[i])
    extreme = [0] * len(columns)
    for signs in flips:
        flipped = [t_squared([signs[row] * value for row, value in column.items()]) for column in columns]
        for place, i in enumerate(order):
            largest = max(flipped[j] for j in order[place:])
            extreme[i] += largest >= observed[i] * (1 - TOLERANCE)
    p = [(e if observed_too else e + 1) / (len(flips) + (not observed_too)) for e in extreme]
    for earlier, later in pairwise(order):
        p[later] = max(p[later], p[earlier])
    return p


def random_ranges(values, samples, seed):
    """The largest difference of two systems' sums, for each random permutation within all queries (rows)."""
    queries, systems = len(values), len(values[0])
    block_rows = max(1, 2**15 // (queries * systems))
    found = []
    for block in range(-(-samples // block_rows)):
        rows = min(block_rows, samples - block_rows * block)
        count = (systems - 1) * rows * queries
        stream = words(seed, 3, block, -(-count // 2))
        halves = [half for word in stream for half in (word & 0xFFFFFFFF, word >> 32)]
        for row in range(rows):
            sums = [0] * systems
            for query in range(queries):
                left = list(values[query])
                for step, last in enumerate(range(systems - 1, 0, -1)):
                    chosen = halves[(step * rows + row) * queries + query] * (last + 1) >> 32
                    left[chosen], left[last] = left[last], left[chosen]
                sums = [total + value for total, value in zip(sums, left, strict=True)]
            found.append(max(sums) - min(sums))
    return found


def resampled_means(values, samples, seed):
    n = len(values)
    block_rows = max(1, 2**15 // n)
    means = []
    for block in range(-(-samples // block_rows)):
        rows = min(block_rows, samples - block_rows * block)
        stream = words(seed, 2, block, -(-rows * n // 2))
        halves = [half for word in stream for half in (word & 0xFFFFFFFF, word >> 32)]
        for row in range(rows):
            drawn = [values[half * n >> 32] for half in halves[row * n : (row + 1) * n]]
            means.append(math.fsum(drawn) / n)
    return means

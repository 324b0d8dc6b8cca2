"""Permutation tests once more: slow, in plain Python, in exact fractions; data of published worked examples.

The random streams are read here as the docstrings of gradeval.statistics describe them. It stands here since
tests/statistics must be no package: it would hide the standard library's statistics.
"""

import math
from fractions import Fraction
from itertools import combinations, pairwise, permutations, product
from statistics import NormalDist

import numpy as np
from numpy.random import Philox

TOLERANCE = Fraction(1, 10**12)


def words(seed, purpose, block, count):
    generator = Philox(key=[seed, purpose], counter=[0, 0, block, 0])
    return [int(word) for word in generator.random_raw(count)]


def all_signs(n):
    return [list(signs) for signs in product((1, -1), repeat=n)]


def random_signs(n, samples, seed):
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


def halves_of(stream):
    return [half for word in stream for half in (word & 0xFFFFFFFF, word >> 32)]


def random_ranges(values, samples, seed):
    """The largest difference of two systems' sums, for each random permutation within all queries (rows)."""
    systems = len(values[0])
    permuted = listed_permutations if systems <= 8 else split_permutations if systems <= 12 else fisher_yates
    sums = ([sum(column) for column in zip(*rows, strict=True)] for rows in permuted(values, samples, seed))
    return [max(of) - min(of) for of in sums]


def listed_permutations(values, samples, seed):
    """The permuted values of each sample, by their place in the list of all permutations."""
    systems, queries = len(values[0]), len(values)
    orders = list(permutations(range(systems)))
    together = 1
    while len(orders) ** (together + 1) <= 2**10:
        together += 1
    tables = [list(range(queries))[start : start + together] for start in range(0, queries, together)]
    each = max(1, 2**14 // len(orders) ** together)
    tiles = [tables[start : start + each] for start in range(0, len(tables), each)]
    found = [[None] * queries for _ in range(samples)]
    for first in range(0, samples, 4096):
        rows = min(4096, samples - first)
        for tile, of_tile in enumerate(tiles):
            count = rows * len(of_tile)
            drawn = iter(halves_of(words(seed, 3, first // 4096 * len(tiles) + tile, -(-count // 2))))
            for members in of_tile:
                for row in range(rows):
                    place = next(drawn) * len(orders) ** len(members) >> 32
                    for query in reversed(members):
                        place, own = divmod(place, len(orders))
                        found[first + row][query] = [values[query][k] for k in orders[own]]
    return found


def split_permutations(values, samples, seed):
    """The permuted values of each sample, by the places of three groups of systems in a list of all splits."""
    systems, queries = len(values[0]), len(values)
    sizes = [(systems + 2 - g) // 3 for g in range(3)]
    splits = []
    for first in combinations(range(systems), sizes[0]):
        left = [k for k in range(systems) if k not in first]
        for second in combinations(left, sizes[1]):
            splits.append((first, second, tuple(k for k in left if k not in second)))
    orders = list(product(*(permutations(range(size)) for size in sizes)))
    tiles = -(-queries // 4)
    found = [[None] * queries for _ in range(samples)]
    for first in range(0, samples, 4096):
        rows = min(4096, samples - first)
        for tile in range(tiles):
            members = range(queries)[4 * tile : 4 * tile + 4]
            drawn = halves_of(words(seed, 3, first // 4096 * tiles + tile, rows * len(members)))
            for i, query in enumerate(members):
                for row in range(rows):
                    split = splits[drawn[2 * i * rows + row] * len(splits) >> 32]
                    order = orders[drawn[(2 * i + 1) * rows + row] * len(orders) >> 32]
                    places = [of[k] for of, own in zip(split, order, strict=True) for k in own]
                    found[first + row][query] = [values[query][k] for k in places]
    return found


def fisher_yates(values, samples, seed):
    queries, systems = len(values), len(values[0])
    block_rows = max(1, 2**15 // (queries * systems))
    found = []
    for block in range(-(-samples // block_rows)):
        rows = min(block_rows, samples - block_rows * block)
        count = (systems - 1) * rows * queries
        halves = halves_of(words(seed, 3, block, -(-count // 2)))
        for row in range(rows):
            permuted = []
            for query in range(queries):
                left = list(values[query])
                for step, last in enumerate(range(systems - 1, 0, -1)):
                    chosen = halves[(step * rows + row) * queries + query] * (last + 1) >> 32
                    left[chosen], left[last] = left[last], left[chosen]
                permuted.append(left)
            found.append(permuted)
    return found


def poisson_thresholds(mean):
    """P(X <= k) * 2^48, rounded down, while it is below 2^48 - 1; by the series of e^mean."""
    mean = Fraction(mean)
    terms = [Fraction(1)]
    while len(terms) < 60:
        terms.append(terms[-1] * mean / len(terms))
    found = [int(sum(terms[: k + 1]) / sum(terms) * 2**48) for k in range(30)]
    return [one for one in found if one < 2**48 - 1]


def weighted_t(values, weights):
    """The weighted mean, t^2, the degrees of freedom and the variance of the mean, in fractions."""
    values, weights, n = list(map(Fraction, values)), list(map(Fraction, weights)), len(values)
    total = sum(weights)
    mean = sum(w * x for w, x in zip(weights, values, strict=True)) / total
    squares = sum((w * (x - mean)) ** 2 for w, x in zip(weights, values, strict=True))
    variance = Fraction(n, n - 1) * squares / total**2
    return mean, mean**2 / variance, total**2 / sum(w * w for w in weights) - 1, variance


def bca_ends(resampled, values, weights, alpha):
    """The ends of the BCa interval of a weighted mean, by its formula."""
    normal, samples = NormalDist(), len(resampled)
    mean = sum(w * x for w, x in zip(weights, values, strict=True)) / sum(weights)
    bias = normal.inv_cdf(sum((one < mean) + (one == mean) / 2 for one in resampled) / samples)
    influence = [w * (x - mean) for w, x in zip(weights, values, strict=True)]
    skew = sum(u**3 for u in influence) / (6 * sum(u**2 for u in influence) ** 1.5)
    shares = []
    for z in (normal.inv_cdf(alpha / 2), normal.inv_cdf(1 - alpha / 2)):
        shares.append(normal.cdf(bias + (bias + z) / (1 - skew * (bias + z))))
    return np.quantile(resampled, shares).tolist()


def resampled_means(values, samples, seed, weights=None):
    """The means of the resamples, and how many of these began again."""
    weights = weights or [1.0] * len(values)
    n = len(values)
    block_rows = max(1, 2**17 // n)
    thresholds = poisson_thresholds(max(0.0, 1 - 3 / math.sqrt(n)))
    means, restarted = [], 0
    for block in range(-(-samples // block_rows)):
        rows = min(block_rows, samples - block_rows * block)
        stream = words(seed, 2, block, rows * (n + 1))
        quarters = [word >> shift & 0xFFFF for word in stream[: -(-rows * n // 4)] for shift in (0, 16, 32, 48)]
        del stream[: -(-rows * n // 4)]
        open_ = [q for q in quarters[: rows * n] if any(one >> 32 == q and one % 2**32 for one in thresholds)]
        more = iter(halves_of(stream))
        counts = []
        for quarter in quarters[: rows * n]:
            undecided = any(one >> 32 == quarter and one % 2**32 for one in thresholds)
            fraction = (quarter << 32) + (next(more) if undecided else 0)
            counts.append(sum(fraction >= one for one in thresholds))
        more = iter(halves_of(stream[-(-len(open_) // 2) :]))
        for row in range(rows):
            times = counts[row * n : (row + 1) * n]
            if sum(times) > n:
                times = [0] * n
                restarted += 1
            while sum(times) < n:
                times[next(more) * n >> 32] += 1
            drawn = [k for k, count in enumerate(times) for _ in range(count)]
            total = math.fsum(weights[k] for k in drawn)
            means.append(math.fsum(weights[k] * values[k] for k in drawn) / total)
    return means, restarted


# Darwin's maize, crossed less self-fertilized, in eighths of an inch: Fisher, "The Design of Experiments",
# 1935, sections 17 and 21
MAIZE = np.array([49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48], np.float64)

# hours of sleep gained by one drug over the other: Student, "The probable error of a mean", Biometrika 1908
SLEEP = np.array([1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4])

# Hamilton depression scale, first visit less second: Hollander and Wolfe, "Nonparametric Statistical Methods",
# 1973, example 3.1
DEPRESSION = np.array([1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30]) - np.array(
    [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29]
)

# effectiveness of B less A on ten queries: Croft, Metzler and Strohman, "Search Engines: Information Retrieval
# in Practice", 2010, section 8.6.1
TEN_QUERIES = np.array([35, 84, 15, 75, 68, 85, 80, 50, 58, 75], np.float64) - np.array(
    [25, 43, 39, 75, 43, 15, 20, 52, 49, 50]
)

# 20 topics by 3 runs: table 5.1 of Sakai's book on methods of evaluating information access (in Japanese), 2015
SAKAI = (
    np.array(
        [
            [7, 3, 2, 6, 4, 4, 0, 7, 1, 3, 5, 4, 0, 6, 5, 3, 1, 5, 2, 1],
            [5, 1, 0, 2, 4, 3, 0, 5, 3, 3, 4, 4, 1, 4, 2, 1, 1, 6, 3, 2],
            [0, 0, 2, 1, 3, 3, 1, 2, 4, 4, 4, 3, 3, 2, 2, 2, 1, 5, 4, 3],
        ]
    ).T
    / 10
)

# 15 p-values of a study of thrombolysis: Benjamini and Hochberg, "Controlling the false discovery rate", 1995,
# section 3.2
THROMBOLYSIS = np.array(
    [
        *(0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344),
        *(0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0000),
    ]
)

"""Correlations of scores and grades once more, as in reference.py."""

import math

from metrics.reference import NAN, REFERENCE, reference, relevant_set

__all__ = ["REFERENCE"]


def lacking(qrels, run):
    """The run lacks a query that could have been ordered: 0, as for every metric."""
    return not run and len(set(qrels.values())) > 1


def pairs_of(qrels, run):
    both = [d for d in qrels if d in run]
    return [run[d] for d in both], [qrels[d] for d in both]


@reference("tau")
def _(qrels, run, level, judged):
    if lacking(qrels, run):
        return 0.0
    x, y = pairs_of(qrels, run)
    surplus = x_apart = y_apart = 0
    for i in range(len(x)):
        for j in range(i):
            a, b = (x[i] > x[j]) - (x[i] < x[j]), (y[i] > y[j]) - (y[i] < y[j])
            surplus += a * b
            x_apart += a * a
            y_apart += b * b
    return surplus / math.sqrt(x_apart * y_apart) if x_apart and y_apart else NAN


def correlation(x, y):
    if len(set(x)) < 2 or len(set(y)) < 2:
        return NAN
    mx, my = math.fsum(x) / len(x), math.fsum(y) / len(y)
    xy = math.fsum((a - mx) * (b - my) for a, b in zip(x, y, strict=True))
    xx, yy = math.fsum((a - mx) ** 2 for a in x), math.fsum((b - my) ** 2 for b in y)
    return xy / math.sqrt(xx * yy)


def midranks(values):
    return [sum(1 for o in values if o < v) + (sum(1 for o in values if o == v) + 1) / 2 for v in values]


@reference("rho")
def _(qrels, run, level, judged):
    if lacking(qrels, run):
        return 0.0
    return correlation(*map(midranks, pairs_of(qrels, run)))


@reference("pearson")
def _(qrels, run, level, judged):
    return 0.0 if lacking(qrels, run) else correlation(*pairs_of(qrels, run))


@reference("AUC")
def _(qrels, run, level, judged, rel=None):
    if lacking(qrels, run):
        return 0.0
    good = relevant_set(qrels, level, rel)
    bad = set(qrels) - good
    if not good or not bad:
        return NAN
    wins = 0.0
    for a in good:
        for b in bad:
            mine, other = run.get(a, -math.inf), run.get(b, -math.inf)
            wins += 1.0 if mine > other else 0.5 if mine == other else 0.0
    return wins / (len(good) * len(bad))

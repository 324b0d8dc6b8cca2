"""The slow references of the metrics that model a reader, continued from reference.py in the same style."""

import math

from metrics.reference import NAN, REFERENCE, gain_of, placed, ranked, ratio, reference, relevant_set

__all__ = ["REFERENCE"]


def chance_of(qrels, judged, gain, max_grade):
    """document -> how likely it satisfies the reader."""
    largest = max([4.0, *judged]) if max_grade is None else max_grade
    if isinstance(gain, str):
        top = 2.0**largest - 1 if gain == "exp" else largest
    else:
        gains = [gain_of(grade, gain) for grade in judged]
        top = max([*gains, *(worth for _, worth in gain), max_grade or 0.0])
    return {d: gain_of(grade, gain) / (top + 1) for d, grade in qrels.items()}


def walk(chances, worth):
    """chances: of the documents from the first rank."""
    value, left = 0.0, 1.0
    for rank, chance in enumerate(chances, 1):
        value += worth(rank) * chance * left
        left *= 1 - chance
    return value


def cascade(qrels, run, judged, gain, max_grade, cutoff, worth):
    chances = chance_of(qrels, judged, gain, max_grade)
    ideal = sorted(chances.values(), reverse=True)[:cutoff]
    return walk([chances.get(d, 0.0) for d in ranked(run, cutoff)], worth), walk(ideal, worth)


@reference("ERR")
def _(qrels, run, level, judged, gain="exp", max_grade=None, cutoff=None):
    return cascade(qrels, run, judged, gain, max_grade, cutoff, lambda rank: 1 / rank)[0]


@reference("nERR")
def _(qrels, run, level, judged, gain="exp", max_grade=None, cutoff=None):
    return ratio(*cascade(qrels, run, judged, gain, max_grade, cutoff, lambda rank: 1 / rank))


@reference("iRBU")
def _(qrels, run, level, judged, p=0.99, gain="exp", max_grade=None, cutoff=None):
    return cascade(qrels, run, judged, gain, max_grade, cutoff, lambda rank: p**rank)[0]


def gains_in_order(qrels, run, min_rel, max_rel, n):
    """The gains of the first n ranks, 0 where there is nothing."""

    def gain(grade):
        return min(max((max(grade, 0.0) - min_rel) / (max_rel - min_rel), 0.0), 1.0)

    gains = [gain(qrels[d]) if d in qrels else 0.0 for d in ranked(run, n)]
    return gains + [0.0] * (n - len(gains))


def rate(gains, goes_on):
    """The mean gain of the documents, weighted with how likely each is looked at.

    goes_on: (rank, its gain, all gains up to it) -> how likely the reader goes on from there.
    """
    likely, total, looked, so_far = 1.0, 0.0, 0.0, 0.0
    for rank, gain in enumerate(gains, 1):
        total += likely * gain
        looked += likely
        so_far += gain
        likely *= goes_on(rank, gain, so_far)
    return total / looked


@reference("INST")
def _(qrels, run, level, judged, max_rel, T=1.0, min_rel=0.0, n=1000):
    def goes_on(rank, gain, so_far):
        there = rank + 2 * T - so_far
        return ((there - 1) / there) ** 2

    return rate(gains_in_order(qrels, run, min_rel, max_rel, n), goes_on)


def patience(rank, T):
    return ((rank + 2 * T - 1) / (rank + 2 * T)) ** 2


@reference("INSQ")
def _(qrels, run, level, judged, max_rel, T=1.0, min_rel=0.0, n=1000):
    gains = gains_in_order(qrels, run, min_rel, max_rel, n)
    return rate(gains, lambda rank, gain, so_far: patience(rank, T))


@reference("BPM")
def _(qrels, run, level, judged, max_rel, cutoff, T=1.0, min_rel=0.0):
    gains = gains_in_order(qrels, run, min_rel, max_rel, cutoff)
    return rate(gains, lambda rank, gain, so_far: float(so_far < T))


@reference("SDCG")
def _(qrels, run, level, judged, max_rel, cutoff, min_rel=0.0):
    gains = gains_in_order(qrels, run, min_rel, max_rel, cutoff)
    return rate(gains, lambda rank, gain, so_far: math.log2(rank + 1) / math.log2(rank + 2))


@reference("NERR8")
def _(qrels, run, level, judged, max_rel, cutoff, min_rel=0.0):
    gains = gains_in_order(qrels, run, min_rel, max_rel, cutoff)
    return rate(gains, lambda rank, gain, so_far: 1 - gain)


@reference("NERR9")
def _(qrels, run, level, judged, max_rel, cutoff, min_rel=0.0):
    gains = gains_in_order(qrels, run, min_rel, max_rel, cutoff)
    return rate(gains, lambda rank, gain, so_far: (1 - gain) * rank / (rank + 1))


@reference("NERR10")
def _(qrels, run, level, judged, max_rel, p=0.9, min_rel=0.0, n=1000):
    gains = gains_in_order(qrels, run, min_rel, max_rel, n)
    return rate(gains, lambda rank, gain, so_far: p * (1 - gain))


@reference("NERR11")
def _(qrels, run, level, judged, max_rel, T=1.0, min_rel=0.0, n=1000):
    gains = gains_in_order(qrels, run, min_rel, max_rel, n)
    return rate(gains, lambda rank, gain, so_far: patience(rank, T) * (1 - gain))


@reference("Q")
def _(qrels, run, level, judged, beta=1.0, gain="linear", cutoff=None):
    gains = {d: gain_of(grade, gain) for d, grade in qrels.items()}
    ideal = sorted(gains.values(), reverse=True)
    total, count, gained = 0.0, 0, 0.0
    for rank, d in enumerate(ranked(run, cutoff), 1):
        if gains.get(d, 0.0) > 0:
            count += 1
            gained += gains[d]
            total += (count + beta * gained) / (rank + beta * sum(ideal[:rank]))
    relevant = sum(1 for one in gains.values() if one > 0)
    return ratio(total, relevant if cutoff is None else min(relevant, cutoff))


@reference("JKnDCG")
def _(qrels, run, level, judged, base=2.0, gain="linear", top=None, cutoff=None):
    grades = qrels if top is None else placed(qrels, top)
    gains = {d: gain_of(grade, gain) for d, grade in grades.items()}

    def total(some):
        return sum(g / max(1.0, math.log(i, base)) for i, g in enumerate(some[:cutoff], 1))

    return ratio(total([gains.get(d, 0.0) for d in ranked(run)]), total(sorted(gains.values(), reverse=True)))


@reference("Compat")
def _(qrels, run, level, judged, p=0.95, normalize=True):
    ranking = ranked(run)
    place = {d: i for i, d in enumerate(ranking)}
    good = [d for d in qrels if qrels[d] > 0]
    ideal = sorted(good, key=lambda d: (-qrels[d], place.get(d, len(run))))
    depth = max(len(ranking), len(ideal))

    def overlap(some):
        value = weight = 0.0
        for i in range(1, depth + 1):
            value += p ** (i - 1) * len(set(some[:i]) & set(ideal[:i])) / i
            weight += p ** (i - 1)
        return ratio(value, weight)

    return ratio(overlap(ranking), overlap(ideal)) if normalize else overlap(ranking)


@reference("Judged")
def _(qrels, run, level, judged, cutoff=None):
    top = ranked(run, cutoff)
    return ratio(sum(1 for d in top if d in qrels), len(top))


@reference("Accuracy")
def _(qrels, run, level, judged, rel=None, cutoff=None):
    if not run:
        return 0.0
    good = relevant_set(qrels, level, rel)
    found = [d in good for d in ranked(run, cutoff)]
    pairs = [found[i] for i in range(len(found)) for j in range(i + 1, len(found)) if found[i] != found[j]]
    return sum(pairs) / len(pairs) if pairs else NAN

"""The slow references of trec_eval's measures, continued from reference.py: down the ranking, one by one."""

import math
from fractions import Fraction

from metrics.reference import (
    REFERENCE,
    ap,
    dcg,
    dcg_of_run,
    gain_of,
    hits,
    ranked,
    ratio,
    reference,
    relevant_set,
)

__all__ = ["REFERENCE"]


@reference("Rprec")
def _(qrels, run, level, judged, rel=None):
    relevant = relevant_set(qrels, level, rel)
    return ratio(len(relevant & set(ranked(run, len(relevant)))), len(relevant))


@reference("Rprec_mult")
def _(qrels, run, level, judged, multiple, rel=None):
    relevant = relevant_set(qrels, level, rel)
    cutoff = int(multiple * len(relevant) + 0.9)
    return ratio(len(relevant & set(ranked(run, cutoff))), cutoff)


def interpolated(qrels, run, level, rel, recall, rounding):
    relevant = relevant_set(qrels, level, rel)
    if rounding == "up":
        needed = int(recall * len(relevant) + 0.9)
    else:
        needed = math.floor(Fraction(recall * len(relevant)) + Fraction(1, 2))
    seen, best = 0, 0.0
    for rank, d in enumerate(ranked(run), 1):
        seen += d in relevant
        if seen >= needed:
            best = max(best, seen / rank)
    return best


@reference("iprec_at_recall")
def _(qrels, run, level, judged, recall, rel=None, rounding="nearest"):
    return interpolated(qrels, run, level, rel, recall, rounding)


@reference("11pt_avg")
def _(qrels, run, level, judged, points=tuple(n / 10 for n in range(11)), rel=None, rounding="nearest"):
    return sum(interpolated(qrels, run, level, rel, recall, rounding) for recall in points) / len(points)


@reference("bpref")
def bpref(qrels, run, level, judged, rel=None):
    relevant = relevant_set(qrels, level, rel)
    bad = {d for d, grade in qrels.items() if grade >= 0} - relevant
    total, worse = 0.0, 0
    for d in ranked(run):
        worse += d in bad
        if d in relevant:
            total += 1 - ratio(min(worse, len(relevant)), min(len(bad), len(relevant)))
    return ratio(total, len(relevant))


REFERENCE["gm_bpref"] = bpref  # a query's value; the mean of several is tested with Results
REFERENCE["gm_map"] = REFERENCE["AP"]


@reference("infAP")
def _(qrels, run, level, judged, rel=None):
    relevant = relevant_set(qrels, level, rel)
    total, pooled, better, worse, little = 0.0, 0, 0, 0, 1e-5
    for above, d in enumerate(ranked(run)):
        if d in relevant:
            expected = (better + little) / (better + worse + 2 * little)
            total += 1 if above == 0 else 1 / (above + 1) + pooled / (above + 1) * expected
        pooled += d in qrels
        better += d in relevant
        worse += d in qrels and qrels[d] >= 0 and d not in relevant
    return ratio(total, len(relevant))


@reference("unj")
def _(qrels, run, level, judged, cutoff):
    return sum(qrels.get(d, -1) < 0 for d in ranked(run, cutoff)) / cutoff


@reference("yaap")
def _(qrels, run, level, judged, rel=None):
    relevant = relevant_set(qrels, level, rel)
    total = ap(qrels, run, relevant) * len(relevant)
    return math.log((1 + total) / (1 + len(relevant) - total))


@reference("set_map")
def _(qrels, run, level, judged, rel=None):
    return ratio(hits(qrels, run, level, rel) ** 2, len(run) * len(relevant_set(qrels, level, rel)))


@reference("set_relative_P")
def _(qrels, run, level, judged, rel=None):
    return ratio(hits(qrels, run, level, rel), min(len(run), len(relevant_set(qrels, level, rel))))


@reference("relative_P")
def _(qrels, run, level, judged, cutoff, rel=None):
    return ratio(hits(qrels, run, level, rel, cutoff), min(cutoff, len(relevant_set(qrels, level, rel))))


@reference("num_nonrel_judged_ret")
def _(qrels, run, level, judged, rel=None):
    relevant = relevant_set(qrels, level, rel)
    return float(sum(qrels.get(d, -1) >= 0 and d not in relevant for d in run))


@reference("utility")
def _(qrels, run, level, judged, rel=None, weights=(1, -1, 0, 0), size=0):
    good, relevant = hits(qrels, run, level, rel), len(relevant_set(qrels, level, rel))
    groups = good, len(run) - good, relevant - good, size - (relevant + len(run) - good)
    return sum(weight * number for weight, number in zip(weights, groups, strict=True))


def gains(qrels, gain):
    own = {d: gain_of(grade, gain) for d, grade in qrels.items()}
    return own, sorted((g for g in own.values() if g > 0), reverse=True)


def ndcg_at(own, best, run, cutoff):
    return dcg_of_run(own, run, "log2", cutoff) / dcg(best, "log2", cutoff)


@reference("ndcg_rel")
def _(qrels, run, level, judged, gain="linear"):
    own, best = gains(qrels, gain)
    if not best:
        return 0.0
    ranks = [rank for rank, d in enumerate(ranked(run), 1) if own.get(d, 0) > 0]
    points = [*ranks, *[None] * (len(best) - len(ranks))]
    return max(sum(ndcg_at(own, best, run, k) for k in points) / len(best), 0.0)


@reference("Rndcg")
def _(qrels, run, level, judged, rel=None, gain="linear"):
    own, best = gains(qrels, gain)
    if not best or not relevant_set(qrels, level, rel):
        return 0.0
    points = [k for k in range(1, len(best) + 1) if k == len(best) or best[k - 1] != best[k]]
    if len(run) > len(best) + 1:
        points.append(None)
    return sum(ndcg_at(own, best, run, k) for k in points) / len(points)


@reference("ndcg_p")
def _(qrels, run, level, judged, gain="linear"):
    return REFERENCE["nDCG"](qrels, run, level, judged, gain=gain, discount="letor")


@reference("ideal_dcg")
def _(qrels, run, level, judged, gain="linear"):
    return dcg(gains(qrels, gain)[1], "log2", None)


@reference("G")
def _(qrels, run, level, judged, gain="linear"):
    own, best = gains(qrels, gain)
    total, gained, most = 0.0, 0.0, 0.0
    for rank, d in enumerate(ranked(run)):
        gained += own.get(d, 0.0)
        most += max(best[rank], 1.0) if rank < len(best) else 1.0
        total += own.get(d, 0.0) / math.log2(2 + most - gained)
    return total / sum(best) if best else 0.0


@reference("binG")
def _(qrels, run, level, judged, rel=None):
    relevant = relevant_set(qrels, level, rel)
    total, others = 0.0, 0
    for d in ranked(run):
        if d in relevant:
            total += 1 / math.log2(2 + others)
        else:
            others += 1
    return ratio(total, len(relevant))


@reference("rbp")
def _(qrels, run, level, judged, p=0.9, rel=None, gain="linear", cutoff=None):
    if rel is not None or gain == "binary":
        good = relevant_set(qrels, level, rel)
        return (1 - p) * sum(p**place for place, d in enumerate(ranked(run, cutoff)) if d in good)
    own = gains(qrels, gain)[0]
    listed = [] if isinstance(gain, str) else [worth for _, worth in gain]
    low, high = min([0.0, *own.values(), *listed]), max([0.0, *own.values(), *listed])
    total = 0.0
    for place, d in enumerate(ranked(run, cutoff)):
        if qrels.get(d, -1) >= 0:
            share = own[d] if low >= 0 and high <= 1 else (own[d] - low) / (high - low)
            total += share * p**place
    return (1 - p) * total


@reference("rbp_resid")
def _(qrels, run, level, judged, p=0.9):
    unknown = [place for place, d in enumerate(ranked(run)) if qrels.get(d, -1) < 0]
    return (1 - p) * sum(p**place for place in unknown) + p ** len(run) if unknown else 0.0


@reference("runid")
def _(qrels, run, level, judged):
    return ""


@reference("relstring")
def _(qrels, run, level, judged, length=10):
    def letter(grade):
        return "-" if grade is None else "." if grade < 0 else ">" if grade >= 10 else str(int(grade))

    return "".join(letter(qrels.get(d)) for d in ranked(run, length))

"""Every metric once more: slow, a query at a time, in dictionaries and loops, sharing nothing with gradeval."""

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from statistics import median

from scipy.interpolate import PchipInterpolator

NAN = math.nan
DIVERSITY = ("alpha_DCG", "alpha_nDCG", "ERR_IA", "nERR_IA", "NRBP", "nNRBP", "AP_IA", "P_IA", "StRecall")


def ranked(run):
    by_id = sorted(run, key=str.encode, reverse=True)
    return sorted(by_id, key=run.__getitem__, reverse=True)


def ratio(a, b):
    return a / b if b else 0.0


def f(p, r, x):
    return ratio((x + 1) * p * r, x * p + r)


def gain_of(grade, gain):
    if grade < 0:
        return 0.0
    if gain == "linear":
        return grade
    return 2.0**grade - 1 if gain == "exp" else dict(gain).get(grade, grade)


def discount_of(rank, discount):
    if discount == "log2":
        return math.log2(rank + 1)
    if discount == "letor":
        return 1.0 if rank == 1 else math.log2(rank)
    return rank if discount == "zipf" else 1.0


def dcg(gains, discount="log2", cutoff=None):
    """gains: of the documents from the first rank."""
    return sum(g / discount_of(rank, discount) for rank, g in enumerate(gains[:cutoff], 1))


def phi_of(grades, variant="paper"):
    """The function from a grade to φ."""
    y = sorted(max(g, 0.0) for g in grades)
    if variant == "released":
        y = [g for g in y if g > 0]
    if not y or y[-1] <= 0:
        return lambda grade: 0.0
    low, middle, high = y[0], median(y), y[-1]
    if middle == high:
        return lambda grade: 1.0 if grade >= high else 0.0
    if variant == "released":
        half = (len(y) + 1) // 2
        q1, q3 = median(y[:half]), median(y[-half:])
    else:
        places = [(math.floor(part * (len(y) - 1)), part * (len(y) - 1)) for part in (0.25, 0.75)]
        q1, q3 = (y[n] + (y[min(n + 1, len(y) - 1)] - y[n]) * (place - n) for n, place in places)
    w = q3 + 1.5 * (q3 - q1)
    points = {middle: 0.0, high: 1.0}
    points.setdefault(0.0 if variant == "released" else low, 0.0)
    if high > w:
        if variant == "released":
            w = max(g for g in y if g <= w)
        if w > middle:
            points[w] = 1 - (high - w) / (high - low)
    x = sorted(points)
    if len(x) == 2:
        return lambda grade: 0.0 if grade <= middle else (grade - middle) / (high - middle)
    curve = PchipInterpolator(x, [points[one] for one in x])
    return lambda grade: 0.0 if grade <= middle else float(curve(grade))


def walk(chances, worth):
    """Of a user who stops at each document with its chance. chances: of the documents from the first rank."""
    value, left = 0.0, 1.0
    for rank, chance in enumerate(chances, 1):
        value += worth(rank) * chance * left
        left *= 1 - chance
    return value


def rate(gains, goes_on):
    """The mean gain of the documents, weighted with how likely each is looked at.

    goes_on: (rank, its gain, all gains up to it) -> how likely the user goes on from there.
    """
    likely, total, looked, so_far = 1.0, 0.0, 0.0, 0.0
    for rank, gain in enumerate(gains, 1):
        total += likely * gain
        looked += likely
        so_far += gain
        likely *= goes_on(rank, gain, so_far)
    return total / looked


def patience(rank, T):
    return ((rank + 2 * T - 1) / (rank + 2 * T)) ** 2


def correlation(x, y):
    if len(set(x)) < 2 or len(set(y)) < 2:
        return NAN
    mx, my = math.fsum(x) / len(x), math.fsum(y) / len(y)
    xy = math.fsum((a - mx) * (b - my) for a, b in zip(x, y, strict=True))
    xx, yy = math.fsum((a - mx) ** 2 for a in x), math.fsum((b - my) ** 2 for b in y)
    return xy / math.sqrt(xx * yy)


def midranks(values):
    return [sum(1 for o in values if o < v) + (sum(1 for o in values if o == v) + 1) / 2 for v in values]


class Topic:
    """A query: document -> grade and document -> score, and the methods that are the metrics, by their names.

    level: the relevance threshold, None for any grade above 0. judged: the grades of all queries.
    """

    def __init__(self, qrels, run, level, judged):
        self._qrels, self._run, self._level, self._judged = qrels, run, level, judged
        self._ranking = ranked(run)

    def _good(self, rel=None):
        least = self._level if rel is None else rel
        return {d for d, g in self._qrels.items() if g >= 0 and (g > 0 if least is None else g >= least)}

    def _hits(self, rel=None, cutoff=None):
        return len(self._good(rel) & set(self._ranking[:cutoff]))

    def _is_unjudged(self, d):
        return self._qrels.get(d, -1) < 0

    def _gains(self, gain="linear", top=None):
        """Document -> gain. top: grades by place; documents of one grade all have the last of their places."""
        grades, all_grades = self._qrels, list(self._qrels.values())
        if top is not None:
            place = {g: sum(1 for other in all_grades if other >= g) for g in all_grades}
            grades = {
                d: float(sum(1 for border in top if place[g] <= border)) if g > 0 else 0.0
                for d, g in grades.items()
            }
        return {d: gain_of(g, gain) for d, g in grades.items()}

    def _of_run(self, gains, cutoff=None):
        return [gains.get(d, 0.0) for d in self._ranking[:cutoff]]

    def _precision_sum(self, good, cutoff=None):
        total, seen = 0.0, 0
        for rank, d in enumerate(self._ranking[:cutoff], 1):
            seen += d in good
            total += seen / rank if d in good else 0.0
        return total

    def AP(self, rel=None, norm="relevant", cutoff=None):
        good = self._good(rel)
        count = min(len(good), cutoff) if norm == "min" and cutoff else len(good)
        return ratio(self._precision_sum(good, cutoff), count)

    def muAP(self):
        levels = sorted({0.0, *(g for g in self._qrels.values() if g > 0)})
        total = 0.0
        for below, level in pairwise(levels):
            good = {d for d, grade in self._qrels.items() if grade >= level}
            total += (level - below) * self._precision_sum(good) / len(good)
        return ratio(total, levels[-1])

    def DCG(self, gain="linear", top=None, discount="log2", cutoff=None):
        return dcg(self._of_run(self._gains(gain, top)), discount, cutoff)

    def CG(self, gain="linear", top=None, cutoff=None):
        return self.DCG(gain, top, "none", cutoff)

    def nDCG(self, gain="linear", top=None, discount="log2", ideal="global", max_grade=None, cutoff=None):
        gains = self._gains(gain, top)
        if ideal == "max":
            largest = max([0.0, *self._judged] if max_grade is None else [max_grade])
            best = gain_of(float(len(top)) if top else largest, gain)
            if not isinstance(gain, str):
                scale = range(len(top) + 1) if top else self._judged
                best = max([best, *(gain_of(float(g), gain) for g in scale)])
            perfect = [best] * cutoff
        else:
            perfect = sorted((g for d, g in gains.items() if ideal == "global" or d in self._run), reverse=True)
        return ratio(dcg(self._of_run(gains), discount, cutoff), dcg(perfect, discount, cutoff))

    def _ndcg(self, gains, cutoff):
        return ratio(dcg(self._of_run(gains, cutoff)), dcg(sorted(gains.values(), reverse=True)[:cutoff]))

    def NDCNG(self, cutoff=None):
        m = max(self._qrels.values(), default=0.0)
        gains = {d: 2 ** (max(g, 0.0) / m) - 1 if m > 0 else 0.0 for d, g in self._qrels.items()}
        return self._ndcg(gains, cutoff)

    def nDCGphi(self, variant="paper", points=None, cutoff=None):
        phi = phi_of(self._qrels.values(), variant)
        if points is not None:
            x, y = zip(*points, strict=True)
            curve = PchipInterpolator(x, y)

            def phi(grade):
                return float(curve(min(max(grade, x[0]), x[-1])))

        return self._ndcg({d: 2 ** phi(g) - 1 if g >= 0 else 0.0 for d, g in self._qrels.items()}, cutoff)

    def rankDCG(self):
        distinct = sorted(set(self._qrels.values()))
        if len(distinct) < 2:
            return NAN
        order = sorted(self._qrels, key=lambda d: (-self._run.get(d, -math.inf), self._qrels[d]))
        levels = [distinct.index(self._qrels[d]) + 1 for d in order]
        best = sorted(levels, reverse=True)

        def total(some):
            return sum(level / (len(distinct) + 1 - ideal) for level, ideal in zip(some, best, strict=True))

        return (total(levels) - total(best[::-1])) / (total(best) - total(best[::-1]))

    def P(self, rel=None, cutoff=None):
        return self._hits(rel, cutoff) / cutoff

    def R(self, rel=None, cutoff=None):
        return ratio(self._hits(rel, cutoff), len(self._good(rel)))

    def F(self, rel=None, x=1.0, cutoff=None):
        return f(self.P(rel, cutoff), self.R(rel, cutoff), x)

    def set_P(self, rel=None, cutoff=None):
        return ratio(self._hits(rel, cutoff), len(self._ranking[:cutoff]))

    def set_recall(self, rel=None, cutoff=None):
        return self.R(rel, cutoff)

    def set_F(self, rel=None, x=1.0, cutoff=None):
        return f(self.set_P(rel, cutoff), self.R(rel, cutoff), x)

    def set_map(self, rel=None):
        return self.set_P(rel) * self.R(rel)

    def set_relative_P(self, rel=None):
        return ratio(self._hits(rel), min(len(self._run), len(self._good(rel))))

    def relative_P(self, cutoff, rel=None):
        return ratio(self._hits(rel, cutoff), min(cutoff, len(self._good(rel))))

    def Success(self, rel=None, need="one", cutoff=None):
        found = self._hits(rel, cutoff)
        return 1.0 if found and (need == "one" or found == len(self._good(rel))) else 0.0

    def RR(self, rel=None, cutoff=None):
        good = self._good(rel)
        return next((1 / rank for rank, d in enumerate(self._ranking[:cutoff], 1) if d in good), 0.0)

    def _shares(self):
        largest = max(self._judged, default=0.0)
        return {d: max(g, 0.0) / largest if largest > 0 else 0.0 for d, g in self._qrels.items()}

    def gP(self, cutoff=None):
        return ratio(sum(self._of_run(self._shares(), cutoff)), len(self._run) if cutoff is None else cutoff)

    def gR(self, cutoff=None):
        shares = self._shares()
        return ratio(sum(self._of_run(shares, cutoff)), sum(shares.values()))

    def scaled_utility(self, rel=None, a=3.0, b=-2.0, s=100.0):
        good = self._hits(rel)
        utility = a * good + b * (len(self._run) - good)
        most, least = a * len(self._good(rel)), b * s
        return (max(utility, least) - least) / (most - least) if self._run else 0.0

    def utility(self, rel=None, weights=(1, -1, 0, 0), size=0):
        hits, missed, retrieved = self._hits(rel), len(self._good(rel)) - self._hits(rel), len(self._run)
        groups = hits, retrieved - hits, missed, size - (retrieved + missed)
        return sum(weight * number for weight, number in zip(weights, groups, strict=True))

    def num_q(self):
        return 1.0

    def num_ret(self):
        return float(len(self._run))

    def num_rel(self, rel=None):
        return float(len(self._good(rel)))

    def num_rel_ret(self, rel=None, cutoff=None):
        return float(self._hits(rel, cutoff))

    def num_nonrel_judged_ret(self, rel=None):
        return float(sum(not self._is_unjudged(d) for d in {*self._run} - self._good(rel)))

    def Rprec(self, rel=None):
        count = len(self._good(rel))
        return ratio(self._hits(rel, count), count)

    def Rprec_mult(self, multiple, rel=None):
        cutoff = int(multiple * len(self._good(rel)) + 0.9)
        return ratio(self._hits(rel, cutoff), cutoff)

    def iprec_at_recall(self, recall, rel=None, rounding="nearest"):
        good = self._good(rel)
        needed = math.floor(Fraction(recall * len(good)) + Fraction(1, 2))
        if rounding == "up":
            needed = int(recall * len(good) + 0.9)
        seen, best = 0, 0.0
        for rank, d in enumerate(self._ranking, 1):
            seen += d in good
            if seen >= needed:
                best = max(best, seen / rank)
        return best

    def _eleven_points(self, points=tuple(n / 10 for n in range(11)), rel=None, rounding="nearest"):
        return sum(self.iprec_at_recall(recall, rel, rounding) for recall in points) / len(points)

    def bpref(self, rel=None):
        good = self._good(rel)
        bad = {d for d, grade in self._qrels.items() if grade >= 0} - good
        total, worse = 0.0, 0
        for d in self._ranking:
            worse += d in bad
            if d in good:
                total += 1 - ratio(min(worse, len(good)), min(len(bad), len(good)))
        return ratio(total, len(good))

    def infAP(self, rel=None):
        good = self._good(rel)
        total, pooled, better, worse, little = 0.0, 0, 0, 0, 1e-5
        for above, d in enumerate(self._ranking):
            if d in good:
                expected = (better + little) / (better + worse + 2 * little)
                total += 1 if above == 0 else 1 / (above + 1) + pooled / (above + 1) * expected
            pooled += d in self._qrels
            better += d in good
            worse += not self._is_unjudged(d) and d not in good
        return ratio(total, len(good))

    def unj(self, cutoff):
        return sum(map(self._is_unjudged, self._ranking[:cutoff])) / cutoff

    def yaap(self, rel=None):
        good = self._good(rel)
        total = self._precision_sum(good)
        return math.log((1 + total) / (1 + len(good) - total))

    def _gains_and_ideal(self, gain):
        gains = self._gains(gain)
        return gains, sorted((g for g in gains.values() if g > 0), reverse=True)

    def ndcg_rel(self, gain="linear"):
        gains, best = self._gains_and_ideal(gain)
        points = [rank for rank, g in enumerate(self._of_run(gains), 1) if g > 0]
        points += [None] * (len(best) - len(points))
        values = [dcg(self._of_run(gains, k)) / dcg(best, cutoff=k) for k in points]
        return max(ratio(sum(values), len(best)), 0.0)

    def Rndcg(self, rel=None, gain="linear"):
        gains, best = self._gains_and_ideal(gain)
        if not best or not self._good(rel):
            return 0.0
        points = [k for k in range(1, len(best) + 1) if k == len(best) or best[k - 1] != best[k]]
        if len(self._run) > len(best) + 1:
            points.append(None)
        return sum(dcg(self._of_run(gains, k)) / dcg(best, cutoff=k) for k in points) / len(points)

    def ndcg_p(self, gain="linear"):
        return self.nDCG(gain, discount="letor")

    def ideal_dcg(self, gain="linear"):
        return dcg(self._gains_and_ideal(gain)[1])

    def G(self, gain="linear"):
        gains, best = self._gains_and_ideal(gain)
        total, gained, most = 0.0, 0.0, 0.0
        for rank, own in enumerate(self._of_run(gains)):
            gained += own
            most += max(best[rank], 1.0) if rank < len(best) else 1.0
            total += own / math.log2(2 + most - gained)
        return total / sum(best) if best else 0.0

    def binG(self, rel=None):
        good = self._good(rel)
        total, others = 0.0, 0
        for d in self._ranking:
            if d in good:
                total += 1 / math.log2(2 + others)
            else:
                others += 1
        return ratio(total, len(good))

    def rbp(self, p=0.9, rel=None, gain="linear", cutoff=None):
        top = self._ranking[:cutoff]
        if rel is not None or gain == "binary":
            good = self._good(rel)
            return (1 - p) * sum(p**place for place, d in enumerate(top) if d in good)
        gains = self._gains(gain)
        listed = [] if isinstance(gain, str) else [worth for _, worth in gain]
        low, high = min([0.0, *gains.values(), *listed]), max([0.0, *gains.values(), *listed])
        if low >= 0 and high <= 1:
            low, high = 0.0, 1.0
        shares = (0.0 if self._is_unjudged(d) else (gains[d] - low) / (high - low) for d in top)
        return (1 - p) * sum(share * p**place for place, share in enumerate(shares))

    def rbp_resid(self, p=0.9):
        unknown = [place for place, d in enumerate(self._ranking) if self._is_unjudged(d)]
        return (1 - p) * sum(p**place for place in unknown) + p ** len(self._run) if unknown else 0.0

    def runid(self):
        return ""

    def relstring(self, length=10):
        def letter(grade):
            return "-" if grade is None else "." if grade < 0 else ">" if grade >= 10 else str(int(grade))

        return "".join(letter(self._qrels.get(d)) for d in self._ranking[:length])

    def _lacking(self):
        """The run lacks a query that could have been ordered: 0, as for every metric."""
        return not self._run and len(set(self._qrels.values())) > 1

    def _pairs(self):
        both = [d for d in self._qrels if d in self._run]
        return [self._run[d] for d in both], [self._qrels[d] for d in both]

    def tau(self):
        if self._lacking():
            return 0.0
        x, y = self._pairs()
        surplus = x_apart = y_apart = 0
        for i in range(len(x)):
            for j in range(i):
                a, b = (x[i] > x[j]) - (x[i] < x[j]), (y[i] > y[j]) - (y[i] < y[j])
                surplus, x_apart, y_apart = surplus + a * b, x_apart + a * a, y_apart + b * b
        return surplus / math.sqrt(x_apart * y_apart) if x_apart and y_apart else NAN

    def rho(self):
        return 0.0 if self._lacking() else correlation(*map(midranks, self._pairs()))

    def pearson(self):
        return 0.0 if self._lacking() else correlation(*self._pairs())

    def AUC(self, rel=None):
        if self._lacking():
            return 0.0
        good, missing = self._good(rel), -math.inf
        scores = [[self._run.get(d, missing) for d in of] for of in (good, {*self._qrels} - good)]
        pairs = [(a, b) for a in scores[0] for b in scores[1]]
        return sum((a > b) + (a == b) / 2 for a, b in pairs) / len(pairs) if pairs else NAN

    def _cascade(self, gain, max_grade, cutoff, worth):
        """The value of a user who stops at a document that satisfies, and that of the ideal ranking."""
        largest = max([4.0, *self._judged]) if max_grade is None else max_grade
        if isinstance(gain, str):
            top = 2.0**largest - 1 if gain == "exp" else largest
        else:
            gains = [gain_of(grade, gain) for grade in self._judged]
            top = max([*gains, *(worth for _, worth in gain), max_grade or 0.0])
        chances = {d: g / (top + 1) for d, g in self._gains(gain).items()}
        ideal = sorted(chances.values(), reverse=True)[:cutoff]
        return walk(self._of_run(chances, cutoff), worth), walk(ideal, worth)

    def ERR(self, gain="exp", max_grade=None, cutoff=None):
        return self._cascade(gain, max_grade, cutoff, lambda rank: 1 / rank)[0]

    def nERR(self, gain="exp", max_grade=None, cutoff=None):
        return ratio(*self._cascade(gain, max_grade, cutoff, lambda rank: 1 / rank))

    def iRBU(self, p=0.99, gain="exp", max_grade=None, cutoff=None):
        return self._cascade(gain, max_grade, cutoff, lambda rank: p**rank)[0]

    def _first(self, n, min_rel, max_rel):
        span = max_rel - min_rel
        grades = [self._qrels.get(d) for d in self._ranking[:n]]
        gains = [0.0 if g is None else min(max((max(g, 0.0) - min_rel) / span, 0.0), 1.0) for g in grades]
        return gains + [0.0] * (n - len(gains))

    def INST(self, max_rel, T=1.0, min_rel=0.0, n=1000):
        return rate(self._first(n, min_rel, max_rel), lambda rank, _, so_far: patience(rank - so_far, T))

    def INSQ(self, max_rel, T=1.0, min_rel=0.0, n=1000):
        return rate(self._first(n, min_rel, max_rel), lambda rank, *_: patience(rank, T))

    def BPM(self, max_rel, cutoff, T=1.0, min_rel=0.0):
        return rate(self._first(cutoff, min_rel, max_rel), lambda _, gain, so_far: float(so_far < T))

    def SDCG(self, max_rel, cutoff, min_rel=0.0):
        gains = self._first(cutoff, min_rel, max_rel)
        return rate(gains, lambda rank, *_: math.log2(rank + 1) / math.log2(rank + 2))

    def NERR8(self, max_rel, cutoff, min_rel=0.0):
        return rate(self._first(cutoff, min_rel, max_rel), lambda _, gain, __: 1 - gain)

    def NERR9(self, max_rel, cutoff, min_rel=0.0):
        return rate(self._first(cutoff, min_rel, max_rel), lambda rank, gain, _: (1 - gain) * rank / (rank + 1))

    def NERR10(self, max_rel, p=0.9, min_rel=0.0, n=1000):
        return rate(self._first(n, min_rel, max_rel), lambda _, gain, __: p * (1 - gain))

    def NERR11(self, max_rel, T=1.0, min_rel=0.0, n=1000):
        return rate(self._first(n, min_rel, max_rel), lambda rank, gain, _: patience(rank, T) * (1 - gain))

    def Q(self, beta=1.0, gain="linear", cutoff=None):
        gains = self._gains(gain)
        ideal = sorted(gains.values(), reverse=True)
        total, count, gained = 0.0, 0, 0.0
        for rank, own in enumerate(self._of_run(gains, cutoff), 1):
            if own > 0:
                count, gained = count + 1, gained + own
                total += (count + beta * gained) / (rank + beta * sum(ideal[:rank]))
        relevant = sum(1 for g in ideal if g > 0)
        return ratio(total, relevant if cutoff is None else min(relevant, cutoff))

    def JKnDCG(self, base=2.0, gain="linear", top=None, cutoff=None):
        gains = self._gains(gain, top)

        def total(some):
            return sum(g / max(1.0, math.log(i, base)) for i, g in enumerate(some[:cutoff], 1))

        return ratio(total(self._of_run(gains)), total(sorted(gains.values(), reverse=True)))

    def Compat(self, p=0.95, normalize=True):
        place = {d: i for i, d in enumerate(self._ranking)}
        good = [d for d, grade in self._qrels.items() if grade > 0]
        ideal = sorted(good, key=lambda d: (-self._qrels[d], place.get(d, len(place))))
        ranks = range(1, max(len(place), len(ideal)) + 1)

        def overlap(some):
            value = sum(p ** (i - 1) * len(set(some[:i]) & set(ideal[:i])) / i for i in ranks)
            return ratio(value, sum(p ** (i - 1) for i in ranks))

        return ratio(overlap(self._ranking), overlap(ideal)) if normalize else overlap(self._ranking)

    def Judged(self, cutoff=None):
        top = self._ranking[:cutoff]
        return ratio(sum(d in self._qrels for d in top), len(top))

    def Accuracy(self, rel=None, cutoff=None):
        good = self._good(rel)
        found = [d in good for d in self._ranking[:cutoff]]
        pairs = [one for i, one in enumerate(found) for other in found[i + 1 :] if one != other]
        return (sum(pairs) / len(pairs) if pairs else NAN) if self._run else 0.0


def novelty_gains(ranking, topics, alpha):
    """The gain of each document of a ranking. topics: of each subtopic, the documents relevant to it."""
    return [
        sum((1 - alpha) ** sum(1 for above in ranking[:i] if above in of) for of in topics if d in of)
        for i, d in enumerate(ranking)
    ]


def diversity(name, ranking, topics, every, alpha=0.5, beta=0.5, of="relevant", cutoff=None):
    """A metric of subtopics, for a ranking of ids. every: how many subtopics the qrels have."""
    topics = [of for of in topics if of]
    first, number = ranking[:cutoff], len(topics)
    if name == "AP_IA":
        each = [
            sum(sum(1 for d in first[:r] if d in of) / r for r, d in enumerate(first, 1) if d in of) / len(of)
            for of in topics
        ]
        return ratio(sum(each), number)
    if name == "P_IA":
        return ratio(sum(1 for d in first for of in topics if d in of), cutoff * number)
    if name == "StRecall":
        found = sum(1 for of in topics if of & set(first))
        return ratio(found, (every if of == "all" else number)) if topics else 0.0

    def weigh(r):
        return 1 / math.log2(r + 1) if "alpha_" in name else 1 / r if "ERR" in name else beta ** (r - 1)

    def total(ranking):
        return sum(g * weigh(r) for r, g in enumerate(novelty_gains(ranking, topics, alpha), 1))

    if name == "NRBP":
        return ratio((1 - (1 - alpha) * beta) * total(ranking), number)
    if name in ("alpha_DCG", "ERR_IA"):
        depth = len(ranking) if cutoff is None else cutoff
        return ratio(total(first), sum(number * (1 - alpha) ** (r - 1) * weigh(r) for r in range(1, depth + 1)))
    left, greedy = set().union(*topics), []
    while left:
        greedy.append(max(left, key=lambda d: (round(novelty_gains([*greedy, d], topics, alpha)[-1], 12), d)))
        left.remove(greedy[-1])
    return ratio(total(first), total(greedy[:cutoff]))


def _of_one_subtopic(name):
    return lambda topic, rel=None, **params: diversity(name, topic._ranking, [topic._good(rel)], 1, **params)


REFERENCE: dict[str, Callable[..., float]] = {
    **{name: function for name, function in vars(Topic).items() if not name.startswith("_")},
    **{name: _of_one_subtopic(name) for name in DIVERSITY},
    "11pt_avg": Topic._eleven_points,
    "gm_map": Topic.AP,
    "gm_bpref": Topic.bpref,  # means: tests of Results
}
"""Name -> function of a Topic and the metric's parameters."""

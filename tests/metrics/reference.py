"""Every metric once more: slow, one query at a time, in dictionaries and loops, sharing nothing with gradeval.

A function takes the query's qrels (document -> grade), its run (document -> score), the relevance level (None:
any grade above 0) and the grades of all queries, then the metric's parameters.
"""

import math
from collections.abc import Callable
from statistics import median

from scipy.interpolate import PchipInterpolator

Qrels = dict[str, float]
Run = dict[str, float]
NAN = math.nan
REFERENCE: dict[str, Callable[..., float]] = {}


def reference(name):
    def keep(function):
        REFERENCE[name] = function
        return function

    return keep


def ranked(run, cutoff=None):
    by_id = sorted(run, key=str.encode, reverse=True)
    order = sorted(by_id, key=run.__getitem__, reverse=True)
    return order if cutoff is None else order[:cutoff]


def is_relevant(grade, level, rel=None):
    least = rel if rel is not None else level
    if grade < 0:
        return False
    return grade > 0 if least is None else grade >= least


def relevant_set(qrels, level, rel):
    return {d for d, grade in qrels.items() if is_relevant(grade, level, rel)}


def ratio(a, b):
    return a / b if b else 0.0


def ap(qrels, run, relevant, cutoff=None):
    total, seen = 0.0, 0
    for rank, d in enumerate(ranked(run, cutoff), 1):
        if d in relevant:
            seen += 1
            total += seen / rank
    return ratio(total, len(relevant))


@reference("AP")
def _(qrels, run, level, judged, rel=None, norm="relevant", cutoff=None):
    relevant = relevant_set(qrels, level, rel)
    value = ap(qrels, run, relevant, cutoff)
    return (
        value * len(relevant) / min(len(relevant), cutoff) if norm == "min" and cutoff and relevant else value
    )


@reference("muAP")
def _(qrels, run, level, judged):
    levels = sorted({grade for grade in qrels.values() if grade > 0})
    if not levels:
        return 0.0
    value, weight, before = 0.0, 0.0, 0.0
    for t in levels:
        value += (t - before) * ap(qrels, run, {d for d, grade in qrels.items() if grade >= t})
        weight += t - before
        before = t
    return value / weight


def gain_of(grade, gain):
    if grade < 0:
        return 0.0
    if gain == "linear":
        return grade
    if gain == "exp":
        return 2.0**grade - 1
    return dict(gain).get(grade, grade)


def discount_of(rank, discount):
    if discount == "log2":
        return math.log2(rank + 1)
    if discount == "letor":
        return 1.0 if rank == 1 else math.log2(rank)
    return rank if discount == "zipf" else 1.0


def placed(qrels, top):
    """The grades by place, where documents of one grade all have the last of their places."""
    grades = {}
    for d, grade in qrels.items():
        place = sum(1 for other in qrels.values() if other >= grade)
        grades[d] = float(sum(1 for border in top if place <= border)) if grade > 0 else 0.0
    return grades


def dcg(gains, discount, cutoff):
    """gains: of the documents from the first rank."""
    kept = gains if cutoff is None else gains[:cutoff]
    return sum(g / discount_of(rank, discount) for rank, g in enumerate(kept, 1))


def dcg_of_run(gains, run, discount, cutoff):
    return dcg([gains.get(d, 0.0) for d in ranked(run)], discount, cutoff)


@reference("DCG")
def dcg_metric(qrels, run, level, judged, gain="linear", top=None, discount="log2", cutoff=None):
    grades = qrels if top is None else placed(qrels, top)
    return dcg_of_run({d: gain_of(g, gain) for d, g in grades.items()}, run, discount, cutoff)


@reference("CG")
def _(qrels, run, level, judged, gain="linear", top=None, cutoff=None):
    return dcg_metric(qrels, run, level, judged, gain, top, "none", cutoff)


@reference("nDCG")
def _(
    qrels,
    run,
    level,
    judged,
    gain="linear",
    top=None,
    discount="log2",
    ideal="global",
    max_grade=None,
    cutoff=None,
):
    grades = qrels if top is None else placed(qrels, top)
    gains = {d: gain_of(g, gain) for d, g in grades.items()}
    if ideal == "max":
        largest = max([0.0, *judged] if max_grade is None else [max_grade])
        best = gain_of(float(len(top)) if top else largest, gain)
        if not isinstance(gain, str):
            scale = range(len(top) + 1) if top else judged
            best = max([best, *(gain_of(float(g), gain) for g in scale)])
        perfect = [best] * cutoff
    else:
        pool = gains if ideal == "global" else {d: gains[d] for d in gains if d in run}
        perfect = sorted(pool.values(), reverse=True)
    return ratio(dcg_of_run(gains, run, discount, cutoff), dcg(perfect, discount, cutoff))


def ndcg(gains, run, cutoff):
    perfect = sorted(gains.values(), reverse=True)
    return ratio(dcg_of_run(gains, run, "log2", cutoff), dcg(perfect, "log2", cutoff))


@reference("NDCNG")
def _(qrels, run, level, judged, cutoff=None):
    m = max(qrels.values(), default=0.0)
    if m <= 0:
        return 0.0
    return ndcg({d: 2 ** (max(g, 0.0) / m) - 1 for d, g in qrels.items()}, run, cutoff)


def quartile(values, part):
    values = sorted(values)
    place = part * (len(values) - 1)
    low = math.floor(place)
    high = min(low + 1, len(values) - 1)
    return values[low] + (values[high] - values[low]) * (place - low)


def hinges(values):
    values = sorted(values)
    half = (len(values) + 1) // 2
    return median(values[:half]), median(values[-half:])


def phi_of(grades, variant="paper"):
    """The function from a grade to φ."""
    y = [max(g, 0.0) for g in grades]
    if variant == "released":
        y = [g for g in y if g > 0]
    if not y or max(y) <= 0:
        return lambda grade: 0.0
    low, middle, high = min(y), median(y), max(y)
    if middle == high:
        return lambda grade: 1.0 if grade >= high else 0.0
    q1, q3 = hinges(y) if variant == "released" else (quartile(y, 0.25), quartile(y, 0.75))
    w = q3 + 1.5 * (q3 - q1)
    points = {middle: 0.0, high: 1.0}
    first = 0.0 if variant == "released" else low
    points.setdefault(first, 0.0)
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


@reference("nDCGphi")
def _(qrels, run, level, judged, variant="paper", points=None, cutoff=None):
    if points is None:
        phi = phi_of(qrels.values(), variant)
    else:
        x, y = zip(*points, strict=True)
        curve = PchipInterpolator(x, y)

        def phi(grade):
            return float(curve(min(max(grade, x[0]), x[-1])))

    return ndcg({d: 2 ** phi(g) - 1 if g >= 0 else 0.0 for d, g in qrels.items()}, run, cutoff)


@reference("rankDCG")
def _(qrels, run, level, judged):
    distinct = sorted(set(qrels.values()))
    if len(distinct) < 2:
        return NAN
    order = sorted(qrels, key=lambda d: (-run.get(d, -math.inf), qrels[d]))
    levels = [distinct.index(qrels[d]) + 1 for d in order]
    best = sorted(levels, reverse=True)
    discounts = [len(distinct) + 1 - one for one in best]

    def total(some):
        return sum(a / b for a, b in zip(some, discounts, strict=True))

    return (total(levels) - total(best[::-1])) / (total(best) - total(best[::-1]))


def hits(qrels, run, level, rel, cutoff=None):
    return sum(1 for d in ranked(run, cutoff) if d in relevant_set(qrels, level, rel))


def f(p, r, x):
    return ratio((x + 1) * p * r, x * p + r)


@reference("P")
def precision(qrels, run, level, judged, rel=None, cutoff=None):
    return hits(qrels, run, level, rel, cutoff) / cutoff


@reference("R")
def recall(qrels, run, level, judged, rel=None, cutoff=None):
    return ratio(hits(qrels, run, level, rel, cutoff), len(relevant_set(qrels, level, rel)))


@reference("F")
def _(qrels, run, level, judged, rel=None, x=1.0, cutoff=None):
    both = (
        precision(qrels, run, level, judged, rel, cutoff),
        recall(qrels, run, level, judged, rel, cutoff),
    )
    return f(*both, x)


@reference("set_P")
def set_precision(qrels, run, level, judged, rel=None, cutoff=None):
    return ratio(hits(qrels, run, level, rel, cutoff), len(ranked(run, cutoff)))


@reference("set_recall")
def set_recall(qrels, run, level, judged, rel=None, cutoff=None):
    return recall(qrels, run, level, judged, rel, cutoff)


@reference("set_F")
def _(qrels, run, level, judged, rel=None, x=1.0, cutoff=None):
    of = qrels, run, level, judged, rel, cutoff
    return f(set_precision(*of), set_recall(*of), x)


@reference("Success")
def _(qrels, run, level, judged, rel=None, need="one", cutoff=None):
    found, relevant = hits(qrels, run, level, rel, cutoff), relevant_set(qrels, level, rel)
    return 1.0 if found and (need == "one" or found == len(relevant)) else 0.0


@reference("RR")
def _(qrels, run, level, judged, rel=None, cutoff=None):
    for rank, d in enumerate(ranked(run, cutoff), 1):
        if d in relevant_set(qrels, level, rel):
            return 1 / rank
    return 0.0


def shares(qrels, judged):
    largest = max(judged, default=0.0)
    return {d: max(g, 0.0) / largest if largest > 0 else 0.0 for d, g in qrels.items()}


@reference("gP")
def _(qrels, run, level, judged, cutoff=None):
    total = sum(shares(qrels, judged).get(d, 0.0) for d in ranked(run, cutoff))
    return ratio(total, len(run) if cutoff is None else cutoff)


@reference("gR")
def _(qrels, run, level, judged, cutoff=None):
    own = shares(qrels, judged)
    return ratio(sum(own.get(d, 0.0) for d in ranked(run, cutoff)), sum(own.values()))


@reference("scaled_utility")
def _(qrels, run, level, judged, rel=None, a=3.0, b=-2.0, s=100.0):
    if not run:
        return 0.0
    good = hits(qrels, run, level, rel)
    utility = a * good + b * (len(run) - good)
    most, least = a * len(relevant_set(qrels, level, rel)), b * s
    return (max(utility, least) - least) / (most - least)


@reference("num_q")
def _(qrels, run, level, judged):
    return 1.0


@reference("num_ret")
def _(qrels, run, level, judged):
    return float(len(run))


@reference("num_rel")
def _(qrels, run, level, judged, rel=None):
    return float(len(relevant_set(qrels, level, rel)))


@reference("num_rel_ret")
def _(qrels, run, level, judged, rel=None, cutoff=None):
    return float(hits(qrels, run, level, rel, cutoff))


def novelty_gains(ranking, topics, alpha):
    """The gain of each document of a ranking. topics: of each subtopic, the documents relevant to it."""
    return [
        sum((1 - alpha) ** sum(1 for above in ranking[:i] if above in of) for of in topics if d in of)
        for i, d in enumerate(ranking)
    ]


def greedy(topics, alpha):
    left, ranking = set().union(*topics), []
    while left:
        ranking.append(max(left, key=lambda d: (round(novelty_gains([*ranking, d], topics, alpha)[-1], 12), d)))
        left.remove(ranking[-1])
    return ranking


def diversity(name, ranking, topics, every, alpha=0.5, beta=0.5, of="relevant", cutoff=None):
    """A metric of subtopics, for a ranking of ids. every: how many subtopics the qrels have."""
    topics = [of for of in topics if of]
    first = ranking[:cutoff]
    number = len(topics)
    weight = {
        "alpha_": lambda r: 1 / math.log2(r + 1),
        "ERR": lambda r: 1 / r,
        "NRBP": lambda r: beta ** (r - 1),
    }

    def total(ranked):
        weigh = next(function for part, function in weight.items() if part in name)
        return sum(g * weigh(r) for r, g in enumerate(novelty_gains(ranked, topics, alpha), 1))

    if name in ("alpha_DCG", "ERR_IA"):
        weigh = weight["alpha_"] if name == "alpha_DCG" else weight["ERR"]
        depth = len(ranking) if cutoff is None else cutoff
        return ratio(total(first), sum(number * (1 - alpha) ** (r - 1) * weigh(r) for r in range(1, depth + 1)))
    if name in ("alpha_nDCG", "nERR_IA", "nNRBP"):
        return ratio(total(first), total(greedy(topics, alpha)[:cutoff])) if topics else 0.0
    if name == "NRBP":
        return ratio((1 - (1 - alpha) * beta) * total(ranking), number)
    if name == "AP_IA":
        each = [
            sum(sum(1 for d in first[:r] if d in of) / r for r, d in enumerate(first, 1) if d in of) / len(of)
            for of in topics
        ]
        return ratio(sum(each), number)
    if name == "P_IA":
        return ratio(sum(1 for d in first for of in topics if d in of), cutoff * number)
    found = sum(1 for of in topics if of & set(first))
    return ratio(found, (every if of == "all" else number)) if topics else 0.0


DIVERSITY = ("alpha_DCG", "alpha_nDCG", "ERR_IA", "nERR_IA", "NRBP", "nNRBP", "AP_IA", "P_IA", "StRecall")


def _of_one_subtopic(name):
    def value(qrels, run, level, judged, rel=None, **params):
        return diversity(name, ranked(run), [relevant_set(qrels, level, rel)], 1, **params)

    return value


for _name in DIVERSITY:
    REFERENCE[_name] = _of_one_subtopic(_name)

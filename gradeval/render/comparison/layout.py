"""What the formats of comparisons share: numbers as text, grids for wide formats, and the legend."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from string import ascii_lowercase
from typing import NamedTuple

from gradeval.analysis.comparison import MEAN_DIFFERENCE, Comparison, PairComparison, Section, estimand, title
from gradeval.analysis.options import RANDOM_TESTS, TUKEY
from gradeval.errors import visible
from gradeval.render import Digits
from gradeval.render.grids import ABSENT, Cell, Grid, number, signed
from gradeval.statistics.sampling import EXHAUSTIVE

BETTER, WORSE = "▲", "▼"
_SMALLEST = math.ulp(0.0)  # an end of an interval that leaves out 0 but begins next to it
_CORRECTIONS = {
    "holm": "Holm",
    "bonferroni": "Bonferroni",
    "bh": "Benjamini-Hochberg",
    "maxt": "maxT",
}


class ComparisonRenderOptions(NamedTuple):
    """What is printed, and how; colour and width are for the table, spreadsheet is for csv."""

    per_query: bool = False
    summary: bool = True
    relative: bool = False
    digits: Digits = 4
    colour: bool = False
    width: int | None = None
    spreadsheet: bool = False


def probability(p: float, digits: Digits) -> str:
    """A p-value; one that would be rounded to 0 is shown as below the smallest number shown."""
    least = 0.0 if digits == "full" else 10.0**-digits
    return f"<{least:.{digits}f}" if p < least / 2 else number(p, digits)


def interval(one: PairComparison, digits: Digits) -> str:
    """'[low, high]'; a parenthesis instead of a bracket at an infinite end, and at a 0 that is excluded."""
    if math.isnan(one.low):
        return ABSENT
    low, high = (number(0.0 if abs(end) == _SMALLEST else end, digits) for end in (one.low, one.high))
    zero = number(0.0, digits)
    opens = "(" if math.isinf(one.low) or (one.low > 0 and low == zero) else "["
    closes = ")" if math.isinf(one.high) or (one.high < 0 and high == zero) else "]"
    return f"{opens}{low}, {high}{closes}"


def queries_needed(value: float) -> str:
    return ABSENT if math.isnan(value) else "inf" if math.isinf(value) else f"{int(value):,}"


def letters(count: int) -> list[str]:
    """A letter for each run: a … z, then aa, ab …"""
    names = list(ascii_lowercase)
    while len(names) < count:
        names += [first + last for first in names[-(26 ** len(names[-1])) :] for last in ascii_lowercase]
    return names[:count]


def beaten(comparison: Comparison, section: Section) -> Mapping[tuple[str, str], str]:
    """(run, metric) -> the letters of the runs that it is significantly better than."""
    letter = dict(zip(comparison.values.runs, letters(len(comparison.values.runs)), strict=True))
    found: dict[tuple[str, str], set[str]] = {}
    for one in section.comparisons:
        if one.verdict:
            winner, loser = (one.run, one.baseline) if one.verdict == "better" else (one.baseline, one.run)
            found.setdefault((winner, one.metric), set()).add(letter[loser])
    order = {name: place for place, name in enumerate(letter.values())}
    between = "," if len(order) > len(ascii_lowercase) else ""
    return {key: between.join(sorted(names, key=order.__getitem__)) for key, names in found.items()}


def against_baseline(comparison: Comparison, section: Section) -> Mapping[tuple[str, str], str]:
    """(run, metric) -> whether it is significantly better or worse than the baseline."""
    marks = {"better": BETTER, "worse": WORSE}
    return {(one.run, one.metric): marks[one.verdict] for one in section.comparisons if one.verdict}


def grids(comparison: Comparison, options: ComparisonRenderOptions, with_letters: bool) -> Iterator[Grid]:
    """The grids to draw, one below the other. with_letters: for significance, also against one baseline."""
    if options.per_query:
        yield from _query_grids(comparison, options.digits)
    if not options.summary:
        return
    for section in comparison.sections:
        yield _means(comparison, section, options, with_letters or comparison.options.all_pairs)
        yield _differences(comparison, section, options)
        if section.anova:
            yield _anova(comparison, section, options.digits)
            yield _effect_sizes(comparison, section, options.digits)
    if comparison.changes:
        yield _changes(comparison, options.digits)


def _heading(section: Section, what: str) -> str:
    if section.group is None:
        return what
    queries = f"{section.queries:,} quer{'y' if section.queries == 1 else 'ies'}"
    return f"{visible(section.group)}: {what}, {queries}"


def _means(
    comparison: Comparison, section: Section, options: ComparisonRenderOptions, with_letters: bool
) -> Grid:
    values, judged = comparison.values, comparison.judged if section.group is None else None
    marks = (beaten if with_letters else against_baseline)(comparison, section)
    names = letters(len(values.runs))
    head = ("run", *(visible(column.display) for column in values.metrics), *([judged.name] if judged else []))
    texts = [[number(mean, options.digits) for mean in row] for row in section.means.tolist()]
    best = []
    for m, column in enumerate(values.metrics):
        means = [
            (column.sign * row[m], text[m])
            for row, text in zip(section.means.tolist(), texts, strict=True)
            if not math.isnan(row[m])
        ]
        best.append(max(means)[1] if means and column.higher_is_better is not None else None)
    rows = []
    for r, run in enumerate(values.runs):
        label = f"{visible(run)} ({names[r]})" if with_letters else visible(run)
        cells = [
            Cell(texts[r][m], marks.get((run, column.name), ""), texts[r][m] == best[m])
            for m, column in enumerate(values.metrics)
        ]
        if judged:
            cells.append(Cell(number(float(judged.means[r]), options.digits)))
        rows.append((Cell(label), *cells))
    return Grid(_heading(section, "Means"), head, rows)


def _differences(comparison: Comparison, section: Section, options: ComparisonRenderOptions) -> Grid:
    chosen, digits = comparison.options, options.digits
    displays = {column.name: visible(column.display) for column in comparison.values.metrics}
    several = chosen.all_pairs
    correction = "Tukey" if chosen.test == TUKEY else _CORRECTIONS.get(chosen.used_correction, "")
    has_p = chosen.test not in (TUKEY, "bootstrap")
    has_estimate = estimand(chosen.test) != MEAN_DIFFERENCE
    # where all pairs have values, both means stand in the table of means, and n in the legend
    with_means = len({one.n for one in section.comparisons} | {section.queries}) > 1
    head = ["run", *(["baseline"] if several else []), "metric"]
    head += ["n", "baseline mean", "mean"] if with_means else []
    head += ["difference"]
    head += ["%"] if options.relative else []
    head += ["estimate"] if has_estimate else []
    head += [f"{chosen.confidence:g} % interval", *(["p"] if has_p else [])]
    head += [f"p ({correction})"] if correction else []
    head += ["effect size", "won/tied/lost"]
    head += ["smallest", "needed"] if chosen.power else []
    rows = []
    for one in section.comparisons:
        cells = [visible(one.run), *([visible(one.baseline)] if several else []), displays[one.metric]]
        if with_means:
            cells += [str(one.n), number(one.baseline_mean, digits), number(one.mean, digits)]
        cells.append(signed(one.difference, digits))
        if options.relative:
            cells.append(signed(one.relative, 1 if digits != "full" else digits))
        if has_estimate:
            cells.append(signed(one.estimate, digits))
        cells.append(interval(one, digits))
        if has_p:
            cells.append(probability(one.p, digits))
        if correction:
            cells.append(probability(one.p_corrected, digits))
        cells += [
            signed(one.effect_size, 2 if digits != "full" else digits),
            f"{one.won}/{one.tied}/{one.lost}",
        ]
        if one.power is not None:
            cells += [number(one.power.smallest, digits), queries_needed(one.power.needed)]
        rows.append(tuple(map(Cell, cells)))
    what = "Differences" if several else f"Differences from {visible(section.comparisons[0].baseline)}"
    return Grid(_heading(section, what), tuple(head), rows, 3 if several else 2)


def _anova(comparison: Comparison, section: Section, digits: Digits) -> Grid:
    rows = []
    for column, anova in zip(comparison.values.metrics, section.anova, strict=True):
        for name, source in (
            ("system", anova.system),
            ("query", anova.query),
            ("residual", anova.residual),
            ("total", anova.total),
        ):
            texts = [visible(column.display), name, number(source.squares, digits), str(source.df)]
            texts += [number(source.mean_square, digits), number(source.f, digits)]
            rows.append(tuple(map(Cell, (*texts, probability(source.p, digits)))))
    head = ("metric", "source", "sum of squares", "df", "mean square", "F", "p")
    return Grid(_heading(section, "Analysis of variance"), head, rows, 2)


def _effect_sizes(comparison: Comparison, section: Section, digits: Digits) -> Grid:
    runs = comparison.values.runs
    rows = [
        tuple(
            map(
                Cell,
                (
                    visible(runs[run]),
                    visible(runs[baseline]),
                    *(signed(float(one.effect_sizes[run, baseline]), digits) for one in section.anova),
                ),
            )
        )
        for baseline, run in comparison.pairs
    ]
    head = ("run", "baseline", *(visible(column.display) for column in comparison.values.metrics))
    return Grid(_heading(section, "Effect sizes by the residual standard deviation"), head, rows, 2)


def _changes(comparison: Comparison, digits: Digits) -> Grid:
    displays = {column.name: visible(column.display) for column in comparison.values.metrics}
    has_groups = len(comparison.sections) > 1
    rows = []
    for one in comparison.changes:
        texts = [visible(one.group or "")] if has_groups else []
        texts += [one.kind, visible(one.run), visible(one.baseline), displays[one.metric], visible(one.query)]
        texts += [number(one.baseline_value, digits), number(one.value, digits)]
        rows.append(tuple(map(Cell, (*texts, signed(one.difference, digits)))))
    head = ["group"] if has_groups else []
    head += ["change", "run", "baseline", "metric", "query", "baseline value", "value", "difference"]
    return Grid("Queries with the largest changes", tuple(head), rows, len(head) - 3)


def _query_grids(comparison: Comparison, digits: Digits) -> Iterator[Grid]:
    values = comparison.values
    runs = [visible(run) for run in values.runs]
    differences = [values.differences(*pair) for pair in comparison.pairs]
    pairs = [f"{runs[run]} - {runs[baseline]}" for baseline, run in comparison.pairs]
    for m, column in enumerate(values.metrics):
        numbers = [*values.values[:, m].tolist()]
        changes = [of[m].tolist() for of in differences]
        rows = [
            (
                Cell(visible(query)),
                *(Cell(number(of[q], digits)) for of in numbers),
                *(Cell(signed(of[q], digits)) for of in changes),
            )
            for q, query in enumerate(values.queries)
        ]
        yield Grid(visible(column.display), ("query", *runs, *pairs), rows)


def legend(comparison: Comparison, options: ComparisonRenderOptions, with_letters: bool) -> list[str]:
    """What the marks and numbers mean, a sentence each."""
    chosen = comparison.options
    if not options.summary:
        return []
    alpha = f"alpha = {chosen.alpha:g}"
    sizes = sorted({one.n for one in comparison.comparisons})
    n = f"n = {sizes[0]}" if len(sizes) == 1 else f"n = {sizes[0]} to {sizes[-1]}"
    by = title(chosen.test)
    if chosen.test == "bootstrap":
        by, rule = f"{by} excludes 0", "uncorrected"
    elif chosen.test == TUKEY:
        rule = "for all pairs of runs, metric by metric"
    elif chosen.used_correction == "none":
        by, rule = f"{by}, two-sided", "uncorrected"
    else:
        family = comparison.family
        of = f"{family:,} comparison{'s' * (family != 1)}"
        of += ", and within each group" if len(comparison.sections) > 1 else ""
        corrected = f"{_CORRECTIONS[chosen.used_correction]} correction for {of}"
        by, rule = f"{by}, two-sided", corrected if family else "no comparison has a p"
    if with_letters or chosen.all_pairs:
        what = "Letters: significantly better than these runs"
    else:
        baseline = visible(comparison.comparisons[0].baseline)
        what = f"{BETTER} {WORSE}: significantly better, worse than {baseline}"
    sentences = [f"{what} ({by}; {rule}; {alpha}; {n})."]
    drawn = sorted({one.method for one in comparison.comparisons if one.method})
    if chosen.used_correction == "maxt" and chosen.test == "t":
        flips = "all" if sizes[-1] <= EXHAUSTIVE else f"{chosen.samples:,} random"
        drawn = [f"{flips} sign flips, for the correction"]
    if chosen.test in RANDOM_TESTS or chosen.used_correction == "maxt":
        seed = "" if all(one.startswith("all") for one in drawn) else f"; seed {chosen.seed}"
        sentences.append(f"Samples: {', '.join(drawn) or 'none'}{seed}.")
    fewest, most = comparison.sizes
    if fewest < most:
        sentences.append(
            f"Means: of each run over its own {fewest:,} to {most:,} queries with a value; "
            "differences and n: over those where both runs have one."
        )
    kind = "Simultaneous intervals" if chosen.test == TUKEY else "Intervals"
    uncorrected = "" if chosen.test == TUKEY else ", uncorrected"
    of = estimand(chosen.test)
    if of != MEAN_DIFFERENCE:
        of = f"estimate: the {of}"
    sentences.append(
        f"{kind}: {chosen.confidence:g} % confidence, of the {of}{uncorrected}. "
        "Effect size: mean difference / standard deviation of the differences."
    )
    if chosen.power:
        sentences.append(
            "Smallest: the difference that the t-test would show with 80 % power on these queries. "
            "Needed: the queries for 80 % power at the observed difference."
        )
    return sentences

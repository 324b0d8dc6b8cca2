"""The document of a comparison: means, differences, analysis of variance, changes, queries, sentences."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from string import ascii_lowercase
from typing import Any

import numpy as np

from gradeval.arrays import Floats
from gradeval.commands.compare.bounds import MissingJudgments
from gradeval.commands.compare.compare import (
    ESTIMANDS,
    MEAN_DIFFERENCE,
    TITLES,
    ComparedMetric,
    Comparison,
    PairComparison,
    Section,
    anova_sources,
)
from gradeval.commands.compare.coverage import not_tested
from gradeval.compare_options import ALL, FEW_RUNS, MAXT, RANDOM_TESTS, TUKEY, CompareOptions
from gradeval.errors import visible
from gradeval.notices import many
from gradeval.registry.metric import OUTER
from gradeval.render import Digits
from gradeval.render.document import (
    ABSENT,
    NAME,
    NUMBER,
    PROBABILITY,
    SIGNED,
    WORD,
    Block,
    Cell,
    Column,
    ColumnKind,
    Grid,
    Lines,
    OutputDocument,
    RenderOptions,
    Rows,
    Sentences,
    Text,
    data_columns,
    decimals,
    grid_of,
    nonzero,
    number,
    plain,
    rows_of,
    signed,
)
from gradeval.statistics.multiple import alike_sets
from gradeval.statistics.sampling import FEW_PAIRS
from gradeval.statistics.weighted import Sample

BETTER, WORSE = "▲", "▼"
OUTER_MARK = " *"  # beside outer bounds
Marks = dict[tuple[str, str], str]  # by (run, metric)
_SMALLEST = math.ulp(0.0)  # an end of an interval that leaves out 0 but begins next to it
_CORRECTIONS = {"holm": "Holm", "bonferroni": "Bonferroni", "bh": "Benjamini-Hochberg", "maxt": "maxT"}


def document(
    comparison: Comparison,
    options: RenderOptions,
    *,
    per_query: bool = False,
    summary: bool = True,
    relative: bool = False,
    pairs: bool = False,
) -> OutputDocument:
    """per_query: all values and differences. summary: the comparisons. relative: differences in percent too.
    pairs: tables of all pairs, however many.
    """
    digits = options.digits
    with_letters = options.format == "latex" or comparison.options.all_pairs

    def blocks() -> Iterator[Block]:
        if per_query:
            yield from _grids_of_queries(comparison, digits)
        if summary:
            shows_pairs = pairs or not has_many_pairs(comparison)
            yield from _blocks_of_summary(comparison, options, with_letters, relative, shows_pairs=shows_pairs)

    def rows() -> Iterator[Rows]:
        if summary:
            yield from _rows_of_summary(comparison, relative, digits)
        if per_query:
            yield _rows_of_queries(comparison, digits)

    return OutputDocument(blocks=blocks, rows=rows, content=lambda: comparison.to_dict(per_query=per_query))


def has_many_pairs(comparison: Comparison) -> bool:
    """Whether letters say which runs do not differ, in place of those of all that a run is better than."""
    return comparison.options.all_pairs and len(comparison.values.runs) > FEW_RUNS


def _blocks_of_summary(
    comparison: Comparison,
    options: RenderOptions,
    with_letters: bool,
    relative: bool,
    *,
    shows_pairs: bool,
) -> Iterator[Block]:
    for section in comparison.sections:
        means, differences = means_and_differences(comparison, options.digits, section, with_letters, relative)
        yield means
        if shows_pairs:
            yield differences
        if section.anova:
            yield from _grids_of_anova(comparison, section, options.digits)
    if comparison.values.replicates:
        columns = _replicate_columns(comparison)
        yield grid_of("Replicates", columns, _replicates(comparison), options.digits)
    if comparison.changes:
        columns, changes = _changes(comparison)
        labels = sum(bool(column.head) for column in columns) - 3
        yield grid_of("Queries with the largest changes", columns, changes, options.digits, labels)
    yield Sentences([*legend(comparison, with_letters, options.digits, shows_pairs=shows_pairs)])
    if options.format != "table" and (signatures := comparison.inputs.get("signatures")):
        yield Lines(list(map(visible, signatures)))


def _columns_by_query(comparison: Comparison) -> Iterator[tuple[str, Floats]]:
    """The name and the numbers (M, Q) of each run, then of each difference."""
    values = comparison.values
    yield from zip(values.runs, values.values, strict=True)
    for baseline, run in comparison.pairs:
        yield f"{values.runs[run]} - {values.runs[baseline]}", values.differences(baseline, run)


def _grids_of_queries(comparison: Comparison, digits: Digits) -> Iterator[Grid]:
    """A table for each metric: the values of the runs for each query, and their differences."""
    values = comparison.values
    heads, columns = zip(*_columns_by_query(comparison), strict=True)
    writers = [number] * len(values.runs) + [signed] * len(comparison.pairs)
    for m, metric in enumerate(values.metrics):
        numbers = zip(*(column[m].tolist() for column in columns), strict=True)
        rows = [
            [visible(query), *(write(value, digits) for write, value in zip(writers, row, strict=True))]
            for query, row in zip(values.queries, numbers, strict=True)
        ]
        yield Grid(visible(metric.display), ("query", *map(visible, heads)), rows, runs_in_head=True)


def _rows_of_queries(comparison: Comparison, digits: Digits) -> Rows:
    values = comparison.values
    heads, columns = zip(*_columns_by_query(comparison), strict=True)
    part: list[list[Text]] = [
        [list(values.queries), metric.name, *(decimals(column[m], False, digits=digits) for column in columns)]
        for m, metric in enumerate(values.metrics)
    ]
    return Rows(("query", "metric", *heads), [part], frozenset((0, 1)))


def _grids_of_anova(comparison: Comparison, section: Section, digits: Digits) -> Iterator[Grid]:
    """The analysis of variance of a section, and its effect sizes with a row for each pair of runs."""
    heading = _heading(section, "Analysis of variance")
    yield grid_of(heading, _ANOVA, _variances(comparison, [section]), digits, 2)
    runs = list(map(visible, comparison.values.runs))
    rows = [
        [
            runs[run],
            runs[baseline],
            *(signed(anova.effect_sizes[run, baseline], digits) for anova in section.anova),
        ]
        for baseline, run in comparison.pairs
    ]
    head = ("run", "baseline", *(visible(metric.display) for metric in comparison.values.metrics))
    yield Grid(_heading(section, "Effect sizes by the residual standard deviation"), head, rows, 2)


def _rows_of_summary(comparison: Comparison, relative: bool, digits: Digits) -> Iterator[Rows]:
    """The comparisons, the analysis of variance and the changes, each if it was asked for."""
    sections = comparison.sections
    options = comparison.options
    columns = _comparison_columns(comparison, sections, relative)
    yield rows_of(columns, _compared(comparison, sections), digits)
    if options.anova:
        yield rows_of(_ANOVA, _variances(comparison, sections), digits)
        yield rows_of(_EFFECT_SIZES, _effect_sizes(comparison), digits)
    if options.worst or options.best:
        yield rows_of(*_changes(comparison), digits)
    if comparison.values.replicates:
        yield rows_of(_replicate_columns(comparison), _replicates(comparison), digits)


def interval(pair: PairComparison, digits: Digits) -> str:
    """'[low, high]'; a parenthesis instead of a bracket at an infinite end, and at a 0 that is excluded."""
    if math.isnan(pair.low):
        return ABSENT
    low, high = (number(0.0 if abs(end) == _SMALLEST else end, digits) for end in (pair.low, pair.high))
    zero = number(0.0, digits)
    opens = "(" if math.isinf(pair.low) or (pair.low > 0 and low == zero) else "["
    closes = ")" if math.isinf(pair.high) or (pair.high < 0 and high == zero) else "]"
    return f"{opens}{low}, {high}{closes}"


def bounds(missing: MissingJudgments, digits: Digits) -> str:
    """'low to high' of a difference over the judgments that are missing."""
    if math.isnan(missing.lower_bound):
        return ABSENT
    return _range(missing, digits) + OUTER_MARK * (missing.bounds == OUTER)


def _range(missing: MissingJudgments, digits: Digits) -> str:
    return " to ".join(signed(bound, digits) for bound in (missing.lower_bound, missing.upper_bound))


def letters(count: int) -> list[str]:
    """A letter for each run: a … z, then aa, ab …"""
    words = (itertools.product(ascii_lowercase, repeat=size) for size in itertools.count(1))
    return list(map("".join, itertools.islice(itertools.chain.from_iterable(words), count)))


def means_and_differences(
    comparison: Comparison, digits: Digits, section: Section, with_letters: bool, relative: bool = False
) -> tuple[Grid, Grid]:
    """The tables of a section."""
    values = comparison.values
    all_pairs = comparison.options.all_pairs
    if has_many_pairs(comparison):
        with_letters = False
        marks = shared_letters(comparison, section)
    else:
        marks = significance(values.runs, section.comparisons, with_letters)
    # the mean of a run that is not tested is of other queries, or of hardly any
    untested = [run for run, reason in zip(values.runs, section.shortfalls, strict=True) if reason]
    head = ["run"]
    columns = [labels(values.runs, with_letters)]
    for metric, means in zip(values.metrics, section.means.T.tolist(), strict=True):
        head.append(visible(metric.display))
        of_runs = dict(zip(values.runs, means, strict=True))
        columns.append(mean_cells(of_runs, metric, digits, marks, excluded=untested))
    if comparison.judged and section.group is None:
        head.append(comparison.judged.name)
        columns.append([number(share, digits) for share in comparison.judged.means.tolist()])
    table = Grid(_heading(section, "Means"), tuple(head), list(zip(*columns, strict=True)))
    title = "Differences" if all_pairs else f"Differences from {visible(section.comparisons[0].baseline)}"
    shown = _comparison_columns(comparison, [section], relative)
    compared = _compared(comparison, [section])
    return table, grid_of(_heading(section, title), shown, compared, digits, 3 if all_pairs else 2)


def _heading(section: Section, title: str) -> str:
    if section.group is None:
        return title
    return f"{visible(section.group)}: {title}, {many(section.queries, 'query', 'queries')}"


def labels(names: Sequence[str], with_letters: bool) -> Sequence[str | Cell]:
    """The names of runs in a table, each with its letter."""
    if not with_letters:
        return list(map(visible, names))
    return [f"{visible(name)} ({letter})" for name, letter in zip(names, letters(len(names)), strict=True)]


def mean_cells(
    means: Mapping[str, float | str],
    metric: ComparedMetric,
    digits: Digits,
    marks: Marks,
    *,
    excluded: Sequence[str] = (),
) -> list[Cell]:
    """means: by run, or why there is none; those with the text of the best one are equally good, but of those
    that are excluded.
    """
    texts = {run: mean if isinstance(mean, str) else number(mean, digits) for run, mean in means.items()}
    defined = [
        (mean, texts[run])
        for run, mean in means.items()
        if not isinstance(mean, str) and run not in excluded and mean == mean
    ]
    higher = metric.higher_is_better
    best = None if higher is None or len(defined) < 2 else (max if higher else min)(defined)[1]
    return [
        Cell(text, marks.get((run, metric.name), ""), text == best and run not in excluded)
        for run, text in texts.items()
    ]


def significance(runs: Sequence[str], pairs: Iterable[PairComparison], with_letters: bool) -> Marks:
    """The letters of the runs that each is significantly better than, or a mark against the baseline."""
    significant = [pair for pair in pairs if pair.verdict]
    if not with_letters:
        return {(pair.run, pair.metric): BETTER if pair.verdict == "better" else WORSE for pair in significant}
    names = letters(len(runs))
    worse: dict[tuple[str, str], set[int]] = {}
    for pair in significant:
        both = (pair.run, pair.baseline)
        winner, loser = both if pair.verdict == "better" else both[::-1]
        worse.setdefault((winner, pair.metric), set()).add(runs.index(loser))
    between = "," if len(names) > len(ascii_lowercase) else ""
    return {key: between.join(names[r] for r in sorted(places)) for key, places in worse.items()}


def shared_letters(comparison: Comparison, section: Section) -> Marks:
    """The letters of each run by each metric: runs that share one do not differ significantly. The run with the
    best mean has an a; one that is not tested has none.
    """
    runs = comparison.values.runs
    marks = {}
    for metric, means in zip(comparison.values.metrics, section.means.T.tolist(), strict=True):
        tested = [r for r, reason in enumerate(section.shortfalls) if not reason and not math.isnan(means[r])]
        best_first = sorted(tested, key=lambda r: -metric.sign * means[r])
        position = {runs[r]: place for place, r in enumerate(best_first)}
        different = [
            (position[pair.run], position[pair.baseline])
            for pair in section.comparisons
            if pair.metric == metric.name and pair.verdict
        ]
        alike = alike_sets(len(best_first), different)
        for run, place in position.items():
            shared = [index for index, part in enumerate(alike) if place in part]
            marks[run, metric.name] = joined(shared, letters(len(alike)))
    return marks


def joined(shared: Sequence[int], names: Sequence[str]) -> str:
    """'abd', or 'a-q,s' with a range of more than three letters. shared: positions in the names, ascending."""
    ranges: list[list[int]] = []
    for index in shared:
        if ranges and index == ranges[-1][-1] + 1:
            ranges[-1].append(index)
        else:
            ranges.append([index])
    if max(map(len, ranges), default=0) > 3:
        texts = [
            f"{names[part[0]]}-{names[part[-1]]}" if len(part) > 3 else ",".join(names[index] for index in part)
            for part in ranges
        ]
        return ",".join(texts)
    between = "," if len(names) > len(ascii_lowercase) else ""
    return between.join(names[index] for index in shared)


_INTERVAL = ColumnKind(lambda value, digits: "", interval)
_END = ColumnKind(lambda value, digits: nonzero(value, plain(value, digits)), number)
_PERCENT = ColumnKind(plain, lambda value, digits: signed(value, digits if digits == "full" else 1))
_EFFECT = ColumnKind(plain, lambda value, digits: signed(value, digits if digits == "full" else 2))
_NEEDED = ColumnKind(
    lambda value, digits: f"{value:.0f}" if math.isfinite(value) else repr(value),
    lambda value, digits: ABSENT if math.isnan(value) else f"{value:,.0f}",
)
BOUND = ColumnKind(lambda value, digits: "" if math.isnan(value) else plain(value, digits), number)
_BOUNDS = ColumnKind(lambda value, digits: "", bounds)
_GROUP = ColumnKind(lambda name, _: name or ALL, lambda name, _: visible(name or ""), is_name=True)
_METRIC = ColumnKind(lambda metric, _: metric.name, lambda metric, _: visible(metric.display), is_name=True)


def _comparison_columns(comparison: Comparison, sections: Sequence[Section], relative: bool) -> list[Column]:
    chosen = comparison.options
    judged = comparison.judged
    correction = "Tukey" if chosen.test == TUKEY else _CORRECTIONS.get(chosen.used_correction, "")
    has_p = chosen.test not in (TUKEY, "bootstrap")
    has_estimate = ESTIMANDS[chosen.test] != MEAN_DIFFERENCE
    # where all pairs have values, both means stand in the table of means, and n in the legend
    with_means = any(pair.n != section.queries for section in sections for pair in section.comparisons)
    columns = [
        Column("group", "", _GROUP),
        Column("run", "run", NAME),
        Column("baseline", "baseline" * chosen.all_pairs, NAME),
        Column("metric", "metric", _METRIC),
        Column("n", "n" * with_means),
        Column("baseline_mean", "baseline mean" * with_means, NUMBER),
        Column("mean", "mean" * with_means, NUMBER),
        Column("difference", "difference", SIGNED),
        *[Column("relative_percent", "%", _PERCENT)] * relative,
        Column("", "estimate" * has_estimate, SIGNED, "estimate"),
        *data_columns("low high", _END),
        Column("estimate", "", NUMBER),
        *data_columns("lower_bound upper_bound", BOUND) * chosen.bounds,
        Column("", f"{chosen.confidence:g} % interval", _INTERVAL, "pair"),
        *[Column("", "bounds", _BOUNDS, "missing")] * chosen.bounds,
        Column("p", "p" * has_p, PROBABILITY),
        Column("p_corrected", f"p ({correction})" if correction else "", PROBABILITY),
        Column("effect_size", "effect size", _EFFECT),
        Column("", "won/tied/lost", WORD, "counts"),
        *data_columns("won tied lost verdict"),
    ]
    if chosen.power:
        columns += [Column("smallest", "smallest", NUMBER), Column("needed", "needed", _NEEDED)]
    if judged is not None:
        columns += (Column(name, "", NUMBER) for name in (f"baseline_{judged.name}", judged.name))
    return columns + data_columns("test correction alpha seed reason")


def _compared(comparison: Comparison, sections: Sequence[Section]) -> Iterator[dict[str, Any]]:
    """A row for each comparison, with the values of all of the columns."""
    chosen = comparison.options
    judged = comparison.judged
    shared = {
        "test": chosen.test,
        "correction": chosen.used_correction,
        "alpha": f"{chosen.alpha:g}",
        "seed": chosen.seed if chosen.test in RANDOM_TESTS or chosen.used_correction == MAXT else "",
    }
    metrics = comparison.values.by_name
    shares = {} if judged is None else dict(zip(comparison.values.runs, judged.means.tolist(), strict=True))
    for section in sections:
        for pair in section.comparisons:
            row = {**vars(pair), **shared, "group": section.group, "metric": metrics[pair.metric], "pair": pair}
            row |= {"relative_percent": pair.relative, "counts": f"{pair.won}/{pair.tied}/{pair.lost}"}
            if pair.power is not None:
                row |= vars(pair.power)
            if pair.missing is not None:
                row |= vars(pair.missing)
            if judged is not None:
                row |= {judged.name: shares[pair.run], f"baseline_{judged.name}": shares[pair.baseline]}
            yield row


_ANOVA = [
    Column("group", "", _GROUP),
    Column("metric", "metric", _METRIC),
    Column("source", "source"),
    Column("squares", "sum of squares", NUMBER),
    Column("df", "df"),
    Column("mean_square", "mean square", NUMBER),
    Column("f", "F", NUMBER),
    Column("p", "p", PROBABILITY),
]
_EFFECT_SIZES = [
    Column("group", "", _GROUP),
    Column("run", "", NAME),
    Column("baseline", "", NAME),
    Column("metric", "", _METRIC),
    Column("residual_effect_size", "", NUMBER, "size"),
]


def _replicate_columns(comparison: Comparison) -> list[Column]:
    names = ((metric.name, visible(metric.display)) for metric in comparison.values.metrics)
    of_metrics = [Column(f"spread_{name}", f"spread of {shown}", NUMBER) for name, shown in names]
    return [Column("system", "system", NAME), Column("runs", "runs"), *of_metrics]


def _replicates(comparison: Comparison) -> Iterator[dict[str, Any]]:
    """A row for each system: how many runs it has, and the standard deviation of their means."""
    values = comparison.values
    for system, of_system in zip(values.runs, values.replicates, strict=True):
        spreads = zip(values.metrics, of_system.spread(values.weights).tolist(), strict=True)
        of_metrics = {f"spread_{metric.name}": spread for metric, spread in spreads}
        yield {"system": system, "runs": len(of_system.runs), **of_metrics}


def _variances(comparison: Comparison, sections: Sequence[Section]) -> Iterator[dict[str, Any]]:
    for section in sections:
        for metric, anova in zip(comparison.values.metrics, section.anova, strict=True):
            for name, source in anova_sources(anova).items():
                yield {"group": section.group, "metric": metric, "source": name, **vars(source)}


def _effect_sizes(comparison: Comparison) -> Iterator[dict[str, Any]]:
    names = comparison.values.runs
    for section in comparison.sections:
        for metric, anova in zip(comparison.values.metrics, section.anova, strict=True):
            for baseline, run in comparison.pairs:
                size = anova.effect_sizes[run, baseline]
                row = {"group": section.group, "metric": metric, "size": size}
                yield {**row, "run": names[run], "baseline": names[baseline]}


def _changes(comparison: Comparison) -> tuple[list[Column], list[dict[str, Any]]]:
    columns = [
        Column("group", "group" if len(comparison.sections) > 1 else "", _GROUP),
        Column("change", "change", WORD, "kind"),
        Column("rank", ""),
        Column("run", "run", NAME),
        Column("baseline", "baseline", NAME),
        Column("metric", "metric", _METRIC),
        Column("query", "query", NAME),
        Column("baseline_value", "baseline value", NUMBER),
        Column("value", "value", NUMBER),
        Column("difference", "difference", SIGNED),
    ]
    metrics = comparison.values.by_name
    return columns, [{**change, "metric": metrics[change["metric"]]} for change in comparison.changes]


def _weighted(weights: Floats) -> str:
    """What the weights of queries above 0 are in."""
    effective = Sample.of(np.zeros(len(weights)), weights).effective_n
    weighted = "means, differences, tests and effect sizes, not won/tied/lost"
    return f"Weighted by query: {weighted}. Effective number of queries: {effective:.1f}."


def legend(
    comparison: Comparison, with_letters: bool, digits: Digits = 4, *, shows_pairs: bool = True
) -> Iterator[str]:
    """The sentences below the tables. shows_pairs: whether there are tables of differences."""
    chosen = comparison.options
    values = comparison.values
    if any(pair.is_tested for section in comparison.sections for pair in section.comparisons):
        yield _significant(comparison, with_letters)
    yield from _drawn(comparison)
    yield from _own_queries(values.values)
    if shows_pairs:
        yield _about_intervals(chosen)
    if values.weights is not None:
        yield _weighted(values.weights)
    if values.replicates:
        yield (
            "Systems: for each query the mean of their runs. Spread: the standard deviation of the means of "
            "runs."
        )
    shortfalls = itertools.chain.from_iterable(part.shortfalls for part in comparison.sections)
    also = ", nor in the analysis of variance" * chosen.anova
    yield from map(visible, not_tested(filter(None, shortfalls), also))
    yield from map(visible, bounds_sentences(comparison, digits))
    if chosen.power and shows_pairs:
        alike = "" if values.weights is None else ", with weights as unequal as these"
        yield (
            "Smallest: the difference that the t-test would show with 80 % power on these queries. "
            f"Needed: the queries for 80 % power at the observed difference{alike}."
        )


def _about_intervals(options: CompareOptions) -> str:
    estimand = ESTIMANDS[options.test]
    estimand = estimand if estimand == MEAN_DIFFERENCE else f"estimate: the {estimand}"
    kind, uncorrected = "Intervals", ", uncorrected"
    if options.test == TUKEY:
        kind, uncorrected = "Simultaneous intervals", ""
    return (
        f"{kind}: {options.confidence:g} % confidence, of the {estimand}{uncorrected}. "
        "Effect size: mean difference / standard deviation of the differences."
    )


def bounds_sentences(comparison: Comparison, digits: Digits) -> Iterator[str]:
    """What judgments of unjudged documents could make of the differences: few sentences, however many these."""
    pairs = [(pair, pair.missing) for pair in comparison.comparisons if pair.missing and pair.missing.bounds]
    if len(pairs) > FEW_RUNS:
        is_open = sum(missing.is_open for _, missing in pairs)
        differences = many(len(pairs), "difference", "differences")
        yield f"Judgments of unjudged documents leave the sign of {is_open} of {differences} open."
    else:
        yield from (_could_be(comparison, pair, missing, digits) for pair, missing in pairs)
    if pairs:
        yield "Bounds: worst cases over the judgments that are missing; no intervals of confidence."
    if any(missing.bounds == OUTER for _, missing in pairs):
        yield "*: outer bounds, which no judgments need reach."


def _could_be(comparison: Comparison, pair: PairComparison, missing: MissingJudgments, digits: Digits) -> str:
    """What judgments could make of a difference."""
    metric = comparison.values.by_name[pair.metric]
    difference = f"{metric.display} of {pair.run} − {pair.baseline} is {signed(pair.difference, digits)}"
    if not missing.unjudged or missing.unjudged_first is None or missing.settled is None:
        return f"{difference}: no document that counts is unjudged."
    documents = many(missing.unjudged, "document", "documents")
    first = "" if missing.first_ranks is None else f" in a first {missing.first_ranks}"
    if missing.unjudged_first < missing.unjudged:
        first = first and f" ({missing.unjudged_first:,}{first})"
    more = "more than " * missing.unjudged_more
    change = "leave it within" if missing.bounds == OUTER else "could make it"
    settled = f"; in {missing.settled} of {many(pair.n, 'query', 'queries')} none can change the sign"
    settled *= missing.settled > 0
    return f"{difference}: judgments of {more}{documents}{first} {change} {_range(missing, digits)}{settled}."


def _significant(comparison: Comparison, with_letters: bool) -> str:
    """What marks and letters mean."""
    chosen = comparison.options
    pairs = comparison.comparisons
    sizes = sorted({pair.n for pair in pairs})
    n = f"n = {sizes[0]}" + (f" to {sizes[-1]}" if len(sizes) > 1 else "")
    by = f"{TITLES[chosen.test]}, two-sided"
    if chosen.test == "bootstrap":
        by = f"{TITLES[chosen.test]} excludes 0"
    elif chosen.test == TUKEY:
        by = TITLES[chosen.test]
    meaning = f"{BETTER} {WORSE}: significantly better, worse than {visible(pairs[0].baseline)}"
    if has_many_pairs(comparison):
        marks = (shared_letters(comparison, section) for section in comparison.sections)
        has_ranges = any("-" in text for part in marks for text in part.values())
        ranges = ", a-d for a, b, c and d" if has_ranges else ""
        meaning = f"Letters{ranges}: runs that share one do not differ significantly"
    elif with_letters or chosen.all_pairs:
        meaning = "Letters: significantly better than these runs"
    return f"{meaning} ({by}; {_corrected(comparison)}; alpha = {chosen.alpha:g}; {n})."


def _corrected(comparison: Comparison) -> str:
    """For how many comparisons p is corrected."""
    chosen = comparison.options
    if chosen.test == TUKEY:
        return "for all pairs of runs, metric by metric"
    if chosen.used_correction == "none":
        return "uncorrected"
    family = comparison.settings()["family"]
    if not family:
        return "no p-value"
    count = f"{family:,} comparison{'s' * (family != 1)}"
    without = len(comparison.comparisons) - family
    if without > 0 and has_many_pairs(comparison):
        count += f" (another {without:,} {'has' if without == 1 else 'have'} no p-value: identical or untested)"
    within = ", and within each group" if len(comparison.sections) > 1 else ""
    return f"{_CORRECTIONS[chosen.used_correction]} correction for {count}{within}"


def _drawn(comparison: Comparison) -> Iterator[str]:
    """What was drawn at random, or tried instead."""
    chosen = comparison.options
    pairs = comparison.comparisons
    is_maxt = chosen.used_correction == MAXT
    if chosen.test not in RANDOM_TESTS and not is_maxt:
        return
    drawn = sorted({pair.method for pair in pairs if pair.method})
    if is_maxt and chosen.test == "t":
        few = max(pair.n for pair in pairs) <= FEW_PAIRS
        drawn = [f"{'all' if few else f'{chosen.samples:,} random'} sign flips, for the correction"]
    seed = "" if all(method.startswith("all") for method in drawn) else f"; seed {chosen.seed}"
    yield f"Samples: {', '.join(drawn) or 'none'}{seed}."


def _own_queries(values: Floats) -> Iterator[str]:
    """That runs have values for different queries. values: (R, M, Q)."""
    counts = (~np.isnan(values)).sum(axis=2)
    if counts.min() < counts.max():
        yield (
            f"Means: of each run over its own {counts.min():,} to {counts.max():,} queries with a value; "
            "differences and n: over those where both runs have one."
        )

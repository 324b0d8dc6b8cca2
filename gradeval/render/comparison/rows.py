"""The tables of the long formats, tsv and csv: a head and rows of text."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from gradeval.analysis.comparison import Comparison
from gradeval.analysis.options import ALL, MAXT, RANDOM_TESTS
from gradeval.render import Digits
from gradeval.render.comparison.layout import ComparisonRenderOptions
from gradeval.render.grids import number

_Table = tuple[Sequence[str], list[list[str]]]


def plain_rows(comparison: Comparison, options: ComparisonRenderOptions) -> Iterator[_Table]:
    """The tables of tsv and csv, each with its head: comparisons, and the further output."""
    if options.summary:
        yield _comparison_rows(comparison, options)
        if comparison.options.anova:
            yield _anova_rows(comparison, options.digits)
            yield _effect_rows(comparison, options.digits)
        if comparison.options.worst or comparison.options.best:
            yield _change_rows(comparison, options.digits)
    if options.per_query:
        yield _query_rows(comparison, options.digits)


def plain(value: float, digits: Digits) -> str:
    """A number for a program."""
    return "nan" if math.isnan(value) else number(value, digits)


def interval_end(value: float, digits: Digits) -> str:
    """An end of an interval; one that is not 0 is not rounded to 0, which it may exclude."""
    text = plain(value, digits)
    return f"{value:.0e}" if value and not text.strip("-0.") else text


def significant(value: float, digits: Digits) -> str:
    """A p-value with this many significant digits, so that a small one is not 0."""
    return repr(value) if digits == "full" else f"{value:.{max(digits, 1)}g}"


def _comparison_rows(comparison: Comparison, options: ComparisonRenderOptions) -> _Table:
    digits, has_power = options.digits, comparison.options.power
    head = ["group", "run", "baseline", "metric", "n", "baseline_mean", "mean", "difference"]
    head += ["relative_percent"] if options.relative else []
    head += ["low", "high", "estimate", "p", "p_corrected", "effect_size", "won", "tied", "lost", "verdict"]
    head += ["smallest", "needed"] if has_power else []
    shares: dict[str, str] = {}
    if comparison.judged is not None:
        head += [f"baseline_{comparison.judged.name}", comparison.judged.name]
        texts = [plain(share, digits) for share in comparison.judged.means.tolist()]
        shares = dict(zip(comparison.values.runs, texts, strict=True))
    chosen = comparison.options
    is_random = chosen.test in RANDOM_TESTS or chosen.used_correction == MAXT
    how = [chosen.test, chosen.used_correction, f"{chosen.alpha:g}", str(chosen.seed) if is_random else ""]
    rows = []
    for section in comparison.sections:
        for one in section.comparisons:
            row = [ALL if section.group is None else section.group, one.run, one.baseline, one.metric]
            row += [str(one.n), *(plain(x, digits) for x in (one.baseline_mean, one.mean, one.difference))]
            row += [plain(one.relative, digits)] if options.relative else []
            row += [*(interval_end(end, digits) for end in (one.low, one.high)), plain(one.estimate, digits)]
            row += [significant(p, digits) for p in (one.p, one.p_corrected)]
            row += [plain(one.effect_size, digits), str(one.won), str(one.tied), str(one.lost), one.verdict]
            if one.power is not None:
                needed = one.power.needed
                row += [plain(one.power.smallest, digits)]
                row += [str(int(needed)) if math.isfinite(needed) else repr(needed)]
            row += [shares[one.baseline], shares[one.run]] if shares else []
            rows.append([*row, *how, one.reason])
    return [*head, "test", "correction", "alpha", "seed", "reason"], rows


def _anova_rows(comparison: Comparison, digits: Digits) -> _Table:
    rows = []
    for section in comparison.sections:
        for column, anova in zip(comparison.values.metrics, section.anova, strict=True):
            for name in ("system", "query", "residual", "total"):
                source = getattr(anova, name)
                row = [ALL if section.group is None else section.group, column.name, name]
                row += [plain(source.squares, digits), str(source.df), plain(source.mean_square, digits)]
                rows.append([*row, plain(source.f, digits), significant(source.p, digits)])
    return ("group", "metric", "source", "squares", "df", "mean_square", "f", "p"), rows


def _effect_rows(comparison: Comparison, digits: Digits) -> _Table:
    runs = comparison.values.runs
    rows = [
        [
            *(ALL if section.group is None else section.group, runs[run], runs[baseline], column.name),
            plain(float(anova.effect_sizes[run, baseline]), digits),
        ]
        for section in comparison.sections
        for column, anova in zip(comparison.values.metrics, section.anova, strict=True)
        for baseline, run in comparison.pairs
    ]
    return ("group", "run", "baseline", "metric", "residual_effect_size"), rows


def _change_rows(comparison: Comparison, digits: Digits) -> _Table:
    rows = [
        [
            ALL if one.group is None else one.group,
            *(one.kind, str(one.rank), one.run, one.baseline, one.metric, one.query),
            *(plain(x, digits) for x in (one.baseline_value, one.value, one.difference)),
        ]
        for one in comparison.changes
    ]
    head = (
        "group",
        "change",
        "rank",
        "run",
        "baseline",
        "metric",
        "query",
        "baseline_value",
        "value",
        "difference",
    )
    return head, rows


def _query_rows(comparison: Comparison, digits: Digits) -> _Table:
    values = comparison.values
    differences = [values.differences(*pair).tolist() for pair in comparison.pairs]
    numbers = values.values.tolist()
    pairs = [f"{values.runs[run]} - {values.runs[baseline]}" for baseline, run in comparison.pairs]
    rows = [
        [query, column.name, *(plain(of[m][q], digits) for of in (*numbers, *differences))]
        for q, query in enumerate(values.queries)
        for m, column in enumerate(values.metrics)
    ]
    return ("query", "metric", *values.runs, *pairs), rows

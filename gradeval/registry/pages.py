"""The pages of metrics and groups, and the list of metrics, as text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from shlex import quote
from textwrap import TextWrapper
from typing import TypedDict

import numpy as np

from gradeval.arrays import Floats
from gradeval.arrays.segments import Segments
from gradeval.errors import MetricError
from gradeval.registry.catalogue import by_group, fold, hanging, listed, of_family
from gradeval.registry.dialects import (
    ABSENT,
    GROUPS,
    MEASURES,
    PROVIDERS,
    SAME_NAMES,
    aliases,
    names_of,
    spellings,
)
from gradeval.registry.metric import NO_BOUNDS, REGISTRY, Metric
from gradeval.registry.params import Param
from gradeval.registry.sources import source_of
from gradeval.registry.spec import Spec, load_plugins, metric_meant, metric_of, parse
from gradeval.registry.synonyms import normalized, synonyms
from gradeval.tables.judgments import Judgments
from gradeval.tables.terms import DiscountedTerms, Terms

WIDTH = 105  # of the pages in the docstrings
_RETURNS = re.compile(r"^Returns .*?^(Source: )", re.MULTILINE | re.DOTALL)  # for readers of the code


def table(family: str = "", word: str = "", graded: bool = False, *, width: int | None = None) -> str:
    """The metrics with their summaries, by family; then the groups, if these are all metrics, or what to use
    instead of those in `word` that there are not. Raises MetricError if there are none.
    family: part of the name of a family. word: part of a name or of the text of the page, for those metrics
    only, the best matches first. graded: those only that distinguish grades above the relevance threshold.
    width: of the lines, None for any.
    """
    load_plugins()
    metrics = of_family(REGISTRY.values(), family)
    if graded:
        metrics = [metric for metric in metrics if is_graded(metric)]
    # the best-known families come first in the registry
    groups = {f"best matches of '{word}' first": _matches(word, metrics)} if word else by_group(metrics)
    rows = {name: [(metric.name, metric.summary) for metric in group] for name, group in groups.items()}
    absent = [f"{name}: {ABSENT[fold(name)]}" for name in word.split() if fold(name) in ABSENT]
    if not any(rows.values()):
        hint = f"'gradeval metrics' lists them, \"gradeval guide --search {quote(word)}\" searches the guide"
        raise MetricError("no metric fits all of these", hint=". ".join([hint, *absent]))
    text = listed(rows, has_groups=not (family or word or graded), width=width)
    return "\n".join([text, *(hanging(line, 0, width) for line in absent)])


def _matches(word: str, metrics: Sequence[Metric]) -> list[Metric]:
    """The metrics that have the words, then those that have other words for the same, the best first."""
    return list(dict.fromkeys(metric for text in (word, *synonyms(word)) for metric in _best(text, metrics)))


def _best(word: str, metrics: Iterable[Metric]) -> list[Metric]:
    """The metrics that have all of the words, of which '_' separates some as a space does: the one whose
    summary they are, and that they name; then summaries that begin with them; names and summaries before other
    parts of the page (without the example, which all pages have); whole words before parts.
    """
    named = metric_meant(word)
    ranks = {}
    word = normalized(word).replace("_", " ")  # pages have no cutoffs
    words = list(map(re.escape, word.split()))
    without_cutoff = re.sub(r"( ?@ ?| at )k$", "", word)
    for metric in metrics:
        try:
            parts = _parts(metric, WIDTH)
            foreign_names = [name for _, name in _elsewhere(metric)]
        except MetricError:  # of a plugin
            parts = [metric.about]
            foreign_names = []
        summary = metric.summary.lower()
        head = " ".join([metric.name, metric.display, metric.summary, *metric.aliases, *foreign_names])
        head, page = (text.lower().replace("_", " ") for text in (head, " ".join([head, *parts])))
        searches = [(text, form) for text in (head, page) for form in (r"(?<!\w){}(?!\w)", "{}")]
        hits = [all(re.search(form.format(part), text) for part in words) for text, form in searches]
        begins = re.match(rf"{re.escape(word)}(?!\w)", summary) and any(hits)
        order = [summary.rstrip(".") == without_cutoff, metric is named, begins, *hits]
        if any(order):
            ranks[metric] = list(map(bool, order)).index(True)
    return sorted(ranks, key=ranks.__getitem__)


def page(name: str, width: int = WIDTH) -> str:
    """The page of a metric or a group, in lines of this width at most. Raises MetricError."""
    width = min(width, WIDTH)
    if group := GROUPS.get(fold(name)):
        parts = [
            fold(name),
            _wrapped("", group.about, width),
            f"{_wrapped('Use when ', group.use, width)}\n{_wrapped('Not when ', group.not_use, width)}",
            "Measures:\n" + _wrapped("  ", ", ".join(group.measures), width),
            _wrapped("", f"{group.source} 'gradeval metrics NAME' describes a measure.", width),
            f"Example: gradeval -m {fold(name)} qrels.txt my.run",
        ]
    else:
        metric = metric_of(name)
        parts = [*_parts(metric, width), _example(metric, width)]
    return "\n\n".join(filter(None, parts))


def _parts(metric: Metric, width: int) -> list[str]:
    """The paragraphs and lists of a page, without the example; '' for a list without rows."""
    about = _RETURNS.sub(r"\1", metric.about)
    rows = [("@k" if param.after_at else f"{param.name}=", _about(metric, param)) for param in metric.params]
    ties = [(tool, order) for tool, (order, metrics) in PROVIDERS.items() if metric.name in metrics]
    return [
        f"{metric.name}" + (f"  ({metric.display})" if metric.display != metric.name else ""),
        about if width == WIDTH else "\n\n".join(_narrowed(part, width) for part in about.split("\n\n")),
        "" if metric.text else _facts(metric, width),
        _listed("Parameters:", rows, width),
        _wrapped("", "Aliases: " + ", ".join(metric.aliases), width) if metric.aliases else "",
        _listed("Equivalents:", _elsewhere(metric), width),
        _listed("Order of ties in ir_measures, by provider:", ties, width),
        _listed("Invariants:", [("", str(invariant)) for invariant in metric.invariants], width),
        _wrapped("Bounds over missing judgments: ", str(metric.bounds or NO_BOUNDS), width),
    ]


def _narrowed(paragraph: str, width: int) -> str:
    """A paragraph of a docstring in shorter lines; 'Not when' begins one of its own."""
    parts = re.split(r"\n(?=Not when )", paragraph)
    if any(re.search(r"\n(?!Not when|         \S)\s", part) for part in parts):  # a plugin's own layout
        return paragraph
    words = (re.match(r"((?:Use|Not) when )?(.*)", part, re.DOTALL) for part in parts)
    return "\n".join(_wrapped(match[1] or "", match[2], width) for match in words if match)


def _facts(metric: Metric, width: int) -> str:
    """The range of its values, and what it does for a query without a relevant document."""
    low, high = metric.range
    bounds = "any number" if low is None else f"at least {low:g}"
    if low is not None and high is not None:
        bounds = f"{low:g} to {high:g}"
    direction = {True: "; higher is better", False: "; lower is better", None: ""}[metric.higher_is_better]
    facts = f"Range: {bounds}{direction}"
    empty = "counts as 0; --no-relevant 1 or skip changes that"
    if not metric.needs_relevant:
        try:
            spec = _with_required(metric)
            same, different = (value_of(spec, ranking([0, None, lowest], [0])) for lowest in (0, -1))
        except MetricError:  # of a plugin
            return facts
        empty = "0" if same == different and float(same) == 0 else "evaluated as any other"
        if "nan" in (same, different):
            empty = "undefined" if different == "nan" else "undefined if all its judged grades are equal"
            empty += ", and then excluded from the mean"
        empty += "; --no-relevant does not apply"
    return f"{facts}\n" + _wrapped("", f"A query without a relevant document: {empty}.", width)


def _about(metric: Metric, param: Param) -> str:
    """The description of a parameter, with other names: 'also gains={0:0,1:5} as in ir_measures'."""
    default = param.without if param.default is None else param.text(param.default)
    parts = [param.about, param.allowed, "required" if param.required else f"default {default}"]
    if param.aliases:
        parts.append("also " + ", ".join(f"{name}=" for name in param.aliases))
    of_tools: dict[str, list[str]] = {}
    for spelling in spellings(metric.name):
        if spelling.param == param.name:
            words = [f"{spelling.name}={word} ({ours})" for word, ours in (spelling.words or {}).items()]
            of_tools.setdefault(spelling.tool, []).extend(words or [f"{spelling.name}={spelling.example}"])
    return "; ".join([*parts, *(f"also {', '.join(texts)} as in {tool}" for tool, texts in of_tools.items())])


def _listed(heading: str, rows: list[tuple[str, str]], width: int) -> str:
    """Two columns under a heading; '' if there are no rows. width: of the page."""
    names = max((len(name) for name, _ in rows), default=0)
    lines = [_wrapped(f"  {name:<{names}}  " if names else "  ", text, width) for name, text in rows]
    return "\n".join([heading, *lines]) if rows else ""


def _elsewhere(metric: Metric) -> list[tuple[str, str]]:
    """Equivalents in other tools: (tool, names in its notation)."""
    equivalents: dict[str, list[str]] = {}
    for name in names_of(metric.name):
        measure = MEASURES[name]
        takes = measure.example or ("k" if measure.param == "cutoff" else measure.param)
        equivalents.setdefault("trec_eval", []).append(f"{name}.{takes}" if takes else name)
    for alias in aliases():
        if alias.metric == metric.name:
            spelled = re.sub(r"\((\w+)\)", r"(\1=…)", alias.spelled)  # the value that is left open: RBP(p)@k
            spelled += f" ({alias.given})" if alias.given else ""
            equivalents.setdefault(alias.tool, []).append(spelled)
    rows = [(tool, ", ".join(names)) for tool, names in equivalents.items()]
    return [*rows, *SAME_NAMES.get(metric.name, {}).items()]


def _wrapped(indent: str, text: str, width: int) -> str:
    """Wrapped text, its first line after the indent, others aligned with it."""
    wrapper = TextWrapper(width, indent, " " * len(indent), break_long_words=False, break_on_hyphens=False)
    return wrapper.fill(text)


# The example ranking: each page shows how the metric's value for it comes about

RANKED = (1, None, 3, 0, 2)
MISSED = (2,)
_NEGLIGIBLE = 1e-9


def ranking(ranked: Sequence[float | None] = RANKED, missed: Sequence[float] = MISSED) -> Judgments:
    """A table of one query: the judged documents retrieved, by rank, and those not retrieved."""
    judged = [(grade, rank) for rank, grade in enumerate(ranked, 1) if grade is not None]
    grade, rank = np.array([*judged, *((grade, np.inf) for grade in missed)], np.float64).T
    return Judgments(
        Segments(np.array([0, len(rank)])),
        grade,
        rank,
        score=10 - rank,
        document=np.arange(len(rank)),
        retrieved=np.array([len(ranked)]),
        tag="example",
    )


def value_of(spec: Spec, judgments: Judgments | None = None) -> str:
    """The value of a metric on the example ranking, or on another of one query."""
    judgments = ranking() if judgments is None else judgments
    if spec.metric.text:
        return spec.metric.texts(judgments, **spec.params)[0]
    [value] = spec.metric(judgments, **spec.params).tolist()
    return str(int(value)) if spec.metric.is_count else f"{value:.4f}"


def _example(metric: Metric, width: int) -> str:
    """The command of the example, and how its value comes about, or the error of a plugin."""
    command = f"Example: gradeval {'' if metric.has_summary else '-q '}-m '{metric.usage}' qrels.txt my.run"
    try:
        [spec] = parse(metric.usage)
        judgments = ranking()
        terms = None if metric.text else metric.terms(judgments, **spec.params)
        if terms is None:
            grades = ", ".join("unjudged" if grade is None else str(grade) for grade in RANKED)
            documents = f"grades {grades} by rank; not retrieved: {', '.join(map(str, MISSED))}"
            about = f"{value_of(spec)} for the example ranking: {documents}"
            return f"{command}\n{_wrapped('  ', about, width)}"
        judged = judgments.judged_only() if spec.params.get("judged_only") else judgments
        rows = [*_sum(judged, terms), ("value", value_of(spec))]
    except MetricError as error:
        return f"{command}\n{_wrapped('  ', str(error), width)}"
    lines = [command, *_aligned(rows)]
    if terms.ideal is not None:
        lines.append(_wrapped("  ideal: ", _ideal_sum(terms.ideal(), terms.base), width))
    return "\n".join(lines)


def _aligned(rows: list[tuple[str, ...]]) -> Iterator[str]:
    """The first column to the left, the others to the right; a row of two cells has the last at the end."""
    most = max(map(len, rows))
    rows = [(name, *[""] * (most - 1 - len(cells)), *cells) for name, *cells in rows]
    first, *widths = (max(map(len, column)) for column in zip(*rows, strict=True))
    for name, *cells in rows:
        aligned = (f"{cell:>{size}}" for cell, size in zip(cells, widths, strict=True))
        yield "  " + "  ".join([f"{name:<{first}}", *aligned]).rstrip()


def _ideal_sum(ideal: Terms, base: Floats | float) -> str:
    """7/1 + 3/1.5850 = 8.8928: what the sum is divided by."""
    subtracted = float(np.broadcast_to(base, 1)[0])
    columns = [ideal.gain, ideal.discount] if isinstance(ideal, DiscountedTerms) else [ideal.value]
    numbers = [map(number, np.broadcast_to(column, ideal.row.shape).tolist()) for column in columns]
    summands = " + ".join(map("/".join, zip(*numbers, strict=True)))
    less = f" - {number(subtracted)}" if subtracted else ""
    return f"{summands}{less} = {number(ideal.total[0] - subtracted)}"


def _sum(judgments: Judgments, terms: Terms) -> Iterator[tuple[str, ...]]:
    """The sum of the terms as rows of cells: a heading, the documents, the sum and its divisor."""
    values = {"term": np.broadcast_to(terms.value, terms.row.shape)}
    if isinstance(terms, DiscountedTerms):
        values = {"gain": terms.gain, "discount": terms.discount, **values}
        if (terms.row >= 0).all() and (terms.rank != judgments.rank[terms.row]).any():
            values = {"position": terms.rank, **values}
    of_terms = terms.row.tolist()
    columns = [dict(zip(of_terms, map(number, column.tolist()), strict=True)) for column in values.values()]
    yield "rank", "grade", *values
    rows = {rank: row for row, rank in enumerate(judgments.rank.tolist()) if np.isfinite(rank)}
    documents = [(str(rank), rows.get(rank)) for rank in range(1, int(judgments.retrieved[0]) + 1)]
    documents += [("not retrieved", row) for row in np.flatnonzero(~judgments.is_retrieved).tolist()]
    for name, row in documents:
        grade = "unjudged" if row is None else number(judgments.grade[row])
        yield name, grade, *("" if row is None else column.get(row, "") for column in columns)
    yield "sum", number(terms.total[0])
    steps = ("minus", terms.base, 0.0), ("times", terms.scale, 1.0), ("divided by", terms.normalizer, 1.0)
    for name, value, neutral in steps:
        if (step := float(np.broadcast_to(value, 1)[0])) != neutral:
            yield name, number(step)


def number(value: float) -> str:
    """With four decimals, or none for an integer; rounding in the last bits does not count."""
    return str(round(value)) if abs(value - round(value)) < _NEGLIGIBLE else f"{value:.4f}"


def is_graded(metric: Metric) -> bool:
    """Whether it distinguishes grades above 0: their sizes change its value for a ranking."""
    spec = _with_required(metric)
    rankings = ranking([1, None, 3, 0, 2], [5]), ranking([1, None, 1, 0, 1], [1])
    try:
        return len({value_of(spec, of_grades) for of_grades in rankings}) > 1
    except MetricError:  # of a plugin
        return False


def _with_required(metric: Metric) -> Spec:
    """The metric with examples of the parameters it requires."""
    required = (param for param in metric.params if param.required)
    return Spec(metric, tuple((param.name, param.parse(param.example)) for param in required))


class MetricRow(TypedDict):
    """A row of list_metrics()."""

    name: str
    display: str
    family: str
    summary: str
    range: tuple[float | None, float | None]
    higher_is_better: bool | None
    cutoff: bool
    expected_ties: bool
    graded: bool
    bounds: str
    aliases: list[str]
    source: str


def list_metrics() -> list[MetricRow]:
    """All metrics, a dict for each: name, display, family, summary, range (low, high; None for no bound),
    higher_is_better, cutoff (whether it takes one), expected_ties (whether there is a formula of its mean over
    the orders of ties), graded (whether it distinguishes degrees of relevance), bounds (those over judgments
    that are missing: exact, outer or none, and the parameters that they need), aliases and source.

        >>> [row["name"] for row in gradeval.list_metrics() if row["graded"]]

    Raises nothing: metrics of plugins that cannot be used are left out.
    """
    load_plugins()
    return [
        {
            "name": metric.name,
            "display": metric.display,
            "family": metric.group,
            "summary": metric.summary,
            "range": metric.range,
            "higher_is_better": metric.higher_is_better,
            "cutoff": metric.at is not None and metric.at.name == "cutoff",
            "expected_ties": metric.has_expected(_with_required(metric).params),
            "graded": not metric.text and is_graded(metric),
            "bounds": str(metric.bounds or NO_BOUNDS),
            "aliases": list(metric.aliases),
            "source": source_of(metric),
        }
        for metric in REGISTRY.values()
    ]

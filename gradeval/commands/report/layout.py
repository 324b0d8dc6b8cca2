"""A report as one page of HTML, which needs nothing else: the values of its template and its script (in page/).

Its tables are there without JavaScript: means, differences, coverage, queries, how the page was made. From the
data, the script draws explanations and charts; it orders texts, and computes differences and nothing else.
"""

from __future__ import annotations

import json
import math
import platform
import re
import zlib
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from hashlib import sha256
from importlib import resources
from typing import Any

import numpy as np

from gradeval.commands.compare.compare import Comparison, PairComparison, judged_mean
from gradeval.commands.compare.layout import BETTER, WORSE, interval, means_and_differences
from gradeval.commands.compare.layout import legend as legend_of
from gradeval.commands.explain.layout import details, fraction, grade_of, no_sum, notes
from gradeval.commands.explain.result import Document as RankedDocument
from gradeval.commands.explain.result import Explanation
from gradeval.commands.report.result import ExplainedQuery, ExplainedValue, Report, check_installed
from gradeval.errors import visible
from gradeval.notices import lines, many
from gradeval.options import Options
from gradeval.render import Digits
from gradeval.render.document import Document, Grid, RenderOptions
from gradeval.render.numbers import ABSENT, number, probability, signed
from gradeval.statistics.sampling import TOLERANCE
from gradeval.statistics.tests import interval_of_mean, summarize
from gradeval.version import __version__

_ROOM = "gradeval.commands.report"
TITLE = "Ranking evaluation"
# parts of one script, in order
SCRIPTS = ("numbers.js", "queries.js", "chart.js", "explanations.js", "start.js")
PLOT_WIDTH, PLOT_MARGIN = 130, 4
COVERAGE = (
    "Queries: those of the judgments for which the run has documents. Relevant: with a grade above 0, or at "
    "least that of --rel. Judged@k: the share of the first k documents that is judged, over the queries that "
    "the run has; metrics take the others as not relevant."
)
_SEPARATOR = "\t"  # of the texts of a list; visible() leaves none in them
_SURROGATE = re.compile("[\ud800-\udfff]")  # a byte that was no UTF-8
_TITLE_WIDTH = 100
# of an explanation, from left to right, after what a gain is made from
_COLUMNS = ("position", "gain", "discount", "term", "value without", "change", "ideal rank", "loss")


def document(report: Report, how: RenderOptions) -> Document:
    return Document(page=lambda: _page(report, how.digits))


def _page(report: Report, digits: Digits) -> str:
    check_installed()
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    style, script = _file("page.css"), "\n".join(map(_file, SCRIPTS))
    hashes = [b64encode(sha256(text.encode()).digest()).decode() for text in (script, style)]
    environment = Environment(
        loader=PackageLoader(_ROOM, "page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=_shown,
    )
    values, results = report.values, report.results
    runs = [visible(run) for run in values.runs]
    metrics = [visible(column.display) for column in values.metrics]
    files = [("qrels", results.qrels, results.qrels_sha256)]
    files += [(run.name, run.path, run.sha256) for run in results.runs]
    inputs = [(visible(name), visible(path), sha256 or ABSENT) for name, path, sha256 in files]
    counts = f"{many(len(runs), 'run', 'runs')}, {many(len(values.queries), 'query', 'queries')}"
    text: str = environment.get_template("page.html").render(
        title=visible(report.title) or TITLE,
        style=Markup(style),
        script=Markup(script),
        # the browser runs this script and uses this style, and loads nothing
        policy=f"default-src 'none'; script-src 'sha256-{hashes[0]}'; style-src 'sha256-{hashes[1]}'; "
        "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
        report=report,
        subtitle=f"{counts} of {visible(results.qrels)}; {', '.join(metrics)}",
        marked=partial(_marked, report),
        plot_width=PLOT_WIDTH,
        coverage_legend=COVERAGE,
        runs=runs,
        metrics=metrics,
        summary=_summary(report, digits),
        legend=_legend(report),
        coverage=_coverage(report, digits),
        queries=_queries(report, digits),
        notices=list(lines(report.notices, len(runs))),
        made=_made(report),
        inputs=Grid("Input", ("input", "file", "SHA-256"), inputs, 3),
        data=Markup(_values(report, digits)),
        explanations=_explanations(report, digits),
    )
    return text


def _file(name: str) -> str:
    return resources.files(_ROOM).joinpath("page").joinpath(name).read_text("utf-8")


def _shown(value: Any) -> Any:
    if isinstance(value, str) and not value.isprintable():
        return type(value)(value.encode("utf-8", "backslashreplace").decode())
    return value


# --- what is there without JavaScript


def _summary(report: Report, digits: Digits) -> list[tuple[Any, ...]]:
    """The means, and the differences with their intervals; of one run, the means with theirs.

    Each is the arguments of the template's table: the grid, a drawn interval for each row or none, and whether
    marks are letters of runs.
    """
    names = [visible(column.display) for column in report.values.metrics]
    percent = f"{report.options.confidence:g} %"
    if report.comparison is None:
        [run], [of_run] = report.values.runs, report.values.means
        means = [number(mean, digits) for mean in of_run.tolist()]
        rows = list(zip(names, means, _ends_of_means(report, 0, digits), strict=True))
        return [(Grid(f"Means of {visible(run)}", ("metric", "mean", f"{percent} interval"), rows),)]
    table, differences = means_and_differences(report.comparison, digits)
    grids: list[tuple[Any, ...]] = [(table, (), report.comparison.options.all_pairs)]
    if report.interval:
        of_runs = [
            (visible(run), *_ends_of_means(report, r, digits)) for r, run in enumerate(report.values.runs)
        ]
        grids.append((Grid(f"{percent} intervals of the means", ("run", *names), of_runs),))
    return [*grids, (differences, _plots(report.comparison))]


def _ends_of_means(report: Report, r: int, digits: Digits) -> list[str]:
    """The interval of the mean of each metric, of one run."""
    values, method, texts = report.values, report.interval or "t", []
    for of_queries, mean in zip(values.values[r], values.means[r].tolist(), strict=True):
        low, high = interval_of_mean(of_queries, mean, method, report.options.confidence)
        texts.append(ABSENT if math.isnan(low) else f"[{number(low, digits)}, {number(high, digits)}]")
    return texts


def _plots(comparison: Comparison) -> list[dict[str, float] | None]:
    has_one_scale = _has_one_scale(comparison)
    plots: list[dict[str, float] | None] = []
    for pair in comparison.comparisons:
        first, last = _ends(comparison, None if has_one_scale else pair.metric)
        if math.isnan(pair.low) or math.isnan(pair.estimate) or first == last:
            plots.append(None)
            continue
        plot: dict[str, float] = {"is_significant": bool(pair.verdict)}
        ends = {"zero": 0.0, "low": pair.low, "high": pair.high, "estimate": pair.estimate}
        for name, value in ends.items():
            share = max(0.0, min(1.0, (value - first) / (last - first)))
            plot[name] = round(PLOT_MARGIN + (PLOT_WIDTH - 2 * PLOT_MARGIN) * share, 1)
        plots.append(plot)
    return plots


def _has_one_scale(comparison: Comparison) -> bool:
    """Whether the intervals of all metrics are drawn to one scale: where they are shares."""
    return max(map(abs, _ends(comparison, None))) <= 1


def _ends(comparison: Comparison, metric: str | None) -> tuple[float, float]:
    """The lowest and the highest of what is drawn of a metric, None for all, and 0."""
    chosen = [pair for pair in comparison.comparisons if metric in (None, pair.metric)]
    ends = [end for pair in chosen for end in (pair.low, pair.high, pair.estimate) if math.isfinite(end)]
    return min(0.0, *ends, 0.0), max(0.0, *ends, 0.0)


def _legend(report: Report) -> list[str]:
    by = "bootstrap, BCa" if report.interval == "bootstrap" else "Student's t"
    of_means = f"{report.options.confidence:g} % confidence, of the mean over queries ({by})."
    if report.comparison is None:
        return [f"Intervals: {of_means}"]
    sentences = legend_of(report.comparison, report.comparison.options.all_pairs)
    if report.interval:
        sentences.append(f"Intervals of the means: {of_means}")
    if len(report.values.metrics) > 1:
        scale = "one scale for all metrics" if _has_one_scale(report.comparison) else "a scale for each metric"
        sentences.append(f"Drawn intervals: {scale}.")
    return sentences


def _marked(report: Report, mark: str) -> str:
    """A mark of significance in words, for those who do not see it."""
    if report.comparison is None or mark not in (BETTER, WORSE):
        return f"significantly better than {', '.join(mark.split(',') if ',' in mark else mark)}"
    word = "better" if mark == BETTER else "worse"
    return f"significantly {word} than {visible(report.comparison.comparisons[0].baseline)}"


def _coverage(report: Report, digits: Digits) -> Grid:
    results = report.results
    judged = [spec for spec in results.specs if spec.metric.name == "Judged"]
    judged.sort(key=lambda spec: spec.params.get("cutoff", math.inf))
    head = ("run", "queries", "retrieved", "relevant retrieved", *(spec.display for spec in judged))
    rows: list[list[str]] = []
    for r, run in enumerate(results.runs):
        retrieved, relevant, both = (results.mean(r, name) for name in ("num_ret", "num_rel", "num_rel_ret"))
        answered = (results.values(r, "num_ret") > 0).sum()
        cells = [visible(run.name), _of(answered, run.queries), _of(retrieved), _of(both, relevant)]
        rows.append([*cells, *(number(judged_mean(results, r, spec), digits) for spec in judged)])
    return Grid("Coverage", head, rows)


def _of(count: float, total: float | None = None) -> str:
    if math.isnan(count):
        return ABSENT
    return f"{count:,.0f}" if total is None else f"{count:,.0f} of {total:,.0f}"


def _queries(report: Report, digits: Digits) -> list[Grid]:
    values = report.values
    head = ("query", *map(visible, values.runs))
    names = [visible(query) for query in values.queries]
    grids = []
    for m, column in enumerate(values.metrics):
        texts = ([number(value, digits) for value in of_query] for of_query in values.values[:, m].T.tolist())
        rows = [(name, *of_query) for name, of_query in zip(names, texts, strict=True)]
        grids.append(Grid(visible(column.display), head, rows))
    return grids


def _made(report: Report) -> list[tuple[str, str]]:
    import scipy

    versions = {"gradeval": __version__, "Python": platform.python_version()}
    versions |= {"numpy": np.__version__, "scipy": scipy.__version__}
    defaults = Options().to_dict()
    options = []
    for name, value in report.results.options.items():
        if value != defaults.get(name):
            text = ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
            options.append(f"{name.replace('_', ' ')} {visible(text)}")
    return [
        *([("command", visible(report.command))] if report.command else []),
        ("versions", ", ".join(f"{name} {version}" for name, version in versions.items())),
        ("metrics", " ".join(column.name for column in report.values.metrics)),
        ("options", ", ".join(options) or "defaults"),
        ("ties", ", ".join(dict.fromkeys(run.ties for run in report.results.runs))),
        *(("signature", visible(text)) for text in report.results.signatures(report.specs)),
    ]


# --- the data of the script


def _values(report: Report, digits: Digits) -> str:
    """The values and differences as JSON, in which nothing can end the element that it is in.

    The script reads them at once, so that a page is whole when it has loaded: what prints it may not wait.
    """
    values, comparison = report.values, report.comparison
    compared: dict[tuple[str, str, str], PairComparison] = {}
    for pair in () if comparison is None else comparison.comparisons:
        compared[pair.baseline, pair.run, pair.metric] = pair
        compared[pair.run, pair.baseline, pair.metric] = replace(pair, low=-pair.high, high=-pair.low)
    positions = range(len(values.runs))
    no_sums = ["" for _ in values.metrics]
    for of_run in (of_run for query in report.explained.values() for of_run in query.values):
        for m, value in enumerate(of_run):
            if not value.explanation.is_sum:
                no_sums[m] = no_sums[m] or no_sum(value.explanation, differences=True)
    content = {
        "digits": digits,
        "runs": _texts(values.runs),
        "metrics": [
            {"name": visible(column.display), "sign": column.sign, "note": note}
            for column, note in zip(values.metrics, no_sums, strict=True)
        ],
        "queries": _texts(values.queries),
        # by run, metric and query; exact, and shorter than their digits. 0.0: there is no -0
        "values": b64encode((values.values + 0.0).astype("<f8").tobytes()).decode(),
        "tolerance": TOLERANCE,
        "saved": report.saved,
        "pair": [0, 0] if comparison is None else list(comparison.pairs[0]),
        "pairs": [[_pair(report, a, b, compared, digits) for b in positions] for a in positions],
    }
    return _json(content).replace("<", "\\u003c")


def _pair(
    report: Report, a: int, b: int, compared: Mapping[tuple[str, str, str], PairComparison], digits: Digits
) -> list[str]:
    if a == b:
        return []
    values, options = report.values, report.options
    texts = []
    for column, differences in zip(values.metrics, values.differences(a, b), strict=True):
        summary = summarize(differences)
        won, lost = (summary.wins, summary.losses)[:: column.sign]
        parts = [f"mean difference {signed(summary.mean, digits)}"]
        comparison = compared.get((values.runs[a], values.runs[b], column.name))
        if comparison is not None:
            if not math.isnan(comparison.low):
                parts.append(f"{options.confidence:g} % interval {interval(comparison, digits)}")
            if not math.isnan(comparison.p):
                parts.append(f"p {probability(comparison.p, digits)}")
            if not math.isnan(comparison.p_corrected) and options.used_correction != "none":
                parts.append(f"corrected p {probability(comparison.p_corrected, digits)}")
        queries = f"queries won/tied/lost {won:,}/{summary.ties:,}/{lost:,}"
        if compared and comparison is None:
            queries += "; --all-pairs would add an interval and p"
        texts.append(f"{', '.join(parts)}; {queries}")
    return texts


def _texts(texts: Iterable[str]) -> str:
    return _SEPARATOR.join(map(visible, texts))


def _json(content: Any) -> str:
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return _SURROGATE.sub(lambda match: f"\\\\u{ord(match[0]):x}", text)


def _explanations(report: Report, digits: Digits) -> str:
    """The explanations in base64 of zlib's format, which a browser reads while the page is shown already.

    They are lists by query, some by run and by metric below; those of a kind compress well.
    """
    queries = report.explained.values()
    ranks: list[list[str]] = []
    scores: list[list[str]] = []
    for query in queries:
        ranks.append([])
        scores.append([])
        for values in query.values:
            documents = values[0].explanation.documents if values else ()
            rank_of = {document.id: document.rank for document in documents}
            shown = (document for value in values for document in value.selection.documents)
            score_of = {
                document.id: number(document.score, digits) for document in shown if document.score is not None
            }
            ranks[-1].append(_texts(str(rank_of.get(name) or ABSENT) for name, _ in query.documents))
            scores[-1].append(_texts(score_of.get(name, "") for name, _ in query.documents))
    # the tables below explanations, and sentences among them, each once, since explanations share many
    blocks: dict[str, int] = {}
    tables = [
        [[_table(value, query, digits, blocks) for value in of_run] for of_run in query.values]
        for query in queries
    ]

    def part(name: str) -> list[Any]:
        return [[[table[name] for table in of_run] for of_run in query] for query in tables]

    def order(name: str) -> tuple[int, str]:
        """Columns that are not listed are what a gain is made from, and stand before it."""
        return (_COLUMNS.index(name) if name in _COLUMNS else -1, name)

    columns = {name for query in tables for of_run in query for table in of_run for name in table["columns"]}
    content = {
        "queries": [q for q, query in enumerate(report.values.queries) if query in report.explained],
        "documents": [_texts(name for name, _ in query.documents) for query in queries],
        "grades": [_texts(grade_of(grade) for _, grade in query.documents) for query in queries],
        "ranks": ranks,
        "scores": scores,
        **{name: part(name) for name in ("rows", "adds", "others")},
        "columns": {
            name: [[[table["columns"].get(name, 0) for table in run] for run in query] for query in tables]
            for name in sorted(columns, key=order)
        },
        **{name: part(name) for name in ("sums", "notes", "blocks")},
    }
    if report.titles:
        titles = {name: visible(title) for name, title in report.titles.items()}
        titles |= {
            name: f"{title[: _TITLE_WIDTH - 1]}…" for name, title in titles.items() if len(title) > _TITLE_WIDTH
        }
        content["titles"] = [
            _SEPARATOR.join(titles.get(name, "") for name, _ in query.documents) for query in queries
        ]
    if report.query_texts:
        content["texts"] = _texts(report.query_texts.get(query, "") for query in report.explained)
    text = _json({"explained": content, "blocks": [json.loads(block) for block in blocks]})
    # most of it is digits, for which these are better than the defaults by 4 %
    deflate = zlib.compressobj(9, memLevel=7, strategy=zlib.Z_FILTERED)
    return b64encode(deflate.compress(text.encode()) + deflate.flush()).decode()


def _table(
    value: ExplainedValue, query: ExplainedQuery, digits: Digits, blocks: dict[str, int]
) -> dict[str, Any]:
    """An explanation. rows: which of the query's documents it shows. adds: what each of these documents adds.
    others: whether further ones add, as 0 or 1. sums: the fraction that gives the value. notes: what is not
    shown. blocks: what is below; new ones are added to the blocks of the page.
    """
    explanation, documents = value.explanation, value.selection.documents
    ranks = explanation.first_ranks
    index = {name: d for d, (name, _) in enumerate(query.documents)}
    # the script prints differences of these, so they have more digits
    more: Digits = digits if digits == "full" else digits + 3
    added = {document.id: number(adds, more) for document, adds in explanation.contributions.items()}
    positions = []
    for block in details(explanation, ranks, digits):
        content: Any = block
        if isinstance(block, Grid):
            rows = [[cell.text for cell in row] for row in block.cells]
            left = [c for c in range(len(block.head)) if block.is_left(c)]
            content = {"title": block.title, "head": block.head, "rows": rows, "left": left}
        positions.append(blocks.setdefault(json.dumps(content), len(blocks)))
    return {
        "rows": " ".join(str(index[document.id]) for document in documents),
        "adds": _texts(added.get(name, "").removeprefix("0") for name in index).rstrip(_SEPARATOR),
        "others": int(value.others),
        "columns": {
            name: _texts(texts)
            for name, of in _columns(explanation, digits)
            if any(texts := [of.get(document, "") for document in documents])
        },
        "sums": fraction(explanation, digits) if explanation.is_sum else no_sum(explanation),
        "notes": " ".join(notes(explanation, value.selection, ranks, digits)),
        "blocks": positions,
    }


def _columns(explanation: Explanation, digits: Digits) -> Iterator[tuple[str, dict[RankedDocument, str]]]:
    """Columns from left to right, besides those that every explanation has, and the texts of documents."""
    if explanation.positions is not None:
        places = {document: explanation.place(document) for document in explanation.documents}
        yield "position", {document: str(place or ABSENT) for document, place in places.items()}
    if not explanation.is_sum:
        yield "value without", {change.document: number(change.value, digits) for change in explanation.changes}
        yield "change", {change.document: signed(change.change, digits) for change in explanation.changes}
        return
    terms = {term.document: term for term in explanation.terms or () if term.document is not None}
    is_dcg = any(term.gain is not None for term in terms.values())
    names = (explanation.scaled, "scaled"), ("gain", "gain"), ("discount", "discount")
    for name, part in names if is_dcg else () if explanation.levels else (("term", "value"),):
        numbers = ((document, getattr(term, part)) for document, term in terms.items())
        yield name, {document: number(value, digits) for document, value in numbers if value is not None}
    if explanation.has_losses:
        losses = {loss.document: loss for loss in explanation.losses}
        yield "ideal rank", {document: str(loss.ideal_position or ABSENT) for document, loss in losses.items()}
        yield "loss", {document: signed(loss.loss, digits) for document, loss in losses.items()}

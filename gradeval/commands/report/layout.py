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
from collections.abc import Iterable, Iterator
from functools import partial
from hashlib import sha256
from importlib import resources
from itertools import chain
from typing import Any

import numpy as np

from gradeval.commands.compare.compare import judged_mean
from gradeval.commands.compare.layout import BETTER, WORSE, means_and_differences
from gradeval.commands.compare.layout import legend as legend_of
from gradeval.commands.explain.explain import Explanation
from gradeval.commands.explain.layout import details, fraction, grade_of, no_sum, notes
from gradeval.commands.report.result import ExplainedQuery, ExplainedValue, Report
from gradeval.errors import visible
from gradeval.notices import lines, many
from gradeval.options import Options
from gradeval.render import Digits
from gradeval.render.document import ABSENT, Document, Grid, RenderOptions, number, signed
from gradeval.statistics.sampling import TOLERANCE
from gradeval.statistics.tests import interval_of_mean
from gradeval.version import __version__

_ROOM = "gradeval.commands.report"
TITLE = "Ranking evaluation"
COVERAGE = (
    "Queries: those of the judgments for which the run has documents. Relevant: with a grade above 0, or at "
    "least that of --rel. Judged@k: the share of the first k documents that is judged, over the queries that "
    "the run has; metrics take the others as not relevant."
)
_SEPARATOR = "\t"  # of the texts of a list; visible() leaves none in them
_SURROGATE = re.compile("[\ud800-\udfff]")  # a byte that was no UTF-8
_TITLE_WIDTH = 100


def document(report: Report, how: RenderOptions) -> Document:
    return Document(page=lambda: _page(report, how.digits))


def _page(report: Report, digits: Digits) -> str:
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    page = resources.files(_ROOM).joinpath("page")
    style, script = (page.joinpath(name).read_text("utf-8") for name in ("page.css", "page.js"))
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


def _shown(value: Any) -> Any:
    if isinstance(value, str) and not value.isprintable():
        return type(value)(value.encode("utf-8", "backslashreplace").decode())
    return value


# --- what is there without JavaScript


def _summary(report: Report, digits: Digits) -> list[tuple[Grid, bool]]:
    """The means, and the differences with their intervals; of one run, the means with theirs. With each table,
    whether its marks are letters of runs.
    """
    names = [visible(column.display) for column in report.values.metrics]
    percent = f"{report.options.confidence:g} %"
    if report.comparison is None:
        [run], [of_run] = report.values.runs, report.values.means
        means = [number(mean, digits) for mean in of_run.tolist()]
        rows = list(zip(names, means, _ends_of_means(report, 0, digits), strict=True))
        return [(Grid(f"Means of {visible(run)}", ("metric", "mean", f"{percent} interval"), rows), False)]
    several, sections = report.comparison.options.all_pairs, report.comparison.sections
    table, differences = means_and_differences(report.comparison, digits, sections[0], several)
    grids = [(table, several)]
    if report.interval:
        runs = enumerate(map(visible, report.values.runs))
        ends = [(run, *_ends_of_means(report, r, digits)) for r, run in runs]
        grids.append((Grid(f"{percent} intervals of the means", ("run", *names), ends), False))
    return [*grids, (differences, False)]


def _ends_of_means(report: Report, r: int, digits: Digits) -> list[str]:
    values, method, texts = report.values, report.interval or "t", []
    for of_queries, mean in zip(values.values[r], values.means[r].tolist(), strict=True):
        low, high = interval_of_mean(of_queries, mean, method, report.options.confidence)
        texts.append(ABSENT if math.isnan(low) else f"[{number(low, digits)}, {number(high, digits)}]")
    return texts


def _legend(report: Report) -> list[str]:
    by = "bootstrap, BCa" if report.interval == "bootstrap" else "Student's t"
    of_means = f"{report.options.confidence:g} % confidence, of the mean over queries ({by})."
    if report.comparison is None:
        return [f"Intervals: {of_means}"]
    sentences = legend_of(report.comparison, report.comparison.options.all_pairs)
    if report.interval:
        sentences.append(f"Intervals of the means: {of_means}")
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
    for column, of_metric in zip(values.metrics, values.values.transpose(1, 2, 0).tolist(), strict=True):
        of_queries = zip(names, of_metric, strict=True)
        rows = [(name, *(number(value, digits) for value in of_query)) for name, of_query in of_queries]
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
    """The values as JSON, in which nothing can end the element that it is in. The script reads them at once, so
    that a page is whole when it has loaded: what prints it may not wait.
    """
    values, comparison = report.values, report.comparison
    no_sums: dict[str, str] = {}
    for value in chain.from_iterable(chain(*(query.values for query in report.explained.values()))):
        if not value.explanation.is_sum:
            no_sums.setdefault(value.explanation.metric, no_sum(value.explanation, differences=True))
    content = {
        "digits": digits,
        "runs": _texts(values.runs),
        "metrics": [
            {"name": visible(column.display), "sign": column.sign, "note": no_sums.get(column.name, "")}
            for column in values.metrics
        ],
        "queries": _texts(values.queries),
        # by run, metric and query; exact, and shorter than their digits. 0.0: there is no -0
        "values": b64encode((values.values + 0.0).astype("<f8").tobytes()).decode(),
        "tolerance": TOLERANCE,
        "saved": report.saved,
        "pair": [0, 0] if comparison is None else list(comparison.pairs[0]),
    }
    return _json(content).replace("<", "\\u003c")


def _texts(texts: Iterable[str]) -> str:
    return _SEPARATOR.join(map(visible, texts))


def _json(content: Any) -> str:
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return _SURROGATE.sub(lambda match: f"\\\\u{ord(match[0]):x}", text)


def _explanations(report: Report, digits: Digits) -> str:
    """The explanations in base64 of zlib's format, which a browser reads while the page is shown already.

    They are lists of a text for each query, for each query and run, or for each query, run and metric, with the
    last of these varying fastest; texts of a kind compress well.
    """
    queries = report.explained.values()
    ranks: list[str] = []
    scores: list[str] = []
    tables: list[dict[str, Any]] = []
    # the tables below explanations, and sentences among them, each once, since explanations share many
    blocks: dict[str, int] = {}
    for query in queries:
        for values in query.values:
            documents = values[0].explanation.documents if values else ()
            rank_of = {document.id: document.rank for document in documents}
            shown = (document for value in values for document in value.selection.documents)
            score_of = {
                document.id: number(document.score, digits) for document in shown if document.score is not None
            }
            ranks.append(_texts(str(rank_of.get(name) or ABSENT) for name, _ in query.documents))
            scores.append(_texts(score_of.get(name, "") for name, _ in query.documents))
            tables += [_table(value, query, digits, blocks) for value in values]
            tables += [] if values else [{} for _ in report.values.metrics]

    def shortened(title: str) -> str:
        return title if len(title) <= _TITLE_WIDTH else f"{title[: _TITLE_WIDTH - 1]}…"

    content = {
        "queries": [q for q, query in enumerate(report.values.queries) if query in report.explained],
        "documents": [_texts(name for name, _ in query.documents) for query in queries],
        "grades": [_texts(grade_of(grade) for _, grade in query.documents) for query in queries],
        "ranks": ranks,
        "scores": scores,
        "tables": {name: [table.get(name) for table in tables] for name in dict.fromkeys(chain(*tables))},
    }
    if report.titles:
        titles = {name: shortened(visible(title)) for name, title in report.titles.items()}
        content["titles"] = [_texts(titles.get(name, "") for name, _ in query.documents) for query in queries]
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
    shown. blocks: what is below; new ones are added to the blocks of the page. And columns.
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
    columns = (
        (name, [of.get(document, "") for document in documents]) for name, of in _columns(explanation, digits)
    )
    return {
        "rows": " ".join(str(index[document.id]) for document in documents),
        "adds": _texts(added.get(name, "").removeprefix("0") for name in index).rstrip(_SEPARATOR),
        "others": int(value.others),
        "sums": fraction(explanation, digits) if explanation.is_sum else no_sum(explanation),
        "notes": notes(explanation, value.selection, ranks, digits),
        "blocks": positions,
        **{name: _texts(texts) for name, texts in columns if any(texts)},
    }


def _columns(explanation: Explanation, digits: Digits) -> Iterator[tuple[str, dict[Any, str]]]:
    """Columns besides those that every explanation has, and the texts of documents."""
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

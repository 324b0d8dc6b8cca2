"""The data that the page's script draws from: values and differences, and the explanations, compressed.

The script orders and draws texts; it computes differences and nothing else.
"""

from __future__ import annotations

import json
import math
import re
import zlib
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from gradeval.commands.compare.layout import interval
from gradeval.commands.compare.result import PairComparison
from gradeval.commands.explain.layout import details, fraction, grade_of, no_sum, notes
from gradeval.commands.explain.result import Document, Explanation
from gradeval.commands.report.result import ExplainedQuery, ExplainedValue, Report
from gradeval.errors import visible
from gradeval.render import Digits
from gradeval.render.document import Block, Grid
from gradeval.render.numbers import ABSENT, number, probability, signed
from gradeval.statistics.sampling import TOLERANCE

_SEPARATOR = "\t"  # of the texts of a list; visible() leaves none in them
_SURROGATE = re.compile("[\ud800-\udfff]")  # a byte that was no UTF-8
_TITLE_WIDTH = 100
# from left to right, after what a gain is made from
_COLUMNS = ("position", "gain", "discount", "term", "value without", "change", "ideal rank", "loss")


def plain(report: Report, digits: Digits) -> str:
    """The values and differences as JSON, in which nothing can end the element that it is in.

    The script reads them at once, so that a page is whole when it has loaded: what prints it may not wait.
    """
    values, comparison = report.values, report.comparison
    compared: dict[tuple[str, str, str], PairComparison] = {}
    for pair in () if comparison is None else comparison.comparisons:
        compared[pair.baseline, pair.run, pair.metric] = pair
        compared[pair.run, pair.baseline, pair.metric] = replace(pair, low=-pair.high, high=-pair.low)
    positions = range(len(values.runs))
    content = {
        "digits": digits,
        "runs": _texts(values.runs),
        "metrics": [
            {"name": visible(column.display), "sign": column.sign, "note": _note(report, m)}
            for m, column in enumerate(values.metrics)
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


def _note(report: Report, m: int) -> str:
    """The sentence about the differences that documents make by a metric, if it is no sum."""
    for query in report.explained.values():
        for of_run in query.values:
            if of_run and not of_run[m].explanation.is_sum:
                return no_sum(of_run[m].explanation, differences=True)
    return ""


def _texts(texts: Iterable[str]) -> str:
    return _SEPARATOR.join(map(visible, texts))


def _pair(
    report: Report, a: int, b: int, compared: Mapping[tuple[str, str, str], PairComparison], digits: Digits
) -> list[str]:
    """Run b against run a by each metric, in words."""
    if a == b:
        return []
    values, options = report.values, report.options
    texts = []
    for column, pair in zip(values.metrics, report.pairs(a, b), strict=True):
        parts = [f"mean difference {signed(pair.difference, digits)}"]
        comparison = compared.get((values.runs[a], values.runs[b], column.name))
        if comparison is not None:
            if not math.isnan(comparison.low):
                parts.append(f"{options.confidence:g} % interval {interval(comparison, digits)}")
            if not math.isnan(comparison.p):
                parts.append(f"p {probability(comparison.p, digits)}")
            if not math.isnan(comparison.p_corrected) and options.used_correction != "none":
                parts.append(f"corrected p {probability(comparison.p_corrected, digits)}")
        queries = f"queries won/tied/lost {pair.better:,}/{pair.equal:,}/{pair.worse:,}"
        if compared and comparison is None:
            queries += "; --all-pairs would add an interval and p"
        texts.append(f"{', '.join(parts)}; {queries}")
    return texts


def compressed(report: Report, digits: Digits) -> str:
    """The explanations in base64 of zlib's format, which a browser reads while the page is shown already."""
    blocks: _Blocks = {}
    explained = _explained(report, digits, blocks)
    text = _json({"explained": explained, "blocks": [json.loads(block) for block in blocks]})
    # most of it is digits, for which these are better than the defaults by 4 %
    deflate = zlib.compressobj(9, memLevel=7, strategy=zlib.Z_FILTERED)
    return b64encode(deflate.compress(text.encode()) + deflate.flush()).decode()


def _json(content: Any) -> str:
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return _SURROGATE.sub(lambda match: f"\\\\u{ord(match[0]):x}", text)


_Blocks = dict[str, int]
"""The tables below explanations, and sentences among them, each once, since explanations share many: the JSON
of each, and its position.
"""


def _added(blocks: _Blocks, block: Block) -> int:
    """The position of a block, which is added where it is new."""
    content: Any = block
    if isinstance(block, Grid):
        rows = [[cell.text for cell in row] for row in block.cells]
        left = [c for c in range(len(block.head)) if block.is_left(c)]
        content = {"title": block.title, "head": block.head, "rows": rows, "left": left}
    return blocks.setdefault(json.dumps(content), len(blocks))


def _explained(report: Report, digits: Digits, blocks: _Blocks) -> dict[str, Any]:
    """The explanations: lists by query, some by run and by metric below; those of a kind compress well."""
    queries = report.explained.values()
    tables = [
        [[_table(value, query, digits, blocks) for value in of_run] for of_run in query.values]
        for query in queries
    ]

    def part(name: str, of: Callable[[_Table], Mapping[str, Any]] = lambda table: table) -> list[Any]:
        return [[[of(table).get(name, 0) for table in of_run] for of_run in query] for query in tables]

    columns = {name for query in tables for of_run in query for table in of_run for name in table["columns"]}
    content = {
        "queries": [q for q, query in enumerate(report.values.queries) if query in report.explained],
        "documents": [_texts(name for name, _ in query.documents) for query in queries],
        "grades": [_texts(grade_of(grade) for _, grade in query.documents) for query in queries],
        "ranks": [
            [
                _texts(str((document and document.rank) or ABSENT) for document in documents)
                for documents in query.of_runs
            ]
            for query in queries
        ],
        "scores": [_scores(query, digits) for query in queries],
        "rows": part("rows"),
        "adds": part("adds"),
        "others": part("others"),
        "columns": {name: part(name, lambda table: table["columns"]) for name in sorted(columns, key=_order)},
        "sums": part("sum"),
        "notes": part("notes"),
        "blocks": part("blocks"),
    }
    if report.titles:
        content["titles"] = [
            _SEPARATOR.join(_cut(visible(report.titles.get(name, ""))) for name, _ in query.documents)
            for query in queries
        ]
    return content


def _order(name: str) -> tuple[int, str]:
    """Columns that are not listed are what a gain is made from, and stand before it."""
    return (_COLUMNS.index(name) if name in _COLUMNS else -1, name)


def _scores(query: ExplainedQuery, digits: Digits) -> list[str]:
    """The scores of the documents that are shown of each run."""
    texts = []
    for values, documents in zip(query.values, query.of_runs, strict=True):
        shown = {document for value in values for document in value.explanation.documents}
        scores = (document.score if document in shown else None for document in documents)
        texts.append(_texts("" if score is None else number(score, digits) for score in scores))
    return texts


def _cut(text: str) -> str:
    return text if len(text) <= _TITLE_WIDTH else f"{text[: _TITLE_WIDTH - 1]}…"


_Table = dict[str, Any]
"""An explanation. rows: which of the query's documents it shows. adds: what each of these documents adds.
others: whether further ones add, as 0 or 1. sum: the fraction that gives the value. notes: what is not shown.
blocks: what is below.
"""


def _table(value: ExplainedValue, query: ExplainedQuery, digits: Digits, blocks: _Blocks) -> _Table:
    explanation = value.explanation
    documents, ranks = explanation.documents, explanation.first_ranks
    index = {name: d for d, (name, _) in enumerate(query.documents)}
    # the script prints differences of these, so they have more digits
    more: Digits = digits if digits == "full" else digits + 3
    adds = _texts("" if added is None else number(added, more).removeprefix("0") for added in value.adds)
    return {
        "rows": " ".join(str(index[document.id]) for document in documents),
        "adds": adds.rstrip(_SEPARATOR),
        "others": int(value.others),
        "columns": {
            name: _texts(texts)
            for name, of in _columns(explanation, digits)
            if any(texts := [of.get(document, "") for document in documents])
        },
        "sum": fraction(explanation, digits) if explanation.is_sum else no_sum(explanation),
        "notes": " ".join(notes(explanation, value.selection, ranks, digits)),
        "blocks": [_added(blocks, block) for block in details(explanation, ranks, digits)],
    }


def _columns(explanation: Explanation, digits: Digits) -> Iterator[tuple[str, dict[Document, str]]]:
    """Columns from left to right, besides those that every explanation has, and the texts of documents."""
    documents = explanation.documents
    if explanation.positions is not None:
        at = {document: explanation.place(document) for document in documents}
        yield "position", {document: ABSENT if place is None else str(place) for document, place in at.items()}
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

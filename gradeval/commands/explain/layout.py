"""The document of explanations: documents and what each adds, the ideal ranking, levels, φ, sentences."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence, Set
from itertools import chain
from typing import Any

from gradeval.commands.explain.explain import (
    Difference,
    Document,
    Explanation,
    Explanations,
    Phi,
    Selection,
    Term,
)
from gradeval.errors import OptionError, first_names, visible
from gradeval.notices import many
from gradeval.render import Digits
from gradeval.render.document import (
    ABSENT,
    Block,
    Grid,
    OutputDocument,
    RenderOptions,
    StyledLine,
    number,
    signed,
)
from gradeval.render.table import text_width
from gradeval.tables.levels import Level
from gradeval.version import document_head

_TITLE_WIDTH = 60
_LABELS = frozenset(("rank", "document", "point", "levels"))
_LEFT = _LABELS | {"title", "ideal rank", "displaced by"}
_DISPLACING = 3  # documents that displaced another
_MOST = 20  # rows of a table

Row = dict[str, Any]
"""Column -> value; a column that a row lacks is blank, and None is a rank or a grade that a document lacks."""


def document(
    result: Explanation | Explanations, options: RenderOptions, *, ranks: int | None = None, loss: bool = False
) -> OutputDocument:
    """ranks: how many are shown, and how many of lower ones; by default first_ranks. loss: what each costs."""
    explanations = [result] if isinstance(result, Explanation) else result
    return OutputDocument(
        blocks=lambda: chain(
            *(_blocks(part, ranks or part.first_ranks, loss, options.digits) for part in explanations)
        ),
        content=lambda: {
            **document_head("explanation"),
            "explanations": [explanation.to_dict() for explanation in explanations],
        },
    )


def _blocks(explanation: Explanation, ranks: int, loss: bool, digits: Digits) -> Iterator[Block]:
    other = explanation.against
    value = value_of(explanation, digits)
    query = f"{visible(explanation.display)}, query {visible(explanation.query)}"
    run = visible(explanation.run)
    if explanation.query_text:
        query += f" ({_cut(explanation.query_text)})"
    if other is None:
        yield StyledLine(f"{query}, {run}: {value}", "heading")
        yield from details(explanation, ranks, digits)
        yield from _documents(explanation, ranks, digits)
    else:
        values = f"{run} {value}, {visible(other.run)} {value_of(other, digits)}"
        difference = signed(explanation.value - other.value, digits)
        yield StyledLine(f"{query}: {values}, difference {difference}", "heading")
        yield from _differences(explanation, other, ranks, digits)
    if not loss:
        return
    if not explanation.has_losses:
        which = "DCGs that an ideal ranking of the judged documents normalizes, such as nDCG"
        raise OptionError(f"{explanation.metric}: losses are defined for {which}")
    losses = [loss for loss in explanation.losses if loss.loss]
    numbers = _rows(("ideal rank", "adds", "ideally adds", "loss"), (loss[1:] for loss in losses[:ranks]))
    rows = [
        {**_described(explanation, loss_row.document), **row}
        for loss_row, row in zip(losses, numbers, strict=False)
    ]
    rows += _rest("loss", [loss.loss for loss in losses[ranks:]])
    rows.append({"document": "1 - value", "loss": 1 - explanation.value})
    names = "rank", "document", "ideal rank", "grade", "adds", "ideally adds", "loss", "title"
    yield _grid("What each document loses by not being at its ideal rank", rows, digits, names)


def _documents(explanation: Explanation, ranks: int, digits: Digits) -> Iterator[Block]:
    """The documents and what each adds; then the ideal ranking, the fraction, and what is left out."""
    selection = explanation.selected(ranks)
    rows: list[Row] = []
    last = 0
    for document, of_metric in zip(selection.documents, _values(explanation, selection.documents), strict=True):
        position = explanation.place(document) or 0
        rows += [{"rank": "…"}] if position > last + 1 else []
        last = position
        rows.append({**_described(explanation, document), **of_metric})
    removed = "Leave-one-out: the document removed from run and judgments, ranks closed up"
    names = ["rank", "position", "document", "score", "grade", explanation.scaled, "gain", "discount", "term"]
    sum_name, at_rank = _names(explanation)
    names += [sum_name, "adds", at_rank, "value without", "change", "title"]
    yield _grid("" if explanation.is_sum else removed, rows, digits, filter(None, names))
    if explanation.ideal and all(term.position for term in explanation.ideal):
        rows = []
        for term in explanation.ideal[:ranks]:
            row: Row = {"document": "any"}
            if term.document is not None:
                row = {**_described(explanation, term.document), "run rank": term.document.rank}
            row |= {"rank": term.position, "gain": term.gain or 0.0, "term": term.value}
            rows.append({**row, "discount": "" if term.discount is None else term.discount})
        rows += _rest("term", [term.value for term in explanation.ideal[ranks:]])
        names = ["rank", "document", "run rank", "grade", "gain", "discount", "term", "title"]
        yield _grid("Ideal ranking", rows, digits, names)
    yield fraction(explanation, digits) if explanation.is_sum else no_sum(explanation)
    if about := notes(explanation, selection, ranks, digits):
        yield about


def _grid(title: str, rows: Sequence[Row], digits: Digits, names: Iterable[str] = ()) -> Grid:
    """The columns of these names, by default all, that are not blank everywhere."""
    names = list(names or dict.fromkeys(chain(*rows)))
    texts = [{name: _text(name, row.get(name, ""), digits) for name in names} for row in rows]
    names = [name for name in names if any(row[name] for row in texts)]
    cells = [tuple(row[name] for name in names) for row in texts]
    labels = next((c for c, name in enumerate(names) if name not in _LABELS), len(names))
    left_columns = (
        c for c, name in enumerate(names) if name in _LEFT or name.endswith((" document", " title"))
    )
    return Grid(
        title,
        tuple(map(visible, names)),
        cells,
        labels=max(labels, 1),
        left_columns=frozenset((0, *left_columns)),
        joined=frozenset(c for c, name in enumerate(names) if name.endswith(" grade")),
        runs_in_head=True,
    )


def _text(name: str, value: Any, digits: Digits) -> str:
    """A value as its column shows it, by the last word of the column's name."""
    if isinstance(value, (str, int)):
        return str(value)
    kind = name.rpartition(" ")[2]
    if value is None or kind == "grade":
        return grade_of(value)
    return (signed if kind in ("change", "loss", "difference") else number)(value, digits)


def _described(explanation: Explanation, document: Document) -> Row:
    return {
        "rank": document.rank,
        "position": "" if explanation.positions is None else explanation.place(document),
        "document": visible(document.id),
        "score": "" if document.score is None else document.score,
        "grade": _grade_of(document, explanation.assumed),
        "title": _cut(explanation.titles.get(document.id, "")),
    }


def _grade_of(document: Document | Difference, assumed: Set[str]) -> str:
    """The grade, with a mark if it is assumed."""
    return grade_of(document.grade) + ("*" if document.id in assumed else "")


def grade_of(grade: float | None) -> str:
    return ABSENT if grade is None else f"{grade:.15g}"


def value_of(explanation: Explanation, digits: Digits) -> str:
    return "undefined" if math.isnan(explanation.value) else number(explanation.value, digits)


def _cut(text: str) -> str:
    """Text as it can be shown, no wider than a title."""
    text = visible(text)
    if text_width(text) <= _TITLE_WIDTH:
        return text
    while text_width(text) >= _TITLE_WIDTH:
        text = text[:-1]
    return f"{text}…"


def _names(explanation: Explanation) -> tuple[str, str]:
    """Those of the columns of a DCG: of the sum, and of the value at a rank."""
    name = visible(explanation.display).partition("(")[0].partition("@")[0]
    return "DCG'" if explanation.groups else "DCG", f"{name}@k"


def _values(explanation: Explanation, documents: Sequence[Document]) -> Iterator[Row]:
    """What the metric makes of each of the documents."""
    if explanation.terms is None:
        yield from _changes(explanation, documents)
        return
    sum_name, at_rank = _names(explanation)
    terms = {term.document: term for term in explanation.terms}
    is_dcg = any(term.gain is not None for term in explanation.terms) or bool(explanation.discounts)
    running = sorted((term.position, term.running) for term in explanation.terms if term.position is not None)
    for document in documents:
        position = explanation.place(document)
        term = terms.get(document) or _term_of_0(explanation, document, position, running)
        values = {} if term is None else _values_of_term(explanation, term, sum_name if is_dcg else "")
        if position is not None and position <= len(explanation.by_rank):
            values[at_rank] = explanation.by_rank[position - 1]
        yield {name: value for name, value in values.items() if value is not None}


def _changes(explanation: Explanation, documents: Iterable[Document]) -> list[Row]:
    changes = {document: numbers for document, *numbers in explanation.changes}
    columns = "value without", "change"
    return _rows(columns, (changes.get(document, [math.nan] * 2) for document in documents))


def _values_of_term(explanation: Explanation, term: Term, sum_name: str) -> Row:
    """sum_name: of a DCG, whose running sum is shown, else ''."""
    values: Row = {explanation.scaled: term.scaled, "gain": term.gain, "discount": term.discount}
    if not explanation.levels:  # there is a term for each level
        values["term"] = term.value
    return values | ({sum_name: term.running} if sum_name else {"adds": term.contribution})


def _term_of_0(
    explanation: Explanation,
    document: Document,
    position: int | None,
    running: Sequence[tuple[int, float]],
) -> Term | None:
    """What a document without a term adds at its position, None if that is below the cutoff or there is none.
    running: the sum behind each position that has a term.
    """
    if position is None or position > (explanation.cutoff or math.inf):
        return None
    before = bisect_left(running, (position,))
    term = Term(document, 0.0, running[before - 1][1] if before else 0.0, 0.0)
    if position > len(explanation.discounts):
        return term
    return term._replace(gain=0.0, discount=explanation.discounts[position - 1], scaled=0.0)


def fraction(explanation: Explanation, digits: Digits) -> str:
    """'nDCG@10 = DCG 4.2531 / ideal DCG 8.8928 = 0.4783'."""
    name = visible(explanation.display)
    value = value_of(explanation, digits)
    if explanation.is_empty:
        return f"No document is relevant: the value is {value} (see --no-relevant)."
    if math.isnan(explanation.value):
        return f"{name} is undefined for this query."
    if explanation.levels:
        adds = "weight · precision at its rank / relevant, for each level that it reaches"
        return f"{name} = sum of what documents add = {value}. A document adds {adds}."
    is_dcg = any(term.gain is not None for term in (*(explanation.terms or ()), *(explanation.ideal or ())))
    sum_name = _names(explanation)[0] if is_dcg else "sum"
    total = f"{sum_name} {number(explanation.total, digits)}"
    text = _divided(explanation, sum_name, digits)
    return f"{name} = {text}" + (f" = {value}" if text != total else "")


def _divided(explanation: Explanation, sum_name: str, digits: Digits) -> str:
    """The sum with what is subtracted from it, and what it is multiplied with and divided by."""

    def count_or_number(part: float) -> str:
        return str(int(part)) if part.is_integer() and abs(part) < 2**53 else number(part, digits)

    total = f"{sum_name} {number(explanation.total, digits)}"
    base = count_or_number(explanation.base)
    if explanation.ideal is not None and explanation.base:
        most = number(explanation.normalizer + explanation.base, digits)
        return f"({total} - minimum {base}) / (maximum {most} - minimum {base})"
    if explanation.ideal is not None:
        return f"{total} / ideal {sum_name} {number(explanation.normalizer, digits)}"
    text = f"({total} - {base})" if explanation.base else total
    if explanation.scale != 1:
        text = f"{number(explanation.scale, digits)} · {text}"
    if explanation.normalizer != 1:
        text = f"{text} / {count_or_number(explanation.normalizer)}"
    return text


def no_sum(explanation: Explanation, differences: bool = False) -> str:
    """The sentence about a metric whose value is no sum. differences: about those of two runs."""
    removed = "what a document adds is what the value loses if it is removed from run and judgments"
    consequence = f": {removed} (leave-one-out), and need not" if differences else ", so the changes need not"
    text = f"{visible(explanation.display)} is no sum over documents{consequence} add up."
    if untried := max(side.untried for side in (explanation, explanation.against or explanation)):
        text += " Only documents of the first ranks, and those of the highest grades that were not retrieved, "
        text += f"were removed: {many(untried, 'other would take', 'others would take')} too long."
    return text


def notes(explanation: Explanation, selection: Selection, ranks: int, digits: Digits) -> str:
    """Sentences about documents that the table does not show, and its marks."""
    sentences = []
    if not explanation.retrieved:
        sentences.append("The run has no documents for this query.")
    if selection.hidden:
        sentences.append(_hidden(explanation, selection, digits))
    if selection.missed and not explanation.groups:
        sentences.append(_missed(selection))
    first = explanation.ranked[:ranks]
    if unjudged := sum(document.grade is None for document in first):
        retrieved = f"the first {len(first)}" if len(first) > 1 else "those retrieved"
        sentences.append(f"Not judged: {unjudged} of {retrieved} (grade {ABSENT}).")
    if explanation.assumed.intersection(document.id for document in first):
        sentences.append("Not judged: documents with the grade of --unjudged-grade (*).")
    scores = [document.score for document in first]
    if tied := sum(scores.count(score) > 1 for score in scores):
        order = "the lowest grade first" if explanation.groups else f"ordered by --ties {explanation.ties}"
        sentences.append(f"Tied scores: {tied} of the first {len(first)}, {order}.")
    return " ".join(sentences)


def _hidden(explanation: Explanation, selection: Selection, digits: Digits) -> str:
    count = many(selection.hidden, "document", "documents")
    added = selection.hidden_contribution
    is_known = explanation.is_sum and not math.isnan(added) and not explanation.groups
    if not is_known:
        return f"Not shown: {count} of lower ranks."
    return f"Not shown: {count} of lower ranks, which add {number(added, digits) if added else 'nothing'}."


def _missed(selection: Selection) -> str:
    count = many(selection.missed, "document", "documents")
    sentence = f"Not retrieved (rank {ABSENT}): {count} with a grade above 0"
    shown = sum(document.rank is None for document in selection.documents)
    if 0 < shown < selection.missed:
        sentence += f", {shown} of which {'is' if shown == 1 else 'are'} shown"
    return f"{sentence}."


def _rest(column: str, values: Sequence[float], label: str = "document") -> list[Row]:
    """A row for those that are not shown."""
    return [{label: f"{len(values)} more", column: math.fsum(values)}] if values else []


def _differences(explanation: Explanation, other: Explanation, ranks: int, digits: Digits) -> Iterator[Block]:
    run, other_run = visible(explanation.run), visible(other.run)
    differences = [difference for difference in explanation.differences if difference.difference]
    columns = "grade", f"{run} rank", f"{other_run} rank", f"{run} adds", f"{other_run} adds", "difference"
    assumed = explanation.assumed | other.assumed
    rows: list[Row] = []
    for difference in differences[:ranks]:
        row = {"document": visible(difference.id), **dict(zip(columns, difference[1:], strict=True))}
        title = _cut(explanation.titles.get(difference.id, ""))
        rows.append({**row, "grade": _grade_of(difference, assumed), "title": title})
    rows += _rest("difference", [difference.difference for difference in differences[ranks:]])
    if explanation.is_sum:
        adds = {f"{run} adds": value_of(explanation, digits), f"{other_run} adds": value_of(other, digits)}
        rows.append({"document": "total", **adds, "difference": explanation.value - other.value})
    if differences:
        yield _grid("Documents that make the difference", rows, digits)
    else:
        yield "No document makes a difference."
    if not explanation.is_sum:
        yield no_sum(explanation, differences=True)
    displaced = []
    for row, difference in zip(rows, differences[:ranks], strict=False):
        above = explanation.displaced_by(difference.id)
        texts = (f"{visible(document.id)} ({_grade_of(document, assumed)})" for document in above)
        displaced += [{**row, "displaced by": first_names(texts, _DISPLACING)}] if above else []
    if displaced:
        names = "document", "grade", f"{other_run} rank", f"{run} rank", "displaced by"
        yield _grid("What displaced the documents that were lost (grade)", displaced, "full", names)
    if first := _side_by_side(explanation, other, ranks):
        yield _grid(f"The first {len(first)} ranks", first, "full")


def _side_by_side(explanation: Explanation, other: Explanation, ranks: int) -> list[Row]:
    """The first documents of both runs, a row for each rank."""
    length = max(len(side.ranked[:ranks]) for side in (explanation, other))
    rows: list[Row] = [{"rank": rank} for rank in range(1, length + 1)]
    for side in (explanation, other):
        name = visible(side.run)
        for row, document in zip(rows, side.ranked, strict=False):
            described = _described(explanation, document)
            row |= {f"{name} {column}": described[column] for column in ("document", "grade", "title")}
    return rows


def details(explanation: Explanation, ranks: int, digits: Digits) -> Iterator[Grid | str]:
    """What the metric has to show besides its terms: its levels, φ, its groups."""
    if explanation.levels:
        rows = _level_rows(explanation.levels, ranks)
        rows.append({"levels": "weighted mean", "AP · weight": value_of(explanation, digits)})
        yield _grid("AP at each level: + reaches it, - does not", rows, digits)
    if explanation.phi is not None:
        yield from _phi_blocks(explanation.phi, digits)
    if explanation.groups:
        groups = (
            (grade, level, "-".join(map(str, dict.fromkeys((first, last)))), discount)
            for level, grade, first, last, discount in explanation.groups
        )
        rows = _rows(("grade", "level", "ideal positions", "discount"), groups)
        title = "Levels, which are the gains, and the discount that documents of a level share"
        yield _grid(title, _first_rows(rows), digits)


def _level_rows(levels: Sequence[Level], ranks: int) -> list[Row]:
    """Scheel's table 1: a row for each threshold, or for those of the largest weight, and one of the others."""
    heaviest = sorted(levels, key=lambda level: -level.weight)
    length = min(len(levels[0].marks), ranks)
    of_ranks = f"ranks 1-{length}" if length > 1 else "rank 1"
    shown = (
        (f"grade >= {grade_of(grade)}", marks[:ranks], relevant, precision, weight, precision * weight)
        for grade, relevant, precision, weight, marks in sorted(heaviest[:_MOST])
    )
    rows = _rows(("levels", of_ranks, "relevant", "AP", "weight", "AP · weight"), shown)
    other_terms = [level.average_precision * level.weight for level in heaviest[_MOST:]]
    return rows + _rest("AP · weight", other_terms, "levels")


def _phi_blocks(phi: Phi, digits: Digits) -> Iterator[Grid | str]:
    if phi.points:
        yield _grid("Control points of φ", _rows(("point", "grade", "φ"), phi.points), digits)
    else:
        yield "There are no control points of φ: no grade is above 0."
    if phi.whisker is not None and all(name != "whisker" for name, _, _ in phi.points):
        whisker = number(phi.whisker, digits)
        yield f"The whisker, {whisker}, is no control point: no grade is an outlier above it."
    rows = _rows(("grade", "judged", "φ", "gain"), phi.values)
    yield _grid("φ and gain 2^φ - 1 of each grade", _first_rows(rows), digits)


def _rows(columns: Sequence[str], records: Iterable[Sequence[Any]]) -> list[Row]:
    return [dict(zip(columns, record, strict=True)) for record in records]


def _first_rows(rows: list[Row]) -> list[Row]:
    count = len(rows) - _MOST
    return [*rows[:_MOST], {"grade": f"{count} more"}] if count > 0 else rows

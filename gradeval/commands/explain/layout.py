"""The document of explanations: documents and what each adds, the ideal ranking, levels, φ, sentences."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from gradeval.commands.explain.result import Document as RankedDocument
from gradeval.commands.explain.result import Explanation, Phi, Selection, Term
from gradeval.errors import OptionError, visible
from gradeval.notices import many
from gradeval.render import Digits
from gradeval.render.canvas import BLOCKS, NO_STYLE, Canvas, Scale, ticks
from gradeval.render.document import Block, Document, Grid, Line, Lines, RenderOptions
from gradeval.render.numbers import ABSENT, number, signed
from gradeval.render.table import GAP, text_width
from gradeval.version import __version__

FORMAT_VERSION = 1
_TITLE_WIDTH = 60
_LEAST_TITLE = 20
_IDEAL = ("ideal rank", "ideal", "ideal gain", "ideal term")  # columns of the ideal ranking
_LEFT = frozenset(("rank", "document", "title", "ideal", "ideal rank", "point", "levels"))
_CURVE_HEIGHT = 9
_AXIS, _LEAST_COLUMNS = 7, 20  # what the axis of the curve takes, and what it leaves
_MOST = 20  # rows of a table

Rows = list[dict[str, str]]
"""Column -> text of each row; a column that a row lacks is blank."""


def document(
    result: Explanation | Sequence[Explanation],
    how: RenderOptions,
    *,
    ranks: int | None = None,
    loss: bool = False,
) -> Document:
    """ranks: how many are shown, and how many documents that are not among them; by default first_ranks. loss:
    what each document costs.
    """
    explanations = [result] if isinstance(result, Explanation) else result
    return Document(
        blocks=lambda: (
            block for explanation in explanations for block in _blocks(explanation, how, ranks, loss)
        ),
        content=lambda: {
            "gradeval": __version__,
            "format": FORMAT_VERSION,
            "explanations": [explanation.to_dict() for explanation in explanations],
        },
    )


def _blocks(explanation: Explanation, how: RenderOptions, ranks: int | None, loss: bool) -> Iterator[Block]:
    """The heading, then tables and sentences."""
    digits, other = how.digits, explanation.against
    ranks = ranks or explanation.first_ranks
    value = value_of(explanation, digits)
    query, run = f"{visible(explanation.display)}, query {visible(explanation.query)}", visible(explanation.run)
    if other is None:
        yield Line(f"{query}, {run}: {value}", "heading")
        yield from details(explanation, ranks, digits)
        if explanation.phi is not None:
            yield from _curve(explanation.phi, how.width)
        yield from _documents(explanation, ranks, how)
    else:
        values = f"{run} {value}, {visible(other.run)} {value_of(other, digits)}"
        difference = signed(explanation.value - other.value, digits)
        yield Line(f"{query}: {values}, difference {difference}", "heading")
        yield from _differences(explanation, other, ranks, how)
    if loss:
        yield from _losses(explanation, ranks, how)


def _documents(explanation: Explanation, ranks: int, how: RenderOptions) -> Iterator[Block]:
    """The documents and what each adds; then the fraction, and what is left out."""
    selection = explanation.selected(ranks)
    columns = (_sum_columns if explanation.is_sum else _change_columns)(explanation, how.digits)
    rows: Rows = []
    last = 0
    for document in selection.documents:
        place = explanation.place(document) or 0
        if place > last + 1:
            rows.append({"rank": "…"})
        last = place
        rows.append({**_described(explanation, document, how.digits), **columns(document)})
    title = ""
    if explanation.is_sum:
        _add_ideal(explanation, rows, ranks, how.digits)
    else:
        title = "Leave-one-out: the document removed from run and judgments, ranks closed up"
    yield from _fitting(title, rows, _columns(explanation, rows), how.width)
    yield fraction(explanation, how.digits) if explanation.is_sum else no_sum(explanation)
    yield from notes(explanation, selection, ranks, how.digits)


def _described(explanation: Explanation, document: RankedDocument, digits: Digits) -> dict[str, str]:
    """The columns of a document whatever the metric."""
    return {
        "rank": _rank(document.rank),
        "position": "" if explanation.positions is None else _rank(explanation.place(document)),
        "document": visible(document.id),
        "score": "" if document.score is None else number(document.score, digits),
        "grade": grade_of(document.grade),
        "title": _title(explanation, document.id),
    }


def _rank(rank: int | None) -> str:
    return ABSENT if rank is None else str(rank)


def _title(explanation: Explanation, document: str) -> str:
    return _cut(visible(explanation.titles.get(document, "")), _TITLE_WIDTH)


def no_sum(explanation: Explanation, differences: bool = False) -> str:
    """The sentence about a metric whose value is no sum. differences: about those of two runs."""
    text = f"{visible(explanation.display)} is no sum over documents"
    if differences:
        text += (
            ": what a document adds is what the value loses if it is removed from run and judgments "
            "(leave-one-out), and need not add up."
        )
    else:
        text += ", so the changes need not add up."
    untried = max(side.untried for side in (explanation, explanation.against or explanation))
    if untried:
        text += (
            " Only documents of the first ranks, and those of the highest grades that were not retrieved, were "
            f"removed: {many(untried, 'other would take', 'others would take')} too long."
        )
    return text


def _fitting(title: str, rows: Rows, names: Sequence[str], width: int | None) -> Iterator[Grid]:
    """One grid, or two if the ideal ranking does not fit next to the run's. Titles are cut to the room left."""
    grid = _grid(title, rows, names)
    if width is None or _width(grid) <= width:
        yield grid
        return
    ideal = [name for name in names if name in _IDEAL] if "ideal" in names else []
    own = [name for name in names if name not in ideal]
    room = width - _width(_grid(title, rows, [name for name in own if name != "title"])) - len(GAP)
    if room < _LEAST_TITLE:  # they go to a further table, beside the labels
        room = width - _width(_grid(title, rows, own[: grid.labels])) - len(GAP)
    rows = [{**row, "title": _cut(row.get("title", ""), room)} for row in rows]
    yield _grid(title, rows, own)
    best = [row for row in rows if "ideal" in row]
    if best:
        yield _grid("Ideal ranking", best, ["ideal rank", *(name for name in ideal if name != "ideal rank")])


def _width(grid: Grid) -> int:
    """How wide it is, with two spaces between columns."""
    texts = (grid.head, *([cell.text for cell in row] for row in grid.cells))
    return sum(max(map(text_width, column)) + len(GAP) for column in zip(*texts, strict=True)) - len(GAP)


def _cut(text: str, width: int) -> str:
    if text_width(text) <= width:
        return text
    while text_width(text) >= width:
        text = text[:-1]
    return f"{text}…"


def _columns(explanation: Explanation, rows: Rows) -> list[str]:
    """The names of columns from left to right; the ideal rank where it is not that of the row."""
    is_beside = all(row.get("ideal rank") in (None, row.get("position") or row["rank"]) for row in rows)
    names = ["rank", "position", "document", "score", "grade", *filter(None, [explanation.scaled])]
    names += ["gain", "discount", "term", _sum_name(explanation), "adds", f"{_name(explanation)}@k"]
    names += ["value without", "change", *([] if is_beside else ["ideal rank"])]
    return [*names, "ideal", "ideal gain", "ideal term", "title"]


def _sum_columns(explanation: Explanation, digits: Digits) -> Callable[[RankedDocument], dict[str, str]]:
    """The texts of a document of a metric that is a sum."""
    terms = {term.document: term for term in explanation.terms or ()}
    is_dcg = any(term.gain is not None for term in terms.values()) or bool(explanation.discounts)
    ordered = sorted((term.position, term.running) for term in terms.values() if term.position is not None)
    positions = [position for position, _ in ordered]
    last = explanation.cutoff or math.inf

    def nothing(document: RankedDocument, place: int) -> Term:
        """The term of a document that has none, and so adds 0."""
        before = bisect_left(positions, place)
        running = ordered[before - 1][1] if before else 0.0
        if place > len(explanation.discounts):
            return Term(document, 0.0, running, 0.0, place)
        scaled = 0.0 if explanation.scaled else None
        return Term(document, 0.0, running, 0.0, place, 0.0, explanation.discounts[place - 1], scaled)

    def columns(document: RankedDocument) -> dict[str, str]:
        place = explanation.place(document)
        term = terms.get(document)
        if term is None and place is not None and place <= last:
            term = nothing(document, place)
        values: dict[str, float | None] = {}
        if term is not None:
            values = {explanation.scaled: term.scaled, "gain": term.gain, "discount": term.discount}
            if not explanation.levels:  # µAP has a term for each level
                values["term"] = term.value
            if is_dcg:
                values[_sum_name(explanation)] = term.running
            else:
                values["adds"] = term.contribution
        if place is not None and place <= len(explanation.by_rank):
            values[f"{_name(explanation)}@k"] = explanation.by_rank[place - 1]
        return {name: number(value, digits) for name, value in values.items() if value is not None}

    return columns


def _name(explanation: Explanation) -> str:
    """The display name without parameters."""
    return visible(explanation.display).partition("(")[0].partition("@")[0]


def _sum_name(explanation: Explanation) -> str:
    return "DCG'" if explanation.groups else "DCG"


def _add_ideal(explanation: Explanation, rows: Rows, ranks: int, digits: Digits) -> None:
    """The documents of the ideal ranking next to those of the first ranks."""
    is_ranked = explanation.ideal is not None and all(term.position for term in explanation.ideal)
    if explanation.ideal is None or not is_ranked:
        return
    for place, term in enumerate(explanation.ideal[:ranks]):
        if place == len(rows) or rows[place].get("rank") in ("…", ABSENT):
            rows.insert(place, {"rank": _rank(term.position), "document": ABSENT})
        ideal = "any" if term.document is None else visible(term.document.id)
        rows[place] |= {"ideal rank": _rank(term.position), "ideal": ideal}
        rows[place]["ideal gain"] = number(term.gain or 0.0, digits)
        rows[place]["ideal term"] = number(term.value, digits)
    rest = [term.value for term in explanation.ideal[ranks:]]
    if rest:
        if ranks >= len(rows) or rows[ranks].get("rank") in ("…", ABSENT):
            rows.insert(ranks, {"rank": ""})
        rows[ranks] |= {"ideal": f"{len(rest)} more", "ideal term": number(math.fsum(rest), digits)}


def _change_columns(explanation: Explanation, digits: Digits) -> Callable[[RankedDocument], dict[str, str]]:
    changes = {change.document: change for change in explanation.changes}

    def columns(document: RankedDocument) -> dict[str, str]:
        change = changes.get(document)
        if change is None:
            return {"value without": ABSENT, "change": ABSENT}
        return {"value without": number(change.value, digits), "change": signed(change.change, digits)}

    return columns


def fraction(explanation: Explanation, digits: Digits) -> str:
    """'nDCG@10 = DCG 4.2531 / ideal DCG 8.8928 = 0.4783'."""
    name, value = visible(explanation.display), value_of(explanation, digits)
    if explanation.is_empty:
        return f"No document is relevant: the value is {value} (see --no-relevant)."
    if math.isnan(explanation.value):
        return f"{name} is undefined for this query."
    if explanation.levels:
        adds = "weight · precision at its rank / relevant, for each level that it reaches"
        return f"{name} = sum of what documents add = {value}. A document adds {adds}."
    is_dcg = any(term.gain is not None for term in (*(explanation.terms or ()), *(explanation.ideal or ())))
    sum_name = _sum_name(explanation) if is_dcg else "sum"
    text = total = f"{sum_name} {number(explanation.total, digits)}"
    divisor, base = (_short(part, digits) for part in (explanation.normalizer, explanation.base))
    if explanation.groups:
        most = number(explanation.normalizer + explanation.base, digits)
        text = f"({total} - minimum {base}) / (maximum {most} - minimum {base})"
    elif explanation.ideal is not None:
        text = f"{total} / ideal {sum_name} {number(explanation.normalizer, digits)}"
    else:
        text = f"({text} - {base})" if explanation.base else text
        text = f"{number(explanation.scale, digits)} · {text}" if explanation.scale != 1 else text
        text = f"{text} / {divisor}" if explanation.normalizer != 1 else text
    return f"{name} = {text}" + (f" = {value}" if text != total else "")


def _short(value: float, digits: Digits) -> str:
    """A number that may be a count, which has no decimals."""
    return str(int(value)) if value.is_integer() and abs(value) < 2**53 else number(value, digits)


def notes(explanation: Explanation, selection: Selection, ranks: int, digits: Digits) -> Iterator[str]:
    """Sentences about documents that the table does not show, and its marks."""
    sentences = []
    if not explanation.documents.retrieved:
        sentences.append("The run has no documents for this query.")
    if selection.hidden:
        count = many(selection.hidden, "document", "documents")
        added = number(selection.hidden_contribution, digits)
        adds = f", which add {added if selection.hidden_contribution else 'nothing'}"
        is_known = explanation.is_sum and not math.isnan(selection.hidden_contribution)
        adds = adds if is_known and not explanation.groups else ""
        sentences.append(f"Not shown: {count} of lower ranks{adds}.")
    if selection.missed and not explanation.groups:
        shown = sum(document.rank is None for document in selection.documents)
        which = f", {shown} of which {'is' if shown == 1 else 'are'} shown"
        which = which if 0 < shown < selection.missed else ""
        count = many(selection.missed, "document", "documents")
        sentences.append(f"Not retrieved (rank {ABSENT}): {count} with a grade above 0{which}.")
    first = explanation.ranked[:ranks]
    unjudged = sum(document.grade is None for document in first)
    if unjudged:
        of = f"the first {len(first)}" if len(first) > 1 else "those retrieved"
        sentences.append(f"Not judged: {unjudged} of {of} (grade {ABSENT}).")
    scores = [document.score for document in first]
    tied = sum(scores.count(score) > 1 for score in scores)
    if tied:
        order = "the lowest grade first" if explanation.groups else f"ordered by --ties {explanation.ties}"
        sentences.append(f"Tied scores: {tied} of the first {len(first)}, {order}.")
    if sentences:
        yield " ".join(sentences)


def _losses(explanation: Explanation, ranks: int, how: RenderOptions) -> Iterator[Block]:
    if not explanation.has_losses:
        raise OptionError(
            f"{explanation.metric}: losses are defined for DCGs that an ideal ranking of the judged documents "
            "normalizes, such as nDCG"
        )
    losses, digits = [loss for loss in explanation.losses if loss.loss], how.digits
    rows = [
        {
            **_described(explanation, loss.document, digits),
            "ideal rank": _rank(loss.ideal_position),
            "adds": number(loss.contribution, digits),
            "ideally adds": number(loss.ideal_contribution, digits),
            "loss": signed(loss.loss, digits),
        }
        for loss in losses[:ranks]
    ]
    rest = [loss.loss for loss in losses[ranks:]]
    if rest:
        rows.append({"document": f"{len(rest)} more", "loss": signed(math.fsum(rest), digits)})
    rows.append({"document": "1 - value", "loss": signed(1 - explanation.value, digits)})
    names = ("rank", "document", "ideal rank", "grade", "adds", "ideally adds", "loss", "title")
    yield from _fitting("What each document loses by not being at its ideal rank", rows, names, how.width)


def _differences(
    explanation: Explanation, other: Explanation, ranks: int, how: RenderOptions
) -> Iterator[Block]:
    digits = how.digits
    run, other_run = visible(explanation.run), visible(other.run)
    differences = [difference for difference in explanation.differences if difference.difference]
    rows = [
        {
            "document": visible(difference.id),
            "grade": grade_of(difference.grade),
            f"{run} rank": _rank(difference.rank),
            f"{other_run} rank": _rank(difference.other_rank),
            f"{run} adds": number(difference.contribution, digits),
            f"{other_run} adds": number(difference.other, digits),
            "difference": signed(difference.difference, digits),
            "title": _title(explanation, difference.id),
        }
        for difference in differences[:ranks]
    ]
    rest = [difference.difference for difference in differences[ranks:]]
    if rest:
        rows.append({"document": f"{len(rest)} more", "difference": signed(math.fsum(rest), digits)})
    if explanation.is_sum:
        rows.append(
            {
                "document": "total",
                f"{run} adds": value_of(explanation, digits),
                f"{other_run} adds": value_of(other, digits),
                "difference": signed(explanation.value - other.value, digits),
            }
        )
    if differences:
        yield from _fitting("Documents that make the difference", rows, list(rows[0]), how.width)
    else:
        yield "No document makes a difference."
    if not explanation.is_sum:
        yield no_sum(explanation, differences=True)


def value_of(explanation: Explanation, digits: Digits) -> str:
    return "undefined" if math.isnan(explanation.value) else number(explanation.value, digits)


def grade_of(grade: float | None) -> str:
    return ABSENT if grade is None else f"{grade:.15g}"


def _grid(title: str, rows: Rows, names: Sequence[str]) -> Grid:
    """The columns of these names that are not blank everywhere."""
    names = [name for name in names if any(row.get(name) for row in rows)]
    cells = [tuple(row.get(name, "") for name in names) for row in rows]
    labels = next((c for c, name in enumerate(names) if name not in _LEFT), len(names))
    left = frozenset((0, *(c for c, name in enumerate(names) if name in _LEFT)))
    return Grid(title, tuple(map(visible, names)), cells, max(labels, 1), left)


def details(explanation: Explanation, ranks: int, digits: Digits) -> Iterator[Grid | str]:
    """The levels of µAP, φ of nDCGφ, the groups of rankDCG."""
    if explanation.levels:
        yield _levels(explanation, ranks, digits)
    if explanation.phi is not None:
        yield from phi_tables(explanation.phi, digits)
    if explanation.groups:
        rows = [
            {
                "grade": grade_of(group.grade),
                "level": str(group.level),
                "ideal positions": str(group.first)
                if group.first == group.last
                else f"{group.first}-{group.last}",
                "discount": number(group.discount, digits),
            }
            for group in explanation.groups
        ]
        yield _grid(
            "Levels, which are the gains, and the discount that documents of a level share",
            _first_rows(rows, "grade"),
            list(rows[0]),
        )


def _first_rows(rows: Rows, label: str) -> Rows:
    """The first rows, and how many follow."""
    more = len(rows) - _MOST
    return [*rows[:_MOST], {label: f"{more} more"}] if more > 0 else rows


def _levels(explanation: Explanation, ranks: int, digits: Digits) -> Grid:
    """Scheel's table 1: a row for each threshold, or those of the largest weight, then the weighted mean."""
    heaviest = sorted(explanation.levels, key=lambda level: -level.weight)
    shown, others = sorted(heaviest[:_MOST], key=lambda level: level.grade), heaviest[_MOST:]
    length = min(len(explanation.levels[0].marks), ranks)
    marks = f"ranks 1-{length}" if length > 1 else "rank 1"
    rows: Rows = [
        {
            "levels": f"grade >= {grade_of(level.grade)}",
            marks: level.marks[:ranks],
            "relevant": str(level.relevant),
            "AP": number(level.average_precision, digits),
            "weight": number(level.weight, digits),
            "AP · weight": number(level.average_precision * level.weight, digits),
        }
        for level in shown
    ]
    if others:
        rest = math.fsum(level.average_precision * level.weight for level in others)
        rows.append({"levels": f"{len(others)} more", "AP · weight": number(rest, digits)})
    rows.append({"levels": "weighted mean", "AP · weight": value_of(explanation, digits)})
    return _grid("AP at each level: + reaches it, - does not", rows, list(rows[0]))


def phi_tables(phi: Phi, digits: Digits) -> Iterator[Grid | str]:
    """The control points of φ, and φ of each grade."""
    points = [
        {"point": name, "grade": grade_of(grade), "φ": number(value, digits)}
        for name, grade, value in phi.points
    ]
    if points:
        yield _grid("Control points of φ", points, ("point", "grade", "φ"))
    else:
        yield "There are no control points of φ: no grade is above 0."
    if phi.whisker is not None and all(name != "whisker" for name, _, _ in phi.points):
        whisker = number(phi.whisker, digits)
        yield f"The whisker, {whisker}, is no control point: no grade is an outlier above it."
    values = [
        {
            "grade": grade_of(grade),
            "judged": str(count),
            "φ": number(value, digits),
            "gain": number(gain, digits),
        }
        for grade, count, value, gain in phi.values
    ]
    yield _grid(
        "φ and gain 2^φ - 1 of each grade", _first_rows(values, "grade"), ("grade", "judged", "φ", "gain")
    )


def _curve(phi: Phi, width: int | None) -> Iterator[Lines]:
    """φ by grade, with the control points as o; nothing where all grades are equal."""
    if phi.curve[0][0] == phi.curve[-1][0]:
        return
    x, y = np.array(phi.curve).T
    columns = len(x) if width is None else max(min(len(x), width - _AXIS), _LEAST_COLUMNS)
    canvas = Canvas(columns, _CURVE_HEIGHT, Scale(x[0], x[-1]), Scale(0.0, 1.0))
    canvas.path(x, y, (BLOCKS.path, NO_STYLE))
    canvas.marks((point[1:] for point in phi.points), ("o", NO_STYLE))
    chart = canvas.chart([0.0, 0.5, 1.0], ticks(x[0], x[-1], columns // 10), BLOCKS)
    yield Lines(("  φ by grade", *chart.lines()))

"""A report of each file: what it is, what it holds, its errors and warnings, and how many of each kind."""

from __future__ import annotations

from collections.abc import Iterator

from gradeval.commands.files.result import FileReport, Issues, QrelsFacts, RunFacts, Validation
from gradeval.errors import printable, visible
from gradeval.evaluation.findings import FIRST_RANKS
from gradeval.notices import many
from gradeval.render.document import Document, Lines, RenderOptions
from gradeval.render.table import BOLD, DIM, styled

_BAR = 40  # characters of the longest bar of the histogram
_MOST_GRADES = 20  # that it shows


def document(validation: Validation, how: RenderOptions) -> Document:
    return Document(blocks=lambda: _files(validation, how.colour), content=validation.to_dict, is_log=True)


def _files(validation: Validation, colour: bool) -> Iterator[Lines]:
    yield from (Lines(list(_file(file, colour))) for file in validation.files)
    if len(validation.files) > 1:
        counts = _count(validation.errors, validation.warnings)
        yield Lines([f"{many(len(validation.files), 'file', 'files')}: {counts}"])


def _count(errors: int, warnings: int) -> str:
    return f"{many(errors, 'error', 'errors')}, {many(warnings, 'warning', 'warnings')}"


def _file(file: FileReport, colour: bool) -> Iterator[str]:
    title = f"{visible(file.path)}: {file.role or 'file'}, {_count(file.errors.total, file.warnings.total)}"
    yield styled(title, BOLD, colour)
    rows = [*_about(file), *_facts(file)]
    width = max((len(name) for name, _ in rows), default=0)
    for name, text in rows:
        yield f"  {styled(name.ljust(width), DIM, colour)}  {text}".rstrip()
    yield from _issues(file, "error", file.errors, colour)
    yield from _issues(file, "warning", file.warnings, colour)
    if file.end is not None:
        yield f"  reading stopped at line {file.end}"


def _about(file: FileReport) -> Iterator[tuple[str, str]]:
    if file.format:
        yield "format", f"{file.format}{f': {file.why}' if file.why else ''}"
    about = file.description
    if about is not None:
        parts = [
            about.compression or "not compressed",
            about.encoding,
            f"separated by {about.separators}" if about.separators else "",
            f"lines end in {about.line_ends}" if about.line_ends else "",
        ]
        yield "text" if about.encoding != "binary" else "data", ", ".join(filter(None, parts))


def _facts(file: FileReport) -> Iterator[tuple[str, str]]:
    if isinstance(file.facts, QrelsFacts):
        yield from _qrels(file.facts)
    elif file.facts is not None:
        yield from _run(file.facts)


def _qrels(facts: QrelsFacts) -> Iterator[tuple[str, str]]:
    without = f", {facts.without_relevant:,} without a relevant document" if facts.without_relevant else ""
    yield "queries", f"{facts.queries:,}{without}"
    duplicates = f", {many(facts.duplicates, 'duplicate', 'duplicates')}" if facts.duplicates else ""
    unrated = f", {many(facts.unrated, 'row', 'rows')} without a rating left out" if facts.unrated else ""
    subtopics = f", {facts.subtopics:,} of further subtopics of a document" if facts.subtopics else ""
    yield "judgments", f"{facts.judgments:,}{duplicates}{subtopics}{unrated}"
    grades = facts.grades
    if len(grades) > _MOST_GRADES:
        frequent = sorted(grades, key=lambda one: one[1], reverse=True)[:_MOST_GRADES]
        yield "grades", f"{len(grades):,} from {grades[0][0]:g} to {grades[-1][0]:g}; the most frequent:"
        grades = tuple(sorted(frequent))
    most = max(count for _, count in grades)
    texts = [(f"{grade:g}", f"{count:,}") for grade, count in grades]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    for place, ((grade, count), (_, number)) in enumerate(zip(texts, grades, strict=True)):
        bar = "█" * round(_BAR * number / most) or "▏"
        name = "" if place or len(facts.grades) > _MOST_GRADES else "grades"
        yield name, f"{grade:>{widths[0]}}  {count:>{widths[1]}}  {bar}"


def _run(facts: RunFacts) -> Iterator[tuple[str, str]]:
    low, middle, high = facts.per_query
    yield "queries", f"{facts.queries:,}"
    per_query = f"{low:,} to {high:,} per query, median {middle:,g}" if low < high else f"{low:,} per query"
    duplicates = f", {many(facts.duplicates, 'duplicate', 'duplicates')}" if facts.duplicates else ""
    yield "documents", f"{facts.documents:,}, {per_query}{duplicates}"
    tied = "no tied scores"
    if facts.tied:
        queries = many(facts.tied_queries, "query", "queries")
        tied = f"{many(facts.tied, 'document has a tied score', 'documents have tied scores')}, in {queries}"
    yield "ties", tied
    if facts.ranked:
        ranks = "in the order of the scores"
        if facts.disordered:
            queries = many(facts.ranked, "query", "queries")
            ranks = f"not in the order of the scores in {facts.disordered:,} of {queries}"
        against = f", the reverse in {facts.contradicting:,}" if facts.contradicting else ""
        yield "ranks", ranks + against
    if facts.judged_queries is not None:
        judged = facts.judged_queries
        unjudged = (
            f", {many(facts.unjudged or 0, 'unjudged query', 'unjudged queries')}" if facts.unjudged else ""
        )
        yield (
            "coverage",
            f"{judged - (facts.missing or 0):,} of {many(judged, 'judged query', 'judged queries')}{unjudged}",
        )
    if facts.judged is not None:
        yield f"judged@{FIRST_RANKS}", f"{100 * facts.judged:.1f} %"
    if facts.tag:
        yield "tag", visible(facts.tag)


def _issues(file: FileReport, severity: str, issues: Issues, colour: bool) -> Iterator[str]:
    for line, what, hint in issues.first:
        place = file.path if line is None else f"{file.path}:{line}"
        yield printable(f"{place}: {severity}: {what}") + (f". {printable(hint)}" if hint else "")
    more = issues.total - len(issues.first)
    if more:
        count = many(more, f"more {severity}", f"more {severity}s")
        yield f"{printable(file.path)}: {count}; --max-errors sets the limit"
    if issues.total > 1:
        yield f"  {styled(f'{severity}s by kind', DIM, colour)}"
        width = len(f"{max(issues.kinds.values()):,}")
        for kind, number in issues.kinds.items():
            yield f"  {number:>{width},}  {printable(kind)}"

"""The result of a validation: a report of each file, what it is and holds, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from gradeval.errors import first_names, named, printable, visible
from gradeval.evaluation.outcome import FIRST_RANKS
from gradeval.formats.diagnostics import Problem
from gradeval.notices import Kind, many
from gradeval.records import fields_of
from gradeval.render.document import Document, Lines, Printable, RenderOptions, Tabular
from gradeval.render.table import BOLD, DIM, styled

_BAR = 40  # characters of the longest bar of the histogram
SHOWN_IDS = 5  # of queries that a count names
_MOST_GRADES = 20  # that it shows


@dataclass(frozen=True)
class Issues:
    """Errors or warnings of a file: the first by line (from 1), how many there are, and how many of a kind.

    notices: the kinds of warnings, as --allow names them.
    """

    first: tuple[Problem, ...] = ()
    total: int = 0
    kinds: dict[str, int] = field(default_factory=dict)
    notices: tuple[Kind, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return {"total": self.total, "kinds": self.kinds, "first": [fields_of(issue) for issue in self.first]}


class Description(NamedTuple):
    """compression: 'gzip', …, '' where there is none. encoding: 'ASCII', 'UTF-8', 'UTF-8 with a BOM',
    'not UTF-8' or 'binary'. not_utf8: the first line, from 1, that is not UTF-8, None without one. separators:
    between fields, '' where the format has none. line_ends: 'LF', 'CRLF', 'LF and CRLF', '' where there are no
    lines.
    """

    compression: str
    encoding: str
    not_utf8: int | None
    separators: str
    line_ends: str


@dataclass(frozen=True)
class QrelsFacts:
    """Counts of qrels.

    grades: (grade, judgments) from the lowest. duplicates: judgments of documents that are judged before, with
    the same grade or another. without_relevant: queries without a relevant document. unrated: rows of CSV that
    are left out, since their rating is empty. subtopics: judgments of a document for a further subtopic.
    """

    queries: int
    judgments: int
    grades: tuple[tuple[float, int], ...]
    duplicates: int
    without_relevant: int
    unrated: int = 0
    subtopics: int = 0


@dataclass(frozen=True)
class RunFacts:
    """Counts of a run.

    per_query: the fewest, median and most documents of a query. tied: documents that share their score with
    another of their query; tied_queries: queries that have some. ranked: queries whose ranks can be compared
    with the scores, None where the run has no rank column; contradicting: where the rank rises with the score;
    disordered: where some rank does. collapsed: lines whose document has a better one, None without an option
    that collapses. judged_queries, missing: of the qrels, and those that the run lacks.
    unjudged: queries that the qrels lack. judged: the mean share of the first FIRST_RANKS documents that is
    judged, None where no query is. All of these are None without qrels. first_ids: of the queries that some of
    these fields count, the first, by the name of the field.
    """

    queries: int
    documents: int
    per_query: tuple[int, float, int]
    tied: int
    tied_queries: int
    duplicates: int
    ranked: int | None = None
    contradicting: int | None = None
    disordered: int | None = None
    tag: str = ""
    collapsed: int | None = None
    judged_queries: int | None = None
    missing: int | None = None
    unjudged: int | None = None
    judged: float | None = None
    first_ids: dict[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class FileReport:
    """The report of a file.

    role: 'qrels' or 'run', '' where it is unknown. format, why: what it is, and why it was taken for that.
    facts: None where nothing of it could be read. end: the line, from 1, at which reading stopped before the
    file's end.
    """

    path: str
    role: str
    format: str = ""
    why: str = ""
    description: Description | None = None
    facts: QrelsFacts | RunFacts | None = None
    errors: Issues = Issues()
    warnings: Issues = Issues()
    end: int | None = None

    def to_dict(self) -> dict[str, Any]:
        description = self.description
        return {
            "path": self.path,
            "role": self.role,
            "format": self.format,
            "why": self.why,
            **({} if description is None else description._asdict()),
            self.role or "facts": None if self.facts is None else asdict(self.facts),
            "errors": self.errors.to_dict(),
            "warnings": self.warnings.to_dict(),
            "stopped_at": self.end,
        }


@dataclass(frozen=True)
class Validation(Printable, Tabular):
    """The reports of all files."""

    layout = "gradeval.commands.files.report"

    files: tuple[FileReport, ...]

    @property
    def errors(self) -> int:
        return sum(file.errors.total for file in self.files)

    @property
    def warnings(self) -> int:
        return sum(file.warnings.total for file in self.files)

    @property
    def notices(self) -> list[Kind]:
        """The kinds of the warnings, as --allow names them."""
        return list(dict.fromkeys(kind for file in self.files for kind in file.warnings.notices))

    @property
    def ok(self) -> bool:
        """Whether no file has an error."""
        return not self.errors

    def __repr__(self) -> str:
        return f"Validation(files={len(self.files)}, errors={self.errors}, warnings={self.warnings})"

    def rows(self) -> list[dict[str, Any]]:
        """A dict for each error and warning that is listed: its file, line (from 1) and text."""
        return [
            {"path": file.path, "line": issue.line, "kind": kind, "what": issue.what}
            for file in self.files
            for kind, issues in (("error", file.errors), ("warning", file.warnings))
            for issue in issues.first
        ]

    def to_dict(self) -> dict[str, Any]:
        counts = {"ok": self.ok, "errors": self.errors, "warnings": self.warnings}
        return {**counts, "files": [file.to_dict() for file in self.files]}


def document(validation: Validation, how: RenderOptions) -> Document:
    def blocks() -> Iterator[Lines]:
        yield from (Lines(list(_file(file, how.colour))) for file in validation.files)
        if len(validation.files) > 1:
            counts = _count(validation.errors, validation.warnings)
            yield Lines([f"{many(len(validation.files), 'file', 'files')}: {counts}"])

    return Document(blocks=blocks, content=validation.to_dict, is_log=True)


def _count(errors: int, warnings: int) -> str:
    return f"{many(errors, 'error', 'errors')}, {many(warnings, 'warning', 'warnings')}"


def _file(file: FileReport, colour: bool) -> Iterator[str]:
    title = f"{visible(file.path)}: {file.role or 'file'}, {_count(file.errors.total, file.warnings.total)}"
    yield styled(title, BOLD, colour)
    rows = []
    if file.format:
        rows.append(("format", f"{file.format}: {file.why}" if file.why else file.format))
    if (about := file.description) is not None:
        parts = [about.compression or "not compressed", about.encoding]
        parts += [f"separated by {about.separators}"] if about.separators else []
        parts += [f"lines end in {about.line_ends}"] if about.line_ends else []
        rows.append(("data" if about.encoding == "binary" else "text", ", ".join(parts)))
    if file.facts is not None:
        rows += _qrels(file.facts) if isinstance(file.facts, QrelsFacts) else _run(file.facts)
    width = max((len(name) for name, _ in rows), default=0)
    for name, text in rows:
        yield f"  {styled(name.ljust(width), DIM, colour)}  {text}".rstrip()
    for severity, issues in (("error", file.errors), ("warning", file.warnings)):
        for issue in issues.first:
            place = file.path if issue.line is None else f"{file.path}:{issue.line}"
            hint = f". {printable(issue.hint)}" if issue.hint else ""
            yield printable(f"{place}: {severity}: {issue.what}") + hint
        if unlisted := issues.total - len(issues.first):
            count = many(unlisted, f"more {severity}", f"more {severity}s")
            yield f"{printable(file.path)}: {count}; --max-errors sets the limit"
        if issues.total > 1:
            yield f"  {styled(f'{severity}s by kind', DIM, colour)}"
            width = len(f"{max(issues.kinds.values()):,}")
            for kind, number in issues.kinds.items():
                yield f"  {number:>{width},}  {printable(kind)}"
    if file.end is not None:
        yield f"  reading stopped at line {file.end}"


def _qrels(facts: QrelsFacts) -> Iterator[tuple[str, str]]:
    without = f", {facts.without_relevant:,} without a relevant document" if facts.without_relevant else ""
    yield "queries", f"{facts.queries:,}{without}"
    duplicates = f", {many(facts.duplicates, 'duplicate', 'duplicates')}" if facts.duplicates else ""
    unrated = f", {many(facts.unrated, 'row', 'rows')} without a rating left out" if facts.unrated else ""
    subtopics = f", {facts.subtopics:,} of further subtopics of a document" if facts.subtopics else ""
    yield "judgments", f"{facts.judgments:,}{duplicates}{subtopics}{unrated}"
    grades, name = facts.grades, "grades"
    if len(grades) > _MOST_GRADES:
        yield name, f"{len(grades):,} from {grades[0][0]:g} to {grades[-1][0]:g}; the most frequent:"
        grades = tuple(sorted(sorted(grades, key=lambda row: row[1], reverse=True)[:_MOST_GRADES]))
        name = ""
    most = max(count for _, count in grades)
    width = max(len(f"{grade:g}") for grade, _ in grades)
    for grade, count in grades:
        bar = "█" * round(_BAR * count / most) or "▏"
        yield name, f"{grade:>{width}g}  {count:>{len(f'{most:,}')},}  {bar}"
        name = ""


def _run(facts: RunFacts) -> Iterator[tuple[str, str]]:
    ids = {name: f": {first_names(map(named, first), SHOWN_IDS)}" for name, first in facts.first_ids.items()}
    low, middle, high = facts.per_query
    yield "queries", f"{facts.queries:,}"
    per_query = f"{low:,} to {high:,} per query, median {middle:,g}" if low < high else f"{low:,} per query"
    duplicates = f", {many(facts.duplicates, 'duplicate', 'duplicates')}" if facts.duplicates else ""
    yield "documents", f"{facts.documents:,}, {per_query}{duplicates}"
    tied = "no tied scores"
    if facts.tied:
        queries = many(facts.tied_queries, "query", "queries") + ids.get("tied_queries", "")
        tied = f"{many(facts.tied, 'document has a tied score', 'documents have tied scores')}, in {queries}"
    yield "ties", tied
    if facts.collapsed is not None:
        left = many(facts.documents - facts.collapsed, "document", "documents")
        yield "collapsed", f"{many(facts.collapsed, 'line', 'lines')}, which leaves {left}"
    if facts.ranked:
        ranks = "in the order of the scores"
        if facts.disordered:
            queries = many(facts.ranked, "query", "queries")
            ranks = f"not in the order of the scores in {facts.disordered:,} of {queries}"
        against = f", the reverse in {facts.contradicting:,}" if facts.contradicting else ""
        yield "ranks", ranks + against + ids.get("disordered", "")
    if facts.judged_queries is not None:
        judged = facts.judged_queries
        coverage = f"{judged - (facts.missing or 0):,} of {many(judged, 'judged query', 'judged queries')}"
        if facts.unjudged:
            unjudged = many(facts.unjudged, "unjudged query", "unjudged queries")
            coverage += f", {unjudged}{ids.get('unjudged', '')}"
        yield "coverage", coverage
    if facts.judged is not None:
        yield f"judged@{FIRST_RANKS}", f"{100 * facts.judged:.1f} %"
    if facts.tag:
        yield "tag", visible(facts.tag)

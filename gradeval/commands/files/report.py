"""The result of a validation: a report of each file, what it is and holds, and what is wrong with it."""

from __future__ import annotations

from collections import Counter
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


class Issues:
    """Errors or warnings of a file: the first `limit` by line (from 1), and how many there are of each kind.

    notices: the kinds of warnings, as --allow names them.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.notices: dict[Kind, None] = {}
        self._first: list[Problem] = []
        self._kinds: Counter[str] = Counter()

    def add(self, problem: Problem, first_line: int = 0, notice: Kind | None = None) -> None:
        """The line of the problem is 0-based, from first_line on."""
        self.notices |= {} if notice is None else {notice: None}
        line = None if problem.line is None else first_line + problem.line + 1
        self._kinds[problem.kind] += 1
        self._first.append(problem.replace(line=line))
        if len(self._first) > 2 * self.limit + 100:
            self._first = list(self.first)

    @property
    def first(self) -> tuple[Problem, ...]:
        return tuple(sorted(self._first, key=lambda problem: problem.line or 0)[: self.limit])

    @property
    def total(self) -> int:
        return self._kinds.total()

    @property
    def kinds(self) -> dict[str, int]:
        """The most frequent first."""
        return dict(self._kinds.most_common())

    def to_dict(self) -> dict[str, Any]:
        return {"total": self.total, "kinds": self.kinds, "first": [fields_of(issue) for issue in self.first]}


class Description(NamedTuple):
    compression: str  # 'gzip', …, '' where there is none
    encoding: str  # 'ASCII', 'UTF-8', 'UTF-8 with a BOM', 'not UTF-8' or 'binary'
    not_utf8: int | None = None  # the first line, from 1, that is not UTF-8
    separators: str = ""  # between fields, '' where the format has none
    line_ends: str = ""  # 'LF', 'CRLF', 'LF and CRLF', '' where there are no lines


@dataclass(frozen=True)
class QrelsFacts:
    """Counts of qrels."""

    queries: int
    judgments: int
    grades: tuple[tuple[float, int], ...]  # (grade, judgments) from the lowest
    duplicates: int  # judgments of documents that are judged before, with the same grade or another
    without_relevant: int  # queries without a relevant document
    unrated: int = 0  # rows of CSV that are left out, since their rating is empty
    subtopics: int = 0  # judgments of a document for a further subtopic


@dataclass(frozen=True)
class RunFacts:
    """Counts of a run; None where there is nothing to count: ranks, collapsed lines, judgments."""

    queries: int
    documents: int
    per_query: tuple[int, float, int]  # the fewest, median and most documents of a query
    tied: int  # documents that share their score with another of their query
    tied_queries: int  # queries that have some
    duplicates: int
    ranked: int | None = None  # queries whose ranks can be compared with the scores
    contradicting: int | None = None  # those where the rank rises with the score
    disordered: int | None = None  # those where some rank does
    tag: str = ""
    collapsed: int | None = None  # lines whose document has a better one
    judged_queries: int | None = None  # of the qrels
    missing: int | None = None  # those that the run lacks
    unjudged: int | None = None  # queries that the qrels lack
    judged: float | None = None  # the mean share of the first FIRST_RANKS documents that is judged
    # of the queries that some of these fields count, the first, by the name of the field
    first_ids: dict[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass
class FileReport:
    """The report of a file. facts: None where nothing of it could be read."""

    path: str
    errors: Issues
    warnings: Issues
    role: str = ""  # 'qrels' or 'run', '' where it is unknown
    format: str = ""
    why: str = ""  # it was taken for that
    description: Description | None = None
    facts: QrelsFacts | RunFacts | None = None
    end: int | None = None  # the line, from 1, at which reading stopped before the file's end

    def warn(self, kind: Kind, what: str, hint: str = "", line: int | None = None) -> None:
        self.warnings.add(Problem(line, what, hint), notice=kind)

    def to_dict(self) -> dict[str, Any]:
        return {
            "path": self.path,
            "role": self.role,
            "format": self.format,
            "why": self.why,
            **({} if self.description is None else self.description._asdict()),
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
        text = f"{about.compression or 'not compressed'}, {about.encoding}"
        text += f", separated by {about.separators}" if about.separators else ""
        text += f", lines end in {about.line_ends}" if about.line_ends else ""
        rows.append(("data" if about.encoding == "binary" else "text", text))
    if file.facts is not None:
        rows += _of_qrels(file.facts) if isinstance(file.facts, QrelsFacts) else _of_run(file.facts)
    width = max((len(name) for name, _ in rows), default=0)
    for name, text in rows:
        yield f"  {styled(name.ljust(width), DIM, colour)}  {text}".rstrip()
    for severity, issues in (("error", file.errors), ("warning", file.warnings)):
        for issue in issues.first:
            place = file.path if issue.line is None else f"{file.path}:{issue.line}"
            hint = f". {issue.hint}" if issue.hint else ""
            yield printable(f"{place}: {severity}: {issue.what}{hint}")
        if unlisted := issues.total - len(issues.first):
            count = many(unlisted, f"more {severity}", f"more {severity}s")
            yield f"{printable(file.path)}: {count}; --max-errors sets the limit"
        if issues.total > 1:
            yield f"  {styled(f'{severity}s by kind', DIM, colour)}"
            width = len(f"{max(issues.kinds.values()):,}")
            yield from (f"  {number:>{width},}  {printable(kind)}" for kind, number in issues.kinds.items())
    if file.end is not None:
        yield f"  reading stopped at line {file.end}"


def _listed(*parts: str) -> str:
    return ", ".join(filter(None, parts))


def _of_qrels(facts: QrelsFacts) -> Iterator[tuple[str, str]]:
    without = f"{facts.without_relevant:,} without a relevant document" if facts.without_relevant else ""
    yield "queries", _listed(f"{facts.queries:,}", without)
    duplicates = many(facts.duplicates, "duplicate", "duplicates") if facts.duplicates else ""
    subtopics = f"{facts.subtopics:,} of further subtopics of a document" if facts.subtopics else ""
    unrated = f"{many(facts.unrated, 'row', 'rows')} without a rating left out" if facts.unrated else ""
    yield "judgments", _listed(f"{facts.judgments:,}", duplicates, subtopics, unrated)
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


def _of_run(facts: RunFacts) -> Iterator[tuple[str, str]]:
    ids = {name: f": {first_names(map(named, first), SHOWN_IDS)}" for name, first in facts.first_ids.items()}
    yield "queries", f"{facts.queries:,}"
    low, middle, high = facts.per_query
    per_query = f"{low:,} to {high:,} per query, median {middle:,g}" if low < high else f"{low:,} per query"
    duplicates = many(facts.duplicates, "duplicate", "duplicates") if facts.duplicates else ""
    yield "documents", _listed(f"{facts.documents:,}", per_query, duplicates)
    tied = "no tied scores"
    if facts.tied:
        tied = many(facts.tied, "document has a tied score", "documents have tied scores")
        tied += f", in {many(facts.tied_queries, 'query', 'queries')}{ids.get('tied_queries', '')}"
    yield "ties", tied
    if facts.collapsed is not None:
        left = many(facts.documents - facts.collapsed, "document", "documents")
        yield "collapsed", f"{many(facts.collapsed, 'line', 'lines')}, which leaves {left}"
    if facts.ranked:
        ranks = "in the order of the scores"
        if facts.disordered:
            ranks = f"not {ranks} in {facts.disordered:,} of {many(facts.ranked, 'query', 'queries')}"
        against = f"the reverse in {facts.contradicting:,}" if facts.contradicting else ""
        yield "ranks", _listed(ranks, against) + ids.get("disordered", "")
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

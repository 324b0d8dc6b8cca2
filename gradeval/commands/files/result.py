"""The result of a validation: what files are and hold, and what is wrong with them."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from gradeval.formats.diagnostics import Problem
from gradeval.render.document import Printable


@dataclass(frozen=True)
class Issues:
    """Errors or warnings of a file: the first by line (from 1), how many there are, and how many of a kind."""

    first: tuple[Problem, ...] = ()
    total: int = 0
    kinds: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, problem: Problem) -> Issues:
        """A single one, whose line counts from 1."""
        return cls((problem,), 1, {problem.kind: 1})

    def to_dict(self) -> dict[str, Any]:
        """The issues as JSON has them."""
        return {
            "total": self.total,
            "kinds": self.kinds,
            "first": [issue._asdict() for issue in self.first],
        }


NO_ISSUES = Issues()


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
    disordered: where some rank does. judged_queries, missing: of the qrels, and those that the run lacks.
    unjudged: queries that the qrels lack. judged: the mean share of the first FIRST_RANKS documents that is
    judged, None where no query is. All of these are None without qrels.
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
    judged_queries: int | None = None
    missing: int | None = None
    unjudged: int | None = None
    judged: float | None = None


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
    errors: Issues = NO_ISSUES
    warnings: Issues = NO_ISSUES
    end: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """The report as in JSON."""
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
class Validation(Printable):
    """The reports of all files."""

    layout = "gradeval.commands.files.layout"

    files: tuple[FileReport, ...]

    @property
    def errors(self) -> int:
        return sum(file.errors.total for file in self.files)

    @property
    def warnings(self) -> int:
        return sum(file.warnings.total for file in self.files)

    @property
    def ok(self) -> bool:
        """Whether no file has an error."""
        return not self.errors

    def to_dict(self) -> dict[str, Any]:
        counts = {"ok": self.ok, "errors": self.errors, "warnings": self.warnings}
        return {**counts, "files": [file.to_dict() for file in self.files]}

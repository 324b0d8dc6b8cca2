"""The result of a validation: what files are and hold, and what is wrong with them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from gradeval.commands.files.describe import Description
from gradeval.commands.files.issues import NO_ISSUES, Issues
from gradeval.render.document import Printable


@dataclass(frozen=True)
class QrelsFacts:
    """What qrels hold.

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
    """What a run holds.

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
    """What is known of a file.

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

"""What is kept of a run, collected query by query."""

from __future__ import annotations

from typing import NamedTuple, Protocol, TypeVar

import numpy as np

from gradeval.arrays import Floats, Ints
from gradeval.formats.columns import ExtraFields, RankCheck
from gradeval.formats.diagnostics import SHOWN, LineProblems, Problem, Problems, shown
from gradeval.tables.qrels import Qrels
from gradeval.tables.ranking import NO_IDENTICAL_IDS, NO_TIES, Found, IdenticalIds, Lines, Ties, find


class Reduced(NamedTuple):
    """What is kept of a run.

    rank, score: of each judgment, (N,), inf and -inf where the run did not retrieve the document.
    retrieved: how many documents each judged query retrieved, (Q,). unjudged: how many queries of the run the
    qrels lack. ties: the judged documents that share their score. tag: the run tag of its last line. ranks:
    its rank column against its scores. extra: its lines with more fields than a run has. identical: the judged
    queries that retrieved a document with their own id.
    """

    rank: Floats
    score: Floats
    retrieved: Ints
    unjudged: int
    ties: Ties
    tag: str = ""
    ranks: RankCheck = RankCheck()
    extra: ExtraFields = ExtraFields()
    identical: IdenticalIds = NO_IDENTICAL_IDS


class Read(Protocol):
    """What a block's columns say of the run besides its rows, as in Columns."""

    @property
    def tag(self) -> bytes | None: ...

    @property
    def ranks(self) -> RankCheck: ...

    @property
    def extra(self) -> ExtraFields: ...


class Total:
    """Collects what is found, query by query. ties: the order of tied scores, as in ranking.find()."""

    detects_repeated_run = True  # and reports it as one problem, without its lines

    def __init__(self, qrels: Qrels, ties: str) -> None:
        self.qrels, self.ties_rule = qrels, ties
        self.retrieved = np.zeros(len(qrels.queries), np.int64)
        self.unjudged = 0
        self.ties: list[Ties] = []
        self.identical = [NO_IDENTICAL_IDS]
        self.rank = np.full(len(qrels.grade), np.inf)
        self.score = np.full(len(qrels.grade), -np.inf)
        self.tag = b""
        self.ranks = RankCheck()
        self.extra = ExtraFields()
        self.documents = 0
        self.repeats = LineProblems()  # duplicate documents
        self.last_new = -1  # the last line that is not a duplicate

    def find(self, lines: Lines) -> Found:
        """What is in the lines of whole queries; several threads call it."""
        return find(lines, self.qrels, self.ties_rule)

    def add(self, found: Found, first_line: int) -> None:
        """first_line: the number of lines before those of found."""
        judged = found.query < len(self.retrieved)
        self.retrieved[found.query[judged]] = found.retrieved[judged]
        self.unjudged += len(judged) - int(np.count_nonzero(judged))
        self.ties.append(found.ties)
        self.identical.append(found.identical)
        self.rank[found.row] = found.rank
        self.score[found.row] = found.score
        self.documents += int(found.retrieved.sum())
        total, *columns, last_new = found.repeats
        if last_new >= 0:
            self.last_new = max(self.last_new, first_line + last_new)
        if total:
            first = tuple(
                Problem(
                    first_line + line,
                    f"duplicate document {shown(document)} for its query",
                    f"The first is in line {first_line + first + 1}",
                )
                for line, first, document in zip(*columns, strict=True)
            )
            self.repeats = LineProblems.joined([self.repeats, LineProblems(first, total)])

    def note(self, read: Read, first_line: int) -> None:
        """Keep a block's run tag, its check of the rank column, which the first has, and its extra fields.

        first_line: the number of lines before the block.
        """
        self.tag = self.tag if read.tag is None else read.tag
        self.ranks = max(self.ranks, read.ranks, key=lambda check: check.compared)
        self.extra = self.extra.joined(read.extra, first_line)

    def report(self, problems: Problems) -> None:
        """Add the duplicate documents: each is a problem, or all are one problem where nothing else follows."""
        again, new = self.repeats.total, self.documents - self.repeats.total
        if (
            again
            and self.last_new < (line := self.repeats.first[0].line or 0)
            and again >= min(max(new, 2), SHOWN + 1)
        ):
            problems.add(repeated_run(line, again, new))
        else:
            problems.add(self.repeats)

    def reduced(self) -> Reduced:
        tag = self.tag.decode("utf-8", "surrogateescape")
        ties = Ties(*map(np.concatenate, zip(*self.ties, strict=True))) if self.ties else NO_TIES
        identical = IdenticalIds(*map(np.concatenate, zip(*self.identical, strict=True)))
        return Reduced(
            self.rank, self.score, self.retrieved, self.unjudged, ties, tag, self.ranks, self.extra, identical
        )


AnyTotal = TypeVar("AnyTotal", bound=Total)


def repeated_run(line: int, again: int, new: int) -> LineProblems:
    """The problem of a file that holds its run twice, the second copy from this line on.

    again, new: how many documents are duplicates, and how many precede them.
    """
    which, documents = "a part of the run", f"{again:,} documents"
    if again >= new:
        which, documents = "the run", f"the {new:,} documents above" if new > 1 else "the document above"
    what = f"the file seems to hold {which} twice: from here on, {documents} are repeated"
    return LineProblems((Problem(line, what, "Keep the lines above this one"),), 1)

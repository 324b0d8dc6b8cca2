"""What a validation counts of a run while it is read: documents, ties, duplicates, ranks against scores."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from gradeval.arrays import Bools, Ints
from gradeval.arrays.hashing import KeyTable, in_group
from gradeval.arrays.segments import Segments, distinct
from gradeval.arrays.strings import repeats
from gradeval.commands.files.issues import Collected
from gradeval.commands.files.result import RunFacts
from gradeval.formats.diagnostics import Problem, Problems, shown
from gradeval.tables.qrels import Qrels
from gradeval.tables.ranking import Found, Lines
from gradeval.tables.reduction import Total


class _Duplicates(NamedTuple):
    """Documents that come again: the line of each, that of the first, and their ids."""

    line: Ints
    first: Ints
    documents: list[bytes]


class _Survey(NamedTuple):
    """What is counted of whole queries. counts: the documents of each, (S,). against: the first line in which
    the rank rises with the score, of each query where it does so on balance.
    """

    counts: Ints
    tied: int
    tied_queries: int
    duplicates: _Duplicates | None
    ranked: int
    disordered: int
    against: Ints


class Surveyed(Total):
    """A run's facts, with what eval would keep of it."""

    detects_repeated_run = False  # each duplicate is reported

    def __init__(self, qrels: Qrels, limit: int) -> None:
        super().__init__(qrels, "trec")
        self.counts: list[Ints] = []
        self.tied = self.tied_queries = self.ranked = self.disordered = self.contradicting = 0
        self.has_ranks = False
        self.duplicates, self.against = Collected(limit), Collected(limit)

    def find(self, lines: Lines) -> Found:
        self.has_ranks |= lines.rank is not None
        found = super().find(lines)
        return found._replace(more=_survey(lines, found))

    def add(self, found: Found, first_line: int) -> None:
        super().add(found, first_line)
        survey: _Survey = found.more
        self.counts.append(survey.counts)
        self.tied += survey.tied
        self.tied_queries += survey.tied_queries
        self.ranked += survey.ranked
        self.disordered += survey.disordered
        self.contradicting += len(survey.against)
        for line in survey.against.tolist():
            what = "the rank rises with the score here, as in most lines of this query"
            self.against.add(Problem(line, what), first_line)
        if survey.duplicates is not None:
            again, first, documents = survey.duplicates
            for line, before, document in zip(again.tolist(), first.tolist(), documents, strict=True):
                what = f"duplicate document {shown(document)} for its query"
                hint = f"The first is in line {first_line + before + 1}"
                self.duplicates.add(Problem(line, what, hint), first_line)

    def report(self, problems: Problems) -> None:
        """Nothing: all duplicates are listed."""

    def facts(self, has_qrels: bool, share: float | None) -> RunFacts:
        """share: of the first documents that is judged, None without qrels or a query that they have."""
        counts = np.concatenate([np.empty(0, np.int64), *self.counts])
        tag = self.tag.decode("utf-8", "surrogateescape")
        duplicates = self.duplicates.kinds.total()
        low, high = (int(counts.min()), int(counts.max())) if len(counts) else (0, 0)
        middle = float(np.median(counts)) if len(counts) else 0.0
        facts = RunFacts(
            len(counts),
            int(counts.sum()),
            (low, middle, high),
            self.tied,
            self.tied_queries,
            duplicates,
            tag=tag,
        )
        if self.has_ranks:
            facts = replace(
                facts, ranked=self.ranked, contradicting=self.contradicting, disordered=self.disordered
            )
        if not has_qrels:
            return facts
        judged, missing = len(self.retrieved), int(np.count_nonzero(self.retrieved == 0))
        return replace(facts, judged_queries=judged, missing=missing, unjudged=self.unjudged, judged=share)


def _survey(lines: Lines, found: Found) -> _Survey:
    segments = Segments(lines.bounds)
    ties = segments.ties(segments.sorted_descending(lines.score))
    groups = np.flatnonzero(ties.lengths > 1)
    tied = int(ties.lengths[groups].sum())
    tied_queries = len(distinct(segments.query[ties.offsets[groups]]))
    duplicates = None
    if found.repeats.total:
        again, first = repeats(
            KeyTable(in_group(lines.documents.keys(), segments.query)), lines.documents, segments.query
        )
        documents = lines.documents.take(again).tolist()
        duplicates = _Duplicates(lines.line[again], lines.line[first], documents)
    ranked, disordered, against = _against(lines)
    return _Survey(np.diff(lines.bounds), tied, tied_queries, duplicates, ranked, disordered, against)


def _against(lines: Lines) -> tuple[int, int, Ints]:
    """How many queries have ranks that can be compared with the scores; in how many a rank rises with the
    score; and the first line of those where it does so on balance.
    """
    none = np.empty(0, np.int64)
    if lines.rank is None or not len(lines.score):
        return 0, 0, none
    rises = np.sign(np.diff(lines.rank)) * np.sign(np.diff(lines.score))
    rises = np.append(0.0, np.nan_to_num(rises))  # of each line and the one before
    rises[lines.bounds[:-1]] = 0
    balance = np.add.reduceat(rises, lines.bounds[:-1])
    is_against: Bools = rises > 0
    disordered = np.add.reduceat(is_against, lines.bounds[:-1], dtype=np.int64) > 0
    queries = np.flatnonzero(balance > 0)
    rows = np.flatnonzero(is_against)
    first = rows[np.searchsorted(rows, lines.bounds[queries])]
    ranked = int(np.count_nonzero(np.add.reduceat(rises != 0, lines.bounds[:-1], dtype=np.int64)))
    return ranked, int(np.count_nonzero(disordered)), lines.line[first]

"""What a user should know about a result: notices as data, each with its sentence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from enum import Enum
from itertools import groupby
from typing import Any

MOST_QUERIES = 20  # ids that a notice lists; its count is of all


class Kind(str, Enum):
    """What a notice is about. The values are the names that JSON has."""

    DUPLICATES = "duplicates"  # duplicate judgments with the same grade
    MISSING = "missing"  # judged queries that the run lacks
    UNJUDGED = "unjudged"  # queries of the run that are not judged
    NOTHING_JUDGED = "nothing_judged"  # no document of the run is judged
    TIES = "ties"  # tied scores whose order changes a value
    UNDEFINED = "undefined"  # queries for which a metric is undefined


@dataclass(frozen=True)
class Notice:
    """One thing that a user should know about a result.

    kind: what it is about. subject: the run, or for DUPLICATES the qrels. metric: the canonical name of the
    metric it is about, '' where it is about all. count: how many queries (or documents) it is about.
    queries: the ids of the first of these queries, MOST_QUERIES at most. low, high: for TIES the ends of the
    range that the summary value has over the orders tried, None where it is no number. at_most: whether no
    other order goes beyond them. rule: the option that decided what was done about it: --queries for MISSING,
    --ties for TIES. value: the summary value that was printed, for TIES.
    """

    kind: Kind
    subject: str
    count: int
    metric: str = ""
    queries: Sequence[str] = ()
    rule: str = ""
    value: float | None = None
    low: float | None = None
    high: float | None = None
    at_most: bool = False

    def __str__(self) -> str:
        return f"{self.subject}: {_SENTENCES[self.kind](self)}"

    @property
    def change(self) -> float:
        """How far from the printed value another order of tied scores can take it, as far as that was tried."""
        if self.value is None or self.low is None or self.high is None:
            return 0.0
        return max(self.high - self.value, self.value - self.low)

    def to_dict(self) -> dict[str, Any]:
        """The notice as JSON has it, with its sentence; what it does not have is left out."""
        fields = {name: value for name, value in asdict(self).items() if value not in ("", None, ())}
        if self.kind is not Kind.TIES:
            fields.pop("at_most")
        if self.queries:
            fields["queries"] = list(self.queries)
        return {**fields, "kind": self.kind.value, "text": str(self)}


def lines(notices: Iterable[Notice]) -> Iterator[str]:
    """The sentences of the notices; those of the ties of a run are one, about the metric that changes most."""
    for (kind, _), group in groupby(notices, key=lambda notice: (notice.kind, notice.subject)):
        several = list(group)
        if kind is not Kind.TIES or len(several) == 1:
            yield from map(str, several)
            continue
        most = max(several, key=lambda notice: notice.change)
        others = many(len(several) - 1, "other metric", "other metrics")
        yield f"{most}, and {others} by less"


def many(count: int, one: str, more: str) -> str:
    """'1 query is', '2,000 queries are'."""
    return f"{count:,} {one if count == 1 else more}"


def _duplicates(notice: Notice) -> str:
    return f"{many(notice.count, 'judgment is a duplicate', 'judgments are duplicates')} with the same grade"


def _missing(notice: Notice) -> str:
    fate = "excluded" if notice.rule == "both" else "counted as 0"
    return f"{many(notice.count, 'judged query is', 'judged queries are')} not in the run, {fate}"


def _unjudged(notice: Notice) -> str:
    return f"{many(notice.count, 'query', 'queries')} of the run not judged, ignored"


def _nothing_judged(notice: Notice) -> str:
    return "no document of the run is judged; check the document ids"


def _ties(notice: Notice) -> str:
    where = many(notice.count, "query", "queries")
    if notice.low is None or notice.high is None:
        return f"ties could change {notice.metric} in {where}; they are ordered by --ties {notice.rule}"
    by = "up to" if notice.at_most else "at least"
    digits = 4 if notice.change >= 0.00005 else 8
    change, low, high = (f"{number:.{digits}f}" for number in (notice.change, notice.low, notice.high))
    return f"ties in {where} could change {notice.metric} by {by} {change} ({low} to {high})"


def _undefined(notice: Notice) -> str:
    return f"{notice.metric} is undefined for {many(notice.count, 'query', 'queries')}, excluded from its mean"


_SENTENCES = {
    Kind.DUPLICATES: _duplicates,
    Kind.MISSING: _missing,
    Kind.UNJUDGED: _unjudged,
    Kind.NOTHING_JUDGED: _nothing_judged,
    Kind.TIES: _ties,
    Kind.UNDEFINED: _undefined,
}

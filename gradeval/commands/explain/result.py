"""How the value of a metric for one query comes about, as data."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple

from gradeval.notices import Notice
from gradeval.render.document import Tabular, WithNotices


class Document(NamedTuple):
    """A document that was retrieved or judged. rank, score: None where it was not retrieved. grade: with
    --zero-grade subtracted; None where it is not judged.
    """

    id: str
    rank: int | None
    score: float | None
    grade: float | None


class Term(NamedTuple):
    """A term of a sum: what a document adds.

    document: None for one that only the ideal ranking has. value: the term. running: the sum up to and with it.
    contribution: what it adds to the value of the metric. position: where the metric has the document, which
    is not its rank where unjudged documents are removed or ties reordered; None where that does not matter.
    gain, discount: of a discounted sum, whose term is gain / discount. scaled: what the gain is made from in
    place of the grade (grade / m, φ).
    """

    document: Document | None
    value: float
    running: float
    contribution: float
    position: int | None = None
    gain: float | None = None
    discount: float | None = None
    scaled: float | None = None


class Change(NamedTuple):
    """The value of the metric if a document were in neither the run nor the judgments, and its difference from
    the value with the document.
    """

    document: Document
    value: float
    change: float


class Loss(NamedTuple):
    """The loss of value because a document is not at its ideal rank: what it contributes to the value of the
    ideal ranking, less what it contributes to the value; negative for a document above its ideal rank.

    ideal_position: None where the document is not in the ideal ranking, or below its cutoff.
    """

    document: Document
    ideal_position: int | None
    contribution: float
    ideal_contribution: float
    loss: float


class Difference(NamedTuple):
    """The share of a document in the difference of two runs; of a metric that is no sum, see Change.

    ranks: in the run and the other run; None where it was not retrieved. contribution, other: to their values.
    difference: contribution - other.
    """

    id: str
    grade: float | None
    rank: int | None
    other_rank: int | None
    contribution: float
    other: float
    difference: float


class Level(NamedTuple):
    """A relevance threshold of µAP.

    grade: the threshold. relevant: how many judged documents reach it. average_precision: AP(rel=grade).
    weight: of this AP in the mean. marks: '+' for each document retrieved that reaches it, '-' for others.
    """

    grade: float
    relevant: int
    average_precision: float
    weight: float
    marks: str


class Phi(NamedTuple):
    """φ of nDCGφ for the grades of a query.

    points: (name, grade, φ) of the control points, none where no grade is above 0. whisker: Q3 + 1.5 (Q3 - Q1),
    or as the released code has it; None where points are given, or there are none. values: (grade, judged
    documents with it, φ, gain), the highest grade first. curve: (grade, φ) between the ends of the points.
    """

    points: tuple[tuple[str, float, float], ...]
    whisker: float | None
    values: tuple[tuple[float, int, float, float], ...]
    curve: tuple[tuple[float, float], ...]


class LevelGroup(NamedTuple):
    """The documents of one grade in rankDCG. first, last: their positions in the ideal ranking."""

    level: int
    grade: float
    first: int
    last: int
    discount: float


class Selection(NamedTuple):
    """The documents of an explanation that a reader wants to see first: of the first ranks, then those below
    that add most to the value, in order; then judged ones not retrieved, of the ideal ranking if there is one.

    hidden: how many retrieved documents are left out. hidden_contribution: what these add. missed: how many
    documents with a grade above 0 were not retrieved.
    """

    documents: tuple[Document, ...]
    hidden: int
    hidden_contribution: float
    missed: int


@dataclass(frozen=True, eq=False, repr=False)
class Explanation(WithNotices, Tabular):
    """How the value of a metric for one query of a run comes about.

    metric: its canonical name. display: the name as tables show it. documents: those retrieved, by rank; then
    the judged ones not retrieved, by descending grade. positions: where the metric has documents, if not at
    their ranks: without unjudged documents (-J), or, in rankDCG, with all judged ones. is_empty: whether no
    document is relevant to a metric that needs one, so that --no-relevant decides the value.

    Of a metric that is a sum over documents: terms, in the order in which they are added, and
    value = scale · (total - base) / normalizer. ideal: the terms of the ideal ranking, where total - base of
    these is the normalizer. by_rank: the value if the ranking were cut at rank 1, 2, …, for normalized DCGs.
    discounts: of rank 1, 2, …, for DCGs whose documents without a gain have no terms. scaled: what Term.scaled
    is, '' if nothing.

    Of another metric: terms is None, and changes has an entry for each document, in their order. untried: how
    many documents have none, since there are too many.

    levels, phi, groups: of muAP, nDCGphi and rankDCG. cutoff: of the metric. ties: the rule for tied scores.
    against: the same of the other run. titles: document -> text. query_text: the text of the query, '' where it
    is not known. notices: of the qrels and of both runs.
    """

    layout = "gradeval.commands.explain.layout"

    metric: str
    display: str
    qrels: str
    run: str
    query: str
    value: float
    documents: tuple[Document, ...]
    positions: Mapping[Document, int] | None = None
    is_empty: bool = False
    terms: tuple[Term, ...] | None = None
    total: float = math.nan
    base: float = 0.0
    scale: float = 1.0
    normalizer: float = 1.0
    ideal: tuple[Term, ...] | None = None
    by_rank: tuple[float, ...] = ()
    discounts: tuple[float, ...] = ()
    scaled: str = ""
    changes: tuple[Change, ...] = ()
    untried: int = 0
    levels: tuple[Level, ...] = ()
    phi: Phi | None = None
    groups: tuple[LevelGroup, ...] = ()
    cutoff: int | None = None
    ties: str = ""
    against: Explanation | None = None
    titles: Mapping[str, str] = field(default_factory=dict)
    query_text: str = ""
    options: Mapping[str, object] = field(default_factory=dict)
    notices: tuple[Notice, ...] = ()

    def __repr__(self) -> str:
        what = f"{self.metric} of query {self.query!r}, {self.run}: {self.value:.4f}"
        return f"Explanation({what}, notices={len(self.warnings)})"

    @property
    def runs_read(self) -> int:
        return 1 if self.against is None else 2

    def rows(self) -> list[dict[str, Any]]:
        """A dict for each document: its rank, id, score and grade, and what it adds to the value."""
        adds = self.contributions
        return [{**document._asdict(), "contribution": adds.get(document)} for document in self.documents]

    @property
    def is_sum(self) -> bool:
        return self.terms is not None

    @cached_property
    def contributions(self) -> Mapping[Document, float]:
        """The contribution of each document to the value; without a sum, minus the change without it."""
        if self.terms is None:
            return {change.document: -change.change for change in self.changes}
        return {term.document: term.contribution for term in self.terms if term.document is not None}

    def place(self, document: Document) -> int | None:
        """Where the metric has the document, from 1; None where it is not ranked."""
        return document.rank if self.positions is None else self.positions.get(document)

    @cached_property
    def retrieved(self) -> int:
        """How many of the documents were retrieved; these are the first."""
        return sum(document.rank is not None for document in self.documents)

    @cached_property
    def ranked(self) -> Sequence[Document]:
        """The documents that have a place, in order."""
        if self.positions is None:
            return self.documents[: self.retrieved]
        return sorted(filter(self.place, self.documents), key=lambda document: self.place(document) or 0)

    @property
    def first_ranks(self) -> int:
        """How many ranks are shown by default: the cutoff of the metric, up to 20, or 10."""
        return min(self.cutoff or 10, 20)

    def selected(self, ranks: int, further: int | None = None) -> Selection:
        """The documents of the first ranks; then so many further ones that add to the value, and so many that
        were not retrieved, by default as many."""
        further = ranks if further is None else further
        adds, first = self.contributions, self.ranked[:ranks]
        below = {document: self.place(document) or 0 for document in set(adds).difference(first)}
        # every document adds to rankDCG
        adding = [] if self.groups else [d for d, place in below.items() if place and abs(adds[d]) > 0]
        most = sorted(adding, key=lambda document: (-abs(adds[document]), below[document]))[:further]
        missed = [document for document in self.documents[self.retrieved :] if self.place(document) is None]
        positive = [document for document in missed if (document.grade or 0) > 0]
        best = {term.document for term in self.ideal or ()}
        if self.ideal is None:
            best = {*positive, *filter(adds.get, missed)}
        return Selection(
            (
                *first,
                *sorted(most, key=below.__getitem__),
                *[document for document in missed if document in best][:further],
            ),
            len(self.ranked) - len(first) - len(most),
            math.fsum(adds[document] for document in set(below).difference(most) if below[document]),
            len(positive),
        )

    @property
    def has_losses(self) -> bool:
        """Whether losses are defined: it is a DCG whose ideal ranking is of documents of the query."""
        parts = [part for term in self.ideal or () for part in (term.discount, term.document)]
        return self.ideal is not None and None not in parts

    @cached_property
    def losses(self) -> tuple[Loss, ...]:
        """The loss of each document, the largest first. Their sum is 1 - value. Empty if not has_losses."""
        best = {term.document: term for term in self.ideal or () if self.has_losses}
        losses = []
        for document in self.documents if self.has_losses else ():
            adds, ideal = self.contributions.get(document, 0.0), best.get(document)
            position, ideally = (ideal.position, ideal.contribution) if ideal else (None, 0.0)
            if ideal or adds:
                losses.append(Loss(document, position, adds, ideally, ideally - adds))
        return tuple(sorted(losses, key=lambda loss: -loss.loss))

    @cached_property
    def differences(self) -> tuple[Difference, ...]:
        """The contribution of each document to the difference of the runs, the largest first."""
        if self.against is None:
            return ()
        sides = (self, self.against)
        by_id = [{document.id: document for document in side.documents} for side in sides]
        differences = []
        for name, document in {**by_id[0], **by_id[1]}.items():
            ours, theirs = (documents.get(name) for documents in by_id)
            adds, other_adds = (  # None for a document that was not tried
                0.0 if of is None else side.contributions.get(of, None if side.untried else 0.0)
                for side, of in zip(sides, (ours, theirs), strict=True)
            )
            if adds is not None and other_adds is not None:
                row = (document.grade, ours and ours.rank, theirs and theirs.rank, adds, other_adds)
                differences.append(Difference(name, *row, adds - other_adds))
        return tuple(sorted(differences, key=lambda difference: -abs(difference.difference)))

    @cached_property
    def _places(self) -> list[dict[str, int]]:
        """The place of each document in the run and in the other run, from 0."""
        sides = self, self.against or self
        return [{document.id: place for place, document in enumerate(side.ranked)} for side in sides]

    def displaced_by(self, document: str) -> list[Document]:
        """The documents that took the place that a document has in the other run: those that the run has there
        or above, and the other run below or not at all. Empty for a document that is no lower than there.
        """
        ours, theirs = self._places
        place = theirs.get(document)
        if place is None or ours.get(document, math.inf) <= place:
            return []
        return [taken for taken in self.ranked[: place + 1] if theirs.get(taken.id, math.inf) > place]

    def to_dict(self) -> dict[str, Any]:
        """The object of json. Numbers are exact, undefined ones None."""
        content = self._content()
        if self.has_losses:
            content["losses"] = self.losses
        if self.against is not None:
            content["against"] = self.against._content()
            content["differences"] = [
                {**one._asdict(), "displaced_by": [taken.id for taken in self.displaced_by(one.id)]}
                for one in self.differences
            ]
        content["notices"] = [notice.to_dict() for notice in self.notices]
        values: dict[str, Any] = _plain({**content, "options": dict(self.options)})
        return values

    def _content(self) -> dict[str, Any]:
        """Everything but what is derived from the rest."""
        names = ("metric", "qrels", "run", "query", "value")
        content = {name: getattr(self, name) for name in names}
        content |= {"method": "sum" if self.is_sum else "leave-one-out", "ties": self.ties}
        content |= {"query_text": self.query_text or None}
        content["documents"] = [
            document._asdict()
            | ({} if self.positions is None else {"position": self.positions.get(document)})
            | ({"title": self.titles[document.id]} if document.id in self.titles else {})
            for document in self.documents
        ]
        if self.is_sum:
            content["sum"] = {name: getattr(self, name) for name in ("total", "base", "scale", "normalizer")}
            content["terms"] = self.terms
        else:
            content |= {"changes": self.changes, "untried": self.untried or None}
        content["ideal"] = self.ideal
        content |= {name: getattr(self, name) or None for name in ("by_rank", "levels", "groups", "phi")}
        return {name: value for name, value in content.items() if value is not None}


class Explanations(WithNotices, Tabular, list[Explanation]):
    """Explanations, which print one after the other."""

    layout = Explanation.layout

    def rows(self) -> list[dict[str, Any]]:
        """Those of each explanation, with the query and its value."""
        return [{"query": of.query, "value": of.value, **row} for of in self for row in of.rows()]

    @property
    def notices(self) -> tuple[Notice, ...]:
        return tuple(dict.fromkeys(chain(*(explanation.notices for explanation in self))))

    @property
    def runs_read(self) -> int:
        return max((explanation.runs_read for explanation in self), default=1)


def _plain(value: Any) -> Any:
    """As JSON has it: records as objects, those of a document without what they do not have and with its id,
    and None for every number that is not finite.
    """
    if isinstance(value, (str, int)):  # most are the ids of documents
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, (Term, Change, Loss)):
        fields = {name: part for name, part in value._asdict().items() if part is not None}
        value = {"document": None, **fields, **({"document": value.document.id} if value.document else {})}
    elif isinstance(value, (Level, LevelGroup, Phi)):
        value = value._asdict()
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value

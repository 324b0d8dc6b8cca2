"""The documents of a query: columns of which a document is made when it is read."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from gradeval.arrays import Floats, Ints, cached_property
from gradeval.arrays.strings import Ids, Texts


class Document(NamedTuple):
    """A document that was retrieved or judged.

    rank, score: None where it was not retrieved. grade: with --zero-grade subtracted; None where it is not
    judged.
    """

    id: str
    rank: int | None
    score: float | None
    grade: float | None


class Documents(Sequence[Document]):
    """Documents as columns. rank: inf where it was not retrieved. grade: NaN where it is not judged."""

    def __init__(self, ids: Ids, rank: Floats, score: Floats, grade: Floats) -> None:
        self.ids, self.rank, self.score, self.grade = ids, rank, score, grade

    def __len__(self) -> int:
        return len(self.rank)

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return self.take(place)
        return self.take(np.array([range(len(self))[place]])).all[0]

    def __iter__(self) -> Iterator[Document]:
        return iter(self.all)

    @property
    def retrieved(self) -> int:
        """How many were retrieved."""
        return int(np.count_nonzero(np.isfinite(self.rank)))

    @cached_property
    def missed(self) -> list[Document]:
        """Those that were not retrieved, of documents of which the retrieved ones are the first."""
        return self.take(slice(self.retrieved, None)).all

    def take(self, rows: Ints | slice) -> Documents:
        return Documents(self.ids.take(rows), self.rank[rows], self.score[rows], self.grade[rows])

    @cached_property
    def all(self) -> list[Document]:
        rows = zip(Texts(self.ids), self.rank.tolist(), self.score.tolist(), self.grade.tolist(), strict=True)
        return [
            Document(
                name,
                None if rank == np.inf else int(rank),
                None if rank == np.inf else score,
                None if grade != grade else grade,
            )
            for name, rank, score, grade in rows
        ]


def by_id(documents: Sequence[Document], wanted: Container[str]) -> dict[str, Document]:
    """Those of the wanted ids."""
    if isinstance(documents, Documents):
        rows = [row for row, name in enumerate(Texts(documents.ids)) if name in wanted]
        documents = documents.take(np.array(rows, np.int64))
    return {one.id: one for one in documents if one.id in wanted}


def grades_of(documents: Sequence[Document]) -> Floats:
    """The grades, NaN where a document is not judged."""
    if isinstance(documents, Documents):
        return documents.grade
    return np.array([one.grade for one in documents], np.float64)

"""Reduces a run whose lines are not grouped by query: they are sorted through a temporary file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from gradeval.arrays import Bytes, Ints
from gradeval.arrays.strings import PAD, Ids
from gradeval.arrays.threads import ordered_map
from gradeval.formats.columns import Blocks, Columns, ExtraFields, RankCheck
from gradeval.formats.diagnostics import LineProblems, Problems
from gradeval.tables.ranking import Lines, query_indices
from gradeval.tables.reduced import AnyTotal

_Block = TypeVar("_Block")
_KEPT = np.dtype([("query", "<i8"), ("score", "<f8"), ("line", "<i8"), ("length", "<i4"), ("id_length", "<i4")])
_RANKED = np.dtype([*_KEPT.descr, ("rank", "<f8")])
_SHARE = 8 << 20  # about how many bytes of a run are sorted in memory at a time


class _Sorted(NamedTuple):
    """The lines of a block by share: kept, the ids of the documents, and those of queries that are not judged.

    bounds: the offsets in bytes of each share's rows and its two kinds of ids, (3, shares + 1).
    """

    kept: NDArray[np.void]
    texts: tuple[Bytes, Bytes]
    bounds: Ints
    lines: int
    last: bool
    problems: LineProblems
    tag: bytes | None
    ranks: RankCheck
    extra: ExtraFields


def collect_by_sorting(
    source: Blocks[_Block],
    columns: Callable[[_Block], Columns],
    total: AnyTotal,
    problems: Problems,
    jobs: int,
    enough: int | None = None,
) -> AnyTotal:
    """What is found in a run in any order: sort the lines into shares by query, then rank each share.

    enough: the number of lines after which no more need be read, where they are known to hold errors.
    """
    import tempfile

    qrels = total.qrels
    shares = min(source.expected_size // _SHARE + 1, 2**15)

    def sort(block: _Block) -> _Sorted:
        read = columns(block)
        number = query_indices(qrels, read.queries, by_key=True)
        lengths = np.diff(read.bounds)
        query = np.repeat(number, lengths)
        share = (query % shares).astype(np.uint16)
        order = np.argsort(share, kind="stable")
        documents = read.documents.take(order)
        kept = np.empty(len(order), _KEPT if read.rank is None else _RANKED)
        if read.rank is not None:
            kept["rank"] = read.rank[order]
        kept["query"], kept["score"], kept["line"] = query[order], read.value[order], read.line[order]
        kept["length"], kept["id_length"] = documents.length, 0
        ids = Ids.of([])
        if (number >= len(qrels.queries)).any():
            ids = read.queries.take(np.repeat(np.arange(len(number)), lengths)[order])
            ids = ids.take(kept["query"] >= len(qrels.queries))
            kept["id_length"][kept["query"] >= len(qrels.queries)] = ids.length
        rows = np.append(0, np.cumsum(np.bincount(share, minlength=shares)))
        ends = (np.append(0, np.cumsum(kept[name], dtype=np.int64))[rows] for name in ("length", "id_length"))
        bounds = np.array([rows * kept.itemsize, *ends])
        texts = documents.text(), ids.text()
        noted = read.tag, read.ranks, read.extra
        return _Sorted(kept, texts, bounds, read.lines, read.last, read.problems, *noted)

    with tempfile.TemporaryFile() as file:
        places = []  # for each block: the offsets of each share's rows and ids, (3, shares + 1)
        kind = _KEPT
        for before, one in problems.until_enough(ordered_map(sort, source.blocks(), jobs)):
            total.note(one, before)
            one.kept["line"] += before
            kind = one.kept.dtype
            at = file.tell()
            for column in (one.kept, *one.texts):
                file.write(column.tobytes())
            places.append(at + one.bounds + np.append(0, np.cumsum(one.bounds[:-1, -1]))[:, None])
            if enough is not None and problems.lines >= enough:
                problems.end = None if one.last else problems.lines
                break

        def read_shares() -> Iterator[Lines]:
            def read(kind: int, share: int) -> bytes:
                parts = []
                for bounds in places:
                    first, last = bounds[kind, share : share + 2].tolist()
                    if last > first:
                        file.seek(first)
                        parts.append(file.read(last - first))
                return b"".join(parts)

            def column(text: bytes, lengths: Ints) -> Ids:
                length = lengths.astype(np.int64)
                return Ids(np.frombuffer(text + bytes(PAD), np.uint8), np.cumsum(length) - length, length)

            for share in range(shares):
                kept = np.frombuffer(read(0, share), kind)
                documents = column(read(1, share), kept["length"])
                query = kept["query"].copy()
                others = np.flatnonzero(kept["id_length"])
                if len(others):  # different queries may have one key
                    ids = column(read(2, share), kept["id_length"][others])
                    query[others] = len(qrels.queries) + ids.distinct()[1]
                rank = None if kind is _KEPT else kept["rank"]
                yield Lines.grouped(query, documents, kept["score"], kept["line"], rank)

        for result in ordered_map(total.find, read_shares(), jobs):
            total.add(result, 0)
    total.report(problems)
    problems.check()
    return total

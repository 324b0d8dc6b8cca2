"""The files the benchmark runs on, from a seed: `python workloads.py FOLDER NAME [SCALE]` writes one set.

Ids and sizes follow MS MARCO's passages and MSLR-WEB30K. The runner starts this as a process of its own, so
that its memory does not show in what is measured afterwards (see measure.py).
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Text = NDArray[np.uint8]

SEED = 2
LAST_QUERY = 1_102_400
LAST_DOCUMENT = 8_841_823
GRADES = (0.5, 0.2, 0.15, 0.1, 0.05)  # the share of each grade, 0 to 4
POOL = 4  # the documents a query has, in depths of its run: what (d) retrieves, and where judgments may lie
BLOCK = 250  # queries made at a time


def digits(values: Ints, decimals: int = 0) -> Text:
    """ASCII of numbers >= 0, given in units of 10^-decimals: (N, width), NUL where a number is shorter."""
    width = max(len(str(values.max())), decimals + 1)
    powers = 10 ** np.arange(width)[::-1]
    text = (values[:, None] // powers % 10 + ord("0")).astype(np.uint8)
    text[(values[:, None] < powers) & (powers > 10**decimals)] = 0
    return np.insert(text, width - decimals, ord("."), axis=1) if decimals else text


def lines(*fields: Text | bytes) -> bytes:
    """Lines of text from columns: bytes stand on every line, and the NULs of an array are left out."""
    count = next(len(field) for field in fields if not isinstance(field, bytes))
    columns = (np.frombuffer(field, np.uint8)[None] if isinstance(field, bytes) else field for field in fields)
    table = np.hstack([np.broadcast_to(column, (count, column.shape[1])) for column in columns])
    present: Text = table[table != 0]
    return present.tobytes()


class Block(NamedTuple):
    """Some queries of a collection."""

    queries: Ints  # (Q,)
    documents: Ints  # (Q, POOL * depth + judgments), the best first
    judged: Ints  # (Q, judgments): columns of documents
    grades: Ints  # (Q, judgments)


def collection(queries: int, depth: int, judgments: int) -> Iterator[Block]:
    """Queries in no order, each with distinct documents; most of the judged are in the first `depth`."""
    rng = np.random.default_rng(SEED)
    ids = 1 + rng.choice(LAST_QUERY, queries, replace=False)
    width = POOL * depth + judgments
    stratum = LAST_DOCUMENT // width  # one document from each stratum: distinct without a look
    for block in np.split(ids, range(BLOCK, queries, BLOCK)):
        shape = (len(block), width)
        drawn = np.arange(width) * stratum + rng.integers(0, stratum, shape)
        # The smallest of exponentials over weights are a weighted sample without replacement.
        odds = rng.exponential(size=shape) * (np.arange(width) + depth / 100)
        judged = np.argpartition(odds, judgments, axis=1)[:, :judgments]
        grades = rng.choice(len(GRADES), judged.shape, p=GRADES)
        yield Block(block, rng.permuted(drawn, axis=1), judged, grades)


def judgments_of(block: Block) -> tuple[Ints, Ints, Ints]:
    """The columns query, document and grade of a block's judgments."""
    documents = np.take_along_axis(block.documents, block.judged, axis=1)
    return np.repeat(block.queries, documents.shape[1]), documents.ravel(), block.grades.ravel()


def qrels_lines(judged: list[tuple[Ints, Ints, Ints]]) -> bytes:
    """Judgments by query id, which is not the order the runs have them in."""
    queries, documents, grades = (np.concatenate(column) for column in zip(*judged, strict=True))
    order = np.argsort(queries, kind="stable")
    return lines(digits(queries[order]), b" 0 ", digits(documents[order]), b" ", digits(grades[order]), b"\n")


def run_lines(queries: Ints, documents: Ints, tag: str, rng: np.random.Generator) -> bytes:
    """A run of (Q, depth) documents, best first; 1 % of the scores tie with the next.

    Other neighbours are at least 0.00001 apart and no score is above 64, so that a reader of 32-bit floats
    sees the same ties.
    """
    count, depth = documents.shape
    steps = rng.integers(10, 40_000_000 // depth, documents.shape)
    steps[rng.random(documents.shape) < 0.01] = 0
    scores = 4_000_000 + np.cumsum(steps, axis=1)[:, ::-1]
    ranks = np.tile(np.arange(1, depth + 1), count)
    query, document, rank = map(digits, (np.repeat(queries, depth), documents.ravel(), ranks))
    return lines(query, b" Q0 ", document, b" ", rank, b" ", digits(scores.ravel(), 6), f" {tag}\n".encode())


def write_collection(folder: Path, queries: int, depth: int, judgments: int, runs: dict[str, int]) -> None:
    """qrels.txt and runs of the depths asked for, each run's tag being its file's name."""
    rngs = {name: np.random.default_rng([SEED, depth]) for name, depth in runs.items()}
    judged = []
    with ExitStack() as stack:
        files = {name: stack.enter_context((folder / f"{name}.txt").open("wb")) for name in runs}
        for block in collection(queries, depth, judgments):
            judged.append(judgments_of(block))
            for name, file in files.items():
                file.write(run_lines(block.queries, block.documents[:, : runs[name]], name, rngs[name]))
    (folder / "qrels.txt").write_bytes(qrels_lines(judged))


COLLECTIONS: dict[str, tuple[int, int, int, dict[str, int]]] = {
    # queries, documents and judgments a query, runs and their depths
    "a": (6980, 1000, 75, {"bm25": 1000}),
    "b": (100_000, 10, 5, {"bm25": 10}),
    "c": (50, 1000, 75, {"bm25": 1000}),
    "d": (6980, 1000, 75, {"deep": 4000, "bm25": 1000}),  # and (a)'s run beside it to compare with
    "g": (6980, 1000, 75, {"bm25": 1000}),
    "h": (1000, 1000, 50, {"bm25": 1000}),
    "i": (1000, 100, 10, {"bm25": 100}),
    "j": (1000, 1000, 75, {"bm25": 1000}),
    "k": (5000, 100, 100, {"bm25": 10}),
    "l": (6980, 1000, 75, {"bm25": 1000}),
    "m": (6980, 1000, 75, {"bm25": 1000}),
}


def scaled(count: int, scale: float) -> int:
    return max(1, round(count * scale))


def letor(folder: Path, scale: float) -> None:
    """(e) 100,000 lines × 136 features, 40 to 200 documents a query.

    As in MSLR-WEB30K some features are counts, some real, some negative. Feature 1 is real and never tied:
    how documents without an id break ties is each tool's own affair.
    """
    count = scaled(100_000, scale)
    rng = np.random.default_rng(SEED)
    sizes = rng.integers(40, 201, count // 40 + 1)
    queries = np.repeat(1 + 15 * np.arange(len(sizes)), sizes)[:count]
    untied = rng.permutation(count) * (1_000_000 // count)
    kinds = rng.choice(["count", "large", "real", "negative"], 136, p=[0.4, 0.2, 0.3, 0.1])
    most = {"count": 20, "large": 100_000, "real": 10_000_000, "negative": 20_000_000}
    with (folder / "letor.txt").open("wb") as file:
        for rows in np.split(np.arange(count), range(5000, count, 5000)):
            grades = rng.choice(len(GRADES), len(rows), p=GRADES)
            fields: list[Text | bytes] = [digits(grades), b" qid:", digits(queries[rows])]
            for number, kind in enumerate(kinds, 1):
                decimals = 6 if number == 1 or kind in ("real", "negative") else 0
                values = untied[rows] if number == 1 else rng.integers(0, most[kind], len(rows))
                sign = "-" if number > 1 and kind == "negative" else ""
                fields += [f" {number}:{sign}".encode(), digits(values, decimals)]
            file.write(lines(*fields, b"\n"))


def twenty_runs(folder: Path, scale: float) -> None:
    """(f) 20 runs of (c)'s size, each further from the first's order."""
    blocks = list(collection(scaled(50, scale), 1000, 75))
    (folder / "qrels.txt").write_bytes(qrels_lines([judgments_of(block) for block in blocks]))
    for number in range(1, 21):
        rng = np.random.default_rng([SEED, number])
        with (folder / f"run{number:02}.txt").open("wb") as file:
            for queries, documents, _, _ in blocks:
                places = np.arange(documents.shape[1]) + rng.normal(0, 10 * number, documents.shape)
                order = np.argsort(places, axis=1)[:, :1000]
                reordered = np.take_along_axis(documents, order, axis=1)
                file.write(run_lines(queries, reordered, f"run{number:02}", rng))


def moved(folder: Path, scale: float) -> None:
    """(l) (a), and another run whose order is near it."""
    rng = np.random.default_rng([SEED, 1])
    with (folder / "new.txt").open("wb") as file:
        for queries, documents, _, _ in collection(scaled(6980, scale), 1000, 75):
            places = np.arange(documents.shape[1]) + rng.normal(0, 50, documents.shape)
            order = np.argsort(places, axis=1)[:, :1000]
            file.write(run_lines(queries, np.take_along_axis(documents, order, axis=1), "new", rng))


def shuffled(folder: Path, scale: float) -> None:
    """(g) (a) with its lines in no order."""
    run = folder / "bm25.txt"
    text = run.read_bytes().splitlines(keepends=True)
    order = np.random.default_rng(SEED).permutation(len(text))
    run.write_bytes(b"".join(map(text.__getitem__, order)))


SCORES: dict[str, Callable[[float], str]] = {
    "negative": lambda score: f"{score - 64:.6f}",
    "long": lambda score: f"{score / 64:.12f}",
    "mixed": lambda score: f"{score / 64 - 0.375:.12f}".rstrip("0"),
}


def scores(folder: Path, scale: float) -> None:
    """(j) The run with its scores written in other ways; their order and ties are the same."""
    rows = [line.rsplit(b" ", 2) for line in (folder / "bm25.txt").read_bytes().splitlines()]
    for name, written in SCORES.items():
        with (folder / f"{name}.txt").open("wb") as file:
            file.writelines(
                b"%s %s %s\n" % (row, written(float(score)).encode(), tag) for row, score, tag in rows
            )


def on_spark(folder: Path, scale: float) -> None:
    """(i) A small collection, and how many rows on_spark.py makes for itself."""
    (folder / "rows").write_text(str(scaled(5_000_000, scale)))


def main(path: str, name: str, scale: str = "1") -> None:
    folder = Path(path)
    folder.mkdir(parents=True, exist_ok=True)
    if name in COLLECTIONS:
        queries, *sizes = COLLECTIONS[name]
        write_collection(folder, scaled(queries, float(scale)), *sizes)  # type: ignore[arg-type]
    if more := {
        "e": letor,
        "f": twenty_runs,
        "g": shuffled,
        "i": on_spark,
        "j": scores,
        "l": moved,
        "m": moved,
    }.get(name):
        more(folder, float(scale))


if __name__ == "__main__":
    main(*sys.argv[1:])

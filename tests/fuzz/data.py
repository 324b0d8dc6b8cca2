"""Random collections, and the files that hold them: in any dress that a format allows, and compressed."""

import bz2
import gzip
import lzma
import random
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

Row = list[bytes]

STARTS = [b"\x0b#", b"\x0c", b"\x1c", b"\x85", "\u00a0".encode(), "\u202e\u2028".encode()]
SEPARATORS = b"\0 \t\r\n"
GRADES = (
    ["0", "1"],
    ["0", "0", "0", "1", "2"],
    ["-2", "-1", "0", "1", "2", "3", "4"],
    ["1"],
    ["0"],
    ["-1", "-0", "0.0", "+1", "1.0", "2e0", "3."],
    [f"{n / 10}" for n in range(51)],
    [f"{n / 100}" for n in range(-100, 500)],
    [str(n * n) for n in range(31)],
)
SCORES: tuple[Callable[[random.Random], str], ...] = (
    lambda rng: str(rng.randrange(4)),
    lambda rng: rng.choice(["1", "1.0", "1e0", "10e-1", "+1", "0.1e1", "-0", "0", "-0.0", "2"]),
    lambda rng: f"{rng.uniform(-20, 20):.4f}",
    lambda rng: repr(rng.uniform(0, 1)),
    lambda rng: repr(rng.gauss(0, 1e6)),
    lambda rng: f"{rng.uniform(1, 30):.{rng.randrange(20)}f}",
    lambda rng: f"{rng.randrange(-99, 99)}e{rng.randrange(-9, 9)}",
)


@dataclass(frozen=True)
class Collection:
    """qrels: query -> document -> grade, as texts. runs: (query, document, score, tag) of each line."""

    qrels: dict[bytes, dict[bytes, bytes]]
    runs: tuple[tuple[tuple[bytes, bytes, bytes, bytes], ...], ...]


def any_id(rng: random.Random, longest: int = 300) -> bytes:
    """An id of any bytes that an id may have, such that it opens no comment."""
    size = min(longest, rng.choice([1, 2, 3, 7, 8, 9, 15, 16, 17, 63, 64, 65, rng.randrange(1, 301)]))
    text = bytes(b if b not in SEPARATORS else 33 for b in rng.randbytes(size))
    if rng.random() < 0.1:  # what some take for spaces, a comment behind them, and what turns a line around
        text = rng.choice(STARTS) + text[4:]
    return b"!" + text[1:] if text[0] in b"#\xef" else text  # a byte order mark is no part of an id


def ids(rng: random.Random, count: int) -> list[bytes]:
    """Different ids of one kind: short, long, alike at their beginning or their end, or of any bytes."""
    kind = rng.choice(["d%d", "d%d", "%d", "%03d", "clueweb09-en0000-00-%05d", "http://a.example/%d/x", "any"])
    if kind == "any":
        return list({any_id(rng): None for _ in range(count)})
    start = rng.choice([0, 1, 95, 10**7])
    head, tail = rng.choice([(b"", b""), (b"", b""), (b"x" * rng.randrange(70), b"y" * rng.randrange(70))])
    numbers = rng.sample(range(start, start + 3 * count), count)
    return [head + (kind % n).encode() + tail for n in numbers]


def made(rng: random.Random, runs: int = 1, most: int = 14) -> Collection:
    """Ties, unjudged and unretrieved documents, queries that a run lacks and that only it has."""
    queries = [name[:300] for name in ids(rng, rng.randint(1, 6))]
    strangers = [name for name in (b"zz1", b"zz2") if name not in queries]
    grades, known = rng.choice(GRADES), {q: ids(rng, rng.randint(1, most)) for q in (*queries, *strangers)}
    qrels = {}
    for query in queries:
        judged = [d for d in known[query] if rng.random() < 0.8] or known[query][:1]
        qrels[query] = {d: rng.choice(grades).encode() for d in judged}
    made_runs = []
    for number in range(runs):
        score, seen = rng.choice(SCORES), rng.choice([0.3, 0.8, 1.0])
        lines = []
        for query in (*queries, *strangers):
            if rng.random() < (0.85 if query in qrels else 0.2):
                found = [d for d in known[query] if rng.random() < seen]
                rng.shuffle(found)
                lines += [(query, d, score(rng).encode(), b"tag%d" % number) for d in found]
        if not any(line[0] in qrels for line in lines):
            lines.append((queries[0], known[queries[0]][0], b"1", b"tag"))
        made_runs.append(tuple(ordered(rng, lines, key=lambda line: line[0])))
    return Collection(qrels, tuple(made_runs))


def ordered(rng: random.Random, lines: Sequence, key: Callable) -> list:
    """The lines as they are, those of a query together; one that comes back later; or in any order."""
    lines = list(lines)
    kind = rng.choice(["together", "together", "one comes back", "shuffled"])
    if kind == "one comes back":
        lines.append(lines.pop(rng.randrange(len(lines))))
    elif kind == "shuffled":
        rng.shuffle(lines)
    return lines


def qrels_rows(qrels: dict[bytes, dict[bytes, bytes]]) -> list[Row]:
    return [[query, b"0", d, grade] for query, of in qrels.items() for d, grade in of.items()]


def run_rows(lines: Sequence[tuple[bytes, bytes, bytes, bytes]]) -> list[Row]:
    return [[query, b"Q0", d, b"%d" % n, score, tag] for n, (query, d, score, tag) in enumerate(lines, 1)]


def letor_rows(rng: random.Random, with_query: bool) -> tuple[list[Row], list[int]]:
    """The lines of some queries, of which the first has all three features, and how many each query has."""
    has_names, grades = rng.random() < 0.5, rng.choice(GRADES)
    rows, sizes = [], []
    for query in {name.replace(b"#", b"!"): None for name in ids(rng, rng.randint(1, 4))}:
        documents = ids(rng, rng.randint(1, 8))
        sizes.append(len(documents))
        for document in documents:
            numbers = [k for k in (1, 2, 3) if rng.random() < 0.9 or not rows]
            features = [b"%d:%s" % (k, rng.choice(SCORES[:4])(rng).encode()) for k in numbers]
            names = [[b"#", document], [b"#docid", b"=", document], [b"#", b"docid=" + document, b"x"]]
            row = [rng.choice(grades).encode(), *[b"qid:" + query] * with_query, *features]
            rows.append([*row, *(rng.choice(names) if has_names else [])])
    return rows, sizes


def unlike_an_archive(text: bytes) -> bytes:
    """The text, behind an empty line where its first id begins as an archive does."""
    begins = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ\0", b"PK\3\4", b"\x28\xb5\x2f\xfd")
    return b"\n" + text if text.startswith(begins) else text


def dressed(rng: random.Random, rows: Sequence[Row]) -> bytes:
    """The rows as lines: in one plain form, or with all that may stand around fields and between lines."""
    if rng.random() < 0.4:
        return unlike_an_archive(b"".join(b" ".join(row) + b"\n" for row in rows))
    gaps = rng.choice([[b" "], [b"\t"], [b" ", b"\t", b"  ", b" \t ", b"   "]])
    ends = rng.choice([[b"\n"], [b"\r\n"], [b"\n", b"\r\n", b" \n", b"\t\r\n"]])
    between = [b"", b"#", b"# a comment", b"  # q1 0 a 1", b" \t", b"#" * rng.randrange(1, 200)]
    noise = rng.choice([0.0, 0.0, 0.3])
    text = [b"\xef\xbb\xbf"] if rng.random() < 0.2 else []
    for row in rows:
        while rng.random() < noise:
            text.append(rng.choice(between) + rng.choice(ends))
        text.append(rng.choice([b"", b" "] if noise else [b""]))
        text += [field + rng.choice(gaps) for field in row[:-1]]
        text.append(row[-1] + rng.choice(ends))
    whole = b"".join(text)
    return unlike_an_archive(whole.rstrip(b"\r\n") if rng.random() < 0.2 else whole)


def _zstd() -> Any:
    for name in ("compression.zstd", "backports.zstd"):
        try:
            return import_module(name)
        except ImportError:
            continue
    return None


ZSTD = _zstd()
PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gz": lambda data: gzip.compress(data, mtime=0),
    "bz2": bz2.compress,
    "xz": lzma.compress,
} | ({"zst": ZSTD.compress} if ZSTD else {})
ARCHIVE_ERRORS: tuple[type[Exception], ...] = (zlib.error, lzma.LZMAError, *([ZSTD.ZstdError] if ZSTD else []))


def unpacker(packer: str) -> Any:
    if packer == "zst":
        return ZSTD.ZstdDecompressor()
    return bz2.BZ2Decompressor() if packer == "bz2" else lzma.LZMADecompressor()


def compressed(rng: random.Random, data: bytes) -> bytes:
    """The data as it is, compressed, or compressed in parts one behind the other."""
    if rng.random() < 0.7:
        return data
    pack = PACKERS[rng.choice(list(PACKERS))]
    at = rng.randrange(len(data) + 1)
    return pack(data) if rng.random() < 0.6 else pack(data[:at]) + pack(data[at:])

"""Attack: usual blocks of runs with a byte changed: the quick scanner reads them as the general one, or not."""

import random

from formats.scanners import columns_of, quick_and_general

from . import data
from .attack import Wrong

UNIT = "blocks"
CHANGES = 40  # of a case
BYTES = [bytes([byte]) for byte in b"\n \t\r\0\x0b#.,-+0199:/eQx\x80\xff"]


def make(rng: random.Random) -> tuple[bytes, list[tuple[int, int, bytes]], bool]:
    gap, second = rng.choice([b" ", b" ", b"\t"]), rng.choice([b"Q0", b"0", data.any_id(rng)])
    tag = rng.choice([b"t", b"run", b"a-long-tag", data.any_id(rng, 40)])
    decimals = rng.choice([0, 1, 4, 6, 6, 6, 7, 9])
    score = f"{{:.{decimals}f}}".format
    size, largest = rng.choice([1, 6, 7, 8, 9, 16, 17, 60]), rng.choice([0.5, 9, 12, 150, 10**7])
    lines = []
    for query in data.ids(rng, rng.randint(1, 4)):
        for rank in range(rng.randint(1, 8)):
            document = b"%d" % rng.randrange(10**9) if rng.random() < 0.9 else data.any_id(rng, size)
            number = score(rng.uniform(0 if rng.random() < 0.95 else -1, largest)).encode()
            lines.append(gap.join([query, second, document[-size:], b"%d" % rank, number, tag]) + b"\n")
    text = b"".join(lines)
    changes = []
    for _ in range(CHANGES):
        at = rng.randrange(len(text))
        kind = rng.choice([(1, 1), (1, 1), (1, 1), (0, 1), (1, 0), (0, 0)])
        changes.append((at, kind[0], rng.choice(BYTES) if kind[1] else b""))
    return text, changes, rng.random() < 0.5


def check(usual: bytes, changes: list[tuple[int, int, bytes]], first: bool) -> int:
    """changes: an offset, how many bytes go there, and what comes."""
    for at, length, new in changes:
        text = usual[:at] + new + usual[at + length :]
        text += b"" if text.endswith(b"\n") else b"\n"
        quick, general = quick_and_general(text, first)
        read, expected = quick and columns_of(quick), columns_of(general)
        if read is not None and read != expected:
            raise Wrong(f"the quick scanner reads it otherwise\n{text!r}\n{read}\n{expected}")
    return len(changes)

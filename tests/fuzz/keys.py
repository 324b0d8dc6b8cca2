"""Attack: ids whose keys collide, by craft or because keys are few: nothing changes."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from gradeval.arrays import Words, strings
from gradeval.formats import trec

from . import data, slow
from .call import check_values, gradeval

UNIT = "values"

MASK = (1 << 64) - 1
FULL = MASK  # what the first word is combined with
MULTIPLIER = int(strings._MIX)
INVERSE = pow(MULTIPLIER, -1, 1 << 64)


def mixed(key: int) -> int:
    """strings.mix of one key, which no two have in common."""
    key = key * MULTIPLIER & MASK
    key ^= key >> 32
    return key * MULTIPLIER & MASK


def unmixed(key: int) -> int:
    """The key that becomes this one."""
    key = key * INVERSE & MASK
    key ^= key >> 32
    return key * INVERSE & MASK


def word_of(text: bytes) -> int:
    return int.from_bytes(text, "little")


def id_of(word: int) -> bytes | None:
    """The eight bytes of a word, where an id may have them."""
    text = word.to_bytes(8, "little")
    return None if set(text) & set(data.SEPARATORS) or text[0] in b"#\xef" else text


def with_key(rng: random.Random, key: int, size: int) -> bytes:
    """A random id of 8, 16, 24 … bytes that has this key."""
    while True:
        start = [data.any_id(rng, 8).ljust(8, b"x")[:8] for _ in range(size // 8 - 1)]
        state = FULL
        for text in start:
            state = mixed(state ^ word_of(text))
        if not start:
            state = FULL
        last = id_of(unmixed(key) ^ state)
        if last is not None:
            return b"".join([*start, last])
        if not start:  # there is but one of this size
            size = 16


def key_of(text: bytes) -> int:
    state = FULL
    for at in range(0, len(text), 8):
        state = mixed(state ^ word_of(text[at : at + 8]))
    return state


def make(rng: random.Random) -> tuple[Any, ...]:
    bits = rng.choice([64, 64, 0, 1, 2, 5])
    crafted = _crafted(rng) if bits == 64 else None
    names = crafted or _plain(rng)
    grades, score = rng.choice(data.GRADES), rng.choice(data.SCORES)
    judgments, lines = [], []
    for query, documents in names.items():
        judged = rng.random() < 0.9 or not judgments
        judgments += [
            [query, b"0", d, rng.choice(grades).encode()] for d in documents if judged and rng.random() < 0.7
        ]
        lines += [(query, d, score(rng).encode(), b"t") for d in documents if rng.random() < 0.7]
    query, documents = next(iter(names.items()))
    judgments = [row for row in judgments if row[:3:2] != [query, documents[0]]]
    judgments.append([query, b"0", documents[0], b"1"])
    lines = [line for line in lines if line[:2] != (query, documents[0])]
    lines.append((query, documents[0], b"1", b"t"))
    qrels = data.dressed(rng, data.ordered(rng, judgments, key=lambda row: row[0]))
    run = data.dressed(rng, data.run_rows(data.ordered(rng, lines, key=lambda line: line[0])))
    ties = rng.choice(["trec", "input", "best", "worst"])
    args = ["q", "r", "-q", "-m", "AP nDCG num_ret bpref", "--digits=full", f"--ties={ties}"]
    args.append(f"-j{rng.choice([1, 2])}")
    metrics = (("AP", ()), ("nDCG", ()), ("num_ret", ()), ("bpref", ()))
    return qrels, run, args, slow.Asked(metrics, ties=ties), bits, rng.choice([16, 64, strings.LONG])


def _plain(rng: random.Random) -> dict[bytes, list[bytes]]:
    """Ids of 1 to 300 bytes; many alike but for a byte."""

    def some(count: int) -> list[bytes]:
        if rng.random() < 0.5:
            return data.ids(rng, count)
        name = data.any_id(rng)
        found = {name: None}
        for _ in range(count):
            at = rng.randrange(len(name))
            found[name[:at] + bytes([rng.randrange(48, 123)]) + name[at + 1 :]] = None
            found[name[: at + 1]] = None
        return [one for one in found if one[:1] not in (b"#", b"\xef")][: 2 * count]

    return {query: some(rng.randint(1, 12)) for query in some(4)} or {b"q": [b"d"]}


def _crafted(rng: random.Random) -> dict[bytes, list[bytes]]:
    """Queries with one key for all, and documents that have one in their query, or across queries."""

    def alike(count: int) -> list[bytes]:
        key = key_of(data.any_id(rng, 8))
        sizes = [8, *rng.choices([16, 24, 64], k=count - 1)]
        return list({with_key(rng, key, size): None for size in sizes})

    queries = alike(rng.randint(1, 4)) if rng.random() < 0.5 else [b"q%d" % n for n in range(4)]
    names = {query: alike(rng.randint(2, 10)) + data.ids(rng, 3) for query in queries}
    for group, (one, other) in enumerate(pairwise(queries)):
        # (query, document) pairs that meet in one key, though neither the queries' nor the documents' do
        for document in names[one][:2]:
            key = (
                (key_of(document) + mixed(mixed(group + 1)) - mixed(mixed(group + 2))) & MASK
                if len(document) % 8 == 0
                else 0
            )
            if key:
                names[other].append(with_key(rng, key, rng.choice([8, 16])))
    return {query: list(dict.fromkeys(documents)) for query, documents in names.items()}


@contextmanager
def few_keys(bits: int, long: int) -> Iterator[None]:
    """Keys of so many bits: those of short ids too, which are otherwise as many as there are ids."""
    if bits == 64:
        yield
        return
    plain, kept = strings.mix, np.uint64((1 << bits) - 1)

    def mix(keys: Words) -> Words:
        keys = plain(keys)
        keys &= kept
        return keys

    with (
        mock.patch.object(strings, "mix", mix),
        mock.patch.object(trec, "mix", mix),
        mock.patch.object(trec, "_LONGEST", long // 8),
        mock.patch.object(strings, "hash", lambda text: hash(text) & int(kept), create=True),
        mock.patch.object(strings, "LONG", long),
        mock.patch.object(strings.Ids, "short", False),
    ):
        yield


def check(qrels: bytes, run: bytes, args: list[str], asked: slow.Asked, bits: int, long: int) -> int:
    """bits: of a key, 64 where all are left as they are. long: from where on ids are hashed one by one."""
    Path("q").write_bytes(qrels)
    Path("r").write_bytes(run)
    expected = slow.evaluate(slow.read_qrels(qrels), slow.read_run(run), asked)
    with few_keys(bits, long):
        done = gradeval(*args)
    return check_values([*args, f"# with keys of {bits} bits"], done, [expected])

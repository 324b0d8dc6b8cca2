"""Attack: files with random changes, cuts and insertions: refused with their name, or read as they stand."""

import gzip
import random
import re
from pathlib import Path
from typing import Any

from cli.command import LETOR, QRELS, RUN

from . import data, slow
from .call import blocks_of, check_values, gradeval, require

UNIT = "files"

FILES = {
    "q": QRELS.encode(),
    "r": RUN.encode(),
    "r2": RUN.replace("tag", "two").encode(),
    "l": LETOR.encode(),
    "s": b"1\n2\n0.5\n-1e-3\n",
    "v": b"2 1:3 2:1\n0 1:2\n1 1:1 2:2\n",
    "g": b"2\n1\n",
    "i": b"q1\nq2 # and no more\n",
    "z": b"q1 map 0.5 0.1\nq2 map 0.25 0\nq1 P_5 1e-1 2\n",
}
# of these the slow reader can say what must come out, where both files are read as what they are meant to be
PLAIN = ("q", "r")
CALLS = (
    PLAIN,
    ("q", "r", "r2"),
    ("l", "s"),
    ("l", "--feature", "2"),
    ("l", "--feature", "1,2"),
    ("q", "l", "--feature", "1"),
    ("l", "r"),
    ("l", "--qrels-feature", "2", "--feature", "1"),
    ("v", "--feature", "1", "--groups", "g"),
    ("q", "r", "--query-ids", "./i"),
    ("trec_eval", "-Z", "z", "q", "r"),
    ("ir_measures", "q", "r", "AP"),
)
PIECES = (
    b"\0", b"\n", b"\r", b"\t", b" ", b"  ", b"#", b":", b"qid:", b"qid:1", b"docid", b"docid = ", b"=",
    b".", b"-", b"+", b"e", b"1e", b"e5", b"nan", b"inf", b"1e999", b"1e-999", b"0x1", b"1_0", b"9" * 25,
    b"0." + b"1" * 40, b"\xff", b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\xff\xfe\0\0", b"\0\0\xfe\xff",
    b"\xed\xa0\x80", b"\xe2\x80\x83", b"\x85", b"\x0b", b"\x0c", b"\x1c", b"\x1b[2J", b"\xe2\x80\xae", b"\x7f",
    b"q1", b"q1 0 a 3\n", b"q1 Q0 a 1 7 t\n", b"2 qid:1 1:3 # a\n", b"1 1:1\n", b"1\n", b"\r\n", b"\n\n\n",
    b"99999999:1", b"123456789:1", b"-1:1", b"\x1f\x8b", b"BZh", b"\xfd7zXZ\0", b"PK\3\4", b"\x28\xb5\x2f\xfd",
)  # fmt: skip
_METRICS = ["-m", "AP nDCG muAP"]
# what is said of a file that plain fields do not show
MORE_RULES = re.compile(r"a CR inside|UTF-|archive|zip|zstd|longer than|no qid: here")


def changed(rng: random.Random, text: bytes, most: int = 5) -> bytes:
    """The bytes with a few changes: pieces put in, or in place of others, parts left out, doubled or moved."""
    for _ in range(rng.randint(1, most)):
        at, size = rng.randrange(len(text) + 1), rng.choice([0, 0, 1, 1, 2, rng.randrange(13)])
        kind = rng.random()
        if kind < 0.7:
            new = rng.choice([b"", rng.choice(PIECES), rng.choice(PIECES), rng.randbytes(rng.randrange(1, 7))])
            text = text[:at] + new + text[at + size :]
        elif kind < 0.8:
            text = text[:at]
        elif kind < 0.9:
            other = rng.randrange(len(text) + 1)
            part = text[min(at, other) : max(at, other)][:200]
            text = text[:at] + part + text[at:]
        elif text:
            at = rng.randrange(len(text))
            text = text[:at] + bytes([text[at] ^ 1 << rng.randrange(8)]) + text[at + 1 :]
    return text


def make(rng: random.Random) -> tuple[Any, ...]:
    files, call = dict(FILES), list(rng.choice([*CALLS, *[PLAIN] * 4]))
    if rng.random() < 0.5:
        collection = data.made(rng, runs=2)
        files["q"] = data.dressed(rng, data.qrels_rows(collection.qrels))
        files["r"], files["r2"] = (data.dressed(rng, data.run_rows(lines)) for lines in collection.runs)
        files["i"] = b"\n".join(collection.qrels) + b"\n"
    used = [word.removeprefix("./") for word in call if word.removeprefix("./") in files]
    damaged = rng.choice(used)
    kind = rng.random()
    if kind < 0.75:
        files[damaged] = changed(rng, files[damaged])
    elif kind < 0.85:
        files[damaged] = b"".join(rng.choices(PIECES, k=rng.randrange(40)))
    elif kind < 0.9:
        files[damaged] = rng.randbytes(rng.randrange(200))
    elif kind < 0.95:
        files[damaged] = files[rng.choice(list(FILES))]
    else:
        files[damaged] = files[damaged].decode("latin-1").encode(rng.choice(["utf-16", "utf-16-le", "utf-32"]))
    packer = rng.choice(list(data.PACKERS)) if rng.random() < 0.35 else ""
    if packer:
        text = files[damaged]
        at = rng.choice([0, rng.randrange(len(text) + 1)])
        stored = b"".join(data.PACKERS[packer](part) for part in (text[:at], text[at:]) if part or not at)
        ways = [stored, changed(rng, stored, 2), changed(rng, stored, 2), stored[: -rng.randrange(1, 13)]]
        files[damaged] = rng.choice(ways)
    given = [] if call[0] in ("trec_eval", "ir_measures") else [f"-j{rng.choice([1, 1, 2])}"]
    plain = tuple(call) == PLAIN and rng.random() < 0.85
    if plain:
        given += ["--digits", "full", "--qrels-format", "trec", "--run-format", "trec", *_METRICS]
    elif given and rng.random() < 0.3:
        given += ["--qrels-format", rng.choice(["trec", "letor"])]
    elif given and rng.random() < 0.3:
        given += ["--run-format", rng.choice(["trec", "letor", "scores"])]
    return files, [*call, "-q", *given], damaged, packer, plain, rng.choice([None, None, None, 1, 20])


def check(
    files: dict[str, bytes],
    args: list[str],
    damaged: str,
    packer: str,
    plain: bool,
    block: int | None,
) -> int:
    """damaged: the file that was changed. packer: how it is compressed, if it is. plain: whether the call is
    PLAIN in formats that are given: it is read just where the slow reader reads it, and as that does.
    """
    for name, content in files.items():
        Path(name).write_bytes(content)
    with blocks_of(block):
        done = gradeval(*args)
    several = "r2" in args or "1,2" in args  # of which those that are sound are printed
    require(several or not (done.code and done.out), "half an answer", args, done)
    # each error begins with the name of a file that was read, or with ours and says which option or file
    names = "|".join(map(re.escape, files))
    named = re.compile(
        rf"(?:\./)?(?:{names})(?::feature\d+)?:|gradeval: .*(?:--|-Z|\b(?:{names})\b)|warning: |note: "
    )
    for line in done.lines if done.code else ():
        require(bool(named.match(line)), "an error does not name its file", args, done)
    if not plain:
        return 1
    texts = dict(files)
    try:
        if packer:
            texts[damaged] = _decompressed(texts[damaged], packer)
        qrels, run = slow.read_qrels(texts["q"]), slow.read_run(texts["r"])
        expected = [slow.evaluate(qrels, run, slow.Asked((("AP", ()), ("nDCG", ()), ("muAP", ()))))]
    except slow.Refused as refused:
        require(done.code == 2, f"a file is taken that should be refused: {refused}", args, done)
        lines = [int(n) for n in re.findall(r"^[qr]:(\d+): (?!reading stopped)", done.err, re.MULTILINE)]
        wrong = not MORE_RULES.search(done.err) and refused.lines and not set(lines) <= set(refused.lines)
        require(not wrong, f"lines {lines} are refused, not {refused.lines}", args, done)
        return 1
    if done.code == 2:
        require(bool(MORE_RULES.search(done.err)), "a sound file is refused", args, done)
    else:
        check_values(args, done, expected)
    return 1


def _decompressed(stored: bytes, packer: str) -> bytes:
    """What is in an archive. What stands behind it must be one too: Python's own readers pass over the rest."""
    text = b""
    try:
        if packer == "gz":
            return gzip.decompress(stored)
        while stored:
            one = data.unpacker(packer)
            text += one.decompress(stored)
            if not one.eof:
                raise slow.Refused("an archive that ends too early")
            stored = one.unused_data.lstrip(b"\0" if packer == "xz" else b"")
    except (OSError, ValueError, EOFError, *data.ARCHIVE_ERRORS) as error:
        raise slow.Refused(f"a damaged archive: {error}") from None
    return text

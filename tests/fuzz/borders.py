"""Attack: the same files in blocks of any size: whatever stands at a block's end, nothing changes."""

import random
import re
from pathlib import Path
from typing import Any
from unittest import mock

from cli.command import Done

from gradeval.formats import sources
from gradeval.tables import reduction

from . import damage, data, slow
from .call import blocks_of, check_values, gradeval, require

UNIT = "readings"
LAST = r"binary|CR inside|UTF-|byte order|longer than"  # errors that speak for all others of their block

DETECTED = 1 << 16  # the format is detected from blocks of this size


def make(rng: random.Random) -> tuple[Any, ...]:
    files = _files(rng)
    call = rng.choice(
        [("q", "r"), ("q", "r"), ("q", "r"), ("l", "s"), ("l", "--feature", "1,2"), ("v", "--feature", "1")]
    )
    cut = rng.choice([word for word in call if word in files])
    is_large = rng.random() < 0.03
    sound = rng.random() < 0.8
    if is_large:
        # comments, such that the interesting lines stand around the end of a block of the usual size
        size = rng.choice([sources.BLOCK, DETECTED])
        mark = b"\xef\xbb\xbf" if files[cut].startswith(b"\xef\xbb\xbf") else b""
        text = files[cut].removeprefix(mark)
        before = max(size - rng.randrange(len(text) + 2) - len(mark), 10)
        comments = (b"# " + b"c" * rng.choice([10, 70, 5000]) + b"\n") * (before // 10)
        files[cut] = mark + comments[: before - 1].rpartition(b"\n")[0] + b"\n"
        files[cut] += b"#" * (before - len(files[cut]) + len(mark) - 1) + b"\n" + text
    if not sound:
        files[cut] = damage.changed(rng, files[cut], 2)
    sizes: list[int | None] = [None]
    if not is_large:
        size = max(len(files[cut]), 1)  # a file may be empty
        end = rng.choice([i + 1 for i, byte in enumerate(files[cut]) if byte == 10] or [size])
        near = [end + step for step in (-2, -1, 0, 1, 2) if end + step > size // 50]
        sizes = [size, size + 1, *near, *(rng.randint(size // 50 + 1, size + 2) for _ in range(4))]
        sizes += [rng.choice([1, 2])] * (rng.random() < 0.2 and size < 3000)
    args = [*call, "-q", "-m", "AP nDCG num_ret runid muAP", "--digits", "full", f"-j{rng.choice([1, 2, 4])}"]
    args.append(f"--ties={rng.choice(['trec', 'input', 'best'])}")
    return (files, args, sizes, rng.choice([len(files["r"]) // 2 + 1, len(files["r"]), 8 << 20]), sound)


def _files(rng: random.Random) -> dict[str, bytes]:
    collection = data.made(rng, most=rng.choice([3, 14]))
    rows = data.ordered(rng, data.qrels_rows(collection.qrels), key=lambda row: row[0])
    files = {"q": data.dressed(rng, rows), "r": data.dressed(rng, data.run_rows(collection.runs[0]))}
    named, _ = data.letor_rows(rng, with_query=True)
    files["l"] = data.dressed(rng, data.ordered(rng, named, key=lambda row: row[1]))
    files["s"] = data.dressed(rng, [[b"%d" % rng.randrange(9)] for _ in named])
    plain, sizes = data.letor_rows(rng, with_query=False)
    files["v"] = data.dressed(rng, plain)
    files["v.query"] = data.dressed(rng, [[b"%d" % size] for size in sizes])
    return files


def check(files: dict[str, bytes], args: list[str], sizes: list[int | None], share: int, sound: bool) -> int:
    """sizes: of blocks, None for that of every day. share: of a run that is sorted, see tables/reduction."""

    def read(size: int | None) -> Done:
        with mock.patch.object(reduction, "_SHARE", share), blocks_of(size):
            return gradeval(*args)

    for name, content in files.items():
        Path(name).write_bytes(content)
    whole = read(1 << 30)
    if sound and args[:2] == ["q", "r"]:
        qrels, run = slow.read_qrels(files["q"]), slow.read_run(files["r"])
        metrics = [("AP", ()), ("nDCG", ()), ("num_ret", ()), ("runid", ()), ("muAP", ())]
        if not run.tag:
            run = run._replace(tag=b"r")
        asked = slow.Asked(tuple(metrics), ties=args[-1].removeprefix("--ties="))
        check_values(args, whole, [slow.evaluate(qrels, run, asked)])
    for size in sizes:
        done = read(size)
        where = f"in blocks of {size} bytes" if size else "in the usual blocks"
        how = [*args, f"# {where}"]
        require((done.code, done.out) == (whole.code, whole.out), f"a file is not the same {where}", how, done)
        if not re.search(LAST, whole.err):
            same = _place(done) == _place(whole)
            require(same, f"the first error is not the same {where}: {_place(whole)}", how, done)
    return len(sizes)


def _place(done: Done) -> list[str]:
    """File and line of the first error; which others are shown beside it is the readers' own affair.

    The rank column is compared with the scores in the first block, whatever that holds.
    """
    lines = [line for line in done.err.splitlines() if "the rank column contradicts" not in line]
    return re.findall(r"^[^: ]+:(?:\d+:)?", "\n".join(lines), re.MULTILINE)[:1]

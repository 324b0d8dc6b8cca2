"""Attack: another process appends to the qrels or the run while they are evaluated; see `growing`."""

import hashlib
import json
import random
import re
import subprocess
import threading
import time
from pathlib import Path

from . import data
from .call import gradeval
from .growing import EVAL, values_of
from .streams import check_manners, finished, require, start, typed

UNIT = "processes"

PAGE = 4096


def make(rng: random.Random) -> tuple[dict[str, bytes], str, int, float, str]:
    """The files, that which is written, in how many pieces, and the seconds between these."""
    queries, size = rng.choice([(20, 10), (300, 50), (900, 100)])
    grades = (b"q%d 0 d%d %d\n" % (q, d, rng.randrange(3)) for q in range(queries) for d in range(10))
    pairs = [(b"q%d" % q, b"d%d" % d) for q in range(queries) for d in range(size)]
    lines = [(*pair, b"%d" % rng.randrange(99), b"t") for pair in pairs]
    if rng.random() < 0.3:
        rng.shuffle(lines)
    rows = data.run_rows(lines)
    files = {"q": b"".join(grades), "r": b"".join(b" ".join(row) + b"\n" for row in rows)}
    written, jobs, pause = (
        rng.choice(["q", "r", "r"]),
        f"-j{rng.choice([1, 2])}",
        rng.choice([0.0, 0.002, 0.02]),
    )
    return files, written, rng.randint(2, 60), pause, jobs


def check(files: dict[str, bytes], written: str, pieces: int, pause: float, jobs: str) -> int:
    for name, content in files.items():
        Path(name).write_bytes(content)
    args, whole = ["q", "r", *EVAL, jobs, "--quiet"], files[written]
    size = -(-len(whole) // pieces)
    Path(written).write_bytes(whole[:size])
    how, is_over = f"{typed(args)}  # {written} is written in {pieces} pieces", threading.Event()

    def write() -> None:
        with open(written, "ab", buffering=0) as file:
            for at in range(size, len(whole), size):
                is_over.wait(pause)
                file.write(whole[at : at + size])

    thread = threading.Thread(target=write)
    with start(args, stdin=subprocess.DEVNULL, stdout=-1, stderr=-1) as process:
        time.sleep(0.1)
        thread.start()
        code, out, err = finished(process, how)
    is_over.set()
    thread.join()
    check_manners(how, code, out, err)
    if code:  # the last line may be cut
        is_told = re.search(rf"^{written}:(\d+: | the file changed while it was read)".encode(), err)
        require(code == 2 and not out and bool(is_told), "it is not said why", how, code, out, err)
        return 1
    content = json.loads(out)
    hashes = {"q": content["qrels"]["sha256"], "r": content["runs"][0]["sha256"]}
    Path(written).write_bytes(_beginning(whole, size, hashes[written]))
    static = gradeval(*args)
    read = static._replace(out=out.decode())
    require(values_of(read) == values_of(static), "the values are not those of the hash", how, code, out, err)
    return 1


def _beginning(whole: bytes, size: int, digest: str) -> bytes:
    """That which has the hash, all of it where none has. size: of the pieces, which may be written by pages."""
    ends = sorted({*range(0, len(whole), size), *range(0, len(whole), PAGE)})
    for places in (ends, range(len(whole))):
        hashed, begin = hashlib.sha256(), 0
        for end in places:
            hashed.update(whole[begin:end])
            begin = end
            if hashed.hexdigest() == digest:
                return whole[:end]
    return whole

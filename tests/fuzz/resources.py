"""Attack: many threads in little memory: the right result, or one line that says that there is not enough."""

import random
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

from cli.command import gradeval

from . import data
from .streams import check_manners, environment, finished, require, start, typed

UNIT = "processes"

MORE = 700 << 10  # KiB: what a limit may be above the least that a small evaluation needs


def make(rng: random.Random) -> tuple[dict[str, bytes], list[str], float]:
    queries, size = rng.choice([(3, 5), (200, 20), (1500, 20)])
    grades = (b"q%d 0 document-%d %d\n" % (q, d, rng.randrange(4)) for q in range(queries) for d in range(5))
    pairs = [(b"q%d" % q, b"document-%d" % d) for q in range(queries) for d in range(size)]
    lines = [(*pair, b"%d" % rng.randrange(99), b"t") for pair in pairs]
    lines = data.ordered(rng, lines, key=lambda line: line[0])
    files = {"q": b"".join(grades), "r": data.dressed(rng, data.run_rows(lines))}
    if rng.random() < 0.5:
        files["r"] = data.PACKERS["gz"](files["r"])
    args = ["q", *["r"] * rng.choice([1, 1, 5]), "-m", "AP nDCGphi@10 rho"]
    args += ["-f", "tsv", "--digits", "full", "--quiet", f"-j{rng.choice([1, 2, 8, 64, rng.randint(1, 64)])}"]
    return files, args, rng.random() ** 2


@cache
def least() -> int:
    """The address space, in KiB, that a small evaluation in one thread takes: what is imported, nearly."""
    Path("small.q").write_bytes(b"q 0 d 1\n")
    Path("small.r").write_bytes(b"q Q0 d 1 1 t\n")
    code = (
        "import sys; from gradeval.cli import run; run(sys.argv[1:]); print(open('/proc/self/status').read())"
    )
    args = ["small.q", "small.r", "-j1", "-m", "AP nDCGphi@10 rho"]
    status = subprocess.run(
        [sys.executable, "-c", code, *args], capture_output=True, env=environment(), check=True
    )
    [peak] = re.findall(rb"VmPeak:\s*(\d+) kB", status.stdout)
    return int(peak)


def _run(args: list[str], limit: int) -> tuple[int, bytes, bytes]:
    before = f"ulimit -c 0; ulimit -v {limit};"
    with start(args, before, stdin=subprocess.DEVNULL, stdout=-1, stderr=-1) as process:
        return finished(process, typed(args, before))


def check(files: dict[str, bytes], args: list[str], above: float) -> int:
    """above: the address space, as a share of MORE above the least."""
    limit = least() + int(above * MORE)
    for name, content in files.items():
        Path(name).write_bytes(content)
    expected = gradeval(*args).out.encode()
    code, out, err = _run(args, limit)
    how = typed(args, f"ulimit -v {limit};")
    check_manners(how, code, out, err)
    if code == 0:
        require(out == expected, "the output is wrong", how, code, out, err)
    else:
        require(code == 2 and not out, "it neither ends well nor with an error", how, code, out, err)
        lines = err.strip().split(b"\n")
        is_told = len(lines) == 1 and b"memory" in lines[0]
        require(is_told, "it does not say that memory is short", how, code, out, err)
    return 1

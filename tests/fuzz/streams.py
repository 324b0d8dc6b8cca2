"""Attack: whole processes with pipes that bring and take little at a time, bad outputs, and signals."""

import os
import pty
import random
import re
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from cli.command import gradeval

from gradeval import __file__ as PACKAGE

from . import data
from .attack import Wrong

UNIT = "processes"

UNIT_OF_LIMIT = 512  # bytes, of ulimit -f

SIGNALS = (signal.SIGINT, signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
PIPES = ("pipe", "pipe", "non-blocking pipe", "non-blocking pipe")
INPUTS = (*PIPES, "file", "closed")
OUTPUTS = (*PIPES, "slow pipe", "full", "closed", "closes", "limit", "-o")
EARLY = (1, 120, -signal.SIGINT)  # Python's own ends; 120 where its traceback cannot be written
ERRORS = ("pipe", "pipe", "pipe", "closed", "full")


# A process of its own, for the attacks from outside

COMMAND = [sys.executable, "-m", "gradeval"]
HOME = str(Path(PACKAGE).parents[1])
WAIT = 30  # seconds after which a process hangs
LEFT_OVER = (".gradeval-*", "tmp/*")


def environment(**more: str) -> dict[str, str]:
    """Its temporary files are in the folder tmp of the case. It writes no compiled files, which a limit of
    the attack could cut.
    """
    Path("tmp").mkdir(exist_ok=True)
    path = os.pathsep.join(filter(None, [HOME, os.environ.get("PYTHONPATH", "")]))
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("COV_", "PYTHON"))}
    settings = {"PYTHONPATH": path, "TMPDIR": str(Path("tmp").resolve()), "PYTHONDONTWRITEBYTECODE": "1"}
    if "PYTHONPYCACHEPREFIX" in os.environ:
        settings["PYTHONPYCACHEPREFIX"] = os.environ["PYTHONPYCACHEPREFIX"]
    return kept | settings | more


def start(args: Sequence[str], before: str = "", after: str = "", **more: Any) -> subprocess.Popen[bytes]:
    """Start it from a shell, whose process it becomes. before: what the shell does first, as 'ulimit -c 0;'.
    after: what stands behind the command, as '>&-'.
    """
    script = f'{before} exec "$@" {after}'
    return subprocess.Popen(["sh", "-c", script, "sh", *COMMAND, *args], **{"env": environment()} | more)


def finished(process: subprocess.Popen[bytes], how: str) -> tuple[int, bytes, bytes]:
    """Its exit code, and what it printed."""
    try:
        out, err = process.communicate(timeout=WAIT)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        require(False, f"it hangs for {WAIT} seconds", how, 0, out, err)
    return process.returncode, out, err


def require(is_right: bool, what: str, how: str, code: int, out: bytes, err: bytes) -> None:
    """how: the command, as a shell takes it, with what stands around it in words."""
    if not is_right:
        errors = err[-3000:].decode(errors="replace")
        raise Wrong(f"{what}\n{how}\nexit code {code}\nstdout: {out[:2000]!r}\nstderr: {errors}")


def check_manners(how: str, code: int, out: bytes, err: bytes) -> None:
    """No traceback, nothing of Python's own, and no file left over."""
    noise = re.search(rb"Traceback|Exception ignored|Fatal Python|RuntimeWarning|Error in sys|core dumped", err)
    errors = re.findall(rb"^\w+(?:Error|Exception|Interrupt|Warning)\b[^'\n]*", err, re.MULTILINE) or [b""]
    require(noise is None, f"a traceback: {errors[-1].decode()}", how, code, out, err)
    left = [path.name for pattern in LEFT_OVER for path in Path().glob(pattern)]
    require(not left, f"{len(left)} files are left over", how, code, out, err)


def typed(args: Sequence[str], before: str = "", after: str = "") -> str:
    command = " ".join(filter(None, [before, shlex.join(["gradeval", *args]), after]))
    return f"({command})" if before else command


# The attack


@dataclass(frozen=True)
class Case:
    """stdin: how the run comes. chunk, pause: how much of it at a time, and seconds between. stdout, stderr:
    where they go. take: how much is taken of stdout at a time, or in all. signals: (seconds after its start,
    signal).
    """

    files: dict[str, bytes]
    args: list[str]
    stdin: str
    chunk: int
    pause: float
    stdout: str
    take: int
    stderr: str
    unbuffered: bool
    signals: list[tuple[float, int]]

    @property
    def around(self) -> tuple[str, str]:
        """What a shell is told before and after the command."""
        closed = zip(("<&-", ">&-", "2>&-"), (self.stdin, self.stdout, self.stderr), strict=True)
        before = f"ulimit -f {self.take // UNIT_OF_LIMIT};" if self.stdout == "limit" else ""
        return before, " ".join(sign for sign, way in closed if way == "closed")

    @property
    def how(self) -> str:
        more = [f"stdin: {self.stdin}, {self.chunk} bytes every {self.pause:g} s", f"stdout: {self.stdout}"]
        more += [f"stderr: {self.stderr}"]
        more += [f"{signal.Signals(number).name} after {after:.3f} s" for after, number in self.signals]
        unbuffered = "PYTHONUNBUFFERED=1 " * self.unbuffered
        return f"{unbuffered}{typed(self.args, *self.around)}  # {'; '.join(more)}"


def make(rng: random.Random) -> tuple[Case]:
    if rng.random() < 0.4:
        collection = data.made(rng)
        qrels, run = collection.qrels, collection.runs[0]
    else:
        queries = [b"q%d" % n for n in range(rng.choice([20, 1500]))]
        qrels = {query: {b"d%d" % n: b"%d" % rng.randrange(3) for n in range(3)} for query in queries}
        run = tuple(
            (q, b"d%d" % n, b"%d" % rng.randrange(9), b"t") for q in queries for n in range(rng.choice([3, 12]))
        )
        run = tuple(data.ordered(rng, run, key=lambda line: line[0]))
    files = {
        "q": data.dressed(rng, data.qrels_rows(qrels)),
        "r": data.compressed(rng, data.dressed(rng, data.run_rows(run))),
    }
    stdin = rng.choice(INPUTS)
    args = ["q", "r" if stdin in ("file", "closed") else "-", "-m", "AP nDCG num_ret", "-ftsv", "--digits=full"]
    args += ["-q"] * (rng.random() < 0.7) + [f"-j{rng.choice([1, 2, 4])}", "--quiet"]
    size = len(files["r"])
    pauses = rng.randint(0, 8)
    signals = []
    if rng.random() < 0.4:
        after = rng.uniform(0.0, 0.4)
        signals = [(after + 0.01 * n, rng.choice(SIGNALS)) for n in range(rng.choice([1, 1, 1, 2]))]
    if rng.random() < 0.04:  # long enough for a progress bar, where there is a terminal
        pauses, signals = 9, [(rng.uniform(1.2, 2.0), rng.choice(SIGNALS))]
        args = [*(word if word != "r" else "-" for word in args if word != "--quiet")]
        return (
            Case(files, args, "pipe", size // pauses + 1, 0.25, "pipe", 1 << 16, "terminal", False, signals),
        )
    stdout = rng.choice(OUTPUTS)
    args += ["-o", "out"] if stdout == "-o" else []
    chunk, pause = max(1, size // (pauses + 1)), rng.choice([0.0, 0.01, 0.05])
    stderr = "pipe" if stdout in ("full", "closed", "limit") else rng.choice(ERRORS)
    take, unbuffered = rng.choice([512, 4096, 1 << 16]), rng.random() < 0.4
    return (Case(files, args, stdin, chunk, pause, stdout, take, stderr, unbuffered, signals),)


class _Ends(NamedTuple):
    """theirs: what the process gets. ours: what we keep of a pipe."""

    theirs: int | None
    ours: int | None = None


def check(case: Case) -> int:
    for name, content in case.files.items():
        Path(name).write_bytes(content)
    args = [word for word in case.args if word not in ("-o", "out")]
    expected = gradeval(*args, stdin="r").out.encode("utf-8", "surrogateescape")
    code, out, err = _run(case, expected)
    if case.stdout == "-o":
        out = Path("out").read_bytes() if Path("out").exists() else b""
        require(out in (b"", expected), "half a file is written", case.how, code, out, err)
    _check(case, code, out, err, expected)
    return 1


def _check(case: Case, code: int, out: bytes, err: bytes, expected: bytes) -> None:
    killed = {number: (-number, 128 + number) for _, number in case.signals}
    by_signal = [code in codes for codes in killed.values()]
    if signal.SIGINT in killed and (code in EARLY or any(by_signal)):
        # whether Python was told to stop before the first statements of our own that could see to it
        frames = re.findall(rf'File "{re.escape(HOME)}/gradeval/([^"]+)", line \d+, in (\S+)'.encode(), err)
        first = {(name, b"<module>") for name in (b"__init__.py", b"__main__.py")}
        if b"KeyboardInterrupt" in err and set(frames) <= first:
            return
        if not err and code in (1, 120):  # it may have gone where nothing is kept
            return
    check_manners(case.how, code, out, err)
    require(expected.startswith(out), "the output is wrong", case.how, code, out, err)
    if case.stderr == "terminal":
        hidden, shown = err.rfind(b"\x1b[?25l"), err.rfind(b"\x1b[?25h")
        require(shown >= hidden, "the cursor stays hidden", case.how, code, out, err)
    if any(by_signal):
        return
    if case.stdout == "limit" and b"File too large" in err:  # of the output, or of what a pipe brings
        require(code == 2, "a limit of the system is not taken for an error", case.how, code, out, err)
    elif case.stdout in ("full", "closed") or (case.stdout == "limit" and len(expected) > case.take):
        require(code == 2, "an output that cannot be written is taken for written", case.how, code, out, err)
        is_told = b"cannot be written" in err or b"standard output" in err
        require(is_told, "it is not said why", case.how, code, out, err)
    elif case.stdout == "closes":
        require(code in (0, -signal.SIGPIPE), "a reader that has gone is an error", case.how, code, out, err)
    elif case.stdout == "non-blocking pipe" and code == 2:
        require(bool(err) or case.stderr != "pipe", "it fails without a word", case.how, code, out, err)
    else:
        require(code == 0, "it fails, or ends as by no signal that it was sent", case.how, code, out, err)
        require(out == expected, "the output is cut", case.how, code, out, err)


def _run(case: Case, expected: bytes) -> tuple[int, bytes, bytes]:
    stdin, stdout, stderr = _ends(case.stdin, is_input=True), _ends(case.stdout), _ends(case.stderr)
    ends = [way.theirs if way.theirs is not None else subprocess.DEVNULL for way in (stdin, stdout, stderr)]
    env = environment(**({"PYTHONUNBUFFERED": "1"} if case.unbuffered else {}))
    process = start(case.args, *case.around, env=env, stdin=ends[0], stdout=ends[1], stderr=ends[2])
    for end in (stdin, stdout, stderr):
        if end.theirs is not None:
            os.close(end.theirs)
    kept: dict[str, bytes] = {"out": b"", "err": b""}

    def take(name: str, end: int | None, size: int, pause: float, most: int) -> None:
        if end is None:
            return
        with suppress(OSError), os.fdopen(end, "rb", buffering=0) as file:  # a terminal ends with an error
            while len(kept[name]) < most and (chunk := file.read(size)):
                kept[name] += chunk
                time.sleep(pause)

    def send() -> None:
        began = time.monotonic()
        for after, number in case.signals:
            time.sleep(max(0, began + after - time.monotonic()))
            process.send_signal(number)

    most = case.take if case.stdout == "closes" else 1 << 60
    is_slow = case.stdout in ("slow pipe", "non-blocking pipe") and len(expected) < 1000 * case.take
    pause = 0.001 if is_slow else 0.0
    work: list[tuple[Callable[..., None], tuple[Any, ...]]] = [
        (_feed, (case, stdin.ours)),
        (take, ("out", stdout.ours, case.take, pause, most)),
        (take, ("err", stderr.ours, 1 << 16, 0, 1 << 60)),
        (send, ()),
    ]
    threads = [threading.Thread(target=function, args=args, daemon=True) for function, args in work]
    for thread in threads:
        thread.start()
    try:
        code = process.wait(WAIT)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        code = None
    for thread in threads:
        thread.join(5)
    require(code is not None, f"it hangs for {WAIT} seconds", case.how, 0, kept["out"], kept["err"])
    if case.stdout == "limit":
        kept["out"] = Path("limited").read_bytes()
    return code or 0, kept["out"], kept["err"]


def _ends(way: str, *, is_input: bool = False) -> _Ends:
    """Of a standard stream: a file, a terminal, or a pipe in any of its ways."""
    if way in ("file", "closed"):
        return _Ends(None)
    if way == "full":
        return _Ends(os.open("/dev/full", os.O_WRONLY))
    if way == "limit":
        return _Ends(os.open("limited", os.O_WRONLY | os.O_CREAT, 0o600))
    if way == "terminal":
        ours, theirs = pty.openpty()
        return _Ends(theirs, ours)
    reading, writing = os.pipe()
    theirs, ours = (reading, writing) if is_input else (writing, reading)
    os.set_blocking(theirs, way != "non-blocking pipe")
    return _Ends(theirs, ours)


def _feed(case: Case, end: int | None) -> None:
    if end is None:
        return
    text = case.files["r"]
    with suppress(OSError), os.fdopen(end, "wb", buffering=0) as file:
        for at in range(0, len(text), case.chunk):
            rest = memoryview(text)[at : at + case.chunk]
            while rest:
                rest = rest[file.write(rest) :]
            time.sleep(case.pause)

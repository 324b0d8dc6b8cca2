"""Whole processes: pipes, closed and full outputs, interrupts."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from plain import pipe

from gradeval import process

from .command import LETOR, QRELS, RUN, fails, gradeval

pytestmark = [
    pytest.mark.usefixtures("folder"),
    pytest.mark.skipif(os.name != "posix", reason="its shell commands are for POSIX"),
]

TSV = "run\tquery\tmetric\tvalue\n{}\tall\tAP\t0.2593\n"


def shell(command: str) -> subprocess.CompletedProcess[str]:
    text = f'set -o pipefail; gradeval() {{ "{sys.executable}" -m gradeval "$@"; }}; {command}'
    done = subprocess.run(["bash", "-c", text], capture_output=True, text=True, timeout=60, check=False)
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr
    return done


@pytest.mark.skipif(not os.path.isdir("/dev/fd"), reason="no /dev/fd here")
def test_pipes() -> None:
    with pipe(QRELS.encode()) as qrels, pipe(RUN.encode()) as run:
        assert gradeval(qrels, run, "-m", "AP").out == TSV.format(os.path.basename(run))
    with pipe(LETOR.encode()) as letor, pipe(b"1\n2\n0.5\n-1\n") as scores:
        assert gradeval(letor, scores, "-m", "AP").out.endswith("\t0.7500\n")
    with pipe(RUN.encode() + b"q1 Q0 e 1 x t\n") as run:
        assert fails("q", run) == f"{run}:9: the score 'x' is not a number"


@pytest.mark.slow
def test_who_reads_no_further() -> None:
    """More is written than a pipe holds."""
    many(20000)
    done = shell("gradeval q r -q -m AP | head -n 1")
    assert (done.returncode, done.stdout, done.stderr) == (0, "run\tquery\tmetric\tvalue\n", "")


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device of Linux")
def test_what_cannot_be_written() -> None:
    """A full disk; a limit of the size of files, where a part is written before; a closed stream."""
    many(200)
    for command, why in (
        ("gradeval q r -m AP --quiet > /dev/full", "No space left on device"),
        ("ulimit -f 1; PYTHONUNBUFFERED=1 gradeval q r -q -m AP --quiet > out", "File too large"),
        ("gradeval --help >&-", "it is closed"),
    ):
        done = shell(command)
        assert (done.returncode, done.stderr) == (2, f"gradeval: standard output cannot be written ({why})\n")
    done = shell("gradeval q - -m AP <&-")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "<stdin>: the file cannot be read (standard input is closed)\n"
    # the results do not hang on standard error, and are UTF-8 whatever the encoding of the terminal
    shown = gradeval("q", "r", "-m", "tau AUC", "-f", "md").out
    for way in ("2>/dev/full", "2>&-"):
        done = shell(f"PYTHONIOENCODING=ascii gradeval q r -m 'tau AUC' -f md {way}")
        assert (done.returncode, done.stdout) == (0, shown) and "τ" in shown


NON_BLOCKING = """
import os, sys
for descriptor in (1, 2): os.set_blocking(descriptor, False)
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""


@pytest.mark.slow
def test_output_that_has_no_room_yet_is_waited_for() -> None:
    """More is written than a pipe holds, whose reader sleeps: errors and results."""
    many(4500)
    args = f"q r {' '.join(f'none{number:0200}' for number in range(330))} -q -m AP --quiet"
    slow = "(sleep 0.4; cat > {})"
    started = f"PYTHONUNBUFFERED=1 '{sys.executable}' -S -c '{NON_BLOCKING}' -m gradeval {args}"
    command = f"{started} 2>&3 | {slow.format('out')}"
    shell(f"({command}) 3>&1 | {slow.format('err')}")
    expected = gradeval(*args.split())
    assert (Path("out").read_text(), Path("err").read_text()) == (expected.out, expected.err)
    assert min(map(len, expected[1:])) > 1 << 16


def many(queries: int) -> None:
    Path("q").write_text("".join(f"q{n} 0 a 1\n" for n in range(queries)))
    Path("r").write_text("".join(f"q{n} Q0 a 1 2 t\n" for n in range(queries)))


@pytest.fixture(name="interruptible")
def _interruptible() -> Iterator[None]:
    """In `make test &` interrupts are ignored, and children inherit that."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("jobs", [1, 2])
def test_an_interrupt_while_a_pipe_is_waited_for(jobs: int) -> None:
    """Quietly, at once, and by the signal, which is what ends a shell's loop too."""
    process = subprocess.Popen(
        [sys.executable, "-m", "gradeval", "q", "-", "-m", "AP", "-j", str(jobs)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONFAULTHANDLER": ""},
    )
    assert process.stdin
    process.stdin.write(b"".join(b"q1 Q0 d%07d 1 1.5 tag\n" % n for n in range(100_000)))
    process.stdin.flush()
    process.send_signal(signal.SIGINT)
    try:
        assert process.wait(timeout=30) == -signal.SIGINT
        assert process.stdout and process.stderr
        assert process.stdout.read() == b""
        assert process.stderr.read().strip() == b""
    finally:
        process.kill()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream:
                stream.close()


IN_A_DESTRUCTOR = """
import os, signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # which a job in the background ignores
from gradeval import __main__
from gradeval.evaluation import evaluation

class Interrupts:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)

def evaluate_all(*args, **options):
    Interrupts()

evaluation.evaluate_all = evaluate_all
__main__.main()
"""


def test_an_interrupt_where_no_exception_can_be_raised() -> None:
    done = subprocess.run(
        [sys.executable, "-c", IN_A_DESTRUCTOR, "q", "r"], capture_output=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, b"", b"")


INSTEAD_OF_RENAMING = """
import os
from gradeval import __main__

os.replace = lambda *paths: os.kill(os.getpid(), {})
__main__.main()
"""


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM])
def test_a_signal_leaves_no_temporary_file(number: int, folder: Path) -> None:
    Path("out").write_text("old")
    before = sorted(os.listdir(folder))
    command = [sys.executable, "-c", INSTEAD_OF_RENAMING.format(int(number)), "q", "r", "--quiet", "-o", "out"]
    heed = partial(signal.signal, number, signal.SIG_DFL)  # which nohup has ignored
    done = subprocess.run(command, capture_output=True, timeout=60, check=False, preexec_fn=heed)
    assert (done.returncode, done.stdout, done.stderr) == (-number, b"", b"")
    assert Path("out").read_text() == "old"
    assert sorted(os.listdir(folder)) == before
    if number == signal.SIGHUP:  # one that is ignored, as by nohup, stays so
        ignore = partial(signal.signal, number, signal.SIG_IGN)
        done = subprocess.run(command, capture_output=True, timeout=60, check=False, preexec_fn=ignore)
        assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.skipif(not process.ON_LINUX, reason="descriptors are files on Linux only")
def test_an_open_file_is_written_where_it_stands() -> None:
    """It is neither replaced nor truncated."""
    with open("log", "wb", buffering=0) as log:
        log.write(b"before\n")
        done = gradeval("q", "r", "-m", "AP", "--quiet", "-o", f"/dev/fd/{log.fileno()}")
        log.write(b"after\n")
        assert (done.code, done.err, os.fstat(log.fileno()).st_ino) == (0, "", os.stat("log").st_ino)
    assert Path("log").read_text() == "before\n" + TSV.format("r") + "after\n"

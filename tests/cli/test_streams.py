"""Whole processes: pipes, closed and full outputs, interrupts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from gradeval import parallel

from .command import LETOR, QRELS, RUN, fails, gradeval

pytestmark = [
    pytest.mark.usefixtures("folder"),
    pytest.mark.skipif(os.name != "posix", reason="its shell commands are for POSIX"),
]

TSV = "run\tquery\tmetric\tvalue\n{}\tall\tAP\t0.2593\n"


def shell(command: str) -> subprocess.CompletedProcess[str]:
    """The command in a shell, where gradeval is this one."""
    text = f'set -o pipefail; gradeval() {{ "{sys.executable}" -m gradeval "$@"; }}; {command}'
    done = subprocess.run(["bash", "-c", text], capture_output=True, text=True, timeout=60, check=False)
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr
    return done


@contextmanager
def pipe(text: str) -> Iterator[str]:
    """The name of a pipe that brings the text."""
    reader, writer = os.pipe()

    def feed() -> None:
        with open(writer, "w") as file:
            file.write(text)

    feeder = threading.Thread(target=feed)
    feeder.start()
    try:
        yield f"/dev/fd/{reader}"
    finally:
        os.close(reader)
        feeder.join()


def test_standard_input_is_a_file() -> None:
    assert gradeval("q", "-", "-m", "AP", stdin="r").out == TSV.format("<stdin>")
    assert gradeval("-", "r", "-m", "AP", stdin="q").out == TSV.format("r")


@pytest.mark.skipif(not os.path.isdir("/dev/fd"), reason="no /dev/fd here")
def test_pipes() -> None:
    with pipe(QRELS) as qrels, pipe(RUN) as run:
        assert gradeval(qrels, run, "-m", "AP").out == TSV.format(os.path.basename(run))
    with pipe(LETOR) as letor, pipe("1\n2\n0.5\n-1\n") as scores:
        assert gradeval(letor, scores, "-m", "AP").out.endswith("\t0.7500\n")
    with pipe(RUN + "q1 Q0 e 1 x t\n") as run:
        assert fails("q", run) == f"{run}:9: the score 'x' is not a number"


@pytest.mark.skipif(not os.path.isdir("/dev/fd"), reason="no /dev/fd here")
def test_features_of_a_pipe() -> None:
    expected = gradeval("l", "--feature", "1,2")
    assert expected.code == 0
    with pipe(LETOR) as letor:
        assert gradeval(letor, "--feature", "1,2") == expected
    assert gradeval("-", "--feature", "1,2", stdin="l") == expected


def test_a_process_between_others() -> None:
    done = shell("cat r | gradeval q - -m AP --quiet | cat")
    assert (done.returncode, done.stdout, done.stderr) == (0, TSV.format("<stdin>"), "")


def test_who_reads_no_further() -> None:
    """More is written than a pipe holds."""
    Path("q").write_text("".join(f"q{n} 0 a 1\n" for n in range(20000)))
    Path("r").write_text("".join(f"q{n} Q0 a 1 1 t\n" for n in range(20000)))
    done = shell("gradeval q r -q -m AP | head -n 1")
    assert (done.returncode, done.stdout, done.stderr) == (0, "run\tquery\tmetric\tvalue\n", "")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device of Linux")
def test_a_full_disk() -> None:
    for command in ("gradeval q r -m AP --quiet", "gradeval metrics"):
        done = shell(f"{command} > /dev/full")
        assert (done.returncode, done.stderr) == (
            2,
            "gradeval: standard output cannot be written (No space left on device)\n",
        )
    done = shell("gradeval --help > /dev/full")
    assert (done.returncode, done.stderr) == (2, "gradeval: standard output: No space left on device\n")


def test_closed_streams() -> None:
    done = shell("gradeval q r -m AP --quiet >&-")
    assert (done.returncode, done.stderr) == (2, "gradeval: standard output cannot be written (it is closed)\n")
    done = shell("gradeval q r -m AP 2>&-")
    assert (done.returncode, done.stdout) == (0, TSV.format("r"))
    done = shell("gradeval q - -m AP <&-")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "<stdin>: the file cannot be read (standard input is closed)\n"


def test_any_encoding_of_the_terminal() -> None:
    """What is written is UTF-8, as files are."""
    done = shell("PYTHONIOENCODING=ascii gradeval metrics tau nDCGphi")
    assert done.returncode == 0
    assert "τ" in done.stdout


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("lines", [0, 100_000])
def test_an_interrupt_while_a_pipe_is_waited_for(jobs: int, lines: int) -> None:
    """Quietly, at once, and by the signal, which is what ends a shell's loop too."""
    process = subprocess.Popen(
        [sys.executable, "-m", "gradeval", "q", "-", "-m", "AP", "-j", str(jobs)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONFAULTHANDLER": ""},
    )
    assert process.stdin
    process.stdin.write(b"".join(b"q1 Q0 d%07d 1 1.5 tag\n" % n for n in range(lines)))
    process.stdin.flush()
    if not lines:
        wait_until_it_reads(process.pid)
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


def wait_until_it_reads(pid: int) -> None:
    """Until it has numpy and sleeps twice in a row, as it does at its pipe; without /proc, a while."""
    import time

    asleep = 0
    for _ in range(300):
        time.sleep(0.02)
        with suppress(OSError):
            has_numpy = "_multiarray_umath" in Path(f"/proc/{pid}/maps").read_text()
            sleeps = "\nState:\tS" in Path(f"/proc/{pid}/status").read_text()
            asleep = asleep + 1 if has_numpy and sleeps else 0
        if asleep == 2:
            return


def test_who_interrupts_waits_for_no_thread() -> None:
    """One thread waits for its item until the test has ended; the map does not wait for it."""
    waits = threading.Event()

    def items() -> Iterator[int]:
        yield 1
        waits.wait(60)

    results = parallel.ordered_map(lambda item: item, items(), 2)
    assert next(results) == 1
    with pytest.raises(KeyboardInterrupt):
        results.throw(KeyboardInterrupt())  # type: ignore[attr-defined]
    assert not waits.is_set()
    waits.set()


@pytest.mark.parametrize("command", ["q r --quiet", "--help", "metrics", "--version"])
def test_a_reader_that_has_gone_is_no_error(command: str) -> None:
    done = shell(f"gradeval {command} | true")
    assert (done.returncode, done.stderr) == (0, "")


def test_the_results_do_not_hang_on_standard_error() -> None:
    done = shell("gradeval q r -m 'AP AUC' 2>/dev/full")
    assert done.returncode == 0
    assert done.stdout.startswith("run\tquery\tmetric\tvalue\n")

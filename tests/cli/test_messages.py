"""What is said on stderr besides errors: a line for each thing that is so, and the progress bar."""

import io
import os
import threading
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest
from helpers import each

from gradeval.cli import run
from gradeval.formats.sources import Source
from gradeval.render import WRITERS, progress
from gradeval.render.progress import Progress

from .command import QRELS, RUN, Stream, fails, gradeval

pytestmark = pytest.mark.usefixtures("folder")

STRICT = "gradeval: warnings are treated as errors (--strict)"
MISSING = "warning: r: 1 judged query is not in the run, counted as 0 [missing]"
UNJUDGED = "warning: r: 1 unjudged query of the run, ignored [unjudged]"
TIED = (
    "warning: r: ties in 1 query could change nDCG by up to 0.0097 (0.3358 to 0.3455; expected 0.3406) [ties]"
)


def said(*args: object, qrels: str = QRELS, ranking: str = RUN) -> list[str]:
    Path("q").write_text(qrels)
    Path("r").write_text(ranking)
    done = gradeval("q", "r", "-m", "nDCG", *args)
    assert done.code == 0, done.err
    return [line for line in done.lines if not line.startswith("note: ")]


def test_what_is_said_of_odd_input() -> None:
    assert said(qrels="q 0 a 1\nq 0 b 0\n", ranking="q Q0 a 1 2 t\nq Q0 x 1 1 t\nq Q0 y 1 1 t\n") == []
    # each line
    assert said() == [MISSING, UNJUDGED, TIED]
    # control characters are escaped
    assert fails("q", "\x1b[31mr\x07") == r"\x1b[31mr\x07: no such file. Check the path"
    # errors and warnings of a path with a line end
    Path("a\nb").write_text("q1 Q0 a 1 x t\nq1 Q0 a 1 y t\n")
    assert fails("q", "a\nb").splitlines() == [
        r"a\nb:1: the score 'x' is not a number",
        r"a\nb:2: the score 'y' is not a number",
    ]
    Path("a\nb").write_text("q1 Q0 a 1 1 t\n")
    assert gradeval("q", "a\nb", "-m", "AP").lines == [
        r"warning: a\nb: 2 judged queries are not in the run, counted as 0 [missing]"
    ]
    # the command comes first
    assert fails("-q", "metrics", "r").startswith("gradeval: The command comes first: gradeval metrics, then")
    Path("metrics").write_text(QRELS)
    assert gradeval("-q", "metrics", "r", "-m", "AP").code == 0


@each(
    ("args", "message"),
    [
        (("q", "a\nb"), r"a\nb: no such file. Check the path"),
        (("a\n/b", "r"), r"a\n/b: no such file. Check the path"),
        (("q", "r", "-o", "a\nb/c"), r"gradeval: --output a\nb/c: directory "),
        (("q", "r", "-m", "a\nb"), r"gradeval: a: unknown metric"),
        (("q", "r", "-l", "a\nb"), r"gradeval: Invalid value for '-l' / '--rel': 'a\nb' is not"),
        (("q", "r", "--query-ids", "./a\nb"), r"./a\nb: no such file. Check the path"),
        (("trec_eval", "q", "a\u2028b"), r"a\u2028b: no such file. Check the path"),
    ],
)
def test_a_message_is_one_line(args: tuple[str, ...], message: str) -> None:
    said = fails(*args)
    assert said.startswith(message)
    assert "\n" not in said


@each("format", WRITERS)
def test_a_query_named_as_the_summary_is(format: str) -> None:
    """In formats with a row for each value, where nothing else tells them apart."""
    line = "warning: a query is named 'all', like the summary; -n omits the summary [query_all]"
    files = {"qrels": "all 0 a 1\nq1 0 a 1\n", "ranking": "all Q0 a 1 5 t\nq1 Q0 a 1 5 t\n"}
    assert said("-q", "-f", format, **files) == ([line] if format in ("tsv", "csv", "jsonl", "trec") else [])
    if format == "tsv":
        for args in (("-qn",), (), ("-q", "--query-ids", "q1"), ("-q", "--quiet")):
            assert said(*args, "-f", format, **files) == []
        assert line in fails("q", "r", "-q", "--strict").splitlines()
        assert gradeval("q", "r", "-q", "--strict", "--allow", "query_all,undefined").code == 0


def test_strict_lets_notes_and_allowed_kinds_pass() -> None:
    said_last = fails("q", "r", "--strict", "--allow", "ties,missing", "-m", "nDCG").splitlines()[-1]
    assert said_last == f"{STRICT}; --allow unjudged accepts this kind"
    assert gradeval("q", "r", "--strict", "--allow", "ties missing,unjudged", "-m", "nDCG").code == 0
    allowed = [f"--allow={kind}" for kind in ("ties", "missing", "unjudged")]
    assert gradeval("q", "r", "--strict", *allowed, "-m", "nDCG").code == 0
    assert gradeval("q", "r", "none", "-m", "nDCG", "--strict").out == ""
    assert "unknown kind of warning 'tie'; the kinds are duplicates, " in fails("q", "r", "--allow", "tie")
    few = "".join(f"q1 Q0 x{rank} 1 {-rank} t\n" for rank in range(9))
    Path("q").write_text("q1 0 a 1\n")
    Path("r").write_text(f"q1 Q0 a 1 9 t\n{few}")
    done = gradeval("q", "r", "--strict", "-m", "nDCG")
    assert done.code == 0
    assert done.lines == [
        "note: r: 10 % of the first 10 documents are judged; the others count as not relevant (see Judged@10, "
        "-J and bpref) [judged_share]"
    ]


@pytest.mark.parametrize("args", [(), ("-f", "jsonl"), ("-o", "out.tsv")])
def test_fail_on_warning(args: tuple[str, ...]) -> None:
    """The same is printed and written; an error in the input has its own code."""
    call = ("q", "r", "-m", "nDCG", *args)
    expected = gradeval(*call)
    done = gradeval(*call, "--fail-on-warning")
    allow = "--allow missing,unjudged,ties accepts these kinds"
    last = f"gradeval: exit code 3, for warnings (--fail-on-warning); {allow}"
    assert (done.code, done.out, done.lines) == (3, expected.out, [*expected.lines, last])
    assert done.out or Path("out.tsv").read_text() == gradeval("q", "r", "-m", "nDCG").out
    quiet = gradeval(*call, "--fail-on-warning", "--quiet")
    assert (quiet.code, quiet.lines) == (3, [MISSING, UNJUDGED, TIED, last])
    done = gradeval(*call, "--fail-on-warning", "--quiet", "--allow", "ties,missing,unjudged")
    assert (done.code, done.err) == (0, "")
    assert gradeval("q", "r", "none", "--fail-on-warning").code == 2
    assert "mutually exclusive" in fails(*call, "--strict", "--fail-on-warning")


def test_results_come_first() -> None:
    Path("s").write_text("q1 Q0 a 1 1 t\n")
    for call in (
        ("q", "r"),
        ("compare", "q", "r", "b=r", "-f", "table"),
        ("explain", "q", "r", "--query", "q3"),
        ("study", "agreement", "q", "r", "s", "-m", "AP", "--splits", "1"),
        ("trec_eval", "q", "r"),
    ):
        log = io.BytesIO()
        done = gradeval(*call, log=log)
        assert done.out and done.err and log.getvalue().decode() == done.out + done.err


def test_on_a_terminal_the_first_lines_of_many() -> None:
    Path("r").write_text(Path("r").read_text().replace(" tag", " tag more"))
    call = ("q", "r", "-m", "nDCG tau")
    lines = gradeval(*call).lines
    assert len(lines) == 5
    shown = gradeval(*call, errors_on_terminal=True).lines
    assert shown == [*lines[:4], "… and 1 more (--verbose lists all)"]
    assert gradeval(*call, "--verbose", errors_on_terminal=True).lines == lines
    assert gradeval(*call, terminal=True).lines == lines
    assert gradeval(*call, "--strict", errors_on_terminal=True).lines[:-1] == lines  # they are errors
    assert gradeval("q", "r", "-m", "nDCG", errors_on_terminal=True).lines[4:] == []
    assert "mutually exclusive" in fails(*call, "--quiet", "--verbose")


# The progress bar


class Terminal:
    """A terminal as standard error, and what it has shown when it is closed."""

    def __enter__(self) -> "Terminal":
        self.leader, follower = os.openpty()
        self.stream = open(follower, "w")
        self.shown = bytearray()
        self.reader = threading.Thread(target=self._read)
        self.reader.start()
        self.redirected = redirect_stderr(self.stream)
        self.redirected.__enter__()
        return self

    def _read(self) -> None:
        try:
            while chunk := os.read(self.leader, 1 << 16):
                self.shown.extend(chunk)
        except OSError:  # Linux says so that the other end is closed
            pass

    def __exit__(self, *error: Any) -> None:
        self.redirected.__exit__(*error)
        self.stream.close()
        self.reader.join()
        os.close(self.leader)


@pytest.fixture(name="impatient")
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PATIENCE", 0)
    monkeypatch.setenv("TERM", "xterm")


on_terminals = pytest.mark.skipif(not hasattr(os, "openpty"), reason="no pseudo terminals here")


def use() -> None:
    with Progress() as bar:
        for name in ("q", "r"):
            source = Source(name)
            bar.watch(source)
            for _ in source.blocks(16):
                pass


@on_terminals
@pytest.mark.usefixtures("impatient")
def test_progress_of_the_command() -> None:
    with Terminal() as terminal, redirect_stdout(Stream()) as out:
        assert run(["q", "r", "r", "r", "-m", "nDCG"]) == 0
    assert b"reading" in terminal.shown
    assert terminal.shown.count(b"warning: ") == 3
    assert out.text.count("\n") == 4


def test_steps_take_the_place_of_bytes() -> None:
    bar, source = Progress(enabled=True), Source("q")
    bar.watch(source)
    list(source.blocks())
    bar.steps(0, 2)
    list(source.blocks())
    assert bar.read == os.path.getsize("q")


@on_terminals
@pytest.mark.usefixtures("impatient")
def test_progress_never_passes_the_end() -> None:
    """A file may be read in part to tell its format, or twice to sort it."""
    with Terminal() as terminal, Progress() as bar:
        source = Source("q")
        bar.watch(source)
        for _ in range(3):
            list(source.blocks())
        assert bar.read > bar.total == os.path.getsize("q")
        assert bar._bar is not None
        assert bar._bar.tasks[0].completed == bar.total
    list(source.blocks())  # the bar is gone
    assert b"reading" in terminal.shown

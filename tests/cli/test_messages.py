"""What is said on stderr besides errors: a line for each thing that is so, and the progress bar."""

import os
import shlex
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, redirect_stderr, redirect_stdout, suppress
from pathlib import Path

import pytest
from helpers import each

from gradeval.cli import job as frame
from gradeval.cli import run
from gradeval.cli.job import Progress
from gradeval.formats.sources import Source
from gradeval.render import WRITERS

from .command import QRELS, RUN, Stream, fails, gradeval

pytestmark = pytest.mark.usefixtures("folder")

STRICT = "gradeval: warnings are treated as errors (--strict)"
MISSING = "warning: r: 1 judged query is not in the run ('q3'), counted as 0 [missing]"
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


@each("options", [("--strict",), ("--fail-on-warning",), ("-f", "json")])
def test_quiet_commands_that_tell_expected_means_of_ties(options: tuple[str, ...]) -> None:
    Path("q").write_text(QRELS)
    Path("r").write_text(RUN)
    done = gradeval("q", "r", "-m", "nDCG", "--quiet", *options)
    assert "(0.3358 to 0.3455; expected 0.3406)" in done.out + done.err


def test_what_is_said_of_odd_input() -> None:
    ranking = "q Q0 a 1 3 t\nq Q0 b 1 2 t\nq Q0 x 1 1 t\nq Q0 y 1 1 t\n"
    assert said(qrels="q 0 a 1\nq 0 b 0\n", ranking=ranking) == []
    # each line
    assert said() == [MISSING, UNJUDGED, TIED]
    # errors and warnings of a path with a line end
    Path("a\nb").write_text("q1 Q0 a 1 x t\nq1 Q0 a 1 y t\n")
    wrong = [rf"a\nb:{n}: the score '{score}' is not a number" for n, score in ((1, "x"), (2, "y"))]
    assert fails("q", "a\nb").splitlines() == wrong
    Path("a\nb").write_text("q1 Q0 a 1 1 t\n")
    lacks = r"warning: a\nb: 2 judged queries are not in the run ('q2', 'q3'), counted as 0 [missing]"
    assert gradeval("q", "a\nb", "-m", "AP").lines == [lacks]


@each("args, message", [
    (("q", "a\nb"), r"a\nb: no such file. Check the path"),
    (("q", "\x1b[31mr\x07"), r"\x1b[31mr\x07: no such file. Check the path"),
    (("q", "r", "-o", "a\nb/c"), r"gradeval: --output a\nb/c: directory "),
    (("q", "r", "-l", "a\nb"), r"gradeval: Invalid value for '-l' / '--rel': 'a\nb' is not"),
    (("q", "r", "--query-ids", "./a\nb"), r"./a\nb: no such file. Check the path"),
    (("trec_eval", "q", "a\u2028b"), r"a\u2028b: no such file. Check the path"),
])  # fmt: skip
def test_a_message_is_one_line(args: tuple[str, ...], message: str) -> None:
    said = fails(*args)
    assert said.startswith(message) and "\n" not in said


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
    call = ("q", "r", "--strict", "-m", "nDCG")
    said_last = fails(*call, "--allow", "ties,missing").splitlines()[-1]
    assert said_last == f"{STRICT}; --allow unjudged accepts this kind"
    assert gradeval(*call, "--allow", "ties missing", "--allow=unjudged").code == 0
    assert gradeval("q", "r", "none", "-m", "nDCG", "--strict").out == ""
    assert "'xyz' is not a list of kinds of warnings: duplicates, " in fails("q", "r", "--allow", "xyz")
    few = "".join(f"q1 Q0 x{rank} 1 {-rank} t\n" for rank in range(9))
    Path("q").write_text("q1 0 a 1\n")
    Path("r").write_text(f"q1 Q0 a 1 9 t\n{few}")
    done = gradeval(*call)
    share = "note: r: 10 % of the first 10 documents are judged; the others count as not relevant"
    assert (done.code, done.lines) == (
        0,
        [f"{share} (see Judged@10, --bounds, -J, bpref, gradeval pool) [judged_share]"],
    )


@each("args", ["", "-f jsonl", "-o out.tsv"])
def test_fail_on_warning(args: str) -> None:
    """The same is printed and written; an error in the input has its own code."""
    call = ("q", "r", "-m", "nDCG", *args.split())
    expected = gradeval(*call)
    written = Path("out.tsv").read_text() if "-o" in call else ""
    done = gradeval(*call, "--fail-on-warning")
    allow = "--allow missing,unjudged,ties accepts these kinds"
    last = f"gradeval: exit code 3, for warnings (--fail-on-warning); {allow}"
    assert (done.code, done.out, done.lines) == (3, expected.out, [*expected.lines, last])
    assert done.out or Path("out.tsv").read_text() == written != ""
    quiet = gradeval(*call, "--fail-on-warning", "--quiet")
    assert (quiet.code, quiet.lines) == (3, [MISSING, UNJUDGED, TIED, last])
    if not args:
        allowed = gradeval(*call, "--fail-on-warning", "--quiet", "--allow", "ties,missing,unjudged")
        assert (allowed.code, allowed.err) == (0, "")
        assert gradeval("q", "r", "none", "--fail-on-warning").code == 2
        assert "mutually exclusive" in fails(*call, "--strict", "--fail-on-warning")


@each("line, said", [
    ("q r -m RR AP P@1", 'AP and P@1 are metrics, not files: -m "RR AP P@1". Try'),
    ("q r -m RR basic", 'basic is a group of metrics, not a file: -m "RR basic". Try'),
    ("q r -m RR APP", 'APP: no such file. Did you mean AP? It is written -m "RR AP". Try'),
    ("q r --allow missing,tie", "'missing,tie' is not a list of kinds of warnings: did you mean 'ties'?"),
    ("q r --ties xpected", "'trec', 'input', 'best', 'worst', 'expected'. Did you mean 'expected'?"),
    ("q r --rnk", "No such option '--rnk'. Did you mean '--rank'? Try"),
    ("explain q r -q q1", "No such option '-q'. Did you mean '--query'? Try 'gradeval explain --help'."),
    ("q named", "named: no such file. Did you mean named.run?"),
    ("q named.rn", "named.rn: no such file. Did you mean named.run?"),
    ("hlep", "hlep: no such command or file. Did you mean 'help'? Try"),
    ("compare q r", "gradeval: there is 1 run. Give two runs or more"),
    ("fuse named.run q --method wsum --tune AP", "gradeval: --tune needs the judgments: --qrels FILE"),
    ("named r", "named: no such command or file. Did you mean named.run? Try"),
    ("metrics --search", "Option '--search' requires an argument. Try 'gradeval metrics --help'."),
    ("compare q r r -m", "Option '-m' requires an argument. Try 'gradeval compare --help'."),
    ("q r -m", "Option '-m' requires an argument. Try 'gradeval --help'."),
    ("trec_eval -m ndcg_cutt.10 q r", "ndcg_cutt.10: did you mean ndcg_cut.10?"),
    ("q r --unjudged-grade 2 --top-grade 1", "--unjudged-grade is above --top-grade, the largest that"),
])  # fmt: skip
def test_what_is_meant(line: str, said: str) -> None:
    """A slip stops before any output, with what to type."""
    Path("named.run").touch()
    assert said in fails(*line.split())


def test_results_come_first() -> None:
    Path("s").write_text("q1 Q0 a 1 1 t\n")
    for line in (
        "q r -m nDCG",
        "compare q r b=r -f table -m nDCG",
        "explain q r --query q3",
        "study agreement q r s -m AP --splits 1",
        "trec_eval q r -m map",
    ):
        done = gradeval(*line.split())
        assert done.out and done.err and gradeval(*line.split(), together=True).out == done.out + done.err


def test_on_a_terminal_the_first_lines_of_many() -> None:
    Path("r").write_text(RUN.replace(" tag", " tag more"))
    call = ("q", "r", "-m", "nDCG tau")
    lines = gradeval(*call, terminal=True).lines
    assert len(lines) == 5
    shown = gradeval(*call, errors_on_terminal=True).lines
    hidden = lines[4].rpartition("[")[2].rstrip("]")
    assert shown == [*lines[:4], f"… and 1 more: {hidden} (--verbose lists all)"]
    shown = gradeval("q", "r", "copy=r", "-m", "nDCG tau", errors_on_terminal=True).lines
    assert "[same_ranking]" in shown[0] and " more: " in shown[-1]
    Path("few").write_text("q1 Q0 a 1 2 t extra\nq1 Q0 x 2 1 t extra\nq9 Q0 x 1 1 t extra\n")
    few = ("q", "few", "-m", "nDCG AUC")
    assert "[judged_share]" not in "".join(gradeval(*few).lines[:4])
    assert "[judged_share]" in gradeval(*few, errors_on_terminal=True).lines[0]
    Path("s").write_text("q1 Q0 a 1 1 t\n")
    runs = "1=r", "2=r", "3=r", "4=s", "5=s"
    groups = "(1 as 2, 3; 4 as 5) [same_ranking]"
    of_groups = f"note: 5 of 6 runs have the judged documents at the same ranks as others {groups}"
    Path("t").write_text("q1 Q0 b 1 1 t\n")
    assert of_groups in gradeval("q", *runs, "t", "-m", "nDCG").lines
    assert gradeval(*call, "--verbose", errors_on_terminal=True).lines == lines
    assert gradeval(*call, "--strict", errors_on_terminal=True).lines[:-1] == lines  # they are errors
    assert gradeval("q", "r", "-m", "nDCG", errors_on_terminal=True).lines[4:] == []
    assert "mutually exclusive" in fails(*call, "--quiet", "--verbose")


@contextmanager
def terminal() -> Iterator[bytearray]:
    """A terminal as standard error: what it has shown when it is closed."""
    leader, follower = os.openpty()
    shown = bytearray()

    def read() -> None:
        with suppress(OSError):  # Linux says so that the other end is closed
            while chunk := os.read(leader, 1 << 16):
                shown.extend(chunk)

    reader = threading.Thread(target=read)
    reader.start()
    with open(follower, "w") as stream, redirect_stderr(stream):
        yield shown
    reader.join()
    os.close(leader)


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="no pseudo terminals here")
def test_progress_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frame, "PATIENCE", 0)
    monkeypatch.setenv("TERM", "xterm")
    with terminal() as shown, redirect_stdout(Stream()) as out:
        assert run(["q", "r", "r", "r", "-m", "nDCG"]) == 0
    assert b"reading" in shown
    assert shown.count(b"warning: ") == 3
    assert out.text.count("\n") == 4
    # it never passes the end: a file may be read in part to tell its format, or twice to sort it
    with terminal() as shown, closing(Progress()) as bar:
        source = Source("q", bar.watch)
        for _ in range(3):
            list(source.blocks())
        assert bar.read > bar.total == os.path.getsize("q")
        assert bar._bar is not None
        assert bar._bar.tasks[0].completed == bar.total
    list(source.blocks())  # the bar is gone
    assert b"reading" in shown
    # steps take the place of bytes
    with terminal() as shown, closing(Progress()) as bar:
        bar.steps(1, 2)
        bar.watch(100, 0)
        bar.watch(0, 100)
        assert bar._bar is not None
        assert bar._bar.tasks[0].completed == 1
    assert b"computing" in shown


def deep_tie(rank: int) -> None:
    """q, r and other: of ten queries, one where a relevant document and an unjudged one are tied at the rank.
    Its AP changes by 1 / (rank · (rank + 1)).
    """
    lines = [f"q{n} Q0 {name} 1 {score} t\n" for n in range(10) for name, score in (("a", 999), ("x", 1))]
    lines += [f"q0 Q0 d{d} 1 {500 - d} t\n" for d in range(rank - 2)] + ["q0 Q0 b 1 1 t\n"]
    Path("r").write_text("".join(lines))
    Path("other").write_text("".join(lines[:-1]))
    Path("q").write_text("q0 0 b 1\n" + "".join(f"q{n} 0 a 1\n" for n in range(10)))


@each("line, is_of_queries", [
    ("q r -m AP", False),
    ("q r -m AP -f json", False),
    ("q r -m AP -q", True),
    ("q r -m AP -f json -q -o saved", True),
    ("q saved -m AP", False),
    ("q saved -m AP -q", True),
    ("compare q other r -m AP", False),
    ("compare q other r -m AP -q", True),
    ("compare q other saved -m AP", False),
    ("gate q r --require 'AP > 0'", False),
    ("gate q r --baseline other --max-query-drop 'AP 0.5'", True),
    ("gate q r --baseline other --max-query-drop 'RR 0.5' --require 'AP > 0'", False),
    ("ir_measures q r AP", False),
    ("ir_measures q r -q AP", True),
])  # fmt: skip
def test_ties_that_change_too_little(line: str, is_of_queries: bool) -> None:
    """For the means, or where the values of queries are asked for, for these, .00005 counts."""
    deep_tie(50)
    if "saved" in line:
        gradeval("q", "r", "-m", "AP", "-q", "-f", "json", "-o", "saved")
    is_strict = [] if line.startswith("ir_") else ["--strict", "--allow", "few_queries,depth,no_p"]
    done = gradeval(*shlex.split(line), *is_strict)
    assert ("[ties]" in done.err) == is_of_queries, done.err
    assert done.code == 2 * (is_of_queries and bool(is_strict))


def test_ties_that_change_no_value_so_that_it_is_seen() -> None:
    deep_tie(200)
    assert "[ties]" not in gradeval("q", "r", "-m", "AP", "-q").err
    said = "r: ties in 1 query could change nDCG by up to 0.00000749 (0.96932112 to 0.96932861; expected "
    assert f"warning: {said}0.96932487) [ties]" in gradeval("q", "r", "-m", "AP nDCG", "-q").lines

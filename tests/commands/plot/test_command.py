"""gradeval plot."""

import importlib.util
import sys

import pytest
from cli.command import QRELS, RUN, fails, gradeval
from helpers import each

from commands.groups import check_error, check_formats, check_help

HAS_MATPLOTLIB = importlib.util.find_spec("matplotlib") is not None
with_matplotlib = pytest.mark.skipif(not HAS_MATPLOTLIB, reason="matplotlib (gradeval[plot]) is not installed")
SWAPS = ("swaps", "--levels", "2,3", "--items", "6", "--repeats", "3", "--swaps", "4")
CALLS = {
    "queries": ("queries", "q", "r"),
    "differences": ("queries", "q", "r", "s", "-m", "AP nDCG"),
    "curve": ("curve", "q", "r", "new=s", "-m", "nDCG", "--at", "1-3"),
    "means": ("means", "q", "r", "new=s", "-m", "nDCG AP"),
    "recall": ("curve", "q", "r", "-m", "iprec_at_recall"),
    "phi": ("phi", "q"),
    "phi of queries": ("phi", "q", "--query", "q1", "--query", "q2"),
    "swaps": SWAPS,
}


@pytest.fixture(autouse=True)
def files(folder):
    (folder / "s").write_text(RUN.replace("q1 Q0 b 1 9", "q1 Q0 b 1 1"))


def plot(*args, **how):
    return gradeval("plot", *args, **how)


@each("call", CALLS.values(), ids=CALLS)
def test_formats_say_the_same(call):
    check_formats("plot", *call)


@each("call", [call for name, call in CALLS.items() if name not in ("phi", "phi of queries", "swaps")])
def test_the_picture_is_the_default(call, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    piped = plot(*call)
    assert piped.code == 0
    assert set(piped.out) & set("▁▂▃▄▅▆▇█●") and "\x1b" not in piped.out
    on_terminal = plot(*call, terminal=True).out
    assert set(on_terminal) & set("▁▂▃▄▅▆▇█●") and "\x1b[" in on_terminal
    monkeypatch.setenv("TERM", "dumb")
    assert "\x1b" not in plot(*call, terminal=True).out


@each("name", ["means", "queries", "curve"])
def test_a_run_is_standard_input(name):
    call = (name, "q", "r", "new=-", "--at", "1,2")[: 6 if name == "curve" else 4]
    done = plot(*call, "-f", "tsv", stdin="s")
    assert (done.code, done.out) == (0, plot(name, "q", "r", "new=s", *call[4:], "-f", "tsv").out)


def test_warnings(monkeypatch, tmp_path):
    call = ("curve", "q", "r", "--at", "1,2")
    assert "warning: r: 1 judged query is not in the run ('q3'), counted as 0" in plot(*call).err
    assert plot(*call, "--quiet").err == ""
    strict = plot(*call, "--strict")
    assert (strict.code, strict.out) == (2, "")
    # help
    check_help("plot", "queries", "curve", "history", "means", "phi", "swaps")
    # without matplotlib
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.delitem(sys.modules, "gradeval.commands.plot.figure", raising=False)
    assert fails("plot", "phi", "q", "--save", "x.svg") == (
        "gradeval: matplotlib, which saves pictures, is not installed. "
        "Install it with pip install 'gradeval[plot]'"
    )
    assert plot("phi", "q").code == 0
    assert not (tmp_path / "x.svg").exists()


@with_matplotlib
def test_save(tmp_path):
    path = tmp_path / "phi.svg"
    done = plot("phi", "q", "--save", path, "--size", "3x2.5")
    assert done.code == 0
    assert done.out == plot("phi", "q").out
    before = path.read_bytes()
    assert before.startswith(b"<?xml")
    assert done.out == plot("phi", "q", "-f", "table").out
    assert sorted(one.name for one in tmp_path.iterdir()) == ["l", "phi.svg", "q", "r", "s"]
    assert plot("phi", "q", "--save", path, "--size", "3X2.5", "-f", "json", "-o", "phi.json").out == ""
    assert path.read_bytes() == before


@with_matplotlib
def test_nothing_is_saved_where_something_is_wrong(tmp_path):
    for call in (("curve", "q", "nowhere"), ("curve", "q", "r", "--strict"), ("phi", "q", "--query", "x")):
        assert plot(*call, "--save", "x.svg").code == 2
    assert not (tmp_path / "x.svg").exists()
    assert "directory" in fails("plot", "phi", "q", "--save", "nowhere/x.svg")
    (tmp_path / "q.svg").write_text(QRELS)
    assert "input files" in fails("plot", "phi", "q.svg", "--save", "q.svg")
    assert "same file" in fails("plot", "phi", "q", "-f", "json", "-o", "x.svg", "--save", "x.svg")


@each("call, says", [
    (("queries", "q"), "Missing argument 'RUN...'"),
    (("queries", "q", "r", "-c", "--queries", "both"), "-c and --queries both are mutually exclusive"),
    (("curve", "q", "r", "--confidence", "100"), "--confidence"),
    (("curve", "q", "r", "--table", "curve"), "--table requires -f tsv or -f csv"),
    (("curve", "q", "r", "--spreadsheet"), "--spreadsheet requires -f csv"),
    (("curve", "q", "r", "--size", "3x2"), "--size requires --save"),
    (("curve", "q", "r", "--save", "x.svg", "--size", "3"), "'3' is not a width and height in inches"),
    (("curve", "q", "r", "--save", "x.jpg"), "unknown ending '.jpg'. The endings are .svg, .png and .pdf"),
    (("phi", "q", "--query", "x"), "query 'x' is not in q"),
    (("swaps", "--table", "x", "-f", "tsv"), "'x' is not one of 'curves', 'distances'"),
    (("curve", "q", "r", "-m", "iprec_at_recall", "--log"), "--log is for cutoffs"),
])  # fmt: skip
def test_errors_are_one_line(call, says):
    check_error("plot", *call, says=says)

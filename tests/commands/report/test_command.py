"""gradeval report."""

import gzip
import hashlib
import os
import re
import shlex
import subprocess
import sys
import threading
from html import unescape
from pathlib import Path

import pytest
from cli.command import QRELS, RUN, fails, gradeval

from gradeval import GradevalError, process
from gradeval import report as gradeval_report
from gradeval.evaluation import evaluation

pytest.importorskip("jinja2", reason="jinja2 is not installed (gradeval[report])")


@pytest.fixture(autouse=True)
def files(folder):
    Path("r.run").write_text(RUN)
    Path("s.run").write_text("q1 Q0 a 1 1 t\nq2 Q0 e 1 1 t\nq3 Q0 z 1 1 t\n")


def report(line, **how):
    return gradeval("report", *shlex.split(line), **how)


def test_a_page():
    line = "q r.run s.run -o report.html --title 'Night <7>'"
    done = report(line)
    assert (done.code, done.out) == (0, "")
    html = Path("report.html").read_text("utf-8")
    assert "<h1>Night &lt;7&gt;</h1>" in html and f"gradeval report {line}" in unescape(html)
    assert hashlib.sha256(QRELS.encode()).hexdigest() in html
    assert "warning: only 3 queries" in done.err and "only 3 queries" in html
    assert report(line).code == 0 and Path("report.html").read_text("utf-8") == html
    # to standard output
    done = report("q r.run --quiet")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("<!doctype html>\n") and done.out.endswith("</html>\n")
    missing = "-o FILE is missing: a page of HTML is not for a terminal. Try 'gradeval report --help'."
    assert report("q r.run", terminal=True) == (2, "", f"gradeval: {missing}\n")


def test_options_are_those_of_compare():
    shown = report("q r.run s.run --all-pairs --test sign --confidence 90 -m AP -l 2").out
    for part in ("90 % interval", "rel 2.0", "sign test"):
        assert part in shown
    shown = report("q r.run s.run --baseline s --query-ids q1,q2 --digits 2 -m AP").out
    for part in ("<caption>Differences from s</caption>", ">q2<", "query ids q1, q2"):
        assert part in shown
    assert ">q3<" not in shown
    # the headings of the help are words
    heads = [line for line in report("--help").out.splitlines() if re.fullmatch(r"\S.*:", line)]
    assert heads == ["Page:", "Comparison:", "Metrics:", "Queries:", "Output:", "Input:", "Other:"]
    # saved results have no explanations
    assert gradeval("q", "r.run", "-q", "-m", "AP", "-f", "json", "-o", "old.json", "--quiet").code == 0
    done = report("q old.json s.run --quiet")
    assert done.code == 0 and "<caption>Differences from r</caption>" in done.out


def test_titles():
    Path("t.gz").write_bytes(gzip.compress(b"a\tThe best\n"))
    assert report("q r.run s.run --text t.gz --quiet").code == 0
    Path("t.gz").write_bytes(b"z9\tother\n")
    for option, what in (
        ("--text", "no document of the queries has a title"),
        ("--queries-text", "no query has a text"),
    ):
        said = f"warning: t.gz: {what} in it; are the ids those of the runs? [no_titles]"
        assert said in report(f"q r.run s.run {option} t.gz").lines
    assert report("q r.run s.run --text t.gz --strict").code == 2


def test_errors(monkeypatch):
    Path("bad").write_text("q1 Q0 a 1 x t\n")
    Path("worse").write_text("q1 Q0 a\n")
    missing = "Missing argument 'RUN...' (or --feature, for LETOR files). Try 'gradeval report --help'."
    page = "a page of HTML, which a browser prints as PDF, ends in .html, not"
    for line, said in {
        "q": f"gradeval: {missing}",
        "q bad r.run worse": "bad:1: the score 'x' is not a number\nworse:1: ",
        "q r.run s.run -m AP --sort RR": "gradeval: RR was not evaluated: the metrics are AP",
        "q r.run -o r.run": "gradeval: --output r.run: it is one of the input files",
        "q r.run --explain -1": "gradeval: Invalid value for '--explain'",
        "q r.run -o out.json": f"gradeval: --output out.json: {page} .json. Try 'gradeval report --help'.",
        "q r.run -o out.PDF": f"gradeval: --output out.PDF: {page} .PDF. Try",
    }.items():
        assert fails("report", *line.split()).startswith(said), line
    assert not [*Path().glob("out.*")]
    monkeypatch.setitem(sys.modules, "jinja2", None)
    hint = "Install it with pip install 'gradeval[report]'"
    expected = f"gradeval: jinja2 is not installed. {hint}"
    assert fails("report", "q", "r.run", "-o", "out.html") == expected
    with pytest.raises(GradevalError, match="jinja2 is not installed"):  # at once, not when it is shown
        gradeval_report("no such file", "nor this")


@pytest.mark.skipif(not os.path.isdir("/dev/fd"), reason="no /dev/fd here")
def test_a_pipe_beside_runs_that_are_worth_processes(monkeypatch):
    """It is read twice, so it is not read by a process whose copy is lost."""
    monkeypatch.setattr(process, "may_fork", True)
    monkeypatch.setattr(evaluation, "_WORTH_PROCESSES", 1)
    monkeypatch.setattr(threading, "active_count", lambda: 1)  # pytest-xdist has some
    lines = (f"q1 Q0 x{rank} {rank} {-rank} t\n" for rank in range(5000))  # more than a pipe holds
    Path("long.run").write_text(RUN + "".join(lines))
    with subprocess.Popen(["cat", "long.run"], stdout=subprocess.PIPE) as cat:
        path = f"/dev/fd/{cat.stdout.fileno()}"
        assert report(f"q r.run s.run {path} -o page.html --jobs 2").code == 0

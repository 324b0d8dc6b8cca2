"""gradeval report."""

import gzip
import hashlib
import re
import shlex
import sys
from html import unescape
from pathlib import Path

import pytest
from cli.command import QRELS, RUN, fails, gradeval

from gradeval import GradevalError, report

pytest.importorskip("jinja2", reason="jinja2 is not installed (gradeval[report])")


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path, Path]:
    (tmp_path / "q").write_text(QRELS)
    (tmp_path / "r.run").write_text(RUN)
    (tmp_path / "s.run").write_text("q1 Q0 a 1 1 t\nq2 Q0 e 1 1 t\nq3 Q0 z 1 1 t\n")
    return tmp_path / "q", tmp_path / "r.run", tmp_path / "s.run"


def test_a_page(files, tmp_path):
    page = tmp_path / "report.html"
    done = gradeval("report", *files, "-o", page, "--title", "Night <7>")
    assert (done.code, done.out) == (0, "")
    html = page.read_text("utf-8")
    assert "<h1>Night &lt;7&gt;</h1>" in html
    command = ["gradeval", "report", *map(str, files), "-o", str(page), "--title", "Night <7>"]
    assert shlex.join(command) in unescape(html)
    assert hashlib.sha256(QRELS.encode()).hexdigest() in html
    assert "warning: only 3 queries" in done.err
    assert "only 3 queries" in html
    assert gradeval("report", *files, "-o", page, "--title", "Night <7>").code == 0
    assert page.read_text("utf-8") == html
    # to standard output
    done = gradeval("report", *files[:2], "--quiet")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("<!doctype html>\n")
    assert done.out.endswith("</html>\n")
    done = gradeval("report", *files[:2], terminal=True)
    assert (done.code, done.out) == (2, "")
    assert done.err == (
        "gradeval: -o FILE is missing: a page of HTML is not for a terminal. Try 'gradeval report --help'.\n"
    )


def test_options_are_those_of_compare(files, tmp_path):
    done = gradeval(
        "report", *files, "--all-pairs", "--test", "sign", "--confidence", "90", "-m", "AP", "-l", "2"
    )
    assert "90 % interval" in done.out
    assert "rel 2.0" in done.out
    assert "sign test" in done.out
    done = gradeval("report", *files, "--baseline", "s", "--query-ids", "q1,q2", "--digits", "2", "-m", "AP")
    assert "<caption>Differences from s</caption>" in done.out
    assert ">q2<" in done.out and ">q3<" not in done.out
    assert "query ids q1, q2" in done.out
    # the headings of the help are words
    heads = [line for line in gradeval("report", "--help").out.splitlines() if re.fullmatch(r"\S.*:", line)]
    assert heads == ["Page:", "Comparison:", "Metrics:", "Queries:", "Output:", "Input:", "Other:"]
    # saved results have no explanations
    saved = tmp_path / "old.json"
    assert gradeval(*files[:2], "-q", "-m", "AP", "-f", "json", "-o", saved, "--quiet").code == 0
    done = gradeval("report", files[0], saved, files[2], "--quiet")
    assert done.code == 0 and "<caption>Differences from r</caption>" in done.out


def test_titles(files, tmp_path):
    titles = tmp_path / "t.gz"
    titles.write_bytes(gzip.compress(b"a\tThe best\n"))
    assert gradeval("report", *files, "--text", titles, "--quiet").code == 0
    titles.write_bytes(b"z9\tother\n")
    done = gradeval("report", *files, "--text", titles)
    assert (
        f"warning: {titles}: no document of the queries has a title in it; are the ids those of the runs? "
        "[no_titles]"
    ) in done.lines
    assert gradeval("report", *files, "--text", titles, "--strict").code == 2
    done = gradeval("report", *files, "--queries-text", titles)
    what = f"warning: {titles}: no query has a text in it; are the ids those of the runs? [no_titles]"
    assert what in done.lines


def test_errors(files, tmp_path, monkeypatch):
    qrels, run, _ = files
    assert fails("report", qrels) == (
        "gradeval: Missing argument 'RUN...' (or --feature, for LETOR files). Try 'gradeval report --help'."
    )
    (tmp_path / "bad").write_text("q1 Q0 a 1 x t\n")
    assert (
        fails("report", qrels, run, tmp_path / "bad") == f"{tmp_path / 'bad'}:1: the score 'x' is not a number"
    )
    (tmp_path / "worse").write_text("q1 Q0 a\n")
    assert len(fails("report", qrels, tmp_path / "bad", run, tmp_path / "worse").splitlines()) == 2
    assert fails("report", qrels, run, "-o", run) == f"gradeval: --output {run}: it is one of the input files"
    assert "explain" in fails("report", qrels, run, "--explain", "-1")
    assert fails("report", qrels, run, "--query-ids", "q9").startswith("gradeval: ")
    for name, hint in (("out.json", ""), ("out.PDF", " A browser prints it as PDF.")):
        assert fails("report", qrels, run, "-o", tmp_path / name) == (
            f"gradeval: --output {tmp_path / name}: a page of HTML ends in .html, not {name[3:]}.{hint}"
            " Try 'gradeval report --help'."
        )
        assert not (tmp_path / name).exists()
    output = tmp_path / "out.html"
    assert gradeval("report", qrels, run, "--strict", "-o", output).code == 2
    assert not output.exists()
    monkeypatch.setitem(sys.modules, "jinja2", None)
    hint = "Install it with pip install 'gradeval[report]'"
    expected = f"gradeval: jinja2 is not installed, and reports require it. {hint}"
    assert fails("report", qrels, run, "-o", output) == expected
    with pytest.raises(GradevalError, match="jinja2 is not installed"):  # at once, not when it is shown
        report("no such file", "nor this")

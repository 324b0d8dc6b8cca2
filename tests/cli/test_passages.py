"""--max-passage and --duplicates in every command: as if the run had listed each document once."""

import json
import re
from pathlib import Path

import pytest
from helpers import each

from gradeval.formats.diagnostics import first_in

from .command import gradeval

QRELS = "1 0 a 2\n1 0 b 1\n1 0 c 0\n2 0 a 1\n2 0 d 3\n"
PASSAGES = """\
1 Q0 c#1 1 9 t
1 Q0 a#2 2 8 t
1 Q0 c#2 3 7 t
1 Q0 a#1 4 6 t
1 Q0 b 5 5 t
2 Q0 a#1 1 2.5 t
2 Q0 d#9 2 2.5 t
2 Q0 x#1 3 2 t
2 Q0 d#8 4 1 t
"""
DOCUMENTS = "1 Q0 c 1 9 t\n1 Q0 a 2 8 t\n1 Q0 b 3 5 t\n2 Q0 a 1 2.5 t\n2 Q0 d 2 2.5 t\n2 Q0 x 3 2 t\n"
OTHER = "1 Q0 a 1 3 t\n1 Q0 c 2 1 t\n2 Q0 x 1 2 t\n2 Q0 d 2 1 t\n"
NOTE = "each document counts once, with its best score [collapsed]"


def outputs(folder: str, *args: str) -> tuple[int, str, list[str]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        done = gradeval(*args)
    return done.code, done.out, done.lines


@pytest.fixture(autouse=True)
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Folders with one run: of documents, of passages, and with the same documents several times."""
    monkeypatch.chdir(tmp_path)
    twice = re.sub("#.", "", PASSAGES)
    for folder, run in (("once", DOCUMENTS), ("passages", PASSAGES), ("twice", twice)):
        Path(folder).mkdir()
        for name, text in (("q", QRELS), ("r.run", run), ("o.run", OTHER)):
            Path(folder, name).write_text(text)


@each("line", [
    "q r.run -m nDCG@2,AP,num_ret -q",
    "gate q r.run --baseline o.run --no-worse AP --require AP>=0.9",
    "explain q r.run -m AP --query 1",
    "plot curve q r.run -m P --at 1-3 -f tsv",
])  # fmt: skip
def test_as_if_each_document_came_once(line: str) -> None:
    """The command prints the same of passages, of duplicates and of documents, but for the note."""
    args = line.split()
    code, out, said = outputs("once", *args)
    assert code in (0, 1) and out
    for folder, options, what in (
        ("passages", ("--max-passage", "#"), "3 passages"),
        ("twice", ("--duplicates", "best"), "3 duplicates"),
    ):
        its_code, its_out, lines = outputs(folder, *args, *options)
        its_out = its_out.replace(f", {options[0][2:].replace('-', '_')} = {options[1]}", "")  # by a gate
        note = [] if args[0] == "explain" else [f"note: r: {what} collapsed: {NOTE}"]
        assert [line for line in lines if "collapsed" in line] == note
        assert (its_code, its_out, [line for line in lines if line not in note]) == (code, out, said)


def test_validate() -> None:
    done = gradeval("validate", "passages/q", "passages/r.run", "--max-passage", "#")
    assert done.code == 0
    assert "  collapsed  3 lines, which leaves 6 documents" in done.out.splitlines()
    report = json.loads(gradeval("validate", "twice/q", "twice/r.run", "-f", "json").out)["files"][1]
    assert report["run"]["collapsed"] is None
    assert [error["hint"] for error in report["errors"]["first"]] == [first_in(0), first_in(1), first_in(6)]
    again = gradeval("validate", "twice/q", "twice/r.run", "-f", "json", "--duplicates", "best")
    report = json.loads(again.out)["files"][1]
    assert (again.code, report["run"]["collapsed"], report["run"]["documents"]) == (0, 3, 9)

"""Files that are not what they were given as: one error that names what they look like, and the conversion."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import gradeval
from gradeval.errors import InputError, InputErrors
from gradeval.formats.looks import look

QRELS = {"q1": {"a": 1, "b": 0}, "q2": {"c": 2}}
RUN = {"q1": {"a": 2.5, "b": 1.5}, "q2": {"c": 0.5}}
ROWS = [(q, d, g) for q, of in QRELS.items() for d, g in of.items()]
RANKED = [(q, d, r, s) for q, of in RUN.items() for r, (d, s) in enumerate(of.items(), 1)]


def lines(rows: list[tuple[object, ...]], separator: str = "\t", head: str = "", end: str = "\n") -> str:
    return (head + end if head else "") + "".join(separator.join(map(str, row)) + end for row in rows)


JSON = json.dumps(RUN)
JSONL = lines([(json.dumps({"query": q, "doc": d, "score": s}),) for q, d, _, s in RANKED])
TABLES = {  # (role, text): (the beginning of the hint, whether awk converts it)
    ("qrels", lines(ROWS, head="query-id\tcorpus-id\tscore")): "BEIR's qrels; ",
    ("qrels", lines(ROWS, ",", "query_id,doc_id,relevance")): "CSV with a header line ('query_id, doc_id, re",
    ("qrels", lines(ROWS, ",", "qid,docno,label", "\r\n")): "CSV with a header line ('qid, docno, label'); ",
    ("qrels", lines(ROWS, ";")): "CSV with semicolons; ",
    ("qrels", lines(ROWS)): "lines 'query document number'; ",
    ("qrels", lines(ROWS, " ")): "lines 'query document number'; ",
    ("run", lines([row[:3] for row in RANKED])): "a run of MS MARCO (query document rank); ",
    ("run", lines([(q, d, s) for q, d, _, s in RANKED], " ")): "lines 'query document number'; ",
    ("run", lines(RANKED, ",", "qid,docno,rank,score")): "CSV with a header line ('qid, docno, rank, score'); ",
    ("run", lines([(r, s, d, q) for q, d, r, s in RANKED], ",", "rank,sim,item_id,topic")): "CSV with a header",
    (
        "run",
        lines([(q, d, r) for q, d, r, _ in RANKED], ",", "qid,pid,rank"),
    ): "CSV with a header line ('qid, pid",
}
OTHERS = {
    ("run", JSON): "JSON; give the object to gradeval.evaluate() in Python, or write lines 'query Q0",
    ("run", json.dumps(RUN, indent=2)): "JSON; give the object",
    (
        "qrels",
        json.dumps(QRELS, indent=1),
    ): "JSON; give the object to gradeval.evaluate() in Python, or write lines 'query iter document grade'",
    ("qrels", json.dumps([1, 2])): "JSON; ",
    ("run", JSONL): "JSON Lines; give its rows",
    ("run", "<?xml version='1.0'?>\n<run>\n</run>\n"): "XML or HTML. Is this the right file?",
    ("run", "prediction\n0.5\n0.25\n-1e-3\n"): "scores, one per line, below a header line; remove it with tail",
    ("run", lines(ROWS, ",", '"query","text, quoted","score"')): "",
    ("run", lines(RANKED, ",", '"qid","doc_id","rank","score"')): 'CSV with a header line (\'"qid", "doc_id"',
}


def said(text: str, role: str, folder: Path) -> str:
    (folder / "given").write_text(text)
    run, qrels = (folder / "given", QRELS) if role == "run" else (RUN, folder / "given")
    with pytest.raises((InputError, InputErrors)) as caught:
        gradeval.evaluate(qrels, run, "AP", **{f"{role}_format": "trec"})
    return str(caught.value)


@pytest.mark.parametrize(("role", "text"), [*TABLES, *OTHERS])
def test_what_it_looks_like(role: str, text: str, tmp_path: Path) -> None:
    error = said(text, role, tmp_path)
    looks = ({**TABLES, **OTHERS})[role, text]
    assert "\n" not in error
    assert error.startswith(f"{tmp_path}/given:1: ")
    assert (f". This looks like {looks}" in error) if looks else ("looks like" not in error)
    count = len(text.splitlines())
    assert count == 1 or f" {count:,} lines" in error


@pytest.mark.skipif(not shutil.which("awk"), reason="awk is not installed")
@pytest.mark.parametrize(("role", "text"), TABLES)
def test_the_conversion_is_right(role: str, text: str, tmp_path: Path) -> None:
    """What the command of the hint makes of the file is evaluated as the original data."""
    error = said(text, role, tmp_path)
    command = error[error.index("awk") :]
    made = subprocess.run(
        ["sh", "-c", f"{command} given"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    (tmp_path / "made").write_text(made.stdout)
    files = (tmp_path / "made", RUN) if role == "qrels" else (QRELS, tmp_path / "made")
    found, expected = (gradeval.evaluate(*both, "AP nDCG num_ret") for both in (files, (QRELS, RUN)))
    assert found.values(0, "nDCG").tolist() == expected.values(0, "nDCG").tolist()
    assert found.values(0, "num_ret").tolist() == expected.values(0, "num_ret").tolist()


@pytest.mark.parametrize(
    ("magic", "name"),
    [
        (b"PAR1", "a Parquet file"),
        (b"ARROW1\0\0", "an Arrow file"),
        (b"\x93NUMPY\x01\0", "a NumPy array"),
        (b"\x89HDF\r\n", "an HDF5 file"),
        (b"SQLite format 3\0", "an SQLite database"),
        (b"\x80\x04", "a pickled Python object"),
    ],
)
def test_binary_files(magic: bytes, name: str, tmp_path: Path) -> None:
    path = tmp_path / "given"
    path.write_bytes(magic + b"\x15\0\x15 q\n1 2 3\n" * 50)
    for files in ((path, RUN), (QRELS, path)):  # of which Parquet and Arrow are read otherwise
        with pytest.raises(InputError) as caught:
            gradeval.evaluate(*files, "AP", qrels_format="trec", run_format="trec")
        assert str(caught.value) == (
            f"{path}: this is {name}. Give its rows to gradeval.evaluate() in Python as a data frame, "
            "or write them as TREC lines"
        )


def test_a_file_with_a_good_line_is_what_it_was_given_as(tmp_path: Path) -> None:
    """Each bad line is then an error of its own."""
    error = said(lines(ROWS, " ") + "q1 0 a 1\n", "qrels", tmp_path)
    assert [re.sub(".*given:", "", line) for line in error.split("\n")] == [
        f"{n}: 3 fields where qrels have 4 (query iter document grade)" for n in (1, 2, 3)
    ]


@pytest.mark.parametrize(
    "head",
    [
        b"",
        b"\n\n# no\n",
        b"\xff\xfe",
        b"q 0 d x",
        b"q Q0 d 1 abc tag",
        b"a b\n",
        b"{",
        b"\0",
        b"x,y\n1,2,3\n",
        b"q d x\n",
    ],
)
@pytest.mark.parametrize("role", ["run", "qrels", "score", "letor"])
def test_any_other_file_is_unknown(head: bytes, role: str) -> None:
    hint = look(head, role)
    assert isinstance(hint, str)
    assert head == b"{" or "awk" not in hint

"""Files that are not what they were given as: one error that names what they look like."""

import json
import re
import tarfile
from pathlib import Path

from helpers import each, error_of

import gradeval
from gradeval.errors import InputError, InputErrors

QRELS = {"q1": {"a": 1, "b": 0}, "q2": {"c": 2}}
RUN = {"q1": {"a": 2.5, "b": 1.5}, "q2": {"c": 0.5}}
ROWS = [(q, d, g) for q, of in QRELS.items() for d, g in of.items()]
RANKED = [(q, d, r, s) for q, of in RUN.items() for r, (d, s) in enumerate(of.items(), 1)]


def lines(rows: list[tuple[object, ...]], separator: str = "\t", head: str = "", end: str = "\n") -> str:
    return (head + end if head else "") + "".join(separator.join(map(str, row)) + end for row in rows)


JSONL = lines([(json.dumps({"query": q, "doc": d, "score": s}),) for q, d, _, s in RANKED])
# fmt: off
RANKS = [row[:3] for row in RANKED]
HEADER, READS = "its first line is a header of known column names", "format {0}: {1}; --{2}-format {0} reads it"
CSV = {role: READS.format("csv", HEADER, role) for role in ("qrels", "run")}
JSON = {role: READS.format("json", "it begins with a JSON object of objects", role) for role in CSV}
# the hint about a text, given as qrels or as a run, of which the reader is tried
TABLES = {
    ("qrels", lines(ROWS, head="query-id\tcorpus-id\tscore")):
        READS.format("beir", "its header is BEIR's: query-id, corpus-id, score", "qrels"),
    ("qrels", lines(ROWS, ",", "qid,docno,label")): CSV["qrels"],
    ("qrels", lines(ROWS, ",", "q_id,doc,rel", "\r\n")): CSV["qrels"],
    ("qrels", lines(ROWS, "\t", "qid\tdoc\trel")): READS.format("tsv", HEADER + ", separated by tabs", "qrels"),
    ("run", lines(RANKS)):
        READS.format("msmarco", "the third field counts 1, 2, … within the first query", "run"),
    ("run", lines(RANKED, ",", '"qid","doc_id","rank","score"')): CSV["run"],
    ("run", json.dumps(RUN)): JSON["run"],
    ("run", json.dumps(RUN, indent=2)): JSON["run"],
    ("qrels", json.dumps(QRELS, indent=1)): JSON["qrels"],
    ("run", JSONL): READS.format("jsonl", "it begins with a JSON object of values", "run"),
}
BEFORE = "format {}; remove the first line with tail -n +2"
OTHERS = {
    ("qrels", lines(ROWS, ";")): "",
    ("run", "<!DOCTYPE html>\n<p>q1 d1 1\n</html>\n"): "",
    ("qrels", "0.5\n1\n"): READS.format("scores", "its first lines of data are numbers, one per line", "run")
        .replace("--run-format scores reads it", "it needs a LETOR file as qrels"),
    ("letor", "q1 0 d1 1\nq1 0 d2 0\n"): "qrels; --qrels-format trec reads it",
    ("letor", "q1 Q0 d1 1 2.5 t\n"): "a run; the qrels come first, then the runs",
    ("run", "sep=;\nqid;docno;score\nq1;a;2.5\n"): BEFORE.format("csv"),
    ("run", "prediction\n0.5\n0.25\n-1e-3\n"): BEFORE.format("scores"),
    ("run", lines(ROWS, ",", '"query","text, quoted","score"')): CSV["run"],
}
# fmt: on


@each(("role", "text"), [*TABLES, *OTHERS])
def test_what_it_looks_like(role: str, text: str, tmp_path: Path) -> None:
    (tmp_path / "given").write_text(text)
    files = (QRELS, tmp_path / "given") if role == "run" else (tmp_path / "given", RUN)
    how = {"qrels_format": role} if role == "letor" else {f"{role}_format": "trec"}
    error = error_of((InputError, InputErrors), gradeval.evaluate, *files, "AP", **how)
    looks = ({**TABLES, **OTHERS})[role, text]
    assert "\n" not in error
    assert error.startswith(f"{tmp_path}/given:1: ")
    hint = re.search(r"(?:\. T|\. Below it, t)his looks like (.*)$", error)
    assert (hint[1] if hint else "") == looks
    count = len(text.splitlines())
    assert count == 1 or f" {count:,} lines" in error


@each(("role", "text"), TABLES)
def test_what_the_hint_says_is_right(role: str, text: str, tmp_path: Path) -> None:
    (tmp_path / "given").write_text(text)
    files = (tmp_path / "given", RUN) if role == "qrels" else (QRELS, tmp_path / "given")
    found, expected = (gradeval.evaluate(*data, "nDCG num_ret") for data in (files, (QRELS, RUN)))
    assert found.runs[0].values.tolist() == expected.runs[0].values.tolist()


@each("role", ["qrels", "run"])
def test_nothing_is_guessed_where_the_first_lines_are_a_long_comment(role: str, tmp_path: Path) -> None:
    (tmp_path / "given").write_text(f"# {'x' * 5000}\na b\na c\n")
    files = (tmp_path / "given", RUN) if role == "qrels" else (QRELS, tmp_path / "given")
    error = error_of((InputError, InputErrors), gradeval.evaluate, *files, "AP")
    assert error.startswith(f"{tmp_path}/given:2: 2 fields where")
    assert "looks like" not in error


BINARY = {
    b"PAR1": "a Parquet file. --qrels-format parquet and --run-format parquet read it",
    b"ARROW1\0\0": "an Arrow file. --qrels-format arrow and --run-format arrow read it",
    b"\x93NUMPY\x01\0": "a NumPy array. Load it in Python,",
    b"\x89HDF\r\n": "an HDF5 file. Load it in Python,",
    b"SQLite format 3\0": "an SQLite database. Load it in Python,",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": "a workbook of spreadsheets. Save the sheet as CSV",
    b"\x80\x04": "a pickled Python object. Load it in Python,",
}


@each("magic", BINARY)
def test_binary_files(magic: bytes, tmp_path: Path) -> None:
    path = tmp_path / "given"
    path.write_bytes(magic + b"\x15\0\x15 q\n1 2 3\n" * 50)
    for files in ((path, RUN), (QRELS, path)):  # of which Parquet and Arrow are read otherwise
        error = error_of(InputError, gradeval.evaluate, *files, "AP", qrels_format="trec", run_format="trec")
        assert error.startswith(f"{path}: this is {BINARY[magic]}")


@each("mode", ["w", "w:gz", "w:bz2"])
def test_archives(mode: str, tmp_path: Path) -> None:
    (tmp_path / "run").write_text("q1 Q0 a 1 1 t\n")
    with tarfile.open(tmp_path / "given", mode) as archive:
        archive.add(tmp_path / "run", "run")
    expected = f"{tmp_path}/given: this is a tar archive. Extract it first, with tar -xf"
    for files in ((tmp_path / "given", RUN), (QRELS, tmp_path / "given")):
        assert error_of(InputError, gradeval.evaluate, *files, "AP") == expected
    assert error_of(InputError, gradeval.convert, tmp_path / "given", tmp_path / "made.json") == expected


def test_most_lines_are_wrong(tmp_path: Path) -> None:
    """In several ways, from the first on, and more than are shown: one error. Others are listed."""
    right, short, long = "q1 0 d1 1\n", "some words\n", "a text of more words\n"
    for text, count in (
        (short + long * 20 + right, 1),
        (right + short + long * 20, 21),
        (short * 21 + right, 21),
        (short + long * 3 + right, 4),
    ):
        path = tmp_path / "qrels"
        path.write_text(text)
        error = error_of((InputError, InputErrors), gradeval.evaluate, path, RUN)
        assert len(error.splitlines()) == count and ("most of the 22 lines are wrong" in error) == (count == 1)

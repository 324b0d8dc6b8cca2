"""Errors in CSV, JSON, Parquet, Arrow and MS MARCO: what is said, and the line."""

from __future__ import annotations

import struct
from random import Random

import pytest
from helpers import each

from formats.reading import RATING, errors_of, read
from formats.written import ARROW, ROWS
from gradeval import evaluate
from gradeval.errors import GradevalError
from gradeval.options import QRELS_FORMATS, RUN_FORMATS

NUL = "binary data (a NUL byte). Is this the right file?"
NO_GRADE = " no grade column (relevance, rel, grade, label, rating, qrel); the columns are "
OPEN_QUOTE = "the quoted field that begins here is not closed"
INCOMPLETE = "unexpected end of file: the JSON object is not closed. Fetch the file again"
MORE = "there is more after the end of the JSON object. For an object a line, give --run-format jsonl"
A_LIST = "Needed is {query: {document: number}}; write a list of objects one a line: jq -c '.[]'"
RANKS = "Ranks must be 1, 2, … for each query in the order of the file"
THREE = "where a line has 3, separated by tabs (query passage rank)"
COMMA = "not valid JSON: a comma between members is expected before"
IN_QUOTES = ". A field with ',' in it must be in double quotes"
A_LINE = b'{"qid": "q", "pid": "a", "score": 1}\n'
EITHER = " the file may be of format msmarco or ranklib. Give its format: --run-format msmarco or ranklib"
QRELS_FIRST = "The qrels come first, then the runs"


@each(
    ("text", "number", "errors"),
    [
        (b"query_id,doc_id,score\nq,a,1\nq,b,x\nq,c\n,d,1\nq,,1\nq,f,nan\n", "score", [
            "3: the score 'x' is not a number", "4: 2 fields where the header has 3",
            "5: the query id is empty",
            "6: the document id is empty", "7: the score 'nan' is not a finite number"]),
        (b'query_id,doc_id,score\n"q\n1",a,1\nq,b,x\nq,c,1,1\n', "score", [
            "4: the score 'x' is not a number", f"5: 4 fields where the header has 3{IN_QUOTES}"]),
        (b'query_id,doc_id,score\nq,a,1\nq,"b,1\nq,c,1\n', "score", [f"3: {OPEN_QUOTE}"]),
        (b'query_id,doc_id,score\nq,a,1\nq,"b"x,1\n', "score", ["3: ',' expected after '\"'"]),
        (b"query_id,doc_id,score\nq,a,1\nq,b\0,1\n", "score", [f"3: {NUL}"]),
        (b'query_id,doc_id,score\n"q",a,1\nq,b\0,1\n', "score", [f"3: {NUL}"]),
        (b"query_id,doc_id,score\n", "grade", [
            f"{NO_GRADE}'query_id', 'doc_id', 'score'. Name it with --columns grade=NAME"]),
        (b"user_id,query_id,doc_id,score\n", "score", [
            " the query column may be 'user_id' or 'query_id'. Choose with --columns query=NAME"]),
        (b"query_id,doc_id,relevance\nq,a,\n", "grade", [f"2: the grade '' is not a number. {RATING}"]),
        (b'{"q": {"a": 1, "b": "x"}, "r": {"c": null}, "s": 3}', "score", [
            """1: $['q']['b']: the score 'x' is not a number""", """1: $['r']['c']: the score is missing""",
            """1: $['s']: 3 is not an object of documents"""]),
        (b'{\n"q": {\n"a": 1,\n"b": NaN}}', "score", ["4: $['q']['b']: the score nan is not a finite number"]),
        (b'{"q": {"a": 1, "b": 2}', "score", [f"1: {INCOMPLETE}"]),
        (b'{"q": {"a": 1, "b', "score", ["1: not valid JSON (Unterminated string)"]),
        (b'{"q": {"a": 1 "b": 2}}', "score", [f"1: {COMMA} '\"b\": 2}}'"]),
        (b'{"q": {"a": 1,}}', "score", ["1: not valid JSON: a key in double quotes is expected before '}'"]),
        (b'{"q": {"a": 1}} {"r": {"a": 1}}', "score", [
            f"1: {MORE} or --qrels-format jsonl"]),
        (b'{"q": {"a\\u0000": 1}}', "score", [
            "1: $['q']['a\\x00']: the document id 'a\\x00' contains a NUL byte"]),
        (b'{"q": {"a": 1}}\0', "score", None),
        (b"query_id,doc_id,score\n", "score", [" no data: there is no row below the header"]),
        (b" { \n}\n", "score", [" no data: the object is empty"]),
        (b'[{"query_id": "q"}]', "score", [
            f"1: this is not a JSON object. {A_LIST}"]),
        (A_LINE + b'{"qid": "q", "pid": "b"}\nx\n{"qid": null, "pid": "b", "score": "y"}\n3\n', "score", [
            "2: the object has no 'score'", "3: not valid JSON (Expecting value in column 1)",
            "4: the query id is missing",
            "4: the score 'y' is not a number", "5: 3 is not a JSON object"]),
        (A_LINE + b'{"qid": "q", "pi', "score", [
            "2: not valid JSON (Unterminated string in column 14)"]),
        (b'{"mteb_model_meta": {"a": {}}, "default": {"test": {"q": {"a": 1}}}}', "grade", [
            " this is a predictions file of MTEB, not qrels"]),
        (b"q\td\t1\nq\te\t2\nr\td\t2\n", "score", [
            f"3: the rank is 2 where query 'r' needs 1. {RANKS}"]),
        (b"q\td\t1\nq\te\t2\nr\td\t1\nq\tf\t1\n", "score", [
            f"4: the rank is 1 where query 'q' needs 3. {RANKS}"]),
        (b"q\td\t1\nq\te\t2\nr\td\n\nr\t\t2\nr x 3\n", "score", [
            f"3: 2 fields {THREE}",
            f"5: 2 fields {THREE}",
            f"6: 1 field {THREE}"]),
        (b"q\td\t1\nq\te\t2\n", "grade", [
            f" this looks like a run of MS MARCO (query passage rank). {QRELS_FIRST}"]),
        (b"q\t0\t0.5\nq\t1\t2\n", "grade", [
            f" this looks like scores of RankLib (query index score). {QRELS_FIRST}"]),
        (b"q\t0\t1\n", "score", [EITHER]),
    ],
)  # fmt: skip
@each("size", [1, 1 << 20])
def test_errors(text, number, errors, size, put):
    found = errors_of(put(text, size), number)
    if errors is not None:
        assert found == errors
    with pytest.raises(GradevalError):
        evaluate(
            *((put(text).path, {"q": {"a": 1}}) if number == "grade" else ({"q": {"a": 1}}, put(text).path))
        )


@each("name", sorted({*QRELS_FORMATS, *RUN_FORMATS} - {"trec", "letor", "scores", "ranklib"}))
@each("content", [b"", b"q 0 d 1\n", b"\x89PNG\r\n\x1a\n\0\0\0", b"\xff\xfe{\0", b"{", b"\n\n"])
def test_a_file_of_another_format(name, content, put):
    if name in ("parquet", "arrow"):
        pytest.importorskip("pyarrow")
    for number, option in (("grade", "qrels_format"), ("score", "run_format")):
        if name == "msmarco" and (number == "grade" or not content.strip()):
            continue
        assert all("Traceback" not in line for line in errors_of(put(content), number, **{option: name}))


@pytest.mark.parametrize("writer", ARROW)
def test_truncated_arrow_files(writer, put):
    text = ARROW[writer](ROWS * 100)
    for end in (len(text) // 2, len(text) - 3):
        if writer != "arrow stream" or end < len(text) - 10:
            [error] = errors_of(put(text[:end]))
            assert "file is damaged or incomplete" in error


@pytest.mark.parametrize("writer", ["arrow", "arrow stream"])
def test_damaged_buffers_of_files(writer, put):
    """An offset that falls is no id with the bytes of others, nor one that lies outside the text."""
    text = ARROW[writer]([("q", f"d{i}", 1.0) for i in range(10, 12)])
    offsets = struct.pack("<3i", 0, 3, 6)
    assert text.count(offsets) == 1
    for damaged in ((0, 7, 6), (0, 3, 1 << 30), (-1, 3, 6)):
        [error] = errors_of(put(text.replace(offsets, struct.pack("<3i", *damaged))))
        assert error.startswith(" the Arrow file is damaged or incomplete (")
    [error] = errors_of(put(text.replace(b"d10d11", b"d10d\xff1")))
    assert "Invalid UTF8" in error


@pytest.mark.parametrize("writer", ARROW)
def test_any_error_of_pyarrow_is_one_line(writer, put):
    """Some are errors of Python's own, and none reserves what a damaged length says."""
    text = ARROW[writer](ROWS)
    random = Random(4)
    for _ in range(60):
        place, bit = random.randrange(8, len(text)), 1 << random.randrange(8)
        file = put(text[:place] + bytes([text[place] ^ bit]) + text[place + 1 :])
        try:
            read(file, run_format="parquet" if writer.startswith("parquet") else "arrow")
        except GradevalError as error:
            assert all(line.startswith(file.name) for line in str(error).splitlines())


@pytest.mark.parametrize(("kind", "name"), [("parquet", "Parquet"), ("arrow", "Arrow")])
def test_text_that_is_given_as_another_format(kind, name, put):
    pytest.importorskip("pyarrow")
    expected = f" this is no {name} file. Omit the format: it is detected"
    for text in (b"1 Q0 a 1 1 t\n", b"", b"ARROW1", b"PAR"):
        assert errors_of(put(text), run_format=kind) == [expected]

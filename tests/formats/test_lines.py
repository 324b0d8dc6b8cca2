"""Small text files: query ids, groups of queries, TOML; JSON with lists of documents."""

import gzip
import json
from itertools import count
from pathlib import Path

import numpy as np
from helpers import each, each_row, error_of, raises
from plain import Cut

import gradeval
from gradeval.arrays.strings import PAD
from gradeval.errors import InputError, InputErrors
from gradeval.formats.lines import TomlFile, read_groups, read_query_ids, read_toml
from gradeval.formats.sources import Block, Source

SIZES = [1, 5, 1 << 20]


def ids_of(path, text, size=1 << 20):
    path.write_bytes(text)
    return read_query_ids(Cut(path, size), {"1", "2", "é", "\udcff"}, "qrels")


@each("size", SIZES)
def test_ids(size, tmp_path):
    text = b"# some\n2 1\t2\r\n\n  # 7\n\xc3\xa9\n\xff\n1"
    for stored in (text, gzip.compress(text), b"\xef\xbb\xbf" + text):
        assert ids_of(tmp_path / "ids", stored, size) == ("2", "1", "é", "\udcff")
    assert ids_of(tmp_path / "ids", b"# 1\n", size) == ()
    raises(InputError, r"binary data \(a NUL byte\)", ids_of, tmp_path / "ids", b"1\n2\0\n", size)


TEXTS = {"how to, cook", "cook", 'say "hi"', "# hash", "7"}


@each_row(
    (b"how to, cook\n7 cook\n# hash\n# comment\n", ("how to, cook", "7", "cook", "# hash")),
    (b'\n"how to, cook"\r\n"say ""hi"""\ncook\n', ("how to, cook", 'say "hi"', "cook")),
    (b'# of today\nweight;Query Text\n1;"how to, cook"\n;\n2;cook\n', ("how to, cook", "cook")),
    (b'query\ncook\n"how to, cook"\nsay "hi"\n', ("cook", "how to, cook", 'say "hi"')),
    (b"qid\ttitle\n7\tof seven\n", ("7",)),
)
def test_ids_that_are_texts(text: bytes, ids: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "ids").write_bytes(text)
    assert read_query_ids(Source(tmp_path / "ids"), TEXTS, "qrels") == ids


def test_a_query_may_be_named_as_a_column(tmp_path: Path) -> None:
    (tmp_path / "ids").write_text("query cook\ncook")
    assert read_query_ids(Source(tmp_path / "ids"), {"query", "cook"}, "qrels") == ("query", "cook")
    error = error_of(InputError, read_query_ids, Source(tmp_path / "ids"), {"cook"}, "qrels")
    assert error.endswith(":1: query 'query' is not in qrels")
    error = error_of(InputError, read_query_ids, Source(tmp_path / "ids"), {"a b"}, "qrels").splitlines()
    assert error[0].endswith(":1: query 'query cook' is not in qrels")


def test_ids_that_never_end(monkeypatch):
    """A pipe of ids is not read beyond the errors that are shown, nor held in memory."""

    def blocks(self, size=0):
        for number in count():
            text = b"1 2\n%d\n" % (number + 10)
            yield Block(np.frombuffer(text + bytes(PAD), np.uint8), len(text), not number, False)

    monkeypatch.setattr(Source, "blocks", blocks)
    *lines, end = error_of(InputErrors, read_query_ids, Source("ids"), {"1", "2"}, "qrels").splitlines()
    assert lines == [f"ids:{2 * n}: query '{n + 9}' is not in qrels" for n in range(1, 21)]
    assert end == "ids:40: reading stopped here"


def read(tmp_path: Path, data: bytes) -> dict[str, list[str]]:
    (tmp_path / "g").write_bytes(data)
    return read_groups(Source(tmp_path / "g"))


def test_groups(tmp_path: Path) -> None:
    text = b"query\tgroup\r\n# a comment\nq1\tshort queries\r\nq\xff\tlong\n\nq2\tshort queries\nq1\tlong\n"
    assert read(tmp_path, text) == {"short queries": ["q1", "q2"], "long": ["q\udcff", "q1"]}
    assert read(tmp_path, b"group\tother\n") == {"other": ["group"]}  # no header
    for text in (
        b'query,group\n"q,1",a\nq2,"b"\n',
        b'group;n;qid\na;1;"q,1"\n;;\nb;2;q2\n',
        b'"q,1",a\nq2,b\n',
    ):
        assert read(tmp_path, text) == {"a": ["q,1"], "b": ["q2"]}


@each_row(
    (b"", "g: the file is empty"),
    (b"# only this\n", "g: no data: all lines are blank or comments"),
    (b"query,group\nq1\n", "g:2: a line has a query and its group, with ',' between"),
    (b"q1 short\n", "g: no line has a tab. Write 'query TAB group' lines, or CSV"),
    (b"q1\ta\tb\n", "g:1: a line has a query and its group, with a tab between"),
    (
        b"q1\t\n\tx\n",
        "g:1: a line has a query and its group, with a tab between\ng:2: a line has a query and its group, "
        "with a tab between",
    ),
    (
        b"query,kind,x\nq1,a,1\nq2,b,1\n",
        "g:1: a line has a query and its group, with ',' between, and none of the 3 lines is right. A table "
        "with other columns has a header: query, group",
    ),
    (b"q1\ta\nq1\tb\nq1\ta\n", "g:3: query 'q1' is in group 'a' twice"),
)
def test_refused(text: bytes, message: str, tmp_path: Path) -> None:
    assert error_of((InputError, InputErrors), read, tmp_path, text).replace(f"{tmp_path}/", "") == message


def toml(path: Path, data: bytes) -> TomlFile:
    path.write_bytes(data)
    return read_toml(Source(path))


def test_toml(tmp_path: Path) -> None:
    file = toml(tmp_path / "t", b"\xef\xbb\xbfa = 1\r\n[b]\r\nc = ['x', \"y\"]\r\n")
    assert file.content == {"a": 1, "b": {"c": ["x", "y"]}}
    assert toml(tmp_path / "t", b"").content == {}


@each_row(
    ("# relative\n[options]\nrel = 1", "rel", "options", 3),
    ("# relative\n[options]\nrel = 1", "rel", "", 3),
    ("[options]\nx = 1  # rel = 2\n'rel' = 1", "rel", "options", 3),
    ("[options]\nx = 'a # b rel'\n\"rel\"=1", "rel", "options", 3),
    ("x = 'rel.run'\noptions.rel = 1\n[a.options]\nrel = 1", "rel", "options", 2),
    ("x = 'rel'\noptions = { x = 1, rel = 1 }\n[a.options]\nrel = 1", "rel", "options", 2),
    ("rel = 1\n[a]\noptions.rel = 1\n[a.b]\nrel = 1", "rel", "a.options", 3),
    ("[a.options]\nrel = 1\n[options] # rel = 1\nrel = 2\n[b]\nrel = 2", "rel", "options", 4),
    ("[options]\nquery_weights.'401' = 1", "query_weights", "options", 2),
    ("# gates\n[x.gates]", "gates", "", 2),
    ("key = 1\n[b]\nkey = 'text'", "text", "b", 3),
    ("key = 1\n[b]\nkey = 'text'", "key", "none", 1),
    ("# rel = 1", "rel", "", None),
    ("x = [\n'a', # AP > 0\n 'AP > 0']", "AP > 0", "", 3),
    ('x = """it\'s\nrel\n"""\nrel = 1', "rel", "", 4),
)
def test_the_line_of_a_key(text: str, key: str, table: str, line: int | None) -> None:
    assert TomlFile("t", text, {}).line_of(key, table) == line


@each_row(
    (b"a = 1\nb = \n", ":2: this is not TOML (Invalid value)"),
    (b"a = 1\na = 2\n", ":2: this is not TOML (Cannot overwrite a value)"),
    (b"a = '\xff'\n", ": this is not TOML, which is UTF-8"),
    (b"a = \0\n", ":1: binary data"),
    (b"a = " + b"[" * 100_000, ": this TOML cannot be read (RecursionError)"),
    (b"a = " + b"9" * 9999, ": this TOML cannot be read (ValueError)"),
    (b"q1 0 d1 1\n", ":1: this is not TOML (Expected '='"),
)
def test_not_toml(data: bytes, message: str, tmp_path: Path) -> None:
    error = error_of(InputError, toml, tmp_path / "t", data)
    assert error.startswith(f"{tmp_path / 't'}{message}")
    assert "\n" not in error


RUN = {"q": {"b": 3.0, "a": 2.0, "x": 1.0}, "r": {"a": 1.0}}
QRELS = {"q": {"a": 2, "b": 0}, "r": {"a": 1}}
METRICS = "nDCG RR num_ret num_rel"


def values(qrels, run):
    return gradeval.evaluate(qrels, run, METRICS).runs[0].values.tolist()


def of_search(document, query):
    """Judgments as a search engine has them, with these names of members."""
    return [
        {query: name, "ratings": [{"_index": "i", document: d, "rating": g} for d, g in documents.items()]}
        for name, documents in QRELS.items()
    ]


JUDGMENTS = {
    "Elasticsearch": {"requests": of_search("_id", "id"), "metric": {}},
    "requests last": {"metric": {}, "requests": of_search("_id", "id")},
    "OpenSearch": of_search("docId", "query"),
    "lists": {q: [{"doc_id": d, "grade": g} for d, g in of.items()] for q, of in QRELS.items()},
}
RUNS = {
    "objects": {q: [{"score": s, "doc_id": d} for d, s in of.items()] for q, of in RUN.items()},
    "hits": {q: [{"_id": d, "_score": s} for d, s in of.items()] for q, of in RUN.items()},
    "ids": {q: [*of] for q, of in RUN.items()},
}


@each("indent", [None, 1])
@each("form", [*JUDGMENTS, *RUNS])
def test_lists_of_documents(form, indent, tmp_path) -> None:
    path = tmp_path / "file"
    path.write_text(json.dumps((JUDGMENTS | RUNS)[form], indent=indent))
    assert values(*((path, RUN) if form in JUDGMENTS else (QRELS, path))) == values(QRELS, RUN)


@each_row(
    ('{"q": ["a",]}', ":1: not valid JSON"),
    ('{"q": ["a"], "q": ["b"]}', ": the key 'q' is in the object twice"),
    ('{"q": ["a"], "r": 1}', ": $['r']: 1 is not a list of documents"),
    ('{"q": ["a", null]}', ": $['q'][1]: the document id is missing"),
    ('{"q": [{"doc_id": "a", "score": "x"}]}', ": $['q'][0]: the score 'x' is not a number"),
    ('{"q": [{"doc_id": "a", "rank": "x"}]}', ": $['q'][0]: the rank 'x' is not a number"),
    ('[{"query": "q", "ratings": [{"docId": "a", "rating": 1}]}]', ": these are judgments, not a run."),
    ('{"q": []}', ": no data"),
)
def test_errors(text, message, tmp_path) -> None:
    path = tmp_path / "run"
    path.write_text(text)
    assert error_of(gradeval.GradevalError, values, QRELS, path).startswith(f"{path}{message}")

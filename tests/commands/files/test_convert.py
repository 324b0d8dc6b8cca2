"""Files converted between all formats: ids and numbers are the same, or an error names what is not."""

import bz2
import csv
import gzip
import io
import json
import lzma
from importlib.util import find_spec
from pathlib import Path

import pytest
from helpers import each, error_of, examples
from hypothesis import assume, given
from hypothesis import strategies as st

import gradeval
from gradeval.errors import LARGEST_GRADE, SMALLEST_GRADE, GradevalError, InputError, InputErrors
from gradeval.file_formats import WRITTEN_FORMATS
from gradeval.formats.columns import Columns
from gradeval.formats.sources import Source
from gradeval.options import Options
from gradeval.tables.load import open_file

HAS_ARROW = find_spec("pyarrow") is not None
FORMATS = [name for name in WRITTEN_FORMATS if HAS_ARROW or name not in ("parquet", "arrow")]
TARGETS = {role: [name for name in FORMATS if role == "qrels" or name != "beir"] for role in ("qrels", "run")}
ROLES = st.sampled_from(["qrels", "run"])
ODD = st.text(st.characters(exclude_characters="\0"), min_size=1).map(
    lambda text: text.encode("utf-8", "surrogatepass")
)
BYTES = st.binary(min_size=1, max_size=12).filter(lambda text: 0 not in text)
PLAIN = st.text(
    st.characters(min_codepoint=33, exclude_characters='#\x7f\x85\xa0"', exclude_categories=["Cs", "Z", "C"])
)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
GRADES = st.one_of(
    st.integers(-3, 9).map(float), FLOATS.filter(lambda x: x == 0 or SMALLEST_GRADE <= abs(x) <= LARGEST_GRADE)
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("convert")


def tables(ids, numbers):
    return st.dictionaries(ids, st.dictionaries(ids, numbers, min_size=1, max_size=5), min_size=1, max_size=4)


def as_csv(table, role):
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writerow(["query_id", "doc_id", "relevance" if role == "qrels" else "score"])
    for query, documents in table.items():
        for document, number in documents.items():
            fields = (one.decode("utf-8", "surrogateescape") for one in (query, document))
            writer.writerow([*fields, repr(number)])
    return text.getvalue().encode("utf-8", "surrogateescape")


def given_as(role, kind):
    if role == "qrels" and kind == "msmarco":
        kind = "trec"  # with tabs
    options = {"qrels_format" if role == "qrels" else "run_format": kind}
    options["jobs"] = 1
    return options | ({"features": "1"} if kind == "letor" and role == "run" else {})


def read(path, role, kind):
    """{query: {document: number}} of a file, in its order."""
    [file] = open_file(Source(path), role, Options(**given_as(role, kind)))
    parts = [file.table.columns(block) for block in file.table.blocks()]
    assert not any(part.problems.total for part in parts)
    whole = Columns.joined(parts)
    table = {}
    for q, query in enumerate(whole.queries.tolist()):
        rows = range(whole.bounds[q], whole.bounds[q + 1])
        table.setdefault(query, {}).update((whole.documents[row], float(whole.value[row])) for row in rows)
    return table


def exact(table):
    return [
        (query, [(document, repr(number + 0.0)) for document, number in of.items()])
        for query, of in table.items()
    ]


def converted(source, target, role, kind, to, **more):
    return gradeval.convert(source, target, to, role=role, **given_as(role, kind), **more)


def ranked(table):
    """What MS MARCO's run keeps of one: minus the rank, ties by document id descending."""
    return {
        query: {
            document: -float(rank)
            for rank, document in enumerate(sorted(sorted(of, reverse=True), key=lambda one: -of[one]), 1)
        }
        for query, of in table.items()
    }


def expected(table, role, kind):
    return ranked(table) if role == "run" and kind == "msmarco" else table


@examples(times=0.4)
@given(st.data(), ROLES)
def test_every_pair_of_formats(folder, data, role):
    first, second = (data.draw(st.sampled_from(TARGETS[role])) for _ in range(2))
    numbers = st.integers(-3, 9).map(float) if role == "qrels" else FLOATS
    table = data.draw(tables(PLAIN.filter(bool).map(str.encode), numbers))
    begin, a, b = (Path(folder) / name for name in ("begin", "a", "b"))
    begin.write_bytes(as_csv(table, role))
    converted(begin, a, role, "csv", first)
    table = expected(table, role, first)
    assert exact(read(a, role, first)) == exact(table)
    converted(a, b, role, first, second)
    assert exact(read(b, role, second)) == exact(expected(table, role, second))


@examples(times=0.4)
@given(
    st.data(),
    ROLES,
    st.one_of(ODD, BYTES, st.sampled_from([b"#a", b"a b", b"a\tb", b'"', b"\xef\xbb\xbfa", b"\xff"])),
)
def test_odd_ids_are_kept_or_refused(folder, data, role, odd):
    """What a format cannot hold is an error, and nothing is written; anything else reads back equal."""
    kind = data.draw(st.sampled_from(TARGETS[role]))
    table = data.draw(tables(st.one_of(st.just(odd), ODD, BYTES), GRADES if role == "qrels" else FLOATS))
    begin, path = Path(folder) / "begin", Path(folder) / "odd"
    path.unlink(missing_ok=True)
    begin.write_bytes(as_csv(table, role))
    assume(exact(read(begin, role, "csv")) == exact(table))
    try:
        converted(begin, path, role, "csv", kind)
    except (InputError, InputErrors) as error:
        assert not path.exists()
        assert "cannot be written" in str(error)
        assert kind not in ("csv", "tsv")
        return
    assert exact(read(path, role, kind)) == exact(expected(table, role, kind))


RUN = "q1 Q0 a 1 2.50 t\nq1 Q0 b 2 1e3 t\nq1 Q0 c 3 1e3 t\nq2 Q0 a 1 .5 t\n"
AS_CSV = "query_id,doc_id,score\nq1,a,2.5\nq1,b,1000\nq1,c,1000\nq2,a,0.5\n"
LETOR = "1 qid:1 1:0.5 2:.5 # docid = a\n0 qid:1 1:0.2 # docid = b\n2 qid:2 1:1 # docid = c\n"
SCORES, RANKLIB = "0.25\n0.75\n0.5\n", "2\t0\t0.5\n1\t0\t0.25\n1\t1\t0.75\n"
OF_MODEL = "1 Q0 a 2 0.25 model\n1 Q0 b 1 0.75 model\n2 Q0 c 1 0.5 model\n"
IDENTICAL = "1 Q0 1 1 2 t\n1 Q0 b 2 1 t\n2 Q0 2 1 1 t\n"
IGNORED = {"ignore_identical_ids": True}
SAME = "1 0 a 1\n2 0 b 1\n1 0 a 1\n1 0 c 0.5\n"
DONE = [  # the input, what is written, in which format, and the options
    (RUN, "q1 Q0 a 3 2.5 t\nq1 Q0 b 2 1000 t\nq1 Q0 c 1 1000 t\nq2 Q0 a 1 0.5 t\n", "trec", {}),
    (RUN, "q1 Q0 c 1 1000 n\nq1 Q0 b 2 1000 n\nq1 Q0 a 3 2.5 n\nq2 Q0 a 1 0.5 n\n", "trec",
     {"sort": True, "tag": "n"}),
    (RUN, "q1 Q0 c 1 1000 t\nq2 Q0 a 1 0.5 t\n", "trec", {"top": 1}),
    (RUN, "q1 Q0 b 1 1000 t\nq2 Q0 a 1 0.5 t\n", "trec", {"top": 1, "ties": "input"}),
    (RUN, '{"q1": {"a": 2.5, "b": 1000.0, "c": 1000.0}, "q2": {"a": 0.5}}', "json", {}),
    ("q1 0 a 2\nq1 0 b 0\n", '{"q1": {"a": 2, "b": 0}}', "json", {}),
    ("1 Q0 a 1 3 t\n2 Q0 a 1 1 t\n1 Q0 b 2 4 t\n", "1 Q0 a 2 3 t\n1 Q0 b 1 4 t\n2 Q0 a 1 1 t\n", "trec", {}),
    (SAME, "1 0 a 1\n1 0 c 0.5\n2 0 b 1\n", "trec", {}),
    (IDENTICAL, "1 Q0 b 1 1 t\n", "trec", IGNORED),
    ("1 Q0 a#1 1 3 t\n2 Q0 a 1 1 t\n1 Q0 b 2 4 t\n1 Q0 a#2 1 5 t\n",
     "1 Q0 b 2 4 t\n1 Q0 a 1 5 t\n2 Q0 a 1 1 t\n", "trec", {"max_passage": "#"}),
    (LETOR, "query_id,doc_id,relevance\n1,a,1\n1,b,0\n2,c,2\n", "csv", {}),
    (LETOR, "query_id,doc_id,score\n1,a,0.5\n1,b,0\n2,c,0\n", "csv", {"features": "2"}),
    (SCORES, OF_MODEL, "trec", {"qrels": "l", "tag": "model"}),
    (RANKLIB, OF_MODEL, "trec", {"qrels": "l", "tag": "model"}),
    ('{"1": {"a": 1}}', "1 Q0 a 1 1 gradeval\n", "trec", {"role": "run"}),
]  # fmt: skip
NEED = "scores, one per line, need the LETOR file whose lines they are of. Give it with --qrels"
WRONG = [  # the input, the error, the format, and the options
    ("1 Q0 a 1 x t\n1 Q0 b 1 1 t\n1 Q0 b 1 1 t\n", "s:1: the score 'x' is not a number", "csv", {}),
    ("1 Q0 a 1 1 t\n2 Q0 b 1 1 t\n1 Q0 a 1 1 t\n", "s:3: duplicate document 'a'", "csv", {}),
    ("1 0 a 1\n1 0 b 1.5\n", "s:2: the grade 1.5 cannot be written: MS MARCO's are integers", "msmarco", {}),
    ("qid,docid,grade\n1,a b,1\n", "s:2: the document id 'a b' cannot be written: no spaces", "trec", {}),
    ("qid,docid,grade\n#1,a,1\n", "s:2: the query id '#1' cannot be written", "trec", {}),
    ("qid,docid,grade\n1,a,1\n1,\xff,1\n", "s:3: the document id '\\xff' cannot be written", "json", {}),
    ('qid,docid,grade\n1,a"b,1\n1,"""a",1\n', "s:3: the document id '\"a' cannot be written: no tabs",
     "beir", {}),
    ("1 Q0 1 1 2 t\n", "s: no document is left: the id of each is that of its query", "trec", IGNORED),
    ('{"1": {"a": 1}}', "s: the file may be qrels or a run. Say which with --as qrels|run", "trec", {}),
    ('{"gradeval": "1", "x": {}}', "s: a saved result has no documents. Give the run that it", "trec", {}),
    (SCORES, f"s: {NEED}", "trec", {}),
    (RUN, "qrels are for scores of LETOR lines only; s is of format trec", "trec", {"qrels": "l"}),
    (SCORES, "r: this is not a LETOR file. scores, one per line, are of the lines of", "trec", {"qrels": "r"}),
    (RUN, "role must be qrels or run", "csv", {"role": "rum"}),
    (RUN, "top must be an integer from 1", "csv", {"top": 0}),
    (RUN, "tag must be a string without spaces", "trec", {"tag": "a b"}),
    (RUN, "ties must be trec or input", "csv", {"ties": "best"}),
    (RUN, "top N documents can be chosen from runs only", "csv", {"role": "qrels", "top": 3}),
    (RUN, "beir is a format of qrels", "beir", {"role": "run"}),
    (RUN, "tag is for runs that are written as trec", "csv", {"role": "run", "tag": "t"}),
    (RUN, "tag is for runs that are written as trec", "trec", {"role": "qrels", "tag": "t"}),
]  # fmt: skip


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("l").write_text(LETOR)
    Path("r").write_text(RUN)
    Path("out").write_text("before")
    return tmp_path


@each("text, expected, to, options", DONE)
def test_what_is_written(files, monkeypatch, text, expected, to, options):
    """Numbers as the shortest texts, scores in JSON as floats; whatever the blocks that are read."""
    Path("s").write_text(text)
    for size in (1 << 20, 40, 15):
        monkeypatch.setattr(Source.blocks, "__defaults__", (size,))
        done = gradeval.convert("s", "out", to, **options)
        written = Path("out").read_text()
        assert (written if to != "json" else json.dumps(json.loads(written))) == expected
        counts = {SAME: ("qrels", 2, 3, 1, 1, 0, 0), RUN: ("run", 2, 2 if "top" in options else 4, 0, 0, 0, 0)}
        assert done == counts.get(text, done)


@each("text, message, to, options", WRONG)
def test_nothing_is_written_where_something_is_wrong(files, text, message, to, options):
    Path("s").write_bytes(text.encode("latin-1"))
    assert error_of(GradevalError, gradeval.convert, "s", "out", to, **options).startswith(message)
    assert Path("out").read_text() == "before"
    assert sorted(path.name for path in files.iterdir()) == ["l", "out", "r", "s"]


def test_compressed_output(files):
    for ending, opened in ((".gz", gzip.open), (".bz2", bz2.open), (".xz", lzma.open)):
        gradeval.convert("r", f"y.csv{ending}")
        with opened(f"y.csv{ending}", "rt") as file:
            assert file.read() == AS_CSV
        gradeval.convert(f"y.csv{ending}", "z.run", tag="t")
        assert exact(read("z.run", "run", "trec")) == exact(read("r", "run", "trec"))

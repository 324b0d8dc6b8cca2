"""Files converted between all formats: ids and numbers are the same, or an error names what is not."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
from importlib.util import find_spec
from pathlib import Path

import pytest
from helpers import each, examples
from hypothesis import assume, given
from hypothesis import strategies as st

import gradeval
from gradeval.commands.files.convert import format_by_ending
from gradeval.errors import (
    LARGEST_GRADE,
    SMALLEST_GRADE,
    GradevalError,
    InputError,
    InputErrors,
    OptionError,
)
from gradeval.formats.columns import Columns
from gradeval.formats.sources import Source
from gradeval.formats.write import WRITERS
from gradeval.options import Options
from gradeval.tables.load import open_file

HAS_ARROW = find_spec("pyarrow") is not None
FORMATS = [name for name in WRITERS if HAS_ARROW or name not in ("parquet", "arrow")]
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
    """Python's csv, which holds any bytes."""
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
    [file] = open_file(Source(path), role, Options.of(**given_as(role, kind)))
    parts = [file.table.columns(block) for block in file.table.source.blocks()]
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


@examples(times=0.7)
@given(st.data(), ROLES)
def test_every_pair_of_formats(folder, data, role):
    """From one format to another and back to where it came from."""
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


@examples(times=0.7)
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
QRELS = "q1 0 a 2\nq1 0 b 0\nq2 0 a 1\n"


@pytest.fixture
def run(tmp_path):
    path = tmp_path / "x.run"
    path.write_text(RUN)
    return path


def test_numbers_are_the_shortest_texts(run, tmp_path):
    gradeval.convert(run, tmp_path / "y.run")
    assert (tmp_path / "y.run").read_text() == (
        "q1 Q0 a 3 2.5 t\nq1 Q0 b 2 1000 t\nq1 Q0 c 1 1000 t\nq2 Q0 a 1 0.5 t\n"
    )


def test_json_scores_are_floats_and_grades_integers(run, tmp_path):
    gradeval.convert(run, tmp_path / "y.json")
    loaded = json.loads((tmp_path / "y.json").read_text())
    assert loaded == {"q1": {"a": 2.5, "b": 1000.0, "c": 1000.0}, "q2": {"a": 0.5}}
    assert all(type(score) is float for of in loaded.values() for score in of.values())
    (tmp_path / "qrels").write_text(QRELS)
    done = gradeval.convert(tmp_path / "qrels", tmp_path / "q.json")
    assert done == ("qrels", 2, 3, 0, 0, 0)
    assert '"a": 2' in (tmp_path / "q.json").read_text()


def test_sort_top_tag_ties(run, tmp_path):
    path = tmp_path / "y.run"
    gradeval.convert(run, path, sort=True, tag="new")
    rows = [line.split() for line in path.read_text().splitlines()]
    assert [(row[2], row[3]) for row in rows] == [("c", "1"), ("b", "2"), ("a", "3"), ("a", "1")]
    assert path.read_text().split()[5] == "new"
    gradeval.convert(run, path, top=1)
    assert path.read_text() == "q1 Q0 c 1 1000 t\nq2 Q0 a 1 0.5 t\n"
    gradeval.convert(run, path, top=1, ties="input")
    assert path.read_text() == "q1 Q0 b 1 1000 t\nq2 Q0 a 1 0.5 t\n"


def test_compressed_output(run, tmp_path):
    for ending, opened in ((".gz", gzip.open), (".bz2", bz2.open), (".xz", lzma.open)):
        path = tmp_path / f"y.csv{ending}"
        gradeval.convert(run, path)
        with opened(path, "rt") as file:
            assert file.read() == "query_id,doc_id,score\nq1,a,2.5\nq1,b,1000\nq1,c,1000\nq2,a,0.5\n"
        gradeval.convert(path, tmp_path / "z.run", tag="t")
        assert exact(read(tmp_path / "z.run", "run", "trec")) == exact(read(run, "run", "trec"))


@pytest.mark.parametrize("size", [15, 1 << 20])
def test_queries_that_come_again_are_joined(tmp_path, monkeypatch, size):
    """In the same block, or in a later one."""
    monkeypatch.setattr(Source.blocks, "__defaults__", (size,))
    path, target = tmp_path / "x.run", tmp_path / "y.run"
    path.write_text("1 Q0 a 1 3 t\n2 Q0 a 1 1 t\n1 Q0 b 2 4 t\n")
    gradeval.convert(path, target)
    assert target.read_text() == "1 Q0 a 2 3 t\n1 Q0 b 1 4 t\n2 Q0 a 1 1 t\n"


def test_no_file_of_group_sizes_is_written(tmp_path):
    plain, sizes = tmp_path / "plain", tmp_path / "sizes"
    plain.write_text("1 1:2\n0 1:3\n")
    for path, more in ((sizes, {"groups": str(sizes)}), (tmp_path / "plain.query", {})):
        path.write_text("2\n")
        with pytest.raises(OptionError, match="it is one of the input files"):
            gradeval.convert(plain, path, "trec", role="run", features=[1], **more)
        assert path.read_text() == "2\n"


@pytest.mark.parametrize("size", [1, 20, 40, 100])
def test_blocks_change_nothing(tmp_path, monkeypatch, size):
    monkeypatch.setattr(Source.blocks, "__defaults__", (size,))
    path, target = tmp_path / "x.run", tmp_path / "y.jsonl"
    run = {b"%d" % q: {b"d%d" % d: float(d % 3) for d in range(4 * q + 1)} for q in range(5)}
    path.write_bytes(b"".join(b"%s Q0 %s 1 %r t\n" % (q, d, s) for q, of in run.items() for d, s in of.items()))
    gradeval.convert(path, target)
    assert exact(read(target, "run", "jsonl")) == exact(run)


WRONG = [
    ("x.run", "1 Q0 a 1 x t\n1 Q0 b 1 1 t\n1 Q0 b 1 1 t\n", "csv", "x.run:1: the score 'x' is not a number"),
    ("x.run", "1 Q0 a 1 1 t\n1 Q0 b 1 1 t\n1 Q0 b 1 1 t\n", "csv", "x.run:3: duplicate document 'b'"),
    ("x.run", "1 Q0 a 1 1 t\n2 Q0 b 1 1 t\n1 Q0 a 1 1 t\n", "csv", "x.run:3: duplicate document 'a'"),
    ("q", "1 0 a 1\n1 0 a 2\n", "csv", "q:2: document 'a' has grade 2 here and 1 before in line 1"),
    ("q", "1 0 a 1\n1 0 b 1.5\n", "msmarco", "q:2: the grade 1.5 cannot be written: MS MARCO's are integers"),
    ("q.csv", "qid,docid,grade\n1,a b,1\n", "trec", "q.csv:2: the document id 'a b' cannot be written"),
    ("q.csv", "qid,docid,grade\n#1,a,1\n", "trec", "q.csv:2: the query id '#1' cannot be written"),
    ("q.csv", "qid,docid,grade\n1,a,1\n1,\xff,1\n", "json",
     "q.csv:3: the document id '\\xff' cannot be written"),
    ("q.csv", 'qid,docid,grade\n1,a"b,1\n1,"""a",1\n', "beir",
     "q.csv:3: the document id '\"a' cannot be written: no tabs or line ends, nor quotes"),
    ("x", "\n", "csv", "x: no data"),
]  # fmt: skip


@pytest.mark.parametrize("name, text, to, message", WRONG)
def test_nothing_is_written_where_something_is_wrong(tmp_path, monkeypatch, name, text, to, message):
    monkeypatch.chdir(tmp_path)
    Path(name).write_bytes(text.encode("latin-1"))
    Path("out").write_text("before")
    with pytest.raises((InputError, InputErrors)) as caught:
        gradeval.convert(name, "out", to)
    assert str(caught.value).startswith(message)
    assert Path("out").read_text() == "before"
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["out", name])


def test_all_errors_are_counted(tmp_path, monkeypatch):
    """Also those of later blocks, and of LETOR files, which are read at once."""
    monkeypatch.setattr(Source.blocks, "__defaults__", (40,))
    (tmp_path / "run").write_text("".join(f"1 Q0 {i} 1 {'x' if i % 2 else 1} t\n" for i in range(60)))
    (tmp_path / "letor").write_text("".join(f"{'x' if i % 2 else 1} qid:1 1:1\n" for i in range(60)))
    (tmp_path / "qrels").write_text("".join(f"1 0 {i} {i % 2 / 2}\n" for i in range(60)))
    validate = ". gradeval validate lists all of them"
    for name, hint in (("run", validate), ("letor", validate), ("qrels", "")):
        with pytest.raises(InputErrors) as caught:
            gradeval.convert(tmp_path / name, tmp_path / "out.tsv", "msmarco")
        *_, last = str(caught.value).splitlines()
        assert last == f"{tmp_path / name}: 10 more errors{hint}"


def test_a_file_without_a_right_line_is_not_read_to_its_end(tmp_path, monkeypatch):
    monkeypatch.setattr(Source.blocks, "__defaults__", (40,))
    (tmp_path / "x").write_text("q,d,1\n" * 500)
    with pytest.raises(InputError, match=r"and so in all \d\d lines read\. This looks like"):
        gradeval.convert(tmp_path / "x", tmp_path / "out.csv", role="run")


def test_qrels_given_as_a_run_need_another_role(run, tmp_path):
    (tmp_path / "qrels").write_text("1 0 a 1\n1 0 b 1\n")
    for name, role, other in (("qrels", "run", "qrels"), (Path(run).name, "qrels", "run")):
        with pytest.raises(InputError, match=f"This looks like .*; give --as {other}$"):
            gradeval.convert(tmp_path / name, tmp_path / "out.csv", role=role)


def test_duplicate_judgments_are_written_once(tmp_path):
    (tmp_path / "q").write_text("1 0 a 1\n2 0 b 1\n1 0 a 1\n1 0 c 0.5\n")
    done = gradeval.convert(tmp_path / "q", tmp_path / "q.trec")
    assert done == ("qrels", 2, 3, 1, 1, 0)
    assert (tmp_path / "q.trec").read_text() == "1 0 a 1\n1 0 c 0.5\n2 0 b 1\n"


def test_a_json_file_needs_a_role(tmp_path):
    path = tmp_path / "x.json"
    path.write_text('{"1": {"a": 1}}')
    with pytest.raises(InputError, match=r"qrels or a run.*--as"):
        gradeval.convert(path, tmp_path / "y.trec")
    assert gradeval.convert(path, tmp_path / "y.trec", role="run").role == "run"


def test_letor(tmp_path):
    path, target = tmp_path / "x.letor", tmp_path / "y.csv"
    path.write_text("2 qid:1 1:3 2:.5 # a\n0 qid:1 1:2 # b\n")
    for options, number, rows in (
        ({}, "relevance", "1,a,2\n1,b,0"),
        ({"features": "2"}, "score", "1,a,0.5\n1,b,0"),
    ):
        gradeval.convert(path, target, **options)
        assert target.read_text() == f"query_id,doc_id,{number}\n{rows}\n"


@each(
    "options, message",
    [
        ({"to": "xml"}, "to must be one of"),
        ({"role": "rum"}, "role must be qrels or run"),
        ({"top": 0}, "top must be an integer from 1"),
        ({"tag": "a b"}, "tag must be a string without spaces"),
        ({"ties": "best"}, "ties must be trec or input"),
        ({"role": "qrels", "top": 3}, "from runs only"),
        ({"role": "run", "to": "beir"}, "beir is a format of qrels"),
        ({"role": "run", "to": "csv", "tag": "t"}, "tag is for runs that are written as trec"),
        ({"role": "qrels", "to": "trec", "tag": "t"}, "tag is for runs that are written as trec"),
    ],
)
def test_options(run, tmp_path, options, message):
    with pytest.raises(OptionError, match=message):
        gradeval.convert(run, tmp_path / "y.csv", **options)
    assert not (tmp_path / "y.csv").exists()


def test_formats_by_ending():
    assert (format_by_ending("a/b.run.gz"), format_by_ending("B.JSON")) == ("trec", "json")
    for path in ("a.txt", "a", "run.gz", "json"):
        with pytest.raises(OptionError, match="means no format"):
            format_by_ending(path)


def test_identical_ids(tmp_path):
    source, target = tmp_path / "s", tmp_path / "t.run"
    source.write_text("1 Q0 1 1 2 t\n1 Q0 b 2 1 t\n2 Q0 2 1 1 t\n")
    gradeval.convert(source, target, ignore_identical_ids=True)
    assert target.read_text() == "1 Q0 b 1 1 t\n"
    source.write_text("1 Q0 1 1 2 t\n")
    with pytest.raises(InputError, match="no document is left: the id of each is that of its query"):
        gradeval.convert(source, target, ignore_identical_ids=True)


LETOR = "1 qid:1 1:0.5 # docid = a\n0 qid:1 1:0.2 # docid = b\n2 qid:2 1:1 # docid = c\n"


@pytest.mark.parametrize(
    "scores", ["0.25\n0.75\n0.5\n", "2\t0\t0.5\n1\t0\t0.25\n1\t1\t0.75\n"], ids=["scores", "ranklib"]
)
def test_scores_of_letor_lines(tmp_path, scores):
    letor, source, target = tmp_path / "l", tmp_path / "s", tmp_path / "t.run"
    letor.write_text(LETOR)
    source.write_text(scores)
    assert gradeval.convert(source, target, qrels=letor, tag="model").queries == 2
    assert target.read_text() == "1 Q0 a 2 0.25 model\n1 Q0 b 1 0.75 model\n2 Q0 c 1 0.5 model\n"
    found, expected = (gradeval.evaluate(letor, one, "AP nDCG") for one in (target, source))
    assert found.runs[0].values.tolist() == expected.runs[0].values.tolist()


REFUSED = [
    (
        "0.5\n",
        None,
        "s: scores, one per line, need the LETOR file whose lines they are of. Give it",
    ),
    ("1 Q0 a 1 1 t\n", LETOR, "qrels are for scores of LETOR lines only; s is of format trec"),
    ("0.5\n", "1 0 a 1\n", "l: this is not a LETOR file. scores, one per line, are of the lines of one"),
    ("0.5\n", LETOR, "s: there are 1 scores, but l has 3 lines of data"),
]


@pytest.mark.parametrize(("source", "qrels", "message"), REFUSED)
def test_scores_that_are_refused(tmp_path, monkeypatch, source, qrels, message):
    monkeypatch.chdir(tmp_path)
    Path("s").write_text(source)
    if qrels is not None:
        Path("l").write_text(qrels)
    with pytest.raises(GradevalError) as caught:
        gradeval.convert("s", "t.run", qrels=None if qrels is None else "l")
    assert str(caught.value).startswith(message)
    assert not Path("t.run").exists()

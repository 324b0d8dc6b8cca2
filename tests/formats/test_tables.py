"""Files of other tools: the same rows as from a TREC file or from dicts; errors with their lines."""

import csv
import io
import json
import sys
from functools import partial

import pytest
from helpers import each, each_row, raises
from hypothesis import example, given
from hypothesis import strategies as st

from formats.reading import COMPRESSED, PACKERS, Small, errors_of, read
from gradeval import OptionError, evaluate
from gradeval.formats.detect import detect
from gradeval.notices import NoticeKind
from gradeval.options import Options

SIZES = [1, 7, 40, 1 << 20]
ROWS = [
    ("q 1", "d,1", 2.5), ("q 1", 'd"2"', -1e-9), ("ü\t2", "x\ny", 3.0), ("ü\t2", "{", 1e300), ("3", "\\", 0.0),
]  # fmt: skip


def csv_text(rows, names="query_id doc_id score", order=(0, 1, 2), **dialect):
    out = io.StringIO(newline="")
    writer = csv.writer(out, **dialect)
    writer.writerow([names.split()[place] for place in order])
    writer.writerows([(query, document, repr(n))[place] for place in order] for query, document, n in rows)
    return out.getvalue()


def json_text(rows, **layout):
    nested = {}
    for query, document, number in rows:
        nested.setdefault(query, {})[document] = number
    return json.dumps(nested, **layout)


def jsonl_text(rows, **layout):
    objects = (
        {"query_id": query, "doc_id": document, "score": number, "tag": None}
        for query, document, number in rows
    )
    return "".join(json.dumps(one, **layout) + "\n" for one in objects)


def arrow_text(rows, kind, size=None):
    pyarrow = pytest.importorskip("pyarrow")
    columns = [list(column) for column in zip(*rows, strict=True)] if rows else [[], [], []]
    table = pyarrow.table(dict(zip(("query_id", "doc_id", "score"), columns, strict=True)))
    sink = io.BytesIO()
    if kind == "parquet":
        from pyarrow import parquet

        parquet.write_table(table, sink, row_group_size=size)
    else:
        open_sink = pyarrow.ipc.new_file if kind == "file" else pyarrow.ipc.new_stream
        with open_sink(sink, table.schema) as writer:
            writer.write_table(table, max_chunksize=size)
    return sink.getvalue()


WRITERS = {
    "csv": csv_text,
    "csv, all quoted": partial(csv_text, quoting=csv.QUOTE_ALL),
    "csv, ids quoted": partial(csv_text, quoting=csv.QUOTE_NONNUMERIC),
    "csv, unix": partial(csv_text, dialect="unix"),
    "csv, semicolons": partial(csv_text, delimiter=";"),
    "csv, other order": partial(csv_text, names="userID itemID prediction", order=(2, 0, 1)),
    "tsv": partial(csv_text, dialect="excel-tab"),
    "RecBole": partial(csv_text, names="user_id:token item_id:token score:float", delimiter="\t"),
    "BEIR's names in quotes": partial(
        csv_text, names="query-id corpus-id score", delimiter="\t", quoting=csv.QUOTE_ALL
    ),
    "json": json_text,
    "json, indented": partial(json_text, indent=2),
    "json, compact": partial(json_text, separators=(",", ":")),
    "json, unicode": partial(json_text, ensure_ascii=False),
    "jsonl": jsonl_text,
    "jsonl, unicode": partial(jsonl_text, ensure_ascii=False),
}
ARROW = {
    "parquet": partial(arrow_text, kind="parquet"),
    "parquet, row groups": partial(arrow_text, kind="parquet", size=2),
    "arrow": partial(arrow_text, kind="file", size=2),
    "arrow stream": partial(arrow_text, kind="stream"),
}


def written(name, rows):
    text = (WRITERS | ARROW)[name](rows)
    return text if name in ARROW else text.encode("utf-8", "surrogateescape")


@each(("place", "writer"), [*enumerate([*WRITERS, *ARROW])])
def test_odd_ids(place, writer, put):
    text = written(writer, ROWS)
    for size in SIZES if writer in WRITERS else SIZES[-1:]:
        assert read(put(text, size))[0] == ROWS
    assert read(put(PACKERS[COMPRESSED[place % len(COMPRESSED)]](text)))[0] == ROWS


def ids(exclude="\0\r"):
    return st.text(
        st.characters(exclude_characters=exclude, exclude_categories=["Cs"]), min_size=1, max_size=12
    )


documents = st.dictionaries(ids(), st.floats(-1e9, 1e9), min_size=1, max_size=4)
tables = st.dictionaries(ids().filter(lambda text: text[0] != "\ufeff"), documents, min_size=1, max_size=4).map(
    lambda table: [(query, document, score) for query, of in table.items() for document, score in of.items()]
)


@given(rows=tables, writer=st.sampled_from([*WRITERS]), size=st.sampled_from(SIZES))
@example(rows=[("\x85", "\ufeff", 1.0)], writer="csv", size=1)
@example(rows=[('"', ",", 1.0), ('"', '"', 2.0)], writer="csv, all quoted", size=1)
@example(rows=[("q\\\\", "d\\", 1.0), ("q\\\\", 'd\\"', 2.0)], writer="json", size=1)
def test_any_ids(rows, writer, size, path):
    path.write_bytes(written(writer, rows))
    assert read(Small(path, size))[0] == rows


QRELS = {"q1": {"a": 2, "b": 0}, "q2": {"c": 1}}


@each_row(
    (b"query-id\tcorpus-id\tscore\nq1\ta\t2\nq1\tb\t0\nq2\tc\t1\n", "beir"),
    (b"query_id,doc_id,relevance\r\nq1,a,2\r\nq1,b,0\r\nq2,c,1\r\n", "csv"),
    (b"\xef\xbb\xbfquery,docid,rating\nq1,a,2\nq1,b,0\nq1,x,\nq2,c,1", "csv"),
    (
        b"user_id:token\titem_id:token\trating:float\ttimestamp:float\nq1\ta\t2\t1\nq1\tb\t0\t1\nq2\tc\t1\t1\n",
        "tsv",
    ),
    (b"rank,qid,iter,docno,label\n1,q1,0,a,2\n\n1,q1,0,b,0\n1,q2,0,c,1\n", "csv"),
    (b"topic, doc_id, grade\nq1, a, 2\nq1, b, 0\nq2, c, 1\n", "csv"),
    (json.dumps(QRELS).encode(), "json"),
    (
        b'\n \r\n{"qid": "q1", "pid": "a", "rel": 2}\n\n{"rel": 0, "qid": "q1", "pid": "b"}\r\n'
        b'{"qid": "q2", "pid": "c", "rel": 1}',
        "jsonl",
    ),
)
def test_qrels(text, kind, put):
    source = put(text)
    assert detect(source) == kind
    assert read(source, "grade")[0] == [("q1", "a", 2.0), ("q1", "b", 0.0), ("q2", "c", 1.0)]
    assert evaluate(source.path, QRELS, "AP").means.tolist() == evaluate(QRELS, QRELS, "AP").means.tolist()


@each_row(
    (b"query_id,doc_id,score,rank\nq,a,2,9\n", 2.0),
    (b"query_id,doc_id,rank\nq,a,3\n", -3.0),
    (b"qid\tquery\tdocid\tdocno\trank\tscore\nq\ttext\t7\ta\t1\t2.5\n", 2.5),  # PyTerrier
    (b"userId|itemId|prediction\nq|a|4.5\n", 4.5),
    (b'{"query": "q", "doc": "a", "rank": 2}\n', -2.0),
)
def test_columns_of_runs(text, expected, put):
    assert read(put(text))[0] == [("q", "a", expected)]


def test_spaces_after_delimiters_are_of_the_format_where_each_name_has_one(put):
    assert read(put(b"query_id, doc_id,score\nq, a,2\n"))[0] == [("q", " a", 2.0)]


@each("name", ["run.csv", "run.jsonl", "run.parquet", ""])
def test_scores_that_are_ranks(name, tmp_path):
    """A column that a user names as the score is ranked by score, with a warning."""
    pandas = pytest.importorskip("pandas")
    qrels = {"q": {"a": 1, "b": 0}, "r": {"a": 1, "b": 0}, "s": {"a": 1}}
    rows = [*zip("qqrrs", "ababa", (1, 2, 1, 2, 1), strict=True)]
    run = pandas.DataFrame(rows, columns=["query", "doc", "place"])
    path = tmp_path / name
    write = {".csv": run.to_csv, ".jsonl": partial(run.to_json, orient="records", lines=True)}
    if name:
        write.get(path.suffix, run.to_parquet)(path)
    results = evaluate(qrels, path if name else run, "RR", columns={"score": "place"})
    assert results.mean(0, "RR") == 2 / 3
    ranks = [(notice.count, notice.total) for notice in results.notices if notice.kind is NoticeKind.RANKS]
    assert ranks == [(2, 2)]


def test_empty_ratings_are_unjudged(put):
    for text in ("query,docid,rating\nq,a,\nq,b,2\n", "Query Text,Doc ID,Rating\nq,a,\nq,b,2\n",
                 "rating:float,qid,docno\n2,q,b\n,q,a\n"):  # fmt: skip
        assert read(put(text.encode()), "grade")[0] == [("q", "b", 2.0)]
    named = {"columns": "query=q,document=d,grade=Rating"}
    assert read(put(b"q,d,Rating\nq,a,\nq,b,2\n"), "grade", **named)[0] == [("q", "b", 2.0)]


@each("text", [
    "query;doc;rel\nq;a;1\n;;\n;;\nq;b;2\n", 'query;doc;rel\r\nq;a;1\r\n"";"";""\r\n;;;;;\r\nq;b;2\r\n',
    "query;doc;rel\nq;a;1\n;\"\";\nq;b;2\n",
])  # fmt: skip
def test_rows_without_values_are_blank_lines(text, put):
    assert read(put(text.encode()), "grade")[0] == [("q", "a", 1.0), ("q", "b", 2.0)]


def test_given_columns(put):
    source = put(b"u,i,stars,when\nq,a,4,1\n")
    options = {"columns": "query=u,document=i,grade=stars"}
    assert detect(source) == "trec"
    assert read(source, "grade", **options)[0] == [("q", "a", 4.0)]
    when = {"query": "u", "document": "i", "score": "when"}
    assert read(source, "score", columns=when)[0] == [("q", "a", 1.0)]
    # the run may have its own names
    assert read(put(b"qid,docno,score\nq,a,4\n"), **options)[0] == [("q", "a", 4.0)]
    [error] = errors_of(put(b"qid,docno,rel\nq,a,4\n"), "grade", **options)
    assert error == " no column named 'stars'; the columns are 'qid', 'docno', 'rel'"
    for wrong in ("u", "user=u", "query=", "query=a,query=b"):
        raises(OptionError, "columns must be", Options, columns=wrong)


@each_row(
    (b"q\td\t2\n", "trec"), (b"q\td\t1\n", "msmarco"), (b"q\td\t1\nq\te\t3\n", "trec"),
    (b"q\td\t0.5\n", "trec"), (b"q\t0\t0.5\nq\t1\t1\n", "ranklib"), (b"q\t0\t0.5\nq\t2\t1\n", "trec"),
    (b"q d 1\n", "trec"), (b"q \td\t1\n", "trec"), (b"q\ta document in words\t1\n", "msmarco"),
    (b"q Q0 d\t1\t2.5 tag\n", "trec"), (b"query\tQ0\tdoc\t1\t2\ttag\n", "trec"),
    (b"query,1 Q0 doc_id,2 1 2 tag\n", "trec"), (b"run\tquery\tmetric\tvalue\n", "trec"),
    (b'{"a": {}}', "json"), (b"{}", "json"), (b'{"a": [1]}', "lists"), (b"{a 0 b 1\n", "trec"),
    (b"\xff\xfeq\0", "trec"),
)  # fmt: skip
def test_detected(text, kind, put):
    assert detect(put(text)) == kind


def test_msmarco_and_beir(put):
    source = put(b"q\td1\t1\nq\td 2\t2\r\n\nr\td\t1\n", 9)
    assert read(source) == ([("q", "d1", -1.0), ("q", "d 2", -2.0), ("r", "d", -1.0)], [0, 1, 3])
    by_rank = [("q", "a", -1.0), ("r", "b", -1.0), ("q", "c", -2.0)]
    assert read(put(b"q\ta\t1\nr\tb\t1\nq\tc\t2\n", 1))[0] == by_rank
    text = b'"query-id"\t"corpus-id"\t"score"\n"q"\t"a\tb"\t1\n'  # a header in quotes is TSV
    assert detect(put(text)) == "tsv"
    assert read(put(text), "grade")[0] == [("q", "a\tb", 1.0)]
    [error] = errors_of(put(text), "grade", qrels_format="beir")
    assert error.startswith("1: the first line is not query-id corpus-id score, separated by tabs")


@given(queries=st.lists(ids("\0\t\r\n")))
def test_any_ids_of_beir(queries, path):
    rows = [(query, "d", 1.0) for query in ["q", *queries]]
    path.write_text("query-id\tcorpus-id\tscore\n" + "".join(f"{q}\td\t1.0\n" for q, _, _ in rows), "utf-8")
    assert read(Small(path, 20), "grade")[0] == rows


@each("text", [b"a b\tx\t1\na b\ty\t2\n", b"q\td 1\t1", b"a b\tc d\t1\n", b"q 1\t0\t1\n"])
@each("number", ["grade", "score"])
def test_ids_with_spaces_between_tabs(text, number, put):
    """TREC's fields are separated by spaces too, which would cut these ids."""
    error = " the file may be of format msmarco or trec. Give its format: --run-format msmarco or trec, "
    assert errors_of(put(text), number) == [f"{error}or --qrels-format trec"]
    query, document, _ = text.decode().split("\n")[0].split("\t")
    assert read(put(text), run_format="msmarco")[0][0] == (query, document, -1.0)


@each("as_file", [True, False])
def test_identical_ids(as_file, put):
    run = {"a": {"a": 9.0, "b": 1.0}, "b": {"b": 1.0}, "c": {"a": 3.0, "c": 1.0}}
    qrels = {"a": {"b": 1, "a": 0}, "b": {"a": 1, "b": 1}, "c": {"a": 1}}
    given = put(json.dumps(run).encode(), 10).path if as_file else run
    results = evaluate(qrels, given, "AP num_ret", ignore_identical_ids=True)
    assert [one.tolist() for one in results.runs[0].values] == [[1.0, 0.0, 1.0], [1, 0, 1]]
    assert evaluate(qrels, given, "num_ret").runs[0].values.tolist() == [[2, 1, 2]]


NUL = "binary data (a NUL byte). Is this the right file?"
NO_GRADE = " no grade column (relevance, rel, grade, label, rating, qrel); the columns are "
OPEN_QUOTE = "the quoted field that begins here is not closed"
INCOMPLETE = "unexpected end of file: the JSON object is not closed. Fetch the file again"
MORE = "there is more after the end of the JSON object. For an object a line, give --run-format jsonl"
INSIDE = "new-line character seen in unquoted field - do you need to open the file in universal-newline mode?"
A_LIST = "Needed is {query: {document: number}}; write a list of objects one a line: jq -c '.[]'"
RANKS = "Ranks must be 1, 2, … for each query in the order of the file"
THREE = "where a line has 3, separated by tabs (query passage rank)"
NAME = "not valid JSON (Expecting property name enclosed in double quotes at"
IN_QUOTES = ". A field with ',' in it must be in double quotes"
A_LINE = b'{"qid": "q", "pid": "a", "score": 1}\n'
QRELS_FIRST = "The qrels come first, then the runs"
RATING = "--unlabelled unjudged (in Python unlabelled='unjudged') leaves out judgments without a label"


@each(
    ("text", "number", "errors"),
    [
        (b"query_id,doc_id,score\nq,a,1\nq,b,x\nq,c\n,d,1\nq,,1\nq,f,nan\n", "score", [
            "3: the score 'x' is not a number", "4: 2 fields where the header has 3",
            "5: the query id is empty", "6: the document id is empty",
            "7: the score 'nan' is not a finite number"]),
        (b'query_id,doc_id,score\n"q\n1",a,1\nq,b,x\nq,c,1,1\n', "score", [
            "4: the score 'x' is not a number", f"5: 4 fields where the header has 3{IN_QUOTES}"]),
        (b'query_id,doc_id,score\nq,a,1\nq,"b,1\nq,c,1\n', "score", [f"3: {OPEN_QUOTE}"]),
        (b"query_id,doc_id,score\nq,a,1\nq,b\0,1\n", "score", [f"3: {NUL}"]),
        (b"query_id,doc_id,score\nq,a\rb,1\r\nq,c,1\n", "score", [f"2: {INSIDE}"]),
        (b"query_id,doc_id,score\n", "grade", [
            f"{NO_GRADE}'query_id', 'doc_id', 'score'. Name it with --columns grade=NAME"]),
        (b"user_id,query_id,doc_id,score\n", "score", [
            " the query column may be 'user_id' or 'query_id'. Choose with --columns query=NAME"]),
        (b"query_id,doc_id,relevance\nq,a,\n", "grade", [f"2: the grade '' is not a number. {RATING}"]),
        (b'{"q": {"a": 1, "b": "x"}, "r": {"c": null}, "s": 3}', "score", [
            """ $['q']['b']: the score 'x' is not a number""", """ $['r']['c']: the score is missing""",
            """ $['s']: 3 is not an object of documents"""]),
        (b'{\n"q": {\n"a": 1,\n"b": NaN}}', "score", [" $['q']['b']: the score nan is not a finite number"]),
        (b'{"q": {"a": 1, "b": 2}', "score", [f"1: {INCOMPLETE}"]),
        (b'{"q": {"a": 1, "b', "score", ["1: not valid JSON (Unterminated string starting at '\"b')"]),
        (b'{"q": {"a": 1 "b": 2}}', "score", ["1: not valid JSON (Expecting ',' delimiter at '\"b\": 2}')"]),
        (b'{"q": {"a": 1}} {"r": {"a": 1}}', "score", [f"1: {MORE} or --qrels-format jsonl"]),
        (b'{"q": {"a\\u0000": 1}}', "score", [
            " $['q']['a\\x00']: the document id 'a\\x00' contains a NUL byte"]),
        (b"query_id,doc_id,score\n", "score", [" no data: there is no row below the header"]),
        (b" { \n}\n", "score", [" no data: the object is empty"]),
        (b'{"q": {}, "r": {}}', "score", ["1: no data: 2 queries have no documents: 'q', 'r'"]),
        (b'[{"query_id": "q"}]', "score", [f"1: this is not a JSON object. {A_LIST}"]),
        (A_LINE + b'{"qid": "q", "pid": "b"}\nx\n{"qid": null, "pid": "b", "score": "y"}\n3\n', "score", [
            "2: the object has no 'score'", "3: not valid JSON (Expecting value in column 1)",
            "4: the query id is missing", "4: the score 'y' is not a number", "5: 3 is not a JSON object"]),
        (A_LINE * 2 + A_LINE[:-1] + b"," + A_LINE, "score", ["3: not valid JSON (Extra data in column 37)"]),
        (A_LINE + b'{"qid": "q", "pi', "score", ["2: not valid JSON (Unterminated string in column 14)"]),
        (b'{"mteb_model_meta": {"a": {}}, "default": {"test": {"q": {"a": 1}}}}', "grade", [
            " this is a predictions file of MTEB, not qrels"]),
        (b"q\td\t1\nq\te\t2\nr\td\t2\n", "score", [f"3: the rank is 2 where query 'r' needs 1. {RANKS}"]),
        (b"q\td\t1\nq\te\t2\nr\td\t1\nq\tf\t1\n", "score", [
            f"4: the rank is 1 where query 'q' needs 3. {RANKS}"]),
        (b"q\td\t1\nq\te\t2\nr\td\n\nr\t\t2\nr x 3\n", "score", [
            f"3: 2 fields {THREE}", "5: the document id is empty", f"6: 1 field {THREE}"]),
        (b"q\td\t1\nq\te\t2\n", "grade", [
            f" this looks like a run of MS MARCO (query passage rank). {QRELS_FIRST}"]),
        (b"q\t0\t0.5\nq\t1\t2\n", "grade", [
            f" this looks like scores of RankLib (query index score). {QRELS_FIRST}"]),
        (b"q\t0\t1\n", "score", [
            " the file may be of format msmarco or ranklib. Give its format: --run-format msmarco or ranklib"]),
    ],
)  # fmt: skip
@each("size", [1, 1 << 20])
def test_errors(text, number, errors, size, put):
    assert errors_of(put(text, size), number) == errors


@each("writer", ARROW)
def test_wrong_arrow_files(writer, put):
    assert errors_of(put(written(writer, []))) == [" no data: the file has no rows"]
    text = written(writer, ROWS * 100)
    for end in (len(text) // 2, len(text) - 3):
        if writer != "arrow stream" or end < len(text) - 10:
            [error] = errors_of(put(text[:end]))
            assert "file is damaged or incomplete" in error


def test_text_that_is_given_as_arrow(put, monkeypatch):
    pytest.importorskip("pyarrow")
    for kind, name in (("parquet", "Parquet"), ("arrow", "Arrow")):
        expected = f" this is no {name} file. Omit the format: it is detected"
        for text in (b"1 Q0 a 1 1 t\n", b"", b"ARROW1", b"PAR"):
            assert errors_of(put(text), run_format=kind) == [expected]
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    [error] = errors_of(put(b"PAR1 and more"))
    assert error == " Parquet support (pyarrow) is not installed. Run: pip install 'gradeval[arrow]'"


@each_row(
    ("qrels", b"foo,bar,baz\nq,a,1\n", "query=foo,document=bar,grade=baz"),
    ("run", b"my id;bar;baz;more\nq;a;1;2\n", "'query=my id,document=bar,score=baz'"),
    ("run", b"foo\tbar\tbaz\nq\ta\t2\n", "query=foo,document=bar,score=baz"),
    ("qrels", b"q,a,1\n", ""),
    ("qrels", b"q,a\n", None),
    ("qrels", b'["q", "a", 1]\n', None),
    ("qrels", b"Prose, as, here\nis no table\n", None),
)
def test_unknown_columns_can_be_named(role, text, columns, put):
    """By what the error says, whether the format is given or not."""
    number, header = ("grade", "relevance") if role == "qrels" else ("score", "score")
    hint = f"Columns with other names than query_id,doc_id,{header} are named so: --columns {columns}"
    table = "a table needs a header line, such as query_id,doc_id,relevance"
    for options, hint_without in (({}, table), ({f"{role}_format": "csv"}, "use another format")):
        error = errors_of(put(text), number, **options)[0]
        assert error.endswith(hint if columns else hint_without) is (columns is not None or bool(options))
    if columns:
        assert read(put(text), number, columns=columns.strip("'"))[0][0][:2] == ("q", "a")
    assert "The header must be the first line" in errors_of(put(b"\n\n"), number, **options)[0]

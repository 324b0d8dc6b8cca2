"""Arrow tables of polars, pyarrow, pandas and DuckDB, read from their buffers."""

from decimal import Decimal

import numpy as np
import pytest
from helpers import each, error_of, raises

from formats.reading import rows_of as block_rows
from gradeval import evaluate
from gradeval.arrays.strings import ShortIds
from gradeval.errors import InputError
from gradeval.formats.arrow import Arrow, batches
from gradeval.formats.memory import BLOCK_ROWS
from gradeval.tables.load import open_data

LONG = "a document id that is longer than twelve bytes"
QUERIES = ["1", "1", "2", "2", "2", "3"]
DOCUMENTS = ["a", "é", LONG, "", LONG + "!", "twelve bytes"]
NUMBERS = [1.5, 2.0, -3.0, 0.0, 5.0, 6.0]


def rows_of(table, name="score", rows=None):
    data, step = open_data(table, "data", name), rows or BLOCK_ROWS
    found = []
    for first in range(0, data.rows, step):
        columns = data.columns(range(first, min(first + step, data.rows)))
        assert not columns.problems.total, columns.problems
        found += (
            (query.decode(), document.decode(), number) for query, document, number in block_rows(columns)
        )
    return found


def polars_table(queries, documents, numbers):
    columns = {"other": range(len(queries)), "qid": queries, "docno": documents, "score": numbers}
    return pytest.importorskip("polars").DataFrame(columns)


def pyarrow_table(queries, documents, numbers):
    return pytest.importorskip("pyarrow").table({"qid": queries, "docno": documents, "score": numbers})


def pandas_table(queries, documents, numbers):
    return pytest.importorskip("pandas").DataFrame({"qid": queries, "docno": documents, "score": numbers})


TABLES = [polars_table, pyarrow_table, pandas_table]
ROWS = list(zip(QUERIES, DOCUMENTS, NUMBERS, strict=True))


@each("table", TABLES)
def test_rows(table):
    made = table(QUERIES, DOCUMENTS, NUMBERS)
    assert rows_of(made) == ROWS
    assert rows_of(made, rows=2) == ROWS
    assert rows_of(made[1:5]) == ROWS[1:5]
    integers = table([1, 1, -2], [10**12, 7, 0], [1, 0, 2])
    assert rows_of(integers) == [("1", str(10**12), 1.0), ("1", "7", 0.0), ("-2", "0", 2.0)]
    if table is polars_table:
        polars = pytest.importorskip("polars")
        for kind in (polars.Categorical, polars.Enum(sorted(set(DOCUMENTS)))):
            assert rows_of(made.with_columns(polars.col("docno").cast(kind))) == ROWS


def test_types_of_pyarrow():
    pyarrow = pytest.importorskip("pyarrow")
    for kind in (pyarrow.string(), pyarrow.large_string(), pyarrow.string_view(), pyarrow.binary()):
        documents = pyarrow.array([text.encode() for text in DOCUMENTS], pyarrow.binary()).cast(kind)
        table = pyarrow_table(pyarrow.array(QUERIES).dictionary_encode(), documents, NUMBERS)
        assert rows_of(table) == ROWS
        assert rows_of(table.slice(2), rows=3) == ROWS[2:]
        several = pyarrow.concat_tables([table.slice(0, 1), table.slice(1, 0), table.slice(1)])
        assert rows_of(several) == rows_of(several, rows=2) == ROWS
    for kind in (pyarrow.float16(), pyarrow.float32(), pyarrow.int8(), pyarrow.uint64()):
        table = pyarrow_table(["1", "1"], ["a", "b"], pyarrow.array([1, 2]).cast(kind))
        assert [number for _, _, number in rows_of(table)] == [1.0, 2.0]
    assert [row[2] for row in rows_of(pyarrow_table(["1", "1"], ["a", "b"], [True, False]))] == [1.0, 0.0]
    assert [row[2] for row in rows_of(pyarrow_table(["1", "1"], ["a", "b"], ["1.5", "2"]))] == [1.5, 2.0]
    assert rows_of(pyarrow_table(["1"], ["a"], [1.0]).slice(1)) == []


def test_types_of_pandas():
    pandas = pytest.importorskip("pandas")
    made = pandas_table(QUERIES, DOCUMENTS, NUMBERS)
    for kind in (object, "category", "string"):
        table = made.astype({"qid": kind, "docno": kind}).set_index(np.arange(6) * 7 % 6)
        assert rows_of(table) == rows_of(table, rows=2) == ROWS
    numbers = pandas.DataFrame({"qid": [1, 2], "docno": [3, 4], "label": [0, 5]})
    expected = [("1", "3", 0.0), ("2", "4", 5.0)]
    for kind in ("Int64", "category", "int8", "uint16", object):
        assert rows_of(numbers.astype(kind), "grade") == expected


def test_a_lazy_frame():
    lazy, data = polars_table(["1"], ["a"], [1.0]).lazy(), {"1": {"a": 1}}
    for qrels, run in ((lazy, data), (data, lazy), (data, [lazy])):
        what = r"a LazyFrame has no rows yet\. Call \.collect\(\) on it"
        raises(InputError, what, evaluate, qrels, run, "AP")


@each("bits", [128, 256])
@each("size", [1, 2, 5])
def test_decimals(bits, size):
    pyarrow = pytest.importorskip("pyarrow")
    texts = ["0.10", "-12345678901234567890.55", None, "90071992547409.93", "-1.00"]
    values = [None if text is None else Decimal(text) for text in texts]
    kind = (pyarrow.decimal128 if bits == 128 else pyarrow.decimal256)(30, 2)
    for chosen in (
        values,
        [value or Decimal(1) for value in values],
        [Decimal("0.07"), None, Decimal("-90071992547409.92")],
    ):
        column = pyarrow.chunked_array([[], chosen[:size], chosen[size:]], kind)
        table = pyarrow.table({"q": column, "d": column, "score": column})
        [chunks] = [[part[0] for part in batches(table)]]
        read = Arrow(chunks)
        ids, wrong = read.ids(slice(None), "id")
        missing = [i for i, value in enumerate(chosen) if value is None]
        for problems in (wrong, read.numbers(slice(None), "score")[1]):
            assert [problem.line for problem in problems.all()] == missing
        for i, value in enumerate(chosen):
            if value is not None:
                assert ids[i] == f"{value.quantize(Decimal('0.01')):f}".encode()
                assert read.numbers(slice(None), "score")[0][i] == float(value)
                assert read.numbers(slice(i, i + 1), "score")[0].tolist() == [float(value)]


@each("table", TABLES)
def test_what_is_wrong_names_row_and_column(table):
    made = table(["1", None, "2"], ["a", "b", None], [1.0, None, 2.0])
    columns = open_data(made, "data", "score").whole()
    score = "nan is not a finite number" if table is pandas_table else "is missing"
    problems = [f"{p.line + 1}: {p.what}" for p in columns.problems.first]
    assert sorted(problems) == [
        "2: the query id (column qid) is missing",
        f"2: the score (column score) {score}",
        "3: the document id (column docno) is missing",
    ]
    for text in ("a\0", LONG + "\0"):
        columns = open_data(table(["1", "1"], ["b", text], [1.0, 2.0]), "data", "score").whole()
        [problem] = columns.problems.first
        assert problem.line == 1 and problem.what.endswith("contains a NUL byte")
        assert len(columns.value) == 0


class Exported:
    """A table that offers its buffers and nothing else."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__()


def test_types_that_are_neither_ids_nor_numbers():
    pyarrow = pytest.importorskip("pyarrow")
    pandas = pytest.importorskip("pandas")
    for column in (
        pyarrow.array([["a"]]),
        pyarrow.array([1], pyarrow.timestamp("s")),
        pyarrow.array([1], pyarrow.date32()),
        pyarrow.array([b"a"], pyarrow.binary(1)),
    ):
        table = pyarrow_table(["1"], column, [1.0])
        frame = pandas_table(["1"], pandas.arrays.ArrowExtensionArray(table["docno"]), [1.0])
        for given in (table, table.to_batches()[0], Exported(table), frame):
            what = r"type of column docno \(.*\) is neither text nor number\. Cast"
            raises(InputError, what, open_data, given, "data", "score")
    assert rows_of(Exported(pyarrow_table(QUERIES, DOCUMENTS, NUMBERS))) == ROWS


def test_times_of_pandas_are_no_ids():
    pandas = pytest.importorskip("pandas")
    times = pandas.Series(pandas.to_datetime(["2026-01-01"]))
    kinds = times.dt.tz_localize("UTC"), times.astype(object), times.astype("category"), times.dt.date
    for column in (times, *kinds):
        [problem] = open_data(pandas_table(["1"], column, [1.0]), "data", "score").whole().problems.first
        assert problem.what.startswith("the document id (column docno) ")
        assert problem.what.endswith(" is a time, neither text nor number. Cast it to one of these")


def test_short_views():
    pyarrow = pytest.importorskip("pyarrow")
    texts = ["", "a", "é", "8 bytes!"]
    short = pyarrow.array(texts, pyarrow.string_view())
    table = pyarrow_table(["1"] * 4, short, [1.0] * 4)
    assert isinstance(open_data(table, "data", "score").whole().documents, ShortIds)
    assert rows_of(table) == [("1", text, 1.0) for text in texts]
    views = np.frombuffer(short.buffers()[1], np.uint8).copy()
    views[4:16] = views[16 + 5 : 32] = ord("x")  # behind the ends of the first two
    array = pyarrow.Array.from_buffers(pyarrow.string_view(), 4, [None, pyarrow.py_buffer(views)])
    assert rows_of(Exported(pyarrow_table(["1"] * 4, array, [1.0] * 4))) == rows_of(table)


def of_buffers(kind, buffer, data, place, value):
    """Three strings in these buffers, the one of offsets or views, and what damages it."""
    pyarrow = pytest.importorskip("pyarrow")
    buffers = [None, pyarrow.py_buffer(buffer), pyarrow.py_buffer(data)]
    return pyarrow.Array.from_buffers(getattr(pyarrow, kind)(), 3, buffers), buffer, place, value


def of_offsets(kind, values):
    offsets = np.array([0, 4, 8, 12], np.int32 if kind == "string" else np.int64)
    return of_buffers(kind, offsets, b"abcdefghijkl", slice(None), values)


def of_views(place, value):
    """Each a length, a beginning, a buffer and an offset."""
    views = np.array([13, 0, 0, 0, 13, 0, 0, 13, 0, 0, 0, 0], np.int32)
    return of_buffers("string_view", views, b"abcdefghijklmnopqrstuvwxyz", place, value)


def of_codes(code):
    pyarrow = pytest.importorskip("pyarrow")
    codes = np.array([0, 1, 0], np.int8)
    indices = pyarrow.Array.from_buffers(pyarrow.int8(), 3, [None, pyarrow.py_buffer(codes)])
    return pyarrow.DictionaryArray.from_arrays(indices, ["a", "b"], safe=False), codes, 1, code


SHOWN_BY_OFFSETS = {
    "falling": lambda: of_offsets("string", [0, 8, 4, 12]),
    "falling, of 64 bits": lambda: of_offsets("large_string", [0, 8, 4, 12]),
    "before the text": lambda: of_offsets("string", [-4, 4, 8, 12]),
    "length of a view": lambda: of_views(0, -1),
    "buffer of a view": lambda: of_views(6, 9),
    "view before the text": lambda: of_views(7, -1),
    "view behind the text": lambda: of_views(7, 14),
    "code": lambda: of_codes(2),
    "code below 0": lambda: of_codes(-1),
}
DAMAGED = {
    **SHOWN_BY_OFFSETS,
    "behind the text": lambda: of_offsets("string", [0, 4, 8, 1 << 30]),
    "far behind the text": lambda: of_offsets("large_string", [0, 4, 8, 1 << 60]),
}


@each("name", DAMAGED)
def test_damaged_buffers_are_not_read(name):
    pyarrow = pytest.importorskip("pyarrow")
    pandas = pytest.importorskip("pandas")
    column, buffer, place, value = DAMAGED[name]()
    rows = {"qid": ["1"] * 3, "docno": column, "score": [3.0, 2.0, 1.0]}
    table = pyarrow.table(rows)
    frame = pandas.DataFrame(rows | {"docno": pandas.arrays.ArrowExtensionArray(table["docno"])})
    buffer[place] = value
    for given in (table, table.to_reader(), table.to_batches()[0], frame):
        error = error_of(InputError, evaluate, {"1": {"a": 1}}, given, "AP")
        assert error.startswith("run1: it cannot be read: ")
        assert "\n" not in error
    if name in SHOWN_BY_OFFSETS:  # others export no lengths of buffers
        what = r"run1: it cannot be read: column docno is damaged: its .* outside"
        raises(InputError, what, evaluate, {"1": {"a": 1}}, Exported(table), "AP")


@each("kind", ["string", "large_string"])
def test_offsets_where_blocks_are_cut(kind):
    """Each block reads up to its last offset, which may be damaged where those of the column are not."""
    pyarrow = pytest.importorskip("pyarrow")
    count = BLOCK_ROWS + 2
    offsets = np.arange(count + 1, dtype=np.int32 if kind == "string" else np.int64)
    buffers = [None, pyarrow.py_buffer(offsets), pyarrow.py_buffer(b"x" * count)]
    column = pyarrow.Array.from_buffers(getattr(pyarrow, kind)(), count, buffers)
    table = pyarrow_table([*map(str, range(count))], column, [1.0] * count)
    offsets[BLOCK_ROWS] = 1 << 30
    for given in (table, Exported(table)):
        what = "is damaged: its offsets point outside its text"
        raises(InputError, what, evaluate, {"1": {"a": 1}}, given, "AP")


@each("kind", ["string", "large_string", "string_view"])
def test_text_that_is_not_utf_8(kind):
    """Only strings: bytes may be any."""
    pyarrow = pytest.importorskip("pyarrow")
    texts = [b"a", b"\xc3", b"\xa9", b"longer than a view holds \xff"]
    for last in (3, 4):  # with and without a long one
        strings = pyarrow.array(texts[:last], kind.replace("string", "binary"))
        bytes_, invalid = (
            pyarrow_table(["1"] * last, of, [1.0] * last) for of in (strings, strings.view(kind))
        )
        assert open_data(bytes_, "data", "score").whole().documents.tolist() == texts[:last]
        what = "run1: it cannot be read: .*Invalid UTF8 sequence"
        raises(InputError, what, evaluate, {"1": {"a": 1}}, invalid, "AP")

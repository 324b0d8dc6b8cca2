"""Data in memory: the same values as files, whatever holds the rows; what Python programs may not give."""

import io
import pickle
import random
from itertools import cycle
from pathlib import Path

import numpy as np
import pytest
from helpers import each, error_of, raises, some
from junk import junk

from gradeval import GradevalError, InputError, evaluate
from gradeval.errors import InputErrors
from gradeval.formats import memory
from gradeval.formats.diagnostics import first_in

METRICS = "num_q AP nDCG@10 muAP bpref RR num_ret judged@5"
LETTERS = "ab0é漢😀#:"


def collection(seed, *, ints):
    draw = random.Random(seed)

    def name(number):
        if ints:
            return number * 10 ** draw.choice([0, 3, 9]) if number % 2 else -number
        return f"{number}{''.join(draw.choices(LETTERS, k=draw.choice([0, 1, 9, 20])))}"

    documents = list({str(one): one for one in map(name, range(40))}.values())
    queries = list({str(one): one for one in map(name, range(16))}.values())
    judged = [(q, d, draw.randrange(-1, 4)) for q in queries[:12] for d in draw.sample(documents, 8)]
    run = [(q, d, draw.randrange(9) / 4) for q in queries[3:] for d in draw.sample(documents, 15)]
    return judged, run


def nested(rows):
    found = {}
    for query, document, number in rows:
        found.setdefault(query, {})[document] = number
    return found


def columns_of(rows):
    query, document, number = map(list, zip(*rows, strict=True))
    return {"docno": document, "qid": query, "label": number, "score": number}


def pandas_frame(rows, **types):
    return pytest.importorskip("pandas").DataFrame(columns_of(rows)).astype(types)


FORMS = {
    "dicts": nested,
    "tuples": list,
    "lists": lambda rows: [list(row) for row in rows],
    "generator": iter,
    "text": lambda rows: [(str(q), str(d), str(number)) for q, d, number in rows],
    "bytes": lambda rows: [(str(q).encode(), str(d).encode(), number) for q, d, number in rows],
    "records": lambda rows: np.array([tuple(map(str, row[:2])) + row[2:] for row in rows], "U40,U40,f8"),
    "objects": lambda rows: np.array(rows, object),
    "pandas objects": lambda rows: pandas_frame(rows, qid=object, docno=object),
    "pandas categories": lambda rows: pandas_frame(rows, qid="category", docno="category", label="category"),
    "pyarrow": lambda rows: pytest.importorskip("pyarrow").table(columns_of(rows)),
    **{
        f"names {names}": lambda rows, names=names: pandas_frame(rows).set_axis(names.split(), axis=1)
        for names in ("doc_id query_id relevance score", "DocID Query Grade Sim", "iid topic rel scores")
    },
}


@each(("form", "ints"), zip(FORMS, cycle([False, True])))
def test_forms_and_files_have_the_same_values(form, ints, tmp_path, monkeypatch):
    judged, run = collection(len(form), ints=ints)
    (tmp_path / "qrels").write_text("".join(f"{q} 0 {d} {grade}\n" for q, d, grade in judged), "utf-8")
    (tmp_path / "run").write_text("".join(f"{q} Q0 {d} 0 {score} t\n" for q, d, score in run), "utf-8")
    expected = evaluate(tmp_path / "qrels", tmp_path / "run", METRICS, ties="trec")
    shuffled = random.Random(1).sample(run, len(run))
    for rows, size in ((run, 50), (shuffled, 70))[ints:]:
        monkeypatch.setattr(memory, "BLOCK_ROWS", size)
        results = evaluate(FORMS[form](judged), FORMS[form](rows), METRICS, ties="trec")
        assert list(results.queries) == list(expected.queries)
        assert results.runs[0].values.tobytes() == expected.runs[0].values.tobytes()
        assert results.warnings == tuple(line.replace("run:", "run1:") for line in expected.warnings)


def test_errors_name_the_row_in_any_block(monkeypatch):
    monkeypatch.setattr(memory, "BLOCK_ROWS", 4)
    rows = [("1", f"d{n}", 1.0) for n in range(20)] + [("2", "d", 1.0)]
    judged = {"1": {"d1": 1}}
    for form in (list, nested):
        of_score, of_document = "query '1', document 'x': ", "query '3', document None: "
        for place, bad, keys in ((6, ("1", "x", None), of_score), (20, ("3", None, 2.0), of_document)):
            what = f"{keys if form is nested else ''}the (score|document id) is missing"
            data = form([*rows[:place], bad, *rows[place:]])
            raises(InputError, f"^run1:{place + 1}: {what}$", evaluate, judged, data, "AP")
    error = error_of(InputError, evaluate, judged, [*rows[:11], rows[3], *rows[11:]], "AP")
    again = f"duplicate document 'd3' for its query. {first_in(3)}"
    assert error == f"run1:12: {again}"
    ungraded = [(q, d, None if n in (1, 6) else 1) for n, (q, d, _) in enumerate(rows)]
    error = error_of(InputErrors, evaluate, ungraded, rows, "AP")
    assert [line.partition(". ")[0] for line in error.splitlines()] == [
        "qrels:2: the grade is missing",
        "qrels:7: the grade is missing",
    ]


QRELS = {"1": {"a": 2, "b": 0, "c": 1}, "2": {"a": 1}, "3": {"d": 1}}
RUN = {"1": {"b": 3.0, "x": 2.0, "a": 1.0}, "2": {"a": 5.0}, "9": {"a": 1.0}}


@each(
    "call",
    [
        lambda: evaluate("a\0b", RUN), lambda: evaluate(QRELS, Path("a\0b")), lambda: evaluate(QRELS, []),
        lambda: evaluate(io.StringIO("1 0 a 1\n"), RUN), lambda: evaluate([("1", "a")], RUN),
        *[lambda names=names: evaluate(QRELS, RUN, names) for names in (None, 5, ["AP", 5], b"AP", [b"AP"])],
        lambda: evaluate(QRELS, RUN, query_ids=5), lambda: evaluate(QRELS, RUN, query_ids=["\ud800"]),
        lambda: evaluate(QRELS, RUN, features=1.5), lambda: evaluate(QRELS, RUN, groups=3),
        lambda: evaluate(QRELS, RUN, rel=10**400), lambda: evaluate(QRELS, RUN, depth=True),
        lambda: evaluate(QRELS, RUN, judged_only="no"), lambda: evaluate(QRELS, RUN, "AP").mean(5, 0),
        lambda: evaluate(QRELS, RUN, "AP").mean(0, -2),
        lambda: evaluate(QRELS, RUN, "AP").render("tsv", digits=True),
    ],
)  # fmt: skip
def test_what_cannot_be_is_an_error_of_ours(call):
    """And one that another process can send."""
    with pytest.raises(GradevalError) as caught:
        call()
    sent = pickle.loads(pickle.dumps(caught.value))
    assert (type(sent), str(sent), vars(sent)) == (type(caught.value), str(caught.value), vars(caught.value))


def test_numbers_of_numpy():
    options = {"rel": np.float32(1), "depth": np.int64(9), "jobs": np.int32(2), "judged_only": np.True_}
    results = evaluate(QRELS, RUN, "AP", query_ids=[b"1"], **options)
    assert results.options["depth"] == 9
    expected = evaluate(QRELS, RUN, "AP(judged_only=true)", query_ids="1")
    assert results.mean(np.int64(0), np.int64(-1)) == expected.mean(0, 0)
    raises(ValueError, "read-only", results.means.fill, 7)


def junk_around(value: object) -> dict[str, object]:
    return {
        "all of it": value,
        "one of several": [value],
        "documents": {"1": value},
        "number": {"1": {"a": value}},
        "row": [("1", "a", value)],
        "query": [(value, "a", 1)],
        "document": [("1", value, 1)],
    }


NUMBERS = {"True", "0", "1", "-1", "1.5", "Decimal", "Fraction", "'1'", "b'1'", "bytearray", "0-d array"}
NUMBERS |= {"np.bool", "np.int64", "np.uint8", "np.float32", "np.float64", "np.str_", "np.bytes_"}
OF_SCORES = {"1e200", "-1e151", "1e-200", "5e-324"}  # too large or too close to 0 for a grade


@each("given", ["qrels", "runs"])
@each("place", junk_around(None))
def test_any_value_in_any_place(given, place):
    accepted, tried = set(), dict(some(junk().items(), 1 if place in ("number", "row") else 3))
    for name, value in tried.items():
        data = junk_around(value)[place]
        try:
            evaluate(data if given == "qrels" else QRELS, data if given == "runs" else RUN, "AP")
        except InputError as error:
            assert "\n" not in str(error)
        else:
            accepted.add(name)
    if place in ("number", "row"):
        assert accepted == NUMBERS | (OF_SCORES if given == "runs" else set())
    elif place not in ("query", "document"):
        # relevant documents of qrels, and a run's documents in order
        rankings = {"set"} if given == "qrels" else {"['1', 'x']", "(1,)", "[1]"}
        assert accepted == (({"{'1': 1}"} | rankings) & tried.keys() if place == "documents" else set())
    else:
        assert not accepted & {"None", "nan", "[]", "[1]", "{}", "set", "array", "0-d array", "hostile", "NUL"}


@each("unit", ["D", "s", "ns", "as"])
def test_times_are_no_numbers(unit):
    """float() takes those in nanoseconds or less."""
    pandas = pytest.importorskip("pandas")
    for kind in ("datetime64", "timedelta64"):
        times = np.array([1, 2], f"{kind}[{unit}]")
        rows = np.rec.fromarrays([["1", "1"], ["a", "b"], times])
        data = [{"1": {"a": times[0]}}, [("1", "a", times[0])], rows]
        if unit in ("s", "us", "ns"):
            data.append(pandas.DataFrame({"qid": ["1", "1"], "docid": ["a", "b"], "score": times}))
        for run in data:
            raises(GradevalError, r"the score .*64\(.* is not a number", evaluate, QRELS, run, "AP")


def test_masked_values_are_missing():
    for dtype, values, what in (
        ([("q", "U1"), ("d", "U1"), ("s", float)], ("1", "b", 1.0), "score"),
        ([("q", "U1"), ("d", float), ("s", float)], ("1", 2.0, 1.0), "document id"),
        ([("q", int), ("d", "U1"), ("s", float)], (1, "b", 1.0), "query id"),
    ):
        mask = [name == {"score": "s", "document id": "d", "query id": "q"}[what] for name, _ in dtype]
        for rows in (np.array([values], dtype), np.ma.array([values], dtype=dtype)):
            assert evaluate(rows, rows, "num_rel").means.tolist() == [[1.0]]
        rows = np.ma.array([values, values], mask=[(False,) * 3, tuple(mask)], dtype=dtype)
        raises(InputError, f"run1:2: the {what} is missing", evaluate, QRELS, rows, "AP")

"""What programs read: tsv, csv, json, jsonl and trec_eval's columns. Whole outputs are in golden/."""

import csv
import io
import json
import random

import gradeval
from gradeval.evaluation.results import Results

NAN = float("nan")


def test_csv_quotes_what_needs_it(make) -> None:
    results = make("AP", {'a,"b"\n': [[0.5]]}, queries=["x,y"])
    text = results.render("csv", per_query=True)
    assert text == ('run,query,metric,value\n"a,""b""\n","x,y",AP,0.5000\n"a,""b""\n",all,AP,0.5000\n')
    assert list(csv.reader(io.StringIO(text)))[1] == ['a,"b"\n', "x,y", "AP", "0.5000"]
    text = make("AP", {"a\rb": [[0.5]]}).render("csv")
    assert list(csv.reader(io.StringIO(text, newline="")))[1:] == [["a\rb", "all", "AP", "0.5000"]]


def test_csv_for_a_spreadsheet(make) -> None:
    """Text is quoted that would be calculated, and numbers stay numbers."""
    for first in "=+-@＝＋－＠\t\r\n":
        results = make("AP", {f"{first}r": [[-0.5, NAN]]}, queries=[f"{first}q", "q="])
        text = results.render("csv", per_query=True, spreadsheet=True)
        _, *rows = csv.reader(io.StringIO(text, newline=""))
        assert [row[:2] for row in rows] == [[f"'{first}r", query] for query in (f"'{first}q", "q=", "all")]
        assert [row[3] for row in rows] == ["-0.5000", "nan", "-0.5000"]
        plain = list(csv.reader(io.StringIO(results.render("csv"), newline="")))
        assert plain[1] == [f"{first}r", "all", "AP", "-0.5000"]


def test_ids_are_written_as_the_bytes_that_were_read(make) -> None:
    line = make("AP", {"a\tb\nc\r": [[0.5]]}).render("tsv").splitlines()[1]
    assert line == r"a\tb\nc\r" + "\tall\tAP\t0.5000"  # a file name breaks no line
    ids = [b"\xff\xfe", "é\u2028\u00a0".encode(), b"\x01\x1f", b"%s{0}\\", b"a;b|c'd"]
    results = make("AP", {"a": [[0.5] * 5]}, queries=[id.decode(errors="surrogateescape") for id in ids])
    for format in ("tsv", "csv", "trec"):
        written = results.render(format, per_query=True).encode(errors="surrogateescape")
        assert [written.count(id) for id in ids] == [1] * 5


def test_numbers_of_json_are_exact_or_null(make, results: Results) -> None:
    run = [[1, 1, 1], [1 / 3, NAN, -0.0]]
    text = make("num_q AP", {"a": run}, queries=["q1", 'q"\udcff', "é"]).render(
        "jsonl", per_query=True, digits=1
    )
    assert text.isascii()
    lines = list(map(json.loads, text.splitlines()))
    assert [line["query"] for line in lines] == ["q1", 'q"\udcff', "é", "all", "all"]
    assert [repr(line["value"]) for line in lines] == ["0.3333333333333333", "None", "0.0", "3", repr(1 / 6)]
    infinite = make("AP", {"a": [[float("inf")]]})
    assert json.loads(infinite.render("jsonl"))["value"] is None
    assert json.loads(infinite.render("json"))["runs"][0]["summary"] == {"AP": None}
    text = results.render("json", per_query=True, digits=1)
    assert text.isascii()
    assert json.loads(text, parse_constant=lambda name: 1 / 0) == results.to_dict(per_query=True)
    odd = results.replace(options={"k": 1 + 2j})
    assert json.loads(odd.render("json"))["options"] == {"k": "(1+2j)"}


def test_many_queries_are_written_as_json_dumps_writes_them() -> None:
    """Columns are formatted at once; other ways of rounding and writing must not differ in a byte."""
    draw = random.Random(8)
    qrels = {f'q{q}é"\\': {f"d{d}": draw.randrange(-1, 4) for d in range(6)} for q in range(30)}
    runs = {name: {q: {f"d{d}": draw.randrange(4) for d in range(9)} for q in qrels} for name in ("a", "b\n")}
    names = "AP nDCG tau rankDCG num_ret relstring num_q gm_map"
    for tie_range in (False, True):
        results = gradeval.evaluate(qrels, runs, names, tie_range=tie_range)
        for per_query in (False, True):
            for summary in (False, True):
                expected = json.dumps(results.to_dict(per_query=per_query, summary=summary), indent=2) + "\n"
                assert results.render("json", per_query=per_query, summary=summary) == expected


# trec_eval 10.0 -c -q -m num_q -m map -m P.5 -m ndcg_cut.10, of a run that lacks the third query
PRINTED = """\
map                   	q1	0.5000
P_5                   	q1	0.2000
ndcg_cut_10           	q1	0.3801
map                   	q2	0.5000
P_5                   	q2	0.2000
ndcg_cut_10           	q2	0.6309
map                   	q3	0.0000
P_5                   	q3	0.0000
ndcg_cut_10           	q3	0.0000
num_q                 	all	3
map                   	all	0.3333
P_5                   	all	0.1333
ndcg_cut_10           	all	0.3370
"""
VALUES = [[1, 1, 1], [0.5, 0.5, 0], [0.2, 0.2, 0], [0.38009376, 0.63092975, 0]]


def test_what_trec_eval_prints(make) -> None:
    """Its columns; runs stand one after the other."""
    results = make("num_q AP P@5 nDCG@10", {"bm25": VALUES})
    assert results.render("trec", per_query=True) == PRINTED
    assert results.render("trec") == PRINTED[PRINTED.index("num_q") :]
    assert results.render("trec", per_query=True, summary=False) == PRINTED[: PRINTED.index("num_q")]
    results = make("num_q AP P@5 nDCG@10", {"bm25": VALUES, "again": VALUES})
    blocks = [f"runid                 \tall\t{name}\n{PRINTED}" for name in ("bm25", "again")]
    assert results.render("trec", per_query=True) == "".join(blocks)
    results = make("runid num_q", {"bm25": [[NAN], [1]], "again": [[NAN], [1]]})
    runs = tuple(run.replace(texts={0: [run.name]}) for run in results.runs)
    assert results.replace(runs=runs).render("trec").count("runid") == 2


def test_numbers_in_columns_of_trec_eval(make) -> None:
    """As wide as printf makes them; what is rounded to zero keeps its sign."""
    results = make("AP(rel=2)@1000000000000 rankDCG", {"a": [[12.5], [-0.25]]})
    lines = ["AP(rel=2)@1000000000000\tall\t12.5000\n", "rankDCG               \tall\t-0.2500\n"]
    assert results.render("trec") == "".join(lines)
    assert make("AP", {"a": [[NAN]]}).render("trec") == "map                   \tall\t   nan\n"
    for metrics, values, digits, texts in (
        ("AP num_q", [[1 / 3], [1]], 6, ["0.333333", "1"]),
        ("AP num_q", [[1 / 3], [1]], "full", ["0.3333333333333333", "1"]),
        ("AP P@5 yaap", [[-0.0], [-0.00001], [0.00001]], 4, ["0.0000", "-0.0000", "0.0000"]),
    ):
        text = make(metrics, {"a": values}).render("trec", digits=digits)
        assert [line.split("\t")[2] for line in text.splitlines()] == texts

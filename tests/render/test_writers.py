"""What is printed in each format, whole outputs in golden/; tables for people: columns, numbers as text."""

import csv
import io
import json
import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from helpers import each, golden, raises
from hypothesis import given
from hypothesis import strategies as st

import gradeval
from gradeval.errors import OptionError
from gradeval.evaluation.layout import document
from gradeval.evaluation.results import Results, RunResult
from gradeval.notices import Notice, NoticeKind, Notices
from gradeval.registry.spec import Spec, parse
from gradeval.render import WRITERS
from gradeval.render.document import Cell, Grid, RenderOptions, decimals
from gradeval.render.markup import escape_latex, escape_md, write_latex
from gradeval.render.table import draw

NAN = float("nan")


def make(
    metrics: str, runs: dict[str, Sequence[Sequence[float]]], queries: Sequence[str] | None = None
) -> Results:
    """Results with every query counted; the values of a run are a row for each metric."""
    tables = {name: np.array(rows, float) for name, rows in runs.items()}
    size = next(iter(tables.values())).shape[1]
    return Results(
        "qrels",
        None,
        tuple(queries or (f"q{i + 1}" for i in range(size))),
        tuple(parse(metrics)),
        tuple(RunResult(name, name, None, table, np.ones(size, bool)) for name, table in tables.items()),
    )


@pytest.fixture
def results() -> Results:
    """Odd names, a byte that is not UTF-8, an undefined value, -0.0, and a query that one run lacks."""
    bm25 = [[1, 1, 1], [0.5, 0.25, 0], [1, 0.6, -0.0], [0.2, 0.4, 0], [0.75, NAN, 0.5], [-1e-5, 0.5, 1 / 3]]
    neural = [[1, 1, 1], [0.25, 0.25, 9], [1, 0.5, 9], [0.4, 0.2, 9], [1, NAN, 9], [0.125, 0.5, 9]]
    return Results(
        qrels="judged/qrels.txt",
        qrels_sha256="ab" * 32,
        queries=("q1", "q2", "a|b_%\udcff"),
        specs=tuple(parse("num_q muAP nDCG@10 P@5 rankDCG nDCGphi@10")),
        runs=(
            RunResult("bm25_k1", "runs/bm25_k1.run.gz", "cd" * 32, np.array(bm25), np.array([True] * 3)),
            RunResult('neural,"2"', "-", None, np.array(neural), np.array([True, True, False])),
        ),
        options={"ties": "trec", "rel": None},
        given_notices=Notices([Notice(NoticeKind.MISSING, "neural", 1, rule="both")]),
    )


GOLDEN = Path(__file__).parent / "golden"


@each("format", WRITERS)
def test_whole_output(format: str, results: Results) -> None:
    text = results.render(format, per_query=True).replace(f'"{gradeval.__version__}"', '"VERSION"')
    assert text.encode(errors="surrogateescape") == golden(GOLDEN / f"{format}.txt")


@each("format", WRITERS)
def test_parts_are_left_out(format: str, results: Results) -> None:
    """The summary, the queries, both; and what has nothing to say of a query, or no query."""
    summary = results.render(format)
    queries = results.render(format, per_query=True, summary=False)
    assert "a|b" not in summary and "q2" not in summary
    assert "0.5333" not in queries and "0.6250" not in queries  # means
    assert "q2" in queries
    head = {"tsv": "run\tquery\tmetric\tvalue\n", "csv": "run,query,metric,value\n"}.get(format, "")
    assert results.render(format, summary=False) == head or format == "json"
    text = make("num_q", {"a": [[1, 1]]}).render(format, per_query=True)
    assert "q1" not in text.replace("num_q", "") or format in ("table", "md", "latex")
    assert "2" in text
    Results("qrels", None, (), (), ()).render(format, per_query=True)
    make("AP P@5", {"a": [[], []]}).render(format, per_query=True)


def test_unknown_formats_and_digits(results: Results) -> None:
    raises(OptionError, "unknown format 'xml': choose from table, tsv", results.render, "xml")
    raises(OptionError, "unknown format", results.render, [])
    for digits in (-1, 2.5, "all", 101, 10**400):
        raises(OptionError, "digits", results.render, "tsv", digits=digits)


def test_csv_quotes_what_needs_it() -> None:
    results = make("AP", {'a,"b"\n': [[0.5]]}, queries=["x,y"])
    text = results.render("csv", per_query=True)
    assert text == ('run,query,metric,value\n"a,""b""\n","x,y",AP,0.5000\n"a,""b""\n",all,AP,0.5000\n')
    assert list(csv.reader(io.StringIO(text)))[1] == ['a,"b"\n', "x,y", "AP", "0.5000"]
    text = make("AP", {"a\rb": [[0.5]]}).render("csv")
    assert list(csv.reader(io.StringIO(text, newline="")))[1:] == [["a\rb", "all", "AP", "0.5000"]]


def test_csv_for_a_spreadsheet() -> None:
    """Text is quoted that would be calculated, and numbers stay numbers."""
    for first in "=+-@＝＋－＠\t\r\n":
        results = make("AP", {f"{first}r": [[-0.5, NAN]]}, queries=[f"{first}q", "q="])
        text = results.render("csv", per_query=True, spreadsheet=True)
        _, *rows = csv.reader(io.StringIO(text, newline=""))
        assert [row[:2] for row in rows] == [[f"'{first}r", query] for query in (f"'{first}q", "q=", "all")]
        assert [row[3] for row in rows] == ["-0.5000", "nan", "-0.5000"]
        plain = list(csv.reader(io.StringIO(results.render("csv"), newline="")))
        assert plain[1] == [f"{first}r", "all", "AP", "-0.5000"]
        label = {"day": f"{first}1", "host": "h"}
        text = results.render("csv", per_query=True, spreadsheet=True, label=label)
        labelled = list(csv.reader(io.StringIO(text, newline="")))[1:]
        assert labelled == [[f"'{first}1", "h", *row] for row in rows]


def test_ids_are_written_as_the_bytes_that_were_read() -> None:
    line = make("AP", {"a\tb\nc\r": [[0.5]]}).render("tsv").splitlines()[1]
    assert line == r"a\tb\nc\r" + "\tall\tAP\t0.5000"  # a file name breaks no line
    ids = [b"\xff\xfe", "é\u2028\u00a0".encode(), b"\x01\x1f", b"%s{0}\\", b"a;b|c'd"]
    results = make("AP", {"a": [[0.5] * 5]}, queries=[id.decode(errors="surrogateescape") for id in ids])
    for format in ("tsv", "csv", "trec"):
        written = results.render(format, per_query=True).encode(errors="surrogateescape")
        assert [written.count(id) for id in ids] == [1] * 5


def test_numbers_of_json_are_exact_or_null(results: Results) -> None:
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


def test_numbers_in_columns_of_trec_eval() -> None:
    """As wide as printf makes them; what is rounded to zero keeps its sign."""
    results = make("AP(rel=2)@1000000000000 rankDCG", {"a": [[12.5], [-0.25]]})
    lines = ["AP(rel=2)@1000000000000\tall\t12.5000\n", "rankDCG               \tall\t-0.2500\n"]
    assert results.render("trec") == "".join(lines)
    of_two = make("runid num_q", {name: [[NAN], [1]] for name in "ab"})
    runs = tuple(run.replace(texts={0: [run.name]}) for run in of_two.runs)
    assert of_two.replace(runs=runs).render("trec").count("runid") == 2  # the name of a run stands once
    assert make("AP", {"a": [[NAN]]}).render("trec") == "map                   \tall\t   nan\n"
    for metrics, values, digits, texts in (
        ("AP num_q", [[1 / 3], [1]], 6, ["0.333333", "1"]),
        ("AP num_q", [[1 / 3], [1]], "full", ["0.3333333333333333", "1"]),
        ("AP P@5 yaap", [[-0.0], [-0.00001], [0.00001]], 4, ["0.0000", "-0.0000", "0.0000"]),
    ):
        text = make(metrics, {"a": values}).render("trec", digits=digits)
        assert [line.split("\t")[2] for line in text.splitlines()] == texts


@pytest.fixture
def words() -> Results:
    values = np.array([[NAN, NAN], [0.5, 0.25], [NAN, NAN], [0.5, 0.25]])
    texts = {0: ['m"e'] * 2, 2: ["1-", "0\t>"]}
    run = RunResult("r", "r", None, values, np.ones(2, bool), texts)
    return Results("qrels", None, ("q1", "q2"), tuple(parse("runid AP relstring gm_map")), (run,))


def test_words_in_each_format(words) -> None:
    rows = list(csv.reader(io.StringIO(words.render("csv", per_query=True))))
    assert [row[2:] for row in rows[3:6]] == [["AP", "0.2500"], ["relstring", "0\t>"], ["runid", 'm"e']]
    assert words.render("tsv", per_query=True).splitlines()[4] == "r\tq2\trelstring\t0\\t>"
    labelled = words.render("trec", labels=["one", "two", "three", "four"])
    assert labelled == 'one\tall\tm"e\ntwo\tall\t0.3750\nfour\tall\t0.3536\n'
    assert "relstring             \tq2\t'0\t>'\nrunid" in words.render("trec", per_query=True)
    [run] = json.loads(words.render("json", per_query=True))["runs"]
    assert run["summary"] == {"runid": 'm"e', "AP": 0.375, "gm_map": pytest.approx(0.125**0.5)}
    assert run["per_query"]["q2"] == {"AP": 0.25, "relstring": "0\t>"}
    lines = [json.loads(line) for line in words.render("jsonl", per_query=True).splitlines()]
    assert [line["value"] for line in lines[:5]] == [0.5, "1-", 0.25, "0\t>", 'm"e']
    queries, summary = words.render("table", per_query=True).split("\n\n")[-2:]
    assert "relstring" in queries and "runid" not in queries and "gm" not in queries
    assert 'm"e' in summary and "relstring" not in summary and "gm" in summary


def test_what_formats_refuse_or_leave_out(words) -> None:
    for format in ("table", "json", "md", "latex", "trec"):
        what = "label requires one of the formats tsv, csv, jsonl"
        raises(OptionError, what, words.render, format, label={"a": "b"})
    for name, hint in (
        ("foo", ": the options are digits, .*, label, per_query, .*"),
        ("per_quer", r": did you mean per_query\?"),
    ):
        raises(OptionError, f"^unknown option {name}{hint}", words.render, "tsv", **{name: 1})
    run = RunResult("r", "r", None, np.full((1, 2), NAN), np.ones(2, bool), {0: ["1-", "0"]})
    for format in WRITERS.keys() - {"json"}:  # a metric that says nothing of the whole
        text = Results("qrels", None, words.queries, words.specs[2:3], (run,)).render(format)
        assert "relstring" not in text


def both(format: str, results: Results, **options) -> str:
    return results.render(format, per_query=True, wide=True, digits=2, **options)


def test_tsv_and_csv(results: Results) -> None:
    """A cell is empty where the query is not counted for the run; num_q has a summary only."""
    assert both("tsv", results, summary=False).startswith(
        'query\tmetric\tbm25_k1\tneural,"2"\n'
        "q1\tmuAP\t0.50\t0.25\n"
        "q2\tmuAP\t0.25\t0.25\n"
        "a|b_%\udcff\tmuAP\t0.00\t\n"
        "q1\tnDCG@10\t1.00\t1.00\n"
    )
    lines = both("csv", results).splitlines()
    assert lines[:3] == ['query,metric,bm25_k1,"neural,""2"""', "all,num_q,3,2", "q1,muAP,0.50,0.25"]
    assert lines[5] == "all,muAP,0.25,0.25"
    assert len(lines) == 1 + 1 + 5 * 4


def test_tables(results: Results) -> None:
    raises(OptionError, "the format trec cannot be printed wide", both, "trec", results)
    for format in ("json", "jsonl"):  # which stay as they are
        assert both(format, results) == results.render(format, per_query=True, digits=2)
    for format in WRITERS.keys() - {"trec"}:
        both(format, make("AP num_q", {"a": np.empty((2, 0))}))
    runs = {"a": [[0.5, 1, 0], [2, NAN, 3]], "b": [[0.25, 1, 0.125], [1, NAN, NAN]]}
    results = make("AP rankDCG", runs)
    assert both("table", results) == (
        "AP\n"
        "query     a     b\n"
        "─────────────────\n"
        "q1     0.50  0.25\n"
        "q2     1.00  1.00\n"
        "q3     0.00  0.12\n"
        "all    0.50  0.46\n"
        "\n"
        "rankDCG\n"
        "query     a     b\n"
        "─────────────────\n"
        "q1     2.00  1.00\n"
        "q2      nan   nan\n"
        "q3     3.00   nan\n"
        "all    2.50  1.00\n"
    )
    one = make("AP", {name: rows[:1] for name, rows in runs.items()})
    assert both("md", one) == (
        "| query |        a |        b |\n"
        "| :---- | -------: | -------: |\n"
        "| q1    | **0.50** |     0.25 |\n"
        "| q2    | **1.00** | **1.00** |\n"
        "| q3    |     0.00 | **0.12** |\n"
        "| all   | **0.50** |     0.46 |\n"
    )
    latex = both("latex", one)
    assert r"q1 & \textbf{0.50} & 0.25 \\" in latex
    assert r"\begin{tabular}{lrr}" in latex


@pytest.fixture
def ranged() -> Results:
    """AP of run a has a range in q1; scaled_utility is negative and has no mean; relstring is text."""
    specs = tuple(parse("AP scaled_utility relstring"))
    counted = np.ones(2, bool)
    first = np.array([[0.5, 0.25], [-0.5, 0.5], [NAN, NAN]])
    low, high = first.copy(), first.copy()
    low[0, 0], high[0, 0], low[1, 0] = 0.25, 0.75, -1.5
    second = np.array([[0.125, 0.125], [0.5, 0.5], [NAN, NAN]])
    mean, same = np.full((2, 3, 2), NAN)
    mean[0], same[0] = first[0] + 1e-9, second[0]
    runs = (
        RunResult("a", "a", None, first, counted, {2: ["1", "0"]}, np.array([low, high, mean])),
        RunResult("long", "long", None, second, counted, {2: ["0", "1"]}, np.array([second, second, same])),
    )
    return Results("qrels", None, ("q1", "q2"), specs, runs)


TABLE = """\
run                            AP         scaled_utility
────────────────────────────────────────────────────────
a     0.375 [0.250, 0.375, 0.500]  0.000 [-0.500, 0.000]
long  0.125                        0.500
"""
TSV = """\
run\tquery\tmetric\tvalue\tlow\thigh\texpected
a\tall\tAP\t0.375\t0.250\t0.500\t0.375
a\tall\tscaled_utility\t0.000\t-0.500\t0.000\t
long\tall\tAP\t0.125\t0.125\t0.125\t0.125
long\tall\tscaled_utility\t0.500\t0.500\t0.500\t
"""
MD = "| a    | **0.375** [0.250, 0.375, 0.500] | 0.000 [-0.500, 0.000] |\n"
LATEX = r"a & \textbf{0.375} {[}0.250, 0.375, 0.500] & 0.000 {[}$-$0.500, 0.000] \\"


def test_rows_and_tables(ranged: Results) -> None:
    assert ranged.render("table", digits=3) == TABLE
    assert ranged.render("tsv", digits=3) == TSV
    assert MD in ranged.render("md", digits=3) and LATEX in ranged.render("latex", digits=3)
    rows = [line.split("\t") for line in ranged.render("tsv", per_query=True, digits=2).splitlines()]
    assert rows[1] == ["a", "q1", "AP", "0.50", "0.25", "0.75", "0.50"]
    assert rows[3] == ["a", "q1", "relstring", "1", "", "", ""]
    table = ranged.render("table", per_query=True, digits=2)
    assert "0.50 [0.25, 0.50, 0.75]" in table and "0.25 [" not in table.split("long")[0]
    for format in WRITERS:
        assert "low" not in ranged.replace(runs=()).render(format)


def test_json(ranged: Results) -> None:
    first, second = json.loads(ranged.render("json", per_query=True))["runs"]
    assert first["low"] == {"AP": 0.25, "scaled_utility": -0.5}
    assert first["high"] == {"AP": 0.5, "scaled_utility": 0.0}
    assert first["per_query_low"]["q1"] == {"AP": 0.25, "scaled_utility": -1.5}
    assert first["per_query_high"]["q1"] == {"AP": 0.75, "scaled_utility": -0.5}
    assert second["low"] == second["high"] == second["summary"]
    lines = [json.loads(line) for line in ranged.render("jsonl", per_query=True).splitlines()]
    value = {"value": 0.5, "low": 0.25, "high": 0.75, "expected": 0.5 + 1e-9}
    assert lines[0] == {"run": "a", "query": "q1", "metric": "AP", **value}
    assert lines[2]["value"] == "1" and lines[2]["low"] is lines[2]["high"] is lines[1]["expected"] is None
    assert first["expected"] == pytest.approx({"AP": 0.375 + 1e-9}, rel=1e-12)
    assert first["per_query_expected"]["q2"] == {"AP": 0.25 + 1e-9}
    names = json.loads(ranged.render("json", per_query=True, summary=False))["runs"][0].keys()
    assert {"per_query_low", "per_query_high"} <= names and "low" not in names


def test_a_range_that_reads_as_the_value_is_left_out_of_tables(ranged: Results) -> None:
    [first, second] = ranged.runs
    ends = np.array([first.values - 1e-6, first.values + 1e-6, first.values])
    text = ranged.replace(runs=(first.replace(tie_range=ends), second)).render("md")
    assert "[" not in text
    assert "[" in ranged.replace(runs=(first.replace(tie_range=ends), second)).render("md", digits=7)


ODD = "a\x1b[b\u2066"


def test_special_characters() -> None:
    for name, md, latex in (
        ("a|b", r"a\|b", r"a\textbar{}b"),
        (r"a\|b", r"a\\\|b", r"a\textbackslash{}\textbar{}b"),
        ("<b>", r"\<b\>", r"\textless{}b\textgreater{}"),
        ("`x`", r"\`x\`", "`x`"),
        ("[a](b)*", r"\[a\](b)\*", "{[}a](b){*}"),
        ("~~a~~", r"\~\~a\~\~", r"\textasciitilde{}\textasciitilde{}a\textasciitilde{}\textasciitilde{}"),
        ("_a_", r"\_a\_", r"\_a\_"),
        ("a_b_c", "a_b_c", r"a\_b\_c"),
        ("a__b", r"a\_\_b", r"a\_\_b"),
        ("&amp;", r"\&amp;", r"\&amp;"),
        ("{$#%}^", r"{\$#%}^", r"\{\$\#\%\}\textasciicircum{}"),
        ("#1 @x a#1", "#<!-- -->1 @<!-- -->x a#<!-- -->1", r"\#1 @x a\#1"),
        ("τρ", "τρ", r"$\tau$$\rho$"),
    ):
        assert (escape_md(name), escape_latex(name)) == (md, latex)
    results = make("AP", {ODD: [[0.5]]})
    assert results.render("md").splitlines()[2].startswith(r"| a\\x1b\[b\\u2066 ")
    latex = r"a\textbackslash{}x1b{[}b\textbackslash{}u2066 & 0.5000 \\"
    assert results.render("latex").splitlines()[4] == latex


def test_words_are_escaped_and_are_no_numbers() -> None:
    row = [Cell("t_1%&|"), Cell("-.1"), Cell("-->1"), Cell("-0.5", bold=True)]
    text = write_latex([Grid("", ("a", "b", "c", "d"), [row], labels=0)], RenderOptions())
    assert text.splitlines()[4] == (r"t\_1\%\&\textbar{} & {-}.1 & {-}{-}\textgreater{}1 & \textbf{$-$0.5} \\")


BOLD, DIM, END = "\x1b[1m", "\x1b[2m", "\x1b[0m"


def test_colour_marks_the_best() -> None:
    results = make("num_q muAP P@5", {"a": [[1], [0.5], [0.2]], "b": [[1], [0.25], [0.2]]})
    assert results.render("table", colour=True) == (
        "run  num_q     µAP     P@5\n"
        f"{DIM}──────────────────────────{END}\n"
        f"a        1  {BOLD}0.5000{END}  {BOLD}0.2000{END}\n"
        f"b        1  0.2500  {BOLD}0.2000{END}\n"
    )


def test_metrics_that_do_not_fit_go_to_a_further_table() -> None:
    metrics = [f"nDCG@{k}" for k in range(1, 21)]
    others = {f"best{n:04}": [[0.5]] * 20 for n in range(9)}  # too many to be columns
    results = make(" ".join(metrics), {"bm25": [[k / 100] for k in range(20)], **others})
    text = results.render("table", width=60, colour=True)
    plain = text.replace(BOLD, "").replace(DIM, "").replace(END, "")
    assert plain == results.render("table", width=60)
    assert max(map(len, plain.splitlines())) <= 60
    tables = [table.splitlines() for table in plain.split("\n\n")]
    assert len(tables) == 4
    assert [name for table in tables for name in table[0].split()[1:]] == metrics
    assert [v for table in tables for v in table[2].split()[1:]] == [f"{k / 100:.4f}" for k in range(20)]
    assert text.count(BOLD) == 20 * 9


def test_titles_and_columns_of_grids_fit_where_they_can() -> None:
    head = ("metric", "the other metric", "a long number", "another one")
    grid = Grid("Agreement of the orders of systems by two metrics", head, [tuple(map(Cell, "abcd"))], labels=2)
    tables = list(draw(grid, False, 40))
    assert tables[0].startswith("Agreement of the orders of systems by\ntwo metrics\n")
    assert len(tables) == 2 and max(len(line) for table in tables for line in table.splitlines()) <= 40


def test_columns_that_belong_together_stay_in_one_table() -> None:
    head = ("run", "AP", "bounds", "RR", "bounds")
    grid = Grid("", head, [("x", *["0.1234 to 0.5678"] * 4)], joined=frozenset((2, 4)))
    for width, expected in ((80, [5]), (60, [3, 3]), (40, [3, 3]), (20, [3, 3])):
        assert [len(table.splitlines()[0].split()) for table in draw(grid, False, width)] == expected


def test_long_names_lose_their_middle_on_a_terminal() -> None:
    long = "experiments/" + "x" * 100 + "/seed"
    results = make("AP RR", {f"{long}1": [[0.5]] * 2, f"{long}2": [[0.25]] * 2, "b": [[0.5]] * 2})
    assert long in results.render("table")
    lines = results.render("table", width=80).splitlines()
    assert lines[2] == f"{long[:19]}…{long[-17:]}1  0.5000  0.5000" and max(map(len, lines)) <= 80
    wide = results.render("table", width=80, wide=True, per_query=True)
    assert f"  {long[:16]}…{long[-14:]}2\n" in wide and long not in wide
    # the metric is no wider than the room, and names that would be equal stay
    results = make("AP", {f"{'x' * 60}a{'x' * 60}": [[0.5]], f"{'x' * 60}b{'x' * 60}": [[0.25]]})
    assert f"{'x' * 60}b{'x' * 60}" in results.render("table", width=80)
    grid = Grid("", ("run", "metric", "n"), [("a", "nDCG(gain=exp,discount=letor,top=4)@10", "1")], labels=2)
    assert "nDCG(gain=exp,discount=letor,top=4)@10" in "".join(draw(grid, False, 80))


def test_only_names_of_runs_are_shortened() -> None:
    long = "".join(f"{number:02}" for number in range(46))
    heads = ("document", "interval", "check", long)
    for labels in range(1, 5):
        grid = Grid("", heads, [(long, f"├{long}┤", f"{long} >= 0.1", "1")], labels=labels)
        assert "…" not in "".join(draw(grid, False, 80))
    # those of a row share the room, and a name is the same in both columns
    names = [f"{long}{letter}" for letter in "abc"]
    rows = [(run, names[0], "nDCG@10", "[-0.1667, -0.0565]") for run in names[1:]]
    text = "".join(draw(Grid("", ("run", "baseline", "metric", "interval"), rows, labels=3), False, 80))
    first, second = (line.split()[:2] for line in text.splitlines()[2:])
    short = [f"{long[:8]}…{long[-6:]}{letter}" for letter in "abc"]
    assert (first, second) == ([short[1], short[0]], [short[2], short[0]])
    # a short one leaves its room to the other
    grid = Grid("", ("run", "baseline", "metric"), [("b", names[0], "AP")], labels=3)
    assert len("".join(draw(grid, False, 80)).splitlines()[2].split()[1]) == 31
    # and columns of names that are not labels
    results = make("AP", dict(zip(names, ([[0.5]], [[0.25]], [[0.125]]), strict=True)))
    lines = results.render("table", width=80, spread=True).splitlines()
    assert max(map(len, lines)) <= 80 and sum("…" in line for line in lines) == 2


def test_names_are_text() -> None:
    results = make("AP", {"a\x1b[31m\n": [[0.5]]}, queries=["q\x07\x9b\u202e\u2028"])
    text = results.render("table", per_query=True)
    assert text.startswith("a\\x1b[31m\\n\nquery")
    assert "q\\x07\\x9b\\u202e\\u2028  0.5000" in text
    text = make("AP", {"[bold]:smile:": [[0.5]]}).render("table", colour=True)
    assert "[bold]:smile:  0.5000" in text


def texts(*values: float, whole: bool = False, digits=4, width: int = 0) -> list[str]:
    return decimals(np.array(values, float), whole, digits=digits, width=width)


def test_numbers() -> None:
    """Halves go where printf sends them, zero has no sign, and counts are whole whatever the digits."""
    for values, how, expected in (
        ((0.12345, 1, NAN, -0.5), {}, ["0.1235", "1.0000", "nan", "-0.5000"]),
        ((0.12345, 12345.6), {"digits": 0}, ["0", "12346"]),
        ((0.5, NAN), {"width": 6}, ["0.5000", "   nan"]),
        ((), {}, []),
        # 0.00005 is a little above a half as a double, 0.00015 a little below
        ((0.00005, 0.00015), {}, ["0.0001", "0.0001"]),
        ((-0.0, -0.00001, -0.00004999), {}, ["0.0000"] * 3),
        ((-0.0, -0.00001), {"digits": 0}, ["0", "0"]),
        ((-0.0, -1e-5), {"digits": "full"}, ["0.0", "-1e-05"]),
        ((3, 0, NAN), {"whole": True}, ["3", "0", "nan"]),
        ((3, 1e15), {"whole": True, "digits": "full"}, ["3", "1000000000000000"]),
        ((3,), {"whole": True, "width": 6}, ["3"]),
    ):
        assert texts(*values, **how) == expected


@given(st.lists(st.floats(-1e6, 1e6)), st.integers(0, 12))
def test_decimals_are_those_of_printf(values: list[float], digits: int) -> None:
    for text, value in zip(texts(*values, digits=digits), values, strict=True):
        assert float(text) == float(f"{value:.{digits}f}")
        assert not (text.startswith("-") and float(text) == 0)
    assert [float(text) for text in texts(*values, digits="full")] == values


def test_many_values_are_written_as_one() -> None:
    """What is looked up by units of the last decimal, against each value by itself."""
    draw = np.random.default_rng(4)
    halves = (draw.integers(0, 2000, 60) + 0.5) / 10.0 ** draw.integers(0, 8, 60)
    near = np.concatenate([np.nextafter(halves, 0), halves, np.nextafter(halves, np.inf)])
    odd = [np.nan, 0, -0.0, 1e9, 1e300]
    values = np.concatenate([near, -near, draw.random(80), draw.integers(0, 5, 80), odd])
    counts = draw.integers(0, 50, 80).astype(float)
    for digits in (0, 1, 2, 4, 6, 7, "full"):
        for signed in (False, True):
            how = {"digits": digits, "signed": signed, "width": 6}
            for chosen in (values, draw.permutation(values), np.repeat(values[:40], 9)):
                single = [decimals(np.array([value]), False, **how) for value in chosen.tolist()]
                assert decimals(chosen, False, **how) == [text for [text] in single]
            assert decimals(counts, True, digits=digits) == [str(int(count)) for count in counts]


def best(results, digits=4) -> set[tuple[int, int]]:
    [grid] = document(results, RenderOptions(digits=digits)).blocks()
    assert isinstance(grid, Grid)
    return {(r, c) for r, row in enumerate(grid.cells) for c, cell in enumerate(row) if cell.bold}


def test_the_best_of_each_column() -> None:
    """Ties are all best; counts and how much was judged are no contest; column 0 is the name."""
    for metrics, runs, expected in (
        ("AP nDCG@10 num_q", ([0.1, 0.9, 1], [0.2, 0.8, 1], [0.1, 0.9, 1]), {(1, 1), (0, 2), (2, 2)}),
        ("unj@5 AP", ([1, 0], [0, 1]), {(1, 2)}),
        ("AP rankDCG P@5", ([NAN, NAN, -1], [0.0, NAN, NAN]), {(1, 1), (0, 3)}),  # undefined is never best
        ("AP", ([0.5],), set()),
    ):
        results = make(metrics, {str(r): [[value] for value in run] for r, run in enumerate(runs)})
        assert best(results) == expected
    results = make("AP", {"a": [[0.12341]], "b": [[0.12342]]})
    assert best(results) == {(0, 1), (1, 1)}  # they read the same
    assert best(results, digits=5) == {(1, 1)}
    results = make("AP RR", {"a": [[0.1], [0.1]], "b": [[0.2], [0.2]], "c": [[0.1], [NAN]]})
    error = results.specs[0].metric.replace(higher_is_better=False)
    results = results.replace(specs=(Spec(error), results.specs[1]))
    assert best(results) == {(0, 1), (2, 1), (1, 2)}  # where lower is better

"""Explanations as text, and gradeval explain."""

import gzip
import json
from pathlib import Path

import pytest
from cli.command import RUN as LINES
from cli.command import fails
from cli.command import gradeval as command
from helpers import each, raises

import gradeval
from gradeval.commands.explain.command import FORMATS
from gradeval.commands.explain.explain import Explanation
from gradeval.errors import OptionError

QRELS = {"t": dict(zip("ABCDEFGH", [1, 0, 3, 3, 2, 0, 1, 4], strict=True))}
RUN = {"t": {name: -float(place) for place, name in enumerate("ABCDEFGH")}}


def explained(metric: str, run: object = None, **options: object) -> list[Explanation]:
    return gradeval.explain(QRELS, RUN if run is None else run, metric, "t", **options)


def shown(metric, run=None, *, against=None, text=None, **how) -> str:
    [one] = explained(metric, run, against=against, text=text)
    return one.render(**how)


def test_scheels_tables_1_and_2():
    rows = [line.split() for line in shown("NDCNG", digits=3).splitlines()[2:]]
    assert rows[0] == "rank document score grade grade/m gain discount term DCG NDCNG@k".split()
    assert rows[4] == "3 C -2.000 3 0.750 0.682 2.000 0.341 0.530 0.299".split()
    assert [row[-1] for row in rows[2:10]] == "0.189 0.132 0.299 0.423 0.486 0.471 0.501 0.652".split()
    assert " ".join(rows[-1]) == "NDCNG = DCG 1.363 / ideal DCG 2.090 = 0.652"
    text = shown("muAP")
    assert (
        """\
AP at each level: + reaches it, - does not
levels         ranks 1-8  relevant      AP  weight  AP · weight
───────────────────────────────────────────────────────────────
grade >= 1      +-+++-++         6  0.7802  0.2500       0.1950
grade >= 2      --+++--+         4  0.4833  0.2500       0.1208
grade >= 3      --++---+         3  0.4028  0.2500       0.1007
grade >= 4      -------+         1  0.1250  0.2500       0.0312
weighted mean                                            0.4478

rank  document    score  grade    adds
──────────────────────────────────────
1     A          0.0000      1  0.0417
"""
        in text
    )
    assert text.endswith("""
µAP = sum of what documents add = 0.4478. A document adds weight · precision at its rank / relevant,
for each level that it reaches.
""")
    # E reaches two levels: at rank 5, 4 of 5 documents reach grade 1, and 3 of 5 grade 2
    [one] = explained("muAP")
    [adds] = [added for document, added in one.contributions.items() if document.id == "E"]
    assert adds == pytest.approx(0.25 * 4 / 5 / 6 + 0.25 * 3 / 5 / 4)


def test_losses():
    assert shown("nDCG@2", loss=True, ranks=3).endswith("""\
What each document loses by not being at its ideal rank
rank  document   ideal rank  grade    adds  ideally adds     loss
─────────────────────────────────────────────────────────────────
8     H          1               4  0.0000        0.6788  +0.6788
3     C          2               3  0.0000        0.3212  +0.3212
1     A          -               1  0.1697        0.0000  -0.1697
      1 - value                                           +0.8303
""")
    rows = shown("nDCG", loss=True, ranks=2).splitlines()[-4:]
    assert "4 more" in rows[2]
    first, second, rest, total = (float(row.split()[-1]) for row in rows)
    assert first + second + rest == pytest.approx(total, abs=2e-4)
    # a document without a gain has its discount, the last one too
    text = shown("nDCG", {"t": {"A": 2.0, "B": 1.0}})
    assert "\n2     B         1.0000      0  0.0000    1.5850  0.0000  1.0000" in text
    assert "No document makes a difference." in shown("nDCG", against=RUN)


def test_runs_side_by_side_and_what_displaced_documents():
    run, other = (
        {"t": {name: -float(place) for place, name in enumerate(names)}} for names in ("XBACH", "HCA")
    )
    text = shown("nDCG@5", run, against=other, ranks=4, text={"A": "first", "X": "last"})
    rows = [" ".join(line.split()) for line in text.splitlines()]
    for row in ("H 4 1 5 X (-)", "C 3 2 4 X (-), B (0)", "1 X - last H 4", "3 A 1 first A 1 first", "4 C 3"):
        assert row in rows
    assert text.startswith("nDCG@5, query t: run1 0.") and any(row.startswith("total ") for row in rows)
    assert "What displaced" not in shown("nDCG@5", other, against=run, ranks=1)
    [one] = json.loads(shown("nDCG@5", run, against=other, format="json"))["explanations"]
    displaced = {of["id"]: of["displaced_by"] for of in one["differences"] if of["displaced_by"]}
    assert displaced == {"H": ["X"], "C": ["X", "B"]}
    [judged] = explained("nDCG@5", run, against=other, judged_only=True)
    assert [document.id for document in judged.displaced_by("H")] == ["B"]
    nothing = gradeval.explain({"u": {"A": 1}, **QRELS}, run, "AP", "u", against=other)  # in neither run
    assert str(nothing).endswith("No document makes a difference.\n")


@each("metric, rest", [("muAP", "5 more"), ("nDCGphi", "\n5 more\n"), ("rankDCG", "\n5 more\n")])
def test_many_grades_are_cut(metric, rest):
    judged = {f"d{place:02}": place + 1.0 for place in range(25)}
    [one] = gradeval.explain({"q": judged}, {"q": judged}, metric, "q")
    assert rest in one.render()


@each("metric, run, sentence", [
    ("rbp(gain=binary)", RUN, "rbp(gain=binary) = 0.1000 · sum 4.2048 = 0.4205"),
    ("AP", RUN, "AP = sum 4.6810 / 6 = 0.7802"),
    ("RR", RUN, "RR = sum 1.0000\n"),
    ("AP", {"t": {"A": 1, "X": 2}}, "Not judged: 1 of the first 2 (grade -)"),
    ("AP", {"t": {"A": 1, "X": 1}}, "Tied scores: 2 of the first 2, ordered by --ties trec"),
    ("AP", {"t": {"A": 1, "X": 1}}, "Not retrieved (rank -): 5 documents with a grade above 0."),
    ("nDCG(ideal=max)@2", RUN, "any"),
    ("tau", {"t": {"A": 1}}, "τ is undefined for this query."),
])  # fmt: skip
def test_sentences(metric, run, sentence):
    assert sentence in shown(metric, run)


def test_ranks_that_are_not_shown():
    run = {"t": {f"x{place:02}": 50.0 - place for place in range(20)} | {"H": 1.0, "C": 0.5, "D": 0.1}}
    text = shown("AP", run, ranks=2)
    lines = text.splitlines()
    assert [line.split()[0] for line in lines[4:9]] == ["1", "2", "…", "22", "23"]
    assert "Not shown: 19 documents of lower ranks, which add 0.0079." in text
    assert "23    D" in shown("AP", run)
    lines = shown("AP", {"t": {"A": 3.0, "B": 2.0, "H": 1.0}}, ranks=1).splitlines()
    assert [line.split()[0] for line in lines[4:7]] == ["1", "…", "3"]
    # escaped
    text = shown("AP", text={"A": "\x1b[31m" + "long " * 30})
    assert "\x1b" not in text
    assert "…" in text
    narrow = shown("nDCG", text={"A": "long " * 30}, width=90)
    assert max(map(len, narrow.splitlines())) <= 90
    assert "\nIdeal ranking\nrank  document  run rank" in narrow
    # ids are escaped
    run = {"t\x1b": {"<b>|\x1b": 1.0}}
    [one] = gradeval.explain({"t\x1b": {"<b>|\x1b": 1}}, run, "nDCG", "t\x1b")
    for form in ("table", "md"):
        assert "\x1b" not in one.render(form)
    assert r"\<b\>\|" in one.render("md")
    assert json.loads(one.render("json"))["explanations"][0]["documents"][0]["id"] == "<b>|\x1b"


def test_json_has_everything():
    content = json.loads(shown("nDCG@2", format="json", against={"t": {"H": 1.0}}))
    [one] = content["explanations"]
    assert content["format"] == 1
    assert [document["id"] for document in one["documents"]] == [*"ABCDEFGH"]
    assert one["terms"] == [
        {"document": "A", "contribution": one["value"], "position": 1}
        | dict.fromkeys(("value", "running", "gain", "discount"), 1.0)
    ]
    assert one["sum"]["total"] / one["sum"]["normalizer"] == one["value"]
    assert [best["document"] for best in one["ideal"]] == ["H", "C"]
    assert one["against"]["value"] + sum(d["difference"] for d in one["differences"]) == pytest.approx(
        one["value"]
    )
    assert [loss["document"] for loss in one["losses"]] == ["H", "C", "A"]
    [other] = json.loads(shown("F@2", format="json"))["explanations"]
    assert other["method"] == "leave-one-out"
    assert len(other["changes"]) == 8


def test_formats():
    for form in FORMATS:
        assert shown("nDCG", format=form).endswith("\n")
    text = shown("nDCG", format="md")
    assert text.startswith("### nDCG, query t, run1: 0.6") and "\n| rank | document |   score | grade |" in text
    assert shown("nDCG", colour=True).startswith("\x1b[1mnDCG, query t, run1: ")
    raises(OptionError, "unknown format 'nothing'", shown, "nDCG", format="nothing")
    # a metric that is no sum says so
    text = shown("F@2")
    assert "Leave-one-out: the document removed from run and judgments, ranks closed up\n" in text
    assert "\n1     A          0.0000      1         0.2857  +0.0357\n" in text
    assert "\nF@2 is no sum over documents, so the changes need not add up.\n" in text
    assert "(leave-one-out), and need not add up." in shown("F@2", against={"t": {"H": 1.0}})
    # the text of the query
    [one] = explained("nDCG", queries_text={"t": "what is\x1b[1m it", "u": "no"})
    assert one.render().startswith("nDCG, query t (what is")
    assert "\x1b" not in one.render()
    assert one.to_dict()["query_text"] == "what is\x1b[1m it"
    assert explained("nDCG", queries_text={})[0].render() == shown("nDCG")


@pytest.fixture(autouse=True)
def files(folder):
    Path("r.run").write_text(LINES)


def explain(line):
    return command("explain", "q", "r.run", *line.split())


def test_a_query():
    done = explain("--query q1 -m AP")
    [one] = gradeval.explain("q", "r.run", "AP", "q1")
    assert done == (0, one.render(), "")


def test_the_worst_query():
    done = explain("--worst 1")
    assert done.out.startswith("nDCG@10, query q3, r: 0.0000\n")
    [line] = done.lines
    assert line == "warning: r: 1 query is not in the run, so nothing is retrieved ('q3') [nothing_retrieved]"
    assert "The run has no documents for this query." in done.out
    assert explain("--worst 1 --queries both").out.startswith("nDCG@10, query q1")
    assert explain("--worst 9 --query-ids q1").out.count("nDCG@10, query") == 1
    assert explain("--worst 1 --strict").code == 2
    assert explain("--worst 1 --quiet").err == ""
    # against
    Path("other.run").write_text("q1 Q0 a 1 1 t\nq2 Q0 e 1 1 t\n")
    done = explain("--against new=other.run --worst 1")
    assert done.out.startswith("nDCG@10, query q1: r 0.3") and done.err == ""
    assert "document  grade  r rank  new rank  r adds  new adds  difference\n" in done.out
    # titles
    Path("t.gz").write_bytes(gzip.compress(b"a\tThe best\n"))
    assert "  The best\n" in explain("--query q1 --text t.gz").out
    Path("t.gz").write_bytes(b"z9\tother\n")
    done = explain("--query q1 --text t.gz")
    none = "no document of the queries has a title in it; are the ids those of the runs? [no_titles]"
    assert (done.code, done.lines) == (0, [f"warning: t.gz: {none}"])


@each("args, message", [
    ("", "no query is chosen: give --query ID or --worst N (in Python query or worst)"),
    ("--query q1 --query-ids q1", "queries and query_ids are those that worst chooses from; query names them"),
    ("--query q1 --queries both", "queries and query_ids are those that worst chooses from"),
    ("--query q1 --ranks 0", "'0' is not an integer from 1"),
    ("--query q1 -f tsv", "'tsv' is not one of"),
])  # fmt: skip
def test_calls_that_are_refused(args, message):
    said = fails("explain", "q", "r.run", *args.split())
    assert message in said and "\n" not in said


def test_a_run_is_needed():
    command("q", "r.run", "-q", "-f", "json", "-o", "saved.json")
    for line, said in {
        "explain q --query q1": "Missing argument 'RUN'",
        "explain q --worst 1": "Try 'gradeval explain --help'",
        "explain q r=r.run --against r=s.run --query q1":
            "gradeval: two runs have the label 'r': r.run and s.run",
        "explain l --feature 1,2 --query 1": "one run is explained at a time",
        "study agreement l --feature 1,99": "no line has feature 99",
        "explain q saved.json --query q1": "a saved result has no documents. Give the run",
        "plot curve q saved.json": "saved.json: it has no values of nDCG@1, ",
    }.items():  # fmt: skip
        assert said in fails(*line.split()), line
    done = command("explain", "l", "--feature", "2", "--query", "1", "-m", "nDCG")
    assert done.out.startswith("nDCG, query 1, feature2: ")


def test_grades_stay_beside_their_documents_on_a_terminal() -> None:
    """However long the names of the runs are."""
    qrels = {"q": {f"clueweb12-0000tw-00-{n:05}": n for n in range(3)}}
    run = {"q": {document: float(n) for n, document in enumerate(qrels["q"])}}
    other = {"q": {document: -score for document, score in run["q"].items()}}
    for size in (1, 18, 92):
        runs = {"x" * size + "a": run}
        explained = gradeval.explain(qrels, runs, "nDCG", "q", against={"x" * size + "b": other})
        lines = explained.render("table", width=80).split("The first 3 ranks\n")[1].splitlines()
        assert max(map(len, lines)) <= 80
        heads = [line for line in lines if line.startswith("rank ")]
        assert len(heads) == (1 if size == 1 else 2)
        assert all(head.count("document") == head.count("grade") for head in heads)

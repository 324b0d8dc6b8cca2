"""Excluded documents: what is evaluated is what runs and qrels without them give."""

import json
from hashlib import sha256
from random import Random

import numpy as np
import pytest
from cli.command import gradeval as command
from helpers import each, each_row, error_of, raises

import gradeval
from gradeval import GradevalError, evaluate
from gradeval.arrays.strings import IdPairs, Ids
from gradeval.errors import InputError, OptionError
from gradeval.notices import NoticeKind

QRELS = {"1": {"a": 3, "b": 0, "c": 1}, "2": {"a": 1, "d": 2}, "3": {"e": 1}}
RUN = {"1": {"x": 5, "a": 4, "b": 3, "y": 2}, "2": {"d": 9, "a": 8, "x": 7}, "9": {"a": 1}}
EXCLUDED = {"1": ["x", "a"], "2": {"d"}, "3": ("e",), "7": ["a"]}
PAIRS = sorted((query, document) for query, of in EXCLUDED.items() for document in of)
METRICS = "nDCG AP P@2 num_ret num_rel"


def without(data, excluded=EXCLUDED):
    left = {q: {d: n for d, n in of.items() if d not in excluded.get(q, ())} for q, of in data.items()}
    return {query: of for query, of in left.items() if of}


def rows(data, form):
    return "".join(form.format(q, d, n) for q, of in data.items() for d, n in of.items())


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, qrels, run in (("", QRELS, RUN), ("less.", without(QRELS), without(RUN))):
        (tmp_path / f"{name}qrels").write_text(rows(qrels, "{} 0 {} {}\n"))
        (tmp_path / f"{name}run").write_text(rows(run, "{} Q0 {} 0 {} t\n"))
    (tmp_path / "ids").write_text("# by query\n1\tx\n1\ta\n2\td\n3\te\n\n7\ta\n1\tx\n")
    return tmp_path


def test_values_are_those_without_them(folder):
    expected = evaluate(without(QRELS), without(RUN), METRICS)
    for excluded in (EXCLUDED, PAIRS, "ids", b"ids", folder / "ids"):
        for qrels, run in ((QRELS, RUN), ("qrels", "run"), ("qrels", RUN)):
            results = evaluate(qrels, run, METRICS, exclude=excluded)
            np.testing.assert_array_equal(results.means, expected.means)
            assert list(results.queries) == list(expected.queries)
    evaluator = gradeval.Evaluator(QRELS, METRICS, exclude=EXCLUDED, warnings="ignore")
    for run in (RUN, gradeval.read_run(RUN), gradeval.read_run("run", exclude="ids")):
        np.testing.assert_array_equal(evaluator.evaluate(run).means, expected.means)
    raises(gradeval.OptionError, "from the run alone. Give it to evaluate", evaluate, QRELS, run, METRICS)
    raises(gradeval.OptionError, "exclude: give it to evaluate", gradeval.read_qrels, "qrels", exclude="ids")
    judged = gradeval.read_qrels("qrels")
    np.testing.assert_array_equal(evaluate(judged, RUN, METRICS, exclude=EXCLUDED).means, expected.means)
    assert evaluate(judged, RUN, METRICS).means[0, -1] == 6 - 1


def test_ranks_subtopics_and_passages():
    """Before ranks are counted, and before passages are collapsed; of every subtopic."""
    passages = {"1": {"x#1": 9, "b#2": 5, "a#7": 4}, "2": {"a": 1}}
    results = evaluate(QRELS, passages, "RR num_ret", max_passage="#", exclude={"1": ["x", "b"]})
    assert results.means.tolist() == [[(1 + 1 + 0) / 3, 2]]
    random = Random(5)
    judged = [
        (q, s, d, random.randrange(2)) for q in "123" for s in "st" for d in "abcd" if random.random() < 0.7
    ]
    run = {q: {d: random.random() for d in "abcdx"} for q in "123"}
    left = [row for row in judged if row[0] != "2" and (row[0], row[2]) != ("3", "b")]
    excluded = {"2": [*"abcd"], "3": ["b"]}
    metrics = "alpha_nDCG alpha_DCG@3 AP_IA StRecall(of=all)@2 nDCG"
    ours = evaluate(judged, run, metrics, exclude=excluded)
    expected = evaluate(left, without(run, excluded), metrics)
    np.testing.assert_array_equal(ours.means, expected.means)
    assumed = {"unjudged_grade": 1}
    ours = evaluate(judged, run, metrics, exclude=excluded, **assumed)
    np.testing.assert_array_equal(ours.means, evaluate(left, without(run, excluded), metrics, **assumed).means)


def test_what_is_said(folder):
    done = command("qrels", "run", "-mAP", "--exclude", "ids", "--signature")
    digits = sha256("\n".join(f"{query}\t{document}" for query, document in PAIRS).encode()).hexdigest()[:8]
    assert f"|exclude:sha256:{digits}|" in done.err
    assert sorted(line for line in done.err.splitlines() if "[exclude" in line) == [
        "note: qrels: 3 judgments of excluded documents removed; 1 of the 5 are of queries without judgments "
        "[excluded_judgments]",
        "note: run: 3 excluded documents removed [excluded]",
        "warning: qrels: 3 excluded documents are relevant (queries '1', '2', '3') [excluded_relevant]",
    ]
    assert [str(n) for n in gradeval.explain("qrels", "run", "AP", "1", exclude="ids")[0].notices][-1:] == [
        "run: 3 excluded documents removed"
    ]
    assert not evaluate(QRELS, RUN, "AP", exclude={"1": ["b"]}).notices.only(NoticeKind.EXCLUDED_RELEVANT)


def test_every_command(folder):
    """What a command prints is what it prints for files without the documents."""
    other = {"1": {"c": 3, "x": 2}, "2": {"a": 1, "d": 0}}
    for name, run in (("other", other), ("less.other", without(other))):
        (folder / name).write_text(rows(run, "{} Q0 {} 0 {} t\n"))
    for line in (
        "compare {}qrels a={}run b={}other -f tsv",
        "explain {}qrels a={}run -m nDCG@2 --query 1 -f md",
        "explain {}qrels a={}run -m AP --worst 2 --against b={}other -f md",
        "pool {}qrels a={}run b={}other --order depth -f tsv",
        "pool {}qrels a={}run b={}other --order effect -f tsv",
        "study reuse {}qrels a={}run b={}other --depth 2 -f tsv",
        "study agreement {}qrels a={}run b={}other --qrels2 {}qrels --table judgments -f tsv",
        "plot curve {}qrels a={}run -m nDCG --at 1-3 -f tsv",
        "diff a={}run b={}other -f tsv",
        "fuse a={}run b={}other",
    ):
        ours = command(*line.replace("{}", "").split(), "--exclude", "ids")
        assert ours.code == 0, ours.err
        assert ours.out == command(*line.replace("{}", "less.").split()).out, line
    for name in ("qrels", "run"):
        ours = command("convert", name, "-", "--to", "tsv", "--exclude", "ids")
        assert ours.out == command("convert", f"less.{name}", "-", "--to", "tsv").out != ""
        assert f"note: {name}: 3 rows of excluded documents left out" in ours.err
        texts = [
            command("validate", *line.split(), "--as", name, "-f", "json").out
            for line in (f"{name} --exclude ids", f"less.{name}")
        ]
        facts, expected = (json.loads(text)["files"][0] for text in texts)
        assert {**facts, "path": ""} == {**expected, "path": ""}
    text = '[options]\nexclude = "ids"\n[collections.c]\nqrels = "qrels"\n[systems]\na = "run"\n'
    (folder / "m.toml").write_text(text)
    done = command("batch", "m.toml", "-m", "AP", "-f", "json")
    assert done.code == 0, done.err
    [cell] = json.loads(done.out)["cells"]
    assert cell["values"]["AP"]["mean"] == evaluate("less.qrels", "less.run", "AP").mean(0, 0)


def test_saved_results(folder):
    call = ("qrels", "run", "-mAP", "-qfjson", "--exclude", "ids", "-o", "saved.json")
    assert command(*call).code == 0
    content = json.loads((folder / "saved.json").read_text())
    assert content["options"]["exclude"] == {"1": ["a", "x"], "2": ["d"], "3": ["e"], "7": ["a"]}
    again = evaluate("qrels", "saved.json", "AP", exclude=EXCLUDED)
    assert again.mean(0, 0) == evaluate("qrels", "run", "AP", exclude="ids").mean(0, 0)
    text = error_of(GradevalError, evaluate, "qrels", "saved.json", "AP")
    assert "it was made with --exclude of 5 documents, and here it is default" in text


@each_row(
    ("1 x\n1 a y\n", "ids:2: 3 fields where a query and a document are expected. Ids with spaces need a tab"),
    ("1 x\n\n2\n", "ids:3: 1 field where a query and a document are expected"),
    ("1\tx\n2\t\n", "ids:2: a line has a query and a document"),
    ("query,document\n1\n", "ids:2: 1 field where a query and a document are expected"),
    ("", "ids: the file is empty"),
    ("# nothing\n", "ids: no data"),
    ("{}", "ids: no data"),
    ('{"1": "x"}', "ids:1: JSON of excluded documents is {query: [documents]}, with strings"),
    (r'{"1": ["\ud800"]}', "ids:1: JSON of excluded documents is"),
    ('[["1", "x"]]', "ids:1: JSON of excluded documents is"),
    ('{"1": ["x"]}\n{"2": ["a"]}', "ids:2: not valid JSON"),
)
def test_bad_lines(text, said, folder):
    (folder / "ids").write_text(text)
    done = command("qrels", "run", "--exclude", "ids")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(said)


@each("text", [
    "1 x\n1 a\n",
    'query_id,doc_id,why\n1,x,"a, b"\n1,a,\n',
    "document\tquery\nx\t1\na\t1\n",
    "1\tx\r\n1\ta",
    '{"1": ["x", "a"]}',
    '\n{\n "1": [\n  "a", "x", "a"]}\n',
])  # fmt: skip
def test_forms_of_the_file(text, folder):
    (folder / "ids").write_text(text)
    results = [evaluate("qrels", "run", METRICS, exclude=form) for form in ("ids", {"1": ["x", "a"]})]
    np.testing.assert_array_equal(results[0].means, results[1].means)
    (folder / "spaces").write_text("a query\tx y\n")
    qrels, run = {"a query": {"x y": 1, "b": 1}}, {"a query": {"x y": 2, "b": 1}}
    assert evaluate(qrels, run, "num_ret", exclude="spaces").mean(0, 0) == 1
    assert evaluate(qrels, run, "num_ret", exclude={"a query": "x y"}).mean(0, 0) == 1


@each("value, said", [
    ([("1",)], "must be {query: documents}"), ({"1": "ab", "2": 3}, "must be a list"),
    ({"1": b"ab"}, "must be a list"),
    ([(None, "a")], "must be ids"), ({"1": [["a"]]}, "must be ids"), ("", "must be a path"),
])  # fmt: skip
def test_values_that_are_refused(value, said):
    assert said in error_of(OptionError, evaluate, QRELS, RUN, "AP", exclude=value)


def test_nothing_is_left(folder):
    said = "no document is left: all are excluded"
    for data, judged, name in ((QRELS, "qrels", "qrels"), (RUN, {"1": {"c": 1}}, "run")):
        everything = {query: list(of) for query, of in data.items()}
        raises(InputError, f"{name}: {said}", evaluate, judged, "run", "AP", exclude=everything)


def test_pairs_of_ids_with_one_key(monkeypatch):
    """A match of keys is confirmed on the bytes."""
    monkeypatch.setattr(Ids, "keys", lambda self: np.zeros(len(self), np.uint64))
    random = Random(2)
    pairs = [(b"the query %d" % random.randrange(3), b"document %d" % random.randrange(6)) for _ in range(9)]
    queries = [b"the query %d" % n for n in range(4)]
    asked = [(query, b"document %d" % n) for query in queries for n in range(7)]
    found = IdPairs(*map(Ids.of, zip(*pairs, strict=True)))
    documents = Ids.of([document for _, document in asked])
    of_rows = found.has(Ids.of(queries), np.arange(0, 29, 7), documents)
    assert of_rows.tolist() == [pair in pairs for pair in asked]

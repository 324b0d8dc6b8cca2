"""Which queries are explained, and of which data: the worst, files, features, titles, errors."""

import json
import math
import random
from pathlib import Path

import pytest
from helpers import each

import gradeval
from gradeval.commands.explain.explain import titles_of
from gradeval.errors import GradevalError, InputError, MetricError, OptionError

from .explained import QRELS, RUN


def test_worst_queries():
    results = gradeval.evaluate(QRELS, RUN, "nDCG")
    values = results.runs[0].values[0]
    expected = [results.queries[q] for q in sorted(range(4), key=lambda q: values[q])]
    assert expected[0] == "none"
    assert [one.query for one in gradeval.explain(QRELS, RUN, "nDCG", worst=3)] == expected[:3]
    both = [one.query for one in gradeval.explain(QRELS, RUN, "nDCG", worst=9, queries="both")]
    assert both == expected[1:]
    [one] = gradeval.explain(QRELS, RUN, "nDCG", worst=1, query_ids=["q2"])
    assert one.query == "q2"
    # queries without a relevant document are not the worst
    qrels = {"empty": {"a": 0, "b": 0}, "low": {"a": 1, "b": 0}, "high": {"a": 0, "b": 1}}
    run = {query: {"b": 2.0, "a": 1.0} for query in qrels}
    order = [one.query for one in gradeval.explain(qrels, run, "nDCG", worst=3)]
    assert order == ["low", "high", "empty"]
    # undefined values are not the worst
    qrels = {"same": {"a": 1, "b": 1}, "q": {"a": 1, "b": 2}}
    run = {query: {"a": 2.0, "b": 1.0} for query in qrels}
    assert [one.query for one in gradeval.explain(qrels, run, "rankDCG", worst=2)] == ["q"]
    [one] = gradeval.explain(qrels, run, "rankDCG", "same")
    assert math.isnan(one.value)
    assert one.to_dict()["value"] is None


def test_a_run_of_files_is_the_same(tmp_path: Path):
    q, r = tmp_path / "q", tmp_path / "r.run"
    q.write_text("".join(f"{i} 0 {d} {g}\n" for i, of in QRELS.items() for d, g in of.items()))
    lines = [f"{i} Q0 {d} 1 {s} t\n" for i, of in RUN.items() for d, s in of.items()]
    random.Random(1).shuffle(lines)  # so that the lines of a query are not together
    r.write_text("".join(lines))
    for name in ("nDCG@3", "F@3"):
        [one], [other] = gradeval.explain(q, r, name, "q1"), gradeval.explain(QRELS, RUN, name, "q1")
        assert one.run == "r"
        assert list(one.documents) == list(other.documents)
        assert one.terms == other.terms
        assert one.changes == other.changes
    # a duplicate document of the query is an error
    run = tmp_path / "r"
    run.write_text("q Q0 a 1 3 t\nq Q0 b 2 2 t\nq Q0 b 3 1 t\n")
    with pytest.raises(InputError, match="r:3: duplicate document 'b' for its query"):
        gradeval.explain({"q": {"a": 1}}, run, "AP", "q")


@each("given, options, error, message", [
    (("AP",), {}, OptionError, "no query given"),
    (("AP", "q"), {"worst": 1}, OptionError, "mutually exclusive"),
    (("AP",), {"worst": 0}, OptionError, "worst must be a positive integer, not 0"),
    (("AP", "nothing"), {}, OptionError, "query 'nothing' is not in"),
    (("AP P@5", "q"), {}, MetricError, "one metric is explained at a time, not AP, P@5"),
    (("relstring", "q"), {}, MetricError, "relstring is a text, and no number to explain"),
    (("num_ret",), {"worst": 1}, MetricError, "neither high nor low values are better"),
    (("rankDCG",), {"worst": 1}, MetricError, "undefined for all queries"),
    (("AP",), {"worst": 1, "queries": "both", "query_ids": "p"}, OptionError, "no query is left .* in the run"),
    (("nDGC", "q"), {}, MetricError, "did you mean"),
    (("AP", "q"), {"nothing": 1}, OptionError, "unknown option nothing"),
    (("AP", "q"), {"against": [{"q": {"a": 1}}, {"q": {"a": 2}}]}, OptionError, "against must be one run"),
    (("AP", "q"), {"against": "no-such-file"}, InputError, "no such file"),
])  # fmt: skip
def test_errors(given, options, error, message):
    with pytest.raises(error, match=message):
        gradeval.explain({"q": {"a": 1, "b": 1}, "p": {"a": 0}}, {"q": {"a": 1.0}}, *given, **options)


WANTED = {"d1", "d2"}


def read(tmp_path: Path, text: str) -> dict[str, str]:
    path = tmp_path / "t"
    path.write_text(text)
    return dict(titles_of(path, WANTED))


def test_titles(tmp_path):
    """The first one of a document counts, and reading stops when all are found."""
    text = "d3\tother\n\nd1\tA  title\tin two fields\r\nd1\tlater\nd2\t two \nno tab\n"
    assert read(tmp_path, text) == {"d1": "A title in two fields", "d2": "two"}
    assert read(tmp_path, "d1\t\n") == read(tmp_path, "\n") == {}
    for key in ("_id", "id", "doc_id", "docid", "docno", "pid"):
        first = {key: "d1", "title": "", "text": "first text"}
        lines = map(json.dumps, (first, {key: "d2", "title": "Two", "text": "x"}))
        assert read(tmp_path, "\n".join(lines)) == {"d1": "first text", "d2": "Two"}


@each("text, message", [
    ("d1 title\n", "t:1: there is no tab after the id"),
    ('{"id": "d1", "title": "a"}\nd2\tb\n', "t:2: this is not a JSON object, as the first line is"),
    ('{"title": "a"}\n', "t:1: the object has no id; its name is one of _id, id"),
    ('{"id": "d1", "titel": "a"}\n', "t:1: the object has no text; its name is one of title, text"),
    ("d1\ta\0\n", "t:1: binary data"),
    ("x\n" * 50, "t:20: reading stopped here"),
])  # fmt: skip
def test_files_that_are_no_titles(tmp_path, text, message):
    with pytest.raises(GradevalError, match=message):
        read(tmp_path, text)

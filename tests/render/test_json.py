from __future__ import annotations

import json
import random

import gradeval
from gradeval.evaluation.results import Results


def test_the_object(results: Results) -> None:
    text = results.render("json", per_query=True, digits=1)
    assert text.isascii() and text.endswith("}\n")
    content = json.loads(text, parse_constant=lambda name: 1 / 0)  # NaN is not JSON
    assert content == results.to_dict(per_query=True)
    assert content["gradeval"] == gradeval.__version__
    assert content["format"] == 1
    assert content["qrels"] == {"path": "judged/qrels.txt", "sha256": "ab" * 32}
    assert content["options"] == {"ties": "trec", "rel": None}
    assert content["metrics"] == ["num_q", "muAP", "nDCG@10", "P@5", "rankDCG", "nDCGphi@10"]
    line = "neural: 1 judged query is not in the run, excluded"
    assert content["warnings"] == [line]
    assert content["notices"] == [
        {"kind": "missing", "subject": "neural", "count": 1, "rule": "both", "text": line}
    ]
    bm25, neural = content["runs"]
    assert (bm25["path"], bm25["sha256"], bm25["queries"]) == ("runs/bm25_k1.run.gz", "cd" * 32, 3)
    assert (neural["path"], neural["sha256"], neural["queries"]) == ("-", None, 2)
    assert bm25["summary"]["num_q"] == 3 and isinstance(bm25["summary"]["num_q"], int)
    assert bm25["summary"]["nDCG@10"] == 1.6 / 3
    assert bm25["summary"]["rankDCG"] == 0.625
    assert bm25["undefined"] == {"rankDCG": 1}
    assert list(bm25["per_query"]) == ["q1", "q2", "a|b_%\udcff"]
    assert list(neural["per_query"]) == ["q1", "q2"]
    assert bm25["per_query"]["q2"] == {
        "muAP": 0.25,
        "nDCG@10": 0.6,
        "P@5": 0.4,
        "rankDCG": None,
        "nDCGphi@10": 0.5,
    }


def test_parts_are_left_out(results: Results) -> None:
    for run in json.loads(results.render("json"))["runs"]:
        assert "per_query" not in run and "summary" in run
    for run in json.loads(results.render("json", per_query=True, summary=False))["runs"]:
        assert "per_query" in run and "summary" not in run


def test_options_that_json_does_not_know_are_text(make) -> None:
    results = make("AP", {"a": [[0.5]]})
    odd = Results(results.qrels, None, results.queries, results.specs, results.runs, {"k": 1 + 2j})
    assert json.loads(odd.render("json"))["options"] == {"k": "(1+2j)"}


def test_many_queries_are_written_as_json_dumps_writes_them() -> None:
    """Columns are formatted at once; other ways of rounding and writing must not differ in a byte."""
    draw = random.Random(8)
    qrels = {f'q{q}é"\\': {f"d{d}": draw.randrange(-1, 4) for d in range(6)} for q in range(300)}
    runs = {name: {q: {f"d{d}": draw.randrange(4) for d in range(9)} for q in qrels} for name in ("a", "b\n")}
    names = "AP nDCG tau rankDCG num_ret relstring num_q gm_map"
    for tie_range in (False, True):
        results = gradeval.evaluate(qrels, runs, names, tie_range=tie_range)
        for per_query in (False, True):
            for summary in (False, True):
                expected = json.dumps(results.to_dict(per_query=per_query, summary=summary), indent=2) + "\n"
                assert results.render("json", per_query=per_query, summary=summary) == expected

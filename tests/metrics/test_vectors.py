"""The conformance vectors are those of the references, and the kernels have their values."""

import json
import math
from itertools import groupby

import pytest
import vectors as made
from cli.command import fails
from cli.command import gradeval as command

import gradeval
from gradeval.registry.metric import REGISTRY
from gradeval.registry.vectors import vectors

STORED = json.loads(made.FILE.read_text("utf-8"))


@pytest.mark.slow
def test_the_file_is_current():
    assert made.document() == made.FILE.read_text("utf-8"), "run python tests/vectors.py"


def test_every_metric_and_parameter_is_in_them():
    metrics = [vector["metric"] for vector in STORED["vectors"]]
    for name in REGISTRY.keys() - {"runid"}:
        for param in REGISTRY[name].params:
            written = "@" if param.after_at else f"{param.name}="
            assert any(text.split("(")[0].split("@")[0] == name and written in text for text in metrics), param


def is_close(value, expected):
    if isinstance(expected, str):
        return value == expected
    if expected is None:
        return math.isnan(value)
    return math.isclose(value, expected, rel_tol=1e-12, abs_tol=1e-12)


def test_the_kernels_agree():
    def same_call(vector):
        return vector["collection"], json.dumps(vector["options"])

    for (collection, options), group in groupby(sorted(STORED["vectors"], key=same_call), same_call):
        data = STORED["collections"][collection]
        of_group = list(group)
        metrics = [vector["metric"] for vector in of_group]
        evaluator = gradeval.Evaluator(data["qrels"], metrics, warnings="ignore", **json.loads(options))
        results = evaluator.evaluate({"run": data["run"]})  # which does not look for notices
        for column, (spec, vector) in enumerate(zip(results.specs, of_group, strict=True)):
            values = (results.texts if spec.metric.text else results.per_query)(0, column)
            assert values.keys() == vector["queries"].keys()
            for query, expected in vector["queries"].items():
                assert is_close(values[query], expected), (vector, query, values[query])
            if not spec.metric.text:
                assert is_close(results.mean(0, column), vector["mean"]), vector


def test_the_command():
    document = json.loads(command("metrics", "--vectors", "map", "nDCG").out)
    assert {vector["metric"].split("(")[0].split("@")[0] for vector in document["vectors"]} == {"AP", "nDCG"}
    assert document == vectors(["AP", "nDCG"])
    assert [*document["vectors"][0]] == ["metric", "options", "qrels", "run", "queries", "mean", "source"]
    assert "runid has no vectors" in fails("metrics", "--vectors", "runid")
    assert "mutually exclusive" in fails("metrics", "--vectors", "--graded")


def test_those_of_a_group_and_of_a_cutoff() -> None:
    assert {vector["metric"].split("@")[0].split("(")[0] for vector in vectors(["basic"])["vectors"]} == {
        *("nDCG", "AP", "RR", "P", "R")
    }
    of_cutoff = vectors(["AP@10", "RR"])["vectors"]
    assert {vector["metric"] for vector in of_cutoff if vector["metric"].startswith("AP")} == {"AP@10"}
    assert "P@5 has no vectors: P has those of P@3, " in fails("metrics", "--vectors", "P@5")

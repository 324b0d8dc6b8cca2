"""gradeval.gate(): the command as a function."""

import warnings
from pathlib import Path

import pytest
from helpers import raises

import gradeval
from gradeval import GateReport

QRELS = {f"q{q}": {"a": 1, "b": 1, "c": 0} for q in range(6)}
GOOD = {f"q{q}": {"a": 3.0, "b": 2.0 + q, "c": 1.0} for q in range(6)}
BAD = {f"q{q}": {"a": 1.0, "b": 2.0, "c": 3.0 + q % 2} for q in range(6)}


def test_checks_of_data_results_and_files(tmp_path: Path) -> None:
    good, bad = (
        gradeval.evaluate(QRELS, {name: run}, "AP P@1") for name, run in (("good", GOOD), ("bad", BAD))
    )
    report = gradeval.gate(QRELS, GOOD, require=["AP >= 0.9", "coverage >= 100%"], name="nightly")
    assert isinstance(report, GateReport) and report and report.held and report.exit_code == 0
    assert repr(report) == "GateReport(held, checks=2, held=2)"
    assert "nightly" in str(report) and [outcome.verdict for outcome in report.outcomes] == ["held"] * 2
    bad.save(tmp_path / "bad.json")
    for run in (bad, str(tmp_path / "bad.json")):
        failed = gradeval.gate(run, require="AP >= 0.9", worst=1)
        assert not failed and failed.exit_code == 1 and len(failed.outcomes[0].worst) == 1
        fell = gradeval.gate(run, baseline=good, max_drop="AP 2%")
        of_runs = gradeval.gate(QRELS, {"bad": BAD}, baseline={"good": GOOD}, max_drop="AP 2%")
        assert not fell.held and fell.render("tsv") == of_runs.render("tsv")
    config = tmp_path / "gate.toml"
    config.write_text('require = ["AP[head] >= 0.9"]\nname = "of a file"\n[options]\nrel = 1\n')
    of_file = gradeval.gate(QRELS, GOOD, config=config, by={"q1": "head"}, no_worse="P@1", baseline=BAD)
    assert of_file.held and of_file.name == "of a file" and len(of_file.outcomes) == 2
    assert of_file.inputs["options"]["rel"] == 1


def test_warnings_and_errors() -> None:
    incomplete = {query: run for query, run in GOOD.items() if query != "q1"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(gradeval.EvaluationWarning, match="1 judged query is not in the run"):
            gradeval.gate(QRELS, incomplete, require="AP >= 0")
    both = gradeval.evaluate(QRELS, {"a": GOOD, "b": BAD}, "AP")
    raises(gradeval.OptionError, "no checks given", gradeval.gate, QRELS, GOOD)
    raises(gradeval.OptionError, "compares with a baseline", gradeval.gate, QRELS, GOOD, no_worse="AP")
    raises(gradeval.InputError, r"there are 2 runs \(a, b\)", gradeval.gate, both, require="AP >= 0")
    one = gradeval.evaluate(QRELS, GOOD, "AP")
    raises(gradeval.MetricError, "P@1 was not evaluated", gradeval.gate, one, require="P@1 >= 0")
    raises(
        gradeval.OptionError,
        "unknown kind of warnings 'x'",
        gradeval.gate,
        QRELS,
        GOOD,
        require="AP > 0",
        allow="x",
    )
    raises(gradeval.GradevalError, "no such file", gradeval.gate, QRELS, "none.run", require="AP > 0")

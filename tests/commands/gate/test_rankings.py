"""Checks of rankings: of the mean or a share of the queries, without judgments and beside those of metrics."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from cli.command import fails, gradeval
from helpers import each, raises

import gradeval as package

RANKINGS = {
    "old": {"1": "a b c d", "2": "a b c d", "3": "a b c d", "4": "a b c d"},
    "new": {"1": "a b c d", "2": "b a c d", "3": "a b c d", "4": "a b c d"},
    "part": {"1": "a b c d", "2": "a b c d"},
    "more": {"1": "a b c d", "2": "a b c d", "3": "a b c d", "4": "a b c d", "5": "x"},
}


@pytest.fixture(autouse=True)
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, run in RANKINGS.items():
        lines = (f"{q} Q0 {d} 1 {-n} t\n" for q, text in run.items() for n, d in enumerate(text.split()))
        Path(f"{name}.run").write_text("".join(lines))
    Path("qrels").write_text("".join(f"{q} 0 a 1\n" for q in "1234"))


def checks(*args: str) -> dict[str, tuple[str, float, float]]:
    done = gradeval("gate", *args, "--quiet", "-f", "json")
    content = json.loads(done.out)
    assert done.code == content["exit_code"], done.err
    return {check["check"]: (check["verdict"], check["value"], check["bound"]) for check in content["checks"]}


@each("check, verdict, value", [
    ("same@1 >= 0.75", "held", 0.75),
    ("same@1 > 0.75", "failed", 0.75),
    ("SAME@1 >= 75%", "held", 0.75),
    ("same_set@2 >= 1", "held", 1),
    ("overlap@1,2 < 0.9", "held failed", [0.75, 1]),
    ("AO@2 >= 1 in 75%", "held", 0.75),
    ("AO@2 >= 0.6 in 76%", "failed", 0.75),
    ("jaccard@4 >= 1 in 100%", "held", 1),
    ("rbo >= 0.97", "held", 0.975),
])  # fmt: skip
def test_the_mean_and_a_share_of_the_queries(check: str, verdict: str, value: float) -> None:
    found = checks("new.run", "--baseline", "old.run", "--require", check)
    assert [outcome[0] for outcome in found.values()] == verdict.split()
    values = [outcome[1] for outcome in found.values()]
    assert values == pytest.approx(value if isinstance(value, list) else [value])


def test_a_run_with_itself_holds() -> None:
    measures = "RBO overlap@3 jaccard@3 AO@3 same@3 same_set@3"
    assert {
        outcome[0]
        for outcome in checks("old.run", "--baseline", "old.run", "--require", f"{measures} >= 1").values()
    } == {"held"}
    # queries that only the run has do not count
    assert checks("more.run", "--baseline", "old.run", "--require", "RBO >= 1")["RBO >= 1"] == ("held", 1, 1)


def test_beside_checks_of_metrics_and_in_a_file() -> None:
    Path("gates.toml").write_text(
        'require = ["AP >= 0.5", "same@1 >= 1 in 50%", "AP <= 1"]\nbaseline = "old.run"\n'
    )
    found = checks("qrels", "new.run", "--config", "gates.toml")
    assert list(found) == ["AP >= 0.5", "same@1 >= 1 in 50%", "AP <= 1"]
    assert found["same@1 >= 1 in 50%"] == ("held", 0.75, 0.5)
    Path("gates.toml").write_text('require = "RBO >= 1"\nbaseline = "old.run"\nmin-coverage = 50\n')
    assert checks("part.run", "--config", "gates.toml")["RBO >= 1"][0] == "held"
    assert "gates.toml:1: AP is not a measure of rankings" in _in_file('require = "RBO AP >= 1"')


def test_of_groups() -> None:
    """Without judgments, and beside checks of metrics; of a group the queries in both runs."""
    Path("groups").write_text("1\thead\n2\thead\n3\ttail\n5\ttail\n")
    args = ["new.run", "--baseline", "old.run", "--by", "groups", "--require", "same@1[head] >= 1"]
    assert checks(*args) == {"same@1[head] >= 1": ("failed", 0.5, 1)}
    args += ["--require", "same@1[tail] > 0.5 in 90%", "--require", "same@1 > 0", "--require", "AP[tail] >= 1"]
    assert [outcome[:2] for outcome in checks("qrels", *args).values()] == [
        ("failed", 0.5),
        ("held", 1),
        ("held", 0.75),
        ("held", 1),
    ]


def _in_file(text: str) -> str:
    Path("gates.toml").write_text(text)
    return fails("gate", "new.run", "--baseline", "old.run", "--config", "gates.toml")


def test_reports_name_the_queries_that_changed() -> None:
    args = (
        "gate",
        "new.run",
        "--baseline",
        "old.run",
        "--require",
        "RBO >= 1",
        "--junit",
        "gate.xml",
        "--github",
    )
    done = gradeval(*args)
    assert done.code == 1 and "worst queries: 2" in done.err
    assert "metric  query   value\n" in done.out  # and no column of a baseline's value
    suites = ElementTree.parse("gate.xml").getroot()
    [failure] = suites.iter("failure")
    assert "\nquery 2: 0.9000\n" in (failure.text or "")
    assert {item.get("name"): item.get("value") for item in suites.iter("property")} == {
        "run": "new.run",
        "baseline": "old.run",
    }


def test_what_cannot_be_judged() -> None:
    done = gradeval("gate", "part.run", "--baseline", "old.run", "--require", "RBO >= 1", "-f", "tsv")
    said = "part has 2 of 4 queries of the baseline (50 %), fewer than --min-coverage 100 %; it lacks 3, 4"
    assert done.code == 2 and said in done.out
    Path("saved.json").write_text(gradeval("qrels", "old.run", "-q", "-f", "json", "--quiet").out)
    no_rankings = "saved.json is a saved result, which has no rankings. Give the run itself"
    for run, baseline in (
        ("new.run", "saved.json"),
        ("saved.json", "old.run"),
        ("qrels new.run", "saved.json"),
    ):
        assert no_rankings in fails("gate", *run.split(), "--baseline", baseline, "--require", "RBO >= 1")
    assert fails("gate", "missing", "--baseline", "old.run", "--require", "RBO >= 1").startswith(
        "missing: no such"
    )


@each("line, said", [
    ("--require RBO>=1", "'RBO >= 1' compares with a baseline. Add --baseline RUN"),
    ("--baseline old.run --require overlap>=1", "overlap needs a number of first ranks, as in overlap@10"),
    ("--baseline old.run --require RBO@5>=1", "RBO@5 is not a measure of rankings"),
    ("--baseline old.run --require 'AO@5>=1 in 0%'", "the share of queries must be above 0%"),
    ("--baseline old.run --require 'AO@5>=1 in 101%'", "the share of queries must be from 0% to 100%"),
    ("--baseline old.run --require 'AP>=1 in 95%'", "only measures of rankings take a share of the queries"),
    ("--baseline old.run --max-drop 'AO@5 0.1'", "already compare the run with its baseline"),
    ("--baseline old.run --require AO@5[head]>=1", "is of a group of queries. Add --by FILE"),
    ("--baseline old.run --require AO@5[head]>=1 --by groups", "no query is in such a group: there are tail"),
    ("--baseline old.run --require AP>=1", "'QRELS' or 'RUN'. 'AP >= 1' is a check of a metric, which"),
    ("--baseline old.run --require RBO>=0 --require tau>=1", "'tau >= 1' is a check of a metric, which"),
])  # fmt: skip
def test_usage(line: str, said: str) -> None:
    import shlex

    Path("groups").write_text("1\ttail\n")
    assert said in fails("gate", "new.run", *shlex.split(line))


def test_in_python() -> None:
    report = package.gate(None, "new.run", baseline="old.run", require=["RBO >= 0.97", "same@1 >= 1"])
    assert not report.held and [outcome.verdict for outcome in report.outcomes] == ["held", "failed"]
    old = {"1": {"a": 2.0, "b": 1.0}}
    report = package.gate(
        {"1": {"a": 1}}, old, baseline=old, require="RBO AO@2 >= 1", no_worse="AP", min_coverage=0
    )
    assert [outcome.verdict for outcome in report.outcomes] == [
        "held",
        "held",
        "error",
    ]  # of one query, no test
    results = package.evaluate("qrels", "old.run", "AP")
    raises(
        package.OptionError,
        "is a saved result",
        package.gate,
        None,
        "new.run",
        baseline=results,
        require="RBO >= 1",
    )

"""Reports of gates: every format against its whole output, and data that tries to be markup or a command."""

import json
import math
import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

from helpers import each, golden

import gradeval
from gradeval.commands.gate import layout as ci
from gradeval.commands.gate.command import FORMATS
from gradeval.commands.gate.layout import margin, verdict_line
from gradeval.commands.gate.verdicts import CheckOutcome, Coverage, GateReport, WorstQuery, parse_checks
from gradeval.errors import printable
from gradeval.notices import Kind, Notice

GOLDEN = Path(__file__).parent / "golden"
NAN = math.nan


def outcome(kind: str, text: str, verdict: str, *numbers: float, **more: object) -> CheckOutcome:
    [check] = parse_checks(kind, text)
    return CheckOutcome(check, verdict, *numbers, **more)  # type: ignore[arg-type]


def report() -> GateReport:
    worst = (WorstQuery("a|b_%\udcff", 0.25, 0.75), WorstQuery("=4", 0.5, 0.625))
    pairs = {"n": 5, "mean": 0.5, "baseline_mean": 0.53}
    outcomes = (
        outcome("require", "num_q >= 4", "held", 5.0, 4.0, 1.0),
        outcome("require", "coverage >= 95%", "held", 1.0, 0.95, 0.05),
        outcome("require", "nDCGphi@10 > 0.5", "failed", 0.499999, 0.5, -1e-6, n=5, worst=worst),
        outcome("max-drop", "AP 2%", "failed", 0.5, 0.5194, -0.0194, worst=worst[:1], **pairs),
        outcome("no-worse", "AP", "held", -0.03, 0.0, 0.01, low=-0.07, high=0.01, **pairs),
        outcome("non-inferior", "AP 0.01", "inconclusive", -0.03, -0.01, -0.06, low=-0.07, high=0.01, **pairs),
        outcome("max-query-drop", "RR 0.5 in 5%", "failed", 0.2, 0.05, -0.15, worst=worst[:1], **pairs),
        outcome("max-drop", "tau 0.1", "error", reason="tau is undefined: no query has a value in both runs"),
    )
    runs = (Coverage("neural|2", "neural|2.run", 5, 5), Coverage("bm25", "bm25.json", 5, 5))
    notices = (Notice(Kind.FEW_QUERIES, "", 5, rule="gate"),)
    inputs = {"qrels": {"path": "q", "sha256": None}}
    subject = {"run": "neural|2.run", "baseline": "bm25.json", "qrels": "q", "options": "rel = 2"}
    return GateReport(outcomes, runs, 100.0, notices, inputs=inputs, name="all, 5%", subject=subject)


@each("format", [*FORMATS, "junit", "github"])
def test_whole_output(format: str) -> None:
    layouts = {
        "junit": lambda: ci.junit(report(), 4),
        "github": lambda: ci.github(report(), 4, ["few queries: 5 %"]),
    }
    text = layouts.get(format, lambda: report().render(format))()
    text = text.replace(f'"{gradeval.__version__}"', '"VERSION"')
    assert text.encode(errors="surrogateescape") == golden(GOLDEN / f"{format}.txt")


def test_verdict_lines() -> None:
    wrong = "the gate could not decide: 1 of 2 checks could not be judged"
    for verdicts, code, line in (
        ("held", 0, "gate held: 1 of 1 check held"),
        ("held held", 0, "gate held: 2 of 2 checks held"),
        ("held failed", 1, "gate failed: 1 of 2 checks did not hold (1 failed)"),
        ("failed inconclusive", 1, "gate failed: 2 of 2 checks did not hold (1 failed, 1 inconclusive)"),
        ("held error", 2, wrong),
        ("failed error", 2, f"{wrong}; 1 failed"),
        ("", 2, "the gate could not decide: see the errors"),
    ):
        gate = GateReport(tuple(outcome("no-worse", "AP", verdict) for verdict in verdicts.split()))
        assert (verdict_line(gate), gate.exit_code) == (line, code)
    # a margin that would be rounded to 0 is shown
    check = outcome("require", "AP > 0.5", "failed", 0.5, 0.5)
    shown = [margin(replace(check, margin=value), 4) for value in (-4e-6, -1e-12, NAN)]
    assert shown == ["-4e-06", "0.0000", "-"]


# attacks

IDS = [
    "::error::x", "\n::error::x", "%0A::error::x", "a\r\n::warning file=x::y", "\u2028::error::x",
    "\x85::error::x", "##[error]x", "x##[add-mask]y", "%", "%25", "@octocat", ":tada:", "octo/repo#12", "]]>",
    "]]><failure/>", "</failure></testcase>", "<script>alert(1)</script>", "<!-- -->", "&lt;&amp;&#10;",
    "\"'/>", "a|b", "a\\|b", "| x | y |\n|---|---|", "`code`", "**bold** _it_ ~~x~~", "# head", "$x$", "a\tb",
    "[a](https://example.org)", "![a](https://example.org/a.png)", "<https://example.org>",
    "https://example.org", "www.example.org", "\x00\x1b[31m\x07", "\udcff\ufffe\uffff", "\u202eabc",
]  # fmt: skip


def attacked() -> GateReport:
    worst = tuple(WorstQuery(id_, 0.1, 0.2) for id_ in IDS)
    outcomes = [outcome("max-drop", "AP 0.1", "failed", 0.1, 0.2, -0.1, worst=worst)]
    outcomes += [outcome("no-worse", "AP", "error", reason=f"{id_} has 1 of 2 judged queries") for id_ in IDS]
    runs = tuple(Coverage(id_, f"{id_}.run", 1, 2) for id_ in IDS[:2])
    return GateReport(tuple(outcomes), runs, problems=tuple(f"{id_}: no such file" for id_ in IDS))


COMMAND = re.compile(r"^\s*::[a-z-]+( [^:]*)?::|##\[\w+[^\]]*\]")


def commands(text: str) -> list[str]:
    """What GitHub's runner would take for a command: its two forms, after its ways to end a line."""
    return [line for line in re.split(r"\r\n|\r|\n", text) if COMMAND.search(line)]


@each("format", FORMATS)
def test_no_data_is_a_command(format: str) -> None:
    assert len(commands("\n".join(IDS))) == 7  # which the runner would obey
    text = attacked().render(format)
    assert commands(text) == []
    if format == "json":
        content = json.loads(text)
        assert [query["query"] for query in content["checks"][0]["worst"]] == IDS
        assert text.isascii()


def test_attacked_reports_are_ours() -> None:
    gate = attacked()
    lines = ci.github(gate, 4, IDS).split("\n")
    assert lines.pop() == ""
    assert len(lines) == len(gate.problems) + len(IDS) + len(gate.outcomes) + 1
    for line in lines:
        found = re.fullmatch(r"::(error|warning) title=gradeval gate::(.*)", line)
        assert found is not None and found[2].isprintable()
        assert not re.search("%(?!25)", found[2])
    shown = [line.partition("gate::")[2].replace("%25", "%") for line in lines]
    assert shown[1 : len(IDS) + 1] == [printable(problem) for problem in gate.problems]
    assert all(printable(id_) in shown[2 * len(IDS) + 1] for id_ in IDS)
    # a junit file is ours
    gate = attacked()
    text = ci.junit(gate, 4)
    text.encode()  # there is no byte that is not UTF-8
    suites = ElementTree.fromstring(text)
    assert [element.tag for element in suites.iter()][:2] == ["testsuites", "testsuite"]
    cases = suites.findall("./testsuite/testcase")
    assert len(cases) == len(gate.outcomes) + 1 == int(suites.attrib["tests"])
    assert {element.tag for case in cases for element in case} == {"failure", "error"}
    assert all(len(case) == 1 and not len(case[0]) for case in cases)
    assert all(f"query {printable(id_)}: baseline" in (cases[0][0].text or "") for id_ in IDS)
    said = [f"error: {printable(id_)} has 1 of 2 judged queries" for id_ in IDS]
    assert [case[0].attrib["message"] for case in cases[1:-1]] == said
    assert [suites.attrib[name] for name in ("failures", "errors")] == ["1", str(len(IDS) + 1)]

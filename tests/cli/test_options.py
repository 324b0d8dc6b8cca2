"""Every option of eval, by its effect on the values."""

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats
from helpers import each

from gradeval import evaluate
from gradeval.commands.eval import eval_command

from .command import dcg, fails, gradeval, mean_of, values

pytestmark = pytest.mark.usefixtures("folder")


IDEAL = dcg(3, 2, 1)
AP = {"q1": (1 / 3 + 2 / 4) / 3, "q2": 1 / 2, "q3": 0.0}


def per_query(metric: str, *args: object) -> dict[str, float]:
    return {query: value for (query, _), value in values("q", "r", "-m", metric, "-q", "-n", *args).items()}


def test_metric() -> None:
    for args in (
        ("-m", "AP nDCG@5,10 P(rel=2)@5"),
        ("-m", "map,nDCG@5,10", "--metric", "P(rel=2)@5"),
        ("-m", "map", "-m", "ndcg_cut.5,10 ap", "-mP(rel=2)@5"),
    ):
        assert [metric for _, metric in values("q", "r", *args)] == ["AP", "nDCG@5", "nDCG@10", "P(rel=2)@5"]


def test_per_query_and_no_summary() -> None:
    both = [(query, metric) for query in ("q1", "q2", "q3", "all") for metric in ("AP", "num_rel")]
    for options, rows in ((["-q"], both), (["-qn"], both[:-2]), ([], both[-2:])):
        assert list(values("q", "r", "-m", "AP num_rel", *options)) == rows
    # what has nothing to print
    for line, said in (
        ("-n", "-n requires -q: nothing would be printed."),
        ("-m relstring,relstring@2", "relstring, relstring@2: it has values per query only. Add -q."),
        ("-m num_q -qn", "num_q: it has a summary only. Remove -n."),
    ):
        assert fails("q", "r", *line.split()).startswith(f"gradeval: {said}")
    assert gradeval("q", "r", "-m", "relstring", "-q", "-f", "tsv").out.count("\trelstring\t") == 3
    assert list(values("q", "r", "-m", "relstring AP")) == [("all", "AP")]
    assert ("all", "AP(rel=1)") in values("q", "r", "-m", "relstring", "--by-level")


FLAGS: dict[str, dict[str, Any]] = {
    "--rel 1.5": {"rel": 1.5},
    "-l 0": {"rel": 0},
    "-M 3": {"depth": 3},
    "--depth 1000000000": {"depth": 10**9},
    "-J": {"judged_only": True},
    "--judged-only -M2": {"judged_only": True, "depth": 2},
    "--queries both": {"queries": "both"},
    "-c --queries judged": {"queries": "judged"},
    "--zero-grade -0.5": {"zero_grade": -0.5},
    "--top-grade 5": {"top_grade": 5},
    "--unjudged-grade 1.5 -M2": {"unjudged_grade": 1.5, "depth": 2},
    "--ties best": {"ties": "best"},
    "--no-relevant 1 --zero-grade 1": {"no_relevant": 1, "zero_grade": 1},
    "--no-relevant skip --zero-grade 1": {"no_relevant": "skip", "zero_grade": 1},
}


def test_flags_are_options() -> None:
    """Whose effect tests/evaluation has."""
    metrics = "nDCG num_rel num_ret num_q gP"
    plain = evaluate("q", "r", metrics).render("tsv", per_query=True)
    for flags, options in FLAGS.items():
        expected = evaluate("q", "r", metrics, **options).render("tsv", per_query=True)
        assert gradeval("q", "r", "-m", metrics, "-q", "-f", "tsv", "--quiet", *flags.split()).out == expected
        assert (flags not in ("--depth 1000000000", "-c --queries judged")) == (expected != plain), flags


@each("ids", ["q3 q1,q1", "q3, q1", "file", "./file"])
def test_query_ids(ids: str) -> None:
    """In qrels order, from a list or a file, whatever ends its lines."""
    Path("file").write_bytes(b"\xef\xbb\xbfq3\r\n\n \tq1")
    assert per_query("AP", "--query-ids", ids) == pytest.approx({"q1": AP["q1"], "q3": 0})
    assert mean_of("--query-ids", ids) == pytest.approx(AP["q1"] / 2)
    assert mean_of("--query-ids", ids, "--queries", "both") == pytest.approx(AP["q1"])


def test_query_ids_that_cannot_be_or_are_files_too() -> None:
    Path("none").write_text(" \n")
    Path("9").mkdir()
    Path("listed").write_bytes(gzip.compress(b"# some\nq1 q9\n\n # none\r\nq8\r\n"))
    option = "gradeval: --query-ids"
    for ids, said in {
        "q1,q9": f"{option}: query 'q9' is not in q",
        "q4": f"{option}: query 'q4' is not in q",
        "9": f"{option}: query '9' is not in q",
        "listed": "listed:2: query 'q9' is not in q\nlisted:5: query 'q8' is not in q",
        **{empty: f"{option} {empty}: no queries given" for empty in ("none", "", ",", " ")},
    }.items():
        assert fails("q", "r", "--query-ids", ids).startswith(said), ids
    assert "no query in common" in fails("q", "r", "--query-ids", "q3")
    # judged queries are meant, whatever the file is; not the file, which the warning names
    Path("q1").write_bytes(b"\0")  # it is not even read
    Path("q3,q1").write_text("q2\n")
    Path("q1,q9").write_text("q1\n")
    done = gradeval("q", "r", "-m", "AP", "-f", "json", "--query-ids", "q1")
    assert json.loads(done.out)["options"]["query_ids"] == ["q1"]
    assert done.lines[0] == (
        "warning: --query-ids q1: the id is in the qrels, so the file of this name is ignored; "
        "./q1 names the file [ambiguous_ids]"
    )
    for ids, queries in (("q1", ["q1"]), ("q3,q1", ["q1", "q3"]), ("./q3,q1", ["q2"]), ("q1,q9", ["q1"])):
        assert list(per_query("AP", "--query-ids", ids)) == queries
    assert "the file of this name is ignored; ./q1 names" in fails("q", "r", "--query-ids", "q1", "--strict")
    assert gradeval("-", "r", "-m", "AP", "--query-ids", "q1,q9", stdin="q").out.endswith("\t0.2778\n")


def test_tie_range() -> None:
    """The order of a and c changes q1 alone."""
    low, high = (dcg(0, 0, *last) / IDEAL for last in ((1, 3), (3, 1)))
    args = ("q", "r", "-q", "-m", "nDCG runid relstring", "--digits", "full")
    for rule, expected in (("trec", low), ("input", high), ("best", high), ("worst", low)):
        done = gradeval(*args, "-f", "tsv", "--ties", rule, "--tie-range")
        head, *rows = (line.split("\t") for line in done.out.splitlines())
        assert head == ["run", "query", "metric", "value", "low", "high", "expected"]
        found = {(row[1], row[2]): row[3:] for row in rows}
        ends = np.array([expected, low, high, (low + high) / 2])
        assert np.array(found["q1", "nDCG"], float) == pytest.approx(ends)
        assert len(set(found["q2", "nDCG"])) == len(set(found["q3", "nDCG"])) == 1
        assert np.array(found["all", "nDCG"], float) == pytest.approx(
            (ends + float(found["q2", "nDCG"][0])) / 3
        )
        assert found["all", "runid"] == ["tag", "", "", ""]
        assert found["q1", "relstring"][1:] == ["", "", ""]
    # only texts, which have no range to print, need the notice
    notices = [
        line for line in gradeval("q", "r", "-q", "-m", "nDCG relstring", "--tie-range").lines if "ties" in line
    ]
    assert len(notices) == 1 and "ties could change relstring in 1 query" in notices[0]
    assert "--tie-range and -f trec are mutually exclusive" in fails("q", "r", "--tie-range", "-f", "trec")


def test_bounds() -> None:
    """What is not judged of q1 are x and y; q3 is not in the run."""
    done = gradeval(
        "q", "r", "-q", "-m", "P@3 bpref runid", "--bounds", "--interval", "--digits", "full", "-f", "csv"
    )
    head, *rows = (line.split(",") for line in done.out.splitlines())
    assert head == ["run", "query", "metric", "value", "low", "high", "lower_bound", "upper_bound"]
    numbers = {(row[1], row[2]): [*map(float, filter(None, row[3:]))] for row in rows if row[2] != "runid"}
    lower, upper = (np.mean([numbers[query, "P@3"][side] for query in ("q1", "q2", "q3")]) for side in (-2, -1))
    assert numbers["all", "P@3"][-2:] == pytest.approx([lower, upper])
    assert numbers["q3", "P@3"] == [0.0, 0.0, 0.0] and upper > lower == pytest.approx(numbers["all", "P@3"][0])
    assert [row[-2:] for row in rows if row[2] != "P@3"] == [["", ""]] * 5
    assert "note: no bounds over missing judgments are known of bpref [no_bounds]" in done.lines
    shown = gradeval("q", "r", "-m", "P@3 muAP bpref num_q", "--bounds", "-f", "table").out.splitlines()
    assert shown[0].split() == ["run", "P@3", "bounds", "µAP", "bounds", "bpref", "bounds", "num_q"]
    assert (
        f"{lower:.4f} to {upper:.4f}  " in shown[2]
        and " *  " in shown[2]
        and shown[2].split()[-2:] == ["-", "3"]
    )
    assert shown[-1] == "*: outer bounds of µAP, which no judgments need reach."
    content = json.loads(
        gradeval("q", "r", "-m", "P@3 muAP bpref", "--bounds", "-f", "json", "--top-grade", "9").out
    )
    assert content["bounds"] == {"P@3": "exact", "muAP": "outer", "bpref": None}
    [run] = content["runs"]
    assert run["lower_bound"]["P@3"] == pytest.approx(lower) and run["upper_bound"]["bpref"] is None
    assert "--bounds and -f trec are mutually exclusive" in fails("q", "r", "--bounds", "-f", "trec")
    assert "no bounds over missing judgments: tau: metrics with bounds: AP" in fails(
        "q", "r", "--bounds", "-m", "tau"
    )
    says = "gradeval: --bounds and --judged-only are mutually exclusive: no documents are unjudged then"
    assert says in fails("q", "r", "--bounds", "-J")
    assert "gradeval: --bounds require --ties trec or input" in fails("q", "r", "--bounds", "--ties", "best")


def test_interval() -> None:
    """Of the means of metrics with a value for each query; runs that are the same are not separable."""
    of = [*AP.values()]
    wide = scipy.stats.t.interval(0.9, 2, np.mean(of), np.std(of, ddof=1) / 3**0.5)
    done = gradeval("q", "r", "-m", "AP num_rel", "-q", "--interval", "--confidence", "90", "--digits", "full")
    head, *rows = (line.split("\t") for line in done.out.splitlines())
    found = {(row[1], row[2]): row[4:] for row in rows}
    assert head[3:] == ["value", "low", "high"] and found["q1", "AP"] == found["all", "num_rel"] == ["", ""]
    assert wide[0] < 0 and wide[1] < 1  # the interval ends where values do
    assert [float(end) for end in found["all", "AP"]] == pytest.approx((0, wide[1]))
    alike = evaluate({q: {"a": 1} for q in "pqr"}, {q: {"a": 1.0} for q in "pqr"}, "RR num_ret")
    for method in ("t", "bootstrap"):
        options = {"interval": method, "confidence": 90}
        low, high = evaluate("q", "r", "AP").interval(0, "AP", 90, method)
        assert evaluate("q", "r", "AP", **options).interval(0, "AP") == (low, high)
        call = ("q", "a=r", "b=r", "-m", "AP", "--interval", method, "--confidence", "90")
        done = gradeval(*call, "-f", "json")
        saved = json.loads(done.out)
        assert saved["interval"] == {"method": method, "confidence": 90}
        assert [saved["runs"][0][end]["AP"] for end in ("low", "high")] == [low, high]
        assert [line for line in done.lines if "separable" in line] == [
            "note: 1 of 1 neighbouring pair is not separable at 90 % (compare --all-pairs shows which) "
            "[not_separable]"
        ]
        assert alike.interval(0, "RR", 95, method) == (1, 1)
        assert np.isnan(alike.interval(0, "num_ret", 95, method)).all()
    expected = gradeval("q", "r", "--interval=t", "-m", "AP").out
    assert gradeval("q", "--interval", "r", "-m", "AP").out == expected  # a file is no value of it


def test_by_level() -> None:
    """AP at each grade above 0, before muAP, and muAP is their mean where all steps are 1."""
    rows = values("q", "r", "-m", "num_q muAP P@5", "--by-level", "--query-ids", "q1")
    assert [metric for _, metric in rows] == ["num_q", "AP(rel=1)", "AP(rel=2)", "AP(rel=3)", "muAP", "P@5"]
    levels = [rows["all", f"AP(rel={level})"] for level in (1, 2, 3)]
    assert levels == pytest.approx([AP["q1"], (1 / 4) / 2, 1 / 4])
    assert rows["all", "muAP"] == pytest.approx(sum(levels) / 3)
    with_zero = values("q", "r", "-m", "P@5", "--by-level", "--zero-grade", "1.5")
    assert [metric for _, metric in with_zero] == ["AP(rel=0.5)", "AP(rel=1.5)", "P@5"]


NUMBERS = {
    "-l": ("nan", "1e999", "", "1_0", " 1", "1e151", "5e-324", "١", "-1", "-0.5"),
    "-M": ("0", "x", "", "1.5", "1000000001", "9" * 30, "٣"),
    "--digits": ("-1", "101", "", "FULL", "1.0"),
    "--ties": ("x", ""),
    "--format": ("xml",),
    "--qrels-format": ("scores",),
    "--run-format": ("x",),
}


@each("option, value", [(option, value) for option in NUMBERS for value in NUMBERS[option]])
def test_a_value_that_cannot_be_is_refused_in_one_line(option: str, value: str) -> None:
    said = fails("q", "r", option, value)
    assert said.startswith("gradeval: Invalid value for ") and "\n" not in said
    assert option in said and f"'{value}'" in said


@each("line, said", [
    ("-c --queries both", "are mutually exclusive"),
    ("--no-relevant 2", "'2' is not one of '0', '1', 'skip'"),
    ("--interval -q -n", "--interval and -n are mutually exclusive"),
    ("--query-weights w", "w: 3 queries have no weight: "),
    ("--exclude q", "q:1: "),  # tests/evaluation/test_exclude.py has the others
    ("--history none/h", "--history none/h: directory "),  # tests/commands/history has what is appended
])  # fmt: skip
def test_flags_that_are_refused(line: str, said: str) -> None:
    Path("w").write_text("nobody\t1\n")  # tests/evaluation/test_query_weights.py has their values
    assert said in fails("q", "r", *line.split())


def test_every_option_has_its_test() -> None:
    """An option is tested here or in a sister module by one of its names in quotes."""
    texts = "".join(path.read_text() for path in Path(__file__).parent.glob("test_*.py"))
    options = [param for param in eval_command.params if param.param_type_name == "option"]
    assert [param.opts for param in options if not any(f'"{name}' in texts for name in param.opts)] == []


def test_features_beside_scores() -> None:
    """Scores are runs as they are; the features are those of the qrels then; all are those that lines have."""
    both = gradeval("l", "s", "--feature", "1", "-m", "RR", "--quiet").out
    rows = [line.split("\t") for line in both.splitlines()[1:]]
    assert [row[0] for row in rows] == ["s", "feature1"]
    assert rows[0] == gradeval("l", "s", "-m", "RR", "--quiet").out.splitlines()[1].split("\t")
    alone = gradeval("l", "--feature", "1,2", "-m", "RR", "--quiet").out
    assert rows[1] == alone.splitlines()[1].split("\t")
    assert gradeval("l", "--feature", "all", "-m", "RR", "--quiet").out == alone
    assert "--feature all requires a LETOR file as qrels" in fails("q", "r", "--feature", "all")
    assert "this is not a LETOR file" in fails("q", "r", "--feature", "1")
    compared = gradeval("compare", "l", "s", "--feature", "all", "-m", "RR", "-f", "tsv", "--quiet").out
    assert [line.split("\t")[1] for line in compared.splitlines()[1:]] == ["feature1", "feature2"]
    assert gradeval("study", "agreement", "l", "s", "--feature", "all", "-m", "RR AP", "--quiet").code == 0

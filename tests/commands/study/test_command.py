"""gradeval study; criteria against Katerenchuk and Rosenberg, table 1; the sentences that end studies."""

import math
import os
from pathlib import Path

import pytest
from cli.command import QRELS, RUN, gradeval
from helpers import each, raises
from plain import pipe

from commands.groups import check_error, check_formats, check_help
from gradeval.commands.study import experiments
from gradeval.commands.study.agreement import _finding as of_agreement
from gradeval.commands.study.command import study_command
from gradeval.commands.study.experiments import _finding_of_swaps as of_swaps
from gradeval.commands.study.experiments import criteria
from gradeval.commands.study.tables import Study, StudyTable
from gradeval.errors import MetricError

PRINTED = {  # table 1: numbers are cut off after three digits, not rounded
    "tau": [1.0, 0.8, 0.742, 0.285, 0.285, -0.8],
    "nDCG": [1.0, 0.998, 0.825, 0.688, 0.667, 0.571],
    "rankDCG": [1.0, 0.975, 0.65, 0.325, 0.325, 0.0],
}


def held(study):
    found = {}
    for metric, criterion, holds, _ in study.table("verdicts").rows:
        found.setdefault(metric, {})[criterion] = holds
    return found


def test_table_1_and_computed_verdicts():
    rows = criteria("tau nDCG rankDCG").table("values").rows
    for metric, expected in PRINTED.items():
        of_metric = [row[-1] for row in rows if row[2] == metric]
        assert [math.trunc(x * 1000 + math.copysign(1e-6, x)) / 1000 for x in of_metric] == expected
    found = held(criteria("tau AP AP(rel=2) nDCG rankDCG P@3 rho"))
    for metric, met in (
        ("rankDCG", "ties skew emphasis range"),
        ("nDCG", "skew emphasis"),
        ("tau", "ties skew"),
    ):
        assert {name for name, holds in found[metric].items() if holds} == set(met.split())
    assert found["rho"]["range"] is False
    for blind in ("AP", "P@3"):  # all documents are relevant to them: a metric that sees no error meets nothing
        assert not any(found[blind].values())


def test_undefined_values_have_no_verdict():
    """All documents are relevant to AUC, so it has no value, and so no verdict."""
    study = criteria("AUC AP(rel=2) P@3")
    assert all(math.isnan(row[-1]) for row in study.table("values").rows if row[2] == "AUC")
    assert set(held(study)["AUC"].values()) == {None}
    emphasis = {row[0]: row[2:] for row in study.table("verdicts").rows if row[1] == "emphasis"}
    # the highest misplaced costs nothing: the ratio is 0
    assert emphasis["AP(rel=2)"] == (False, pytest.approx(0))
    assert emphasis["P@3"][0] is None  # neither costs anything
    assert study.tables[-1].rows[0] == ("AUC", *["undefined"] * 4)
    content = study.to_dict()["tables"]
    assert content.keys() == {"verdicts", "values"}
    assert content["verdicts"][0] == {"metric": "AUC", "criterion": "ties", "holds": None, "evidence": None}
    assert len(content["values"]) == 18
    raises(MetricError, "orders no systems", criteria, "Judged@5")


def test_findings():
    above, matters = "The distance is above the noise", "so the number of levels matters"
    for rows, sentence in (
        ([("even", "A", 0.1, 0.2), ("uneven", "A", 0.3, 0.2), ("even", "B", 0.1, 0.2)],
         f"{above}, {matters}, for A; it is within the noise for B."),
        ([("even", "A", 0.2, 0.2)], "The distance is within the noise for A."),
        ([("even", "A", 0.3, 0.2)], f"{above}, {matters}, for A."),
    ):  # fmt: skip
        assert of_swaps(rows) == sentence
    inputs = {"q": {"a": 2, "b": 1}}, {"x": {"q": {"b": 2, "a": 1}}, "y": {"q": {"a": 2, "b": 1}}}
    same = experiments.levels(*inputs, "nDCG RR(rel=2)")
    assert same.finding == "The order of the runs is the same by nDCG, RR(rel=2)."
    by_two = experiments.levels(*inputs, "nDCG P(rel=1)@1 P(rel=2)@1").finding
    assert by_two == "The metrics order the runs in 2 ways: nDCG, P(rel=2)@1; P(rel=1)@1."
    assert criteria("tau rankDCG").finding == "All 4 criteria are met by rankDCG."
    assert criteria("tau").finding == "No metric meets all 4 criteria."
    taus, ends = ("tau", "tau_ap"), ("low", "high")
    for sentence, name, columns, rows in (
        ("The orders of systems agree least by A, C: tau -0.50.", "correlations", ("metric", "other", *taus),
         [("A", "B", 0.5, 0.5), ("A", "C", -0.5, 0), ("B", "C", None, 0)]),
        ("The orders of systems by two sets of judgments (A) agree with a tau of 0.50.", "judgments",
         ("metric", *taus), [("A", 0.5, 0.5), ("B", float("nan"), 0)]),
        ("The orders of systems by two halves of the queries (A) agree with a tau of 1.00.", "halves",
         ("metric", "tau", *ends), [("A", 1.0, 0.5, 1.0)]),
        ("The sets give the same grade to 81 % of the documents that both have.", "labels",
         ("statistic", "value", *ends), [("agreement", 0.807, 0.7, 0.9), ("kappa", 0.6, 0, 1)]),
        ("The sets give the same grade to 73 to 77 % of the documents that both have, by pair.", "labels",
         ("statistic", "value", *ends), [("agreement", value, 0.7, 0.9) for value in (0.767, 0.759, 0.732)]),
        ("", "correlations", ("metric", "other", *taus), [("A", "B", None, None)]),
    ):  # fmt: skip
        assert of_agreement({name: StudyTable(name, "", columns, rows)}) == sentence


ROWS = [("a\tb", 1, 0.12345, True, 2.0, 7), ('c",\x1b[2J', 20, float("nan"), False, None, 7)]
STUDY = Study(
    name="example",
    options={"metrics": ["AP", "nDCG"], "alpha": 0.05, "seed": 7, "evaluation": {"rel": None}},
    tables=(
        StudyTable("hidden", "Not shown", ("run", "value"), [("r", -0.0)], shown=False),
        StudyTable("first", "What it is", ("run", "count", "value", "holds", "threshold", "seed"), ROWS),
        StudyTable("wide", "Shown only", ("run", *map(str, range(12))), [("r", *[0.5] * 12)], data=False),
    ),
)


def test_table():
    text = STUDY.render("table", width=60)
    assert text == (
        "What it is\n"
        "run         count   value  holds  threshold\n"
        "───────────────────────────────────────────\n"
        "a\\tb            1  0.1235    yes          2\n"
        'c",\\x1b[2J     20     nan     no\n'
        "\nShown only\n"
        "run       0       1       2       3       4       5       6\n"
        "───────────────────────────────────────────────────────────\n"
        "r    0.5000  0.5000  0.5000  0.5000  0.5000  0.5000  0.5000\n"
        "\n"
        "run       7       8       9      10      11\n"
        "───────────────────────────────────────────\n"
        "r    0.5000  0.5000  0.5000  0.5000  0.5000\n"
        "\nexample: metrics AP, nDCG; alpha 0.05; seed 7\n"
    )


STUDIES = tuple(study_command.commands)
SWAPS = ("study", "swaps", "--levels", "2,3", "--items", "6", "--repeats", "3", "--swaps", "4")
DIVERGENCE = ("study", "divergence", "--draws", "5", "--items", "12", "--cutoff", "5")
LETOR = "\n".join(
    f"{grade} qid:{query} 1:{tf} 2:{other} #docid = {query}{tf}{other}"
    for query in (1, 2)
    for grade, tf, other in [(0, 1, 4), (1, 2, 1), (2, 3, 2), (0, 0, 3)]
)


@pytest.fixture(autouse=True)
def files(folder):
    (folder / "s").write_text(RUN.replace("q1 Q0 b 1 9", "q1 Q0 b 1 1"))
    (folder / "q2").write_text(QRELS.replace("q1 0 a 3", "q1 0 a 0"))
    (folder / "letor").write_text(LETOR)


CALLS = {
    "swaps": SWAPS,
    "levels": ("study", "levels", "letor", "--feature", "1,2", "--qrels-feature", "1"),
    "divergence of runs": ("study", "divergence", "q", "r", "s"),
    "criteria": ("study", "criteria"),
    "agreement": ("study", *"agreement q r s -m AP -m nDCG --qrels2 q2 --qrels2 q --splits 1".split()),
    "agreement of grades": ("study", *"agreement q --qrels2 q2 -q".split()),
}


@each("call", CALLS.values(), ids=CALLS)
def test_formats_say_the_same(call, monkeypatch):
    make, made = getattr(experiments, call[1]), []  # each study is made once

    def make_once(*inputs, **options):
        made.extend([] if made else [make(*inputs, **options)])
        return made[0]

    monkeypatch.setattr(experiments, call[1], make_once)
    check_formats(*call)
    done = gradeval(*call, terminal=True)
    assert done.code == 0
    about = "alpha" if call == CALLS["agreement of grades"] else "metrics"
    assert any(line.lstrip("\x1b[2m").startswith(f"{call[1]}: {about} ") for line in done.out.splitlines()[-3:])


def test_seed_and_help():
    for call in (SWAPS, DIVERGENCE, CALLS["agreement"]):
        assert "; seed 1" in gradeval(*call, "-f", "table").out
        assert "; seed 9223372036854775807" in gradeval(*call, "-f", "table", "--seed", 2**63 - 1).out
    one, again, other = (
        gradeval(*SWAPS, "--seed", seed, "-j", jobs).out for seed, jobs in ((3, 1), (3, 2), (4, 1))
    )
    assert one == again != other
    # help
    check_help("study", *STUDIES)


def test_warnings_of_runs_name_the_judgments(tmp_path):
    """Where they hold by one of the sets only."""
    for name, grades in (("q", "100"), ("q2", "010")):
        (tmp_path / name).write_text("".join(f"q1 0 d{i} {grade}\n" for i, grade in enumerate(grades)))
    (tmp_path / "r").write_text("".join(f"q1 Q0 d{i} 1 1 t\nq3 Q0 d{i} 1 1 t\n" for i in range(3)))
    (tmp_path / "s").write_text("q1 Q0 d0 1 1 t\n")
    done = gradeval("study", "agreement", "q", "r", "s", "--qrels2", "q2", "-m", "AP", "--splits", "1")
    assert done.lines == [
        "warning: r: 1 unjudged query of the run, ignored [unjudged]",
        "warning: by q: r: ties in 1 query could change AP by up to 0.6667 (0.3333 to 1.0000; "
        "expected 0.6111) [ties]",
        "warning: by q2: r: ties in 1 query could change AP by up to 0.5000 (0.3333 to 1.0000; "
        "expected 0.6111) [ties]",
    ]
    done = gradeval("study", "agreement", "q", "r", "s", "-m", "AP", "--splits", "1")
    assert not [line for line in done.lines if ": by " in line]


def test_errors_are_one_line():
    for call, says in (
        ("swap", "'gradeval study --help'"),
        ("swaps --levels 2,x", "levels must be integers, separated by commas, not '2,x'"),
        ("swaps --items 1", "--items"),
        ("swaps -m num_q", "num_q: a study needs"),
        ("swaps --table x -f tsv", "'x' is not one of 'distances', 'curves'"),
        ("swaps --table curves -f json", "--table requires"),
        ("divergence q", "Missing argument 'RUN...'"),
        ("divergence --rel 1", "--rel requires qrels"),
        ("divergence q r --draws 5", "draws is for random scores"),
        ("agreement q r s --test tukey --correction bh", "already corrected. Leave out the correction"),
        ("agreement - - r", "once"),
        ("agreement q", "runs or qrels2 is missing"),
        ("agreement q r s -q", "--per-query requires --qrels2"),
        ("agreement q r --qrels2 q2", "an order needs two systems"),
        ("agreement q --qrels2 q2 -m AP", "--metric requires runs: without runs, only grades are compared"),
        ("agreement q --qrels2 q2 --splits 3", "--splits requires runs"),
        ("agreement q --qrels2 q2 --table queries -f tsv", "queries"),
        ("agreement - r s --qrels2 -", "once"),
    ):
        check_error("study", *call.split(), says=says)


def test_a_table_without_rows_is_noted(folder):
    for name in "ab":
        Path(name).write_text("".join(f"q1 Q0 {d} 1 {ord(d) % (3 + ord(name))} t\n" for d in "xyz"))
    Path("q").write_text("q1 0 x 1\nq1 0 y 0\n")
    call = ("study", "agreement", "q", "a", "b", "-m", "AP", "--splits", 1)
    title = "Agreement of the orders of systems by two metrics"
    tables = "power, halves, rescaled, systems"
    note = f"note: the table correlations ({title}) has no rows; --table has others: {tables}"
    assert note in gradeval(*call, "-f", "csv").lines
    for more in ["-f", "table"], ["-f", "csv", "--quiet"], ["-f", "csv", "--table", "power"], ["-m", "RR"]:
        assert "has no rows" not in gradeval(*call, *more).err


@pytest.mark.skipif(not os.path.isdir("/dev/fd"), reason="no /dev/fd here")
def test_judgments_from_a_pipe(folder):
    (folder / "s").write_text("q1 Q0 b 1 1 t\n")
    options = "r", "s", "-m", "AP nDCG"
    expected = gradeval("study", "agreement", "q", *options)
    with pipe(QRELS.encode()) as path:
        done = gradeval("study", "agreement", path, *options)
    assert (done.code, done.out) == (0, expected.out)

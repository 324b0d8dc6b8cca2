"""gradeval study."""

from importlib import import_module

import pytest
from cli.command import QRELS, RUN, gradeval
from helpers import each

from commands.groups import check_error, check_formats, check_help
from gradeval.commands.study.command import study_command

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
    module = import_module(f"gradeval.commands.study.{call[1]}")
    make, made = getattr(module, call[1]), []  # each study is made once

    def make_once(*inputs, **options):
        made.extend([] if made else [make(*inputs, **options)])
        return made[0]

    monkeypatch.setattr(module, call[1], make_once)
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
        ("divergence --rel 1", "rel requires qrels"),
        ("divergence q r --draws 5", "draws is for random scores"),
        ("agreement q r s --test tukey --correction bh", "already corrected. Leave out the correction"),
        ("agreement - - r", "once"),
        ("agreement q", "runs or qrels2 is missing"),
        ("agreement q r s -q", "per_query requires qrels2"),
        ("agreement q r --qrels2 q2", "an order needs two systems"),
        ("agreement q --qrels2 q2 -m AP", "metrics requires runs: without runs, only grades are compared"),
        ("agreement q --qrels2 q2 --splits 3", "splits requires runs"),
        ("agreement q --qrels2 q2 --table queries -f tsv", "queries"),
        ("agreement - r s --qrels2 -", "once"),
    ):
        check_error("study", *call.split(), says=says)

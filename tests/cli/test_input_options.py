"""Options that say what the files are: formats, features, group sizes; each is tested."""

from pathlib import Path

import pytest

from .command import dcg, fails, gradeval, mean_of, values

pytestmark = pytest.mark.usefixtures("folder")


def test_formats(folder: Path) -> None:
    assert mean_of("--qrels-format", "trec") == mean_of()
    assert fails("q", "r", "--qrels-format", "letor").startswith("q:1: ")
    assert mean_of("--run-format", "trec") == mean_of()
    assert values("l", "s", "-m", "AP", run="s") == values(
        "l", "s", "--run-format", "scores", "-m", "AP", run="s"
    )
    assert fails("l", "r", "--run-format", "scores").startswith("r:1: ")
    assert fails("l", "s", "--run-format", "trec").startswith("s:1: ")
    assert "--feature" in fails("l", "l", "--run-format", "letor")
    assert "--feature requires LETOR files" in fails("l", "l", "--run-format", "trec", "--feature", "1")


@pytest.mark.parametrize("runs", [(), ("l",)])
def test_feature(runs: tuple[str, ...]) -> None:
    """Of the qrels themselves, or of another LETOR file."""
    assert values("l", *runs, "--feature", "1", "-m", "AP", run="feature1") == {("all", "AP"): 0.75}
    assert values("l", *runs, "--feature", "2", "-m", "AP", run="feature2") == {("all", "AP"): 0.75}
    both = gradeval("l", *runs, "--feature", "2,1-2", "-m", "AP", "-q", "-n").out.split("\n")
    assert [line.split("\t")[::3] for line in both[1:-1]] == [
        ["feature2", "0.5000"],
        ["feature2", "1.0000"],
        ["feature1", "1.0000"],
        ["feature1", "0.5000"],
    ]
    again = gradeval("l", *runs, "--feature", "2", "--feature", "1-2", "-m", "AP", "-q", "-n").out.split("\n")
    assert again == both


def test_qrels_feature() -> None:
    """Feature 2 as the grades: 1, 5 / 2, 0; feature 1 ranks a b / d c."""
    found = values("l", "--feature", "1", "--qrels-feature", "2", "-m", "nDCG", "-q", "-n", run="feature1")
    assert found == pytest.approx({("1", "nDCG"): dcg(1, 5) / dcg(5, 1), ("2", "nDCG"): dcg(0, 2) / 2})
    assert "requires a LETOR file" in fails("q", "r", "--qrels-feature", "1")
    assert fails("l", "s", "--qrels-feature", "7") == "l: no line has feature 7"


def test_groups(folder: Path) -> None:
    rows = "2 1:3\n0 1:2\n1 1:1\n0 1:4\n"
    (folder / "plain").write_text(rows)
    (folder / "sizes").write_text("1\n3\n")
    expected = {("1", "AP"): 1.0, ("2", "AP"): 1 / 3}
    args = ("plain", "--feature", "1", "-m", "AP", "-qn")
    assert values(*args, "--groups", "sizes", run="feature1") == expected
    assert "--groups" in fails(*args)
    (folder / "plain.query").write_text("1\n3\n")
    assert values(*args, run="feature1") == expected
    assert "requires a LETOR file" in fails("q", "r", "--groups", "sizes")
    assert "is not a non-negative integer" in fails("plain", "s", "--groups", "s")
    (folder / "sizes").write_text("1\n2\n")
    assert fails("plain", "s", "--groups", "sizes") == (
        "sizes: the group sizes add up to 3 lines, but plain has 4"
    )

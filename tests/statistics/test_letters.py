"""Compact letter displays: sets of runs that do not differ."""

from itertools import combinations
from pathlib import Path

from cli.command import fails, gradeval, write_graded
from hypothesis import given
from hypothesis import strategies as st

from gradeval.commands.compare.layout import joined, letters
from gradeval.statistics.multiple import alike_sets


@given(st.integers(1, 6), st.data())
def test_sets_of_what_is_alike(count: int, data: st.DataObject) -> None:
    """All largest sets without a pair that differs, as enumeration finds them."""
    pairs = [*combinations(range(count), 2)]
    different = data.draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    groups = [frozenset(part) for size in range(1, count + 1) for part in combinations(range(count), size)]
    alike = [part for part in groups if not any(part.issuperset(pair) for pair in different)]
    largest = [part for part in alike if not any(part < other for other in alike)]
    assert alike_sets(count, different) == sorted(largest, key=sorted)


def test_letters_of_many_runs(tmp_path, monkeypatch) -> None:
    """Runs share a letter where no test tells them apart; the pairs are printed with --pairs, or as data."""
    monkeypatch.chdir(tmp_path)
    names = "abcdefg"
    write_graded([f"q{n}" for n in range(40)], {name: 2 + 3 * n for n, name in enumerate(names)}, 4)
    args = ["compare", "qrels", *(f"{name}.run" for name in names), "--all-pairs", "-m", "AP", "--quiet"]
    table = gradeval(*args, "-f", "md").out
    assert "runs that share one do not differ significantly" in table and "baseline" not in table
    shared = {}
    for line in table.splitlines():
        cells = [cell.strip(" *") for cell in line.strip("|").split("|")]
        if cells[0] in [*names]:
            shared[cells[0]] = set(cells[1].partition("<sup>")[2].partition("<")[0])
    assert all(shared.values()) and len(shared) == 7
    rows = [line.split("\t") for line in gradeval(*args, "-f", "tsv").out.splitlines()]
    head = rows.pop(0)
    for row in rows:
        pair = dict(zip(head, row, strict=True))
        assert bool(pair["verdict"]) != bool(shared[pair["run"]] & shared[pair["baseline"]])
    assert "**Differences**" in gradeval(*args, "-f", "md", "--pairs").out and "**Differences**" not in table
    assert "Intervals:" in gradeval(*args, "-f", "md", "--pairs").out and "Intervals:" not in table
    assert "--pairs requires --all-pairs" in fails(*args[:4], "--pairs")
    Path("a.run").write_text(Path("b.run").read_text())
    said = "Holm correction for 20 comparisons (another 1 has no p-value: identical or untested)"
    assert said in " ".join(gradeval(*args, "-f", "md").out.split())
    few = [*args[:2], *args[2:5], *args[9:]]
    assert "significantly better than these runs" in gradeval(*few, "-f", "md").out


def test_letters_are_joined_in_ranges() -> None:
    names = letters(30)
    assert joined([0, 1, 3], names[:9]) == "abd" and joined([*range(17), 18], names[:26]) == "a-q,s"
    assert joined([0, 1, *range(20, 28)], names) == "a,b,u-ab" and joined([0, 1], names) == "a,b"


def test_ranges_of_letters_are_explained_where_there_are_some(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    first_ranks = {f"r{k}": [k + q % 2 for q in range(12)] for k in range(2, 8)}
    ranks = {**first_ranks, "all": [1, 30] * 6, "r8": [8 + q % 2 for q in range(12)]}
    Path("qrels").write_text("".join(f"q{q} 0 d 1\n" for q in range(12)))
    for name, of_queries in ranks.items():
        documents = [["x"] * (rank - 1) + ["d"] for rank in of_queries]
        lines = (
            f"q{q} Q0 {document if document == 'd' else n} {n} {-n} t\n"
            for q, ranking in enumerate(documents)
            for n, document in enumerate(ranking, 1)
        )
        Path(name).write_text("".join(lines))

    def table(*names: str) -> str:
        return gradeval("compare", "qrels", *names, "--all-pairs", "-m", "AP", "--quiet", "-f", "md").out

    assert "Letters, a-d for a, b, c and d: runs that share one" in table(*ranks)
    text = table(*first_ranks, "r8")
    assert "Letters: runs that share one" in text and "a-d" not in text

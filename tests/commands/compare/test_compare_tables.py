"""Tables of values compared from Python, and comparisons as rows and frames."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

import gradeval
from gradeval.commands.compare.result import PairComparison


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text("qid,AP,lat\n1,.5,10\n2,.25,20\n3,1,30\n")
    Path("b.csv").write_text("AP,lat,qid\n.75,5,1\n.5,5,2\n")
    return tmp_path


def test_tables_are_compared_from_python() -> None:
    found = gradeval.compare_tables(["a.csv", Path("b.csv")], lower_is_better="lat", power=True)
    ap, lat = found.comparisons
    assert (ap.run, ap.baseline, ap.n, lat.n) == ("b", "a", 3, 2)
    assert lat.difference == -10 and (lat.won, lat.lost) == (2, 0) and ap.power is not None
    assert gradeval.compare_tables({"x": "a.csv", "y": b"b.csv"}, "AP", queries="both").values.runs == (
        "x",
        "y",
    )
    assert gradeval.compare_tables(["a.csv", "b.csv"], ["AP"], query_ids="1,2").comparisons[0].n == 2
    assert gradeval.compare_tables(["a.csv", "b.csv"], "AP", columns={"query": "qid"}).comparisons[0].n == 3
    with pytest.raises(gradeval.OptionError, match="a table of values must be a file, not a dict"):
        gradeval.compare_tables({"x": {"q": {"d": 1}}})
    with pytest.raises(gradeval.OptionError, match="unknown option rel"):
        gradeval.compare_tables(["a.csv", "b.csv"], rel=2)
    with pytest.raises(gradeval.InputError, match="there is 1 run"):
        gradeval.compare_tables("a.csv")


def test_comparisons_as_rows_and_as_a_frame() -> None:
    found = gradeval.compare_tables(["a.csv", "b.csv"], by={"1": "g", "2": "g"})
    rows = found.rows()
    assert [row["group"] for row in rows] == [None, None, "g", "g"]
    assert [*rows[0]] == ["group", *(one.name for one in fields(PairComparison))]
    assert rows[2]["n"] == 2 and rows[0]["metric"] == "AP"
    pandas = pytest.importorskip("pandas")
    frame = found.to_pandas()
    assert isinstance(frame, pandas.DataFrame) and frame.shape == (4, len(rows[0]))

"""Judged@k beside the means of a comparison: over the queries of each run, of saved results too."""

import math
from pathlib import Path

import numpy as np
import pytest
from helpers import each

import gradeval
from gradeval.commands.compare.compare import Judged, compare_values
from gradeval.compare_options import CompareOptions
from gradeval.evaluation import evaluate_all
from gradeval.notices import Kind
from gradeval.options import Options
from gradeval.registry.spec import parse

from .test_compare import random_runs

NAN = math.nan
UNKNOWN = "is unknown, so whether the runs differ in it was not checked; save results with"


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """new retrieves 2 judged documents of 4 for each of 4 queries, old 4; part is old without 3 queries."""
    monkeypatch.chdir(tmp_path)
    Path("q").write_text("".join(f"q{q} 0 d{d} {d % 2}\n" for q in range(4) for d in range(4)))
    for name, ids, first in (("old", "d0 d1 d2 d3", 0), ("new", "d0 x1 d2 x3", 0), ("part", "d0 d1 d2 d3", 3)):
        rows = (f"q{q} Q0 {d} 1 {-rank} t\n" for q in range(first, 4) for rank, d in enumerate(ids.split()))
        Path(f"{name}.run").write_text("".join(rows))


def save(name: str, metrics: str) -> None:
    results = evaluate_all("q", [(None, f"{name}.run")], parse(metrics), Options(), hashes=True)
    Path(f"{name}.json").write_text(results.render("json", per_query=True))


def shares(*runs: str, metrics: str = "nDCG@3", **options: object) -> tuple[str, list[float]] | None:
    found = gradeval.compare("q", list(runs), metrics, **options)
    return None if found.judged is None else (found.judged.name, found.judged.means.round(4).tolist())


def test_judged_is_shown_where_it_differs() -> None:
    values = random_runs(19, queries=30)
    options = CompareOptions()
    for of_runs, shown in (([0.9, 0.86, 0.88], False), ([0.9, 0.84, NAN], True), ([NAN, NAN, 0.1], False)):
        found = compare_values(values, options, judged=Judged("Judged@10", np.array(of_runs)))
        assert (found.judged is not None) == shown
        kinds = [notice.kind for notice in found.notices]
        assert kinds == [Kind.JUDGED_DIFFERS] * shown + [Kind.JUDGED_UNKNOWN] * of_runs.count(NAN)
    found = compare_values(values, options, judged=Judged("Judged@10", np.array([0.9, 0.84, NAN])))
    assert found.warnings[0].startswith("Judged@10 of the runs differs, from 84.0 % to 90.0 %")
    assert found.warnings[1] == f"Judged@10 of C {UNKNOWN} Judged@10 among the metrics"
    assert [run.get("Judged@10") for run in found.to_dict()["runs"]] == [0.9, 0.84, None]
    # where it is compared itself
    for name in ("old", "new"):
        save(name, "nDCG@3 Judged@3")
    found = gradeval.compare("q", ["old.json", "new.json"])
    assert [one.metric for one in found.comparisons] == ["nDCG@3"]
    assert found.judged is not None and Kind.EXCLUDED_METRICS not in {one.kind for one in found.notices}
    results = gradeval.evaluate("q", ["old.run", "new.run"], "nDCG@3 Judged@3")
    assert [one.metric for one in results.compare().comparisons] == ["nDCG@3"]
    # it stands once in the means where it is compared
    found = gradeval.compare("q", ["old.run", "new.run"], "nDCG@3 Judged@3")
    assert [one.metric for one in found.comparisons] == ["nDCG@3", "Judged@3"]
    assert found.judged is None and Kind.JUDGED_DIFFERS in {one.kind for one in found.notices}


@each("options", [{}, {"queries": "both"}, {"no_relevant": "1"}])
def test_missing_queries_are_not_unjudged_documents(options: dict[str, str]) -> None:
    assert shares("old.run", "part.run", **options) is None
    assert shares("new.run", "part.run", **options) == ("Judged@3", [0.6667, 1.0])


@each("kept, expected", [("Judged@3", 0.6667), ("Judged@2 Judged@4", 0.5), ("Judged", 0.5)])
def test_the_judged_share_of_saved_results(kept: str, expected: float) -> None:
    for name in ("old", "new", "part"):
        save(name, f"nDCG@3 {kept}")
    for old in ("old.json", "old.run"):
        assert shares(old, "new.json") == (kept.split()[-1], [1.0, expected])
    assert shares("old.json", "part.json") is None

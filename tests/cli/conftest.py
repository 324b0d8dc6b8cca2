"""Folders with qrels and runs in them, which are the current ones."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from .batches import MANIFEST
from .command import LETOR, QRELS, RUN
from .gates import QUERIES
from .graded import query_ids, write_graded


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """q (qrels), r (a run of them), l (LETOR) and s (scores for l)."""
    for name, text in {"q": QRELS, "r": RUN, "l": LETOR, "s": "1\n2\n0.5\n-1e-3\n"}.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def compare_files(folder: Path) -> Path:
    """qrels of 30 queries; the runs good, fair and poor of them; and the files of folder."""
    write_graded(query_ids(30), {"good": 3, "fair": 5, "poor": 7})
    return folder


@pytest.fixture
def gate_files(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """qrels of 60 queries; the runs good, fair and poor of them, and part, which lacks 6 queries."""
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    write_graded(QUERIES, {"good": 3, "fair": 5, "poor": 40}, divisor=3)
    Path("part.run").write_text("".join(Path("good.run").read_text().splitlines(keepends=True)[54:]))
    return folder


@pytest.fixture
def batch_files(folder: Path) -> Path:
    """Two collections of 30 and 40 queries. good ranks the relevant documents first, bad does not always."""
    for name, size in (("north", 30), ("south", 40)):
        os.mkdir(name)
        qrels = (f"q{q} 0 d{d} {int(d < 2)}\n" for q in range(size) for d in range(6))
        Path(f"{name}/qrels").write_text("".join(qrels))
        for system, wrong in (("good", 97), ("bad <b>", 2)):
            rows = (
                f"q{q} Q0 d{d} 1 {(d - 6 if (q * 7 + d) % wrong else d) - d / 100 - (d > 1) * 3} t\n"
                for q in range(size)
                for d in range(6)
            )
            Path(f"{name}/{system}.run").write_text("".join(rows))
    Path("m.toml").write_text(MANIFEST)
    return folder

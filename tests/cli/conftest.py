"""Folders with qrels and runs in them, which are the current ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from .command import LETOR, QRELS, RUN
from .gates import QUERIES
from .graded import write_graded


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """q (qrels), r (a run of them), l (LETOR) and s (scores for l)."""
    for name, text in {"q": QRELS, "r": RUN, "l": LETOR, "s": "1\n2\n0.5\n-1e-3\n"}.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def gate_files(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """qrels of 60 queries; the runs good, fair and poor of them, and part, which lacks 6 queries."""
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    write_graded(QUERIES, {"good": 3, "fair": 5, "poor": 40}, divisor=3)
    Path("part.run").write_text("".join(Path("good.run").read_text().splitlines(keepends=True)[54:]))
    return folder

"""Files to gate, in the current folder."""

from pathlib import Path

import pytest
from cli.graded import write_graded

from .calls import QUERIES


@pytest.fixture
def gate_files(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """qrels of 60 queries; the runs good, fair and poor of them, and part, which lacks 6 queries."""
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    write_graded(QUERIES, {"good": 3, "fair": 5, "poor": 40}, divisor=3)
    Path("part.run").write_text("".join(Path("good.run").read_text().splitlines(keepends=True)[54:]))
    return folder

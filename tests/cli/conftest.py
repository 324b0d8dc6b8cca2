"""Folders with qrels and runs in them, which are the current ones."""

from pathlib import Path

import pytest

from .command import LETOR, QRELS, RUN


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """q (qrels), r (a run of them), l (LETOR) and s (scores for l)."""
    for name, text in {"q": QRELS, "r": RUN, "l": LETOR, "s": "1\n2\n0.5\n-1e-3\n"}.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path

"""A manifest and what it names, in the current folder."""

import os
from pathlib import Path

import pytest

from .calls import MANIFEST


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

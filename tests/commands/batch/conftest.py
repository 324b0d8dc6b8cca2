"""gradeval batch on two collections and two systems: a manifest and what it names, in the current folder."""

import csv
import io
import os
from pathlib import Path

import pytest
from cli.command import Done, gradeval

MANIFEST = """\
metrics = "AP P@2"
qrels = "{collection}/qrels"
runs = "{collection}/{system}.run"
systems = ["good", "bad <b>"]
collections = ["north", "south"]
"""


@pytest.fixture
def batch_files(folder: Path) -> Path:
    """Two collections of 30 and 40 queries. good ranks the relevant documents first, bad does not always."""
    for name, size in (("north", 30), ("south", 40)):
        os.mkdir(name)
        pairs = [(q, d) for q in range(size) for d in range(6)]
        Path(f"{name}/qrels").write_text("".join(f"q{q} 0 d{d} {int(d < 2)}\n" for q, d in pairs))
        for system, wrong in (("good", 97), ("bad <b>", 2)):
            scores = ((d - 6 if (q * 7 + d) % wrong else d) - d / 100 - (d > 1) * 3 for q, d in pairs)
            lines = (f"q{q} Q0 d{d} 1 {score} t\n" for (q, d), score in zip(pairs, scores, strict=True))
            Path(f"{name}/{system}.run").write_text("".join(lines))
    Path("m.toml").write_text(MANIFEST)
    return folder


def batch(*args: object, code: int = 0, terminal: bool = False) -> Done:
    done = gradeval("batch", *args, terminal=terminal)
    assert done.code == code, done.err
    return done


def values(*args: object) -> dict[tuple[str, str, str], float]:
    out = batch("m.toml", "--quiet", "--digits", "full", *args).out
    rows = csv.DictReader(io.StringIO(out), delimiter="\t")
    return {(row["collection"], row["system"], row["metric"]): float(row["value"]) for row in rows}

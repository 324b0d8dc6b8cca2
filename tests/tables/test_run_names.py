from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradeval.tables.run_names import run_names


@pytest.mark.parametrize(
    "paths, names",
    [
        (["runs/bm25.run", "neural.txt", "x.res"], ["bm25", "neural", "x"]),
        (["a.run.gz", "b.txt.bz2", "c.res.xz", "d.zst"], ["a", "b", "c", "d"]),
        (["input.bm25", "bm25.k1=0.9.b=0.4"], ["input.bm25", "bm25.k1=0.9.b=0.4"]),
        (["a.gz.run", "b.run.txt"], ["a.gz", "b.run"]),
        (["-", "/dev/fd/63"], ["-", "63"]),
        ([".run", ".gz", "dir/.txt"], [".run", ".gz", ".txt"]),
        (["x/a.run", "y/a.run", "b.run"], ["x/a.run", "y/a.run", "b"]),
        (["a.run", "a.txt"], ["a.run", "a.txt"]),
        (["a.run", "a.run", "a.run"], ["a.run", "a.run#2", "a.run#3"]),
        (["a.run", "a.run", "a.run#2"], ["a.run", "a.run#3", "a.run#2"]),
        (["a.run", "x/a.run", "a.run.txt"], ["a.run", "x/a.run", "a.run.txt"]),
        ([], []),
    ],
)
def test_run_names(paths: list[str], names: list[str]) -> None:
    assert run_names(paths) == names


@given(st.lists(st.text("ab/.#2", min_size=1, max_size=3).map(lambda s: s + ".run") | st.just("a.run.gz")))
def test_run_names_differ(paths: list[str]) -> None:
    names = run_names(paths)
    assert len(set(names)) == len(names) == len(paths)
    assert all(names)

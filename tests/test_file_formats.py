"""The names of runs, made from labels and the names of files."""

from helpers import each_row
from hypothesis import given
from hypothesis import strategies as st

from gradeval.file_formats import labelled, run_files, run_names


@each_row(
    (["runs/bm25.run", "neural.txt", "x.res"], ["bm25", "neural", "x"]),
    (["a.run.gz", "b.txt.bz2", "c.res.xz", "d.zst"], ["a", "b", "c", "d"]),
    (["input.bm25", "bm25.k1=0.9.b=0.4"], ["input.bm25", "bm25.k1=0.9.b=0.4"]),
    (["a.gz.run", "b.run.txt"], ["a.gz", "b.run"]),
    (["-", "/dev/fd/63"], ["-", "63"]),
    (["a.arrows", "b.arrow", "c.parquet"], ["a", "b", "c"]),
    ([".run", ".gz", "dir/.txt"], [".run", ".gz", ".txt"]),
    (["x/a.run", "y/a.run", "b.run"], ["x/a.run", "y/a.run", "b"]),
    (["a.run", "a.txt"], ["a.run", "a.txt"]),
    (["a.run", "a.run", "a.run"], ["a.run", "a.run#2", "a.run#3"]),
    (["a.run", "a.run", "a.run#2"], ["a.run", "a.run#3", "a.run#2"]),
    (["a.run", "x/a.run", "a.run.txt"], ["a.run", "x/a.run", "a.run.txt"]),
    ([], []),
)
def test_run_names(paths: list[str], names: list[str]) -> None:
    assert run_names((None, path, None) for path in paths) == names
    # not those of labels
    assert run_names([(None, "x/a.run", None), ("a", "", None), (None, "b.run", None)]) == ["x/a.run", "a", "b"]
    labelled_runs = [("a", "", None), ("a#2", "", None)]
    assert run_names([*labelled_runs, *[(None, "a", None)] * 2]) == ["a", "a#2", "a#3", "a#4"]
    features = [(None, "l:f1", "f1"), (None, "m:f1", "f1"), (None, "m:f2", "f2")]
    assert run_names(features) == ["l:f1", "m:f1", "f2"]


@given(st.lists(st.text("ab/.#2", min_size=1, max_size=3).map(lambda s: s + ".run") | st.just("a.run.gz")))
def test_run_names_differ(paths: list[str]) -> None:
    names = run_names((None, path, None) for path in paths)
    assert len(set(names)) == len(names) == len(paths)
    assert all(names)


@each_row(
    ("a.run", None, "a.run"), ("BM25=a.run", "BM25", "a.run"),
    ("BM25 + RM3=runs/k=9.run", "BM25 + RM3", "runs/k=9.run"), ("x=-", "x", "-"),
    ("x=/dev/fd/63", "x", "/dev/fd/63"), ("runs/k1=0.9", None, "runs/k1=0.9"),
    ("./k1=0.9", None, "./k1=0.9"), ("b=0.4", None, "b=0.4"), ("=a.run", None, "=a.run"),
    ("a=", None, "a="), ("-", None, "-"), ("", None, ""),
)  # fmt: skip
def test_labels(argument: str, label: str | None, path: str, tmp_path, monkeypatch) -> None:
    """An existing file of the whole name, here b=0.4, wins."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "b=0.4").touch()
    assert labelled(argument) == (label, path)


def test_run_files(tmp_path):
    (tmp_path / "runs" / "deep").mkdir(parents=True)
    for name in ("b.run", "a.json", ".hidden", "[x]"):
        (tmp_path / "runs" / name).touch()
    folder = str(tmp_path / "runs")
    all_files = [f"{folder}/{name}" for name in ("[x]", "a.json", "b.run")]
    for path in (folder, f"{folder}/", folder.encode(), tmp_path / "runs", f"{folder}/*"):
        assert run_files(path) == all_files
    assert run_files(f"{folder}/?.*") == all_files[1:]
    for alone in (f"{folder}/[x]", f"{folder}/b.run", f"{folder}/x*", f"{folder}/deep", "-", "none", "a\0*"):
        assert run_files(alone) == [alone]

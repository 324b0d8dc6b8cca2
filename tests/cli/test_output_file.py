"""Files of --output: named by their endings, written whole or not at all."""

import os
import shutil
import stat
from pathlib import Path

import pytest
from helpers import each

from gradeval.render import WRITERS

from .command import fails, gradeval

pytestmark = pytest.mark.usefixtures("folder")

TSV = "run\tquery\tmetric\tvalue\nr\tall\tAP\t0.2593\n"


@each("name", [name for name, format in WRITERS.items() if format.ending])
def test_the_ending_of_the_file_sets_the_format(name: str) -> None:
    for path in (f"out{WRITERS[name].ending}", f"a.b{WRITERS[name].ending.upper()}"):
        assert gradeval("q", "r", "-m", "AP", "-o", path, terminal=True).code == 0
        assert Path(path).read_text() == gradeval("q", "r", "-m", "AP", "-f", name).out
        assert gradeval("q", "r", "-m", "AP", "-o", path, "-f", "trec").code == 0
        assert Path(path).read_text().startswith("map  ")


@pytest.mark.parametrize("path", ["out", ".out", "a.b/out", "out."])
def test_a_file_without_an_ending_is_tsv(path: str) -> None:
    os.mkdir("a.b")
    assert gradeval("q", "r", "-m", "AP", "-o", path).code == 0
    assert Path(path).read_text() == TSV


def test_an_unknown_ending_is_an_error(folder: Path) -> None:
    assert fails("q", "r", "-o", "out.xlsx") == (
        "gradeval: cannot infer a format from out.xlsx: the endings are "
        ".txt, .tsv, .csv, .json, .jsonl, .md, .tex. -f sets the format"
    )
    assert fails("q", "r", "-o", "out.tsv.gz").startswith("gradeval: cannot infer a format from out.tsv.gz: ")
    assert not list(folder.glob("out*"))
    assert gradeval("q", "r", "-m", "AP", "-o", "out.xlsx", "-f", "tsv").code == 0
    assert Path("out.xlsx").read_text() == TSV


# Files


def test_a_file_is_replaced_with_its_mode_and_links(folder: Path) -> None:
    assert gradeval("q", "r", "-m", "AP", "-o", "out") == (0, "", gradeval("q", "r", "-m", "AP").err)
    assert Path("out").read_text() == TSV
    assert sorted(os.listdir(folder)) == ["l", "out", "q", "r", "s"]
    # an old file is replaced and keeps its mode
    Path("out").write_text("old" * 999)
    os.chmod("out", 0o640)
    assert gradeval("q", "r", "-m", "AP", "--output", "out").code == 0
    assert Path("out").read_text() == TSV
    assert stat.S_IMODE(os.stat("out").st_mode) == 0o640
    # a new file has the mode of others
    before = os.umask(0o027)
    try:
        gradeval("q", "r", "-m", "AP", "-o", "out")
    finally:
        os.umask(before)
    assert stat.S_IMODE(os.stat("out").st_mode) == 0o640
    # a link stays one
    Path("there").mkdir()
    os.symlink("there/out", "link")
    assert gradeval("q", "r", "-m", "AP", "-o", "link").code == 0
    assert os.readlink("link") == "there/out"
    assert Path("there/out").read_text() == TSV


ERRORS = [("q", "none"), ("none", "r"), ("q", "q"), ("q", "r", "-m", "qqq"), ("q", "r", "--strict")]


@each("args", ERRORS, ids=" ".join)
@each("old", [None, "old"])
def test_an_error_leaves_the_file_as_it_is(args: tuple[str, ...], old: str | None, folder: Path) -> None:
    if old:
        Path("out").write_text(old)
    before = sorted(os.listdir(folder))
    fails(*args, "-o", "out")
    assert sorted(os.listdir(folder)) == before
    assert not old or Path("out").read_text() == old


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_write_that_ends_early_leaves_nothing(
    error: BaseException, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("out").write_text("old")

    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(os, "replace", fail)
    done = gradeval("q", "r", "-m", "AP", "--quiet", "-o", "out")
    if isinstance(error, OSError):
        assert done == (2, "", "gradeval: out cannot be written (No space left on device)\n")
    else:
        assert done.code == 130
    assert Path("out").read_text() == "old"
    assert sorted(os.listdir(folder)) == ["l", "out", "q", "r", "s"]


def test_where_no_file_can_be_written(folder: Path) -> None:
    Path("there").mkdir()
    assert fails("q", "r", "-o", "there") == ("gradeval: --output there: it is a directory")
    assert fails("q", "r", "-o", "nowhere/out") == (
        f"gradeval: --output nowhere/out: directory {folder.resolve() / 'nowhere'} does not exist"
    )
    assert fails("q", "r", "-o", "q/out").startswith("gradeval: --output q/out: directory ")
    assert fails("q", "r", "-o", "") == "gradeval: --output: no file given"


MANIFEST = """\
systems = ["scores", "later"]
metrics = ["AP"]
[collections.c]
qrels = "plain"
runs = { scores = "s", later = "later" }
options = { groups = "sizes" }
"""
READ = {
    "q r -o q": "q",
    "q r -o ./r": "r",
    "q - -o r": "r",
    "- r -o q": "q",
    "q r -o link": "r",
    "q r -o hard": "r",
    "l s -o s": "s",
    "q r --query-ids ids -o ids": "ids",
    "q r --query-ids ./ids -o ids": "ids",
    "plain s --groups sizes -o sizes": "sizes",
    "plain s -o plain.query": "plain.query",
    "plain plain --feature 1 -o plain.query": "plain.query",
    "l plain --feature 1 -o plain.group": "plain.group",
    "q --runs-from list -o r": "r",
    "q --runs-from list -o list": "list",
    "compare q r A=other -o other": "other",
    "compare q r other --by groups -o groups": "groups",
    "explain plain --query 1 --against plain2 --feature 1 -f json -o plain2.query": "plain2.query",
    "plot curve q A=r --query-ids ids -o ids": "ids",
    "plot queries q r --baseline other -o other": "other",
    "plot phi plain --groups sizes.svg --save sizes.svg": "sizes.svg",
    "report q r --baseline other -o other": "other",
    "study levels plain s --groups sizes -o sizes": "sizes",
    "study agreement q r other --qrels2 again -o again": "again",
    "validate plain s --groups sizes -o sizes": "sizes",
    "validate plain s -o plain.query": "plain.query",
    "convert plain --feature 1 --as run --to trec plain.query": "plain.query",
    "convert plain --groups sizes --feature 1 --as run --to trec sizes": "sizes",
    "convert s --qrels plain --as run --to trec plain.query": "plain.query",
    "batch m.toml -o sizes": "sizes",
    "batch m.toml -o plain.query": "plain.query",
}


@pytest.mark.parametrize("command", READ)
def test_no_file_that_is_read_is_written(command: str, folder: Path) -> None:
    for name, text in {"ids": "q1\n", "list": "r\n", "groups": "q1\tx\n", "m.toml": MANIFEST}.items():
        (folder / name).write_text(text)
    for name in ("plain", "plain2"):
        (folder / name).write_text("2 1:3\n0 1:2\n1 1:1\n0 1:4\n")
    for name in ("sizes", "sizes.svg", "plain.query", "plain.group", "plain2.query"):
        (folder / name).write_text("2\n2\n")
    shutil.copy("r", "other")
    shutil.copy("q", "again")
    os.symlink("r", "link")
    os.link("r", "hard")
    name, args = READ[command], command.split()
    stdin = {"q - -o r": "r", "- r -o q": "q"}.get(command)
    before = Path(name).read_text()
    option = {"-o": "--output", "--save": "--save"}.get(args[-2], "OUT")
    assert fails(*args, stdin=stdin) == f"gradeval: {option} {args[-1]}: it is one of the input files"
    assert Path(name).read_text() == before


def test_no_file_is_written_where_an_input_is_missing(folder: Path) -> None:
    """It would be read the next time."""
    (folder / "m.toml").write_text(MANIFEST)
    assert fails("batch", "m.toml", "-o", "./later") == (
        "gradeval: --output ./later: it would be one of the input files"
    )
    assert fails("q", "r", "-o", "q.query") == "gradeval: --output q.query: it would be one of the input files"
    assert sorted(os.listdir(folder)) == ["l", "m.toml", "q", "r", "s"]

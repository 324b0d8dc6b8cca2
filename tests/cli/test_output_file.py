"""Files of --output: named by their endings, written whole or not at all."""

import os
import stat
from pathlib import Path
from unittest import mock

import pytest
from helpers import each

from gradeval.render import WRITERS

from .command import QRELS, RUN, fails, gradeval

pytestmark = pytest.mark.usefixtures("folder")

TSV = "run\tquery\tmetric\tvalue\nr\tall\tAP\t0.2593\n"


@each("name", [name for name, format in WRITERS.items() if format.ending])
def test_the_ending_of_the_file_sets_the_format(name: str) -> None:
    expected = gradeval("q", "r", "-m", "AP", "-f", name).out
    for path in (f"out{WRITERS[name].ending}", f"a.b{WRITERS[name].ending.upper()}"):
        assert gradeval("q", "r", "-m", "AP", "-o", path, terminal=True).code == 0
        assert Path(path).read_text() == expected


def test_a_file_without_an_ending_is_tsv() -> None:
    os.mkdir("a.b")
    for path in ("out", ".out", "a.b/out", "out."):
        assert gradeval("q", "r", "-m", "AP", "-o", path).code == 0
        assert Path(path).read_text() == TSV
    for path in ("out.xlsx", "out.tsv.gz"):
        assert fails("q", "r", "-o", path) == (
            f"gradeval: cannot infer a format from {path}: the endings are "
            ".txt, .tsv, .csv, .json, .jsonl, .md, .tex. -f sets the format"
        )
        assert not Path(path).exists()
    for format, text in (("tsv", TSV), ("trec", gradeval("q", "r", "-m", "AP", "-f", "trec").out)):
        assert gradeval("q", "r", "-m", "AP", "-o", "out.xlsx", "-f", format).code == 0
        assert Path("out.xlsx").read_text() == text


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


@each("args", ["q none", "none r", "q q", "q r -m qqq", "q r --strict"])
def test_an_error_leaves_the_file_as_it_is(args: str, folder: Path) -> None:
    Path("out").unlink(missing_ok=True)
    for text in ([], ["old"]):
        for old in text:
            Path("out").write_text(old)
        before = sorted(os.listdir(folder))
        fails(*args.split(), "-o", "out")
        assert sorted(os.listdir(folder)) == before
    assert Path("out").read_text() == "old"


def test_a_write_that_ends_early_leaves_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("out").write_text("old")
    said = "gradeval: out cannot be written (No space left on device)\n"
    for error, code, err in (
        (OSError(28, "No space left on device"), 2, said),
        (KeyboardInterrupt(), 130, "\n"),
    ):
        monkeypatch.setattr(os, "replace", mock.Mock(side_effect=error))
        assert gradeval("q", "r", "-m", "AP", "--quiet", "-o", "out") == (code, "", err)
        assert Path("out").read_text() == "old"
        assert sorted(os.listdir(folder)) == ["l", "out", "q", "r", "s"]


def test_where_no_file_can_be_written(folder: Path) -> None:
    Path("there").mkdir()
    (folder / "m.toml").write_text(MANIFEST)
    before = sorted(os.listdir(folder))
    option = "gradeval: --output"
    for args, said in (
        ("q r -o there", f"{option} there: it is a directory"),
        (
            "q r -o nowhere/out",
            f"{option} nowhere/out: directory {folder.resolve() / 'nowhere'} does not exist",
        ),
        ("q r -o q/out", f"{option} q/out: directory "),
        ("q r --output=", f"{option}: no file given"),
        # files that are missing would be read the next time
        ("batch m.toml -o ./later", f"{option} ./later: it would be one of the input files"),
        ("q r -o q.query", f"{option} q.query: it would be one of the input files"),
    ):
        assert fails(*args.split()).startswith(said)
    assert sorted(os.listdir(folder)) == before
    if os.path.exists("/dev/full"):  # a device is written to, not replaced
        said = "gradeval: /dev/full cannot be written (No space left on device)"
        assert fails("q", "r", "--quiet", "-o", "/dev/full") == said
        for command in ("q r", "explain q r --query q1"):  # whose format is that of a pipe
            assert gradeval(*command.split(), "-o", "/dev/null").code == 0
        assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


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
    "q - -o r": "r",
    "- r -o q": "q",
    "q r -o link": "r",
    "q r -o hard": "r",
    "l s -o s": "s",
    "q r --query-ids ./ids -o ids": "ids",
    "plain s --groups sizes -o sizes": "sizes",
    "plain s -o plain.query": "plain.query",
    "plain plain --feature 1 -o plain.query": "plain.query",
    "q --runs-from list -o r": "r",
    "q --runs-from list -o list": "list",
    "compare q r A=other -o other": "other",
    "compare q r other --by groups -o groups": "groups",
    "explain plain --query 1 --against plain2 --feature 1 -f json -o plain2.query": "plain2.query",
    "plot curve q A=r --query-ids ids -o ids": "ids",
    "plot phi plain --groups sizes.svg --save sizes.svg": "sizes.svg",
    "report q r --baseline other -o other": "other",
    "study levels plain s --groups sizes -o sizes": "sizes",
    "study agreement q r other --qrels2 again -o again": "again",
    "validate plain s -o plain.query": "plain.query",
    "convert plain --groups sizes --feature 1 --as run --to trec sizes": "sizes",
    "convert s --qrels plain --as run --to trec plain.query": "plain.query",
    "batch m.toml -o sizes": "sizes",
}


def test_no_file_that_is_read_is_written() -> None:
    texts = {
        "ids": "q1\n",
        "list": "r\n",
        "groups": "q1\tx\n",
        "m.toml": MANIFEST,
        "other": RUN,
        "again": QRELS,
    }
    texts |= dict.fromkeys(["plain", "plain2"], "2 1:3\n0 1:2\n1 1:1\n0 1:4\n")
    sizes = ["sizes", "sizes.svg", "plain.query", "plain.group", "plain2.query"]
    for name, text in (texts | dict.fromkeys(sizes, "2\n2\n")).items():
        Path(name).write_text(text)
    os.symlink("r", "link")
    os.link("r", "hard")
    for command, name in READ.items():
        args, before = command.split(), Path(name).read_text()
        option = {"-o": "--output", "--save": "--save"}.get(args[-2], "OUT")
        said = fails(*args, stdin={"q - -o r": "r", "- r -o q": "q"}.get(command))
        assert said == f"gradeval: {option} {args[-1]}: it is one of the input files", command
        assert Path(name).read_text() == before

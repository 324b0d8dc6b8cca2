"""The page promise of the guide: each of its statements has a test, or says that none can be."""

import json
import re
from pathlib import Path

import promise
import pytest
from cli.command import QRELS, RUN
from cli.command import gradeval as command
from packaging.version import Version

import gradeval
from gradeval.errors import GradevalError, InputError, MetricError, OptionError

PROMISED = json.loads(promise.FILE.read_text("utf-8"))
PAGE = (Path(gradeval.__file__).parent / "guide" / "promise.md").read_text("utf-8")


@pytest.fixture(scope="module")
def now():
    return promise.inventory()


def lacking(kind, now):
    """What was promised and is not there: names, and what belongs to them."""
    there = now[kind]
    return [
        f"{name} {part}".strip()
        for name, parts in PROMISED[kind].items()
        for part in (parts or [""])
        if name not in there or (part and part not in there[name])
    ]


@pytest.mark.parametrize("kind", ["metrics", "groups", "commands", "kinds", "python"])
def test_names_stay(kind, now):
    assert lacking(kind, now) == []


def test_keys_stay(now):
    """A key may become one that is always there, and a new one may come."""
    gone = [text for text in lacking("schemas", now) if not text.endswith("?")]
    always = {f"{name} {key}?" for name, keys in now["schemas"].items() for key in keys}
    maybe = [text for text in lacking("schemas", now) if text.endswith("?") and text not in always]
    assert (gone, maybe) == ([], [])


@pytest.mark.slow
def test_columns_stay_in_their_order():
    now = promise.columns()
    for line, names in PROMISED["columns"].items():
        assert [name for name in now[line] if name in names] == names, line


def test_positions_stay(now):
    for name, parameters in PROMISED["positions"].items():
        assert now["positions"][name][: len(parameters)] == parameters, name


def test_groups_have_the_same_measures(now):
    assert {name: now["groups"][name] for name in PROMISED["groups"]} == PROMISED["groups"]


def test_exit_codes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("q").write_text(QRELS)
    Path("r").write_text(RUN)
    files = "q", "r", "-m", "AP", "--quiet"
    assert command(*files).code == 0
    assert command("gate", "q", "r", "--require", "AP >= 1", "--min-coverage", "50", "--quiet").code == 1
    assert command("q", "nowhere", "-m", "AP").code == 2
    assert command(*files, "--fail-on-warning").code == 3


def test_errors_are_one_family():
    assert all(issubclass(kind, GradevalError) for kind in (InputError, MetricError, OptionError))


def test_the_inventory_is_current(now):
    """What is new is promised too: python tests/promise.py adds it."""
    assert promise.merged(PROMISED, now) == {kind: PROMISED[kind] for kind in now}


def test_what_is_provisional():
    """The page names what the inventory leaves out, until 1.1."""
    assert Version(gradeval.__version__) < Version("1.1"), "what is provisional is promised or goes"
    [section] = re.findall(r"^## Provisional until 1\.1$(.*?)^## ", PAGE, re.MULTILINE | re.DOTALL)
    named = {*re.findall(r"`(?:gradeval )?([\w-]+)`", section)}
    assert named == {*promise.PROVISIONAL_COMMANDS, *promise.PROVISIONAL_OPTIONS, *promise.PROVISIONAL_KINDS}


def test_each_statement_has_its_test():
    """The last column of each table names tests, or says that none can be."""
    rows = re.findall(r"^\| (?!---)(.*) \| (.*) \|$", PAGE, re.MULTILINE)
    assert len(rows) > 12
    for statement, proof in rows:
        for path, function in re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", proof):
            assert f"\ndef {function}(" in (promise.ROOT / path).read_text("utf-8"), proof
        assert proof == "test" or proof.startswith(("`tests/", "none can be")), statement

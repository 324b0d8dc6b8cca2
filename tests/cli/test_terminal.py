"""Nothing in the data can steer a terminal."""

from importlib.util import find_spec
from pathlib import Path

import pytest
from helpers import each

from gradeval.render import WRITERS

from .command import gradeval

pytestmark = pytest.mark.usefixtures("folder")


ODD = "\x1b[31m\x9b\u202e\u2028"
ESCAPED = r"\x1b[31m\x9b\u202e\u2028"


def odd_files() -> None:
    """A query, a tag and a file name that would steer a terminal."""
    Path("odd").write_text(f"{ODD}q 0 a 1\n")
    Path(f"{ODD}r").write_text(f"{ODD}q Q0 a 1 1 {ODD}t\n")


SHOWN = {
    "json": r"\u001b[31m\u009b\u202e\u2028",
    "jsonl": r"\u001b[31m\u009b\u202e\u2028",
    "md": r"\\x1b\[31m\\x9b\\u202e\\u2028",
    "latex": ESCAPED.replace("\\", r"\textbackslash{}").replace("[", "{[}"),
}


@each("name", WRITERS)
def test_nothing_can_steer_a_terminal(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a pipe or a file, formats for machines have names as they are."""
    monkeypatch.setenv("NO_COLOR", "1")
    odd_files()
    args = ("odd", f"{ODD}r", "-m", "AP runid", "-q", "-f", name)
    shown, written = gradeval(*args, terminal=True).out, gradeval(*args).out
    assert shown.count("\n") == written.count("\n")
    escaped = SHOWN.get(name, ESCAPED)
    for end in "qt" if name == "trec" else "qrt":  # which names no run where there is one only
        assert escaped + end in shown
        assert (ODD if name in ("tsv", "csv", "trec") else escaped) + end in written


def test_other_commands_cannot_steer_a_terminal_either() -> None:
    odd_files()
    files = ("odd", f"{ODD}r")
    args = ("trec_eval", *files, "-q", "-m", "runid", "-m", "map")
    assert f"map                   \t{ESCAPED}q\t1.0000\n" in gradeval(*args, terminal=True).out
    assert f"runid                 \tall\t{ESCAPED}t\n" in gradeval(*args, terminal=True).out
    assert f"runid                 \tall\t{ODD}t\n" in gradeval(*args).out
    args = ("convert", f"{ODD}r", "-", "--to", "trec")
    assert gradeval(*args, terminal=True).out == f"{ESCAPED}q Q0 a 1 1 {ESCAPED}t\n"
    assert gradeval(*args).out == f"{ODD}q Q0 a 1 1 {ODD}t\n"
    args = ("ir_measures", *files, "-q", "AP")
    assert gradeval(*args, terminal=True).out == f"{ESCAPED}q\tAP\t1.0000\nall\tAP\t1.0000\n"
    assert gradeval(*args).out == f"{ODD}q\tAP\t1.0000\nall\tAP\t1.0000\n"


@pytest.mark.skipif(find_spec("pyarrow") is None, reason="no pyarrow here")
def test_a_terminal_gets_text_only() -> None:
    done = gradeval("convert", "q", "-", "--to", "parquet", terminal=True)
    assert (done.code, done.out) == (2, "")
    assert (
        done.err == "gradeval: a parquet file is not for a terminal: name OUT. Try 'gradeval convert --help'.\n"
    )

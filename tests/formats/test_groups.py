"""Files of groups of queries."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers import each

from gradeval.errors import InputError, InputErrors
from gradeval.formats.lines import read_groups
from gradeval.formats.sources import Source


def read(tmp_path: Path, data: bytes) -> dict[str, list[str]]:
    (tmp_path / "g").write_bytes(data)
    return read_groups(Source(tmp_path / "g"))


def test_groups(tmp_path: Path) -> None:
    text = b"query\tgroup\r\n# a comment\nq1\tshort queries\r\nq\xff\tlong\n\nq2\tshort queries\nq1\tlong\n"
    assert read(tmp_path, text) == {"short queries": ["q1", "q2"], "long": ["q\udcff", "q1"]}
    assert read(tmp_path, b"group\tquery\n") == {"query": ["group"]}  # no header


@each(
    ("text", "message"),
    [
        (b"", "g: the file is empty"),
        (b"# only this\n", "g: no data: all lines are blank or comments"),
        (b"query,group\nq1,a\nq2,b\n", "g: no line has a tab. Each line has a query, a tab and a group"),
        (b"q1 short\n", "g:1: 1 field where a line has 2 (query and group, with a tab between)"),
        (b"q1\ta\tb\n", "g:1: 3 fields where a line has 2 (query and group, with a tab between)"),
        (b"q1\t\n\tx\n", "g:1: the group is missing\ng:2: the query is missing"),
        (b"q1\ta\nq1\tb\nq1\ta\n", "g:3: query 'q1' is in group 'a' twice"),
    ],
)
def test_refused(tmp_path: Path, text: bytes, message: str) -> None:
    with pytest.raises((InputError, InputErrors)) as raised:
        read(tmp_path, text)
    assert str(raised.value).replace(f"{tmp_path}/", "") == message

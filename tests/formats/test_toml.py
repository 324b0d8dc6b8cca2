"""TOML files: what they say, and the lines of what is wrong with them."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers import each

from gradeval.errors import InputError
from gradeval.formats.lines import TomlFile, read_toml
from gradeval.formats.sources import Source


def read(path: Path, data: bytes) -> TomlFile:
    path.write_bytes(data)
    return read_toml(Source(path))


def test_contents(tmp_path: Path) -> None:
    file = read(tmp_path / "t", b"\xef\xbb\xbfa = 1\r\n[b]\r\nc = ['x', \"y\"]\r\n")
    assert file.content == {"a": 1, "b": {"c": ["x", "y"]}}
    assert read(tmp_path / "t", b"").content == {}


def test_lines(tmp_path: Path) -> None:
    file = read(tmp_path / "t", b"key = 1\n[b]\nkey = 'text'\n")
    assert (file.line_of("key"), file.line_of("key", "b"), file.line_of("text", "b")) == (1, 3, 3)
    assert file.line_of("other") is None
    assert file.line_of("key", "none") == 1


@each(
    ("data", "message"),
    [
        (b"a = 1\nb = \n", ":2: this is not TOML (Invalid value)"),
        (b"a = 1\na = 2\n", ":2: this is not TOML (Cannot overwrite a value)"),
        (b"a = '\xff'\n", ": this is not TOML, which is UTF-8"),
        (b"a = \0\n", ": "),
        (b"a = " + b"[" * 100_000, ": this TOML cannot be read (RecursionError)"),
        (b"a = " + b"9" * 9999, ": this TOML cannot be read (ValueError)"),
        (b"q1 0 d1 1\n", ":1: this is not TOML (Expected '='"),
    ],
)
def test_not_toml(tmp_path: Path, data: bytes, message: str) -> None:
    with pytest.raises(InputError) as raised:
        read(tmp_path / "t", data)
    assert str(raised.value).startswith(f"{tmp_path / 't'}{message}")
    assert "\n" not in str(raised.value)

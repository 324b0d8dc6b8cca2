"""Small files, line by line: those whose reading need not be fast."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from gradeval.errors import InputError
from gradeval.formats.scan import binary_data
from gradeval.formats.sources import TOO_LONG, Source

_SEPARATORS = re.compile(b"[ \t\r]+")


def read_fields(source: Source) -> Iterator[tuple[int, list[str]]]:
    """The 0-based number and the fields of each line that is neither blank nor a comment. Raises InputError."""
    for number, line in read_lines(source):
        fields = [field.decode("utf-8", "surrogateescape") for field in _SEPARATORS.split(line) if field]
        if fields and not fields[0].startswith("#"):
            yield number, fields


def read_lines(source: Source) -> Iterator[tuple[int, bytes]]:
    """The 0-based number and the bytes of each line; each block ends in an empty one. Raises InputError."""
    for before, text in _blocks(source):
        yield from enumerate(text.split(b"\n"), before)


def read_text(source: Source) -> bytes:
    """The whole file, decompressed, with a line end after its last line. Raises InputError."""
    return b"".join(text for _, text in _blocks(source))


def _blocks(source: Source) -> Iterator[tuple[int, bytes]]:
    """The blocks of a text file, each with the number of lines before it. Raises InputError."""
    before = 0
    for block in source.blocks():
        text = block.bytes[: block.size].tobytes()
        if block.too_long:
            raise InputError(source.name, TOO_LONG, line=before + 1, hint="Is this the right file?")
        if b"\0" in text:
            _, what, hint = binary_data(b"" if before else text, before)
            raise InputError(source.name, what, hint=hint)
        yield before, text
        before += text.count(b"\n")


class RepeatedKey(ValueError):
    """A key that a JSON object has twice."""

    def __init__(self, key: str) -> None:
        self.key = key
        super().__init__(key)


def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object_pairs_hook of json.loads; raises RepeatedKey where one of the values would be ignored."""
    members = dict(pairs)
    if len(members) < len(pairs):
        keys = [key for key, _ in pairs]
        raise RepeatedKey(next(key for place, key in enumerate(keys) if key in keys[:place]))
    return members

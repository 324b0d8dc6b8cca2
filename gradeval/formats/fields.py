"""Small files, a line at a time: those where reading fast does not matter."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gradeval.errors import InputError
from gradeval.formats.scan import binary_data
from gradeval.formats.sources import TOO_LONG, Source

_SEPARATORS = re.compile(b"[ \t\r]+")


def read_fields(source: Source) -> Iterator[tuple[int, list[str]]]:
    """The 0-based number and the fields of each line that is neither blank nor a comment. Raises InputError."""
    blocks = list(source.blocks())
    text = b"".join(block.bytes[: block.size].tobytes() for block in blocks)
    if blocks and blocks[-1].too_long:
        raise InputError(source.name, TOO_LONG, line=text.count(b"\n"), hint="Is this the right file?")
    if b"\0" in text:
        _, what, hint = binary_data(text, 0)
        raise InputError(source.name, what, hint=hint)
    for number, line in enumerate(text.split(b"\n")):
        fields = [one.decode("utf-8", "surrogateescape") for one in _SEPARATORS.split(line) if one]
        if fields and not fields[0].startswith("#"):
            yield number, fields

"""Which format a file has, told from its first line of data."""

from __future__ import annotations

import re

from gradeval.formats.problems import no_data
from gradeval.formats.sources import Source

_FEATURE = re.compile(rb"(?:qid|\d+):\S*")


def detect(source: Source) -> str:
    """'trec', 'letor' or 'scores' (one number a line). Raises InputError where the file cannot be read."""
    lines = 0
    for block in source.blocks(1 << 16):
        # a bare CR ends a line here too, so that the right reader refuses it
        for line in block.bytes[: block.size].tobytes().splitlines():
            fields = line.split(b"#", 1)[0].split()
            if fields:
                return _format_of(line, fields)
            lines += 1
    raise no_data(source.name, lines)


def _format_of(line: bytes, fields: list[bytes]) -> str:
    """fields: those before a # in the line."""
    if len(fields) > 1:
        has_query = fields[1].startswith(b"qid:")  # a file of it, whatever is wrong with a feature
        return "letor" if has_query or all(map(_FEATURE.fullmatch, fields[1:])) else "trec"
    try:
        float(line.split(maxsplit=1)[0])
    except ValueError:
        return "trec"
    return "letor" if b"#" in line else "scores"

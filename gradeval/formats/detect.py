"""Which format a file has, told from its first line of data."""

from __future__ import annotations

import re

from gradeval.errors import InputError
from gradeval.formats.sources import Source

_FEATURE = re.compile(rb"(?:qid|\d+):\S*")


def detect(source: Source) -> str:
    """'trec', 'letor' or 'scores' (one number a line). Raises InputError where the file cannot be read."""
    block = source.head()
    for line in block.bytes[: block.size].tobytes().split(b"\n"):
        fields = line.split(b"#", 1)[0].split()
        if not fields or line.lstrip().startswith(b"#"):
            continue
        if len(fields) == 1:
            return "scores" if b"#" not in line else "letor"
        before_comment = all(map(_FEATURE.fullmatch, fields[1:]))
        return "letor" if before_comment else "trec"
    raise InputError(source.name, "no line holds data: all are blank or comments")

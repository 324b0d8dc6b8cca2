"""TOML files, with the lines of what they contain."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gradeval.errors import InputError
from gradeval.formats.fields import read_text
from gradeval.formats.sources import Source

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_PLACE = re.compile(r"^(.*) \(at (?:line (\d+), column \d+|end of document)\)$", re.DOTALL)


@dataclass(frozen=True)
class TomlFile:
    """A TOML file. path: as the user gave it. content: its content as a dict."""

    path: str
    text: str = field(repr=False)
    content: Mapping[str, Any]

    def line_of(self, text: str, table: str = "") -> int | None:
        """The first line, from 1, with a key or a string, below the head of its table; None if there is none.

        TOML's readers do not report the lines of values, so it is searched for; an escaped string is not found.
        """
        lines = self.text.split("\n")
        heads = [number for number, line in enumerate(lines) if line.strip() == f"[{table}]"]
        start = heads[0] if table and heads else 0
        return next((number for number, line in enumerate(lines[start:], start + 1) if text in line), None)


def read_toml(source: Source) -> TomlFile:
    """The contents of a TOML file. Raises InputError."""
    try:
        text = read_text(source).decode("utf-8")
        return TomlFile(source.name, text, tomllib.loads(text))
    except UnicodeDecodeError:
        raise InputError(source.name, "this is not TOML, which is UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        found = _PLACE.match(str(error))
        what = str(error) if found is None else found[1]
        line = int(found[2]) if found is not None and found[2] else None
        raise InputError(source.name, f"this is not TOML ({what})", line=line) from None
    except (ValueError, RecursionError) as error:  # an integer without end, [[[[…
        raise InputError(source.name, f"this TOML cannot be read ({type(error).__name__})") from None

"""The queries that --query-ids names: a list, or a file of ids."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from gradeval.errors import GradevalError, InputError, OptionError, UnknownQueryError, named
from gradeval.formats.problems import Problem, Problems
from gradeval.formats.sources import Source
from gradeval.options import parse_ids


def read(given: str) -> dict[str, int]:
    """The ids, each with its 0-based line in the file of this name, or with -1 where it is a list of them.

    Raises InputError where the file cannot be read, OptionError where there is no id.
    """
    if "/" in given or (os.path.exists(given) and not os.path.isdir(given)):
        ids = _in_file(Source(given))
    else:
        ids = dict.fromkeys(parse_ids(given), -1)
    if not ids:
        raise OptionError(f"--query-ids {given}: no query is named")
    return ids


def _in_file(source: Source) -> dict[str, int]:
    ids: dict[str, int] = {}
    text = b"".join(block.bytes[: block.size].tobytes() for block in source.blocks())
    if b"\0" in text:
        raise InputError(source.name, "binary data (a NUL byte)", hint="Is this the right file?")
    for number, line in enumerate(text.split(b"\n")):
        if not line.lstrip().startswith(b"#"):
            for one in filter(None, re.split(b"[ \t\r]+", line)):
                ids.setdefault(one.decode("utf-8", "surrogateescape"), number)
    return ids


def unknown(error: UnknownQueryError, given: str, ids: Mapping[str, int]) -> GradevalError:
    """What is said of ids that are not in the qrels: in which lines they stand, if they are from a file."""
    if ids[error.queries[0]] < 0:
        return OptionError(
            f"--query-ids: {error}" + (f", nor is there a file '{given}'" if len(ids) == 1 else "")
        )
    problems = Problems(given)
    problems.add(Problem(ids[one], f"query {named(one)} is not in {error.path}") for one in error.queries)
    return problems.error()

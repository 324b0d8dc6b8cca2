"""Files that are not of the format as which they are read: one error for all of their lines."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gradeval.errors import InputError
from gradeval.formats.looks import is_header, look

if TYPE_CHECKING:
    from gradeval.formats.diagnostics import Problem, Problems

ALIKE = 3  # from so many lines on, the first stands for all where every line has the same problem
_QUOTED = re.compile("'.*'")
_EXPECTED = {
    "qrels": "a line of TREC qrels (query iter document grade)",
    "run": "a line of a TREC run (query Q0 document rank score tag)",
    "score": "a score",
    "letor": "a line of LETOR",
}


def misread(problems: Problems) -> InputError | None:
    """The error of a file that seems to be something else, None for any other: no line is right, or most lines
    are wrong, in several ways, from the first on.
    """
    found, rows = problems.found, problems.rows
    if not (problems.role in _EXPECTED and rows and found.first) or found.final:
        return None
    first = found.first[0]
    if first.line is None:
        return None
    is_alike = len({problem.kind for problem in found.first}) == 1
    hint = first.hint or look(problems.head, problems.role)
    lines = f"{rows:,} lines" + (" read" if problems.end is not None else "")
    if not problems.has_good and (hint or (rows >= ALIKE and is_alike)):
        scope = f"and so in all {lines}" if is_alike else f"and none of the {lines} is right"
        what = first.what + (f", {scope}" if rows > 1 else "")
    elif rows >= ALIKE and 2 * found.bad > rows and _differ(found.first) and _begins_with(problems.head, first):
        expected = _EXPECTED[problems.role]
        what = f"{_line(problems.head, first)} is not {expected}, nor are most of the {lines}"
    else:
        return None
    option = "--qrels-format" if problems.role in ("qrels", "letor") else "--run-format"
    hint = hint or f"Is this the right file? If so, give its format with {option}"
    return InputError(problems.path, what, line=first.line + 1, hint=hint)


def with_hint(problems: Problems) -> Problem:
    """The first problem, with a hint if it is in a header line."""
    first = problems.found.first[0]
    if first.hint or first.line is None or not (problems.has_good and _begins_with(problems.head, first)):
        return first
    if not is_header(problems.head.decode("utf-8", "replace").split("\n")[first.line]):
        return first
    command = "tail -n +2" if first.line == 0 else f"sed {first.line + 1}d"
    return first._replace(hint=f"This seems to be a header line; remove it with {command}")


def _differ(problems: Sequence[Problem]) -> bool:
    """Whether the lines are wrong in several ways, as in their number of fields."""
    return len({_QUOTED.sub("", problem.what) for problem in problems}) > 1


def _begins_with(head: bytes, problem: Problem) -> bool:
    """Whether it is in the first line of data, as far as the head shows."""
    lines = enumerate(head.split(b"\n"))
    data = (n for n, line in lines if line.strip() and not line.lstrip().startswith(b"#"))
    return next(data, None) == problem.line


def _line(head: bytes, problem: Problem) -> str:
    from gradeval.formats.diagnostics import shown

    return shown(head.split(b"\n")[problem.line or 0].strip())

"""Collects what is wrong with a file, as one error or several.

A file that is something else than it was given as is one error, with a hint that names what it looks like.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeVar

from gradeval.errors import InputError, InputErrors, named
from gradeval.formats import detect
from gradeval.formats.diagnostics import SHOWN, LineProblems, Problem, shown

ALIKE = 3  # from so many lines on, the first stands for all where every line has the same problem
ORDER = "the qrels come first, then the runs"
_EXPECTED = {  # by role: what a line is, and the format
    "qrels": ("a line of TREC qrels (query iter document grade)", "trec"),
    "run": ("a line of a TREC run (query Q0 document rank score tag)", "trec"),
    "score": ("a score", "scores"),
    "letor": ("a line of LETOR", "letor"),
}
_QUOTED = "'.*'"
_NUMBER = r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?"


class Part(Protocol):
    """The result for a block: how many lines it has, whether it is the last, and its problems."""

    @property
    def lines(self) -> int: ...

    @property
    def last(self) -> bool: ...

    @property
    def problems(self) -> LineProblems: ...


_Part = TypeVar("_Part", bound=Part)


class Problems:
    """The problems of one file; the first by line are kept.

    role: what the file was given as, such as 'run'; with it, a file that is something else is one error that
    names what it looks like. order: what to do where it is qrels given as a run, or a run given as qrels.
    lines: how many have been read. end: the line, from 1, at which reading stopped before the file's end.
    """

    def __init__(self, path: str, role: str = "", order: str = ORDER) -> None:
        self.path, self.role, self.order = path, role, order
        self.found = LineProblems()
        self.rows = self.bad = 0  # lines of data, and those of them that cannot be read
        self.head = b""
        self.has_good = False
        self.lines = 0
        self.end: int | None = None

    @property
    def enough(self) -> float:
        return SHOWN

    def add(self, found: LineProblems, first_line: int = 0) -> None:
        """first_line: the number of lines before the block of these problems."""
        if found.total:
            moved = found.changed(
                lambda problem: (
                    problem if problem.line is None else problem.replace(line=first_line + problem.line)
                )
            )
            # the others are not kept, nor what they would be made from
            self.found = LineProblems.joined([self.found, moved]).replace(every=None)

    def until_enough(
        self, parts: Iterable[_Part], others: Callable[[], int] = lambda: 0
    ) -> Iterator[tuple[int, _Part]]:
        """Each part of the file, with the number of lines before it, while there is reason to read on.

        It stops after enough problems, or after a final one. others: the number of problems known elsewhere.
        """
        for part in parts:
            before = self.lines
            self.lines += part.lines
            self.add(part.problems, before)
            self.rows += part.problems.rows
            self.bad += part.problems.bad
            self.head = self.head or part.problems.head
            self.has_good |= part.problems.bad < part.problems.rows if part.problems.total else part.lines > 0
            yield before, part
            if part.problems.final:
                self.end = before + (part.problems.first[-1].line or 0) + 1
                return
            if self.found.total + others() >= self.enough and not part.last:
                self.end = self.lines
                return

    def check(self) -> None:
        """Raise the problems, if any, ordered by line."""
        if self.found.total:
            raise self.error()

    def error(self) -> InputError | InputErrors:
        """All problems as one error; there must be at least one."""
        other = misread(self)
        first = (with_hint(self), *self.found.first[1:])
        return other or self.found.replace(first=first).error(self.path, self.end)


def misread(problems: Problems) -> InputError | None:
    """The error of a file that seems to be something else, None for any other: no line is right, or most lines
    are wrong, in several ways, from the first on.
    """
    found, rows = problems.found, problems.rows
    if problems.role not in _EXPECTED or not (rows and found.first) or found.final:
        return None
    first = found.first[0]
    if first.line is None:
        return None
    is_alike = len({problem.kind for problem in found.first}) == 1
    hint = first.hint or look(problems.head, problems.role, problems.order)
    kinds = {re.sub(_QUOTED, "", problem.what) for problem in found.first}  # as in their number of fields
    is_mostly_bad = 2 * problems.bad > rows and len(kinds) > 1
    lines = f"{rows:,} lines" + (" read" if problems.end is not None else "")
    if not problems.has_good and (hint or (rows >= ALIKE and is_alike)):
        scope = f"and so in all {lines}" if is_alike else f"and none of the {lines} is right"
        what = first.what + (f", {scope}" if rows > 1 else "")
    elif rows >= ALIKE and is_mostly_bad and first.line == _first_of_data(problems.head):
        line = shown(problems.head.split(b"\n")[first.line].strip())
        what = f"{line} is not {_EXPECTED[problems.role][0]}, nor are most of the {lines}"
    else:
        return None
    hint = hint or f"Is this the right file? If so, give its format with {_option(problems.role)}"
    return InputError(problems.path, what, line=first.line + 1, hint=hint)


def with_hint(problems: Problems) -> Problem:
    """The first problem, with a hint if it is in a header line."""
    first = problems.found.first[0]
    if first.hint or not problems.has_good or first.line is None:
        return first
    if first.line != _first_of_data(problems.head):
        return first
    from gradeval.formats.csv import are_columns  # which only errors need

    fields = problems.head.decode("utf-8", "replace").split("\n")[first.line].split()
    if not fields or (not are_columns(fields, {}) and (len(fields) > 1 or re.fullmatch(_NUMBER, fields[0]))):
        return first
    command = "tail -n +2" if first.line == 0 else f"sed {first.line + 1}d"
    return first.replace(hint=f"This seems to be a header line; remove it with {command}")


def _first_of_data(head: bytes) -> int | None:
    """The first line of data, as far as the head shows."""
    lines = enumerate(head.split(b"\n"))
    return next((n for n, line in lines if line.strip() and not line.lstrip().startswith(b"#")), None)


def _option(role: str) -> str:
    return "--qrels-format" if role in ("qrels", "letor") else "--run-format"


def look(head: bytes, role: str, order: str) -> str:
    """A hint that names what a text file looks like, and what reads it; '' if it is unknown.

    head: its first bytes. role: what it was given as: 'qrels', 'run', or what else its lines are. order: what
    to do where it is qrels given as a run, or a run given as qrels.
    """
    head = head[: head.rfind(b"\n") + 1] or head  # what follows the last line end may be a part of a line
    expected = _EXPECTED[role][1]
    kind = detect.of_text(head)
    if kind not in ("", "trec", expected):  # trec is for any line
        row = detect.format_of(kind)
        further = f"; {_option(role)} {kind} reads it"
        if row.of_letor:
            further = "; it needs a LETOR file as qrels"
        elif row.no_qrels is not None and role != "run":
            further = f". {row.no_qrels[1]}"
        return f"This looks like format {kind}: {row.why}{further}"
    first, _, others = head.partition(b"\n")
    below = detect.of_text(others)
    is_one_column = role != "qrels" and len(first.split()) == 1
    if below not in ("", "trec", expected) and (below != "scores" or is_one_column):
        return f"Below it, this looks like format {below}; remove the first line with tail -n +2"
    lines = [line.strip(" \t\r") for line in head.decode("utf-8", "replace").split("\n")]
    lines = [line for line in lines if line and line[0] != "#"]
    if not lines:
        return ""
    if re.match("<[?!a-zA-Z]", lines[0]):
        return "This looks like XML or HTML. Is this the right file?"
    if re.match(r'\[\s*([-"{}\]\d]|\[\s*[-"\d]|$)', lines[0]):
        return "This looks like a JSON array; write {query: {document: number}}, or an object a line"
    if lines[0][0] == "{":
        return f"This looks like damaged JSON; {_option(role)} json or jsonl shows where"
    counts = ((mark, {line.count(mark) for line in lines}) for mark in "\t,;|")
    separator = next((mark for mark, count in counts if len(count) == 1 and count != {0}), None)
    fields = [line.split() for line in lines]
    cells = [[cell.strip() for cell in line.split(separator)] for line in lines]

    def is_number(rows: list[list[str]], place: int) -> bool:
        return all(re.fullmatch(_NUMBER, row[place]) for row in rows)

    numbers = [any(re.fullmatch(_NUMBER, cell) for cell in row) for row in cells]
    is_run = role == "run"
    if role != "qrels" and {len(row) for row in fields} == {4} and is_number(fields, 3):
        return f"This looks like qrels; {order}" if is_run else "This looks like TREC qrels"
    if not is_run and {len(row) for row in fields} <= {5, 6} and is_number(fields, 4):
        return f"This looks like a run; {order}" if role == "qrels" else "This looks like a TREC run"
    if expected != "trec":
        return ""
    if {len(row) for row in cells} == {3} and is_number(cells, 2):
        if separator is None:  # no format has three columns between spaces
            columns, rank = '$1, "Q0", $2, 0, $3, "run"' if is_run else "$1, 0, $2, $3", "-$3 in place of $3"
            hint = f"convert it with awk '{{print {columns}}}'"
        else:
            mark, rank = "<TAB>" if separator == "\t" else separator, "rank in place of score"
            header = mark.join(("query_id", "doc_id", "score" if is_run else "relevance"))
            hint = f"put the header line {header} before it"
        hint += f" ({rank} if the numbers are ranks)" if is_run else ""
        return f"This looks like lines 'query document number'; {hint}"
    if separator and numbers[1:2] == [True] and not numbers[0]:
        columns = f"query=NAME,document=NAME,{'score' if is_run else 'grade'}=NAME"
        names = named(", ".join(cells[0]))
        return f"This looks like a table with a header line ({names}); use --columns {columns}"
    if separator not in (None, "\t") and numbers[-1]:
        return "This looks like CSV; put a header line with the names of its columns before it"
    return ""

"""Collects what is wrong with a file: the first few problems as errors with their lines, then a count.

A file that is something else than it was given as is one error, with a hint that names what it looks like.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Protocol, TypeVar

import numpy as np

from gradeval.arrays import Ints
from gradeval.arrays.segments import distinct
from gradeval.errors import InputError, InputErrors, named
from gradeval.records import Record

if TYPE_CHECKING:
    from gradeval.formats.sources import Block

SHOWN = 20
HEAD = 4096  # bytes that show what a file looks like
ALIKE = 3  # from so many lines on, the first stands for all where every line has the same problem
ORDER = "the qrels come first, then the runs"
# patterns that the functions of re compile at their first use: only errors need them
_QUOTED = "'.*'"
_EXPECTED = {
    "qrels": "a line of TREC qrels (query iter document grade)",
    "run": "a line of a TREC run (query Q0 document rank score tag)",
    "score": "a score",
    "letor": "a line of LETOR",
}
# a hint where a document is a duplicate
COLLAPSES = "--duplicates best (in Python duplicates='best') takes the best score"
_NUMBER = r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?"
_COLUMN = (  # what the columns of a table are called, in lower case and with '_' for '-', ' ' and '.'
    r"qid|(query|topic|q)(_?(id|no|num|number))?|qno"
    r"|did|pid|iid|(doc|document|corpus|passage|item|product)(_?(id|no))?"
    r"|grade|rel|relevance|label|rating|(score|sim|similarity|pred|prediction)s?|rank|position"
)
_IGNORED = r"#|sep=.$"  # comments, and what Excel writes above a header
_NESTED = r'\{\s*"(\\.|[^"\\])*"\s*:\s*\{'
_LETOR = r"[-+.\d]+\s+(qid:\S+|\d+:[-+.\d]+)(\s|$)"
_VARIABLE = r"'.*'|\b\d+( fields?)?"  # what differs between problems of the same kind


class Problem(Record):
    """line: 0-based, from the start of its block; None where the problem is not in one line."""

    line: int | None
    what: str
    hint: str = ""

    @property
    def kind(self) -> str:
        """The part of it that problems of the same kind in other lines share."""
        return re.sub(_VARIABLE, "…", self.what)


class LineProblems(Record):
    """The problems of some lines: the first SHOWN problems by line, and how many there are.

    final: the rest of the file need not be read. bad: how many lines have a problem. rows: the lines of data of
    the block. head: the beginning of the file, if the block has it. every: yields all of the problems, in any
    order; None where the first are all.
    """

    first: tuple[Problem, ...] = ()
    total: int = 0
    final: bool = False
    bad: int = 0
    rows: int = 0
    head: bytes = b""
    every: Callable[[], Iterator[Problem]] | None = None

    def all(self) -> Iterator[Problem]:
        return iter(self.first) if self.every is None else self.every()

    @classmethod
    def of(cls, lines: Ints, what: Callable[[int], str], hint: str | Callable[[int], str] = "") -> LineProblems:
        """A problem with each of the lines. what(i) describes the i-th, and is called only for those shown; so
        does hint(i), or it is the same for all.
        """

        def problem(i: int) -> Problem:
            return Problem(int(lines[i]), what(i), hint if isinstance(hint, str) else hint(i))

        first = tuple(map(problem, np.argsort(lines, kind="stable")[:SHOWN].tolist()))
        every = partial(map, problem, range(len(lines))) if len(lines) > SHOWN else None
        return cls(first, len(lines), bad=len(distinct(lines)), every=every)

    @classmethod
    def listed(cls, problems: Sequence[Problem], final: bool = False) -> LineProblems:
        first = tuple(sorted(problems, key=_line)[:SHOWN])
        every = partial(iter, problems) if len(problems) > SHOWN else None
        bad = len({problem.line for problem in problems})
        return cls(first, len(problems), final, bad, every=every)

    @classmethod
    def joined(cls, parts: Iterable[LineProblems]) -> LineProblems:
        parts = list(parts)
        first = sorted(chain(*(part.first for part in parts)), key=_line)[:SHOWN]
        total, bad = sum(part.total for part in parts), sum(part.bad for part in parts)
        every = partial(chain.from_iterable, map(cls.all, parts)) if total > len(first) else None
        return cls(tuple(first), total, any(part.final for part in parts), bad, every=every)

    def changed(self, change: Callable[[Problem], Problem]) -> LineProblems:
        """Each problem changed, as where it is in another line."""
        every = self.every
        return self.replace(
            first=tuple(map(change, self.first)), every=every and (lambda: map(change, every()))
        )

    def check(self, path: str) -> None:
        """Raise them, if any, as all that is wrong with a file."""
        problems = Problems(path)
        problems.add(self)
        problems.check()

    def within(self, block: Block, rows: int) -> LineProblems:
        """The same problems, of a block with this many lines of data."""
        if not self.total:
            return self
        return self.replace(
            rows=rows, head=block.bytes[: min(block.size, HEAD)].tobytes() if block.first else b""
        )


NOTHING = LineProblems()


def _line(problem: Problem) -> int:
    return problem.line or 0


class Part(Protocol):
    """The result for a block: how many lines it has, whether it is the last, and its problems."""

    @property
    def lines(self) -> int: ...

    @property
    def last(self) -> bool: ...

    @property
    def problems(self) -> LineProblems: ...


_Part = TypeVar("_Part", bound=Part)


def first_in(line: int) -> str:
    """The hint for a duplicate document of a run. line: of the first, 0-based."""
    return f"The first is in line {line + 1}; {COLLAPSES}"


class Problems:
    """The problems of one file; the first by line are kept.

    role: what the file was given as, such as 'run'; with it, a file that is something else is one error that
    names what it looks like. order: what to do where it is qrels given as a run, or a run given as qrels.
    lines: how many have been read. end: the line, from 1, at which reading stopped before the file's end.
    """

    def __init__(self, path: str, role: str = "", order: str = ORDER) -> None:
        self.path = path
        self.role = role
        self.order = order
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
        if other is not None:
            return other
        errors = [
            InputError(
                self.path,
                problem.what,
                line=None if problem.line is None else problem.line + 1,
                hint=problem.hint,
            )
            for problem in (with_hint(self), *self.found.first[1:])
        ]
        return InputErrors(errors, self.found.total, self.end) if self.found.total > 1 else errors[0]


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
    hint = first.hint or look(problems.head, problems.role, problems.order)
    kinds = {re.sub(_QUOTED, "", problem.what) for problem in found.first}  # as in their number of fields
    is_mostly_bad = 2 * problems.bad > rows and len(kinds) > 1
    lines = f"{rows:,} lines" + (" read" if problems.end is not None else "")
    if not problems.has_good and (hint or (rows >= ALIKE and is_alike)):
        scope = f"and so in all {lines}" if is_alike else f"and none of the {lines} is right"
        what = first.what + (f", {scope}" if rows > 1 else "")
    elif rows >= ALIKE and is_mostly_bad and _begins_with(problems.head, first):
        line = shown(problems.head.split(b"\n")[first.line].strip())
        what = f"{line} is not {_EXPECTED[problems.role]}, nor are most of the {lines}"
    else:
        return None
    hint = hint or f"Is this the right file? If so, give its format with {_option(problems.role)}"
    return InputError(problems.path, what, line=first.line + 1, hint=hint)


def with_hint(problems: Problems) -> Problem:
    """The first problem, with a hint if it is in a header line."""
    first = problems.found.first[0]
    if first.hint or first.line is None or not (problems.has_good and _begins_with(problems.head, first)):
        return first
    if not _is_header(problems.head.decode("utf-8", "replace").split("\n")[first.line]):
        return first
    command = "tail -n +2" if first.line == 0 else f"sed {first.line + 1}d"
    return first.replace(hint=f"This seems to be a header line; remove it with {command}")


def _begins_with(head: bytes, problem: Problem) -> bool:
    """Whether it is in the first line of data, as far as the head shows."""
    lines = enumerate(head.split(b"\n"))
    data = (n for n, line in lines if line.strip() and not line.lstrip().startswith(b"#"))
    return next(data, None) == problem.line


def look(head: bytes, role: str, order: str) -> str:
    """A hint that names what a text file looks like, and what reads it; '' if it is unknown.

    head: its first bytes. role: what it was given as: 'qrels', 'run', or what else its lines are. order: what
    to do where it is qrels given as a run, or a run given as qrels.
    """
    text = head.decode("utf-8", "replace")
    text = text.rpartition("\n")[0] or text  # what follows the last line end may be a part of a line
    stripped = [line.strip(" \t\r") for line in text.split("\n")]
    lines = [line for line in stripped if line and not re.match(_IGNORED, line)]
    if not lines:
        return ""
    first, option = lines[0], _option(role)
    if re.match(r"<[?!a-zA-Z]", first) and ">" in text:
        return "This looks like XML or HTML. Is this the right file?"
    if re.match(r"\[\s*([\"{}\[\]]|[-\d]|$)", first):
        return "This looks like a JSON array; write {query: {document: number}}, or an object a line"
    if re.match(r"\{\s*([\"{}\[\]]|[-\d]|$)", first):
        if all(line[0] == "{" and line[-1] == "}" for line in lines) and not re.match(_NESTED, first):
            return f"This looks like JSON Lines; {option} jsonl reads it"
        return f"This looks like JSON; {option} json reads it"
    numbers = [re.fullmatch(_NUMBER, line) is not None for line in lines]
    if all(numbers):
        return "Scores, one per line, need a LETOR file as qrels"
    cells = [re.split("[ \t]+", line) for line in lines]
    if len(lines) > 1 and all(numbers[1:]) and len(cells[0]) == 1:
        return "This looks like scores, one per line, below a header line; remove it with tail -n +2"
    if all(re.match(_LETOR, line) for line in lines):
        return "This looks like a LETOR file; --qrels-format and --run-format letor read it"
    counts = {len(row) for row in cells}
    if counts == {4} and role != "qrels" and all(re.fullmatch(_NUMBER, row[3]) for row in cells):
        return f"This looks like qrels; {order}" if role == "run" else "This looks like TREC qrels"
    if counts <= {5, 6} and role != "run" and all(re.fullmatch(_NUMBER, row[4]) for row in cells):
        return f"This looks like a run; {order}" if role == "qrels" else "This looks like a TREC run"
    return _look_of_table(lines, role, stripped.index(first))


def _look_of_table(lines: Sequence[str], role: str, before: int) -> str:
    """Columns with a separator, and with or without a header line. before: how many lines precede them."""
    counts = ((separator, {line.count(separator) for line in lines}) for separator in "\t,;|")
    separator = next((separator for separator, count in counts if len(count) == 1 and count != {0}), None)
    cells = [[cell.strip() for cell in line.split(separator)] for line in lines]
    count = len(cells[0])
    if count < 2 or any(len(row) != count for row in cells):
        return ""
    names, has_number = named(", ".join(cells[0])), any(re.fullmatch(_NUMBER, cell) for cell in cells[0])
    if sum(map(_is_column, cells[0])) > 1 and not has_number:
        if separator is None:
            kind = f"This looks like a table with a header line ({names})"
            return f"{kind}; separate its columns with tabs or commas"
        is_beir = separator == "\t" and [*map(str.lower, cells[0])] == ["query-id", "corpus-id", "score"]
        format_ = "beir" if is_beir else "tsv" if separator == "\t" else "csv"
        kind = "BEIR's qrels" if is_beir else f"{format_.upper()} with a header line ({names})"
        if before:  # the formats with a header begin with it
            return f"This looks like {kind}; remove what is before it with tail -n +{before + 1}"
        return f"This looks like {kind}; {_option(role)} {format_} reads it"
    if separator and count > 2 and not has_number and len(cells) > 1:
        if not any(re.fullmatch(_NUMBER, cell) for cell in cells[1]):
            return ""
        columns = f"query=NAME,document=NAME,{'grade' if role == 'qrels' else 'score'}=NAME"
        return f"This looks like a table with a header line ({names}); use --columns {columns}"
    if count == 3 and all(re.fullmatch(_NUMBER, row[2]) for row in cells):
        return _look_of_three(cells, role, separator)
    if separator in (None, "\t") or count < 3 or not any(re.fullmatch(_NUMBER, cell) for cell in cells[-1]):
        return ""
    return "This looks like CSV; put a header line with the names of its columns before it"


def _look_of_three(cells: Sequence[Sequence[str]], role: str, separator: str | None) -> str:
    """Query, document and number, without a header. A rank taken for a score reverses the ranking."""
    numbers: dict[str, list[str]] = {}
    for query, _, number in cells:
        numbers.setdefault(query, []).append(number)
    may_be_ranks = role == "run" and max(map(len, numbers.values())) > 1
    for of_query in numbers.values():
        places = sorted(int(number) if number.isdecimal() else -1 for number in of_query)
        may_be_ranks &= places in ([*range(len(places))], [*range(1, len(places) + 1)])
    if separator is None:  # no format has three columns between spaces
        columns = "$1, 0, $2, $3" if role == "qrels" else '$1, "Q0", $2, 0, $3, "run"'
        hint, rank = f"convert it with awk '{{print {columns}}}'", "-$3 in place of $3"
    else:
        header = ("query_id", "doc_id", "relevance" if role == "qrels" else "score")
        written = ("<TAB>" if separator == "\t" else separator).join(header)
        hint, rank = f"put the header line {written} before it", "rank in place of score"
    hint += f" ({rank} if the numbers are ranks)" if may_be_ranks else ""
    return f"This looks like lines 'query document number'; {hint}"


def _is_header(line: str) -> bool:
    fields = re.split("[ \t]+", line.strip())
    return sum(map(_is_column, fields)) >= min(2, len(fields)) and not any(
        re.fullmatch(_NUMBER, cell) for cell in fields
    )


def _is_column(name: str) -> bool:
    return re.fullmatch(_COLUMN, re.sub("[-. ]", "_", name.strip("\"'").lower())) is not None


def _option(role: str) -> str:
    return "--qrels-format" if role in ("qrels", "letor") else "--run-format"


def no_data(path: str, lines: int, left_out: bool = False) -> InputError:
    """The error of a file without a line of data. left_out: whether it has some, which were left out."""
    if left_out:
        what = "no document is left: the id of each is that of its query"
        return InputError(path, what, hint="--ignore-identical-ids leaves these out")
    return InputError(path, "the file is empty" if not lines else "no data: all lines are blank or comments")


def shown(field: bytes) -> str:
    """A field, quoted and shortened for a message."""
    return named(field.decode("utf-8", "backslashreplace"))

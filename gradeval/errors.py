"""Errors, text that is safe in messages and tables, and which numbers may be grades."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from copyreg import __newobj__  # type: ignore[attr-defined]
from itertools import islice
from typing import Any

_WIDTH = 60
_NOT_UTF8 = "[\udc80-\udcff]"  # bytes, as surrogateescape has them
# what runners of CI services obey in a log: '::error::' at the start of a line, '##[error]' anywhere in one
_COMMAND = r"(?m)^(?P<space>\s*)(?P<char>:)(?=:)|(?P<hash>#)(?=#\w*\[)"


def _escape(char: str) -> str:
    return repr(char)[1:-1]


_CONTROL = (*range(32), *range(127, 160))
_SEPARATORS = (0x2028, 0x2029)  # of lines and paragraphs
_BIDIRECTIONAL = (0x61C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
_INTERPRETED = {code: _escape(chr(code)) for code in (*_CONTROL, *_SEPARATORS, *_BIDIRECTIONAL)}
_INTERPRETED_WITHIN_ROWS = {code: text for code, text in _INTERPRETED.items() if chr(code) not in "\t\n"}


def printable(text: str) -> str:
    """Text for a message: one line, with escapes for all that is not printable."""
    return text if text.isprintable() else "".join(c if c.isprintable() else _escape(c) for c in text)


def visible(text: str) -> str:
    """A name or a value in a table, with escapes for what a terminal or an editor would interpret."""
    return text if text.isprintable() else text.translate(_INTERPRETED)


def visible_rows(text: str) -> str:
    """Rows of tab-separated text for a terminal, with the same escapes."""
    return text.translate(_INTERPRETED_WITHIN_ROWS)


def inert(text: str, escape: str = r"\x") -> str:
    """Lines for a log, in which no runner of a CI service finds a command. escape: of a hexadecimal code."""

    def escaped(match: re.Match[str]) -> str:
        return f"{match['space'] or ''}{escape}{ord(match['char'] or match['hash']):x}"

    return re.sub(_COMMAND, escaped, text)


def first_names(names: Iterable[str], most: int = 8) -> str:
    """'a, b, …': the names for a message, no more than these."""
    first = list(islice(names, most + 1))
    return ", ".join(first[:most]) + (", …" if len(first) > most else "")


def named(text: str) -> str:
    """Input text for a message: quoted, shortened, printable; other bytes than UTF-8 also as they may read."""
    plain = re.sub(_NOT_UTF8, lambda byte: f"\\x{ord(byte[0]) - 0xDC00:x}", text)
    return _quoted(printable(plain)) + _in_cp1252(text)


def _quoted(text: str) -> str:
    return f"'{text}'" if len(text) <= _WIDTH else f"'{text[:_WIDTH]}…'"


def _in_cp1252(text: str) -> str:
    """How a text with bytes that are not UTF-8 reads in the code page of western Windows, else ''."""
    if not re.search(_NOT_UTF8, text):
        return ""
    try:
        read = text.encode("ascii", "surrogateescape").decode("cp1252")
    except UnicodeError:
        return ""
    return f" ({_quoted(read)} in cp1252)" if read.isprintable() else ""


def described(value: object) -> str:
    """An invalid value of any type for a message: on one line, shortened."""
    try:
        text = printable(" ".join(repr(value).split()))
    except Exception:  # the class may fail at this too
        return f"an object of type {type(value).__name__}"
    return text if len(text) <= _WIDTH else f"{text[:_WIDTH]}…"


class GradevalError(Exception):
    """Base class of all errors of gradeval. Its text is one line, or several of errors.

    >>> try:
    ...     gradeval.evaluate("qrels.txt", "nowhere.run")
    ... except gradeval.GradevalError as error:
    ...     print(error)
    """

    def __init__(self, *lines: str) -> None:
        super().__init__("\n".join(map(printable, lines)))

    def _render_traceback_(self) -> list[str]:
        """What notebooks show: the error, without the lines of gradeval's code that it went through."""
        return f"{type(self).__name__}: {self}".split("\n")

    def __reduce__(self) -> tuple[Any, ...]:
        return __newobj__, (type(self), str(self)), self.__dict__


class InputError(GradevalError):
    """Invalid input. path: the file as the user gave it. line: 1-based, or None for an error of the whole file.
    what: the reason, with what was read. hint: what to do next, or ''.

        >>> try:
        ...     gradeval.evaluate("qrels.txt", "nowhere.run")
        ... except gradeval.InputError as error:
        ...     print(error.path, error.line, error.what, error.hint)
    """

    def __init__(self, path: str, message: str, *, line: int | None = None, hint: str = "") -> None:
        self.path, self.line, self.what, self.hint = path, line, message, hint
        position = path if line is None else f"{path}:{line}"
        super().__init__(f"{position}: {message}" + (f". {hint}" if hint else ""))


class LowestFirstError(InputError):
    """A distance or a rank in the place of the scores of a run."""


class InputErrors(GradevalError):
    """Several errors of one file: the first of them, and their total number. end: the line, from 1, at which
    reading stopped; None if the whole file was read. hint: how to see those that are only counted, or ''.
    """

    def __init__(self, errors: list[InputError], total: int, end: int | None = None, hint: str = "") -> None:
        self.errors, self.total, self.end, self.hint = errors, total, end, hint
        lines = [str(error) for error in errors]
        path = errors[0].path
        more = total - len(errors)
        count = f"{more} more error{'s' if more > 1 else ''}"
        if end is not None:
            lines.append(f"{path}:{end}: reading stopped here" + (f", after {count}" if more else ""))
        elif more:
            lines.append(f"{path}: {count}" + (f". {hint}" if hint else ""))
        super().__init__(*lines)


class MetricError(GradevalError):
    """An unknown metric or parameter, or a parameter that is out of range. hint: the nearest valid one.

    >>> try:
    ...     gradeval.evaluate("qrels.txt", "bm25.run", "nDGC@10")
    ... except gradeval.MetricError as error:
    ...     print(error.what, error.hint)
    """

    def __init__(self, message: str, *, hint: str = "") -> None:
        self.what, self.hint = message, hint
        super().__init__(message + (f": {hint}" if hint else ""))


class NoExpectedValueError(MetricError):
    """A metric without a closed form of its expected value over the orders of tied scores."""


class OptionError(GradevalError):
    """An invalid option, or options that are mutually exclusive.

    >>> try:
    ...     gradeval.evaluate("qrels.txt", "bm25.run", "AP", rel=-1)
    ... except gradeval.OptionError as error:
    ...     print(error)
    """

    def __init__(self, text: str, *options: str) -> None:
        self.options = options  # names in the text that a command prints as its line spells them
        super().__init__(text)


class UnsuitableOptionError(OptionError):
    """An option that does not suit the qrels. text_in_file: with the option as configurations spell it."""

    hint = ""  # for a configuration

    def __init__(self, option: str, text: str, text_in_file: str = "") -> None:
        self.option, self.text_in_file = option, text_in_file or text
        super().__init__(text)

    def in_file(self, path: str, line: int | None, scope: str = "") -> InputError:
        """The same of the option in a configuration."""
        return InputError(path, scope + self.text_in_file, line=line, hint=self.hint)


class UnknownQueryError(UnsuitableOptionError):
    """Selected queries that are not judged. queries: their ids. path: the qrels."""

    # people take it for the option of the command line
    hint = "In a configuration query_ids is a list of ids, not the name of a file"

    def __init__(self, queries: list[str], path: str) -> None:
        self.queries, self.path = queries, path
        names = first_names(map(named, queries), 5)
        text = f"query {names} is not in {path}" if len(queries) == 1 else f"queries {names} are not in {path}"
        super().__init__("query_ids", text)


# the numbers whose sums, products and ratios stay exact floats in every metric: the square of the largest and
# that of the smallest have all their digits, and so has the largest times any count of documents; beyond them a
# sum can overflow, and a small gain lose its digits
SMALLEST_GRADE, LARGEST_GRADE = 1e-150, 1e150
GRADE_RANGE = "0 or between 1e-150 and 1e150 in absolute value"


TINY = f"is too close to 0: the smallest above 0 is {SMALLEST_GRADE:g}"  # of a weight of a query


def is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def is_grade(number: float) -> bool:
    """Whether a finite number is 0, or neither too large nor too close to 0."""
    return number == 0 or SMALLEST_GRADE <= abs(number) <= LARGEST_GRADE


@contextmanager
def writing(name: str) -> Iterator[None]:
    """Raise GradevalError where what is named cannot be written; BrokenPipeError where nobody reads it."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise GradevalError(f"{name} cannot be written ({error.strerror or error})") from None


def reason(error: Exception) -> str:
    """Why a value cannot be read; the error may be of the object itself."""
    try:
        return " ".join(str(error).split()) or type(error).__name__
    except Exception:
        return type(error).__name__


@contextmanager
def readable(path: str, requirement: str = "it cannot be read", line: int | None = None) -> Iterator[None]:
    """Raise InputError for any error of user objects, whose methods can fail anywhere."""
    try:
        yield
    except (GradevalError, MemoryError):
        raise
    except Exception as error:
        raise InputError(path, printable(f"{requirement}: {reason(error)}"), line=line) from None

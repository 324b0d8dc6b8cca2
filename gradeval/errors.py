"""What can go wrong, in two kinds: the input, and the name of a metric."""

from __future__ import annotations

from typing import Any

_WIDTH = 60


def _escape(char: str) -> str:
    return repr(char)[1:-1]


_CONTROL = (*range(32), *range(127, 160))
_SEPARATORS = (0x2028, 0x2029)  # of lines and paragraphs
_BIDIRECTIONAL = (0x61C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
_OBEYED = {code: _escape(chr(code)) for code in (*_CONTROL, *_SEPARATORS, *_BIDIRECTIONAL)}
_OBEYED_WITHIN_ROWS = {code: text for code, text in _OBEYED.items() if chr(code) not in "\t\n"}


def printable(text: str) -> str:
    """One line for a message: escapes in place of all that a reader would not see as it is."""
    return text if text.isprintable() else "".join(c if c.isprintable() else _escape(c) for c in text)


def visible(text: str) -> str:
    """A name or a value in a table: escapes in place of what a terminal or an editor would obey."""
    return text if text.isprintable() else text.translate(_OBEYED)


def visible_rows(text: str) -> str:
    """Rows of tab-separated text for a terminal."""
    return text.translate(_OBEYED_WITHIN_ROWS)


def named(text: str) -> str:
    """What was read or given, as a message may have it: in quotes, short, nothing unprintable."""
    text = printable(text)
    return f"'{text}'" if len(text) <= _WIDTH else f"'{text[:_WIDTH]}…'"


def described(value: object) -> str:
    """A value that is not what it should be, of any type, as a message may have it: on one line, short."""
    try:
        text = printable(" ".join(repr(value).split()))
    except Exception:  # it may be of a class that fails at this too
        return f"an object of type {type(value).__name__}"
    return text if len(text) <= _WIDTH else f"{text[:_WIDTH]}…"


class GradevalError(Exception):
    """Base of every error that gradeval raises on purpose. Its text is one line for a person to read.

    lines: of an error that holds several, its text has one for each.
    """

    def __init__(self, *lines: str) -> None:
        super().__init__("\n".join(map(printable, lines)))

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled, (type(self), str(self), self.__dict__)


def _unpickled(kind: type[GradevalError], text: str, state: dict[str, Any]) -> GradevalError:
    """The error as it was, for who gets it from another process."""
    error = kind.__new__(kind, text)
    error.__dict__.update(state)
    return error


class InputError(GradevalError):
    """Input that cannot be read as what it should be.

    path: the file as the user named it. line: 1-based, or None where no line is to blame.
    what: the reason, with what was read. hint: what to do next, or ''.
    """

    def __init__(self, path: str, what: str, *, line: int | None = None, hint: str = "") -> None:
        self.path, self.line, self.what, self.hint = path, line, what, hint
        place = path if line is None else f"{path}:{line}"
        super().__init__(f"{place}: {what}" + (f". {hint}" if hint else ""))


class InputErrors(GradevalError):
    """Several errors of one file: the first few as InputError, and how many were found in all.

    end: the line, from 1, at which reading stopped; None where the whole file was read.
    """

    def __init__(self, errors: list[InputError], total: int, end: int | None = None) -> None:
        self.errors, self.total, self.end = errors, total, end
        lines = [str(error) for error in errors]
        path, more = errors[0].path, total - len(errors)
        count = f"{more} more error{'s' if more > 1 else ''}" if more else ""
        if end is not None:
            lines.append(f"{path}:{end}: reading stopped here" + (f", after {count}" if more else ""))
        elif more:
            lines.append(f"{path}: {count}")
        super().__init__(*lines)


class MetricError(GradevalError):
    """A metric name or parameter that does not exist or is out of range. hint: the nearest that does."""

    def __init__(self, what: str, *, hint: str = "") -> None:
        self.what, self.hint = what, hint
        super().__init__(what + (f": {hint}" if hint else ""))


class OptionError(GradevalError):
    """An option whose value is out of range, or that does not go with another."""


class UnknownQueryError(OptionError):
    """Queries that are asked for and not judged. queries: their ids. path: the qrels."""

    def __init__(self, queries: list[str], path: str) -> None:
        self.queries, self.path = queries, path
        names = ", ".join(map(named, queries[:5])) + (", …" if len(queries) > 5 else "")
        super().__init__(
            f"query {names} is not in {path}" if len(queries) == 1 else f"queries {names} are not in {path}"
        )

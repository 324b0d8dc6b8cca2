"""What can go wrong, in two kinds: the input, and the name of a metric."""

from __future__ import annotations

from typing import Any

_WIDTH = 60


def printable(text: str) -> str:
    """The text with escapes in place of what a terminal would not show, or would obey."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


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
    """Base of every error that gradeval raises on purpose. Its text is one line for a person to read."""

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
    """Several errors of one file: the first few as InputError, and how many there are in all."""

    def __init__(self, errors: list[InputError], total: int) -> None:
        self.errors, self.total = errors, total
        lines = [str(error) for error in errors]
        more = total - len(errors)
        if more:
            lines.append(f"{errors[0].path}: {more} more error{'s' if more > 1 else ''}")
        super().__init__("\n".join(lines))


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

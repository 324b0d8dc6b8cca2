"""Pictures as SVG, PNG or PDF files, for which matplotlib must be installed."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gradeval.errors import GradevalError, OptionError

if TYPE_CHECKING:
    from gradeval.commands.plot.picture import Picture

SUFFIXES = (".svg", ".png", ".pdf")
MOST_INCHES = 100.0


def format_of(path: str, option: str = "save") -> str:
    """'svg', 'png' or 'pdf', by the ending of the path. Raises OptionError."""
    suffix = os.path.splitext(path)[1].lower()
    if suffix not in SUFFIXES:
        what = f"unknown ending '{suffix}'" if suffix else "no ending"
        *first, last = SUFFIXES
        raise OptionError(f"{option} {path}: {what}. The endings are {', '.join(first)} and {last}")
    return suffix[1:]


def check_matplotlib() -> None:
    """Raise GradevalError where matplotlib is not installed."""
    try:
        with _without_warnings():
            import matplotlib.figure  # noqa: F401
    except ImportError:
        raise GradevalError(
            "matplotlib, which saves pictures, is not installed. Install it with pip install 'gradeval[plot]'"
        ) from None


@contextmanager
def _without_warnings() -> Iterator[None]:
    """Those of matplotlib's modules, which --strict would make errors, are not about results."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def save(picture: Picture, path: str, size: tuple[float, float] | None = None) -> None:
    """Write the file, atomically. size: in inches. Raises GradevalError."""
    from gradeval.formats.output import OutputFile

    format = format_of(path)
    file = OutputFile(path, (), "save")
    data, missing = image(picture, format, size)
    if missing:
        warnings.warn(without_glyphs(missing), stacklevel=3)
    try:
        file.write(data)
    except OSError as error:
        raise GradevalError(f"{path} cannot be written ({error.strerror or error})") from None


def image(picture: Picture, format: str, size: tuple[float, float] | None = None) -> tuple[bytes, str]:
    """The content of the file, and the characters that its font lacks. Raises GradevalError."""
    if size is not None and not all(0 < inches <= MOST_INCHES for inches in size):
        raise OptionError(f"size must be width and height in inches, up to {MOST_INCHES:g}, not {size}")
    check_matplotlib()
    with _without_warnings():
        from gradeval.commands.plot.figure import drawn

    return drawn(picture, format, size)


def without_glyphs(missing: str) -> str:
    """The warning about characters that the font lacks."""
    shown = missing if len(missing) <= 10 else missing[:10] + "…"
    return f"the font of saved pictures lacks {shown}, shown as boxes; label the runs with NAME=RUN"

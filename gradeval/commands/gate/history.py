"""The history of a gate: a baseline of --max-drop, and what the means of the run are appended to."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from gradeval.commands.history.history import WINDOW, Window, lines_of, read_history
from gradeval.errors import OptionError, described
from gradeval.formats.output import AppendedFile
from gradeval.options import integer, read_option

if TYPE_CHECKING:
    from gradeval.evaluation.results import Results

LEAST = 3  # lines of a history for a median
_LINES = integer(LEAST, 10**6)


class HistoryChoice(NamedTuple):
    """The history that a gate is given, None where nothing is said."""

    path: str | os.PathLike[str] | None = None
    window: Any = None  # how many lines a median is of

    def completed(self, content: Mapping[str, Any], folder: str) -> HistoryChoice:
        """With what only the file of checks in this folder says. Raises OptionError."""
        path = self.path
        window = content.get("window") if self.window is None else self.window
        if path is None and "history" in content:
            path = os.path.join(folder, content["history"])
        if not (path is None or isinstance(path, (str, os.PathLike))):
            raise OptionError(f"history must be the path of a file, not {described(path)}")
        if window is not None and path is None:
            raise OptionError("window requires history", "window", "history")
        return HistoryChoice(path, None if window is None else read_option("window", _LINES, window))

    def is_baseline(self, baseline: Any) -> bool:
        """Whether MAX_DROP compares with it: it has a window, or there is no baseline."""
        return self.window is not None or (baseline is None and self.path is not None)


class GateHistory:
    """A history of means, which is read before a run is judged. Raises InputError(s)."""

    def __init__(self, choice: HistoryChoice, metrics: Iterable[str], file: AppendedFile | None) -> None:
        """metrics: those that are compared with it. A file that is not there yet has no means."""
        self.file, self.metrics = file, frozenset(metrics)
        self.count = choice.window or WINDOW
        is_read = file is not None and os.path.exists(file.path)
        self.means = read_history(file.path) if file and is_read and self.metrics else []

    def windows(self, results: Results | None) -> dict[str, Window]:
        """Those of the metrics, for the first run."""
        if results is None or not results.runs:
            return {}
        name = results.runs[0].name
        return {metric: Window.of(self.means, name, metric, self.count) for metric in self.metrics}

    def append(self, means: Iterator[Mapping[str, Any]]) -> None:
        """Append lines. Raises GradevalError."""
        if self.file is not None and (lines := lines_of(means)):
            self.file.append(lines)

"""A progress bar on stderr for evaluations of more than a second, if stderr is a terminal."""

from __future__ import annotations

import sys
import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress

    from gradeval.formats.sources import Source

PATIENCE = 1.0


class Progress:
    """Shows after PATIENCE seconds how many bytes of the watched sources are read, or how many steps are done.

    enabled: None shows it only if stderr is a terminal.
    """

    def __init__(self, enabled: bool | None = None) -> None:
        self.enabled = sys.stderr is not None and sys.stderr.isatty() if enabled is None else enabled
        self.total = self.read = 0
        self._since = time.monotonic()
        self._bar: RichProgress | None = None
        self._in_steps = False
        self._lock = threading.Lock()  # runs are read by several threads

    def watch(self, source: Source) -> None:
        """Count this source too."""
        if self.enabled:
            with self._lock:
                self.total += source.stored_size
                source.progress = self._advance

    def _advance(self, count: int) -> None:
        if self._in_steps:  # what is read besides them is not shown
            return
        with self._lock:
            self.read += count
            # a file may be read in part to detect its format, or twice to sort it
            self._show(min(self.read, self.total or self.read), self.total or None, in_bytes=True)

    def steps(self, done: int, total: int) -> None:
        """Show that `done` of `total` equal steps are done."""
        with self._lock:
            self._in_steps = True
            self._show(done, total, in_bytes=False)

    def _show(self, done: int, total: int | None, in_bytes: bool) -> None:
        if self._bar is None and self.enabled and time.monotonic() - self._since >= PATIENCE:
            from rich import progress
            from rich.console import Console

            class Terminal(Console):
                """One whose cursor stays: nobody shows it again where a signal ends the program."""

                def show_cursor(self, show: bool = True) -> bool:
                    return False

            what = "reading" if in_bytes else "computing"
            count = progress.DownloadColumn() if in_bytes else progress.MofNCompleteColumn()
            columns = progress.TextColumn(what), progress.BarColumn(), count, progress.TimeRemainingColumn()
            self._bar = progress.Progress(*columns, console=Terminal(file=sys.stderr), transient=True)
            self._bar.add_task(what, total=None)
            self._bar.start()
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], completed=done, total=total)

    def clear(self) -> None:
        """Remove the bar, for a message; it is shown again with the next bytes."""
        with self._lock:
            if self._bar is not None:
                self._bar.stop()
                self._bar = None

    def close(self) -> None:
        self.enabled = False
        self.clear()

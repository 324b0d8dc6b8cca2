"""Waits for descriptors that are non-blocking, as a pipe or a terminal is after another program made it so."""

from __future__ import annotations

import select


def until_readable(descriptor: int, seconds: float | None = None) -> bool:
    """Wait until there is something to read, or the end; false where neither comes within so many seconds."""
    return _until(descriptor, select.POLLIN, seconds)


def until_writable(descriptor: int) -> None:
    """Wait until there is room to write, or no reader any more."""
    _until(descriptor, select.POLLOUT, None)


def _until(descriptor: int, event: int, seconds: float | None) -> bool:
    if not hasattr(select, "poll"):  # as on Windows, where to read is to wait
        return True
    poll = select.poll()
    poll.register(descriptor, event)
    return bool(poll.poll(None if seconds is None else 1000 * seconds))

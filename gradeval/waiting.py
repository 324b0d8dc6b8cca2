"""Descriptors that are non-blocking, as a pipe or a terminal is after another program made it so."""

from __future__ import annotations

from typing import Any


def until_readable(descriptor: int, seconds: float | None = None) -> bool:
    """Wait until there is something to read, or the end; false where neither comes in time."""
    return _until(descriptor, "POLLIN", seconds)


def _until_writable(descriptor: int) -> None:
    """Wait until there is room to write, or no reader any more."""
    _until(descriptor, "POLLOUT", None)


def write_all(raw: Any, data: bytes) -> None:
    """Write all of it to a raw stream, which may take a part at a time, or nothing where it must not wait."""
    left = memoryview(data)
    while left:
        written = raw.write(left)
        if written is None:
            _until_writable(raw.fileno())
        left = left[written or 0 :]


def _until(descriptor: int, event: str, seconds: float | None) -> bool:
    import select  # which few need

    if not hasattr(select, "poll"):  # as on Windows, where to read is to wait
        return True
    poll = select.poll()
    poll.register(descriptor, getattr(select, event))
    return bool(poll.poll(None if seconds is None else 1000 * seconds))

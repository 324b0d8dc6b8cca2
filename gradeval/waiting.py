"""Waits for descriptors that are non-blocking, as a pipe or a terminal is after another program made it so."""

from __future__ import annotations

import select


def until_readable(descriptor: int) -> None:
    """Return once there is something to read, or the end."""
    _until(descriptor, select.POLLIN)


def until_writable(descriptor: int) -> None:
    """Return once there is room to write, or no reader any more."""
    _until(descriptor, select.POLLOUT)


def _until(descriptor: int, event: int) -> None:
    poll = select.poll()
    poll.register(descriptor, event)
    poll.poll()

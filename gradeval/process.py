"""The process: memory, processors, forks, descriptors and locks; all code that depends on Linux."""

from __future__ import annotations

import ctypes
import gc
import os
import sys
from contextlib import suppress
from typing import Any

# the numbers of malloc.h for mallopt(3)
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8

_STREAMS = {"/dev/stdout": 1, "/dev/stderr": 2}
_PDEATHSIG, _SIGKILL = 1, 9  # of linux/prctl.h and signal.h

# Elsewhere, and where the variable is set, each function below has a way that every system has.
ON_LINUX = sys.platform == "linux" and "GRADEVAL_PORTABLE" not in os.environ

may_fork = False  # the command line's process is its own; a user's has state that forked ones would share


def default_jobs() -> int:
    """The number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if ON_LINUX else os.cpu_count() or 1


def can_fork() -> bool:
    """Whether work may be done by forked processes."""
    return may_fork and ON_LINUX


def end_with_parent() -> None:
    """End this forked process when its parent ends."""
    ctypes.CDLL(None).prctl(_PDEATHSIG, _SIGKILL)


def descriptor_of(path: str) -> int | None:
    """The descriptor that a path such as /dev/stdout or /dev/fd/3 names, None for any other path."""
    if not ON_LINUX:
        return None
    number = path.removeprefix("/dev/fd/")
    return int(number) if number != path and number.isdecimal() else _STREAMS.get(path)


def keep_freed() -> None:
    """Keep freed memory for what comes next, up to 512 MiB, and arrays of up to 32 MiB in it; with glibc
    only. The arrays of a block are as large as those of the block before. By default large arrays get fresh
    pages, which the system clears and takes back each time: with 67 MB, 16 % more processor time and 7 % more
    time. Each of many threads would have an arena, of 64 MiB of address space, that keeps what is freed in it
    from the others; and pyarrow an allocator, with which Parquet files took 30 to 64 MiB more, and longer.
    """
    if not ON_LINUX:
        return
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return
    mallopt(_MMAP_THRESHOLD, 32 << 20)
    mallopt(_TRIM_THRESHOLD, 512 << 20)
    mallopt(_ARENA_MAX, os.cpu_count() or 1)
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")  # pyarrow reads it when it is imported


def resume_garbage_collection() -> None:
    """Collect garbage again where __main__ has disabled that, but not among the objects imported so far."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()


def write_all(raw: Any, data: bytes | memoryview) -> None:
    """Write all of it to a raw stream, which may take a part at a time, or nothing where it must not wait."""
    unwritten = memoryview(data)
    while unwritten:
        written = raw.write(unwritten)
        if written is None:
            wait_for(raw.fileno(), "POLLOUT")  # there is room, or no reader any more
        unwritten = unwritten[written or 0 :]


def lock(descriptor: int) -> None:
    """Wait until no other process has locked the file, and lock it until it is closed; where the system or the
    file system cannot, do nothing.
    """
    if ON_LINUX:
        import fcntl  # few commands need it

        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)


def wait_for(descriptor: int, event: str) -> None:
    """Wait until the descriptor has the event, a name of the module select such as POLLIN, or is closed."""
    import select  # few commands need it

    if hasattr(select, "poll"):  # not on Windows, where to read is to wait
        poll = select.poll()
        poll.register(descriptor, getattr(select, event))
        poll.poll()

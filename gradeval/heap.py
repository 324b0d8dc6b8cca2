"""Memory settings of the process, for glibc."""

from __future__ import annotations

import ctypes
import gc
import os

# the numbers of malloc.h for mallopt(3)
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8


def keep_freed() -> None:
    """Keep freed memory for what comes next, up to 512 MiB, and arrays of up to 32 MiB in it.

    The arrays of a block are as large as those of the block before. By default large arrays get fresh pages,
    which the system clears and takes back each time: with 67 MB, 16 % more processor time and 7 % more time.
    Threads share as many arenas as there are processors: by default each of many threads has its own, which
    takes 64 MiB of address space and keeps what is freed in it from the others. pyarrow shares this memory
    too: with its own allocator Parquet files took 30 to 64 MiB more, and longer. Without glibc
    this does nothing.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return
    mallopt(_MMAP_THRESHOLD, 32 << 20)
    mallopt(_TRIM_THRESHOLD, 512 << 20)
    mallopt(_ARENA_MAX, os.cpu_count() or 1)
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")  # pyarrow reads it when it is imported


def imported() -> None:
    """Search for garbage again where __main__ has stopped that, but never among what was imported."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()

"""How the command has its memory from the system, where that is Linux with the GNU C library."""

from __future__ import annotations

import ctypes
import mmap

# the numbers of malloc.h for mallopt(3)
_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD = -1, -2, -3
_MIB = 1 << 20


def prepare(step: int = 128 * _MIB) -> None:
    """Have a heap that grows by huge pages and keeps what is freed for what comes next.

    The arrays of a block are as large as those of the block before. By default each has its own pages from
    the system, which clears them one by one, and gives them back: a fifth of the time that reading takes.
    Elsewhere this does nothing. step: bytes; what is not used of them takes no memory.
    """
    try:
        libc = ctypes.CDLL(None)
        mallopt, malloc, sbrk, advice = libc.mallopt, libc.malloc, libc.sbrk, mmap.MADV_HUGEPAGE
    except (AttributeError, OSError, TypeError):
        return
    malloc.restype = sbrk.restype = ctypes.c_void_p
    mallopt(_MMAP_THRESHOLD, 32 * _MIB)
    mallopt(_TRIM_THRESHOLD, 512 * _MIB)
    mallopt(_TOP_PAD, step)
    grown = malloc(2 * _MIB)
    begin = -(-(grown or 0) // (2 * _MIB)) * 2 * _MIB
    size = (sbrk(0) or 0) - begin
    if grown and size > 0:
        libc.madvise(ctypes.c_void_p(begin), ctypes.c_size_t(size), advice)
    libc.free(ctypes.c_void_p(grown))

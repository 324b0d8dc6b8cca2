"""Text in each of the ways a file can be compressed, and the blocks that are read of it."""

import bz2
import gzip
import lzma
import sys

import numpy as np
import pytest

from gradeval.arrays.strings import PAD

LINES = b"".join(b"%d 0 d%d %d\n" % (i // 7, i * i, i % 3) for i in range(3000))


def pack_zstd(text):
    return pytest.importorskip("backports.zstd" if sys.version_info < (3, 14) else "compression.zstd").compress(
        text
    )


PACKERS = {"plain": bytes, "gzip": gzip.compress, "bzip2": bz2.compress, "xz": lzma.compress, "zstd": pack_zstd}
COMPRESSED = [name for name in PACKERS if name != "plain"]


def text_of(source, *size):
    return b"".join(block.bytes[: block.size].tobytes() for block in source.blocks(*size))


def check_blocks(source, size, text):
    """The blocks are whole lines, make up the text, and say rightly which is the first and which the last."""
    expected = text if text.endswith(b"\n") or not text else text + b"\n"
    blocks = list(source.blocks(size))
    parts = [block.bytes[: block.size].tobytes() for block in blocks]
    assert b"".join(parts) == expected
    assert all(part.endswith(b"\n") for part in parts)
    assert all(block.bytes.dtype == np.uint8 and len(block.bytes) >= block.size + PAD for block in blocks)
    assert [block.first for block in blocks] == [place == 0 for place in range(len(blocks))]
    assert not any(block.last for block in blocks[:-1])  # the last one itself may not know
    longest = max(map(len, expected.splitlines(keepends=True)), default=0)
    assert all(len(part) <= max(size, 4 * longest) for part in parts)

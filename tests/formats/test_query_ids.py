"""Files of query ids."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
from plain import Cut

from gradeval.arrays.strings import PAD
from gradeval.errors import InputError, InputErrors
from gradeval.formats.lines import read_query_ids
from gradeval.formats.sources import Block, Source

SIZES = [1, 5, 1 << 20]


def ids_of(path, text, size=1 << 20):
    path.write_bytes(text)
    return read_query_ids(Cut(path, size), {"1", "2", "é", "\udcff"}, "qrels")


@pytest.mark.parametrize("size", SIZES)
def test_ids(size, tmp_path):
    text = b"# some\n2 1\t2\r\n\n  # 7\n\xc3\xa9\n\xff\n1"
    for stored in (text, gzip.compress(text), b"\xef\xbb\xbf" + text):
        assert ids_of(tmp_path / "ids", stored, size) == ("2", "1", "é", "\udcff")
    assert ids_of(tmp_path / "ids", b"# 1\n", size) == ()


@pytest.mark.parametrize("size", SIZES)
def test_ids_that_are_not_judged(size, tmp_path):
    """Each is named once."""
    path = tmp_path / "ids"
    with pytest.raises(InputErrors) as caught:
        ids_of(path, b"1 8\n# 7\n8 2 9\n1 2\n", size)
    assert str(caught.value).splitlines() == [
        f"{path}:1: query '8' is not in qrels",
        f"{path}:3: query '9' is not in qrels",
    ]


@pytest.mark.parametrize("size", SIZES)
def test_what_is_no_list_of_ids(size, tmp_path):
    with pytest.raises(InputError, match=r"binary data \(a NUL byte\)"):
        ids_of(tmp_path / "ids", b"1\n2\0\n", size)


def test_ids_that_never_end():
    """A pipe of ids is not read beyond the errors that are shown, nor held in memory."""

    class Endless(Source):
        def blocks(self, size=0):
            for number in range(10**9):
                text = b"1 2\n%d\n" % (number + 10)
                yield Block(np.frombuffer(text + bytes(PAD), np.uint8), len(text), not number, False)

    with pytest.raises(InputErrors) as caught:
        read_query_ids(Endless("ids"), {"1", "2"}, "qrels")
    *lines, end = str(caught.value).splitlines()
    assert lines == [f"ids:{2 * n}: query '{n + 9}' is not in qrels" for n in range(1, 21)]
    assert end == "ids:40: reading stopped here"

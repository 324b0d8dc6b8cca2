"""Bytes from files and pipes, packed or not, and the blocks they are cut into."""

from __future__ import annotations

import bz2
import gc
import gzip
import hashlib
import lzma
import os
import random
import sys
import tempfile
import threading
import time
from contextlib import contextmanager, suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from plain import pipe

from gradeval.arrays.strings import PAD
from gradeval.errors import InputError, InputErrors
from gradeval.formats import compression, sources
from gradeval.formats.sources import Source
from gradeval.tables.load import read_qrels

LINES = b"".join(b"%d 0 d%d %d\n" % (i // 7, i * i, i % 3) for i in range(3000))


def pack_zstd(text):
    return pytest.importorskip("backports.zstd" if sys.version_info < (3, 14) else "compression.zstd").compress(
        text
    )


PACKERS = {"plain": bytes, "gzip": gzip.compress, "bzip2": bz2.compress, "xz": lzma.compress, "zstd": pack_zstd}
PACKED = [name for name in PACKERS if name != "plain"]


@pytest.fixture
def file(tmp_path):
    """Writes a file, under a name that says nothing of its content, and gives its source."""

    def write(content, name="some.run"):
        path = tmp_path / name
        path.write_bytes(content)
        return Source(str(path))

    return write


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("sources") / "file"


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


@pytest.mark.parametrize("pack", PACKERS.values(), ids=PACKERS)
def test_content_tells_how_it_is_packed(pack, file):
    for name in ("a.run", "a.gz", "a.xz"):
        source = file(pack(LINES), name)
        assert text_of(source) == LINES
        assert text_of(source, 100) == LINES


@pytest.mark.parametrize("name", PACKED)
def test_archives_of_several_parts(name, file):
    pack = PACKERS[name]
    assert text_of(file(pack(LINES) + pack(b"x\n") + pack(LINES))) == LINES + b"x\n" + LINES


@pytest.mark.parametrize("name", PACKED)
@pytest.mark.parametrize("kept", [0.002, 0.5, -9, -1])
def test_truncated_archives(name, kept, file):
    packed = PACKERS[name](LINES)
    source = file(packed[: max(6, int(kept * len(packed))) if kept > 0 else kept])
    with pytest.raises(InputError, match="archive is damaged or incomplete") as caught:
        text_of(source)
    assert str(caught.value).startswith(source.path + ": ")


@pytest.mark.parametrize("name", PACKED)
def test_corrupt_archives(name, file):
    packed = bytearray(PACKERS[name](LINES))
    packed[len(packed) // 2 : len(packed) // 2 + 8] = bytes(b ^ 0xFF for b in packed[len(packed) // 2 :][:8])
    with pytest.raises(InputError, match="archive is damaged or incomplete"):
        text_of(file(bytes(packed)))


@pytest.mark.parametrize("name", PACKED)
def test_archives_in_name_only(name, file):
    """The first bytes of an archive, and then no archive."""
    with pytest.raises(InputError, match="archive is damaged or incomplete"):
        text_of(file(PACKERS[name](LINES)[:6] + b"\xff" * 100))


@pytest.mark.parametrize("name", PACKED)
def test_packed_nothing_is_empty(name, file):
    assert text_of(file(PACKERS[name](b""))) == b""


def test_zip(file):
    with pytest.raises(InputError, match=r"zip archive\. Unpack it first"):
        text_of(file(b"PK\x03\x04 and so on"))


def test_zstd_without_a_reader(file, monkeypatch):
    monkeypatch.setattr(compression, "import_module", lambda name: (_ for _ in ()).throw(ImportError(name)))
    with pytest.raises(InputError, match=r"nothing here can read zstd\. Run 'pip install backports\.zstd'"):
        text_of(file(b"\x28\xb5\x2f\xfd..."))


def test_missing(tmp_path):
    with pytest.raises(InputError, match=r"/no\.run: there is no such file\. Check the path"):
        text_of(Source(str(tmp_path / "no.run")))


def test_directory(tmp_path):
    with pytest.raises(InputError, match="this is a directory, not a file"):
        text_of(Source(str(tmp_path)))


@pytest.mark.parametrize(
    ("error", "what"),
    [
        (PermissionError(13, "Permission denied"), "the file may not be read"),
        (OSError(5, "Input/output error"), r"the file cannot be read \(Input/output error\)"),
        (OSError("odd"), r"the file cannot be read \(odd\)"),
    ],
)
def test_unreadable(error, what, file, monkeypatch):
    """When it is opened, and when it is read."""
    source = file(LINES)

    def fail(*args):
        raise error

    with monkeypatch.context() as patch, pytest.raises(InputError, match=what):
        patch.setattr(sources.io, "FileIO", fail)
        text_of(source)
    with monkeypatch.context() as patch, pytest.raises(InputError, match=what):
        patch.setattr(sources._Counted, "readinto", fail)
        text_of(source)
    blocks = source.blocks(100)
    next(blocks)
    with monkeypatch.context() as patch, pytest.raises(InputError, match=what):
        patch.setattr(sources._Counted, "readinto", fail)
        list(blocks)


@pytest.mark.parametrize("pack", PACKERS.values(), ids=PACKERS)
def test_byte_order_mark(pack, file):
    """It is dropped at the beginning, and only there; whatever the size of blocks."""
    mark = b"\xef\xbb\xbf"
    for text in (b"a b\n" + mark + b"c\n", b"", b"a", b"\n", mark, b"\xef\xbb"):
        for size in (1, 2, 3, 4, 1000):
            check_blocks(file(pack(mark + text)), size, text if text else b"\n")


def test_no_mark_is_seen_where_nothing_was_read(file):
    marked, empty = file(b"\xef\xbb\xbf\n", "marked"), file(b"", "empty")
    for _ in range(50):
        list(marked.blocks(64))
        assert list(empty.blocks(64)) == []


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"\n",
        b"a",
        b"a\n",
        b"\n\n\n",
        b"abc\nd\n\nefghijklmnop\nq",
        b"a" * 40 + b"\nb\n" + b"c" * 30 + b"\n",
        LINES[:90],
    ],
)
def test_every_block_size(text, file):
    source = file(text)
    for size in range(1, len(text) + 3):
        check_blocks(source, size, text)


@given(st.lists(st.integers(0, 50), max_size=20), st.booleans(), st.integers(1, 80))
def test_blocks(path, lengths, ended, size):
    text = b"\n".join(b"x" * length for length in lengths) + b"\n" * ended
    path.write_bytes(text)
    check_blocks(Source(str(path)), size, text)


@pytest.mark.parametrize("size", [1 << 10, 1 << 16, sources.BLOCK])
def test_lines_longer_than_a_block(size, file):
    """The second is longer than a block too, and begins in what was read for the first."""
    text = b"a" * 10**7 + b"\n" + b"b" * (6 << 20) + b"\nc\n" * 3
    check_blocks(file(text), size, text)


@pytest.mark.parametrize("pack", PACKERS.values(), ids=PACKERS)
def test_pipe(pack):
    """A pipe can be read from its beginning as often as a file, also after a part of it."""
    text = LINES * 10
    packed = pack(text)  # once: gzip writes the time into it
    with pipe(packed) as path:
        source = Source(path)
        next(source.blocks(1 << 10))
        check_blocks(source, 1 << 12, text)
        check_blocks(source, 1 << 14, text)
        assert source.sha256() == hashlib.sha256(packed).hexdigest()
        assert source.stored_size == 0
        assert source.expected_size >= len(text)


@pytest.mark.parametrize("text", [b"\0", b"a"], ids=["NUL", "endless"])
def test_an_endless_line_is_not_read_to_its_end(text, monkeypatch):
    """The last block ends in it: longer than any line may be, or in the first block with a NUL."""
    monkeypatch.setattr(sources, "LONGEST_LINE", 1 << 16)

    class Endless:
        read = 0

        def readinto(self, buffer):
            buffer[:] = text * len(buffer)
            self.read += len(buffer)
            return len(buffer)

    stream = Endless()
    [block] = sources._cut(stream.readinto, 1 << 10)
    assert block.bytes[: block.size].tobytes() == text * (1 << (10 if text == b"\0" else 12)) + b"\n"
    assert (block.last, block.too_long) == (True, text != b"\0")
    assert stream.read == (1 << 10 if text == b"\0" else (1 << 16) + 1)


@pytest.mark.parametrize("size", [1 << 10, 1 << 14])
@pytest.mark.parametrize("before", [b"", b"x\n", b"x\n" * 5000])
def test_the_longest_line(size, before, file, monkeypatch):
    """It may have so many bytes, and none more; of a longer one little is kept."""
    monkeypatch.setattr(sources, "LONGEST_LINE", 1 << 16)
    longest = b"a" * (1 << 16)
    for text in (longest, longest + b"\n", longest + b"\nb\n"):
        source = file(before + text)
        assert text_of(source, size) == before + text + b"\n" * (text == longest)
        assert not any(block.too_long for block in source.blocks(size))
    *others, last = file(before + longest + b"a\nb\n").blocks(size)
    assert b"".join(block.bytes[: block.size].tobytes() for block in others) == before
    assert last.too_long and last.last and len(last.bytes) < 1 << 13


def test_a_pipe_that_brings_nothing_for_a_while(monkeypatch):
    """What it has brought is looked at meanwhile, with the rest of a line behind it."""
    monkeypatch.setattr(sources, "_PATIENCE", 0.01)
    reading, writing = os.pipe()
    try:
        blocks = Source(f"/dev/fd/{reading}").blocks()
        os.write(writing, b"a packed file has six bytes that tell\nb")
        assert text_of_one(next(blocks)) == b"a packed file has six bytes that tell\n"
        assert text_of_one(next(blocks)) == b""
        os.write(writing, b"c")
        assert text_of_one(next(blocks)) == b""
        os.write(writing, b"d\ne\nf")
        assert text_of_one(next(block for block in blocks if block.size)) == b"bcd\ne\n"
        os.close(writing)
        [last] = [block for block in blocks if block.size]
        assert (text_of_one(last), last.last) == (b"f\n", True)
    finally:
        os.close(reading)


def text_of_one(block):
    return block.bytes[: block.size].tobytes()


@pytest.mark.parametrize("jobs", [1, 2, 4])
def test_an_error_does_not_wait_for_what_a_pipe_brings_next(jobs, monkeypatch):
    monkeypatch.setattr(sources, "_PATIENCE", 0.01)
    reading, writing = os.pipe()
    try:
        os.write(writing, b"q 0 d x\n" * 25 + b"q 0")
        with pytest.raises(InputErrors, match="25: reading stopped here, after 5 more errors"):
            read_qrels(Source(f"/dev/fd/{reading}"), jobs)
        os.write(writing, b" d 1\n")  # nobody has read this
    finally:
        os.close(writing)
        os.close(reading)


def test_an_error_does_not_wait_for_a_pipe_that_brings_little_at_a_time(monkeypatch):
    monkeypatch.setattr(sources, "_PATIENCE", 0.05)
    reading, writing = os.pipe()

    def write():
        with suppress(BrokenPipeError):
            for _ in range(5000):
                os.write(writing, b"q 0 d x\n")
                time.sleep(0.001)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        with pytest.raises(InputErrors, match="reading stopped here"):
            read_qrels(Source(f"/dev/fd/{reading}"), 2)
    finally:
        os.close(reading)
        thread.join()
        os.close(writing)


@contextmanager
def slow_input(text, monkeypatch, blocking=False):
    """Standard input is a pipe that brings a byte, and after a while a part of the text at a time."""
    reader, writer = os.pipe()
    os.set_blocking(reader, blocking)

    def write():
        with os.fdopen(writer, "wb", 0) as file:
            for start, end in ((0, 1), (1, 3), (3, len(text) // 2), (len(text) // 2, len(text))):
                file.write(text[start:end])
                time.sleep(0.01)

    thread = threading.Thread(target=write)
    with os.fdopen(reader) as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        thread.start()
        yield
        thread.join()


@pytest.mark.parametrize("pack", PACKERS.values(), ids=PACKERS)
def test_non_blocking_input_is_waited_for(pack, monkeypatch):
    """What it has not brought yet is not its end: not for those who read on, nor those who read again."""
    packed = pack(LINES)
    with slow_input(packed, monkeypatch):
        source = Source("-")
        check_blocks(source, 1 << 10, LINES)
        check_blocks(source, 1 << 14, LINES)
        assert source.sha256() == hashlib.sha256(packed).hexdigest()
    with slow_input(packed, monkeypatch):
        assert Source("-").sha256() == hashlib.sha256(packed).hexdigest()


@pytest.mark.parametrize("pack", PACKERS.values(), ids=PACKERS)
def test_the_first_bytes_of_a_pipe_come_one_by_one(pack, monkeypatch):
    """How it is packed is told once there are enough."""
    with slow_input(pack(LINES), monkeypatch, blocking=True):
        assert text_of(Source("-")) == LINES


NO_TEMPORARY = (
    "a pipe or an unsorted run needs a temporary file (No usable temporary directory found in ['/nowhere']). "
    "Set TMPDIR to a directory that can be written and has room"
)


def test_no_temporary_directory(monkeypatch):
    monkeypatch.setattr(sources, "_IN_MEMORY", 1 << 12)
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(tempfile, "_candidate_tempdir_list", lambda: ["/nowhere"])
    with pipe(LINES) as path, pytest.raises(InputError) as caught:
        text_of(Source(path))
    assert str(caught.value) == f"{path}: {NO_TEMPORARY}"


@pytest.mark.parametrize("pack", PACKERS.values(), ids=PACKERS)
def test_no_room_in_the_temporary_directory(pack, monkeypatch):
    """It is neither the pipe nor the archive that is wrong."""
    monkeypatch.setattr(tempfile, "tempdir", "/somewhere")

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tempfile.SpooledTemporaryFile, "write", fail)
    with pipe(pack(LINES)) as path, pytest.raises(InputError) as caught:
        text_of(Source(path))
    assert str(caught.value) == (
        f"{path}: the temporary file in /somewhere, for a pipe or an unsorted run, cannot be written "
        "(No space left on device). Set TMPDIR to a directory that can be written and has room"
    )


@pytest.mark.parametrize("pack", PACKERS.values(), ids=PACKERS)
def test_a_disk_that_fails_is_not_a_damaged_archive(pack, file, monkeypatch):
    source = file(pack(random.Random(1).randbytes(1 << 17).replace(b"\0", b" ")))
    plain, calls = sources._Counted.readinto, []

    def fail(self, buffer):
        calls.append(len(buffer))
        if len(calls) > 1:
            raise OSError(5, "Input/output error")
        return plain(self, buffer)

    monkeypatch.setattr(sources._Counted, "readinto", fail)
    with pytest.raises(InputError, match=r"the file cannot be read \(Input/output error\)"):
        text_of(source)


def test_pipe_larger_than_what_is_kept_in_memory():
    text = random.Random(1).randbytes(9 << 20).replace(b"\n", b" ").replace(b"\0", b" ") + b"\n"
    with pipe(text) as path:
        source = Source(path)
        assert text_of(source) == text
        assert text_of(source) == text


def test_empty_pipe():
    with pipe(b"") as path:
        assert text_of(Source(path)) == b""


def test_standard_input(file, monkeypatch):
    source = file(LINES)
    with open(source.path, "rb") as opened:
        monkeypatch.setattr(sys, "stdin", opened)
        stdin = Source("-")
        assert stdin.name == "<stdin>"
        assert text_of(stdin) == text_of(stdin) == LINES
        assert stdin.stored_size == len(LINES)
    assert stdin.stored_size == 0


def test_standard_input_is_read_from_where_it_stands(file, monkeypatch):
    with open(file(LINES).path, "rb", buffering=0) as opened:
        opened.seek(LINES.index(b"\n") + 1)
        monkeypatch.setattr(sys, "stdin", opened)
        stdin = Source("-")
        assert text_of(stdin) == text_of(stdin) == LINES.split(b"\n", 1)[1]


def test_standard_input_that_is_closed(monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(InputError, match=r"^<stdin>: the file cannot be read .standard input is closed"):
        text_of(Source("-"))
    assert Source("-").stored_size == 0


def test_standard_input_from_a_pipe_stays_open(monkeypatch):
    with pipe(LINES) as path, open(path, "rb") as opened:
        monkeypatch.setattr(sys, "stdin", opened)
        stdin = Source("-")
        assert text_of(stdin) == LINES
        del stdin
        gc.collect()
        assert opened.read() == b""


def test_files_are_closed(file, monkeypatch):
    opened = []
    plain = sources.io.FileIO

    class Noted(plain):
        def __init__(self, *args, **options):
            super().__init__(*args, **options)
            opened.append(self)

    monkeypatch.setattr(sources.io, "FileIO", Noted)
    source = file(LINES)
    text_of(source)
    with pipe(LINES) as path:
        piped = Source(path)
        text_of(piped)
        assert [raw.closed for raw in opened] == [True, False]  # a pipe brings its bytes but once
        del source, piped
        gc.collect()
        assert [raw.closed for raw in opened] == [True, True]


def test_sizes_and_hash(file, tmp_path):
    packed = gzip.compress(LINES)
    source = file(packed)
    assert source.stored_size == len(packed)
    assert source.expected_size >= len(LINES)
    assert source.sha256() == hashlib.sha256(packed).hexdigest()
    assert Source(str(tmp_path / "none")).stored_size == 0


@pytest.mark.parametrize("pack", PACKERS.values(), ids=PACKERS)
def test_progress_counts_the_stored_bytes(pack, file):
    packed = pack(LINES)
    steps = []
    source = file(packed)
    source.progress = steps.append
    text_of(source)
    assert sum(steps) == len(packed)


def test_two_sources_read_at_once(file):
    """Each thread its own source of one file, and its own place in it."""
    source = file(LINES)
    texts = []
    threads = [
        threading.Thread(target=lambda: texts.append(text_of(Source(source.path), 64))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert texts == [LINES] * 4


@pytest.mark.parametrize("pack", [bz2.compress, lzma.compress])
def test_what_follows_a_stream_is_another_or_an_error(tmp_path, pack):
    """The standard library's files take a damaged second stream for the end, and say nothing."""
    path = tmp_path / "packed"
    path.write_bytes(pack(b"one\n") + pack(b"two\n"))
    assert text_of(Source(path)) == b"one\ntwo\n"
    for between, behind in ((b"X", b""), (b"", b"XXXX"), (b"XXXX", b"")):
        path.write_bytes(pack(b"one\n") + between + pack(b"two\n") + behind)
        with pytest.raises(InputError, match="the archive is damaged"):
            text_of(Source(path))


def test_xz_streams_may_be_padded(tmp_path):
    path = tmp_path / "packed.xz"
    path.write_bytes(lzma.compress(b"one\n") + bytes(8) + lzma.compress(b"two\n") + bytes(4))
    assert text_of(Source(path)) == b"one\ntwo\n"
    path.write_bytes(lzma.compress(b"one\n") + bytes(1 << 18) + lzma.compress(b"two\n"))
    assert text_of(Source(path)) == b"one\ntwo\n"

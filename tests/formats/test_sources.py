"""Files and pipes as blocks of whole lines; what cannot be read; sizes, hashes and progress."""

import bz2
import gc
import hashlib
import lzma
import os
import random
import shutil
import sys
import tempfile
import threading
import time
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
from helpers import each, error_of, examples, raises
from hypothesis import example, given
from hypothesis import strategies as st
from plain import changing, pipe

from gradeval.arrays.strings import PAD
from gradeval.errors import InputError
from gradeval.formats import sources
from gradeval.formats.sources import Source

from .reading import COMPRESSED, PACKERS

LINES = b"".join(b"%d 0 d%d %d\n" % (i // 7, i * i, i % 3) for i in range(3000))


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


@pytest.fixture
def file(tmp_path):
    def write(content, name="some.run"):
        (tmp_path / name).write_bytes(content)
        return Source(tmp_path / name)

    return write


def test_what_is_no_text(tmp_path, file, monkeypatch):
    raises(InputError, r"/no\.run: no such file\. Check the path", text_of, Source(str(tmp_path / "no.run")))
    (tmp_path / ".hidden").touch()
    (tmp_path / "deep").mkdir()
    raises(InputError, "this is a directory, not a file", text_of, Source(str(tmp_path)))
    (tmp_path / "run").touch()
    raises(InputError, "this is a directory, not a file", text_of, Source(str(tmp_path)))
    raises(InputError, r"zip archive\. Extract it first", text_of, file(b"PK\x03\x04 and so on"))
    entry = b"PK\x03\x04" + bytes(26)
    for names in (
        [b"[Content_Types].xml", b"xl/"],
        [b"mimetypeapplication/vnd.oasis.opendocument.spreadsheet"],
    ):
        workbook = file(b"".join(entry + name for name in names))
        raises(InputError, "this is a workbook of spreadsheets. Save the sheet as CSV", text_of, workbook)
    monkeypatch.setattr(sources, "import_module", lambda name: (_ for _ in ()).throw(ImportError(name)))
    what = r"zstd support is not installed\. Run 'pip install backports\.zstd'"
    raises(InputError, what, text_of, file(b"\x28\xb5\x2f\xfd..."))


ERRORS = {
    "permission denied": PermissionError(13, "Permission denied"),
    r"the file cannot be read \(Input/output error\)": OSError(5, "Input/output error"),
    r"the file cannot be read \(odd\)": OSError("odd"),
}


@each("what", ERRORS)
def test_unreadable(what, file, monkeypatch):
    source = file(LINES)

    def fail(*args, **_):
        raise ERRORS[what]

    blocks = source.blocks(100)
    next(blocks)
    for where, name in ((sources.io, "FileIO"), (sources._Stored, "readinto")):
        with monkeypatch.context() as patch:
            patch.setattr(where, name, fail)
            raises(InputError, what, text_of, source)
    monkeypatch.setattr(sources._Stored, "readinto", fail)
    raises(InputError, what, list, blocks)


@each("pack", PACKERS.values())
def test_byte_order_mark(pack, file):
    """It is dropped at the beginning, and only there; whatever the size of blocks."""
    mark = b"\xef\xbb\xbf"
    for text in (b"a b\n" + mark + b"c\n", b"", b"a", b"\n", mark, b"\xef\xbb"):
        for size in (1, 2, 3, 4, 1000):
            check_blocks(file(pack(mark + text)), size, text if text else b"\n")


@examples(times=2)
@given(st.lists(st.integers(0, 50), max_size=20), st.booleans(), st.integers(1, 80))
@example([], False, 1)
@example([0], True, 1)
@example([3, 1, 0, 12, 1], False, 2)
@example([40, 1, 30], True, 40)
def test_blocks(path, lengths, ended, size):
    text = b"\n".join(b"x" * length for length in lengths) + b"\n" * ended
    path.write_bytes(text)
    check_blocks(Source(str(path)), size, text)


@each("text", [b"\0", b"a"])
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


@each("size", [1 << 10, 1 << 14])
@each("before", [b"", b"x\n", b"x\n" * 5000])
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


@each("pack", PACKERS.values())
@each("piped", [False, True])
def test_a_hash_and_progress_are_taken_while_the_file_is_read(pack, piped, file, monkeypatch):
    """Also where it is read in part first, as to detect its format, and a pipe as often as a file; nothing is
    read again for the hash.
    """
    compressed, steps = pack(LINES), []  # once: gzip writes the time into it
    with pipe(compressed) if piped else nullcontext(file(compressed).path) as path:
        source = Source(path)
        source.hash_while_reading()
        next(source.blocks(64))
        for size in (1 << 12, 1 << 20):
            check_blocks(source, size, LINES)
        source.watch = lambda size, count: steps.append(count)
        assert source.sha256() == source.sha256() == hashlib.sha256(compressed).hexdigest()
        assert sum(steps) == 0 and source.expected_size >= len(LINES)
        assert source.stored_size == (0 if piped else len(compressed))
        text_of(source)
        assert piped or sum(steps) == len(compressed)


def append(path, text=b"one more\n"):
    with open(path, "ab") as file:
        file.write(text)


@each("pack", PACKERS.values())
def test_the_hash_is_of_what_was_read_before_a_file_grew(pack, file):
    stored = pack(LINES)
    source = file(stored)
    source.hash_while_reading()
    with changing(source.path, lambda: append(source.path), lambda size, number: not size):
        assert text_of(source) == LINES
    assert source.sha256() == hashlib.sha256(stored).hexdigest()


CHANGES = {
    "grows": append,
    "shrinks": lambda path: os.truncate(path, 10),
    "is written anew": lambda path: (path.write_bytes(path.read_bytes()), os.utime(path, (1, 1))),
    "is replaced": lambda path: (shutil.copy2(path, f"{path}2"), os.replace(f"{path}2", path)),
}


@each("how", CHANGES)
@each("pack", PACKERS.values())
def test_a_file_that_changes_while_it_is_read(how, pack, file):
    """Its bytes may be of two files. One that is replaced is another only where it is opened again."""
    source = file(pack(LINES))
    text_of(source)
    with changing(source.path, lambda: CHANGES[how](Path(source.path)), lambda *read: True):
        if how == "is replaced":
            text_of(source)
        error = error_of(InputError, text_of, source)
    assert error == f"{source.path}: the file changed while it was read. Run this again when it is complete"


@each("why", ["", "damaged"])
def test_a_file_that_changes_while_pyarrow_reads_it(why, file):
    """What is said of such a file may be an effect of that."""
    source = file(LINES)
    with pytest.raises(InputError, match="the file changed while it was read"), source.seekable() as stream:
        append(stream.name)
        if why:
            raise ValueError(why)
    raises(InputError, "the file changed while it was read", source.sha256)


def test_what_another_brings_through_a_fifo_is_not_read(tmp_path):
    path = tmp_path / "fifo"
    os.mkfifo(path)

    def bring(text):
        thread = threading.Thread(target=path.write_bytes, args=(text,))
        thread.start()
        return thread

    first, source = bring(LINES), Source(path)
    source.hash_while_reading()
    assert text_of(source) == LINES
    first.join()
    second = bring(b"more\n")
    second.join()
    assert text_of(source) == LINES and source.sha256() == hashlib.sha256(LINES).hexdigest()


@each("name", COMPRESSED)
def test_archives(name, file):
    pack = PACKERS[name]
    for called in ("a.run", "a.gz", "a.xz"):
        assert text_of(file(pack(LINES), called), 100) == LINES
    assert text_of(file(pack(LINES) + pack(b"x\n") + pack(LINES))) == LINES + b"x\n" + LINES
    assert text_of(file(pack(b""))) == b""
    stored = pack(LINES)
    middle = len(stored) // 2
    flipped = bytes(byte ^ 0xFF for byte in stored[middle : middle + 8])
    cuts = [stored[: max(6, int(0.002 * len(stored)))], stored[:middle], stored[:-9], stored[:-1]]
    in_name_only = stored[:6] + b"\xff" * 100
    for damaged in (*cuts, stored[:middle] + flipped + stored[middle + 8 :], in_name_only):
        source = file(damaged)
        raises(InputError, f"^{source.path}: .*archive is damaged or incomplete", text_of, source)


@each("pack", PACKERS.values())
def test_a_disk_that_fails_is_not_a_damaged_archive(pack, file, monkeypatch):
    source = file(pack(random.Random(1).randbytes(1 << 17).replace(b"\0", b" ")))
    plain, calls = sources._Stored.readinto, []

    def fail(self, buffer):
        calls.append(len(buffer))
        if len(calls) > 1:
            raise OSError(5, "Input/output error")
        return plain(self, buffer)

    monkeypatch.setattr(sources._Stored, "readinto", fail)
    raises(InputError, r"the file cannot be read \(Input/output error\)", text_of, source)


@each("pack", [bz2.compress, lzma.compress])
def test_what_follows_a_stream_is_another_or_an_error(tmp_path, pack):
    """The standard library's files take a damaged second stream for the end, and say nothing."""
    path = tmp_path / "compressed"
    path.write_bytes(pack(b"one\n") + pack(b"two\n"))
    assert text_of(Source(path)) == b"one\ntwo\n"
    for between, behind in ((b"X", b""), (b"", b"XXXX"), (b"XXXX", b"")):
        path.write_bytes(pack(b"one\n") + between + pack(b"two\n") + behind)
        raises(InputError, "the archive is damaged", text_of, Source(path))
    for size in (8, 1 << 18):  # xz streams may be padded
        path.write_bytes(lzma.compress(b"one\n") + bytes(size) + lzma.compress(b"two\n") + bytes(4))
        assert text_of(Source(path)) == b"one\ntwo\n"


def test_a_folder_of_beir_is_its_judgments(tmp_path):
    folder = tmp_path / "qrels"
    folder.mkdir()

    assert error_of(InputError, Source, tmp_path) == f"{tmp_path}: its folder qrels has no files"
    (folder / "dev.tsv").touch()
    assert Source(tmp_path).name == str(folder / "dev.tsv")
    (folder / "train.tsv").touch()
    both = f"several files of judgments: {folder / 'dev.tsv'}, {folder / 'train.tsv'}. Give one of them"
    assert error_of(InputError, Source, tmp_path) == f"{tmp_path}: {both}"
    (folder / "test.tsv").touch()
    assert Source(tmp_path).name == str(folder / "test.tsv")


@each("pack", PACKERS.values())
def test_non_blocking_input_is_waited_for(pack, monkeypatch):
    """What it has not brought yet is not its end: not for those who read on, nor those who read again."""
    compressed = pack(LINES)
    reader, writer = os.pipe()
    os.set_blocking(reader, False)

    def write():
        """A byte, and after a while a part of the text at a time."""
        with os.fdopen(writer, "wb", 0) as file:
            for start, end in ((0, 1), (1, 3), (3, len(compressed) // 2), (len(compressed) // 2, None)):
                file.write(compressed[start:end])
                time.sleep(0.01)

    thread = threading.Thread(target=write)
    with os.fdopen(reader) as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        thread.start()
        source = Source("-")
        check_blocks(source, 1 << 10, LINES)
        check_blocks(source, 1 << 14, LINES)
        assert source.sha256() == hashlib.sha256(compressed).hexdigest()
        thread.join()


def test_temporary_files(monkeypatch):
    text = random.Random(1).randbytes(9 << 20).replace(b"\n", b" ").replace(b"\0", b" ") + b"\n"
    with pipe(text) as path:  # larger than what is kept in memory
        source = Source(path)
        assert text_of(source) == text_of(source) == text
    monkeypatch.setattr(sources, "_IN_MEMORY", 1 << 12)
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(tempfile, "_candidate_tempdir_list", lambda: ["/nowhere"])
    with pipe(LINES) as path:
        assert error_of(InputError, text_of, Source(path)) == (
            f"{path}: a pipe or an unsorted run needs a temporary file (No usable temporary directory found in "
            "['/nowhere']). Set TMPDIR to a directory that can be written and has room"
        )


@each("pack", PACKERS.values())
def test_no_room_in_the_temporary_directory(pack, monkeypatch):
    """It is neither the pipe nor the archive that is wrong."""
    monkeypatch.setattr(tempfile, "tempdir", "/somewhere")

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tempfile.SpooledTemporaryFile, "write", fail)
    with pipe(pack(LINES)) as path:
        assert error_of(InputError, text_of, Source(path)) == (
            f"{path}: the temporary file in /somewhere, for a pipe or an unsorted run, cannot be written "
            "(No space left on device). Set TMPDIR to a directory that can be written and has room"
        )


def test_equal_data_are_equal_files_whenever_they_are_compressed(tmp_path, monkeypatch):
    for ending in (".gz", ".bz2", ".xz"):
        for day in (0, 1):
            monkeypatch.setattr(time, "time", lambda day=day: 86400.0 * day)
            with open(tmp_path / str(day), "wb") as sink, sources.compressed(sink, f"x{ending}") as file:
                file.write(LINES)
        assert (tmp_path / "0").read_bytes() == (tmp_path / "1").read_bytes(), ending


def test_standard_input(file, monkeypatch):
    source = file(LINES)
    with open(source.path, "rb") as opened:
        monkeypatch.setattr(sys, "stdin", opened)
        stdin = Source("-")
        assert stdin.name == "<stdin>"
        assert text_of(stdin) == text_of(stdin) == LINES
        assert stdin.stored_size == len(LINES)
    assert stdin.stored_size == 0
    with pipe(LINES) as path, open(path, "rb") as opened:  # a pipe stays open
        monkeypatch.setattr(sys, "stdin", opened)
        stdin = Source("-")
        assert text_of(stdin) == LINES
        del stdin
        gc.collect()
        assert opened.read() == b""
    monkeypatch.setattr(sys, "stdin", None)
    raises(InputError, "^<stdin>: the file cannot be read .standard input is closed", text_of, Source("-"))
    assert Source("-").stored_size == 0

"""Pipes and standard input: read again, slow, non-blocking, larger than memory."""

import gc
import hashlib
import os
import random
import sys
import tempfile
import threading
import time
from contextlib import contextmanager

import pytest
from helpers import each, raises
from plain import pipe

from gradeval.errors import InputError
from gradeval.formats import sources
from gradeval.formats.sources import Source

from .stored import LINES, PACKERS, check_blocks, text_of


@each("pack", PACKERS.values())
def test_pipe(pack):
    """A pipe can be read from its beginning as often as a file, also after a part of it."""
    text = LINES * 10
    compressed = pack(text)  # once: gzip writes the time into it
    with pipe(compressed) as path:
        source = Source(path)
        next(source.blocks(1 << 10))
        check_blocks(source, 1 << 12, text)
        check_blocks(source, 1 << 14, text)
        assert source.sha256() == hashlib.sha256(compressed).hexdigest()
        assert source.stored_size == 0
        assert source.expected_size >= len(text)


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


@each("pack", PACKERS.values())
def test_non_blocking_input_is_waited_for(pack, monkeypatch):
    """What it has not brought yet is not its end: not for those who read on, nor those who read again."""
    compressed = pack(LINES)
    with slow_input(compressed, monkeypatch):
        source = Source("-")
        check_blocks(source, 1 << 10, LINES)
        check_blocks(source, 1 << 14, LINES)
        assert source.sha256() == hashlib.sha256(compressed).hexdigest()
    with slow_input(compressed, monkeypatch):
        assert Source("-").sha256() == hashlib.sha256(compressed).hexdigest()


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


@each("pack", PACKERS.values())
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


def test_pipe_larger_than_what_is_kept_in_memory():
    text = random.Random(1).randbytes(9 << 20).replace(b"\n", b" ").replace(b"\0", b" ") + b"\n"
    with pipe(text) as path:
        source = Source(path)
        assert text_of(source) == text
        assert text_of(source) == text


def test_standard_input(file, monkeypatch):
    source = file(LINES)
    with open(source.path, "rb") as opened:
        monkeypatch.setattr(sys, "stdin", opened)
        stdin = Source("-")
        assert stdin.name == "<stdin>"
        assert text_of(stdin) == text_of(stdin) == LINES
        assert stdin.stored_size == len(LINES)
    assert stdin.stored_size == 0


def test_standard_input_that_is_closed(monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    raises(InputError, r"^<stdin>: the file cannot be read .standard input is closed", text_of, Source("-"))
    assert Source("-").stored_size == 0


def test_standard_input_from_a_pipe_stays_open(monkeypatch):
    with pipe(LINES) as path, open(path, "rb") as opened:
        monkeypatch.setattr(sys, "stdin", opened)
        stdin = Source("-")
        assert text_of(stdin) == LINES
        del stdin
        gc.collect()
        assert opened.read() == b""

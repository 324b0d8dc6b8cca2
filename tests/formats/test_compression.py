"""gzip, bzip2, xz and zstd files, whole and damaged."""

from __future__ import annotations

import bz2
import lzma
import random

import pytest
from helpers import each

from gradeval.errors import InputError
from gradeval.formats import sources
from gradeval.formats.sources import Source

from .stored import COMPRESSED, LINES, PACKERS, text_of


@pytest.mark.parametrize("pack", PACKERS.values(), ids=PACKERS)
def test_the_compression_is_detected(pack, file):
    for name in ("a.run", "a.gz", "a.xz"):
        source = file(pack(LINES), name)
        assert text_of(source) == LINES
        assert text_of(source, 100) == LINES


@pytest.mark.parametrize("name", COMPRESSED)
def test_archives_of_several_parts(name, file):
    pack = PACKERS[name]
    assert text_of(file(pack(LINES) + pack(b"x\n") + pack(LINES))) == LINES + b"x\n" + LINES


@each("name", COMPRESSED)
@each("kept", [0.002, 0.5, -9, -1])
def test_truncated_archives(name, kept, file):
    compressed = PACKERS[name](LINES)
    source = file(compressed[: max(6, int(kept * len(compressed))) if kept > 0 else kept])
    with pytest.raises(InputError, match="archive is damaged or incomplete") as caught:
        text_of(source)
    assert str(caught.value).startswith(source.path + ": ")


@pytest.mark.parametrize("name", COMPRESSED)
def test_corrupt_archives(name, file):
    compressed = bytearray(PACKERS[name](LINES))
    compressed[len(compressed) // 2 : len(compressed) // 2 + 8] = bytes(
        b ^ 0xFF for b in compressed[len(compressed) // 2 :][:8]
    )
    with pytest.raises(InputError, match="archive is damaged or incomplete"):
        text_of(file(bytes(compressed)))


@pytest.mark.parametrize("name", COMPRESSED)
def test_archives_in_name_only(name, file):
    """The first bytes of an archive, and then no archive."""
    with pytest.raises(InputError, match="archive is damaged or incomplete"):
        text_of(file(PACKERS[name](LINES)[:6] + b"\xff" * 100))


@pytest.mark.parametrize("name", COMPRESSED)
def test_compressed_nothing_is_empty(name, file):
    assert text_of(file(PACKERS[name](b""))) == b""


def test_zip(file):
    with pytest.raises(InputError, match=r"zip archive\. Extract it first"):
        text_of(file(b"PK\x03\x04 and so on"))


def test_zstd_without_a_reader(file, monkeypatch):
    monkeypatch.setattr(sources, "import_module", lambda name: (_ for _ in ()).throw(ImportError(name)))
    with pytest.raises(InputError, match=r"zstd support is not installed\. Run 'pip install backports\.zstd'"):
        text_of(file(b"\x28\xb5\x2f\xfd..."))


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


@pytest.mark.parametrize("pack", [bz2.compress, lzma.compress])
def test_what_follows_a_stream_is_another_or_an_error(tmp_path, pack):
    """The standard library's files take a damaged second stream for the end, and say nothing."""
    path = tmp_path / "compressed"
    path.write_bytes(pack(b"one\n") + pack(b"two\n"))
    assert text_of(Source(path)) == b"one\ntwo\n"
    for between, behind in ((b"X", b""), (b"", b"XXXX"), (b"XXXX", b"")):
        path.write_bytes(pack(b"one\n") + between + pack(b"two\n") + behind)
        with pytest.raises(InputError, match="the archive is damaged"):
            text_of(Source(path))


def test_xz_streams_may_be_padded(tmp_path):
    path = tmp_path / "compressed.xz"
    path.write_bytes(lzma.compress(b"one\n") + bytes(8) + lzma.compress(b"two\n") + bytes(4))
    assert text_of(Source(path)) == b"one\ntwo\n"
    path.write_bytes(lzma.compress(b"one\n") + bytes(1 << 18) + lzma.compress(b"two\n"))
    assert text_of(Source(path)) == b"one\ntwo\n"

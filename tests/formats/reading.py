"""Files as their readers give them, in small blocks; text in each of the ways a file can be compressed."""

import bz2
import gzip
import lzma
import sys

import numpy as np
import pytest
from helpers import error_of
from plain import Cut

from gradeval.errors import GradevalError
from gradeval.formats.detect import kind_of
from gradeval.formats.diagnostics import Problems
from gradeval.formats.format import format_of
from gradeval.options import Options


class Small(Cut):
    def chunks(self, size=0):
        return super().chunks(size or self.size)


def rows_of(columns):
    """(query, document, number) of each row, with ids as bytes."""
    queries = columns.queries.take(np.repeat(np.arange(len(columns.queries)), np.diff(columns.bounds)))
    return list(zip(queries.tolist(), columns.documents.tolist(), columns.value.tolist(), strict=True))


def read(source, number="score", **options):
    """(query, document, number) of each row, and the 0-based line of each. Raises the errors of the file."""
    chosen = Options(**options)
    table = format_of(kind_of(source, number, chosen)).read(source, number, chosen)
    problems = Problems(source.name)
    rows, lines = [], []
    for before, part in problems.until_enough(map(table.columns, table.blocks())):
        rows += [(*(id.decode("utf-8", "surrogateescape") for id in ids), n) for *ids, n in rows_of(part)]
        lines += (part.line + before).tolist()
    problems.check()
    return rows, lines


def errors_of(source, number="score", **options):
    error = error_of(GradevalError, read, source, number, **options)
    return [line.removeprefix(source.name).removeprefix(":") for line in error.splitlines()]


def pack_zstd(text):
    module = "backports.zstd" if sys.version_info < (3, 14) else "compression.zstd"
    return pytest.importorskip(module).compress(text)


PACKERS = {"plain": bytes, "gzip": gzip.compress, "bzip2": bz2.compress, "xz": lzma.compress, "zstd": pack_zstd}
COMPRESSED = [name for name in PACKERS if name != "plain"]

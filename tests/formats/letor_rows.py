"""LETOR files as lists of rows, and their errors."""

from __future__ import annotations

import pytest
from plain import Cut

from gradeval.errors import InputError, InputErrors
from gradeval.formats.letor import read_letor

SIZES = [1, 40, 1 << 20]


def letor_of(path, text, features=(), size=1 << 20, groups=None, jobs=1):
    path.write_bytes(text)
    return read_letor(Cut(path, size), set(features), groups, jobs)


def rows_of(path, text, features=(), size=1 << 20, groups=None, jobs=1):
    """(query, document, label, line, *features) of each data line."""
    read = letor_of(path, text, features, size, groups, jobs)
    queries = read.queries.tolist()
    assert len(set(queries)) == len(queries)
    return list(
        zip(
            [queries[q] for q in read.query], read.documents.tolist(), read.label.tolist(), read.line.tolist(),
            *(read.feature(feature).tolist() for feature in features), strict=True,
        )
    )  # fmt: skip


def errors_of(path, text, features=(), size=1 << 20, groups=None):
    path.write_bytes(text)
    with pytest.raises((InputError, InputErrors)) as caught:
        read_letor(Cut(path, size), set(features), groups)
    return [line.removeprefix(f"{path}:") for line in str(caught.value).splitlines()]

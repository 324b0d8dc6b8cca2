"""Qrels and runs of TREC as Python data, and their errors."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from plain import Cut, read_trec_qrels

from gradeval.errors import InputError, InputErrors
from gradeval.formats.trec import run_columns

SIZES = [1, 20, 1 << 20]


def qrels_of(path, text, size=1 << 20, jobs=1):
    """{query: {document: grade}} in the table's order, and its warnings."""
    path.write_bytes(text)
    table = read_trec_qrels(Cut(path, size), jobs)
    assert table.path == str(path)
    documents, grade = table.documents.tolist(), table.grade.tolist()
    bounds = zip(table.offsets[:-1].tolist(), table.offsets[1:].tolist(), strict=True)
    queries = {
        query: dict(zip(documents[a:b], grade[a:b], strict=True))
        for query, (a, b) in zip(table.queries.tolist(), bounds, strict=True)
    }
    return queries, tuple(map(str, table.notices))


def run_of(path, text):
    """The lines of a run, from all its blocks; and what is wrong with it."""
    path.write_bytes(text)
    rows, problems = [], []
    for block in Cut(path).blocks():
        columns = run_columns(block)
        query = np.repeat(np.arange(len(columns.queries)), np.diff(columns.bounds))
        names = columns.queries.tolist()
        assert all(one != other for one, other in pairwise(names))
        rows += zip([names[i] for i in query], columns.documents.tolist(), columns.value.tolist(), strict=True)
        problems += columns.problems.first
    return rows, problems


def errors_of(path, text, size=1 << 20, jobs=1):
    path.write_bytes(text)
    with pytest.raises((InputError, InputErrors)) as caught:
        read_trec_qrels(Cut(path, size), jobs)
    return [line.removeprefix(f"{path}:") for line in str(caught.value).splitlines()]

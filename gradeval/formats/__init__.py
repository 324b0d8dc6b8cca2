"""The file formats: how each is told, and how it is read."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gradeval.formats import trec
from gradeval.formats.problems import Problems
from gradeval.formats.sources import Source
from gradeval.ids import Ids
from gradeval.judgments import Qrels
from gradeval.parallel import ordered_map
from gradeval.ranking import QueryNumbers
from gradeval.reduction import Reduced, no_data, reduce_blocks


def read_trec_qrels(source: Source, jobs: int) -> Qrels:
    problems = Problems(source.name)
    ids, documents, grades, lines, lengths = [], [], [], [], []
    before = 0
    for part in ordered_map(lambda b: (c := trec.qrels_columns(b), c.documents.compact(), c.queries.compact()), source.blocks(), jobs):
        columns, docs, queries = part
        problems.add(columns.problems, before)
        ids.append(queries)
        documents.append(docs)
        grades.append(columns.number)
        lines.append(columns.line + before)
        lengths.append(np.diff(columns.bounds))
        before += columns.lines
    problems.check()
    if not sum(map(len, grades)):
        raise no_data(source.name, before)
    bounds = np.concatenate([[0], np.cumsum(np.concatenate(lengths))])
    return Qrels.of(source.name, Ids.joined(ids), bounds, Ids.joined(documents), np.concatenate(grades), np.concatenate(lines))

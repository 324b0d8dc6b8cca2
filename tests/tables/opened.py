"""Qrels and runs as tables.load opens them, as Python data."""

import numpy as np

from gradeval.arrays.strings import Texts
from gradeval.options import Options
from gradeval.tables.load import open_qrels, open_runs

QRELS = {"1": {"a": 2.0, "b": 0.0}, "2": {"a": 1.0, "é": 1.5}}
RUN = {"2": {"é": 1.0, "x": 2.0}, "1": {"b": 0.5, "a": 0.5}, "3": {"a": 1.0}}


def qrels_of(data, **options):
    """{query: {document: grade}}, in order."""
    table = open_qrels(data, Options(**options)).qrels
    queries, documents, grade = Texts(table.queries), Texts(table.documents), table.grade.tolist()
    bounds = table.offsets.tolist()
    return {
        query: dict(zip(documents[a:b], grade[a:b], strict=True))
        for query, a, b in zip(queries, bounds[:-1], bounds[1:], strict=True)
    }


def ranks_of(run, qrels=QRELS, **options):
    """For each run: its name and {(query, document): (rank, score)} of the judged documents."""
    chosen = Options(**options)
    judged = open_qrels(qrels, chosen)
    table = judged.qrels
    queries, documents = Texts(table.queries), Texts(table.documents)
    result = []
    for one in open_runs(None, run, judged, chosen):
        reduced = one.reduce(table, 1)
        places = enumerate(zip(reduced.rank.tolist(), reduced.score.tolist(), strict=True))
        query = np.repeat(np.arange(len(queries)), np.diff(table.offsets)).tolist()
        found = {(queries[query[row]], documents[row]): at for row, at in places if at[0] != np.inf}
        result.append((one.name or one.short_name, found))
    return result

"""What a worker is given and returns, as Arrow tables; pyarrow is imported by the caller."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from gradeval.arrays.strings import Ids
from gradeval.spark.frames import QRELS
from gradeval.spark.kernel import Bucket, RunValues
from gradeval.spark.rows import DOCUMENT, NUMBER, QUERY, RUN


def tables(pa: Any, batches: Iterable[Any]) -> tuple[Any, Any]:
    """The qrels and the runs of a bucket, from the batches of a partition.

    pa: the module pyarrow. Each table is one chunk, which is read several times as fast as many.
    """
    judged, retrieved = [], []
    for batch in batches:
        if not batch.num_rows:
            continue
        rows = batch.column(batch.schema.get_field_index(RUN)).to_numpy(zero_copy_only=False) == QRELS
        if rows.all():  # as in most batches: a map task writes the rows of one table
            judged.append(batch)
        elif not rows.any():
            retrieved.append(batch)
        else:
            judged.append(batch.filter(pa.array(rows)))
            retrieved.append(batch.filter(pa.array(~rows)))
    qrels, runs = (pa.Table.from_batches(of) if of else pa.table({}) for of in (judged, retrieved))
    if judged:
        qrels = qrels.select([QUERY, DOCUMENT, NUMBER])
    return qrels.combine_chunks(), runs.combine_chunks()


def arrow_table(pa: Any, bucket: Bucket, found: Sequence[RunValues], metrics: int, large: bool) -> Any:
    """The rows of a bucket: its state, and the values of its queries.

    pa: the module pyarrow.
    """
    text, binary = (pa.large_string(), pa.large_binary()) if large else (pa.string(), pa.binary())
    names = ["state", "run", "query", *(f"v{m}" for m in range(metrics))]
    types = [binary, pa.int32(), text, *[pa.float64()] * metrics]
    schema = pa.schema(list(zip(names, types, strict=True)))
    rows = [[pickle.dumps(bucket)], *[[None]] * (metrics + 2)]
    parts = [pa.table([pa.array(of, kind) for of, kind in zip(rows, types, strict=True)], schema=schema)]
    for run, queries, values in found:
        count = len(queries)
        columns = [
            pa.nulls(count, binary),
            pa.array(np.full(count, run, np.int32)),
            text_column(pa, queries).cast(text),
            *(pa.array(row, pa.float64(), mask=np.isnan(row)) for row in values),
        ]
        parts.append(pa.table(columns, schema=schema))
    return pa.concat_tables(parts)


def text_column(pa: Any, ids: Ids) -> Any:
    """A column of ids as Arrow has it."""
    offsets = np.append(0, np.cumsum(ids.length))
    buffers = (pa.py_buffer(of) for of in (offsets, np.ascontiguousarray(ids.text())))
    return pa.LargeStringArray.from_buffers(len(ids), *buffers)

"""What a worker returns: the rows of a bucket as an Arrow table, made without pyarrow being imported here."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradeval.arrays.strings import Ids
from gradeval.spark.kernel import Bucket, RunValues


def arrow_table(pa: Any, bucket: Bucket | None, found: Sequence[RunValues], metrics: int, large: bool) -> Any:
    """The rows of a bucket: its state, if it is given, and the values of its queries.

    pa: the module pyarrow.
    """
    text, binary = (pa.large_string(), pa.large_binary()) if large else (pa.string(), pa.binary())
    names = ["state", "run", "query", *(f"v{m}" for m in range(metrics))]
    types = [binary, pa.int32(), text, *[pa.float64()] * metrics]
    schema = pa.schema(list(zip(names, types, strict=True)))
    parts = []
    if bucket is not None:
        rows = [[pickle.dumps(bucket)], *[[None]] * (metrics + 2)]
        parts.append(
            pa.table([pa.array(of, kind) for of, kind in zip(rows, types, strict=True)], schema=schema)
        )
    for run, queries, values in found:
        count = len(queries)
        columns = [
            pa.nulls(count, binary),
            pa.array(np.full(count, run, np.int32)),
            text_column(pa, queries).cast(text),
            *(pa.array(row, pa.float64(), mask=np.isnan(row)) for row in values),
        ]
        parts.append(pa.table(columns, schema=schema))
    return pa.concat_tables(parts) if parts else schema.empty_table()


def text_column(pa: Any, ids: Ids) -> Any:
    """A column of ids as Arrow has it."""
    offsets = np.append(0, np.cumsum(ids.length))
    buffers = (pa.py_buffer(of) for of in (offsets, np.ascontiguousarray(ids.text())))
    return pa.LargeStringArray.from_buffers(len(ids), *buffers)

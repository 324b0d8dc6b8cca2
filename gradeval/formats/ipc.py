"""Arrow IPC files (Feather) and streams, read a record batch at a time with pyarrow."""

from __future__ import annotations

from typing import Any

from gradeval.formats.columns import Table
from gradeval.formats.parquet import Opened, arrow_table, check_beginning
from gradeval.formats.sources import Source
from gradeval.options import Options

FILE = b"ARROW1\0\0"
STREAM = b"\xff\xff\xff\xff"


def table(source: Source, number: str, options: Options) -> Table:
    return arrow_table(source, number, options, _open, "Arrow")


def _open(arrow: Any, stream: Any) -> Opened:
    check_beginning(stream, (FILE, STREAM), "Arrow")
    is_file = stream.read(len(FILE)) == FILE
    stream.seek(0)
    if is_file:
        file = arrow.ipc.open_file(stream)
        found = (file.get_batch(number) for number in range(file.num_record_batches))
    else:
        file = arrow.ipc.open_stream(stream)
        found = iter(file)
    return file.schema.names, lambda names: (batch.select(names) for batch in found)

"""The same rows in every format of tables."""

import csv
import io
import json

import pytest

Rows = list[tuple[str, str, float]]


def nested(rows):
    found = {}
    for query, document, number in rows:
        found.setdefault(query, {})[document] = number
    return found


def csv_text(rows, names=("query_id", "doc_id", "score"), order=(0, 1, 2), **dialect):
    out = io.StringIO(newline="")
    writer = csv.writer(out, **dialect)
    writer.writerow([names[place] for place in order])
    writer.writerows(
        [(query, document, repr(number))[place] for place in order] for query, document, number in rows
    )
    return out.getvalue().encode("utf-8", "surrogateescape")


def json_text(rows, **layout):
    return json.dumps(nested(rows), **layout).encode("utf-8", "surrogateescape")


def jsonl_text(rows, ascii=True):
    lines = (
        json.dumps({"query_id": query, "doc_id": document, "score": number, "tag": None}, ensure_ascii=ascii)
        for query, document, number in rows
    )
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape")


def arrow_text(rows, kind, size=None):
    pyarrow = pytest.importorskip("pyarrow")
    columns = [list(column) for column in zip(*rows, strict=True)] if rows else [[], [], []]
    table = pyarrow.table(dict(zip(("query_id", "doc_id", "score"), columns, strict=True)))
    sink = io.BytesIO()
    if kind == "parquet":
        from pyarrow import parquet

        parquet.write_table(table, sink, row_group_size=size)
    else:
        open_sink = pyarrow.ipc.new_file if kind == "file" else pyarrow.ipc.new_stream
        with open_sink(sink, table.schema) as writer:
            writer.write_table(table, max_chunksize=size)
    return sink.getvalue()


ROWS: Rows = [
    ("q 1", "d,1", 2.5),
    ("q 1", 'd"2"', -1e-9),
    ("ü\t2", "x\ny", 3.0),
    ("ü\t2", "{", 1e300),
    ("3", "\\", 0.0),
]
WRITERS = {
    "csv": csv_text,
    "csv, all quoted": lambda rows: csv_text(rows, quoting=csv.QUOTE_ALL),
    "csv, ids quoted": lambda rows: csv_text(rows, quoting=csv.QUOTE_NONNUMERIC),
    "csv, unix": lambda rows: csv_text(rows, dialect="unix"),
    "csv, semicolons": lambda rows: csv_text(rows, delimiter=";"),
    "csv, other order": lambda rows: csv_text(rows, ("userID", "itemID", "prediction"), (2, 0, 1)),
    "tsv": lambda rows: csv_text(rows, dialect="excel-tab"),
    "RecBole": lambda rows: csv_text(rows, ("user_id:token", "item_id:token", "score:float"), delimiter="\t"),
    "tsv, BEIR's names in quotes": lambda rows: csv_text(
        rows, ("query-id", "corpus-id", "score"), delimiter="\t", quoting=csv.QUOTE_ALL
    ),
    "json": json_text,
    "json, indented": lambda rows: json_text(rows, indent=2),
    "json, compact": lambda rows: json_text(rows, separators=(",", ":")),
    "json, unicode": lambda rows: json_text(rows, ensure_ascii=False),
    "jsonl": jsonl_text,
    "jsonl, unicode": lambda rows: jsonl_text(rows, False),
}
ARROW = {
    "parquet": lambda rows: arrow_text(rows, "parquet"),
    "parquet, row groups": lambda rows: arrow_text(rows, "parquet", 2),
    "arrow": lambda rows: arrow_text(rows, "file", 2),
    "arrow stream": lambda rows: arrow_text(rows, "stream"),
}

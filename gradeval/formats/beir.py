"""BEIR's TSV with the header 'query-id corpus-id score', whose score is the grade where it is qrels."""

from __future__ import annotations

from gradeval.errors import InputError
from gradeval.formats import csv
from gradeval.formats.columns import Table
from gradeval.formats.sources import Source
from gradeval.options import Options

COLUMNS = ["query-id", "corpus-id", "score"]


def table(source: Source, number: str, options: Options) -> Table:
    for block in source.blocks():
        header = csv.header_of(block.bytes[: block.size], "\t", {})
        if header is None or header.names != COLUMNS:
            what = f"the first line is not {' '.join(COLUMNS)}, separated by tabs"
            raise InputError(source.name, what, line=1, hint="Omit the format, or give csv or tsv")
        break
    return csv.table(source, number, options, "\t")

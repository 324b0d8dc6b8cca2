"""BEIR's TSV with the header 'query-id corpus-id score', whose score is the grade where it is qrels.

Lines are split at tabs only: a quote is part of an id. BEIR's own loader takes those around a field away.
"""

from __future__ import annotations

from gradeval.errors import InputError
from gradeval.formats import csv
from gradeval.formats.columns import Table
from gradeval.formats.sources import Source
from gradeval.options import Options

COLUMNS = ["query-id", "corpus-id", "score"]
_LONGEST = 100  # bytes of a header


def table(source: Source, number: str, options: Options) -> Table:
    for block in source.blocks():
        if not is_header(block.bytes[: min(block.size, _LONGEST)].tobytes()):
            what = f"the first line is not {' '.join(COLUMNS)}, separated by tabs"
            raise InputError(source.name, what, line=1, hint="Omit the format, or give csv or tsv")
        break
    return csv.table(source, number, options, "\t", has_quotes=False)


def is_header(text: bytes) -> bool:
    """Whether a text begins with BEIR's header, without quotes."""
    fields = text.split(b"\n", 1)[0].split(b"\t")
    return [field.strip().decode("latin-1") for field in fields] == COLUMNS

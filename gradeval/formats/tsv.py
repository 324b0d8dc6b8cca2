"""TSV with a header: a file that csv reads, separated by tabs."""

from __future__ import annotations

from gradeval.formats import csv
from gradeval.formats.columns import Table
from gradeval.formats.sources import Source
from gradeval.options import Options


def table(source: Source, number: str, options: Options) -> Table:
    return csv.table(source, number, options, "\t")

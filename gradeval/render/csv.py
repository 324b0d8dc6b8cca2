"""A row for each value: run, query, metric and value, separated by commas and quoted where needed."""

from __future__ import annotations

import csv
from functools import partial

from gradeval.render.layout import RenderOptions, Row, blocks, texts_of, with_ends
from gradeval.results import Column, Results

_FORMULA = tuple("=+-@＝＋－＠\t\r\n")  # a spreadsheet takes a text for a formula if it begins so


def render(results: Results, options: RenderOptions) -> str:
    lines = _Lines()
    writer = csv.writer(lines)  # whose own line ends have it quote a CR too
    word = _plain if options.spreadsheet else str
    write = partial(texts_of, digits=options.digits, word=word)
    writer.writerow(["run", "query", "metric", "value", *(("low", "high") if results.has_tie_range else ())])

    def cells(column: Column) -> list[Row]:
        return with_ends(column, write) if results.has_tie_range else list(zip(write(column), strict=True))

    for block in blocks(results, options, cells):
        run = word(block.run.name)
        names = [word(str(spec)) for spec in block.specs]
        for query, row in zip(map(word, block.queries), block.rows, strict=False):
            writer.writerows((run, query, name, *cell) for name, cell in zip(names, row, strict=True))
    return "".join(lines)


def _plain(text: str) -> str:
    """The text with a quote before it where a spreadsheet would calculate it."""
    return "'" + text if text.startswith(_FORMULA) else text


class _Lines(list[str]):
    """The rows that a writer writes, one behind the other, each with the line end of all our formats."""

    def write(self, row: str) -> None:
        self.append(row.removesuffix("\r\n") + "\n")

"""A row for each value: run, query, metric and value, separated by commas and quoted where needed."""

from __future__ import annotations

import csv
from functools import partial

from gradeval.render.layout import RenderOptions, Row, blocks, texts_of, with_ends
from gradeval.results import Column, Results

_FORMULA = tuple("=+-@＝＋－＠\t\r\n")  # text that begins so is a formula in spreadsheets


def render(results: Results, options: RenderOptions) -> str:
    lines = Lines()
    writer = csv.writer(lines)  # with its own line ends it quotes a CR too
    escape = not_a_formula if options.spreadsheet else str
    write = partial(texts_of, digits=options.digits, escape=escape)
    writer.writerow(["run", "query", "metric", "value", *(("low", "high") if results.has_tie_range else ())])

    def cells(column: Column) -> list[Row]:
        return with_ends(column, write) if results.has_tie_range else list(zip(write(column), strict=True))

    for block in blocks(results, options, cells):
        run = escape(block.run.name)
        names = [escape(str(spec)) for spec in block.specs]
        for query, row in zip(map(escape, block.queries), block.rows, strict=False):
            writer.writerows((run, query, name, *cell) for name, cell in zip(names, row, strict=True))
    return "".join(lines)


def not_a_formula(text: str) -> str:
    """The text, after a single quote if a spreadsheet would read it as a formula."""
    return "'" + text if text.startswith(_FORMULA) else text


class Lines(list[str]):
    """The rows of a writer, each with the line end of all formats."""

    def write(self, row: str) -> None:
        self.append(row.removesuffix("\r\n") + "\n")

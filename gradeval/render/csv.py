"""A row for each value: run, query, metric and value, separated by commas and quoted where needed."""

from __future__ import annotations

import csv
from functools import partial

from gradeval.render.layout import RenderOptions, blocks, texts_of
from gradeval.results import Results

_FORMULA = tuple("=+-@＝＋－＠\t\r\n")  # a spreadsheet takes a text for a formula if it begins so


def render(results: Results, options: RenderOptions) -> str:
    lines = _Lines()
    writer = csv.writer(lines)  # whose own line ends have it quote a CR too
    writer.writerow(["run", "query", "metric", "value"])
    word = _plain if options.spreadsheet else str
    for block in blocks(results, options, partial(texts_of, digits=options.digits, word=word)):
        run = word(block.run.name)
        names = [word(str(spec)) for spec in block.specs]
        for query, row in zip(map(word, block.queries), block.rows, strict=False):
            writer.writerows((run, query, name, text) for name, text in zip(names, row, strict=True))
    return "".join(lines)


def _plain(text: str) -> str:
    """The text with a quote before it where a spreadsheet would calculate it."""
    return "'" + text if text.startswith(_FORMULA) else text


class _Lines(list[str]):
    """The rows that a writer writes, one behind the other, each with the line end of all our formats."""

    def write(self, row: str) -> None:
        self.append(row.removesuffix("\r\n") + "\n")

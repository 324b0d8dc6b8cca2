"""A row for each value: run, query, metric and value, separated by commas and quoted where needed."""

from __future__ import annotations

import re
from functools import partial

from gradeval.render.layout import RenderOptions, blocks, rows_of, side_by_side, texts_of, with_ends
from gradeval.results import Results
from gradeval.run_result import Column

_SPECIAL = re.compile(r'[,"\r\n]')
_FORMULA = tuple("=+-@＝＋－＠\t\r\n")  # text that begins so is a formula in spreadsheets


def render(results: Results, options: RenderOptions) -> str:
    escape = not_a_formula if options.spreadsheet else str
    write = partial(texts_of, digits=options.digits, escape=escape)
    if options.wide:
        rows = [["query", "metric", *(escape(run.name) for run in results.runs)]]
        for spec, by_query in side_by_side(results, options, write):
            rows += ([escape(query), escape(str(spec)), *texts] for query, texts in by_query)
        return "".join(",".join(map(_quoted, row)) + "\n" for row in rows)
    has_ends = results.has_tie_range
    lines = ["run,query,metric,value" + (",low,high\n" if has_ends else "\n")]

    def cells(column: Column) -> list[str]:
        rows = with_ends(column, write) if has_ends else zip(write(column), strict=True)
        is_plain = column.texts is None  # a number needs no quotes
        return list(map(",".join, rows)) if is_plain else [",".join(map(_quoted, row)) for row in rows]

    for block in blocks(results, options, cells):
        run = _quoted(escape(block.run.name))
        starts = [f"{run},{_quoted(escape(query))}," for query in block.queries]
        lines.append(rows_of(block, starts, lambda spec: _quoted(escape(str(spec))) + ",", "\n"))
    return "".join(lines)


def _quoted(text: str) -> str:
    """The text as a field, in quotes where it needs them."""
    return '"' + text.replace('"', '""') + '"' if _SPECIAL.search(text) else text


def not_a_formula(text: str) -> str:
    """The text, after a single quote if a spreadsheet would read it as a formula."""
    return "'" + text if text.startswith(_FORMULA) else text


class Lines(list[str]):
    """The rows of a writer, each with the line end of all formats."""

    def write(self, row: str) -> None:
        self.append(row.removesuffix("\r\n") + "\n")

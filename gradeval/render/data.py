"""Rows for programs: TSV with escapes for tabs and line ends, CSV with quotes, trec_eval's columns, and JSON.

JSON is one object, or an object on each line: ASCII, exact numbers, null for what is undefined.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

from gradeval.render.document import RenderOptions, Rows, Text

_SPECIAL = re.compile(r'[,"\r\n]')
_FORMULA = tuple("=+-@＝＋－＠\t\r\n")  # text that begins so is a formula in spreadsheets
_BREAKS = str.maketrans({"\t": r"\t", "\n": r"\n", "\r": r"\r"})


def write_tsv(tables: Iterable[Rows], how: RenderOptions) -> str:
    """A line for each row; an empty line between tables."""
    return "\n".join(_lines(table, how, "\t", one_field, str) for table in tables)


def write_trec(tables: Iterable[Rows], how: RenderOptions) -> str:
    """trec_eval's columns, which have no head: for each run its queries, then the summary."""
    return "".join(_lines(table, how, "\t", str, one_field) for table in tables)


def write_csv(tables: Iterable[Rows], how: RenderOptions) -> str:
    name = not_a_formula if how.spreadsheet else str
    return "\n".join(_lines(table, how, ",", _quoted, name) for table in tables)


def _lines(
    table: Rows, how: RenderOptions, separator: str, field: Callable[[str], str], name: Callable[[str], str]
) -> str:
    """The head, if there is one, and the rows. field: writes a text; name: what is done to names before."""

    def written(column: Text, is_name: bool) -> Text:
        if is_name and name is not str:
            column = name(column) if isinstance(column, str) else list(map(name, column))
        if isinstance(column, str):
            return field(column)
        together = "".join(column)
        return column if field(together) == together else list(map(field, column))

    head = [field(name(column)) for column in table.head]
    text = [separator.join(head) + "\n"] if head and how.header else []
    for part in table.parts:
        rows = [[written(column, c in table.names) for c, column in enumerate(row)] for row in part]
        starts = ["", *[separator] * (max(map(len, rows), default=1) - 1)]
        text.append(interleaved(rows, starts, "\n"))
    return "".join(text)


def one_field(text: str) -> str:
    """A name with escapes for tabs and line ends, which would end its field or line."""
    return text.translate(_BREAKS)


def _quoted(text: str) -> str:
    """The text as a field, in quotes where it needs them."""
    return '"' + text.replace('"', '""') + '"' if _SPECIAL.search(text) else text


def not_a_formula(text: str) -> str:
    """The text, after a single quote if a spreadsheet would read it as a formula."""
    return "'" + text if text.startswith(_FORMULA) else text


class Values:
    """A large object in the content of a document: of each query an object with the value of each metric.

    json.dumps would take several times as long. texts: of each metric, the values as JSON.
    """

    def __init__(self, queries: list[str], metrics: list[str], texts: list[list[str]]) -> None:
        self.queries, self.metrics, self.texts = queries, metrics, texts

    def written(self, indent: str) -> str:
        """As json.dumps writes it with indent=2, below an entry with this indent."""
        if not self.queries or not self.metrics:
            return "{}"
        import json
        from json.encoder import encode_basestring_ascii

        parts: list[Text] = [f"\n{indent}  ", list(map(encode_basestring_ascii, self.queries)), ": {"]
        between = ""
        for metric, texts in zip(self.metrics, self.texts, strict=True):
            parts += [f"{between}\n{indent}    {json.dumps(metric)}: ", texts]
            between = ","
        parts.append(f"\n{indent}  }},")
        return "{" + joined(parts).removesuffix(",") + f"\n{indent}}}"


def write_json(content: Mapping[str, Any], how: RenderOptions) -> str:
    import json  # which takes 1 % of a small command

    large: list[Values] = []

    def default(value: Any) -> str:
        if not isinstance(value, Values):
            return str(value)
        large.append(value)
        return _MARK

    text = json.dumps(content, indent=2, default=default, allow_nan=False) + "\n"
    if not large:
        return text
    values = iter(large)
    return re.sub(_MARKED, lambda match: f"{match[1]}{match[2]}{next(values).written(match[1])}", text)


_MARK = "values of queries"
_MARKED = rf'(?m)^( *)("[a-z_]+": )"{_MARK}"(?=,?$)'


def write_jsonl(records: Iterable[Mapping[str, Any]] | Rows, how: RenderOptions) -> str:
    import json
    from json.encoder import encode_basestring_ascii

    if not isinstance(records, Rows):
        return "".join(json.dumps(record, default=str, allow_nan=False) + "\n" for record in records)
    starts = [f"{', ' if c else '{'}{encode_basestring_ascii(name)}: " for c, name in enumerate(records.head)]
    return "".join(interleaved(part, starts, "}\n") for part in records.parts)


def joined(columns: Sequence[Text]) -> str:
    """The text of rows from the texts of each column, of which there is one for each row."""
    count = next((len(column) for column in columns if not isinstance(column, str)), 1)
    pieces: list[str] = [""] * (count * len(columns))
    for index, column in enumerate(columns):
        pieces[index :: len(columns)] = [column] * count if isinstance(column, str) else column
    return "".join(pieces)


def interleaved(part: Sequence[Sequence[Text]], starts: Sequence[str], end: str) -> str:
    """The rows of a part. starts: before each column; end: of a row."""
    return joined([text for row in part for text in (*chain(*zip(starts, row, strict=False)), end)])

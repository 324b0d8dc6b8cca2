"""JSON: one object, or an object on each line. ASCII, exact numbers, null for what is undefined."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from json.encoder import encode_basestring_ascii
from typing import Any

from gradeval.render.document import RenderOptions, Rows, Text, interleaved, joined


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
        parts: list[Text] = [f"\n{indent}  ", list(map(encode_basestring_ascii, self.queries)), ": {"]
        between = ""
        for metric, texts in zip(self.metrics, self.texts, strict=True):
            parts += [f"{between}\n{indent}    {json.dumps(metric)}: ", texts]
            between = ","
        parts.append(f"\n{indent}  }},")
        return "{" + joined(parts, len(self.queries)).removesuffix(",") + f"\n{indent}}}"


def write_json(content: Mapping[str, Any], how: RenderOptions) -> str:
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
    return _MARKED.sub(lambda match: f"{match[1]}{match[2]}{next(values).written(match[1])}", text)


_MARK = "values of queries"
_MARKED = re.compile(rf'^( *)("[a-z_]+": )"{_MARK}"(?=,?$)', re.MULTILINE)


def write_jsonl(records: Iterable[Mapping[str, Any]] | Rows, how: RenderOptions) -> str:
    if not isinstance(records, Rows):
        return "".join(json.dumps(record, default=str, allow_nan=False) + "\n" for record in records)
    starts = [f'{", " if c else "{"}"{name}": ' for c, name in enumerate(records.head)]
    return "".join(interleaved(part, starts, "}\n") for part in records.parts)

"""The documents that are removed from runs and judgments."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from gradeval.arrays.strings import IdPairs, Ids
from gradeval.formats.sources import Source
from gradeval.options import Options


def with_excluded(options: Options) -> Options:
    """The options, with the excluded documents read where they are those of a file. Raises InputError(s)."""
    if not isinstance(options.exclude, str):
        return options
    from gradeval.formats.json import parse_json  # imported only when needed
    from gradeval.formats.lines import read_documents

    return options.replace(exclude=read_documents(Source(options.exclude), parse_json))


def excluded(options: Options) -> IdPairs | None:
    """The pairs of a query and a document that are removed, None without any. Raises InputError(s)."""
    pairs = with_excluded(options).exclude
    return _indexed(pairs) if isinstance(pairs, tuple) else None


@lru_cache(2)
def _indexed(pairs: Sequence[tuple[str, str]]) -> IdPairs:
    columns = zip(*pairs, strict=True)
    query, document = (Ids.of([text.encode("utf-8", "surrogateescape") for text in ids]) for ids in columns)
    return IdPairs(query, document)

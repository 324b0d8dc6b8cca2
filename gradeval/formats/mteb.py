"""MTEB's predictions: a JSON object of subsets, each with splits, each an object of queries."""

from __future__ import annotations

import json

import numpy as np

from gradeval.arrays import Bytes, Ints
from gradeval.errors import InputError, named
from gradeval.formats.json_text import OPEN, braces, string_quotes
from gradeval.formats.sources import Source

MTEB_KEY = "mteb_model_meta"


def chosen_split(source: Source, split: str | None) -> int:
    """The offset of the queries of a split in MTEB's file. Raises InputError where a choice is needed."""
    splits = _splits(source)
    names = [f"{subset}/{name}" for subset, name in splits]
    wanted = [
        offset
        for (subset, name), offset in splits.items()
        if split is None or split in (subset, name, f"{subset}/{name}")
    ]
    if len(wanted) == 1:
        return wanted[0]
    has = f"the file has {', '.join(map(named, names))}" if names else "the file has none"
    if wanted:
        raise InputError(source.name, f"several splits: {has}", hint="Choose one with --split SUBSET/SPLIT")
    raise InputError(source.name, f"no split {named(split)}: {has}" if split else f"no predictions: {has}")


def _splits(source: Source) -> dict[tuple[str, str], int]:
    """The offset of the members of each (subset, split)."""
    found: dict[tuple[str, str], int] = {}
    pending, base, depth, subset = np.empty(0, np.uint8), 0, 0, ""
    for chunk in source.chunks():
        text = np.concatenate([pending, chunk])
        quotes = string_quotes(text)
        at, depths = braces(text, quotes, depth)
        opens = (depths <= 3) & (depths >= 2) & (text[at] == OPEN)
        for place, level in zip(at[opens].tolist(), depths[opens].tolist(), strict=True):
            key = _key_before(text, quotes, place)
            if level == 2:
                subset = key
            elif subset != MTEB_KEY:
                found[subset, key] = base + place + 1
        if len(at):
            depth, kept = int(depths[-1]), int(at[-1]) + 1
            base += kept
            text = text[kept:].copy()
        pending = text
    return found


def _key_before(text: Bytes, quotes: Ints, place: int) -> str:
    """The last string before a place."""
    at = int(np.searchsorted(quotes, place))
    if at < 2:
        return ""
    key = text[int(quotes[at - 2]) : int(quotes[at - 1]) + 1].tobytes().decode("utf-8", "surrogateescape")
    try:
        return str(json.loads(key))
    except ValueError:
        return key

"""MTEB's predictions: a JSON object of subsets, each with splits, each an object of queries.

The whole file is checked before the chosen split is read, so that one that is cut off is never evaluated.
"""

from __future__ import annotations

import json
import re

import numpy as np

from gradeval.arrays import Bytes, Ints
from gradeval.errors import InputError, named
from gradeval.formats.json_text import MORE, NOT_CLOSED, OPEN, SPACE, braces, string_quotes
from gradeval.formats.scan import LF
from gradeval.formats.sources import Source

MTEB_KEY = b"mteb_model_meta"
_KEY = rb'[ \t\r\n]*\{[ \t\r\n]*"((?:[^"\\]|\\.)*)"[ \t\r\n]*:'
_FIRST_KEY, _NESTED = re.compile(_KEY, re.DOTALL), re.compile(_KEY * 2 + rb"[ \t\r\n]*\{", re.DOTALL)


def is_predictions(source: Source, beginning: bytes) -> bool:
    """Whether a JSON file is one of MTEB: it has the key of the model, which MTEB writes first."""
    first = _FIRST_KEY.match(beginning)
    if first is not None and first[1] == MTEB_KEY:
        return True
    return _NESTED.match(beginning) is not None and MTEB_KEY.decode() in _subsets(source)[0]


def not_qrels(source: Source) -> InputError:
    """The error of a predictions file that is given as qrels. Raises that of one that is cut off."""
    _subsets(source)
    return InputError(source.name, "this is a predictions file of MTEB, not qrels")


def chosen_split(source: Source, split: str | None) -> int:
    """The offset of the queries of a split in MTEB's file. Raises InputError where a choice is needed."""
    _, splits = _subsets(source)
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


def _subsets(source: Source) -> tuple[set[str], dict[tuple[str, str], int]]:
    """The keys of the file, and the offset of the members of each (subset, split). Raises InputError where the
    object is not closed, or is not the only one.
    """
    keys: set[str] = set()
    found: dict[tuple[str, str], int] = {}
    pending, base, depth, subset = np.empty(0, np.uint8), 0, 0, ""
    lines, is_closed = 0, False
    for chunk in source.chunks():
        lines += int(np.count_nonzero(chunk == LF))
        text = np.concatenate([pending, chunk])
        quotes = string_quotes(text)
        at, depths = braces(text, quotes, depth)
        if len(at) and (is_closed or (depths[:-1] < 1).any()):
            raise InputError(source.name, MORE)
        opens = (depths <= 3) & (depths >= 2) & (text[at] == OPEN)
        for place, level in zip(at[opens].tolist(), depths[opens].tolist(), strict=True):
            key = _key_before(text, quotes, place)
            if level == 2:
                keys.add(key)
                subset = key
            elif subset != MTEB_KEY.decode():
                found[subset, key] = base + place + 1
        if len(at):
            depth, kept = int(depths[-1]), int(at[-1]) + 1
            is_closed = depth == 0
            base += kept
            text = text[kept:].copy()
        pending = text
    if not is_closed:
        raise InputError(source.name, NOT_CLOSED, line=lines + 1, hint="Fetch the file again")
    if pending.tobytes().strip(SPACE.encode()):
        raise InputError(source.name, MORE)
    return keys, found


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

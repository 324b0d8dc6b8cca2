"""MTEB's predictions."""

from __future__ import annotations

import json

import pytest
from helpers import each

from formats.reading import errors_of, read

SIZES = [1, 7, 40, 1 << 20]
MTEB = {"mteb_model_meta": {"model_name": "a/{b}", "revision": None}, "en": {"test": {"q": {"a": 1.5}}}}


@pytest.mark.parametrize("size", SIZES)
def test_mteb(size, put):
    assert read(put(json.dumps(MTEB).encode(), size))[0] == [("q", "a", 1.5)]
    several = MTEB | {"de": {"dev": {}, "test": {"r": {"b": 2}, "s": {"c": 3}}}}
    source = put(json.dumps(several, indent=1).encode(), size)
    assert read(source, split="de/test") == ([("r", "b", 2.0), ("s", "c", 3.0)], [16, 19])
    assert read(source, split="en")[0] == [("q", "a", 1.5)]
    has = "the file has 'en/test', 'de/dev', 'de/test'"
    for options in ({}, {"split": "test"}):
        assert errors_of(source, **options) == [f" several splits: {has}. Choose one with --split SUBSET/SPLIT"]
    assert errors_of(source, split="x") == [f" no split 'x': {has}"]


MODEL = '{"mteb_model_meta": {}, '
NOT_CLOSED = "unexpected end of file: the JSON object is not closed. Fetch the file again"
MORE = " there is more after the end of the JSON object"


@each("size", SIZES)
@each(
    "text",
    [
        MODEL + '"en": {"test": {"q": {"a": 1}}}',
        MODEL + '"en": {"test": {"q": {"a": 1}}',
        MODEL + '"en": {"test": {"q": {"a": 1}}}, "de": {"test": {"r": {"b"',
        MODEL + '"en": {"test": {"q": {"a": 1}}}, "de": {"dev": {"r": {"b',
        MODEL + '"en": {"test": {"q": {"a": 1}',
    ],
)
def test_one_that_is_cut_off(text, size, put):
    source = put(f"\n{text}".encode(), size)
    for split in (None, "en/test", "en"):
        assert errors_of(source, split=split) == [f"2: {NOT_CLOSED}"]
    assert errors_of(source, "grade") == [f"2: {NOT_CLOSED}"]


def test_every_length(put):
    whole = json.dumps(MTEB | {"de": {"test": {"r": {"b": 2}}}}).encode()
    for size in range(23, len(whole)):  # from the first key on
        assert errors_of(put(whole[:size]), split="en") == [f"1: {NOT_CLOSED}"]
    assert read(put(whole), split="en")[0] == [("q", "a", 1.5)]


@each("size", SIZES)
@each("rest", [" x", "{}", '\n{"en": {}}', "}"])
def test_something_behind_it(rest, size, put):
    assert errors_of(put(json.dumps(MTEB).encode() + rest.encode(), size)) == [MORE]


def test_the_model_behind_the_subsets(put):
    """MTEB writes it first; a tool that sorts keys does not."""
    source = put(json.dumps(MTEB, sort_keys=True).encode())
    assert read(source)[0] == [("q", "a", 1.5)]
    assert errors_of(source, "grade") == [" this is a predictions file of MTEB, not qrels"]
    [error] = errors_of(put(b'{"en": {"test": {"q": {"a": 1.5}}}}'))
    assert error.endswith("$['en']['test']: the score {'q': {'a': 1.5}} is not a number")

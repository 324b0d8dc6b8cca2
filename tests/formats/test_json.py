"""JSON, JSON Lines and MTEB's predictions: numbers, ids and keys that are not read, and those that are."""

import json

from helpers import each, each_row

from formats.reading import errors_of, read

FIRST = '{"qid": "q", "docid": "z", "score": 3}\n'


@each("text", ['{"1": {"a": 1},\n"2": {"b": 1},\n"1": {"b": 0}}', '{"\\u0031": {"a": 1},\n"2": {},\n"1": {}}'])
def test_a_query_that_comes_twice(text, put):
    for size in (1, 40):
        assert errors_of(put(text.encode(), size)) == ["3: query '1' is in the object twice"]


@each("number", ["01", "-01", ".5", "-.5", "5.", "5.e5", "+1", "0x1", "1e", "-"])
def test_numbers_that_are_not_of_json(number, put):
    for other in ("2", '"2"'):
        for text in (f'{{"q": {{"a": {other}, "b": {number}, "c": 1}}}}', f'{{"q": {{"b": {number}}}}}'):
            assert "not valid JSON" in errors_of(put(text.encode()))[0]
        text = f'{FIRST}{{"qid": "q", "docid": "b", "score": {number}}}\n'
        assert errors_of(put(text.encode()))[0].startswith("2: not valid JSON")


@each_row(
    ("-0", 0.0), ("0", 0.0), ("0.5", 0.5), ("-10", -10.0), ("1e2", 100.0), ("0E1", 0.0), ('"1.5"', 1.5),
    ("true", 1.0),
)  # fmt: skip
def test_numbers(number, value, put):
    assert read(put(f'{{"q": {{"a": 2, "b": {number}}}}}'.encode()))[0] == [("q", "a", 2.0), ("q", "b", value)]
    text = f'{FIRST}{{"qid": "q", "docid": "b", "score": {number}}}\n'
    assert read(put(text.encode()))[0] == [("q", "z", 3.0), ("q", "b", value)]


@each("sign", ["", "-"])
@each("digits", [310, 4301, 5000])
def test_integers_that_are_too_large(digits, sign, put):
    number = sign + "1" * digits
    text = f'{{"q": {{"a": 2}},\n"r": {{"b": {number}, "c": 1}}, "s": {number}}}'
    what = "the score is too large for a floating-point number"
    query = f" $['s']: {number[:60]}… is not an object of documents"
    for size in (1, 1 << 20):
        assert errors_of(put(text.encode(), size)) == [f" $['r']['b']: {what}", query]


@each("line", ["1", '"1"'])
def test_a_key_that_comes_twice(line, put):
    for text in (
        f'{{"qid": "q", "docid": "a", "score": {line}, "docid": "b"}}\n' + FIRST,
        FIRST + f'{{"qid": "q", "docid": "a", "score": {line}, "docid": "b"}}\n',
        FIRST + f'{{"docid": "a", "qid": "q", "score": {line}, "docid": "b"}}\n' + FIRST,
    ):
        number = 1 + (text.index('"a"') > len(FIRST))
        assert errors_of(put(text.encode())) == [f"{number}: the key 'docid' is in the object twice"]
    for more in ('"a": 1, "a": 2', '"a": {"b": 1, "a": 1, "a": 2}', '"a": {"b": 1}, "a": {"c": 1}'):
        for good in ("", '{"qid": "q", "docid": "c", "score": 1, "from": [{}]}\n'):  # with and without json
            text = good + f'{{"qid": "q", "docid": "a", "score": {line}, "from": {{{more}}}}}\n'
            assert errors_of(put(text.encode())) == [f"{1 + bool(good)}: the key 'a' is in the object twice"]
    nested = '{"qid": "q", "docid": "a", "score": 1, "from": {"score": 2}}\n'
    assert read(put((nested + nested.replace('"a"', '"b"')).encode()))[0] == [("q", "a", 1.0), ("q", "b", 1.0)]


CONTROL = "not valid JSON (Invalid control character"  # and where


@each("written", ['["a"]', '["b", "a"]', '[1, "a"]', '{"a": "a"}'])
def test_a_list_or_an_object_is_no_id(written, put):
    line = f'{{"qid": "q", "docid": {written}, "score": 1}}\n'
    what = f"the document id cannot be {written}".replace('"', "'")
    assert errors_of(put(line.encode())) == [f"1: {what}"]
    assert errors_of(put((line + line.replace('"score"', ' "score"')).encode()))[0] == f"1: {what}"


@each("char", [b"\x01", b"\t", b"\x1f"])
@each("number", [b"2", b'"2"'])
def test_control_characters_in_strings(char, number, put):
    """They are escapes in JSON, however the other values are written; between its tokens, spaces."""
    for text in (b'{"q":\n{"a": %b, "b%b": 1}}', b'{"q":\n{"a": %b, "\\u00e9%b": 1}}'):
        assert errors_of(put(text % (number, char)))[0].startswith(f"2: {CONTROL} at ")
    assert errors_of(put(b'{"q%b": {"a": %b}}' % (char, number)))[0].startswith(f"1: {CONTROL} at ")
    for key in (b"docid", b"tag"):
        line = b'{"qid": "q", "docid": "c", "score": %b, "tag": "t"}\n' % number
        wrong = line.replace(b'"%b": "' % key, b'"%b": "%b' % (key, char))
        column = wrong.index(char) + 1
        assert errors_of(put(line + wrong)) == [f"2: {CONTROL} in column {column})"]
    assert read(put(b'{\t"q":\t{\t"a":\t2\t}\t}'))[0] == [("q", "a", 2.0)]
    assert read(put(b'{\t"qid": "q",\t"docid": "a",\t"score": 2}\r\n' * 2))[0] == [("q", "a", 2.0)] * 2


@each("number", [b"2", b'"2"'])
def test_bytes_that_are_not_utf8(number, put):
    for bad in (b"\xff", b"\xe9", b"\xed\xa0\x80", b"\xc0\x80"):
        said = f"not valid JSON: {bad[:1]!r} is not UTF-8"
        assert errors_of(put(b'{"q":\n{"a": %b, "b%b": 1}}' % (number, bad))) == [f"2: {said}"]
        line = b'{"qid": "q", "docid": "c%b", "score": %b}\n'
        text = line % (b"", number) + line % (bad, number) + line % (b"", number) + line % (bad, number)
        assert errors_of(put(text)) == [f"2: {said}", f"4: {said}"]
        assert errors_of(put(line % (bad, number))) == [f"1: {said}"]
    assert read(put('{"q": {"é𝄞": 2}}'.encode()))[0] == [("q", "é𝄞", 2.0)]


SIZES = [1, 7, 40, 1 << 20]
MTEB = {"mteb_model_meta": {"model_name": "a/{b}", "revision": None}, "en": {"test": {"q": {"a": 1.5}}}}


@each("size", SIZES)
def test_mteb(size, put):
    assert read(put(json.dumps(MTEB).encode(), size))[0] == [("q", "a", 1.5)]
    several = MTEB | {"de": {"dev": {}, "test": {"r": {"b": 2}, "s": {"c": 3}}}}
    source = put(json.dumps(several, indent=1).encode(), size)
    assert read(source, split="de/test") == ([("r", "b", 2.0), ("s", "c", 3.0)], [0, 1])
    assert read(source, split="en")[0] == [("q", "a", 1.5)]
    has = "the file has 'en/test', 'de/dev', 'de/test'"
    for options in ({}, {"split": "test"}):
        assert errors_of(source, **options) == [f" several splits: {has}. Choose one with --split SUBSET/SPLIT"]
    assert errors_of(source, split="x") == [f" no split 'x': {has}"]


NOT_CLOSED = "unexpected end of file: the JSON object is not closed. Fetch the file again"


def test_one_that_is_cut_off(put):
    """Anywhere from the first key on, in blocks of any size."""
    whole = json.dumps(MTEB | {"de": {"test": {"r": {"b": 2}}}}).encode()
    for end in range(23, len(whole)):
        split = (None, "en/test", "en")[end % 3]
        [error] = errors_of(put(whole[:end], SIZES[end % 4]), split=split)
        assert error.startswith(("1: not valid JSON (", f"1: {NOT_CLOSED}"))
    assert read(put(whole), split="en")[0] == [("q", "a", 1.5)]
    # MTEB writes the model first; a tool that sorts keys does not
    source = put(json.dumps(MTEB, sort_keys=True).encode())
    assert read(source)[0] == [("q", "a", 1.5)]
    assert errors_of(source, "grade") == [" this is a predictions file of MTEB, not qrels"]
    [error] = errors_of(put(b'{"en": {"test": {"q": {"a": 1.5}}}}'))
    assert error.endswith("$['en']['test']: the score {'q': {'a': 1.5}} is not a number")


@each("size", SIZES)
@each("rest", [" x", "{}", '\n{"en": {}}', "}"])
def test_something_behind_it(rest, size, put):
    [error] = errors_of(put(json.dumps(MTEB).encode() + rest.encode(), size))
    assert error.startswith(f"{1 + rest.count(chr(10))}: not valid JSON (Extra data in column ")

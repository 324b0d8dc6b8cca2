"""The scanner against plain Python: the same fields, the same numbers to the last bit, on any bytes."""

import random

import numpy as np
from fuzz import numbers
from helpers import each, examples
from hypothesis import example, given
from hypothesis import strategies as st
from plain import data_of, fields_of, number_of

from gradeval.arrays.strings import PAD, Ids
from gradeval.formats import scan
from gradeval.formats.scan import Rows, floats, leading_integers, split, tokenize
from gradeval.formats.sources import Block

BEHIND = b"9.#\n \0e7" * (PAD // 8)  # what a block may hold behind its last line


def block_of(text):
    return np.frombuffer(text + BEHIND, np.uint8)


def split_text(text, wanted, least, most=None) -> Rows:
    return split(block_of(text), len(text), wanted, least, most)


# Every byte but NUL and the four that part fields: so also those at which Python's or Unicode's split() would
NAMES = st.binary(min_size=1, max_size=12).map(
    lambda name: bytes(b if b not in b"\0 \t\r\n" else 33 for b in name)
)
FIELDS = st.one_of(
    NAMES,
    st.sampled_from(
        [b"#", b"#x", b"\x0b", b"\x0c\x1c\x1f", b"\xa0", "\u2003\u2028\x85".encode(), b"-1.5", b"Q0"]
    ),
    st.integers(60, 140).map(lambda n: b"x" * n),
)
GAPS = st.sampled_from([b" "] * 4 + [b"\t", b"  ", b" \t ", b"\r", b"\r \r"])
EDGES = st.sampled_from([b""] * 6 + [b" ", b"\t", b"\r", b"  "])


@st.composite
def lines(draw):
    fields = draw(st.lists(FIELDS, max_size=8))
    gaps = [draw(GAPS) for _ in fields[1:]] + [b""]
    inside = b"".join(field + gap for field, gap in zip(fields, gaps, strict=True)) if fields else b""
    return draw(EDGES) + inside + draw(EDGES)


TEXTS = st.one_of(
    st.lists(lines(), min_size=1, max_size=12).map(b"\n".join),
    st.lists(st.sampled_from([bytes([b]) for b in b"ab#1. \t\r\n\n\x01\x0b\x1f\x85\xff"]), max_size=60).map(
        b"".join
    ),
).map(lambda text: text + b"\n")
SHAPE = (0, 2, 3), 4, 4
SHAPES = st.sampled_from([SHAPE, ((0, 2, 4), 5, None), ((0,), 1, 1), ((1, 0), 2, 3)])


def check_split(text, shape):
    wanted, least, most = shape
    rows = split_text(text, wanted, least, most)
    data = data_of(text)
    good = [(n, fields) for n, fields in data if least <= len(fields) <= (most or len(fields))]
    assert [column.tolist() for column in rows.fields] == [[fields[k] for _, fields in good] for k in wanted]
    assert rows.line.tolist() == [n for n, _ in good]
    assert rows.lines == text.count(b"\n")
    odd = [(n, len(f)) for n, f in data if not least <= len(f) <= (most or len(f))]
    assert list(zip(rows.odd.tolist(), rows.odd_counts.tolist(), strict=True)) == odd


@examples(times=2)
@given(TEXTS, SHAPES)
@example(b"a b c d\n" * 3, SHAPE)
@example(b"a b c d\n#b c d e\n", SHAPE)
@example(b"#b c d e\na b c d\n", SHAPE)
@example(b" b c d e\n a b c d\n", SHAPE)
@example(b"a b c d\r\n" * 3, SHAPE)
@example(b"a b c d\na b  d\n", SHAPE)
@example(b"a b c d\na b c\nx d e f g\n", SHAPE)
@example(b"a b c d\na b\nc d\n", SHAPE)
@example(b"a b c\x0bd e\na b c\x0bd e\n", SHAPE)
@example(b"\n\n\n", ((0,), 1, 1))
@example(b" ".join([b"x"] * 1000) + b"\n", ((0, 2, 4), 5, None))
@example(b"".join(b"q 0 " + b"d" * n + b" 1\n" + b"q" * n + b" 0 d 2\n" for n in (63, 64, 65, 10**6)), SHAPE)
def test_split(text, shape):
    check_split(text, shape)


@given(st.data(), SHAPES)
def test_split_of_regular_lines(data, shape):
    """Blocks in one form, which take the quick way; and with one byte changed, which often must not."""
    size = data.draw(st.integers(1, 6))
    rows = data.draw(st.lists(st.lists(NAMES, min_size=size, max_size=size), min_size=1, max_size=8))
    text = b"".join(b" ".join(row) + b"\n" for row in rows)
    check_split(text, shape)
    at = data.draw(st.integers(0, len(text) - 1))
    check_split(
        text[:at]
        + data.draw(st.sampled_from([b" ", b"\t", b"\r", b"#", b"\n", b"x", b""]))
        + text[at + 1 :]
        + b"\n",
        shape,
    )


@each("text", [b"q 0 d 1\n" * 100, b"q 0  d 1\n" * 3, b" \n", b"a\n"])
@each("line", [0, 1, 2])
def test_a_nul_byte_is_told_with_its_line(text, line):
    before = text * line
    content = np.frombuffer(before + b"q 0 d\0 1\n" + text + b"\0 0 d 1\n" + bytes(PAD), np.uint8)
    problem = scan.not_text(Block(content, len(content) - PAD, False, True))
    assert problem is not None and problem.line == before.count(b"\n")


@given(TEXTS, st.data())
def test_tokenize(text, data):
    places = data.draw(st.sets(st.sampled_from([i for i, b in enumerate(text) if b != 10] or [0]), max_size=3))
    places = {i for i in places if text[i] != 10}
    separated = bytes(32 if i in places else b for i, b in enumerate(text))
    tokens = tokenize(np.frombuffer(text, np.uint8), np.array(sorted(places), np.int64))
    spans = list(zip(tokens.start.tolist(), tokens.end.tolist(), strict=True))
    bounds = zip(tokens.first.tolist(), (tokens.first + tokens.counts).tolist(), strict=True)
    assert [[text[a:b] for a, b in spans[i:j]] for i, j in bounds] == fields_of(separated)
    assert tokens.line_end.tolist() == [i for i, b in enumerate(text) if b == 10]
    assert tokens.lines == text.count(b"\n")


# Numbers


def column(texts, gap=b" "):
    text = gap.join(texts) + b"\n"
    length = np.array([len(t) for t in texts], np.int64)
    return Ids(block_of(text), np.cumsum(length + 1) - length - 1, length)


def bits(numbers):
    return [float(number).hex() for number in numbers]


def check_floats(texts, gap=b" "):
    values, bad = floats(column(texts, gap))
    expected = [number_of(text) for text in texts]
    assert bad.tolist() == [row for row, number in enumerate(expected) if number is None]
    good = [row for row, number in enumerate(expected) if number is not None]
    assert bits(values[good]) == bits(expected[row] for row in good)


@each("draw", numbers.SOUND)
@each("gap", [b" ", b"\n"])
def test_floats(draw, gap):
    """Of each kind of number, also halfway between two doubles and as near to that as can be."""
    rng = random.Random(1)
    check_floats([draw(rng).encode() for _ in range(700)], gap)


@each("gap", [b" ", b"\t", b"\r", b"\n"])
def test_what_is_no_number(gap):
    rng = random.Random(2)
    wrong = [*numbers.WRONG, "1\x0b", "1\x0c", "9" * 400]
    texts = [text.encode() for word in wrong for text in (word, rng.choice(numbers.SOUND)(rng))]
    check_floats(texts + [numbers._wrong(rng) or b"x" for _ in range(500)], gap)


SINGLE = """
    0 -0 +0 0.0 -0.0 5. .5 -.5 +5. 1e5 1E+05 1e-5 00012 000000000000000000000000000012.5 0.1 0.2 0.3
    1.7976931348623157e308 5e-324 2.4703282292062327e-324 2.4703282292062328e-324 2.2250738585072011e-308
    9007199254740991 9007199254740992 9007199254740993 9007199254740993.0 9007199254740994.5 0.9007199254740993
    9223372036854775807 9223372036854775808 18446744073709551616.5 1.000000000000000055511151231257827
    0.0000000000000000000001 0.00000000000000000000001 1.0000000000000000000000 12345678 123456789 1234567.8
    12345678.9 1234567890.123456 99999999.99999999 0.12345678 0.1234567890123456 0.12345678901234567
    0.123456789012345678 0.1234567890123456789 0.12345678901234567890
"""


@each("text", [*SINGLE.split(), "1" * 10**6, "0." + "3" * 10**6])
def test_floats_one_by_one(text):
    check_floats([text.encode()])
    check_floats([b"-" + text.encode().lstrip(b"+-")] * 2 + [b"7.25"])
    check_floats([])


@given(st.lists(st.tuples(st.integers(0, 10**8 - 1), st.sampled_from([b":", b" ", b".", b"x", b"\xff", b"/"]))))
def test_leading_integers(pairs):
    text = b"".join(b"%d%s" % pair for pair in pairs)
    starts = np.cumsum([0, *(len(b"%d%s" % pair) for pair in pairs)])[:-1].astype(np.int64)
    numbers, digits = leading_integers(block_of(text), starts)
    assert numbers.tolist() == [number for number, _ in pairs]
    assert digits.tolist() == [len(str(number)) for number, _ in pairs]

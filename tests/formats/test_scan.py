"""The scanners against plain Python and each other: the same fields and numbers, on any bytes."""

import random
from unittest import mock

import numpy as np
from fuzz import numbers
from helpers import each, examples
from hypothesis import example, given
from hypothesis import strategies as st
from plain import data_of, fields_of, number_of

from formats.scanners import BEHIND, columns_of, quick_and_general
from gradeval.arrays.strings import Ids
from gradeval.formats import scan, trec
from gradeval.formats.scan import floats, leading_integers, split, tokenize
from gradeval.formats.sources import Block


def block_of(text):
    return np.frombuffer(text + BEHIND, np.uint8)


# Every byte but NUL and the four that part fields: so also those at which Python's or Unicode's split() would
NAMES = st.binary(min_size=1, max_size=12).map(
    lambda name: bytes(b if b not in b"\0 \t\r\n" else 33 for b in name)
)
ODD = [b"#", b"#x", b"\x0b", b"\x0c\x1c\x1f", b"\xa0", "\u2003\u2028\x85".encode(), b"-1.5", b"Q0"]
FIELDS = st.one_of(NAMES, st.sampled_from(ODD), st.integers(60, 140).map(lambda n: b"x" * n))
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
    rows = split(block_of(text), len(text), wanted, least, most)
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
    byte = data.draw(st.sampled_from([b" ", b"\t", b"\r", b"#", b"\n", b"x", b""]))
    check_split(text[:at] + byte + text[at + 1 :] + b"\n", shape)


@given(TEXTS, st.data())
def test_tokenize(text, data):
    places = data.draw(st.sets(st.integers(0, len(text) - 1), max_size=3))
    places = {i for i in places if text[i] != 10}
    separated = bytes(32 if i in places else b for i, b in enumerate(text))
    tokens = tokenize(np.frombuffer(text, np.uint8), np.array(sorted(places), np.int64))
    spans = list(zip(tokens.start.tolist(), tokens.end.tolist(), strict=True))
    bounds = zip(tokens.first.tolist(), (tokens.first + tokens.counts).tolist(), strict=True)
    assert [[text[a:b] for a, b in spans[i:j]] for i, j in bounds] == fields_of(separated)
    assert len(tokens.counts) == text.count(b"\n")


def column(texts, gap=b" "):
    text = gap.join(texts) + b"\n"
    length = np.array([len(t) for t in texts], np.int64)
    return Ids(block_of(text), np.cumsum(length + 1) - length - 1, length)


SEEDS = st.integers(0, 2**32)


def check_floats(texts, gap=b" "):
    values, bad = floats(column(texts, gap))
    expected = [number_of(text) for text in texts]
    assert bad.tolist() == [row for row, number in enumerate(expected) if number is None]
    good = [row for row, number in enumerate(expected) if number is not None]
    assert [float(n).hex() for n in values[good]] == [expected[row].hex() for row in good]


@each("gap", [b" ", b"\t", b"\r", b"\n"])
def test_floats(gap):
    """Of each kind, also halfway between two doubles and as near to that as can be; and what is none."""
    rng = random.Random(2)
    check_floats([draw(rng).encode() for _ in range(200) for draw in numbers.SOUND], gap)
    wrong = [*numbers.WRONG, "1\x0b", "1\x0c", "9" * 400]
    texts = [text.encode() for word in wrong for text in (word, rng.choice(numbers.SOUND)(rng))]
    check_floats(texts + [numbers._wrong(rng) or b"x" for _ in range(500)], gap)


@each("text", [*"""
    0 -0 +0 0.0 -0.0 5. .5 -.5 +5. 1e5 1E+05 1e-5 00012 000000000000000000000000000012.5 0.1 0.2 0.3
    1.7976931348623157e308 5e-324 2.4703282292062327e-324 2.4703282292062328e-324 2.2250738585072011e-308
    9007199254740991 9007199254740992 9007199254740993 9007199254740993.0 9007199254740994.5 0.9007199254740993
    9223372036854775807 9223372036854775808 18446744073709551616.5 1.000000000000000055511151231257827
    0.0000000000000000000001 0.00000000000000000000001 1.0000000000000000000000 12345678 123456789 1234567.8
    12345678.9 1234567890.123456 99999999.99999999 0.12345678 0.1234567890123456 0.12345678901234567
    0.123456789012345678 0.1234567890123456789 0.12345678901234567890
    -11.0625 0.9990234375 1732398123.25 12345678.9012345 1234567.89012345 .123456789012345 123456789012345.
    123456789012345 000000000000001 .000000000000001 999999999999999 9999999999999999 .9999999999999999
    1-2 --1 -.
""".split(), "1" * 10**6, "0." + "3" * 10**6])  # fmt: skip
def test_floats_one_by_one(text):
    check_floats([text.encode()])
    check_floats([b"-" + text.encode().lstrip(b"+-")] * 2 + [b"7.25"])
    check_floats([])


@given(SEEDS, st.integers(1, 200), st.sampled_from([b" ", b",", b":", b"\n"]))
def test_floats_like_scores(seed, count, gap):
    """Minus signs and 1 to 20 digits, in mixed lengths; and other fields among them."""
    rng = random.Random(seed)
    texts = [numbers.score(rng).encode() for _ in range(count)]
    check_floats(texts, gap)
    odd = b"1-2 --1 - . -. +1.5 1..2 -0 -0.0 1234567890123456. 1e-05 12345678.-9 1.5.25 12/4".split()
    check_floats([rng.choice([text, text, *odd]) if rng.random() < 0.2 else text for text in texts], gap)


def run_of(scores):
    return b"".join(b"q1 Q0 d%d 1 %s t\n" % line for line in enumerate(scores))


@given(SEEDS, st.integers(1, 9), st.integers(1, 6), st.integers(1, 60))
def test_scores_with_as_many_decimals(seed, decimals, most, count):
    """Of one sign or of both, which the first and the last line may have or not; then one misplaced."""
    rng = random.Random(seed)
    draw = numbers.scores_with(decimals, most)
    both = [draw(rng).encode() for _ in range(count)]
    positive = [score.lstrip(b"-") for score in both]
    for scores in both, positive, [b"-" + score for score in positive]:
        quick, _ = quick_and_general(run_of(scores))
        assert [value.hex() for value in quick.value.tolist()] == [float(score).hex() for score in scores]
    at = rng.randrange(count)
    for wrong in (b"-" + positive[at].replace(b".", b"-."), b"--" + positive[at], positive[at] + b"-"):
        quick, general = quick_and_general(run_of([*both[:at], wrong, *both[at + 1 :]]))
        assert quick is None
        assert general.problems.total == 1


@each("scores", [[b"-12.345678", b"-1.500000"], [b"1.500000", b"12.345678", b"-0.250000"], [b"-1.5", b"2.5"]])
def test_minus_signs_stay_in_the_quickest_reader(scores):
    with mock.patch.object(trec, "floats", side_effect=AssertionError):
        quick, _ = trec.usual_run_columns(Block(block_of(run_of(scores)), len(run_of(scores)), False, False))
    assert quick.value.tolist() == [*map(float, scores)]


@each("gap", [b" ", b","])
def test_fifteen_digits_are_one_division(gap):
    texts = b"-11.0625 0.9990234375 -12345678.9012345 .123456789012345 123456789012345. 999999999999999".split()
    with mock.patch.object(scan, "_any_floats", side_effect=AssertionError):
        check_floats(texts, gap)


@given(st.lists(st.tuples(st.integers(0, 10**8 - 1), st.sampled_from([b":", b" ", b".", b"x", b"\xff", b"/"]))))
def test_leading_integers(pairs):
    text = b"".join(b"%d%s" % pair for pair in pairs)
    starts = np.cumsum([0, *(len(b"%d%s" % pair) for pair in pairs)])[:-1].astype(np.int64)
    numbers, digits = leading_integers(block_of(text), starts)
    assert numbers.tolist() == [number for number, _ in pairs]
    assert digits.tolist() == [len(str(number)) for number, _ in pairs]


USUAL = (
    b"q1 Q0 d10 1 12.5000 bm25\nq1 Q0 d9 2 9.2500 bm25\nq1 Q0 d007 3 -0.1250 bm25\nq22 Q0 d9 1 120.0625 bm25\n"
)


def usual_lines(query=b"301", second=b"Q0", document=b"d%d", score="{:.4f}", tag=b"bm25", gap=b" "):
    rows = ((query, document % n if b"%" in document else document + b"%d" % n, n) for n in range(20))
    return b"".join(
        gap.join([query, second, document, b"%d" % n, score.format(90 / (n + 1)).encode(), tag]) + b"\n"
        for query, document, n in rows
    )


@each(
    "text",
    [
        USUAL, usual_lines(),
        usual_lines(b"1") + usual_lines(b"1048585") + usual_lines(b"PLAIN-1234567-of-many"),
        usual_lines(document=b"%07d") + usual_lines(b"302", document=b"%08d"),
        usual_lines(document=b"%07d") + usual_lines(b"303", document=b"%016d"),
        usual_lines(document=b"clueweb09-en0000-%02d") + usual_lines(b"302", document=b"x"),
        usual_lines(b"a-query-1") + usual_lines(b"a-query-2"), USUAL + b"q22 Q0 d8 2 123456.7500 bm25\n",
        USUAL + b"q22 Q0 d8 2. 123 bm25\n", usual_lines(document=b"x" * 240 + b"%d"),
        usual_lines(score="{:.6f}", tag=b"Anserini"), usual_lines(score="{}"), usual_lines(score="{:.0f}"),
        usual_lines(score="-{:e}"), usual_lines(score="{:.10f}"),
        usual_lines(second=b"0", tag=b"a-tag-that-is-longer-than-two-words", gap=b"\t"),
        usual_lines(second=b"Q" * 200),
        usual_lines(query="é".encode(), second=b"\xff", document="\u2003%d".encode(), tag=b"\x80"),
    ],
)  # fmt: skip
@each("first", [True, False])
def test_usual_blocks(text, first):
    quick, general = quick_and_general(text, first)
    assert quick is not None
    assert columns_of(quick) == columns_of(general)
    assert (general.ranks.compared > 0) == first


@each("byte", [*map(bytes, zip(b"\n \t\r\0\x0b#.0:/-x\xff", strict=True)), b""])
def test_a_byte_is_changed(byte):
    for at in range(len(byte) + sum(byte) % 9, len(USUAL), 9):
        text = USUAL[:at] + byte + USUAL[at + 1 :] + b"\n" * (at == len(USUAL) - 1)
        quick, general = quick_and_general(text)
        assert quick is None or columns_of(quick) == columns_of(general), text


@each(
    "line",
    [
        b"", b"#q1 Q0 d 1 2.0000 bm25", b"q1 Q0 d 1 2.0000", b"q1 Q0 d 1 2.0000 bm25 x",
        b"q1 Q0  d 1 2.0000 bm25", b"q1 Q0  1 2.0000 bm25", b" Q0 d 1 2.0000 bm25", b"q1 Q0 d 1 1 25",
        b"q1 Q0 d 1 2.0000 bm25 ", b" q1 Q0 d 1 2.0000 bm25", b"q1 Q0 d 1 2.0000 bm25\r",
        b"q1 Q0 d 1 2.0000 bm25\x0b", b"q1 Q0 d 1 2.0000\x0bbm25", b"q1\x0bQ0 d 1 2.0000 bm25",
        b"q1 Q0 d 1 2.00\x000 bm25", b"q1 Q0 d 1 x.0000 bm25", b"q1 Q0 d 1 2,0000 bm25",
        b"q1 Q0 d 1 nan bm25", b"q1 Q0 d 1 2.0000 bm255", b"q1 Q00 d 1 2.0000 bm25",
        b"q1 Q0 d 12345678 2.0000 bm25", b"q1 Q0 " + b"d" * 300 + b" 1 2.0000 bm25",
    ],
)  # fmt: skip
@each("place", [0, 1, 4])
def test_other_blocks_are_for_the_general_scanner(line, place):
    lines = USUAL.split(b"\n")
    text = b"\n".join([*lines[:place], line, *lines[place:]])
    quick, general = quick_and_general(text)
    assert quick is None
    assert general.lines == 5
    quick, general = quick_and_general(usual_lines(second=b"", gap=b"\t"))  # two gaps in a row, in every line
    assert quick is None and general.problems.first[0].what.endswith("none of the 20 lines read is right")

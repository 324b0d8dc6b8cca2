"""The quick scanner of usual runs against the general one: the same columns, or none."""

from helpers import each
from hypothesis import settings

from formats.scanners import columns_of, quick_and_general

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


@each(
    "byte",
    [b"\n", b" ", b"\t", b"\r", b"\0", b"\x0b", b"#", b".", b"0", b":", b"/", b"-", b"x", b"\xff", b""],
)
def test_a_byte_is_changed(byte):
    """Anywhere: columns and problems are those of the general scanner, whoever reads the block."""
    step = 1 if settings.default.max_examples > 100 else 5
    for at in range(ord(byte[:1] or b"a") % step, len(USUAL), step):
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


def test_lines_without_a_second_field():
    """Two gaps in a row, in every line."""
    quick, general = quick_and_general(usual_lines(second=b"", gap=b"\t"))
    assert quick is None and len(general.problems.first) == 20

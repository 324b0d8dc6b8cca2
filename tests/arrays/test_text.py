"""Lines of columns: each number as repr() writes it, ids of any length."""

import random

import numpy as np

from gradeval.arrays import text
from gradeval.arrays.strings import Ids


def lines(*fields: text.Field) -> list[bytes]:
    return b"".join(part.tobytes() for part in text.lines_of([*fields, b"\n"])).split(b"\n")[:-1]


def test_numbers_are_those_of_repr() -> None:
    draw = random.Random(1)
    numbers = [
        0.0,
        -0.0,
        1e-4,
        9.99e-5,
        -1e15,
        999999999999999.0,
        1.5e300,
        5e-324,
        0.30000000000000004,
        -12.5,
        1 / 3,
    ]
    for exponent in range(-8, 20):
        numbers += (round(draw.uniform(-1, 1) * 10**exponent, draw.randint(0, 17)) for _ in range(100))
        numbers += (draw.uniform(-1, 1) * 10**exponent for _ in range(20))
        numbers += (draw.randrange(10 ** draw.randint(1, 16)) / 10 ** draw.randint(0, 18) for _ in range(50))
    expected = [repr(number).removesuffix(".0").encode() for number in numbers]
    assert lines(*text.decimal_fields(np.array(numbers))) == expected


def test_ids_of_any_length(monkeypatch) -> None:
    ids = [b"a", b"", b"12345678", b"123456789", "é".encode() * 700]
    assert lines(Ids.of(ids), b" x ", Ids.of(ids[::-1])) == [
        b"%b x %b" % pair for pair in zip(ids, ids[::-1], strict=True)
    ]
    monkeypatch.setattr(text, "_AT_ONCE", 1)  # a line at a time
    assert lines(Ids.of(ids)) == ids

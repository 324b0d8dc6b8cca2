"""Text for people: what is escaped in messages, and what in tables; records."""

import pickle
import unicodedata
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from typing import Any

from helpers import each, error_of, raises

from gradeval.errors import (
    GradevalError,
    InputError,
    InputErrors,
    OptionError,
    inert,
    printable,
    visible,
    visible_rows,
)
from gradeval.records import Record, fields_of

SURROGATE = "\udcff"  # a byte that is not UTF-8
CONTROL = [chr(code) for code in range(0x11000) if unicodedata.category(chr(code)) in ("Cc", "Zl", "Zp")]
MARKS = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}  # they and three more turn text round
TURNING = [chr(code) for code in range(0x11000) if unicodedata.bidirectional(chr(code)) in MARKS] + [
    *"\u061c\u200e\u200f"
]


def test_what_a_terminal_or_an_editor_obeys() -> None:
    assert len(CONTROL) == 67 and len(TURNING) == 12
    for char in (*CONTROL, *TURNING):
        escaped = char.encode("unicode_escape").decode()
        assert visible(f"a{char}b") == printable(f"a{char}b") == f"a{escaped}b"
        assert visible_rows(f"a{char}b") == (f"a{char}b" if char in "\t\n" else f"a{escaped}b")
    for text in ("q1", "é µ", "検索", "\u0646\u200c\u0627", "a\u00a0b", SURROGATE, r"\x1b"):
        assert visible(text) == visible_rows(text) == text
    assert printable("a\u00a0b\u200c" + SURROGATE) == r"a\xa0b\u200c\udcff"  # not in a message


@each(
    ("line", "shown"),
    [
        ("::error::x", r"\x3a:error::x"),
        (" \t\u3000::error::x", " \t\u3000" + r"\x3a:error::x"),
        ("a ::error::x b::c", "a ::error::x b::c"),  # a runner reads it at the start of a line only
        ("a\n::error::x", "a\n" + r"\x3a:error::x"),
        ("run ##[error]x", r"run \x23#[error]x"),
        ("###[error]x", r"#\x23#[error]x"),
        ("##vso[task.complete]", r"\x23#vso[task.complete]"),
        ("C# ## [x]", "C# ## [x]"),
    ],
)
def test_no_line_of_a_log_is_a_command_of_a_runner(line: str, shown: str) -> None:
    assert inert(line) == shown
    assert inert(line, r"\u00") == shown.replace(r"\x", r"\u00")


def test_an_error_is_one_line_and_several_have_one_each() -> None:
    path = "a\nb"
    first, second = InputError(path, "wrong\x1b", line=1), InputError(path, "no", hint="Try\r")
    assert str(first) == r"a\nb:1: wrong\x1b"
    assert str(second) == r"a\nb: no. Try\r"
    assert first.path == path
    assert str(InputErrors([first, second], 3)) == "\n".join([str(first), str(second), r"a\nb: 1 more error"])
    assert str(OptionError("x\u2028y")) == str(GradevalError("x\u2028y")) == r"x\u2028y"


class Point(Record):
    x: int
    y: int = 0
    names: Mapping[str, int] | None = None


@dataclass(frozen=True)
class Plain:
    x: int
    y: int = 0
    names: Mapping[str, int] | None = None


class Named(Point, kw_only=True):
    name: str


class Alone(Record, eq=False):
    x: int


@each("values, named", [((1,), {}), ((1, 2), {}), ((1,), {"y": 3}), ((), {"y": 4, "x": 5})])
def test_fields_are_those_of_a_dataclass(values: tuple[int, ...], named: dict[str, Any]) -> None:
    point, plain = Point(*values, **named), Plain(*values, **named)
    assert vars(point) == vars(plain) == fields_of(point)
    assert repr(point) == repr(plain).replace("Plain", "Point")
    assert point.__match_args__ == plain.__match_args__
    assert point == Point(*values, **named) and hash(point) == hash(Point(*values, **named))
    assert point.replace(y=9) == Point(point.x, 9) == pickle.loads(pickle.dumps(point.replace(y=9)))
    assert point == copy(point) != point.replace(x=7)


@each("values, named", [((), {}), ((1, 2, {}, 4), {}), ((1,), {"x": 1}), ((1,), {"z": 1}), ((), {"z": 1})])
def test_wrong_fields_are_type_errors(values: tuple[Any, ...], named: dict[str, Any]) -> None:
    for kind in (Point, Plain):
        error_of(TypeError, kind, *values, **named)
    raises(TypeError, "z", Point(1).replace, z=1)  # type: ignore[call-arg]


def test_further_fields_no_changes_and_no_eq() -> None:
    point, first, second = Point(1), Alone(1), Alone(1)
    raises(AttributeError, "'x'", setattr, point, "x", 2)
    raises(AttributeError, "'x'", delattr, point, "x")
    assert first != second and first == first and len({first, second}) == 2
    named = Named(1, name="a")
    assert fields_of(named) == {"x": 1, "y": 0, "names": None, "name": "a"}
    assert named != Point(1) and Point(1) != named
    raises(TypeError, "x, y, names, name", Named, 1)  # type: ignore[call-arg]

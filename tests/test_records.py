"""Records behave as frozen dataclasses do."""

import pickle
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from typing import Any

import pytest
from helpers import each, error_of, raises

from gradeval.records import Record, fields_of


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
    with pytest.raises(TypeError, match="z"):
        Point(1).replace(z=1)  # type: ignore[call-arg]


def test_further_fields_no_changes_and_no_eq() -> None:
    point, first, second = Point(1), Alone(1), Alone(1)
    raises(AttributeError, "'x'", setattr, point, "x", 2)
    raises(AttributeError, "'x'", delattr, point, "x")
    assert first != second and first == first and len({first, second}) == 2
    named = Named(1, name="a")
    assert fields_of(named) == {"x": 1, "y": 0, "names": None, "name": "a"}
    assert named != Point(1) and Point(1) != named
    with pytest.raises(TypeError, match="x, y, names, name"):
        Named(1)  # type: ignore[call-arg]

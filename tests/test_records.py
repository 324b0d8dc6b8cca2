"""Records behave as dataclasses do."""

from __future__ import annotations

import pickle
from dataclasses import FrozenInstanceError, dataclass, field, replace
from typing import Any

import pytest

from gradeval.records import record


@record(frozen=True)
class Point:
    x: int
    y: int = 0
    names: dict[str, int] = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class Plain:
    x: int
    y: int = 0
    names: dict[str, int] = field(default_factory=dict, hash=False)


@pytest.mark.parametrize("values, named", [((1,), {}), ((1, 2), {}), ((1,), {"y": 3}), ((), {"y": 4, "x": 5})])
def test_fields_are_those_of_a_dataclass(values: tuple[int, ...], named: dict[str, Any]) -> None:
    point = Point(*values, **named)
    assert vars(point) == vars(Plain(*values, **named))
    assert point == Point(*values, **named) and hash(point) == hash(Point(*values, **named))
    assert replace(point, y=9) == Point(point.x, 9) == pickle.loads(pickle.dumps(replace(point, y=9)))
    assert point.names is not Point(1).names


@pytest.mark.parametrize("values, named", [((), {}), ((1, 2, {}, 4), {}), ((1,), {"x": 1}), ((1,), {"z": 1})])
def test_wrong_fields_are_type_errors(values: tuple[Any, ...], named: dict[str, Any]) -> None:
    for kind in (Point, Plain):
        with pytest.raises(TypeError):
            kind(*values, **named)


def test_frozen_records_cannot_be_changed() -> None:
    point = Point(1)
    with pytest.raises(FrozenInstanceError, match="'x'"):
        point.x = 2  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError, match="'x'"):
        del point.x

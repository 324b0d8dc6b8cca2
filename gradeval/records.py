"""Records: immutable objects whose fields are the annotations of their class; and what has the same key."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from typing_extensions import Self, dataclass_transform
else:  # in typing from Python 3.11 on; only type checkers use it

    def dataclass_transform(**_: bool) -> Callable[[type], type]:
        return lambda cls: cls


Key = TypeVar("Key", bound=Hashable)
Item = TypeVar("Item")


def grouped(pairs: Iterable[tuple[Key, Item]]) -> dict[Key, list[Item]]:
    """The items of (key, item) pairs by their keys, both in the order in which they come."""
    groups: dict[Key, list[Item]] = {}
    for key, item in pairs:
        groups.setdefault(key, []).append(item)
    return groups


@dataclass_transform(frozen_default=True)
class Record:
    """The base of records, which behave as frozen dataclasses do, for type checkers too. A dataclass compiles
    its methods whenever its module is imported, and a NamedTuple its annotations: for the 60 records of a
    small command this took 15 % of its time. Here all share the methods below, which take 1 µs longer.
    eq=False: equal to itself only, as a record with arrays should be. kw_only, init: for type checkers.
    """

    __match_args__: tuple[str, ...] = ()
    _names: frozenset[str] = frozenset()  # of the fields
    _defaults: dict[str, Any] = {}  # noqa: RUF012

    def __init_subclass__(cls, *, eq: bool = True, kw_only: bool = False, init: bool = True) -> None:
        super().__init_subclass__()
        names = tuple(dict.fromkeys((*cls.__match_args__, *cls.__annotations__)))
        cls.__match_args__ = names  # type: ignore[misc]  # of Record itself it is ()
        cls._names = frozenset(names)
        cls._defaults = {name: getattr(cls, name) for name in names if hasattr(cls, name)}
        if not eq:
            cls.__eq__, cls.__hash__ = object.__eq__, object.__hash__  # type: ignore[method-assign]

    def __init__(self, *values: Any, **named: Any) -> None:
        names, fields = self.__match_args__, self.__dict__
        fields.update(zip(names, values, strict=False), **named)
        is_given_twice = len(fields) < len(values) + len(named)
        if len(fields) < len(names):
            fields.update({**self._defaults, **fields})
        if is_given_twice or len(fields) != len(names) or (named and not named.keys() <= self._names):
            for name in named.keys() - self._names:
                raise TypeError(f"{type(self).__name__}() got an unexpected keyword argument '{name}'")
            raise TypeError(f"{type(self).__name__}() takes {', '.join(names)}, each once")
        self.__post_init__()

    def __post_init__(self) -> None:
        """Set a field that depends on others, in self.__dict__."""

    def replace(self, **changes: Any) -> Self:
        """The same record with other values of some fields."""
        unknown = changes.keys() - self._names
        if unknown:
            raise TypeError(f"{type(self).__name__} has no {min(unknown)}")
        record = object.__new__(type(self))
        record.__dict__.update(fields_of(self), **changes)
        record.__post_init__()
        return record

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"cannot assign to '{name}': {type(self).__name__} is immutable")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"cannot delete '{name}': {type(self).__name__} is immutable")

    def __eq__(self, other: object) -> bool:
        return fields_of(self) == fields_of(other) if isinstance(other, type(self)) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(fields_of(self).values()))

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value!r}" for name, value in fields_of(self).items())
        return f"{type(self).__name__}({fields})"


def fields_of(record: Record) -> dict[str, Any]:
    return {name: getattr(record, name) for name in record.__match_args__}

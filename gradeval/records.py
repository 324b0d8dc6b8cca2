"""Record classes that cost little to import."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, FrozenInstanceError, dataclass, fields
from typing import TYPE_CHECKING, Any

__all__ = ["record"]

if TYPE_CHECKING:
    from dataclasses import dataclass as record
else:

    def record(*, frozen: bool = False, eq: bool = True, **how: Any) -> Callable[[type], type]:
        """dataclasses.dataclass with an __init__ that is not compiled at import: 5 % of a small command.

        It takes longer when called: for records of which an evaluation makes few. how: for dataclass().
        """

        def decorate(cls: type) -> type:
            cls = dataclass(cls, init=False, eq=eq, unsafe_hash=eq and frozen, **how)
            names = [field.name for field in fields(cls)]
            defaults = {field.name: field.default for field in fields(cls) if field.default is not MISSING}
            made = {
                field.name: field.default_factory
                for field in fields(cls)
                if field.default_factory is not MISSING
            }
            all_names, finish = set(names), getattr(cls, "__post_init__", None)

            def __init__(self: Any, *values: Any, **named: Any) -> None:
                row = self.__dict__
                row.update(zip(names, values, strict=False), **named)
                is_given_twice = len(row) < len(values) + len(named)
                if len(row) < len(names):
                    row.update({**defaults, **{name: make() for name, make in made.items()}, **row})
                if row.keys() != all_names or is_given_twice:
                    for name in named.keys() - all_names:
                        raise TypeError(f"{cls.__name__}() got an unexpected keyword argument '{name}'")
                    raise TypeError(f"{cls.__name__}() takes {', '.join(names)}, each once")
                if finish is not None:
                    finish(self)

            cls.__init__ = __init__
            if frozen:
                cls.__setattr__ = cls.__delattr__ = _refuse
            return cls

        return decorate

    def _refuse(self: Any, name: str, *_: Any) -> None:
        raise FrozenInstanceError(f"cannot assign to field '{name}'")

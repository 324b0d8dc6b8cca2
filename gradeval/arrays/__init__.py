"""Array arithmetic with numpy alone, independent of rankings."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import MISSING, FrozenInstanceError, dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Bools", "Bytes", "Floats", "Ints", "Words", "cached_property", "record"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Bytes = NDArray[np.uint8]
Words = NDArray[np.uint64]

if TYPE_CHECKING:
    from dataclasses import dataclass as record
    from functools import cached_property
else:

    def record(*, frozen: bool = False, **how: Any) -> Callable[[type], type]:
        """dataclasses.dataclass with an __init__ that is not compiled at import: 4 % of a small command.

        It takes longer when called: for records of which an evaluation makes few. how: for dataclass().
        """

        def decorate(cls: type) -> type:
            cls = dataclass(cls, init=False, **how)
            names = [field.name for field in fields(cls)]
            defaults = {field.name: field.default for field in fields(cls) if field.default is not MISSING}
            all_names, finish = set(names), getattr(cls, "__post_init__", None)

            def __init__(self: Any, *values: Any, **named: Any) -> None:
                given = dict(zip(names, values, strict=False), **named)
                row = {**defaults, **given}
                if row.keys() - all_names:
                    unexpected = next(name for name in named if name not in all_names)
                    raise TypeError(f"{cls.__name__}() got an unexpected keyword argument '{unexpected}'")
                if len(row) < len(names) or len(given) < len(values) + len(named):
                    raise TypeError(f"{cls.__name__}() takes {', '.join(names)}, each once")
                self.__dict__.update(row)
                if finish is not None:
                    finish(self)

            cls.__init__ = __init__
            if frozen:
                cls.__setattr__ = cls.__delattr__ = _refuse
            return cls

        return decorate

    def _refuse(self: Any, name: str, *_: Any) -> None:
        raise FrozenInstanceError(f"cannot assign to field '{name}'")

    class cached_property(functools.cached_property):
        """functools.cached_property without a lock, as it is from Python 3.12 on.

        A process that is forked while a thread holds the lock would wait for it forever. Threads that come at
        the same time may each make the value; all get the first that is kept.
        """

        def __get__(self, instance, owner=None):
            if instance is None:
                return self
            return instance.__dict__.setdefault(self.attrname, self.func(instance))

"""Array arithmetic with numpy alone, independent of rankings."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from functools import cached_property as cached_property

    from numpy.typing import NDArray as NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Bools = NDArray[np.bool_]
    Bytes = NDArray[np.uint8]
    Words = NDArray[np.uint64]
else:  # numpy.typing costs a small command 3 M instructions
    Floats = Ints = Bools = Bytes = Words = NDArray = np.ndarray

    class cached_property(functools.cached_property):
        """functools.cached_property without a lock, as it is from Python 3.12 on.

        A process that is forked while a thread holds the lock would wait for it forever. Threads that come at
        the same time may each make the value; all get the first that is kept.
        """

        def __get__(self, instance, owner=None):
            if instance is None:
                return self
            return instance.__dict__.setdefault(self.attrname, self.func(instance))

"""Values of every kind, for arguments that a Python program may get wrong."""

import datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np


class Hostile:
    def _fails(self, *_: object) -> Any:
        raise RuntimeError("hostile")

    __bool__ = __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __hash__ = _fails
    __repr__ = __str__ = __len__ = __iter__ = __getitem__ = __contains__ = __float__ = __int__ = __index__ = (
        _fails
    )
    __array__ = __abs__ = __call__ = __getattr__ = __format__ = _fails


class HostilePath:
    def __fspath__(self) -> str:
        raise RuntimeError("hostile")


class NoPath:
    def __fspath__(self) -> Any:
        return 5


def failing():
    yield "AP"
    raise RuntimeError("hostile")


def junk() -> dict[str, Any]:
    return {
        "None": None, "True": True, "0": 0, "1": 1, "-1": -1, "1.5": 1.5, "nan": float("nan"),
        "inf": float("inf"), "-inf": float("-inf"), "1e200": 1e200, "-1e151": -1e151, "1e-200": 1e-200,
        "5e-324": 5e-324, "10**400": 10**400, "10**5000": 10**5000, "complex": 1 + 0j, "Decimal": Decimal(1),
        "Fraction": Fraction(1, 3), "huge Fraction": Fraction(10**400), "''": "", "'1'": "1", "'x'": "x",
        "NUL": "\0", "surrogate": "\ud800", "b''": b"", "b'1'": b"1", "bytearray": bytearray(b"1"), "[]": [],
        "[1]": [1], "[None]": [None], "[nan]": [float("nan")], "[[1]]": [[1]], "[b'1']": [b"1"],
        "['1', 'x']": ["1", "x"], "()": (), "(1,)": (1,), "{}": {}, "{'1': 1}": {"1": 1}, "set": {1},
        "range": range(2), "generator": (n for n in "12"), "failing generator": failing(),
        "[hostile]": [Hostile()], "np.bool": np.True_, "np.int64": np.int64(1), "np.uint8": np.uint8(1),
        "np.float32": np.float32(1.5), "np.float64": np.float64(2), "np.longdouble": np.longdouble("1e4000"),
        "np.complex128": np.complex128(1), "np.str_": np.str_("1"), "np.bytes_": np.bytes_(b"1"),
        "np.datetime64": np.datetime64("2020-01-01"), "np.timedelta64": np.timedelta64(1, "s"),
        "0-d array": np.array(1.0), "array": np.array([1, 2]), "array of texts": np.array(["1", "2"]),
        "2-d array": np.ones((2, 2)), "empty array": np.empty(0), "object array": np.array([None, "x"], object),
        "record array": np.array([(1, 2.0)], dtype=[("a", int), ("b", float)]), "object": object(), "type": int,
        "function": len, "module": np, "date": datetime.date(2020, 1, 1), "Ellipsis": ...,
        "NotImplemented": NotImplemented, "hostile": Hostile(), "hostile path": HostilePath(),
        "no path": NoPath(),
    }  # fmt: skip

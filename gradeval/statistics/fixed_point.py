"""Numbers as integers on a common grid, so that their sums are exact in any order.

The order in which a matrix product adds its terms differs between BLAS libraries, processors and numbers of
threads, and with it the last digits of the sum, which decide whether a resampled sum ties with the observed
one. Sums of integers below 2^53 are exact in float64, so no order can change them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gradeval.arrays import Floats


@dataclass(frozen=True)
class FixedPoint:
    """A matrix (Q, C) of finite numbers as two integers each: value = (high * 2^bits + low) * 2^exponent.

    parts: (Q, 2 C) integers in float64, the high ones before the low ones, at most 2^bits in magnitude; any Q
    of them add up to at most 2^51. exponent: (C,), of the column's largest number, less 2 bits.

    Numbers are rounded to 2^(-2 bits) of the column's largest: 2^-76 for 7,000 queries, where a float64 is
    itself rounded to 2^-53.
    """

    parts: Floats
    bits: int
    exponent: NDArray[np.int32]

    @classmethod
    def of(cls, values: Floats) -> FixedPoint:
        """The parts of values (Q, C), which are finite. Raises ValueError where they are not."""
        if not np.isfinite(values).all():
            raise ValueError("values must be finite")
        bits = 51 - len(values).bit_length()
        exponent = np.frexp(np.abs(values).max(axis=0, initial=0.0))[1]
        scaled = np.ldexp(values, bits - exponent)
        high = np.rint(scaled)
        low = np.rint(np.ldexp(scaled - high, bits))
        return cls(np.concatenate([high, low], axis=1), bits, exponent - 2 * bits)

    def value(self, sums: Floats) -> Floats:
        """Sums of parts (R, 2 C) as numbers (R, C), each rounded once."""
        columns = len(self.exponent)
        joined = np.ldexp(sums[:, :columns], self.bits) + sums[:, columns:]
        return np.ldexp(joined, self.exponent)

"""Subtraction of decimal numbers that are kept as floats."""

from __future__ import annotations

from decimal import Context, Decimal

import numpy as np

from gradeval.arrays import Floats, Ints
from gradeval.arrays.segments import distinct

_DIGITS = 15  # decimal numbers of so many digits are all different floats
_PLACES = 6  # most grades that are not whole have fewer decimals
_EXACT = Context(prec=800)  # for any two grades


def subtracted(values: Floats, number: float) -> Floats:
    """values - number, where each float stands for its shortest decimal text, as 1.2 does: (N,) -> (N,).

    Each result is the float nearest to the decimal difference, so that 1.2 - 1 is 0.2. Numbers of few digits
    are subtracted as integers of a decimal unit, all at once, others by the decimal module.
    """
    decimal = Decimal(repr(number))
    places = max(-int(decimal.as_tuple().exponent), 0)
    result = np.empty_like(values)
    rest: Ints = np.arange(len(values))
    for unit in (10**places, 10 ** max(places, _PLACES)):
        subtrahend = int(decimal * unit)
        if unit > 10**_DIGITS or abs(subtrahend) >= 10**_DIGITS:
            break
        count = np.rint(values[rest] * unit)
        # a text of up to 15 digits that reads as the float is its shortest, or as long
        fits = (np.abs(count) < 10**_DIGITS) & (count / unit == values[rest])
        result[rest[fits]] = (count[fits] - subtrahend) / unit
        rest = rest[~fits]
    longer = distinct(values[rest])
    differences = [float(_EXACT.subtract(Decimal(repr(one)), decimal)) for one in longer.tolist()]
    result[rest] = np.array(differences)[np.searchsorted(longer, values[rest])]
    return result

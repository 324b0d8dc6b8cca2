"""From grade to gain, and from rank to discount."""

from __future__ import annotations

import numpy as np

from gradeval.segments import Floats


def linear_gain(grade: Floats) -> Floats:
    """gain = grade, 0 below 0."""
    return np.maximum(grade, 0.0)


def exp2_gain(grade: Floats) -> Floats:
    """gain = 2^grade - 1, 0 below 0."""
    return np.exp2(np.maximum(grade, 0.0)) - 1


def log2_discount(rank: Floats) -> Floats:
    """1 / log2(rank + 1); 0 for rank inf."""
    return 1 / np.log2(rank + 1)

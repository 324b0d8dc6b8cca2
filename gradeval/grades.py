"""Which numbers may be grades: those whose sums, products and ratios stay exact floats in every metric.

The square of the largest and that of the smallest are floats with all their digits, and so is the largest
times any count of documents. Beyond them a sum can overflow, and a small gain lose its digits.
"""

from __future__ import annotations

SMALLEST, LARGEST = 1e-150, 1e150
RANGE = "0 or between 1e-150 and 1e150 in absolute value"


def is_grade(number: float) -> bool:
    """Whether a finite number is 0, or neither too large nor too close to 0."""
    return number == 0 or SMALLEST <= abs(number) <= LARGEST

"""The invariants a metric can declare; tests/registry/test_invariants.py checks them on every metric."""

from __future__ import annotations

IDEAL_IS_ONE = "the ideal ranking scores 1 if any document is relevant"
SCALE_FREE = "multiplying all grades by a positive number does not change the value"
PROMOTION_HELPS = "swapping a document with a higher-graded one below it never decreases the value"
BINARY_IS_AP = "with a single grade above 0 it equals AP"
REVERSAL_NEGATES = "reversing the ranking negates the value"
REVERSE_IS_ZERO = "the reversed ideal ranking scores 0"
UNJUDGED_IGNORED = "unjudged documents do not affect the value"

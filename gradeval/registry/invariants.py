"""What a metric can promise; tests/registry/test_invariants.py tries each on every metric that does."""

from __future__ import annotations

# The invariants a metric can promise; tests/metrics/test_invariants.py tries each on every metric that does.
IDEAL_IS_ONE = "the ideal ranking scores 1 where a document is relevant"
SCALE_FREE = "multiplying all grades by a positive number changes nothing"
PROMOTION_HELPS = "swapping a document with a better graded one below it never lowers the value"
BINARY_IS_AP = "with one grade above 0 it equals AP"
REVERSAL_NEGATES = "reversing the ranking turns the sign"
REVERSE_IS_ZERO = "the reversed ideal ranking scores 0"
UNJUDGED_IGNORED = "unjudged documents change nothing"

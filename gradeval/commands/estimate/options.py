"""The table of options of estimates; without numpy, since --help shows them."""

from typing import Any

from gradeval import options as opts
from gradeval.errors import is_number


def _is_weight(value: Any) -> bool:
    return is_number(value) and 0 <= value <= 1


WEIGHT = "a number from 0 to 1"
HEADING = "Estimate"  # of the help
_estimate = opts.section(HEADING)


class EstimateOptions(opts.OptionTable, init=False):
    """How the judgments of people and of a model are put together."""

    lambda_: float | None = _estimate(
        opts.OptionKind("grade", opts.must_be(WEIGHT, _is_weight), "float", metavar="X"),
        "How much the model's judgments count: 0 for not at all, 1 for plain prediction-powered inference. "
        "Default: chosen for each row, for the shortest interval.",
        flags="--lambda",
        python="how much the model's judgments count: 0 for not at all, 1 for plain prediction-powered "
        "inference; None: chosen for each estimate, for the shortest interval",
    )
    confidence: float = _estimate(opts.PERCENTAGE, "Of the intervals. Default: 95.", default=95.0)

    @property
    def alpha(self) -> float:
        """The level of the intervals."""
        return (100 - self.confidence) / 100

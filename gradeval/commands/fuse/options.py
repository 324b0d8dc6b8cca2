"""The table of options of fusions; without numpy, since --help shows them."""

import math
from typing import Any

from gradeval import options as opts
from gradeval.errors import OptionError, described, is_number

RRF, SUM, WSUM = METHODS = ("rrf", "sum", "wsum")
MINMAX, ZMUV, NO_NORM = NORMS = ("minmax", "zmuv", "none")
HEADING, TUNING = "Fusion", "Tuning"  # of the help
K = 60  # of rrf
FOLDS = 5
STEPS = 10  # from a weight of 0 to 1
_MOST = 10**9
_fusion, _tuning = opts.section(HEADING), opts.section(TUNING)


def _read_weights(name: str, weights: Any) -> tuple[float, ...] | None:
    """The weights of a list, or of a string such as '0.7,0.3'. Raises OptionError."""
    if weights is None:
        return None
    listed = weights.split(",") if isinstance(weights, str) else opts.iterable(name, weights)
    try:
        numbers = tuple(opts.parse_number(str(weight).strip()) for weight in listed)
    except ValueError:
        raise OptionError(f"{name} must be numbers such as 0.7,0.3, not {described(weights)}") from None
    if not any(numbers) or min(numbers) < 0:
        raise OptionError(f"{name} must be at least 0, and one of them above it")
    return numbers


def _is_step(value: Any) -> bool:
    """Whether it is 1/n."""
    return is_number(value) and 0.001 <= value <= 1 and math.isclose(round(1 / value) * value, 1)


STEP = "1 divided by an integer up to 1000, such as 0.1"


class FuseOptions(opts.OptionTable, init=False):
    """How runs are fused."""

    method: str = _fusion(
        opts.choice(*METHODS),
        "The sum of 1/(k + rank) over the runs that retrieve a document (rrf), of its normalized scores (sum), "
        "or of these by the weights of the runs (wsum).",
        default=RRF,
    )
    norm: str | None = _fusion(
        opts.choice(*NORMS),
        "The scores of each query and run for sum and wsum: from 0 to 1 (minmax), with mean 0 and standard "
        "deviation 1 (zmuv), or as they are (none). Default: minmax.",
    )
    weights: tuple[float, ...] | None = _fusion(
        opts.OptionKind("text", _read_weights, "str | Iterable[float]", metavar="LIST"),
        "Weights of the runs, in their order, such as 0.7,0.3, for wsum and rrf. Default: 1 for each.",
    )
    k: int | None = _fusion(opts.integer(1, _MOST, "K"), f"The constant of rrf. Default: {K}.")
    depth: int | None = _fusion(opts.integer(1, _MOST), "Fuse the first N documents of each run only.")
    top: int | None = _fusion(opts.integer(1, _MOST), "Write the first N documents of each query only.")
    tune: str | None = _tuning(
        opts.OptionKind(
            "metric",
            opts.must_be("the name of a metric", lambda value: isinstance(value, str)),
            "str",
            metavar="METRIC",
        ),
        "Choose the weights by this metric, with cross-validation over the queries of --qrels.",
    )
    folds: int | None = _tuning(
        opts.integer(2, 1000),
        f"Parts of the queries; each has the best weights of the others. Default: {FOLDS}.",
    )
    step: float | None = _tuning(
        opts.OptionKind("grade", opts.must_be(STEP, _is_step), "float", metavar="X"),
        "The step between weights, whose sum is 1. Default: 0.1.",
    )

    @property
    def constant(self) -> int:
        """Of rrf."""
        return self.k or K

    @property
    def normalization(self) -> str:
        return self.norm or MINMAX

    @property
    def fold_count(self) -> int:
        return self.folds or FOLDS

    @property
    def steps(self) -> int:
        """From a weight of 0 to 1."""
        return STEPS if self.step is None else round(1 / self.step)

    def _check_combination(self) -> None:
        if self.method == RRF and self.norm is not None:
            raise OptionError("norm applies to the methods sum and wsum only; rrf fuses ranks", "norm")
        if self.method != RRF and self.k is not None:
            raise OptionError(f"k applies to the method rrf only; {self.method} fuses scores", "k")
        if self.method == SUM and (self.weights is not None or self.tune is not None):
            raise OptionError("method=sum has no weights: choose wsum or rrf", "method")
        if self.tune is None and (self.folds is not None or self.step is not None):
            reason = "tune, which chooses the weights by a metric"
            raise OptionError(f"folds and step are of {reason}", "folds", "step", "tune")
        if self.weights is not None and self.tune is not None:
            reason = "tune chooses the weights"
            raise OptionError(f"weights and tune are mutually exclusive: {reason}", "weights", "tune")

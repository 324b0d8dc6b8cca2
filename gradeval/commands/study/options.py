"""The metrics of studies, and a table of the options of agreement, as gradeval.options has one of evaluations.

Nothing here imports numpy: --help needs the names and the defaults.
"""

from typing import Any

from gradeval.compare_options import CORRECTIONS, TESTS, TUKEY
from gradeval.errors import OptionError, described, is_grade
from gradeval.options import (
    METRICS,
    OF_GRADES,
    OF_QRELS,
    OF_RUN,
    Kind,
    Options,
    OptionTable,
    choice,
    integer,
    option,
    plain,
)

# by default
SWAPS_METRICS = "muAP NDCNG nDCG(gain=exp)"
LEVELS_METRICS = "muAP nDCG(gain=exp) NDCNG"
CRITERIA_METRICS = "tau AP(rel=2) nDCG rankDCG"
AGREEMENT_METRICS = "muAP NDCNG@10 nDCGphi@10 rankDCG nDCG@10 AP"
GRADES = "grades"  # a scope: it has an effect where only grades are compared, too


def _read_alpha(name: str, value: Any) -> float:
    value = plain(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise OptionError(f"alpha must lie between 0 and 1, not {described(value)}")
    if not 0 < value < 1:
        raise OptionError(f"alpha must lie between 0 and 1, not {value:g}")
    return value


def _read_factors(name: str, value: Any) -> tuple[float, ...]:
    try:
        factors = tuple(float(factor) for factor in value)
    except (TypeError, ValueError, OverflowError):
        raise OptionError(f"rescale must be positive numbers, not {described(value)}") from None
    for factor in factors:
        if not (factor > 0 and is_grade(factor)):
            raise OptionError(f"rescale must be positive numbers, not {factor:g}")
    return factors


class AgreementOptions(OptionTable):
    """How systems are compared."""

    test: str = option(
        choice(*(test for test in TESTS if test != "bootstrap"), listed=True),
        "--test",
        "",
        "The paired test of two systems; tukey is the randomized Tukey HSD test of all pairs.",
        default="t",
        python="the paired test of two systems; 'tukey' is the randomized Tukey HSD, its own correction",
    )
    correction: str = option(
        choice(*CORRECTIONS, listed=True),
        "--correction",
        "",
        "Of p for the number of pairs of systems.",
        default="holm",
    )
    alpha: float = option(
        Kind("grade", _read_alpha, "float", metavar="P"),
        "--alpha",
        "",
        "A pair is separated where its corrected p is below it; intervals have the confidence 1 - P.",
        default=0.05,
        scope={GRADES},
    )
    samples: int = option(
        integer(1, 10**9),
        "--samples",
        "",
        "Permutations of the tests randomization and tukey, and of maxt.",
        default=100_000,
    )
    splits: int = option(integer(1, 10**5), "--splits", "", "Random halves of the queries.", default=100)
    rescale: tuple[float, ...] = option(
        Kind("text", _read_factors, "Iterable[float]", metavar="LIST"),
        "--rescale",
        "",
        "Factors by which all grades are multiplied.",
        default=(0.5, 2.0),
    )
    seed: int = option(
        integer(0, 2**63 - 1), "--seed", "", "Seed of the random numbers.", default=1, scope={GRADES}
    )

    def _check_combination(self) -> None:
        if self.test == TUKEY and self.correction not in ("holm", "none"):
            raise OptionError("the p-values of Tukey's test are already corrected. Leave out the correction")


# what has no effect where only grades are compared
OF_SYSTEMS = (
    *("metrics", *AgreementOptions.names(without=(GRADES,))),
    *(name for name, row in Options.table.items() if row.section == METRICS and OF_GRADES not in row.scope),
    *("queries", *Options.names(within=OF_RUN, without=(OF_QRELS,))),
)

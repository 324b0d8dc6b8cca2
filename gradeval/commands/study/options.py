"""The metrics of studies, and the table of options of each; without numpy, since --help shows them."""

from collections.abc import Iterable
from typing import Any

from gradeval import options
from gradeval.compare_options import CORRECTIONS, TESTS, TUKEY
from gradeval.errors import OptionError, is_grade, is_number
from gradeval.options import METRICS, OF_GRADES, OF_QRELS, OF_RUN, Options, OptionTable

# by default
SWAPS_METRICS = "muAP NDCNG nDCG(gain=exp)"
LEVELS_METRICS = "muAP nDCG(gain=exp) NDCNG"
CRITERIA_METRICS = "tau AP(rel=2) nDCG rankDCG"
AGREEMENT_METRICS = "muAP NDCNG@10 nDCGphi@10 rankDCG nDCG@10 AP"
REUSE_METRICS = "nDCG@10 AP"
RANDOM = "random"  # a scope: it is about random scores
GRADES = "grades"  # a scope: it has an effect where only grades are compared, too
_LAST_SEED = 2**63 - 1


def _factor(value: Any) -> float:
    factor = float(value)
    if not (factor > 0 and is_grade(factor)):
        raise ValueError(value)
    return factor


def _is_share(value: Any) -> bool:
    return is_number(value) and 0 < value < 1


def _count(low: int, high: int, default: int, about: str, **fields: Any) -> Any:
    return options.option(options.integer(low, high), "", about, default=default, **fields)


class SwapsOptions(OptionTable, init=False):
    """The rankings and the number of swaps."""

    levels: tuple[int, ...] = options.option(
        # how many levels there may be depends on the number of documents
        options.several(
            "integers", lambda level: int(level) if isinstance(level, str) else level, "Iterable[int]"
        ),
        "",
        "Numbers of relevance levels L; the grades are 0 to L - 1.",
        default=(2, 10, 20, 50),
    )
    items: int = _count(2, 10**6, 100, "Documents of a ranking.")
    repeats: int = _count(1, 10**6, 100, "Rankings that are averaged.")
    swaps: int = _count(1, 10**6, 99, "The largest number of swaps.")
    seed: int = _count(0, _LAST_SEED, 1, "Seed of the random numbers.")
    jobs: int = Options.table["jobs"]  # type: ignore[assignment]


class DivergenceOptions(OptionTable, init=False):
    """The default metrics, and random scores."""

    cutoff: int = _count(1, 10**6, 10, "The cutoff of the default metrics, and the rank of the errors.")
    items: int = _count(2, 10**6, 100, "Without QRELS: documents of a ranking.", scope={RANDOM})
    draws: int = _count(1, 10**6, 1000, "Without QRELS: random rankings.", scope={RANDOM})
    seed: int = _count(0, _LAST_SEED, 1, "Without QRELS: seed of the random numbers.", scope={RANDOM})


class AgreementOptions(OptionTable, init=False):
    """How systems are compared."""

    test: str = options.option(
        options.choice(*(test for test in TESTS if test != "bootstrap"), listed=True),
        "",
        "The paired test of two systems; tukey is the randomized Tukey HSD test of all pairs.",
        default="t",
        python="the paired test of two systems; 'tukey' is the randomized Tukey HSD, its own correction",
    )
    correction: str = options.option(
        options.choice(*CORRECTIONS, listed=True), "", "Of p for the number of pairs of systems.", "holm"
    )
    alpha: float = options.option(
        options.OptionKind("grade", options.must_be("between 0 and 1", _is_share), "float", metavar="P"),
        "",
        "A pair is separated where its corrected p is below it; intervals have the confidence 1 - P.",
        default=0.05,
        scope={GRADES},
    )
    samples: int = _count(1, 10**9, 100_000, "Permutations of the tests randomization and tukey, and of maxt.")
    splits: int = _count(1, 10**5, 100, "Random halves of the queries.")
    rescale: tuple[float, ...] = options.option(
        options.several("positive numbers", _factor, "Iterable[float]"),
        "",
        "Factors by which all grades are multiplied.",
        default=(0.5, 2.0),
    )
    seed: int = _count(0, _LAST_SEED, 1, "Seed of the random numbers.", scope={GRADES})

    def _check_combination(self) -> None:
        if self.test == TUKEY and self.correction not in ("holm", "none"):
            raise OptionError("the p-values of Tukey's test are already corrected. Leave out the correction")


class ReuseOptions(OptionTable, init=False):
    """Which documents a run contributes."""

    pool_depth: int = _count(1, 10**9, 100, "The first K ranks of each run were pooled.", flags="--depth")


# what has no effect where only grades are compared
OF_SYSTEMS = (
    *AgreementOptions.rows(without=(GRADES,)),
    *(name for name, row in Options.table.items() if row.section == METRICS and OF_GRADES not in row.scope),
    *("queries", *Options.rows(within=OF_RUN, without=(OF_QRELS,))),
)


def refuse(table: OptionTable, names: Iterable[str], why: str) -> None:
    """Raise OptionError where one of these options is not its default."""
    for name in names:
        if name in table.table and getattr(table, name) != table.table[name].default:
            raise OptionError(f"{name} {why}", name)

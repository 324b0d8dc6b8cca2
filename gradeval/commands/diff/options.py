"""The table of options of differences between rankings; without numpy, since --help shows them."""

from typing import Any

from gradeval import options as opts
from gradeval.errors import OptionError, is_number

HEADING = "Difference"  # of the help
RBO_TIES = ("b", "w", "a")
PERSISTENCE = "a number between 0 and 1"
MOST = 10**9
_diff = opts.section(HEADING)


def is_persistence(value: Any) -> bool:
    return is_number(value) and 0 < value < 1


def _cutoff(value: Any) -> int:
    cutoff = int(value) if isinstance(value, str) else value
    if isinstance(cutoff, bool) or not isinstance(cutoff, int) or not 1 <= cutoff <= MOST:
        raise ValueError(value)
    return cutoff


def _read_cutoffs(name: str, value: Any) -> tuple[int, ...]:
    cutoffs: tuple[int, ...] = _several.read(name, [value] if isinstance(value, int) else value)
    return cutoffs


_several = opts.several("positive integers", _cutoff, "int | Iterable[int]")


class DiffOptions(opts.OptionTable, init=False):
    """What is compared of two rankings, and how deep."""

    p: float = _diff(
        opts.OptionKind("grade", opts.must_be(PERSISTENCE, is_persistence), "float", metavar="P"),
        "Of RBO: the probability that a user continues to the next rank; the first 10 ranks have 86 % of the "
        "weight with 0.9. Default: 0.9.",
        default=0.9,
        flags="-p",
        python="of RBO: the probability that a user continues to the next rank",
    )
    rbo_ties: str = _diff(
        opts.choice(*RBO_TIES),
        "Tied scores in RBO: documents that share ranks (b, w), so that a run with ties equals itself, or an "
        "unknown order (a).",
        default="b",
        python="tied scores in RBO: 'b' and 'w' have documents share ranks, 'a' takes them as an unknown order",
    )
    k: tuple[int, ...] = _diff(
        _several.replace(read=_read_cutoffs),
        "The first K ranks of the other measures; several with commas. Default: 10.",
        default=(10,),
        flags="-k",
        python="the numbers of first ranks that the other measures compare",
    )
    diff_depth: int = _diff(
        opts.integer(1, MOST, "N"),
        "Compare the first N ranks of each query. Default: 1000.",
        default=1000,
        flags="--depth",
        python="how many ranks of each query are compared",
    )
    worst: int = _diff(
        opts.integer(0, MOST),
        "Show the N queries that changed most (lowest RBO) side by side.",
        default=0,
        python="how many of the queries that changed most are kept side by side",
    )

    def _check_combination(self) -> None:
        if not self.k:
            raise OptionError("k: no number of ranks given", "k")
        if max(self.k) > self.diff_depth:
            ranks = f"{max(self.k):,} ranks are more than the depth, {self.diff_depth:,}"
            hint = f"Add -k {min(self.diff_depth, 10)}, or a larger --depth"
            raise OptionError(f"k: {ranks}. {hint}", "k", "diff_depth")

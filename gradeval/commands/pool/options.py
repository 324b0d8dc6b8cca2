"""The table of options of pools; without numpy, since --help shows them."""

from typing import Any

from gradeval import options as opts
from gradeval.errors import OptionError

DEPTH, RRF, EFFECT, DECIDE, SAMPLE = ORDERS = ("depth", "rrf", "effect", "decide", "sample")
BY_METRIC = (EFFECT, DECIDE)
METRIC = "nDCG@10"
HEADING = "Pool"  # of the help
_MOST = 10**9
_pool = opts.section(HEADING)


def _count(about: str, default: int | None = None, metavar: str = "N", **fields: Any) -> Any:
    return _pool(opts.integer(1, _MOST, metavar), about, default=default, **fields)


class PoolOptions(opts.OptionTable, init=False):
    """Which of the unjudged documents are judged next, and in which order."""

    order: str | None = _pool(
        opts.choice(*ORDERS),
        "By best rank (depth); by reciprocal rank fusion (rrf); by how much a judgment can change a mean, or "
        "the difference of two runs (effect); so that few judgments decide which of two runs is better "
        "(decide); or a random sample of queries with all their unjudged documents (sample). Default: decide "
        "for two runs with qrels, else depth.",
    )
    pool_depth: int = _count(
        "Documents of the first K ranks of each run. Default: 100.", 100, "K", flags="--depth"
    )
    top: int | None = _count("The first N documents only.")
    per_query: int | None = _count("The first N documents of each query only.")
    size: int | None = _count("With --order sample: the number of queries.")
    seed: int = _pool(opts.integer(0, 2**63 - 1), "Seed of the sample. Default: 1.", default=1)

    def _check_combination(self) -> None:
        if (self.order == SAMPLE) != (self.size is not None):
            raise OptionError("order=sample and size require each other", "order", "size")

"""AP and bpref on scales that give difficult queries more weight in the mean."""

from __future__ import annotations

from gradeval.arrays import Floats
from gradeval.arrays.segments import natural_log
from gradeval.metrics._kernels import SCALE_FREE_HITS
from gradeval.metrics.average_precision import average_precision
from gradeval.metrics.bpref import binary_preference
from gradeval.registry.invariants import BINARY_IS_AP, IDEAL_IS_ONE, PROMOTION_HELPS, UNJUDGED_IGNORED
from gradeval.registry.metric import Kind, metric
from gradeval.registry.params import Rel
from gradeval.tables.judgments import Judgments
from gradeval.tables.terms import Terms


@metric(
    "gm_map",
    invariants=[IDEAL_IS_ONE, SCALE_FREE_HITS, PROMOTION_HELPS, BINARY_IS_AP.unless("rel")],
    aliases=["GMAP"],
    kind=Kind.GEOMETRIC,
    needs_relevant=True,
)
def geometric_average_precision(judgments: Judgments, *, rel: Rel = None) -> Terms:
    """Geometric mean of average precision: difficult queries have more weight than in the mean.

    Use when improving the worst queries matters more than improving good ones.
    Not when single values are read: it is dominated by queries near 0, and by the limit 0.00001.

    gm_map = exp((sum over the queries of ln max(AP, 0.00001)) / queries).

    Source: Robertson, "On GMAP: and other transformations", CIKM 2006; as in trec_eval.
    """
    terms = average_precision(judgments, rel=rel)
    return terms.replace(expected_total=None)  # its mean over the orders would be that of a logarithm


@metric(
    "gm_bpref",
    invariants=[IDEAL_IS_ONE, SCALE_FREE_HITS, UNJUDGED_IGNORED],
    kind=Kind.GEOMETRIC,
    needs_relevant=True,
)
def geometric_binary_preference(judgments: Judgments, *, rel: Rel = None) -> Terms:
    """Geometric mean of bpref.

    Use when as gm_map, for incomplete judgments.
    Not when single values are read: it is dominated by queries near 0.

    gm_bpref = exp((sum over the queries of ln max(bpref, 0.00001)) / queries).

    Source: Buckley, trec_eval.
    """
    return binary_preference(judgments, rel=rel)


@metric("yaap", range=(None, None), invariants=[SCALE_FREE_HITS, PROMOTION_HELPS])
def yet_another_average_precision(judgments: Judgments, *, rel: Rel = None) -> Floats:
    """Yet another average precision: AP as log odds.

    Use when AP is to be compared by tests or models that assume unbounded values.
    Not when the value is to be read by itself: log odds have no simple meaning.

    yaap = ln((1 + S) / (1 + R - S)), with S the sum of P at the ranks of the relevant documents retrieved,
    and R the number of relevant documents.

    Source: Robertson, "On smoothing average precision", ECIR 2012.
    """
    hits = judgments.hits(rel)
    total = hits.segments.sum(hits.precision)
    return natural_log((1 + total) / (1 + hits.relevant - total))

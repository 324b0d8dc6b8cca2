"""Studies of metrics: the experiments of the papers that gradeval's metrics come from, on any data.

swaps        how metrics fall as pairs of an ideal ranking are swapped (Scheel et al. 2011)
levels       average precision at every threshold, and the metrics that combine them (Scheel et al. 2011)
divergence   nDCG beside nDCGφ, where the gaps between grades matter (Moniz et al. 2016)
criteria     which of four criteria a metric meets (Katerenchuk and Rosenberg 2016)
agreement    whether metrics, and judgments, order systems alike
"""

# gradeval.study.swaps is the function; its module, of the same name, is in sys.modules
from gradeval.commands.study.agreement import agreement as agreement
from gradeval.commands.study.criteria import criteria as criteria
from gradeval.commands.study.divergence import divergence as divergence
from gradeval.commands.study.levels import levels as levels
from gradeval.commands.study.swaps import swaps as swaps

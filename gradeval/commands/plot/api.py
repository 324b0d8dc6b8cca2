"""Pictures, saved as SVG, PNG or PDF with matplotlib; queries and curves are drawn in characters too.

queries   the value of each query, the highest first; of several runs, differences from a baseline
curve     a metric by its cutoff, or precision by recall
phi       φ of nDCGφ by grade
swaps     how metrics fall as pairs of an ideal ranking are swapped
"""

# gradeval.plot.queries is the function; its module, of the same name, is in sys.modules
from gradeval.commands.plot.curve import curve as curve
from gradeval.commands.plot.phi import phi as phi
from gradeval.commands.plot.queries import queries as queries
from gradeval.commands.plot.swaps import swaps as swaps

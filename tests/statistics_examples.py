"""Data of published worked examples. What was found in them stands in the tests that use them.

It stands here since tests/statistics must be no package: it would hide the standard library's statistics.
"""

import numpy as np

# Darwin's maize, crossed less self-fertilized, in eighths of an inch: Fisher, "The Design of Experiments",
# 1935, sections 17 and 21
MAIZE = np.array([49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48], np.float64)

# hours of sleep gained by one drug over the other: Student, "The probable error of a mean", Biometrika 1908
SLEEP = np.array([1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4])

# Hamilton depression scale, first visit less second: Hollander and Wolfe, "Nonparametric Statistical Methods",
# 1973, example 3.1
DEPRESSION = np.array([1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30]) - np.array(
    [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29]
)

# effectiveness of B less A on ten queries: Croft, Metzler and Strohman, "Search Engines: Information Retrieval
# in Practice", 2010, section 8.6.1
TEN_QUERIES = np.array([35, 84, 15, 75, 68, 85, 80, 50, 58, 75], np.float64) - np.array(
    [25, 43, 39, 75, 43, 15, 20, 52, 49, 50]
)

# 20 topics by 3 runs: table 5.1 of Sakai's book on methods of evaluating information access (in Japanese), 2015
SAKAI = (
    np.array(
        [
            [7, 3, 2, 6, 4, 4, 0, 7, 1, 3, 5, 4, 0, 6, 5, 3, 1, 5, 2, 1],
            [5, 1, 0, 2, 4, 3, 0, 5, 3, 3, 4, 4, 1, 4, 2, 1, 1, 6, 3, 2],
            [0, 0, 2, 1, 3, 3, 1, 2, 4, 4, 4, 3, 3, 2, 2, 2, 1, 5, 4, 3],
        ]
    ).T
    / 10
)

# 15 p-values of a study of thrombolysis: Benjamini and Hochberg, "Controlling the false discovery rate", 1995,
# section 3.2
THROMBOLYSIS = np.array(
    [
        *(0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344),
        *(0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0000),
    ]
)

"""Significance tests, intervals and power for values paired by query. Pure functions on numpy arrays.

differences   paired differences and what describes them: n, mean, sd, effect size, wins, ties, losses
tests         the paired tests by name: p, and the interval that belongs to it
intervals     confidence intervals: inverted tests, and the bootstrap's BCa
corrections   p-values corrected for a family: Holm, Bonferroni, Benjamini-Hochberg, maxT
tukey_hsd     the randomized Tukey HSD test of all pairs of systems
anova         two-way analysis of variance, system by query
power         what difference n queries can show, and how many queries a difference needs
sign_flips    random signs for the queries, and exact sums of signed differences
bootstrap     random resamples of the queries, and the exact sums of their differences
fixed_point   numbers as integers on a common grid, so that their sums are exact in any order
sampling      how many samples to draw, from which seed, on how many threads; the random streams

Every function is independent of the metric: a difference has the unit of the values it was made from. Rows
are queries. A random sign, resample or permutation belongs to the row's position, so pass the rows in an
order that does not depend on the input files, such as by query id.
"""

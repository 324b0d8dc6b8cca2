"""Significance tests, intervals and power for values paired by query. Pure functions on numpy arrays.

tests         paired differences and what describes them; the paired tests by name: p, and their interval
intervals     confidence intervals: inverted tests, and the bootstrap's BCa
corrections   p-values corrected for a family: Holm, Bonferroni, Benjamini-Hochberg, maxT
anova         several systems at once: two-way analysis of variance, and the randomized Tukey HSD test
correlation   orders of systems: Kendall's tau, the AP correlation, random halves of the queries; Spearman's rho
power         what difference n queries can show, and how many queries a difference needs
sampling      random sign flips, resamples and permutations: their number, streams and exact sums

Every function is independent of the metric: a difference has the unit of the values it was made from. Rows
are queries. A random sign, resample or permutation belongs to the row's position, so pass the rows in an
order that does not depend on the input files, such as by query id.
"""

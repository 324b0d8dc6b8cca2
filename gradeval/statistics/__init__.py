"""Significance tests, intervals and power for values paired by query. Pure functions on numpy arrays.

Every function is independent of the metric: a difference has the unit of the values it was made from. Rows
are queries. A random sign, resample or permutation belongs to the row's position, so pass the rows in an
order that does not depend on the input files, such as by query id.
"""

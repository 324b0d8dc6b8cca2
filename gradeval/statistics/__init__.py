"""Significance tests, intervals and power for values paired by query. Pure functions on numpy arrays.

A difference has the unit of the values it was made from. Rows are queries. Random signs and resamples belong to
the row's position, so pass rows in an order that does not depend on the input files, such as by query id.
"""

"""The metrics, a family a module. A docstring is the page of a metric: what it is, its use, formula and source.

Each returns a value for each query, float64 (Q,), within its declared range, in the unit of its formula (most
have none), and 0 where nothing that it counts is judged or retrieved; 'Returns' adds what else there is.
"""

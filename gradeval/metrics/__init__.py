"""The metrics, a family a module. A docstring is the metric's page: what it is, when to use it, formula, source.

Each returns a value for each query, float64 (Q,), within its declared range, in the unit of its formula (most
have none), and 0 where nothing that it counts is judged or retrieved; 'Returns' adds what else there is.
"""

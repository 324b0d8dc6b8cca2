"""Evaluation on Spark, for more queries than one machine holds.

    >>> results = gradeval.spark.evaluate(qrels, runs, "nDCG@10 AP")  # Spark's data frames
    >>> print(results.summary())
    >>> results.per_query().write.parquet("values.parquet")

The queries are divided into buckets; the judgments and the rows of all runs for a bucket meet in one task as
Arrow tables, and are evaluated there by what evaluates files. What is kept of a bucket is small, and is merged
in a fixed order: a job that runs twice, or whose tasks are retried, prints the same digits.

Requires the extra gradeval[spark], and Java. On one machine, gradeval.evaluate() is faster.
"""

from gradeval.spark.merge import SparkSummary
from gradeval.spark.results import SparkResults, evaluate
from gradeval.spark.session import session

__all__ = ["SparkResults", "SparkSummary", "evaluate", "session"]

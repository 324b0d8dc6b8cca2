"""Evaluation on Spark, for more queries than one machine holds.

    >>> results = gradeval.spark.evaluate(qrels, runs, "nDCG@10 AP")  # Spark's data frames
    >>> print(results.summary())
    >>> results.per_query().write.parquet("values.parquet")

The queries are divided into buckets; the judgments and the rows of all runs for a bucket meet in one task as
Arrow tables, and are evaluated there by the code that evaluates files. The state of a bucket is small, and is
merged in a fixed order: a job that runs twice, or whose tasks are retried, prints the same digits.

Requires the extra gradeval[spark], and Java. On one machine, gradeval.evaluate() is faster.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gradeval.spark.kernel import SparkSummary as SparkSummary
    from gradeval.spark.results import SparkResults as SparkResults
    from gradeval.spark.results import evaluate as evaluate
    from gradeval.spark.sessions import session as session

__all__ = ["SparkResults", "SparkSummary", "evaluate", "session"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'gradeval.spark' has no attribute '{name}'")
    from gradeval.spark import results, sessions  # the help of the command needs neither

    return getattr(sessions if name == "session" else results, name)


def __dir__() -> list[str]:
    return __all__

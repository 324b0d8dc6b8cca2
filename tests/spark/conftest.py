"""One local Spark session for all tests, which are run by `make test-spark` only."""

from collections.abc import Iterator
from typing import Any

import pytest

from gradeval.spark import session

PYSPARK_WARNS = ("ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::ResourceWarning")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("spark"):
            for filtered in PYSPARK_WARNS:
                item.add_marker(pytest.mark.filterwarnings(filtered))


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    settings = {"spark.sql.shuffle.partitions": "2", "spark.default.parallelism": "2"}
    made = session("local[2]", settings.items())
    yield made
    made.stop()

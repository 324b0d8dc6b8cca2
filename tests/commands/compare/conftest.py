"""Files to compare, in the current folder."""

from pathlib import Path

import pytest
from cli.graded import query_ids, write_graded


@pytest.fixture
def compare_files(folder: Path) -> Path:
    """qrels of 30 queries; the runs good, fair and poor of them; and the files of folder."""
    write_graded(query_ids(30), {"good": 3, "fair": 5, "poor": 7})
    return folder

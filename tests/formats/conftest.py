"""What tests of formats share."""

from __future__ import annotations

import pytest

from gradeval.formats.sources import Source


@pytest.fixture
def file(tmp_path):
    """Writes a file, under a name that says nothing of its content, and gives its source."""

    def write(content, name="some.run"):
        path = tmp_path / name
        path.write_bytes(content)
        return Source(str(path))

    return write

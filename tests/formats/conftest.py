"""What tests of formats share."""

import pytest

from formats.reading import Small
from gradeval.formats import sources


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("formats") / "file"


@pytest.fixture
def put(tmp_path):
    """Writes a file whose name says nothing, and gives a source that reads blocks of this size."""

    def write(content, size=sources.BLOCK):
        (tmp_path / "file").write_bytes(content)
        return Small(tmp_path / "file", size)

    return write

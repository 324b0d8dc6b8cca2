"""What tests of formats share."""

import pytest

from formats.reading import Small
from gradeval.formats import sources
from gradeval.formats.sources import Source


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("formats") / "file"


@pytest.fixture
def file(tmp_path):
    """Writes a file, under a name that says nothing of its content, and gives its source."""

    def write(content, name="some.run"):
        path = tmp_path / name
        path.write_bytes(content)
        return Source(str(path))

    return write


@pytest.fixture
def put(tmp_path):
    """Writes a file whose name says nothing, and gives a source that reads blocks of this size."""

    def write(content, size=sources.BLOCK):
        path = tmp_path / "file"
        path.write_bytes(content)
        return Small(path, size)

    return write

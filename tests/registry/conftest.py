"""A fixture that installs plugins."""

from types import SimpleNamespace

import pytest
from helpers import own_metrics_only


@pytest.fixture
def plugin(monkeypatch):
    """Installs entry points, each a function that is called where it is loaded, for the time of a test."""

    def install(*loads):
        points = [SimpleNamespace(value=f"toy{i}", load=load_one) for i, load_one in enumerate(loads)]
        monkeypatch.setattr("importlib.metadata.entry_points", lambda group: points)
        forget()

    with own_metrics_only() as forget:
        yield install

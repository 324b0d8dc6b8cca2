"""A fixture that installs plugins."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from gradeval.registry import plugins, spec
from gradeval.registry.metric import REGISTRY, load


@pytest.fixture
def plugin(monkeypatch):
    """Installs entry points, each a function that is called where it is loaded, for the time of a test."""

    load()

    def forget():
        plugins.load_plugins.cache_clear()
        spec._names.cache_clear()

    def install(*loads):
        points = [SimpleNamespace(value=f"toy{i}", load=load_one) for i, load_one in enumerate(loads)]
        monkeypatch.setattr("importlib.metadata.entry_points", lambda group: points)
        forget()

    known = dict(REGISTRY)
    yield install
    REGISTRY.clear()
    REGISTRY.update(known)
    forget()

"""A browser."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .browser import Browser


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    found = Browser(tmp_path_factory.mktemp("profile"))
    yield found
    found.close()


@pytest.fixture
def browser(chromium: Browser) -> Iterator[Browser]:
    """The browser; a page must not have had problems in it."""
    yield chromium
    assert chromium.problems() == []

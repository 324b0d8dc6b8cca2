"""A report, and a browser."""

from collections.abc import Iterator

import pytest

import gradeval
from commands.groups import QRELS, RUNS
from gradeval.commands.report.report import Report

from .chromium import Browser

METRICS = "nDCG@10 AP muAP rankDCG F@10"


@pytest.fixture(scope="package")
def report() -> Report:
    return gradeval.report(QRELS, RUNS, METRICS, explain=10)


@pytest.fixture(scope="package")
def html(report: Report) -> str:
    return report.render()


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

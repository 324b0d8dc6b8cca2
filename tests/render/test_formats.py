"""Every format against its whole output."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers import each

import gradeval
from gradeval.errors import OptionError
from gradeval.evaluation.results import Results
from gradeval.render import WRITERS

GOLDEN = Path(__file__).parent / "golden"


@each("format", WRITERS)
def test_whole_output(format: str, results: Results) -> None:
    text = results.render(format, per_query=True).replace(f'"{gradeval.__version__}"', '"VERSION"')
    assert text.encode(errors="surrogateescape") == (GOLDEN / f"{format}.txt").read_bytes()


@each("format", WRITERS)
def test_results_render_themselves(format: str, results: Results) -> None:
    assert results.render(format) == results.render(format)
    more = {"per_query": True, "summary": False, "digits": 2}
    assert results.render(format, **more) == results.render(format, **more)


@each("format", WRITERS)
def test_parts_are_left_out(format: str, results: Results) -> None:
    summary = results.render(format)
    queries = results.render(format, per_query=True, summary=False)
    assert "a|b" not in summary and "q2" not in summary
    assert "0.5333" not in queries and "0.6250" not in queries  # means
    assert "q2" in queries


@each("format", [name for name in WRITERS if name != "json"])
def test_nothing_wanted_is_nothing_but_a_head(format: str, results: Results) -> None:
    head = {"tsv": "run\tquery\tmetric\tvalue\n", "csv": "run,query,metric,value\n"}.get(format, "")
    assert results.render(format, summary=False) == head


@each("format", WRITERS)
def test_num_q_alone_has_nothing_to_say_of_a_query(format: str, make) -> None:
    text = make("num_q", {"a": [[1, 1]]}).render(format, per_query=True)
    assert "q1" not in text.replace("num_q", "") or format in ("table", "md", "latex")
    assert "2" in text


@each("format", WRITERS)
def test_no_run_and_no_query(format: str, make) -> None:
    Results("qrels", None, (), (), ()).render(format, per_query=True)
    make("AP P@5", {"a": [[], []]}).render(format, per_query=True)


def test_unknown_format(results: Results) -> None:
    with pytest.raises(OptionError, match="unknown format 'xml': choose from table, tsv"):
        results.render("xml")
    with pytest.raises(OptionError, match="unknown format"):
        results.render([])


@pytest.mark.parametrize("digits", [-1, 2.5, "all", 101, 10**400])
def test_bad_digits(digits, results: Results) -> None:
    with pytest.raises(OptionError, match="digits"):
        results.render("tsv", digits=digits)

"""Every format against its whole output."""

from pathlib import Path

from helpers import each, golden, raises

import gradeval
from gradeval.errors import OptionError
from gradeval.evaluation.results import Results
from gradeval.render import WRITERS

GOLDEN = Path(__file__).parent / "golden"


@each("format", WRITERS)
def test_whole_output(format: str, results: Results) -> None:
    text = results.render(format, per_query=True).replace(f'"{gradeval.__version__}"', '"VERSION"')
    assert text.encode(errors="surrogateescape") == golden(GOLDEN / f"{format}.txt")


@each("format", WRITERS)
def test_parts_are_left_out(format: str, results: Results, make) -> None:
    """The summary, the queries, both; and what has nothing to say of a query, or no query."""
    summary = results.render(format)
    queries = results.render(format, per_query=True, summary=False)
    assert "a|b" not in summary and "q2" not in summary
    assert "0.5333" not in queries and "0.6250" not in queries  # means
    assert "q2" in queries
    head = {"tsv": "run\tquery\tmetric\tvalue\n", "csv": "run,query,metric,value\n"}.get(format, "")
    assert results.render(format, summary=False) == head or format == "json"
    text = make("num_q", {"a": [[1, 1]]}).render(format, per_query=True)
    assert "q1" not in text.replace("num_q", "") or format in ("table", "md", "latex")
    assert "2" in text
    Results("qrels", None, (), (), ()).render(format, per_query=True)
    make("AP P@5", {"a": [[], []]}).render(format, per_query=True)


def test_unknown_formats_and_digits(results: Results) -> None:
    raises(OptionError, "unknown format 'xml': choose from table, tsv", results.render, "xml")
    raises(OptionError, "unknown format", results.render, [])
    for digits in (-1, 2.5, "all", 101, 10**400):
        raises(OptionError, "digits", results.render, "tsv", digits=digits)

"""trec_eval's file of means and deviations, for z-scores."""

from __future__ import annotations

from gradeval.errors import InputError
from gradeval.formats.fields import read_fields
from gradeval.formats.sources import Source
from gradeval.options import parse_number


def read_zscores(path: str) -> dict[tuple[str, str], tuple[float, float]]:
    """The 'query measure mean deviation' lines of a file. Raises InputError."""
    scores: dict[tuple[str, str], tuple[float, float]] = {}
    for number, fields in read_fields(Source(path)):
        if len(fields) != 4:
            count = f"{len(fields)} field{'s' * (len(fields) != 1)}"
            what = f"{count} where a line has 4 (query measure mean deviation)"
            raise InputError(path, what, line=number + 1)
        query, measure, *rest = fields
        try:
            mean, deviation = map(parse_number, rest)
        except ValueError:
            what = f"'{rest[0]} {rest[1]}' are not two numbers"
            raise InputError(path, what, line=number + 1) from None
        if (query, measure) in scores:
            raise InputError(path, f"duplicate {measure} of query '{query}'", line=number + 1)
        scores[query, measure] = mean, deviation
    if not scores:
        raise InputError(path, "the file is empty")
    return scores

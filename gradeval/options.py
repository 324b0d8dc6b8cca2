"""How to read and evaluate: every option, its default and its range, for the command line and for Python."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from numbers import Integral, Real
from typing import Any

from gradeval.errors import OptionError

DEFAULT_METRICS = "num_q muAP NDCNG@10 nDCGphi@10 rankDCG nDCG@10 AP"
QUERIES = ("judged", "both")
TIES = ("trec", "input", "best", "worst")
QRELS_FORMATS = ("trec", "letor")
RUN_FORMATS = ("trec", "letor", "scores")
RANGES = {"depth": (1, 10**9), "jobs": (0, 1000), "qrels_feature": (0, 10**7 - 1)}


@dataclass(frozen=True, kw_only=True)
class Options:
    """How to read and evaluate. Raises OptionError for a value out of range.

    rel: the least relevant grade (None: any above 0). depth: ranks below it do not count (None: all do).
    judged_only: rankings close up over unjudged documents. queries: 'judged' averages over all queries of the
    qrels, a missing one scoring 0; 'both' over those that the run has too. query_ids: only these count (None:
    all). ties: how equal scores are ordered: 'trec' by document id descending as bytes, 'input' as they stand,
    'best' or 'worst' by grade. zero_grade: taken from every grade first. by_level: a metric AP(rel=t) for each
    grade t above 0, before muAP. jobs: threads (0: as many as there are processors).

    qrels_format, run_format: one of QRELS_FORMATS, RUN_FORMATS (None: told from the content). features: the
    features of LETOR files that are runs. qrels_feature: the feature of a LETOR file that is the grade (None:
    its label). groups: the file of group sizes of SVMlight files without qid (None: FILE.query or FILE.group).
    """

    rel: float | None = None
    depth: int | None = None
    judged_only: bool = False
    queries: str = "judged"
    query_ids: tuple[str, ...] | None = None
    ties: str = "trec"
    zero_grade: float = 0.0
    by_level: bool = False
    jobs: int = 0
    qrels_format: str | None = None
    run_format: str | None = None
    features: tuple[int, ...] = ()
    qrels_feature: int | None = None
    groups: str | None = None

    def __post_init__(self) -> None:
        self._check_choice("queries", QUERIES)
        self._check_choice("ties", TIES)
        self._check_choice("qrels_format", (None, *QRELS_FORMATS))
        self._check_choice("run_format", (None, *RUN_FORMATS))
        for name, (least, most) in RANGES.items():
            value = getattr(self, name)
            is_whole = isinstance(value, int) and not isinstance(value, bool)
            if value is not None and not (is_whole and least <= value <= most):
                raise OptionError(f"{name} must be a whole number from {least} to {most}, not {value!r}")
        if self.query_ids == ():
            raise OptionError("query_ids: no query is named")
        for name in ("rel", "zero_grade"):
            value = getattr(self, name)
            if value is not None and not _is_finite(value):
                raise OptionError(f"{name} must be a finite number, not {value!r}")
        for name in ("judged_only", "by_level"):
            if not isinstance(getattr(self, name), bool):
                raise OptionError(f"{name} must be true or false, not {getattr(self, name)!r}")

    def _check_choice(self, name: str, choices: Sequence[str | None]) -> None:
        value = getattr(self, name)
        if value not in choices:
            raise OptionError(f"{name} must be {' or '.join(filter(None, choices))}, not {value!r}")

    @classmethod
    def of(cls, **given: Any) -> Options:
        """Options from what a Python caller writes: lists, or '401,402' for ids, '1,5,9-12' for features.

        An id with a comma in it needs a list.
        """
        unknown = set(given) - {field.name for field in fields(cls)}
        if unknown:
            names = ", ".join(field.name for field in fields(cls))
            raise OptionError(f"there is no option {sorted(unknown)[0]}: there are {names}")
        given = {name: _plain(value) for name, value in given.items()}
        ids, groups, features = given.get("query_ids"), given.get("groups"), given.get("features", ())
        if ids is not None:
            each = (
                parse_ids(_text(ids))
                if isinstance(ids, (str, bytes))
                else map(_text, _several("query_ids", ids))
            )
            given["query_ids"] = tuple(each)
        if groups is not None:
            if not isinstance(groups, (str, bytes)) and not hasattr(groups, "__fspath__"):
                raise OptionError(f"groups must be a path, not {groups!r}")
            given["groups"] = os.fsdecode(groups)
        given["features"] = parse_features(
            [features] if isinstance(features, (str, int)) else _several("features", features)
        )
        return cls(**given)

    def to_dict(self) -> dict[str, object]:
        """What decides the values, as JSON can hold it."""
        return {field.name: getattr(self, field.name) for field in fields(self) if field.name != "jobs"}


def _plain(value: Any) -> Any:
    """A number or truth of numpy's as Python's own, anything else as it is."""
    if type(value).__name__.startswith("bool"):
        return bool(value)
    if isinstance(value, Integral):
        return int(value)
    return float(value) if isinstance(value, Real) else value


def _is_finite(value: Any) -> bool:
    try:
        return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:
        return False


def _several(name: str, values: Any) -> Iterable[Any]:
    if isinstance(values, Iterable):
        return values
    raise OptionError(f"{name} must be several, or a text that names them, not {values!r}")


def _text(value: Any) -> str:
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else str(value)


def parse_ids(text: str) -> tuple[str, ...]:
    """'401, 402' -> the ids, which commas or spaces part."""
    return tuple(filter(None, re.split("[, \t\r\n]+", text)))


def parse_features(texts: Iterable[str | int]) -> tuple[int, ...]:
    """'1,5,9-12' -> the features, in order, each once. Raises OptionError."""
    features: dict[int, None] = {}
    for item in (item.strip() for text in texts for item in str(text).split(",")):
        low, dash, high = item.partition("-")
        if not _is_whole(low) or (dash and not _is_whole(high)):
            raise OptionError(f"features are numbers and ranges such as 1,5,9-12, not '{item}'")
        first, last = int(low), int(high or low)
        if last < first or last >= 10**7:
            raise OptionError(f"feature range '{item}' must go up, to 9999999 at most")
        features.update(dict.fromkeys(range(first, last + 1)))
    return tuple(features)


def _is_whole(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 20

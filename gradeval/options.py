"""Options of reading and evaluation, with their defaults and ranges, for the command line and for Python."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass, fields
from numbers import Integral, Real
from typing import Any

from gradeval.errors import OptionError, described, named
from gradeval.grades import RANGE, is_grade

DEFAULT_METRICS = "num_q muAP NDCNG@10 nDCGphi@10 rankDCG nDCG@10 AP"
QUERIES = ("judged", "both")
TIES = ("trec", "input", "best", "worst")
DEFAULT_TIES = "trec"
LETOR_TIES = "input"  # of features and scores, as in Eval-Score-3.0 and LightGBM
NO_RELEVANT = {"0": 0.0, "1": 1.0, "skip": math.nan}
DEFAULT_NO_RELEVANT = "0"
_TABLES = ("csv", "tsv", "json", "jsonl", "parquet", "arrow")
QRELS_FORMATS = ("trec", "letor", "beir", *_TABLES)
RUN_FORMATS = ("trec", "letor", "scores", "ranklib", "msmarco", "beir", *_TABLES)
ROLES = ("query", "document", "grade", "score")  # of columns
GROUP_SUFFIXES = (".query", ".group")  # of the files beside an SVMlight file that give its queries' sizes
MOST_FEATURES = 10**5  # each of them is a run
RANGES = {"depth": (1, 10**9), "jobs": (0, 1000), "qrels_feature": (0, 10**7 - 1)}


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of reading and evaluation. Raises OptionError for a value of the wrong type or out of range.

    rel: relevance threshold, the lowest grade that counts as relevant (None: any grade above 0). depth: the
    number of ranks evaluated (None: all). judged_only: remove unjudged documents first (condensed lists).
    queries: 'judged' averages over all queries of the qrels, with 0 for those missing from the run; 'both' over
    those of the run too. query_ids: evaluate these only (None: all). ties: the order of tied scores: 'trec' by
    document id descending as bytes, 'input' as in the file, 'best' or 'worst' by grade (None: 'input' for
    features and scores of LETOR files, else 'trec', with a notice if another order could change a value).
    tie_range: compute the lowest and the highest values over the orders of ties tried too. zero_grade:
    subtracted from every grade first. no_relevant: the value of metrics that divide by what is relevant, such
    as AP, nDCG and R, for a query without a relevant document: '0', '1', or 'skip', which excludes the query
    from their means (None: '0', with a notice if there are such queries). by_level: a metric AP(rel=t) for each
    grade t above 0, before muAP. jobs: number of threads (0: number of processors).

    qrels_format, run_format: one of QRELS_FORMATS, RUN_FORMATS (None: detected from the content). features: the
    features of LETOR files that are runs. qrels_feature: the feature of a LETOR file that is the grade (None:
    its label). groups: the file of group sizes of SVMlight files without qid (None: FILE.query or FILE.group).
    columns: (role, name) of columns of tables, with the roles ROLES; others have usual names. split: SPLIT or
    SUBSET/SPLIT of a predictions file of MTEB. ignore_identical_ids: leave out documents of runs whose id is
    their query's.
    """

    rel: float | None = None
    depth: int | None = None
    judged_only: bool = False
    queries: str = "judged"
    query_ids: tuple[str, ...] | None = None
    ties: str | None = None
    tie_range: bool = False
    zero_grade: float = 0.0
    no_relevant: str | None = None
    by_level: bool = False
    jobs: int = 0
    qrels_format: str | None = None
    run_format: str | None = None
    features: tuple[int, ...] = ()
    qrels_feature: int | None = None
    groups: str | None = None
    columns: tuple[tuple[str, str], ...] = ()
    split: str | None = None
    ignore_identical_ids: bool = False

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not (value is None and field.default is None):
                _CHECKS[field.name](field.name, value)

    @classmethod
    def of(cls, **given: Any) -> Options:
        """Options from Python values: lists, or '401,402' for ids, '1,5,9-12' for features.

        Ids that contain commas need a list.
        """
        check_known(given, [field.name for field in fields(cls)])
        return cls(**{name: read_option(name, value) for name, value in given.items()})

    def to_dict(self) -> dict[str, object]:
        """The options that affect the values, as JSON types."""
        others = ("jobs", "tie_range")
        given = {field.name: getattr(self, field.name) for field in fields(self) if field.name not in others}
        return {**given, "no_relevant": self.no_relevant_rule}

    @property
    def no_relevant_rule(self) -> str:
        """What counts for a query without a relevant document, where a metric needs one."""
        return self.no_relevant or DEFAULT_NO_RELEVANT


def check_known(given: Iterable[str], names: Sequence[str]) -> None:
    """Raise OptionError for an option that is none of these names."""
    unknown = sorted(set(given) - set(names))
    if unknown:
        raise OptionError(f"unknown option {unknown[0]}: the options are {', '.join(names)}")


def read_option(name: str, value: Any) -> Any:
    """The value of an option from what a Python caller gave, which may be any object."""
    try:
        return _READERS.get(name, _plain)(value)
    except OptionError:
        raise
    except Exception as error:  # any object can fail in any way
        raise OptionError(f"{name} cannot be read from {described(value)} ({type(error).__name__})") from None


def _plain(value: Any) -> Any:
    """Numbers, booleans and strings of numpy as Python's, other values unchanged."""
    if type(value).__name__.startswith("bool") and type(value).__module__ in ("builtins", "numpy"):
        return bool(value)
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value)
    return str(value) if isinstance(value, str) else value


def _read_ids(ids: Any) -> tuple[str, ...] | None:
    if ids is None or isinstance(ids, (str, bytes)):
        return None if ids is None else parse_ids(_text(ids))
    return tuple(map(_id, _iterable("query_ids", ids)))


def _id(value: Any) -> str:
    is_iterable = isinstance(value, (Iterable, Sized)) and not isinstance(value, (str, bytes))
    if value is None or value != value or is_iterable:
        raise OptionError(f"query_ids must be ids, not {described(value)}")
    return _text(value)


def _read_features(features: Any) -> tuple[int, ...]:
    return parse_features(
        [str(features)] if isinstance(features, (str, Integral)) else _iterable("features", features)
    )


def _read_groups(path: Any) -> str | None:
    if path is None or isinstance(path, (str, bytes, os.PathLike)):
        return None if path is None else str(os.fsdecode(path))
    raise OptionError(f"groups must be a path, not {described(path)}")


def _read_no_relevant(value: Any) -> Any:
    value = _plain(value)
    return f"{value:g}" if isinstance(value, (int, float)) and not isinstance(value, bool) else value


def read_columns(columns: Any) -> tuple[tuple[str, str], ...]:
    """'query=user_id,document=item_id', or a mapping."""
    if isinstance(columns, (str, bytes)):
        return parse_columns(_text(columns))
    pairs = columns.items() if isinstance(columns, Mapping) else _iterable("columns", columns)
    return tuple((str(role), str(name)) for role, name in pairs)


_READERS: dict[str, Callable[[Any], Any]] = {
    "query_ids": _read_ids,
    "features": _read_features,
    "groups": _read_groups,
    "no_relevant": _read_no_relevant,
    "columns": read_columns,
}


def _iterable(name: str, values: Any) -> Iterable[Any]:
    if isinstance(values, Iterable) and not isinstance(values, (bytes, bytearray, memoryview, Mapping)):
        return values
    raise OptionError(f"{name} must be a list, or a string of them, not {described(values)}")


def _text(value: Any) -> str:
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else str(value)


Check = Callable[[str, Any], None]
"""(name, value) of an option: raises OptionError for an invalid value."""


def _choice(*choices: str) -> Check:
    def check(name: str, value: Any) -> None:
        if not isinstance(value, str) or value not in choices:
            raise OptionError(f"{name} must be {' or '.join(choices)}, not {described(value)}")

    return check


def _integer(name: str, value: Any) -> None:
    low, high = RANGES[name]
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise OptionError(f"{name} must be an integer from {low} to {high}, not {described(value)}")


def _boolean(name: str, value: Any) -> None:
    if not isinstance(value, bool):
        raise OptionError(f"{name} must be true or false, not {described(value)}")


def _grade(name: str, value: Any) -> None:
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not _is_finite(value):
        raise OptionError(f"{name} must be a finite number, not {described(value)}")
    if not is_grade(value):
        raise OptionError(f"{name} must be {RANGE}, not {described(value)}")


def _is_finite(number: float) -> bool:
    try:
        return math.isfinite(number)
    except OverflowError:  # an int beyond the floats
        return False


def _tuple_of(kind: type) -> Check:
    def check(name: str, value: Any) -> None:
        if not isinstance(value, tuple) or not all(type(one) is kind for one in value):
            raise OptionError(f"{name} must be a tuple of {kind.__name__}, not {described(value)}")

    return check


def _ids(name: str, value: Any) -> None:
    _tuple_of(str)(name, value)
    if not value:
        raise OptionError("query_ids: no query ids given")


def _string(kind: str) -> Check:
    def check(name: str, value: Any) -> None:
        if not isinstance(value, str) or not value:
            raise OptionError(f"{name} must be {kind}, not {described(value)}")

    return check


def check_columns(name: str, value: Any, roles: Sequence[str] = ROLES) -> None:
    """Raise OptionError unless the value is (role, name) pairs, one at most for each of the roles."""
    is_tuple = isinstance(value, tuple) and all(
        isinstance(pair, tuple) and len(pair) == 2 and all(isinstance(text, str) and text for text in pair)
        for pair in value
    )
    if not is_tuple or len(dict(value)) < len(value) or not dict(value).keys() <= set(roles):
        known = ", ".join(f"{role}=NAME" for role in roles)
        given = named(",".join(map("=".join, value))) if is_tuple else described(value)
        raise OptionError(f"{name} must be some of {known}, each once, not {given}")


_CHECKS: dict[str, Check] = {
    "rel": _grade,
    "depth": _integer,
    "judged_only": _boolean,
    "queries": _choice(*QUERIES),
    "query_ids": _ids,
    "ties": _choice(*TIES),
    "tie_range": _boolean,
    "zero_grade": _grade,
    "no_relevant": _choice(*NO_RELEVANT),
    "by_level": _boolean,
    "jobs": _integer,
    "qrels_format": _choice(*QRELS_FORMATS),
    "run_format": _choice(*RUN_FORMATS),
    "features": _tuple_of(int),
    "qrels_feature": _integer,
    "groups": _string("a path"),
    "columns": check_columns,
    "split": _string("SPLIT or SUBSET/SPLIT"),
    "ignore_identical_ids": _boolean,
}


def parse_number(text: str) -> float:
    """A finite number, in ASCII and without spaces. Raises ValueError."""
    number = float(text) if text.isascii() and "_" not in text and text == text.strip() else math.nan
    if not math.isfinite(number):
        raise ValueError(text)
    return number


def parse_ids(text: str) -> tuple[str, ...]:
    """'401, 402' -> the ids, separated by commas or spaces."""
    return tuple(filter(None, re.split("[, \t\r\n]+", text)))


def parse_columns(text: str) -> tuple[tuple[str, str], ...]:
    """'query=user_id, document=item_id' -> (role, name) pairs."""
    pairs = (item.partition("=") for item in text.split(",") if item.strip())
    return tuple((role.strip(), name.strip()) for role, _, name in pairs)


def parse_features(texts: Iterable[str | int]) -> tuple[int, ...]:
    """'1,5,9-12' -> the features, in order, each once. Raises OptionError."""
    features: dict[int, None] = {}
    for item in (item.strip() for text in texts for item in str(text).split(",")):
        low, dash, high = item.partition("-")
        if not _is_integer(low) or (dash and not _is_integer(high)):
            raise OptionError(f"features must be numbers and ranges such as 1,5,9-12, not {named(item)}")
        first, last = int(low), int(high or low)
        if last < first or last >= 10**7:
            raise OptionError(f"feature range {named(item)} must increase, up to 9999999")
        features.update(dict.fromkeys(range(first, min(last, first + MOST_FEATURES) + 1)))
        if len(features) > MOST_FEATURES:
            hint = "choose those that the file has, such as 1,5,9-12"
            raise OptionError(f"more than {MOST_FEATURES:,} features given: {hint}")
    return tuple(features)


def _is_integer(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 20

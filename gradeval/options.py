"""The table of options: types, defaults and checks, for the command line, Python, manifests and gates.

An option is a row: an annotation of Options, or of CompareOptions (gradeval.commands.compare.options). From it
come the attribute, the click option, the keys of manifests and gates, what saved results must agree in, the
options of Spark, and the documentation. Nothing here imports numpy: --help needs the names and the defaults.
"""

import math
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from numbers import Integral, Real
from typing import Annotated, Any, ClassVar, NamedTuple, TypeVar

from gradeval.errors import GRADE_RANGE, GradevalError, OptionError, described, is_grade, named

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
CONFIDENCE = (50.0, 99.9999)  # of intervals, in percent
MOST_FEATURES = 10**5  # each of them is a run

METRICS, QUERIES_SECTION, INPUT, OTHER = "Metrics", "Queries", "Input", "Other"  # headings of the help
# what an option is about
VALUES = "values"  # it decides the values: saved results must agree in it
FILES = "files"  # how files are read
RUNS = "runs"  # what the runs are
OF_QRELS, OF_RUN = "of qrels", "of a run"  # reading one file needs it
MORE = "more"  # what is computed besides
PROCESS = "process"

Check = Callable[[str, Any], None]
"""(name, value) of an option: raises OptionError for an invalid value."""


class Kind(NamedTuple):
    """The values that an option takes. type: for the command line. check: of a value. read: a value from what a
    Python caller gave, which may be any object. choices, bounds: of words and of integers.
    """

    type: str
    check: Check
    read: Callable[[Any], Any]
    choices: tuple[str, ...] = ()
    bounds: tuple[int, int] = (0, 0)


class Option(NamedTuple):
    """A row of the table. flags: on the command line, '' where it has none there. about: the help, and for
    Python `python` where that differs. scope: what it is about.
    """

    kind: Kind
    default: Any
    flags: str
    section: str
    about: str
    metavar: str | None = None
    scope: frozenset[str] = frozenset((VALUES,))
    python: str = ""


Own = TypeVar("Own", bound="OptionTable")
Function = TypeVar("Function", bound=Callable[..., Any])


class OptionTable:
    """Options that a subclass declares as annotations with an Option, in order.

    Raises OptionError for a value of the wrong type or out of range. Equal where all options are; immutable.
    """

    table: ClassVar[Mapping[str, Option]]

    def __init_subclass__(cls) -> None:
        hints = {name: hint for name, hint in cls.__annotations__.items() if hasattr(hint, "__metadata__")}
        cls.table = {name: hint.__metadata__[0] for name, hint in hints.items()}

    def __init__(self, **values: Any) -> None:
        check_known(values, list(self.table))
        for name, option in self.table.items():
            value = values.get(name, option.default)
            if not (value is None and option.default is None):
                option.kind.check(name, value)
            self.__dict__[name] = value
        self._check_combination()

    def _check_combination(self) -> None:
        """Raise OptionError for options that are mutually exclusive."""

    @classmethod
    def of(cls: type[Own], **given: Any) -> Own:
        """Options from Python values: lists, or '401,402' for ids, '1,5,9-12' for features.

        Ids that contain commas need a list.
        """
        check_known(given, list(cls.table))
        return cls(**{name: read_option(name, cls.table[name].kind, value) for name, value in given.items()})

    @classmethod
    def names(cls, *, without: Iterable[str] = (), within: str | None = None) -> tuple[str, ...]:
        """The options that are about none of these, and about this."""
        excluded = set(without)
        return tuple(
            name
            for name, option in cls.table.items()
            if not excluded & option.scope and (within is None or within in option.scope)
        )

    @classmethod
    def document(cls, function: Function) -> Function:
        """Add the options to the documentation of a function that takes them as keywords; a decorator."""
        function.__doc__ = f"{function.__doc__}\nOptions, each with its default:\n{cls.documentation()}\n"
        return function

    @classmethod
    def documentation(cls) -> str:
        """A line for each option: its name, what it does, its default."""
        return "\n".join(
            f"    {name}: {option.python or option.about} ({option.default!r})"
            for name, option in cls.table.items()
        )

    def replace(self: Own, **changes: Any) -> Own:
        """The same options with these instead."""
        return type(self)(**{**self.__dict__, **changes})

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable: replace({name}=…) makes another")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash(tuple(self.__dict__.values()))

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.__dict__.items())})"
        )


def check_known(given: Iterable[str], names: Sequence[str]) -> None:
    """Raise OptionError for an option that is none of these names."""
    unknown = sorted(set(given) - set(names))
    if unknown:
        raise OptionError(f"unknown option {unknown[0]}: the options are {', '.join(names)}")


def read_option(name: str, kind: Kind, value: Any) -> Any:
    """The value of an option from what a Python caller gave."""
    try:
        return kind.read(value)
    except GradevalError:
        raise
    except Exception as error:  # any object can fail in any way
        raise OptionError(f"{name} cannot be read from {described(value)} ({type(error).__name__})") from None


# --- the kinds of values


def plain(value: Any) -> Any:
    """Numbers, booleans and strings of numpy as Python's, other values unchanged."""
    if type(value).__name__.startswith("bool") and type(value).__module__ in ("builtins", "numpy"):
        return bool(value)
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value)
    return str(value) if isinstance(value, str) else value


def choice(*choices: str) -> Kind:
    def check(name: str, value: Any) -> None:
        if not isinstance(value, str) or value not in choices:
            raise OptionError(f"{name} must be {' or '.join(choices)}, not {described(value)}")

    return Kind("choice", check, plain, choices)


def integer(low: int, high: int) -> Kind:
    def check(name: str, value: Any) -> None:
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise OptionError(f"{name} must be an integer from {low} to {high}, not {described(value)}")

    return Kind("integer", check, plain, bounds=(low, high))


def whole(name: str, value: Any, low: int, high: int) -> int:
    """The value that a Python caller gave, an integer from low to high. Raises OptionError."""
    kind = integer(low, high)
    number: int = read_option(name, kind, value)
    kind.check(name, number)
    return number


def _check_flag(name: str, value: Any) -> None:
    if not isinstance(value, bool):
        raise OptionError(f"{name} must be true or false, not {described(value)}")


def _check_grade(name: str, value: Any) -> None:
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not _is_finite(value):
        raise OptionError(f"{name} must be a finite number, not {described(value)}")
    if not is_grade(value):
        raise OptionError(f"{name} must be {GRADE_RANGE}, not {described(value)}")


def _is_finite(number: float) -> bool:
    try:
        return math.isfinite(number)
    except OverflowError:  # an int beyond the floats
        return False


def _tuple_of(kind: type) -> Check:
    def check(name: str, value: Any) -> None:
        if not isinstance(value, tuple) or not all(type(item) is kind for item in value):
            raise OptionError(f"{name} must be a tuple of {kind.__name__}, not {described(value)}")

    return check


def _check_ids(name: str, value: Any) -> None:
    _tuple_of(str)(name, value)
    if not value:
        raise OptionError("query_ids: no query ids given")


def _string(what: str) -> Check:
    def check(name: str, value: Any) -> None:
        if not isinstance(value, str) or not value:
            raise OptionError(f"{name} must be {what}, not {described(value)}")

    return check


def check_columns(name: str, value: Any, roles: Sequence[str] = ROLES) -> None:
    """Raise OptionError unless the value is (role, name) pairs, one at most for each of the roles."""
    is_tuple = isinstance(value, tuple) and all(
        isinstance(pair, tuple) and len(pair) == 2 and all(isinstance(text, str) and text for text in pair)
        for pair in value
    )
    if not is_tuple or len(dict(value)) < len(value) or not dict(value).keys() <= set(roles):
        known = ", ".join(f"{role}=NAME" for role in roles)
        pairs = named(",".join(map("=".join, value))) if is_tuple else described(value)
        raise OptionError(f"{name} must be some of {known}, each once, not {pairs}")


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
    value = plain(value)
    return f"{value:g}" if isinstance(value, (int, float)) and not isinstance(value, bool) else value


def read_columns(columns: Any) -> tuple[tuple[str, str], ...]:
    """'query=user_id,document=item_id', or a mapping."""
    if isinstance(columns, (str, bytes)):
        return parse_columns(_text(columns))
    pairs = columns.items() if isinstance(columns, Mapping) else _iterable("columns", columns)
    return tuple((str(role), str(name)) for role, name in pairs)


def _iterable(name: str, values: Any) -> Iterable[Any]:
    if isinstance(values, Iterable) and not isinstance(values, (bytes, bytearray, memoryview, Mapping)):
        return values
    raise OptionError(f"{name} must be a list, or a string of them, not {described(values)}")


def _text(value: Any) -> str:
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else str(value)


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


# --- the table

FLAG = Kind("flag", _check_flag, plain)
GRADE = Kind("grade", _check_grade, plain)


class Options(OptionTable):
    """Options of reading and evaluation."""

    rel: Annotated[
        float | None,
        Option(
            GRADE,
            None,
            "-l --rel",
            METRICS,
            "Relevance threshold: the lowest grade that counts as relevant. Default: any grade above 0.",
            "GRADE",
            python="the relevance threshold, the lowest grade that counts as relevant; None: any grade above 0",
        ),
    ]
    depth: Annotated[
        int | None,
        Option(
            integer(1, 10**9),
            None,
            "-M --depth",
            METRICS,
            "Evaluate the first N ranks of each query only.",
            "N",
            python="evaluate this many of the first ranks of each query; None: all",
        ),
    ]
    judged_only: Annotated[
        bool,
        Option(
            FLAG,
            False,
            "-J --judged-only",
            METRICS,
            "Remove unjudged documents from the rankings first (condensed lists).",
            python="remove unjudged documents from the rankings first",
        ),
    ]
    queries: Annotated[
        str,
        Option(
            choice(*QUERIES),
            "judged",
            "--queries",
            QUERIES_SECTION,
            "Average over all judged queries, with 0 for those missing from the run (judged), or over those in "
            "both.",
            python="average over all 'judged' queries, with 0 for those missing from the run, or over those in "
            "'both' qrels and run",
        ),
    ]
    query_ids: Annotated[
        tuple[str, ...] | None,
        Option(
            Kind("ids", _check_ids, _read_ids),
            None,
            "--query-ids",
            QUERIES_SECTION,
            "Evaluate these queries only: a file of ids, or comma-separated ids. If an id of the qrels is also "
            "the name of a file, the id is used; ./NAME is the file.",
            "FILE|LIST",
            python="evaluate these queries only: a list, or a string such as '401,402'; None: all",
        ),
    ]
    ties: Annotated[
        str | None,
        Option(
            choice(*TIES),
            None,
            "--ties",
            METRICS,
            "Order of tied scores: by document id descending (trec, as in trec_eval), as in the file "
            "(input), or by grade, highest (best) or lowest (worst) first. Default: input for features and "
            "scores of LETOR files, else trec, with a warning if it can change a value.",
            python="the order of tied scores, 'trec' (by document id descending), 'input' (as in the file), "
            "'best' or 'worst' (by grade); None: 'input' for features and scores of LETOR files, else "
            "'trec', with a notice if another order could change a value",
        ),
    ]
    tie_range: Annotated[
        bool,
        Option(
            FLAG,
            False,
            "--tie-range",
            METRICS,
            "Print beside each value the lowest and the highest value over the orders of tied scores tried.",
            scope=frozenset((MORE,)),
            python="find the lowest and the highest value over the orders of tied scores too",
        ),
    ]
    zero_grade: Annotated[
        float,
        Option(
            GRADE,
            0.0,
            "--zero-grade",
            METRICS,
            "The grade that means non-relevant; it is subtracted from every grade. Default: 0.",
            "GRADE",
            python="the grade that means non-relevant; subtracted from every grade first",
        ),
    ]
    no_relevant: Annotated[
        str | None,
        Option(
            choice(*NO_RELEVANT)._replace(read=_read_no_relevant),
            None,
            "--no-relevant",
            METRICS,
            "The value of AP, nDCG, R and all other metrics that divide by what is relevant, for a query "
            "without a relevant document; skip excludes the query from their means. Default: 0, with a "
            "warning.",
            python="the value of metrics that divide by what is relevant, such as AP, nDCG and R, for a "
            "query without a relevant document: '0', '1', or 'skip', which excludes the query from their "
            "means; None: '0', with a notice if there are such queries",
        ),
    ]
    by_level: Annotated[
        bool,
        Option(
            FLAG,
            False,
            "--by-level",
            METRICS,
            "Add AP with each grade as the relevance threshold, before muAP.",
            scope=frozenset((MORE,)),
            python="add a metric AP(rel=t) for each grade t above 0, before muAP",
        ),
    ]
    jobs: Annotated[
        int,
        Option(
            integer(0, 1000),
            0,
            "-j --jobs",
            OTHER,
            "Number of threads. Default: number of processors.",
            "N",
            scope=frozenset(
                (
                    PROCESS,
                    OF_QRELS,
                    OF_RUN,
                )
            ),
            python="the number of threads; 0: the number of processors",
        ),
    ]
    qrels_format: Annotated[
        str | None,
        Option(
            choice(*QRELS_FORMATS),
            None,
            "--qrels-format",
            INPUT,
            "Format of the qrels. Default: detected.",
            scope=frozenset(
                (
                    FILES,
                    OF_QRELS,
                )
            ),
            python=f"the format of the qrels, {', '.join(map(repr, QRELS_FORMATS))}; None: detected",
        ),
    ]
    run_format: Annotated[
        str | None,
        Option(
            choice(*RUN_FORMATS),
            None,
            "--run-format",
            INPUT,
            "Format of the runs. Default: detected.",
            scope=frozenset(
                (
                    FILES,
                    OF_RUN,
                )
            ),
            python=f"the format of the runs, {', '.join(map(repr, RUN_FORMATS))}; None: detected",
        ),
    ]
    features: Annotated[
        tuple[int, ...],
        Option(
            Kind("features", _tuple_of(int), _read_features),
            (),
            "--feature",
            INPUT,
            "Evaluate features of LETOR files as runs, such as 1,5,9-12; of QRELS if no RUN is given.",
            "LIST",
            scope=frozenset(
                (
                    FILES,
                    RUNS,
                    OF_QRELS,
                    OF_RUN,
                )
            ),
            python="the features of LETOR files that are runs: a list, or a string such as '1,5,9-12'",
        ),
    ]
    qrels_feature: Annotated[
        int | None,
        Option(
            integer(0, 10**7 - 1),
            None,
            "--qrels-feature",
            INPUT,
            "Use a feature of the LETOR file as the grade.",
            "K",
            scope=frozenset(
                (
                    FILES,
                    VALUES,
                    OF_QRELS,
                )
            ),
            python="the feature of a LETOR file that is the grade; None: its label",
        ),
    ]
    groups: Annotated[
        str | None,
        Option(
            Kind("path", _string("a path"), _read_groups),
            None,
            "--groups",
            INPUT,
            "Query sizes of SVMlight files without qid. Default: FILE.query or FILE.group in the same "
            "directory.",
            "FILE",
            scope=frozenset(
                (
                    FILES,
                    OF_QRELS,
                    OF_RUN,
                )
            ),
            python="the file of the sizes of queries, for SVMlight files without qid; None: FILE.query or "
            "FILE.group",
        ),
    ]
    columns: Annotated[
        tuple[tuple[str, str], ...],
        Option(
            Kind("columns", check_columns, read_columns),
            (),
            "--columns",
            INPUT,
            "Names of columns in tables (csv, jsonl, parquet and others), such as "
            "query=user,document=item,grade=stars (score=NAME in runs). Default: common names.",
            "LIST",
            scope=frozenset(
                (
                    VALUES,
                    OF_QRELS,
                    OF_RUN,
                )
            ),
            python="the names of columns of tables by role, such as 'query=user,document=item,grade=stars', "
            "or a dict; score is that of runs; others have usual names",
        ),
    ]
    split: Annotated[
        str | None,
        Option(
            Kind("text", _string("SPLIT or SUBSET/SPLIT"), plain),
            None,
            "--split",
            INPUT,
            "SPLIT or SUBSET/SPLIT in a predictions file of MTEB.",
            "NAME",
            scope=frozenset(
                (
                    FILES,
                    OF_RUN,
                )
            ),
            python="the part of a predictions file of MTEB, as SPLIT or SUBSET/SPLIT; None: its only one",
        ),
    ]
    ignore_identical_ids: Annotated[
        bool,
        Option(
            FLAG,
            False,
            "--ignore-identical-ids",
            INPUT,
            "Leave out documents of runs whose id is their query's, as BEIR does.",
            scope=frozenset(
                (
                    VALUES,
                    OF_RUN,
                )
            ),
            python="leave out documents of runs whose id is their query's",
        ),
    ]

    def to_dict(self) -> dict[str, object]:
        """The options that affect the values, as JSON types."""
        values = {name: value for name, value in self.__dict__.items() if name not in ("jobs", "tie_range")}
        return {**values, "no_relevant": self.no_relevant_rule}

    @property
    def no_relevant_rule(self) -> str:
        """The value of a query without a relevant document, where a metric needs one."""
        return self.no_relevant or DEFAULT_NO_RELEVANT


# those that a file of checks or a manifest may have; the others are the command's, or choose what the runs are
FILE_OPTIONS = Options.names(without=(MORE, PROCESS, RUNS))

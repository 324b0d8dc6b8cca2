"""The table of options: types, defaults and checks, for the command line, Python, manifests and gates.

An option is a row: an attribute of Options, or of CompareOptions (gradeval.compare_options). From it come the
attribute, the click option, the keys of manifests and gates, what saved results must agree in, the options of
Spark, and the documentation. Nothing here imports numpy: --help needs the names and the defaults.
"""

import math
import os
import re
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence, Set, Sized
from functools import cached_property, wraps
from inspect import Parameter, signature  # which click imports too
from itertools import chain
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast

from gradeval.errors import (
    GRADE_RANGE,
    LARGEST_GRADE,
    TINY,
    GradevalError,
    OptionError,
    described,
    is_grade,
    named,
)
from gradeval.file_formats import QRELS_FORMATS, RUN_FORMATS
from gradeval.records import Record

DEFAULT_METRICS = "num_q nDCG@10 AP muAP NDCNG@10 nDCGphi@10 rankDCG"
COMPARED_METRICS = "nDCG@10 AP"  # where runs are compared: each further metric costs power
QUERIES = ("judged", "both")
EXPECTED = "expected"  # the mean over all orders of tied scores
TIES = ("trec", "input", "best", "worst", EXPECTED)
RULES_OF_RANKS = TIES[:2]  # those that grades do not decide
DEFAULT_TIES = "trec"
INTERVALS = ("t", "bootstrap")  # of means
BEST = "best"  # of a document that a run lists several times, the highest score counts
DUPLICATES = ("error", BEST)
UNJUDGED = "unjudged"  # a judgment without a label is none
UNLABELLED = ("error", UNJUDGED)
MERGES = ("mean", "median", "max", "min", "majority", "first")  # of several judgments of a document
LETOR_TIES = "input"  # of features and scores, as in Eval-Score-3.0 and LightGBM
NO_RELEVANT = {"0": 0.0, "1": 1.0, "skip": math.nan}
DEFAULT_NO_RELEVANT = "0"
ROLES = ("query", "document", "grade", "score", "distance", "rank", "subtopic", "judge")  # of columns
OF_SCORES = ROLES[3:6]  # a run is ranked by one of them: of distances and ranks, the lowest comes first
GROUP_SUFFIXES = (".query", ".group")  # of the files beside an SVMlight file that give its queries' sizes
CONFIDENCE = (50.0, 99.9999)  # of intervals, in percent
ALL_FEATURES = ("all",)  # those that the lines of the qrels have
MOST_FEATURES = 10**5  # each of them is a run

METRICS, QUERIES_SECTION, INPUT, OTHER = "Metrics", "Queries", "Input", "Other"  # headings of the help
# what an option is about
VALUES = "values"  # it decides the values: saved results must agree in it
FILES = "files"  # how files are read
RUNS = "runs"  # what the runs are
OF_QRELS, OF_RUN = "of qrels", "of a run"  # reading one file needs it
OF_GRADES = "of grades"  # it changes grades: where no runs are, it has an effect too
MORE = "more"  # what is computed besides
PROCESS = "process"

Read = Callable[[str, Any], Any]
"""(name of an option, what was given) -> the value: raises OptionError for an invalid one."""


class OptionKind(Record):
    """The values that an option takes. type: for the command line. read: makes and checks a value of what was
    given, by a Python caller any object; a value stays what it is. accepts: the type for a Python caller.
    choices, bounds: of words and of numbers. metavar: what the help calls a value.
    """

    type: str
    read: Read
    accepts: str
    choices: tuple[str, ...] = ()
    bounds: tuple[float, float] = (0, 0)
    metavar: str | None = None


_DEFAULT: Any = object()


class Option(Record):
    """A row of the table. section: of the help. about: the help, and for Python `python` where that differs.
    scope: what it is about. flags: on the command line, by default from the name of the attribute. before: the
    value under which results were made before the option existed, by default `default`. What functions show of
    it is made once: for all of them together it takes 2 ms of a start.
    """

    kind: OptionKind
    section: str
    about: str
    default: Any = None
    scope: Set[str] = frozenset((VALUES,))
    python: str = ""
    flags: str = ""
    before: Any = _DEFAULT
    name: str = ""

    def __set_name__(self, owner: type, name: str) -> None:
        before = self.default if self.before is _DEFAULT else self.before
        self.__dict__.update(name=name, flags=self.flags or "--" + name.replace("_", "-"), before=before)

    @property
    def annotation(self) -> str:
        return self.kind.accepts + (" | None" if self.default is None else "")

    @cached_property
    def documentation(self) -> str:
        choices = f"; one of {', '.join(map(repr, self.kind.choices))}" if self.kind.choices else ""
        about = self.python or self.about.rstrip(".") + choices
        return f"    {self.name}: {about} ({self.default!r})\n"

    @cached_property
    def parameter(self) -> Parameter:
        return Parameter(self.name, Parameter.KEYWORD_ONLY, default=self.default, annotation=self.annotation)


def option(kind: OptionKind, *row: Any, **fields: Any) -> Any:
    """An attribute of an OptionTable: its Option, whose value each instance has. A flag is off by default."""
    return Option(kind, *row, **({"default": False, **fields} if kind is FLAG else fields))


def section(heading: str) -> Callable[..., Any]:
    """option() for the rows under a heading."""
    return lambda kind, about, **fields: option(kind, heading, about, **fields)


Own = TypeVar("Own", bound="OptionTable")
Function = TypeVar("Function", bound=Callable[..., Any])


class OptionTable(Record, init=False):
    """Options, which a subclass declares in order as attributes. Raises OptionError for an invalid value."""

    if TYPE_CHECKING:  # it is no field
        table: ClassVar[Mapping[str, Option]]

    def __init_subclass__(cls, **settings: Any) -> None:
        super().__init_subclass__(**settings)
        cls.table = {name: row for name, row in vars(cls).items() if isinstance(row, Option)}

    def __init__(self, **values: Any) -> None:
        """The values may be what a Python caller has: '401,402' or a list, for ids with commas a list."""
        check_known(values, list(self.table))
        for name, row in self.table.items():
            value = values.get(name, row.default)
            self.__dict__[name] = value if value is row.default else read_option(name, row.kind, value)
        self._check_combination()

    def _check_combination(self) -> None:
        """Raise OptionError for options that are mutually exclusive."""

    @classmethod
    def of(cls: type[Own], options: Mapping[str, Any], *, without: Iterable[str] = ()) -> Own:
        """Those of the options that are declared here. without: names that another table has too. Raises
        OptionError.
        """
        return cls(**{name: options[name] for name in cls.table if name in options and name not in without})

    @classmethod
    def rows(cls, *, without: Iterable[str] = (), within: str | None = None) -> dict[str, Option]:
        """The options that are about none of these, and about this."""
        rows = {name: row for name, row in cls.table.items() if row.scope.isdisjoint(without)}
        return {name: row for name, row in rows.items() if within is None or within in row.scope}

    def replace(self: Own, **changes: Any) -> Own:
        return type(self)(**{**self.__dict__, **changes})


def takes(rows: Mapping[str, Option], refused: Iterable[str] = ()) -> Callable[[Function], Function]:
    """Show these options in the signature and the documentation of a function with **options, and raise
    OptionError for others. refused: names for which the function raises a better error. Type checkers see the
    same: gradeval/keywords.pyi is made from these signatures.
    """

    def decorate(function: Function) -> Function:
        if rows:
            lines = "".join(row.documentation for row in rows.values())
            function.__doc__ = f"{function.__doc__}\nOptions, each with its default:\n{lines}"
        written = signature(function)
        parameters = [
            parameter
            for parameter in written.parameters.values()
            if parameter.kind is not Parameter.VAR_KEYWORD
        ]
        keywords = [parameter.name for parameter in parameters if parameter.kind is Parameter.KEYWORD_ONLY]
        first = {*refused, *(parameter.name for parameter in parameters)}.difference(keywords)
        accepted = [*keywords, *rows] or [parameter.name for parameter in parameters]  # there are no others

        @wraps(function)
        def checked(*arguments: Any, **options: Any) -> Any:
            check_known(options.keys() - first, accepted)
            return function(*arguments, **options)

        parameters += (row.parameter for row in rows.values())
        checked.__signature__ = written.replace(parameters=parameters)  # type: ignore[attr-defined]
        types = function.__annotations__.items()
        checked.__annotations__ = {name: type for name, type in types if name != "options"}  # for checkers only
        return cast("Function", checked)

    return decorate


def check_known(names: Iterable[str], accepted: Sequence[str]) -> None:
    """Raise OptionError for an option that is not known, with those that are, a similar one first."""
    unknown = sorted(set(names) - set(accepted))
    if unknown:
        from difflib import get_close_matches

        near = get_close_matches(unknown[0], accepted)
        near.sort(key=lambda name: abs(len(name) - len(unknown[0])))  # of querys queries, not query_ids
        hint = f"did you mean {near[0]}? The" if near else "the"
        raise OptionError(f"unknown option {unknown[0]}: {hint} options are {', '.join(accepted)}")


def read_option(name: str, kind: OptionKind, value: Any) -> Any:
    """The value of an option from what a Python caller gave."""
    try:
        return kind.read(name, value)
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


def must_be(expected: str, is_valid: Callable[[Any], bool], converted: Callable[[Any], Any] = plain) -> Read:
    """What raises '… must be WHAT, not …' for invalid values, which are converted first."""

    def read(name: str, value: Any) -> Any:
        value = converted(value)
        if not is_valid(value):
            raise OptionError(f"{name} must be {expected}, not {described(value)}")
        return value

    return read


def checked_path(name: str, value: Any) -> Any:
    """The value, if it is a path. Raises OptionError."""
    if not isinstance(value, (str, bytes, os.PathLike)):
        raise OptionError(f"{name} must be a path, not {described(value)}")
    return value


def choice(*choices: str, listed: bool = False, converted: Callable[[Any], Any] = plain) -> OptionKind:
    expected = f"one of {', '.join(choices)}" if listed else " or ".join(choices)
    read = must_be(expected, lambda value: isinstance(value, str) and value in choices, converted)
    return OptionKind("choice", read, f"Literal{[*choices]}", choices)


def integer(low: int, high: int, metavar: str = "N") -> OptionKind:
    def is_valid(value: Any) -> bool:
        return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high

    read = must_be(f"an integer from {low} to {high}", is_valid)
    return OptionKind("integer", read, "int", bounds=(low, high), metavar=metavar)


def several(expected: str, read: Callable[[Any], Any], accepts: str) -> OptionKind:
    """Numbers of an iterable, or of a string, separated by commas. read: raises ValueError for invalid ones."""

    def read_all(name: str, value: Any) -> tuple[Any, ...]:
        try:
            return tuple(map(read, value.split(",") if isinstance(value, str) else value))
        except (TypeError, ValueError, OverflowError):
            raise OptionError(
                f"{name} must be {expected}, separated by commas, not {described(value)}"
            ) from None

    return OptionKind("text", read_all, accepts, metavar="LIST")


def whole(name: str, value: Any, low: int, high: int) -> int:
    """The value that a Python caller gave, an integer from low to high. Raises OptionError."""
    number: int = read_option(name, integer(low, high), value)
    return number


def _read_grade(name: str, value: Any) -> Any:
    value = plain(value)
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not is_number or value != value or abs(value) == math.inf:
        raise OptionError(f"{name} must be a finite number, not {described(value)}")
    if not is_grade(value):
        raise OptionError(f"{name} must be {GRADE_RANGE}, not {described(value)}")
    return value


class LaterIds:
    """Query ids that are chosen when the judgments are known."""

    @abstractmethod
    def choose(self, judged: Iterable[str], qrels: str, *, is_part: bool = False) -> tuple[str, ...]:
        """The ids, given those of all queries of the qrels, and the name of these. is_part: whether these may
        lack some.
        """

    @abstractmethod
    def unchecked(self) -> tuple[str, ...]:
        """The ids, where those of the qrels are not known."""


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _is_delimiter(value: Any) -> bool:
    """Whether it is a string, not empty, that ids may contain: other surrogates stand for no bytes."""
    return _is_text(value) and not re.search("[\ud800-\udc7f\udd00-\udfff]", value)


def _read_ids(name: str, ids: Any) -> Any:
    if isinstance(ids, LaterIds):
        return ids
    if not isinstance(ids, (str, bytes)):
        for query_id in (ids := tuple(iterable(name, ids))):
            _check_id(name, query_id)
    texts = parse_ids(as_text(ids)) if isinstance(ids, (str, bytes)) else tuple(map(as_text, ids))
    if not texts:
        raise OptionError(f"{name}: no query ids given")
    return texts


def _check_id(name: str, value: Any) -> None:
    """Raise OptionError for what is no id."""
    is_iterable = isinstance(value, (Iterable, Sized)) and not isinstance(value, (str, bytes))
    if value is None or value != value or is_iterable:
        raise OptionError(f"{name} must be ids, not {described(value)}")


def parse_ids(text: str, judged: Set[str] = frozenset()) -> tuple[str, ...]:
    """'401, 402' -> the ids, separated by commas, or by spaces where a part is none of those judged."""
    if text in judged:
        return (text,)
    parts = (part.strip(" \t\r\n") for part in text.split(","))
    ids = ([part] if part in judged else re.split("[ \t\r\n]+", part) for part in parts)
    return tuple(filter(None, chain.from_iterable(ids)))


def _read_weights(name: str, weights: Any) -> Any:
    """(query, weight) pairs of a mapping or a Series, or the path of a file that is read with the judgments."""
    if hasattr(type(weights), "items"):
        weights = tuple((as_text(query), _as_float(weight)) for query, weight in weights.items())
    value = _path(weights)
    if _is_text(value):
        return value
    if not isinstance(value, tuple) or not all(isinstance(pair, tuple) and len(pair) == 2 for pair in value):
        raise OptionError(f"{name} must be {{query: weight}} or a path, not {described(value)}")
    for query, weight in value:
        if not isinstance(weight, float) or not 0 <= weight <= LARGEST_GRADE:
            message = f"the weight of query {named(str(query))} must be a number from 0 to {LARGEST_GRADE:g}"
            raise OptionError(f"{name}: {message}, not {described(weight)}")
        if not is_grade(weight):
            raise OptionError(f"{name}: the weight of query {named(str(query))}, {weight}, {TINY}")
    if len(dict(value)) < len(value):  # of a Series
        raise OptionError(f"{name}: a query has two weights")
    if not any(weight for _, weight in value):
        raise OptionError(f"{name}: no query has a weight above 0")
    return value


def _read_pairs(name: str, pairs: Any) -> Any:
    """(query, document) pairs of those, or of {query: documents}, or the path of a file that is read with the
    judgments.
    """
    value = _path(pairs)
    if isinstance(value, str):
        return must_be("a path, {query: documents} or (query, document) pairs", _is_text)(name, value)
    if isinstance(value, Mapping):
        lists = ((query, [ids] if isinstance(ids, str) else ids) for query, ids in value.items())
        value = [(query, document) for query, ids in lists for document in iterable(name, ids)]
    rows = [*iterable(name, value)]
    for row in rows:
        if not isinstance(row, (tuple, list)) or len(row) != 2:
            raise OptionError(
                f"{name} must be {{query: documents}}, (query, document) pairs or a path, not {described(row)}"
            )
        for item in row:
            _check_id(name, item)
    return tuple(sorted({(as_text(query), as_text(document)) for query, document in rows})) or None


def _read_features(name: str, features: Any) -> tuple[int | str, ...]:
    is_single = isinstance(features, (str, Integral))
    texts = [*map(str, [features] if is_single else iterable(name, features))]
    return ALL_FEATURES if texts == [*ALL_FEATURES] else parse_features(texts)


def parse_features(texts: Iterable[str | int]) -> tuple[int, ...]:
    """'1,5,9-12' -> the features, in order, each once. Raises OptionError."""
    features: dict[int, None] = {}
    for item in (item.strip() for text in texts for item in str(text).split(",")):
        bounds = item.split("-")
        if not all(end.isascii() and end.isdigit() and len(end) < 20 for end in bounds):
            bounds = []
        if len(bounds) not in (1, 2) or not int(bounds[0]) <= int(bounds[-1]) < 10**7:
            raise OptionError(f"features must be numbers and ranges such as 1,5,9-12, not {named(item)}")
        first, last = int(bounds[0]), int(bounds[-1])
        features.update(dict.fromkeys(range(first, min(last, first + MOST_FEATURES) + 1)))
        if len(features) > MOST_FEATURES:
            hint = "choose those that the file has, such as 1,5,9-12"
            raise OptionError(f"more than {MOST_FEATURES:,} features given: {hint}")
    return tuple(features)


def _path(path: Any) -> Any:
    return str(os.fsdecode(path)) if isinstance(path, (str, bytes, os.PathLike)) else path


def _no_relevant(value: Any) -> Any:
    value = plain(value)
    return f"{value:g}" if isinstance(value, (int, float)) and not isinstance(value, bool) else value


def read_columns(name: str, columns: Any, roles: Sequence[str] = ROLES) -> tuple[tuple[str, str], ...]:
    """The (role, name) pairs of 'query=user_id, document=item_id' or of a mapping, each role at most once."""
    if isinstance(columns, (str, bytes)):
        parts = (item.partition("=") for item in as_text(columns).split(",") if item.strip())
        pairs = tuple((role.strip(), column.strip()) for role, _, column in parts)
    else:
        items = columns.items() if isinstance(columns, Mapping) else iterable(name, columns)
        pairs = tuple((str(role), str(column)) for role, column in items)
    if not all(map(all, pairs)) or len(dict(pairs)) < len(pairs) or not dict(pairs).keys() <= set(roles):
        roles_listed = ", ".join(f"{role}=NAME" for role in roles)
        raise OptionError(f"{name} must be some of {roles_listed}, each once, not {described(columns)}")
    if len(of_scores := [role for role, _ in pairs if role in OF_SCORES]) > 1:
        raise OptionError(f"{name}: {' and '.join(of_scores)} are mutually exclusive")
    return pairs


def iterable(name: str, values: Any) -> Iterable[Any]:
    if isinstance(values, Iterable) and not isinstance(values, (bytes, bytearray, memoryview, Mapping)):
        return values
    raise OptionError(f"{name} must be a list, or a string of them, not {described(values)}")


def as_text(value: Any) -> str:
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else str(value)


def parse_number(text: str) -> float:
    """A finite number, in ASCII and without spaces. Raises ValueError."""
    number = float(text) if text.isascii() and "_" not in text and text == text.strip() else math.nan
    if not math.isfinite(number):
        raise ValueError(text)
    return number


# --- the table


def _as_float(value: Any) -> Any:
    is_number = isinstance(value, Real) and not type(value).__name__.startswith("bool")
    return float(value) if is_number else plain(value)


def percentage(low: float, high: float) -> OptionKind:
    def is_valid(value: Any) -> bool:
        return isinstance(value, float) and low <= value <= high

    read = must_be(f"a percentage from {low:g} to {high:g}", is_valid, _as_float)
    return OptionKind("percentage", read, "float", bounds=(low, high), metavar="PERCENT")


PATH = "str | bytes | os.PathLike[str]"  # for Python
PERCENTAGE = percentage(*CONFIDENCE)
FLAG = OptionKind("flag", must_be("true or false", lambda value: isinstance(value, bool)), "bool")
GRADE = OptionKind("grade", _read_grade, "float", metavar="GRADE")
ANY_RELEVANT = ">0"  # the default threshold, as signatures write it
NEVER_RELEVANT = "grades below 0, after zero_grade, are not relevant"


def _read_threshold(name: str, value: Any) -> Any:
    if isinstance(value, str) and value == ANY_RELEVANT:
        return None
    level = _read_grade(name, value)
    if level < 0:
        raise OptionError(f"{name} must be at least 0, not {described(value)}: {NEVER_RELEVANT}")
    return level


THRESHOLD = OptionKind("threshold", _read_threshold, f"float | Literal[{ANY_RELEVANT!r}]", metavar="GRADE")
_metrics, _queries, _input, _other = map(section, (METRICS, QUERIES_SECTION, INPUT, OTHER))


class Options(OptionTable, init=False):
    """Options of reading and evaluation."""

    rel: float | None = _metrics(
        THRESHOLD,
        "Relevance threshold: the lowest grade that counts as relevant. Default: >0, any grade above 0.",
        flags="-l --rel",
    )
    depth: int | None = _metrics(
        integer(1, 10**9), "Evaluate the first N ranks of each query only.", flags="-M --depth"
    )
    judged_only: bool = _metrics(
        FLAG, "Remove unjudged documents from the rankings first (condensed lists).", flags="-J --judged-only"
    )
    queries: str = _queries(
        choice(*QUERIES),
        "Average over all judged queries, with 0 for those missing from the run (judged), or over those in "
        "both.",
        default="judged",
    )
    query_ids: tuple[str, ...] | None = _queries(
        OptionKind("ids", _read_ids, "str | Iterable[object]", metavar="FILE|LIST"),
        "Evaluate these queries only: a file of ids, or comma-separated ids. If an id of the qrels is also "
        "the name of a file, the id is used; ./NAME is the file.",
        python="Evaluate these queries only: a list, or a string such as '401,402'; None: all",
    )
    ties: str | None = _metrics(
        choice(*TIES),
        "Order of tied scores: by document id descending (trec, as in trec_eval), as in the file "
        "(input), or by grade, highest (best) or lowest (worst) first; or the mean of the values over all "
        "orders (expected). Default: input for features and scores of LETOR files, else trec, with a warning "
        "if it can change a value.",
    )
    tie_range: bool = _metrics(
        FLAG,
        "Print beside each value the lowest and the highest value over the orders of tied scores tried.",
        scope={MORE},
    )
    interval: str | None = _metrics(
        choice(*INTERVALS).replace(type="choice or flag"),
        "Print beside each mean its confidence interval, with the queries as a sample: by the t distribution, "
        "or with --interval bootstrap by BCa.",
        scope={MORE},
    )
    confidence: float = _metrics(
        PERCENTAGE, "Of the intervals of --interval. Default: 95.", default=95.0, scope={MORE}
    )
    bounds: bool = _metrics(
        FLAG,
        "Print beside each value the lowest and the highest that judgments of the unjudged documents "
        "retrieved could give.",
        scope={MORE},
    )
    query_weights: tuple[tuple[str, float], ...] | str | None = _metrics(
        OptionKind("path", _read_weights, f"{PATH} | Mapping[Any, float]", metavar="FILE"),
        "Weights of the queries in means, their intervals and tests, such as their traffic: 'query TAB weight' "
        "lines. Sums stay unweighted.",
        scope={MORE},
        python="The weights of the queries in means, their intervals and tests: {query: weight}, or a file of "
        "'query TAB weight' lines; sums stay unweighted",
    )
    top_grade: float | None = _metrics(
        GRADE,
        "The largest grade that a judge may give, before --zero-grade: metrics that divide by the largest "
        "grade take it in, and so do bounds. Default: the largest of the qrels.",
        python="The largest grade that a judge may give, before zero_grade is subtracted: metrics that divide "
        "by the largest grade take it in, and so do bounds; None: the largest of the qrels",
    )
    zero_grade: float = _metrics(
        GRADE,
        "The grade that means non-relevant; it is subtracted from every grade. Default: 0.",
        default=0.0,
        scope={VALUES, OF_GRADES},
    )
    unjudged_grade: float | None = _metrics(
        GRADE,
        "The grade of retrieved documents without a judgment, before --zero-grade; they also count in ideal "
        "rankings and among the relevant documents. Default: none, so that they gain nothing.",
    )
    no_relevant: str | None = _metrics(
        choice(*NO_RELEVANT, converted=_no_relevant).replace(accepts=f"Literal{[*NO_RELEVANT, 0, 1]}"),
        "The value of AP, nDCG, R and all other metrics that divide by what is relevant, for a query "
        "without a relevant document; skip excludes the query from their means. Default: 0, with a "
        "warning.",
    )
    by_level: bool = _metrics(
        FLAG, "Add AP with each grade as the relevance threshold, before muAP.", scope={MORE}
    )
    jobs: int = _other(
        integer(0, 1000),
        "Number of threads or processes. Default: number of processors.",
        default=0,
        scope={PROCESS, OF_QRELS, OF_RUN},
        flags="-j --jobs",
    )
    qrels_format: str | None = _input(
        choice(*QRELS_FORMATS), "Format of the qrels. Default: detected.", scope={FILES, OF_QRELS}
    )
    run_format: str | None = _input(
        choice(*RUN_FORMATS), "Format of the runs. Default: detected.", scope={FILES, OF_RUN}
    )
    features: tuple[Any, ...] = _input(
        OptionKind("features", _read_features, "int | str | Iterable[int | str]", metavar="LIST"),
        "Evaluate features of LETOR files as runs, such as 1,5,9-12, or all; of QRELS if no RUN is one.",
        default=(),
        scope={FILES, RUNS, OF_QRELS, OF_RUN},
        flags="--feature",
    )
    qrels_feature: int | None = _input(
        integer(0, 10**7 - 1, "K"),
        "Use a feature of the LETOR file as the grade.",
        scope={FILES, VALUES, OF_QRELS},
    )
    groups: str | None = _input(
        OptionKind("path", must_be("a path", _is_text, _path), PATH, metavar="FILE"),
        "Query sizes of SVMlight files without qid. Default: FILE.query or FILE.group in the same directory.",
        scope={FILES, OF_QRELS, OF_RUN},
    )
    unlabelled: str | None = _input(
        choice(*UNLABELLED),
        "A judgment without a label (null, or an empty field) is an error, or its document is unjudged. "
        "Default: unjudged in CSV with a column named rating (Quepid), else an error.",
        scope={FILES, VALUES, OF_QRELS},
    )
    merge: str | None = _input(
        choice(*MERGES),
        "The grade of a document with several judgments, as of several judges: their mean, median, largest or "
        "smallest, the most frequent (majority; of several, their lower median), or that of the first line. "
        "Default: different grades are an error.",
        scope={FILES, VALUES, OF_QRELS},
        python="the grade of a document with several judgments, as of several judges: their 'mean', 'median', "
        "'max', 'min', 'majority' (the most frequent one, of several their lower median) or 'first'; None: "
        "different grades are an error",
    )
    columns: tuple[tuple[str, str], ...] = _input(
        OptionKind(
            "columns", read_columns, "str | Mapping[str, str] | Iterable[tuple[str, str]]", metavar="LIST"
        ),
        "Names of columns in tables (csv, jsonl, parquet and others), such as "
        "query=user,document=item,grade=stars (in runs score=NAME, or distance=NAME or rank=NAME, lowest "
        "first). Default: common names.",
        default=(),
        scope={VALUES, OF_QRELS, OF_RUN},
    )
    split: str | None = _input(
        OptionKind("text", must_be("SPLIT or SUBSET/SPLIT", _is_text), "str", metavar="NAME"),
        "SPLIT or SUBSET/SPLIT in a predictions file of MTEB.",
        scope={FILES, OF_RUN},
    )
    ignore_identical_ids: bool = _input(
        FLAG, "Leave out documents of runs whose id is their query's, as BEIR does.", scope={VALUES, OF_RUN}
    )
    exclude: tuple[tuple[str, str], ...] | str | None = _input(
        OptionKind(
            "path",
            _read_pairs,
            f"{PATH} | Mapping[Any, Iterable[object]] | Iterable[tuple[object, object]]",
            metavar="FILE",
        ),
        "Remove documents from runs, before ranks are counted, and from the qrels: lines of a query and a "
        "document, CSV with a header, or JSON of {query: [documents]}.",
        scope={VALUES, OF_QRELS, OF_RUN},
        python="documents that are removed from runs, before ranks are counted, and from the qrels: "
        "{query: documents}, (query, document) pairs, or a file of 'query document' lines",
    )
    max_passage: str | None = _input(
        OptionKind("text", must_be("a string of one character or more", _is_delimiter), "str", metavar="DELIM"),
        "Runs rank passages: what precedes the last DELIM of an id, such as # in doc7#3, is the document, "
        "which counts once, with its best score (MaxP).",
        scope={VALUES, OF_RUN},
    )
    duplicates: str = _input(
        choice(*DUPLICATES),
        "Of a document that a run lists several times for a query, the best score counts (best), or it is an "
        "error.",
        default="error",
        scope={VALUES, OF_RUN},
    )

    def _check_combination(self) -> None:
        if self.tie_range and self.interval:
            raise OptionError("tie_range and interval are mutually exclusive", "tie_range", "interval")
        if self.bounds:
            self._check_bounds()
        if self.unjudged_grade is not None and self.judged_only:
            raise OptionError(
                "unjudged_grade and judged_only, which removes unjudged documents, are mutually exclusive",
                "unjudged_grade",
                "judged_only",
            )
        if self.top_grade is not None and (self.unjudged_grade or self.top_grade) > self.top_grade:
            message = "unjudged_grade is above top_grade, the largest that a judge may give"
            raise OptionError(message, "unjudged_grade", "top_grade")
        if self.confidence != self.table["confidence"].default and not self.interval:
            raise OptionError("confidence requires interval", "confidence", "interval")

    def _check_bounds(self) -> None:
        names = "bounds", "judged_only", "unjudged_grade", "ties", "no_relevant"
        if self.judged_only:
            reason = "no documents are unjudged then"
            raise OptionError(f"bounds and judged_only are mutually exclusive: {reason}", *names)
        if self.unjudged_grade is not None:
            reason = "unjudged_grade, which gives them a grade"
            raise OptionError(f"bounds and {reason}, are mutually exclusive", *names)
        if self.ties not in (None, *RULES_OF_RANKS):
            raise OptionError(f"bounds require ties=trec or input, not {self.ties}", *names)
        if self.no_relevant == "skip":
            raise OptionError("bounds require no_relevant=0 or 1: skip is no value of queries", *names)

    def to_dict(self) -> dict[str, object]:
        """The options that affect the values, as JSON types."""
        of_values = {*self.rows(without=(MORE, PROCESS)), "by_level"}
        values = {name: value for name, value in self.__dict__.items() if name in of_values}
        of_queries = self.query_weights
        pairs = dict(of_queries) if isinstance(of_queries, tuple) else of_queries
        weights = {} if pairs is None else {"query_weights": pairs}  # only weighted means have them
        if isinstance(self.exclude, tuple):
            values["exclude"] = documents = dict[str, list[str]]()
            for query, document in self.exclude:
                documents.setdefault(query, []).append(document)
        return {**values, "no_relevant": self.no_relevant_rule, **weights}

    def of_reading(self, role: str) -> dict[str, Any]:
        """What decided how qrels or a run (OF_QRELS, OF_RUN) were read, without defaults."""
        rows = self.rows(within=role).items()
        names = [name for name, row in rows if VALUES in row.scope and name != "exclude"]
        return {name: self.__dict__[name] for name in names if self.__dict__[name] != self.table[name].default}

    @classmethod
    def of_saved(cls, options: Mapping[str, object]) -> dict[str, object]:
        """to_dict() as an older version saved it, with the options that did not exist then."""
        before = cls(**{name: row.before for name, row in cls.table.items()})
        return {**before.to_dict(), **options}

    @property
    def intervals(self) -> tuple[str, float] | None:
        """The method and the confidence of the intervals of means, if they are asked for."""
        return (self.interval, self.confidence) if self.interval else None

    @property
    def delimiter(self) -> bytes:
        """That of max_passage as in files, b"" without it."""
        return (self.max_passage or "").encode("utf-8", "surrogateescape")

    @property
    def no_relevant_rule(self) -> str:
        """The value of a query without a relevant document, where a metric needs one."""
        return self.no_relevant or DEFAULT_NO_RELEVANT


def with_read(options: Mapping[str, Any], read_with: Mapping[str, Any]) -> dict[str, Any]:
    """Options of an evaluation, with those that its qrels or a run were read with."""
    columns = {**dict(options.get("columns") or ()), **dict(read_with.get("columns") or ())}
    return {**options, **read_with, "columns": tuple(columns.items())}


# those that a file of checks or a manifest may have; the others are the command's, or choose what the runs are
FILE_OPTIONS = (*Options.rows(without=(MORE, PROCESS, RUNS)), "query_weights")
FILE_PATHS = [name for name in FILE_OPTIONS if Options.table[name].kind.type == "path"]
OF_RUNS = Options.rows(without=(MORE,))  # those that every evaluation has
OF_WEIGHTED_RUNS = {**OF_RUNS, "query_weights": Options.table["query_weights"]}  # those of comparisons
# where nothing is evaluated
_ids_of_responses = Options.table["query_ids"].replace(
    about="The ids of the queries of responses of search engines, in order: a file, or comma-separated ids.",
    python="The ids of the queries of responses of search engines, in order; None: the file names them",
)
OF_ONE_RUN = {**Options.rows(within=OF_RUN), "query_ids": _ids_of_responses}
OF_FILES = {**Options.rows(within=OF_QRELS), **OF_ONE_RUN}

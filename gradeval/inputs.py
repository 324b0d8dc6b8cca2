"""What may be given as qrels and as runs: files of any format, or Python data."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gradeval.errors import GradevalError, InputError, OptionError, described, printable
from gradeval.formats.detect import detect
from gradeval.formats.problems import LineProblems, Problems, shown
from gradeval.formats.sources import Source
from gradeval.ids import Ids
from gradeval.judgments import Qrels
from gradeval.options import Options
from gradeval.parallel import default_jobs, with_fewer
from gradeval.ranking import Lines, query_numbers
from gradeval.reduction import Reduced, reduce_blocks, reduce_lines
from gradeval.segments import Floats, Ints

if TYPE_CHECKING:
    from gradeval.formats.letor import Letor

_QUERY_COLUMNS = ("query_id", "qid", "query", "q_id", "topic", "topic_id")
_DOCUMENT_COLUMNS = ("doc_id", "docid", "docno", "document", "document_id", "doc", "did", "iid", "item")
_GRADE_COLUMNS = ("grade", "relevance", "rel", "label", "rating")
_SCORE_COLUMNS = ("score", "sim", "scores")


class Run(NamedTuple):
    """A run that can be reduced to the judgments.

    path: what names it to the user. reduce: (qrels, ties, jobs) -> Reduced. source: its file, if it has one.
    name: its name in tables, None for one made from the path.
    """

    path: str
    reduce: Callable[[Qrels, str, int], Reduced]
    source: Source | None = None
    name: str | None = None

    def sha256(self) -> str | None:
        """The SHA-256 of its file, None where it has none."""
        return self.source.sha256() if self.source else None


def open_qrels(
    qrels: Any,
    options: Options,
    jobs: int = 1,
    watch: Callable[[Source], None] | None = None,
    with_features: bool = False,
) -> tuple[Qrels, Source | None]:
    """The judgments, and the file they are from if they are from one.

    A LETOR file's labels are the grades, or one of its features. with_features: read those that are runs too.
    """
    if not is_path(qrels):
        return _qrels_from_data(qrels), None
    source = _source(qrels, watch)
    feature = options.qrels_feature
    kind = options.qrels_format or detect(source)
    if kind == "scores":
        what = "each of its first lines is one number, so that it may hold labels or scores"
        hint = "--qrels-format letor reads labels; scores are a run, which comes after a LETOR file"
        raise InputError(source.name, what, hint=hint)
    if kind != "letor":
        for option, value in (("--qrels-feature", feature), ("--groups", options.groups)):
            if value is not None:
                raise OptionError(f"{option} goes with a LETOR file as qrels, but {source.name} is not one")
        from gradeval.formats.trec import read_qrels

        return with_fewer(lambda jobs: read_qrels(source, jobs), jobs), source
    from gradeval.formats.letor import read_letor

    wanted = {*(options.features if with_features else ()), *(() if feature is None else (feature,))}
    letor = with_fewer(lambda jobs: read_letor(source, wanted, options.groups, jobs), jobs)
    grade = letor.label if feature is None else letor.feature(feature)
    bounds = np.arange(len(grade) + 1)
    ids = letor.queries.take(letor.query)
    return Qrels.of(source.name, ids, bounds, letor.documents, grade, lambda: letor.line, letor), source


def open_runs(
    name: str | None,
    run: Any,
    qrels: Qrels,
    options: Options,
    watch: Callable[[Source], None] | None = None,
    place: int = 1,
) -> list[Run | InputError]:
    """The run, or the runs that the features of a LETOR file are. place: its number among the runs."""
    if not is_path(run):
        return [_run_from_data(run, name or f"run{place}")]
    source = _source(run, watch)
    own = is_file(run, qrels.path)  # the qrels' own features, which a pipe brings but once
    kind = options.run_format or (("letor" if qrels.letor else "trec") if own else detect(source))
    if options.features or kind == "letor":
        if kind != "letor":
            hint = "--feature goes with LETOR files"
            if kind == "scores":
                hint += "; if each line is a label, give --run-format letor"
            raise InputError(source.name, "this is not a LETOR file", hint=hint)
        if not options.features:
            hint = "Choose what ranks its documents with --feature, such as --feature 1 or --feature 1-5,9"
            raise InputError(source.name, "this is a LETOR file", hint=hint)
        letor = qrels.letor if own else None
        return _feature_runs(source, letor or _read_features(source, options), options.features)
    if kind == "scores":
        return [Run(source.name, lambda qrels, ties, jobs: _reduce_scores(source, qrels, ties), source, name)]
    from gradeval.formats.trec import run_columns

    def reduce(qrels: Qrels, ties: str, jobs: int) -> Reduced:
        return with_fewer(lambda jobs: reduce_blocks(source, run_columns, qrels, ties, jobs), jobs)

    return [Run(source.name, reduce, source, name)]


def is_path(value: Any) -> bool:
    return isinstance(value, (str, bytes, os.PathLike))


def is_file(value: Any, name: str) -> bool:
    """Whether it is the path of the file that messages call by this name."""
    return is_path(value) and source_of(value).name == name


def source_of(path: Any) -> Source:
    """The file of a path. Raises InputError where an object that should be a path is none."""
    with readable(described(path)):
        os.fsencode(path)  # a text that no path can be fails here, not where the file is opened
        return Source(path)


@contextmanager
def readable(path: str, must: str = "it cannot be read") -> Iterator[None]:
    """Raise InputError for any error of the objects of a Python program, which can fail wherever looked at."""
    try:
        yield
    except (GradevalError, MemoryError):
        raise
    except Exception as error:
        try:
            why = " ".join(str(error).split())
        except Exception:
            why = ""
        raise InputError(path, printable(f"{must}: {why or type(error).__name__}")) from None


def _source(path: Any, watch: Callable[[Source], None] | None) -> Source:
    source = source_of(path)
    if watch is not None:
        watch(source)
    return source


def _read_features(source: Source, options: Options) -> Letor:
    from gradeval.formats.letor import read_letor

    features, jobs = set(options.features), options.jobs or default_jobs()
    return with_fewer(lambda jobs: read_letor(source, features, options.groups, jobs), jobs)


def _feature_runs(source: Source, letor: Letor, features: Sequence[int]) -> list[Run | InputError]:
    """A run for each feature that a line names, and one error for the others."""

    def reduce(feature: int, qrels: Qrels, ties: str) -> Reduced:
        numbers = query_numbers(qrels, letor.queries)[letor.query]
        score = letor.feature(feature)
        return reduce_lines(
            Lines.grouped(numbers, letor.documents, score, letor.line), qrels, ties, source.name
        )

    def run(feature: int) -> Run:
        name = f"feature{feature}"
        return Run(
            f"{source.name}:{name}", lambda qrels, ties, jobs: reduce(feature, qrels, ties), source, name
        )

    runs: list[Run | InputError] = [run(feature) for feature in features if feature in letor.features]
    missing = [feature for feature in features if feature not in letor.features]
    return [*runs, letor.without(missing)] if missing else runs


def _reduce_scores(source: Source, qrels: Qrels, ties: str) -> Reduced:
    """A file of scores, one for each line of the LETOR file that the qrels are from."""
    from gradeval.formats.letor import read_numbers

    letor = qrels.letor
    if letor is None:
        what = f"scores, one a line, go with the lines of a LETOR file, but {qrels.path} is not one"
        raise InputError(source.name, what, hint="Give the LETOR file as qrels")
    scores = read_numbers(source, "score")
    if len(scores) != len(letor.line):
        raise InputError(
            source.name,
            f"there are {len(scores)} scores, but {qrels.path} has {len(letor.line)} lines of data",
        )
    numbers = query_numbers(qrels, letor.queries)[letor.query]
    lines = Lines.grouped(numbers, letor.documents, scores, np.arange(len(scores)))
    return reduce_lines(lines, qrels, ties, source.name)


def _qrels_from_data(data: Any) -> Qrels:
    """Judgments from a dict of dicts, tuples (query, document, grade), or a data frame."""
    queries, documents, grade = _columns(data, "qrels", _GRADE_COLUMNS)
    if not len(grade):
        raise InputError("qrels", "there are no judgments")
    _check_finite("qrels", grade, "grade")
    return Qrels.of("qrels", queries, np.arange(len(grade) + 1), documents, grade)


def _run_from_data(data: Any, path: str) -> Run:
    """A run from a dict of dicts, tuples (query, document, score), or a data frame."""
    if isinstance(data, Iterator):  # it may be looked at again, by fewer threads
        with readable(path, "each row must be (query, document, number)"):
            data = list(data)

    def reduce(qrels: Qrels, ties: str, jobs: int) -> Reduced:
        queries, documents, score = _columns(data, path, _SCORE_COLUMNS)
        _check_finite(path, score, "score")
        numbers = query_numbers(qrels, queries)
        return reduce_lines(Lines.grouped(numbers, documents, score, np.arange(len(score))), qrels, ties, path)

    return Run(path, reduce, None, path)


def _check_finite(path: str, numbers: Floats, name: str) -> None:
    problems = Problems(path)
    bad: Ints = np.flatnonzero(~np.isfinite(numbers))
    problems.add(LineProblems.of(bad, lambda i: f"the {name} {numbers[bad[i]]} is not a finite number"))
    problems.check()


def _columns(data: Any, path: str, number_names: Sequence[str]) -> tuple[Ids, Ids, Floats]:
    """The three columns of whatever it is, by row."""
    with readable(path, "each row must be (query, document, number)"):
        if isinstance(data, Mapping):
            triples = [
                (query, document, number) for query, of in data.items() for document, number in of.items()
            ]
        elif hasattr(data, "columns"):
            names = [*map(str, data.columns)]
            all_options = (_QUERY_COLUMNS, _DOCUMENT_COLUMNS, number_names)
            triples = list(zip(*(data[_named(names, options, path)] for options in all_options), strict=True))
        else:
            triples = [_triple(row) for row in data]
        numbers = _numbers([number for _, _, number in triples])
        return _ids(row[0] for row in triples), _ids(row[1] for row in triples), numbers


def _numbers(values: Sequence[Any]) -> Floats:
    if any(issubclass(kind, (complex, np.complexfloating)) for kind in set(map(type, values))):
        raise TypeError("a complex number is neither a grade nor a score")
    return np.array([float(value) for value in values], np.float64)


def _triple(row: Any) -> tuple[Any, Any, Any]:
    if isinstance(row, (str, bytes)):
        raise TypeError(f"{shown(os.fsencode(row))} is a text; files are given by their paths")
    query, document, number = tuple(row)[:3]  # of ir_measures' Qrel, a named tuple of four
    return query, document, number


def _named(names: Sequence[str], options: Sequence[str], path: str) -> str:
    lower = {name.lower(): name for name in reversed(names)}
    for option in options:
        if option in lower:
            return lower[option]
    raise InputError(path, f"no column is named {' or '.join(options)}: there are {', '.join(names)}")


def _ids(values: Iterable[Any]) -> Ids:
    return Ids.of([_id(value) for value in values])


def _is_missing(value: Any) -> bool:
    """Whether it is None, NaN or NaT, or pandas' NA, which is neither true nor false."""
    try:
        return value is None or bool(value != value)
    except TypeError:
        return True


def _id(value: Any) -> bytes:
    if _is_missing(value):
        raise ValueError("an id is missing")
    if isinstance(value, Sized) and not isinstance(value, (str, bytes)):
        raise ValueError(f"{described(value)} is no id")
    text = value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogateescape")
    if b"\0" in text:  # columns of ids have none, as files have none
        raise ValueError(f"the id {shown(text)} holds a NUL")
    return text

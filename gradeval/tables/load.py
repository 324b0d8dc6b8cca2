"""What may be given as qrels and as runs: files of any format, or Python data."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gradeval.arrays.threads import default_jobs, with_fewer
from gradeval.errors import InputError, OptionError, described
from gradeval.formats.detect import detect
from gradeval.formats.sources import Source
from gradeval.options import Options
from gradeval.tables.qrels import Qrels
from gradeval.tables.ranking import Lines, query_numbers
from gradeval.tables.reduction import Reduced, reduce_blocks, reduce_lines

if TYPE_CHECKING:
    from gradeval.formats.letor import Letor
from gradeval.formats.python import _GRADE_COLUMNS, _SCORE_COLUMNS, _check_finite, _columns, readable


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
    from gradeval.formats.scores import read_numbers

    letor = qrels.letor
    if letor is None:
        what = f"scores, one a line, go with the lines of a LETOR file, but {qrels.path} is not one"
        raise InputError(source.name, what, hint="Give the LETOR file as qrels")
    scores = read_numbers(source, "score", len(letor.line))
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

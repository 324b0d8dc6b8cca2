"""Checks qrels and runs without scoring them: all that is wrong, and what the files are and hold."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gradeval.arrays import Bools
from gradeval.arrays.segments import Segments
from gradeval.arrays.strings import Ids
from gradeval.arrays.threads import default_jobs, ordered_map, with_fewer
from gradeval.commands.files.result import FileReport, Issues, QrelsFacts, RunFacts, Validation
from gradeval.commands.files.survey import AllProblems, Collected, LetorProblems, ObservedSource, Surveyed
from gradeval.errors import InputError, InputErrors, OptionError, first_names
from gradeval.evaluation.findings import FIRST_RANKS, judged_share, qrels_notices
from gradeval.formats.detect import AS_OTHER, format_of, role_of
from gradeval.formats.diagnostics import ORDER, LineProblems, Problem, Problems, misread, shown, with_hint
from gradeval.formats.sources import Source
from gradeval.notices import many
from gradeval.options import Options, whole
from gradeval.tables.ideal import is_relevant
from gradeval.tables.load import File, check_columns, open_file
from gradeval.tables.qrels import Qrels, Rows
from gradeval.tables.reduction import Reduced, collect

DEFAULT_MAX_ERRORS = 10_000
MAX_ERRORS = 10**9
_SHOWN_IDS = 5  # of queries that a warning names


def validate(
    qrels: str | os.PathLike[str] | None = None,
    runs: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = (),
    *,
    max_errors: int | None = DEFAULT_MAX_ERRORS,
    watch: Callable[[Source], None] | None = None,
    **options: Any,
) -> Validation:
    """Check files without scoring them.

    qrels, runs: paths; runs may be one. max_errors: how many errors, and how many warnings, of each file are
    listed (None: all); all are counted. watch: is shown each source before it is read. options: those of
    options.Options about reading, and rel, the relevance threshold.
    Raises OptionError. What is wrong with the files is in the result.
    """
    paths = [runs] if isinstance(runs, (str, bytes, os.PathLike)) else list(runs)
    if qrels is None and not paths:
        raise OptionError("no files given")
    limit = MAX_ERRORS if max_errors is None else whole("max_errors", max_errors, 0, MAX_ERRORS)
    checked = _Checked(Options.of(**options), limit, watch)
    check_columns([*([] if qrels is None else [qrels]), *paths], checked.options)
    reports = [] if qrels is None else [checked.qrels(ObservedSource(qrels))]
    for path in paths:
        reports += checked.run(ObservedSource(path))
    return Validation(tuple(reports))


def validate_files(
    paths: Sequence[str],
    role: str | None = None,
    *,
    max_errors: int | None = DEFAULT_MAX_ERRORS,
    watch: Callable[[Source], None] | None = None,
    **options: Any,
) -> Validation:
    """Check files as validate() does; whether the first is qrels or a run is detected from its content.

    role: 'qrels' or 'run', what all files are. Of several files the first is the qrels where its content may be
    either; one file must then have a role. Raises OptionError.
    """
    order = ORDER if role is None else AS_OTHER[role]
    checked = _Checked(Options.of(**options), MAX_ERRORS if max_errors is None else max_errors, watch, order)
    sources = [ObservedSource(path) for path in paths]
    check_columns(paths, checked.options)
    reports: list[FileReport] = []
    for place, source in enumerate(sources):
        try:
            own = role or ("run" if place else _first_role(source, checked.options, len(sources)))
        except (InputError, InputErrors) as error:
            reports.append(_unread(source, "", error))
            continue
        reports += [checked.qrels(source)] if own == "qrels" else checked.run(source)
    return Validation(tuple(reports))


def _first_role(source: Source, options: Options, files: int) -> str:
    role = role_of(source, options)
    if role is None and files == 1:
        raise InputError(source.name, "the file may be qrels or a run", hint="Say which with --as qrels|run")
    return role or "qrels"


class _Checked:
    """Checks files one after another; the qrels are kept for the runs. order: that of diagnostics.Problems."""

    def __init__(
        self, options: Options, limit: int, watch: Callable[[Source], None] | None, order: str = ORDER
    ) -> None:
        self.options, self.limit, self.watch, self.order = options, limit, watch, order
        self.jobs = options.jobs or default_jobs()
        self.judgments: Qrels | None = None
        self.file: File | None = None

    def qrels(self, source: ObservedSource) -> FileReport:
        opened = self._open(source, "qrels")
        if isinstance(opened, FileReport):
            return opened
        [(file, _)] = opened
        self.file = file
        problems = AllProblems(source.name, "qrels", self.limit, self.order)
        try:
            parts = [part for _, part in problems.until_enough(self._parts(file))]
        except (InputError, InputErrors) as error:
            return _unread(source, "qrels", error, file.kind, problems)
        if not any(len(part.value) for part in parts):
            return self._report(source, file, problems, None)
        unrated = sum(part.unrated for part in parts)
        rows = Rows.of(source.name, parts, self.jobs)  # which takes them
        for wrong in (rows.out_of_range(), rows.conflicts()):
            problems.add(wrong)
        qrels = rows.without_duplicates()
        self.judgments = qrels
        without = ~Segments(qrels.offsets).max(
            is_relevant(qrels.grade, self.options.rel).astype(np.float64)
        ).astype(bool)
        grades, counts = np.unique(rows.qrels.grade, return_counts=True)
        facts = QrelsFacts(
            len(qrels.queries),
            len(rows.qrels.grade),
            tuple(zip(grades.tolist(), counts.tolist(), strict=True)),
            len(rows.again),
            int(np.count_nonzero(without)),
            unrated,
            len(rows.more),
        )
        warnings = Collected(self.limit)
        for problem in _same_grade(rows).all():
            warnings.add(problem)
        if without.any():
            warnings.add(_of_queries(qrels, without, "has no relevant document", "have no relevant document"))
        return self._report(source, file, problems, facts, warnings)

    def run(self, source: ObservedSource) -> list[FileReport]:
        opened = self._open(source, "run")
        if isinstance(opened, FileReport):
            return [opened]
        return [self._run(source, file, problems) for file, problems in opened]

    def _run(self, source: ObservedSource, file: File, problems: AllProblems) -> FileReport:
        qrels = self.judgments or _NO_QRELS
        begun: list[AllProblems] = []

        def begin() -> tuple[Surveyed, Problems]:
            begun.append(AllProblems(source.name, "run", self.limit, self.order))
            return Surveyed(qrels, self.limit), begun[-1]

        table = file.table
        try:
            found = with_fewer(lambda jobs: collect(table.source, table.columns, begin, jobs), self.jobs)
        except (InputError, InputErrors) as error:
            return _unread(source, "run", error, file.kind, begun[-1] if begun else problems, file.name)
        problems = begun[-1]
        problems.errors.join(found.duplicates)
        if not found.documents:
            return self._report(source, file, problems, None)
        reduced = found.reduced()
        has_qrels, has_common = self.judgments is not None, bool((reduced.retrieved > 0).any())
        share, extra = None, reduced.extra
        if extra.lines:
            what = f"{many(extra.lines, 'line has', 'lines have')} more than 6 fields, this one first"
            found.against.add(Problem(extra.first, what, "What follows the tag is ignored"))
        if has_common:
            share = judged_share(qrels, reduced, np.ones(len(qrels.queries), bool), FIRST_RANKS)
            for problem in _coverage(qrels, reduced):
                found.against.add(problem)
        elif has_qrels:
            from gradeval.evaluation.outcome import no_common_query

            found_none = no_common_query(source.name, qrels.path)
            problems.errors.add(Problem(None, found_none.what, found_none.hint))
        return self._report(source, file, problems, found.facts(has_qrels, share), found.against)

    def _open(self, source: ObservedSource, role: str) -> list[tuple[File, AllProblems]] | FileReport:
        if self.watch is not None:
            self.watch(source)
        problems = LetorProblems(source.name, role, self.limit, self.order)
        letor = None if self.file is None else self.file.letor
        try:
            files = open_file(source, role, self.options, letor, problems, with_ranks=True)
        except (InputError, InputErrors) as error:
            return _unread(source, role, error, "", problems)
        return [(file, problems) for file in files]

    def _parts(self, file: File) -> Any:
        return ordered_map(file.table.columns, file.table.source.blocks(), self.jobs)

    def _report(
        self,
        source: ObservedSource,
        file: File,
        problems: AllProblems,
        facts: QrelsFacts | RunFacts | None,
        warnings: Collected | None = None,
    ) -> FileReport:
        other = misread(problems)
        if other is not None:  # what the other lines hold means nothing
            facts = warnings = None
        warnings = warnings or Collected(self.limit)
        about = source.described(format_of(file.kind).is_of_fields)
        if about.not_utf8 is not None:
            warnings.add(Problem(about.not_utf8 - 1, "the text is not UTF-8 from here on"))
        if " and " in about.line_ends:
            warnings.add(Problem(None, f"lines end in {about.line_ends}"))
        if facts is None and not problems.errors.kinds:
            lines = problems.lines
            what = "the file is empty" if not lines else "no data: all lines are blank or comments"
            problems.errors.add(Problem(None, what))
        errors = problems.errors.issues()
        if other is not None:
            errors = Issues.of(Problem(other.line, other.what, other.hint))
        elif problems.found.first and errors.first:
            first = errors.first[0]._replace(hint=with_hint(problems).hint or errors.first[0].hint)
            errors = replace(errors, first=(first, *errors.first[1:]))
        path = f"{source.name}:{file.name}" if file.name else source.name
        given = self.options.qrels_format if file.role == "qrels" else self.options.run_format
        why = f"given with --{file.role}-format" if given else format_of(file.kind).why
        return FileReport(
            path,
            file.role,
            file.kind,
            why,
            about,
            facts,
            errors,
            warnings.issues(),
            problems.end,
        )


def _of_queries(qrels: Qrels, chosen: Bools, one: str, more: str) -> Problem:
    """A problem of some queries. one, more: what is the case with a query, and with several."""
    rows = np.flatnonzero(chosen)
    ids = first_names(map(shown, qrels.queries.take(rows[: _SHOWN_IDS + 1]).tolist()), _SHOWN_IDS)
    return Problem(None, f"{many(len(rows), f'query {one}', f'queries {more}')}: {ids}")


def _coverage(qrels: Qrels, reduced: Reduced) -> Iterator[Problem]:
    """Where the qrels and a run do not match."""
    missing = reduced.retrieved == 0
    if missing.any():
        yield _of_queries(qrels, missing, "of the qrels is not in the run", "of the qrels are not in the run")
    if reduced.unjudged:
        yield Problem(None, f"{many(reduced.unjudged, 'unjudged query', 'unjudged queries')} of the run")
    if not np.isfinite(reduced.rank).any():
        yield Problem(None, "no document of the run is judged", "Check the document ids")
    for _ in qrels_notices(qrels, reduced, Options()):
        yield Problem(None, "every document is judged and its score is its grade", "Is this the qrels file?")


def _same_grade(rows: Rows) -> LineProblems:
    """The duplicates with the grade of the first judgment."""
    grade = rows.qrels.grade
    same = np.flatnonzero(grade[rows.again] == grade[rows.first])
    if not len(same):
        return LineProblems()
    again, first, line = rows.again[same], rows.first[same], rows.line()

    def what(i: int) -> str:
        document = shown(rows.qrels.documents[int(again[i])])
        return f"document {document} is judged before, in line {int(line[first[i]]) + 1}, with the same grade"

    return LineProblems.of(line[again], what)


def _unread(
    source: Source,
    role: str,
    error: InputError | InputErrors,
    kind: str = "",
    problems: AllProblems | None = None,
    name: str = "",
) -> FileReport:
    """The report of a file that cannot be read, or not to its end."""
    collected = problems.errors if problems is not None else Collected(MAX_ERRORS)
    if not (isinstance(problems, LetorProblems) and collected.kinds):  # whose error has these
        for one in error.errors if isinstance(error, InputErrors) else [error]:
            collected.add(Problem(None if one.line is None else one.line - 1, one.what, one.hint))
    path = f"{source.name}:{name}" if name else source.name
    return FileReport(path, role, kind, errors=collected.issues())


_NO_QRELS = Qrels("", Ids.of([]), np.zeros(1, np.int64), Ids.of([]), np.empty(0))

"""Checks qrels and runs without scoring them: all that is wrong, and what the files are and hold."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gradeval.arrays import Bools
from gradeval.arrays.segments import Segments
from gradeval.arrays.strings import Ids, Texts
from gradeval.arrays.threads import default_jobs, ordered_map, with_fewer
from gradeval.commands.files.facts import AllProblems, Collected, CountedRun, ObservedSource
from gradeval.commands.files.report import SHOWN_IDS, FileReport, Issues, QrelsFacts, RunFacts, Validation
from gradeval.errors import InputError, InputErrors, OptionError, first_names, named
from gradeval.evaluation.findings import FIRST_RANKS, judged_share, qrels_notices
from gradeval.evaluation.outcome import no_common_query
from gradeval.formats.columns import Columns
from gradeval.formats.detect import AS_OTHER, format_of, role_of
from gradeval.formats.diagnostics import ORDER, LineProblems, Problem, misread, no_data, shown, with_hint
from gradeval.formats.sources import Source
from gradeval.notices import Kind, many
from gradeval.options import OF_FILES, Options, takes, whole
from gradeval.tables.ideal import is_relevant
from gradeval.tables.load import File, check_columns, open_file
from gradeval.tables.passages import Collapse
from gradeval.tables.qrels import Qrels, Rows
from gradeval.tables.ranking import query_indices
from gradeval.tables.reduction import Reduced, collect

if TYPE_CHECKING:
    from gradeval.formats.letor import Letor
    from gradeval.keywords import Unpack, Validate

DEFAULT_MAX_ERRORS = 10_000
MAX_ERRORS = 10**9
_NO_QRELS = Qrels("", Ids.of([]), np.zeros(1, np.int64), Ids.of([]), np.empty(0))


@takes({"rel": Options.table["rel"], **OF_FILES})
def validate(
    qrels: str | os.PathLike[str] | None = None,
    runs: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = (),
    *,
    max_errors: int | None = DEFAULT_MAX_ERRORS,
    **options: Unpack[Validate],
) -> Validation:
    """Check files without scoring them.

    qrels, runs: paths; runs may be one. max_errors: how many errors, and how many warnings, of each file are
    listed (None: all); all are counted. options: those of options.Options about reading, and rel, the relevance
    threshold.
    Raises OptionError. What is wrong with the files is in the result.
    """
    paths = [runs] if isinstance(runs, (str, bytes, os.PathLike)) else list(runs)
    if qrels is None and not paths:
        raise OptionError("no files given")
    roles: list[str | None] = ["run"] * len(paths)
    if qrels is not None:
        paths, roles = [qrels, *paths], ["qrels", *roles]
    return Checks(Options.of(**options), max_errors).validation(paths, roles)


class Checks:
    """Checks files one after another; the qrels are kept for the runs.

    max_errors: that of validate(). role: 'qrels' or 'run', what all files are.
    """

    def __init__(self, options: Options, max_errors: int | None, role: str | None = None) -> None:
        self.options, self.order = options, ORDER if role is None else AS_OTHER[role]
        self.limit = MAX_ERRORS if max_errors is None else whole("max_errors", max_errors, 0, MAX_ERRORS)
        self.jobs = options.jobs or default_jobs()
        self.judgments: Qrels | None = None
        self.letor: Letor | None = None

    def validation(self, paths: Sequence[Any], roles: Sequence[str | None]) -> Validation:
        """roles: 'qrels' or 'run', None where the content decides; one that may be either is the qrels."""
        sources = [ObservedSource(path) for path in paths]
        check_columns(paths, self.options)
        reports: list[FileReport] = []
        for source, role in zip(sources, roles, strict=True):
            try:
                used = role or self._role(source, len(sources))
            except (InputError, InputErrors) as error:
                reports.append(self._unread(source, "", error))
                continue
            reports += self._reports(source, used)
        return Validation(tuple(reports))

    def _role(self, source: Source, files: int) -> str:
        role = role_of(source, self.options)
        if role is None and files == 1:
            hint = "Say which with --as qrels|run"
            raise InputError(source.name, "the file may be qrels or a run", hint=hint)
        return role or "qrels"

    def _reports(self, source: ObservedSource, role: str) -> Iterator[FileReport]:
        problems = self._problems(source, role, must_be_right=True)
        try:
            files = open_file(source, role, self.options, self.letor, problems, with_ranks=True)
        except (InputError, InputErrors) as error:
            yield self._unread(source, role, error, problems=problems)
            return
        for file in files:
            yield self._qrels(source, file) if role == "qrels" else self._run(source, file, problems)

    def _problems(self, source: Source, role: str, must_be_right: bool = False) -> AllProblems:
        return AllProblems(source.name, role, self.limit, self.order, must_be_right)

    def _qrels(self, source: ObservedSource, file: File) -> FileReport:
        self.letor = file.letor
        problems = self._problems(source, "qrels")
        try:
            blocks = ordered_map(file.table.columns, file.table.source.blocks(), self.jobs)
            parts = [part for _, part in problems.until_enough(blocks)]
        except (InputError, InputErrors) as error:
            return self._unread(source, "qrels", error, file.kind, problems)
        if not any(len(part.value) for part in parts):
            return self._report(source, file, problems, None)
        unrated = sum(part.unrated for part in parts)
        rows = Rows.of(source.name, parts, self.jobs)  # which takes them
        for wrong in (rows.out_of_range(), rows.conflicts()):
            problems.add(wrong)
        qrels = self.judgments = rows.without_duplicates()
        relevant = is_relevant(qrels.grade, self.options.rel).astype(np.float64)
        without = ~Segments(qrels.offsets).max(relevant).astype(bool)
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
            warnings.add(problem, notice=Kind.DUPLICATES)
        if without.any():
            what = _of_queries(qrels, without, "has no relevant document", "have no relevant document")
            warnings.add(what, notice=Kind.NO_RELEVANT)
        return self._report(source, file, problems, facts, warnings)

    def _run(self, source: ObservedSource, file: File, problems: AllProblems) -> FileReport:
        qrels = self.judgments or _NO_QRELS

        def begin() -> tuple[CountedRun, AllProblems]:
            nonlocal problems
            problems = self._problems(source, "run")
            return CountedRun(qrels, self.limit, names, Collapse.of(self.options)), problems

        table, names = file.table, dict[int, bytes]()

        def columns(block: Any) -> Columns:
            read: Columns = table.columns(block)
            names.update(
                zip(
                    query_indices(qrels, read.queries, by_key=True).tolist(), read.queries.tolist(), strict=True
                )
            )
            return read

        try:
            run = with_fewer(lambda jobs: collect(table.source, columns, begin, jobs), self.jobs)
        except (InputError, InputErrors) as error:
            return self._unread(source, "run", error, file.kind, problems, file.name)
        problems.errors.join(run.duplicates)
        if not run.lines:
            return self._report(source, file, problems, None)
        reduced = run.reduced()
        share, extra = None, reduced.extra
        if (reduced.retrieved > 0).any():
            share = judged_share(qrels, reduced, np.ones(len(qrels.queries), bool), FIRST_RANKS)
        facts = run.facts(self.judgments is not None, share)
        if extra.lines:
            what = f"{many(extra.lines, 'line has', 'lines have')} more than 6 fields, this one first"
            problem = Problem(extra.first, what, "What follows the tag is ignored")
            run.against.add(problem, notice=Kind.EXTRA_FIELDS)
        if (reduced.retrieved > 0).any():
            for kind, problem in _coverage(qrels, reduced, facts.first_ids):
                run.against.add(problem, notice=kind)
        elif self.judgments is not None:
            first = facts.first_ids.get("unjudged", ())
            nothing = no_common_query(source.name, qrels.path, first, Texts(qrels.queries))
            problems.errors.add(Problem(None, nothing.what, nothing.hint))
        return self._report(source, file, problems, facts, run.against)

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
            warnings.add(Problem(about.not_utf8 - 1, "the text is not UTF-8 from here on"), notice=Kind.TEXT)
        if " and " in about.line_ends:
            warnings.add(Problem(None, f"lines end in {about.line_ends}"), notice=Kind.TEXT)
        if facts is None and not problems.errors.kinds:
            problems.errors.add(Problem(None, no_data(source.name, problems.lines).what))
        errors = problems.errors.issues()
        if other is not None:
            problem = Problem(other.line, other.what, other.hint)
            errors = Issues((problem,), 1, {problem.kind: 1})
        elif problems.found.first and errors.first:
            first = errors.first[0]._replace(hint=with_hint(problems).hint or errors.first[0].hint)
            errors = replace(errors, first=(first, *errors.first[1:]))
        chosen = self.options.qrels_format if file.role == "qrels" else self.options.run_format
        why = f"given with --{file.role}-format" if chosen else format_of(file.kind).why
        return FileReport(
            _path(source, file.name),
            file.role,
            file.kind,
            why,
            about,
            facts,
            errors,
            warnings.issues(),
            problems.end,
        )

    def _unread(
        self,
        source: Source,
        role: str,
        error: InputError | InputErrors,
        kind: str = "",
        problems: AllProblems | None = None,
        name: str = "",
    ) -> FileReport:
        """The report of a file that cannot be read, or not to its end."""
        problems = problems or AllProblems(source.name, role, MAX_ERRORS)
        if not (problems.must_be_right and problems.errors.kinds):  # which the error repeats
            for of_line in error.errors if isinstance(error, InputErrors) else [error]:
                line = None if of_line.line is None else of_line.line - 1
                problems.errors.add(Problem(line, of_line.what, of_line.hint))
        return FileReport(_path(source, name), role, kind, errors=problems.errors.issues())


def _path(source: Source, name: str) -> str:
    return f"{source.name}:{name}" if name else source.name


def _of_queries(qrels: Qrels, chosen: Bools, singular: str, plural: str) -> Problem:
    rows = np.flatnonzero(chosen)
    ids = first_names(map(shown, qrels.queries.take(rows[: SHOWN_IDS + 1]).tolist()), SHOWN_IDS)
    return Problem(None, f"{many(len(rows), f'query {singular}', f'queries {plural}')}: {ids}")


def _coverage(
    qrels: Qrels, reduced: Reduced, first_ids: Mapping[str, Sequence[str]]
) -> Iterator[tuple[Kind, Problem]]:
    """Where the qrels and a run do not match, each with its kind."""
    missing = reduced.retrieved == 0
    if missing.any():
        what = "of the qrels is not in the run", "of the qrels are not in the run"
        yield Kind.MISSING, _of_queries(qrels, missing, *what)
    if reduced.unjudged:
        ids = first_names(map(named, first_ids.get("unjudged", ())), SHOWN_IDS)
        count = f"{many(reduced.unjudged, 'unjudged query', 'unjudged queries')} of the run"
        yield Kind.UNJUDGED, Problem(None, f"{count}: {ids}" if ids else count)
    if not np.isfinite(reduced.rank).any():
        problem = Problem(None, "no document of the run is judged", "Check the document ids")
        yield Kind.NOTHING_JUDGED, problem
    for _ in qrels_notices(qrels, reduced, Options()):
        what_if = "every document is judged and its score is its grade"
        yield Kind.QRELS_AS_RUN, Problem(None, what_if, "Is this the qrels file?")


def _same_grade(rows: Rows) -> LineProblems:
    grade = rows.qrels.grade
    same = np.flatnonzero(grade[rows.again] == grade[rows.first])
    if not len(same):
        return LineProblems()
    again, first, line = rows.again[same], rows.first[same], rows.line()

    def what(i: int) -> str:
        document = shown(rows.qrels.documents[int(again[i])])
        return f"document {document} is judged before, in line {int(line[first[i]]) + 1}, with the same grade"

    return LineProblems.of(line[again], what)

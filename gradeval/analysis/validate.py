"""Checks qrels and runs without scoring them: all that is wrong, and what the files are and hold."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from gradeval.analysis.files import File, open_file
from gradeval.arrays import Bools, Ints
from gradeval.arrays.hashing import KeyTable, in_group
from gradeval.arrays.segments import Segments, distinct
from gradeval.arrays.strings import Ids, repeats
from gradeval.arrays.threads import default_jobs, ordered_map, with_fewer
from gradeval.errors import InputError, InputErrors, OptionError, described
from gradeval.findings import FIRST_RANKS, judged_share
from gradeval.formats.describe import Description, ObservedSource
from gradeval.formats.detect import format_of
from gradeval.formats.diagnostics import LineProblems, Problem, Problems, shown
from gradeval.formats.roles import role_of
from gradeval.formats.sources import Source
from gradeval.notices import many
from gradeval.options import Options
from gradeval.tables.ideal import is_relevant
from gradeval.tables.qrels import Qrels, Rows
from gradeval.tables.ranking import Found, Lines
from gradeval.tables.reduced import Reduced, Total
from gradeval.tables.reduction import collect

DEFAULT_MAX_ERRORS = 10_000
MAX_ERRORS = 10**9
_SHOWN_IDS = 5  # of queries that a warning names


class Issue(NamedTuple):
    """Something wrong in a line (from 1), None where it is not in one line. hint: what to do, or ''."""

    line: int | None
    what: str
    hint: str = ""


@dataclass(frozen=True)
class Issues:
    """Errors or warnings of a file: the first by line, how many there are, and how many of each kind."""

    first: tuple[Issue, ...] = ()
    total: int = 0
    kinds: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class QrelsFacts:
    """What qrels hold. grades: (grade, judgments) from the lowest. duplicates: judgments of documents that are
    judged before, with the same grade or another. without_relevant: queries without a relevant document.
    """

    queries: int
    judgments: int
    grades: tuple[tuple[float, int], ...]
    duplicates: int
    without_relevant: int


@dataclass(frozen=True)
class RunFacts:
    """What a run holds.

    per_query: the fewest, median and most documents of a query. tied: documents that share their score with
    another of their query; tied_queries: queries that have some. ranked: queries whose ranks can be compared
    with the scores, None where the run has no rank column; contradicting: where the rank rises with the score;
    disordered: where some rank does. judged_queries, missing: of the qrels, and those that the run lacks.
    unjudged: queries that the qrels lack. judged: the mean share of the first FIRST_RANKS documents that is
    judged. These are None without qrels.
    """

    queries: int
    documents: int
    per_query: tuple[int, float, int]
    tied: int
    tied_queries: int
    duplicates: int
    ranked: int | None = None
    contradicting: int | None = None
    disordered: int | None = None
    tag: str = ""
    judged_queries: int | None = None
    missing: int | None = None
    unjudged: int | None = None
    judged: float | None = None


@dataclass(frozen=True)
class FileReport:
    """What is known of a file.

    role: 'qrels' or 'run', '' where it is unknown. format, why: what it is, and why it was taken for that.
    facts: None where nothing of it could be read. end: the line, from 1, at which reading stopped before the
    file's end.
    """

    path: str
    role: str
    format: str = ""
    why: str = ""
    description: Description | None = None
    facts: QrelsFacts | RunFacts | None = None
    errors: Issues = Issues()
    warnings: Issues = Issues()
    end: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON has it."""
        description = self.description
        return {
            "path": self.path,
            "role": self.role,
            "format": self.format,
            "why": self.why,
            **({} if description is None else description._asdict()),
            self.role or "facts": None if self.facts is None else asdict(self.facts),
            "errors": _issues(self.errors),
            "warnings": _issues(self.warnings),
            "stopped_at": self.end,
        }


@dataclass(frozen=True)
class Validation:
    """The reports of all files."""

    files: tuple[FileReport, ...]

    @property
    def errors(self) -> int:
        return sum(file.errors.total for file in self.files)

    @property
    def warnings(self) -> int:
        return sum(file.warnings.total for file in self.files)

    @property
    def ok(self) -> bool:
        """Whether no file has an error."""
        return not self.errors

    def to_dict(self) -> dict[str, Any]:
        counts = {"ok": self.ok, "errors": self.errors, "warnings": self.warnings}
        return {**counts, "files": [file.to_dict() for file in self.files]}


def _issues(issues: Issues) -> dict[str, Any]:
    return {
        "total": issues.total,
        "kinds": issues.kinds,
        "first": [{"line": one.line, "what": one.what, "hint": one.hint} for one in issues.first],
    }


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
    is_count = (
        isinstance(max_errors, int) and not isinstance(max_errors, bool) and 0 <= max_errors <= MAX_ERRORS
    )
    if not (max_errors is None or is_count):
        raise OptionError(f"max_errors must be an integer from 0 to {MAX_ERRORS}, not {described(max_errors)}")
    checked = _Checked(Options.of(**options), MAX_ERRORS if max_errors is None else max_errors, watch)
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
    """The same for files of which the first may be qrels or a run: its content decides.

    role: 'qrels' or 'run', what all files are. Of several files the first is the qrels where its content may be
    either; one file must then have a role. Raises OptionError.
    """
    checked = _Checked(Options.of(**options), MAX_ERRORS if max_errors is None else max_errors, watch)
    sources = [ObservedSource(path) for path in paths]
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


class _Collected:
    """Issues of a file while they are found: the first `limit` by line are kept."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.kept: list[Issue] = []
        self.kinds: Counter[str] = Counter()

    def add(self, problem: Problem, first_line: int = 0) -> None:
        line = None if problem.line is None else first_line + problem.line + 1
        self.kinds[problem.kind] += 1
        self.kept.append(Issue(line, problem.what, problem.hint))
        if len(self.kept) > 2 * self.limit + 100:
            self._prune()

    def _prune(self) -> None:
        self.kept.sort(key=lambda issue: issue.line or 0)
        del self.kept[self.limit :]

    def join(self, others: _Collected) -> None:
        self.kept += others.kept
        self.kinds.update(others.kinds)

    def issues(self) -> Issues:
        self._prune()
        return Issues(tuple(self.kept), self.kinds.total(), dict(self.kinds.most_common()))


class _AllProblems(Problems):
    """The problems of a file, which is read on whatever is wrong with its lines."""

    enough = float("inf")

    def __init__(self, path: str, role: str, limit: int) -> None:
        super().__init__(path, role)
        self.errors = _Collected(limit)

    def add(self, found: LineProblems, first_line: int = 0) -> None:
        for problem in found.all() if found.total else ():
            self.errors.add(problem, first_line)
        super().add(found, first_line)

    def check(self) -> None:
        """They are reported with what the other lines hold."""


class _LetorProblems(_AllProblems):
    """The same of a LETOR file: without all of its lines there are no rows."""

    def check(self) -> None:
        Problems.check(self)


class _Duplicates(NamedTuple):
    """Documents that come again: the line of each, that of the first, and their ids."""

    line: Ints
    first: Ints
    documents: list[bytes]


class _Survey(NamedTuple):
    """What is counted of whole queries. counts: the documents of each, (S,). against: the first line in which
    the rank rises with the score, of each query where it does so on balance.
    """

    counts: Ints
    tied: int
    tied_queries: int
    duplicates: _Duplicates | None
    ranked: int
    disordered: int
    against: Ints


class _Surveyed(Total):
    """A run's facts, with what eval would keep of it."""

    detects_repeated_run = False  # each duplicate is reported

    def __init__(self, qrels: Qrels, limit: int) -> None:
        super().__init__(qrels, "trec")
        self.counts: list[Ints] = []
        self.tied = self.tied_queries = self.ranked = self.disordered = self.contradicting = 0
        self.has_ranks = False
        self.duplicates, self.against = _Collected(limit), _Collected(limit)

    def find(self, lines: Lines) -> Found:
        self.has_ranks |= lines.rank is not None
        found = super().find(lines)
        return found._replace(more=_survey(lines, found))

    def add(self, found: Found, first_line: int) -> None:
        super().add(found, first_line)
        survey: _Survey = found.more
        self.counts.append(survey.counts)
        self.tied += survey.tied
        self.tied_queries += survey.tied_queries
        self.ranked += survey.ranked
        self.disordered += survey.disordered
        self.contradicting += len(survey.against)
        for line in survey.against.tolist():
            what = "the rank rises with the score here, as in most lines of this query"
            self.against.add(Problem(line, what), first_line)
        if survey.duplicates is not None:
            again, first, documents = survey.duplicates
            for line, before, document in zip(again.tolist(), first.tolist(), documents, strict=True):
                what = f"duplicate document {shown(document)} for its query"
                hint = f"The first is in line {first_line + before + 1}"
                self.duplicates.add(Problem(line, what, hint), first_line)

    def report(self, problems: Problems) -> None:
        """Nothing: all duplicates are listed."""

    def facts(self, share: float | None) -> RunFacts:
        """share: of the first documents that is judged, None without qrels."""
        counts = np.concatenate([np.empty(0, np.int64), *self.counts])
        tag = self.tag.decode("utf-8", "surrogateescape")
        duplicates = self.duplicates.kinds.total()
        low, high = (int(counts.min()), int(counts.max())) if len(counts) else (0, 0)
        middle = float(np.median(counts)) if len(counts) else 0.0
        facts = RunFacts(
            len(counts),
            int(counts.sum()),
            (low, middle, high),
            self.tied,
            self.tied_queries,
            duplicates,
            tag=tag,
        )
        if self.has_ranks:
            facts = replace(
                facts, ranked=self.ranked, contradicting=self.contradicting, disordered=self.disordered
            )
        if share is None:
            return facts
        judged, missing = len(self.retrieved), int(np.count_nonzero(self.retrieved == 0))
        return replace(facts, judged_queries=judged, missing=missing, unjudged=self.unjudged, judged=share)


def _survey(lines: Lines, found: Found) -> _Survey:
    segments = Segments(lines.bounds)
    ties = segments.ties(segments.sorted_descending(lines.score))
    groups = np.flatnonzero(ties.lengths > 1)
    tied = int(ties.lengths[groups].sum())
    tied_queries = len(distinct(segments.query[ties.offsets[groups]]))
    duplicates = None
    if found.repeats.total:
        again, first = repeats(
            KeyTable(in_group(lines.documents.keys(), segments.query)), lines.documents, segments.query
        )
        documents = lines.documents.take(again).tolist()
        duplicates = _Duplicates(lines.line[again], lines.line[first], documents)
    ranked, disordered, against = _against(lines, segments)
    return _Survey(np.diff(lines.bounds), tied, tied_queries, duplicates, ranked, disordered, against)


def _against(lines: Lines, segments: Segments) -> tuple[int, int, Ints]:
    """How many queries have ranks that can be compared with the scores; in how many a rank rises with the
    score; and the first line of those where it does so on balance.
    """
    none = np.empty(0, np.int64)
    if lines.rank is None or not len(lines.score):
        return 0, 0, none
    rises = np.sign(np.diff(lines.rank)) * np.sign(np.diff(lines.score))
    rises = np.append(0.0, np.nan_to_num(rises))  # of each line and the one before
    rises[lines.bounds[:-1]] = 0
    balance = np.add.reduceat(rises, lines.bounds[:-1])
    is_against: Bools = rises > 0
    disordered = np.add.reduceat(is_against, lines.bounds[:-1], dtype=np.int64) > 0
    queries = np.flatnonzero(balance > 0)
    rows = np.flatnonzero(is_against)
    first = rows[np.searchsorted(rows, lines.bounds[queries])]
    ranked = int(np.count_nonzero(np.add.reduceat(rises != 0, lines.bounds[:-1], dtype=np.int64)))
    return ranked, int(np.count_nonzero(disordered)), lines.line[first]


class _Checked:
    """Checks files one after another; the qrels are kept for the runs."""

    def __init__(self, options: Options, limit: int, watch: Callable[[Source], None] | None) -> None:
        self.options, self.limit, self.watch = options, limit, watch
        self.jobs = options.jobs or default_jobs()
        self.judgments: Qrels | None = None
        self.file: File | None = None

    def qrels(self, source: ObservedSource) -> FileReport:
        opened = self._open(source, "qrels")
        if isinstance(opened, FileReport):
            return opened
        [(file, _)] = opened
        self.file = file
        problems = _AllProblems(source.name, "qrels", self.limit)
        try:
            parts = [part for _, part in problems.until_enough(self._parts(file))]
        except (InputError, InputErrors) as error:
            return _unread(source, "qrels", error, file.kind, problems)
        if not any(len(part.value) for part in parts):
            return self._report(source, file, problems, None)
        rows = Rows.of(source.name, parts, self.jobs)
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
        )
        warnings = _Collected(self.limit)
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

    def _run(self, source: ObservedSource, file: File, problems: _AllProblems) -> FileReport:
        qrels = self.judgments or _NO_QRELS
        begun: list[_AllProblems] = []

        def begin() -> tuple[_Surveyed, Problems]:
            begun.append(_AllProblems(source.name, "run", self.limit))
            return _Surveyed(qrels, self.limit), begun[-1]

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
        share = None
        if self.judgments is not None:
            share = judged_share(qrels, reduced, np.ones(len(qrels.queries), bool), FIRST_RANKS)
            for problem in _coverage(qrels, reduced):
                found.against.add(problem)
        return self._report(source, file, problems, found.facts(share), found.against)

    def _open(self, source: ObservedSource, role: str) -> list[tuple[File, _AllProblems]] | FileReport:
        if self.watch is not None:
            self.watch(source)
        problems = _LetorProblems(source.name, role, self.limit)
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
        problems: _AllProblems,
        facts: QrelsFacts | RunFacts | None,
        warnings: _Collected | None = None,
    ) -> FileReport:
        warnings = warnings or _Collected(self.limit)
        about = source.described(format_of(file.kind).is_of_fields)
        if about.not_utf8 is not None:
            warnings.add(Problem(about.not_utf8 - 1, "the text is not UTF-8 from here on"))
        if " and " in about.line_ends:
            warnings.add(Problem(None, f"lines end in {about.line_ends}"))
        if facts is None and not problems.errors.kinds:
            lines = problems.lines
            what = "the file is empty" if not lines else "no data: all lines are blank or comments"
            problems.errors.add(Problem(None, what))
        hint = ""
        if facts is None and problems.head:
            from gradeval.formats.looks import look

            hint = look(problems.head, file.role)
        errors = problems.errors.issues()
        if hint and errors.first:
            first = errors.first[0]._replace(hint=hint)
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
    """What is the case for some queries. one, more: what it is, for a query and for several."""
    rows = np.flatnonzero(chosen)
    ids = ", ".join(map(shown, qrels.queries.take(rows[:_SHOWN_IDS]).tolist()))
    etc = ", …" if len(rows) > _SHOWN_IDS else ""
    return Problem(None, f"{many(len(rows), f'query {one}', f'queries {more}')}: {ids}{etc}")


def _coverage(qrels: Qrels, reduced: Reduced) -> Iterator[Problem]:
    """What of the qrels and a run does not go together."""
    missing = reduced.retrieved == 0
    if missing.any():
        yield _of_queries(qrels, missing, "of the qrels is not in the run", "of the qrels are not in the run")
    if reduced.unjudged:
        yield Problem(None, f"{many(reduced.unjudged, 'query', 'queries')} of the run not judged")
    if not np.isfinite(reduced.rank).any():
        yield Problem(None, "no document of the run is judged", "Check the document ids")


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
    problems: _AllProblems | None = None,
    name: str = "",
) -> FileReport:
    """The report of a file that cannot be read, or not to its end."""
    collected = problems.errors if problems is not None else _Collected(MAX_ERRORS)
    if not (isinstance(problems, _LetorProblems) and collected.kinds):  # whose error has these
        for one in error.errors if isinstance(error, InputErrors) else [error]:
            collected.add(Problem(None if one.line is None else one.line - 1, one.what, one.hint))
    path = f"{source.name}:{name}" if name else source.name
    return FileReport(path, role, kind, errors=collected.issues())


_NO_QRELS = Qrels("", Ids.of([]), np.zeros(1, np.int64), Ids.of([]), np.empty(0))

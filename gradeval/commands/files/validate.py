"""Checks qrels and runs without scoring them: what the files are and hold, and all that is wrong with them."""

from __future__ import annotations

import math
import os
from codecs import getincrementaldecoder
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gradeval.arrays import Bools, Bytes, Ints
from gradeval.arrays.segments import Segments
from gradeval.arrays.strings import Ids, Texts
from gradeval.arrays.threads import default_jobs, with_fewer
from gradeval.errors import InputError, InputErrors, OptionError, first_names, named, printable, visible
from gradeval.evaluation.caveats import FIRST_RANKS, judged_share, qrels_notices
from gradeval.evaluation.outcome import no_common_query
from gradeval.formats.detect import role_of
from gradeval.formats.diagnostics import SHOWN, LineProblems, Problem, Problems, shown
from gradeval.formats.format import Format, format_of
from gradeval.formats.scan import CR, LF, SPACE, TAB
from gradeval.formats.sources import BLOCK, Block, Source, Watch
from gradeval.notices import NoticeKind, many
from gradeval.options import OF_FILES, Options, checked_path, takes, whole
from gradeval.records import fields_of
from gradeval.render.document import ABSENT, Grid, Lines, OutputDocument, RenderOptions
from gradeval.render.document import Block as Part
from gradeval.render.printable import Printable, Tabular
from gradeval.render.table import BOLD, DIM, MIN_WIDTH, styled, wrapped
from gradeval.tables import ranking
from gradeval.tables.load import (
    NOTHING_JUDGED,
    TableFile,
    check_ids_of_responses,
    check_inputs,
    open_file,
)
from gradeval.tables.qrels import JudgmentRows, Qrels, is_relevant
from gradeval.tables.reduction import Reduced, Total, collect
from gradeval.version import schema_of

if TYPE_CHECKING:
    from gradeval.formats.letor import Letor
    from gradeval.keywords import Unpack, Validate

_BAR = 40  # characters of the longest bar of the histogram
SHOWN_IDS = 5  # of queries that a count names
FEW_FILES = 5  # of which all is printed
_MOST_GRADES = 20  # that it shows


class Issues:
    """Errors or warnings of a file: the first by line (from 1), and counts by kind. notices: of warnings."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._first = list[Problem]()
        self._kinds = Counter[str]()
        self.notices: dict[NoticeKind, None] = {}

    def add(self, problem: Problem, first_line: int = 0, notice: NoticeKind | None = None) -> None:
        """The line of the problem is 0-based, from first_line on."""
        self.notices |= {} if notice is None else {notice: None}
        line = None if problem.line is None else first_line + problem.line + 1
        self._kinds[problem.kind] += 1
        self._first.append(problem.replace(line=line))
        if len(self._first) > 2 * self.limit + 100:
            self._first = list(self.first)

    @property
    def first(self) -> tuple[Problem, ...]:
        return tuple(sorted(self._first, key=lambda problem: problem.line or 0)[: self.limit])

    @property
    def total(self) -> int:
        return self._kinds.total()

    @property
    def kinds(self) -> dict[str, int]:
        return dict(self._kinds.most_common())

    def to_dict(self) -> dict[str, Any]:
        return {"total": self.total, "kinds": self.kinds, "first": [fields_of(issue) for issue in self.first]}


class Description(NamedTuple):
    compression: str  # 'gzip', …, '' where there is none
    encoding: str  # 'ASCII', 'UTF-8', 'UTF-8 with a BOM', 'not UTF-8' or 'binary'
    not_utf8: int | None = None  # the first line, from 1, that is not UTF-8
    separators: str = ""  # between fields, '' where the format has none
    line_ends: str = ""  # 'LF', 'CRLF', 'LF and CRLF', '' where there are no lines


@dataclass(frozen=True)
class QrelsFacts:
    """Counts of qrels."""

    queries: int
    judgments: int
    grades: tuple[tuple[float, int], ...]  # (grade, judgments) from the lowest
    duplicates: int  # judgments of documents that are judged before, with the same grade or another
    without_relevant: int  # queries without a relevant document
    unrated: int = 0  # rows that are left out, since they have no label
    subtopics: int = 0  # judgments of a document for a further subtopic
    merged: str = ""  # the rule by which duplicates are merged, '' where they are not


@dataclass(frozen=True)
class RunFacts:
    """Counts of a run; None where there is nothing to count: ranks, collapsed lines, judgments."""

    queries: int
    documents: int
    per_query: tuple[int, float, int]  # the fewest, median and most documents of a query
    tied: int  # documents that share their score with another of their query
    tied_queries: int  # queries that have some
    duplicates: int
    ranked: int | None = None  # queries whose ranks can be compared with the scores
    contradicting: int | None = None  # those where the rank rises with the score
    disordered: int | None = None  # those where some rank does
    by_rank: str = ""  # the column of ranks that documents are ranked by, since there are no scores
    tag: str = ""
    collapsed: int | None = None  # lines whose document has a better one
    judged_queries: int | None = None  # of the qrels
    missing: int | None = None  # those that the run lacks
    unjudged: int | None = None  # queries that the qrels lack
    judged: float | None = None  # the mean share of the first FIRST_RANKS documents that is judged
    # of the queries that some of these fields count, the first, by the name of the field
    first_ids: dict[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass
class FileReport:
    """The report of a file. facts: None where nothing of it could be read."""

    path: str
    errors: Issues
    warnings: Issues
    role: str = ""  # 'qrels' or 'run', '' where it is unknown
    format: str = ""
    why: str = ""  # it was taken for that
    description: Description | None = None
    facts: QrelsFacts | RunFacts | None = None
    end: int | None = None  # the line, from 1, at which reading stopped before the file's end

    def warn(self, kind: NoticeKind, message: str, hint: str = "", line: int | None = None) -> None:
        self.warnings.add(Problem(line, message, hint), notice=kind)

    def to_dict(self) -> dict[str, Any]:
        return {
            "path": self.path,
            "role": self.role,
            "format": self.format,
            "why": self.why,
            **({} if self.description is None else self.description._asdict()),
            self.role or "facts": None if self.facts is None else asdict(self.facts),
            "errors": self.errors.to_dict(),
            "warnings": self.warnings.to_dict(),
            "stopped_at": self.end,
        }


@dataclass(frozen=True)
class Validation(Printable, Tabular):
    """The reports of all files.

    >>> validation = gradeval.validate("qrels.txt", "bm25.run")
    >>> validation.ok, validation.errors, validation.rows()
    """

    layout = "gradeval.commands.files.validate"

    files: tuple[FileReport, ...]

    @property
    def errors(self) -> int:
        """How many the files have, listed or not."""
        return sum(file.errors.total for file in self.files)

    @property
    def warnings(self) -> int:
        """How many the files have, listed or not."""
        return sum(file.warnings.total for file in self.files)

    @property
    def notices(self) -> list[NoticeKind]:
        """The kinds of the warnings, as --allow names them."""
        return list(dict.fromkeys(kind for file in self.files for kind in file.warnings.notices))

    @property
    def ok(self) -> bool:
        """Whether no file has an error."""
        return not self.errors

    def __repr__(self) -> str:
        return f"Validation(files={len(self.files)}, errors={self.errors}, warnings={self.warnings})"

    def rows(self) -> list[dict[str, Any]]:
        """A dict for each error and warning that is listed: its file, line (from 1) and text."""
        return [
            {"path": file.path, "line": issue.line, "kind": kind, "what": issue.what}
            for file in self.files
            for kind, issues in (("error", file.errors), ("warning", file.warnings))
            for issue in issues.first
        ]

    def to_dict(self) -> dict[str, Any]:
        """The object that the json format prints."""
        counts = {"ok": self.ok, "errors": self.errors, "warnings": self.warnings}
        files = [file.to_dict() for file in self.files]
        return {"schema": schema_of("validation"), **counts, "files": files}


def document(
    validation: Validation, options: RenderOptions, *, verbose: bool = False, listed: int | None = None
) -> OutputDocument:
    """Of few files all that is known of each. Of more a row for each, and all of the first with errors, else
    with warnings; verbose: of all. listed: how many errors and warnings of each file, by default SHOWN, or
    verbose all that are kept.
    """
    if listed is None:
        listed = MAX_ERRORS if verbose else SHOWN
    files = validation.files
    total = _count(validation.errors, validation.warnings)
    shown = files if verbose or len(files) <= FEW_FILES else _worst(files)[:FEW_FILES]
    blocks: list[Part] = [] if len(files) <= FEW_FILES else [_overview(files)]
    blocks += (Lines(list(_file(file, options, listed))) for file in shown)
    if len(files) > 1:
        hidden = len(files) - len(shown)
        more = f"; --verbose describes the other {many(hidden, 'file', 'files')}" if hidden else ""
        blocks.append(Lines([f"{many(len(files), 'file', 'files')}: {total}{more}"]))
    return OutputDocument(blocks=lambda: blocks, content=validation.to_dict, is_log=True)


def _worst(files: Sequence[FileReport]) -> list[FileReport]:
    """The files with errors, or with warnings where none has any, in order."""
    wrong = [file for file in files if file.errors.total]
    return wrong or [file for file in files if file.warnings.total]


def _overview(files: Sequence[FileReport]) -> Grid:
    """A row for each file."""
    rows = []
    for file in files:
        facts = file.facts
        size = facts.judgments if isinstance(facts, QrelsFacts) else getattr(facts, "documents", None)
        numbers = getattr(facts, "queries", None), size
        counts = [ABSENT if number is None else f"{number:,}" for number in numbers]
        wrong = f"{file.errors.total:,}", f"{file.warnings.total:,}"
        rows.append((visible(file.path), file.role or "file", file.format, *counts, *wrong))
    return Grid("", ("file", "role", "format", "queries", "lines", "errors", "warnings"), rows, 3)


def _count(errors: int, warnings: int) -> str:
    return f"{many(errors, 'error', 'errors')}, {many(warnings, 'warning', 'warnings')}"


def _file(file: FileReport, options: RenderOptions, listed: int) -> Iterator[str]:
    colour = options.colour
    title = f"{visible(file.path)}: {file.role or 'file'}, {_count(file.errors.total, file.warnings.total)}"
    yield styled(title, BOLD, colour)
    rows = [*_about(file)]
    width = max((len(name) for name, _ in rows), default=0)
    room = options.width and max(options.width - width - 4, MIN_WIDTH)
    for name, text in rows:
        first, *further = wrapped(text, room)
        yield f"  {styled(name.ljust(width), DIM, colour)}  {first}".rstrip()
        yield from (" " * (width + 4) + line for line in further)
    yield from _issues(file.path, "error", file.errors, colour, listed)
    yield from _issues(file.path, "warning", file.warnings, colour, listed)
    if file.end is not None:
        yield f"  reading stopped at line {file.end}"


def _about(file: FileReport) -> Iterator[tuple[str, str]]:
    """The names and the texts of what the file is, and what it holds."""
    if file.format:
        yield "format", f"{file.format}: {file.why}" if file.why else file.format
    if (about := file.description) is not None:
        text = f"{about.compression or 'not compressed'}, {about.encoding}"
        text += f", separated by {about.separators}" if about.separators else ""
        text += f", lines end in {about.line_ends}" if about.line_ends else ""
        yield "data" if about.encoding == "binary" else "text", text
    if isinstance(file.facts, QrelsFacts):
        yield from _of_qrels(file.facts)
    elif file.facts is not None:
        yield from _of_run(file.facts)


def _issues(path: str, severity: str, issues: Issues, colour: bool, listed: int) -> Iterator[str]:
    """A line for each error, or warning, that is listed; how many there are more, and of each kind."""
    first = issues.first
    for issue in first[:listed]:
        location = path if issue.line is None else f"{path}:{issue.line}"
        hint = f". {issue.hint}" if issue.hint else ""
        yield printable(f"{location}: {severity}: {issue.what}{hint}")
    if unlisted := issues.total - min(len(first), listed):
        count = many(unlisted, f"more {severity}", f"more {severity}s")
        lists = "--verbose lists all" if len(first) == issues.total else "--max-errors sets the limit"
        yield f"{printable(path)}: {count}; {lists}"
    if issues.total > 1:
        yield f"  {styled(f'{severity}s by kind', DIM, colour)}"
        width = len(f"{max(issues.kinds.values()):,}")
        yield from (f"  {number:>{width},}  {printable(kind)}" for kind, number in issues.kinds.items())


def _listed(*parts: str) -> str:
    return ", ".join(filter(None, parts))


def _of_qrels(facts: QrelsFacts) -> Iterator[tuple[str, str]]:
    without = f"{facts.without_relevant:,} without a relevant document" if facts.without_relevant else ""
    yield "queries", _listed(f"{facts.queries:,}", without)
    duplicates = many(facts.duplicates, "duplicate", "duplicates") if facts.duplicates else ""
    if duplicates and facts.merged:
        duplicates += f" merged by {facts.merged}"
    subtopics = f"{facts.subtopics:,} of further subtopics of a document" if facts.subtopics else ""
    unrated = f"{many(facts.unrated, 'row', 'rows')} without a rating left out" if facts.unrated else ""
    yield "judgments", _listed(f"{facts.judgments:,}", duplicates, subtopics, unrated)
    grades = facts.grades
    name = "grades"
    if len(grades) > _MOST_GRADES:
        yield name, f"{len(grades):,} from {grades[0][0]:g} to {grades[-1][0]:g}; the most frequent:"
        grades = tuple(sorted(sorted(grades, key=lambda row: row[1], reverse=True)[:_MOST_GRADES]))
        name = ""
    most = max(count for _, count in grades)
    width = max(len(f"{grade:g}") for grade, _ in grades)
    for grade, count in grades:
        bar = "█" * round(_BAR * count / most) or "▏"
        yield name, f"{grade:>{width}g}  {count:>{len(f'{most:,}')},}  {bar}"
        name = ""


def _of_run(facts: RunFacts) -> Iterator[tuple[str, str]]:
    ids = {name: f": {first_names(map(named, first), SHOWN_IDS)}" for name, first in facts.first_ids.items()}
    yield "queries", f"{facts.queries:,}"
    low, middle, high = facts.per_query
    per_query = f"{low:,} to {high:,} per query, median {middle:,g}" if low < high else f"{low:,} per query"
    duplicates = many(facts.duplicates, "duplicate", "duplicates") if facts.duplicates else ""
    yield "documents", _listed(f"{facts.documents:,}", per_query, duplicates)
    tied = "no tied scores"
    if facts.tied:
        tied = many(facts.tied, "document has a tied score", "documents have tied scores")
        tied += f", in {many(facts.tied_queries, 'query', 'queries')}{ids.get('tied_queries', '')}"
    yield "ties", tied
    if facts.collapsed is not None:
        remaining = many(facts.documents - facts.collapsed, "document", "documents")
        yield "collapsed", f"{many(facts.collapsed, 'line', 'lines')}, which leaves {remaining}"
    if facts.ranked:
        ranks = "in the order of the scores"
        if facts.disordered:
            ranks = f"not {ranks} in {facts.disordered:,} of {many(facts.ranked, 'query', 'queries')}"
        against = f"the reverse in {facts.contradicting:,}" if facts.contradicting else ""
        yield "ranks", _listed(ranks, against) + ids.get("disordered", "")
    if facts.by_rank:
        yield "ranks", f"the column {visible(facts.by_rank)} instead of scores, the lowest first"
    if facts.judged_queries is not None:
        judged = facts.judged_queries
        coverage = f"{judged - (facts.missing or 0):,} of {many(judged, 'judged query', 'judged queries')}"
        if facts.unjudged:
            unjudged = many(facts.unjudged, "unjudged query", "unjudged queries")
            coverage += f", {unjudged}{ids.get('unjudged', '')}"
        yield "coverage", coverage
    if facts.judged is not None:
        yield f"judged@{FIRST_RANKS}", f"{100 * facts.judged:.1f} %"
    if facts.tag:
        yield "tag", visible(facts.tag)


DEFAULT_MAX_ERRORS = 10_000
MAX_ERRORS = 10**9
_DELIMITERS = {"\t": "tabs", ",": "commas", ";": "semicolons", "|": "bars"}
_HEAD = 1 << 16  # bytes in which a delimiter is looked for


@takes({"rel": Options.table["rel"], **OF_FILES})
def validate(
    qrels: str | os.PathLike[str] | None = None,
    runs: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = (),
    *,
    max_errors: int | None = DEFAULT_MAX_ERRORS,
    **options: Unpack[Validate],
) -> Validation:
    """Check files without scoring them.

        >>> print(gradeval.validate("qrels.txt", ["bm25.run", "dense.run"]))

    qrels, runs: paths; runs may be one. max_errors: how many errors, and how many warnings, of each file are
    listed (None: all); all are counted. options: those of evaluate() about reading, and rel, the relevance
    threshold.
    Raises OptionError. What is wrong with the files is in the result.
    """
    several: Any = [runs]
    if isinstance(runs, Iterable) and not isinstance(runs, (str, bytes, os.PathLike)):
        several = runs
    paths = [checked_path("runs", run) for run in several]
    if qrels is None and not paths:
        raise OptionError("no files given")
    roles = ["run"] * len(paths)
    if qrels is not None:
        paths = [checked_path("qrels", qrels), *paths]
        roles = ["qrels", *roles]
    return Checks(Options(**options), max_errors).validation(paths, roles)


class Checks:
    """Checks files one after another; the qrels are kept for the runs. max_errors: that of validate()."""

    def __init__(self, options: Options, max_errors: int | None, watch: Watch | None = None) -> None:
        self.options = options
        self.watch = watch
        self.limit = MAX_ERRORS if max_errors is None else whole("max_errors", max_errors, 0, MAX_ERRORS)
        self.jobs = options.jobs or default_jobs()
        self.judgments: Qrels | None = None
        self.letor: Letor | None = None

    def validation(self, paths: Sequence[Any], roles: Sequence[str | None]) -> Validation:
        """roles: 'qrels' or 'run', None where the content decides; one that may be either is the qrels."""
        sources = [ObservedSource(path, self.watch) for path in paths]
        check_inputs([*zip(roles, paths, strict=True)], self.options)
        reports = []
        for source, known_role in zip(sources, roles, strict=True):
            report = FileReport(source.name, Issues(self.limit), Issues(self.limit))
            try:
                role = known_role or role_of(source, self.options)
                if role is None and len(sources) == 1:
                    hint = "Say which with --as qrels|run"
                    raise InputError(source.name, "the file may be qrels or a run", hint=hint)
                report.role = role or "qrels"
                problems = AllProblems(source.name, report.errors, must_be_right=True)
                files = open_file(source, report.role, self.options, self.letor, problems, with_ranks=True)
            except (InputError, InputErrors) as error:
                if not report.errors.total:  # which the error repeats
                    _add(report, error)
                reports.append(report)
            else:
                reports += (self._of_file(source, file) for file in files)
        if not any(report.errors.total for report in reports):
            check_ids_of_responses(sources, self.options)
        return Validation(tuple(reports))

    def _of_file(self, source: ObservedSource, file: TableFile) -> FileReport:
        path = f"{source.name}:{file.name}" if file.name else source.name
        report = FileReport(path, Issues(self.limit), Issues(self.limit), file.role, file.kind)
        try:
            (self._qrels if file.role == "qrels" else self._run)(file, report)
        except (InputError, InputErrors) as error:
            _add(report, error)
            report.warnings = Issues(self.limit)
            return report
        kind = format_of(file.kind)
        about = report.description = source.described(kind)
        if about.not_utf8 is not None:
            report.warn(NoticeKind.TEXT, "the text is not UTF-8 from here on", line=about.not_utf8 - 1)
        if " and " in about.line_ends:
            report.warn(NoticeKind.TEXT, f"lines end in {about.line_ends}")
        is_chosen = getattr(self.options, f"{file.role}_format") is not None
        report.why = f"given with --{file.role}-format" if is_chosen else kind.why
        return report

    def _qrels(self, file: TableFile, report: FileReport) -> None:
        self.letor = file.letor
        problems = AllProblems(file.source.name, report.errors)
        try:
            rows = JudgmentRows.read(file.table.read(self.jobs), problems, self.jobs, self.options.merge)
        except InputError as error:  # there are none
            if not report.errors.total:
                _add(report, error)
            return
        finally:
            report.end = problems.end
        qrels = self.judgments = rows.merged(self.options.merge)
        relevant = is_relevant(qrels.grade, self.options.rel).astype(np.float64)
        without = ~Segments(qrels.offsets).max(relevant).astype(bool)
        grades, counts = np.unique(rows.qrels.grade, return_counts=True)
        report.facts = QrelsFacts(
            queries=len(qrels.queries),
            judgments=len(rows.qrels.grade),
            grades=tuple(zip(grades.tolist(), counts.tolist(), strict=True)),
            duplicates=len(rows.again),
            without_relevant=int(np.count_nonzero(without)),
            unrated=rows.unlabelled,
            subtopics=len(rows.further),
            merged=self.options.merge or "",
        )
        for problem in rows.duplicates(same_grade=True).all() if self.options.merge is None else ():
            report.warnings.add(problem, notice=NoticeKind.DUPLICATES)
        texts = "has no relevant document", "have no relevant document"
        _warn_of(report, NoticeKind.NO_RELEVANT, qrels, without, *texts)

    def _run(self, file: TableFile, report: FileReport) -> None:
        qrels = self.judgments or NOTHING_JUDGED.qrels

        def begin() -> tuple[CountedRun, AllProblems]:
            report.errors, report.warnings = Issues(self.limit), Issues(self.limit)
            problems = AllProblems(file.source.name, report.errors)
            return CountedRun(qrels, report, ranking.Collapse.of(self.options)), problems

        run = with_fewer(lambda jobs: collect(file.table, begin, jobs), self.jobs)
        report.end = run.end
        if not run.lines:
            return
        reduced = run.reduced()
        has_common_query = bool((reduced.retrieved > 0).any())
        all_queries = np.ones(len(qrels.queries), bool)
        share = judged_share(qrels, reduced, all_queries, FIRST_RANKS) if has_common_query else None
        facts = report.facts = run.facts(self.judgments is not None, share)
        if reduced.extra.lines:
            message = (
                f"{many(reduced.extra.lines, 'line has', 'lines have')} more than 6 fields, this one first"
            )
            report.warn(
                NoticeKind.EXTRA_FIELDS, message, "What follows the tag is ignored", reduced.extra.first
            )
        unjudged = facts.first_ids.get("unjudged", ())
        if has_common_query:
            _warn_of_run(report, qrels, reduced, unjudged)
        elif self.judgments is not None:
            _add(report, no_common_query(file.source.name, qrels.path, unjudged, Texts(qrels.queries)))


def _warn_of_run(report: FileReport, qrels: Qrels, reduced: Reduced, unjudged: Sequence[str]) -> None:
    """The warnings about a run beside its qrels. unjudged: the ids of the first unjudged queries."""
    texts = "of the qrels is not in the run", "of the qrels are not in the run"
    _warn_of(report, NoticeKind.MISSING, qrels, reduced.retrieved == 0, *texts)
    if reduced.unjudged:
        ids = first_names(map(named, unjudged), SHOWN_IDS)
        message = f"{many(reduced.unjudged, 'unjudged query', 'unjudged queries')} of the run"
        report.warn(NoticeKind.UNJUDGED, f"{message}: {ids}" if ids else message)
    if not np.isfinite(reduced.rank).any():
        report.warn(NoticeKind.NOTHING_JUDGED, "no document of the run is judged", "Check the document ids")
    if any(qrels_notices(qrels, reduced, Options())):
        message = "every document is judged and its score is its grade"
        report.warn(NoticeKind.QRELS_AS_RUN, message, "Is this the qrels file?")


def _warn_of(
    report: FileReport, kind: NoticeKind, qrels: Qrels, chosen: Bools, singular: str, plural: str
) -> None:
    if len(rows := np.flatnonzero(chosen)):
        ids = first_names(map(shown, qrels.queries.take(rows[: SHOWN_IDS + 1]).tolist()), SHOWN_IDS)
        report.warn(kind, f"{many(len(rows), f'query {singular}', f'queries {plural}')}: {ids}")


def _add(report: FileReport, error: InputError | InputErrors) -> None:
    for of_line in error.errors if isinstance(error, InputErrors) else [error]:
        line = None if of_line.line is None else of_line.line - 1
        report.errors.add(Problem(line, of_line.what, of_line.hint))


# --- the facts of a file, collected while it is read


class AllProblems(Problems):
    """The problems of a file, which is read on whatever is wrong with its lines. must_be_right: whether
    check() raises them, as of a LETOR file: without all of its lines there are no rows.
    """

    def __init__(self, path: str, errors: Issues, must_be_right: bool = False) -> None:
        super().__init__(path, math.inf)
        self.errors, self.must_be_right = errors, must_be_right

    def add(self, problems: LineProblems, first_line: int = 0) -> None:
        for problem in problems.all() if problems.total else ():
            self.errors.add(problem, first_line)
        super().add(problems, first_line)

    def check(self) -> None:
        if self.must_be_right:
            super().check()


class ObservedSource(Source):
    """A file whose text is described while it is read; the last reading from the beginning counts."""

    def blocks(self, size: int = BLOCK) -> Iterator[Block]:
        return self._observed(super().blocks(size))

    def chunks(self, size: int = BLOCK) -> Iterator[Bytes]:
        return self._observed(super().chunks(size))

    def _observed(self, parts: Iterator[Any]) -> Iterator[Any]:
        self._head = b""
        self._decoder = getincrementaldecoder("utf-8")()  # which keeps the character that a block ends within
        self._counts: Counter[str] = Counter()
        self._is_ascii, self._is_binary = True, False
        self._not_utf8: int | None = None
        for part in parts:
            text = part.text if isinstance(part, Block) else part
            if len(text):
                self._see(text)
            yield part

    def _see(self, text: Bytes) -> None:
        self._head = self._head or text[:_HEAD].tobytes()
        is_end = text == LF
        if self._not_utf8 is None and (self._decoder.getstate()[0] or text.max() > 127):
            self._is_ascii = False
            try:
                self._decoder.decode(text.tobytes())
            except UnicodeDecodeError as error:
                before = self._counts["LF"] + self._counts["CRLF"]
                self._not_utf8 = before + error.object[: error.start].count(b"\n") + 1
        self._is_binary |= not text.all()
        of_two = int(np.count_nonzero(is_end[1:] & (text[:-1] == CR)))
        self._counts.update(LF=int(np.count_nonzero(is_end)) - of_two, CRLF=of_two)
        for name, separator in (("spaces", SPACE), ("tabs", TAB)):
            self._counts[name] += int(np.count_nonzero(text == separator))

    def described(self, kind: Format) -> Description:
        """As a file of this format. Raises InputError."""
        if kind.is_binary or self._is_binary:
            return Description(self.compression, "binary")
        encoding = "ASCII" if self._is_ascii else "UTF-8"
        if self.begins_with_mark():
            encoding = "UTF-8 with a BOM"
        if self._not_utf8 is not None:
            encoding = "not UTF-8"
        kinds = ("LF", "CRLF"), ("spaces", "tabs")
        line_ends, separators = (" and ".join(name for name in names if self._counts[name]) for names in kinds)
        if not kind.is_of_fields:
            line = self._head.split(b"\n", 1)[0].decode("utf-8", "replace")
            by_count = max(_DELIMITERS, key=line.count)
            separators = "" if line.lstrip()[:1] in ("{", "[") else _DELIMITERS[by_count]
        return Description(self.compression, encoding, self._not_utf8, separators, line_ends)


class CountedRun(Total):
    """What evaluations keep of a run, with its facts. report: of the file."""

    def __init__(self, qrels: Qrels, report: FileReport, collapse: ranking.Collapse) -> None:
        super().__init__(qrels, "trec", collapse)
        self.file_report = report
        self.names = dict[int, bytes]()  # query ids by their index
        self.details: list[Ints] = []
        self.has_ranks = False
        self.end: int | None = None  # as of FileReport

    def see(self, index: Ints, queries: Ids) -> None:
        self.names.update(zip(index.tolist(), queries.tolist(), strict=True))

    def find(self, lines: ranking.RunLines) -> ranking.Ranked:
        """With six numbers of each query, (6, S): its index; its documents, and those with a tied score;
        whether its ranks can be compared with scores, and how many lines' ranks rise with the score; the first
        of these where they do so on balance, otherwise -1.
        """
        result = super().find(lines)
        segments = Segments(lines.bounds)
        ties = segments.ties(segments.sorted_descending(lines.score))
        tied = segments.over(ties).sum(np.where(ties.lengths > 1, ties.lengths, 0))
        ranked, rising = np.zeros((2, segments.count))
        first = np.full(segments.count, -1)
        self.has_ranks |= lines.rank is not None
        if lines.rank is not None and segments.count:
            rises = np.sign(np.diff(lines.rank)) * np.sign(np.diff(lines.score))
            rises = np.append(0.0, np.nan_to_num(rises))  # of each line and the one before
            rises[segments.starts] = 0
            ranked = segments.sum(rises != 0)
            rising = segments.sum(rises > 0)
            rows = np.flatnonzero(rises > 0)
            against = np.flatnonzero(segments.sum(rises) > 0)
            first[against] = lines.line[rows[np.searchsorted(rows, segments.starts[against])]]
        numbers = lines.query, segments.lengths, tied, ranked > 0, rising, first
        return result.replace(details=np.array([column.astype(np.int64) for column in numbers]))

    def add(self, result: ranking.Ranked, first_line: int) -> None:
        super().add(result, first_line)
        self.details.append(result.details)
        first = result.details[-1]
        for line in first[first >= 0].tolist():
            message = "the rank rises with the score here, as in most lines of this query"
            self.file_report.warnings.add(Problem(line, message), first_line, NoticeKind.RANKS)
        for problem in result.repeats.problems(first_line).all():
            self.file_report.errors.add(problem)

    def report(self, problems: Problems) -> None:
        """No duplicates, which are all listed."""
        self.end = problems.end

    def facts(self, has_qrels: bool, share: float | None) -> RunFacts:
        """share: of the first documents that is judged, None without qrels or a query that they have."""
        query, documents, tied, ranked, rising, first = np.concatenate(self.details, axis=1)
        queries = {"tied_queries": query[tied > 0], "disordered": query[rising > 0]}
        counts = dict[str, int]()
        if self.has_ranks:
            counts = {"ranked": int(ranked.sum()), "contradicting": int(np.count_nonzero(first >= 0))}
            counts["disordered"] = len(queries["disordered"])
        if has_qrels:
            queries["unjudged"] = query[query >= len(self.retrieved)]
            counts |= {"judged_queries": len(self.retrieved), "unjudged": self.unjudged}
            counts["missing"] = int(np.count_nonzero(self.retrieved == 0))
        first_ids = {
            name: tuple(self.names[index].decode("utf-8", "surrogateescape") for index in ids)
            for name, indices in queries.items()
            # two queries with one key have other indices
            if (ids := [index for index in indices[: SHOWN_IDS + 1].tolist() if index in self.names])
        }
        return RunFacts(
            queries=len(query),
            documents=int(documents.sum()),
            per_query=(int(documents.min()), float(np.median(documents)), int(documents.max())),
            tied=int(tied.sum()),
            tied_queries=len(queries["tied_queries"]),
            duplicates=self.repeats.total,
            **counts,
            by_rank=self.ranks.in_place,
            tag=self.tag.decode("utf-8", "surrogateescape"),
            collapsed=self.collapsed if self.collapse else None,
            judged=share,
            first_ids=first_ids,
        )

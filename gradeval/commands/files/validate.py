"""Checks qrels and runs without scoring them: all that is wrong, and what the files are and hold."""

from __future__ import annotations

import math
import os
from codecs import getincrementaldecoder
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gradeval.arrays import Bools, Bytes, Ints
from gradeval.arrays.segments import Segments, distinct
from gradeval.arrays.strings import Ids, Texts
from gradeval.arrays.threads import default_jobs, ordered_map, with_fewer
from gradeval.commands.files.report import (
    SHOWN_IDS,
    Description,
    FileReport,
    Issues,
    QrelsFacts,
    RunFacts,
    Validation,
)
from gradeval.errors import InputError, InputErrors, OptionError, first_names, named
from gradeval.evaluation.outcome import FIRST_RANKS, judged_share, no_common_query, qrels_notices
from gradeval.formats.columns import Columns
from gradeval.formats.detect import format_of, role_of
from gradeval.formats.diagnostics import LineProblems, Problem, Problems, no_data, shown
from gradeval.formats.scan import CR, LF, SPACE, TAB
from gradeval.formats.sources import BLOCK, Block, Source, compression_of
from gradeval.notices import Kind, many
from gradeval.options import OF_FILES, Options, takes, whole
from gradeval.tables.load import TableFile, check_columns, open_file
from gradeval.tables.qrels import JudgmentRows, Qrels, is_relevant
from gradeval.tables.ranking import Collapse, Lines, Ranked, query_indices
from gradeval.tables.reduction import Total, collect

if TYPE_CHECKING:
    from gradeval.formats.letor import Letor
    from gradeval.keywords import Unpack, Validate

DEFAULT_MAX_ERRORS = 10_000
MAX_ERRORS = 10**9
_MARK = b"\xef\xbb\xbf"
_DELIMITERS = {"\t": "tabs", ",": "commas", ";": "semicolons", "|": "bars"}
_HEAD = 1 << 16  # bytes in which a delimiter is looked for
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
    return Checks(Options(**options), max_errors).validation(paths, roles)


class Checks:
    """Checks files one after another; the qrels are kept for the runs.

    max_errors: that of validate().
    """

    def __init__(self, options: Options, max_errors: int | None) -> None:
        self.options = options
        self.limit = MAX_ERRORS if max_errors is None else whole("max_errors", max_errors, 0, MAX_ERRORS)
        self.jobs = options.jobs or default_jobs()
        self.judgments: Qrels | None = None
        self.letor: Letor | None = None

    def validation(self, paths: Sequence[Any], roles: Sequence[str | None]) -> Validation:
        """roles: 'qrels' or 'run', None where the content decides; one that may be either is the qrels."""
        sources = [ObservedSource(path) for path in paths]
        check_columns(paths, self.options)
        reports: list[FileReport] = []
        for source, known_role in zip(sources, roles, strict=True):
            role, problems = "", None
            try:
                by_content = known_role or role_of(source, self.options)
                if by_content is None and len(sources) == 1:
                    hint = "Say which with --as qrels|run"
                    raise InputError(source.name, "the file may be qrels or a run", hint=hint)
                role = by_content or "qrels"
                problems = AllProblems(source.name, self.limit, must_be_right=True)
                files = open_file(source, role, self.options, self.letor, problems, with_ranks=True)
            except (InputError, InputErrors) as error:
                reports.append(self._unread(source, role, error, problems=problems))
                continue
            if role == "qrels":
                reports += [self._qrels(source, file) for file in files]
            else:
                reports += [self._run(source, file, problems) for file in files]
        return Validation(tuple(reports))

    def _qrels(self, source: ObservedSource, file: TableFile) -> FileReport:
        self.letor = file.letor
        problems = AllProblems(source.name, self.limit)
        try:
            blocks = ordered_map(file.table.columns, file.table.blocks(), self.jobs)
            parts = [part for _, part in problems.until_enough(blocks)]
        except (InputError, InputErrors) as error:
            return self._unread(source, "qrels", error, file.kind, problems)
        if not any(len(part.value) for part in parts):
            return self._report(source, file, problems, None)
        unrated = sum(part.unrated for part in parts)
        rows = JudgmentRows.of(source.name, parts, self.jobs)  # which takes them
        for wrong in (rows.out_of_range(), rows.duplicates(same_grade=False)):
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
            len(rows.further),
        )
        warnings = Collected(self.limit)
        for problem in rows.duplicates(same_grade=True).all():
            warnings.add(problem, notice=Kind.DUPLICATES)
        if without.any():
            what = _of_queries(qrels, without, "has no relevant document", "have no relevant document")
            warnings.add(what, notice=Kind.NO_RELEVANT)
        return self._report(source, file, problems, facts, warnings)

    def _run(self, source: ObservedSource, file: TableFile, problems: AllProblems) -> FileReport:
        qrels = self.judgments or _NO_QRELS
        names = dict[int, bytes]()

        def begin() -> tuple[CountedRun, AllProblems]:
            nonlocal problems
            problems = AllProblems(source.name, self.limit)
            return CountedRun(qrels, self.limit, names, Collapse.of(self.options)), problems

        def columns(block: Any) -> Columns:
            read = file.table.columns(block)
            index = query_indices(qrels, read.queries, by_key=True).tolist()
            names.update(zip(index, read.queries.tolist(), strict=True))
            return read

        try:
            table = file.table.replace(columns=columns)
            run = with_fewer(lambda jobs: collect(table, begin, jobs), self.jobs)
        except (InputError, InputErrors) as error:
            return self._unread(source, "run", error, file.kind, problems, file.name)
        problems.errors.join(run.duplicates)
        if not run.lines:
            return self._report(source, file, problems, None)
        reduced, warnings = run.reduced(), run.against
        has_common_query = bool((reduced.retrieved > 0).any())
        share = None
        if has_common_query:
            share = judged_share(qrels, reduced, np.ones(len(qrels.queries), bool), FIRST_RANKS)
        facts = run.facts(self.judgments is not None, share)
        if reduced.extra.lines:
            what = f"{many(reduced.extra.lines, 'line has', 'lines have')} more than 6 fields, this one first"
            problem = Problem(reduced.extra.first, what, "What follows the tag is ignored")
            warnings.add(problem, notice=Kind.EXTRA_FIELDS)
        unjudged = facts.first_ids.get("unjudged", ())
        if has_common_query:
            missing = reduced.retrieved == 0
            if missing.any():
                predicates = "of the qrels is not in the run", "of the qrels are not in the run"
                warnings.add(_of_queries(qrels, missing, *predicates), notice=Kind.MISSING)
            if reduced.unjudged:
                ids = first_names(map(named, unjudged), SHOWN_IDS)
                what = f"{many(reduced.unjudged, 'unjudged query', 'unjudged queries')} of the run"
                warnings.add(Problem(None, f"{what}: {ids}" if ids else what), notice=Kind.UNJUDGED)
            if not np.isfinite(reduced.rank).any():
                problem = Problem(None, "no document of the run is judged", "Check the document ids")
                warnings.add(problem, notice=Kind.NOTHING_JUDGED)
            if any(qrels_notices(qrels, reduced, Options())):
                what = "every document is judged and its score is its grade"
                warnings.add(Problem(None, what, "Is this the qrels file?"), notice=Kind.QRELS_AS_RUN)
        elif self.judgments is not None:
            nothing = no_common_query(source.name, qrels.path, unjudged, Texts(qrels.queries))
            problems.errors.add(Problem(None, nothing.what, nothing.hint))
        return self._report(source, file, problems, facts, warnings)

    def _report(
        self,
        source: ObservedSource,
        file: TableFile,
        problems: AllProblems,
        facts: QrelsFacts | RunFacts | None,
        warnings: Collected | None = None,
    ) -> FileReport:
        warnings = warnings or Collected(self.limit)
        about = source.described(format_of(file.kind).is_of_fields)
        if about.not_utf8 is not None:
            warnings.add(Problem(about.not_utf8 - 1, "the text is not UTF-8 from here on"), notice=Kind.TEXT)
        if " and " in about.line_ends:
            warnings.add(Problem(None, f"lines end in {about.line_ends}"), notice=Kind.TEXT)
        if facts is None and not problems.errors.kinds:
            problems.errors.add(Problem(None, no_data(source.name, problems.lines).what))
        errors = problems.errors.issues()
        chosen = self.options.qrels_format if file.role == "qrels" else self.options.run_format
        why = f"given with --{file.role}-format" if chosen else format_of(file.kind).why
        path = f"{source.name}:{file.name}" if file.name else source.name
        return FileReport(
            path, file.role, file.kind, why, about, facts, errors, warnings.issues(), problems.end
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
        problems = problems or AllProblems(source.name, MAX_ERRORS)
        if not (problems.must_be_right and problems.errors.kinds):  # which the error repeats
            for of_line in error.errors if isinstance(error, InputErrors) else [error]:
                line = None if of_line.line is None else of_line.line - 1
                problems.errors.add(Problem(line, of_line.what, of_line.hint))
        path = f"{source.name}:{name}" if name else source.name
        return FileReport(path, role, kind, errors=problems.errors.issues())


def _of_queries(qrels: Qrels, chosen: Bools, singular: str, plural: str) -> Problem:
    rows = np.flatnonzero(chosen)
    ids = first_names(map(shown, qrels.queries.take(rows[: SHOWN_IDS + 1]).tolist()), SHOWN_IDS)
    return Problem(None, f"{many(len(rows), f'query {singular}', f'queries {plural}')}: {ids}")


# --- the facts of a file, collected while it is read


class Collected:
    """Problems of a file, counted by kind; the first `limit` by line are kept."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.first: list[Problem] = []
        self.kinds: Counter[str] = Counter()
        self.notices: dict[Kind, None] = {}

    def add(self, problem: Problem, first_line: int = 0, notice: Kind | None = None) -> None:
        """notice: the kind of a warning, as --allow names it."""
        self.notices |= {} if notice is None else {notice: None}
        line = None if problem.line is None else first_line + problem.line + 1
        self.kinds[problem.kind] += 1
        self.first.append(problem.replace(line=line))
        if len(self.first) > 2 * self.limit + 100:
            self._prune()

    def _prune(self) -> None:
        self.first.sort(key=lambda problem: problem.line or 0)
        del self.first[self.limit :]

    def join(self, others: Collected) -> None:
        self.first += others.first
        self.kinds.update(others.kinds)
        self.notices |= others.notices

    def issues(self) -> Issues:
        self._prune()
        return Issues(
            tuple(self.first), self.kinds.total(), dict(self.kinds.most_common()), tuple(self.notices)
        )


class AllProblems(Problems):
    """The problems of a file, which is read on whatever is wrong with its lines.

    must_be_right: whether check() raises them, as of a LETOR file: without all of its lines there are no rows.
    """

    def __init__(self, path: str, limit: int, must_be_right: bool = False) -> None:
        super().__init__(path, math.inf)
        self.errors, self.must_be_right = Collected(limit), must_be_right

    def add(self, found: LineProblems, first_line: int = 0) -> None:
        for problem in found.all() if found.total else ():
            self.errors.add(problem, first_line)
        super().add(found, first_line)

    def check(self) -> None:
        if self.must_be_right:
            super().check()


class ObservedSource(Source):
    """A file whose text is described while it is read; the last reading from the beginning counts."""

    def blocks(self, size: int = BLOCK) -> Iterator[Block]:
        self._restart()
        for block in super().blocks(size):
            self._see(block.bytes[: block.size])
            yield block

    def chunks(self, size: int = BLOCK) -> Iterator[Bytes]:
        self._restart()
        for chunk in super().chunks(size):
            self._see(chunk)
            yield chunk

    def _restart(self) -> None:
        self._head = b""
        self._decoder = getincrementaldecoder("utf-8")()  # which keeps the character that a block ends within
        self._lines = self._returns = self._tabs = self._spaces = 0
        self._is_ascii, self._is_binary = True, False
        self._not_utf8: int | None = None

    def _see(self, text: Bytes) -> None:
        if not len(text):
            return
        self._head = self._head or text[:_HEAD].tobytes()
        ends = text == LF
        if self._not_utf8 is None and (self._decoder.getstate()[0] or text.max() > 127):
            self._is_ascii = False
            try:
                self._decoder.decode(text.tobytes())
            except UnicodeDecodeError as error:
                self._not_utf8 = self._lines + error.object[: error.start].count(b"\n") + 1
        self._is_binary |= not text.all()
        self._returns += int(np.count_nonzero(ends[1:] & (text[:-1] == CR)))
        self._tabs += int(np.count_nonzero(text == TAB))
        self._spaces += int(np.count_nonzero(text == SPACE))
        self._lines += int(np.count_nonzero(ends))

    def described(self, has_fields: bool) -> Description:
        """Raises InputError. has_fields: whether fields are separated by spaces and tabs."""
        stored, start = self.beginning()
        compression = compression_of(stored)
        if self._is_binary:
            return Description(compression, "binary", None, "", "")
        encoding = "ASCII" if self._is_ascii else "UTF-8"
        if self._not_utf8 is not None:
            encoding = "not UTF-8"
        elif start.startswith(_MARK):
            encoding = "UTF-8 with a BOM"
        ends = _present({"LF": self._lines - self._returns, "CRLF": self._returns})
        if has_fields:
            separators = _present({"spaces": self._spaces, "tabs": self._tabs})
        else:
            line = self._head.split(b"\n", 1)[0].decode("utf-8", "replace")
            by_count = max(_DELIMITERS, key=line.count)
            separators = "" if line.lstrip()[:1] in ("{", "[") else _DELIMITERS[by_count]
        return Description(compression, encoding, self._not_utf8, separators, ends)


def _present(counts: dict[str, int]) -> str:
    return " and ".join(name for name, count in counts.items() if count)


_Counts = tuple[Ints, int, Ints, int, Ints, Ints]
"""Of whole queries: the documents of each, (S,); how many have tied scores, and the indices of their queries;
how many queries have ranks that can be compared with scores, and the indices of those where some rank rises
with the score; the first line that does so, where it does so on balance.
"""


class CountedRun(Total):
    """What evaluations keep of a run, with its facts. names: the id of each query by its index."""

    def __init__(self, qrels: Qrels, limit: int, names: Mapping[int, bytes], collapse: Collapse) -> None:
        super().__init__(qrels, "trec", collapse)
        self.names, self.first_unjudged = names, [np.empty(0, np.int64)]
        self.counts: list[_Counts] = []
        self.has_ranks = False
        self.duplicates, self.against = Collected(limit), Collected(limit)

    def find(self, lines: Lines) -> Ranked:
        """With _Counts."""
        self.has_ranks |= lines.rank is not None
        result = super().find(lines)
        segments = Segments(lines.bounds)
        ties = segments.ties(segments.sorted_descending(lines.score))
        groups = np.flatnonzero(ties.lengths > 1)
        tied_queries = lines.query[distinct(segments.query[ties.offsets[groups]])]
        of_ties = np.diff(lines.bounds), int(ties.lengths[groups].sum()), tied_queries
        if lines.rank is None or not len(lines.score):
            return result.replace(details=(*of_ties, 0, np.empty(0, np.int64), np.empty(0, np.int64)))
        rises = np.sign(np.diff(lines.rank)) * np.sign(np.diff(lines.score))
        rises = np.append(0.0, np.nan_to_num(rises))  # of each line and the one before
        rises[lines.bounds[:-1]] = 0
        is_against: Bools = rises > 0
        balance, ranked, disordered = (
            np.add.reduceat(column, lines.bounds[:-1], dtype=np.float64) > 0
            for column in (rises, rises != 0, is_against)
        )
        rows = np.flatnonzero(is_against)
        first = lines.line[rows[np.searchsorted(rows, lines.bounds[np.flatnonzero(balance)])]]
        return result.replace(details=(*of_ties, np.count_nonzero(ranked), lines.query[disordered], first))

    def add(self, result: Ranked, first_line: int) -> None:
        super().add(result, first_line)
        if self.unjudged and sum(map(len, self.first_unjudged)) <= SHOWN_IDS:
            self.first_unjudged.append(result.query[result.query >= len(self.retrieved)])
        self.counts.append(result.details)
        for line in self.counts[-1][-1].tolist():
            what = "the rank rises with the score here, as in most lines of this query"
            self.against.add(Problem(line, what), first_line, Kind.RANKS)
        for problem in result.repeats.problems(first_line).all():
            self.duplicates.add(problem)

    def report(self, problems: Problems) -> None:
        """Nothing: all duplicates are listed."""

    def facts(self, has_qrels: bool, share: float | None) -> RunFacts:
        """share: of the first documents that is judged, None without qrels or a query that they have."""
        counts, tied, queries_tied, ranked, queries_disordered, against = zip(*self.counts, strict=True)
        documents = np.concatenate(counts)
        queries = {
            "tied_queries": np.concatenate(queries_tied),
            "disordered": np.concatenate(queries_disordered),
            "unjudged": np.concatenate(self.first_unjudged) if has_qrels else np.empty(0, np.int64),
        }
        first_ids = {
            name: tuple(self.names[query].decode("utf-8", "surrogateescape") for query in first)
            for name, index in queries.items()
            # two queries with one key have other indices
            if (first := [query for query in index[: SHOWN_IDS + 1].tolist() if query in self.names])
        }
        return RunFacts(
            len(documents),
            int(documents.sum()),
            (int(documents.min()), float(np.median(documents)), int(documents.max())),
            sum(tied),
            len(queries["tied_queries"]),
            self.duplicates.kinds.total(),
            ranked=int(sum(ranked)) if self.has_ranks else None,
            contradicting=sum(map(len, against)) if self.has_ranks else None,
            disordered=len(queries["disordered"]) if self.has_ranks else None,
            tag=self.tag.decode("utf-8", "surrogateescape"),
            collapsed=self.collapsed if self.collapse else None,
            judged_queries=len(self.retrieved) if has_qrels else None,
            missing=int(np.count_nonzero(self.retrieved == 0)) if has_qrels else None,
            unjudged=self.unjudged if has_qrels else None,
            judged=share,
            first_ids=first_ids,
        )

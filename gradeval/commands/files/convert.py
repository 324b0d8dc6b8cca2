"""Converts qrels and runs between formats: ids and numbers are kept exactly.

A run is read and written query by query; where the lines of a query are not together, it is read again as a
whole, as qrels are. All is checked as for an evaluation, and nothing is written where something is wrong.
"""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from gradeval.arrays.segments import Segments
from gradeval.arrays.strings import KeySet
from gradeval.arrays.threads import default_jobs, with_fewer
from gradeval.errors import InputError, OptionError
from gradeval.evaluation.caveats import rank_notices
from gradeval.file_formats import WRITTEN_FORMATS
from gradeval.formats.columns import BlockTable, Columns, RankCheck
from gradeval.formats.detect import ROLES, kind_of, role_of
from gradeval.formats.diagnostics import LeftOut, Problems, no_data
from gradeval.formats.format import check_role, format_by_ending, format_of, writer_of
from gradeval.formats.output import OutputFile
from gradeval.formats.sources import Source, compressed
from gradeval.formats.write import Content
from gradeval.notices import Notice
from gradeval.options import OF_FILES, Options, checked_path, choice, integer, must_be, takes
from gradeval.tables.load import TableFile, check_ids_of_responses, check_inputs, open_file
from gradeval.tables.qrels import JudgmentRows, all_unlabelled
from gradeval.tables.ranking import Collapse, Repeats, RunLines, ranked_rows
from gradeval.tables.reduction import QueryNotGrouped

if TYPE_CHECKING:
    from gradeval.formats.letor import Letor
    from gradeval.keywords import Files, Unpack


WrittenFormat = Literal["trec", "letor", "msmarco", "beir", "csv", "tsv", "json", "jsonl", "parquet", "arrow"]


@dataclass(frozen=True)
class Conversion:
    """How a file is converted."""

    to: str  # the format
    role: str | None = None  # 'qrels' or 'run', None where the content decides
    sort: bool = False  # whether documents are written by score, or grade, descending
    top: int | None = None  # how many of each query, by score; None: all
    tag: str | None = None  # of the run, None for the file's own
    ties: str | None = None  # the order of tied scores, None for that of evaluations

    def __post_init__(self) -> None:
        choice(*WRITTEN_FORMATS, listed=True).read("to", self.to)
        tag = re.compile(r"[^ \t\r\n\0]+").fullmatch
        readers = {
            "role": choice(*ROLES).read,
            "top": integer(1, 10**9).read,
            "ties": choice("trec", "input").read,
            "tag": must_be(
                "a string without spaces", lambda value: isinstance(value, str) and bool(tag(value))
            ),
        }
        for name, read in readers.items():
            if getattr(self, name) is not None:
                read(name, getattr(self, name))


_NO_SUBTOPICS = (b"0", b"Q0", b"")  # in the second column of TREC qrels


class Converted(NamedTuple):
    """A summary of the rows written."""

    role: str  # 'qrels' or 'run'
    queries: int
    rows: int
    duplicates: int = 0  # judgments left out, whose document is judged before with the same grade
    real: int = 0  # grades that are not integers, which trec_eval does not read
    subtopics: int = 0  # judgments for a further subtopic that are left out: the highest grade is written
    unlabelled: int = 0  # judgments left out, which have no label
    excluded: int = 0  # rows left out, whose documents are excluded
    collapsed: int = 0  # lines of a run whose document has a better one, by max_passage and duplicates
    notices: tuple[Notice, ...] = ()  # about the ranks of a run


@takes(OF_FILES)
def convert(
    source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    target: str | os.PathLike[str],
    to: WrittenFormat | None = None,
    *,
    role: Literal["qrels", "run"] | None = None,
    sort: bool = False,
    top: int | None = None,
    tag: str | None = None,
    ties: Literal["trec", "input"] | None = None,
    qrels: str | os.PathLike[str] | None = None,
    **options: Unpack[Files],
) -> Converted:
    """Convert a file to another format, atomically.

        >>> gradeval.convert("bm25.run", "bm25.parquet")

    source: a path, or those of several qrels, which merge makes one of. target: the path of the new file, whose
    ending also compresses: .gz, .bz2, .xz, .zst. to: the format; None: by the ending of the target. role:
    'qrels' or 'run'; None: the content decides. sort: documents are written by score, or grade, descending.
    top: how many of each query, by score; None: all. tag: of the run; None: that of the file. ties: the order
    of tied scores, 'trec' or 'input'; None: that of evaluations. qrels: the LETOR file whose lines the source
    has scores of. options: of reading.
    Raises GradevalError: InputError for what is wrong with the source, or cannot be written in the format.
    """
    several = source if isinstance(source, (list, tuple)) else [source]
    paths = [os.fsdecode(checked_path("source", path)) for path in several]
    name = os.fsdecode(target)
    conversion = Conversion(to or format_by_ending(name), role, sort, top, tag=tag, ties=ties)
    letor = None if qrels is None else Source(qrels)
    chosen = Options(**options)
    inputs = (*paths, None if letor is None else letor.path, chosen.groups)
    with OutputFile(name, [read for read in inputs if read is not None], "target").stream() as sink:
        return convert_file([*map(Source, paths)], sink, name, conversion, chosen, qrels=letor)


def convert_file(
    sources: Sequence[Source],
    sink: Any,
    name: str,
    conversion: Conversion,
    options: Options,
    *,
    qrels: Source | None = None,
) -> Converted:
    """Write the file, or one of several qrels, to the sink, compressed as the name says. qrels: as of
    convert(). Raises GradevalError.
    """
    if not sources:
        raise OptionError("no file given to convert")
    source = sources[0]
    if len(sources) > 1:
        conversion = _of_several(conversion, options)
    written = writer_of(conversion.to)
    written.check_name(name, conversion.to)
    role = conversion.role or ("run" if qrels is not None else role_of(source, options))
    if role is None:
        raise InputError(source.name, "the file may be qrels or a run", hint="Say which with --as qrels|run")
    _check_role(role, conversion, options)
    check_inputs([(role, of_role) for of_role in sources], options)
    letor = _letor_of_scores(source, role, options, qrels)
    file, *more = open_file(source, role, options, letor, Problems(source.name, math.inf))
    check_ids_of_responses(sources, options)
    if more:
        raise OptionError("choose one feature: a file holds one run")
    if len(sources) > 1:
        file = _together(sources, options)

    def write(jobs: int, by_query: bool = role == "run") -> Converted:
        sink.seek(0)
        sink.truncate()
        reading = _Reading(file, conversion, options, jobs)
        with compressed(sink, name) as opened:
            batches = reading.batches(by_query)
            first = next(batches)  # whose block has the tag
            written.write(chain([first], batches), opened, reading.content())
        notices = (*rank_notices(reading.ranks, source.name), *reading.notices)
        return Converted(role, **reading.counts, notices=notices)

    jobs = options.jobs or default_jobs()
    with suppress(QueryNotGrouped):
        return with_fewer(write, jobs)
    return with_fewer(lambda jobs: write(jobs, by_query=False), jobs)


def _of_several(conversion: Conversion, options: Options) -> Conversion:
    """The conversion of several qrels to one. Raises OptionError."""
    if options.merge is None:
        hint = (
            "several files are qrels of several judges: --merge RULE (merge='mean') makes one of them, and "
            "--merge first joins parts of one"
        )
        raise OptionError(f"convert takes one file; {hint}")
    if conversion.role == "run":
        raise OptionError("several qrels can be merged, several runs cannot: gradeval fuse mixes runs")
    return replace(conversion, role="qrels")


def _together(sources: Sequence[Source], options: Options) -> TableFile:
    """The rows of several qrels as one file, those of the first file first. Raises InputError(s)."""
    parts = []
    for source in sources:
        [file] = open_file(source, "qrels", options, None, Problems(source.name, math.inf))
        problems = Problems(source.name, math.inf, "gradeval validate --verbose lists all of them")
        parts += [part.light() for _, part in problems.until_enough(file.table.read(1))]
        problems.check()
    if all(part.subtopic is None or part.subtopic in _NO_SUBTOPICS for part in parts):
        parts = [part.replace(subtopic=None) for part in parts]  # judges may differ in the mark
    name = " + ".join(source.name for source in sources)
    return TableFile(sources[0], "qrels", file.kind, BlockTable(name, lambda: iter(parts), lambda part: part))


def _check_role(role: str, conversion: Conversion, options: Options) -> None:
    """Raise OptionError where the conversion is none of qrels, or of a run."""
    if role == "run" and options.merge is not None:
        raise OptionError("merge is of judgments; a run has none", "merge")
    if role == "qrels" and conversion.top is not None:
        raise OptionError("top N documents can be chosen from runs only")
    check_role(role, conversion.to)
    if conversion.tag is not None and not (role == "run" and writer_of(conversion.to).has_tag):
        raise OptionError("tag is for runs that are written as trec: others have none")


def _letor_of_scores(source: Source, role: str, options: Options, qrels: Source | None) -> Letor | None:
    """The LETOR file that the source has scores of, None where it has none. Raises GradevalError."""
    kind = kind_of(source, ROLES[role], options)
    of_letor = format_of(kind).of_letor
    if qrels is None:
        if of_letor:
            message = f"{of_letor} need the LETOR file whose lines they are of"
            raise InputError(source.name, message, hint="Give it with --qrels")
        return None
    if not of_letor or role != "run":
        raise OptionError(f"qrels are for scores of LETOR lines only; {source.name} is of format {kind}")
    letor = open_file(qrels, "qrels", options)[0].letor
    if letor is None:
        raise InputError(qrels.name, "this is not a LETOR file", hint=f"{of_letor} are of the lines of one")
    return letor


class _Reading:
    """Reads batches of whole queries, and counts what Converted has."""

    def __init__(self, file: TableFile, conversion: Conversion, options: Options, jobs: int) -> None:
        self.file = file
        self.conversion = conversion
        self.collapse = Collapse.of(options)
        self.merge = options.merge
        self.jobs = jobs
        self.notices: tuple[Notice, ...] = ()  # of merged judgments
        self.name = file.table.name
        self.role = file.role
        self.writer = writer_of(conversion.to)
        self.problems = Problems(self.name, math.inf, "gradeval validate --verbose lists all of them")
        self.tag = b""
        self.ranks = RankCheck()
        self.left_out: LeftOut | None = None
        self.has_subtopics = False
        self.counts = Counter(queries=0, rows=0)

    def content(self) -> Content:
        tag = os.fsencode(self.conversion.tag or "") or self.tag or b"gradeval"
        return Content(self.role, tag, self.has_subtopics)

    def batches(self, by_query: bool) -> Iterator[Columns]:
        """Raises InputError(s) at the end, after a part of the batches; if by_query, QueryNotGrouped."""
        for rows in self._by_query() if by_query else self._whole():
            batch = self._batch(rows)
            refused = self.writer.refused(batch, self.content())
            if refused.total:  # which are of the format that is written
                self.problems.hint = ""
            self.problems.add(refused)
            if not self.problems.found.total:
                self.counts.update(queries=len(batch.queries), rows=len(batch.value))
                yield batch
        self.problems.check()
        if not self.counts["rows"]:
            left_out = self.left_out or all_unlabelled(self.counts["unlabelled"])
            raise no_data(self.name, self.problems.lines, left_out)

    def _parts(self) -> Iterator[Columns]:
        for before, part in self.problems.until_enough(self.file.table.read(self.jobs)):
            self.tag = self.tag or part.tag or b""
            self.ranks = self.ranks.joined(part.ranks)
            self.counts["unlabelled"] += part.unrated
            self.counts["excluded"] += part.excluded
            self.left_out = self.left_out or part.left_out
            yield part.replace(line=part.line + before, lines=0)

    def _whole(self) -> Iterator[JudgmentRows]:
        parts = [part.light() for part in self._parts()]
        if any(len(part.value) for part in parts):
            yield JudgmentRows.of(self.name, parts, self.jobs)

    def _by_query(self) -> Iterator[JudgmentRows]:
        last_query: list[Columns] = []  # its rows so far: it may continue in the next block
        seen = KeySet()
        for part in self._parts():
            last = len(part.queries) - 1
            if last < 0:
                continue
            continues = bool(last_query) and last_query[0].queries[0] == part.queries[0]
            keys = np.sort(part.queries.keys()[int(continues) :])
            if (keys[1:] == keys[:-1]).any() or seen.has(keys).any():
                raise QueryNotGrouped
            seen.add(keys)
            is_last = np.arange(len(part.value)) >= part.bounds[last]
            if last or (last_query and not continues):
                # light: the ids of other queries are not kept alive
                yield JudgmentRows.of(self.name, [*last_query, part.take(~is_last).light()])
                last_query = []
            last_query.append(part.take(is_last).light())
        if last_query:
            yield JudgmentRows.of(self.name, last_query)

    def _batch(self, rows: JudgmentRows) -> Columns:
        """The rows that are written, in order; what is wrong with them is added to the problems."""
        line = rows.line()
        table = rows.qrels
        subtopic = None
        ties = self.conversion.ties or ("input" if self.role == "qrels" else format_of(self.file.kind).ties)
        if self.role == "qrels":
            self.problems.add(rows.out_of_range())
            if self.merge is None:
                self.problems.add(rows.duplicates(same_grade=False))
                self.counts["duplicates"] = len(rows.again)
            elif len(rows.again):
                rows, notices = rows.with_merged(self.merge)
                self.notices = (notices,)
            if rows.subtopic is not None and self.writer.has_subtopics:
                self.has_subtopics = True
                row = np.delete(np.arange(len(line)), rows.again)
                table = rows.by_subtopic(row)
                line = line[row]
                subtopic = rows.subtopic.take(row)
            else:
                self.counts["subtopics"] = len(rows.further)
                table = rows.without_duplicates()
                line = line[rows.kept()]
            self.counts["real"] = int(np.count_nonzero(table.grade != np.rint(table.grade)))
        else:
            if len(rows.again) and not self.collapse.duplicates:
                lines = RunLines(
                    np.arange(len(table.queries)), table.offsets, table.documents, table.grade, line
                )
                self.problems.add(Repeats.of(lines, rows.again, rows.first, table.queries).problems())
            if self.collapse:
                query = Segments(table.offsets).query
                documents, best = self.collapse.best(table.documents, table.grade, query)
                self.counts["collapsed"] += len(line) - len(best)
                offsets = np.searchsorted(best, table.offsets)
                table = table.replace(offsets=offsets, documents=documents, grade=table.grade[best])
                line = line[best]
        segments = Segments(table.offsets)
        order, _ = segments.ranked(table.grade)
        if ties == "trec":
            order = ranked_rows(segments, table.grade, table.documents)
        rank = np.empty(len(line))
        rank[order] = segments.place + 1
        # a reader of features orders tied scores as their lines are
        loses_ties = ties == "trec" and format_of(self.conversion.to).ties == "input" and self.role == "run"
        chosen = order if self.conversion.sort or loses_ties else slice(None)
        subtopic = None if subtopic is None else subtopic.take(chosen)
        columns = table.documents.take(chosen), table.grade[chosen], line[chosen], 0
        batch = Columns(table.queries, table.offsets, *columns, rank=rank[chosen], subtopic=subtopic)
        top = self.conversion.top
        return batch if top is None else batch.take(rank[chosen] <= top)

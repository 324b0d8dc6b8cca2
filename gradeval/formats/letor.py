"""LETOR and SVMlight: `grade qid:Q k:v k:v … # document`, features as virtual assessors or as runs;
and the scores of its lines: one per line, or as RankLib writes them: query, index in its query from 0, score.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence, Set
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gradeval.arrays import Bools, Bytes, Floats, Ints, NDArray, cached_property
from gradeval.arrays.segments import Segments, distinct, offsets_of, ranges, stable_order
from gradeval.arrays.strings import IdIndex, Ids, integer_ids, words
from gradeval.arrays.threads import ordered_map
from gradeval.errors import InputError, first_names
from gradeval.formats.columns import Columns, columns_of, not_a_number, odd_lines
from gradeval.formats.csv import without_header
from gradeval.formats.detect import explained
from gradeval.formats.diagnostics import LineProblems, Problems, no_data, shown
from gradeval.formats.format import QRELS_FIRST, Format, FormatWriter, counts, is_number
from gradeval.formats.scan import HASH, LF, Tokens, floats, leading_integers, split, tokenize, unreadable
from gradeval.formats.sources import HEAD, Block, Source
from gradeval.formats.write import Content, LineFields, by_column, contains, refusing
from gradeval.notices import many
from gradeval.options import GROUP_SUFFIXES, Options
from gradeval.records import Record

if TYPE_CHECKING:
    from gradeval.arrays.text import Field

_SHOWN = 20  # ranges of features that an error names
_SIZE = "group size"
LARGEST_FEATURE = 10**7  # numbers below it can be features
_COLON, _EQUALS = b":="
_QID = np.uint64(int.from_bytes(b"qid:", "little"))
_DOCID = np.uint64(int.from_bytes(b"docid", "little"))
_FIVE = np.uint64(2**40 - 1)
_IS_BLANK = np.zeros(256, bool)
_IS_BLANK[list(b" \t\r")] = True


_FIELD = rb"[^ \t]+"
_FEATURE = rb"(?:qid|\d+):\S*"
_INDEXED = rb"(?P<query>[^\t\r\n]+)\t(?P<number>\d+)\t[ ]*[-+.\d][^\t\r\n]*\r*"  # a line of RankLib


class Letor(Record, eq=False):
    """The data lines of a file: n of Q queries."""

    path: str
    queries: Ids  # in order of first appearance, (Q,)
    query: Ints  # which of them each line is of, (n,)
    documents: Ids  # of each line, (n,)
    label: Floats  # likewise
    line: Ints  # 0-based, likewise
    numbered: bool  # whether no line has an id, so that documents are named by their positions
    groups: Source | None  # the file with the sizes of queries without qid
    _values: list[_Values]

    def columns(self, number: Floats) -> Columns:
        """The lines as rows with these numbers, (n,): labels or features."""
        columns = Columns.whole(self.queries.take(self.query), self.documents, number, self.line)
        return columns.replace(numbered=self.numbered)

    def feature(self, number: int) -> Floats:
        """A wanted feature of each line, 0 without, (n,). Raises InputError(s) where it is missing or twice."""
        if number not in self.features:
            raise self.missing([number])
        column = np.zeros(len(self.line))
        problems = Problems(self.path)
        before = 0
        for values in self._values:
            at = np.searchsorted(values.features, number)
            if at < len(values.features) and values.features[at] == number:
                row = before + values.row[values.bounds[at] : values.bounds[at + 1]]
                column[row] = values.value[values.bounds[at] : values.bounds[at + 1]]
                again = self.line[distinct(row[1:][row[1:] == row[:-1]])]
                problems.add(LineProblems.of(again, f"feature {number} is given more than once"))
            before += values.rows
        problems.check()
        return column

    @cached_property
    def features(self) -> set[int]:
        """The wanted features that at least one line has."""
        return {number for values in self._values for number in values.features.tolist()}

    def missing(self, features: Sequence[int]) -> InputError:
        names = first_names(map(str, sorted(features)), _SHOWN)
        return InputError(self.path, f"no line has feature{'s' * (len(features) > 1)} {names}")


class _Values(NamedTuple):
    """Wanted features of a block's lines: features[i] has row and value of bounds[i]:bounds[i+1]."""

    features: Ints
    bounds: Ints
    row: NDArray[np.int32]
    value: Floats
    rows: int  # how many lines there are


class _Part(NamedTuple):
    """The data lines of a block."""

    query: Ids  # of length 0 where the line has none
    document: Ids  # likewise
    label: Floats
    line: Ints
    values: _Values
    lines: int  # of the block
    last: bool
    problems: LineProblems


def _wanted(features: Set[int] | None) -> Bools:
    """Which features are wanted, by their number. features: None for all."""
    if features is None:
        return np.ones(LARGEST_FEATURE, bool)
    is_wanted = np.zeros(max(features, default=-1) + 2, bool)
    is_wanted[list(features)] = True
    return is_wanted


def read_letor(
    source: Source,
    wanted: Set[int] | None,
    groups: str | None = None,
    jobs: int = 1,
    problems: Problems | None = None,
) -> Letor:
    """Read labels, ids and the wanted features, None for all. Raises InputError(s). groups: a file of group
    sizes, for SVMlight without qid; by default FILE.query or FILE.group. problems: collects those of the lines.
    """
    problems = problems or Problems(source.name)
    parts = []
    is_wanted = _wanted(wanted)
    made = ordered_map(lambda block: _read_block(block, is_wanted), source.blocks(), jobs)
    for before, part in problems.until_enough(made):
        np.add(part.line, before, out=part.line)
        parts.append(part)
    problems.check()
    label = np.concatenate([np.empty(0), *(part.label for part in parts)])
    if not len(label):
        raise no_data(source.name, problems.lines)
    line = np.concatenate([part.line for part in parts])
    queries, query, sizes = _queries(source, groups, Ids.joined([part.query for part in parts]), line)
    ids = Ids.joined([part.document for part in parts])
    return Letor(
        source.name,
        queries,
        query,
        _named_by_rank(ids, query),
        label,
        line=line,
        numbered=not ids.length.any(),
        groups=sizes,
        _values=[part.values for part in parts],
    )


def _queries(source: Source, groups: str | None, ids: Ids, line: Ints) -> tuple[Ids, Ints, Source | None]:
    """The queries, which of them each line is of, and the file of their sizes where no line has a qid. ids: of
    the query of each line, or empty. Raises InputError(s).
    """
    without = np.flatnonzero(ids.length == 0)
    if groups is not None and len(without) < len(ids):
        with_query = int(line[np.flatnonzero(ids.length)[0]]) + 1
        hint = "Omit --groups, which is for files without qid:"
        raise InputError(source.name, "unexpected qid:", line=with_query, hint=hint)
    if not len(without):
        first, query = ids.distinct()
        return ids.take(first).compact(), query, None
    if len(without) < len(ids):
        message = "no qid: here, though other lines have one"
        raise InputError(source.name, message, line=int(line[without[0]]) + 1)
    sizes = group_sizes(source, groups)
    sizes.hash_while_reading()
    size, _ = read_numbers(sizes, _SIZE)
    if size.sum() != len(ids):
        message = f"the {_SIZE}s add up to {size.sum():.0f} lines, but {source.name} has {len(ids)}"
        raise InputError(sizes.path, message)
    counts = size[size > 0].astype(np.int64)
    queries = integer_ids(np.arange(1, len(counts) + 1))  # 1, 2, … of these sizes
    return queries, np.repeat(np.arange(len(counts)), counts), sizes


def _read_block(block: Block, is_wanted: Bools) -> _Part:
    """The data lines of a block. is_wanted: which features are read."""
    text = block.text
    tokens, comment = _tokens(text)
    count = comment - tokens.first
    data = np.flatnonzero(count)
    first_token = tokens.first[data]
    labels = tokens.ids(block.bytes, first_token)
    label, bad = floats(labels)
    of_labels = LineProblems.of(data[bad], lambda i: not_a_number("grade", labels[int(bad[i])]))
    query = tokens.ids(block.bytes, np.minimum(first_token + 1, len(tokens.start) - 1))
    has_query = (count[data] > 1) & (query.word(0) & np.uint64(0xFFFFFFFF) == _QID)
    length = np.where(has_query, query.length - 4, 0)
    of_queries = LineProblems.of(data[has_query & (length == 0)], "no query id after qid:")
    first_feature = first_token + 1 + has_query
    values, of_values = _values(block.bytes, tokens, data, first_feature, comment[data], is_wanted=is_wanted)
    of_lines = of_labels + of_queries + of_values
    return _Part(
        query=Ids(block.bytes, query.start + 4, length).compact(),
        document=_documents(block.bytes, tokens, data, comment[data]).compact(),
        label=label,
        line=data,
        values=values,
        lines=len(tokens.counts),
        last=block.last,
        problems=unreadable(block) or explained(of_lines, block, len(data), "grade", "letor"),
    )


def _tokens(text: Bytes) -> tuple[Tokens, Ints]:
    """The tokens of a block, and the first one of each line's comment."""
    hashes = np.flatnonzero(text == HASH)
    if not len(hashes):
        tokens = tokenize(text, hashes)
        return tokens, tokens.first + tokens.counts
    # only the first # of a line begins its comment
    lines, first = np.unique(np.searchsorted(np.flatnonzero(text == LF), hashes), return_index=True)
    hashes = hashes[first]
    tokens = tokenize(text, hashes)
    comment = tokens.first + tokens.counts
    comment[lines] = np.searchsorted(tokens.start, hashes)
    return tokens, comment


def _values(
    block: Bytes, tokens: Tokens, data: Ints, first: Ints, end: Ints, is_wanted: Bools
) -> tuple[_Values, LineProblems]:
    """The wanted features of each data line, whose feature tokens are first:end."""
    count = np.maximum(end - first, 0)
    token = ranges(first, count)
    row = np.repeat(np.arange(len(data), dtype=np.int32), count)
    start = tokens.start[token]
    feature, digits = leading_integers(block, start)
    at = start + digits
    wrong = np.flatnonzero((digits == 0) | (block[at] != _COLON))
    fields = tokens.ids(block, token[wrong])
    of_fields = LineProblems.of(data[row[wrong]], lambda i: f"{shown(fields[i])} is not feature:value")
    chosen = np.flatnonzero(is_wanted[np.minimum(feature, len(is_wanted) - 1)])
    if np.count_nonzero(is_wanted) > 1:  # of one feature they are in order already
        chosen = chosen[stable_order(feature[chosen])]
    feature, row = feature[chosen], row[chosen]
    text = Ids(block, at[chosen] + 1, np.maximum(tokens.end[token[chosen]] - at[chosen] - 1, 0))
    value, bad = floats(text)
    of_values = LineProblems.of(
        data[row[bad]], lambda i: not_a_number(f"value of feature {feature[bad[i]]}", text[int(bad[i])])
    )
    bounds = Segments.of_equal(feature).offsets
    values = _Values(feature[bounds[:-1]], bounds, row, value, len(data))
    return values, of_fields + of_values


def _documents(block: Bytes, tokens: Tokens, data: Ints, comment: Ints) -> Ids:
    """The document of each data line: X of `docid = X`, or the first word of its comment; length 0 without."""
    token = np.minimum(comment, len(tokens.start) - 1)
    start = tokens.start[token]
    rows = np.flatnonzero(words(block)[start] & _FIVE == _DOCID)
    equals = _behind_blanks(block, start[rows] + 5)
    is_equals = block[equals] == _EQUALS
    rows = rows[is_equals]
    start[rows] = _behind_blanks(block, equals[is_equals] + 1)
    token[rows] = np.searchsorted(tokens.start, start[rows], "right") - 1
    is_there = np.maximum(comment, token) < tokens.first[data] + tokens.counts[data]
    return Ids(block, start, np.where(is_there, np.maximum(tokens.end[token] - start, 0), 0))


def _behind_blanks(block: Bytes, at: Ints) -> Ints:
    while (is_blank := _IS_BLANK[block[at]]).any():
        at = at + is_blank
    return at


def _named_by_rank(documents: Ids, query: Ints) -> Ids:
    """The documents, those without an id named by their 1-based place in their query."""
    without = np.flatnonzero(documents.length == 0)
    if not len(without):
        return documents
    rank = np.empty(len(query), np.int64)
    rank[stable_order(query)] = Segments(offsets_of(np.bincount(query))).place + 1
    return documents.with_others(without, integer_ids(rank[without]))


def group_sizes(source: Source, groups: str | None) -> Source:
    """The file of the sizes of queries without qid: the one given, or that beside it. Raises InputError."""
    beside = (source.path + suffix for suffix in GROUP_SUFFIXES)
    path = groups or next(filter(os.path.exists, beside), None)
    if path is None:
        location = "with" if source.path == "-" else f"in {source.path}.query or with"
        hint = f"Give their sizes, one per line, {location} --groups FILE"
        raise InputError(source.name, "no line has a qid:, so the queries are unknown", hint=hint)
    return Source(path)


def read_numbers(source: Source, name: str, problems: Problems | None = None) -> tuple[Floats, Ints]:
    """The numbers of a file, one per line, and the line of each; name: what they are. Raises InputError(s)."""

    def numbers(block: Block) -> Columns:
        rows = split(block.bytes, block.size, (0, 0, 0), 1, 1)
        wrong = odd_lines(rows, f"one {name} per line is expected")
        kind = "scores" if name == "score" else ""
        columns = columns_of(block, rows, name, unreadable(block), wrong, kind=kind)
        odd = np.flatnonzero((columns.value < 0) | (columns.value != np.floor(columns.value)))
        if kind or not len(odd):
            return columns
        message = f"the {name} {{:g}} is not a non-negative integer"
        of_sizes = LineProblems.of(columns.line[odd], lambda i: message.format(columns.value[odd[i]]))
        return columns.replace(problems=columns.problems + of_sizes)

    problems = problems or Problems(source.name)
    parts = [(part.value, part.line + n) for n, part in problems.until_enough(map(numbers, source.blocks()))]
    problems.check()
    if not any(len(values) for values, _ in parts):
        raise no_data(source.name, problems.lines)
    values, lines = zip(*parts, strict=True)
    return np.concatenate(values), np.concatenate(lines)


def _read_scores(source: Source, letor: Letor, problems: Problems | None = None) -> Columns:
    """Scores, one for each data line of the LETOR file. Raises InputError(s)."""
    scores, line = read_numbers(source, "score", problems)
    if len(scores) != len(letor.label):
        message = f"there are {len(scores)} scores, but {letor.path} has {len(letor.label)} lines of data"
        raise InputError(source.name, message)
    return letor.columns(scores).replace(line=line)


def _read_ranklib(source: Source, letor: Letor, problems: Problems | None = None) -> Columns:
    """The scores of a LETOR file's lines. problems: collects those of the lines. Raises InputError(s)."""
    problems = problems or Problems(source.name)
    parts = [part for _, part in problems.until_enough(map(_indexed_scores, source.blocks()))]
    problems.check()
    columns = Columns.joined(parts)
    if not len(columns.value):
        raise no_data(source.name, problems.lines)
    index = np.array([int(text) for text in columns.documents.tolist()], np.int64)
    row = _rows_of_indexes(columns, index, letor, problems)
    line = np.full(len(letor.line), -1)
    line[row[::-1]] = columns.line[::-1]  # that of the first score of each
    again = np.flatnonzero(columns.line != line[row])
    twice = "index {} of its query has a score already"
    problems.add(LineProblems.of(columns.line[again], lambda i: twice.format(index[again[i]])))
    problems.check()
    missing = np.flatnonzero(line < 0)
    if len(missing):
        where = f"the first is in line {letor.line[missing[0]] + 1}"
        lines = many(len(missing), "line", "lines")
        raise InputError(source.name, f"{lines} of {letor.path} without a score; {where}")
    number = np.empty(len(row))
    number[row] = columns.value
    return letor.columns(number).replace(line=line)


def _indexed_scores(block: Block) -> Columns:
    """The lines of RankLib; the documents are the indexes of lines in their query."""
    columns = without_header(block, ("query", "index", "score")).light()
    index = columns.documents
    bad = [row for row, text in enumerate(index.tolist()) if not text.isdigit() or len(text) > 9]
    message = "the index {} is not a non-negative integer"
    of_index = LineProblems.of(columns.line[bad], lambda i: message.format(shown(index[bad[i]])))
    return columns.replace(problems=columns.problems + of_index)


def _rows_of_indexes(columns: Columns, index: Ints, letor: Letor, problems: Problems) -> Ints:
    """The data line of the LETOR file that each score is of. index: of that line in its query. problems: gains
    those of lines that are not there. Raises InputError(s).
    """
    query = np.repeat(IdIndex(letor.queries).find(columns.queries), columns.lengths)
    sizes = np.bincount(letor.query, minlength=len(letor.queries))
    unknown = np.flatnonzero((query < 0) | (index >= sizes[query]))

    def reason(i: int) -> str:
        row = int(unknown[i])
        name = shown(columns.queries[columns.query[row]])
        if query[row] < 0:
            return f"query {name} is not in {letor.path}"
        return f"index {index[row]} where query {name} has {sizes[query[row]]} lines in {letor.path}, from 0"

    problems.add(LineProblems.of(columns.line[unknown], reason))
    problems.check()
    by_query = stable_order(letor.query)  # the lines of each query together
    rows: Ints = by_query[offsets_of(sizes)[query] + index]
    return rows


# --- the formats


def _is_letor(line: bytes) -> bool:
    fields = re.findall(_FIELD, line.split(b"#", 1)[0])
    if len(line) == HEAD and len(fields) > 2:
        fields.pop()  # it may be cut off
    if len(fields) < 2:
        return bool(fields) and b"#" in line and is_number(re.findall(_FIELD, line)[0])
    if fields[1].startswith(b"qid:"):  # even if a feature is malformed
        return True
    return all(b":" in field and re.fullmatch(_FEATURE, field) for field in fields[1:])


def _detected_indexes(text: bytes, options: Options) -> str:
    return "ranklib" if counts(text, _INDEXED, 0) else ""


def _label_fields(row: LineFields, content: Content) -> list[Field]:
    return [*row.number, b" qid:", row.query, b" # docid = ", row.document, b"\n"]


def _feature_fields(row: LineFields, content: Content) -> list[Field]:
    """Scores are feature 1 of lines whose label is 0."""
    return [b"0 qid:", row.query, b" 1:", *row.number, b" # docid = ", row.document, b"\n"]


LETOR = Format(
    "letor",
    "its first line of data has qid: or numbered features",
    read_letor,
    is_line=_is_letor,
    is_of_fields=True,
    ties="input",
    writer=lambda: FormatWriter(
        by_column(_label_fields),
        by_column(_feature_fields),
        refusing("spaces, tabs, line ends or #", b" \t\r\n#", contains(rb"[ \t\r\n]"), contains(b"#")),
        has_subtopics=False,
    ),
)
SCORES = Format(
    "scores",
    "its first lines of data are numbers, one per line",
    _read_scores,
    is_line=is_number,
    may_be="letor",
    is_of_fields=True,
    of_letor="scores, one per line,",
    ties="input",
    no_qrels=(
        "each of its first lines is one number, so that it may hold labels or scores",
        "--qrels-format letor reads labels; scores are a run, which comes after a LETOR file",
    ),
)
RANKLIB = Format(
    "ranklib",
    "the second field counts 0, 1, … within the first query",
    _read_ranklib,
    _detected_indexes,
    of_letor="scores of RankLib",
    ties="input",
    no_qrels=("this looks like scores of RankLib (query index score)", QRELS_FIRST),
)

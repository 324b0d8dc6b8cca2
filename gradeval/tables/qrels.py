"""Judgments as they were read, and what depends on the grades only, and so is the same for every run."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np

from gradeval.arrays import Bools, Floats, Ints, Words, cached_property
from gradeval.arrays.segments import Segments, are_new, distinct, offsets_of, ranges, stable_order, subtracted
from gradeval.arrays.strings import IdIndex, IdPairs, Ids, KeyTable, Texts, repeats, salts
from gradeval.arrays.threads import ordered_map
from gradeval.errors import GRADE_RANGE, LARGEST_GRADE, SMALLEST_GRADE, OptionError, UnknownQueryError
from gradeval.formats.columns import Columns, grouped
from gradeval.formats.diagnostics import LeftOut, LineProblems, Problems, no_data, shown
from gradeval.notices import MAX_QUERIES, Notice, NoticeKind, Notices, many
from gradeval.options import Options
from gradeval.records import Record, fields_of

_Made = TypeVar("_Made")
RECALLED = 16  # cached results that metrics share, more than they need at a time
_SAME = 12  # decimals: gains that differ by less are equal, as sums in another order may
SHARE = 1 << 16  # rows whose columns fit the processor's cache, where metrics are several times faster


def shares_of(offsets: Ints, rows: int = SHARE) -> list[slice]:
    """Queries with these offsets in shares of about so many rows each, at least one."""
    if offsets[-1] <= rows:
        return [slice(0, len(offsets) - 1)]
    steps = np.arange(0, offsets[-1], rows)[1:]
    cuts = distinct(np.concatenate([[0], np.searchsorted(offsets, steps), [len(offsets) - 1]]))
    return [slice(a, b) for a, b in itertools.pairwise(cuts.tolist())] or [slice(0, 0)]


def is_relevant(grade: Floats, level: float | None) -> Bools:
    """Which grades are relevant: from the threshold on, or above 0 without one; never those below 0."""
    return grade > 0 if level is None else grade >= max(level, 0.0)


def counted_grades(grade: Floats, options: Options) -> Floats:
    """Grades as they count: with zero_grade subtracted, both as decimal numbers."""
    return subtracted(grade, float(options.zero_grade)) if options.zero_grade else grade


def top_grade(scale: Floats, options: Options) -> float:
    """The largest grade that a judge may give, as it counts. scale: the grades of the qrels, as they count."""
    if options.top_grade is None:
        return max(float(scale[-1]), 0.0)
    [grade] = counted_grades(np.array([options.top_grade]), options)
    return max(float(grade), 0.0)


def grade_of_bounds(scale: Floats, options: Options) -> float:
    """top_grade(), where judgments can be above 0. Raises OptionError."""
    top = top_grade(scale, options)
    if top > 0:
        return top
    reason = (
        "no grade of the qrels counts above 0" if options.top_grade is None else "top_grade counts as 0 or less"
    )
    raise OptionError(
        f"{reason}, so that no judgment could change a value. Give --top-grade (top_grade=) above 0"
    )


def with_top_grade(scale: Floats, options: Options) -> Floats:
    """The grades that metrics take from all qrels, with the largest that a judge may give where it is set."""
    return scale if options.top_grade is None else distinct(np.append(scale, top_grade(scale, options)))


class Recalling:
    """A table with results that metrics share."""

    @cached_property
    def _made(self) -> dict[Hashable, Any]:
        return {}

    def once(self, key: Hashable, make: Callable[[], _Made]) -> _Made:
        """The result of make(), cached until RECALLED others were requested: AP may be at thousands of levels.
        Threads may share it: each step on the dict is atomic, and what another took out is made again.
        """
        made = self._made
        value: _Made | None = made.pop(key, None)
        if value is None:
            value = make()
        made[key] = value  # the most recently used is last
        if len(made) > RECALLED:
            for oldest in list(made)[:1]:
                made.pop(oldest, None)
        return value


class Ideal(Record, Recalling, eq=False):
    """The grades of some queries, in any order within a query, and their ideal ranking."""

    segments: Segments
    grade: Floats

    @cached_property
    def grades(self) -> Floats:
        """The grades of each query from the highest to the lowest: the ideal ranking, float64 (N,)."""
        return self.segments.sorted_descending(self.grade)

    @cached_property
    def levels(self) -> Segments:
        """The rows of the ideal ranking with equal grades, as segments of their own."""
        return self.segments.ties(self.grades)

    @cached_property
    def highest(self) -> Floats:
        """The largest grade of each query, at least 0, float64 (Q,)."""
        return np.maximum(self.segments.max(self.grade), 0.0)

    def relevant(self, level: float | None) -> Ints:
        """How many documents of each query are relevant, int64 (Q,)."""
        return self.once(("relevant", level), lambda: self.segments.number(is_relevant(self.grade, level)))


class Subtopics(Record, Recalling, eq=False):
    """Judgments of documents for the subtopics of their queries: S of them, those of a document together."""

    segments: Segments  # the queries that the documents belong to, as rows of the qrels
    row: Ints  # the document's, ascending, int64 (S,)
    topic: Ints  # a number for each subtopic of each query, int64 (S,)
    grade: Floats  # float64 (S,)
    documents: Ids | None = None  # the ids of the rows of the qrels; None has them in order

    @classmethod
    def of(cls, segments: Segments, row: Ints, key: Words, grade: Floats, documents: Ids) -> Subtopics:
        """The judgments in any order. key: of the subtopic's name, (S,)."""
        order = stable_order(row)
        row, key, grade = row[order], key[order], grade[order]
        query = segments.query[row]
        by_topic = np.lexsort((key, query))
        topic = np.empty(len(row), np.int64)
        topic[by_topic] = np.cumsum(are_new(query[by_topic], key[by_topic])) - 1
        return cls(segments, row, topic, grade, documents)

    @cached_property
    def query(self) -> Ints:
        """The query of each judgment, (S,)."""
        return self.segments.query[self.row]

    def ideal(self, alpha: float, level: float | None, depth: int | None) -> tuple[Segments, Ints, Floats]:
        """The greedy ideal ranking of each query, cut at the depth: rows of the qrels, and their gains. Each
        rank has the document with the largest gain, the sum over its subtopics of (1 - alpha)^(documents above
        it that are relevant to the subtopic); of several, that with the highest id.
        """
        return self.once((alpha, level, depth), lambda: self._greedy(alpha, level, depth))

    def _greedy(self, alpha: float, level: float | None, depth: int | None) -> tuple[Segments, Ints, Floats]:
        document_order = np.arange(len(self.segments.query))
        if self.documents is not None:
            document_order[self.documents.descending(self.segments.query)] = np.arange(len(document_order))
        relevant = np.flatnonzero(is_relevant(self.grade, level))
        relevant = relevant[np.argsort(document_order[self.row[relevant]], kind="stable")]
        row, topic = self.row[relevant], self.topic[relevant]
        by_document = Segments.of_equal(row)
        document = row[by_document.starts]
        query = self.segments.query[document]
        weight = np.ones(int(topic.max(initial=-1)) + 1)  # of each subtopic, for the next rank
        unranked = np.arange(len(document))
        ranked = [row[:0]]
        gains = [weight[:0]]
        while len(unranked) and (depth is None or len(ranked) <= depth):
            gain = by_document.sum(weight[topic])[unranked]
            rounded = np.round(gain, _SAME)
            first = np.flatnonzero(are_new(query[unranked]))
            best = np.repeat(np.maximum.reduceat(rounded, first), np.diff(first, append=len(unranked)))
            equal = np.flatnonzero(rounded == best)
            chosen = equal[are_new(query[unranked[equal]])]
            taken = unranked[chosen]
            ranked.append(taken)
            gains.append(gain[chosen])
            weight[topic[ranges(by_document.starts[taken], by_document.lengths[taken])]] *= 1 - alpha
            unranked = np.delete(unranked, chosen)
        chosen = np.concatenate(ranked)
        order = stable_order(query[chosen])
        offsets = offsets_of(np.bincount(query[chosen], minlength=self.segments.count))
        return Segments(offsets), document[chosen[order]], np.concatenate(gains)[order]


class Qrels(Record, eq=False):
    """Judgments as read: a row for each (query, document, grade), the rows of a query together."""

    path: str  # as the user named it
    queries: Ids  # in order of first appearance, (Q,)
    offsets: Ints  # query q owns rows offsets[q]:offsets[q+1], (Q+1,)
    documents: Ids  # (N,)
    grade: Floats  # (N,); of several subtopics, the highest
    notices: Notices = Notices()  # what is unusual but valid
    numbered: bool = False  # whether the file has no ids, so that documents are named by their positions
    subtopics: Subtopics | None = None  # the judgments by subtopic, if there are several
    assumed: float | None = None  # the grade of documents that are retrieved and not judged, if they have one

    @classmethod
    def of(cls, path: str, blocks: Iterable[Columns], jobs: int = 1, merge: str | None = None) -> Qrels:
        """Judgments as a reader returns them. merge: of Options. Raises InputError(s) of the reader, and where
        a grade is out of range, or without merge a document has two grades for a query and subtopic.
        """
        rows = JudgmentRows.read(blocks, Problems(path), jobs, merge)
        qrels = rows.merged(merge)  # with the keys of its documents
        if not rows.unlabelled:
            return qrels
        notice = Notice(NoticeKind.UNLABELLED, path, rows.unlabelled)
        return qrels.replace(notices=Notices((*qrels.notices, notice)))

    @cached_property
    def query_index(self) -> IdIndex:
        return IdIndex(self.queries)

    def positions(self, queries: Iterable[str], *, is_part: bool = False) -> Ints:
        """Where these queries are, each once. Raises UnknownQueryError for others, which is_part leaves out."""
        position_of = {query: position for position, query in enumerate(Texts(self.queries))}
        different = list(dict.fromkeys(queries))
        if not is_part and (unknown := [query for query in different if query not in position_of]):
            raise UnknownQueryError(unknown, self.path)
        return np.array([position_of[query] for query in different if query in position_of], np.int64)

    @cached_property
    def names(self) -> Texts:
        """The ids of the documents as text, (N,)."""
        return Texts(self.documents)

    @cached_property
    def judged(self) -> dict[str, tuple[int, list[str]]]:
        """The index of each query and its judged documents, by its id, as text."""
        names = self.names
        bounds = enumerate(itertools.pairwise(self.offsets.tolist()))
        return {query: (q, names[a:b]) for query, (q, (a, b)) in zip(Texts(self.queries), bounds, strict=True)}

    @cached_property
    def keys(self) -> Words:
        """A 64-bit key for each document, (N,)."""
        return self.documents.keys()

    def keys_of(self, rows: Ints) -> Words:
        """Those of some of the documents, (n,), made again where ids are short and not all are kept."""
        if "keys" in self.__dict__ or not self.short_documents:
            return self.keys[rows]
        return self.documents.take(rows).keys()

    @cached_property
    def short_documents(self) -> bool:
        return self.documents.short

    @cached_property
    def scale(self) -> Floats:
        """The different grades, ascending, with that of unjudged documents."""
        return distinct(self.grade if self.assumed is None else np.append(self.grade, self.assumed))

    @cached_property
    def ideal(self) -> Ideal:
        """Values that depend on the grades only, kept for qrels that are scored as a whole."""
        return Ideal(Segments(self.offsets), self.grade)

    @cached_property
    def shares(self) -> list[slice]:
        return shares_of(self.offsets)

    def evaluated(self, options: Options, excluded: IdPairs | None = None) -> Qrels:
        """The judgments with the options of grades applied, without documents that are excluded. Raises
        OptionError for a grade out of range.
        """
        if excluded is not None:
            return self._without(excluded, options)
        grade = _in_range(self.grade, options)
        if options.unjudged_grade is None and grade is self.grade:
            return self
        assumed = None
        if options.unjudged_grade is not None:
            assumed = float(_in_range(np.array([float(options.unjudged_grade)]), options)[0])
        subtopics = self.subtopics
        if subtopics is not None:
            subtopics = subtopics.replace(grade=counted_grades(subtopics.grade, options))
        return self.replace(grade=grade, subtopics=subtopics, assumed=assumed)

    def _without(self, excluded: IdPairs, options: Options) -> Qrels:
        """As evaluated()."""
        every = self.evaluated(options)
        is_excluded = excluded.has(self.queries, self.offsets, self.documents)
        notices = Notices((*self.notices, *_notices_of(every, is_excluded, excluded, options.rel)))
        if not is_excluded.any():
            return every.replace(notices=notices)
        kept = ~is_excluded
        row = offsets_of(kept)  # of those that are kept
        offsets = row[self.offsets]
        queries = np.flatnonzero(np.diff(offsets))
        counted = every.replace(
            queries=self.queries.take(queries),
            offsets=np.append(offsets[queries], offsets[-1]),
            documents=self.documents.take(kept),
            grade=every.grade[kept],
            notices=notices,
        )
        if every.subtopics is None:
            return counted
        rows = np.flatnonzero(kept[every.subtopics.row])
        topic = every.subtopics.topic[rows]
        topic = np.searchsorted(distinct(topic), topic)
        columns = row[every.subtopics.row[rows]], topic, every.subtopics.grade[rows], counted.documents
        return counted.replace(subtopics=Subtopics(Segments(counted.offsets), *columns))


def _notices_of(qrels: Qrels, is_excluded: Bools, excluded: IdPairs, rel: float | None) -> Iterator[Notice]:
    """What a user should know of the excluded judgments, (N,) as a mask. qrels: all, as they count."""
    judged = Segments(qrels.offsets)
    unknown = np.count_nonzero(qrels.query_index.find(excluded.first.ids)[excluded.group] < 0)
    if unknown or is_excluded.any():
        pairs = len(excluded.group)
        rule = f"{unknown:,} of the {pairs:,} are of queries without judgments" if unknown else ""
        yield Notice(NoticeKind.EXCLUDED_JUDGMENTS, qrels.path, int(np.count_nonzero(is_excluded)), rule=rule)
    relevant = np.flatnonzero(is_excluded & is_relevant(qrels.grade, rel))
    if len(relevant):
        ids = tuple(Texts(qrels.queries.take(distinct(judged.query[relevant])[:MAX_QUERIES])))
        yield Notice(NoticeKind.EXCLUDED_RELEVANT, qrels.path, len(relevant), queries=ids)


def all_unlabelled(count: int) -> LeftOut | None:
    """Why no judgment is left of a file, None where it had no others."""
    labels = many(count, "judgment has no label", "judgments have no label")
    return LeftOut(f"nothing is judged: {labels}", "Judge some documents") if count else None


class _Repeated(Record, eq=False):
    """The judgments of documents that are judged before."""

    again: Ints  # rows of the same subtopic
    first: Ints  # the first of each of these
    further: Ints  # rows of another subtopic
    document: Ints  # the first judgment of the document of each of these


class JudgmentRows(_Repeated, eq=False):
    """The judgments of a file as they are, of any grade and with duplicates and subtopics."""

    qrels: Qrels
    lines: list[tuple[Ints, int]]  # the 0-based lines of each block's rows, and how many the block has
    order: Ints | None  # the row as read of each, None where as read
    keys: Words  # of the documents, (N,)
    subtopic: Ids | None  # of each row, (N,), None where all have one
    unlabelled: int = 0  # how many rows were left out, which have no label

    @classmethod
    def read(
        cls, blocks: Iterable[Columns], problems: Problems, jobs: int = 1, merge: str | None = None
    ) -> JudgmentRows:
        """The rows of a file. problems: gains what is wrong with them. The others are as of Qrels.of(). Raises
        InputError(s).
        """
        parts = [part for _, part in problems.until_enough(blocks)]
        problems.check()
        unlabelled = sum(part.unrated for part in parts)
        if not any(len(part.value) for part in parts):
            raise no_data(problems.path, problems.lines, all_unlabelled(unlabelled))
        rows = cls.of(problems.path, parts, jobs)
        problems.add(rows.out_of_range())
        problems.check()
        if merge is None:
            problems.add(rows.duplicates(same_grade=False))
            problems.check()
        return rows.replace(unlabelled=unlabelled)

    @classmethod
    def of(cls, path: str, parts: list[Columns], jobs: int = 1) -> JudgmentRows:
        """The rows of a file, of which there is at least one; the list is emptied to reuse memory."""
        bounds = offsets_of(np.concatenate([part.lengths for part in parts]))
        ids = Ids.joined([part.queries for part in parts])
        documents = Ids.joined([part.documents for part in parts])
        grade = np.concatenate([part.value for part in parts])
        lines = [(part.line, part.lines) for part in parts]
        subtopic = _subtopics(parts)
        numbered = all(part.numbered for part in parts)
        parts.clear()
        ids, groups = grouped(ids)
        bounds = bounds[groups]
        first_of, number = ids.distinct()
        rows = None
        if len(first_of) < len(ids):  # the rows of a query are not together
            order, counts = stable_order(number), np.diff(bounds)
            rows = ranges(bounds[order], counts[order])
            documents = documents.take(rows)
            grade = grade[rows]
            subtopic = None if subtopic is None else subtopic.take(rows)
            bounds = offsets_of(np.bincount(number, counts))
        qrels = Qrels(path, ids.take(first_of).compact(), bounds, documents, grade, numbered=numbered)

        def keys_and_repeats(queries: slice) -> tuple[Words, Ints, Ints]:
            """The keys of these queries' documents; the rows of duplicates, and of their first judgments."""
            offsets = qrels.offsets[queries.start : queries.stop + 1]
            of_queries = qrels.documents.take(slice(offsets[0], offsets[-1]))
            lengths = np.diff(offsets)
            keys = of_queries.keys()
            table = KeyTable(keys + np.repeat(salts(len(lengths)), lengths))
            again, first = repeats(table, of_queries, np.repeat(np.arange(len(lengths)), lengths))
            return keys, again + offsets[0], first + offsets[0]

        parts_of_shares = zip(*ordered_map(keys_and_repeats, qrels.shares, jobs), strict=True)
        keys, again, first = map(np.concatenate, parts_of_shares)
        repeated = fields_of(_by_subtopic(again, first, subtopic))
        return cls(**repeated, qrels=qrels, lines=lines, order=rows, keys=keys, subtopic=subtopic)

    def line(self) -> Ints:
        """The 0-based line of each row, for messages."""
        before = offsets_of([count for _, count in self.lines])
        line = np.concatenate([line + by for (line, _), by in zip(self.lines, before[:-1], strict=True)])
        return line if self.order is None else line[self.order]

    def out_of_range(self) -> LineProblems:
        return range_problems(self.qrels.grade, self.line)

    def duplicates(self, *, same_grade: bool) -> LineProblems:
        """Those with the grade of the first judgment, or those with another one."""
        grade, documents = self.qrels.grade, self.qrels.documents
        chosen = np.flatnonzero((grade[self.again] == grade[self.first]) == same_grade)
        if not len(chosen):
            return LineProblems()
        again = self.again[chosen]
        first = self.first[chosen]
        line = self.line()

        def message(i: int) -> str:
            row, before = int(again[i]), int(first[i])
            document = f"document {shown(documents[row])}"
            where = f" in line {int(line[before]) + 1}"
            if line[row] == line[before]:  # as all of a JSON file of one line, or of lists, which has none
                query = int(np.searchsorted(self.qrels.offsets, row, "right")) - 1
                document += f" of query {shown(self.qrels.queries[query])}"
                where = "" if line[row] < 0 else " in this line"
            if same_grade:
                in_commas = f",{where}," if where else ""
                return f"{document} is judged before{in_commas} with the same grade"
            return f"{document} has grade {grade[row]:g} here and {grade[before]:g} before{where}"

        # the first one says what to do about all
        return LineProblems.of(line[again], message, lambda i: MERGE_HINT if i == 0 and not same_grade else "")

    def merged(self, rule: str | None) -> Qrels:
        """One judgment of each document and subtopic, with the grade that the rule makes of all of them, or
        without a rule the first.
        """
        if rule is None or not len(self.again):
            return self.without_duplicates()
        rows, notice = self.with_merged(rule)
        qrels = rows.without_duplicates()
        return qrels.replace(notices=Notices((*qrels.notices.without(NoticeKind.DUPLICATES), notice)))

    def with_merged(self, rule: str) -> tuple[JudgmentRows, Notice]:
        """The same rows, the first of each document and subtopic with the grade of all of them; and a note."""
        first = distinct(self.first)
        row, group = np.append(first, self.again), np.append(first, self.first)
        order = np.lexsort((row, group))  # the judgments of a document in the order of the file
        judgments = Segments.of_equal(group[order])
        grades = self.qrels.grade[row[order]]
        grade = self.qrels.grade.copy()
        grade[first] = merged_grades(judgments, grades, rule)
        disagreed = np.count_nonzero(judgments.max(grades) > judgments.min(grades))
        notice = Notice(NoticeKind.MERGED, self.qrels.path, len(first), rule=rule, total=int(disagreed))
        return self.replace(qrels=self.qrels.replace(grade=grade)), notice

    def kept(self) -> Bools:
        """Which rows without_duplicates() keeps, (N,)."""
        kept = np.ones(len(self.keys), bool)
        kept[self.again] = kept[self.further] = False
        return kept

    def without_duplicates(self) -> Qrels:
        """The first judgment of each document, with the highest grade of its subtopics."""
        qrels, keys = self.qrels, self.keys
        if len(self.again) or len(self.further):
            counts = {
                NoticeKind.DUPLICATES: len(self.again),
                NoticeKind.SUBTOPICS: len(distinct(self.document)),
            }
            kept = self.kept()
            grade = qrels.grade.copy()
            np.maximum.at(grade, self.document, grade[self.further])
            qrels = qrels.replace(
                offsets=offsets_of(kept)[qrels.offsets],
                documents=qrels.documents.take(kept),
                grade=grade[kept],
                notices=Notices(Notice(kind, qrels.path, count) for kind, count in counts.items() if count),
            )
            keys = keys[kept]
        if self.subtopic is not None:
            of_document = np.arange(len(self.keys))
            of_document[self.further] = self.document
            used = np.delete(np.arange(len(self.keys)), self.again)
            row = (np.cumsum(self.kept()) - 1)[of_document[used]]
            grade = self.qrels.grade[used]
            key = self.subtopic.take(used).keys()
            subtopics = Subtopics.of(Segments(qrels.offsets), row, key, grade, qrels.documents)
            qrels = qrels.replace(subtopics=subtopics)
        qrels.__dict__["keys"] = keys  # fills the cached property
        return qrels

    def by_subtopic(self, row: Ints) -> Qrels:
        """These rows, ascending, in which a document has a row for each of its subtopics."""
        offsets = np.searchsorted(row, self.qrels.offsets)
        qrels = self.qrels
        return qrels.replace(offsets=offsets, documents=qrels.documents.take(row), grade=qrels.grade[row])


MERGE_HINT = "--merge mean (in Python merge='mean') makes one grade of several"


def merged_grades(judgments: Segments, grade: Floats, rule: str) -> Floats:
    """One grade for each segment, of one row or more, by a rule of options.MERGES."""
    starts = judgments.starts
    size = judgments.lengths
    if rule == "first":
        return grade[starts]
    if rule == "max":
        return judgments.max(grade)
    if rule == "min":
        return judgments.min(grade)
    if rule == "mean":
        return np.add.reduceat(grade, starts) / size
    ascending = grade[np.lexsort((grade, judgments.query))]
    if rule == "median":
        middle = starts + (size - 1) // 2, starts + size // 2
        median: Floats = (ascending[middle[0]] + ascending[middle[1]]) / 2
        return median
    return _majority(judgments, ascending)


def _majority(judgments: Segments, ascending: Floats) -> Floats:
    """The most frequent grade of each segment; of several, their lower median. ascending: the grades."""
    levels = judgments.ties(ascending)
    within = judgments.over(levels)
    most = within.max(levels.lengths.astype(np.float64))
    frequent = np.flatnonzero(levels.lengths == most[within.query])
    of_segment = within.take(frequent)
    middle = of_segment.starts + (of_segment.lengths - 1) // 2
    chosen: Floats = ascending[levels.starts[frequent[middle]]]
    return chosen


def _subtopics(parts: Sequence[Columns]) -> Ids | None:
    """The subtopic of each row, None where there is only one."""
    parts = [part for part in parts if len(part.value)]
    names = [part.subtopic for part in parts if not isinstance(part.subtopic, Ids)]
    if len(names) == len(parts) and len(set(names)) < 2:
        return None
    return Ids.joined([part.subtopics for part in parts])


def _by_subtopic(again: Ints, first: Ints, subtopics: Ids | None) -> _Repeated:
    """again, first: as without subtopics."""
    if subtopics is None or not len(again):
        return _Repeated(again, first, again[:0], first[:0])
    subtopic = subtopics.keys()
    firsts = distinct(first)
    row, document = np.append(firsts, again), np.append(firsts, first)
    order = np.lexsort((row, subtopic[row], document))
    row, document = row[order], document[order]
    is_new = are_new(document, subtopic[row])
    same = row[is_new][np.cumsum(is_new) - 1]  # the first judgment of the document's subtopic
    is_more = is_new & (row != document)
    return _Repeated(row[~is_new], same[~is_new], row[is_more], document[is_more])


RESCALE = f"Grades are {GRADE_RANGE}; rescale them"


def out_of_range(grade: Floats) -> Ints:
    """The rows whose grades are too large or too close to 0."""
    size = np.abs(grade)
    odd = (size > LARGEST_GRADE) | (size < SMALLEST_GRADE)
    if np.count_nonzero(odd) + np.count_nonzero(grade) == len(grade):  # only zeros are outside
        return np.empty(0, np.int64)
    return np.flatnonzero(odd & (grade != 0))


def _in_range(grade: Floats, options: Options) -> Floats:
    """Grades as they count. Raises OptionError for one out of range."""
    counted = counted_grades(grade, options)
    for row in out_of_range(counted)[:1].tolist() if counted is not grade else ():
        difference = f"{float(grade[row])!r} - {options.zero_grade!r} = {float(counted[row])!r}"
        raise OptionError(f"zero_grade leaves a grade that is out of range: {difference}. {RESCALE}")
    return counted


def range_problems(grade: Floats, line: Callable[[], Ints]) -> LineProblems:
    rows = out_of_range(grade)
    if not len(rows):
        return LineProblems()
    wrong = grade[rows].tolist()
    return LineProblems.of(line()[rows], lambda i: f"the grade {wrong[i]!r} is out of range", RESCALE)

"""gradeval once more: slow, from the bytes of files to values, sharing no code with it.

The metrics are those of metrics/reference.py, ranking and fields those of plain.py.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from typing import Any, NamedTuple

from metrics.reference import REFERENCE, Topic
from plain import Line, data_of, gathered, number_of, ranking, repeated

_FEATURE = re.compile(rb"(\d{1,8}):(.*)", re.DOTALL)

Grades = dict[bytes, dict[bytes, Decimal]]
Value = float | str
Metric = tuple[str, tuple[tuple[str, Any], ...]]
"""A name of REFERENCE, and the parameters."""

BY_SCORE = {"tau", "rho", "pearson", "AUC", "rankDCG"}  # tied scores are tied, for each by its own rule
SUMS = {"num_q", "num_ret", "num_rel", "num_rel_ret", "num_nonrel_judged_ret"}
GEOMETRIC = {"gm_map", "gm_bpref"}
TEXTS = {"runid", "relstring"}
SUMMARY_ONLY = {"num_q", "gm_map", "gm_bpref", "runid"}
QUERIES_ONLY = {"relstring"}
EXACT = Context(prec=3000, Emin=-9999, Emax=9999)


class Refused(Exception):
    """Input that gradeval must refuse too. lines: 1-based, of the lines that are to blame, if any are."""

    def __init__(self, what: str, lines: Sequence[int] = ()) -> None:
        self.lines = list(lines)
        super().__init__(what)


class Run(NamedTuple):
    """tag: what it calls itself, '' where it has no tag; its name then takes the place. ties: the default rule.
    numbered: whether no document has an id but its position.
    """

    lines: list[Line]
    tag: bytes = b""
    ties: str = "trec"
    numbered: bool = False


class LetorLine(NamedTuple):
    """document, query: '' where the line names none. features: those that are wanted. has_id: whether the line
    names the document.
    """

    query: bytes
    document: bytes
    label: bytes
    features: dict[int, bytes]
    has_id: bool


# Reading


def _plain(text: bytes) -> bytes:
    if b"\0" in text:
        raise Refused("a NUL byte")
    return text.removeprefix(b"\xef\xbb\xbf")


def read_qrels(text: bytes) -> Grades:
    wrong: list[int] = []
    grades: Grades = {}
    for n, fields in data_of(_plain(text)):
        if len(fields) != 4 or number_of(fields[3]) is None:
            wrong.append(n + 1)
            continue
        query, _, document, grade = fields
        if grades.setdefault(query, {}).setdefault(document, (number := Decimal(grade.decode()))) != number:
            wrong.append(n + 1)
    if wrong or not grades:
        raise Refused("bad judgments", wrong)
    return _in_range(grades)


def is_grade(number: float) -> bool:
    return number == 0 or 1e-150 <= abs(number) <= 1e150


def _in_range(grades: Grades) -> Grades:
    if not all(is_grade(float(grade)) for of in grades.values() for grade in of.values()):
        raise Refused("a grade out of range")
    return grades


def read_run(text: bytes, delimiter: bytes = b"", is_best: bool = False) -> Run:
    """delimiter: of passages. is_best: whether a document may be listed several times."""
    wrong, lines, tag = [], [], b""
    seen = set()
    for n, fields in data_of(_plain(text)):
        score = number_of(fields[4]) if len(fields) > 4 else None
        if score is None or ((fields[0], fields[2]) in seen and not is_best):
            wrong.append(n + 1)
            continue
        wrong += [n + 1] * _holds_two_records(fields)
        seen.add((fields[0], fields[2]))
        lines.append((fields[0], fields[2], score))
        tag = fields[5] if len(fields) > 5 else b""
    if wrong or not lines:
        raise Refused("bad run lines", wrong)
    return Run(_collapsed(lines, delimiter), tag)


def _collapsed(lines: Sequence[Line], delimiter: bytes) -> list[Line]:
    """The best line of each document, the first of those with equal scores, in the order of the lines."""
    best: dict[tuple[bytes, bytes], tuple[int, float]] = {}
    for n, (query, name, score) in enumerate(lines):
        document = (delimiter and name.rpartition(delimiter)[0]) or name
        if (query, document) not in best or score > best[query, document][1]:
            best[query, document] = n, score
    return [(*key, score) for key, (_, score) in sorted(best.items(), key=lambda item: item[1][0])]


def _holds_two_records(fields: list[bytes]) -> bool:
    """Whether Q0, a document, a rank and a score stand behind the score, and perhaps a tag and a query."""
    seconds = [fields[start : start + 4] for start in (5, 6, 7) if len(fields) >= start + 4]
    return any(
        q0 in (b"Q0", b"q0", b"0", fields[1]) and rank.isdigit() and re.match(rb"[-+]?\.?[0-9]", score)
        for q0, _, rank, score in seconds
    )


def read_letor(text: bytes, wanted: Sequence[int] = (), sizes: Sequence[int] | None = None) -> list[LetorLine]:
    """The data lines. wanted: the features that are read. sizes: of the queries, where no line names one."""
    rows, wrong = [], []
    for n, line in enumerate(_plain(text).split(b"\n"), 1):
        data, _, comment = line.partition(b"#")
        label, *fields = _words(data) or [b""]
        if not label:
            continue
        has_query = bool(fields) and fields[0].startswith(b"qid:")
        query = fields.pop(0)[4:] if has_query else b""
        features = [match.groups() for match in map(_FEATURE.fullmatch, fields) if match]
        numbers = [label, *(value for name, value in features if int(name) in wanted)]
        again = len({int(name) for name, _ in features if int(name) in wanted}) < len(numbers) - 1
        if None in map(number_of, numbers) or len(features) < len(fields) or has_query > bool(query) or again:
            wrong.append(n)
        own = {int(name): value for name, value in features if int(name) in wanted}
        document = _document(comment)
        rows.append(LetorLine(query, document, label, own, bool(document)))
    if wrong or not rows:
        raise Refused("bad lines", wrong)
    if len({bool(row.query) for row in rows}) > 1 or (sizes is None) == (not rows[0].query):
        raise Refused("not all lines have a query, or none has and there are no sizes")
    if sizes is not None:
        queries = [b"%d" % n for n, size in enumerate(filter(None, sizes), 1) for _ in range(size)]
        if len(queries) != len(rows):
            raise Refused("the sizes are not those of the file")
        rows = [row._replace(query=query) for query, row in zip(queries, rows, strict=True)]
    counts: dict[bytes, int] = {}
    placed = []
    for row in rows:
        counts[row.query] = counts.get(row.query, 0) + 1
        placed.append(row if row.document else row._replace(document=b"%d" % counts[row.query]))
    return placed


def _words(text: bytes) -> list[bytes]:
    return re.findall(rb"[^ \t\r]+", text)


def _document(comment: bytes) -> bytes:
    """X of 'docid = X', however it is spaced, or the first word, or nothing."""
    first, *more = _words(comment) or [b""]
    if first.startswith(b"docid"):
        behind = [first[5:], *more] if first[5:] else more
        if behind and behind[0].startswith(b"="):
            return behind[0][1:] or (behind[1] if len(behind) > 1 else b"")
    return first


def letor_qrels(lines: Sequence[LetorLine], feature: int | None = None) -> Grades:
    grades: Grades = {}
    for line in lines:
        grade = Decimal((line.label if feature is None else line.features.get(feature, b"0")).decode())
        if grades.setdefault(line.query, {}).setdefault(line.document, grade) != grade:
            raise Refused("a document with two grades")
    return _in_range(grades)


def letor_run(lines: Sequence[LetorLine], feature: int) -> Run:
    if not any(feature in line.features for line in lines):
        raise Refused("no line has the feature")
    scores = [float(line.features.get(feature, b"0")) for line in lines]
    return _scored(lines, scores, b"feature%d" % feature)


def scores_run(lines: Sequence[LetorLine], text: bytes, name: bytes) -> Run:
    rows = data_of(_plain(text))
    numbers = [number_of(fields[0]) if len(fields) == 1 else None for _, fields in rows]
    if None in numbers or len(numbers) != len(lines):
        raise Refused(
            "bad scores", [n + 1 for (n, _), number in zip(rows, numbers, strict=True) if number is None]
        )
    return _scored(lines, [number for number in numbers if number is not None], name)


def _scored(lines: Sequence[LetorLine], scores: Sequence[float], name: bytes) -> Run:
    pairs = zip(lines, scores, strict=True)
    numbered = not any(line.has_id for line in lines)
    run = Run([(line.query, line.document, score) for line, score in pairs], name, "input", numbered)
    if repeated(run.lines):
        raise Refused("a document comes twice")
    return run


# Evaluating


@dataclass(frozen=True)
class Asked:
    """What is evaluated, as gradeval's options of these names."""

    metrics: tuple[Metric, ...]
    rel: float | None = None
    zero_grade: Decimal = Decimal(0)
    depth: int | None = None
    judged_only: bool = False
    ties: str | None = None
    queries: str = "judged"
    query_ids: tuple[bytes, ...] | None = None
    by_level: bool = False


class Values(NamedTuple):
    """queries: those that count, in the order of the qrels. per_query: a row for each of them, a value for
    each metric.
    """

    metrics: list[Metric]
    queries: list[bytes]
    per_query: list[list[Value]]
    summary: list[Value]


def evaluate(qrels: Grades, run: Run, asked: Asked) -> Values:
    grades = {  # the double nearest to the difference of the two decimals
        query: {d: float(EXACT.subtract(grade, asked.zero_grade)) for d, grade in of.items()}
        for query, of in qrels.items()
    }
    judged = [grade for of in grades.values() for grade in of.values()]
    wanted = [query for query in grades if asked.query_ids is None or query in asked.query_ids]
    if not set(asked.query_ids or ()) <= set(grades):
        raise Refused("a query that is not judged")
    lines = gathered(run.lines)
    if not any(query in lines for query in wanted):
        raise Refused("no query in common")
    counted = [query for query in wanted if query in lines or asked.queries == "judged"]
    metrics = list(asked.metrics)
    if asked.by_level:
        levels: list[Metric] = [("AP", (("rel", level),)) for level in sorted({x for x in judged if x > 0})]
        names = [name for name, _ in metrics]
        at = names.index("muAP") if "muAP" in names else 0
        metrics = list(dict.fromkeys([*metrics[:at], *levels, *metrics[at:]]))
    ties = asked.ties or run.ties
    if run.numbered and ties == "trec":  # by number, from the last to the first
        lines, ties = {query: of[::-1] for query, of in lines.items()}, "input"

    rows: list[list[Value]] = []
    for query in counted:
        of_query, of_run = grades[query], dict(lines.get(query, []))
        rows.append([])
        order = ranking(lines.get(query, []), of_query, ties)[: asked.depth]
        for name, pairs in metrics:
            if name == "runid":
                rows[-1].append(run.tag.decode("utf-8", "surrogateescape"))
                continue
            params = dict(pairs)
            is_condensed = params.pop("judged_only", False) or asked.judged_only
            ranked = [d for d in order if of_query.get(d, -1) >= 0 or not is_condensed]
            scores = {d: of_run[d] if name in BY_SCORE else -float(place) for place, d in enumerate(ranked)}
            # the reference has text for ids: in this encoding in the order of the bytes
            by_text = [{d.decode("latin-1"): number for d, number in of.items()} for of in (of_query, scores)]
            rows[-1].append(REFERENCE[name](Topic(*by_text, asked.rel, judged), **params))
    columns = [[row[m] for row in rows] for m in range(len(metrics))]
    return Values(metrics, counted, rows, list(map(_summary, metrics, columns)))


def _summary(metric: Metric, values: Sequence[Any]) -> Value:
    name = metric[0]
    if name in TEXTS:
        return values[0] if values else ""
    defined = [value for value in values if not math.isnan(value)]
    if name in SUMS:
        return sum(defined)
    if not defined:
        return math.nan
    if name in GEOMETRIC:
        return math.exp(sum(math.log(max(value, 1e-5)) for value in defined) / len(defined))
    return sum(defined) / len(defined)

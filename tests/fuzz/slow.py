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
from plain import Line, data_of, gathered, number_of, ranking

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
    """tag: what it calls itself, '' where it has no tag; its name then takes the place."""

    lines: list[Line]
    tag: bytes = b""


# Reading


def _plain(text: bytes) -> bytes:
    if b"\0" in text:
        raise Refused("a NUL byte")
    text = text.removeprefix(b"\xef\xbb\xbf")
    if re.search(rb"(?m)^\xef\xbb\xbf", text):
        raise Refused("a byte order mark at the beginning of a line")
    return text


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
    if not all(is_grade(float(grade)) for of in grades.values() for grade in of.values()):
        raise Refused("a grade out of range")
    return grades


def is_grade(number: float) -> bool:
    return number == 0 or 1e-150 <= abs(number) <= 1e150


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


# Evaluating


@dataclass(frozen=True)
class Asked:
    """What is evaluated, as gradeval's options of these names."""

    metrics: tuple[Metric, ...]
    rel: float | None = None
    zero_grade: Decimal = Decimal(0)
    unjudged_grade: Decimal | None = None
    depth: int | None = None
    judged_only: bool = False
    ties: str = "trec"
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
    assumed = 0.0
    if asked.unjudged_grade is not None:
        assumed = float(EXACT.subtract(asked.unjudged_grade, asked.zero_grade))
        judged.append(assumed)
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

    rows: list[list[Value]] = []
    for query in counted:
        of_query, of_run = grades[query], dict(lines.get(query, []))
        rows.append([])
        of_all = {**dict.fromkeys(of_run, assumed), **of_query}
        order = ranking(lines.get(query, []), of_all, asked.ties)[: asked.depth]
        if asked.unjudged_grade is not None:
            of_query = {**dict.fromkeys(order, assumed), **of_query}
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

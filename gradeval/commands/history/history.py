"""The history of means: JSON Lines that evaluations and gates append, and that gates and pictures read.

A line is an object as 'gradeval -f jsonl --label NAME=VALUE' prints them, so that a log of these is a history;
those that --history appends have more members. Lines of queries and of groups of queries are not read.
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import takewhile
from statistics import median
from typing import Any, NamedTuple

from gradeval.errors import InputError, MetricError, OptionError, described, is_number
from gradeval.evaluation.results import Results
from gradeval.formats.diagnostics import LineProblems, Problem
from gradeval.formats.json import parse_json
from gradeval.formats.lines import read_lines
from gradeval.formats.sources import Source
from gradeval.registry.spec import Spec, parse
from gradeval.render.document import exact

ALL = "all"  # the query of a mean, and the group of all queries
HELD = "held"
WINDOW = 14  # lines that a median is of, by default
TIME = "time"
_MEMBERS = ("run", "query", "metric", "value")
_WRITTEN = (*_MEMBERS, "low", "high", "n", "judged", "bound", "signature", "verdict")
_RESERVED = (*_WRITTEN, "group", TIME)


class Mean(NamedTuple):
    """A line of a history. NaN where there is no number."""

    entry: int  # the lines of one evaluation have the same number, from 0
    time: str  # or the first label, '' without one
    run: str
    metric: str
    value: float
    low: float  # of the interval
    high: float
    n: int | None  # the values in the mean
    judged: float  # the share of the first ranks that is judged
    bound: float  # of a gate
    signature: str
    verdict: str  # of a gate, '' of others

    @property
    def is_usable(self) -> bool:
        """Whether it counts for the median of a window: it has a value, and no gate has failed it."""
        return self.verdict in ("", HELD) and not math.isnan(self.value)


def means_of(results: Results, specs: Sequence[Spec] | None = None) -> Iterator[dict[str, Any]]:
    """The means of results as members of lines. specs: these metrics only."""
    for r, run in enumerate(results.runs):
        for column in results.columns(r, per_query=False):
            spec = column.spec
            if column.texts is not None or not (specs is None or spec in specs):
                continue
            low, high = results.interval(r, spec) if spec.metric.per_query else (math.nan, math.nan)
            yield {
                "run": run.name,
                "metric": str(spec),
                "value": column.exact,
                "low": exact(low),
                "high": exact(high),
                "n": run.queries - results.undefined(r, spec),
                "judged": run.judged,
                "signature": results.signature(r, spec),
            }


def records(
    means: Iterable[Mapping[str, Any]],
    label: Mapping[str, str],
    *,
    bounds: Mapping[str, float] | None = None,
    verdict: str | None = None,
) -> Iterator[dict[str, Any]]:
    """The lines of means, of one time. bounds: of a gate, by metric. verdict: of a gate. Raises OptionError for
    a label of a member's name.
    """
    if taken := [name for name in label if name in _RESERVED]:
        raise OptionError(f"label {taken[0]}: a history has a member of this name")
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    bounds = bounds or {}
    for mean in means:
        of_gate = {"query": ALL, "bound": bounds.get(mean["metric"]), "verdict": verdict}
        members = {**mean, **of_gate}
        yield {TIME: now, **label, **{name: members.get(name) for name in _WRITTEN}}


class Window(NamedTuple):
    """The last usable means of a run and metric, whose median is a baseline."""

    means: tuple[Mean, ...]

    @classmethod
    def of(cls, history: Sequence[Mean], run: str, metric: str, count: int) -> Window:
        """count: how many at most."""
        usable = [mean for mean in history if (mean.run, mean.metric) == (run, metric) and mean.is_usable]
        return cls(tuple(usable[-count:]))

    @property
    def median(self) -> float:
        return median(mean.value for mean in self.means)

    def differing(self, signature: str) -> int:
        """How many have another signature."""
        return sum(mean.signature not in ("", signature) for mean in self.means)


def lines_of(objects: Iterator[Mapping[str, Any]]) -> bytes:
    """The objects as JSON Lines."""
    return "".join(json.dumps(content, allow_nan=False) + "\n" for content in objects).encode()


def read_history(path: Any) -> list[Mean]:
    """The means of a history, in order. Raises InputError(s), with the line of each."""
    source = path if isinstance(path, Source) else Source(path)
    means: list[Mean] = []
    problems: list[Problem] = []
    entry = -1
    key = ""
    in_entry = set[tuple[str, str]]()
    for number, line in read_lines(source):
        if not line.strip():
            continue
        try:
            content = _object(line, source.name, number)
        except InputError as error:
            problems.append(Problem(number, error.what, error.hint))
            continue
        if content["query"] != ALL or content.get("group", ALL) != ALL or isinstance(content["value"], str):
            continue
        series = (content["run"], content["metric"])
        shared = _key(content)
        if shared != key or series in in_entry:
            entry += 1
            key = shared
            in_entry.clear()
        in_entry.add(series)
        means.append(_mean(content, entry))
    LineProblems.listed(problems).check(source.name)
    return means


_HINT = "A history is what gradeval --history FILE appends, or -f jsonl prints"
_NUMBERS = ("value", "low", "high", "judged", "bound")


def _object(line: bytes, name: str, number: int) -> dict[str, Any]:
    """The content of a line. Raises InputError."""
    content = parse_json(line, name, number + 1)
    if not isinstance(content, dict):
        raise InputError(name, f"{described(content)} is not a line of a history", hint=_HINT)
    if missing := [member for member in _MEMBERS if member not in content]:
        raise InputError(name, f"the object has no {missing[0]}", hint=_HINT)
    for member in ("run", "query", "metric"):
        if not isinstance(content[member], str):
            raise InputError(name, f"{member} must be a string, not {described(content[member])}")
    for member in _NUMBERS:
        value: Any = content.get(member)
        is_valid = is_number(value) and abs(value) <= sys.float_info.max  # JSON has larger ones
        is_text = member == "value" and isinstance(value, str) and _has_texts(content["metric"])
        if not (value is None or is_valid or is_text):
            raise InputError(name, f"{member} must be a finite number, not {described(value)}")
    return content


def _has_texts(metric: str) -> bool:
    """Whether the values of the metric are strings, as logs have them too."""
    with suppress(MetricError):
        return any(spec.metric.text for spec in parse(metric))
    return False


def _labels(content: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """The members before the run, which --label has put there."""
    before = takewhile(lambda item: item[0] != "run", content.items())
    return [item for item in before if item[0] not in ("group", TIME)]


def _key(content: Mapping[str, Any]) -> str:
    """What the lines of one evaluation share: their time, and their labels."""
    return json.dumps([content.get(TIME), *_labels(content)])


def _mean(content: Mapping[str, Any], entry: int) -> Mean:
    first_label = next((str(value) for _, value in _labels(content)), "")
    numbers = {name: math.nan if content.get(name) is None else float(content[name]) for name in _NUMBERS}
    return Mean(
        entry=entry,
        time=str(content.get(TIME) or first_label),
        run=content["run"],
        metric=content["metric"],
        n=content["n"] if isinstance(content.get("n"), int) else None,
        signature=str(content.get("signature") or ""),
        verdict=str(content.get("verdict") or ""),
        **numbers,
    )

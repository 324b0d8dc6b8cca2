"""A first file of checks: commented TOML with bounds from the values of a run."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any

from gradeval.commands.gate.checks import PYPROJECT, TABLE
from gradeval.commands.gate.judge import coverage
from gradeval.commands.gate.result import FULL_COVERAGE
from gradeval.commands.gate.verdicts import ALPHA
from gradeval.errors import GradevalError, printable
from gradeval.evaluation.results import Results
from gradeval.registry.spec import Spec, is_num_q
from gradeval.render.numbers import number

_PLACES = 2  # significant digits of a bound


def render(results: Results, specs: Sequence[Spec], baseline: str | None, options: Mapping[str, Any]) -> str:
    """Checks of these metrics.

    results: of the run. baseline: its path as the file should name it. options: of the evaluation, those that
    are not at their default.
    """
    lines = [*_lines(results, specs, baseline), *_options(options)]
    return "".join(f"{line}\n" for line in lines)


def _lines(results: Results, specs: Sequence[Spec], baseline: str | None) -> Iterator[str]:
    has_direction = [spec for spec in specs if spec.metric.higher_is_better is not None or spec.metric.is_count]
    compared = [str(spec) for spec in has_direction if spec.metric.per_query]
    off = "" if baseline is not None else "# "
    run, qrels = printable(results.runs[0].path), printable(results.qrels)
    yield "# Checks of 'gradeval gate QRELS RUN --config FILE'."
    yield f"# In {PYPROJECT} they belong below [{TABLE}] and [{TABLE}.options], and need no --config."
    yield f"# Values of {run} for {qrels} when this was written are in comments."
    yield ""
    yield "# Values that the run must have: >=, >, <= or <."
    yield "require = ["
    yield f"  {_quoted(f'num_q >= {int(results.runs[0].counted.sum())}')},"
    for spec in specs:
        value = results.mean(0, spec)
        if math.isnan(value):
            yield f"  # {spec} is undefined"
        elif not is_num_q(spec):
            # neither high nor low is better: no bound follows from the value, except of what is judged
            off_bound = "" if spec in has_direction or spec.metric.name == "Judged" else "# "
            yield f"  {off_bound}{_quoted(f'{spec} {_bound(spec, value)}')},  # {number(value, 4)}"
    yield "]"
    yield ""
    yield "# The run to compare with, or its saved result (gradeval QRELS RUN -q -f json -o baseline.json). The"
    yield "# path is relative to this file."
    yield f"{off}baseline = {_quoted(baseline or 'baseline.json')}"
    yield ""
    yield "# The mean must not fall by more than this, in the metric's unit or in percent of the baseline's."
    yield f"{off}max-drop = {_listed(compared, ' 2%')}"
    yield ""
    yield "# The run must not be significantly worse: the interval of the difference must not lie below 0."
    yield f"# Where nothing changed, {100 * ALPHA / 2:g} % of these checks fail by chance."
    yield f"{off}no-worse = {_listed(compared)}"
    yield ""
    yield "# The interval must show that the run is no worse than the baseline by more than this margin."
    yield f"# non-inferior = {_listed(compared, ' 0.01')}"
    yield ""
    yield "# Of this share of the queries at most, the value may fall by more than the amount."
    yield f"# max-query-drop = {_listed(compared, ' 0.5 in 5%')}"
    yield ""
    yield "# The percentage of the judged queries that the run and the baseline must have to be judged at all."
    lowest = min(coverage(results, r).share for r in range(len(results.runs)))
    percent = math.floor(10 * FULL_COVERAGE * lowest) / 10
    yield f"{'# ' if percent == FULL_COVERAGE else ''}min-coverage = {number(percent, 1)}"


def _options(options: Mapping[str, Any]) -> Iterator[str]:
    yield ""
    yield "# Options of the evaluation, such as rel = 2; those of the command line come first."
    yield "[options]" if options else "# [options]"
    for name, value in options.items():
        yield f"{name} = {_value(value)}"


def _value(value: Any) -> str:
    """An option in TOML."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return repr(value).removesuffix(".0")
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{key} = {_quoted(text)}' for key, text in value.items())} }}"
    return _listed(list(value))


def _bound(spec: Spec, value: float) -> str:
    """'>= 0.68' for 0.6865: rounded so that the value is within it."""
    is_lower_better = spec.metric.higher_is_better is False
    exact = Decimal(repr(value + 0.0))
    step = Decimal(1).scaleb(exact.adjusted() - _PLACES + 1)
    rounded = exact.quantize(step, ROUND_CEILING if is_lower_better else ROUND_FLOOR)
    return f"{'<=' if is_lower_better else '>='} {float(rounded) + 0.0:.15g}"


def _listed(names: Sequence[str], more: str = "") -> str:
    return f"[{', '.join(_quoted(name + more) for name in names)}]"


def _quoted(text: str) -> str:
    """A string of TOML, which has JSON's escapes."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise GradevalError(f"{printable(text)} is not UTF-8 and cannot be written to TOML") from None
    return json.dumps(text, ensure_ascii=False).replace("\x7f", r"\u007f")

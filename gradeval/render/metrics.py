"""Text of the command metrics: the list by family, and the page of a metric or a group."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from textwrap import fill

from gradeval.errors import MetricError
from gradeval.registry.dialects.ir_measures import ties
from gradeval.registry.dialects.other import aliases, spellings
from gradeval.registry.dialects.trec_eval import MEASURES, names_of
from gradeval.registry.example import ABOUT, value_of
from gradeval.registry.groups import GROUPS, Group
from gradeval.registry.metric import REGISTRY, Metric
from gradeval.registry.params import Param
from gradeval.registry.plugins import load_plugins
from gradeval.registry.spec import fold, metric_of, parse

WIDTH = 105  # of the pages in the docstrings
_VALUE_LEFT = re.compile(r"\((\w+)\)")  # in RBP(p)@k


def table() -> str:
    """Every metric with its summary, by family; then the groups."""
    load_plugins()
    width = max(len(name) for name in REGISTRY)
    lines = []
    metrics = sorted(REGISTRY.values(), key=lambda metric: metric.group)
    for family, members in groupby(metrics, key=lambda metric: metric.group):
        lines += [family, *(f"  {metric.name:<{width}}  {metric.summary}" for metric in members), ""]
    lines += [
        "groups",
        *(f"  {name:<{width}}  {group.about}" for name, group in GROUPS.items()),
        "",
    ]
    return "\n".join([*lines, "'gradeval metrics NAME' shows the formula, parameters and source of a metric."])


def page(name: str) -> str:
    """The page of a metric or a group. Raises MetricError."""
    if fold(name) in GROUPS:
        return _group_page(fold(name), GROUPS[fold(name)])
    metric = metric_of(name)
    parts = [
        f"{metric.name}" + (f"  ({metric.display})" if metric.display != metric.name else ""),
        metric.about,
    ]
    rows = [("@k" if param.after_at else f"{param.name}=", _about(metric, param)) for param in metric.params]
    parts.append(_listed("Parameters:", rows))
    if metric.aliases:
        parts.append("Aliases: " + ", ".join(metric.aliases))
    parts += filter(
        None,
        [
            _listed("Equivalents:", _elsewhere(metric)),
            _listed("Order of ties in ir_measures, by provider:", ties(metric.name)),
        ],
    )
    if metric.invariants:
        parts.append("Invariants:\n" + "\n".join(f"  {invariant}" for invariant in metric.invariants))
    more = "" if metric.has_summary else "-q "
    command = f"gradeval {more}-m '{metric.usage}' qrels.txt my.run"
    parts.append(f"Example: {command}\n" + _wrapped("  ", _on_example(metric)))
    return "\n\n".join(parts)


def _on_example(metric: Metric) -> str:
    """The value for the example ranking, or the error of a plugin."""
    try:
        return f"{', '.join(value_of(spec) for spec in parse(metric.usage))} {ABOUT}"
    except MetricError as error:
        return str(error)


def _group_page(name: str, group: Group) -> str:
    return "\n\n".join(
        [
            name,
            group.about,
            "Measures:\n" + _wrapped("  ", ", ".join(group.measures)),
            _wrapped("", f"{group.source} 'gradeval metrics NAME' describes a measure."),
            f"Example: gradeval -m {name} qrels.txt my.run",
        ]
    )


def _about(metric: Metric, param: Param) -> str:
    default = param.without if param.default is None else param.text(param.default)
    needed = "required" if param.required else f"default {default}"
    return "; ".join([param.about, param.allowed, needed, *_also(metric, param)])


def _also(metric: Metric, param: Param) -> Iterator[str]:
    """'also gains={0:0,1:5} as in ir_measures': other names of a parameter, by tool."""
    if param.aliases:
        yield "also " + ", ".join(f"{name}=" for name in param.aliases)
    for tool, found in groupby(spellings(metric.name, param.name), key=lambda one: one[0]):
        texts = [
            text
            for _, name, spelling in found
            for text in (
                [f"{name}={word} ({own})" for word, own in (spelling.words or {}).items()]
                or [f"{name}={spelling.example}"]
            )
        ]
        yield f"also {', '.join(texts)} as in {tool}"


def _listed(heading: str, rows: list[tuple[str, str]]) -> str:
    """Two columns under a heading; '' if there are no rows."""
    width = max((len(name) for name, _ in rows), default=0)
    return (
        "\n".join([heading, *(_wrapped(f"  {name:<{width}}  ", text) for name, text in rows)]) if rows else ""
    )


def _elsewhere(metric: Metric) -> list[tuple[str, str]]:
    """Equivalents in other tools: (tool, names in its notation)."""
    found: dict[str, list[str]] = {}
    for name in names_of(metric.name):
        takes = MEASURES[name].takes
        found.setdefault("trec_eval", []).append(f"{name}.{takes}" if takes else name)
    for alias in aliases():
        target, _, inside = alias.target.rstrip(")").partition("(")
        if target == metric.name:
            spelled = _VALUE_LEFT.sub(r"(\1=…)", alias.spelled) + (f" ({inside})" if inside else "")
            found.setdefault(alias.tool, []).append(spelled)
    return [(tool, ", ".join(names)) for tool, names in found.items()]


def _wrapped(indent: str, text: str) -> str:
    """Wrapped text, its first line after the indent, others aligned with it."""
    return fill(
        text,
        width=WIDTH,
        initial_indent=indent,
        subsequent_indent=" " * len(indent),
        break_long_words=False,
        break_on_hyphens=False,
    )

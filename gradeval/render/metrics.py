"""The metrics as text: the list by group, and a page for one."""

from __future__ import annotations

from itertools import groupby
from textwrap import fill

from gradeval.metrics import load_plugins
from gradeval.metrics.registry import REGISTRY, Metric
from gradeval.metrics.spec import metric_of

WIDTH = 105  # of the pages in the docstrings


def table() -> str:
    """Every metric with its one line, by group."""
    load_plugins()
    width = max(len(name) for name in REGISTRY)
    lines = []
    metrics = sorted(REGISTRY.values(), key=lambda metric: metric.group)
    for group, members in groupby(metrics, key=lambda metric: metric.group):
        lines += ["", group]
        lines += [f"  {metric.name:<{width}}  {metric.summary}" for metric in members]
    return "\n".join(
        [*lines[1:], "", "'gradeval metrics NAME' shows the formula, parameters and source of one."]
    )


def page(name: str) -> str:
    """What a metric means, takes and promises. Raises MetricError."""
    metric = metric_of(name)
    parts = [
        f"{metric.name}" + (f"  ({metric.display})" if metric.display != metric.name else ""),
        metric.about,
    ]
    if metric.params:
        parts.append("Parameters:\n" + "\n".join(_parameter(metric, i) for i in range(len(metric.params))))
    names = [other for other in dict.fromkeys([*metric.aliases, *metric.trec]) if other != metric.name]
    if names:
        parts.append("Also named: " + ", ".join(names))
    if metric.holds:
        parts.append("Holds:\n" + "\n".join(f"  {promise}" for promise in metric.holds))
    if metric.example:
        parts.append(f"Example: gradeval -m '{metric.example}' qrels.txt my.run")
    return "\n\n".join(parts)


def _parameter(metric: Metric, i: int) -> str:
    param = metric.params[i]
    written = "@k" if param.name == "cutoff" else f"{param.name}="
    default = "required" if param.required else f"default {param.without or param.text(param.default)}"
    indent = f"  {written:<10} "
    return fill(
        f"{param.about}; {param.allowed}; {default}",
        width=WIDTH,
        initial_indent=indent,
        subsequent_indent=" " * len(indent),
        break_long_words=False,
        break_on_hyphens=False,
    )

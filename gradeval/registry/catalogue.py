"""The names, families and docstrings of metrics, from the text of their modules, without numpy."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from functools import cache
from importlib import import_module
from typing import Any

from gradeval.errors import MetricError
from gradeval.records import Record

_GREEK = str.maketrans({"α": "alpha", "µ": "mu", "μ": "mu", "φ": "phi", "ϕ": "phi", "τ": "tau", "ρ": "rho"})


def in_ascii(name: str) -> str:
    """A name with its Greek letters spelled out."""
    return name.translate(_GREEK)


def fold(name: str) -> str:
    """The key for looking up a name: lower case, with one spelling for each Greek letter."""
    return in_ascii(name.lower())


FAMILIES = {
    "average_precision": "average precision",
    "dcg": "nDCG",
    "ndcg_phi": "nDCG",
    "rankdcg": "correlation and order",
    "precision": "precision and recall",
    "ndcg_variants": "nDCG",
    "user_models": "user models",
    "correlation": "correlation and order",
    "diversity": "novelty and diversity",
    "counts": "counts",
}


class Declaration(Record):
    """A built-in metric as the text of its module declares it."""

    names: tuple[str, ...]  # the display name, then aliases
    module: str  # of gradeval.metrics
    group: str  # the heading it is listed under
    about: str  # its docstring, with which its page begins, indented as in the module

    @property
    def name(self) -> str:
        return in_ascii(self.names[0])

    @property
    def summary(self) -> str:
        """The first line of its page."""
        return self.about.split("\n", 1)[0]


@cache
def modules() -> list[str]:
    """Those of gradeval.metrics that declare metrics, in the order of FAMILIES, then others."""
    names = sorted(name[:-3] for name in os.listdir(_folder()) if name[0] != "_" and name.endswith(".py"))
    return list(dict.fromkeys((*FAMILIES, *names)))


@cache
def _folder() -> str:
    return os.path.dirname(import_module("gradeval.metrics").__file__ or "")


@cache
def declared_in(module: str) -> list[Declaration]:
    """The metrics of a module, parsed from its text: importing all modules takes 10 ms, and needs numpy. So
    each @metric(...) writes out its name, aliases and family, without a variable or a shared dict.
    """
    declared: list[Declaration] = []
    with open(os.path.join(_folder(), f"{module}.py"), encoding="utf-8") as file:
        for text in file.read().split("\n@metric(")[1:]:
            fields, _, function = text.partition("\ndef ")
            aliases = fields.partition(" aliases=[")[2].partition("]")[0]
            family = fields.partition('family="')[2].partition('"')[0]
            about = function.split('"""', 2)[1]
            names = (fields.split('"', 2)[1], *aliases.split('"')[1::2])
            declared.append(Declaration(names, module, family or family_of(module), about))
    return declared


def declarations() -> list[Declaration]:
    """The built-in metrics."""
    return [metric for module in modules() for metric in declared_in(module)]


def family_of(module: str) -> str:
    """The heading of the metrics of a module; for those of other packages, the module's name."""
    return FAMILIES.get(module, module.replace("_", " "))


@cache
def by_name() -> dict[str, Declaration]:
    """Every name of a built-in metric, folded -> the metric."""
    return {fold(name): metric for metric in declarations() for name in metric.names}


@cache
def home_of(name: str) -> str | None:
    """The module of the built-in metric of a folded name; no more modules are read than it takes to find it."""
    metrics = (metric for module in modules() for metric in declared_in(module))
    return next((metric.module for metric in metrics if name in map(fold, metric.names)), None)


def table(family: str = "", width: int | None = None) -> str:
    """The built-in metrics with their summaries, by family; then, without a family, the groups. family: part of
    the name of one. width: of the lines, None for any. Raises MetricError if there are none.
    """
    parts = by_group(of_family(declarations(), family))
    rows = {name: [(metric.name, metric.summary) for metric in part] for name, part in parts.items()}
    return listed(rows, has_groups=not family, width=width)


def of_family(metrics: Collection[Any], text: str) -> list[Any]:
    """The metrics, of the registry or as declared, of the families in whose names this text is. Raises
    MetricError if there are none.
    """
    chosen = [metric for metric in metrics if text.lower() in metric.group.lower()]
    if not chosen:
        raise MetricError(f"unknown family {text!r}", hint=f"the families are {', '.join(by_group(metrics))}")
    return chosen


def by_group(metrics: Iterable[Any]) -> dict[str, list[Any]]:
    """The metrics below their headings, which are in order."""
    parts: dict[str, list[Any]] = {}
    for metric in sorted(metrics, key=lambda metric: metric.group.lower()):
        parts.setdefault(metric.group, []).append(metric)
    return parts


def hanging(text: str, indent: int, width: int | None) -> str:
    """The text in lines of this width, all but the first of them indented; None for one line."""
    if width is None or len(text) <= width:
        return text
    from textwrap import fill

    return fill(text, width, subsequent_indent=" " * indent, break_on_hyphens=False)


def listed(rows: dict[str, list[tuple[str, str]]], *, has_groups: bool, width: int | None = None) -> str:
    """The text of table(): headings with (name, description) below, and where to read more. has_groups: whether
    it lists the groups of metrics too. width: of the lines, None for any.
    """
    size = max(len(name) for part in rows.values() for name, _ in part)
    if has_groups:
        from gradeval.registry.dialects import GROUPS  # large, and only the list of all has them

        rows["groups"] = [(name, group.about) for name, group in GROUPS.items()]
    parts = (
        "\n".join(
            [heading, *(hanging(f"  {name:<{size}}  {about}", size + 4, width) for name, about in part), ""]
        )
        for heading, part in rows.items()
    )
    end = "'gradeval metrics NAME' shows the formula, parameters and source of a metric."
    return "\n".join([*parts, end])


def has_plugins() -> bool:
    """Whether other packages declare metrics; True where their files cannot be read."""
    from importlib.metadata import entry_points

    try:
        return bool(entry_points(group="gradeval.metrics"))
    except Exception:  # of the files of any package; load_all() reports it
        return True

"""Completion of the names of metrics, measures and families."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

_LAST = re.compile(r"(?s)(.*(?:\s|,(?!\d))|)(.*)")  # a comma before a digit is between cutoffs


def complete_metric(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The completions of a metric name, the last of several: our names, aliases, trec_eval's, groups."""
    return _completed(incomplete, _ours())


def complete_trec_eval(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The completions of a measure of trec_eval, or of a gradeval metric."""
    from gradeval.registry.dialects import MEASURES, TREC_EVAL
    from gradeval.registry.metric import REGISTRY

    ours = _ours()
    measures = {name: REGISTRY[measure.metric].summary for name, measure in MEASURES.items()}
    return _completed(incomplete, measures | {name: group.about for name, group in TREC_EVAL.items()} | ours)


def complete_ir_measures(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The completions of a measure of ir_measures, or of a gradeval metric."""
    from gradeval.registry.dialects import IR_MEASURES
    from gradeval.registry.spec import metric_of

    ours = _ours()
    return _completed(incomplete, {name: metric_of(name).summary for name in IR_MEASURES} | ours)


def complete_family(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The first words of the names of families: bash would take a name with spaces as several."""
    from click.shell_completion import CompletionItem

    from gradeval.registry.metric import FAMILIES

    words = {name.split()[0]: name for name in FAMILIES.values()}
    return [
        CompletionItem(word, help=name)
        for word, name in sorted(words.items(), key=lambda pair: pair[0].lower())
        if word.lower().startswith(incomplete.lower())
    ]


def _ours() -> dict[str, str]:
    """The names that -m accepts, with a line about each."""
    from gradeval.registry.dialects import GROUPS, names_of
    from gradeval.registry.metric import REGISTRY, load

    load()
    names = {metric.name: metric.summary for metric in REGISTRY.values()}
    for metric in REGISTRY.values():
        for name in (*metric.aliases, *names_of(metric.name)):
            names.setdefault(name, metric.summary)
    return names | {name: group.about for name, group in GROUPS.items()}


def _completed(incomplete: str, names: Mapping[str, str]) -> list[CompletionItem]:
    """The names that begin as the last of several; names that differ in case only are offered once."""
    from click.shell_completion import CompletionItem

    from gradeval.registry.spec import fold

    match = _LAST.fullmatch(incomplete)
    assert match is not None  # it matches every text
    before, last = match.groups()
    found: dict[str, tuple[str, str]] = {}
    is_parameter = before.count("(") > before.count(")")
    for name, about in () if is_parameter else names.items():
        if fold(name).startswith(fold(last)):
            found.setdefault(fold(name), (name, about))
    return [CompletionItem(before + name, help=about) for name, about in found.values()]

"""The sources of metrics as BibTeX: the entries of sources.bib whose titles the pages name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Protocol

from gradeval.registry.catalogue import by_name, declarations, fold, has_plugins

_FIELD = re.compile(r"^  (\w+) = \{(.*)\},?$", re.MULTILINE)


class _Described(Protocol):
    """A metric, or its declaration."""

    @property
    def name(self) -> str: ...
    @property
    def about(self) -> str: ...


def source_of(metric: _Described) -> str:
    """The source that its page names, '' without one."""
    match = re.search(r"^ *Source: (.*?)(?:\n\n|\Z)", metric.about, re.MULTILINE | re.DOTALL)
    return " ".join(match[1].split()) if match else ""


def bibtex_of(names: Sequence[str]) -> str:
    """The entries of the sources of these metrics and groups, of all without names. Raises MetricError."""
    declared = by_name()
    if not has_plugins() and all(fold(name) in declared for name in names):
        return bibtex([declared[fold(name)] for name in names] or declarations())

    from gradeval.registry.metric import REGISTRY  # imports numpy, for other names than our own
    from gradeval.registry.spec import group_of, load_plugins, metric_of, parse

    load_plugins()
    metrics = [] if names else list(REGISTRY.values())
    for name in names:
        is_group = group_of(name) is not None
        metrics += [spec.metric for spec in parse(name)] if is_group else [metric_of(name)]
    return bibtex(metrics)


def bibtex(metrics: Iterable[_Described]) -> str:
    """Each entry once, and a comment for a metric of a plugin whose source has none."""
    texts = []
    for metric in dict.fromkeys(metrics):
        source = source_of(metric)
        texts += entries_of(source) or [f"% {metric.name}: {source or 'no source'}\n"]
    return "".join(dict.fromkeys(texts))


def entries_of(source: str) -> list[str]:
    """Those whose title the source quotes, or begins to, and those whose short title it has outside quotes."""
    quoted = [_plain(text) for text in re.findall('"([^"]+)"', source)]
    outside = _plain(re.sub('"[^"]+"', "", source))
    chosen = []
    for entry, title, short in _entries():
        is_quoted = any(text == short or re.match(rf"{re.escape(text)}(?!\w)", title) for text in quoted)
        if is_quoted or (short and re.search(rf"(?<!\w){re.escape(short)}(?!\w)", outside)):
            chosen.append(entry)
    return chosen


@cache
def _entries() -> list[tuple[str, str, str]]:
    """(text, title, short title) of each entry."""
    entries = re.split(r"^(?=@)", Path(__file__).with_suffix(".bib").read_text("utf-8"), flags=re.MULTILINE)[1:]
    fields = [dict(_FIELD.findall(entry)) for entry in entries]
    titles = ((_plain(field["title"]), _plain(field.get("shorttitle", ""))) for field in fields)
    return [(entry, *of_entry) for entry, of_entry in zip(entries, titles, strict=True)]


def _plain(text: str) -> str:
    """In lower case, without braces and punctuation."""
    return " ".join(re.sub(r"[^\w/' ]+", " ", re.sub(r"[{}\\]", "", text.lower())).split())

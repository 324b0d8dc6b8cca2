"""Suggestions for misspelled names, and for names in notations that nobody parses."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from gradeval.registry.metric import Metric

# names in papers and libraries -> ours, where no tool's notation has them (those are in dialects/)
_WORDS = {
    "hit": "Success",
    "hitrate": "Success",
    "hitratio": "Success",
    "hr": "Success",
    "avgprec": "AP",
    "averageprecision": "AP",
    "meanaverageprecision": "AP",
    "prec": "P",
    "reciprocalrank": "RR",
    "meanreciprocalrank": "RR",
}
_KEYS = {"rel": ("l",)}  # options of trec_eval for parameters


def meant(text: str, metrics: Mapping[str, Metric]) -> Iterator[str]:
    """Names in our notation that a text may stand for: 'nDCG_exp' -> 'nDCG(gain=exp)', 'map-l2' -> 'AP(rel=2)'.

    metrics: by their names in lower case. A name may still be wrong, as where the metric has no cutoff.
    """
    end = min((text + "(").index("("), (text + "@").index("@"))
    name, rest = text[:end], text[end:]
    word = _WORDS.get(re.sub("[-_]", "", name.lower()))
    if word:
        yield word + rest
    for separator in re.finditer("[-_.:]", name):
        metric = metrics.get(name[: separator.start()].lower())
        texts = metric and _value(metric, name[separator.end() :])
        if metric and texts:
            written = metric.written(metric.name, texts)
            yield f"{written[:-1]},{rest[1:]}" if rest.startswith("(") else written + rest


def _value(metric: Metric, text: str) -> dict[str, str]:
    """The parameter and the value of 'exp', 'l2' or 'p=0.8'; {} if it is none of the metric."""
    for param in metric.params:
        values = [] if text.replace(".", "").isdigit() else [text]
        for key in (param.name, *param.aliases, *_KEYS.get(param.name, ())):
            if text.lower().startswith(key.lower()):
                values.append(text[len(key) :].lstrip("=:_-"))
        for value in () if param.after_at else values:
            try:
                return {param.name: param.text(param.parse(value))}
            except ValueError:
                continue
    return {}


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word at the smallest edit distance; None if that is too large for a typo."""
    most = min(len(word) // 3, 2)
    near = [(slips(word, one), one) for one in known if abs(len(one) - len(word)) <= most]
    fewest, best = min(near, key=lambda pair: pair[0], default=(most + 1, None))
    return best if fewest <= most else None


def slips(a: str, b: str) -> int:
    """The edit distance: insertions, deletions, substitutions and transpositions of adjacent letters."""
    before, last = [0], list(range(len(b) + 1))
    for i, x in enumerate(a):
        row = [i + 1]
        for j, y in enumerate(b):
            least = min(last[j] + (x != y), last[j + 1] + 1, row[j] + 1)
            if i and j and (x, a[i - 1]) == (b[j - 1], y):
                least = min(least, before[j - 1] + 1)
            row.append(least)
        before, last = last, row
    return last[-1]

"""Suggestions for misspelled names, and for names in notations that nobody parses."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from gradeval.registry.dialects.other import aliases
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
    "fmeasure": "F",
    "fscore": "F",
    "f1measure": "F",
    "f1score": "F",
    "kendallstau": "tau",
    "spearmanrho": "rho",
    "spearmansrho": "rho",
}
_SHORT = 3  # letters: each other letter makes another acronym, RBO and RBP
_AT_THE_END = re.compile(r"(.*[^\d,._-])([-._]?)(\d[\d,]*)")  # a cutoff: nDCG10, nDCG-10
_KEYS = {"rel": ("l",)}  # options of trec_eval for parameters


def meant(text: str, metrics: Mapping[str, Metric]) -> Iterator[str]:
    """Names in our notation that a text may stand for: 'nDCG_exp' -> 'nDCG(gain=exp)', 'map-l2' -> 'AP(rel=2)'.

    metrics: by their names in lower case. A name may still be wrong, as where the metric has no cutoff.
    """
    end = min((text + "(").index("("), (text + "@").index("@"))
    name, rest = text[:end], text[end:]
    known = _known(name, "@" in rest, metrics)
    if known:
        yield known + rest
    ending = _AT_THE_END.fullmatch(name) if "@" not in rest else None
    if ending:
        stem, separator, cutoffs = ending.groups()
        known = _known(stem, True, metrics)
        is_dotted = separator in (".", "_") and stem.lower() in metrics  # trec_eval's notation
        if known and not is_dotted and not _has_numbers(stem, metrics):
            yield f"{known}{rest}@{cutoffs}"
    for separator in re.finditer("[-_.:]", name):
        metric = metrics.get(name[: separator.start()].lower())
        texts = metric and _value(metric, name[separator.end() :])
        if metric and texts:
            written = metric.written(metric.name, texts)
            yield f"{written[:-1]},{rest[1:]}" if rest.startswith("(") else written + rest


def _known(name: str, has_cutoff: bool, metrics: Mapping[str, Metric]) -> str | None:
    """A known name that differs in hyphens and underscores only, in our notation."""
    word = _plain(name)
    if word in _WORDS:
        return _WORDS[word]
    for key, metric in metrics.items():
        if _plain(key) == word:
            return metric.name if has_cutoff or key == metric.name.lower() else key
    fitting = [alias for alias in aliases() if _plain(alias.name) == word and not alias.param]
    return next((alias.target for alias in sorted(fitting, key=lambda one: one.cutoff != has_cutoff)), None)


def _plain(name: str) -> str:
    return re.sub(r"(?<=\w)[-_](?=\w)", "", name.lower())


def _has_numbers(stem: str, metrics: Mapping[str, Metric]) -> bool:
    """Whether digits can be part of a name that begins so, as in NERR8, F1 and rbp.95."""
    known = (*metrics, *(alias.name for alias in aliases()))
    return any(re.fullmatch(re.escape(_plain(stem)) + r"\.?\d+", _plain(name)) for name in known)


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
    """The known word at the smallest edit distance; None if that is too large for a typo.

    In a short word only transposed letters are a typo. Digits are no typo of others.
    """
    most = min(len(word) // 3, 2)
    near = [
        (slips(word, one), one)
        for one in known
        if abs(len(one) - len(word)) <= most
        and _digits(one) == _digits(word)
        and (len(word) > _SHORT or sorted(one) == sorted(word))
    ]
    fewest, best = min(near, key=lambda pair: pair[0], default=(most + 1, None))
    return best if fewest <= most else None


def _digits(text: str) -> str:
    return re.sub(r"\D", "", text)


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

"""What people search for, and the words that pages have for it."""

from __future__ import annotations

import re

_SYNONYMS = {
    "a/b test": ("compare", "significan"),
    "alert": ("gate",),
    "annotators": ("judges", "agreement"),
    "chart": ("plot",),
    "chunk": ("passage",),
    "chunks": ("passages", "passage"),
    "confidence interval": ("interval",),
    "dashboard": ("report",),
    "early stopping": ("training",),
    "early-stopping": ("training",),
    "graph": ("plot",),
    "hit rate": ("success",),
    "holes": ("unjudged",),
    "inter-annotator": ("agreement",),
    "leader board": ("--rank", "--sort", "all-pairs"),
    "leaderboard": ("--rank", "--sort", "all-pairs"),
    "llm": ("model judges", "model's judgments", "language model"),
    "mean reciprocal rank": ("RR@10",),
    "names from tags": ("--name-by",),
    "parquet": ("arrow",),
    "rag": ("passage",),
    "rank correlation": ("kendall", "tau"),
    "rbo": ("rank-biased overlap", "compat"),
    "regression": ("gate",),
    "repair": ("gradeval validate",),
    "shared rank": ("share a rank",),
    "shared ranks": ("share a rank",),
    "shared task": ("--teams",),
    "significance": ("significant", "test"),
    "statistical significance": ("tests of significance", "significant"),
    "statistical test": ("tests of significance", "t-test"),
    "statistical tests": ("tests of significance", "t-test"),
    "user model": ("user",),
}


_SYMBOLS = {"precision": "P", "recall": "R", "ndcg": "nDCG"}


def normalized(text: str) -> str:
    """In lower case, with a cutoff in words as pages have them: 'precision at 10' is 'precision at k'."""
    return re.sub(r"(@|\bat )\d+", r"\1k", " ".join(text.lower().split()))


def is_in(word: str, text: str) -> bool:
    """Whether the text, in lower case, has the word, or a word that begins so: RBO is not in --verbose."""
    behind = r"(?!\d)" if word[-1:].isdigit() else ""
    return word in text and bool(re.search(rf"(?<!\w){re.escape(word)}{behind}", text))


def synonyms(text: str) -> list[str]:
    """The text with each phrase that has other words replaced by these; nothing where none has."""
    text = " ".join(text.lower().split())
    at_cutoff = re.fullmatch(rf"({'|'.join(_SYMBOLS)}) (?:at |@ ?)(\d+)", text)
    same = [f"{_SYMBOLS[at_cutoff[1]]}@{at_cutoff[2]}"] if at_cutoff else []
    for phrase, replacements in _SYNONYMS.items():
        pattern = rf"(?<!\w){re.escape(phrase)}(?!\w)"
        if re.search(pattern, text):
            same += [
                re.sub(pattern, re.escape(replacement), text).replace("\\", "") for replacement in replacements
            ]
    return same

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
    "graph": ("plot",),
    "hit rate": ("success",),
    "holes": ("unjudged",),
    "inter-annotator": ("agreement",),
    "leaderboard": ("--rank", "--sort", "all-pairs"),
    "llm": ("model judges", "model's judgments", "language model"),
    "parquet": ("arrow",),
    "rag": ("passage",),
    "rank correlation": ("kendall", "tau"),
    "rbo": ("rank-biased overlap", "compat"),
    "regression": ("gate",),
    "significance": ("significant", "test"),
    "user model": ("user",),
}


def normalized(text: str) -> str:
    """In lower case, with a cutoff in words as pages have them: 'precision at 10' is 'precision at k'."""
    return re.sub(r"(@|\bat )\d+", r"\1k", " ".join(text.lower().split()))


def synonyms(text: str) -> list[str]:
    """The text with each phrase that has other words replaced by these; nothing where none has."""
    text = " ".join(text.lower().split())
    found = []
    for phrase, others in _SYNONYMS.items():
        pattern = rf"(?<!\w){re.escape(phrase)}(?!\w)"
        if re.search(pattern, text):
            found += [re.sub(pattern, re.escape(other), text).replace("\\", "") for other in others]
    return found

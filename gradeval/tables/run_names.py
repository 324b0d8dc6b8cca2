"""Names of runs, made from their paths."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable

_COMPRESSED = re.compile(r"(?<=.)\.(?:gz|bz2|xz|zst)$")
_SUFFIX = re.compile(r"(?<=.)\.(?:run|txt|res)$")


def run_names(paths: Iterable[str]) -> list[str]:
    """A name for each run, all different: the file name without directory and suffix.

    Runs whose names would be equal are named by their paths, and a path that comes again gets #2, #3.
    """
    paths = list(paths)
    names = [_SUFFIX.sub("", _COMPRESSED.sub("", os.path.basename(path))) or path for path in paths]
    while True:  # again because a path can be another run's short name
        count = Counter(names)
        apart = [path if count[name] > 1 else name for name, path in zip(names, paths, strict=True)]
        if apart == names:
            break
        names = apart
    taken = set(names)
    seen: Counter[str] = Counter()
    for i, name in enumerate(names):
        seen[name] += 1
        if seen[name] > 1:
            while f"{name}#{seen[name]}" in taken:
                seen[name] += 1
            names[i] = f"{name}#{seen[name]}"
    return names

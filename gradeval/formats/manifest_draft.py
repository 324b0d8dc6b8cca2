"""A manifest made from folders of qrels and runs."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from gradeval.errors import InputError
from gradeval.formats.detect import detect
from gradeval.formats.fields import read_fields
from gradeval.formats.manifest import toml_key, toml_string
from gradeval.formats.names import is_number
from gradeval.formats.sources import Source

_ENDINGS = re.compile(r"(?<=.)\.(?:gz|bz2|xz|zst|run|txt|res|qrels|scores|tsv)$")
_QRELS = re.compile(r"(?:^|[._-])qrels?(?=[._-]|$)|^qrels?[._-]")
_FEATURE = re.compile(r"^\d+:")


class _Qrels(NamedTuple):
    """Qrels, with the name of their collection. features: the highest of a LETOR file, 0 for another."""

    path: str
    name: str
    features: int


def draft(folders: Iterable[str], beside: str = ".") -> str:
    """A manifest of the qrels and runs in the folders, with comments. beside: the folder it will be in.

    Raises InputError where a folder cannot be read, or has no qrels.
    """
    qrels: dict[str, int] = {}
    runs: list[str] = []
    for folder in folders:
        for file in _files(folder):
            kind, features = _kind(file)
            path = os.path.relpath(file, beside)
            if kind == "qrels":
                qrels[path] = features
            elif kind == "run":
                runs.append(path)
    if not qrels:
        hint = "qrels have lines 'query iter document grade', or are LETOR files"
        raise InputError(", ".join(folders), "no qrels found", hint=hint)
    return "".join(_written(_named(qrels, beside), runs))


def _files(folder: str) -> Iterator[str]:
    """The files below a folder in order, without hidden ones."""
    if not os.path.isdir(folder):
        raise InputError(folder, "this is not a folder", hint="--init takes the folders of qrels and runs")
    for path, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (os.path.join(path, name) for name in sorted(names) if not name.startswith("."))


def _kind(path: str) -> tuple[str, int]:
    """What a file is by its first line: 'qrels', 'run', or '' for another."""
    source = Source(path)
    try:
        if not os.path.isfile(path):
            return "", 0
        _, fields = next(read_fields(source))
        if detect(source) == "letor":
            features = [int(one.partition(":")[0]) for one in fields if _FEATURE.match(one)]
            return "qrels", max(features, default=0)
    except (InputError, StopIteration):
        return "", 0
    if len(fields) == 4 and is_number(fields[3]):
        return "qrels", 0
    return ("run" if len(fields) in (5, 6) and is_number(fields[4]) else ""), 0


def _stem(path: str) -> str:
    name = os.path.basename(path)
    while (shorter := _ENDINGS.sub("", name)) != name:
        name = shorter
    return name


def _named(qrels: Mapping[str, int], beside: str) -> list[_Qrels]:
    """The qrels, with the names of collections: that of the folder where a file is alone there, or its own."""
    folders = [os.path.dirname(path) for path in qrels]
    names = []
    for path, folder in zip(qrels, folders, strict=True):
        of_folder = os.path.basename(os.path.abspath(os.path.join(beside, folder)))
        of_file = _QRELS.sub("", _stem(path)).strip("._-")
        is_alone = folders.count(folder) == 1 and not _QRELS.search(of_folder)
        names.append((of_folder if is_alone else of_file) or of_folder)
    if len(set(names)) < len(names):
        names = [path.replace(os.sep, "-") for path in qrels]
    return [_Qrels(path, name, qrels[path]) for name, path in zip(names, qrels, strict=True)]


def _word(name: str) -> re.Pattern[str]:
    """The name as a whole word of a path."""
    return re.compile(rf"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])")


def _collection_of(run: str, qrels: Sequence[_Qrels]) -> str | None:
    """The collection whose name is in the path of a run, or whose qrels are in a folder above it."""
    by_name = [one.name for one in qrels if _word(one.name).search(run)]
    near = [one.name for one in qrels if run.startswith(os.path.join(os.path.dirname(one.path), ""))]
    if by_name or len(near) == 1:
        return max(by_name or near, key=len)
    return qrels[0].name if len(qrels) == 1 else None


def _system_of(run: str, collection: str) -> tuple[str, str]:
    """The name of a run's system, and the path with {collection} and {system} instead of the names."""
    template = _word(collection).sub("{collection}", run)
    folder, file = os.path.split(template)
    system = re.sub(r"[._-]?\{collection\}[._-]?", "", _stem(file))
    if system:
        return system, os.path.join(folder, file.replace(system, "{system}", 1))
    above, name = os.path.split(folder)
    return name, os.path.join(above, "{system}", file)


def _written(qrels: Sequence[_Qrels], runs: Sequence[str]) -> Iterator[str]:
    of_system: dict[str, dict[str, str]] = {}  # system -> collection -> template
    unused = []
    for run in runs:
        collection = _collection_of(run, qrels)
        system, template = _system_of(run, collection) if collection is not None else ("", "")
        if collection is None or not system or collection in of_system.get(system, {}):
            unused.append(run)
        else:
            of_system.setdefault(system, {})[collection] = template
    yield "# What 'gradeval batch' evaluates. Paths are relative to this file.\n\n"
    yield "# Of all collections; a collection may have its own.\n"
    yield 'metrics = ["nDCG@10", "AP"]\n'
    templates = {template for of in of_system.values() for template in of.values()}
    is_single = {system: len({*of.values()}) == 1 for system, of in of_system.items()}
    features = min((one.features for one in qrels), default=0)
    if len(templates) == 1:
        yield f"runs = {toml_string(*templates)}\n"
        yield f"systems = [{', '.join(map(toml_string, of_system))}]\n"
    elif of_system and not all(is_single.values()):
        yield f"systems = [{', '.join(map(toml_string, of_system))}]\n"
    if features:
        yield "# The features of the LETOR files as systems.\n"
        yield f'{"# " if of_system else ""}features = "1-{features}"\n'
    if not of_system and not features:
        yield "# No runs were found. Where they are, and the names of the systems:\n"
        yield 'runs = "runs/{collection}/{system}.run"\nsystems = ["bm25", "dense"]\n'
    yield "\n# Options of the evaluation, as of the command: rel, depth, judged_only, queries, ties, …\n"
    yield "# [options]\n# rel = 2\n"
    if len(templates) > 1 and all(is_single.values()):
        yield "\n[systems]\n"
        yield from (
            f"{toml_key(system)} = {toml_string(next(iter(of.values())))}\n" for system, of in of_system.items()
        )
    for one in qrels:
        yield f"\n[collections.{toml_key(one.name)}]\nqrels = {toml_string(one.path)}\n"
        lacking = [system for system, of in of_system.items() if one.name not in of]
        if lacking:
            yield f"# no run of {', '.join(lacking)}\n"
        if len(templates) > 1 and not all(is_single.values()):
            yield f"\n[collections.{toml_key(one.name)}.runs]\n"
            for system, of in of_system.items():
                path = of.get(one.name) or next(iter(of.values()))
                yield f"{toml_key(system)} = {toml_string(path)}\n"
    if unused:
        yield "\n# Runs that belong to none of the collections by their paths:\n"
        yield from (f"#   {json.dumps(path)[1:-1]}\n" for path in unused)

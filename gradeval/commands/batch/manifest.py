"""Manifests of batches: collections with their qrels, metrics and options, and the runs of systems."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from glob import escape, glob
from typing import Any, NoReturn

from gradeval.errors import InputError, OptionError, described, first_names, named
from gradeval.formats.lines import read_toml
from gradeval.formats.sources import Source
from gradeval.options import FILE_OPTIONS, Options

KEYS = ("qrels", "runs", "metrics", "systems", "features", "collections", "options")
COLLECTION_KEYS = ("qrels", "runs", "metrics", "options")
AVERAGE, POOL = "average", "pool"  # stand in the place of a collection
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_WILDCARD = re.compile(r"[*?\[]")
_SHOWN = 5  # files that match a pattern, in an error
_BARE = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True)
class Collection:
    """A collection. qrels: a path. runs: the path of each system's run, '' for one that it does not have;
    features of the qrels have none.

    metrics: as written, empty for the default. options: of the evaluation.
    """

    name: str
    qrels: str
    runs: Mapping[str, str]
    metrics: tuple[str, ...] = ()
    options: Options = field(default_factory=Options)


@dataclass(frozen=True)
class Manifest:
    """A manifest as read. path: its own. features: of the LETOR qrels that are systems, by name.

    metrics: those of all collections that do not have their own, as written.
    """

    path: str
    systems: tuple[str, ...]
    features: Mapping[str, int]
    collections: tuple[Collection, ...]
    metrics: tuple[str, ...] = ()


def read_manifest(source: Source) -> Manifest:
    """The manifest in a TOML file; its paths are relative to it. Raises InputError."""
    file = read_toml(source)
    folder = "" if source.path == "-" else os.path.dirname(source.path)
    return _Reader(file.path, folder, file.line_of).manifest(file.content)


def manifest_of(content: Mapping[str, Any]) -> Manifest:
    """The manifest in a dict, as read from TOML. Raises InputError."""
    return _Reader("manifest", "", lambda text, table="": None).manifest(content)


class _Reader:
    """Reads the content of a manifest, and reports what is wrong with it. folder: of relative paths."""

    def __init__(self, path: str, folder: str, line_of: Callable[..., int | None]) -> None:
        self.path, self.folder, self.line_of = path, folder, line_of

    def fail(self, what: str, text: str = "", table: str = "", hint: str = "") -> NoReturn:
        """Raise InputError at the line that has the text."""
        raise InputError(self.path, what, line=self.line_of(text, table) if text else None, hint=hint)

    def manifest(self, content: Mapping[str, Any]) -> Manifest:
        self.check_keys(content, KEYS)
        collections = self.named_tables(content, "collections")
        systems = self.named_tables(content, "systems") if "systems" in content else {}
        features = self.features(content)
        if not systems and not features:
            self.fail(
                "no systems given", hint='Add systems = ["bm25", "dense"], or features = "1-45" for LETOR'
            )
        for name in features:
            if name in systems:
                self.fail(f"system {named(name)} is a feature too", name)
        return Manifest(
            self.path,
            (*systems, *features),
            features,
            tuple(self.collection(name, own, content, systems) for name, own in collections.items()),
            self.metrics(content.get("metrics")),
        )

    def check_keys(self, content: Mapping[str, Any], known: Iterable[str], table: str = "") -> None:
        for key in content:
            if key not in known:
                near = get_close_matches(str(key), known, n=1)
                hint = f"Did you mean '{near[0]}'?" if near else f"The keys are {', '.join(known)}"
                where = f" in [{table}]" if table else ""
                text = next((text for text in (f"{key} =", f"{key}=") if self.line_of(text, table)), str(key))
                self.fail(f"unknown key {named(str(key))}{where}", text, table, hint)

    def named_tables(self, content: Mapping[str, Any], key: str) -> dict[str, Any]:
        """The entry of each name of a list or a table; None for a list."""
        value = content.get(key)
        if value is None:
            self.fail(f"no {key} given")
        if isinstance(value, (list, tuple)) and all(isinstance(name, str) for name in value):
            tables: dict[str, Any] = dict.fromkeys(value)
            if len(tables) < len(value):
                self.fail(f"{key} has a name twice", key)
        elif isinstance(value, Mapping):
            tables = {str(name): table for name, table in value.items()}
        else:
            self.fail(f"{key} must be a list of names, or a table", key)
        for name in tables:
            if not name or name in (AVERAGE, POOL):
                self.fail(f"{named(name)} cannot be a name of {key}", key)
        if not tables:
            self.fail(f"no {key} given", key)
        return tables

    def features(self, content: Mapping[str, Any]) -> dict[str, int]:
        if "features" not in content:
            return {}
        try:
            return {f"feature{number}": number for number in Options.of(features=content["features"]).features}
        except OptionError as error:
            self.fail(str(error), "features")

    def collection(
        self, name: str, own: Any, content: Mapping[str, Any], systems: Mapping[str, Any]
    ) -> Collection:
        """own: the table of the collection, None where only its name is listed."""
        table = f"collections.{name if _BARE.fullmatch(name) else json.dumps(name, ensure_ascii=False)}"
        own = {} if own is None else own
        if not isinstance(own, Mapping):
            self.fail(f"[{table}] must be a table", name)
        self.check_keys(own, COLLECTION_KEYS, table)
        qrels = own.get("qrels", content.get("qrels"))
        if qrels is None:
            self.fail(f"collection {named(name)} has no qrels", name, hint='Add qrels = "PATH" to it')
        runs = own.get("runs", {})
        of_collection = runs if isinstance(runs, Mapping) else {}
        if unknown := [system for system in of_collection if system not in systems]:
            self.fail(f"{named(str(unknown[0]))} in runs of [{table}] is not one of the systems", table)
        template = content.get("runs") if isinstance(runs, Mapping) else runs
        by_template = [name for name, path in systems.items() if path is None and name not in of_collection]
        if isinstance(template, str) and "{system}" not in template and len(by_template) > 1:
            self.fail("runs has no {system}: all systems have the same file", "runs")
        paths = {}
        for system, path_of_system in systems.items():
            path = of_collection.get(system, template if path_of_system is None else path_of_system)
            if path is None and of_collection:  # it has the runs of other systems: this one is missing
                paths[system] = ""
                continue
            if path is None:
                hint = 'Add runs = "runs/{collection}/{system}.run"'
                self.fail(f"no path of the runs of {named(system)} on {named(name)}", hint=hint)
            paths[system] = self.filled(path, "runs", collection=name, system=system)
        qrels = self.filled(qrels, "qrels", collection=name)
        metrics = self.metrics(own.get("metrics", content.get("metrics")))
        return Collection(name, qrels, paths, metrics, self.options(content, own, table))

    def filled(self, template: Any, key: str, **names: str) -> str:
        """A path, with the names for {collection} and {system}; of a pattern, the file that matches."""
        if not isinstance(template, str) or not template:
            self.fail(f"{key} must be a path, not {described(template)}", key)
        for name in _PLACEHOLDER.findall(template):
            if name not in names:
                near = get_close_matches(name, names, n=1)
                known = " and ".join(f"{{{name}}}" for name in names)
                hint = f"Did you mean {{{near[0]}}}?" if near else f"{key} may have {known}"
                self.fail(f"unknown placeholder {{{name}}} in {key}", f"{{{name}}}", hint=hint)
        path = os.path.join(self.folder, _PLACEHOLDER.sub(lambda match: names[match[1]], template))
        if not _WILDCARD.search(template) or os.path.lexists(path):
            return path
        pattern = _PLACEHOLDER.sub(lambda match: escape(names[match[1]]), template)
        matches = glob(os.path.join(escape(self.folder), pattern))
        files = sorted(file for file in matches if not os.path.isdir(file))
        if len(files) > 1:
            what = f"{key}: {path} matches {len(files)} files: {first_names(files, _SHOWN)}"
            self.fail(what, template, hint="A pattern must match one file for each collection and system")
        return files[0] if files else path

    def metrics(self, value: Any) -> tuple[str, ...]:
        names = [value] if isinstance(value, str) else [] if value is None else value
        if not isinstance(names, (list, tuple)) or not all(isinstance(name, str) for name in names):
            self.fail(f"metrics must be names, not {described(value)}", "metrics")
        return tuple(names)

    def options(self, content: Mapping[str, Any], own: Mapping[str, Any], table: str) -> Options:
        """The options of a collection: its own instead of the common ones."""
        options: dict[str, Any] = {}
        for of, place in ((content, "options"), (own, f"{table}.options")):
            values = of.get("options", {})
            if not isinstance(values, Mapping):
                self.fail(f"[{place}] must be a table", "options")
            self.check_keys(values, FILE_OPTIONS, place)
            options.update(values)
        if isinstance(options.get("groups"), str):
            options["groups"] = os.path.join(self.folder, options["groups"])
        try:
            return Options.of(**options)
        except OptionError as error:
            self.fail(str(error), str(error).split()[0])

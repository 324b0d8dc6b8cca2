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
    """What a batch evaluates. path: its own. features: of the LETOR qrels that are systems, by name.

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


def _toml_key(name: str) -> str:
    return name if _BARE.fullmatch(name) else json.dumps(name, ensure_ascii=False)


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
        found = tuple(self.collection(name, of, content, systems) for name, of in collections.items())
        metrics = self.metrics(content.get("metrics"))
        return Manifest(self.path, (*systems, *features), features, found, metrics)

    def check_keys(self, content: Mapping[str, Any], known: Iterable[str], table: str = "") -> None:
        for key in content:
            if key not in known:
                near = get_close_matches(str(key), known, n=1)
                hint = f"Did you mean '{near[0]}'?" if near else f"The keys are {', '.join(known)}"
                where = f" in [{table}]" if table else ""
                text = next((one for one in (f"{key} =", f"{key}=") if self.line_of(one, table)), str(key))
                self.fail(f"unknown key {named(str(key))}{where}", text, table, hint)

    def named_tables(self, content: Mapping[str, Any], key: str) -> dict[str, Any]:
        """What a list of names, or a table by name, says of each name: None for a list."""
        given = content.get(key)
        if isinstance(given, (list, tuple)) and all(isinstance(name, str) for name in given):
            found = dict.fromkeys(given)
            if len(found) < len(given):
                self.fail(f"{key} has a name twice", key)
        elif isinstance(given, Mapping):
            found = {str(name): of for name, of in given.items()}
        else:
            what = f"no {key} given" if given is None else f"{key} must be a list of names, or a table"
            self.fail(what, "" if given is None else key)
        for name in found:
            if not name or name in (AVERAGE, POOL):
                self.fail(f"{named(name)} cannot be a name of {key}", key)
        if not found:
            self.fail(f"no {key} given", key)
        return found

    def features(self, content: Mapping[str, Any]) -> dict[str, int]:
        if "features" not in content:
            return {}
        try:
            return {f"feature{one}": one for one in Options.of(features=content["features"]).features}
        except OptionError as error:
            self.fail(str(error), "features")

    def collection(
        self, name: str, given: Any, content: Mapping[str, Any], systems: Mapping[str, Any]
    ) -> Collection:
        table = f"collections.{_toml_key(name)}"
        own = {} if given is None else given
        if not isinstance(own, Mapping):
            self.fail(f"[{table}] must be a table", name)
        self.check_keys(own, COLLECTION_KEYS, table)
        qrels = own.get("qrels", content.get("qrels"))
        if qrels is None:
            self.fail(f"collection {named(name)} has no qrels", name, hint='Add qrels = "PATH" to it')
        runs = own.get("runs", {})
        of_collection = runs if isinstance(runs, Mapping) else {}
        unknown = [one for one in of_collection if one not in systems]
        if unknown:
            self.fail(f"{named(str(unknown[0]))} in runs of [{table}] is not one of the systems", table)
        template = content.get("runs") if isinstance(runs, Mapping) else runs
        if isinstance(template, str) and "{system}" not in template:
            by_template = [one for one, of in systems.items() if of is None and one not in of_collection]
            if len(by_template) > 1:
                self.fail("runs has no {system}: all systems have the same file", "runs")
        paths = {}
        for system, of_system in systems.items():
            path = of_collection.get(system, of_system if of_system is not None else template)
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
                known = " and ".join(f"{{{one}}}" for one in names)
                hint = f"Did you mean {{{near[0]}}}?" if near else f"{key} may have {known}"
                self.fail(f"unknown placeholder {{{name}}} in {key}", f"{{{name}}}", hint=hint)
        path = os.path.join(self.folder, _PLACEHOLDER.sub(lambda match: names[match[1]], template))
        if not _WILDCARD.search(template) or os.path.lexists(path):
            return path
        pattern = _PLACEHOLDER.sub(lambda match: escape(names[match[1]]), template)
        found = sorted(
            file for file in glob(os.path.join(escape(self.folder), pattern)) if not os.path.isdir(file)
        )
        if len(found) > 1:
            shown = first_names(found, _SHOWN)
            hint = "A pattern must match one file for each collection and system"
            self.fail(f"{key}: {path} matches {len(found)} files: {shown}", template, hint=hint)
        return found[0] if found else path

    def metrics(self, given: Any) -> tuple[str, ...]:
        names = [given] if isinstance(given, str) else [] if given is None else given
        if not isinstance(names, (list, tuple)) or not all(isinstance(name, str) for name in names):
            self.fail(f"metrics must be names, not {described(given)}", "metrics")
        return tuple(names)

    def options(self, content: Mapping[str, Any], own: Mapping[str, Any], table: str) -> Options:
        """The options of a collection: its own instead of the common ones."""
        given: dict[str, Any] = {}
        for options, place in (
            (content.get("options", {}), "options"),
            (own.get("options", {}), f"{table}.options"),
        ):
            if not isinstance(options, Mapping):
                self.fail(f"[{place}] must be a table", "options")
            self.check_keys(options, FILE_OPTIONS, place)
            given.update(options)
        if isinstance(given.get("groups"), str):
            given["groups"] = os.path.join(self.folder, given["groups"])
        try:
            return Options.of(**given)
        except OptionError as error:
            self.fail(str(error), str(error).split()[0])

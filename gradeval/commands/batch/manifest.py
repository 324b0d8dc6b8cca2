"""Manifests of batches: collections with their qrels, metrics and options, and the runs of systems."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from glob import escape, glob
from typing import Any

from gradeval.commands.compare.compare import is_comparable
from gradeval.compare_options import MIN_COVERAGE, CompareOptions
from gradeval.errors import MetricError, OptionError, described, first_names, named
from gradeval.formats.lines import TomlFile, read_toml
from gradeval.formats.sources import Source
from gradeval.options import COMPARED_METRICS, DEFAULT_METRICS, FILE_OPTIONS, Options
from gradeval.registry.spec import Spec, parse

KEYS = ("qrels", "runs", "metrics", "systems", "features", "collections", "options")
COLLECTION_KEYS = ("qrels", "runs", "metrics", "options")
AVERAGE, POOL = "average", "pool"  # stand in the place of a collection
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_SHOWN = 5  # files that match a pattern, in an error
_BARE = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True, eq=False)
class BatchCollection:
    """A collection, its metrics and the options of its evaluation."""

    name: str
    qrels: str  # a path
    runs: Mapping[str, str] = field(repr=False)  # the path for each system but features, '' without a run
    specs: tuple[Spec, ...]
    options: Options = field(repr=False)
    tables: Mapping[str, str] = field(repr=False)  # the table that each option is from


@dataclass(frozen=True)
class Manifest:
    """A manifest as read."""

    systems: tuple[str, ...]
    features: Mapping[str, int]  # of the LETOR qrels that are systems, by name
    collections: tuple[BatchCollection, ...]
    specs: tuple[Spec, ...]  # the metrics of all collections that do not have their own
    file: TomlFile = field(repr=False)
    baseline: str | None
    test: CompareOptions  # against the baseline; the p-values are corrected over the whole table


def read_manifest(
    manifest: Any,
    baseline: str | None = None,
    metrics: Sequence[str] = (),
    min_coverage: float = MIN_COVERAGE,
) -> Manifest:
    """The manifest in a TOML file, or in a dict with its content. Paths in a file are relative to it. baseline:
    the system with which others are compared, by other default metrics. metrics: those of all collections,
    instead of the manifest's. min_coverage: of the systems that are tested, in percent. Raises InputError,
    MetricError, OptionError.
    """
    test = CompareOptions(correction="none", min_coverage=min_coverage)
    specs = _with_summary(parse(metrics)) if metrics else ()
    file = TomlFile("manifest", "", manifest) if isinstance(manifest, Mapping) else read_toml(Source(manifest))
    reader = _Reader(file, baseline)
    file.check_keys(file.content, KEYS)
    collections = reader.named_tables("collections")
    systems = reader.named_tables("systems") if "systems" in file.content else {}
    features = reader.features(systems)
    every = (*systems, *features)
    if not every:
        hint = 'Add systems = ["bm25", "dense"], or features = "1-45" for LETOR'
        raise file.error("no systems given", hint=hint)
    if baseline is not None and baseline not in every:
        raise OptionError(f"no system {baseline} for the baseline: they are {', '.join(every)}")
    read = [reader.collection(name, table, systems) for name, table in collections.items()]
    of_content = reader.specs(file.content["metrics"]) if "metrics" in file.content else ()
    if specs:
        read = [replace(collection, specs=specs) for collection in read]
    return Manifest(
        systems=every,
        features=features,
        collections=tuple(read),
        specs=specs or of_content,
        file=file,
        baseline=baseline,
        test=test,
    )


class _Reader:
    """Reads the content of a manifest, and reports what is wrong with it. folder: of relative paths."""

    def __init__(self, file: TomlFile, baseline: str | None) -> None:
        self.file = file
        self.content = file.content
        self.error = file.error
        self.folder = os.path.dirname(file.path)
        self.default_metrics = DEFAULT_METRICS if baseline is None else COMPARED_METRICS

    def features(self, systems: Mapping[str, Any]) -> dict[str, int]:
        """The features of the LETOR qrels that are systems, by name."""
        content = {"features": self.content.get("features", ())}
        numbers = self.file.options(content, self.folder, key="features").features
        features = {f"feature{number}": number for number in numbers}
        for name in features:
            if name in systems:
                raise self.error(f"system {named(name)} is a feature too", name)
        return features

    def named_tables(self, key: str) -> dict[str, Any]:
        """The entry of each name of a list or a table; None for a list."""
        value = self.content.get(key)
        if value is None or value in ([], (), {}):
            raise self.error(f"no {key} given", "" if value is None else key)
        if isinstance(value, Mapping):
            tables = {str(name): table for name, table in value.items()}
        elif isinstance(value, (list, tuple)) and all(isinstance(name, str) for name in value):
            tables = dict.fromkeys(value)
            if len(tables) < len(value):
                raise self.error(f"{key} has a name twice", key)
        else:
            raise self.error(f"{key} must be a list of names, or a table", key)
        for name in tables:
            if not name or name in (AVERAGE, POOL):
                raise self.error(f"{named(name)} cannot be a name of {key}", key)
        return tables

    def collection(self, name: str, content: Any, systems: Mapping[str, Any]) -> BatchCollection:
        """content: the table of the collection, None where only its name is listed."""
        table = f"collections.{name if _BARE.fullmatch(name) else json.dumps(name, ensure_ascii=False)}"
        content = {} if content is None else content
        if not isinstance(content, Mapping):
            raise self.error(f"[{table}] must be a table", name)
        self.file.check_keys(content, COLLECTION_KEYS, table)
        qrels = content.get("qrels", self.content.get("qrels"))
        if qrels is None:
            raise self.error(f"collection {named(name)} has no qrels", name, hint='Add qrels = "PATH" to it')
        paths = self._run_paths(name, table, content.get("runs", {}), systems)
        qrels = self.path(qrels, "qrels", collection=name)
        specs = self.specs(content.get("metrics", self.content.get("metrics")), f"metrics of {name}: ")
        options: dict[str, Any] = {}
        table_of: dict[str, str] = {}
        for tables, scope in ((self.content, "options"), (content, f"{table}.options")):
            values = tables.get("options", {})
            if not isinstance(values, Mapping):
                raise self.error(f"[{scope}] must be a table", "options")
            self.file.check_keys(values, FILE_OPTIONS, scope)
            self.file.options(values, self.folder, scope)  # an error has the line in this table
            options |= values
            table_of |= dict.fromkeys(values, scope)
        return BatchCollection(
            name=name,
            qrels=qrels,
            runs=paths,
            specs=specs,
            options=self.file.options(options, self.folder),
            tables=table_of,
        )

    def _run_paths(self, name: str, table: str, runs: Any, systems: Mapping[str, Any]) -> dict[str, str]:
        """The path of each system's run on a collection, '' for a run that is missing.

        table: that of the collection. runs: its paths by system, or a template for all; the systems may have
        templates of their own.
        """
        of_collection: Mapping[str, Any] = {}
        template = runs
        if isinstance(runs, Mapping):
            of_collection = runs
            template = self.content.get("runs")
        if unknown := [system for system in of_collection if system not in systems]:
            raise self.error(f"{named(str(unknown[0]))} in runs of [{table}] is not one of the systems", table)
        if isinstance(template, str) and "{system}" not in template:
            by_template = [name for name, path in systems.items() if path is None and name not in of_collection]
            if len(by_template) > 1:
                raise self.error("runs has no {system}: all systems have the same file", "runs")
        paths = {}
        for system, template_of_system in systems.items():
            default = template if template_of_system is None else template_of_system
            path = of_collection.get(system, default)
            if path is not None:
                paths[system] = self.path(path, "runs", collection=name, system=system)
            elif of_collection:  # which has the runs of other systems: this one is missing
                paths[system] = ""
            else:
                hint = 'Add runs = "runs/{collection}/{system}.run"'
                raise self.error(f"no path of the runs of {named(system)} on {named(name)}", hint=hint)
        return paths

    def path(self, template: Any, key: str, **names: str) -> str:
        """A path, with the names for {collection} and {system}; of a pattern, the file that matches."""
        if not isinstance(template, str) or not template:
            raise self.error(f"{key} must be a path, not {described(template)}", key)
        for name in _PLACEHOLDER.findall(template):
            if name not in names:
                hint = f"{key} may have {' and '.join(f'{{{name}}}' for name in names)}"
                raise self.error(f"unknown placeholder {{{name}}} in {key}", f"{{{name}}}", hint=hint)
        path = os.path.join(self.folder, _PLACEHOLDER.sub(lambda match: names[match[1]], template))
        pattern = _PLACEHOLDER.sub(lambda match: escape(names[match[1]]), template)
        matches = [] if os.path.lexists(path) else glob(os.path.join(escape(self.folder), pattern))
        files = sorted(file for file in matches if not os.path.isdir(file))
        if len(files) > 1:
            message = f"{key}: {path} matches {len(files)} files: {first_names(files, _SHOWN)}"
            hint = "A pattern must match one file for each collection and system"
            raise self.error(message, template, hint=hint)
        return files[0] if files else path

    def specs(self, value: Any, prefix: str = "") -> tuple[Spec, ...]:
        """The metrics, each with a summary that is a number. prefix: of the error of a metric."""
        names = value
        if value is None:
            names = []
        elif isinstance(value, str):
            names = [value]
        if not isinstance(names, (list, tuple)) or not all(isinstance(name, str) for name in names):
            raise self.error(f"metrics must be names, not {described(value)}", "metrics")
        if not names:
            return tuple(filter(is_comparable, parse(self.default_metrics)))
        try:
            return _with_summary(parse(names))
        except MetricError as error:
            raise self.error(f"{prefix}{error}") from None


def _with_summary(specs: Sequence[Spec]) -> tuple[Spec, ...]:
    for spec in specs:
        if spec.metric.text or not spec.metric.has_summary:
            raise MetricError(f"{spec} has no summary value")
    return tuple(specs)

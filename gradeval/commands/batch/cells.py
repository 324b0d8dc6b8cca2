"""Collections × systems: means, their averages over the collections, significance against a baseline.

batch              a manifest -> Batch
evaluate_batch     the same for the command: cells as they are made, those of an earlier output kept
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from gradeval.arrays.threads import default_jobs, ordered_map
from gradeval.commands.batch.manifest import Collection, Manifest, read_manifest
from gradeval.commands.batch.result import CHECKSUM, Batch, Cell, Key, Value, checksum
from gradeval.commands.compare.compare import compare_values
from gradeval.commands.compare.result import (
    ComparedMetric,
    Judged,
    QueryValues,
    Verdict,
    comparable,
    judged_spec,
    without_judged,
)
from gradeval.compare_options import CompareOptions
from gradeval.errors import GradevalError, InputError, InputErrors, OptionError, UnsuitableOptionError
from gradeval.evaluation import evaluate_all, with_saved
from gradeval.evaluation.outcome import with_weights
from gradeval.evaluation.results import FailedRun, Results
from gradeval.evaluation.runs import Runs, SavedResult
from gradeval.formats.json import parse_json
from gradeval.formats.letor import group_sizes
from gradeval.formats.lines import read_text
from gradeval.formats.sources import Source
from gradeval.notices import Kind
from gradeval.options import Options, weighted_error
from gradeval.registry.spec import parse
from gradeval.render.document import warned
from gradeval.statistics.corrections import holm
from gradeval.version import __version__

TEST = CompareOptions(correction="none")  # the p-values are corrected over the whole table


def batch(
    manifest: Any,
    *,
    baseline: str | None = None,
    pool: bool = False,
    resume: str | os.PathLike[str] | None = None,
    jobs: int = 0,
) -> Batch:
    """Evaluate systems on collections.

    manifest: the path of a TOML file, or a dict with the same content. baseline: a system to compare the others
    with, on each collection: the paired t-test with Holm's correction. pool: average over all queries together,
    instead of the mean of the collections. resume: an earlier output (json or jsonl): what it has with the same
    hashes, metrics and options is not evaluated again. Runs that are missing or cannot be evaluated are cells
    with that status. Raises GradevalError.
    """
    content = read_manifest(manifest, baseline)
    earlier = read_earlier(Source(resume)) if resume is not None else {}
    return warned(evaluate_batch(content, baseline=baseline, pool=pool, earlier=earlier, jobs=jobs))


def read_earlier(source: Source) -> dict[Key, Cell]:
    """The cells of an output in json or jsonl that are as they were written. Raises InputError."""
    text = read_text(source)
    lines = [(number, line) for number, line in enumerate(text.split(b"\n"), 1) if line.strip()]
    if not lines:  # as an interrupted command may leave it
        return {}
    try:
        if not lines[0][1].lstrip().startswith(b"{"):
            raise ValueError
        if len(lines) > 1 and lines[0][1].rstrip().endswith(b"}"):
            rows = [parse_json(line, source.name, number) for number, line in lines]
        else:
            content = parse_json(text, source.name)
            rows = content.get("cells", [content])
        for row in rows:
            row["system"]  # of a cell, and of an average
        cells = [
            Cell.from_dict(row)
            for row in rows
            if "average" not in row and row["gradeval"] == __version__ and row.get(CHECKSUM) == checksum(row)
        ]
    except (ValueError, TypeError, KeyError, AttributeError):
        hint = "Save one with gradeval batch MANIFEST -f json -o FILE"
        raise InputError(source.name, "this is not an output of gradeval batch", hint=hint) from None
    return {(cell.collection, cell.system): cell for cell in cells}


def evaluate_batch(
    manifest: Manifest,
    *,
    baseline: str | None = None,
    pool: bool = False,
    earlier: Mapping[Key, Cell] | None = None,
    jobs: int = 0,
    on_cell: Callable[[Cell], None] | None = None,
    on_collection: Callable[[Batch], None] | None = None,
) -> Batch:
    """Evaluate what a manifest says.

    earlier: cells that are kept if nothing that they were made from has changed. on_cell: is shown each cell as
    soon as it is evaluated. on_collection: is shown what is there after each collection.
    """
    if baseline is not None and baseline not in manifest.systems:
        raise OptionError(f"no system {baseline} for the baseline: they are {', '.join(manifest.systems)}")
    for collection in manifest.collections:
        if collection.options.query_weights is not None and (pool or baseline is not None):
            what = "averages over all queries together (pool)" if pool else "tests against a baseline"
            raise weighted_error(f"{collection.name}: {what}")
    jobs = jobs or default_jobs()
    rows = [_CollectionCells(manifest, collection, baseline, jobs) for collection in manifest.collections]
    # all unchanged cells are known first, so that an interrupted batch loses none of them
    cells = {cell.key: cell for row in rows for cell in row.unchanged(earlier or {})}

    def result() -> Batch:
        """The cells so far, with p-values corrected for all comparisons of the table together, and verdicts."""
        places = [
            (collection.name, system) for collection in manifest.collections for system in manifest.systems
        ]
        compared = {key: dict(cells[key].comparisons) for key in places if key in cells}
        pairs = [(of_cell, pair) for of_cell in compared.values() for pair in of_cell.values()]
        p_values = holm(np.array([pair.p for _, pair in pairs], np.float64)).tolist()
        for (of_cell, pair), p in zip(pairs, p_values, strict=True):
            [spec] = parse(pair.metric)
            gain = ComparedMetric.of(spec).sign * pair.difference if p < TEST.alpha else 0
            verdict: Verdict = "better" if gain > 0 else "worse" if gain < 0 else ""
            of_cell[pair.metric] = replace(pair, p_corrected=p, verdict=verdict)
        corrected = {key: replace(cells[key], comparisons=of_cell) for key, of_cell in compared.items()}
        return Batch(
            manifest.path, manifest.systems, manifest.collections, corrected, baseline, pool, manifest.specs
        )

    for row in rows:
        systems = [system for system in manifest.systems if (row.collection.name, system) not in cells]
        cells.update((cell.key, cell) for cell in row.evaluated(systems, on_cell))
        if on_collection is not None:
            on_collection(result())
    return result()


class _CollectionCells:
    """The cells of one collection: those of an earlier output that are unchanged, the others evaluated."""

    def __init__(self, manifest: Manifest, collection: Collection, baseline: str | None, jobs: int) -> None:
        self.manifest, self.collection, self.baseline = manifest, collection, baseline
        self.qrels, self.specs = collection.qrels, collection.specs
        self.options = with_weights(collection.options.replace(jobs=jobs))
        self.compared = without_judged(comparable(self.specs))
        deciding = {name: value for name, value in self.options.to_dict().items() if name != "features"}
        self.settings = json.loads(json.dumps(deciding))  # tuples are lists there
        self.paths = {system: collection.runs.get(system, collection.qrels) for system in manifest.systems}

    def cell(self, system: str, **fields: Any) -> Cell:
        return Cell(self.collection.name, system, self.paths[system], **fields)

    def unchanged(self, earlier: Mapping[Key, Cell]) -> list[Cell]:
        metrics, compared = {*map(str, self.specs)}, {*map(str, self.compared)}
        known = [earlier.get((self.collection.name, system)) for system in self.manifest.systems]
        cells = [
            replace(cell, path=self.paths[cell.system])
            for cell in known
            if cell and (cell.status, cell.options, {*cell.values}) == ("done", self.settings, metrics)
        ]
        if not cells:
            return []
        systems = {cell.system for cell in cells} | ({self.baseline} if self.baseline else set())
        paths = sorted({self.qrels, *(self.paths[system] for system in systems)})
        sha256 = dict(zip(paths, ordered_map(_sha256, paths, self.options.jobs), strict=True))
        baseline_sha256 = None if self.baseline is None else sha256[self.paths[self.baseline]]
        unchanged = []
        for cell in cells:
            if (cell.sha256, cell.qrels_sha256) != (sha256[cell.path], sha256[self.qrels]):
                continue
            if cell.groups_sha256 not in (None, self.groups_sha256):
                continue
            if baseline_sha256 is None or cell.system == self.baseline:  # there is nothing to compare with
                unchanged.append(replace(cell, comparisons={}, baseline=None, baseline_sha256=None))
            elif (cell.baseline, cell.baseline_sha256) == (self.baseline, baseline_sha256):
                unchanged += [cell] if {*cell.comparisons} == compared else []
        return unchanged

    @cached_property
    def groups_sha256(self) -> str | None:
        """The hash of the group sizes that qrels without qid are read with."""
        try:
            return group_sizes(Source(self.qrels), self.options.groups).sha256()
        except (InputError, OSError):  # there are none, which the evaluation reports if they are needed
            return None

    def evaluated(self, systems: Sequence[str], on_cell: Callable[[Cell], None] | None) -> list[Cell]:
        cells: dict[str, Cell] = {}
        of_baseline: Results | None = None
        features = self.manifest.features

        def add(cell: Cell) -> None:
            if cell.system in systems:
                cells[cell.system] = cell
                if on_cell is not None:
                    on_cell(cell)

        def fail(about: Sequence[str], error: GradevalError) -> None:
            """Add the cells of systems that cannot be evaluated; the errors name a file."""
            name, file = self.collection.name, self.manifest.file
            if isinstance(error, UnsuitableOptionError):
                line = file.line_of(error.option, self.collection.tables.get(error.option, ""))
                error = error.in_file(self.manifest.path, line, f"{name}: ")
            elif not isinstance(error, (InputError, InputErrors)):
                error = InputError(self.manifest.path, f"{name}: {error}")
            for system in about:
                add(self.cell(system, status="failed", errors=tuple(str(error).split("\n"))))

        def on_run(results: Results) -> None:
            nonlocal of_baseline
            for failed in results.failed:
                files = [system for system, path in self.paths.items() if path == failed.path]
                if files := [system for system in files if system not in features]:
                    fail([system for system in files if system not in cells][:1], failed.error)
                elif (feature := failed.path.rpartition(":")[2]) in features:
                    fail([feature], failed.error)
                else:  # the qrels lack features
                    fail([system for system in features if system not in cells], failed.error)
            for run in results.runs:
                if run.name == self.baseline:
                    of_baseline = results
                add(self.done(results, of_baseline))

        exists = {system: system in features or os.path.exists(path) for system, path in self.paths.items()}
        existing = [system for system in systems if exists[system]]
        # with a run, the evaluation reports that there are no qrels
        if existing or self.qrels == "-" or os.path.exists(self.qrels):
            for system in systems:
                if not exists[system]:
                    add(self.cell(system, status="missing"))
        else:
            fail(systems, InputError(self.qrels, "no such file", hint="Check the path"))
        if existing and self.baseline is not None and exists[self.baseline]:
            # it comes first: the others are compared with it as soon as they are evaluated
            existing = list(dict.fromkeys([self.baseline, *existing]))
        numbers = {system: features[system] for system in existing if system in features}
        files = [system for system in existing if system not in features]
        parts: list[tuple[Sequence[str], Runs, Options]] = [
            (files, [(system, self.paths[system]) for system in files], self.options),
            ([*numbers], [(None, self.qrels)], self.options.replace(features=tuple(numbers.values()))),
        ]
        for part, runs, options in reversed(parts) if self.baseline in numbers else parts:
            if not part:
                continue
            try:
                qrels, opened = with_saved(self.qrels, runs)
                judged = [] if options.judged_only else [judged_spec(self.compared, opened)]
                results = evaluate_all(
                    qrels,
                    [(name, _of_one_run(run)) for name, run in opened],
                    self.specs,
                    options,
                    hashes=True,
                    on_run=on_run,
                    keep_values=False,
                    is_part=True,
                    optional=judged,
                    unlisted=[spec for spec in judged if spec not in self.specs],
                )
            except GradevalError as error:  # of the qrels, or of options that do not suit them
                fail(part, error)
                continue
            names = {run.name for run in results.runs}
            # those about several runs are found from the cells
            of_qrels = tuple(notice for notice in results.notices if notice.subject not in {*names, ""})
            for name in names & cells.keys():
                cells[name] = replace(cells[name], notices=(*of_qrels, *cells[name].notices))
        return list(cells.values())

    def done(self, results: Results, of_baseline: Results | None) -> Cell:
        [run] = results.runs
        counts = [run.queries - results.undefined(0, spec) for spec in self.specs]
        means = [results.mean(0, spec) for spec in self.specs]
        values = dict(zip(map(str, self.specs), map(Value, means, counts), strict=True))
        listed = {"", *values}  # not Judged@k, which is evaluated besides
        compared: dict[str, Any] = {}
        if of_baseline is not None and run.name != self.baseline and self.compared:
            both = of_baseline.replace(runs=(*of_baseline.runs, run), notices=())
            pairs = compare_values(QueryValues.of(both, self.compared), TEST).comparisons
            compared = {"baseline": self.baseline, "baseline_sha256": of_baseline.runs[0].sha256}
            compared["comparisons"] = {pair.metric: pair for pair in pairs}
        judged = Judged.of(results)
        return self.cell(
            run.name,
            sha256=run.sha256,
            qrels_sha256=results.qrels_sha256,
            options=self.settings,
            values=values,
            notices=tuple(
                notice.replace(subject=f"{self.collection.name}/{run.name}")
                for notice in results.notices
                if notice.metric in listed or notice.kind is Kind.JUDGED_SHARE
            ),
            groups_sha256=results.groups_sha256,
            ties=run.ties,
            judged={} if judged is None else {judged.name: float(judged.means[0])},
            depths=run.depths,
            **compared,
        )


def _of_one_run(run: Any) -> Any:
    """A saved result as one run, with the hash of its file, by which it is found to be unchanged."""
    if not isinstance(run, SavedResult):
        return run
    if len(run.runs) != 1:
        return FailedRun(run.path, InputError(run.path, f"it has {len(run.runs)} runs, and a system has one"))
    return run.replace(runs=(run.runs[0].replace(sha256=_sha256(run.path)),))


def _sha256(path: str) -> str | None:
    try:
        return Source(path).sha256()
    except (InputError, OSError):  # it is evaluated again, which reports this
        return None

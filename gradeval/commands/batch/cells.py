"""The cells of one collection: those of an earlier output that are unchanged, the others evaluated."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from gradeval.analysis.saved import Runs, evaluate_with_saved, with_saved
from gradeval.arrays.threads import ordered_map
from gradeval.commands.batch.manifest import Collection, Manifest
from gradeval.commands.batch.result import Cell, Key, Value
from gradeval.commands.compare.compare import compare_values
from gradeval.commands.compare.options import CompareOptions
from gradeval.commands.compare.values import Judged, QueryValues, comparable, judged_spec, without_judged
from gradeval.errors import GradevalError, InputError, InputErrors
from gradeval.formats.letor import group_sizes
from gradeval.formats.saved import SavedResult
from gradeval.formats.sources import Source
from gradeval.options import Options
from gradeval.registry.spec import Spec
from gradeval.results import Results
from gradeval.run_result import FailedRun

TEST = CompareOptions(correction="none")  # the p-values are corrected over the whole table


class CollectionCells:
    """The cells of one collection."""

    def __init__(
        self, manifest: Manifest, collection: Collection, specs: Sequence[Spec], baseline: str | None, jobs: int
    ) -> None:
        self.collection, self.specs, self.baseline, self.jobs = collection, specs, baseline, jobs
        self.manifest, self.features = manifest.path, manifest.features
        self.systems = manifest.systems
        self.options = collection.options.replace(jobs=jobs)
        self.compared = without_judged(comparable(specs))

    def path(self, system: str) -> str:
        return self.collection.runs.get(system, self.collection.qrels)

    def exists(self, system: str) -> bool:
        """Whether there is a run, or a file to take the feature of."""
        return system in self.features or os.path.exists(self.path(system))

    def cell(self, system: str, **more: Any) -> Cell:
        return Cell(self.collection.name, system, self.path(system), **more)

    def unchanged(self, earlier: Mapping[Key, Cell]) -> dict[str, Cell]:
        """The earlier cells, by system, that would be the same again."""
        known = {one: earlier[key] for one in self.systems if (key := (self.collection.name, one)) in earlier}
        known = {one: cell for one, cell in known.items() if cell.status == "done" and self.is_same(cell)}
        if not known:
            return {}
        paths = {self.collection.qrels, *map(self.path, known)}
        if self.baseline is not None:
            paths.add(self.path(self.baseline))
        ordered = sorted(paths)
        hashes = dict(zip(ordered, ordered_map(_sha256, ordered, self.jobs), strict=True))
        of_baseline = None if self.baseline is None else hashes[self.path(self.baseline)]
        kept = {
            one: replace(cell, path=self.path(one))
            for one, cell in known.items()
            if cell.sha256 == hashes[self.path(one)]
            and cell.qrels_sha256 == hashes[self.collection.qrels]
            and cell.groups_sha256 in (None, self.groups_sha256())
        }
        if self.baseline is None or of_baseline is None:  # nothing to compare with
            return {one: _alone(cell) for one, cell in kept.items()}
        return {
            one: _alone(cell) if one == self.baseline else cell
            for one, cell in kept.items()
            if one == self.baseline or self.is_compared(cell, of_baseline)
        }

    def groups_sha256(self) -> str | None:
        """The hash of the group sizes that qrels without qid are read with."""
        try:
            return group_sizes(Source(self.collection.qrels), self.options.groups).sha256()
        except (InputError, OSError):  # there are none, which the evaluation reports if they are needed
            return None

    def is_same(self, cell: Cell) -> bool:
        """Whether it was made with these metrics and options."""
        return cell.options == _settings(self.options) and {*map(str, self.specs)} == set(cell.values)

    def is_compared(self, cell: Cell, of_baseline: str) -> bool:
        """Whether it has the comparisons with the baseline, whose hash this is."""
        is_same = (cell.baseline, cell.baseline_sha256) == (self.baseline, of_baseline)
        return is_same and set(cell.comparisons) == {*map(str, self.compared)}

    def cells(
        self,
        systems: Sequence[str],
        watch: Callable[[Source], None] | None,
        on_cell: Callable[[Cell], None] | None,
    ) -> dict[str, Cell]:
        """The cells of these systems, evaluated."""
        found: dict[str, Cell] = {}
        of_baseline: Results | None = None

        def keep(cell: Cell) -> None:
            if cell.system in systems:
                found[cell.system] = cell
                if on_cell is not None:
                    on_cell(cell)

        def on_run(results: Results) -> None:
            nonlocal of_baseline
            for failed in results.failed:
                for system in self.failed_systems(failed, found):
                    keep(self.failed(system, failed.error))
            for run in results.runs:
                if run.name == self.baseline:
                    of_baseline = results
                keep(self.done(results, of_baseline))

        wanted = [one for one in systems if self.exists(one)]
        path = self.collection.qrels
        has_qrels = bool(wanted) or path == "-" or os.path.exists(path)  # with a run, the evaluation reports it
        for system in systems:
            if not has_qrels:
                keep(self.failed(system, InputError(path, "no such file", hint="Check the path")))
            elif system not in wanted:
                keep(self.cell(system, status="missing"))
        if wanted and self.baseline is not None and self.exists(self.baseline):
            # it comes first: the others are compared with it as soon as they are evaluated
            wanted = [self.baseline, *(one for one in wanted if one != self.baseline)]
        for part, runs, options in self._parts(wanted):
            try:
                qrels, opened = with_saved(self.collection.qrels, runs)
                judged = [] if options.judged_only else [judged_spec(self.compared, opened)]
                results = evaluate_with_saved(
                    qrels,
                    [(name, self.single(run)) for name, run in opened],
                    self.specs,
                    options,
                    watch=watch,
                    hashes=True,
                    on_run=on_run,
                    keep_values=False,
                    is_part=True,
                    optional=judged,
                    unlisted=[spec for spec in judged if spec not in self.specs],
                )
            except GradevalError as error:  # of the qrels, or of options that do not suit them
                for system in part:
                    keep(self.failed(system, error))
                continue
            names = {run.name for run in results.runs}
            names_of_runs = {*names, ""}  # what is about several of them is found of the cells
            of_qrels = tuple(one for one in results.notices if one.subject not in names_of_runs)
            for name in names & found.keys():
                found[name] = replace(found[name], notices=(*of_qrels, *found[name].notices))
        return found

    def _parts(self, systems: Sequence[str]) -> list[tuple[Sequence[str], Runs, Options]]:
        """The systems that are files and those that are features, and what is evaluated; the baseline first."""
        files = [one for one in systems if one not in self.features]
        features = [one for one in systems if one in self.features]
        parts: list[tuple[Sequence[str], Runs, Options]] = []
        if files:
            parts.append((files, [(one, self.path(one)) for one in files], self.options))
        if features:
            chosen = self.options.replace(features=tuple(self.features[one] for one in features))
            parts.append((features, [(None, self.collection.qrels)], chosen))
        if features and features[0] == self.baseline:
            parts.reverse()
        return parts

    @staticmethod
    def single(run: Any) -> Any:
        """A saved result as one run, with the hash of its file, by which it is found to be unchanged."""
        if not isinstance(run, SavedResult):
            return run
        if len(run.runs) != 1:
            error = InputError(run.path, f"it has {len(run.runs)} runs, and a system has one")
            return FailedRun(run.path, error)
        return replace(run, runs=(replace(run.runs[0], sha256=_sha256(run.path)),))

    def failed(self, system: str, error: GradevalError) -> Cell:
        """The cell of a system that cannot be evaluated; the errors name a file."""
        if not isinstance(error, (InputError, InputErrors)):
            error = InputError(self.manifest, f"{self.collection.name}: {error}")
        return self.cell(system, status="failed", errors=tuple(str(error).split("\n")))

    def failed_systems(self, failed: FailedRun, found: Mapping[str, Cell]) -> list[str]:
        """The systems that a failure is about: for features that the qrels lack, all of them."""
        by_path = [one for one in self.systems if one not in self.features and self.path(one) == failed.path]
        if by_path:
            return [one for one in by_path if one not in found][:1]
        feature = failed.path.rpartition(":")[2]
        lacking = [one for one in self.features if one not in found]
        return [feature] if feature in self.features else lacking

    def done(self, results: Results, of_baseline: Results | None) -> Cell:
        """The cell of the one run of the results."""
        [run] = results.runs
        values = {
            str(spec): Value(results.mean(0, spec), run.queries - results.undefined(0, spec))
            for spec in self.specs
        }
        comparisons = {}
        if of_baseline is not None and run.name != self.baseline and self.compared:
            both = replace(of_baseline, runs=(*of_baseline.runs, run), notices=())
            pairs = QueryValues.of(both, self.compared)
            comparisons = {one.metric: one for one in compare_values(pairs, TEST).comparisons}
        judged = Judged.of(results)
        place = f"{self.collection.name}/{run.name}"
        return self.cell(
            run.name,
            sha256=run.sha256,
            qrels_sha256=results.qrels_sha256,
            options=_settings(self.options),
            values=values,
            comparisons=comparisons,
            baseline=self.baseline if comparisons else None,
            baseline_sha256=of_baseline.runs[0].sha256 if comparisons and of_baseline is not None else None,
            notices=tuple(replace(one, subject=place) for one in results.notices),
            groups_sha256=results.groups_sha256,
            judged={} if judged is None else {judged.name: float(judged.means[0])},
            depth=run.depth,
        )


def _alone(cell: Cell) -> Cell:
    """The cell without comparisons."""
    return replace(cell, comparisons={}, baseline=None, baseline_sha256=None)


def _settings(options: Options) -> dict[str, Any]:
    """What decides the values, as in JSON."""
    given = {name: of for name, of in options.to_dict().items() if name != "features"}
    settings: dict[str, Any] = json.loads(json.dumps(given))  # tuples are lists there
    return settings


def _sha256(path: str) -> str | None:
    try:
        return Source(path).sha256()
    except (InputError, OSError):  # it is evaluated again, which reports this
        return None

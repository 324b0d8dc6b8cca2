"""Qrels × runs × metrics → Results: what commands and the functions for Python share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from gradeval.arrays import Bools, cached_property
from gradeval.arrays.threads import default_jobs, forked_map, ordered_map
from gradeval.errors import GradevalError, InputError, InputErrors, MetricError, OptionError, described
from gradeval.evaluation.caveats import (
    Facts,
    LaterCaveats,
    Outcome,
    Together,
    caveats_of_all,
    separability,
)
from gradeval.evaluation.outcome import Evaluated, ReducedRun, check_common, without_relevant
from gradeval.evaluation.outcome import evaluate as evaluate_run
from gradeval.evaluation.plan import EvaluationSetting, Plan
from gradeval.evaluation.results import FailedRun, Results, RunResult, Runs, SavedResult
from gradeval.evaluation.runs import check_labels, names_by_path, path_of
from gradeval.evaluation.score import check_expected
from gradeval.formats.sources import Source, Watch
from gradeval.notices import Notices
from gradeval.options import EXPECTED, with_read
from gradeval.records import Record
from gradeval.registry.spec import Spec
from gradeval.tables import load
from gradeval.tables.load import Run
from gradeval.tables.qrels import grade_of_bounds

if TYPE_CHECKING:
    from gradeval.tables.ranking import Wanted


OnErrors = Literal["raise", "keep"]
"""What is done where a run cannot be evaluated."""


def evaluate_all(
    plan: Plan, qrels: Any, runs: Runs, on_run: Callable[[Results], None] | None = None
) -> Results:
    """The results of (name, run) pairs as with_saved() returns them; a run that cannot be evaluated is in
    Results.failed, next to the others. on_run: is shown the results of each run, in order, as soon as they are
    known. Raises GradevalError for the qrels or the options.
    """
    options = plan.options
    is_evaluated_here = not any(isinstance(run, (SavedResult, FailedRun)) for _, run in runs)
    if is_evaluated_here and not plan.is_part:
        load.check_inputs(load.inputs_of([qrels], runs), options)
    if any(isinstance(run, SavedResult) for _, run in runs):
        plan = plan.replace(hashes=True)  # which show that it was made from the same files
    plan = plan.replace(names_responses=load.names_responses(runs, options))
    keeps_values = plan.keeps_values or options.interval is not None
    results = Evaluation(plan, qrels).results(runs, on_run, keeps_values)
    return results.replace(given_notices=Notices((*results.notices, *separability(results, options))))


def check_errors(errors: OnErrors) -> None:
    if errors not in ("raise", "keep"):
        raise OptionError(f"errors must be raise or keep, not {described(errors)}")


def accepted(results: Results, errors: OnErrors) -> Results:
    """The results, with 'keep' even where some of the runs failed; else raises the error of the first."""
    return results if errors == "keep" and results.runs else complete(results)


def complete(results: Results) -> Results:
    """The results if all runs could be evaluated; raises the error of the first that could not."""
    for failed in results.failed:
        raise failed.error
    return results


def joined_errors(failed: Iterable[FailedRun], consequence: InputError) -> InputErrors:
    """The errors of runs, and what cannot be done for them."""
    problems = list[InputError]()
    for of_run in failed:
        for error in getattr(of_run.error, "errors", [of_run.error]):
            problems.append(error if isinstance(error, InputError) else InputError(of_run.path, str(error)))
    problems.append(consequence)
    return InputErrors(problems, len(problems))


_ENDED = "a process that evaluates runs has ended, and so it was not evaluated"
_WORTH_PROCESSES = 1 << 23  # bytes besides the largest run; fewer are read before processes have begun


def _check_unjudged(specs: Sequence[Spec]) -> None:
    """Raise MetricError for a metric of condensed lists, as for the option judged_only."""
    for spec in specs:
        if spec.params.get("judged_only"):
            message = (
                "judged_only removes the unjudged documents, which --unjudged-grade (unjudged_grade=) grades"
            )
            raise MetricError(f"{spec}: {message}. Leave out one of them")


class Evaluation:
    """Runs are evaluated by a plan, with judgments that are read once."""

    def __init__(self, plan: Plan, qrels: Any) -> None:
        plan = plan.with_files()
        options = plan.options
        if options.ties == EXPECTED:
            check_expected(plan.specs)
        self.jobs = options.jobs or default_jobs()
        self._judged = load.open_qrels(qrels, options, plan.hashes or plan.hashes_qrels)
        self.qrels = self._judged.qrels
        plan = plan.replace(options=load.with_all_features(options, self._judged))
        self.plan = plan.judged_by(self.qrels)
        if options.bounds:
            from gradeval.evaluation.bounds import check_bounds  # which few need

            check_bounds(self.plan.metrics)
        if options.unjudged_grade is not None:
            _check_unjudged(self.plan.specs)
        self.setting = EvaluationSetting.of(self.plan, self.qrels)  # an error before runs are read
        self._wanted: Wanted | None = None
        if plan.keeps_unjudged:
            from gradeval.evaluation.pairs import wanted_of  # which few need

            self._wanted = wanted_of(self.plan.specs, self.plan.options)
            grade_of_bounds(self.qrels.scale, options)  # an error before runs are read
        self.without_runs = self._results()

    def _results(self) -> Results:
        """The results of no runs."""
        plan = self.plan
        source = self._judged.source
        groups = self._judged.letor.groups if self._judged.letor else None
        hashes = plan.hashes or plan.hashes_qrels
        return Results(
            self.qrels.path,
            source.sha256() if hashes and source else None,
            self.setting.queries,
            plan.specs,
            (),
            options=with_read(plan.options.to_dict(), self._judged.read_with),
            groups_sha256=groups.sha256() if hashes and groups else None,
            chosen=int(self.setting.chosen.sum()),
            setting=self.setting if plan.keeps_unjudged else None,
        )

    @cached_property
    def _empty(self) -> Bools:
        """That of without_relevant()."""
        return without_relevant(self.qrels, self.plan.specs, self.plan.options, self.jobs)

    def results(
        self, runs: Runs, on_run: Callable[[Results], None] | None = None, keeps_values: bool = True
    ) -> Results:
        """on_run, keeps_values: as of Evaluator.evaluate_each()."""
        collected = Collected(self, keeps_values)
        facts: list[Facts] = []
        for outcome in self._outcomes(runs):
            part = collected.add(outcome)
            if isinstance(outcome, Outcome):
                facts.append(outcome.facts)
                part = part.replace(given_notices=outcome.facts.notices)
            if on_run is not None:
                on_run(part)
        return collected.results().replace(given_notices=caveats_of_all(facts, collected.together()))

    def kept(self, runs: Runs) -> tuple[Results, list[Evaluated]]:
        """The results, whose notices are found on first access, and the runs as they were evaluated."""
        collected = Collected(self)
        outcomes: list[Outcome | Evaluated] = []
        waiting = self._waiting(runs)
        for outcome in ordered_map(
            partial(self._evaluated, waiting.jobs), self._opened(waiting), waiting.at_once
        ):
            collected.add(outcome)
            if not isinstance(outcome, FailedRun):
                outcomes.append(outcome)
        later = LaterCaveats(outcomes, collected.together(), self.jobs)
        evaluated = [outcome for outcome in outcomes if isinstance(outcome, Evaluated)]
        return collected.results().replace(later=later), evaluated

    def _outcomes(self, runs: Runs) -> Iterator[Outcome | FailedRun]:
        """What is found of each run, in order. Runs are evaluated by processes where these may be made."""
        waiting = self._waiting(runs)
        evaluate = partial(self._outcome, waiting.jobs)
        processes = min(self.jobs, len(runs))

        def in_process(position: int, tell: Callable[[int, int], None]) -> list[Outcome | FailedRun]:
            waiting.watched_by(tell)
            threads = -(-waiting.at_once // processes)  # a file may have several runs
            return [*ordered_map(evaluate, self._opened_runs(waiting, position), threads)]

        if processes > 1 and waiting.are_worth_processes:
            by_process = forked_map(in_process, len(runs), processes, waiting.watch)
            if by_process is not None:
                return chain.from_iterable(
                    # None from a process that has ended
                    waiting.unfinished(position) if outcomes is None else outcomes
                    for position, outcomes in enumerate(by_process)
                )
        return ordered_map(evaluate, self._opened(waiting), waiting.at_once)

    def _waiting(self, runs: Runs) -> _Waiting:
        options = self.plan.options
        runs = load.with_feature_runs(runs, self._judged, options)
        check_labels(runs)
        checked = [(label, self._checked(run)) for label, run in runs]
        features = [load.are_features(run, self._judged, options) for _, run in checked]
        names = names_by_path(checked, options, features)
        at_once = max(1, min(self.jobs, sum(map(len, names))))
        return _Waiting(checked, names, at_once, self.jobs // at_once)

    def _checked(self, run: Any) -> Any:
        """The run, or a FailedRun for a saved result that was made otherwise than runs are evaluated here."""
        if not isinstance(run, SavedResult):
            return run
        from gradeval.evaluation.saved import check_made_alike

        try:
            check_made_alike(run, self.without_runs, self.plan)
        except GradevalError as error:
            return FailedRun(run.path, error)
        return run

    def _opened(self, waiting: _Waiting) -> Iterator[_Opened]:
        """All runs that wait, opened one after the other."""
        for position in range(len(waiting.runs)):
            yield from self._opened_runs(waiting, position)

    def _opened_runs(self, waiting: _Waiting, position: int) -> Sequence[_Opened]:
        """A run, or those of a file."""
        label, run = waiting.runs[position]
        name_by_path = waiting.names[position]
        if isinstance(run, FailedRun):
            return [run]
        first_path = next(iter(name_by_path))
        first_name = name_by_path[first_path]
        try:
            if isinstance(run, SavedResult):
                from gradeval.evaluation.saved import outcomes_of_saved

                return outcomes_of_saved(run, [*name_by_path.values()], self.setting, self._empty)
            several = load.open_runs(
                label,
                run,
                self._judged,
                self.plan.options,
                self.plan.hashes,
                position=position + 1,
                as_trec_eval=self.plan.as_trec_eval,
            )
        except GradevalError as error:
            return [FailedRun(path_of(run, first_path), error)]
        return [
            (name_by_path.get(opened.path, first_name), opened)
            if isinstance(opened, Run)
            else FailedRun(path_of(run, opened.path), opened)
            for opened in several
        ]

    def _outcome(self, jobs: int, opened: _Opened) -> Outcome | FailedRun:
        evaluated = self._evaluated(jobs, opened)
        if not isinstance(evaluated, Evaluated):
            return evaluated
        try:
            return Outcome.of(evaluated)
        except GradevalError as error:
            return FailedRun(evaluated.result.path, error)

    def _evaluated(self, jobs: int, opened: _Opened) -> Evaluated | Outcome | FailedRun:
        if isinstance(opened, (Outcome, FailedRun)):
            return opened
        name, run = opened
        try:
            reduced = run.reduce(self.qrels, jobs, self._wanted)
            check_common(run, reduced, self.qrels, self.setting.chosen)
            tag = reduced.tag or run.name or run.short_name or run.path
            reduced_run = ReducedRun(name, run.path, run.ties, reduced, tag, run.read_with)
            evaluated = evaluate_run(self.setting, reduced_run, jobs)
            if self.plan.hashes and run.source is not None:
                evaluated = evaluated.with_result(sha256=run.source.sha256())
            if self._wanted is not None:
                evaluated = evaluated.with_result(reduced=reduced)
        except GradevalError as error:
            return FailedRun(run.path, error)
        return evaluated


_Opened = tuple[str, Run] | Outcome | FailedRun
"""A run with its name, or what is known of it already."""


class _Waiting(Record, eq=False):
    """Runs to open and evaluate."""

    runs: Runs
    names: Sequence[dict[str, str]]  # of the expected runs of each, by path
    at_once: int  # how many are evaluated at the same time
    jobs: int  # threads for each

    @property
    def are_worth_processes(self) -> bool:
        if any(isinstance(run, Source) and run.is_pipe for _, run in self.runs):
            return False  # one may be read again, and what a process has read of it is lost
        sizes = sorted(load.stored_size(run) for _, run in self.runs)
        return sum(sizes[:-1]) >= _WORTH_PROCESSES

    @property
    def watch(self) -> Watch | None:
        """What watches the runs while they are read, if anything does."""
        return next((run.watch for _, run in self.runs if isinstance(run, Source)), None)

    def watched_by(self, tell: Watch) -> None:
        """Tell this, in a process of its own, what is read of runs that are watched."""
        for _, run in self.runs:
            if isinstance(run, Source) and run.watch is not None:
                run.watch = tell

    def unfinished(self, position: int) -> Sequence[FailedRun]:
        """The run, or those of a file, whose process has ended."""
        run = self.runs[position][1]
        if isinstance(run, FailedRun):
            return [run]
        hint = "Where memory is short, --jobs 1 takes less of it"
        errors = [InputError(path, _ENDED, hint=hint) for path in self.names[position]]
        return [FailedRun(error.path, error) for error in errors]


class Collected:
    """What is kept of the runs of an evaluation, in their order."""

    def __init__(self, evaluation: Evaluation, keeps_values: bool = True) -> None:
        self._without_runs = evaluation.without_runs
        self._setting = evaluation.setting
        self._keeps_values = keeps_values
        self._runs: list[RunResult] = []
        self._failed: list[FailedRun] = []
        self._counted = np.zeros(len(evaluation.setting.chosen), np.bool_)  # by any run, (Q,)
        self._empty: Bools | None = None

    def add(self, outcome: Outcome | Evaluated | FailedRun) -> Results:
        """The results of this run alone, with its values."""
        if isinstance(outcome, FailedRun):
            self._failed.append(outcome)
            return self._without_runs.replace(failed=(outcome,))
        self._counted |= outcome.result.counted
        # the same of each run, unless the unjudged documents that it retrieves have a grade
        self._empty = outcome.empty if self._empty is None else self._empty | outcome.empty
        part = self._without_runs.replace(runs=(outcome.result,))
        self._runs += (part if self._keeps_values else part.summarized()).runs
        return part

    def results(self) -> Results:
        of_runs = {"runs": tuple(self._runs), "failed": tuple(self._failed)}
        return self._without_runs.replace(**of_runs, without_relevant=self._empty)

    def together(self) -> Together:
        depths = [(run.name, run.depths) for run in self._runs]
        return Together(self._setting, depths, self._counted, self._empty)

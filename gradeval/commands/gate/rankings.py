"""What checks of rankings need: their measures, and the values of the run against the baseline's rankings."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from gradeval.arrays import Floats, Ints
from gradeval.commands.compare.coverage import Coverage
from gradeval.commands.diff.options import DiffOptions
from gradeval.commands.diff.rankings import OVERLAPS, DiffedRuns, compare_rankings
from gradeval.errors import OptionError
from gradeval.file_formats import LabelledRun
from gradeval.notices import NoticeKind, Notices
from gradeval.options import Options
from gradeval.registry.spec import nearest

RBO = "RBO"
_NAMES = {name.lower(): name for name in (RBO, *OVERLAPS, "same", "same_set")}
_DEFAULTS = DiffOptions()
_CUTOFFS = r"[1-9]\d{0,8}(,[1-9]\d{0,8})*"


def ranking_measures(text: str) -> list[str]:
    """The canonical names of measures of rankings, such as 'RBO overlap@5,10'; none where the first word is
    another. Raises OptionError.
    """
    measures: list[str] = []
    for word in text.split():
        name, _, cutoffs = word.partition("@")
        measure = _NAMES.get(name.lower())
        if name.lower().startswith("rbo("):
            raise OptionError(f"{word}: a gate computes RBO with p = {_DEFAULTS.p:g}, without parameters")
        if measure is None and not measures:
            return []
        if measure is None or (measure == RBO and cutoffs):
            raise OptionError(f"{word} is not a measure of rankings: these are RBO, {', '.join(_at_10())}")
        if measure != RBO and not re.fullmatch(_CUTOFFS, cutoffs):
            raise OptionError(f"{word} needs a number of first ranks, as in {measure}@10")
        measures += [f"{measure}@{k}" for k in cutoffs.split(",")] if cutoffs else [measure]
    return measures


def nearest_measure(text: str) -> str:
    """The measure of rankings whose name the first word is spelled like, with its cutoff; '' for none."""
    name, at, cutoffs = text.split()[0].partition("@")
    near = nearest(name.lower(), _NAMES)
    return f"{_NAMES[near]}{at}{cutoffs}" if near else ""


def _at_10() -> list[str]:
    return [f"{name}@10" for name in _NAMES.values() if name != RBO]


def completed_measures() -> dict[str, str]:
    """Names to complete in checks, with what they are."""
    about = "a measure of rankings, against the baseline's"
    return dict.fromkeys([RBO, *_at_10()], about)


class RankingValues(NamedTuple):
    """A run against the rankings of its baseline."""

    queries: Sequence[str]  # in both
    values: Mapping[str, Floats]  # of each measure, (Q,)
    coverage: tuple[Coverage, Coverage]  # how many of the baseline's queries the run has, and itself
    missing: Sequence[str]  # those that it lacks
    notices: Notices

    @classmethod
    def of(
        cls,
        run: LabelledRun,
        baseline: LabelledRun,
        measures: Sequence[str],
        options: Options,
    ) -> RankingValues:
        """Raises GradevalError for either run."""
        cutoffs = [int(measure.partition("@")[2]) for measure in measures if measure != RBO] or [10]
        depth = max(DiffOptions.table["diff_depth"].default, *cutoffs)
        settings = DiffOptions(k=cutoffs, diff_depth=depth)
        compared = compare_rankings(DiffedRuns(baseline, [run]).opened(), settings, options)
        for failed in compared.failed:
            raise failed.error
        [new], old, chosen = compared.runs, compared.baseline, compared.chosen
        in_both = chosen[new.in_both[chosen]]
        total = len(chosen)
        unit = "queries of the baseline"
        return cls(
            [old.queries[q] for q in in_both.tolist()],
            {name: values[in_both] for name, values in zip(new.measures, new.values, strict=True)},
            (
                Coverage(new.name, new.path, len(in_both), total, unit),
                Coverage(old.name, old.qrels.path, total, total, unit),
            ),
            [old.queries[q] for q in chosen[~new.in_both[chosen]].tolist()],
            Notices((*old.notices.renamed(old.name), *new.notices.renamed(new.name))).without(
                NoticeKind.UNJUDGED
            ),
        )

    def taken(self, positions: Ints, group: str, ids: Collection[str]) -> RankingValues:
        """Those of a group of queries. positions: of those that it has. ids: of all of them."""
        queries = [self.queries[q] for q in positions.tolist()]
        missing = [query for query in self.missing if query in ids]
        new, old = self.coverage
        total = len(queries) + len(missing)
        unit = f"{new.unit} in {group}"
        return self._replace(
            queries=queries,
            values={name: column[positions] for name, column in self.values.items()},
            coverage=(new._replace(queries=len(queries), judged_queries=total, unit=unit), old),
            missing=missing,
        )

    def means(self, measures: Iterable[str]) -> list[dict[str, Any]]:
        """The means of the measures, as members of lines of a history."""
        return [
            {
                "run": self.coverage[0].name,
                "metric": measure,
                "value": float(self.values[measure].mean()),
                "n": len(self.queries),
            }
            for measure in dict.fromkeys(measures)
        ]

"""How to compare runs: a table of options, as gradeval.options has those of evaluations.

Nothing here imports numpy: the command's --help needs the names and the defaults.
"""

import math
import os
from collections.abc import Iterable, Mapping
from typing import Any

from gradeval import options as opts
from gradeval.errors import OptionError, described

ALL = "all"  # stands in the place of a group for all queries
TUKEY = "tukey"
MAXT = "maxt"
TESTS = ("t", "randomization", "bootstrap", "wilcoxon", "sign", TUKEY)
WEIGHTED_TESTS = ("t", "randomization", "bootstrap")  # those that weigh queries
CORRECTIONS = ("holm", "bonferroni", "bh", MAXT, "none")
RANDOM_TESTS = ("randomization", "bootstrap", TUKEY)  # those that may draw samples
FEW_RUNS = 6  # of all pairs of more runs, letters say which are alike, and the pairs are printed if asked for
EXPLAINED = 250  # queries of a report, by default
MIN_COVERAGE = 50.0  # percent of the judged queries that a run needs to be tested
SUMS = "sums"  # a scope: a t-test from sums alone has it too

Groups = tuple[tuple[str, tuple[str, ...]], ...]  # (group, query ids) of each group


class GroupsOfFile(tuple[tuple[str, tuple[str, ...]], ...]):
    """Groups, and where they are from."""

    path: str  # of their file, 'groups' without one


COMPARISON, FURTHER = "Comparison", "Further output"  # headings of the help


def _is_run(value: object) -> bool:
    return isinstance(value, (str, int)) and not isinstance(value, bool)


def _is_series(value: object) -> bool:
    """Whether it is a series of pandas, {index: value}."""
    return hasattr(value, "items") and getattr(value, "ndim", 0) == 1


def _read_groups(option: str, by: Any) -> Groups:
    groups: dict[str, list[str]] = {}
    try:
        if by is None or isinstance(by, GroupsOfFile):
            return by or ()
        if isinstance(by, Mapping) or _is_series(by):
            for query, names in by.items():
                if names is None or (isinstance(names, float) and math.isnan(names)):  # as pandas has no group
                    continue
                for name in names if isinstance(names, (list, tuple, set, frozenset)) else [names]:
                    groups.setdefault(str(name), []).append(opts.as_text(query))
        elif isinstance(by, (str, bytes, os.PathLike)):
            from gradeval.formats.lines import read_groups  # only where it is needed: it imports numpy
            from gradeval.formats.sources import Source

            groups = read_groups(Source(os.fsdecode(by)))
        elif isinstance(by, Iterable):
            groups = {str(name): [opts.as_text(query) for query in queries] for name, queries in by}
        else:
            raise TypeError
    except (TypeError, ValueError):
        forms = "a path, {query: group}, a series of pandas or (group, queries) pairs"
        message = f"{option} must be {forms}, not {described(by)}"
        raise OptionError(message) from None
    read = GroupsOfFile((name, tuple(dict.fromkeys(queries))) for name, queries in groups.items())
    read.path = os.fsdecode(by) if isinstance(by, (str, bytes, os.PathLike)) else "groups"
    return read


Systems = tuple[tuple[str, str], ...]  # (run, system) of each run that is a replicate


def _read_systems(option: str, systems: Any) -> Systems:
    if systems is None:
        return ()
    if isinstance(systems, (str, bytes, os.PathLike)):
        from gradeval.formats.lines import read_run_groups  # only where it is needed: it imports numpy
        from gradeval.formats.sources import Source

        systems = read_run_groups(Source(os.fsdecode(systems)), "system")
    if not (isinstance(systems, Mapping) or _is_series(systems)):
        raise OptionError(f"{option} must be a path or {{run: system}}, not {described(systems)}")
    return tuple((str(run), str(system)) for run, system in systems.items())


GROUPED = f"{opts.PATH} | Mapping[Any, Any] | Iterable[tuple[object, Iterable[object]]]"
_comparison, _further = opts.section(COMPARISON), opts.section(FURTHER)


class CompareOptions(opts.OptionTable, init=False):
    """How to compare runs."""

    baseline: str | int | None = _comparison(
        opts.OptionKind(
            "run", opts.must_be("the name or position of a run", _is_run), "str | int", metavar="RUN"
        ),
        "The run to compare with, a file or a name. Default: the first.",
        scope={SUMS},
        python="the run that the others are compared with, by name or position; None: the first",
    )
    all_pairs: bool = _comparison(opts.FLAG, "Compare every run with every other.", scope={SUMS})
    test: str = _comparison(
        opts.choice(*TESTS, listed=True),
        "Paired t-test; randomization test by sign flips; bootstrap interval (BCa), which has no p-value; "
        "Wilcoxon signed-rank test; sign test; or, with --all-pairs, the randomized Tukey HSD test.",
        default="t",
        python=f"the test, one of {', '.join(map(repr, TESTS))}",
    )
    correction: str | None = _comparison(
        opts.choice(*CORRECTIONS, listed=True),
        "Of p for the number of comparisons (runs × metrics): Holm, Bonferroni and maxT for the "
        "family-wise error rate, Benjamini-Hochberg (bh) for the false discovery rate. Default: holm.",
        scope={SUMS},
        python=f"of the p-values, one of {', '.join(map(repr, CORRECTIONS))}; None: 'holm', or 'none' for "
        "Tukey's test and the bootstrap, which have no p-values to correct",
    )
    confidence: float = _comparison(
        opts.PERCENTAGE,
        "Of the intervals; significant is p below what is left of 100. Default: 95.",
        default=95.0,
        scope={SUMS},
        python="of the intervals, in percent; the significance level alpha is what is left of 100 %",
    )
    min_coverage: float = _comparison(
        opts.percentage(0, 100),
        "Do not test runs with fewer of the judged queries than this: no p, no marks, not in the family of the "
        "correction. 0 tests all. Default: 50.",
        default=MIN_COVERAGE,
        scope={SUMS},
        before=0.0,
        python="runs with fewer of the judged queries than this percentage are not tested: they have no p, and "
        "are not in the family of the correction; 0 tests all",
    )
    samples: int = _comparison(
        opts.integer(100, 10**8),
        "Random sign flips, resamples or permutations. Default: 100000.",
        default=100_000,
        python="random sign flips, resamples or permutations",
    )
    seed: int = _comparison(
        opts.integer(0, 2**63 - 1), "Of these. Default: 1.", default=1, python="of the random samples"
    )
    by: Groups = _further(
        opts.OptionKind("path", _read_groups, GROUPED, metavar="FILE"),
        "Repeat for each group: 'query TAB group' lines.",
        default=(),
        python="groups of queries to repeat the comparison for: a file, {query: group or groups}, a series of "
        "pandas with the query ids as its index, or (group, queries) pairs",
    )
    replicates: Systems = _further(
        opts.OptionKind("path", _read_systems, f"{opts.PATH} | Mapping[str, str]", metavar="FILE"),
        "Runs that are replicates of a system, such as seeds of a training: 'run TAB system' lines. Systems "
        "are compared by the mean of their runs for each query.",
        default=(),
        python="runs that are replicates of a system: a file, or {run: system}; systems are compared by the "
        "mean of their runs for each query",
    )
    sort: str | None = _further(
        opts.OptionKind(
            "metric",
            opts.must_be("the name of a metric", lambda value: isinstance(value, str)),
            "str",
            metavar="METRIC",
        ),
        "Order the runs by the mean of this metric, the best first; -METRIC reverses the order. The baseline "
        "stays the same.",
        python="the metric by whose mean the runs are ordered, the best first, or with '-' before its name the "
        "worst; None: as given",
    )
    worst: int = _further(opts.integer(0, 10**6), "The N queries that lost most.", default=0)
    best: int = _further(opts.integer(0, 10**6), "The N queries that gained most.", default=0)
    bounds: bool = _further(
        opts.FLAG,
        "The lowest and the highest difference that judgments of the unjudged documents retrieved could give.",
    )
    power: bool = _further(opts.FLAG, "The smallest difference that could have been shown, and queries needed.")
    anova: bool = _further(opts.FLAG, "Two-way analysis of variance, system by query, and its effect sizes.")
    jobs: int = opts.Options.table["jobs"]  # type: ignore[assignment]

    def _check_combination(self) -> None:
        if any(group == ALL for group, _ in self.by):
            raise OptionError(f"a group of queries is named '{ALL}', which stands for all queries. Rename it")
        if self.all_pairs and self.baseline is not None:
            raise OptionError("baseline and all_pairs are mutually exclusive", "baseline", "all_pairs")
        if self.bounds and self.replicates:
            reason = "bounds are of differences of runs"
            raise OptionError(f"bounds and replicates are mutually exclusive: {reason}", "bounds", "replicates")
        if self.test == TUKEY and not self.all_pairs:
            raise OptionError("Tukey's test is of all pairs of runs. Add --all-pairs (all_pairs=True)")
        if self.test in (TUKEY, "bootstrap") and self.correction not in (None, "none"):
            reason = "the bootstrap has no p-values, and those of Tukey's test are already corrected"
            raise OptionError(f"{reason}. Leave out the correction")
        if self.correction == MAXT and self.test not in ("t", "randomization"):
            raise OptionError(f"the maxT correction requires --test t or randomization, not {self.test}")

    def check_weights(self) -> None:
        """Raise OptionError for what has no weights of queries."""
        instead = "evaluate without query_weights (--query-weights)"
        if self.test not in WEIGHTED_TESTS:
            weighted = f"Choose --test {', '.join(WEIGHTED_TESTS[:-1])} or {WEIGHTED_TESTS[-1]}"
            raise OptionError(f"the test {self.test} has no weights of queries. {weighted}, or {instead}")
        if self.anova:
            reason = "the analysis of variance has no weights of queries"
            raise OptionError(f"{reason}. Leave out --anova (anova=True), or {instead}")

    @property
    def used_correction(self) -> str:
        """The correction that is applied, 'none' where there is nothing to correct."""
        if self.test in (TUKEY, "bootstrap"):
            return "none"
        return self.correction or "holm"

    @property
    def alpha(self) -> float:
        """The significance level."""
        return (100 - self.confidence) / 100

    def to_dict(self) -> dict[str, object]:
        """The options that decide the numbers, as JSON types."""
        values = {name: getattr(self, name) for name, row in self.table.items() if row.section == COMPARISON}
        del values["correction"]
        return {**values, "correction": self.used_correction, "alpha": self.alpha}


OF_SUMS = CompareOptions.rows(within=SUMS)  # of a t-test from sums alone
COMPARED = {**CompareOptions.table, **opts.OF_WEIGHTED_RUNS}  # of functions that evaluate and compare


def split_options(options: Mapping[str, Any]) -> tuple[CompareOptions, opts.Options]:
    """How to compare, and how to evaluate; jobs belongs to both. Raises OptionError."""
    opts.check_known(options, list(COMPARED))
    compared_as = CompareOptions.of(options)
    evaluated_as = opts.Options.of(options, without=("confidence", "bounds"))
    if evaluated_as.query_weights is not None:
        compared_as.check_weights()
    return compared_as, evaluated_as

"""How to compare runs: every option, its default and its range, for the command line and for Python.

Nothing here imports numpy: the command's --help needs the names and the defaults.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from numbers import Integral, Real
from typing import Any

from gradeval.errors import OptionError, described
from gradeval.options import Options, check_known

ALL = "all"  # stands in the place of a group for all queries
TUKEY = "tukey"
MAXT = "maxt"
TESTS = ("t", "randomization", "bootstrap", "wilcoxon", "sign", TUKEY)
CORRECTIONS = ("holm", "bonferroni", "bh", MAXT, "none")
RANDOM_TESTS = ("randomization", "bootstrap", TUKEY)  # those that may draw samples
OF_SUMS = ("baseline", "all_pairs", "correction", "confidence")  # options of a t-test from sums alone
RANGES = {
    "samples": (100, 10**8),
    "seed": (0, 2**63 - 1),
    "worst": (0, 10**6),
    "best": (0, 10**6),
    "jobs": (0, 1000),
}
CONFIDENCE = (50.0, 99.9999)
EXPLAINED = 250  # queries of a report, by default

Groups = tuple[tuple[str, tuple[str, ...]], ...]
"""(group, query ids) of each group."""


@dataclass(frozen=True, kw_only=True)
class CompareOptions:
    """How to compare runs. Raises OptionError for a value of the wrong type or out of range.

    baseline: the run that the others are compared with, by name or position (None: the first). all_pairs:
    every run with every other instead. test: one of TESTS. correction: one of CORRECTIONS (None: holm; Tukey's
    test and the bootstrap, which have no p-values to correct, take none). confidence: of the intervals, in
    percent; the significance level alpha is what is left of 100 %. samples, seed: of random tests. by: groups
    of queries to repeat the comparison for. worst, best: how many of the queries with the largest changes to
    list. power: what difference could have been shown. anova: the two-way analysis of variance. jobs: threads
    (0: as many as there are processors).
    """

    baseline: str | int | None = None
    all_pairs: bool = False
    test: str = "t"
    correction: str | None = None
    confidence: float = 95.0
    samples: int = 100_000
    seed: int = 1
    by: Groups = ()
    worst: int = 0
    best: int = 0
    power: bool = False
    anova: bool = False
    jobs: int = 0

    def __post_init__(self) -> None:
        for name in ("all_pairs", "power", "anova"):
            if not isinstance(getattr(self, name), bool):
                raise OptionError(f"{name} must be true or false, not {described(getattr(self, name))}")
        for name, (least, most) in RANGES.items():
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
                raise OptionError(f"{name} must be an integer from {least} to {most}, not {described(value)}")
        _check_choice("test", self.test, TESTS)
        if self.correction is not None:
            _check_choice("correction", self.correction, CORRECTIONS)
        if not isinstance(self.confidence, float) or not CONFIDENCE[0] <= self.confidence <= CONFIDENCE[1]:
            low, high = CONFIDENCE
            raise OptionError(
                f"confidence must be a percentage from {low:g} to {high:g}, not {described(self.confidence)}"
            )
        if self.baseline is not None and (
            not isinstance(self.baseline, (str, int)) or isinstance(self.baseline, bool)
        ):
            raise OptionError(f"baseline must be the name or position of a run, not {described(self.baseline)}")
        if any(group == ALL for group, _ in self.by):
            raise OptionError(f"a group of queries is named '{ALL}', which stands for all queries. Rename it")
        self._check_combination()

    def _check_combination(self) -> None:
        if self.all_pairs and self.baseline is not None:
            raise OptionError("baseline and all_pairs are mutually exclusive")
        if self.test == TUKEY and not self.all_pairs:
            raise OptionError("Tukey's test is of all pairs of runs. Add --all-pairs (all_pairs=True)")
        if self.test == TUKEY and self.correction not in (None, "none"):
            raise OptionError("the p-values of Tukey's test are already corrected. Leave out the correction")
        if self.test == "bootstrap" and self.correction not in (None, "none"):
            raise OptionError("the bootstrap has intervals and no p-values. Leave out the correction")
        if self.correction == MAXT and self.test not in ("t", "randomization"):
            raise OptionError(f"the maxT correction requires --test t or randomization, not {self.test}")

    @classmethod
    def of(cls, **given: Any) -> CompareOptions:
        """Options from what a Python caller writes. by: a file, {query: group or groups}, or pairs."""
        check_known(given, [field.name for field in fields(cls)])
        return cls(**{name: _read(name, value) for name, value in given.items()})

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
        """What decides the numbers, as JSON can hold it."""
        names = ("baseline", "all_pairs", "test", "confidence", "samples", "seed")
        given = {name: getattr(self, name) for name in names}
        return {**given, "correction": self.used_correction, "alpha": self.alpha}


def _check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    if not isinstance(value, str) or value not in choices:
        raise OptionError(f"{name} must be one of {', '.join(choices)}, not {described(value)}")


def _read(name: str, value: Any) -> Any:
    """What a Python caller gave, as the option holds it; it may be any object."""
    if name == "by":
        return _groups(value)
    if type(value).__name__.startswith("bool"):
        return bool(value)
    if name == "confidence" and isinstance(value, Real):
        return float(value)
    return int(value) if isinstance(value, Integral) else value


def _groups(by: Any) -> Groups:
    if by is None or by == ():
        return ()
    groups: dict[str, list[str]] = {}
    try:
        if isinstance(by, Mapping):
            for query, names in by.items():
                several = names if isinstance(names, (list, tuple, set, frozenset)) else [names]
                for name in several:
                    groups.setdefault(str(name), []).append(_id(query))
        elif isinstance(by, (str, bytes, os.PathLike)):
            groups = _read_file(by)
        elif isinstance(by, Iterable):
            groups = {str(name): [_id(query) for query in queries] for name, queries in by}
        else:
            raise TypeError
    except (TypeError, ValueError):
        what = f"by must be a path, {{query: group}} or (group, queries) pairs, not {described(by)}"
        raise OptionError(what) from None
    return tuple((name, tuple(dict.fromkeys(queries))) for name, queries in groups.items())


def _read_file(path: str | bytes | os.PathLike[Any]) -> dict[str, list[str]]:
    from gradeval.formats.groups import read_groups  # only where it is needed: it imports numpy
    from gradeval.formats.sources import Source

    return read_groups(Source(os.fsdecode(path)))


def _id(query: Any) -> str:
    return query.decode("utf-8", "surrogateescape") if isinstance(query, bytes) else str(query)


def split_options(given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Those of CompareOptions, and those of gradeval.options.Options; jobs is one of both.

    Raises OptionError.
    """
    own = [field.name for field in fields(CompareOptions)]
    check_known(given, list(dict.fromkeys([*own, *(field.name for field in fields(Options))])))
    return (
        {name: value for name, value in given.items() if name in own},
        {name: value for name, value in given.items() if name not in own or name == "jobs"},
    )

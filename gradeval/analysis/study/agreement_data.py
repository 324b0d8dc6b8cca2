"""What the study of agreement finds, and its tables."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import ClassVar, NamedTuple

import numpy as np

from gradeval.analysis.study.orders import kendall_tau, levels_of, tau_ap
from gradeval.analysis.study.tables import Study
from gradeval.analysis.tabled import Row, Table
from gradeval.arrays import Floats, Ints
from gradeval.registry.spec import Spec

_SHOWN = 12  # grades of a confusion matrix that is shown


class Correlation(NamedTuple):
    """How far two orders of systems agree.

    tau: Kendall's τ-b. tau_ap: the AP correlation, the mean of both directions. truth_first, truth_second: the
    AP correlation of the other order with the first, or the second, as the true one.
    """

    tau: float
    tau_ap: float
    truth_first: float
    truth_second: float

    @classmethod
    def of(cls, first: Ints, second: Ints) -> Correlation:
        """Of two orders by the places of levels_of()."""
        one, other = tau_ap(second, first), tau_ap(first, second)
        return cls(kendall_tau(first, second), (one + other) / 2, one, other)


class Power(NamedTuple):
    """How many of the pairs of systems a metric separates: those whose corrected p is below α."""

    pairs: int
    separated: int
    share: float


class Halves(NamedTuple):
    """How alike two random halves of the queries order the systems.

    tau: the mean of Kendall's τ-b over the splits. low, high: its 5 % and 95 % quantiles. swapped: the mean
    share of pairs that the halves order the opposite way.
    """

    tau: float
    low: float
    high: float
    swapped: float


class Rescaled(NamedTuple):
    """What multiplying all grades by a factor does.

    change: the largest change of a system's mean, in the metric's unit. tau: Kendall's τ-b between the orders
    before and after it.
    """

    change: float
    tau: float


@dataclass(frozen=True, eq=False)
class Ordered:
    """What one set of judgments says of the systems.

    judgments: its name. means: (M, R). better: the same, signed so that higher is better. power, halves: of
    each metric. rescaled: of each metric and factor.
    """

    judgments: str
    means: Floats
    better: Floats
    power: tuple[Power, ...]
    halves: tuple[Halves, ...]
    rescaled: tuple[tuple[Rescaled, ...], ...]

    @cached_property
    def levels(self) -> list[Ints]:
        """The place of each system by each metric, the highest for the best, (M) of (R,)."""
        return [levels_of(own) for own in self.better]


@dataclass(frozen=True, eq=False)
class Confusion:
    """How two sets of judgments grade the documents that both judge.

    grades: the G grades that occur, ascending. counts: (G, G), rows by the first set. only_first, only_second:
    documents of common queries that only one of them judges.
    """

    grades: Floats
    counts: Ints
    only_first: int
    only_second: int

    @property
    def documents(self) -> int:
        return int(self.counts.sum())

    @property
    def agreement(self) -> float:
        """The share of documents with equal grades."""
        return float(np.trace(self.counts)) / self.documents if self.documents else math.nan

    def kappa(self, weights: str = "none") -> float:
        """Cohen's κ, 1 - observed / expected disagreement; NaN where none is expected.

        weights: of two different grades: 1 (none), their distance (linear), or its square (quadratic).
        Source: Cohen, "A coefficient of agreement for nominal scales", 1960; "Weighted kappa", 1968.
        """
        apart = np.abs(self.grades[:, None] - self.grades[None, :])
        weight = {"none": np.sign(apart), "linear": apart, "quadratic": apart * apart}[weights]
        expected = np.outer(self.counts.sum(axis=1), self.counts.sum(axis=0)) / max(self.documents, 1)
        chance = float((weight * expected).sum())
        return 1 - float((weight * self.counts).sum()) / chance if chance else math.nan


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Agreement(Study):
    """The outcome.

    specs: M metrics. systems: the names of R runs. sets: what each set of judgments says of them; there are two
    with qrels2. confusion: of the two sets, None with one.
    """

    name: ClassVar[str] = "agreement"
    specs: tuple[Spec, ...]
    systems: tuple[str, ...]
    sets: tuple[Ordered, ...]
    confusion: Confusion | None = None

    def correlation(self, first: int, second: int, judgments: int = 0) -> Correlation:
        """How far two metrics agree on the order of the systems, by the same judgments."""
        levels = self.sets[judgments].levels
        return Correlation.of(levels[first], levels[second])

    def between_judgments(self, metric: int) -> Correlation:
        """How far the two sets of judgments agree on the order of the systems, by the same metric."""
        one, other = (ordered.levels[metric] for ordered in self.sets)
        return Correlation.of(one, other)

    @property
    def tables(self) -> tuple[Table, ...]:
        names = [str(spec) for spec in self.specs]
        seed = self.options["seed"]
        two = len(self.sets) > 1
        own = ("judgments",) if two else ()

        def rows(of: Callable[[int, Ordered], Iterable[Row]]) -> list[Row]:
            return [
                (*((ordered.judgments,) if two else ()), *row)
                for j, ordered in enumerate(self.sets)
                for row in of(j, ordered)
            ]

        pairs = list(combinations(range(len(names)), 2))
        columns = ("tau", "tau_ap", "tau_ap_truth_first", "tau_ap_truth_second")
        tables = [
            Table(
                "correlations",
                "Agreement of the orders of systems by two metrics",
                (*own, "metric", "other", *columns),
                rows(lambda j, _: ((names[a], names[b], *self.correlation(a, b, j)) for a, b in pairs)),
                shown=bool(pairs),
            ),
            Table(
                "power",
                "Pairs of systems that the metric separates",
                (*own, "metric", *Power._fields),
                rows(lambda _, ordered: ((name, *one) for name, one in zip(names, ordered.power, strict=True))),
            ),
            Table(
                "halves",
                "Agreement of the orders of systems by two halves of the queries",
                (*own, "metric", *Halves._fields, "seed"),
                rows(lambda _, o: ((name, *one, seed) for name, one in zip(names, o.halves, strict=True))),
            ),
            Table(
                "rescaled",
                "What multiplying all grades changes",
                (*own, "metric", "factor", *Rescaled._fields),
                rows(
                    lambda _, ordered: (
                        (name, factor, *one)
                        for name, of in zip(names, ordered.rescaled, strict=True)
                        for factor, one in zip(self.options["rescale"], of, strict=True)
                    )
                ),
                shown=bool(self.options["rescale"]),
            ),
            Table(
                "systems",
                "Mean of each system",
                (*own, "metric", "system", "mean"),
                rows(
                    lambda _, ordered: (
                        (name, system, one)
                        for name, means in zip(names, ordered.means.tolist(), strict=True)
                        for system, one in zip(self.systems, means, strict=True)
                    )
                ),
                shown=False,
            ),
        ]
        return (*self._between(names), *tables)

    def _between(self, names: Sequence[str]) -> list[Table]:
        """The tables that compare two sets of judgments."""
        confusion = self.confusion
        if confusion is None:
            return []
        grades, counts = confusion.grades.tolist(), confusion.counts.tolist()
        first, second = (ordered.judgments for ordered in self.sets)
        orders = [(name, *self.between_judgments(m)) for m, name in enumerate(names)]
        kappas = [confusion.kappa(weights) for weights in ("none", "linear", "quadratic")]
        return [
            Table(
                "judgments",
                "Agreement of the orders of systems by the two sets of judgments",
                ("metric", "tau", "tau_ap", "tau_ap_truth_first", "tau_ap_truth_second"),
                orders,
            ),
            Table(
                "kappa",
                "Agreement of the grades",
                ("documents", "only_first", "only_second", "agreement", "kappa", "linear", "quadratic"),
                [
                    (
                        confusion.documents,
                        confusion.only_first,
                        confusion.only_second,
                        confusion.agreement,
                        *kappas,
                    )
                ],
            ),
            Table(
                "confusion",
                "Documents by their grades",
                ("grade", "grade2", "documents"),
                [
                    (a, b, n)
                    for a, own in zip(grades, counts, strict=True)
                    for b, n in zip(grades, own, strict=True)
                ],
                shown=False,
            ),
            Table(
                "matrix",
                f"Documents by their grades: rows by {first}, columns by {second}",
                ("grade", *(f"{grade:g}" for grade in grades)),
                [(f"{grade:g}", *own) for grade, own in zip(grades, counts, strict=True)],
                data=False,
                shown=len(grades) <= _SHOWN,
            ),
        ]

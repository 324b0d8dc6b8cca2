"""The options of commands that compare runs, and the runs that they compare."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from gradeval.analysis.options import CONFIDENCE, CORRECTIONS, RANGES, TESTS
from gradeval.cli.options import expand_runs, section, together
from gradeval.cli.types import Integer, Percentage

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

_comparison = section("Comparison")


def comparison_options() -> Callable[[Decorated], Decorated]:
    """How runs are compared."""
    return together(
        _comparison(
            "--baseline", metavar="RUN", help="The run to compare with, a file or a name. Default: the first."
        ),
        _comparison("--all-pairs", is_flag=True, help="Compare every run with every other."),
        _comparison(
            "--test",
            type=click.Choice(TESTS),
            default="t",
            show_default=True,
            help="Paired t-test; randomization test by sign flips; bootstrap interval (BCa), which has no p; "
            "Wilcoxon signed-rank test; sign test; or, with --all-pairs, the randomized Tukey HSD test.",
        ),
        _comparison(
            "--correction",
            type=click.Choice(CORRECTIONS),
            help="Of p for the number of comparisons (runs × metrics): Holm, Bonferroni and maxT for the "
            "family-wise error rate, Benjamini-Hochberg (bh) for the false discovery rate. Default: holm.",
        ),
        _comparison(
            "--confidence",
            type=Percentage(*CONFIDENCE),
            default=95.0,
            metavar="PERCENT",
            help="Of the intervals; significant is p below what is left of 100. Default: 95.",
        ),
        _comparison(
            "--samples",
            type=Integer(*RANGES["samples"]),
            default=100_000,
            metavar="N",
            help="Random sign flips, resamples or permutations. Default: 100000.",
        ),
        _comparison(
            "--seed", type=Integer(*RANGES["seed"]), default=1, metavar="N", help="Of these. Default: 1."
        ),
    )


def with_baseline(arguments: Sequence[str], baseline: str | None) -> list[tuple[str | None, str]]:
    """The labels and paths of the runs or tables; the baseline is before them if it is another file.

    It may be the name of a run too.
    """
    from gradeval.tables.run_names import labelled, run_names

    runs = [labelled(path) for path in expand_runs(None, None, arguments)]
    if baseline is None or baseline in [path for _, path in runs] or not os.path.exists(baseline):
        return runs
    labels = [label for label, _ in runs if label is not None]
    names = [*labels, *run_names([path for label, path in runs if label is None], taken=labels)]
    return runs if baseline in names else [(None, baseline), *runs]

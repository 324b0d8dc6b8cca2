"""The options of commands that compare runs, and the runs that they compare."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from gradeval.cli.arguments import expand_runs
from gradeval.cli.options import OptionOf, section, together
from gradeval.cli.types import Integer, Percentage
from gradeval.commands.compare.options import CONFIDENCE, CORRECTIONS, MAXT, RANGES, TESTS

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

_comparison = section("Comparison")


_BASELINE = "The run to compare with, a file or a name. Default: the first."


def baseline_option(option: OptionOf, about: str = _BASELINE) -> Callable[[Decorated], Decorated]:
    """option: of a section. about: the help."""
    return option("--baseline", metavar="RUN", help=about)


def confidence_option(about: str, option: OptionOf) -> Callable[[Decorated], Decorated]:
    """about: what the help says of the intervals. option: of a section."""
    return option(
        "--confidence",
        type=Percentage(*CONFIDENCE),
        default=95.0,
        metavar="PERCENT",
        help=f"{about} Default: 95.",
    )


def _correction_option(corrections: Sequence[str]) -> Callable[[Any], Any]:
    family_wise = "Holm, Bonferroni and maxT" if MAXT in corrections else "Holm and Bonferroni"
    return _comparison(
        "--correction",
        type=click.Choice(corrections),
        help=f"Of p for the number of comparisons (runs × metrics): {family_wise} for the "
        "family-wise error rate, Benjamini-Hochberg (bh) for the false discovery rate. Default: holm.",
    )


_all_pairs = _comparison("--all-pairs", is_flag=True, help="Compare every run with every other.")
_confidence = confidence_option("Of the intervals; significant is p below what is left of 100.", _comparison)


def t_test_options(baseline: str) -> Callable[[Decorated], Decorated]:
    """How runs are compared by the t-test alone, from sums. baseline: what the help says of that option."""
    corrections = [one for one in CORRECTIONS if one != MAXT]
    return together(
        baseline_option(_comparison, baseline), _all_pairs, _correction_option(corrections), _confidence
    )


def comparison_options() -> Callable[[Decorated], Decorated]:
    """How runs are compared."""
    return together(
        baseline_option(_comparison),
        _all_pairs,
        _comparison(
            "--test",
            type=click.Choice(TESTS),
            default="t",
            show_default=True,
            help="Paired t-test; randomization test by sign flips; bootstrap interval (BCa), which has no p; "
            "Wilcoxon signed-rank test; sign test; or, with --all-pairs, the randomized Tukey HSD test.",
        ),
        _correction_option(CORRECTIONS),
        _confidence,
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

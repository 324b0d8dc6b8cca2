"""Simulations of gates: how often they fail where nothing changed, and pass where the margin is exceeded.

A rate is compared with what it should be to 4 standard errors of a binomial rate. Seeds are fixed.
"""

import math
from collections.abc import Iterator

import numpy as np
import pytest

from gradeval.commands.gate.checks import Check
from gradeval.commands.gate.verdicts import judge

from .test_verdicts import AP, results

pytestmark = pytest.mark.slow

QUERIES = 50
REPETITIONS = 10_000


def error(rate: float) -> float:
    return 4 * math.sqrt(rate * (1 - rate) / REPETITIONS)


def simulated(check: Check, shift: float = 0.0) -> Iterator[str]:
    """The verdicts on pairs of runs of two equal systems, the run's values shifted."""
    rng = np.random.default_rng(7)
    template = results([0.0] * QUERIES, [0.0] * QUERIES)
    for _ in range(REPETITIONS):
        difficulty = rng.normal(size=QUERIES)
        # as AP: between 0 and 1, the same difficulty for both
        both = 1 / (1 + np.exp(-difficulty - rng.normal(size=(2, QUERIES))))
        run, baseline = (
            of.replace(values=values[None])
            for of, values in zip(template.runs, both + np.array([[shift], [0]]), strict=True)
        )
        yield judge(template.replace(runs=(run, baseline)), [check], worst=0).outcomes[0].verdict


def test_false_alarms_of_no_worse() -> None:
    """On A/A data 2.5 % of the checks fail, as --help and the report say: there is no correction, so that one
    of 5 independent checks fails in 1 - 0.975^5 of cases.
    """
    verdicts = [*simulated(Check("no-worse", AP))]
    assert set(verdicts) == {"held", "failed"}
    assert verdicts.count("failed") / REPETITIONS == pytest.approx(0.025, abs=error(0.025))
    rate, families = 1 - 0.975**5, (np.array(verdicts) == "failed").reshape(-1, 5).any(axis=1)
    assert families.mean() == pytest.approx(rate, abs=4 * math.sqrt(rate * (1 - rate) / len(families)))


def test_level_of_non_inferior() -> None:
    """A run that is worse by exactly the margin passes in 2.5 % of cases, and has failed in as many."""
    check = Check("non-inferior", AP, amount=0.125)
    verdicts = [*simulated(check, shift=-0.125)]
    assert verdicts.count("held") / REPETITIONS == pytest.approx(0.025, abs=error(0.025))
    assert verdicts.count("failed") / REPETITIONS == pytest.approx(0.025, abs=error(0.025))

"""Plugins for tests: metrics as other packages declare them, good and bad."""

from __future__ import annotations

import sys
from typing import Annotated  # noqa: F401  # for annotations

import numpy as np

import gradeval
from gradeval.registry import metric as registry
from gradeval.registry.params import number

QRELS = {"1": {"a": 3, "b": 0, "c": 1}, "2": {"a": 1, "b": 2}, "3": {"a": 1}}
RUN = {"1": {"a": 1.0, "x": 2.0, "b": 3.0}, "2": {"b": 5.0, "a": 4.0}, "3": {"b": 1.0}}
OTHERS = "AP muAP NDCNG@10 nDCGphi@10 rankDCG nDCG@10 rbp tau num_rel"
MINE = f"plugin {__name__}"
LEVEL = number("how much")


def declaring(name, function, **more):
    return lambda: registry.metric(name, **more)(function)


def total(judgments, **params):
    """The sum of the grades."""
    return judgments.segments.sum(judgments.grade)


def evaluated(names, **options):
    return gradeval.evaluate(QRELS, RUN, names, **options)


class Silent(Exception):
    def __str__(self) -> str:
        raise RuntimeError


class Other(BaseException):
    pass


def raising(error):
    def fail(judgments):
        raise error

    return fail


def changing(judgments):
    judgments.grade[:] = 0
    return judgments.retrieved


def setting(judgments):
    np.seterr(all="raise")
    return 1 / np.zeros(judgments.segments.count)


FAILING = {
    "SystemExit: 3": raising(SystemExit(3)),
    "SystemExit: 0": lambda judgments: sys.exit(0),
    "KeyboardInterrupt": raising(KeyboardInterrupt),
    "GeneratorExit": raising(GeneratorExit),
    "Other: any": raising(Other("any")),
    "Silent": raising(Silent()),
    "ZeroDivisionError: division by zero": lambda judgments: 1 / 0,
    r"RuntimeError: two lines \x1b[31m": raising(RuntimeError("two\nlines \x1b[31m")),
    "FloatingPointError: divide by zero encountered in divide": setting,
    "ValueError: assignment destination is read-only": changing,
}


def taking(annotation, default=None):
    """A function with a parameter that is annotated so."""

    def toy(judgments, *, size=default):
        return total(judgments)

    toy.__annotations__["size"] = annotation
    return toy

"""Judgments of ir_datasets, which are given as irds:ID, such as irds:beir/scifact/test."""

from __future__ import annotations

from typing import Any

from gradeval.errors import InputError, readable


def judgments(name: str) -> list[Any]:
    """Named tuples of a data set, which ir_datasets downloads at first. Raises InputError."""
    try:
        import ir_datasets
    except ImportError:
        raise InputError(
            name, "ir_datasets is not installed", hint="Run: pip install 'gradeval[irds]'"
        ) from None
    with readable(name, "ir_datasets cannot read it"):
        try:
            dataset = ir_datasets.load(name.removeprefix("irds:"))
        except KeyError:
            hint = "ir_datasets.com lists their ids"
            raise InputError(name, "ir_datasets has no data set of this id", hint=hint) from None
        if not dataset.has_qrels():
            raise InputError(
                name, "the data set has no judgments", hint="Another part of it may, such as /test"
            )
        return list(dataset.qrels_iter())

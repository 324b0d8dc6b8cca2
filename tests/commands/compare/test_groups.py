"""Comparisons of groups of queries, and of a file of groups."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gradeval.errors import InputError
from gradeval.notices import Kind

from .comparisons import compared, random_runs


def test_groups_repeat_everything() -> None:
    values = random_runs(17, queries=60)
    groups = {"even": values.queries[::2], "all of them": values.queries, "first": values.queries[:30]}
    found = compared(values, by=groups.items(), anova=True, power=True)
    assert [section.group for section in found.sections] == [None, *groups]
    for section, queries in zip(found.sections[1:], groups.values(), strict=True):
        part = values.select(np.isin(values.queries, queries))
        alone = compared(part, anova=True, power=True).sections[0]
        assert section.comparisons == alone.comparisons
        np.testing.assert_array_equal(section.means, alone.means)
        assert section.queries == len(queries)
    assert found.sections[2].comparisons == found.comparisons
    assert found.warnings == ()
    assert found.find("B", "m0", group="even") == found.sections[1].comparisons[0]


def test_notices_of_groups() -> None:
    values = random_runs(18, queries=60)
    by = {query: ["big", "both"] if q < 30 else "small" for q, query in enumerate(values.queries[:40])}
    found = compared(values, by=by | {"elsewhere": "big"})
    assert [(notice.kind, notice.count) for notice in found.notices] == [
        (Kind.SMALL_GROUPS, 1),
        (Kind.UNGROUPED, 20),
        (Kind.UNKNOWN_GROUPED, 1),
    ]
    assert found.warnings[0] == "1 group has fewer than 25 queries: small"
    with pytest.raises(InputError, match="none of their queries is among those compared"):
        compared(values, by={"elsewhere": "x"})


def test_the_largest_changes_of_each_group() -> None:
    values = random_runs(21, runs=2, metrics=1)
    groups = {"x": values.queries[:4], "y": values.queries[4:]}
    found = compared(values, by=groups.items(), worst=2, best=2)
    for group, queries in (("x", groups["x"]), ("y", groups["y"])):
        part = values.select(np.array([query in queries for query in values.queries]))
        expected = [replace(one, group=group) for one in compared(part, worst=2, best=2).changes]
        assert expected and [one for one in found.changes if one.group == group] == expected
    assert [one for one in found.changes if one.group is None] == list(
        compared(values, worst=2, best=2).changes
    )
    assert "\nx\tworst\t1\tB" in found.render("tsv") and "\nall\tworst\t1\tB" in found.render("tsv")
    head = next(line for line in found.render().splitlines() if "change " in line)
    assert head.split()[:2] == ["group", "change"]


def test_groups_of_a_file(tmp_path: Path) -> None:
    values = random_runs(21, runs=2, metrics=1)
    (tmp_path / "g").write_text("query\tgroup\nq00\tx\nq01\tx\nq02\ty\n")
    expected = compared(values, by={"q00": "x", "q01": "x", "q02": "y"})
    for path in (tmp_path / "g", str(tmp_path / "g")):
        found = compared(values, by=path)
        assert repr(found.sections) == repr(expected.sections) and len(found.sections) == 3

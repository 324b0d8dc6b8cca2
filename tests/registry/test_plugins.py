"""Plugins that cannot be loaded, claim names that are taken, or declare metrics wrongly: the others work."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Annotated

import numpy as np
import pytest
from junk import junk

import gradeval
from gradeval import MetricError
from gradeval.registry import metric as registry
from gradeval.registry import plugins
from gradeval.registry.dialects import MEASURES, aliases
from gradeval.registry.invariants import PROMOTION_HELPS, Condition
from gradeval.registry.metric import REGISTRY, load
from gradeval.registry.pages import page, table
from gradeval.registry.params import flag
from gradeval.registry.spec import parse

from .plugged import FAILING, LEVEL, MINE, OTHERS, changing, declaring, evaluated, taking, total

load()


def test_a_metric_of_another_package(plugin):
    plugin(declaring("Toy", total, aliases=["plaything"]))
    assert str(parse("plaything")[0]) == "Toy"
    assert evaluated("toy AP").values(0, "Toy").tolist() == [4, 3, 1]
    assert plugins.load_plugins() == ()
    with pytest.raises(MetricError, match=r"did you mean Toy\(judged_only=true\)\?"):
        parse("Toyy(judged_only=true)")


# Where it is loaded


@pytest.mark.parametrize("what", ["SystemExit: 3", "KeyboardInterrupt", "Other: any", "Silent"])
def test_a_plugin_that_cannot_be_loaded(plugin, what):
    def fail():
        FAILING[what](None)

    plugin(declaring("First", total), fail, declaring("Last", total))
    assert plugins.load_plugins() == (f"plugin toy1 cannot be loaded: {what}",)
    assert evaluated("first last AP").means[0, :2].tolist() == [8 / 3, 8 / 3]
    with pytest.raises(MetricError, match=r"unknown metric: .* \(plugin toy1 cannot be loaded: "):
        parse("unknown")


def test_what_is_declared_before_a_plugin_fails_works(plugin):
    def half():
        declaring("First", total)()
        raise RuntimeError("half way")

    plugin(half)
    assert plugins.load_plugins() == ("plugin toy0 cannot be loaded: RuntimeError: half way",)
    assert parse("First")


def test_many_broken_plugins_leave_a_typo_short(plugin):
    def broken():
        raise RuntimeError("x" * 1000)

    plugin(*[broken] * 20)
    for name, start in (("nDGC", "nDGC: did you mean nDCG?"), ("qqqqqq", "qqqqqq: unknown metric")):
        with pytest.raises(MetricError) as caught:
            parse(name)
        assert str(caught.value).startswith(start)
        assert "plugin toy0 cannot be loaded" in str(caught.value)
        assert str(caught.value).endswith("'gradeval metrics' reports 19 more)")
        assert len(str(caught.value)) < 400


def test_what_a_plugin_prints_is_no_result(plugin, capsys):
    plugin(lambda: print("Welcome"))
    assert plugins.load_plugins() == ()
    assert capsys.readouterr() == ("", "Welcome\n")


def test_a_package_that_is_gone(plugin):
    plugin(EntryPoint("x", "no_such_package_at_all", "gradeval.metrics").load)
    assert parse("AP")  # our own do not need it
    with pytest.raises(MetricError, match=r"unknown metric.*plugin toy0 cannot be loaded: ModuleNot"):
        parse("unknown")


def test_plugins_that_cannot_be_listed(monkeypatch):
    def entry_points(group):
        raise SystemExit("broken metadata")

    monkeypatch.setattr("importlib.metadata.entry_points", entry_points)
    plugins.load_plugins.cache_clear()
    assert plugins.load_plugins() == ("plugins cannot be listed: SystemExit: broken metadata",)
    plugins.load_plugins.cache_clear()


# What it claims


@pytest.mark.parametrize(
    ("name", "owner"),
    [
        *(("AP", "AP"), ("ap", "AP"), ("map", "AP"), ("NDCG", "nDCG"), ("recall", "R"), ("P_10", "P@10")),
        *(("kendall", "tau"), ("set", "the group set"), ("dcg_burges", "DCG(gain=exp)"), ("first", "First")),
    ],
)
def test_a_name_that_is_taken(plugin, name, owner):
    plugin(
        declaring("First", total),
        lambda: [declaring(name, changing)(), declaring("Second", total)()],
        declaring("Third", total, aliases=["third_alias", name]),
    )
    meant = parse(name)
    expected = evaluated(name).means.tolist() if name not in ("set", "first") else None
    assert plugins.load_plugins() == (
        f"{MINE}: metric '{name}' is ignored: the name is already used for {owner}",
        f"{MINE}: alias '{name}' of metric Third is ignored: it is already used for {owner}",
    )
    assert parse(name) == meant
    assert expected is None or evaluated(name).means.tolist() == expected
    for free in ("second", "third", "third_alias"):
        assert evaluated(free).values(0, 0).tolist() == [4, 3, 1]
    assert "Aliases: third_alias\n" in page("Third")
    assert page("map") == page("AP")


def test_every_name_of_ours_is_taken(plugin):
    names = [name for metric in REGISTRY.values() for name in (metric.name, *metric.aliases)]
    names += [*MEASURES, *(alias.name for alias in aliases())]
    plugin(*(declaring(name, changing) for name in names))
    known = list(REGISTRY)
    failed = plugins.load_plugins()
    assert len(failed) == len(names)
    assert all(
        "' is ignored: name" in line or "' is ignored: the name is already used for " in line for line in failed
    )
    assert list(REGISTRY) == known


@pytest.mark.parametrize("name", ["AP_mine", "nDCG_mine", "P_x", "rbp_mine"])
def test_a_name_that_begins_as_one_of_ours_is_free(plugin, name):
    plugin(declaring(name, total))
    assert evaluated(name).values(0, 0).tolist() == [4, 3, 1]
    assert page(name).startswith(name)


def test_a_program_that_declares_a_metric_itself(plugin):
    plugin()
    evaluated("AP")
    declaring("Mine", total)()
    declaring("Also", total)()  # after names were looked up
    assert evaluated("Mine also").means.tolist() == [[8 / 3, 8 / 3]]
    with pytest.raises(ValueError, match="metric 'AP' is ignored: the name is already used for AP"):
        declaring("AP", total)()
    with pytest.raises(ValueError, match="alias 'map' of metric Mapped is ignored: it is already used for AP"):
        declaring("Mapped", total, aliases=["map"])()
    assert "Mapped" not in REGISTRY
    with pytest.raises(ValueError, match="metric 'Worse' is ignored: TypeError"):
        declaring("Worse", total, colour="red")()


def declared(**more):
    return {"name": "Bad", "function": total} | more


def judged_only_itself(judgments, *, judged_only: Annotated[bool, flag("a flag")] = False):
    return judgments.retrieved


WRONG_PARAM = "parameter size is not declared as in gradeval/registry/params.py"
DECLARATIONS = {
    "name must be letters, digits, '_' and '-', not 5": declared(name=5),
    "name must be letters, digits, '_' and '-', not ''": declared(name=""),
    "name must be letters, digits, '_' and '-', not 'my metric'": declared(name="my metric"),
    "name must be letters, digits, '_' and '-', not 'é'": declared(name="é"),
    "function must be a function whose docstring is a string, not 'x'": declared(function="x"),
    "TypeError: Metric.__init__() got an unexpected keyword argument 'params'": declared(params=[LEVEL]),
    "range must be (lowest, highest), not (0,)": declared(range=(0,)),
    "range must be (lowest, highest), not ('a', 1)": declared(range=("a", 1)),
    "range must be (lowest, highest), not 5": declared(range=5),
    "invariants must be a list of those in gradeval/registry/invariants.py, not [5]": declared(invariants=[5]),
    "invariants must be a list of those in gradeval/registry/invariants.py, not 'mine'": declared(
        invariants="mine"
    ),
    "aliases must be a list of names without spaces and any of (),@=., not 'plaything'": declared(
        aliases="plaything"
    ),
    "aliases must be a list of names without spaces and any of (),@=., not [None]": declared(aliases=[None]),
    "aliases must be a list of names without spaces and any of (),@=., not ['a b']": declared(aliases=["a b"]),
    "kind must be a member of Kind, not 'sum'": declared(kind="sum"),
    "higher_is_better must be true, false or None, not 1": declared(higher_is_better=1),
    "undefined must be true or false, not 1": declared(undefined=1),
    "check must be a function or None, not 5": declared(check=5),
    "constant must be true or false, not 'yes'": declared(constant="yes"),
    "example must be a string of one line, not None": declared(example=None),
}
PARAMETERS = {
    "int": "size must be annotated as in 'cutoff: Cutoff' (no Param found)",
    "Annotated[int, 'a cutoff']": "size must be annotated as in 'cutoff: Cutoff' (no Param found)",
    "Cutof": "size must be annotated as in 'cutoff: Cutoff' (name 'Cutof' is not defined)",
    "sys.exit(3)": "SystemExit: 3",
}
DECLARATIONS |= {
    **{what: declared(function=taking(annotation)) for annotation, what in PARAMETERS.items()},
    WRONG_PARAM: declared(function=taking(Annotated[float, LEVEL.but(about=5)])),
    "TypeError: unhashable type: 'list'": declared(function=taking(Annotated[float, LEVEL], [])),
    WRONG_PARAM.replace("size", "judged_only"): declared(function=judged_only_itself),
}


def wrong_docstring(judgments):
    return judgments.retrieved


wrong_docstring.__doc__ = 5


@pytest.mark.parametrize("what", [*DECLARATIONS, "docstring", "keyword"])
def test_a_declaration_that_is_wrong(plugin, what):
    own = {"docstring": declared(function=wrong_docstring), "keyword": declared(colour="red")}
    given = DECLARATIONS.get(what) or own[what]
    name, function = given.pop("name"), given.pop("function")
    plugin(
        lambda: [declaring(name, function, **given)(), declaring("Second", total)()], declaring("Third", total)
    )
    [failed] = plugins.load_plugins()
    module = function.__module__ if callable(function) else "builtins"
    assert failed.startswith(f"plugin {module}: metric {name!r} is ignored: ")
    assert what in own or failed.endswith(f": {what}")
    assert "\n  Second " in table()
    assert evaluated(f"second third {OTHERS}").means[0, 0] == 8 / 3


def test_any_value_of_any_field_of_a_declaration(plugin):
    """Each is used as it should be, or left out; nothing else is raised, and the list is there."""
    for field in registry.Metric.__annotations__:
        if field not in ("display", "function"):
            plugin(*(declaring(f"Toy{i}", total, **{field: one}) for i, one in enumerate(junk().values())))
            left_out = len(plugins.load_plugins())
            toys = [name for name in REGISTRY if name.startswith("Toy")]
            assert left_out + len(toys) >= len(junk()), field
            assert table()
            for name in toys:
                page(name)
            for name in toys:
                REGISTRY.pop(name)
    for wrong in (taking, lambda one: taking(Annotated[float, LEVEL], one)):
        plugin(*(declaring(f"Toy{i}", wrong(one)) for i, one in enumerate(junk().values())))
        plugins.load_plugins()
        for name in [name for name in REGISTRY if name.startswith("Toy")]:
            page(name)
            REGISTRY.pop(name)
    for name, function in (("junk", one) for one in junk().values()):
        plugin(declaring(name, function), declaring(function, total))
        plugins.load_plugins()
        assert table()
        REGISTRY.pop("junk", None)


WARNING = """
import warnings
from gradeval.registry.metric import metric

warnings.warn("loaded\\nso", stacklevel=2)

@metric("Toy")
def toy(judgments):
    warnings.warn("computed", RuntimeWarning)
    return judgments.retrieved
"""


@pytest.fixture(scope="module")
def warned(tmp_path_factory):
    """The command with a plugin that warns where it is loaded and where it is computed."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "toy-1.dist-info").mkdir()
    (folder / "toy-1.dist-info" / "METADATA").write_text("Name: toy\nVersion: 1\n")
    (folder / "toy-1.dist-info" / "entry_points.txt").write_text("[gradeval.metrics]\ntoy = toy_warns\n")
    (folder / "toy_warns.py").write_text(WARNING)
    (folder / "q").write_text("1 0 a 3\n")
    (folder / "r").write_text("1 Q0 a 1 3 t\n")
    home = str(Path(gradeval.__file__).parents[1])

    def run(*args):
        return subprocess.run(
            [sys.executable, "-m", "gradeval", *args, "q", "r"],
            cwd=folder,
            env=os.environ | {"PYTHONPATH": os.pathsep.join([str(folder), home])},
            capture_output=True,
            text=True,
            check=False,
        )

    return run


def test_warnings_of_a_plugin(warned):
    """Each is a line like other warnings, which --quiet silences and --strict makes an error."""
    done = warned("-m", "Toy")
    assert (done.returncode, done.stdout.split()[-1]) == (0, "1.0000")
    assert re.fullmatch(
        r"warning: .+:\d+: UserWarning: loaded so\nwarning: .+toy_warns.py:9: RuntimeWarning: computed\n",
        done.stderr,
    )
    done = warned("-m", "Toy", "--quiet")
    assert (done.returncode, done.stderr, done.stdout.split()[-1]) == (0, "", "1.0000")
    done = warned("-m", "Toy", "--strict")
    assert (done.returncode, done.stdout) == (2, "")
    assert "plugin toy_warns cannot be loaded: UserWarning: loaded so" in done.stderr


def test_a_condition_of_an_invariant_is_contained(plugin):
    """It is code of the plugin, which the search for the orders of ties runs."""
    broken = Condition("cutoff", "with luck", lambda given, scale: 1 / 0)
    plugin(declaring("Toy", total, invariants=[PROMOTION_HELPS.where(broken)]))
    assert not plugins.load_plugins()
    assert "; only with luck" in page("Toy")
    with pytest.raises(MetricError, match="failed: ZeroDivisionError"):
        REGISTRY["Toy"].holds(PROMOTION_HELPS, {}, np.zeros(1))

"""What plugins do wrong: each is named with what it did, and nothing else changes."""

from __future__ import annotations

import inspect
import math
import signal
import sys
from importlib.metadata import EntryPoint
from types import SimpleNamespace
from typing import Annotated

import numpy as np
import pytest
from junk import junk

import gradeval
from gradeval import MetricError
from gradeval.registry import metric as registry
from gradeval.registry import plugins, spec
from gradeval.registry.dialects.other import aliases
from gradeval.registry.dialects.trec_eval import MEASURES
from gradeval.registry.families import load
from gradeval.registry.metric import REGISTRY, Kind
from gradeval.registry.params import Cutoff, Param, flag, number
from gradeval.registry.spec import parse
from gradeval.render.metrics import page, table
from gradeval.tables import qrels

load()

QRELS = {"1": {"a": 3, "b": 0, "c": 1}, "2": {"a": 1, "b": 2}, "3": {"a": 1}}
RUN = {"1": {"a": 1.0, "x": 2.0, "b": 3.0}, "2": {"b": 5.0, "a": 4.0}, "3": {"b": 1.0}}
OTHERS = "AP muAP NDCNG@10 nDCGphi@10 rankDCG nDCG@10 rbp tau num_rel"
MINE = f"the plugin {__name__}"


@pytest.fixture
def plugin(monkeypatch):
    """Installs entry points, each a function that is called where it is loaded, for the time of a test."""

    def forget():
        plugins.load_plugins.cache_clear()
        spec._names.cache_clear()

    def install(*loads):
        points = [SimpleNamespace(value=f"toy{i}", load=load_one) for i, load_one in enumerate(loads)]
        monkeypatch.setattr("importlib.metadata.entry_points", lambda group: points)
        forget()

    known = dict(REGISTRY)
    yield install
    REGISTRY.clear()
    REGISTRY.update(known)
    forget()


def declaring(name, function, **more):
    return lambda: registry.metric(name, **more)(function)


def total(judgments, **params):
    """The sum of the grades."""
    return judgments.segments.sum(judgments.grade)


def evaluated(names, **options):
    return gradeval.evaluate(QRELS, RUN, names, **options)


def test_a_metric_of_another_package(plugin):
    plugin(declaring("Toy", total, aliases=["plaything"]))
    assert str(parse("plaything")[0]) == "Toy"
    assert evaluated("toy AP").values(0, "Toy").tolist() == [4, 3, 1]
    assert plugins.load_plugins() == ()
    with pytest.raises(MetricError, match="did you mean Toy@5"):
        parse("Toyy@5")


# Where a metric is computed


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
    "SystemExit (3)": raising(SystemExit(3)),
    "SystemExit (0)": lambda judgments: sys.exit(0),
    "KeyboardInterrupt": raising(KeyboardInterrupt),
    "GeneratorExit": raising(GeneratorExit),
    "Other (any)": raising(Other("any")),
    "Silent": raising(Silent()),
    "ZeroDivisionError (division by zero)": lambda judgments: 1 / 0,
    r"RuntimeError (two lines \x1b[31m)": raising(RuntimeError("two\nlines \x1b[31m")),
    "FloatingPointError (divide by zero encountered in divide)": setting,
    "ValueError (assignment destination is read-only)": changing,
}
RETURNING = {
    "texts, not numbers": lambda judgments: np.full(judgments.segments.count, "x"),
    "bytes, not numbers": lambda judgments: [b"1"] * judgments.segments.count,
    "complex numbers, not numbers": lambda judgments: judgments.retrieved * 1j,
    "objects, not numbers": lambda judgments: [None] * judgments.segments.count,
    "dates, not numbers": lambda judgments: np.zeros(judgments.segments.count, "M8[s]"),
    "durations, not numbers": lambda judgments: np.zeros(judgments.segments.count, "m8[s]"),
    "records, not numbers": lambda judgments: np.zeros(judgments.segments.count, [("a", int)]),
    "a value of type NoneType, not numbers": lambda judgments: None,
    "a value of type generator, not numbers": lambda judgments: (one for one in judgments.retrieved),
    "a value of type dict, not numbers": lambda judgments: {},
    "an array of shape () for 3 queries, not a number for each": lambda judgments: 1.0,
    "an array of shape (4,) for 3 queries, not a number for each": lambda judgments: np.append(
        judgments.retrieved, 1
    ),
    "an array of shape (6,) for 3 queries, not a number for each": lambda judgments: judgments.grade,
    "an array of shape (3, 1) for 3 queries, not a number for each": lambda judgments: judgments.retrieved[
        :, None
    ],
    "an infinite number": lambda judgments: judgments.retrieved / 0.0,
}
DOES = {f"fails with {what}": function for what, function in FAILING.items()} | {
    f"returns {what}": function for what, function in RETURNING.items()
}


@pytest.mark.parametrize("jobs", [1, 3])
@pytest.mark.parametrize("what", DOES)
def test_what_a_metric_does_wrong(plugin, monkeypatch, what, jobs):
    """Alone, and in a thread of its own for each query."""
    if jobs > 1:
        monkeypatch.setattr(qrels, "SHARE", 1)
    expected = evaluated(OTHERS).to_dict(per_query=True)
    state = np.geterr()
    plugin(declaring("Toy", DOES[what]), declaring("Good", total))
    with pytest.raises(MetricError) as caught:
        evaluated(f"AP Toy {OTHERS}", jobs=jobs)
    if jobs == 1 or "shape" not in what:
        assert str(caught.value) == f"Toy: {MINE} {what}"
    else:
        assert str(caught.value).startswith(f"Toy: {MINE} returns an array of shape ")
    assert evaluated(OTHERS, jobs=jobs).to_dict(per_query=True)["runs"] == expected["runs"]
    assert evaluated("Good", jobs=jobs).values(0, "Good").tolist() == [4, 3, 1]
    assert np.geterr() == state
    assert f"\n  {MINE} " in page("Toy")
    assert "\n  Toy " in table()


FINE = {
    "int64": (lambda judgments: judgments.retrieved, [3, 2, 1]),
    "bool": (lambda judgments: judgments.retrieved > 2, [1, 0, 0]),
    "float16": (lambda judgments: judgments.retrieved.astype(np.float16), [3, 2, 1]),
    "list": (lambda judgments: judgments.retrieved.tolist(), [3, 2, 1]),
    "tuple": (lambda judgments: (1, 2.5, True), [1, 2.5, 1]),
    "nan": (lambda judgments: [math.nan, 1, 2], [math.nan, 1, 2]),
    "masked": (lambda judgments: np.ma.array(judgments.retrieved, mask=[0, 1, 0]), [3, math.nan, 1]),
}


@pytest.mark.parametrize("name", FINE)
def test_what_is_made_a_float(plugin, name):
    function, expected = FINE[name]
    plugin(declaring("Toy", function))
    assert repr(evaluated("Toy").values(0, 0).tolist()) == repr([float(one) for one in expected])


def test_a_buffer_that_is_used_again(plugin):
    """What a metric returns is copied: it may be the same array each time."""
    buffer = np.empty(3)

    def toy(judgments, *, cutoff: Cutoff | None = None):
        buffer[:] = judgments.segments.number(judgments.top(cutoff))
        return buffer

    plugin(declaring("Toy", toy))
    results = evaluated("Toy@1 Toy")
    assert results.values(0, "Toy@1").tolist() == [1, 1, 0]
    assert results.values(0, "Toy").tolist() == [2, 2, 0]


def test_what_it_keeps_in_the_table_is_its_own(plugin):
    def toy(judgments):
        judgments.ideal[:] = 0
        judgments.highest[:] = 0
        judgments.segments.lengths[:] = 0
        return judgments.once(("hits", None), lambda: judgments.retrieved)

    expected = evaluated(OTHERS).means.tolist()[0]
    plugin(declaring("Toy", toy))
    assert evaluated(f"AP Toy {OTHERS}").means.tolist()[0][2:] == expected[1:]


@pytest.mark.parametrize(
    "words", [["a", "b"], "abc", [1, 2, 3], None, np.array([b"a", b"b", b"c"]), [["a"]] * 3]
)
def test_texts_that_are_none(plugin, words):
    plugin(declaring("Toy", lambda judgments: words, kind=Kind.TEXT))
    with pytest.raises(MetricError, match=f"^Toy: {MINE} returns no text for each query$"):
        evaluated("Toy AP")


def test_texts(plugin):
    plugin(declaring("Toy", lambda judgments: ["a", "b", "c"], kind=Kind.TEXT))
    assert evaluated("Toy AP").texts(0, "Toy") == {"1": "a", "2": "b", "3": "c"}


def test_an_error_of_its_own_stays(plugin):
    plugin(declaring("Toy", raising(MetricError("the grades are not those of stars"))))
    with pytest.raises(MetricError, match=r"^Toy: the grades are not those of stars$"):
        evaluated("Toy")


# Where it is loaded


@pytest.mark.parametrize("what", ["SystemExit (3)", "KeyboardInterrupt", "Other (any)", "Silent"])
def test_a_plugin_that_cannot_be_loaded(plugin, what):
    def fail():
        FAILING[what](None)

    plugin(declaring("First", total), fail, declaring("Last", total))
    assert plugins.load_plugins() == (f"the plugin toy1 cannot be loaded: {what}",)
    assert evaluated("first last AP").means[0, :2].tolist() == [8 / 3, 8 / 3]
    with pytest.raises(MetricError, match=r"there is no such metric: .* \(the plugin toy1 cannot be loaded: "):
        parse("unknown")


def test_what_is_declared_before_a_plugin_fails_works(plugin):
    def half():
        declaring("First", total)()
        raise RuntimeError("half way")

    plugin(half)
    assert plugins.load_plugins() == ("the plugin toy0 cannot be loaded: RuntimeError (half way)",)
    assert parse("First")


def test_what_a_plugin_prints_is_no_result(plugin, capsys):
    plugin(lambda: print("Welcome"))
    assert plugins.load_plugins() == ()
    assert capsys.readouterr() == ("", "Welcome\n")


def test_a_package_that_is_gone(plugin):
    plugin(EntryPoint("x", "no_such_package_at_all", "gradeval.metrics").load)
    assert parse("AP")  # our own do not need it
    with pytest.raises(
        MetricError, match=r"there is no such metric.*the plugin toy0 cannot be loaded: ModuleNot"
    ):
        parse("unknown")


def test_plugins_that_cannot_be_listed(monkeypatch):
    def entry_points(group):
        raise SystemExit("broken metadata")

    monkeypatch.setattr("importlib.metadata.entry_points", entry_points)
    plugins.load_plugins.cache_clear()
    assert plugins.load_plugins() == ("the plugins cannot be listed: SystemExit (broken metadata)",)
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
        f"{MINE}: the metric '{name}' is left out: the name stands for {owner}",
        f"{MINE}: the name '{name}' of the metric Third is left out: it stands for {owner}",
    )
    assert parse(name) == meant
    assert expected is None or evaluated(name).means.tolist() == expected
    for free in ("second", "third", "third_alias"):
        assert evaluated(free).values(0, 0).tolist() == [4, 3, 1]
    assert "Also named: third_alias\n" in page("Third")
    assert page("map") == page("AP")


def test_every_name_of_ours_is_taken(plugin):
    names = [name for metric in REGISTRY.values() for name in (metric.name, *metric.aliases)]
    names += [*MEASURES, *(alias.name for alias in aliases())]
    plugin(*(declaring(name, changing) for name in names))
    known = list(REGISTRY)
    failed = plugins.load_plugins()
    assert len(failed) == len(names)
    assert all(
        "' is left out: name" in line or "' is left out: the name stands for " in line for line in failed
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
    with pytest.raises(ValueError, match="the metric 'AP' is left out: the name stands for AP"):
        declaring("AP", total)()
    with pytest.raises(ValueError, match="the name 'map' of the metric Mapped is left out: it stands for AP"):
        declaring("Mapped", total, aliases=["map"])()
    assert "Mapped" not in REGISTRY
    with pytest.raises(ValueError, match="the metric 'Worse' is left out: TypeError"):
        declaring("Worse", total, colour="red")()


def declared(**more):
    return {"name": "Bad", "function": total} | more


def taking(annotation, default=None):
    """A function with a parameter that is annotated so."""

    def toy(judgments, *, size=default):
        return total(judgments)

    toy.__annotations__["size"] = annotation
    return toy


def judged_only_itself(judgments, *, judged_only: Annotated[bool, flag("a flag")] = False):
    return judgments.retrieved


LEVEL = number("how much")
WRONG_PARAM = "the parameter size is not declared as those of gradeval/registry/params.py"
DECLARATIONS = {
    "name must be letters, digits, '_' and '-', not 5": declared(name=5),
    "name must be letters, digits, '_' and '-', not ''": declared(name=""),
    "name must be letters, digits, '_' and '-', not 'my metric'": declared(name="my metric"),
    "name must be letters, digits, '_' and '-', not 'é'": declared(name="é"),
    "function must be a function with a text as its docstring, not 'x'": declared(function="x"),
    "TypeError (Metric.__init__() got an unexpected keyword argument 'params')": declared(params=[LEVEL]),
    "range must be (least, largest), not (0,)": declared(range=(0,)),
    "range must be (least, largest), not ('a', 1)": declared(range=("a", 1)),
    "TypeError (object of type 'int' has no len())": declared(range=5),
    "invariants must be a list of texts, not [5]": declared(invariants=[5]),
    "invariants must be a list of texts, not 'mine'": declared(invariants="mine"),
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
    "example must be a text of one line, not None": declared(example=None),
}
PARAMETERS = {
    "int": "the annotation of size is not as in 'cutoff: Cutoff' (it has no Param)",
    "Annotated[int, 'a cutoff']": "the annotation of size is not as in 'cutoff: Cutoff' (it has no Param)",
    "Cutof": "the annotation of size is not as in 'cutoff: Cutoff' (name 'Cutof' is not defined)",
    "sys.exit(3)": "SystemExit (3)",
}
DECLARATIONS |= {
    **{what: declared(function=taking(annotation)) for annotation, what in PARAMETERS.items()},
    WRONG_PARAM: declared(function=taking(Annotated[float, LEVEL.but(about=5)])),
    "TypeError (unhashable type: 'list')": declared(function=taking(Annotated[float, LEVEL], [])),
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
    module = __name__ if callable(function) else "builtins"
    assert failed.startswith(f"the plugin {module}: the metric {name!r} is left out: ")
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


# Its parameters


def parsing(parse_text):
    return taking(Annotated[float, Param("how much", parse_text, "a number", "2")], 1.0)


@pytest.mark.parametrize(
    ("parse_text", "what"),
    [
        (lambda text: sys.exit(1), r"^Toy\(size=5\): .* fails with SystemExit \(1\)$"),
        (lambda text: [1], r"^Toy\(size=5\): .* fails with TypeError \(unhashable type: 'list'\)$"),
        (lambda text: int("two\nlines"), r"^Toy\(size=5\): size must be invalid literal .*, not '5'$"),
    ],
)
def test_a_parameter_that_cannot_be_read(plugin, parse_text, what):
    plugin(declaring("Toy", parsing(parse_text)))
    assert evaluated("Toy").means.tolist() == [[8 / 3]]
    with pytest.raises(MetricError, match=what) as caught:
        evaluated("Toy(size=5)")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["cutoff", "length", "rel"])
def test_a_parameter_that_others_read_is_a_number(plugin, name):
    def toy(judgments, **params):
        return judgments.retrieved

    depth = Annotated[str, Param("how deep", str, "a depth", "2", without="all")]
    keyword = inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=depth)
    toy.__signature__ = inspect.Signature([keyword])
    plugin(declaring("Toy", toy))
    with pytest.raises(MetricError, match=rf"^Toy\({name}=5\): .* TypeError \(it is '5', not a number\)$"):
        evaluated(f"Toy({name}=5)")


def test_a_check_that_fails(plugin):
    plugin(declaring("Toy", taking(Annotated[float, LEVEL], 1.0), check=lambda params: params["size"]))
    with pytest.raises(MetricError, match=rf"^Toy: {MINE} fails with KeyError \('size'\)$"):
        evaluated("Toy")
    assert evaluated("Toy(size=5)").means.tolist() == [[8 / 3]]


# Ctrl-C


def interrupted(judgments=None):
    signal.raise_signal(signal.SIGINT)


def deaf(judgments=None):
    """Catches the interrupt, as code with a bare except does."""
    try:
        interrupted()
    except BaseException:
        return [0.0] * 3


@pytest.fixture
def handled():
    """Ctrl-C as a program starts with it, even where these tests do not."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert signal.signal(signal.SIGINT, before) is signal.default_int_handler


@pytest.mark.parametrize("act", [interrupted, deaf])
@pytest.mark.usefixtures("handled")
def test_the_users_ctrl_c_goes_through(plugin, act):
    plugin(declaring("Toy", act))
    with pytest.raises(KeyboardInterrupt):
        evaluated("Toy", jobs=1)
    plugin(act)
    with pytest.raises(KeyboardInterrupt):
        plugins.load_plugins()


@pytest.mark.usefixtures("handled")
def test_a_handler_that_it_installs_is_taken_back(plugin):
    plugin(lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))
    assert plugins.load_plugins() == ()

"""Metrics of other packages: what is wrong with one is a message of one line, and the others work."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import numpy as np
import pytest
from helpers import each, each_row, error_of, judgments_of, raises, ranked

import gradeval
from gradeval import MetricError
from gradeval.arrays.segments import Segments
from gradeval.notices import NoticeKind
from gradeval.registry.invariants import PROMOTION_HELPS, Condition
from gradeval.registry.metric import REGISTRY, Kind, load, metric
from gradeval.registry.pages import page, table
from gradeval.registry.params import Cutoff, Param, number
from gradeval.registry.spec import load_plugins, parse
from gradeval.tables import qrels
from gradeval.tables.terms import Details, DiscountedTerms, RelevanceFunction, Terms

load()

QRELS = {"1": {"a": 3, "b": 0, "c": 1}, "2": {"a": 1, "b": 2}, "3": {"a": 1}}
RUN = {"1": {"a": 1.0, "x": 2.0, "b": 3.0}, "2": {"b": 5.0, "a": 4.0}, "3": {"b": 1.0}}
OTHERS = "AP muAP NDCNG@10 nDCGphi@10 rankDCG nDCG@10 rbp tau num_rel"
HERE = f"plugin {__name__}"
LEVEL = number("how much")


def declaring(name, function, **more):
    return lambda: metric(name, **more)(function)


def total(judgments, **params):
    """The sum of the grades."""
    return judgments.segments.sum(judgments.grade)


def evaluated(names, **options):
    return gradeval.evaluate(QRELS, RUN, names, **options)


class Silent(Exception):
    def __str__(self) -> str:
        raise RuntimeError


def raising(error):
    def fail(judgments):
        raise error

    return fail


def setting(judgments):
    np.seterr(all="raise")
    return 1 / np.zeros(judgments.segments.count)


FAILING = {
    "SystemExit: 3": raising(SystemExit(3)),
    "KeyboardInterrupt": raising(KeyboardInterrupt),
    "Silent": raising(Silent()),
    "the grades are not those of stars": raising(MetricError("the grades are not those of stars")),
    r"RuntimeError: two lines \x1b[31m": raising(RuntimeError("two\nlines \x1b[31m")),
    "FloatingPointError: divide by zero encountered in divide": setting,
}


def taking(annotation, default=None):
    def toy(judgments, *, size=default):
        return total(judgments)

    toy.__annotations__["size"] = annotation
    return toy


@each("what", ["SystemExit: 3", "KeyboardInterrupt", "Silent"])
def test_a_plugin_that_cannot_be_loaded(plugin, what, monkeypatch):
    def fail():
        declaring("Middle", total)()
        FAILING[what](None)

    plugin(declaring("First", total), fail, declaring("Last", total))
    assert load_plugins() == (f"plugin toy1 cannot be loaded: {what}",)
    assert evaluated("first last middle AP").means[0, :3].tolist() == [8 / 3, 8 / 3, 8 / 3]
    raises(MetricError, r"unknown metric: .* \(plugin toy1 cannot be loaded: ", parse, "unknown")
    plugin()
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: FAILING[what](None))
    assert load_plugins() == (f"plugins cannot be listed: {what}",)


@each_row(
    *(("ap", "AP"), ("map", "AP"), ("P_10", "P@10"), ("kendall", "tau"), ("set", "the group set")),
    *(("dcg_burges", "DCG(gain=exp)"), ("first", "First")),
)
def test_a_name_that_is_taken(name, owner, plugin):
    plugin(
        declaring("First", total),
        lambda: [declaring(name, raising(KeyboardInterrupt))(), declaring("Second", total)()],
        declaring("Third", total, aliases=["third_alias", name]),
    )
    meant = parse(name)
    assert load_plugins() == (
        f"{HERE}: metric '{name}' is ignored: the name '{name}' is already used for {owner}",
        f"{HERE}: metric 'Third' is ignored: the name '{name}' is already used for {owner}",
    )
    assert parse(name) == meant
    assert evaluated("second").values(0, 0).tolist() == [4, 3, 1]


def test_a_program_that_declares_a_metric_itself(plugin):
    plugin()
    evaluated("AP")
    declaring("Mine", total)()
    declaring("Also", total)()  # after names were looked up
    assert evaluated("Mine also").means.tolist() == [[8 / 3, 8 / 3]]
    declaring("AP", total)()
    declaring("Mapped", total, aliases=["map"])()
    assert error_of(MetricError, parse, "RR") == (
        f"{HERE}: metric 'AP' is ignored: the name 'AP' is already used for AP; "
        f"{HERE}: metric 'Mapped' is ignored: the name 'map' is already used for AP"
    )
    assert evaluated("map Mine").means[0, 1] == 8 / 3  # once said, it is ignored
    raises(TypeError, "unexpected keyword argument 'colour'", declaring("Worse", total, colour="red"))


SEE = " (see Metric in gradeval/registry/metric.py)"
DECLARATIONS = {
    f"name cannot be 'é'{SEE}": {"name": "é"},
    f"function cannot be 'x'{SEE}": {"function": "x"},
    f"range cannot be (1, nan){SEE}": {"range": (1, np.nan)},
    f"undefined cannot be 1{SEE}": {"undefined": 1},
    f"invariants cannot be [5]{SEE}": {"invariants": [5]},
    f"aliases cannot be ['a b']{SEE}": {"aliases": ["a b"]},
    f"kind cannot be 'sum'{SEE}": {"kind": "sum"},
    f"higher_is_better cannot be 1{SEE}": {"higher_is_better": 1},
    f"example cannot be None{SEE}": {"example": None},
    "size must be annotated as in 'cutoff: Cutoff' (no Param found)": {"function": taking("int")},
    "SystemExit: 3": {"function": taking("sys.exit(3)")},
}


@each("what", DECLARATIONS)
def test_a_declaration_that_is_wrong(plugin, what):
    given = {"name": "Bad", "function": total} | DECLARATIONS[what]
    function = given["function"]
    second = declaring("Second", total)
    plugin(lambda: [declaring(**given)(), second()], declaring("Third", total))
    [failed] = load_plugins()
    module = function.__module__ if callable(function) else "builtins"
    assert failed.startswith(f"plugin {module}: metric {given['name']!r} is ignored: ")
    assert failed.endswith(what)
    assert "\n  Second " in table()
    assert evaluated(f"second third {OTHERS}").means[0, 0] == 8 / 3


DOES = FAILING | {
    "ValueError: could not convert string to float: np.str_('')": lambda judgments: np.zeros(3, "U1"),
    "it returned None, not 3 values": lambda judgments: None,
    "it returned array([[3], [2], [1]]), not 3 values": lambda judgments: judgments.retrieved[:, None],
}


@each("what", DOES)
def test_what_a_metric_does_wrong(plugin, what):
    expected = evaluated(OTHERS).to_dict(per_query=True)
    state = np.geterr()
    plugin(declaring("Toy", DOES[what]), declaring("Good", total))
    who = f"{HERE} failed"
    assert error_of(MetricError, evaluated, f"AP Toy {OTHERS}") == f"Toy: {who}: {what}"
    assert evaluated(OTHERS).to_dict(per_query=True)["runs"] == expected["runs"]
    assert evaluated("Good").values(0, "Good").tolist() == [4, 3, 1]
    assert np.geterr() == state
    assert f"\n  {who}: " in page("Toy")
    assert "\n  Toy " in table()


def graded_sum(judgments, *, cutoff: Cutoff | None = None):
    """The sum of the grades in the first ranks, half of them."""
    rows = np.flatnonzero(judgments.top(cutoff))
    return Terms(judgments.segments.take(rows), rows, judgments.grade[rows], 2.0)


def discounted(judgments):
    rows = np.flatnonzero(judgments.top(None))
    rank, grade = judgments.rank[rows], judgments.grade[rows]
    terms = DiscountedTerms.of(judgments.segments.take(rows), rows, rank, grade, np.log2(rank + 1))
    total = judgments.segments.sum(judgments.grade)
    return terms.replace(normalizer=total, ideal=lambda: graded_sum(judgments))


def test_terms(plugin):
    """As of a built-in metric: its value is their sum, and explaining it has them."""
    segments, rows = Segments(np.array([0, 2, 3, 3])), np.array([0, 1, 99])
    wrong = declaring("Wrong", lambda judgments: Terms(segments, rows, 1.0))
    plugin(declaring("Toy", graded_sum), declaring("Other", discounted), wrong)
    results = evaluated("Toy Toy@1 Toy(judged_only=true)@1 Other CG")
    assert results.runs[0].values[:3].tolist() == [[1.5, 1.5, 0], [0, 1, 0], [0, 1, 0]]
    judgments = judgments_of([ranked([1, 3, None, 2], missed=[4])])
    for name, function in (("Toy", graded_sum), ("Other", discounted)):
        terms, own = parse(name)[0].metric.terms(judgments), function(judgments)
        assert type(terms) is type(own)
        assert (terms.row.tolist(), terms.values().tolist()) == (own.row.tolist(), own.values().tolist())
    assert terms.ideal().value.tolist() == own.ideal().value.tolist()
    what = f"^Wrong: {HERE} failed: it returned Terms whose rows are not those of the table"
    raises(MetricError, what, evaluated, "Wrong AP")


def test_a_metric_of_subtopics(plugin):
    """It says so itself; the family that it is listed under is a name."""

    def subtopics(judgments):
        """How many judgments there are by subtopic."""
        return np.bincount(judgments.query[judgments.by_subtopic.row], minlength=judgments.segments.count)

    plugin(
        declaring("Topics", subtopics, of_subtopics=True, family="NTCIR"),
        declaring("Toy", total, family="novelty and diversity"),
    )
    qrels, run = [("q", "s1", "a", 2), ("q", "s2", "a", 1), ("q", "s2", "b", 1)], {"q": {"a": 2.0, "b": 1.0}}
    for judged, name, value, kinds in (
        (qrels, "Topics", 3, set()),
        (qrels, "Toy", 3, {NoticeKind.SUBTOPICS}),
        (QRELS, "Topics", 3, {NoticeKind.NO_SUBTOPICS}),
        (QRELS, "Toy", 4, set()),
    ):
        results = gradeval.evaluate(judged, run if judged is qrels else RUN, name)
        assert results.runs[0].values[0, 0] == value
        of_subtopics = {NoticeKind.SUBTOPICS, NoticeKind.NO_SUBTOPICS}
        assert {notice.kind for notice in results.notices} & of_subtopics == kinds, name


@each("name", ["muAP", "nDCGphi", "nDCGphi(points=0:0/2:1)", "NDCNG", "rankDCG"])
def test_details_come_with_the_terms(plugin, name):
    """A metric of another name with the terms of one of gradeval is explained, and φ drawn, as that one."""
    [spec] = parse(name)
    plugin(declaring("Toy", lambda judgments: spec.metric.function(judgments, **spec.params), undefined=True))
    expected, found = (gradeval.explain(QRELS, RUN, known, ["1", "2"]) for known in (name, "Toy"))
    for one, other in zip(expected, found, strict=True):
        assert any((one.scaled, one.levels, one.groups))
        assert one.to_dict() == {**other.to_dict(), "metric": one.metric}
    if expected[0].phi:
        for query in ((), "1"):
            one, other = (gradeval.plot.phi(QRELS, known, query) for known in (name, "Toy"))
            assert one.tables == other.tables


def test_details_that_are_wrong(plugin):
    def detailed(**fields):
        return lambda judgments: graded_sum(judgments).replace(details=lambda: Details(**fields))

    failing = RelevanceFunction(lambda grade, query: 1 / 0, lambda query: ())
    plugin(
        declaring("Short", detailed(symbol="x", scaled=np.zeros(2))),
        declaring("Failing", lambda judgments: graded_sum(judgments).replace(details=lambda: 1 / 0)),
        declaring("Phi", detailed(phi=failing)),
    )
    for name, what in (
        ("Short", r"its Details have scaled=array\(\[0., 0.\]\), not 3 values"),
        ("Failing", "ZeroDivisionError"),
        ("Phi", "ZeroDivisionError"),
    ):
        raises(MetricError, f"{HERE} failed: {what}", gradeval.explain, QRELS, RUN, name, "1")


FINE = {
    "int64": (lambda judgments: judgments.retrieved, [3, 2, 1]),
    "bool": (lambda judgments: judgments.retrieved > 2, [1, 0, 0]),
    "float16": (lambda judgments: judgments.retrieved.astype(np.float16), [3, 2, 1]),
    "list": (lambda judgments: judgments.retrieved.tolist(), [3, 2, 1]),
    "tuple": (lambda judgments: (1, 2.5, True), [1, 2.5, 1]),
    "nan": (lambda judgments: [np.nan, 1, 2], [np.nan, 1, 2]),
}


def test_what_is_made_floats_texts_sums_and_counts(plugin):
    """Only what is declared a count is printed without decimals; a sum keeps its fraction."""
    wrong = [["a", "b"], "abc", None]
    plugin(
        *(declaring(f"Toy_{name}", function, undefined=True) for name, (function, _) in FINE.items()),
        declaring("Words", lambda judgments: ["a", "b", "c"], kind=Kind.TEXT),
        *(declaring(f"Bad{n}", lambda judgments, of=of: of, kind=Kind.TEXT) for n, of in enumerate(wrong)),
    )
    for name, (_, expected) in FINE.items():
        assert repr(evaluated(f"Toy_{name}").values(0, 0).tolist()) == repr(list(map(float, expected)))
    assert evaluated("Words AP").texts(0, "Words") == {"1": "a", "2": "b", "3": "c"}
    for n in range(len(wrong)):
        what = f"^Bad{n}: {HERE} failed: it returned .*, not 3 values$"
        raises(MetricError, what, evaluated, f"Bad{n} AP")
    plugin(
        declaring("Halves", lambda judgments: judgments.retrieved / 2, kind=Kind.SUM),
        declaring("Count", lambda judgments: judgments.retrieved, kind=Kind.COUNT),
    )
    results = evaluated("Halves Count")
    assert results.means.tolist() == [[3, 6]]
    assert results.render("trec").split()[2::3] == ["3.0000", "6"]


@each_row(
    (lambda text: sys.exit(1), "plugin .* failed: SystemExit: 1"),
    (lambda text: int("two\nlines"), "size must be invalid literal .*, not '5'"),
)
def test_a_parameter_that_cannot_be_read(parse_text, what, plugin):
    plugin(declaring("Toy", taking(Annotated[float, Param("how much", parse_text, "a number", "2")], 1.0)))
    assert evaluated("Toy").means.tolist() == [[8 / 3]]
    assert re.fullmatch(rf"Toy\(size=5\): {what}", error_of(MetricError, evaluated, "Toy(size=5)"))


def test_code_of_a_plugin_that_fails_elsewhere(plugin, monkeypatch):
    """In a condition of an invariant, which the search for the orders of ties runs; in a thread."""
    broken = Condition("cutoff", "with luck", lambda given, scale: 1 / 0)
    monkeypatch.setattr(qrels, "SHARE", 1)  # a part for each query
    plugin(
        declaring("Toy", total, invariants=[PROMOTION_HELPS.where(broken)]),
        declaring("Ends", FAILING["SystemExit: 3"], aliases=["plaything"]),
        declaring("P_x", total),
    )
    assert not load_plugins()
    assert "; only with luck" in page("Toy")
    raises(MetricError, "failed: ZeroDivisionError", REGISTRY["Toy"].holds, PROMOTION_HELPS, {}, np.zeros(1))
    assert str(parse("plaything")[0]) == "Ends"
    assert evaluated("p_x").values(0, "P_x").tolist() == [4, 3, 1]
    raises(MetricError, r"did you mean Ends\(judged_only=true\)\?", parse, "Endss(judged_only=true)")
    raises(MetricError, r"^Ends: plugin .* failed: SystemExit: 3$", evaluated, "AP Ends", jobs=3)


def printing(judgments, *, level: Annotated[float, LEVEL] = 1.0):
    for _ in range(20):  # in several threads at a time
        print("computing")
    return judgments.retrieved * level


@each("jobs", [1, 4])
def test_what_it_prints_goes_to_standard_error(plugin, monkeypatch, capsys, jobs):
    monkeypatch.setattr(qrels, "SHARE", 1)  # a part for each query
    plugin(lambda: print("loading"), declaring("Toy", printing), declaring("Mute", total))
    results = evaluated("Toy(level=2) Mute AP", jobs=jobs)
    assert results.mean(0, "Toy(level=2)") == pytest.approx(2 * (3 + 2 + 1) / 3)
    out, err = capsys.readouterr()
    assert out == ""
    assert set(err.split()) == {"loading", "computing"}


MODULE = '''
from __future__ import annotations

import warnings

import numpy as np

from gradeval.registry.metric import metric
from gradeval.registry.params import Cutoff

warnings.warn("loaded\\nso", stacklevel=2)


@metric("ToyGain", aliases=["plaything"], range=(0, None), example="ToyGain@2")
def toy_gain(judgments, *, cutoff: Cutoff):
    """What the first ranks add up to."""
    warnings.warn("computed", RuntimeWarning)
    return judgments.segments.sum(np.where(judgments.top(cutoff), judgments.grade, 0.0))
'''


def test_an_installed_plugin(tmp_path):
    """As pip installs it. Its warnings are lines like others, which --strict makes errors."""
    folder = tmp_path
    (folder / "toy-1.dist-info").mkdir()
    (folder / "toy-1.dist-info" / "METADATA").write_text("Name: toy\nVersion: 1\n")
    (folder / "toy-1.dist-info" / "entry_points.txt").write_text("[gradeval.metrics]\ntoy = toy_warns\n")
    (folder / "toy_warns.py").write_text(MODULE)
    (folder / "q").write_text("1 0 a 3\n1 0 b 1\n")
    (folder / "r").write_text("1 Q0 a 1 3 t\n1 Q0 x 2 2 t\n1 Q0 b 3 1 t\n")
    paths = {"PYTHONPATH": os.pathsep.join([str(folder), str(Path(gradeval.__file__).parents[1])])}

    def installed(*args):
        command, streams = [sys.executable, "-m", "gradeval", *args], {"capture_output": True, "text": True}
        return subprocess.run(command, cwd=folder, env=os.environ | paths, check=False, **streams)

    done = installed("q", "r", "-m", "toygain@1,3 AP", "-f", "tsv")
    assert [line.split("\t")[3] for line in done.stdout.splitlines()[1:]] == ["3.0000", "4.0000", "0.8333"]
    assert re.fullmatch(
        r"warning: .+: UserWarning: loaded so\nwarning: .+_warns.py:17: RuntimeWarning: computed\nnote: .*\n",
        done.stderr,
    )
    done = installed("q", "r", "-m", "ToyGain@1", "--strict")
    assert (done.returncode, done.stdout) == (2, "")
    assert "plugin toy_warns cannot be loaded: UserWarning: loaded so" in done.stderr

"""What a plugin's metrics do wrong: the message names the plugin, and nothing else changes."""

from __future__ import annotations

import inspect
import math
import re
import signal
import sys
from dataclasses import replace
from typing import Annotated

import numpy as np
import pytest
from helpers import judgments_of, ranked

from gradeval import MetricError
from gradeval.arrays.segments import Segments
from gradeval.registry import plugins
from gradeval.registry.metric import Kind, load
from gradeval.registry.pages import page, table
from gradeval.registry.params import Cutoff, Param
from gradeval.registry.spec import parse
from gradeval.tables import qrels
from gradeval.tables.terms import DiscountedTerms, Terms

from . import plugged
from .plugged import FAILING, LEVEL, OTHERS, declaring, evaluated, raising, taking, total

load()

MINE = f"plugin {__name__}"


# Where a metric is computed


def array_of(dtype):
    return lambda judgments: np.zeros(judgments.segments.count, dtype)


RETURNING = {
    "an array of str32, shape (3,), not numbers of shape (3,)": array_of("U1"),
    "an array of bytes8, shape (3,), not numbers of shape (3,)": array_of("S1"),
    "an array of complex128, shape (3,), not numbers of shape (3,)": array_of(complex),
    "an array of object, shape (3,), not numbers of shape (3,)": array_of(object),
    "an array of datetime64[s], shape (3,), not numbers of shape (3,)": array_of("M8[s]"),
    "an array of timedelta64[s], shape (3,), not numbers of shape (3,)": array_of("m8[s]"),
    "an array of void64, shape (3,), not numbers of shape (3,)": array_of([("a", np.int64)]),
    "NoneType, not numbers of shape (3,)": lambda judgments: None,
    "generator, not numbers of shape (3,)": lambda judgments: (one for one in judgments.retrieved),
    "dict, not numbers of shape (3,)": lambda judgments: {},
    "an array of float64, shape (), not numbers of shape (3,)": lambda judgments: 1.0,
    "an array of int64, shape (4,), not numbers of shape (3,)": lambda judgments: np.append(
        judgments.retrieved, 1
    ),
    "an array of float64, shape (6,), not numbers of shape (3,)": lambda judgments: judgments.grade,
    "an array of int64, shape (3, 1), not numbers of shape (3,)": lambda judgments: judgments.retrieved[
        :, None
    ],
    "an infinite number": lambda judgments: judgments.retrieved / 0.0,
}
DOES = FAILING | {f"it returned {what}": function for what, function in RETURNING.items()}


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
    who = f"plugin {DOES[what].__module__} failed"
    if jobs == 1 or "shape" not in what:
        assert str(caught.value) == f"Toy: {who}: {what}"
    else:
        assert str(caught.value).startswith(f"Toy: {who}: it returned ")
    assert evaluated(OTHERS, jobs=jobs).to_dict(per_query=True)["runs"] == expected["runs"]
    assert evaluated("Good", jobs=jobs).values(0, "Good").tolist() == [4, 3, 1]
    assert np.geterr() == state
    assert f"\n  {who}: " in page("Toy")
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
    with pytest.raises(MetricError, match=f"^Toy: {MINE} failed: it did not return 3 strings$"):
        evaluated("Toy AP")


def test_texts(plugin):
    plugin(declaring("Toy", lambda judgments: ["a", "b", "c"], kind=Kind.TEXT))
    assert evaluated("Toy AP").texts(0, "Toy") == {"1": "a", "2": "b", "3": "c"}


def graded_sum(judgments, *, cutoff: Cutoff | None = None):
    """The sum of the grades in the first ranks, half of them."""
    rows = np.flatnonzero(judgments.top(cutoff))
    return Terms(judgments.segments.take(rows), rows, judgments.grade[rows], 2.0)


def discounted(judgments):
    rows = np.flatnonzero(judgments.top(None))
    rank, grade = judgments.rank[rows], judgments.grade[rows]
    terms = DiscountedTerms.of(judgments.segments.take(rows), rows, rank, grade, np.log2(rank + 1))
    return replace(
        terms, normalizer=judgments.segments.sum(judgments.grade), ideal=lambda: graded_sum(judgments)
    )


def test_terms(plugin):
    """As of a built-in metric: its value is their sum, and explaining it has them."""
    plugin(declaring("Toy", graded_sum), declaring("Other", discounted))
    results = evaluated("Toy Toy@1 Toy(judged_only=true)@1 Other CG")
    assert results.values(0, "Toy").tolist() == [1.5, 1.5, 0]
    assert results.values(0, "Toy@1").tolist() == [0, 1, 0]
    assert results.values(0, "Toy").tolist() == [value / 2 for value in results.values(0, "CG").tolist()]
    table = ranked([1, 3, None, 2], missed=[4])
    judgments = judgments_of([table])
    for name, function in (("Toy", graded_sum), ("Other", discounted)):
        [spec] = parse(name)
        terms, own = spec.metric.terms(judgments), function(judgments)
        assert type(terms) is type(own)
        assert terms.row.tolist() == own.row.tolist()
        assert terms.values().tolist() == own.values().tolist()
    assert terms.ideal().value.tolist() == own.ideal().value.tolist()
    assert terms.gain.tolist() == own.gain.tolist()


def test_terms_of_a_metric_that_needs_relevant_documents(plugin):
    """A query without one is left out or 0, as for a built-in metric."""

    def toy(judgments):
        rows = np.flatnonzero(judgments.grade > 2)
        has_relevant = judgments.segments.number(judgments.grade > 2) > 0
        return replace(Terms(judgments.segments.take(rows), rows, 1.0), has_relevant=has_relevant)

    plugin(declaring("Toy", toy, needs_relevant=True))
    [spec] = parse("Toy")
    values, empty = spec.metric.values(judgments_of([ranked([3, 1]), ranked([1])]))
    assert repr(values.tolist()) == "[1.0, nan]"
    assert empty.tolist() == [False, True]
    assert evaluated("Toy").values(0, "Toy").tolist() == [1, 0, 0]


ROWS = "it returned Terms whose rows are not those of the table"
WRONG_TERMS = {
    "row": ({"row": np.array([0, 1, 99])}, ROWS),
    "fraction": ({"row": np.array([0.5, 1, 2])}, ROWS),
    "fewer": ({"row": np.array([0, 1])}, ROWS),
    "queries": ({"segments": Segments(np.array([0, 3]))}, ROWS),
    "segments": ({"segments": None}, "AttributeError: 'NoneType' object has no attribute 'offsets'"),
    "relevant": ({"has_relevant": np.array([True])}, ROWS),
    "text": ({"value": "x"}, "ValueError: could not convert string to float: 'x'"),
    "infinite": ({"value": math.inf}, "it returned an infinite number"),
    "normalizer": (
        {"normalizer": np.ones(2)},
        "ValueError: operands could not be broadcast together with shapes (3,) (2,) (3,) (2,)",
    ),
    "ideal": ({"value": np.ones(2)}, "ValueError: The weights and list don't have the same length."),
}


@pytest.mark.parametrize("name", WRONG_TERMS)
def test_terms_that_are_wrong(plugin, name):
    fields, what = WRONG_TERMS[name]

    def toy(judgments):
        rows = np.array([0, 1, 3])
        return replace(Terms(Segments(np.array([0, 2, 3, 3])), rows, 1.0), **fields)

    plugin(declaring("Toy", toy))
    with pytest.raises(MetricError, match=f"^Toy: {MINE} failed: .*{re.escape(what)}$"):
        evaluated("Toy AP")


def test_an_ideal_that_fails(plugin):
    plugin(declaring("Toy", lambda judgments: replace(discounted(judgments), ideal=lambda: sys.exit(3))))
    [spec] = parse("Toy")
    terms = spec.metric.terms(judgments_of([ranked([1, 3])]))
    with pytest.raises(MetricError, match=f"^{MINE} failed: SystemExit: 3$"):
        terms.ideal()


def test_sums_and_counts(plugin):
    """Only what is declared a count is printed without decimals; a sum keeps its fraction."""
    plugin(
        declaring("Halves", lambda judgments: judgments.retrieved / 2, kind=Kind.SUM),
        declaring("Count", lambda judgments: judgments.retrieved, kind=Kind.COUNT),
        declaring("Wrong", lambda judgments: judgments.retrieved / 2, kind=Kind.COUNT),
    )
    results = evaluated("Halves Count")
    assert results.means.tolist() == [[3, 6]]
    assert results.render("trec", per_query=True).split()[2::3] == [
        "1.5000",
        "3",
        "1.0000",
        "2",
        "0.5000",
        "1",
        "3.0000",
        "6",
    ]
    assert results.to_dict(per_query=True)["runs"][0]["per_query"]["1"] == {"Halves": 1.5, "Count": 3}
    with pytest.raises(
        MetricError, match=f"^Wrong: {MINE} failed: it returned a number that is not an integer"
    ):
        evaluated("Wrong")


def test_an_error_of_its_own_stays(plugin):
    plugin(declaring("Toy", raising(MetricError("the grades are not those of stars"))))
    with pytest.raises(MetricError, match=f"^Toy: {plugged.MINE} failed: the grades are not those of stars$"):
        evaluated("Toy")


# Its parameters


def parsing(parse_text):
    return taking(Annotated[float, Param("how much", parse_text, "a number", "2")], 1.0)


@pytest.mark.parametrize(
    ("parse_text", "what"),
    [
        (lambda text: sys.exit(1), r"^Toy\(size=5\): plugin .* failed: SystemExit: 1$"),
        (lambda text: [1], r"^Toy\(size=5\): plugin .* failed: TypeError: unhashable type: 'list'$"),
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
    with pytest.raises(
        MetricError, match=rf"^Toy\({name}=5\): .* failed: TypeError: {name} must be a number, not '5'$"
    ):
        evaluated(f"Toy({name}=5)")


def test_a_check_that_fails(plugin):
    plugin(declaring("Toy", taking(Annotated[float, LEVEL], 1.0), check=lambda params: params["size"]))
    with pytest.raises(MetricError, match=rf"^Toy: {plugged.MINE} failed: KeyError: 'size'$"):
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


def printing(judgments, *, level: Annotated[float, LEVEL] = 1.0):
    for _ in range(20):  # in several threads at a time
        print("computing")
    return judgments.retrieved * level


@pytest.mark.parametrize("jobs", [1, 4])
def test_what_it_prints_goes_to_standard_error(plugin, monkeypatch, capsys, jobs):
    monkeypatch.setattr("gradeval.tables.qrels.SHARE", 1)  # a part for each query
    before = sys.stdout
    plugin(lambda: print("loading"), declaring("Toy", printing), declaring("Mute", total))
    results = evaluated("Toy(level=2) Mute AP", jobs=jobs)
    assert results.mean(0, "Toy(level=2)") == pytest.approx(2 * (3 + 2 + 1) / 3)
    out, err = capsys.readouterr()
    assert out == ""
    assert set(err.split()) == {"loading", "computing"}
    assert sys.stdout is before


def test_a_standard_output_that_it_replaces_is_restored(plugin, capsys):
    def replacing(judgments):
        sys.stdout = None
        return judgments.retrieved

    before = sys.stdout
    plugin(declaring("Toy", replacing))
    evaluated("Toy AP")
    assert sys.stdout is before
    sys.stdout = None  # closed by the parent process
    try:
        evaluated("Toy AP")
        assert sys.stdout is None
    finally:
        sys.stdout = before

"""Runs of dicts whose judged documents are looked up: as reduction reads the same dicts, or left to it."""

import random
from decimal import Decimal

import numpy as np
from helpers import each, each_row, raises

from gradeval import InputError, read_qrels
from gradeval.formats.memory import Nested
from gradeval.options import TIES, Options
from gradeval.records import fields_of
from gradeval.tables.load import run_of_data
from gradeval.tables.lookup import looked_up

QRELS = {"1": {"a": 1, "b": 0, "é": 2}, "2": {"a": 1, "x": 3}, "3": {"a": 1}}
RUN = {"2": {"a": 1.5, "c": 2.5, "x": 0.5}, "1": {"z": 3.0, "é": 1.0, "b": 2.0}, "4": {"a": 1.0}}


def values_of(reduced):
    records = [*fields_of(reduced.ties).values(), *fields_of(reduced.identical).values()]
    columns = [reduced.rank, reduced.score, reduced.retrieved, *records]
    bits = [column.astype(np.float64).view(np.uint64).tolist() for column in columns]
    return bits, reduced.unjudged, reduced.tag, reduced.ranks, reduced.extra


def both(qrels, run, ties="trec"):
    """Both reductions, the first None where it leaves the run to the other."""
    table = read_qrels(qrels).qrels
    data = Nested("run", run, "score")
    general = run_of_data(data, "run", Options(ties=ties)).replace(nested=None)
    quick = looked_up(data, table, ties)
    return quick and values_of(quick), values_of(general.reduce(table, 1))


def random_run(rng, number):
    name = rng.choice([lambda n: f"d{n}", lambda n: f"é{n}", lambda n: "文" * (n % 3) + str(n)])
    queries = [name(n) for n in range(rng.randint(1, 9))]
    qrels = {
        query: {name(n + 50): n % 4 for n in range(rng.randint(1, 30)) if rng.random() < 0.7}
        for query in queries
    }
    run = {
        query: {name(n + 50): number(rng) for n in rng.sample(range(45), rng.randint(0, 45))}
        for query in [*rng.sample(queries, len(queries)), name(99)]
        if rng.random() < 0.9
    }
    for query in run if rng.random() < 0.5 else ():
        run[query] = dict(sorted(run[query].items(), key=lambda pair: -float(pair[1])))
    run["last"] = {"a": number(rng)}
    return {query: grades or {"other": 1} for query, grades in qrels.items()}, run


NUMBERS = {
    "floats": lambda rng: rng.gauss(0, 9),
    "ties": lambda rng: rng.randrange(9) / 4,
    "zeros": lambda rng: rng.choice([0.0, -0.0, 1.0]),
    "integers": lambda rng: rng.choice([1, 2, 2**60, 2**60 + 1]),
    "bools": lambda rng: rng.random() < 0.5,
    "numpy": lambda rng: rng.choice([np.float32, np.float64, np.int64])(rng.randrange(20)),
    "texts": lambda rng: str(rng.randrange(1000, 9999)),  # as long as floats where they are marshalled
    "any": lambda rng: rng.choice([1, 2.5, True, np.float32(0.1), Decimal("0.25"), "3.5"]),
}


@each("number", [*NUMBERS])
@each("ties", ["trec", "input"])
def test_random_runs(number, ties):
    rng = random.Random(1)
    for _ in range(8):
        qrels, run = random_run(rng, NUMBERS[number] if number != "any" else NUMBERS["floats"])
        if number == "any":
            run = {query: {document: NUMBERS["any"](rng) for document in of} for query, of in run.items()}
        quick, general = both(qrels, run, ties)
        assert quick == general
    for run in ({"1": {}}, {query: {"a": 1.0} for query in "123"}, {"4": {"a": 1}}):
        quick, general = both(QRELS, run)
        assert quick == general


def changed(query, documents):
    return {**RUN, query: documents}


def test_runs_for_reduction():
    odd = [{"a": 1.0, 7: 2.0}, {b"a": 1.0}, {"a": 1.0, "2": 2.0}, {"a": 1.0, "\udcff": 2.0}]
    nothing = {query: {} for query in RUN}
    for run in (*(changed("2", of) for of in odd), changed(5, {"a": 1.0}), nothing | {"4": {5: 1}}):
        quick, general = both(QRELS, run)
        assert quick is None and general
    for ties in {*TIES} - {"trec", "input"}:
        assert looked_up(Nested("run", RUN, "score"), read_qrels(QRELS).qrels, ties) is None


@each_row(
    ({"a": 1.0, "b": float("nan")}, "query '2', document 'b': the score nan is not a finite number"),
    ({"a": float("inf")}, "query '2', document 'a': the score inf is not a finite number"),
    ({"a": np.timedelta64(5, "ns")}, "query '2', document 'a': the score .* is not a number"),
    ({"a": 10**400}, "query '2', document 'a': the score is too large for a floating-point number"),
    ({"a\0b": 1.0}, r"query '2', document .*: the document id 'a\\x00b' contains a NUL byte"),
    ({"\ud800": 1.0}, "query '2', document .*: the document id .* cannot be encoded"),
    ({"é": 1.0, "\udcc3\udca9": 1.0}, "duplicate document 'é' for its query"),
)
def test_errors_are_those_of_reduction(documents, message):
    run = run_of_data(Nested("run", changed("2", documents), "score"), "run")
    raises(InputError, message, run.reduce, read_qrels(QRELS).qrels, 1)


class Odd(str):
    """Two of them may be the same id and different keys."""

    __slots__ = ()
    __eq__, __hash__ = object.__eq__, object.__hash__


@each_row(
    ({"1": {"a": 1, "b": 0}, "2": {"é": 1}}, ["a", "b", "é"]),
    ({"1": {"a": 1}, "2": {}, "3": {"b": 1}}, ["a", "b"]),
    ({1: {"a": 1}, "2": {"b": 1}, "1": {"c": 1}}, ["a", "c", "b"]),
    ({"1": {"a": 1, b"a": 1, "b": 1}}, ["a", "b"]),
    ({"1": {"\udcc3\udca9": 1, 7: 1}}, ["é", "7"]),
    ({"\udcc3\udca9": {"a": 1}, "2": {"b": 1}, "é": {"c": 1}}, ["a", "c", "b"]),
    ({"1": {Odd("a"): 1, Odd("a"): 1, "b": 1}}, ["a", "b"]),
    ({Odd("1"): {"a": 1}, "2": {"b": 1}, Odd("1"): {"c": 1}}, ["a", "c", "b"]),
)
def test_names_of_judged_documents(qrels, names):
    """They are those of the rows, whether the keys of the dicts are taken for them or not."""
    table = read_qrels(qrels).qrels
    assert list(table.names) == names
    assert [name.encode() for name in names] == table.documents.tolist()

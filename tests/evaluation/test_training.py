"""Metrics of arrays, against the same data as dicts."""

from datetime import date

import numpy as np
import pytest
from helpers import check_each, each, each_row, error_of, examples, with_needed
from hypothesis import given
from hypothesis import strategies as st

from gradeval import Evaluator, InputError, MetricError, OptionError, evaluate, score_arrays
from gradeval.evaluation.score import has_expected
from gradeval.registry.metric import REGISTRY
from gradeval.registry.spec import parse

METRICS = "nDCG@5 AP RR(rel=2) ERR"
RNG = np.random.default_rng(5)
SIZES = [7, 1, 12, 30, 4]
QUERY = np.repeat([9, 3, 27, 1, 4], SIZES)
GRADE = RNG.integers(0, 4, sum(SIZES))
SCORE = np.round(RNG.random(sum(SIZES)), 1)


def nested(values, query=QUERY):
    """Documents whose trec order of ties, by id descending, is their order in the arrays."""
    found = {}
    for row, (name, value) in enumerate(zip(query.tolist(), values.tolist(), strict=True)):
        found.setdefault(str(name), {})[f"d{9999 - row}"] = value
    return found


def test_values_are_those_of_evaluate():
    expected = evaluate(nested(GRADE), nested(SCORE), METRICS)
    scores = score_arrays(METRICS, grade=GRADE, score=SCORE, query=QUERY, ties="input")
    assert scores.queries.tolist() == [9, 3, 27, 1, 4]
    assert [*scores] == ["nDCG@5", "AP", "RR(rel=2)", "ERR"]
    for m, metric in enumerate(scores):
        assert scores[metric] == expected.mean(0, m)
        assert scores.per_query(metric).tolist() == [*expected.per_query(0, m).values()]
    assert scores["ndcg_cut_5"] == scores["nDCG@5"]
    by_size = score_arrays(METRICS, grade=GRADE, score=SCORE, group=[7, 1, 0, 12, 30, 4], ties="input")
    assert dict(by_size) == dict(scores)
    assert by_size.queries.tolist() == [0, 1, 3, 4, 5]


@each(("ties", "kind"), [("input", int), ("best", str), ("worst", object), ("expected", float)])
def test_queries_in_any_order(ties, kind):
    ids = QUERY.astype(kind)
    order = np.lexsort((np.arange(len(QUERY)), RNG.permutation(len(QUERY)) % 7))  # of a query too
    shuffled = score_arrays(METRICS, grade=GRADE[order], score=SCORE[order], query=ids[order], ties=ties)
    whole = evaluate(nested(GRADE[order], QUERY[order]), nested(SCORE[order], QUERY[order]), METRICS, ties=ties)
    assert [*shuffled.values()] == whole.means[0].tolist()
    assert [str(one) for one in shuffled.queries] == [str(one) for one in dict.fromkeys(ids[order].tolist())]


def test_equal_scores_gain_nothing():
    """Positives usually stand first, so that their order would make a dead model perfect."""
    dead = {"grade": [[1, 0, 0, 0]] * 20, "score": np.zeros((20, 4))}
    assert score_arrays("nDCG@10 MRR@10", **dead)["MRR@10"] == pytest.approx((1 + 1 / 2 + 1 / 3 + 1 / 4) / 4)
    assert score_arrays("MRR", **dead, ties="input")["MRR"] == 1
    assert score_arrays("MRR", **dead, ties="worst")["MRR"] == 1 / 4


@each("kind", [np.float16, np.float32])
def test_short_floats_keep_their_ties(kind):
    score = np.linspace(0.5, 0.501, 40).astype(kind)
    assert len(np.unique(score)) < 40 or kind is np.float32
    found = score_arrays(METRICS, grade=GRADE[:40], score=score)
    assert dict(found) == dict(score_arrays(METRICS, grade=GRADE[:40], score=score.astype(np.float64)))


@each("metric", ["bpref", "num_rel_ret@3"])  # the second has one, if it is an integer
def test_metrics_without_an_expected_value_name_the_option(metric):
    arrays = {"grade": [1, 0, 0, 0], "score": [1, 1, 1, 1]}
    what = error_of(MetricError, score_arrays, metric, **arrays)
    assert "no expected value over the orders of tied scores" in what
    assert "give ties='input', 'best' or 'worst'" in what
    assert score_arrays(metric, **arrays, ties="input")[metric] == 1


def test_arrays_of_other_libraries():
    def exported(array):
        """An array that offers DLPack alone."""
        methods = {name: getattr(array, name) for name in ("__dlpack__", "__dlpack_device__")}
        return type("Exported", (), {name: staticmethod(method) for name, method in methods.items()})()

    expected = score_arrays("AP", grade=GRADE, score=SCORE, query=QUERY)
    kinds = [exported, list, lambda array: array.astype(np.float32)]
    for kind in (*kinds, pytest.importorskip("pandas").Series):
        found = score_arrays("AP", grade=kind(GRADE), score=SCORE, query=kind(QUERY))
        assert dict(found) == dict(expected)


@each_row(
    ({"score": [1.0]}, "score: 1 scores for 2 grades"),
    ({"grade": [1, np.nan]}, "grade:2: the grade nan is not a finite number"),
    ({"score": [np.inf, 1]}, "score:1: the score inf is not a finite number"),
    ({"grade": [1, 1e200]}, "grade:2: the grade 1e+200 is out of range"),
    ({"grade": ["a", "b"]}, "grade: an array of numbers is needed, not of <U1"),
    ({"score": [[[1, 2]]]}, "score: an array of one dimension or two is needed, not of shape"),
    ({"score": [[1, 2]]}, "grade and score need one shape of two dimensions, not (2,) and (1, 2)"),
    ({"mask": [True, True]}, "grade and score need one shape of two dimensions"),
    ({"grade": [[1, -1]], "score": [[1, 2]]}, "If it is padding, give mask=grade != -1"),
    ({"grade": [[1, 0]], "score": [[1, 2]], "mask": [[0.5, 1]]}, "mask: booleans of the shape"),
    ({"grade": [[1, 0]], "score": [[1, 2]], "query": [1]}, "query and group go with arrays"),
    ({"weights": [1, 2]}, "weights: 2 weights for 1 queries"),
    ({"grade": [[1, -100]], "score": [[1, 2]]}, "give mask=grade != -100"),
    ({"grade": [[-1, -100.0]], "score": [[1, 2]]}, "give mask=grade != -100"),
    ({"weights": [-1]}, "weights: weights are numbers from 0, and one"),
    ({"weights": [0]}, "weights: weights are numbers from 0, and one"),
    *(({"weights": [far]}, "weights are 0 or between 1e-150 and 1e150") for far in (1e-322, 1e308)),
    ({"grade": [], "score": []}, "grade: no documents given"),
    ({"query": [1]}, "query: 1 query ids for 2 documents"),
    ({"query": [1.0, np.nan]}, "query:2: the query id is missing"),
    ({"query": ["a", None]}, "query:2: the query id is missing"),
    ({"query": np.array(["NaT", "2026-01-01"], "M8[D]")}, "query:1: the query id is missing"),
    ({"query": np.array([1, 2], "M8[s]")}, "query:1: the query id np.datetime64('1970-01-01T00:00:01')"),
    ({"query": [1, date(2026, 1, 1)]}, "query:2: the query id datetime.date(2026, 1, 1) is a time"),
    ({"query": np.array(["a", 1], object)}, "query:2: the ids cannot be compared"),
    ({"group": [1]}, "group: the sizes add up to 1, but there are 2 documents"),
    ({"group": [3, -1]}, "group: the sizes are integers from 0"),
    ({"missed": [1.0]}, "missed: a row for the query is needed, padded with NaN, not an array of shape (1,)"),
    ({"missed": [[1], [1]]}, "missed: a row for the query is needed, padded with NaN, not an array of shape"),
    ({"missed": [[1]], "group": [1, 1]}, "missed: a row for each of the 2 queries is needed"),
    ({"missed": [[1, np.nan], [np.nan, np.inf]], "group": [1, 1]}, "missed:2: the grade inf is not a finite"),
    ({"missed": [[1, -1]]}, "missed: there is a grade -1 in rows without NaN. If it is padding, give NaN in"),
    ({"missed": [["a"]]}, "missed: an array of numbers is needed, not of <U1"),
    ({"missed": [[1e-200]]}, "missed:1: the grade 1e-200 is out of range"),
    ({"grade": [[1], [np.nan]], "score": [[1], [2]]}, "grade:2: the grade nan is not a finite number"),
    ({"grade": [[1, 1], [1]], "score": [[1], [2]]}, "different lengths with any number, where the mask is"),
    ({"group": [2], "query": [1, 1]}, "query and group are mutually exclusive"),
    ({"ties": "trec"}, "ties must be input, best, worst or expected"),
    ({"depth": 0}, "depth must be"),
    ({"metrics": "runid"}, "runid has no numbers"),
    ({"metrics": "nDGC"}, "did you mean"),
    *(({name: np.ma.array([1, 1], mask=mask)}, f"{name}: a masked array ") for mask in (False, True)
      for name in ("grade", "score", "query", "group")),
)  # fmt: skip
def test_wrong_arguments(arguments, what):
    of_options = what.startswith(("query and group", "ties must", "depth must"))
    kind = MetricError if "metrics" in arguments else OptionError if of_options else InputError
    call = {"metrics": "AP", "grade": [1, 0], "score": [1.0, 2.0], **arguments}
    assert what in error_of(kind, score_arrays, **call)


def test_unknown_metrics_are_no_keys():
    scores = score_arrays("AP", grade=[1], score=[1])
    for name in ("RR", "AP RR", 5):
        error_of((KeyError, MetricError), scores.__getitem__, name)
    assert repr(scores) == "Scores({'AP': 1.0})" and len(scores) == 1


def test_rows_are_queries():
    grade, score = [[2, 0, 1], [0, 1, -1], [-1, -1, -1]], [[0.1, 0.9, 0.4], [0.3, 0.2, 9.0], [1, 2, 3]]
    found = score_arrays("nDCG@10 RR", grade=grade, score=score, mask=np.array(grade) != -1)
    flat = score_arrays("nDCG@10 RR", grade=[2, 0, 1, 0, 1], score=[0.1, 0.9, 0.4, 0.3, 0.2], group=[3, 2, 0])
    assert dict(found) == dict(flat)
    assert found.queries.tolist() == flat.queries.tolist() == [0, 1]
    whole = score_arrays("AP", grade=[[1, -1]], score=[[1.0, 2.0]], mask=[[1, 1]])
    assert whole["AP"] == 0.5


def test_weights_of_queries():
    grade, score = [[1, 0], [0, 1], [1, 0]], [[1, 2], [1, 2], [1, 2]]
    metrics = "RR num_rel nDCG gm_map"
    found = score_arrays(metrics, grade=grade, score=score, weights=[1, 2, 0], ties="input")
    assert found["RR"] == pytest.approx((0.5 + 2 * 1) / 3)
    assert found["num_rel"] == 3  # a sum has no weights
    assert found["gm_map"] == pytest.approx((0.5 * 1 * 1) ** (1 / 3))
    assert found.per_query("RR").tolist() == [0.5, 1, 0.5]
    for how in ({"query": ["b", "b", "a", "a"], "weights": [1, 2]}, {"group": [2, 0, 2], "weights": [1, 5, 2]}):
        assert score_arrays("RR", grade=[1, 0, 0, 1], score=[1, 2, 1, 2], **how)["RR"] == found["RR"]
    undefined = score_arrays("AP", grade=[[0], [1]], score=[[1], [1]], weights=[9, 1], no_relevant="skip")
    assert undefined["AP"] == 1


def test_missed_documents_are_judged_and_not_retrieved():
    """The first 2 of each query alone are perfect; with what they lack they are not."""
    arrays = {"grade": [1, 1, 1, 2], "score": [3, 2, 2, 1]}
    whole = {**arrays, "group": [2, 2, 0]}
    missed = [[0, np.nan], [1, 1], [3, np.nan]]
    found = score_arrays("R@2 nDCG AP num_ret num_rel", **whole, missed=missed)
    assert found.queries.tolist() == [0, 1, 2]  # the last has a relevant document, and found none
    assert found.per_query("R@2").tolist() == [1, 0.5, 0]
    assert found.per_query("AP").tolist() == [1, 0.5, 0]
    assert found.per_query("nDCG")[1] == pytest.approx(
        (1 + 2 / np.log2(3)) / (2 + 1 / np.log2(3) + 1 / 2 + 1 / np.log2(5))
    )
    assert [found[metric] for metric in ("num_ret", "num_rel")] == [4, 7]
    by_id = score_arrays("R@2", **arrays, query=["b", "a", "b", "a"], missed=[[1], [np.nan]])
    assert by_id.per_query("R@2").tolist() == [2 / 3, 1]  # in order of first appearance
    rows = {"grade": [[1, 1], [1, 2], [9, 9]], "score": [[3, 2], [2, 1], [0, 0]]}
    mask = [[1, 1], [1, 1], [0, 0]]
    assert dict(score_arrays([*found], **rows, mask=mask, missed=missed)) == dict(found)
    none, without = (score_arrays("AP nDCG", **whole, **more) for more in ({"missed": np.zeros((3, 0))}, {}))
    assert dict(none) == dict(without)


GRADES = st.sampled_from([-1.0, 0.0, 0.0, 0.5, 1.0, 2.0, 3.0])
SCORES = st.sampled_from([-1.5, 0.0, 0.25, 1.0, 2.0])
RULES = st.sampled_from(["input", "best", "worst", "expected"])
QUERIES = st.tuples(st.lists(st.tuples(GRADES, SCORES), max_size=9), st.lists(GRADES, max_size=4))
TABLES = st.lists(QUERIES, min_size=1, max_size=4).filter(lambda table: any(found for found, _ in table))
SPECS = parse(
    "AP AP@2 AP(norm=min)@2 bpref CG@3 Compat(p=0.8) DCG(gain=0:1/1:2/2:3)@2 ERR ERR@3 F@2 gP@2 gR@2 iRBU@2 "
    "Judged@2 muAP nDCG nDCG@1,3 nDCG(ideal=local)@2 nDCG(ideal=max)@2 nDCG(top=1/3)@2 NDCNG@2 nDCGphi@2 "
    "nERR@2 num_ret P@1,5 P(rel=0)@2 P(judged_only=true)@2 Q@3 R@2 rankDCG rbp Rprec RR RR@2 set_P@2 "
    "StRecall@2 Success@2 Success(need=all)@2 tau unj@2 alpha_nDCG@3"
)  # fmt: skip


def as_dicts(table):
    """Qrels and a run; of equal scores trec's order, by id descending, is that of the arrays."""
    judged, run = {}, {}
    for query, (documents, missed) in enumerate(table):
        names = [f"d{9 - place}" for place in range(len(documents))]
        if documents or missed:
            judged[str(query)] = {f"m{place}": grade for place, grade in enumerate(missed)}
            judged[str(query)] |= {name: grade for name, (grade, _) in zip(names, documents, strict=True)}
        if documents:
            run[str(query)] = {name: score for name, (_, score) in zip(names, documents, strict=True)}
    return judged, run


def padded(rows):
    """An array with NaN behind shorter rows."""
    array = np.full((len(rows), max(map(len, rows))), np.nan)
    for row, values in enumerate(rows):
        array[row, : len(values)] = values
    return array


@examples(times=1)
@given(TABLES, RULES, st.sampled_from([None, None, 2, 4]), st.booleans(), st.data())
def test_against_dicts(table, ties, depth, is_cut, data):
    """Any lengths, negative and real grades, ties, missed documents, with and without a last rank."""
    possible = [spec for spec in SPECS if ties != "expected" or has_expected(spec)]
    possible = [spec for spec in possible if spec.cutoff or not is_cut]
    names = data.draw(st.lists(st.sampled_from([*map(str, possible)]), min_size=1, max_size=4, unique=True))
    grade, score = (padded([[pair[k] for pair in documents] for documents, _ in table]) for k in (0, 1))
    is_document = ~np.isnan(grade)
    options = {"missed": padded([[*missed, np.nan] for _, missed in table]), "ties": ties, "depth": depth}

    def by_rows():
        return score_arrays(names, grade=grade, score=score, mask=is_document, **options)

    try:
        rule = "trec" if ties == "input" else ties
        expected = evaluate(*as_dicts(table), names, ties=rule, depth=depth)
    except MetricError as error:  # the depth divides ties
        assert error_of(MetricError, by_rows).startswith(str(error)[:40])
        return
    found = by_rows()
    assert [str(query) for query in found.queries] == [*as_dicts(table)[0]]
    flat = {"grade": grade[is_document], "score": score[is_document], "group": is_document.sum(axis=1)}
    groups = score_arrays(names, **flat, **options)
    for m, metric in enumerate(names):
        np.testing.assert_allclose(found.per_query(metric), expected.values(0, m), rtol=1e-12, atol=1e-15)
        assert found[metric] == pytest.approx(expected.mean(0, m), rel=1e-12, nan_ok=True)
        np.testing.assert_array_equal(groups.per_query(metric), found.per_query(metric))


def test_only_the_first_ranks_are_needed():
    """Beside a metric of all ranks, every metric with a cutoff has the values that it has alone."""
    rng = np.random.default_rng(8)
    arrays = {"grade": rng.choice([-1, 0, 0, 0.5, 1, 2], (30, 12)), "score": rng.choice(9, (30, 12))}

    def check(metric):
        for cutoff in (1, 3):
            name = with_needed(metric.name, cutoff=cutoff)
            is_expected = has_expected(*parse(name)) and not metric.is_count
            for ties in ("input", "best", *["expected"] * is_expected):
                options = {**arrays, "mask": np.ones((30, 12), bool), "ties": ties}
                alone, beside = (score_arrays(names, **options) for names in ([name], [name, "num_ret"]))
                np.testing.assert_allclose(alone.per_query(name), beside.per_query(name), rtol=1e-12)

    check_each([metric for metric in REGISTRY.values() if "cutoff" in metric.by_name and metric.is_ours], check)
    for name in ("nDCG(ideal=local)@2", "P(judged_only=true)@2"):
        assert parse(name)[0].metric.last_rank(parse(name)[0].params) is None


IDS = st.sampled_from([-1, *range(8)])
FOUND = st.lists(st.tuples(st.sampled_from([7, 8, 9, 10]), st.lists(IDS, min_size=5, max_size=5)), min_size=1)


def unique_by(rows):
    """Of the rows those of new queries, with none in place of a document that a row has already."""
    return {query: [d if d not in row[:k] else -1 for k, d in enumerate(row)] for query, row in reversed(rows)}


@examples(times=1)
@given(FOUND, st.lists(SCORES, min_size=20, max_size=20), st.data())
def test_arrays_of_ids_are_the_same_run_as_dicts(rows, scores, data):
    """Integers and strings, -1 anywhere, ties, queries that are missing or not judged."""
    documents = unique_by(rows)
    score = np.array(scores[: 5 * len(documents)]).reshape(-1, 5)
    run = {
        str(query): {str(d): value for d, value in zip(row, of_row, strict=True) if d != -1}
        for (query, row), of_row in zip(documents.items(), score.tolist(), strict=True)
    }
    judged = {str(query): {str(d): d % 4 for d in range(0, 12, query - 6)} for query in (9, 8, 7)}
    options = {"ties": data.draw(st.sampled_from([None, "input", "expected"]))}
    options |= {"queries": data.draw(st.sampled_from(["judged", "both"]))}
    evaluator = Evaluator(judged, "nDCG@2 AP R@3 num_ret", query_weights={"7": 1, "8": 2, "9": 5}, **options)
    arrays = {"query": [*documents], "document": [*documents.values()]}
    kind = data.draw(st.sampled_from([np.int64, str, object]))
    arrays = {name: np.array(ids, kind) for name, ids in arrays.items()}
    try:
        expected = evaluator.evaluate(run)
    except InputError:
        error_of(InputError, evaluator.evaluate_arrays, **arrays, score=score)
        return
    found = evaluator.evaluate_arrays(**arrays, score=score)
    assert [*found.values()] == expected.means[0].tolist()
    for metric in found:
        assert dict(zip(found.queries.tolist(), found.per_query(metric).tolist(), strict=True)) == (
            expected.per_query(0, metric)
        )


@each_row(
    ({"query": [1]}, "query: 1 query ids for 2 rows of documents"),
    ({"query": [[1], [2]]}, "query: an array of one dimension is needed, not of shape (2, 1)"),
    ({"query": ["1", "1"]}, "query:2: duplicate query '1'. The first is in row 1"),
    ({"query": [1, None]}, "query:2: the query id is missing"),
    ({"query": [5, 6]}, "arrays: it has no query in common with qrels. Check the query ids: '5', '6' here"),
    ({"query": [1.0, 2.0]}, "query: ids are strings or integers, not float64"),
    ({"document": [1, 2]}, "document: a row of documents for each query is needed, not an array of shape (2,)"),
    ({"document": [[1, 2], [3]]}, "Pad rows of different lengths with -1, which is no document"),
    ({"document": [[1, 2, 3], [4, 5, 6]]}, "score: an array of shape (2, 3) is needed, as document has it"),
    ({"document": [["a", "b"], ["a", None]]}, "document:2: the document id is missing"),
    ({"document": [[True, False], [False, True]]}, "document: ids are strings or integers, not bool"),
    ({"document": [[3, 4], [5, 5]]}, "arrays:2: duplicate document '5' for query '2'. Evaluator(…, dup"),
    ({"document": [[-1, -1], [-1, -1]]}, "document: no documents given"),
    ({"document": np.ma.array([[3, 4], [5, 6]])}, "document: a masked array is not read"),
    ({"score": [[1, 2], [3, np.nan]]}, "score:2: the score nan is not a finite number"),
    ({"score": [["a", "b"], ["c", "d"]]}, "score: an array of numbers is needed, not of <U1"),
)  # fmt: skip
def test_wrong_arrays_of_ids(arrays, what):
    evaluator = Evaluator({"1": {"3": 1}, "2": {"5": 1}}, "AP")
    right = {"query": [1, 2], "document": [[3, 4], [5, 6]], "score": [[2, 1], [2, 1]]}
    assert evaluator.evaluate_arrays(**right)["AP"] == 1
    assert what in error_of(InputError, evaluator.evaluate_arrays, **(right | arrays))


def test_scores_of_no_document_are_not_read():
    """FAISS returns the lowest float with -1; a duplicate counts once where that was asked for."""
    evaluator = Evaluator({"1": {"3": 1, "4": 1}, "2": {"5": 1}}, "AP R@2", duplicates="best")
    document, score = (
        np.array([[3, 9, 3, -1], [-1] * 4]),
        np.array([[2, 1, 0, np.nan], [-np.inf] * 4], np.float32),
    )
    found = evaluator.evaluate_arrays(query=np.array(["1", "2"]), document=document, score=score)
    assert found.queries.tolist() == ["1", "2"]
    assert found.per_query("AP").tolist() == [0.5, 0]
    for metric, options, kind in (
        ("runid", {}, MetricError),
        ("AP", {"tie_range": True}, OptionError),
        ("AP", {"interval": "t"}, OptionError),
    ):
        evaluator = Evaluator({"1": {"3": 1}}, metric, **options)
        assert error_of(kind, evaluator.evaluate_arrays, query=[1], document=[[3]], score=[[1]])

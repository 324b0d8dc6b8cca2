"""Evaluators and tables that are read once."""

import copy
import gc
import pickle
import random
import weakref

from helpers import each, raises

from gradeval import Evaluator, InputError, OptionError, evaluate, read_qrels, read_run
from gradeval.evaluation import outcome

METRICS = "nDCG@10 AP muAP bpref"


def collection(seed):
    draw = random.Random(seed)
    qrels = {f"q{q}": {f"d{draw.randrange(90)}": draw.randrange(4) for _ in range(12)} for q in range(8)}
    run = {q: {f"d{d}": draw.randrange(20) / 4 for d in draw.sample(range(90), 40)} for q in [*qrels, "x"]}
    return qrels, run


def same(one, other):
    return one.to_dict(per_query=True) == other.to_dict(per_query=True)


def test_an_evaluator_can_be_used_again(tmp_path):
    qrels, run = collection(1)
    _, other = collection(2)
    evaluator = Evaluator(qrels, METRICS, depth=20, by_level=True)
    for runs in (run, other, [run, other], {"mine": run}, run):
        assert same(evaluator.evaluate(runs), evaluate(qrels, runs, METRICS, depth=20, by_level=True))
    raises(InputError, "no query in common", evaluator.evaluate, {"z": {"a": 1}})
    raises(InputError, "no runs given", evaluator.evaluate, [])


@each("options", [{}, {"judged_only": True}, {"depth": 5, "rel": 2}, {"tie_range": True}])
def test_what_runs_share_is_that_of_the_grades(options):
    """The ideal rankings are computed once, and no run, metric or option changes them for the next."""
    metrics = (
        "AP(rel=1) AP(rel=2) R@10 nDCG nDCG(gain=exp) nDCG(gain=1:2/3:9)@5 nDCG(top=2/5)@5 NDCNG nDCGphi Rndcg"
    )
    metrics += " nDCG(ideal=local)@10 nDCG(judged_only=true) ideal_dcg rankDCG ERR Q muAP tau"
    qrels, _ = collection(4)
    evaluator = Evaluator(qrels, metrics, **options)
    for seed in (5, 6):
        _, run = collection(seed)
        found, expected = evaluator.evaluate(run), evaluate(qrels, run, metrics, **options)
        assert found.runs[0].values.tobytes() == expected.runs[0].values.tobytes()
        assert found.notices == expected.notices


TIED = {"q": {"a": 0, "b": 3, "c": 1}, "r": {"a": 1}, "s": {"z": 0}}
TIED_RUN = {"q": {"a": 1.0, "b": 1.0, "c": 1.0, "x": 1.0}, "s": {"y": 1.0}, "t": {"a": 1.0}}


@each("options", [{}, {"ties": "trec"}, {"tie_range": True}, {"queries": "both"}])
def test_notices_are_those_of_evaluate(options):
    runs = {"one": TIED_RUN, "two": {"r": {"a": 1.0}}}
    expected = evaluate(TIED, runs, METRICS, **options)
    found = Evaluator(TIED, METRICS, **options).evaluate(runs)
    assert found.notices == expected.notices
    assert found.notices is found.notices
    assert found.warnings == expected.warnings
    assert len({notice.kind for notice in found.notices}) > 2


def test_when_notices_are_found(monkeypatch):
    """When they are looked at, or at once where nothing else is kept of a run; each run has its own."""
    found = []
    spread = outcome.spread
    monkeypatch.setattr(outcome, "spread", lambda *given: found.append(given) or spread(*given))
    evaluator = Evaluator(TIED, METRICS)
    results = evaluator.evaluate(TIED_RUN)
    results.means, results.render(), results.to_dict
    assert not found
    assert results.notices and results.warnings
    assert len(found) == 1
    evaluate(TIED, TIED_RUN, METRICS)
    assert len(found) == 2
    runs = [("one", TIED_RUN), ("two", {"r": {"a": 1.0}})]
    expected = evaluator.evaluate(dict(runs)).notices
    for how in ({"on_run": lambda results: None}, {"keep_values": False}):
        found.clear()
        results = evaluator.evaluate_each(runs, **how)
        assert len(found) == 2
        assert results.notices == expected
    shown = []
    evaluator.evaluate_each(runs, shown.append)
    assert [[run.name for run in part.runs] for part in shown] == [["one"], ["two"]]
    for part, (name, _) in zip(shown, runs, strict=True):
        assert part.notices == tuple(one for one in expected if one.subject == name)
    assert shown[0].notices


@each(
    "other",
    [
        lambda results: pickle.loads(pickle.dumps(results)),
        copy.copy,
        copy.deepcopy,
        lambda results: results.replace(qrels="other"),
        lambda results: results.by_id(),
    ],
)
def test_notices_of_copies(other):
    runs = [TIED_RUN, {"r": {"a": 1.0}}]
    expected = evaluate(TIED, runs, METRICS)
    results = Evaluator(TIED, METRICS).evaluate(runs)
    assert other(results).notices == expected.notices
    assert results.compare().notices == expected.compare().notices
    assert other(results).notices == expected.notices
    assert results.to_dict() == expected.to_dict()
    given = results.replace(notices=())
    assert (given.notices, given.warnings) == ((), ())


def test_results_do_not_keep_the_lines_of_their_runs():
    class Run(dict):
        """A run that can be referred to weakly."""

    run = Run(TIED_RUN)
    kept = weakref.ref(run)
    results = Evaluator(TIED, METRICS).evaluate(run)
    del run
    gc.collect()
    assert kept() is None
    assert results.notices


LETOR = b"2 qid:1 1:0.5 2:7 # a\n0 qid:1 1:0.75 2:1 # b\n1 qid:2 1:1\n"


def test_tables_that_are_read_once(tmp_path):
    qrels, run = collection(3)
    judged, ranked, letor = tmp_path / "qrels", tmp_path / "bm25.run", tmp_path / "letor"
    judged.write_text("".join(f"{q} 0 {d} {g}\n" for q, of in qrels.items() for d, g in of.items()))
    ranked.write_text("".join(f"{q} Q0 {d} 0 {s} tag\n" for q, of in run.items() for d, s in of.items()))
    letor.write_bytes(LETOR)
    expected = evaluate(judged, ranked, METRICS + " runid")
    assert same(evaluate(read_qrels(judged), read_run(ranked), METRICS + " runid"), expected)
    assert same(Evaluator(read_qrels(judged), METRICS + " runid").evaluate([read_run(ranked)]), expected)
    assert same(
        evaluate(read_qrels(qrels), {"a": read_run(run), "b": run}), evaluate(qrels, {"a": run, "b": run})
    )
    assert same(evaluate(qrels, read_run(run)), evaluate(qrels, run))
    table = read_run(letor, features=2)
    assert repr(table) == f"RunTable(path='{letor}:feature2', rows=3)"
    assert evaluate(read_qrels(letor), table, "RR").mean(0, 0) == 1.0
    assert evaluate(read_qrels(letor, features="1"), letor, "RR", features="1").mean(0, 0) == 0.75
    assert Evaluator(letor, "RR", features="1,2").evaluate(letor).means[:, 0].tolist() == [0.75, 1.0]


def test_what_is_no_run_by_itself(tmp_path):
    for read in (read_qrels, read_run):
        raises(OptionError, r"options are jobs, (qrels|run)_format, ", read, {}, format="csv")
    raises(OptionError, "unknown option depth", read_run, {}, depth=3)
    assert repr(read_qrels({"1": {"a": 1, "b": 0}})) == "OpenedQrels(path='qrels', queries=1, judgments=2)"
    letor, scores, bad = tmp_path / "letor", tmp_path / "scores", tmp_path / "bad"
    letor.write_bytes(LETOR)
    scores.write_bytes(b"1\n2\n3\n")
    bad.write_bytes(b"1 Q0 a 1 x tag\n")
    raises(OptionError, "features must be the one feature", read_run, letor)
    raises(InputError, "no line has feature 9", read_run, letor, features=9)
    raises(InputError, "require the lines of a LETOR file", read_run, scores)
    raises(InputError, "bad:1: the score 'x' is not a number", read_run, bad)
    raises(InputError, r"^run:2: the score is missing$", read_run, [("1", "a", 1), ("1", "b", None)])

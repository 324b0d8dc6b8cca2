"""gradeval.evaluate, evaluators and tables that are read once, as a Python program calls them."""

import copy
import gc
import gzip
import hashlib
import html
import pickle
import random
import warnings
import weakref
from datetime import datetime
from pathlib import Path

import pytest
from helpers import each, each_row, error_of, raises
from plain import changing

import gradeval
from gradeval import Evaluator, InputError, OptionError, evaluate, read_qrels, read_run
from gradeval.compare_options import CompareOptions
from gradeval.evaluation import caveats
from gradeval.evaluation.evaluation import evaluate_all
from gradeval.evaluation.plan import Plan
from gradeval.formats.sources import Source
from gradeval.notices import EvaluationWarning, Notices
from gradeval.options import Options
from gradeval.registry.spec import parse

QRELS = {"1": {"a": 2, "b": 0, "c": 1}, "2": {"a": 1}, "3": {"d": 1}}
RUN = {"1": {"b": 3.0, "x": 2.0, "a": 1.0}, "2": {"a": 5.0}, "9": {"a": 1.0}}
AP = {"1": 1 / 6, "2": 1.0, "3": 0.0}  # AP of query 1 is (1/3) / 2


def qrels_text(qrels):
    return "".join(f"{q} 0 {d} {grade}\n" for q, of in qrels.items() for d, grade in of.items())


def run_text(run):
    return "".join(f"{q} Q0 {d} 0 {score} tag\n" for q, of in run.items() for d, score in of.items())


@pytest.fixture
def files(tmp_path):
    qrels, run = tmp_path / "qrels.txt", tmp_path / "bm25.run.gz"
    qrels.write_text(qrels_text(QRELS))
    run.write_bytes(gzip.compress(run_text(RUN).encode()))
    return qrels, run


def test_files(files):
    qrels, run = files
    specs = evaluate(qrels, run).specs
    assert " ".join(map(str, specs)) == "num_q nDCG@10 AP muAP NDCNG@10 nDCGphi@10 rankDCG"
    for results in (evaluate(qrels, run, "AP"), evaluate(str(qrels), [str(run)], ["AP"], jobs=1)):
        assert results.per_query("bm25", "AP") == pytest.approx(AP)
        assert (results.qrels, results.runs[0].path) == (str(qrels), str(run))
        assert results.qrels_sha256 == hashlib.sha256(qrels.read_bytes()).hexdigest()
        assert results.runs[0].sha256 is None


def test_features_are_hashed_as_their_file(tmp_path):
    path = tmp_path / "letor"
    path.write_bytes(b"1 qid:1 1:3 2:1 # a\n0 qid:1 1:2 2:2 # b\n")
    watched = []
    qrels, run = (Source(path, lambda size, count: watched.append(size)) for _ in range(2))
    plan = Plan(parse("AP"), Options(features="1,2"), hashes=True)
    results = evaluate_all(plan, qrels, [(None, run)])
    assert results.failed == () and sum(watched) == path.stat().st_size
    expected = Source(path).sha256()
    assert {results.qrels_sha256, *(run.sha256 for run in results.runs)} == {expected}


@each("grown", ["qrels", "run"])
def test_hashes_are_of_what_was_evaluated(grown, tmp_path):
    """Not of a file as it is when its hash is taken."""
    texts = {"qrels": b"1 0 a 1\n1 0 b 0\n", "run": b"1 Q0 b 1 2 t\n1 Q0 a 2 1 t\n"}
    paths = {name: str(tmp_path / name) for name in texts}
    for name, text in texts.items():
        Path(paths[name]).write_bytes(text)

    def grow():
        Path(paths[grown]).write_bytes(texts[grown] + texts[grown].replace(b"1 ", b"2 ", 1))

    options = Options(qrels_format="trec", run_format="trec")
    with changing(paths[grown], grow, lambda size, number: not size):
        results = evaluate_all(Plan(parse("AP"), options, hashes=True), paths["qrels"], [(None, paths["run"])])
    assert results.means.tolist() == [[0.5]]
    found = {"qrels": results.qrels_sha256, "run": results.runs[0].sha256}
    assert found == {name: hashlib.sha256(text).hexdigest() for name, text in texts.items()}


OTHER = {"1": {"a": 1.0}}


@each_row(
    (lambda path: [RUN, OTHER], ["run1", "run2"]),
    (lambda path: (RUN, OTHER), ["run1", "run2"]),
    (lambda path: iter([RUN, OTHER]), ["run1", "run2"]),
    (lambda path: {"mine": RUN, "other": OTHER}, ["mine", "other"]),
    (lambda path: {"mine": path, "other": OTHER}, ["mine", "other"]),
    (lambda path: [path, OTHER], ["bm25", "run2"]),
    (lambda path: {"mine": RUN, 2: [("1", "a", 1.0)]}, ["mine", "2"]),
)
def test_several_runs(runs, names, files):
    results = evaluate(QRELS, runs(files[1]), "AP")
    assert [run.name for run in results.runs] == names
    assert results.means[:, 0].tolist() == pytest.approx([(1 / 6 + 1) / 3, 0.5 / 3])


@each_row(  # others are tried on every metric in tests/metrics/test_every_option.py
    ({"rel": 0}, {"1": (1 + 2 / 3) / 3, "2": 1.0, "3": 0.0}),
    ({"zero_grade": -0.5}, {"1": (1 + 2 / 3) / 3, "2": 1.0, "3": 0.0}),
    ({"queries": "both"}, {"1": 1 / 6, "2": 1.0}),
    ({"query_ids": ["3", "1"]}, {"1": 1 / 6, "3": 0.0}),
    ({"query_ids": [1]}, {"1": 1 / 6}),
    ({"query_ids": ["1", "3"], "queries": "both"}, {"1": 1 / 6}),
)
def test_options(options, expected):
    results = evaluate(QRELS, RUN, "AP", **options)
    assert results.per_query(0, "AP") == pytest.approx(expected)
    assert results.mean(0, "AP") == pytest.approx(sum(expected.values()) / len(expected))
    if "query_ids" in options:
        options = {**options, "query_ids": tuple(map(str, options["query_ids"]))}
    assert {name: results.options[name] for name in options} == options


def test_notices():
    qrels = {str(q): {"a": 1, "b": 0, "z": 1} for q in range(1500)}
    run = {str(q): {"a": 1.0, "b": 1.0} for q in range(2, 1300)} | {"x": {"a": 1}, "y": {"a": 1}}
    assert evaluate(qrels, run, "AP").warnings == (
        "run1: 202 judged queries are not in the run ('0', '1', '1300', '1301', '1302', …), counted as 0",
        "run1: 2 unjudged queries of the run, ignored",
        "run1: ties in 1,298 queries could change AP by up to 0.2163 (0.2163 to 0.4327; expected 0.3245)",
    )
    some = evaluate(qrels, {"mine": run}, "AP", queries="both", query_ids=["1", "2"], ties="best")
    assert some.warnings == (
        "mine: 1 judged query is not in the run ('1'), excluded",
        "mine: 2 unjudged queries of the run, ignored",
    )
    same = [("1", "a", 1), ("1", "a", 1)]
    results = evaluate(same, {"1": {"a": 1}}, "AP rankDCG")
    assert results.warnings == (
        "qrels: 1 duplicate judgment with the same grade",
        "run1: rankDCG is undefined for 1 query, excluded from its mean",
    )


LETOR = b"2 qid:1 1:0.5 2:7 # a\n0 qid:1 1:0.75 2:1 # b\n1 qid:2 1:1\n"


def test_no_common_query(tmp_path):
    raises(OptionError, "query '7' is not in qrels", evaluate, QRELS, RUN, "AP", query_ids=["1", "7"])
    raises(InputError, "this is a directory, not a file", evaluate, QRELS, str(tmp_path), "AP")
    ids = ": '7', '8', '9', … here, '1', '2', '3' in qrels"
    for run, shown in (({query: {"a": 1.0} for query in "7890"}, ids), ({}, ""), ({"1": {}}, "")):
        what = rf"^run1: it has no query in common with qrels\. Check the query ids{shown}$"
        raises(InputError, what, evaluate, QRELS, run, "AP")
    raises(InputError, "no query in common", evaluate, QRELS, RUN, "AP", query_ids=["3"])
    for qrels, run in (({1: {"a": 1}}, {1.0: {"a": 1}}), ({"2.0": {"a": 1}}, {"1": {"a": 1}})):
        own, judged = str(*run), str(*qrels)
        raises(InputError, f"compared as text: '{own}' here, '{judged}' in qrels$", evaluate, qrels, run, "AP")


def test_first_bad_run_is_raised_and_others_are_evaluated(files, tmp_path):
    bad = tmp_path / "bad.run"
    bad.write_bytes(b"1 Q0 a 1 x tag\n")
    runs = [(None, files[1]), (None, bad), (None, tmp_path / "none"), (None, {"7": {"a": 1}}), ("last", OTHER)]
    results = evaluate_all(Plan(parse("AP"), Options()), QRELS, runs)
    assert [run.name for run in results.runs] == ["bm25", "last"]
    assert [str(failed.error) for failed in results.failed] == [
        f"{bad}:1: the score 'x' is not a number",
        f"{tmp_path}/none: no such file. Check the path",
        "run4: it has no query in common with qrels. Check the query ids: '7' here, '1', '2', '3' in qrels",
    ]
    assert [failed.path for failed in results.failed] == [str(bad), f"{tmp_path}/none", "run4"]
    judged = other = tmp_path / "letor"
    judged.write_bytes(LETOR)
    features = [(None, other), ("last", [("1", "a", 1.0)])]  # those that no line has are one error
    of_letor = evaluate_all(Plan(parse("RR"), Options(features="1-4")), judged, features)
    assert [str(failed.error) for failed in of_letor.failed] == [f"{other}: no line has features 3, 4"]
    assert [run.name for run in of_letor.runs] == ["feature1", "feature2", "last"]
    what = r"bad\.run:1: the score 'x' is not a number"
    raises(InputError, what, evaluate, QRELS, [run for _, run in runs], "AP")


def test_objects_of_ranx():
    def of_ranx(kind, rows, name=None):
        module = f"ranx.data_structures.{kind.lower()}"
        return type(kind, (), {"__module__": module, "to_dict": lambda self: rows, "name": name})()

    run = of_ranx("Run", RUN, "bm25")
    for runs, names in ((run, ["bm25"]), ({"a": run}, ["a"]), ([run, of_ranx("Run", RUN)], ["bm25", "run2"])):
        results = evaluate(of_ranx("Qrels", QRELS), runs, "AP")
        assert [run.name for run in results.runs] == names
        assert results.means.tolist() == evaluate(QRELS, [RUN] * len(names), "AP").means.tolist()


@each("library", ["pandas", "polars", "pyarrow"])
def test_a_frame_of_several_runs(library):
    frames = pytest.importorskip(library)
    make = frames.table if library == "pyarrow" else frames.DataFrame
    columns = {"query": ["1", "1", "2"], "document": ["x", "x", "y"], "score": [1.0, 2.0, 3.0]}
    frame, qrels = make({"run": ["b", "a", "b"], **columns}), {"1": {"x": 1}, "2": {"y": 1}}
    for runs in (frame, [frame]):
        assert gradeval.evaluate(qrels, runs, "P@1")["P@1"] == {"b": 1.0, "a": 0.5}
    assert gradeval.compare(qrels, frame, "AP").find("a", "AP").difference == -0.5
    second = r"2: the column run names a second run \('a'\), after 'b'. Give evaluate\(\) the"
    raises(InputError, second, gradeval.read_run, frame)
    raises(InputError, second, gradeval.evaluate, qrels, {"x": frame}, "P@1")
    dated = make({"run": [datetime(2026, 11, day) for day in (1, 2, 1)], **columns})
    expected = {"2026-11-01 00:00:00": 1.0, "2026-11-02 00:00:00": 0.5}
    assert gradeval.evaluate(qrels, dated, "P@1")["P@1"] == expected
    frame = make({"run": ["b", None, "b"], **columns})
    for runs, name in ((frame, "runs"), ({"x": frame}, "x")):
        what = rf"^{name}:2: the run \(column run\) is missing"
        raises(InputError, what, gradeval.evaluate, qrels, runs, "P@1")


@each("ending", ["csv", "jsonl", "parquet"])
def test_a_file_with_the_column_run_has_one_run(ending, tmp_path):
    frames = pytest.importorskip("polars")
    lines = 40_000 if ending == "csv" else 3  # with a second block, where the second run begins
    queries = ["1", "2"] if lines == 3 else ["1" * 100, "2" * 100]
    rows = {
        "run": ["a"] * (lines - 1) + ["b"],
        "query": [queries[0]] * (lines - 1) + [queries[1]],
        "document": [f"d{row}" for row in range(lines)],
        "score": [1.0] * lines,
    }
    path, qrels = tmp_path / f"my.{ending}", {queries[0]: {"d0": 1}, queries[1]: {f"d{lines - 1}": 1}}
    write = {"csv": "write_csv", "jsonl": "write_ndjson", "parquet": "write_parquet"}[ending]
    getattr(frames.DataFrame(rows), write)(path)
    row = lines + (ending == "csv")
    what = rf"{row}: the column run names a second run \('b'\), after 'a'. Split"
    raises(InputError, what, gradeval.evaluate, qrels, path, "R@1")
    getattr(frames.DataFrame({**rows, "run": ["a"] * lines}), write)(path)
    assert list(gradeval.evaluate(qrels, path, "R@1").queries) == queries


def test_runs_that_fail_are_kept():
    runs = {"a": RUN, "b": {"1": {"d": "x"}}}
    results = gradeval.evaluate(QRELS, runs, "AP", errors="keep")
    assert [run.name for run in results.runs] == ["a"]
    [failed] = results.failed
    assert failed.path == "b" and "the score 'x'" in str(failed.error)
    line = f"error: {failed.error}"
    assert str(results).splitlines()[3] == line and "failed=1" in repr(results)
    assert html.escape(line) in results._repr_html_()
    error_of(InputError, gradeval.evaluate, QRELS, runs, "AP")
    none = {"b": runs["b"], "c": "nowhere"}
    raises(InputError, "^b:1: ", gradeval.evaluate, QRELS, none, "AP", errors="keep")
    what = "errors must be raise or keep, not 'ignore'"
    raises(OptionError, what, gradeval.evaluate, QRELS, runs, "AP", errors="ignore")


def test_functions_document_their_options():
    for function, table in ((evaluate, Options), (gradeval.compare, CompareOptions)):
        lines = {line.split(":")[0].strip(): line for line in (function.__doc__ or "").splitlines()}
        for name, option in table.table.items():
            assert lines[name].endswith(f"({option.default!r})")
            assert all(f"'{word}'" in lines[name] for word in option.kind.choices)


METRICS = "nDCG@10 AP muAP bpref"


def collection(seed):
    draw = random.Random(seed)
    qrels = {f"q{q}": {f"d{draw.randrange(90)}": draw.randrange(4) for _ in range(12)} for q in range(8)}
    run = {q: {f"d{d}": draw.randrange(20) / 4 for d in draw.sample(range(90), 40)} for q in [*qrels, "x"]}
    return qrels, run


def same(one, other):
    return one.to_dict(per_query=True) == other.to_dict(per_query=True)


@each("options", [{"judged_only": True, "by_level": True}, {"depth": 20, "rel": 2, "tie_range": True}])
def test_an_evaluator_can_be_used_again(options):
    """The ideal rankings are computed once, and no run, metric or option changes them for the next."""
    metrics = """AP AP(rel=1) R@10 nDCG nDCG(gain=exp) nDCG(gain=1:2/3:9)@5 nDCG(top=2/5)@5 NDCNG nDCGphi
        Rndcg tau nDCG(ideal=local)@10 nDCG(judged_only=true) ideal_dcg rankDCG ERR Q muAP"""
    (qrels, run), (_, other) = collection(1), collection(2)
    evaluator = Evaluator(qrels, metrics, **options)
    for runs in (run, [run, other]):
        found, expected = evaluator.evaluate(runs), evaluate(qrels, runs, metrics, **options)
        assert same(found, expected) and found.notices == expected.notices
    raises(InputError, "no query in common", evaluator.evaluate, {"z": {"a": 1}})
    raises(InputError, "no runs given", evaluator.evaluate, [])
    no_level = evaluate({"1": {"a": 0}}, {"1": {"a": 1.0}}, "AP muAP", by_level=True)
    assert [*map(str, no_level.specs)] == ["AP", "muAP"]


TIED = {"q": {"a": 0, "b": 3, "c": 1}, "r": {"a": 1}, "s": {"z": 0}}
TIED_RUN = {"q": {"a": 1.0, "b": 1.0, "c": 1.0, "x": 1.0}, "s": {"y": 1.0}, "t": {"a": 1.0}}


def test_when_notices_are_found(monkeypatch):
    found = []
    spread = caveats.spread
    monkeypatch.setattr(caveats, "spread", lambda *given, **more: found.append(given) or spread(*given, **more))
    evaluator = Evaluator(TIED, METRICS)  # warns of ties in the first call, and does not look for them again
    for _ in range(3):
        evaluator.evaluate(TIED_RUN)
        assert len(found) == 1
    found.clear()
    evaluator = Evaluator(TIED, METRICS, warnings="ignore")
    results = evaluator.evaluate(TIED_RUN)
    results.means, results.render(), results.to_dict
    assert not found
    assert results.notices and results.warnings
    assert len(found) == 1
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
    for options in ({"ties": "trec"}, {"tie_range": True}, {"queries": "both"}):
        notices = evaluate(TIED, TIED_RUN, METRICS, **options).notices
        assert Evaluator(TIED, METRICS, **options).evaluate(TIED_RUN).notices == notices
    for part, (name, _) in zip(shown, runs, strict=True):
        assert part.notices == tuple(one for one in expected if one.subject == name)
    assert shown[0].notices


def test_evaluate_each_warns(recwarn):
    """Also where the notices are found with the values, and once of each kind."""
    warnings.simplefilter("always")
    runs = [("one", {"r": {"a": 1.0}})]
    for how in ({}, {"keep_values": False}, {"on_run": lambda results: None}):
        evaluator = Evaluator(TIED, METRICS)
        for _ in range(2):
            evaluator.evaluate_each(runs, **how)
        assert len([one for one in recwarn.list if "not in the run" in str(one.message)]) == 1
        recwarn.clear()
        strict = Evaluator(TIED, METRICS, warnings="error")
        with pytest.raises(EvaluationWarning, match="not in the run"):
            strict.evaluate_each(runs, **how)


COPIES = [
    lambda results: pickle.loads(pickle.dumps(results)),
    copy.copy,
    copy.deepcopy,
    lambda results: results.replace(qrels="other"),
    lambda results: results.by_id(),
]


def test_notices_of_copies():
    class Run(dict):
        """A run that can be referred to weakly."""

    run, other = Run(TIED_RUN), {"r": {"a": 1.0}}
    kept, expected = weakref.ref(run), evaluate(TIED, [run, other], METRICS)
    every = [Evaluator(TIED, METRICS).evaluate([run, other]) for _ in COPIES]
    del run  # results do not keep the lines of their runs
    gc.collect()
    assert kept() is None
    for results, copied in zip(every, COPIES, strict=True):
        assert copied(results).notices == results.notices == copied(results).notices == expected.notices
    assert results.compare().notices == expected.compare().notices
    assert results.to_dict() == expected.to_dict()
    given = results.replace(given_notices=Notices(), later=None)
    assert (given.notices, given.warnings) == ((), ())


def test_tables_that_are_read_once(tmp_path):
    qrels, run = collection(3)
    judged, ranked, letor = tmp_path / "qrels", tmp_path / "bm25.run", tmp_path / "letor"
    judged.write_text(qrels_text(qrels))
    ranked.write_text(run_text(run))
    letor.write_bytes(LETOR)
    expected = evaluate(judged, ranked, METRICS + " runid")
    assert same(evaluate(read_qrels(judged), read_run(ranked), METRICS + " runid"), expected)
    assert same(Evaluator(read_qrels(judged), METRICS + " runid").evaluate([read_run(ranked)]), expected)
    runs = {"a": read_run(run), "b": run}
    assert same(evaluate(read_qrels(qrels), runs), evaluate(qrels, {"a": run, "b": run}))
    table = read_run(letor, features=2)
    assert repr(table) == f"RunTable(path='{letor}:feature2', rows=3)"
    assert evaluate(read_qrels(letor), table, "RR").mean(0, 0) == 1.0
    assert evaluate(read_qrels(letor, features="1"), letor, "RR", features="1").mean(0, 0) == 0.75
    assert Evaluator(letor, "RR", features="1,2").evaluate(letor).means[:, 0].tolist() == [0.75, 1.0]


@each_row(
    ({"merge": "mean"}, "query,doc,grade\nq1,d1,1\nq1,d1,3\n"),
    ({"unlabelled": "unjudged"}, "query,doc,grade\nq1,d1,1\nq1,d2,\n"),
    ({"columns": {"grade": "stars"}}, "query,doc,grade,stars\nq1,d1,1,3\n"),
    ({"qrels_feature": 2}, "1 qid:q1 1:0 2:3 # d1\n"),
)
def test_what_qrels_were_read_with_is_told_apart(options, text, tmp_path):
    path, run = tmp_path / "qrels", [("q1", "d1", 1.0)]
    path.write_text(text)
    expected = evaluate(path, {"a": run}, "CG@1", **options)
    judged = read_qrels(path, **options)
    for again in ({}, options):
        results = evaluate(judged, {"a": run}, "CG@1", **again)
        assert results.signature(0, 0) == expected.signature(0, 0)
        assert results.options == expected.options
    results.save(tmp_path / "saved.json")
    plain = expected.replace(options=evaluate({"q1": {"d1": 1}}, run, "CG@1").options)
    [name] = options
    raises(InputError, f"it was made with --{name.replace('_', '-')} ", gradeval.compare, [results, plain])
    judged = read_qrels([("q1", "d1", 1)])
    raises(OptionError, f"^{name} differs from that of read_qrels", evaluate, judged, run, **options)


def test_what_a_run_was_read_with_is_in_its_signature(tmp_path):
    rows = [("q1", "d#1", 2.0), ("q1", "e#1", 1.0)]
    read = read_run(rows, max_passage="#")
    [expected] = evaluate({"q1": {"d": 1}}, rows, "RR", max_passage="#").signatures()
    results = evaluate({"q1": {"d": 1}}, {"a": read, "b": rows}, "RR")
    assert results.signature("a", "RR") == expected
    assert "max_passage" not in results.signature("b", "RR")
    results.save(tmp_path / "saved.json")
    assert gradeval.load(tmp_path / "saved.json").signature("a", "RR") == expected
    broken = results.to_dict(per_query=True)
    broken["runs"][0]["options"] = {"max_passage": ""}
    raises(InputError, "an option of run 'a' is not valid", gradeval.load, broken)


def test_what_is_no_run_by_itself(tmp_path):
    for read in (read_qrels, read_run):
        raises(OptionError, r"options are jobs, (qrels|run)_format, ", read, {}, format="csv")
    raises(OptionError, "unknown option depth", read_run, {}, depth=3)
    assert repr(read_qrels({"1": {"a": 1, "b": 0}})) == "OpenedQrels(path='qrels', queries=1, judgments=2)"
    letor, scores, bad = (tmp_path / name for name in ("letor", "scores", "bad"))
    for path, text in ((letor, LETOR), (scores, b"1\n2\n3\n"), (bad, b"1 Q0 a 1 x tag\n")):
        path.write_bytes(text)
    raises(OptionError, "features must be the one feature", read_run, letor, features=[1, 2])
    raises(InputError, "no line has feature 9", read_run, letor, features=9)
    raises(InputError, "need the LETOR file whose lines they are of", read_run, scores)
    raises(InputError, "bad:1: the score 'x' is not a number", read_run, bad)
    raises(InputError, r"^run:2: the score is missing$", read_run, [("1", "a", 1), ("1", "b", None)])

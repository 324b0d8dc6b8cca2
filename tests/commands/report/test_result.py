"""What a report is made of."""

from pathlib import Path

import pytest

import gradeval
from gradeval.commands.report.result import Report
from gradeval.errors import GradevalError, InputError, OptionError

JUDGED = {"q1": {"a": 3, "b": 2, "c": 1, "d": 0}, "q2": {"a": 1, "e": 0, "f": 2}, "q3": {"g": 1}}
FIRST = {"q1": {"a": 3.0, "x": 2.0, "c": 1.0}, "q2": {"e": 2.0, "a": 1.0}, "q3": {"g": 1.0}}
SECOND = {"q1": {"b": 3.0, "a": 2.0, "d": 1.0}, "q2": {"f": 2.0}}
RUNS = {"first": FIRST, "second": SECOND}


def reported(metrics: str = "nDCG@3 AP", runs: object = None, **options: object) -> Report:
    return gradeval.report(JUDGED, RUNS if runs is None else runs, metrics, **options)


def test_explanations_are_those_of_explain() -> None:
    found = reported("nDCG@3 AP F@3")
    assert list(found.explained) == ["q1", "q2", "q3"]
    for query, of_query in found.explained.items():
        names = [name for name, _ in of_query.documents]
        for r, ranking in enumerate(RUNS.values()):
            for m, metric in enumerate(("nDCG@3", "AP", "F@3")):
                [one] = gradeval.explain(JUDGED, ranking, metric, query)
                own = of_query.values[r][m]
                assert own.explanation.value == one.value
                assert own.selection == one.selected(10 if m == 1 else 3, 5)
                documents = [document for document in one.documents if document.id in names]
                assert list(own.explanation.documents) == documents
                assert not own.others
                assert own.explanation.contributions == {
                    document: adds for document, adds in one.contributions.items() if document in documents
                }
    # of two runs, the ten documents with the largest differences are among those of the query
    judged = {"q": {f"d{n}": 1 for n in range(60)}}
    ahead = {"q": {f"d{n}": 60.0 - n for n in range(60)}}
    behind = {"q": {"x": 99.0} | {f"d{n}": 60.0 - n for n in range(50)}}
    found = gradeval.report(judged, [ahead, behind], "AP")
    names = {name for name, _ in found.explained["q"].documents}
    assert {f"d{n}" for n in range(50, 60)} < names
    assert found.explained["q"].values[0][0].others
    # those on which the runs differ most by the first metric, in their order; of one run, the worst
    spread = {query: abs(values[0] - values[1]) for query, values in _values(reported()).items()}
    by_spread = sorted(spread, key=lambda query: -spread[query])
    assert list(reported(explain=2).explained) == sorted(by_spread[:2])
    values = {query: of[0] for query, of in _values(reported(runs=FIRST)).items()}
    assert list(reported(runs=FIRST, explain=1).explained) == [min(values, key=values.__getitem__)]
    assert dict(reported(explain=0).explained) == {}


def _values(found: Report) -> dict[str, list[float]]:
    return dict(zip(found.values.queries, found.values.values[:, 0].T.tolist(), strict=True))


def test_errors(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere\.run: no such file"):
        reported(runs=["nowhere.run", FIRST])
    for options, message in (
        ({"title": 1}, "title must be a string"),
        ({"explain": -1}, "explain must be a number of queries"),
        ({"test": "z"}, "test must be one of"),
        ({"depht": 3}, "unknown option depht"),
    ):
        with pytest.raises(OptionError, match=message):
            reported(**options)
    for runs in (RUNS, FIRST):
        with pytest.raises(GradevalError, match=r"^gm_map has no value for each query, and a report shows "):
            reported("gm_map", runs=runs)
    with pytest.raises(OptionError, match=r"^there is 1 run, which has no pairs\. Leave out --all-pairs"):
        reported("AP", runs=FIRST, all_pairs=True)
    assert repr(reported()) == "Report(runs=2, metrics=2, queries=3, notices=3)"

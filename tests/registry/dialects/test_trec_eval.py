"""What stands after a dot in trec_eval's names, there and back, as text."""

from __future__ import annotations

import pytest

from gradeval.registry.dialects.trec_eval import MEASURES, measure_of, names_of, printed, to_ours

READ = [
    ("P", "5,10", [{"cutoff": "5"}, {"cutoff": "10"}]),
    ("set_F", "0.5", [{"x": "0.5"}]),
    ("iprec_at_recall", "0.25", [{"recall": "0.25"}]),
    ("utility", "3,-2,0,0", [{"weights": "3,-2,0,0"}]),
    ("ndcg", "2=9,1=3", [{"gain": "1=3,2=9"}]),
    ("rbp", "p=0.8", [{"p": "0.8"}]),
    ("rbp", "p=0.8,1=3", [{"p": "0.8", "gain": "1=3"}]),
    ("rbp", "95", [{"p": "0.95"}]),
    ("rbp_resid", "p=0.8", [{"p": "0.8"}]),
]


@pytest.mark.parametrize(("name", "after", "texts"), READ)
def test_there_and_back(name: str, after: str, texts: list[dict[str, str]]) -> None:
    measure = MEASURES[name]
    assert measure.read(after, ".") == texts
    for one in texts:
        ours = {param: to_ours(text) for param, text in one.items()}
        assert measure.read(printed(measure.metric, ours).removeprefix(f"{name}_"), "_") == [one]


@pytest.mark.parametrize(
    ("name", "after"), [("ndcg", "x=1"), ("ndcg", "1"), ("rbp_resid", "1=3"), ("rbp", "p")]
)
def test_what_are_no_pairs(name: str, after: str) -> None:
    with pytest.raises(ValueError):
        MEASURES[name].read(after, ".")


@pytest.mark.parametrize(
    ("metric", "texts", "name"),
    [
        ("AP", {}, "map"),
        ("AP", {"cutoff": "5"}, "map_cut_5"),
        ("iprec_at_recall", {"recall": "0.5"}, "iprec_at_recall_0.50"),
        ("iprec_at_recall", {"recall": "0.125"}, "iprec_at_recall_0.125"),
        ("utility", {"weights": "3/-2/0/0"}, "utility_3,-2,0,0"),
        ("nDCG", {"gain": "1:3/2:9"}, "ndcg_1=3,2=9"),
        ("nDCG", {"gain": "exp"}, None),
        ("AP", {"rel": "2", "cutoff": "5"}, None),
        ("muAP", {}, None),
    ],
)
def test_printed(metric: str, texts: dict[str, str], name: str | None) -> None:
    assert printed(metric, texts) == name


def test_names() -> None:
    assert names_of("nDCG") == ["ndcg", "ndcg_cut"]
    assert measure_of("NDCG_CUT") is MEASURES["ndcg_cut"]
    assert measure_of("muAP") is None

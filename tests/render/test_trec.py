"""The lines expected here are what trec_eval 10.0 prints for the same values."""

from __future__ import annotations

from dataclasses import replace

import pytest

NAN = float("nan")

# trec_eval -c -q -m num_q -m map -m P.5 -m ndcg_cut.10, of a run that lacks the third query
PRINTED = """\
map                   	q1	0.5000
P_5                   	q1	0.2000
ndcg_cut_10           	q1	0.3801
map                   	q2	0.5000
P_5                   	q2	0.2000
ndcg_cut_10           	q2	0.6309
map                   	q3	0.0000
P_5                   	q3	0.0000
ndcg_cut_10           	q3	0.0000
num_q                 	all	3
map                   	all	0.3333
P_5                   	all	0.1333
ndcg_cut_10           	all	0.3370
"""

VALUES = [[1, 1, 1], [0.5, 0.5, 0], [0.2, 0.2, 0], [0.38009376, 0.63092975, 0]]


def test_what_trec_eval_prints(make) -> None:
    results = make("num_q AP P@5 nDCG@10", {"bm25": VALUES})
    assert results.render("trec", per_query=True) == PRINTED
    assert results.render("trec") == PRINTED[PRINTED.index("num_q") :]
    assert results.render("trec", per_query=True, summary=False) == PRINTED[: PRINTED.index("num_q")]


def test_runs_stand_one_after_the_other(make) -> None:
    results = make("num_q AP P@5 nDCG@10", {"bm25": VALUES, "again": VALUES})
    blocks = [f"runid                 \tall\t{name}\n{PRINTED}" for name in ("bm25", "again")]
    assert results.render("trec", per_query=True) == "".join(blocks)


def test_runs_that_name_themselves(make) -> None:
    results = make("runid num_q", {"bm25": [[NAN], [1]], "again": [[NAN], [1]]})
    runs = tuple(replace(run, texts={0: [run.name]}) for run in results.runs)
    assert replace(results, runs=runs).render("trec").count("runid") == 2


def test_long_names_and_values(make) -> None:
    results = make("AP(rel=2)@1000000000000 rankDCG", {"a": [[12.5], [-0.25]]})
    lines = ["AP(rel=2)@1000000000000\tall\t12.5000\n", "rankDCG               \tall\t-0.2500\n"]
    assert results.render("trec") == "".join(lines)


def test_undefined_is_as_wide_as_printf_makes_it(make) -> None:
    assert make("AP", {"a": [[NAN]]}).render("trec") == "map                   \tall\t   nan\n"


@pytest.mark.parametrize("digits, value", [(6, "0.333333"), ("full", "0.3333333333333333")])
def test_digits(digits, value: str, make) -> None:
    text = make("AP num_q", {"a": [[1 / 3], [1]]}).render("trec", digits=digits)
    assert [line.split("\t")[2] for line in text.splitlines()] == [value, "1"]


def test_what_is_rounded_to_zero_keeps_its_sign_as_in_printf(make) -> None:
    text = make("AP P@5 yaap", {"a": [[-0.0], [-0.00001], [0.00001]]}).render("trec")
    assert [line.split("\t")[2] for line in text.splitlines()] == ["0.0000", "-0.0000", "0.0000"]

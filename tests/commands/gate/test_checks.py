"""The checks of a gate as text."""

import pytest
from helpers import each

from gradeval.commands.gate.checks import parse_checks
from gradeval.errors import GradevalError


@each("kind, text, written", [
    ("require", "nDCG@10 >= 0.45", ["nDCG@10 >= 0.45"]),
    ("require", " ndcg_cut_10>0.45 ", ["nDCG@10 > 0.45"]),
    ("require", "AP(rel=2)@5<=45%", ["AP(rel=2)@5 <= 0.45"]),
    ("require", "num_q < 1e3", ["num_q < 1000"]),
    ("require", "µAP >= -.5", ["muAP >= -0.5"]),
    ("require", "Coverage >= 95 %", ["coverage >= 0.95"]),
    ("require", "Judged@10 >= .7", ["Judged@10 >= 0.7"]),
    ("require", "nDCG@5,10 >= 0", ["nDCG@5 >= 0", "nDCG@10 >= 0"]),
    ("max-drop", "nDCG@10 0.01", ["max-drop nDCG@10 0.01"]),
    ("max-drop", "P(rel=2, cutoff=5)   2%", ["max-drop P(rel=2)@5 2%"]),
    ("max-drop", "AP 2 %", ["max-drop AP 2%"]),
    ("max-drop", "tau 1.5", ["max-drop tau 1.5"]),  # from -1 to 1
    ("max-drop", "num_rel_ret 4", ["max-drop num_rel_ret 4"]),
    ("max-drop", "tau 100%", ["max-drop tau 100%"]),
    ("no-worse", "nDCG@10 AP", ["no-worse nDCG@10", "no-worse AP"]),
    ("non-inferior", "AP 0.01", ["non-inferior AP 0.01"]),
    ("non-inferior", "AP nDCG@10 4 %", ["non-inferior AP 4%", "non-inferior nDCG@10 4%"]),
    ("max-query-drop", "RR 0.5 in 5%", ["max-query-drop RR 0.5 in 5%"]),
    ("max-query-drop", "RR 0.5", ["max-query-drop RR 0.5 in 0%"]),
])  # fmt: skip
def test_checks(kind: str, text: str, written: list[str]) -> None:
    checks = parse_checks(kind, text)
    assert list(map(str, checks)) == written
    for check in checks:
        again = str(check).removeprefix(f"{kind} ")
        assert parse_checks(kind, again) == [check]


@each("kind, text, message", [
    ("require", "", "require '' is not of the form 'nDCG@10 >= 0.45'"),
    ("require", "AP", "require 'AP' is not of the form"),
    ("require", "AP = 0.4", "require 'AP = 0.4' is not of the form"),
    ("require", "AP == 0.4", "is not of the form"),
    ("require", "AP => 0.4", "is not of the form"),
    ("require", ">= 0.4", "is not of the form"),
    ("require", "AP >= ", "is not of the form"),
    ("require", "AP >= nan", "has 'nan' where a number belongs, as in 'nDCG@10 >= 0.45'"),
    ("require", "AP >= inf", "has 'inf' where a number belongs"),
    ("require", "AP >= 1_0", "has '1_0' where a number belongs"),
    ("require", "AP >= 0.4 0.5", "is not of the form"),
    ("require", "nDGC@10 >= 0.4", "nDGC@10: did you mean nDCG@10?"),
    ("require", "coverge >= 0.4", "coverge: did you mean coverage?"),
    ("require", "AP coverage >= 0.4", "coverage: coverage is checked by itself"),
    ("require", "coverage >= 95", "coverage is a share from 0 to 1; write 95% or 0.95"),
    ("require", "relstring >= 1", "relstring is text and cannot be checked"),
    ("max-drop", "AP", "max-drop 'AP' is not of the form 'nDCG@10 0.01' or 'nDCG@10 2%'"),
    ("max-drop", "AP x", "has 'x' where a number belongs"),
    ("max-drop", "AP -0.1", "the amount must not be below 0: improvement never fails"),
    ("max-drop", "num_q 1", "num_q has no value for each query, so runs cannot be compared by it: use "
     "require"),
    ("max-drop", "coverage 1%", "coverage: coverage is checked with require"),
    ("max-drop", "nDCG@10 4", "nDCG@10 is from 0 to 1, so this never fails. Write 'nDCG@10 4%'"),
    ("non-inferior", "RR tau 1", "RR is from 0 to 1, so this never fails. Write 'RR 1%'"),
    ("non-inferior", "AP 400%", "no value of AP is below 0, so this never fails. Write 'AP 2%'"),
    ("max-query-drop", "AP 1 in 5%", "AP is from 0 to 1, so this never fails. Write 'AP 0.5 in 5%'"),
    ("no-worse", "", "is not of the form"),
    ("no-worse", "AP 0.01", "0.01: unknown metric"),
    ("non-inferior", "AP 2%%", "is not of the form 'nDCG@10 0.01' or 'nDCG@10 2%'"),
    ("max-query-drop", "RR 0.5 in 101%", "the share of queries must be from 0% to 100%"),
    ("max-query-drop", "RR 0.5 in 5", "is not of the form"),
    ("max-query-drop", "RR 0.5 in x%", "has 'x' where a number belongs"),
    ("max-query-drop", "RR 50%", "is not of the form"),
])  # fmt: skip
def test_refused(kind: str, text: str, message: str) -> None:
    with pytest.raises(GradevalError) as raised:
        parse_checks(kind, text)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)

"""sample_data is what the script makes, and the program prints what stands beside it."""

import shlex

import pytest
from cli.command import gradeval
from helpers import each

from .make import FOLDER, ROOT, cases, data

CASES = cases()
SAMPLES = ROOT / FOLDER


def expected(path: str) -> dict[tuple[str, str, str], float]:
    """(run, query, metric) -> value of an expected TSV."""
    lines = (SAMPLES / path).read_text("utf-8").splitlines()
    assert lines[0] == "run\tquery\tmetric\tvalue"
    rows = [line.split("\t") for line in lines[1:]]
    return {(run, query, metric): float(value) for run, query, metric, value in rows}


def test_the_script_makes_the_same_bytes():
    for path, text in data().items():
        assert (SAMPLES / path).read_bytes() == text.encode(), path


def test_every_file_is_accounted_for():
    found = {path.relative_to(SAMPLES).as_posix() for path in SAMPLES.rglob("*") if path.is_file()}
    assert found == {"README.md", *data(), *(case.expected for case in CASES)}


@each("case", CASES, ids=[case.expected for case in CASES])
def test_the_program_prints_what_is_expected(case, monkeypatch):
    monkeypatch.chdir(ROOT)
    done = gradeval(*shlex.split(case.command)[1:])
    assert done.code == 0, done.err
    assert done.out == (SAMPLES / case.expected).read_text("utf-8")


def test_scheel_table_1():
    levels = expected("papers/scheel-levels.expected.tsv")
    assert list(levels.values()) == [0.780159, 0.483333, 0.402778, 0.125, 0.447817]
    doubled = expected("papers/scheel-levels-doubled.expected.tsv")
    assert list(doubled.values()) == list(levels.values())


def test_scheel_table_2():
    gains = list(expected("papers/scheel-gains.expected.tsv").values())
    ndcng = [0.1892, 0.1323, 0.2993, 0.4225, 0.4865, 0.4708, 0.5010, 0.6519]
    assert gains == [*ndcng, 0.0667, 0.0515, 0.1964, 0.3104, 0.3527, 0.3477, 0.3610, 0.5507]
    doubled = list(expected("papers/scheel-gains-doubled.expected.tsv").values())
    assert doubled[:8] == ndcng
    assert doubled[-1] == pytest.approx(0.444, abs=0.0006)
    assert sum(doubled[8:]) / 8 == pytest.approx(0.17, abs=0.005)


def test_katerenchuk_table_1():
    values = expected("papers/katerenchuk.expected.tsv")
    runs = [f"h{place}" for place in range(1, 7)]
    assert [values[one, "all", "rankDCG"] for one in runs] == [0.975, 0.65, 0.325, 0.325, 0, 1]
    assert [values[one, "all", "tau"] for one in runs] == [0.8, 0.742857, 0.285714, 0.285714, -0.8, 1]


def test_moniz_table_1():
    values = expected("papers/moniz.expected.tsv")
    assert values["moniz", "day1", "nDCGphi"] == 0.969593
    assert values["moniz", "day2", "nDCGphi"] == 0.935632


def test_the_three_systems_differ_in_kind():
    values = expected("search/default.expected.tsv")
    assert values["bm25", "all", "AP"] > values["dense", "all", "AP"]
    for metric in ("muAP", "NDCNG@10", "nDCGphi@10", "rankDCG", "nDCG@10"):
        assert values["bm25", "all", metric] < values["dense", "all", metric]
        assert values["bm25", "all", metric] < values["hybrid", "all", metric]


def test_places_cannot_see_what_shares_can():
    values = expected("popularity/popularity.expected.tsv")
    by_place = "nDCG(gain=exp,top=10/25/50)@10"
    assert values["bands", "all", by_place] == 1 > values["order", "all", by_place]
    assert values["bands", "all", "nDCGphi@10"] < 0.5 < 0.99 < values["order", "all", "nDCGphi@10"]

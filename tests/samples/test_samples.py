"""sample_data is what the script makes, and the program prints what stands beside it.

That these are the numbers of the papers the tests of the metrics show.
"""

import shlex

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
    # every file is accounted for
    found = {path.relative_to(SAMPLES).as_posix() for path in SAMPLES.rglob("*") if path.is_file()}
    assert found == {"README.md", *data(), *(case.expected for case in CASES)}


@each("case", CASES, ids=[case.expected for case in CASES])
def test_the_program_prints_what_is_expected(case, monkeypatch):
    monkeypatch.chdir(ROOT)
    done = gradeval(*shlex.split(case.command)[1:])
    assert done.code == 0, done.err
    assert done.out == (SAMPLES / case.expected).read_text("utf-8")


def test_the_samples_show_what_they_are_for():
    values = expected("search/default.expected.tsv")
    assert values["bm25", "all", "AP"] > values["dense", "all", "AP"]
    for metric in ("muAP", "NDCNG@10", "nDCGphi@10", "rankDCG", "nDCG@10"):
        assert values["bm25", "all", metric] < values["dense", "all", metric]
        assert values["bm25", "all", metric] < values["hybrid", "all", metric]
    # places cannot see what shares can
    values = expected("popularity/popularity.expected.tsv")
    by_place = "nDCG(gain=exp,top=10/25/50)@10"
    assert values["bands", "all", by_place] == 1 > values["order", "all", by_place]
    assert values["bands", "all", "nDCGphi@10"] < 0.5 < 0.99 < values["order", "all", "nDCGphi@10"]

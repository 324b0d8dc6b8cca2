"""gradeval trec_eval prints what trec_eval does, as recorded. tests/test_pytrec_eval.py compares random values.

rbp is not: its values there are left to chance (an uninitialised variable).
"""

import os
from pathlib import Path

import pytest
from cli.command import gradeval

DATA = (
    Path(os.environ.get("GRADEVAL_DATA", Path(__file__).resolve().parents[2] / "shared" / "data")) / "trec_eval"
)

# Ties (a and c of 10, c and d of 9), a grade below 0, unjudged documents, a query without a relevant document
# (b), one that the run lacks (a), and one that the qrels lack; the ids are not in order.
QRELS = {
    "10": {"a": 3, "b": 0, "c": 1, "d": 2, "e": -1, "f": 0, "g": 1},
    "9": {"a": 1, "c": 0, "d": 0, "h": 1, "i": 1, "j": 1},
    "b": {"a": 0, "b": 0},
    "a": {"a": 2, "z": 1},
}
RUN = {
    "10": {"b": 9, "x": 8, "a": 7, "c": 7, "y": 6, "e": 5, "d": 4.5, "w": 4, "f": 1, "v": 0.5, "u": 0.25},
    "9": {"h": 3, "c": 2.5, "d": 2.5, "q": 2, "i": 1e-3, "a": -1},
    "b": {"b": 2, "a": 1, "c": 0},
    "none": {"a": 1},
}

# what trec_eval 10 prints of them with -c, without rbp, and without what the list of differences names
SUMMARY = """
runid sys num_q 4 num_ret 20 num_rel 10 num_rel_ret 6 map 0.1976 gm_map 0.0020 Rprec 0.1875 bpref 0.1562
recip_rank 0.3333 iprec_at_recall_0.00 0.3750 iprec_at_recall_0.10 0.3750 iprec_at_recall_0.20 0.3750
iprec_at_recall_0.30 0.3750 iprec_at_recall_0.40 0.2500 iprec_at_recall_0.50 0.2500
iprec_at_recall_0.60 0.2500 iprec_at_recall_0.70 0.2321 iprec_at_recall_0.80 0.2321
iprec_at_recall_0.90 0.0000 iprec_at_recall_1.00 0.0000 P_5 0.2000 P_10 0.1500 P_15 0.1000 P_20 0.0750
P_30 0.0500 P_100 0.0150 P_200 0.0075 P_500 0.0030 P_1000 0.0015 recall_5 0.2500 recall_10 0.3750
recall_15 0.3750 recall_20 0.3750 recall_30 0.3750 recall_100 0.3750 recall_200 0.3750 recall_500 0.3750
recall_1000 0.3750 infAP 0.2036 gm_bpref 0.0017 Rprec_mult_0.20 0.2500 Rprec_mult_0.40 0.1250
Rprec_mult_0.60 0.1667 Rprec_mult_0.80 0.1875 Rprec_mult_1.00 0.1875 Rprec_mult_1.20 0.2000
Rprec_mult_1.40 0.2083 Rprec_mult_1.60 0.2143 Rprec_mult_1.80 0.1875 Rprec_mult_2.00 0.1875
utility -2.0000 11pt_avg 0.2468 binG 0.2030 G 0.2028 dcg 1.0504 ideal_dcg 2.5963 ndcg 0.2885
ndcg_rel 0.2687 Rndcg 0.1850 ndcg_cut_5 0.2216 ndcg_cut_10 0.2885 ndcg_cut_15 0.2885 ndcg_cut_20 0.2885
ndcg_cut_30 0.2885 ndcg_cut_100 0.2885 ndcg_cut_200 0.2885 ndcg_cut_500 0.2885 ndcg_cut_1000 0.2885
map_cut_5 0.1396 map_cut_10 0.1976 map_cut_15 0.1976 map_cut_20 0.1976 map_cut_30 0.1976
map_cut_100 0.1976 map_cut_200 0.1976 map_cut_500 0.1976 map_cut_1000 0.1976 relative_P_5 0.2500
relative_P_10 0.3750 relative_P_15 0.3750 relative_P_20 0.3750 relative_P_30 0.3750
relative_P_100 0.3750 relative_P_200 0.3750 relative_P_500 0.3750 relative_P_1000 0.3750
success_1 0.2500 success_5 0.5000 success_10 0.5000 set_P 0.1932 set_relative_P 0.3750 set_recall 0.3750
set_map 0.1449 set_F 0.2500 num_nonrel_judged_ret 6 yaap -0.4169 rbp_resid 0.5161 unj_5 0.2000
unj_10 0.1750 unj_20 0.1000
"""
PER_QUERY = {
    "10": """
bpref 0.3750 iprec_at_recall_0.25 0.5000 iprec_at_recall_0.50 0.5000 relstring_4 '0-13' infAP 0.3393
Rprec_mult_0.50 0.0000 utility_2,-1,0,0 -2.0000 11pt_avg_0.2,0.5,0.8 0.4762 binG 0.3467 G 0.3460
ndcg_1=3,2=9 0.4232 ndcg_rel 0.3493 Rndcg 0.2047 set_F_0.5 0.3462 num_nonrel_judged_ret 2 yaap -0.5024
rbp_resid 0.6499 unj_5 0.4000
""",
    "9": """
bpref 0.2500 iprec_at_recall_0.25 1.0000 iprec_at_recall_0.50 0.5000 relstring_4 '100-' infAP 0.4750
Rprec_mult_0.50 0.5000 utility_2,-1,0,0 3.0000 11pt_avg_0.2,0.5,0.8 0.6667 binG 0.4653 G 0.4653 ndcg_1=3,2=9
0.6805 ndcg_rel 0.7256 Rndcg 0.5354 set_F_0.5 0.5625 num_nonrel_judged_ret 2 yaap -0.0667 rbp_resid 0.6043
unj_5 0.2000
""",
}
MEASURES = "relstring.4 unj.5 infAP bpref Rndcg ndcg_rel G binG yaap rbp_resid iprec_at_recall.0.5,0.25 "
MEASURES += "Rprec_mult.0.5 num_nonrel_judged_ret ndcg.1=3,2=9 utility.2,-1,0,0 11pt_avg.0.2,0.5,0.8 set_F.0.5"
LEFT_OUT = {"rbp"}
EXTRA = ["-m", "all_trec", "-m", "yaap", "-m", "dcg", "-m", "ideal_dcg"]


def write(folder: Path, qrels, run) -> None:
    judged = [f"{q} 0 {d} {grade}\n" for q, of in qrels.items() for d, grade in of.items()]
    lines = [f"{q} Q0 {d} 0 {score} sys\n" for q, of in run.items() for d, score in of.items()]
    (folder / "q").write_text("".join(judged))
    (folder / "r").write_text("".join(lines))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, QRELS, RUN)
    return tmp_path


def test_summary_as_recorded(folder: Path) -> None:
    done = gradeval("trec_eval", "-c", *EXTRA, "q", "r")
    printed = [line.split("\t") for line in done.out.splitlines()]
    words = SUMMARY.split()
    expected = dict(zip(words[::2], words[1::2], strict=True))
    ours = {name.strip(): value for name, _, value in printed}
    assert [(name, ours[name]) for name in ours if name not in LEFT_OUT] == [*expected.items()]


def test_queries_as_recorded(folder: Path) -> None:
    done = gradeval(
        "trec_eval", "-q", "-n", *(part for name in MEASURES.split() for part in ("-m", name)), "q", "r"
    )
    expected = [
        f"{name:<22}\t{query}\t{value}"
        for query, text in PER_QUERY.items()
        for name, value in zip(text.split()[::2], text.split()[1::2], strict=True)
    ]
    assert [line for line in done.out.splitlines() if "\tb\t" not in line] == expected


def test_rank_biased_precision(folder: Path) -> None:
    """Worked by hand: the gains of query 10 are its grades over 3, those of query 9 its grades."""
    done = gradeval("trec_eval", "-q", "-m", "rbp", "q", "r")
    ten = 0.1 * sum(gain / 3 * 0.9 ** (rank - 1) for rank, gain in ((3, 1), (4, 3), (7, 2)))
    nine = 0.1 * sum(0.9 ** (rank - 1) for rank in (1, 5, 6))
    assert done.out == (
        f"rbp                   \t10\t{ten:.4f}\nrbp                   \t9\t{nine:.4f}\n"
        f"rbp                   \tb\t0.0000\nrbp                   \tall\t{(ten + nine) / 3:.4f}\n"
    )


@pytest.mark.skipif(not DATA.is_dir(), reason="trec_eval's own test data is not here")
@pytest.mark.parametrize(
    ("expected", "args"),
    [
        ("out.test", []),
        ("out.test.a", ["-m", "all_trec"]),
        ("out.test.aq", ["-q", "-m", "all_trec"]),
        (
            "out.test.meas_params",
            [
                *("-q", "-miprec_at_recall..10,.20,.25,.75,.50", "-m", "P.5,7,3", "-m", "recall.20,2000"),
                *("-m", "Rprec_mult.5.0,0.2,0.35", "-mutility.2,-1,0,0", "-m", "11pt_avg..25,.5,.75"),
                *("-mndcg.1=3,2=9,4=4.5", "-mndcg_cut.10,20,23.4", "-msuccess.2,5,20"),
            ],
        ),
    ],
)
def test_its_own_expected_output(expected: str, args: list[str]) -> None:
    done = gradeval("trec_eval", *args, DATA / "qrels.test", DATA / "results.test")
    assert (done.code, done.err) == (0, "")
    assert done.out == (DATA / expected).read_text()

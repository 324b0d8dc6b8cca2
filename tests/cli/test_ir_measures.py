"""gradeval ir_measures beside ir_measures' own command: the same names, numbers and layout."""

import contextlib
import io
import sys
from unittest import mock

import pytest
from helpers import each

from .command import fails, gradeval

QRELS = """\
2 0 a 1
2 0 b 0
1 0 a 2
1 0 c 1
1 0 e 3
3 0 z 1
"""
RUN = """\
1 Q0 b 1 3.5 t
1 Q0 a 2 3 t
1 Q0 e 3 2 t
2 Q0 b 1 3 t
2 Q0 a 2 2 t
4 Q0 a 1 2 t
"""
MEASURES = [
    *("AP", "AP@2", "MAP(rel=2)@3", "P@5", "Precision(rel=2)@1", "R@2", "Recall(rel=2)@2", "RR", "MRR(rel=3)"),
    *("nDCG", "NDCG@2", "nDCG(gains={0:0,1:1,2:5})@3", "nDCG(judged_only=True)@2", "nDCG(dcg='log2')@2"),
    *("NumQ", "NumRel", "NumRet", "NumRelRet", "NumRet(rel=2)", "SetP", "SetR", "SetF", "SetF(beta=0.5)"),
    *("SetF(beta=2.0,rel=2)", "Success@1", "Success(rel=2)@3", "Judged", "Judged@2", "Accuracy", "Accuracy@2"),
    *("Compat", "Compat(p=0.8)", "Compat(normalize=False)"),
]


@pytest.fixture
def files(tmp_path, monkeypatch):
    (tmp_path / "q").write_text(QRELS)
    (tmp_path / "r").write_text(RUN)
    monkeypatch.chdir(tmp_path)


def theirs(*args: str) -> str:
    from ir_measures.__main__ import main_cli

    out = io.StringIO()
    with (
        mock.patch.object(sys, "argv", ["ir_measures", *args]),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        main_cli()
    return out.getvalue()


def ours(*args: str) -> str:
    done = gradeval("ir_measures", *args, "--quiet")
    assert done.code == 0, done.err
    return done.out


def test_its_numbers(files):
    """Each alone, since theirs can let gains or judged_only of one measure reach those beside it."""
    alone = [name for name in MEASURES if "judged" in name or "gains" in name]
    for names in (*alone, " ".join(name for name in MEASURES if name not in alone)):
        assert ours("q", "r", names, "AP") == theirs("q", "r", names, "AP")


@each("options", ["", "-n", "-p 2", "--places 0", "--no_summary"])
def test_by_query(files, options):
    mine, other = (one("q", "r", "AP", "nDCG@2", "Judged@2", "-q", *options.split()) for one in (ours, theirs))
    assert sorted(mine.splitlines()) == sorted(other.splitlines())
    summary = [line for line in mine.splitlines() if line.startswith("all")]
    assert summary == [line for line in other.splitlines() if line.startswith("all")]
    assert mine == ours("--by_query", *options.split(), "q", "r", "AP nDCG@2 Judged@2")
    assert list(dict.fromkeys(line.split()[0] for line in mine.splitlines()))[:3] == ["2", "1", "3"]
    # options can be cut short, as argparse takes them
    short = ["--by", "--no", "--pl", "2", "--out=jsonl", "--quiet", "q", "r", "AP"]
    assert gradeval("ir_measures", *short).out == ours("-qn", "-p2", "-o", "jsonl", "q", "r", "AP")


def test_names_are_printed_as_theirs(files):
    names = {
        "INST(max_rel=3)": "INST(max_rel=3)",
        "INST(T=1.0,min_rel=0,max_rel=3)": "INST(max_rel=3)",
        "BPM(max_rel=3,T=2.0)@5": "BPM(max_rel=3,T=2.0)@5",
        "NERR10(p=0.8,max_rel=3)": "NERR10(p=0.8,max_rel=3)",
        "SDCG(dcg='log2',max_rel=3)@10": "SDCG(max_rel=3)@10",
        "nDCG(dcg='exp-log2')@10": "nDCG(dcg='exp-log2')@10",
        "nDCG(cutoff=3)": "nDCG@3",
        "nDCG( gains = {1: 1, 0: 0, 2: 4} )@3": "nDCG(gains={2:4})@3",
        "ERR@20": "ERR@20",
        "NumRelRet": "NumRet(rel=1)",
        "nDCG(ideal=local)@5": "nDCG(ideal=local)@5",
        "muAP": "muAP",
        "ndcg_cut.2,5": "nDCG@2 nDCG@5",
    }
    for text, printed in names.items():
        out = ours("q", "r", text)
        assert " ".join(line.rsplit("\t", 1)[0] for line in out.splitlines()) == printed
    # warnings and their absence
    assert "1 judged query is not in the run" in gradeval("ir_measures", "q", "r", "AP").err
    done = gradeval("ir_measures", "q", "r", "AP", "-o", "jsonl", "-p", "2", "--provider", "pytrec_eval")
    assert done.code == 0
    assert "--places has no effect" in done.err
    assert gradeval("ir_measures", "q", "r", "AP", "--quiet").err == ""


@each("args, what", [
    (["q", "r", "AP", "-n"], "-n requires -q: nothing would be printed"),
    (["q", "r"], "Missing argument 'MEASURES"),
    (["q", "r", "P(rel=2)"], "P(rel=2): the cutoff is missing: for example P(rel=2)@10"),
    (["q", "r", "IPrec"], "IPrec: the recall is missing: for example IPrec@0.5"),
    (["q", "r", "AP(*x)", "AP"], "AP(*x)"),
    (["q", "r", "AP", "-o", "csv"], "csv"),
    (["q", "r", "P(rel=-1)@10"], "P(rel=-1)@10: rel must be a number >= 0, not '-1'"),
    (["q", "r", "runid"], "runid: its values are strings"),
])  # fmt: skip
def test_what_is_wrong(files, args, what):
    assert what in fails("ir_measures", *args)

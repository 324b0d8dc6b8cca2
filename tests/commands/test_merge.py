"""Several judgments of a document become one: by rules, in files, frames, conversions; judges in a column."""

import json
from collections.abc import Callable
from pathlib import Path
from statistics import fmean, median, median_low, multimode

import numpy as np
import pytest
from cli.command import fails, gradeval
from hypothesis import given
from hypothesis import strategies as st

import gradeval as package
from gradeval.arrays.segments import Segments
from gradeval.notices import NoticeKind
from gradeval.options import MERGES
from gradeval.tables.qrels import merged_grades

SLOW: dict[str, Callable[[list[float]], float]] = {
    "mean": fmean,
    "median": median,
    "max": max,
    "min": min,
    "majority": lambda grades: median_low(multimode(grades)),
    "first": lambda grades: grades[0],
}
GRADES = st.lists(st.sampled_from([-1.0, 0.0, 0.5, 1.0, 2.0, 3.0]), min_size=1, max_size=7)
LINES = [("q1", "a", 3, "ann"), ("q1", "b", 0, "ann"), ("q2", "a", 1, "ann"), ("q1", "a", 1, "bob")]
LINES += [("q2", "a", 1, "bob"), ("q1", "a", 1, "cid"), ("q1", "c", 2, "cid"), ("q1", "b", 2, "bob")]


def of_document() -> dict[tuple[str, str], list[float]]:
    grades: dict[tuple[str, str], list[float]] = {}
    for query, document, grade, _ in LINES:
        grades.setdefault((query, document), []).append(grade)
    return grades


@given(st.lists(GRADES, min_size=1, max_size=9))
def test_grades_of_each_rule(judgments: list[list[float]]) -> None:
    assert set(SLOW) == set(MERGES)
    segments = Segments(np.append(0, np.cumsum([len(grades) for grades in judgments])))
    grade = np.array([value for grades in judgments for value in grades])
    for rule, slow in SLOW.items():
        expected = [slow(grades) for grades in judgments]
        assert merged_grades(segments, grade, rule).tolist() == pytest.approx(expected, rel=1e-15)


def write(path: str, layout: str) -> None:
    texts = {
        "trec": [f"{query} 0 {document} {grade}" for query, document, grade, _ in LINES],
        "csv": ["query,document,grade,judge", *(",".join(map(str, line)) for line in LINES)],
        "jsonl": [
            json.dumps({"query": query, "document": document, "grade": grade, "annotator": judge})
            for query, document, grade, judge in LINES
        ],
    }
    Path(path).write_text("\n".join(texts[layout]) + "\n")


def read(qrels: object, **options: object) -> dict[tuple[str, str], float]:
    judged = package.read_qrels(qrels, **options).qrels  # type: ignore[arg-type]
    query = np.repeat(judged.queries.tolist(), np.diff(judged.offsets))
    ids = zip(query.tolist(), judged.documents.tolist(), strict=True)
    return dict(zip(((q.decode(), d.decode()) for q, d in ids), judged.grade.tolist(), strict=True))


@pytest.mark.parametrize("layout", ["trec", "csv", "jsonl", "pandas", "polars"])
@pytest.mark.parametrize("rule", MERGES)
def test_files_and_frames(layout: str, rule: str, folder: Path) -> None:
    qrels: object = "judged"
    if layout in ("pandas", "polars"):
        library = pytest.importorskip(layout)
        names = ("query_id", "doc_id", "relevance", "judge")
        qrels = library.DataFrame(dict(zip(names, map(list, zip(*LINES, strict=True)), strict=True)))
        if layout == "pandas" and rule in ("mean", "median", "max", "min", "first"):
            of_pandas = qrels.groupby(["query_id", "doc_id"])["relevance"].agg(rule)  # type: ignore[attr-defined]
            assert read(qrels, merge=rule) == {key: float(grade) for key, grade in of_pandas.items()}
    else:
        write("judged", layout)
    assert read(qrels, merge=rule) == {key: SLOW[rule](grades) for key, grades in of_document().items()}


def test_what_is_said(folder: Path) -> None:
    write("judged", "trec")
    hint = "--merge mean (in Python merge='mean') makes one grade of several"
    assert fails("judged", "r").splitlines()[0] == (
        f"judged:4: document 'a' has grade 1 here and 3 before in line 1. {hint}"
    )
    done = gradeval("judged", "r", "-m", "AP", "--merge", "max", "--signature")
    note = "note: judged: 3 documents have several judgments, merged by max; they differ for 2 [merged]"
    assert note in done.err and "|merge:max|" in done.err and "[duplicates]" not in done.err
    kinds = {notice.kind for notice in package.evaluate("judged", "r", "AP", merge="mean").notices}
    assert NoticeKind.MERGED in kinds and NoticeKind.DUPLICATES not in kinds
    assert gradeval("q", "r", "-m", "AP", "--merge", "mean").out == gradeval("q", "r", "-m", "AP").out
    done = gradeval("validate", "judged", "--merge", "mean", "--strict")
    assert done.code == 0 and "duplicates merged by mean" in done.out and "0 errors, 0 warnings" in done.out


def test_conversions(folder: Path) -> None:
    write("judged", "trec")
    done = gradeval("convert", "judged", "-", "--to", "trec", "--merge", "mean")
    merged = {key: fmean(grades) for key, grades in of_document().items()}
    rows = {(q, d): float(grade) for q, _, d, grade in map(str.split, done.out.splitlines())}
    assert rows == merged and "merged by mean" in done.err
    for judge in ("ann", "bob", "cid"):
        lines = (f"{q} 0 {d} {g}\n" for q, d, g, own in LINES if own == judge)
        Path(judge).write_text("".join(lines))
    assert gradeval("convert", "ann", "bob", "cid", "all", "--to", "trec", "--merge", "median").code == 0
    assert read("all") == {key: median(grades) for key, grades in of_document().items()}
    people_first = gradeval("convert", "bob", "ann", "-", "--to", "trec", "--merge", "first").out
    assert "q1 0 a 1\n" in people_first and "q1 0 b 2\n" in people_first
    assert "gradeval: --merge is of judgments; a run has none" in fails(
        "convert", "r", "o.run", "--merge", "mean"
    )
    assert "--merge RULE (merge='mean') makes one of them" in fails("convert", "ann", "bob", "out.qrels")
    # in the place of the subtopic each format has its own mark, or none
    Path("bob").write_text(Path("bob").read_text().replace(" 0 ", " Q0 "))
    cid = (f"{query},{document},{grade}\n" for query, document, grade, own in LINES if own == "cid")
    Path("cid").write_text("query,document,grade\n" + "".join(cid))
    assert gradeval("convert", "ann", "bob", "cid", "mixed", "--to", "trec", "--merge", "median").code == 0
    assert read("mixed") == read("all")
    Path("aspects").write_text("q1 2 a 1\n")  # a subtopic beside 0, which stays
    aspects = gradeval("convert", "ann", "aspects", "-", "--to", "trec", "--merge", "first")
    assert "q1 2 a 1\n" in aspects.out and "q1 0 a " in aspects.out
    Path("broken").write_text("q1 0 a x\n")
    assert fails("convert", "ann", "broken", "out.qrels", "--merge", "mean").startswith(
        "broken:1: the grade 'x'"
    )
    package.convert(["ann", "bob"], "two.qrels", merge="max")
    assert read("two.qrels")["q1", "a"] == 3


@pytest.mark.parametrize("layout", ["csv", "jsonl"])
def test_judges_of_a_column(layout: str, folder: Path) -> None:
    """They are as sets of judgments of their own files."""
    write("judged", layout)
    for judge in ("ann", "bob", "cid"):
        Path(judge).write_text("".join(f"{q} 0 {d} {g}\n" for q, d, g, own in LINES if own == judge))
    of_files = package.study.agreement("ann", qrels2=["bob", "cid"])
    of_column = package.study.agreement("judged")
    assert repr([table.rows for table in of_column.tables]) == repr([table.rows for table in of_files.tables])
    rows = gradeval("study", "agreement", "judged", "-f", "tsv", "--table", "disagreements").out.splitlines()
    assert rows == [
        "query\tdocument\tdifference\tann\tbob\tcid",
        "q1\ta\t2.0000\t3.0000\t1.0000\t1.0000",
        "q1\tb\t2.0000\t0.0000\t2.0000\tnan",
    ]
    assert "runs or qrels2 is missing" in fails("study", "agreement", "judged", "--merge", "mean")
    Path("named").write_text(Path("judged").read_text().replace("judge", "who").replace("annotator", "who"))
    assert "is missing" in fails("study", "agreement", "named")
    of_named = package.study.agreement("named", columns="judge=who")
    assert repr([table.rows for table in of_named.tables]) == repr([table.rows for table in of_files.tables])

"""What is counted of files, and which lines are wrong, against a count in plain Python."""

from __future__ import annotations

import gzip
import itertools
from collections import Counter, defaultdict
from pathlib import Path
from statistics import median

import pytest
from helpers import each, examples
from hypothesis import example, given
from hypothesis import strategies as st
from plain import pipe

import gradeval
from gradeval.commands.files.report import QrelsFacts, RunFacts
from gradeval.commands.files.validate import validate_files
from gradeval.errors import OptionError
from gradeval.formats.sources import Source

IDS = st.sampled_from(["1", "2", "3", "q44444444444"])
DOCS = st.sampled_from(["a", "b", "c", "d", "a-long-document-id"])
SCORES = st.sampled_from([0.0, 1.0, 2.5, -1.0])
RUNS = st.lists(st.tuples(IDS, DOCS, st.integers(1, 4), SCORES), min_size=1, max_size=25)
QRELS = st.lists(st.tuples(IDS, DOCS, st.sampled_from([0, 1, 2])), min_size=1, max_size=20)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("validate")


def lines_of(issues):
    return sorted(issue.line for issue in issues.first if issue.line is not None)


def repeats(pairs):
    """The lines of pairs that were there before, and what each is first in."""
    first = {}
    return {line: first[pair] for line, pair in enumerate(pairs, 1) if first.setdefault(pair, line) != line}


@examples(times=0.5)
@given(QRELS, RUNS, st.sampled_from([10, 60, 1 << 20]), st.sampled_from([1, 2]))
@example([("1", "a", 1)], [("1", "a", 1, 1.0), ("1", "a", 1, 1.0)], 10, 1)
@example([("1", "a", 1)], [("1", "a", 1, 1.0), ("2", "a", 1, 1.0)] * 2, 10, 1)
def test_facts(folder, judgments, run, size, jobs):
    qrels_path, run_path = folder / "qrels", folder / "run"
    qrels_path.write_text("".join("{} 0 {} {}\n".format(*row) for row in judgments))
    run_path.write_text("".join(f"{q} Q0 {d} {rank} {score} t\n" for q, d, rank, score in run))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Source.blocks, "__defaults__", (size,))
        qrels, ranking = gradeval.validate(qrels_path, run_path, jobs=jobs).files

    again = repeats([row[:2] for row in judgments])
    differing = [line for line, first in again.items() if judgments[line - 1][2] != judgments[first - 1][2]]
    grades = {}
    for q, d, grade in judgments:
        grades.setdefault(q, {}).setdefault(d, grade)
    without = [q for q, of in grades.items() if max(of.values()) == 0]
    counts = Counter(float(grade) for _, _, grade in judgments)
    assert qrels.facts == QrelsFacts(
        len(grades), len(judgments), tuple(sorted(counts.items())), len(again), len(without)
    )
    assert lines_of(qrels.errors) == sorted(differing)
    assert lines_of(qrels.warnings) == sorted(set(again) - set(differing))
    assert qrels.warnings.total == len(again) - len(differing) + bool(without)

    by_query = defaultdict(list)
    for line, (q, d, rank, score) in enumerate(run, 1):
        by_query[q].append((d, rank, score, line))
    sizes = [len(of) for of in by_query.values()]
    tied = [sum(n for n in Counter(s for _, _, s, _ in of).values() if n > 1) for of in by_query.values()]
    rises = {
        q: [
            (1 if (r2 - r1) * (s2 - s1) > 0 else -1, line)
            for (_, r1, s1, _), (_, r2, s2, line) in itertools.pairwise(of)
            if (r2 - r1) * (s2 - s1)
        ]
        for q, of in by_query.items()
    }
    against = {q: of for q, of in rises.items() if sum(sign for sign, _ in of) > 0}
    facts = ranking.facts
    assert isinstance(facts, RunFacts)
    assert (facts.queries, facts.documents, facts.tag) == (len(by_query), len(run), "t")
    assert facts.per_query == (min(sizes), median(sizes), max(sizes))
    assert (facts.tied, facts.tied_queries) == (sum(tied), sum(map(bool, tied)))
    assert facts.ranked == sum(map(bool, rises.values()))
    assert facts.disordered == sum(any(sign > 0 for sign, _ in of) for of in rises.values())
    assert facts.contradicting == len(against)
    assert lines_of(ranking.warnings) == sorted(min(n for sign, n in of if sign > 0) for of in against.values())
    duplicates = repeats([row[:2] for row in run])
    assert facts.duplicates == len(duplicates)
    has_common = bool(set(grades) & set(by_query))
    assert {one.line: one.hint for one in ranking.errors.first} == {
        **{line: f"The first is in line {first}" for line, first in duplicates.items()},
        **({} if has_common else {None: "Check the query ids"}),
    }
    assert (facts.judged is not None) == has_common
    assert facts.judged_queries == len(grades)
    assert facts.missing == len(set(grades) - set(by_query))
    assert facts.unjudged == len(set(by_query) - set(grades))


def test_judged_documents(tmp_path):
    (tmp_path / "q").write_text("1 0 d3 1\n1 0 d12 1\n2 0 a 1\n3 0 a 1\n")
    run = "".join(f"1 Q0 d{n} {n} {-n} t\n" for n in range(1, 21)) + "2 Q0 a 1 1 t\n2 Q0 b 2 0 t\n"
    (tmp_path / "r").write_text(run)
    _, ranking = gradeval.validate(tmp_path / "q", tmp_path / "r").files
    assert ranking.facts.judged == pytest.approx((1 / 10 + 1 / 2) / 2)
    (tmp_path / "x.tsv").write_text("query-id\tcorpus-id\tscore\n1\ta\t2\n1\tb\t0\n")
    _, report = gradeval.validate(tmp_path / "x.tsv", tmp_path / "x.tsv").files
    [warning] = report.warnings.first
    assert warning == (None, "every document is judged and its score is its grade", "Is this the qrels file?")


def test_every_error_is_listed_and_counted(tmp_path, monkeypatch):
    """Also beyond the number at which an evaluation stops, in several blocks."""
    monkeypatch.setattr(Source.blocks, "__defaults__", (400,))
    path = tmp_path / "r"
    path.write_text("".join(f"1 Q0 d{n} 1 {'x' if n % 2 else n} t\n" for n in range(200)) + "1 Q0\n")
    [report] = gradeval.validate(runs=path, max_errors=None).files
    assert lines_of(report.errors) == [*range(2, 201, 2), 201]
    assert report.errors.total == 101
    assert list(report.errors.kinds.values()) == [100, 1]
    assert report.facts.documents == 100
    [report] = gradeval.validate(runs=path, max_errors=7).files
    assert (lines_of(report.errors), report.errors.total) == ([*range(2, 16, 2)], 101)


def test_empty_ratings_are_counted(tmp_path):
    path = tmp_path / "q"
    path.write_text("query,docid,rating\n1,a,\n1,b,2\n,c,\n1,d,\n")
    [report] = gradeval.validate(path).files
    assert (report.facts.judgments, report.facts.unrated, report.errors.total) == (1, 2, 1)


def test_all_duplicates_of_a_run_are_listed(tmp_path):
    """An evaluation has one error for a file that holds its run twice; here each document is one."""
    path = tmp_path / "r"
    run = "".join(f"{q} Q0 d{n} 1 {n} t\n" for q in range(3) for n in range(30))
    path.write_text(2 * run)
    [report] = gradeval.validate(runs=path).files
    assert lines_of(report.errors) == [*range(91, 181)]
    assert (report.facts.duplicates, report.facts.documents, report.facts.queries) == (90, 180, 3)


@each(
    "text, role, found",
    [
        (b"1 0 a 1\r\n1 0 b 1\r\n", "qrels", ("trec", "", "ASCII", "spaces", "CRLF")),
        (b"1\t0\ta\t1\n1 0 b 1\r\n", "qrels", ("trec", "", "ASCII", "spaces and tabs", "LF and CRLF")),
        ("\ufeff1\t0\tä\t1\n".encode(), "qrels", ("trec", "", "UTF-8 with a BOM", "tabs", "LF")),
        (gzip.compress(b"1 Q0 a 1 1 t\n", mtime=0), "run", ("trec", "gzip", "ASCII", "spaces", "LF")),
        (b"qid;docid;score\n1;a;2\n", "run", ("csv", "", "ASCII", "semicolons", "LF")),
        (b"query-id\tcorpus-id\tscore\n1\ta b\t2\n", "qrels", ("beir", "", "ASCII", "tabs", "LF")),
        (b'{"1": {"a": 2}}', "run", ("json", "", "ASCII", "", "")),
        (b"1 0 a 1\n1 0 \xff 1\n", "qrels", ("trec", "", "not UTF-8", "spaces", "LF")),
        (b"2 qid:1 1:1 # a\n", "qrels", ("letor", "", "ASCII", "spaces", "LF")),
    ],
)
def test_what_a_file_is(tmp_path, text, role, found):
    path = tmp_path / "file"
    path.write_bytes(text)
    [report] = validate_files([str(path)], role).files
    about = report.description
    shown = (report.format, about.compression, about.encoding, about.separators, about.line_ends)
    assert shown == found
    assert not report.errors.total
    assert report.why
    if "not UTF-8" in found:
        assert (about.not_utf8, lines_of(report.warnings)) == (2, [2])


@each("cut", range(1, 8))
def test_characters_that_are_cut_by_a_block_are_utf8(tmp_path, monkeypatch, cut):
    monkeypatch.setattr(Source.chunks, "__defaults__", (cut,))
    path = tmp_path / "x.json"
    path.write_text('{"ä": {"€😀": 1}}')
    [report] = validate_files([str(path)], "run").files
    assert report.description.encoding == "UTF-8"


@each(
    "text, role",
    [
        ("1 0 a 1\n", "qrels"),
        ("1 Q0 a 1 1 t\n", "run"),
        ("1 0 a x\n1 0 a 1\n", "qrels"),
        ("1 Q0 a 1 1\n", "run"),
        ("qid,docid,grade\n1,a,1\n", "qrels"),
        ("qid,docid,prediction\n1,a,1\n", "run"),
        ('{"qid": "1", "docid": "a", "score": 1}\n', "run"),
        ("1\ta\t1\n1\tb\t2\n", "run"),
        ("1 qid:1 1:2 # a\n", "qrels"),
        ('{"1": {"a": 1}}', ""),
        ("query-id\tcorpus-id\tscore\n1\ta\t1\n", ""),
    ],
)
def test_the_role_of_a_file_alone(tmp_path, text, role):
    path = tmp_path / "file"
    path.write_text(text)
    [report] = validate_files([str(path)]).files
    assert report.role == role
    if not role:
        assert "qrels or a run" in report.errors.first[0].what
    if role == "run":
        reports = validate_files([str(path), str(path)]).files
        assert [(report.role, report.facts.judged) for report in reports] == [("run", None)] * 2


@pytest.mark.parametrize(
    "content, what",
    [
        (None, "no such file"),
        (b"", "the file is empty"),
        (b"\n\n", "no data: all lines are blank or comments"),
        (gzip.compress(b"1 Q0 a 1 1 t\n" * 100, mtime=0)[:-9], "the archive is damaged or incomplete"),
        (b"1 Q0 a 1 1 t\n1 Q0 \0 1 1 t\n", "binary data (a NUL byte)"),
    ],
)
def test_files_that_cannot_be_read(tmp_path, content, what):
    path = tmp_path / "r"
    if content is not None:
        path.write_bytes(content)
    validation = gradeval.validate(runs=[path])
    assert not validation.ok
    assert any(one.what.startswith(what) for one in validation.files[0].errors.first)


def test_from_a_pipe():
    with pipe(b"1 Q0 a 1 1 t\n2 Q0 a 1 1 t\n1 Q0 a 1 1 t\n") as path:
        [report] = gradeval.validate(runs=path).files
    assert lines_of(report.errors) == [3]


def test_options(tmp_path):
    for max_errors in (-1, "3", 1.5, True):
        with pytest.raises(OptionError, match="max_errors"):
            gradeval.validate(Path("q"), max_errors=max_errors)
    with pytest.raises(OptionError, match="no files"):
        gradeval.validate()
    (tmp_path / "q").write_text("1 0 a 1\n2 0 a 2\n")
    assert gradeval.validate(tmp_path / "q", rel=2).files[0].facts.without_relevant == 1


def test_a_file_of_another_kind_is_one_error(tmp_path):
    """Swapped files, and text that is neither."""
    (tmp_path / "qrels").write_text("q 0 a 1\nq 0 b 0\n" * 2)
    (tmp_path / "run").write_text("q Q0 a 1 2 t\nq Q0 b 2 1 t\nq Q0 c 3 0 t\n")
    (tmp_path / "text").write_text("Lines of text\nand more\nof it, in the year 1984 or so\n")
    reports = gradeval.validate(tmp_path / "run", [tmp_path / "qrels", tmp_path / "text"]).files
    assert [report.facts for report in reports] == [None] * 3
    hints = [report.errors.first[0].hint for report in reports]
    assert [report.errors.total for report in reports] == [1, 1, 1]
    assert hints == [
        "This looks like a run; the qrels come first, then the runs",
        "This looks like qrels; the qrels come first, then the runs",
        "Is this the right file? If so, give its format with --run-format",
    ]


def test_identical_ids_are_left_out(tmp_path):
    path = tmp_path / "run"
    path.write_text("1 Q0 1 1 2 t\n1 Q0 b 2 1 t\n")
    [report] = gradeval.validate(None, path, ignore_identical_ids=True).files
    assert report.facts.documents == 1
    path.write_text("1 Q0 1 1 2 t\n")
    [report] = gradeval.validate(None, path, ignore_identical_ids=True).files
    [error] = report.errors.first
    assert error.what == "no document is left: the id of each is that of its query"


def test_all_errors_of_letor_files_and_scores_are_listed(tmp_path):
    (tmp_path / "l").write_text("1 qid:1 1:1\n" * 30)
    for line, kind in (("x\n", "scores"), ("1\tx\t0.5\n", "ranklib")):
        (tmp_path / "s").write_text(line * 30)
        _, report = gradeval.validate(tmp_path / "l", tmp_path / "s", run_format=kind).files
        assert lines_of(report.errors) == list(range(1, 31))
    (tmp_path / "l").write_text("x qid:1 1:1\n" * 30 + "1 qid:1 1:1\n")
    [report] = gradeval.validate(tmp_path / "l").files
    assert lines_of(report.errors) == list(range(1, 31))

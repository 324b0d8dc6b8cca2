"""What is counted of files, and which lines are wrong, against a count in plain Python."""

import gzip
import itertools
import json
import re
from collections import Counter, defaultdict
from pathlib import Path
from statistics import median

import pytest
from helpers import each, examples, raises
from hypothesis import example, given
from hypothesis import strategies as st

import gradeval
from gradeval.commands.files.report import SHOWN_IDS, QrelsFacts, RunFacts, Validation
from gradeval.commands.files.validate import DEFAULT_MAX_ERRORS, Checks
from gradeval.errors import OptionError
from gradeval.formats.diagnostics import Problem, first_in
from gradeval.formats.sources import Source
from gradeval.options import Options

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
    hints = {one.line: re.sub("(Check the query ids).*", r"\1", one.hint) for one in ranking.errors.first}
    assert hints == {
        **{line: first_in(first - 1) for line, first in duplicates.items()},
        **({} if has_common else {None: "Check the query ids"}),
    }
    assert json.dumps(ranking.to_dict())  # numbers are Python's
    assert (facts.judged is not None) == has_common
    assert facts.judged_queries == len(grades)
    assert facts.missing == len(set(grades) - set(by_query))
    assert facts.unjudged == len(set(by_query) - set(grades))
    named = {
        "tied_queries": {q for q, count in zip(by_query, tied, strict=True) if count},
        "disordered": {q for q, of in rises.items() if any(sign > 0 for sign, _ in of)},
        "unjudged": set(by_query) - set(grades),
    }
    for name, ids in named.items():
        first = facts.first_ids.get(name, ())
        assert len(set(first)) == len(first) == min(len(ids), SHOWN_IDS + 1) and set(first) <= ids


def reports(folder, *texts, role=None, max_errors=DEFAULT_MAX_ERRORS, **options):
    """Of the texts as files: those of a role, or of what they hold."""
    paths = [folder / name for name, _ in zip("qrs", texts, strict=False)]
    for path, text in zip(paths, texts, strict=True):
        path.write_bytes(text.encode() if isinstance(text, str) else text)
    roles = [role or ("run" if index else None) for index in range(len(paths))]
    return Checks(Options(**options), max_errors).validation(list(map(str, paths)), roles).files


def test_judged_documents_and_rows_left_out(tmp_path):
    run = "".join(f"1 Q0 d{n} {n} {-n} t\n" for n in range(1, 21)) + "2 Q0 a 1 1 t\n2 Q0 b 2 0 t\n"
    qrels, ranking = reports(tmp_path, "1 0 d3 1\n1 0 d12 1\n2 0 a 2\n3 0 a 1\n", run, rel=2)
    assert (ranking.facts.judged, qrels.facts.without_relevant) == (pytest.approx((1 / 10 + 1 / 2) / 2), 2)
    same = "query-id\tcorpus-id\tscore\n1\ta\t2\n1\tb\t0\n"
    [warning] = reports(tmp_path, same, same)[1].warnings.first
    assert warning == Problem(
        None, "every document is judged and its score is its grade", "Is this the qrels file?"
    )
    # rows that are left out
    [report] = reports(tmp_path, "query,docid,rating\n1,a,\n1,b,2\n,c,\n1,d,\n", role="qrels")
    assert (report.facts.judgments, report.facts.unrated, report.errors.total) == (1, 2, 1)
    [report] = reports(tmp_path, "1 Q0 1 1 2 t\n1 Q0 b 2 1 t\n", role="run", ignore_identical_ids=True)
    assert report.facts.documents == 1
    [report] = reports(tmp_path, "1 Q0 1 1 2 t\n", role="run", ignore_identical_ids=True)
    assert [error.what for error in report.errors.first] == [
        "no document is left: the id of each is that of its query"
    ]


def test_every_error_is_listed_and_counted(tmp_path, monkeypatch):
    """Also beyond the number at which an evaluation stops, in several blocks."""
    monkeypatch.setattr(Source.blocks, "__defaults__", (400,))
    run = "".join(f"1 Q0 d{n} 1 {'x' if n % 2 else n} t\n" for n in range(200)) + "1 Q0\n"
    [report] = reports(tmp_path, run, role="run", max_errors=None)
    assert lines_of(report.errors) == [*range(2, 201, 2), 201]
    assert repr(Validation((report,))) == "Validation(files=1, errors=101, warnings=0)"
    assert (report.errors.total, list(report.errors.kinds.values())) == (101, [100, 1])
    assert report.facts.documents == 100
    [report] = reports(tmp_path, run, role="run", max_errors=7)
    assert (lines_of(report.errors), report.errors.total) == ([*range(2, 16, 2)], 101)
    # an evaluation has one error for a file that holds its run twice; here each document is one
    twice = 2 * "".join(f"{q} Q0 d{n} 1 {n} t\n" for q in range(3) for n in range(30))
    [report] = reports(tmp_path, twice, role="run")
    assert lines_of(report.errors) == [*range(91, 181)]
    assert (report.facts.duplicates, report.facts.documents, report.facts.queries) == (90, 180, 3)
    letor = "1 qid:1 1:1\n" * 30
    for line, kind in (("x\n", "scores"), ("1\tx\t0.5\n", "ranklib")):
        _, report = reports(tmp_path, letor, "0.5\n" + line * 30, qrels_format="letor", run_format=kind)
        assert lines_of(report.errors) == list(range(1 + (kind == "scores"), 32))
    [report] = reports(tmp_path, "x qid:1 1:1\n" * 30 + "1 qid:1 1:1\n", role="qrels")
    assert lines_of(report.errors) == list(range(1, 31))


KINDS = [
    (b"1 0 a 1\r\n1 0 b 1\r\n", "qrels", ("trec", "", "ASCII", "spaces", "CRLF")),
    (b"1\t0\ta\t1\n1 0 b 1\r\n", "qrels", ("trec", "", "ASCII", "spaces and tabs", "LF and CRLF")),
    ("\ufeff1\t0\tä\t1\n", "qrels", ("trec", "", "UTF-8 with a BOM", "tabs", "LF")),
    (gzip.compress(b"1 Q0 a 1 1 t\n", mtime=0), "run", ("trec", "gzip", "ASCII", "spaces", "LF")),
    (b"qid;docid;score\n1;a;2\n", "run", ("csv", "", "ASCII", "semicolons", "LF")),
    (b'{"1": {"a": 2}}', "run", ("json", "", "ASCII", "", "")),
    (b"1 0 a 1\n1 0 \xff 1\n", "qrels", ("trec", "", "not UTF-8", "spaces", "LF")),
    (b"2 qid:1 1:1 # a\n", "qrels", ("letor", "", "ASCII", "spaces", "LF")),
]


@each("text, role, expected", KINDS)
def test_what_a_file_is(tmp_path, text, role, expected):
    [report] = reports(tmp_path, text, role=role)
    about = report.description
    shown = (report.format, about.compression, about.encoding, about.separators, about.line_ends)
    assert (shown, report.errors.total) == (expected, 0)
    assert report.why
    if "not UTF-8" in expected:
        assert (about.not_utf8, lines_of(report.warnings)) == (2, [2])


JSON_LINE = '{"qid": "1", "docid": "a", "score": 1}\n'
ROLES = {
    "qrels": ["1 0 a 1\n", "1 0 a x\n1 0 a 1\n", "qid,docid,grade\n1,a,1\n", "1 qid:1 1:2 # a\n"],
    "run": ["1 Q0 a 1 1 t\n", "1 Q0 a 1 1\n", "qid,docid,prediction\n1,a,1\n", "1\ta\t1\n1\tb\t2\n", JSON_LINE],
    "": ['{"1": {"a": 1}}', "query-id\tcorpus-id\tscore\n1\ta\t1\n"],
}


@each("role, texts", ROLES.items())
def test_the_role_of_a_file_alone(tmp_path, role, texts):
    for text in texts:
        [report] = reports(tmp_path, text)
        assert report.role == role, text
        if not role:
            assert "qrels or a run" in report.errors.first[0].what
        if role == "run":
            two_runs = reports(tmp_path, text, text)
            assert [(report.role, report.facts.judged) for report in two_runs] == [("run", None)] * 2


def test_files_that_cannot_be_read(tmp_path):
    assert gradeval.validate(runs=[tmp_path / "r"]).files[0].errors.first[0].what.startswith("no such file")
    for content, what in (
        (b"", "the file is empty"),
        (gzip.compress(b"1 Q0 a 1 1 t\n" * 100, mtime=0)[:-9], "the archive is damaged or incomplete"),
    ):
        [report] = reports(tmp_path, content, role="run")
        assert any(error.what.startswith(what) for error in report.errors.first)
    # options
    for max_errors in (-1, "3", 1.5, True):
        raises(OptionError, "max_errors", gradeval.validate, Path("q"), max_errors=max_errors)
    raises(OptionError, "no files", gradeval.validate)

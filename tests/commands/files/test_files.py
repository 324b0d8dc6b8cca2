"""Files converted between all formats, where ids and numbers are the same or an error says why; validated."""

import bz2
import csv
import gzip
import io
import itertools
import json
import lzma
import re
from collections import Counter, defaultdict
from importlib.util import find_spec
from pathlib import Path
from statistics import median

import pytest
from helpers import each, error_of, examples, raises
from hypothesis import assume, example, given
from hypothesis import strategies as st

import gradeval
from gradeval.commands.files.validate import (
    DEFAULT_MAX_ERRORS,
    SHOWN_IDS,
    Checks,
    QrelsFacts,
    RunFacts,
    Validation,
)
from gradeval.errors import LARGEST_GRADE, SMALLEST_GRADE, GradevalError, InputError, InputErrors, OptionError
from gradeval.file_formats import FORMATS, WRITTEN_FORMATS
from gradeval.formats.columns import Columns
from gradeval.formats.diagnostics import Problem, first_in
from gradeval.formats.sources import Source
from gradeval.options import Options
from gradeval.tables.load import open_file

HAS_ARROW = find_spec("pyarrow") is not None
TO = [name for name in WRITTEN_FORMATS if HAS_ARROW or name not in ("parquet", "arrow")]
TARGETS = {role: [name for name in TO if role in FORMATS[name].writes] for role in ("qrels", "run")}
ROLES = st.sampled_from(["qrels", "run"])
ODD = st.text(st.characters(exclude_characters="\0"), min_size=1).map(
    lambda text: text.encode("utf-8", "surrogatepass")
)
BYTES = st.binary(min_size=1, max_size=12).filter(lambda text: 0 not in text)
PLAIN = st.text(
    st.characters(min_codepoint=33, exclude_characters='#\x7f\x85\xa0"', exclude_categories=["Cs", "Z", "C"])
)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
GRADES = st.one_of(
    st.integers(-3, 9).map(float), FLOATS.filter(lambda x: x == 0 or SMALLEST_GRADE <= abs(x) <= LARGEST_GRADE)
)


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return tmp_path_factory.mktemp("files")


def tables(ids, numbers):
    return st.dictionaries(ids, st.dictionaries(ids, numbers, min_size=1, max_size=5), min_size=1, max_size=4)


def as_csv(table, role):
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writerow(["query_id", "doc_id", "relevance" if role == "qrels" else "score"])
    for query, documents in table.items():
        for document, number in documents.items():
            fields = (one.decode("utf-8", "surrogateescape") for one in (query, document))
            writer.writerow([*fields, repr(number)])
    return text.getvalue().encode("utf-8", "surrogateescape")


def given_as(role, kind):
    if role == "qrels" and kind == "msmarco":
        kind = "trec"  # with tabs
    options = {"qrels_format" if role == "qrels" else "run_format": kind}
    options["jobs"] = 1
    return options | ({"features": "1"} if kind == "letor" and role == "run" else {})


def read(path, role, kind):
    """{query: {document: number}} of a file, in its order."""
    [file] = open_file(Source(path), role, Options(**given_as(role, kind)))
    parts = [file.table.columns(block) for block in file.table.blocks()]
    assert not any(part.problems.total for part in parts)
    whole = Columns.joined(parts)
    table = {}
    for q, query in enumerate(whole.queries.tolist()):
        rows = range(whole.bounds[q], whole.bounds[q + 1])
        table.setdefault(query, {}).update((whole.documents[row], float(whole.value[row])) for row in rows)
    return table


def exact(table):
    return [
        (query, [(document, repr(number + 0.0)) for document, number in of.items()])
        for query, of in table.items()
    ]


def converted(source, target, role, kind, to, **more):
    return gradeval.convert(source, target, to, role=role, **given_as(role, kind), **more)


def expected(table, role, kind):
    """What is read: of a run as MS MARCO's minus the rank, and as a feature by rank; ties by id descending."""
    if role == "qrels" or kind not in ("msmarco", "letor"):
        return table
    by_rank = {query: sorted(sorted(of, reverse=True), key=lambda one: -of[one]) for query, of in table.items()}
    return {
        query: {
            document: -float(rank) if kind == "msmarco" else table[query][document]
            for rank, document in enumerate(documents, 1)
        }
        for query, documents in by_rank.items()
    }


@examples(times=0.4)
@given(st.data(), ROLES)
def test_every_pair_of_formats(base, data, role):
    first, second = (data.draw(st.sampled_from(TARGETS[role])) for _ in range(2))
    numbers = st.integers(-3, 9).map(float) if role == "qrels" else FLOATS
    table = data.draw(tables(PLAIN.filter(bool).map(str.encode), numbers))
    begin, a, b = (base / name for name in ("begin", "a", "b"))
    begin.write_bytes(as_csv(table, role))
    converted(begin, a, role, "csv", first)
    table = expected(table, role, first)
    assert exact(read(a, role, first)) == exact(table)
    converted(a, b, role, first, second)
    assert exact(read(b, role, second)) == exact(expected(table, role, second))


@examples(times=0.4)
@given(
    st.data(),
    ROLES,
    st.one_of(ODD, BYTES, st.sampled_from([b"#a", b"a b", b"a\tb", b'"', b"\xef\xbb\xbfa", b"\xff"])),
)
def test_odd_ids_are_kept_or_refused(base, data, role, odd):
    """What a format cannot hold is an error, and nothing is written; anything else reads back equal."""
    kind = data.draw(st.sampled_from(TARGETS[role]))
    table = data.draw(tables(st.one_of(st.just(odd), ODD, BYTES), GRADES if role == "qrels" else FLOATS))
    begin, path = base / "begin", base / "odd"
    path.unlink(missing_ok=True)
    begin.write_bytes(as_csv(table, role))
    assume(exact(read(begin, role, "csv")) == exact(table))
    try:
        converted(begin, path, role, "csv", kind)
    except (InputError, InputErrors) as error:
        assert not path.exists()
        assert "cannot be written" in str(error)
        assert kind not in ("csv", "tsv")
        return
    assert exact(read(path, role, kind)) == exact(expected(table, role, kind))


RUN = "q1 Q0 a 1 2.50 t\nq1 Q0 b 2 1e3 t\nq1 Q0 c 3 1e3 t\nq2 Q0 a 1 .5 t\n"
AS_CSV = "query_id,doc_id,score\nq1,a,2.5\nq1,b,1000\nq1,c,1000\nq2,a,0.5\n"
LETOR = "1 qid:1 1:0.5 2:.5 # docid = a\n0 qid:1 1:0.2 # docid = b\n2 qid:2 1:1 # docid = c\n"
SCORES, RANKLIB = "0.25\n0.75\n0.5\n", "2\t0\t0.5\n1\t0\t0.25\n1\t1\t0.75\n"
OF_MODEL = "1 Q0 a 2 0.25 model\n1 Q0 b 1 0.75 model\n2 Q0 c 1 0.5 model\n"
IDENTICAL = "1 Q0 1 1 2 t\n1 Q0 b 2 1 t\n2 Q0 2 1 1 t\n"
AS_QRELS, AS_RUN = {"role": "qrels"}, {"role": "run"}
IGNORED = {"ignore_identical_ids": True}
SAME = "1 0 a 1\n2 0 b 1\n1 0 a 1\n1 0 c 0.5\n"


def of_feature(*documents):
    """Lines of these for q1 with their scores, and one for q2."""
    rows = [("q1", *document.split()) for document in documents]
    return "".join(f"0 qid:{q} 1:{score} # docid = {id}\n" for q, id, score in [*rows, ("q2", "a", "0.5")])


DONE = [  # the input, what is written, in which format, and the options
    ('{"\ufeff1": {"\ufeffa": 1.5}}', 'query_id,doc_id,score\n"\ufeff1","\ufeffa",1.5\n', "csv", AS_RUN),
    (RUN, "q1 Q0 a 3 2.5 t\nq1 Q0 b 2 1000 t\nq1 Q0 c 1 1000 t\nq2 Q0 a 1 0.5 t\n", "trec", {}),
    (RUN, "q1 Q0 c 1 1000 n\nq1 Q0 b 2 1000 n\nq1 Q0 a 3 2.5 n\nq2 Q0 a 1 0.5 n\n", "trec",
     {"sort": True, "tag": "n"}),
    (RUN, "q1 Q0 c 1 1000 t\nq2 Q0 a 1 0.5 t\n", "trec", {"top": 1}),
    (RUN, "q1 Q0 b 1 1000 t\nq2 Q0 a 1 0.5 t\n", "trec", {"top": 1, "ties": "input"}),
    (RUN, '{"q1": {"a": 2.5, "b": 1000.0, "c": 1000.0}, "q2": {"a": 0.5}}', "json", {}),
    (RUN, of_feature("c 1000", "b 1000", "a 2.5"), "letor", {}),
    (RUN, of_feature("a 2.5", "b 1000", "c 1000"), "letor", {"ties": "input"}),
    (of_feature("a 1", "b 1"), "q1\ta\t1\nq1\tb\t2\nq2\ta\t1\n", "msmarco", {"features": "1"}),
    ("q1 0 a 2\nq1 0 b 0\n", '{"q1": {"a": 2, "b": 0}}', "json", {}),
    ("1 Q0 a 1 3 t\n2 Q0 a 1 1 t\n1 Q0 b 2 4 t\n", "1 Q0 a 2 3 t\n1 Q0 b 1 4 t\n2 Q0 a 1 1 t\n", "trec", {}),
    (SAME, "1 0 a 1\n1 0 c 0.5\n2 0 b 1\n", "trec", {}),
    (IDENTICAL, "1 Q0 b 1 1 t\n", "trec", IGNORED),
    ("1 Q0 a#1 1 3 t\n2 Q0 a 1 1 t\n1 Q0 b 2 4 t\n1 Q0 a#2 1 5 t\n",
     "1 Q0 b 2 4 t\n1 Q0 a 1 5 t\n2 Q0 a 1 1 t\n", "trec", {"max_passage": "#"}),
    (LETOR, "query_id,doc_id,relevance\n1,a,1\n1,b,0\n2,c,2\n", "csv", {}),
    (LETOR, "query_id,doc_id,score\n1,a,0.5\n1,b,0\n2,c,0\n", "csv", {"features": "2"}),
    (SCORES, OF_MODEL, "trec", {"qrels": "l", "tag": "model"}),
    (RANKLIB, OF_MODEL, "trec", {"qrels": "l", "tag": "model"}),
    ('{"1": {"a": 1}}', "1 Q0 a 1 1 gradeval\n", "trec", {"role": "run"}),
]  # fmt: skip
NEED = "scores, one per line, need the LETOR file whose lines they are of. Give it with --qrels"
WRONG = [  # the input, the error, the format, and the options
    ("1 Q0 a 1 x t\n1 Q0 b 1 1 t\n1 Q0 b 1 1 t\n", "s:1: the score 'x' is not a number", "csv", {}),
    ("1 Q0 a 1 1 t\n2 Q0 b 1 1 t\n1 Q0 a 1 1 t\n", "s:3: duplicate document 'a'", "csv", {}),
    ('{"\xef\xbb\xbf1": {"a": 1}}', "s:1: the query id '\\ufeff1' cannot be written", "beir", AS_QRELS),
    ("1 0 a 1\n1 0 b 1.5\n", "s:2: the grade 1.5 cannot be written: MS MARCO's are integers", "msmarco", {}),
    ("qid,docid,grade\n1,a b,1\n", "s:2: the document id 'a b' cannot be written: no spaces", "trec", {}),
    ("qid,docid,grade\n#1,a,1\n", "s:2: the query id '#1' cannot be written", "trec", {}),
    ("qid,docid,grade\n1,a,1\n1,\xff,1\n", "s:3: the document id '\\xff' ('ÿ' in cp1252) cannot be written",
     "json", {}),
    ('qid,docid,grade\n1,a"b,1\n1,"""a",1\n', "s:3: the document id '\"a' cannot be written: no tabs",
     "beir", {}),
    ("1 Q0 1 1 2 t\n", "s: no document is left: the id of each is that of its query", "trec", IGNORED),
    ('{"1": {"a": 1}}', "s: the file may be qrels or a run. Say which with --as qrels|run", "trec", {}),
    ('{"gradeval": "1", "x": {}}', "s: a saved result has no documents. Give the run that it", "trec", {}),
    (SCORES, f"s: {NEED}", "trec", {}),
    (RUN, "qrels are for scores of LETOR lines only; s is of format trec", "trec", {"qrels": "l"}),
    (SCORES, "r: this is not a LETOR file. scores, one per line, are of the lines of", "trec", {"qrels": "r"}),
    (RUN, "top must be an integer from 1", "csv", {"top": 0}),
    (RUN, "ties must be trec or input", "csv", {"ties": "best"}),
    (RUN, "top N documents can be chosen from runs only", "csv", {"role": "qrels", "top": 3}),
    (RUN, "beir is a format of qrels", "beir", {"role": "run"}),
    (RUN, "tag is for runs that are written as trec", "csv", {"role": "run", "tag": "t"}),
    (RUN, "tag is for runs that are written as trec", "trec", {"role": "qrels", "tag": "t"}),
]  # fmt: skip


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("l").write_text(LETOR)
    Path("r").write_text(RUN)
    Path("out").write_text("before")
    return tmp_path


def test_a_format_of_runs_alone_holds_no_judgments(files, monkeypatch):
    """Nor does one of qrels alone hold runs: a writer says what it writes."""
    monkeypatch.setitem(FORMATS, "tsv", FORMATS["tsv"].replace(writes=("run",)))
    Path("s").write_text(SAME)
    message = "tsv is a format of runs; qrels can be written as"
    raises(OptionError, message, gradeval.convert, "s", "out", "tsv")
    assert Path("out").read_text() == "before"


@each("source", [{"q": {"a": 1}}, [("q", "a", 1)], 3])
def test_data_in_memory_are_no_files(source, files):
    raises(OptionError, "source must be a path, not", gradeval.convert, source, "out", "csv")
    assert Path("out").read_text() == "before"


@each("text, expected, to, options", DONE)
def test_what_is_written(files, monkeypatch, text, expected, to, options):
    """Numbers as the shortest texts, scores in JSON as floats; whatever the blocks that are read."""
    Path("s").write_text(text)
    for size in (1 << 20, 40, 15):
        monkeypatch.setattr(Source.blocks, "__defaults__", (size,))
        done = gradeval.convert("s", "out", to, **options)
        written = Path("out").read_text()
        assert (written if to != "json" else json.dumps(json.loads(written))) == expected
        counts = {SAME: ("qrels", 2, 3, 1, 1, 0, 0), RUN: ("run", 2, 2 if "top" in options else 4, 0, 0, 0, 0)}
        assert done[:7] == counts.get(text, done[:7])


@each("text, message, to, options", WRONG)
def test_nothing_is_written_where_something_is_wrong(files, text, message, to, options):
    Path("s").write_bytes(text.encode("latin-1"))
    assert error_of(GradevalError, gradeval.convert, "s", "out", to, **options).startswith(message)
    assert Path("out").read_text() == "before"
    assert sorted(path.name for path in files.iterdir()) == ["l", "out", "r", "s"]


def test_compressed_output(files):
    for ending, opened in ((".gz", gzip.open), (".bz2", bz2.open), (".xz", lzma.open)):
        gradeval.convert("r", f"y.csv{ending}")
        with opened(f"y.csv{ending}", "rt") as file:
            assert file.read() == AS_CSV
        gradeval.convert(f"y.csv{ending}", "z.run", tag="t")
        assert exact(read("z.run", "run", "trec")) == exact(read("r", "run", "trec"))


IDS = st.sampled_from(["1", "2", "3", "q44444444444"])
DOCS = st.sampled_from(["a", "b", "c", "d", "a-long-document-id"])
SCORES = st.sampled_from([0.0, 1.0, 2.5, -1.0])
RUNS = st.lists(st.tuples(IDS, DOCS, st.integers(1, 4), SCORES), min_size=1, max_size=25)
QRELS = st.lists(st.tuples(IDS, DOCS, st.sampled_from([0, 1, 2])), min_size=1, max_size=20)


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
def test_facts(base, judgments, run, size, jobs):
    qrels_path, run_path = base / "qrels", base / "run"
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
ALONE = {
    "qrels": ["1 0 a 1\n", "1 0 a x\n1 0 a 1\n", "qid,docid,grade\n1,a,1\n", "1 qid:1 1:2 # a\n"],
    "run": ["1 Q0 a 1 1 t\n", "1 Q0 a 1 1\n", "qid,docid,prediction\n1,a,1\n", "1\ta\t1\n1\tb\t2\n", JSON_LINE],
    "": ['{"1": {"a": 1}}', "query-id\tcorpus-id\tscore\n1\ta\t1\n"],
}


@each("role, texts", ALONE.items())
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

"""TREC's qrels and runs: what is read, and the error of everything else with its line."""

import re
from itertools import pairwise

from helpers import each, each_row, error_of, examples
from hypothesis import given
from hypothesis import strategies as st
from plain import Cut, read_trec_qrels

from formats.reading import rows_of
from gradeval.errors import InputError, InputErrors
from gradeval.formats.diagnostics import Problem
from gradeval.formats.trec import run_columns

SIZES = [1, 20, 1 << 20]


def qrels_of(path, text, size=1 << 20, jobs=1):
    """{query: {document: grade}} in the table's order, and its warnings."""
    path.write_bytes(text)
    table = read_trec_qrels(Cut(path, size), jobs)
    assert table.path == str(path)
    documents, grade = table.documents.tolist(), table.grade.tolist()
    bounds = zip(table.offsets[:-1].tolist(), table.offsets[1:].tolist(), strict=True)
    queries = {
        query: dict(zip(documents[a:b], grade[a:b], strict=True))
        for query, (a, b) in zip(table.queries.tolist(), bounds, strict=True)
    }
    return queries, tuple(map(str, table.notices))


def run_of(path, text):
    path.write_bytes(text)
    rows, problems = [], []
    for columns in map(run_columns, Cut(path).blocks()):
        assert all(one != other for one, other in pairwise(columns.queries.tolist()))
        rows += rows_of(columns)
        problems += columns.problems.first
    return rows, problems


def errors_of(path, text, size=1 << 20, jobs=1):
    path.write_bytes(text)
    error = error_of((InputError, InputErrors), read_trec_qrels, Cut(path, size), jobs)
    return [line.removeprefix(f"{path}:") for line in error.splitlines()]


@each(
    "text",
    [
        b"301 0 d1 1\n301 0 d2 0\n302 0 d1 2\n",
        b"301 0 d1 1\n301 0 d2 0\n302 0 d1 2",
        b"301\t0\td1\t1\n301 0\td2 0\n302 \t 0   d1\t\t2\n",
        b"  301 0 d1 1  \n\t301 0 d2 0\t\n302 0 d1 2\n",
        b"301 0 d1 1\r\n301 0 d2 0\r\n302 0 d1 2\r\n",
        b"301 0 d1 1\r\n301 0 d2 0\n302 0 d1 2\r",
        b"\xef\xbb\xbf301 0 d1 1\n301 0 d2 0\n302 0 d1 2\n",
        b"# query iter document grade\n\n301 0 d1 1\n   \n301 0 d2 0\n  # more\n\r\n302 0 d1 2\n#\n\n",
        b"301 Q0 d1 1.0\n301 x d2 -0\n302 # d1 2e0\n",
        b"302 0 d1 2\n301 0 d1 1\n301 0 d2 0\n",
        b"301 0 d1 1\n302 0 d1 2\n301 0 d2 0\n",
    ],
)
@each("size", SIZES)
@each("jobs", [1, 2])
def test_qrels(text, size, jobs, path):
    queries, warnings = qrels_of(path, text, size, jobs)
    assert queries == {b"301": {b"d1": 1.0, b"d2": 0.0}, b"302": {b"d1": 2.0}}
    assert warnings == ()


NAMES = [
    b"\xc3\xa9t\xc3\xa9", "a\u00a0b\u2003c\u2028d\u3000".encode(), b"a\x0bb\x0cc\x1cd\x1fe\x85f",
    b"\xff\xfe\x80", b"a#b", b'"quoted', b"x" * 300, b"clueweb09-en0000-00-00000", b"\x7f",
]  # fmt: skip


@each("name", NAMES)
@each("gap", [b" ", b"  "])
def test_ids_are_opaque_bytes(name, gap, path):
    assert qrels_of(path, gap.join([name, b"0", b"#" + name, b"1\n"]))[0] == {name: {b"#" + name: 1.0}}
    rows, problems = run_of(path, gap.join([name, b"Q0", name, b"1", b"2", b"tag\n"]))
    assert (rows, problems) == ([(name, name, 2.0)], [])


@each("rest", [b"", b" tag", b" tag more fields # here", b"\ttag\t", b" \r", b" tag" * 100])
@each("ends", [b"\n", b"\r\n"])
def test_run_lines_end_as_they_like_after_the_score(rest, ends, path):
    text = b"1 Q0 a 1 2.5" + rest + ends + b"1 Q0 b 2 -1e-3" + rest + ends
    rows = [(b"1", b"a", 2.5), (b"1", b"b", -1e-3)]
    assert run_of(path, text) == (rows, [])
    assert run_of(path, text + b"2 Q0 a 0 7\n") == ([*rows, (b"2", b"a", 7.0)], [])


QUERIES = st.sampled_from([b"1", b"2", b"33333333", b"4444444x"])


@examples(times=0.6)
@given(
    st.lists(st.tuples(QUERIES, st.sampled_from([b"a", b"b", b"c"])), min_size=1, max_size=20),
    st.integers(1, 100),
)
def test_qrels_in_any_order(path, pairs, size):
    """Documents repeated or not, queries together or not: a dictionary would hold the same."""
    grades = {pair: float(len(pair[0]) + pair[1][0]) for pair in pairs}
    expected = {query: {} for query, _ in pairs}
    for (query, document), grade in grades.items():
        expected[query][document] = grade
    text = b"".join(b"%s 0 %s %r\n" % (*pair, grades[pair]) for pair in pairs)
    queries, warnings = qrels_of(path, text, size)
    assert [*queries.items()] == [*expected.items()]
    assert [[*of] for of in queries.values()] == [[*of] for of in expected.values()]
    assert len(warnings) == (len(grades) < len(pairs))


@each("size", SIZES)
@each("before", [b"", b"r 1 a 1\n"])
def test_the_highest_grade_of_subtopics_counts(size, before, path):
    text = before + b"q 1 a 0\nq 1 b 2\nq 2 a 2\np 1 a 1\nq 3 a 1\nq 2 c 1\nq a-longer-subtopic b 0\n"
    queries, notices = qrels_of(path, text, size)
    assert queries.pop(b"r", None) == ({b"a": 1} if before else None)
    assert queries == {b"q": {b"a": 2, b"b": 2, b"c": 1}, b"p": {b"a": 1}}
    assert notices == (f"{path}: 2 documents have judgments of subtopics; the highest grade counts",)
    text = b"q 1 a 1\nq 2 a 0\nq 2 a 0\nq 1 a 1\n"  # duplicates within a subtopic
    same = f"{path}: 2 duplicate judgments with the same grade"
    subtopics = f"{path}: 1 document has judgments of subtopics; the highest grade counts"
    assert qrels_of(path, text, size) == ({b"q": {b"a": 1.0}}, (same, subtopics))
    [error] = errors_of(path, text + b"q 2 a 3\n", size)
    assert (
        error
        == "5: document 'a' has grade 3 here and 0 before in line 2"
        + ". --merge mean (in Python merge='mean') makes one grade of several"
    )


@each(
    ("line", "what"),
    [
        (b"q 0 d", "3 fields where qrels have 4 (query iter document grade)"),
        (b"q 0 d 1 x y z", "7 fields where qrels have 4 (query iter document grade)"),
        (b"q 0 d 1_0", "the grade '1_0' is not a number"),
        (b"q 0 d nan", "the grade 'nan' is not a finite number"),
        (b"q 0 d -inf", "the grade '-inf' is not a finite number"),
        (b"q 0 d 1e400", "the grade '1e400' is not a finite number"),
        (b"q 0 d \xff\xe2\x80\xa8\x1b", r"the grade '\xff\u2028\x1b' is not a number"),
        (b"q 0 d " + b"9x" * 99, f"the grade '{'9x' * 30}…' is not a number"),
        (b"q 0 d\0 1", "binary data (a NUL byte). Is this the right file?"),
    ],
)  # fmt: skip
@each(("size", "before"), zip(SIZES, [b"q 0 a 1\n" * 7, b"q 0 a 1\n\n# no\n q 0  a 1\r\n", b""], strict=True))
def test_errors_name_the_line(line, what, size, before, path):
    text = before + line + b"\nq 0 z 1\n"
    assert errors_of(path, text, size) == [f"{before.count(10) + 1}: {what}"]
    assert errors_of(path, before + line, size, jobs=2) == [f"{before.count(10) + 1}: {what}"]


NUMBERS = "its first lines of data are numbers, one per line; it needs a LETOR file as qrels"
OF_SCORES = f". This looks like format scores: {NUMBERS}"
A_RUN = ". This looks like a run; the qrels come first, then the runs"
UNKNOWN = (
    ". A line is query iter document grade. For another format give --qrels-format; a table needs a header "
    "line, such as query_id,doc_id,relevance"
)


@each("size", [1 << 10, 1 << 20])
@each_row(
    (b"q", "1 field", UNKNOWN),
    (b"0.5", "1 field", OF_SCORES),
    (b"q Q0 d 1 2.5", "5 fields", A_RUN),
    (b"q Q0 d 1 2.5 tag", "6 fields", A_RUN),
    (b"q 0 d 1 x y z", "7 fields", UNKNOWN),
)
def test_a_file_without_a_good_line_is_one_error(line, fields, hint, size, path):
    what = f"{fields} where qrels have 4 (query iter document grade)"
    [error] = errors_of(path, (line + b"\n") * 100, size)
    count = r"100 lines|\d\d lines read"
    assert re.fullmatch(f"1: {re.escape(what)}, and none of the ({count}) is right{re.escape(hint)}", error)
    assert errors_of(path, line, size) == [f"1: {what}{hint if hint != UNKNOWN else ''}"]
    assert errors_of(path, b"q 0 a 1\n" + line, size) == [f"2: {what}"]
    assert errors_of(path, b"q 0 a 1\n" * 99 + line, size) == [f"100: {what}"]


def test_files_without_judgments(path):
    assert errors_of(path, b"") == [" the file is empty"]
    assert errors_of(path, b"# a\n\n  # b\n" * 20) == [" no data: all lines are blank or comments"]
    prose = b"# A title\n\nLines of text\nare no judgments\nas in\nthe long year 1984\n" + b"or so\n\n" * 100
    what = "3: 3 fields where qrels have 4 (query iter document grade), and none of the 104 lines is right"
    assert errors_of(path, prose.replace(b"1984", b"x")) == [what + UNKNOWN]
    wrong = b"q 0 d x\nq 0 d\n" * 3
    assert len(errors_of(path, b"q 0 d 1\n" + wrong)) == 6
    assert len(errors_of(path, wrong + b"q 0 %d 1\n" * 7)) == 6


@each("jobs", [1, 3])
@each("wrong", [2, 20, 21, 50])
def test_up_to_twenty_errors_then_a_count(jobs, wrong, path):
    """Bad grades and bad fields in turn: the first twenty lines of them, in order."""
    text = b"q 0 a 1\n" + b"".join(b"q 0 d%d %s\n" % (n, b"x" if n % 2 else b"1 2 3 4") for n in range(wrong))
    errors = errors_of(path, text, jobs=jobs)
    assert [int(error.split(":")[0]) for error in errors[:20]] == list(range(2, min(wrong, 20) + 2))
    assert errors[20:] == {20: [], 21: [" 1 more error"], 50: [" 30 more errors"]}.get(wrong, [])


@each("size", [1, 20, 400])
def test_reading_stops_after_twenty_errors(size, path):
    """At the end of their block, whatever the threads do; the errors are the first by line."""
    text = b"".join(b"q 0 d%d %s\n" % (n, [b"1", b"x", b"1 2"][n % 3]) for n in range(10_000))
    errors = errors_of(path, text, size)
    assert [int(error.split(":")[0]) for error in errors[:20]] == [n + 1 for n in range(31) if n % 3][:20]
    end, _, more = errors[20].partition(": reading stopped here")
    assert 30 <= int(end) <= 30 + size
    bad = int(end) - -(-int(end) // 3)
    assert more == {20: "", 21: ", after 1 more error"}.get(bad, f", after {bad - 20} more errors")
    assert errors[21:] == []
    assert errors_of(path, text, size, jobs=3) == errors


def test_run_columns_errors(path):
    _, problems = run_of(path, b"1 Q0 a 0 x\n1 Q0 b 0 1\n1 0 d 1\n1\n1 Q0 c 0 1e999 tag\n\n1 Q0 d 0 1_0\n")
    assert sorted(problems, key=lambda problem: problem.line) == [
        Problem(0, "the score 'x' is not a number", ""),
        Problem(2, "4 fields where a run has 6 (query Q0 document rank score tag)", ""),
        Problem(3, "1 field where a run has 6 (query Q0 document rank score tag)", ""),
        Problem(4, "the score '1e999' is not a finite number", ""),
        Problem(6, "the score '1_0' is not a number", ""),
    ]  # fmt: skip
    assert run_of(path, b"1 Q0 a 0 1\nqid Q0 docno rank Score tag\n")[1] == [
        Problem(1, "the score 'Score' is not a number", "This is a header; remove the line")
    ]
    assert run_of(path, b"1 Q0 a 0 1\n1 Q0 a\0 0 x\n1 1\n")[1] == [
        Problem(1, "binary data (a NUL byte)", "Is this the right file?")
    ]
    [problem] = run_of(path, b"1 a 1 0.5 bm25\n1 b 2 0.25 bm25\n1 c 3 0.5 bm25\n")[1]
    assert problem.hint.startswith("A line is query Q0 document rank score tag. For another format")


HINT = r"Where lines end in CR, convert them with tr '\r' '\n'"


@each("size", SIZES)
@each("before", [b"", b"q 0 a 1\r\n# and\n\n"])
@each("end", [b"", b"\r", b"\n"])
def test_lines_that_end_in_a_bare_cr_are_one_error(size, before, end, path):
    text = before + b"q 0 b 1\rr  0 a -1\rq 0 c .5" + end
    shown = r"'q 0 b 1\rr  0 a -1\rq 0 c .5" + (r"\r'" if end == b"\r" else "'")
    assert errors_of(path, text, size) == [f"{before.count(10) + 1}: a CR inside the line {shown}. {HINT}"]


@each_row(
    (b"1 Q0 b 1 2 tag\r", ""), (b"1 Q0 b 1 2 tag\r\r", ""), (b"1 Q0 b\r 1 2 \rtag", ""),
    (b"\r1 Q0 b 1 2", ""), (b"# 1 Q0 b 1 2\rand a comment", ""),
    (b"1 Q0 b\rc 1 2 tag", r"b\rc"), (b"1 Q0\rb 1 2\rtag", r"Q0\rb"), (b"1\r2 Q0 b 1 2", r"1\r2"),
    (b"1 Q0 b 1 2 tag of\rmore words", r"of\rmore"),
)  # fmt: skip
def test_a_cr_is_a_space_but_inside_a_field(line, field, path):
    rows, problems = run_of(path, b"1 Q0 a 1 3 tag\r\n" + line + b"\n1 Q0 c 3 1 tag\r\n")
    if field:
        [problem] = problems
        assert problem.line == 1 and problem.what.startswith("a CR inside the line '") and field in problem.what
    else:
        assert problems == []
        assert [document for _, document, _ in rows] == [b"a", *[b"b"] * (line[:1] != b"#"), b"c"]


@each(
    ("line", "second"),
    [
        (b"1 Q0 b 2 0.5 tag1 Q0 c 3 0.4 tag", "Q0 c 3 0.4"),  # no line end between two files
        (b"1 Q0 b 2 0.5 tag 1 Q0 c 3 -4 tag\r", "Q0 c 3 -4"),
        (b"1 its b 2 0.5 tag1 its c 3 0.4 tag1 its d 4 0.3 tag", "its c 3 0.4"),
        (b"1 Q0 b 2 0.51 Q0 c 3 0.4", "Q0 c 3 0.4"),  # the first without a tag
        (b"1 Q0 b 2 0.5 1 Q0 c 3 0.4", "Q0 c 3 0.4"),
    ],
)
@each("others", [b"1 Q0 a 1 3 tag\n", b"1 Q0 a 1 3 tag 7 8 9 10 11\n"])
def test_a_line_with_two_records(line, second, others, path):
    problems = run_of(path, others * 2 + line + b"\n" + others)[1]
    assert [(one.line, one.what) for one in problems] == [(2, f"the line holds a second record ('{second}')")]

"""LETOR and SVMlight files, scores of their lines and sizes of their groups, and what is wrong with them."""

import re

import numpy as np
from helpers import each, each_row, error_of, examples, raises
from hypothesis import given
from hypothesis import strategies as st
from plain import Cut

from gradeval import evaluate
from gradeval.errors import GradevalError, InputError, InputErrors
from gradeval.formats.letor import read_letor, read_numbers
from gradeval.formats.sources import Source

SIZES = [1, 40, 1 << 20]
WORDS = st.sampled_from(b"docid = docid= docid=Y =Y X # #X docidX inc".split())


def letor_of(path, text, features=(), size=1 << 20, groups=None, jobs=1):
    path.write_bytes(text)
    return read_letor(Cut(path, size), set(features), groups, jobs)


def rows_of(path, text, features=(), *how, **more):
    """(query, document, label, line, *features) of each data line."""
    read = letor_of(path, text, features, *how, **more)
    queries = read.queries.tolist()
    assert len(set(queries)) == len(queries)
    columns = [read.documents, read.label, read.line, *map(read.feature, features)]
    return list(zip([queries[q] for q in read.query], *(column.tolist() for column in columns), strict=True))


def errors_of(path, text, *how, **more):
    error = error_of((InputError, InputErrors), letor_of, path, text, *how, **more)
    return [line.removeprefix(f"{path}:") for line in error.splitlines()]


FILE = (
    b"# a comment\n"
    b"2 qid:10 1:0.5 2:-1e3 # docid = GX1 inc = 1 prob = 0.5\n"
    b"0 qid:10 2:7 1:.25 9:1 #docid=GX2\n"
    b"\n"
    b"1.5 qid:10 # GX3 x\r\n"
    b"-1  qid:9\t1:1   #  first word\n"
    b"3 qid:9 7:1\n"
    b"0 qid:10 1:2 #\n"
)
ROWS = [
    (b"10", b"GX1", 2.0, 1, 0.5, -1000.0),
    (b"10", b"GX2", 0.0, 2, 0.25, 7.0),
    (b"10", b"GX3", 1.5, 4, 0.0, 0.0),
    (b"9", b"first", -1.0, 5, 1.0, 0.0),
    (b"9", b"2", 3.0, 6, 0.0, 0.0),
    (b"10", b"4", 0.0, 7, 2.0, 0.0),
]


@each("size", SIZES)
@each("jobs", [1, 2])
def test_whole_file(size, jobs, path):
    assert rows_of(path, FILE, [1, 2], size, jobs=jobs) == ROWS
    for text in (FILE[:-1], b"\xef\xbb\xbf" + FILE.replace(b"\n", b"\r\n").replace(b"\r\r", b"\r")):
        assert rows_of(path, text, [1, 2], size) == ROWS
    assert rows_of(path, FILE, [2, 9], size) == [(*row[:4], row[5], float(row[1] == b"GX2")) for row in ROWS]
    assert rows_of(path, FILE, [], size) == [row[:4] for row in ROWS]
    odd = FILE.replace(b"9:1 #", b"3: 9:x #")  # of features that are not read
    assert rows_of(path, odd, [1, 2], size) == ROWS
    assert letor_of(path, FILE).queries.tolist() == [b"10", b"9"]


@examples(times=0.8)
@given(st.data())
def test_features(path, data):
    numbers = st.sampled_from([0, 1, 2, 9, 10, 99, 136, 9999999])
    values = st.sampled_from(["0", "1", "-2.5", "1e-3", "0.123456789012", "+.5", "7.", "123456789.123456789"])
    pairs = st.dictionaries(numbers, values, max_size=6).map(lambda of: list(of.items()))
    lines = data.draw(st.lists(pairs, min_size=1, max_size=8))
    named = sorted({number for line in lines for number, _ in line})
    wanted = data.draw(st.lists(st.sampled_from(named), unique=True)) if named else []
    text = "".join(f"1 qid:1 {' '.join(f'{k}:{v}' for k, v in line)} # d{n}\n" for n, line in enumerate(lines))
    size, jobs = data.draw(st.integers(1, 200)), data.draw(st.sampled_from([1, 2]))
    rows = rows_of(path, text.encode(), wanted, size, jobs=jobs)
    assert [row[4:] for row in rows] == [tuple(float(dict(line).get(k, 0)) for k in wanted) for line in lines]


CONVERT = r"Where lines end in CR, convert them with tr '\r' '\n'"


@each(("size", "before"), zip(SIZES, [b"0 qid:1 1:1\n" * 9, b"0 qid:1 1:2 # x\r\n\n# y\n", b""], strict=True))
@each_row(
    (b"x qid:1 1:1", "the grade 'x' is not a number"),
    (b"qid:1 1:1", "the grade 'qid:1' is not a number"),
    (b"1 qid: 1:1", "no query id after qid:"),
    (b"1 qid:1 1:x", "the value of feature 1 'x' is not a number"),
    (b"1 qid:1 1:", "the value of feature 1 '' is not a number"),
    (b"1 qid:1 1:inf # x", "the value of feature 1 'inf' is not a finite number"),
    *((f"1 qid:1 1:1 {pair} 3:4".encode(), f"'{pair}' is not feature:value")
      for pair in "x x:1 12 123456789:4 qid:1".split()),
    (b"1 1:1 qid:1", "'qid:1' is not feature:value"),
    (b"1 QID:1 1:1", "'QID:1' is not feature:value"),
    (b"1 qid:1 \0", "binary data (a NUL byte). Is this the right file?"),
    (b"1 qid:1 1:1\r0 qid:1 1:2", rf"a CR inside the line '1 qid:1 1:1\r0 qid:1 1:2'. {CONVERT}"),
    (b"1 qid:1 1:1 # a\r0 qid:1 # b", rf"a CR inside the line '1 qid:1 1:1 # a\r0 qid:1 # b'. {CONVERT}"),
)  # fmt: skip
def test_errors_name_the_line(line, what, size, before, path):
    text = before + line + b"\n0 qid:1 1:5\n"
    assert errors_of(path, text, [1], size) == [f"{before.count(10) + 1}: {what}"]


@each("size", SIZES)
@each_row(
    (b"", [" the file is empty"]),
    (b"# a\n\n", [" no data: all lines are blank or comments"]),
    (b"# x\n1 qid:1 1:1\n\n1 1:1\n1 qid:1\n1 1:1\n", ["4: no qid: here, though other lines have one"]),
    (b"1 1:1\n0 1:2 # X\n", [" no line has a qid:, so the queries are unknown. Give their sizes, one per "
     "line, in {path}.query or with --groups FILE"]),
)  # fmt: skip
def test_errors_of_a_file(text, errors, size, path):
    assert errors_of(path, text, [1], size) == [error.format(path=path) for error in errors]
    wrong = b"x qid:1 1:1\n0 qid:1 1:1\n0 qid:1 \0\n0 qid:1 1:y\n"  # nothing is read behind binary data
    binary = "3: binary data (a NUL byte). Is this the right file?"
    assert errors_of(path, wrong, [1]) == [binary]
    first = "1: the grade 'x' is not a number"
    assert errors_of(path, wrong, [1], 1) == [first, binary, "3: reading stopped here"]


@each("size", SIZES)
def test_features_that_no_line_has(size, path):
    letor = letor_of(path, FILE, {1, 3, 9999999}, size)
    assert letor.features == {1}
    for feature in (3, 9999999):
        raises(InputError, f"^{path}: no line has feature {feature}$", letor.feature, feature)
    assert str(letor.missing([8, 1, 2, 3, 5, 6, 10])) == f"{path}: no line has features 1, 2, 3, 5, 6, 8, 10"
    assert str(letor.missing(range(0, 99, 3))).endswith(", 54, 57, …")


@each("size", SIZES)
def test_a_feature_that_is_given_twice(size, path):
    """It is an error of this feature alone, which names the lines."""
    text = b"# x\n1 qid:1 1:1 2:1 1:1 1:3\n\n1 qid:1 1:4 2:2\n1 qid:1 2:3 1:1 1:1 # d\n"
    letor = letor_of(path, text, {1, 2}, size, jobs=2)
    assert letor.feature(2).tolist() == [1, 2, 3]
    error = error_of(InputErrors, letor.feature, 1)
    what = "feature 1 is given more than once"
    assert error.splitlines() == [f"{path}:2: {what}", f"{path}:5: {what}"]


@examples(times=1)
@given(
    st.lists(st.lists(WORDS, max_size=4), min_size=1, max_size=6),
    st.sampled_from([b" ", b"\t ", b"  "]),
    st.integers(1, 99),
)
def test_documents_of_any_comment(path, comments, gap, size):
    text = b"".join(b"0 qid:1 1:1 #" + gap.join(words) + b"\n" for words in comments)
    expected = []
    for place, words in enumerate(comments, 1):
        match = re.match(rb"docid ?= ?([^ ]*)", b" ".join(words))
        expected.append((match[1] if match else words[0] if words else b"") or b"%d" % place)
    assert [row[1] for row in rows_of(path, text, size=size)] == expected


@each("size", SIZES)
def test_read_numbers(size, path):
    path.write_bytes(b"1\n-2.5e3\n\n  .5 \r\n# four\n7.\n0.1")
    numbers, lines = read_numbers(Cut(path, size), "score")
    assert numbers.tolist() == [1.0, -2500.0, 0.5, 7.0, 0.1]
    assert lines.tolist() == [0, 1, 3, 5, 6]


@each("size", [1, 1 << 20])
@each_row(
    (b"x\n2 3\n", ["1: the score 'x' is not a number", "2: 2 fields where one score per line is expected"]),
    (b"1\n\n# c\nnan\n", ["4: the score 'nan' is not a finite number"]),
    (b"1\n.5\r-2\r3", [rf"2: a CR inside the line '.5\r-2\r3'. {CONVERT}"]),
    (b"", [" the file is empty"]),
)
def test_wrong_numbers(text, errors, size, path):
    path.write_bytes(text)
    said = error_of((InputError, InputErrors), read_numbers, Cut(path, size), "score")
    assert said.splitlines() == [f"{path}:{error}" for error in errors]


SVMLIGHT = b"1 1:1\n0 1:2 # X\n# between\n2 1:3\n0\n"
GROUPED = [(b"1", b"1", 1.0, 0), (b"1", b"X", 0.0, 1), (b"1", b"3", 2.0, 3), (b"2", b"1", 0.0, 4)]


@each("groups", [b"3\n1\n", b"3\n1", b"3\r\n0\n1\n\n", b"# sizes\n 3.0\n1e0\n"])
@each("beside", [".group", ".query", None])  # of several, the last one is used
def test_groups(groups, beside, tmp_path, monkeypatch):
    monkeypatch.setattr(Source.blocks, "__defaults__", (4,))  # of the source that is opened inside
    (tmp_path / "file.group").write_bytes(b"junk\n")
    (tmp_path / "file.query").unlink(missing_ok=True)
    if beside is None:
        (tmp_path / "file.query").write_bytes(b"4\n")
    file = tmp_path / ("sizes" if beside is None else f"file{beside}")
    file.write_bytes(groups)
    assert rows_of(tmp_path / "file", SVMLIGHT, groups=str(file) if beside is None else None) == GROUPED


@each("before", ["", "0 1:1\n0\n"])
def test_groups_are_for_files_without_qid(before, path, tmp_path):
    (tmp_path / "sizes").write_text("4\n")
    said = errors_of(path, f"# x\n{before}0 qid:7 1:1\n".encode(), groups=str(tmp_path / "sizes"))
    line = 2 + before.count("\n")
    assert said == [f"{line}: unexpected qid:. Omit --groups, which is for files without qid:"]


@each_row(
    (b"3\n2\n", "{groups}: the group sizes add up to 5 lines, but {path} has 4"),
    (b"2\n1.5\n", "{groups}:2: the group size 1.5 is not a non-negative integer"),
    (b"5\n-1\n", "{groups}:2: the group size -1 is not a non-negative integer"),
    (b"3\n1 1\n", "{groups}:2: 2 fields where one group size per line is expected"),
    (b"3\nx\n", "{groups}:2: the group size 'x' is not a number"),
    (b"", "{groups}: the file is empty"),
    (None, "{groups}: no such file. Check the path"),
)
def test_wrong_groups(groups, what, tmp_path):
    path, file = tmp_path / "file", tmp_path / "sizes"
    path.write_bytes(SVMLIGHT)
    file.unlink(missing_ok=True)
    if groups is not None:
        file.write_bytes(groups)
    error = error_of(InputError, read_letor, Source(str(path)), np.empty(0, np.int64), str(file))
    assert error == what.format(groups=file, path=path)


LETOR = b"1 qid:7 1:1\n0 qid:7 1:2\n2 qid:8 1:1\n"


def ranklib(folder, scores, kind=None):
    (folder / "letor").write_bytes(LETOR)
    (folder / "scores").write_bytes(scores)
    return evaluate(str(folder / "letor"), str(folder / "scores"), "AP P@1", run_format=kind)


def test_ranklib(tmp_path):
    lines = [b"7\t0\t0.5\n", b"7\t1\t1.5\n", b"8\t0\t-3\n"]
    expected = [[0.5, 1.0], [0.0, 1.0]]
    for order in ([0, 1, 2], [2, 0, 1]):
        results = ranklib(tmp_path, b"".join(lines[place] for place in order))
        assert [results.values("scores", metric).tolist() for metric in ("AP", "P@1")] == expected
    # tied scores stay in the order of the LETOR file
    assert ranklib(tmp_path, b"7\t0\t1\n7\t1\t1\n8\t0\t1\n").values("scores", "AP").tolist() == [1.0, 1.0]


@each_row(
    (b"7\t0\t1\n7\t1\t1\n", r"1 line of .* without a score; the first is in line 3"),
    (b"7\t0\t1.5\n7\t1\t1\n7\t2\t1\n", r":3: index 2 where query '7' has 2 lines in .*, from 0"),
    (b"7\t0\t1.5\n7\t1\t1\n9\t0\t1\n", r":3: query '9' is not in "),
    (b"7\t0\t1.5\n7\t1\t1\n7\t1\t2\n", r":3: index 1 of its query has a score already"),
    (b"7\t0\t1.5\n7\t1\tx\n", r":2: the score 'x' is not a number"),
    (b"7\t0\t1.5\n7\t1\t2\n7\tx\t3\n", r":3: the index 'x' is not a non-negative integer"),
)
def test_wrong_scores_of_ranklib(scores, error, tmp_path):
    raises(GradevalError, error, ranklib, tmp_path, scores, "ranklib")

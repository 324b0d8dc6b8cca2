"""Runs reduced block by block against a ranking in plain Python; what is wrong with a run, by line."""

import tracemalloc
from random import Random

import numpy as np
import pytest
from helpers import each, each_row, error_of, examples, raises
from hypothesis import given
from hypothesis import strategies as st
from plain import Cut, Halting, pipe, reduced, repeated, unjudged

from gradeval import Evaluator, evaluate, read_run
from gradeval.arrays.strings import PAD, Ids
from gradeval.errors import InputError, InputErrors
from gradeval.formats.columns import BlockTable, Columns
from gradeval.formats.diagnostics import SHOWN, Problems
from gradeval.formats.sources import Block, Source
from gradeval.formats.trec import run_columns
from gradeval.notices import NoticeKind
from gradeval.options import TIES
from gradeval.tables import reduction
from gradeval.tables.ranking import EACH, Collapse, Wanted
from gradeval.tables.reduction import Total, collect, collect_columns, reduce_columns

from .runs import JOBS, QRELS, SEEDS, SIZES, as_plain, documents_of, messages, runs, table_of, texts


def reduce_blocks(table, qrels, ties, jobs, collapse=EACH, wanted=None):
    return collect(table, lambda: (Total(qrels, ties, collapse, wanted), Problems(table.name)), jobs).reduced()


@each("scattered", [False, True])
def test_queries_that_are_not_judged_take_little_memory(folder, scattered, monkeypatch):
    """A key for each, in arrays; where queries come back not even that."""
    monkeypatch.setattr(Cut, "expected_size", 50 << 20)
    count = 10_000
    names = [b"query%d" % n for n in range(count)]
    path = folder / "run"
    text = b"".join(b"%s Q0 a 0 1\n" % name for name in names)
    path.write_bytes(text + b"query0 Q0 b 0 1\n" * scattered)
    table = table_of(folder, {b"1": {b"a": 1.0}})
    tracemalloc.start()
    try:
        assert reduce_blocks(BlockTable.of(Cut(path, 1 << 14), run_columns), table, "trec", 1).unjudged == count
        assert tracemalloc.get_traced_memory()[1] < count * 60 + 1_200_000
    finally:
        tracemalloc.stop()


@each("size", [1, 25, 1 << 20])
@each("first", [b"1", b"2"])
@each_row(
    ([b" a", b" b", b" c"], "c"),
    ([b" a", b" b", b""], ""),
    ([b"", b"", b"\tc  d\r"], "c"),
    ([b" a", b" b", b" \xff x\n# no\n\n \n"], "\udcff"),
)
def test_tag_is_that_of_the_last_line(ends, tag, folder, size, first):
    path = folder / "run"
    starts = (first + b" Q0 a 0 1", b"1 Q0 b 0 1", b"2 Q0 c 0 1")
    path.write_bytes(b"\n".join(start + end for start, end in zip(starts, ends, strict=True)))
    table = table_of(folder, {b"1": {b"a": 1}})
    assert reduce_blocks(BlockTable.of(Cut(path, size), run_columns), table, "trec", 2).tag == tag


def test_a_run_in_order_is_read_once(folder, monkeypatch):
    monkeypatch.setattr(reduction, "collect_by_sorting", None)
    run = [(b"%d" % q, b"d%d" % d, float(-d)) for q in range(5) for d in range(20)]
    qrels = {b"%d" % q: {b"d%d" % d: 1.0 for d in range(0, 20, 3)} for q in range(1, 7)}
    table = table_of(folder, qrels)
    path = folder / "run"
    path.write_bytes(b"".join(b"%s Q0 %s 0 %r\n" % line for line in run))
    for size in (1, 50, 100, 150, 1000, 10000):
        result = reduce_blocks(BlockTable.of(Cut(path, size), run_columns), table, "trec", 2)
        assert as_plain(result, table) == reduced(qrels, run, "trec")


DELIMITERS = [b"#", b"##", b"_p", b"\xc2\xa7", b"0"]
DOCUMENTS = [
    b"a", b"b", b"d1", b"d10", b"document-of-many-bytes-1", b"document-of-many-bytes-2", b"\xff",
    b"e" * 1030,
]  # fmt: skip


def before_last(name, delimiter):
    return name.rpartition(delimiter)[0] or name if delimiter else name


def collapsed(run, delimiter):
    """The lines with the best score of each document, the first of equal ones."""
    best = {}
    for place, (query, name, score) in enumerate(run):
        document = query, before_last(name, delimiter)
        if document not in best or score > best[document][1]:
            best[document] = place, score
    return [(*document, score) for document, (_, score) in sorted(best.items(), key=lambda item: item[1][0])]


def passages(seed, delimiter, unique):
    """Qrels, and the lines of a run in some order: some documents are unjudged, and few scores differ."""
    random = Random(seed)
    odd = [delimiter, delimiter * 2, delimiter + b"a", b"a" + delimiter, b"a" + delimiter * 2 + b"b", b"a#b"]
    of_documents = [b"%s%s%d" % (name, delimiter, n) for name in DOCUMENTS for n in range(3)]
    names = list(dict.fromkeys([*DOCUMENTS, *odd, *of_documents]))
    judged = sorted({*DOCUMENTS[1:], *(before_last(name, delimiter) for name in odd[:4])})
    queries = [b"%d" % n for n in range(random.randint(1, 6))]
    qrels = {q: {d: random.choice([0.0, 1.0, 2.0]) for d in random.sample(judged, 5)} for q in queries}
    pairs = [(q, name) for q in [*queries, b"unjudged"] for name in names]
    size = random.randint(1, min(len(pairs), 100))
    chosen = random.sample(pairs, size) if unique else random.choices(pairs, k=size)
    scores = random.choices([0.0, -0.0, 1.0, 2.5, -1.0, 1e300], k=random.randint(1, 5))
    run = [(*pair, random.choice(scores)) for pair in chosen]
    order = random.choice(["grouped", "by score", "scattered"])
    if order != "scattered":
        run.sort(key=(lambda line: line[0]) if order == "grouped" else (lambda line: (line[0], -line[2])))
    return qrels, run


@st.composite
def collections(draw):
    delimiter, unique = draw(st.sampled_from([None, None, b"", *DELIMITERS])), draw(st.booleans())
    if delimiter is None:
        return draw(QRELS), draw(runs()), Collapse()
    unique = unique and delimiter != b""
    return *passages(draw(SEEDS), delimiter or b"#", unique), Collapse(delimiter, not unique)


@examples(times=0.5)
@given(st.data(), collections(), st.sampled_from(TIES), SIZES, JOBS, st.sampled_from([1, 3, 20]))
def test_every_way_gives_the_same(folder, data, collection, ties, size, jobs, shares):
    """In one pass, from a pipe, through a temporary file of so many shares, from memory; where keys collide."""
    qrels, run, collapse = collection
    ranks = st.sampled_from([1, 2, 4, np.inf])
    wanted = Wanted(data.draw(ranks), data.draw(st.integers(0, 3)), data.draw(ranks))
    path, table = folder / "run", table_of(folder, qrels)
    text, _ = data.draw(texts(run))
    path.write_bytes(text)
    lines = collapsed(run, collapse.delimiter) if collapse else run
    expected = reduced(qrels, lines, ties)
    documents = unjudged(qrels, lines, ties, (wanted.first, wanted.more, wanted.last))

    def check(result, table):
        assert as_plain(result, table) == expected
        assert documents_of(result.documents, table) == documents
        assert result.collapsed[0] == len(run) - len(lines)

    def blocks(kind=Cut, path=path):
        return BlockTable.of(kind(path, size), run_columns)

    *ids, score = zip(*run, strict=True)
    columns = Columns.whole(*map(Ids.of, ids), np.array(score))
    check(reduce_blocks(blocks(), table, ties, jobs, collapse, wanted=wanted), table)
    check(reduce_blocks(blocks(Halting), table, ties, jobs, collapse, wanted=wanted), table)
    with pipe(text) as piped, pytest.MonkeyPatch.context() as patch:
        patch.setattr(Cut, "expected_size", 1 << 10)
        patch.setattr(reduction, "_TOGETHER", shares)  # lines of queries that blocks cut
        check(reduce_blocks(blocks(path=piped), table, ties, jobs, collapse, wanted=wanted), table)
    for rows in (columns, columns.light()):
        total = collect_columns(rows, lambda ties: Total(table, ties, collapse, wanted), ties, "run")
        check(total.reduced(), table)
    if collapse:
        once = reduce_columns(collapse.columns(columns), table, ties, "run")
        assert as_plain(once, table) == expected
    plain_keys = Ids.keys
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reduction, "_SHARE", len(text) // shares + 1)
        total = Total(table, ties, collapse, wanted)
        check(reduction.collect_by_sorting(blocks(), total, Problems(str(path)), jobs).reduced(), table)
        patch.setattr(Ids, "keys", lambda ids: plain_keys(ids) % np.uint64(3))
        patch.setattr(Ids, "short", False)
        table = table_of(folder, qrels)
        check(reduce_blocks(blocks(), table, ties, 1, collapse, wanted=wanted), table)


@examples(times=0.5)
@given(st.lists(st.binary(max_size=12).map(lambda name: name.replace(b"\0", b"")), max_size=9), st.booleans())
def test_what_is_before_the_last_separator(names, short):
    names = [name[:8] if short else name + b"#" * (len(name) % 3) for name in names]
    ids = Ids.of(names).light() if short else Ids.of(names)
    for separator in (b"#", b"##", b"\x01", b"a" * 40, *(name[:2] for name in names if name)):
        assert ids.before_last(separator).tolist() == [before_last(name, separator) for name in names]


PASSAGES = {"1": {"a#1": 0.5, "b#1": 2.0, "a#2": 3.0, "x": 2.5, "1#4": 9.0}, "2": {"b#7": 1.0}}
JUDGED = {"1": {"a": 2, "b": 1}, "2": {"b": 1}}


def test_data_in_memory():
    """Dicts, tuples, frames and runs that were read before give the same, with a note."""
    rows = [(query, document, score) for query, of in PASSAGES.items() for document, score in of.items()]
    metrics, options = "nDCG@2 num_ret", {"max_passage": "#"}
    results = evaluate(JUDGED, PASSAGES, metrics, **options)
    assert results.mean(0, "num_ret") == 5
    assert results.per_query(0, "num_ret") == {"1": 4, "2": 1}
    [notice] = [notice for notice in results.notices if notice.kind is NoticeKind.COLLAPSED]
    assert str(notice) == "run1: 1 passage collapsed: each document counts once, with its best score"
    assert notice.informational
    evaluator = Evaluator(JUDGED, metrics)
    for other in (
        evaluate(JUDGED, rows, metrics, **options),
        evaluator.evaluate(read_run(PASSAGES, **options)),
        Evaluator(JUDGED, metrics, **options).evaluate(read_run(rows, duplicates="best")),
    ):
        assert other.means.tolist() == results.means.tolist()
        assert [str(one) for one in other.notices] == [str(one) for one in results.notices]
    ignoring = evaluate(JUDGED, PASSAGES, "num_ret", ignore_identical_ids=True, **options)
    assert ignoring.per_query(0, 0) == {"1": 3, "2": 1}
    assert "identical_ids" not in [notice.kind.value for notice in ignoring.notices]


@examples(times=0.8)
@given(st.data(), QRELS, runs(unique=False), st.sampled_from(TIES), SIZES, JOBS)
def test_documents_that_come_twice(folder, data, qrels, run, ties, size, jobs):
    table = table_of(folder, qrels)
    path = folder / "run"
    text, number = data.draw(texts(run))
    path.write_bytes(text)
    repeats = [(number[line - 1], number[first - 1], document) for line, first, document in repeated(run)]
    blocks = BlockTable.of(Cut(path, size), run_columns)
    if not repeats:
        assert as_plain(reduce_blocks(blocks, table, ties, jobs), table) == reduced(qrels, run, ties)
        return
    error = error_of((InputError, InputErrors), reduce_blocks, blocks, table, ties, jobs)
    lines = error.splitlines()
    new = len(run) - len(repeats)
    if len(repeats) >= max(new, 2) and repeats[0][0] > new:
        [line] = lines
        assert line.startswith(f"{path}:{repeats[0][0]}: the file seems to hold the run twice")
        return
    assert lines[:SHOWN] == messages(path, repeats[:SHOWN])
    if len(repeats) < SHOWN:
        assert len(lines) == len(repeats)
    elif lines[SHOWN:] and "reading stopped here" not in lines[SHOWN]:
        rest = len(repeats) - SHOWN
        assert lines[SHOWN:] == [f"{path}: {rest} more error{'s' * (rest > 1)}"]


def twice(path, line, documents):
    return (
        f"{path}:{line}: the file seems to hold the run twice: from here on, the {documents:,} documents above "
        "are repeated. Keep the lines above this one; --duplicates best (in Python duplicates='best') takes "
        "the best score"
    )


TWICE = [(b"%d" % q, b"d%d" % d, float(-d)) for q in range(8) for d in range(25)]
OTHER = [(b"%d" % q, b"d%d" % d, float(d)) for q in (3, 4, 5, 6, 7, 0, 1, 2) for d in reversed(range(25))]


@each(("size", "jobs"), [(150, 3), (1 << 20, 1)])
@each("copies", [[TWICE], [OTHER], [TWICE, OTHER]])
def test_a_file_that_holds_the_run_twice(folder, size, jobs, copies):
    table = table_of(folder, {b"%d" % q: {b"d3": 1.0} for q in range(6)})
    path = folder / "run"
    path.write_bytes(b"".join(b"%s Q0 %s 0 %r\n" % line for run in [TWICE, *copies] for line in run))
    error = error_of(
        InputError, reduce_blocks, BlockTable.of(Cut(path, size), run_columns), table, "trec", jobs
    )
    assert error == twice(path, len(TWICE) + 1, len(TWICE))


def test_one_document_twice_is_a_duplicate(folder):
    path = folder / "run"
    path.write_bytes(b"0 Q0 d3 0 2\n0 Q0 d3 0 1\n")
    table = table_of(folder, {b"0": {b"d3": 1.0}})
    blocks = BlockTable.of(Cut(path, 1 << 20), run_columns)
    assert [error_of(InputError, reduce_blocks, blocks, table, "trec", 1)] == messages(path, [(2, 1, b"d3")])


@each("size", [150, 1 << 20])
def test_a_file_that_holds_a_part_of_the_run_twice(folder, size):
    table = table_of(folder, {b"%d" % q: {b"d3": 1.0} for q in range(6)})
    path = folder / "run"
    again = TWICE[:90]
    path.write_bytes(b"".join(b"%s Q0 %s 0 %r\n" % line for line in [*TWICE, *again]))
    error = error_of(InputErrors, reduce_blocks, BlockTable.of(Cut(path, size), run_columns), table, "trec", 2)
    lines = error.splitlines()
    assert lines[:20] == messages(path, [(201 + n, 1 + n, again[n][1]) for n in range(20)])
    assert lines[20:] == [f"{path}: 70 more errors"]


class Endless(Source):
    """A run that never ends, which must not be read for ever. size: of the blocks."""

    expected_size = 1 << 20

    def __init__(self, lines, size):
        super().__init__("endless")
        text = b"".join(lines) * (size // len(b"".join(lines)))
        self.block = Block(np.frombuffer(text + bytes(PAD), np.uint8), len(text), True, False)

    def blocks(self, size=0):
        for _ in range(100_000 // self.block.size):
            yield self.block
        raise AssertionError


@each("size", [500, 3000])
@each("jobs", [1, 3])
@each_row(
    ([b"1 Q0 a 0 x\n"], "none of the [0-9,]+ lines read is right"),
    ([b"1 Q0 a\n", b"1 Q0 b 0 1\n", b"2 Q0 c 0 1\n"], "reading stopped here"),
)
def test_errors_end_what_is_endless(lines, what, folder, size, jobs):
    table = table_of(folder, {b"1": {b"a": 1.0, b"3": 1.0}})
    blocks = BlockTable.of(Endless(lines, size), run_columns)
    raises((InputError, InputErrors), what, reduce_blocks, blocks, table, "trec", jobs)


def test_the_first_errors_by_line_are_shown_whatever_they_are(folder):
    """A document that comes again in the query that is cut where reading stops; in a bad block."""
    path = folder / "run"
    lines = [b"1 Q0 a 0 1\n", b"1 Q0 b 0 1\n", b"1 Q0 a 0 1\n", *[b"1 Q0 c 0 x\n"] * 30, b"1 Q0 d 0 1\n"]
    path.write_bytes(b"".join(lines))
    table = table_of(folder, {b"1": {b"a": 1}})
    errors = []
    for size in (1, 50, 1 << 20):
        error = error_of(
            InputErrors, reduce_blocks, BlockTable.of(Cut(path, size), run_columns), table, "trec", 2
        )
        errors.append(error.splitlines()[:20])
    assert errors[0][0] == messages(path, [(3, 1, b"a")])[0]
    assert errors[0][1:] == [f"{path}:{n}: the score 'x' is not a number" for n in range(4, 23)]
    assert errors == [errors[0]] * 3

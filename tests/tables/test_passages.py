"""Runs of passages, and runs that list documents twice, against runs that plain Python collapses."""

from random import Random

import numpy as np
import pytest
from helpers import examples
from hypothesis import given
from hypothesis import strategies as st
from plain import Cut, reduced

from gradeval import Evaluator, evaluate, read_run
from gradeval.arrays.strings import Ids
from gradeval.formats.columns import Columns, Table
from gradeval.formats.problems import Problems
from gradeval.formats.trec import run_columns
from gradeval.notices import Kind
from gradeval.options import TIES
from gradeval.tables import reduction
from gradeval.tables.ranking import Collapse
from gradeval.tables.reduction import Total, reduce_blocks, reduce_columns

from .runs import JOBS, QRELS, SEEDS, SIZES, as_plain, runs, table_of, texts

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
    """Qrels, a run, and how its documents are collapsed."""
    delimiter, unique = draw(st.sampled_from([None, None, b"", *DELIMITERS])), draw(st.booleans())
    if delimiter is None:
        return draw(QRELS), draw(runs()), Collapse()
    unique = unique and delimiter != b""
    return *passages(draw(SEEDS), delimiter or b"#", unique), Collapse(delimiter, not unique)


@examples(times=0.6)
@given(st.data(), collections(), st.sampled_from(TIES), SIZES, JOBS, st.sampled_from([1, 3, 20]))
def test_every_way_gives_the_same(folder, data, collection, ties, size, jobs, shares):
    """In one pass, through a temporary file of so many shares, and from memory; also where keys collide."""
    qrels, run, collapse = collection
    path, table = folder / "run", table_of(folder, qrels)
    text, _ = data.draw(texts(run))
    path.write_bytes(text)
    lines = collapsed(run, collapse.delimiter) if collapse else run
    expected = reduced(qrels, lines, ties)

    def check(result, table):
        assert as_plain(result, table) == expected
        assert result.collapsed.lines == len(run) - len(lines)

    def blocks():
        return Table.of(Cut(path, size), run_columns)

    *ids, score = zip(*run, strict=True)
    columns = Columns.whole(*map(Ids.of, ids), np.array(score))
    check(reduce_blocks(blocks(), table, ties, jobs, collapse), table)
    check(reduce_columns(columns, table, ties, "run", collapse), table)
    check(reduce_columns(columns.light(), table, ties, "run", collapse), table)
    if collapse:
        once = reduce_columns(collapse.columns(columns), table, ties, "run")
        assert as_plain(once, table) == expected
    plain_keys = Ids.keys
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reduction, "_SHARE", len(text) // shares + 1)
        total = Total(table, ties, collapse)
        check(reduction.collect_by_sorting(blocks(), total, Problems(str(path)), jobs).reduced(), table)
        patch.setattr(Ids, "keys", lambda ids: plain_keys(ids) % np.uint64(3))
        patch.setattr(Ids, "short", False)
        table = table_of(folder, qrels)
        check(reduce_blocks(blocks(), table, ties, 1, collapse), table)


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
    [notice] = [notice for notice in results.notices if notice.kind is Kind.COLLAPSED]
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

"""Random qrels and runs, as text and as plain Python has them."""

from random import Random

import numpy as np
from hypothesis import strategies as st
from plain import Cut, read_trec_qrels

from gradeval.records import fields_of

QUERIES = [b"1", b"10", b"2", b"q" * 9, b"q" * 8, b"q" * 100, b"\xff\x01"]
LONG = [b"a" * 8, b"a" * 9, b"a" * 8 + b"\xff", b"a" * 16, b"b" * 70, b"b" * 1030, b"b" * 1029 + b"c"]
DOCUMENTS = [b"a", b"b", b"A", b"\xc3\xa9", b"\x01", *LONG, *(b"d%d" % n for n in range(8))]
SCORES = [0.0, -0.0, 1.0, 2.0, 2.5, -1.0, 1e300, 1e-300]
GRADES = [0.0, 0.0, 1.0, 1.0, 2.0, 0.5, -1.0, -2.0]
SEEDS = st.integers(0, 2**32)


def _qrels(seed):
    random = Random(seed)
    queries = random.sample(QUERIES, random.randint(1, 4))
    return {
        q: {d: random.choice(GRADES) for d in random.sample(DOCUMENTS, random.randint(1, 15))} for q in queries
    }


QRELS = st.builds(_qrels, SEEDS)


def _lines(seed, size, unique):
    """Of few queries and few scores, so that many are tied; or of documents that come again."""
    random = Random(seed)
    queries, documents = random.sample(QUERIES, random.randint(1, 7)), DOCUMENTS
    if not unique:
        queries, documents = [b"1", b"2", b"x", b"y"], [b"a", b"b", b"c", b"d"]
    pairs = [(query, document) for query in queries for document in documents]
    scores = random.choices(SCORES, k=random.randint(1, 6))
    chosen = random.sample(pairs, min(size, len(pairs))) if unique else random.choices(pairs, k=size)
    return [(*pair, random.choice(scores)) for pair in chosen]


@st.composite
def runs(draw, unique=True):
    """Lines of a run: as trec_eval likes them, grouped but in no order, interleaved, or in any order."""
    lines = _lines(draw(SEEDS), draw(st.integers(1 if unique else 4, 40)), unique)
    order = draw(st.sampled_from(["sorted", "grouped", "any", "sorted but for one"]))
    if order == "grouped":
        lines.sort(key=lambda line: line[0])
    elif order != "any":
        lines.sort(key=lambda line: (line[0], -line[2]))
    if order == "sorted but for one":
        lines.append(lines.pop(draw(st.integers(0, len(lines) - 1))))
    return lines


@st.composite
def texts(draw, lines):
    """The text of a run, and which of its lines are data; some others may stand between."""
    text, number, at = [], [], 0
    noisy = draw(st.booleans())
    for query, document, score in lines:
        if noisy and draw(st.integers(0, 4)) == 0:
            text.append(draw(st.sampled_from([b"\n", b"# a comment\n", b" \t\r\n", b"\n\n"])))
            at += text[-1].count(b"\n")
        text.append(b"%s Q0 %s 0 %s tag\n" % (query, document, repr(score).encode()))
        at += 1
        number.append(at)
    return b"".join(text), number


def table_of(folder, qrels):
    path = folder / "qrels"
    lines = (b"%s 0 %s %r\n" % (q, d, grade) for q, grades in qrels.items() for d, grade in grades.items())
    path.write_bytes(b"".join(lines))
    return read_trec_qrels(Cut(path))


def as_plain(result, table):
    query = np.repeat(np.arange(len(table.queries)), np.diff(table.offsets))
    queries, documents = table.queries.tolist(), table.documents.tolist()
    found = {
        (queries[query[row]], documents[row]): (rank, score)
        for row, (rank, score) in enumerate(zip(result.rank.tolist(), result.score.tolist(), strict=True))
        if rank != np.inf
    }
    assert (result.score[result.rank == np.inf] == -np.inf).all()
    return {
        "found": found,
        "retrieved": result.retrieved.tolist(),
        "unjudged": result.unjudged,
        "tied": {
            (queries[query[row]], documents[row]): (first, last)
            for row, first, last in np.transpose([*fields_of(result.ties).values()]).tolist()
        },
    }


SIZES = st.one_of(st.integers(1, 300), st.just(1 << 20))
JOBS = st.sampled_from([1, 1, 2, 4])


def messages(path, repeats):
    return [
        f"{path}:{line}: duplicate document '{document.decode()}' for its query. The first is in line {first}; "
        "--duplicates best (in Python duplicates='best') takes the best score"
        for line, first, document in repeats
    ]


def documents_of(unjudged, table):
    """{query: [(rank, document)]} of what is kept of a run."""
    found = {}
    queries = table.queries.tolist()
    for query, document, rank in zip(*(list(column.tolist()) for column in unjudged.of_queries()), strict=True):
        found.setdefault(queries[query], []).append((rank, document))
    return found

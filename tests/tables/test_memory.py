"""Data in memory against files: the same values, whatever holds the rows, in one block or several."""

import random
from itertools import cycle

import numpy as np
import pytest
from helpers import each, error_of

from gradeval import InputError, evaluate
from gradeval.errors import InputErrors
from gradeval.formats import memory
from gradeval.formats.diagnostics import first_in

METRICS = "num_q AP nDCG@10 muAP bpref RR num_ret judged@5"
LETTERS = "ab0é漢😀#:"


def collection(seed, *, ints):
    """Rows of judgments and of a run, whose queries are together."""
    draw = random.Random(seed)

    def name(number):
        if ints:
            return number * 10 ** draw.choice([0, 3, 9]) if number % 2 else -number
        return f"{number}{''.join(draw.choices(LETTERS, k=draw.choice([0, 1, 9, 20])))}"

    documents = list({str(one): one for one in map(name, range(40))}.values())
    queries = list({str(one): one for one in map(name, range(16))}.values())
    judged = [(q, d, draw.randrange(-1, 4)) for q in queries[:12] for d in draw.sample(documents, 8)]
    run = [(q, d, draw.randrange(9) / 4) for q in queries[3:] for d in draw.sample(documents, 15)]
    return judged, run


def nested(rows):
    found = {}
    for query, document, number in rows:
        found.setdefault(query, {})[document] = number
    return found


def columns_of(rows):
    query, document, number = map(list, zip(*rows, strict=True))
    return {"docno": document, "qid": query, "label": number, "score": number}


def pandas_frame(rows, **types):
    return pytest.importorskip("pandas").DataFrame(columns_of(rows)).astype(types)


FORMS = {
    "dicts": nested,
    "tuples": list,
    "lists": lambda rows: [list(row) for row in rows],
    "generator": iter,
    "longer tuples": lambda rows: [(*row, "more", "yet more") for row in rows],
    "text": lambda rows: [(str(q), str(d), str(number)) for q, d, number in rows],
    "bytes": lambda rows: [(str(q).encode(), str(d).encode(), number) for q, d, number in rows],
    "records": lambda rows: np.array([tuple(map(str, row[:2])) + row[2:] for row in rows], "U40,U40,f8"),
    "objects": lambda rows: np.array(rows, object),
    "pandas": pandas_frame,
    "pandas objects": lambda rows: pandas_frame(rows, qid=object, docno=object),
    "pandas categories": lambda rows: pandas_frame(rows, qid="category", docno="category", label="category"),
    "polars": lambda rows: pytest.importorskip("polars").DataFrame(columns_of(rows)),
    "pyarrow": lambda rows: pytest.importorskip("pyarrow").table(columns_of(rows)),
    **{
        f"names {names}": lambda rows, names=names: pandas_frame(rows).set_axis(names.split(), axis=1)
        for names in ("doc_id query_id relevance score", "DocID Query Grade Sim", "iid topic rel scores")
    },
}


@each(("form", "ints"), [*zip(FORMS, cycle([False, True])), ("pandas", True), ("polars", False)])
def test_forms_and_files_have_the_same_values(form, ints, tmp_path, monkeypatch):
    judged, run = collection(len(form), ints=ints)
    (tmp_path / "qrels").write_text("".join(f"{q} 0 {d} {grade}\n" for q, d, grade in judged), "utf-8")
    (tmp_path / "run").write_text("".join(f"{q} Q0 {d} 0 {score} t\n" for q, d, score in run), "utf-8")
    expected = evaluate(tmp_path / "qrels", tmp_path / "run", METRICS, ties="trec")
    shuffled = random.Random(1).sample(run, len(run))
    for rows, size in ((run, 50), (shuffled, 70))[ints:]:
        monkeypatch.setattr(memory, "BLOCK_ROWS", size)
        results = evaluate(FORMS[form](judged), FORMS[form](rows), METRICS, ties="trec")
        assert list(results.queries) == list(expected.queries)
        assert results.runs[0].values.tobytes() == expected.runs[0].values.tobytes()
        assert results.warnings == tuple(line.replace("run:", "run1:") for line in expected.warnings)


def test_errors_name_the_row_in_any_block(monkeypatch):
    monkeypatch.setattr(memory, "BLOCK_ROWS", 4)
    rows = [("1", f"d{n}", 1.0) for n in range(20)] + [("2", "d", 1.0)]
    judged = {"1": {"d1": 1}}
    for form in (list, nested):
        of_score, of_document = "query '1', document 'x': ", "query '3': "
        for place, bad, keys in ((6, ("1", "x", None), of_score), (20, ("3", None, 2.0), of_document)):
            what = f"{keys if form is nested else ''}the (score|document id) is missing"
            with pytest.raises(InputError, match=f"^run1:{place + 1}: {what}$"):
                evaluate(judged, form([*rows[:place], bad, *rows[place:]]), "AP")
    error = error_of(InputError, evaluate, judged, [*rows[:11], rows[3], *rows[11:]], "AP")
    again = f"duplicate document 'd3' for its query. {first_in(3)}"
    assert error == f"run1:12: {again}"
    with pytest.raises(InputErrors) as several:
        evaluate([(q, d, None if n in (1, 6) else 1) for n, (q, d, _) in enumerate(rows)], rows, "AP")
    assert str(several.value) == "qrels:2: the grade is missing\nqrels:7: the grade is missing"

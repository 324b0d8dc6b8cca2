"""How often each input is opened: once for its head, which shows what it is, and once to be read."""

from collections import Counter
from pathlib import Path

import pytest
from helpers import each

from gradeval.cli import run
from gradeval.formats import sources

QUIET = ["--quiet", "-j", "1"]
AP = [*QUIET, "-m", "AP"]
COMMANDS = (
    ["q", "a", *AP],
    ["compare", "q", "a", "b", *AP],
    ["gate", "q", "a", "--baseline", "b", "--require", "AP > 0", *QUIET],
    ["q", "a", "saved.json", *AP],
    ["validate", "q", "a"],
    ["convert", "a", "out", "--to", "letor"],
)
WORST = ["explain", "q", "a", "--worst", "1", "--against", "b", *AP]
LATER = (  # commands that read runs twice, or look for judges
    WORST,
    ["report", "q", "a", "b", "-o", "page.html", *AP],
    ["study", "agreement", "q", "a", "b", *AP],
    ["diff", "a", "b", "--qrels", "q", *AP],
    ["estimate", "q", "a", "b", "--model-qrels", "m", *AP],
    ["pool", "a", "b", "--qrels", "q", *QUIET],
)
JSON_LINE = '{{"qid": "{}", "docid": "{}", "%s": {}}}\n'
TABLE = "{},{},{}\n"
FORMS = {  # the header and a line of qrels, and of a run
    "trec": (("", "{} 0 {} {}\n"), ("", "{} Q0 {} 1 {} t\n")),
    "csv": (("qid,docid,grade\n", TABLE), ("qid,docid,score\n", TABLE)),
    "jsonl": (("", JSON_LINE % "grade"), ("", JSON_LINE % "score")),
}


@pytest.fixture
def opened(tmp_path, monkeypatch):
    """How often each file was opened."""
    monkeypatch.chdir(tmp_path)
    counts = Counter()
    plain = sources.io.FileIO

    def counted(path, *args, **options):
        counts[path] += 1
        return plain(path, *args, **options)

    def counted_open(path, *args, **options):
        counts[path] += 1
        return open(path, *args, **options)

    monkeypatch.setattr(sources.io, "FileIO", counted)
    monkeypatch.setattr(sources, "open", counted_open, raising=False)
    return counts


@each("form", [*FORMS, "parquet"])
@each("documents", [3, 1200])
def test_each_input_is_opened_twice(opened, form, documents):
    """Also where files are longer than their heads; and beside saved results, which are inputs too."""
    qrels, of_run = FORMS.get(form, FORMS["csv"])
    for name, (header, line) in zip("qabm", (qrels, of_run, of_run, qrels), strict=True):
        rows = [
            (f"q{query}", f"d{row}", row % 3) for query in range(5 + (name == "m")) for row in range(documents)
        ]
        Path(name).write_text(header + "".join(line.format(*row) for row in rows))
        if form == "parquet":
            csv, parquet = (pytest.importorskip(f"pyarrow.{module}") for module in ("csv", "parquet"))
            parquet.write_table(csv.read_csv(name), name)
    assert run(["q", "b", "-q", "-f", "json", "-o", "saved.json", *AP]) == 0
    for command in COMMANDS:
        opened.clear()
        assert run(command) in (0, 1)
        assert set(opened.values()) == {2}, (form, command, opened)
    for command in LATER if documents == 3 or form in ("trec", "parquet") else ():
        opened.clear()
        assert run(command) == 0
        assert max(opened.values()) <= 2, (form, command, opened)

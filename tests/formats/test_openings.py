"""How often each input is opened: once for its head, which shows what it is, and once to be read."""

from collections import Counter
from pathlib import Path

import pytest
from helpers import each

from gradeval.cli import run
from gradeval.formats import sources

QUIET = ["--quiet", "-j", "1"]
COMMANDS = (
    ["q", "a", *QUIET],
    ["compare", "q", "a", "b", *QUIET],
    ["gate", "q", "a", "--baseline", "b", "--require", "AP > 0", *QUIET],
    ["q", "a", "saved.json", *QUIET],
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

    monkeypatch.setattr(sources.io, "FileIO", counted)
    return counts


@each("form", FORMS)
@each("documents", [3, 3000])
def test_each_input_is_opened_twice(opened, form, documents):
    """Also where files are longer than their heads; and beside saved results, which are inputs too."""
    rows = [(f"q{query}", f"d{row}", row % 3) for query in range(2) for row in range(documents)]
    for name, (header, line) in zip("qab", (FORMS[form][0], *[FORMS[form][1]] * 2), strict=True):
        Path(name).write_text(header + "".join(line.format(*row) for row in rows))
    assert run(["q", "b", "-q", "-f", "json", "-o", "saved.json", *QUIET]) == 0
    for command in COMMANDS:
        opened.clear()
        assert run(command) in (0, 1)
        assert set(opened.values()) == {2}, (form, command, opened)

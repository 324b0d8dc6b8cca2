"""What a file looks like that is not what it was given as, and how to convert it; imported for errors only.

To add a look: a function (lines, role) -> hint or '' in _LOOKS; for binary files, a row in _MAGIC.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from gradeval.errors import named

QRELS, RUN = "query iter document grade", "query Q0 document rank score tag"
_ORDER = "the qrels come first, then the runs"
_MAGIC = {  # the first bytes of binary files
    b"PAR1": "a Parquet file",
    b"ARROW1": "an Arrow file",
    b"\x93NUMPY": "a NumPy array",
    b"\x89HDF": "an HDF5 file",
    b"SQLite": "an SQLite database",
    b"\x80": "a pickled Python object",
}
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
_COLUMNS = {  # what the columns of a table are called, in lower case and with '_' for '-', ' ' and '.'
    "query": re.compile(r"qid|(query|topic|q)(_?(id|no|num|number))?|qno"),
    "document": re.compile(r"did|pid|iid|(doc|document|corpus|passage|item|product)(_?(id|no))?"),
    "number": re.compile(r"grade|rel|relevance|label|rating|(score|sim|similarity|pred|prediction)s?"),
    "rank": re.compile(r"rank|position"),
}
_SEPARATORS = {"\t": r" -F'\t'", ",": " -F,", ";": " -F';'", "|": " -F'|'"}


def binary(head: bytes) -> tuple[str, str] | None:
    """What a binary file is, by its first bytes, and what to do; None if it is unknown."""
    name = next((name for magic, name in _MAGIC.items() if head.startswith(magic)), None)
    hint = "Give its rows to gradeval.evaluate() in Python as a data frame, or write them as TREC lines"
    return None if name is None else (f"this is {name}", hint)


def look(head: bytes, role: str) -> str:
    """A hint that names what a text file looks like, and how to convert it; '' if it is unknown.

    head: its first bytes. role: what it was given as: 'qrels', 'run', or what else its lines are.
    """
    text = head.decode("utf-8", "replace")
    text = text.rpartition("\n")[0] or text  # what follows the last line end may be a part of a line
    lines = [line.strip(" \t\r") for line in text.split("\n")]
    lines = [line for line in lines if line and not line.startswith("#")]
    return next(filter(None, (one(lines, role) for one in _LOOKS)), "") if lines else ""


def _fields(line: str, separator: str | None = None) -> list[str]:
    """The cells of a line, by default those between spaces and tabs."""
    return [cell.strip() for cell in line.split(separator)] if separator else re.split("[ \t]+", line)


def _target(role: str) -> str:
    """The lines to write."""
    return f"lines '{QRELS if role == 'qrels' else RUN}'"


def _json(lines: Sequence[str], role: str) -> str:
    start = re.match(r"\s*([{\[])\s*([\"{}\[\]]|[-\d]|$)", lines[0])
    if not start:
        return ""
    is_jsonl = len(lines) > 1 and all(re.fullmatch(r"\s*[{\[].*[}\]]\s*", line) for line in lines)
    name = "JSON Lines" if is_jsonl else "JSON"
    data = "its rows" if is_jsonl else "the object"
    return f"This looks like {name}; give {data} to gradeval.evaluate() in Python, or write {_target(role)}"


def _markup(lines: Sequence[str], role: str) -> str:
    is_markup = re.match(r"\s*<[?!a-zA-Z]", lines[0]) and ">" in " ".join(lines)
    return "This looks like XML or HTML. Is this the right file?" if is_markup else ""


def _scores(lines: Sequence[str], role: str) -> str:
    """Numbers, one per line, perhaps below a header."""
    numbers = [_NUMBER.fullmatch(line.strip()) is not None for line in lines]
    if all(numbers):
        return "Scores, one per line, need a LETOR file as qrels"
    if len(lines) > 1 and all(numbers[1:]) and len(_fields(lines[0])) == 1:
        return "This looks like scores, one per line, below a header line; remove it with tail -n +2"
    return ""


def _letor(lines: Sequence[str], role: str) -> str:
    is_letor = all(re.match(r"\s*[-+.\d]+\s+(qid:\S+|\d+:[-+.\d]+)(\s|$)", line) for line in lines)
    return "This looks like a LETOR file; --qrels-format and --run-format letor read it" if is_letor else ""


def _table(lines: Sequence[str], role: str) -> str:
    """Columns with a separator, and with or without a header line."""
    separator = next((one for one in _SEPARATORS if _is_separator(one, lines)), None)
    cells = [_fields(line, separator) for line in lines]
    count = len(cells[0])
    if count < 2 or any(len(row) != count for row in cells):
        return ""
    names = [re.sub("[-. ]", "_", cell.strip("\"'").lower()) for cell in cells[0]]
    at = {
        name: next((n for n, cell in enumerate(names, 1) if pattern.fullmatch(cell)), 0)
        for name, pattern in _COLUMNS.items()
    }
    header = sum(map(bool, at.values())) > 1 and not any(map(_NUMBER.fullmatch, cells[0]))
    is_named = separator and not any(map(_NUMBER.fullmatch, cells[0])) and count > 2 and len(cells) > 1
    if not header and is_named and any(map(_NUMBER.fullmatch, cells[1])):
        number = "grade" if role == "qrels" else "score"
        head = f"a header line ({named(', '.join(cells[0]))})"
        return f"This looks like a table with {head}; use --columns query=NAME,document=NAME,{number}=NAME"
    if not header and (separator in (None, "\t") and count != 3):
        return ""
    kind = {",": "CSV", ";": "CSV with semicolons", "|": "a table with '|'"}.get(separator or "", "a table")
    if header and names[:3] == ["query_id", "corpus_id", "score"]:
        kind = "BEIR's qrels"
    elif header:
        kind += f" with a header line ({named(', '.join(cells[0]))})"
    elif count == 3 and separator in (None, "\t"):
        kind, at = _of_three(cells)
        if not kind:
            return ""
    elif count == 3:
        at = {"query": 1, "document": 2, "number": 3, "rank": 0}
    if any('"' in line for line in lines):  # a quoted cell can contain the separator
        return f"This looks like {kind}; write {_target(role)}"
    return f"This looks like {kind}; {_conversion(at, role, separator, header)}"


def _is_separator(separator: str, lines: Sequence[str]) -> bool:
    counts = {line.count(separator) for line in lines}
    return len(counts) == 1 and counts != {0}


def _of_three(cells: Sequence[Sequence[str]]) -> tuple[str, dict[str, int]]:
    """What three columns without a header are: query, document, and a rank or a number."""
    last = [row[2] for row in cells]
    if not all(map(_NUMBER.fullmatch, last)):
        return "", {}
    ranks = last[0] == "1" and [int(one) if one.isdigit() else 0 for one in last]
    per_query: dict[str, list[int]] = {}
    for row, rank in zip(cells, ranks or (), strict=False):
        per_query.setdefault(row[0], []).append(rank)
    is_ranked = ranks and all(of == list(range(1, len(of) + 1)) for of in per_query.values())
    if is_ranked and max(map(len, per_query.values())) > 1:
        return "a run of MS MARCO (query document rank)", {"query": 1, "document": 2, "number": 0, "rank": 3}
    return "lines 'query document number'", {"query": 1, "document": 2, "number": 3, "rank": 0}


def _conversion(at: Mapping[str, int], role: str, separator: str | None, header: bool) -> str:
    """The command that converts a table with these columns, from 1; 0: it has none."""
    query, document, number, rank = (at[name] for name in ("query", "document", "number", "rank"))
    if not (query and document and (number or (rank and role != "qrels"))):
        return f"write {_target(role)}"
    value = f"${number}" if number else f"-${rank}"
    columns = f"${query}, 0, ${document}, {value}"
    if role != "qrels":
        columns = f'${query}, "Q0", ${document}, {f"${rank}" if rank else 0}, {value}, "run"'
    only = "NR > 1 " if header else ""
    return f"convert it with awk{_SEPARATORS.get(separator or '', '')} '{only}{{print {columns}}}'"


def _trec(lines: Sequence[str], role: str) -> str:
    counts = {len(_fields(line)) for line in lines}
    if counts == {4} and role != "qrels":
        return f"This looks like qrels; {_ORDER}" if role == "run" else "This looks like TREC qrels"
    if counts <= {5, 6} and role != "run":
        return f"This looks like a run; {_ORDER}" if role == "qrels" else "This looks like a TREC run"
    return ""


_LOOKS: tuple[Callable[[Sequence[str], str], str], ...] = (_json, _markup, _scores, _letor, _trec, _table)

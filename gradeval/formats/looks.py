"""Hints about files of another format than the expected one; imported for errors only.

To add a look: a function (lines, role) -> hint or '' in _LOOKS; for binary files, a row in scan._MAGIC.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from gradeval.errors import named

_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
_COLUMNS = tuple(  # what the columns of a table are called, in lower case and with '_' for '-', ' ' and '.'
    map(
        re.compile,
        (
            r"qid|(query|topic|q)(_?(id|no|num|number))?|qno",
            r"did|pid|iid|(doc|document|corpus|passage|item|product)(_?(id|no))?",
            r"grade|rel|relevance|label|rating|(score|sim|similarity|pred|prediction)s?",
            r"rank|position",
        ),
    )
)
_SEPARATORS = "\t,;|"
_IGNORED = re.compile(r"#|sep=.$")  # comments, and what Excel writes above a header


def look(head: bytes, role: str, order: str) -> str:
    """A hint that names what a text file looks like, and what reads it; '' if it is unknown.

    head: its first bytes. role: what it was given as: 'qrels', 'run', or what else its lines are. order: what
    to do where it is qrels given as a run, or a run given as qrels.
    """
    text = head.decode("utf-8", "replace")
    text = text.rpartition("\n")[0] or text  # what follows the last line end may be a part of a line
    stripped = [line.strip(" \t\r") for line in text.split("\n")]
    lines = [line for line in stripped if line and not _IGNORED.match(line)]
    if not lines:
        return ""
    hint = next(filter(None, (one(lines, role) for one in _LOOKS)), "") or _trec(lines, role, order)
    return hint or _table(lines, role, before=stripped.index(lines[0]))


def is_header(line: str) -> bool:
    """Whether a line has the names of columns, and no number."""
    fields = _fields(line.strip())
    known = sum(map(_is_column, fields))
    return known >= min(2, len(fields)) and not any(map(_NUMBER.fullmatch, fields))


def _is_column(name: str) -> bool:
    name = re.sub("[-. ]", "_", name.strip("\"'").lower())
    return any(pattern.fullmatch(name) for pattern in _COLUMNS)


def _fields(line: str, separator: str | None = None) -> list[str]:
    """The cells of a line, by default those between spaces and tabs."""
    return [cell.strip() for cell in line.split(separator)] if separator else re.split("[ \t]+", line)


def _option(role: str) -> str:
    return "--qrels-format" if role in ("qrels", "letor") else "--run-format"


def _reads(format_: str, role: str) -> str:
    return f"{_option(role)} {format_} reads it"


def _json(lines: Sequence[str], role: str) -> str:
    start = re.match(r"\s*([{\[])\s*([\"{}\[\]]|[-\d]|$)", lines[0])
    if not start:
        return ""
    if all(re.fullmatch(r"\s*\{.*\}\s*", line) for line in lines) and not re.match(
        r'\s*\{\s*"(\\.|[^"\\])*"\s*:\s*\{', lines[0]
    ):
        return f"This looks like JSON Lines; {_reads('jsonl', role)}"
    if start[1] == "[":
        return "This looks like a JSON array; write {query: {document: number}}, or an object a line"
    return f"This looks like JSON; {_reads('json', role)}"


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


def _trec(lines: Sequence[str], role: str, order: str) -> str:
    cells = [_fields(line) for line in lines]
    counts = {len(row) for row in cells}
    if counts == {4} and role != "qrels" and all(_NUMBER.fullmatch(row[3]) for row in cells):
        return f"This looks like qrels; {order}" if role == "run" else "This looks like TREC qrels"
    if counts <= {5, 6} and role != "run" and all(_NUMBER.fullmatch(row[4]) for row in cells):
        return f"This looks like a run; {order}" if role == "qrels" else "This looks like a TREC run"
    return ""


def _table(lines: Sequence[str], role: str, before: int) -> str:
    """Columns with a separator, and with or without a header line. before: how many lines precede them."""
    separator = next((one for one in _SEPARATORS if _is_separator(one, lines)), None)
    cells = [_fields(line, separator) for line in lines]
    count = len(cells[0])
    if count < 2 or any(len(row) != count for row in cells):
        return ""
    first_has_number = any(map(_NUMBER.fullmatch, cells[0]))
    names = named(", ".join(cells[0]))
    if sum(map(_is_column, cells[0])) > 1 and not first_has_number:
        if separator is None:
            what = f"This looks like a table with a header line ({names})"
            return f"{what}; separate its columns with tabs or commas"
        is_beir = separator == "\t" and [*map(str.lower, cells[0])] == ["query-id", "corpus-id", "score"]
        format_ = "beir" if is_beir else "tsv" if separator == "\t" else "csv"
        kind = "BEIR's qrels" if is_beir else f"{format_.upper()} with a header line ({names})"
        if before:  # the formats with a header begin with it
            return f"This looks like {kind}; remove what is before it with tail -n +{before + 1}"
        return f"This looks like {kind}; {_reads(format_, role)}"
    if separator and count > 2 and not first_has_number and len(cells) > 1:
        if not any(map(_NUMBER.fullmatch, cells[1])):
            return ""
        number = "grade" if role == "qrels" else "score"
        head = f"a header line ({names})"
        return f"This looks like a table with {head}; use --columns query=NAME,document=NAME,{number}=NAME"
    last_is_number = all(_NUMBER.fullmatch(row[-1]) for row in cells)
    if count == 3 and last_is_number:
        return _of_three(cells, role, separator)
    if separator in (None, "\t") or count < 3 or not any(map(_NUMBER.fullmatch, cells[-1])):
        return ""
    return "This looks like CSV; put a header line with the names of its columns before it"


def _is_separator(separator: str, lines: Sequence[str]) -> bool:
    counts = {line.count(separator) for line in lines}
    return len(counts) == 1 and counts != {0}


def _ranklib(lines: Sequence[str], role: str) -> str:
    """Query, index and score, of which one may be no number."""
    cells = [line.split("\t") for line in lines]
    if role != "run" or not all(
        len(row) == 3 and row[1].isdecimal() and _may_be_score(row[2]) for row in cells
    ):
        return ""
    of_query: dict[str, list[int]] = {}
    for query, index, _ in cells:
        of_query.setdefault(query, []).append(int(index))
    first = cells[0][1]
    counts = all(index == [*range(int(first), int(first) + len(index))] for index in of_query.values())
    if first not in ("0", "1") or not counts or max(map(len, of_query.values())) < 2:
        return ""
    kind = "This looks like scores of RankLib (query index score)"
    if first == "0":
        return f"{kind}; {_reads('ranklib', role)}"
    hint = "if they are document ids, put the header line query_id<TAB>doc_id<TAB>score before it"
    return f"{kind}, whose indices begin with 0; {hint}"


def _may_be_score(text: str) -> bool:
    return _NUMBER.fullmatch(text) is not None or text.lower().lstrip("+-") in ("nan", "inf", "infinity")


def _of_three(cells: Sequence[Sequence[str]], role: str, separator: str | None) -> str:
    """Query, document, and a rank or a number, without a header."""
    ranks = [int(row[2]) if row[2].isdecimal() else -1 for row in cells]
    per_query: dict[str, list[int]] = {}
    for row, rank in zip(cells, ranks, strict=True):
        per_query.setdefault(row[0], []).append(rank)
    counts = all(of == list(range(1, len(of) + 1)) for of in per_query.values())
    is_run = role == "run" and max(map(len, per_query.values())) > 1
    is_ranked = is_run and counts
    if is_run and not counts and all(sorted(of) in _places(len(of)) for of in per_query.values()):
        return _ranks_or_scores(separator)
    if is_ranked:
        kind = "This looks like a run of MS MARCO (query document rank)"
        if separator == "\t":
            return f"{kind}; {_reads('msmarco', role)}"
        columns = '$1, "Q0", $2, $3, -$3, "run"'
    else:
        kind = "This looks like lines 'query document number'"
        columns = "$1, 0, $2, $3" if role == "qrels" else '$1, "Q0", $2, 0, $3, "run"'
    if separator is None:  # no format has three columns between spaces
        return f"{kind}; convert it with awk '{{print {columns}}}'"
    names = ("query_id", "doc_id", "relevance" if role == "qrels" else "rank" if is_ranked else "score")
    written = ("<TAB>" if separator == "\t" else separator).join(names)
    return f"{kind}; put the header line {written} before it"


def _places(count: int) -> tuple[list[int], list[int]]:
    """Ranks from 0 and from 1."""
    return [*range(count)], [*range(1, count + 1)]


def _ranks_or_scores(separator: str | None) -> str:
    """Of lines whose number may be either: one taken for the other reverses the ranking."""
    if separator is None:
        rank, score = (f"""awk '{{print $1, "Q0", $2, 0, {one}, "run"}}'""" for one in ("-$3", "$3"))
        what = f"if the numbers are ranks, convert it with {rank}; if they are scores, with {score}"
    else:
        written = "<TAB>" if separator == "\t" else separator
        rank, score = (written.join(("query_id", "doc_id", one)) for one in ("rank", "score"))
        what = f"put the header line {rank} before it if the numbers are ranks, {score} if they are scores"
    return f"This looks like lines 'query document rank' or 'query document score'; {what}"


_LOOKS: tuple[Callable[[Sequence[str], str], str], ...] = (_json, _markup, _scores, _letor, _ranklib)

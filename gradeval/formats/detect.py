"""Which format a file has, detected from its beginning; gradeval.file_formats has the table of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from gradeval.errors import InputError, InputErrors, LowestFirstError
from gradeval.file_formats import FORMATS, Format
from gradeval.formats.diagnostics import SHOWN, LineProblems, no_data
from gradeval.formats.scan import NUMBER
from gradeval.formats.sources import ARROW, HEAD, PARQUET, Block, Source
from gradeval.options import Options

_FIELD = rb"[^ \t]+"
_MAY_BE_LETOR = rb"[ \t#]"
_FEATURE = rb"(?:qid|\d+):\S*"
_LINES = 10_000  # lines of data that are examined
_LOOK = 4096  # bytes that show what a file looks like that was misread
_MISREAD = 3  # from so many lines on, the first stands for all where none is right
_LAYOUTS = {"grade": "query iter document grade", "score": "query Q0 document rank score tag"}
_OPTIONS = {"grade": "--qrels-format", "score": "--run-format"}
_DEFAULTS = Options()
ROLES = {"qrels": "grade", "run": "score"}  # the number of the rows of a file, by what it is given as


def format_of(name: str) -> Format:
    return next(row for row in FORMATS if row.name == name)


def reader(name: str) -> Callable[..., Any]:
    """The function that reads a format, whose module is imported when it is needed.

    (source, number, options) -> BlockTable: the qrels (number: 'grade') or the run ('score') of a file. Of
    formats with of_letor: (source, letor, problems=None) -> Columns, a number for each line of the LETOR file;
    problems collects those of the lines. They raise InputError(s). letor.read_letor() reads LETOR files.
    """
    return _function(format_of(name).reader or f"{name}.table")


def _function(name: str) -> Callable[..., Any]:
    module, function = name.split(".")
    named: Callable[..., Any] = getattr(import_module(f"gradeval.formats.{module}"), function)
    return named


def kind_of(source: Source, number: str, options: Options) -> str:
    """The format of qrels (number: 'grade') or a run ('score'), as given or detected. Raises InputError."""
    chosen = options.qrels_format if number == "grade" else options.run_format
    kind = chosen or detect(source, options)
    no_qrels = format_of(kind).no_qrels
    if number == "grade" and no_qrels is not None:
        raise InputError(source.name, no_qrels[0], hint=no_qrels[1])
    return kind


def detect(source: Source, options: Options = _DEFAULTS) -> str:
    """The name of the format of a file. Raises InputError where the file cannot be read, or may be of two.

    A magic number, the first key, the header, or the first query decides; else the first line of data, unless
    it is one number: the label of a SVMlight line without features looks like a score. The file is then a LETOR
    file if one of the next lines is of that format.
    """
    kinds = _begun(source.head, options)
    if not kinds:
        return _of_data_lines(source)
    if len(kinds) > 1:
        hint = f"Give its format: --run-format {' or '.join(kinds)}"
        hint += ", or --qrels-format trec" if "trec" in kinds else ""
        raise InputError(source.name, f"the file may be of format {' or '.join(kinds)}", hint=hint)
    return kinds[0]


def _of_data_lines(source: Source) -> str:
    size = 0
    seen = 0  # lines of data, all of one number
    for block in source.blocks_from_head():
        text = block.bytes[: block.size].tobytes()
        size += len(text)
        for line in text.replace(b"\r", b"\n").split(b"\n"):  # a bare CR: the right reader rejects it
            if seen and not re.search(_MAY_BE_LETOR, line):
                seen += bool(line)
            elif data := _data_of(line):
                kind = _of_line(data[:HEAD])
                if kind == "letor" or (not seen and kind != "scores"):
                    return kind
                seen += 1
            if seen == _LINES:
                return "scores"
    if not seen:
        raise no_data(source.name, size)
    return "scores"


def _data_of(line: bytes) -> bytes:
    """The line without the spaces around it, b"" for a comment."""
    line = line.strip(b" \t\r")
    return b"" if line.startswith(b"#") else line


def of_text(text: bytes) -> str:
    """The format of a text by its beginning, or its first line of data; '' if it has none."""
    if kinds := _begun(text, _DEFAULTS):
        return kinds[0]
    return next(map(_of_line, filter(None, map(_data_of, text.split(b"\n")))), "")


def _begun(text: bytes, options: Options) -> list[str]:
    """The formats that a file with this beginning may have."""
    functions = dict.fromkeys(row.begins for row in reversed(FORMATS) if row.begins)
    return [kind for name in functions if (kind := _function(name)(text, options))]


def _of_line(line: bytes) -> str:
    """The format of a stripped line, by its beginning; 'trec', whose errors are the clearest, for any other."""
    fields = re.findall(_FIELD, line.split(b"#", 1)[0])
    if len(line) == HEAD and len(fields) > 2:
        fields.pop()  # it may be cut off
    if len(fields) == 1 and is_number(re.findall(_FIELD, line)[0]):
        return "letor" if b"#" in line else "scores"
    if len(fields) > 1 and fields[1].startswith(b"qid:"):  # even if a feature is malformed
        return "letor"
    are_features = (b":" in field and re.fullmatch(_FEATURE, field) for field in fields[1:])
    return "letor" if len(fields) > 1 and all(are_features) else "trec"


def is_number(text: str | bytes) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


# --- what the rows of the table name


def of_magic(text: bytes, options: Options) -> str:
    if text.startswith(PARQUET):
        return "parquet"
    return "arrow" if text.startswith(ARROW) else ""


def of_json(text: bytes, options: Options) -> str:
    if not text.lstrip().startswith((b"{", b"[")):
        return ""
    if _function("responses.begins_response")(text):
        return "responses"
    key = re.match(_FIRST_KEY, text)
    if key is None and not re.match(_EMPTY, text):
        if re.match(_RATINGS, text):
            return "lists"
        return "json" if re.match(_JSON, text) else ""
    first = key[2] if key else b""  # the first character of the first value
    if first == b"[":
        import json  # imported only when needed

        try:  # an object a line may begin with a list too
            members = json.loads(text.split(b"\n", 1)[0])
            is_row = _function("csv.are_columns")([*members], {}) or _function("json.list_member")(members, {})
            return "jsonl" if is_row else "lists"
        except ValueError:
            return "lists"
    if first == b"{":
        return "lists" if re.match(_REQUESTS, text) else "json"
    return "jsonl" if first else "json"


def of_header(text: bytes, options: Options) -> str:
    line = text.split(b"\n", 1)[0]
    delimiter = re.search(_DELIMITER, line)
    if delimiter is None or any(re.fullmatch(_FIGURE, field) for field in line.split(delimiter[0])):
        return ""
    csv = import_module("gradeval.formats.csv")
    header = csv.header_of(np.frombuffer(text, np.uint8), csv.DELIMITERS, dict(options.columns))
    if header is None or header.delimiter != "\t":
        return "csv" if header else ""
    return "beir" if tuple(header.names) == csv.BEIR_COLUMNS and b'"' not in line else "tsv"


def of_ranks(text: bytes, options: Options) -> str:
    return "msmarco" if _counts(text, _RANK, 1, with_spaces=True) else ""


def of_indexes(text: bytes, options: Options) -> str:
    return "ranklib" if _counts(text, _INDEX, 0) else ""


def of_trec_with_tabs(text: bytes, options: Options) -> str:
    """A file that may be a run of MS MARCO whose ids have spaces may have TREC's fields as well."""
    line = text.split(b"\n", 1)[0]
    fields = line.split()
    is_trec = b" " in line and (len(fields) == 4 or (len(fields) > 4 and is_number(fields[4])))
    return "trec" if is_trec and _counts(text, _RANK, 1, with_spaces=True) else ""


def _counts(text: bytes, pattern: bytes, number: int, with_spaces: bool = False) -> bool:
    """Whether the first query's lines, with two tabs each, are numbered from this one on, as the pattern says.
    with_spaces: whether fields may have spaces, where all lines have two tabs, and not TREC's 0 or Q0.
    """
    if text.partition(b"\n")[0].count(b"\t") != 2 or (first := re.match(_TWO_TABS, text)) is None:
        return False
    is_cut = len(text) > HEAD - 4  # with a byte order mark before it or not
    lines = (text[: text.rfind(b"\n") + 1] if is_cut else text).split(b"\n")
    if b" " in first[0] and not (with_spaces and _have_two_tabs(lines)):
        return False
    query = None
    for line in lines:
        row = re.fullmatch(pattern, line)
        if row is None or query not in (None, row["query"]):
            break
        if int(row["number"]) != number:
            return False
        query = row["query"]
        number += 1
    return query is not None


def _have_two_tabs(lines: list[bytes]) -> bool:
    """Whether all lines have three fields between tabs, and are none of TREC, which mix spaces and tabs."""
    data = [line for line in lines if line.strip()]
    if not all(re.fullmatch(_TWO_TABS, line) for line in data):
        return False
    return not all(re.match(_HAS_ITERATION, line) for line in data)


def role_of(source: Source, options: Options) -> str | None:
    """'qrels' or 'run', by format or what reads more of the first rows; None if both. Raises InputError."""
    kind = options.qrels_format or options.run_format or detect(source, options)
    if format_of(kind).no_qrels is not None:
        return "run"
    if kind == "letor":
        return "run" if options.features else "qrels"
    rows: dict[str, int] = {}
    errors: list[InputError | InputErrors] = []
    for role, number in ROLES.items():
        try:
            rows[role] = _rows_read(reader(kind)(source, number, options))
        except (InputError, InputErrors) as error:
            errors.append(error)
    if not rows:
        _function("json.reject_saved")(source.head, source.name, "score")
        raise next((error for error in errors if isinstance(error, LowestFirstError)), errors[0])
    best = [role for role, count in rows.items() if count == max(rows.values())]
    return best[0] if len(best) == 1 else None


def _rows_read(table: Any) -> int:
    """How many rows the first block with lines has. Raises InputError(s) where it cannot be read."""
    blocks = map(table.columns, table.blocks())
    columns = next((columns for columns in blocks if columns.lines or columns.problems.final), None)
    if columns is None:
        return 0
    if columns.problems.final and not len(columns.value):
        columns.problems.check(table.name)
    # ranks beside grades are those at which the judged documents stood
    return 0 if columns.ranks.in_place else len(columns.value)


# --- files that are something else than they were given as


def explained(problems: LineProblems, block: Block, rows: int, number: str, kind: str = "") -> LineProblems:
    """The problems of a block of lines: as one where no line is right, with what the file looks like. rows: how
    many lines are data. kind: the format that the file was read as, '' for one that its header shows.
    """
    if not problems.total or problems.final or not block.first:
        return problems
    data = _first_data(block)
    scope = _scope(problems, rows, next(iter(data), -1))
    if not scope:
        return problems
    first = problems.first[0]
    hint = first.hint
    if kind and data and not hint:
        hint = _look([*data.values()], number, kind)
    if not hint and rows < _MISREAD:
        return problems
    message = first.what
    if rows > 1:
        message += f", and {scope.format(f'{rows:,} lines' if block.last else f'{rows:,} lines read')}"
    problem = first.replace(what=message, hint=hint or _expected_layout(number, kind))
    return LineProblems((problem,), 1, final=True)


def _first_data(block: Block) -> dict[int, bytes]:
    """The lines of data at the beginning of a block, by their 0-based line."""
    text = block.bytes[: min(block.size, _LOOK)].tobytes()
    lines = (text[: text.rfind(b"\n") + 1] or text).split(b"\n")
    return {number: data for number, line in enumerate(lines) if (data := _data_of(line))}


def _scope(problems: LineProblems, rows: int, first_line: int) -> str:
    """Which lines are wrong, if all or most of the rows; else ''. first_line: that of the first row."""
    # with as many problems a line as in the first lines, all lines have some
    if problems.total * len({problem.line for problem in problems.first}) >= rows * len(problems.first):
        return "none of the {} is right"
    kinds = {re.sub("'[^']*'", "", problem.what) for problem in problems.first}  # as in their number of fields
    is_most = problems.total > max(SHOWN, rows // 2) and len(kinds) > 1
    return "most of the {} are wrong" if is_most and problems.first[0].line == first_line else ""


def _expected_layout(number: str, kind: str) -> str:
    """The hint where it is unknown what the lines look like."""
    layout = f"A line is {_LAYOUTS[number]}. " if kind == "trec" else "Is this the right file? "
    columns = f"query_id,doc_id,{'relevance' if number == 'grade' else 'score'}"
    return f"{layout}For another format give {_OPTIONS[number]}; a table needs a header line, such as {columns}"


def _look(lines: list[bytes], number: str, kind: str) -> str:
    """A hint that names what the lines of data look like, and what reads them; '' where that is unknown."""
    likely = of_text(b"\n".join(lines))
    if likely not in ("", "trec", kind):  # trec is for any line
        return _looks_like(format_of(likely), number)
    below = of_text(b"\n".join(lines[1:]))
    is_one_column = number == "score" and len(lines[0].split()) == 1
    if below not in ("", "trec", kind) and (below != "scores" or is_one_column):
        return f"Below it, this looks like format {below}; remove the first line with tail -n +2"
    fields = [line.split() for line in lines]
    for role, role_number, counts, column in (("qrels", "grade", {4}, 3), ("a run", "score", {5, 6}, 4)):
        if kind == "trec" and role_number == number:
            continue
        if all(len(row) in counts and NUMBER.fullmatch(row[column]) for row in fields):
            reads = f"{_OPTIONS[number]} trec reads it"
            order = "the qrels come first, then the runs"
            return f"This looks like {role}; {reads if role_number == number else order}"
    return ""


def _looks_like(row: Format, number: str) -> str:
    if row.of_letor:
        further = "; it needs a LETOR file as qrels"
    elif row.no_qrels is not None and number == "grade":
        further = f". {row.no_qrels[1]}"
    else:
        further = f"; {_OPTIONS[number]} {row.name} reads it"
    return f"This looks like format {row.name}: {row.why}{further}"


_DELIMITER = rb"[\t,;|]"
_FIGURE = rb"[ \t]*[-+]?[\d.][-+.\deE]*[ \t\r]*"
_FIRST_KEY = rb'(?s)[ \t\r\n]*\{[ \t\r\n]*"((?:[^"\\]|\\.)*)"[ \t\r\n]*:[ \t\r\n]*(.?)'
_EMPTY = rb"[ \t\r\n]*\{[ \t\r\n]*\}"
_JSON = rb"[ \t\r\n]*\[[ \t\r\n]*\{"
_RATINGS = rb'[ \t\r\n]*\[[ \t\r\n]*\{[^[\]]*"ratings"[ \t\r\n]*:[ \t\r\n]*\['
_REQUESTS = rb'(?s).*"requests"[ \t\r\n]*:[ \t\r\n]*\['
_HAS_ITERATION = rb"[ \t]*[^ \t]+[ \t]+Q?0[ \t]"
_CELL = rb"[^ \t\r\n](?:[^\t\r\n]*[^ \t\r\n])?"
_RANK = rb"(?P<query>[^\t\r\n]+)\t[^\t\r\n]+\t[ ]*(?P<number>\d+)[ ]*\r?"
_INDEX = rb"(?P<query>[^\t\r\n]+)\t(?P<number>\d+)\t[ ]*[-+.\d][^\t\r\n]*\r*"
_TWO_TABS = _CELL + (rb"\t" + _CELL) * 2 + rb"\r?(?:\n|\Z)"

"""Which format a file has, detected from its beginning by the rules of each format."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from gradeval.errors import InputError, InputErrors, LowestFirstError
from gradeval.file_formats import FORMATS
from gradeval.formats.diagnostics import SHOWN, LineProblems, no_data
from gradeval.formats.format import QRELS_FIRST, Format, format_of
from gradeval.formats.scan import NUMBER
from gradeval.formats.sources import HEAD, Block, Source
from gradeval.options import Options

_LINES = 10_000  # lines of data that are examined
_LOOK = 4096  # bytes that show what a file looks like that was misread
_MISREAD = 3  # from so many lines on, the first stands for all where none is right
_OPTIONS = {"grade": "--qrels-format", "score": "--run-format"}
_HEADERS = {"grade": "query_id,doc_id,relevance", "score": "query_id,doc_id,score"}
_COLUMN = re.compile(r"[^\W\d][\w .:-]*")  # a name
_DEFAULTS = Options()
# a saved result; the keys of JSON qrels and runs have objects and numbers
_SAVED = rb'(?s)\s*\{\s*"(?:(?:gradeval|format)"\s*:\s*[^\s{]|.*"gradeval"\s*:\s*")'
ROLES = {"qrels": "grade", "run": "score"}  # the number of the rows of a file, by what it is given as


def kind_of(source: Source, number: str, options: Options) -> str:
    """The format of qrels (number: 'grade') or a run ('score'), as given or detected. Raises InputError."""
    chosen = options.qrels_format if number == "grade" else options.run_format
    kind = chosen or detect(source, options)
    reads = FORMATS[kind].reads
    if number == "grade" and "qrels" not in reads:
        message, hint = format_of(kind).no_qrels
        raise InputError(source.name, message, hint=hint)
    if number == "score" and "run" not in reads:
        raise InputError(source.name, "these are judgments, not a run", hint=QRELS_FIRST)
    return kind


def detect(source: Source, options: Options = _DEFAULTS) -> str:
    """The name of the format of a file. Raises InputError where the file cannot be read, or may be of two.

    A magic number, the first key, the header, or the first query decides; else the first line of data, unless
    it is one number: the label of a SVMlight line without features looks like a score. The file is then a LETOR
    file if one of the next lines is of that format.
    """
    kinds = _begun(source.head, options)
    if not kinds:
        lines = islice(_data_lines(source), _LINES)
        kind = _of_line(next(lines))
        may_be = format_of(kind).may_be
        return may_be if may_be and any(_is_line(may_be, line) for line in lines) else kind
    if len(kinds) > 1:
        hint = f"Give its format: --run-format {' or '.join(kinds)}"
        hint += ", or --qrels-format trec" if "trec" in kinds else ""
        raise InputError(source.name, f"the file may be of format {' or '.join(kinds)}", hint=hint)
    return kinds[0]


def _data_lines(source: Source) -> Iterator[bytes]:
    """The beginning of each line of data. Raises InputError where there is none."""
    size = 0
    has_data = False
    for block in source.blocks_from_head():
        text = block.text.tobytes()
        size += len(text)
        for line in text.replace(b"\r", b"\n").split(b"\n"):  # a bare CR: the right reader rejects it
            if data := _data_of(line):
                has_data = True
                yield data[:HEAD]
    if not has_data:
        raise no_data(source.name, size)


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
    names = [row.name for row in reversed(FORMATS.values()) if row.begins and row.begins(text)]
    functions = dict.fromkeys(format_of(name).detects for name in names)
    return [kind for detects in functions if detects and (kind := detects(text, options))]


def _of_line(line: bytes) -> str:
    """The format of a stripped line, by its beginning; 'trec', whose errors are the clearest, for any other."""
    with_lines = (row.name for row in reversed(FORMATS.values()) if row.has_line)
    return next(name for name in with_lines if _is_line(name, line))


def _is_line(name: str, line: bytes) -> bool:
    has_line = FORMATS[name].has_line
    if has_line is None or not has_line(line):
        return False
    is_line = format_of(name).is_line
    return is_line is None or is_line(line)


def role_of(source: Source, options: Options) -> str | None:
    """'qrels' or 'run', by format or what reads more of the first rows; None if both. Raises InputError."""
    kind = options.qrels_format or options.run_format or detect(source, options)
    if len(reads := FORMATS[kind].reads) == 1:
        return reads[0]
    if kind == "letor":
        return "run" if options.features else "qrels"
    rows = {}
    errors = []
    with source.keeping():
        for role, number in ROLES.items():
            try:
                rows[role] = _rows_read(format_of(kind).read(source, number, options))
            except (InputError, InputErrors) as error:
                errors.append(error)
    if not rows:
        reject_saved(source.head, source.name, "score")
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


def begins_saved(text: bytes) -> bool:
    return re.match(_SAVED, text[: 1 << 12]) is not None


def reject_saved(text: bytes, name: str, number: str) -> None:
    """Raise InputError where the text of a file of documents begins as saved results do."""
    if begins_saved(text):
        hint = f"Give the {'qrels' if number == 'grade' else 'run'} that it was made from"
        raise InputError(name, "a saved result has no documents", hint=hint)


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
    layouts = format_of(kind).layouts if kind else {}
    layout = f"A line is {layouts[number]}. " if layouts else "Is this the right file? "
    table = f"a table needs a header line, such as {_HEADERS[number]}"
    return f"{layout}For another format give {_OPTIONS[number]}; {table}"


def named_columns(lines: Sequence[bytes], number: str, without_names: str) -> str:
    """The hint for lines that look like a table, whose first names columns; '' for others. without_names: the
    hint where it has a number.
    """
    first = lines[0] if lines else b""
    delimiter = max(b"\t,;|", key=first.count)
    if min((line.count(delimiter) for line in lines), default=0) < 2:
        return ""
    fields = [field.strip(b' "\r') for field in first.split(bytes([delimiter]))]
    if any(re.fullmatch(NUMBER, field) for field in fields):
        return without_names
    names = [field.decode("utf-8", "replace") for field in fields]
    if not all(map(_COLUMN.fullmatch, names)):
        return ""
    columns = ",".join(
        f"{role}={name}" for role, name in zip(("query", "document", number), names, strict=False)
    )
    columns = f"'{columns}'" if " " in columns else columns
    return f"Columns with other names than {_HEADERS[number]} are named so: --columns {columns}"


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
        if all(len(row) in counts and re.fullmatch(NUMBER, row[column]) for row in fields):
            reads = f"{_OPTIONS[number]} trec reads it"
            order = "the qrels come first, then the runs"
            return f"This looks like {role}; {reads if role_number == number else order}"
    is_table = kind == "trec" and len(fields[0]) < 4
    return named_columns(lines, number, _expected_layout(number, kind)) if is_table else ""


def _looks_like(row: Format, number: str) -> str:
    if row.of_letor:
        further = "; it needs a LETOR file as qrels"
    elif number == "grade" and "qrels" not in row.reads:
        further = f". {row.no_qrels[1]}"
    else:
        further = f"; {_OPTIONS[number]} {row.name} reads it"
    return f"This looks like format {row.name}: {row.why}{further}"

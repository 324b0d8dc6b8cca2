"""Small text files, read line by line: query ids, lists of runs, groups, titles, z-scores, TOML."""

from __future__ import annotations

import json
import math
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from difflib import get_close_matches
from itertools import chain
from typing import Any

from gradeval.errors import LARGEST_GRADE, TINY, InputError, OptionError, is_grade, named
from gradeval.formats.diagnostics import SHOWN, LineProblems, Problem, no_data
from gradeval.formats.scan import not_text
from gradeval.formats.sources import Block, Source
from gradeval.notices import many
from gradeval.options import FILE_PATHS, Options, parse_number
from gradeval.records import Record

_WORD = re.compile("[^ \t\r]+")
_UNDIVIDED = "\x1f"  # a delimiter that no line has
_IDS = ("_id", "id", "doc_id", "docid", "docno", "pid", "query_id", "qid")
_TEXTS = ("title", "text", "contents", "body", "passage", "query")
_JSON = re.compile(rb"""\s*(\{\s*["}]|\[\s*["[{\]])""")  # how an object or a list of these begins
_SURROGATE = re.compile("[\ud800-\udfff]")  # no text in UTF-8 has one
_HEAD = re.compile(r"\s*\[{1,2}([^\[\],]+)\]{1,2}\s*$")  # of a table
_UNCOMMENTED = re.compile(r"""(?:[^"'#]|"(?:\\.|[^"\\])*"|'[^']*'|["'](?!.*["']))*""")
_PLACE = re.compile(r"^(.*) \(at (?:line (\d+), column \d+|end of document)\)$", re.DOTALL)


def read_lines(source: Source, blocks: Iterable[Block] | None = None) -> Iterator[tuple[int, bytes]]:
    """The 0-based number and the bytes of each line. blocks: by default all. Raises InputError."""
    before = 0
    for text in _texts(source.name, blocks or source.blocks()):
        lines = text.split(b"\n")[:-1]
        yield from enumerate(lines, before)
        before += len(lines)


def read_text(source: Source) -> bytes:
    """The whole file, decompressed, with a line end after its last line. Raises InputError."""
    return b"".join(_texts(source.name, source.blocks()))


def _texts(name: str, blocks: Iterable[Block]) -> Iterator[bytes]:
    before = 0
    for block in blocks:
        if (problem := not_text(block, before)) is not None:
            LineProblems((problem,), 1).check(name)
        text = block.text.tobytes()
        before += text.count(b"\n")
        yield text


def read_query_ids(source: Source, judged: Set[str], qrels: str) -> tuple[str, ...]:
    """The different ids of a file, in order. qrels: the name of the judgments, '' where these may lack some:
    then an id that is there twice stays. Raises InputError(s), at most SHOWN: a pipe may never end.
    """
    ids: list[str] = []
    known_ids = set(judged)
    problems: list[Problem] = []
    end: int | None = None
    for line, fields in read_ids(source, judged):
        unknown = _unknown(fields, known_ids) if qrels else []
        problems += (Problem(line, f"query {named(query)} is not in {qrels}") for query in unknown)
        if len(problems) >= SHOWN:
            end = line + 1
            break
        ids += fields
        known_ids.update(fields)
    LineProblems.listed(problems).check(source.name, end)
    return tuple(dict.fromkeys(ids) if qrels else ids)


def _unknown(fields: Sequence[str], known_ids: Set[str]) -> list[str]:
    """The ids of a line that are none of these, or all of it where such ids have spaces."""
    unknown = [query for query in dict.fromkeys(fields) if query not in known_ids]
    is_one = unknown == fields and any(" " in query for query in known_ids)  # it was meant as one
    return [" ".join(fields)] if is_one else unknown


def read_ids(source: Source, judged: Set[str] = frozenset()) -> Iterator[tuple[int, list[str]]]:
    """The 0-based number and the query ids of each line that is neither blank nor a comment: the line, with or
    without quotes, where it is one of those judged, else its words; of CSV with a header, those of the queries'
    column. Raises InputError.
    """
    is_first = True
    delimiter = ""  # of CSV with a header
    column = None
    for number, line in read_lines(source):
        text = line.decode("utf-8", "surrogateescape").strip(" \t\r")
        words = _WORD.findall(text)
        forms = [form for form in (text, *_fields(text, _UNDIVIDED)) if form in judged]
        if column is not None:
            ids = _fields(text, delimiter)[column : column + 1]
        elif forms or not words or text.startswith("#"):
            ids = forms[:1]
        else:
            delimiter = _delimiter_of(text)
            if is_first and judged.isdisjoint(words):
                column = _column(_fields(text, delimiter), "query")
            ids = words if column is None else []
            is_first = False
        is_first = is_first and not ids
        if any(ids):
            yield number, ids


def _column(names: Sequence[str], role: str) -> int | None:
    """The place of the column of a role, None where these names have none, or two."""
    from gradeval.formats.csv import usual_columns  # imported only when needed

    columns = usual_columns(names, role)
    return columns[0] if len(columns) == 1 else None


def _delimiter_of(text: str) -> str:
    return next((mark for mark in "\t,;|" if mark in text), _UNDIVIDED)


def _fields(text: str, delimiter: str) -> list[str]:
    """The fields of a line, without the spaces around them. If no tabs divide them, they may be in quotes."""
    fields = text.split(delimiter)
    if delimiter != "\t" and '"' in text:
        import csv  # imported only when needed

        try:
            [fields] = csv.reader([text], delimiter=delimiter, skipinitialspace=True)
        except csv.Error:  # a field that is too long
            return [text]
    return [field.strip(" ") for field in fields]


def read_run_list(source: Source) -> list[tuple[int, str]]:
    """The lines with a run, without the spaces around it, and the number of each. Raises InputError."""
    lines = ((number, line.decode("utf-8", "surrogateescape").strip()) for number, line in read_lines(source))
    runs = [(number + 1, line) for number, line in lines if line and not line.startswith("#")]
    if not runs:
        raise InputError(source.name, "no runs given", hint="Write a path, or NAME=path, on each line")
    return runs


def read_run_groups(source: Source, kind: str) -> dict[str, str]:
    """The group of each run of 'run TAB group' lines, such as its system or its team. kind: of the groups.
    Raises InputError(s).
    """
    groups = {}
    problems = []
    for number, line in read_lines(source):
        text = line.decode("utf-8", "surrogateescape").strip()
        fields = [field.strip() for field in text.split("\t")]
        if not text or text.startswith("#") or [field.lower() for field in fields] == ["run", kind]:
            continue
        if len(fields) != 2 or not all(fields):
            problems.append(Problem(number, f"a line has a run and its {kind}, with a tab between"))
        elif fields[0] in groups:
            problems.append(Problem(number, f"run {named(fields[0])} has a {kind} already"))
        else:
            groups[fields[0]] = fields[1]
    LineProblems.listed(problems).check(source.name)
    if not groups:
        raise InputError(source.name, f"no run has a {kind}", hint=f"Write 'run TAB {kind}' lines")
    return groups


def read_weights(source: Source) -> dict[str, float]:
    """The weight of each query of 'query TAB weight' lines. Raises InputError(s)."""
    weights: dict[str, float] = {}
    rows, problems = _read_pairs(source, "weight")
    for number, query, weight in rows:
        try:
            value = parse_number(weight)
        except ValueError:
            value = math.nan
        if query in weights:
            problems.append(Problem(number, f"query {named(query)} has a weight already"))
        elif reason := _why_no_weight(value):
            hint = _header_of("weight") if value != value and number == rows[0][0] else ""
            problems.append(Problem(number, f"the weight {named(weight)} {reason}", hint))
        weights.setdefault(query, value)
    LineProblems.listed(problems).check(source.name)
    return weights


def _header_of(kind: str) -> str:
    """The hint of a first line that is no data: the names of the columns of a header."""
    from gradeval.formats.csv import USUAL_NAMES  # imported only when needed

    queries = ", ".join(chain.from_iterable(USUAL_NAMES["query"]))
    return f"A header has a column of queries ({queries}) and one named {kind}"


def _why_no_weight(value: float) -> str:
    if not value >= 0:
        return "is not a number from 0"
    if value > LARGEST_GRADE:
        return "is too large: the largest is 1e150"
    return "" if is_grade(value) else TINY


def read_groups(source: Source) -> dict[str, list[str]]:
    """The queries of each group, both in order of the file; a query may be in several. Raises InputError(s)."""
    groups: dict[str, dict[str, None]] = {}
    rows, problems = _read_pairs(source, "group")
    for number, query, group in rows:
        if query in groups.setdefault(group, {}):
            problems.append(Problem(number, f"query {named(query)} is in group {named(group)} twice"))
        groups[group][query] = None
    LineProblems.listed(problems).check(source.name)
    return {group: list(queries) for group, queries in groups.items()}


def _read_pairs(source: Source, kind: str) -> tuple[list[tuple[int, str, str]], list[Problem]]:
    """The number and fields of the lines 'query TAB value', or of CSV, and what is wrong with others. Raises
    InputError. A first line that names the kind is a header; lines that are blank or begin with # are ignored.
    """
    lines = [*read_lines(source)]
    texts = ((number, line.decode("utf-8", "surrogateescape").rstrip("\r")) for number, line in lines)
    data = [(number, text) for number, text in texts if text.strip("\t,;| ") and not text.startswith("#")]
    has_tab = any("\t" in text for _, text in data)
    delimiter = "\t" if has_tab or not data else _delimiter_of(data[0][1])
    if delimiter == _UNDIVIDED:
        raise InputError(source.name, "no line has a tab", hint=f"Write 'query TAB {kind}' lines, or CSV")
    rows = [(number, _fields(text, delimiter)) for number, text in data]
    query, value, count = 0, 1, 2
    if rows and (places := _places(rows[0][1], kind)):
        query, value = places
        count = len(rows.pop(0)[1])
    if not rows:
        raise no_data(source.name, len(lines))
    between = {"\t": "a tab"}.get(delimiter, f"'{delimiter}'")
    needed = f"a line has a query and its {kind}, with {between} between"
    if len(rows) > 1 and all(len(fields) > count for _, fields in rows):
        message = f"{needed}, and none of the {len(rows):,} lines is right"
        return [], [Problem(rows[0][0], message, f"A table with other columns has a header: query, {kind}")]
    pairs = []
    problems = []
    for number, fields in rows:
        if len(fields) == count and fields[query] and fields[value]:
            pairs.append((number, fields[query], fields[value]))
        else:
            problems.append(Problem(number, needed))
    return pairs, problems


def read_documents(source: Source, parse_json: Callable[[bytes, str], Any]) -> tuple[tuple[str, str], ...]:
    """The different (query, document) pairs of lines of both, in order: separated by a tab where any line has
    one, else by spaces, or of CSV with a header, or of JSON, which parse_json reads. Raises InputError(s).
    """
    lines = [*read_lines(source)]
    if _JSON.match(text := b"\n".join(line for _, line in lines)):
        return _documents_of_json(parse_json(text, source.name), source.name)
    texts = ((number, line.decode("utf-8", "surrogateescape").strip(" \r")) for number, line in lines)
    data = [(number, text) for number, text in texts if text.strip("\t") and not text.startswith("#")]
    if not data:
        raise no_data(source.name, len(lines))
    rows, columns = _rows_of_documents(data)
    query, document = columns or (0, 1)
    count = len(rows[0][1]) if columns else 2
    pairs: dict[tuple[str, str], None] = {}
    problems = []
    for number, fields in rows[columns is not None :]:
        if len(fields) != count:
            fault = f"{many(len(fields), 'field', 'fields')} where a query and a document are expected"
            hint = "Ids with spaces need a tab between" if len(fields) > count else ""
            problems.append(Problem(number, fault, hint))
        elif not (fields[query] and fields[document]):
            problems.append(Problem(number, "a line has a query and a document"))
        else:
            pairs[fields[query], fields[document]] = None
    LineProblems.listed(problems).check(source.name)
    return tuple(pairs)


def _documents_of_json(content: Any, name: str) -> tuple[tuple[str, str], ...]:
    """Those of {query: [documents]}, as in BRIGHT. name: of messages. Raises InputError."""
    of_queries = content.items() if isinstance(content, dict) else [("", content)]
    pairs = {}
    for query, documents in of_queries:
        is_list = isinstance(documents, list) and all(isinstance(text, str) for text in documents)
        if not (query and is_list) or _SURROGATE.search("".join((query, *documents))):
            raise InputError(name, "JSON of excluded documents is {query: [documents]}, with strings", line=1)
        pairs.update(dict.fromkeys((query, document) for document in documents))
    if not pairs:
        raise InputError(name, "no data")
    return tuple(pairs)


def _rows_of_documents(
    data: Sequence[tuple[int, str]],
) -> tuple[list[tuple[int, list[str]]], tuple[int, int] | None]:
    """The number and the fields of each line; and the columns that the first names, if it does."""
    delimiter = "\t" if any("\t" in text for _, text in data) else _delimiter_of(data[0][1])
    if delimiter != _UNDIVIDED:
        rows = [(number, _fields(text, delimiter)) for number, text in data]
        columns = _document_columns(rows[0][1])
        if delimiter == "\t" or columns is not None:  # else ids have commas
            return rows, columns
    rows = [(number, text.split()) for number, text in data]
    return rows, _document_columns(rows[0][1])


def _document_columns(header: Sequence[str]) -> tuple[int, int] | None:
    """The columns of queries and of documents, None where these fields are no header."""
    query = _column(header, "query")
    document = _column(header, "document")
    return None if query is None or document is None else (query, document)


def _places(header: Sequence[str], kind: str) -> tuple[int, int] | None:
    """The columns of queries and of values, None where these fields are no header."""
    names = [name.lower() for name in header]
    if kind not in names:
        return None
    value = names.index(kind)
    query = _column(names, "query")
    if query is not None and query != value:
        return query, value
    return (0, 1) if kind == "weight" and names[1:] == [kind] else None


def read_texts(source: Source, ids: Set[str]) -> dict[str, str]:
    """The texts of these ids, such as the titles of documents, where each line is 'id TAB text', or each is a
    JSON object, as the first one shows. The first line of an id counts. Raises InputError(s).
    """
    texts: dict[str, str] = {}
    problems = []
    end = None
    encoded = {name.encode("utf-8", "surrogateescape") for name in ids}
    is_json = None
    for number, line in read_lines(source):
        if len(texts) == len(ids):
            break
        if not line.strip():
            continue
        is_json = line.lstrip().startswith(b"{") if is_json is None else is_json
        row = _json_row(line) if is_json else _tab_row(line, encoded)
        if isinstance(row, str):
            problems.append(Problem(number, row))
            if len(problems) >= SHOWN:
                end = number + 1
                break
        elif row is not None and row[0] in ids:
            texts.setdefault(row[0], " ".join(row[1].split()))
    LineProblems.listed(problems).check(source.name, end)
    return {name: text for name, text in texts.items() if text}


def _tab_row(line: bytes, ids: Set[bytes]) -> tuple[str, str] | str | None:
    """The id and the text of a line, None where it is none of these ids, or what is wrong with it."""
    name, tab, text = line.partition(b"\t")
    if not tab:
        return "there is no tab after the id"
    if name not in ids:
        return None
    return name.strip().decode("utf-8", "surrogateescape"), text.decode("utf-8", "surrogateescape")


def _json_row(line: bytes) -> tuple[str, str] | str:
    """The id and the text of an object, or what is wrong with it."""
    try:
        content = json.loads(line)
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        return f"{named(line.decode('utf-8', 'backslashreplace'))} is not a JSON object, as the first line is"
    ids = [content[name] for name in _IDS if name in content]
    texts = [content[name] for name in _TEXTS if isinstance(content.get(name), str)]
    if ids and texts:
        return str(ids[0]), next(filter(None, texts), "")
    member, names = ("id", _IDS) if not ids else ("text", _TEXTS)
    return f"the object has no {member}; its name is one of {', '.join(names)}"


def read_zscores(path: str) -> dict[tuple[str, str], tuple[float, float]]:
    """The 'query measure mean deviation' lines of a file. Raises InputError."""
    scores = {}
    for number, line in read_lines(Source(path)):
        fields = _WORD.findall(line.decode("utf-8", "surrogateescape"))
        if not fields or fields[0].startswith("#"):
            continue
        try:
            query, measure, mean, deviation = fields
            values = parse_number(mean), parse_number(deviation)
        except ValueError:
            message = f"{named(' '.join(fields))} is not a query, a measure, its mean and its deviation"
            raise InputError(path, message, line=number + 1) from None
        if (query, measure) in scores:
            raise InputError(path, f"duplicate {measure} of query '{query}'", line=number + 1)
        scores[query, measure] = values
    if not scores:
        raise InputError(path, "the file is empty")
    return scores


def files_named(ids: Any, folder: str) -> list[str]:
    """The files that query_ids of a configuration names, whose author takes it for that of the command line."""
    if isinstance(ids, str):
        ids = [ids]
    texts = ids if isinstance(ids, (list, tuple)) else []
    paths = (os.path.join(folder, text) for text in texts if isinstance(text, str) and "\0" not in text)
    return [path for path in paths if os.path.isfile(path)]


class TomlFile(Record):
    """A TOML file."""

    path: str  # as the user gave it
    text: str
    content: Mapping[str, Any]  # of the text, as a dict

    def line_of(self, text: str, table: str = "") -> int | None:
        """The line, from 1, of a key or a string: in the table, else anywhere; None if nowhere.
        TOML's readers do not report the lines of values, so it is searched for; an escaped string is not found.
        """
        lines = [_UNCOMMENTED.match(line)[0] for line in self.text.split("\n")]  # type: ignore[index]
        heads = {number: match[1].strip() for number, line in enumerate(lines) if (match := _HEAD.match(line))}
        parts = table.split(".")
        around = [".".join(parts[:n]) for n in range(len(parts), 0, -1)]
        start = next((number for name in around for number, head in heads.items() if head == name), 0)
        end = next((number for number in heads if number > start), len(lines))
        key = re.compile(rf"""(?:^\s*(?:[\w."'-]+\.)?|[{{,]\s*)["']?{re.escape(text)}["']?\s*[.=]""")
        of_key = (number for number in chain(range(start, end), range(len(lines))) if key.search(lines[number]))
        with_text = (number for number in range(start, len(lines)) if text in lines[number])
        return next((number + 1 for number in chain(of_key, with_text)), None)

    def error(self, message: str, text: str = "", table: str = "", hint: str = "") -> InputError:
        """The error of the line with this text, as line_of() finds it."""
        message = re.sub(r", not (?:True|False)$", lambda end: end[0].lower(), message)  # as TOML spells them
        return InputError(self.path, message, line=self.line_of(text, table) if text else None, hint=hint)

    def check_keys(self, content: Mapping[str, Any], valid_keys: Iterable[str], table: str = "") -> None:
        """Raise InputError for the first key of the table that is not known."""
        for key in map(str, content):
            if key not in valid_keys:
                near = get_close_matches(key, valid_keys, n=1, cutoff=0.8)
                hint = f"Did you mean '{near[0]}'?" if near else f"The keys are {', '.join(valid_keys)}"
                where = f" in [{table}]" if table else ""
                raise self.error(f"unknown key {named(key)}{where}", key, table, hint)

    def options(self, values: Mapping[str, Any], folder: str, table: str = "", key: str = "") -> Options:
        """Options of an evaluation. folder: of relative paths. key: of errors. Raises InputError."""
        paths = {name: values[name] for name in FILE_PATHS if isinstance(values.get(name), str)}
        values = {**values, **{name: os.path.join(folder, path) for name, path in paths.items()}}
        try:
            return Options(**values)
        except OptionError as error:
            raise self.error(str(error), key or str(error).split()[0], table) from None


def read_toml(source: Source) -> TomlFile:
    """The contents of a TOML file. Raises InputError."""
    if sys.version_info >= (3, 11):  # imported only when needed
        import tomllib
    else:
        import tomli as tomllib
    try:
        text = read_text(source).decode("utf-8")
        return TomlFile(source.name, text, tomllib.loads(text))
    except UnicodeDecodeError:
        raise InputError(source.name, "this is not TOML, which is UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        where = _PLACE.match(str(error))
        message = str(error) if where is None else where[1]
        line = int(where[2]) if where is not None and where[2] else None
        raise InputError(source.name, f"this is not TOML ({message})", line=line) from None
    except (ValueError, RecursionError) as error:  # an integer without end, [[[[…
        raise InputError(source.name, f"this TOML cannot be read ({type(error).__name__})") from None

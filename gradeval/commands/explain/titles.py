"""Texts of documents, for people who read ids: a mapping, or a file with an id and a text on each line."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Set
from typing import Any

from gradeval.errors import named
from gradeval.formats.diagnostics import SHOWN, LineProblems, Problem, Problems
from gradeval.formats.lines import read_lines
from gradeval.formats.sources import Source
from gradeval.tables.load import source_of

IDS = ("_id", "id", "doc_id", "docid", "docno", "pid")
TEXTS = ("title", "text", "contents", "body", "passage")


def titles_of(
    text: Any, documents: Set[str], watch: Callable[[Source], None] | None = None
) -> Mapping[str, str]:
    """Document -> title, from a mapping or a file of them."""
    if isinstance(text, Mapping):
        return {str(name): str(title) for name, title in text.items() if str(name) in documents}
    source = source_of(text)
    if watch is not None:
        watch(source)
    return read_titles(source, documents)


def read_titles(source: Source, documents: Set[str]) -> dict[str, str]:
    """id -> text of those of the documents that the file has. Raises InputError(s).

    Each line is 'id TAB text', or each is a JSON object, as the first one shows. Blank lines are ignored. The
    first line of a document counts, and reading stops when all are found.
    """
    titles: dict[str, str] = {}
    problems = Problems(source.name)
    ids = {name.encode("utf-8", "surrogateescape") for name in documents}
    is_json: bool | None = None
    for number, line in read_lines(source):
        if len(titles) == len(documents):
            break
        if not line.strip():
            continue
        if is_json is None:
            is_json = line.lstrip().startswith(b"{")
        before, tab, after = line.partition(b"\t")
        row: tuple[str, str] | str = "there is no tab after the document id"
        if is_json:
            row = _from_json(line)
        elif tab and before not in ids:
            continue
        elif tab:
            row = _text(before), _text(after)
        if isinstance(row, str):
            problems.add(LineProblems((Problem(number, row),), 1))
            if problems.found.total >= SHOWN:
                problems.end = number + 1
                break
        elif row[0] in documents:
            titles.setdefault(row[0], " ".join(row[1].split()))
    problems.check()
    return {document: title for document, title in titles.items() if title}


def _text(field: bytes) -> str:
    return field.decode("utf-8", "surrogateescape").strip()


def _from_json(line: bytes) -> tuple[str, str] | str:
    """The id and the text of an object, or what is wrong with it."""
    try:
        content = json.loads(line)
    except (ValueError, RecursionError):
        return "this is not a JSON object, as the first line is"
    if not isinstance(content, dict):
        return f"this is JSON, but not an object: {named(line.decode('utf-8', 'backslashreplace'))}"
    key = next((name for name in IDS if name in content), None)
    if key is None:
        return f"the object has no id; its name is one of {', '.join(IDS)}"
    texts = [content[name] for name in TEXTS if isinstance(content.get(name), str)]
    if not texts:
        return f"the object has no text; its name is one of {', '.join(TEXTS)}"
    return str(content[key]), next(filter(None, texts), "")

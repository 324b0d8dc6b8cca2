"""Texts of documents, for people who read ids: a file with an id and a text on each line."""

from __future__ import annotations

import json
from collections.abc import Set

from gradeval.errors import named
from gradeval.formats.diagnostics import SHOWN, LineProblems, Problem, Problems
from gradeval.formats.lines import read_lines
from gradeval.formats.sources import Source

IDS = ("_id", "id", "doc_id", "docid", "docno", "pid")
TEXTS = ("title", "text", "contents", "body", "passage")


def read_titles(source: Source, wanted: Set[str]) -> dict[str, str]:
    """id -> text of the wanted documents that the file has. Raises InputError(s).

    Each line is 'id TAB text', or each is a JSON object, as the first one shows. Blank lines are ignored. The
    first line of a document counts, and reading stops when all are found.
    """
    titles: dict[str, str] = {}
    problems = Problems(source.name)
    wanted_bytes = {one.encode("utf-8", "surrogateescape") for one in wanted}
    is_json: bool | None = None
    for number, line in read_lines(source):
        if len(titles) == len(wanted):
            break
        if not line.strip():
            continue
        if is_json is None:
            is_json = line.lstrip().startswith(b"{")
        if is_json:
            found = _from_json(line)
        else:
            before, tab, after = line.partition(b"\t")
            if tab and before not in wanted_bytes:
                continue
            text = (part.decode("utf-8", "surrogateescape").strip() for part in (before, after))
            found = (next(text), next(text)) if tab else "there is no tab after the document id"
        if isinstance(found, str):
            problems.add(LineProblems((Problem(number, found),), 1))
            if problems.found.total >= SHOWN:
                problems.end = number + 1
                break
        elif found[0] in wanted:
            titles.setdefault(found[0], " ".join(found[1].split()))
    problems.check()
    return {document: title for document, title in titles.items() if title}


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

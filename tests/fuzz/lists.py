"""Attack: JSON lists of documents against JSON Lines of the same rows: the same values, notices and errors."""

import json
import random
import re
from pathlib import Path
from typing import Any

from cli.command import Done

from .call import gradeval, require

UNIT = "pairs"
Row = dict[str, Any]

DOCUMENTS = ("docno", "corpus-id", "doc_id", "docId", "item", "passage")
RANKS = ("rank", "Rank", "position")
NUMBERS = {
    "qrels": ("relevance", "rating", "grade", "label", "stars"),
    "run": ("score", "_score", "prediction", "sim", "distance", "guess", *RANKS),
}
OTHERS = ("subtopic", "aspect", "intent", "run", "title", "rank", "position", "tag")
ROLES = {"qrels": ("document", "grade", "subtopic"), "run": ("document", "score", "rank", "distance")}
METRICS = {"qrels": "AP nDCG@3 num_rel StRecall@3", "run": "AP nDCG num_ret"}
ODD = ("é", 'a"b', "\\", "{", "[", "$['q'][0]", "a b", ",", "\u2028", "x" * 90)
WRONG = ("x", None, "", [1], {"a": 1}, 10**400, -1, True, "1e-3")
PLACE = re.compile(r"^(?:lists|rows)(?::\d+)?: (?:\$\[.*?\]: )?")
OF_SHAPE = re.compile(  # a column of ranks or ids alone; the query of a duplicate or the line of the first
    "; where the (?:rows|documents) are in order, .*| of query .+?(?= has )| for (?:its )?query.*?(?=[.] )"
    "| in line [0-9]+|[.] The first is(?: in line [0-9]+;)|[.](?= --dup)"
)
COLUMNS = re.compile(r"; (?:the columns are|rows has) .*?(?=\. |$)")  # those beside the lists too


def make(rng: random.Random) -> tuple[dict[str, str], str, list[str]]:
    role = rng.choice([*ROLES])
    names = _names(rng, role)
    rows = _rows(rng, names)
    columns = {part: rng.choice(names) for part in ROLES[role] if rng.random() < 0.15}
    if rng.random() < 0.05:
        columns[rng.choice(ROLES[role])] = "absent"
    args = ["-m", METRICS[role], "-q", "--digits", "full", "-f", "tsv", f"-j{rng.choice([1, 2])}"]
    if columns:
        args += ["--columns", ",".join(f"{part}={name}" for part, name in columns.items())]
    known = {row["qid"]: dict[str, int]() for row in rows}
    for row in rows:
        known[row["qid"]] |= {str(row[name]): rng.randrange(3) for name in DOCUMENTS if name in row}
    files = {
        "rows": "".join(json.dumps(row) + "\n" for row in rows),
        "lists": json.dumps(
            _lists(rng, role, rows), indent=rng.choice([None, 1]), ensure_ascii=rng.random() < 0.5
        ),
        "other": json.dumps(known),
    }
    return files, role, args


def _names(rng: random.Random, role: str) -> list[str]:
    """Those of the members of a document, in any order."""
    names = {rng.choice(DOCUMENTS), rng.choice(NUMBERS[role])}
    for pool, chance in ((DOCUMENTS, 0.15), (NUMBERS[role], 0.3), (OTHERS, 0.5), (OTHERS, 0.3)):
        names |= {rng.choice(pool)} if rng.random() < chance else set()
    return rng.sample(sorted(names), len(names))


def _rows(rng: random.Random, names: list[str]) -> list[Row]:
    odd = rng.choice(ODD) if rng.random() < 0.3 else ""
    rows = [
        {"qid": f"{odd}q{query}", **{name: _value(rng, name, place, f"{odd}d{document}") for name in names}}
        for query in range(rng.randint(1, 4))
        for place, document in enumerate(rng.sample(range(20), rng.randint(1, 6)), 1)
    ]
    if rng.random() < 0.25:
        rng.choice(rows)[rng.choice(names)] = rng.choice(WRONG)
    if rows[1:] and rng.random() < 0.15:  # the first has the names of all
        rng.choice(rows[1:]).pop(rng.choice(names))
    return rows


def _value(rng: random.Random, name: str, place: int, document: str) -> Any:
    if name in DOCUMENTS:
        return document
    if name in RANKS:
        return place
    if name in OTHERS:
        return "t" if name in ("run", "tag") else rng.choice(["s1", "s2", "s3"])
    return rng.choice([rng.randrange(4), round(rng.uniform(0, 3), 2), str(rng.randrange(3))])


def _lists(rng: random.Random, role: str, rows: list[Row]) -> Any:
    """The rows by query, in a shape that has lists; the members of all but the first are shuffled."""
    queries: dict[str, list[Row]] = {}
    for number, row in enumerate(rows):
        members = [*row][1:]
        members = rng.sample(members, len(members)) if number else members
        queries.setdefault(row["qid"], []).append({name: row[name] for name in members})
    requests = [{"id": query, "ratings": documents} for query, documents in queries.items()]
    return rng.choice([queries, {"requests": requests}, requests]) if role == "qrels" else queries


def check(files: dict[str, str], role: str, args: list[str]) -> int:
    for name, text in files.items():
        Path(name).write_text(text)

    def read(name: str, kind: str) -> Done:
        paths = [name, "x=other"] if role == "qrels" else ["other", f"x={name}"]
        return gradeval(*paths, *args, f"--{role}-format", kind)

    lists, rows = read("lists", "lists"), read("rows", "jsonl")
    require(lists[:2] == rows[:2], f"rows are read otherwise than lists\n{rows}", args, lists)
    is_repeated = "the file seems to hold the run twice" in rows.err  # which is seen by lines
    require(
        is_repeated or _said(lists) == _said(rows),
        f"of rows is said otherwise than of lists\n{rows}",
        args,
        lists,
    )
    return 1


def _said(done: Done) -> list[str]:
    """The first error, or all notices, without the place in the file and what is said of each shape."""
    lines = [PLACE.sub("", line).replace("lists", "rows") for line in done.lines]
    lines = [OF_SHAPE.sub("", COLUMNS.sub("…", line)) for line in lines]
    return lines[:1] if done.code else lines

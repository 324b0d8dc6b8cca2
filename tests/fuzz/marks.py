"""Attack: byte order marks inside files: an error where one begins a line, a character within a field."""

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from . import data
from .call import blocks_of, gradeval, require

UNIT = "files"

MARK = "\ufeff"
METRICS = ["-mAP nDCG num_ret", "-q", "-ftsv", "--ties=input", "--quiet"]
# before the numbers of queries: other characters that begin as a mark does
PREFIXES = ("", "q", "\uff21", "\ufb01", "\ufefe", "long-names-of-queries-", "x" + MARK)


class Row(NamedTuple):
    query: str
    document: str
    rank: int
    number: int


def _table(names: str, delimiter: str, quote: str = "") -> Callable[[Sequence[Row]], list[str]]:
    def lines(rows: Sequence[Row]) -> list[str]:
        fields = ((row.query, row.document, str(row.number)) for row in rows)
        quoted = (delimiter.join(f"{quote}{field}{quote}" for field in of_row) for of_row in fields)
        return [names.replace(",", delimiter), *quoted]

    return lines


def _each(layout: str) -> Callable[[Sequence[Row]], list[str]]:
    return lambda rows: [layout.format(**row._asdict()) for row in rows]


def _queries(layout: str) -> Callable[[Sequence[Row]], list[str]]:
    return lambda rows: [layout.format(query) for query in dict.fromkeys(row.query for row in rows)]


Kind = tuple[str, Callable[[Sequence[Row]], list[str]]]
TABLES: dict[str, Kind] = {  # whose documents are named as in q or in r: the call, and the lines of the file f
    "trec qrels": ("f r", _each("{query} 0 {document} {number}")),
    "beir": ("f r", _table("query-id,corpus-id,score", "\t")),
    "trec run": ("q f", _each("{query} Q0 {document} {rank} {number} t")),
    "decimals": ("q f", _each("{query} Q0 {document} {rank} {number}.5 t")),
    "msmarco": ("q f --run-format msmarco", _each("{query}\t{document}\t{rank}")),
    "csv": ("q f", _table("query,document,score", ",")),
    "quoted": ("q f", _table("query,document,score", ";", '"')),
    "tsv": ("q f", _table("query,document,score", "\t")),
    "jsonl": ("q f", _each('{{"query": "{query}", "document": "{document}", "score": {number}}}')),
}
OTHERS: dict[str, Kind] = {
    "letor": ("f --feature 1", _each("{number} qid:{query} 1:{number} # {document}")),
    "scores": ("l f", _each("{number}")),
    "sizes": ("l --feature 1 --groups f", lambda rows: ["1"] * len(rows)),
    "query ids": ("q r --query-ids ./f", _queries("{}")),
    "weights": ("q r --query-weights f", _queries("{}\t1")),
    "runs": ("q --runs-from f", lambda rows: ["r", "r", "r"]),
}
KINDS = TABLES | OTHERS


def make(rng: random.Random) -> tuple[Any, ...]:
    prefix, longest = rng.choice(PREFIXES), rng.choice([3, 30])
    rows = [
        Row(f"{prefix}{q}", f"d{d}", d, rng.randrange(4))
        for q in range(rng.randint(2, 5))
        for d in range(1, rng.randint(1, longest) + 1)
    ]
    kind = rng.choice(list(KINDS))
    packer = rng.choice(list(data.PACKERS)) if rng.random() < 0.2 else ""
    how = rng.choice(["begins", "within", "apart"]) if kind in TABLES else "begins"
    return rows, kind, how, rng.random(), packer, rng.choice([None, None, 1, 100, 1000])


def check(rows: list[Row], kind: str, how: str, share: float, packer: str, block: int | None) -> int:
    """how: whether a mark begins a line, or is within the names of documents, or also begins the file. share:
    which line of the file, or which character of a name. packer: of the file f. block: the size of blocks.
    """
    call, lines_of = KINDS[kind]
    args, lines = [*call.split(), *METRICS], lines_of(rows)
    _write_all(rows, kind)
    with blocks_of(block):
        _write("f", lines, packer)
        sound = gradeval(*args)
        require(sound.code == 0, f"the file of {kind} is refused", args, sound)
        if how == "begins":
            at = 1 + int(share * (len(lines) - 1))
            _write("f", [*lines[:at], MARK + lines[at], *lines[at + 1 :]], packer)
            done = gradeval(*args)
            begin = f"f:{at + 1}: a byte order mark at the beginning of a line. "
            is_told = done.code == 2 and done.err.removeprefix("./").startswith(begin)
            require(is_told, f"a mark at the beginning of a line of {kind} is taken", args, done)
            return 1
        middle = int(share * 3)
        named = [row._replace(document=row.document[:middle] + MARK + row.document[middle:]) for row in rows]
        first, *others = lines_of(named)
        _write_all(named, kind)
        _write("f", [MARK * (how == "apart") + first, *others], packer)
        done = gradeval(*args)
    require(
        (done.code, done.out) == (0, sound.out), f"a mark within names changes values of {kind}", args, done
    )
    return 1


def _write_all(rows: Sequence[Row], kind: str) -> None:
    """The files besides f."""
    for name, other in (("q", "trec qrels"), ("r", "trec run"), ("l", "letor")):
        lines = KINDS[other][1](rows)
        if kind == "sizes":  # which are for files without qid
            lines = [line.replace(f"qid:{row.query} ", "") for line, row in zip(lines, rows, strict=True)]
        _write(name, lines)


def _write(name: str, lines: Sequence[str], packer: str = "") -> None:
    text = "".join(f"{line}\n" for line in lines).encode()
    Path(name).write_bytes(data.PACKERS[packer](text) if packer else text)

"""Column names: which columns of a table hold the query, the document and the grade or score."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gradeval.errors import InputError, first_names, named
from gradeval.options import ROLES

_RECBOLE = re.compile(r":(?:token|float)(?:_seq)?$")
_JOINERS = re.compile(r"[-_ .]")
_SHOWN = 20  # columns that an error names

# Each role's usual names without '-', '_', spaces and capitals, in groups: a name of an earlier group is meant
# where a table has others too (PyTerrier's 'docno' is the id and 'docid' a number; its 'query' is the text).
# Two names of one group are ambiguous.
_NAMES: dict[str, tuple[tuple[str, ...], ...]] = {
    "query": (("queryid", "qid", "topicid", "userid", "uid"), ("query", "topic", "user"), ("querytext",)),
    "document": (
        ("docno", "corpusid"),
        ("docid", "documentid", "did", "iid", "itemid", "pid", "passageid", "productid"),
        ("document", "doc", "item", "passage"),
    ),
    "grade": (("relevance", "rel", "grade", "label", "rating", "qrel"),),
    "score": (("score", "scores", "sim", "similarity", "prediction"), ("rank",)),
}
OPTION = "--columns {}=NAME"  # how a user of the command names the column of a role
ARGUMENT = "columns={{'{}': NAME}}"  # and how a user of Python does
_BEIR = ("queryid", "corpusid", "score")  # of judgments: there the score is the grade
_QUEPID = "rating"  # in its exports an empty one is no judgment


class Chosen(NamedTuple):
    """The columns that are read. number: of the grade or score. by_rank: it holds ranks; the score is -rank.
    empty_is_unjudged: whether a row with an empty number is left out, as in Quepid's exports.
    """

    query: str
    document: str
    number: str
    by_rank: bool = False
    empty_is_unjudged: bool = False


def choose(
    names: Sequence[str], number: str, given: Mapping[str, str], path: str, naming: str = OPTION
) -> Chosen:
    """The columns to read among those of a table. Raises InputError where one is missing or ambiguous.

    number: 'grade' or 'score'. given: names by role; a table without the given query or document column may
    have usual names, since the qrels and the runs can differ. naming: how the user names a column.
    """
    query, document = (
        given[role] if given.get(role) in names else _usual(names, role, path, naming) for role in ROLES[:2]
    )
    if number in given:
        check_has(names, given[number], path)
        return Chosen(query, document, given[number], False, simplified(given[number]) == _QUEPID)
    plain = [*map(simplified, names)]
    if number == "grade" and set(_BEIR) <= set(plain) and not _found(plain, "grade"):
        return Chosen(query, document, names[plain.index("score")])
    found = _usual(names, number, path, naming)
    return Chosen(query, document, found, simplified(found) == "rank", simplified(found) == _QUEPID)


def query_column(names: Sequence[str], given: str | None, path: str) -> int:
    """The position of the column of query ids.

    The table has no documents, so 'id' is a usual name too. given: its name, which a table need not have if one
    has a usual name. Raises InputError where it is missing or ambiguous.
    """
    if given is not None and given in names:
        return names.index(given)
    plain = [*map(simplified, names)]
    found = [*_found(plain, "query"), *(place for place, name in enumerate(plain) if name == "id")]
    return _only(names, found, "query", path, OPTION)


def check_has(names: Sequence[str], name: str, path: str) -> None:
    """Raise InputError where a table has no column of this name."""
    if name not in names:
        raise InputError(path, f"no column named {named(name)}; {_columns(names)}")


def is_query_name(name: str) -> bool:
    """Whether a column of this name has the ids or the texts of queries."""
    return any(simplified(name) in group for group in _NAMES["query"])


def is_header(names: Sequence[str], given: Mapping[str, str]) -> bool:
    """Whether these fields of a first line are column names: at least two are of what a table must have."""
    plain = [*map(simplified, names)]
    roles = [
        any(_found(plain, role) or given.get(role) in names for role in several)
        for several in (ROLES[:1], ROLES[1:2], ROLES[2:])
    ]
    return sum(roles) >= 2 and not any(map(is_number, names))


def simplified(name: str) -> str:
    """A column name without its RecBole type, joiners and capitals."""
    return _JOINERS.sub("", _RECBOLE.sub("", name.strip())).lower()


def _found(plain: Sequence[str], role: str) -> list[int]:
    """The columns of the first group of names that a table has."""
    for group in _NAMES[role]:
        found = [place for place, name in enumerate(plain) if name in group]
        if found:
            return found
    return []


def _usual(names: Sequence[str], role: str, path: str, naming: str) -> str:
    return names[_only(names, _found([*map(simplified, names)], role), role, path, naming)]


def _only(names: Sequence[str], found: Sequence[int], role: str, path: str, naming: str) -> int:
    """The one column that was found for a role. Raises InputError."""
    if len(found) == 1:
        return found[0]
    if found:
        both = " or ".join(named(names[place]) for place in found)
        is_one_name = len({names[place] for place in found}) == 1
        hint = "Rename one" if is_one_name else f"Choose with {naming.format(role)}"
        raise InputError(path, f"the {role} column may be {both}", hint=hint)
    usual = ", ".join(name for group in _NAMES[role] for name in group)
    what = f"no {role} column ({usual}); {_columns(names)}"
    raise InputError(path, what, hint=f"Name it with {naming.format(role)}")


def _columns(names: Sequence[str]) -> str:
    return f"the columns are {first_names(map(named, names), _SHOWN)}"


def is_number(text: str) -> bool:
    """Whether Python reads it as a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True

"""The queries that --query-ids names: a list of ids, or a file of them."""

from __future__ import annotations

import os
from collections.abc import Iterable

from gradeval.errors import OptionError, UnknownQueryError
from gradeval.options import parse_ids


class QueryIds:
    """What --query-ids was given: ids, or the name of a file of ids ('-': standard input); ids where it is both
    and all are judged.

    warnings: one where it is both. Raises OptionError for no ids.
    """

    def __init__(self, given: str) -> None:
        self.given = given
        self.warnings: list[str] = []
        is_path = given == "-" or "/" in given
        self._listed = () if is_path else parse_ids(given)
        self._is_file = is_path or (os.path.exists(given) and not os.path.isdir(given))
        if not self._is_file and not self._listed:
            raise self._empty()

    def chosen(self, judged: Iterable[str], qrels: str) -> tuple[str, ...]:
        """The ids, given those of all queries of the qrels. Raises InputError for a file with others."""
        if not self._is_file:
            return self._listed
        queries = set(judged)
        if self._listed and queries.issuperset(self._listed):
            self.warnings.append(
                f"--query-ids {self.given}: the id is in the qrels, so the file of this name is ignored; "
                f"./{self.given} names the file"
            )
            return self._listed
        from gradeval.formats.lines import read_query_ids
        from gradeval.formats.sources import Source

        ids = read_query_ids(Source(self.given), queries, qrels)
        if not ids:
            raise self._empty()
        return ids

    def unchecked(self) -> tuple[str, ...]:
        """The ids, where nothing can be compared with those of the qrels. Raises OptionError."""
        if self._is_file and self._listed and "/" not in self.given:
            what = (
                f"--query-ids {self.given}: a file has this name, and an id may; ./{self.given} names the file"
            )
            raise OptionError(what)
        if not self._is_file:
            return self._listed
        from gradeval.formats.lines import read_fields
        from gradeval.formats.sources import Source

        ids = dict.fromkeys(one for _, fields in read_fields(Source(self.given)) for one in fields)
        if not ids:
            raise self._empty()
        return tuple(ids)

    def unknown(self, error: UnknownQueryError) -> OptionError:
        """What is said of listed ids that are not in the qrels."""
        more = f", nor is there a file '{self.given}'" if len(self._listed) == 1 else ""
        return OptionError(f"--query-ids: {error}{more}")

    def _empty(self) -> OptionError:
        return OptionError(f"--query-ids {self.given}: no queries given")

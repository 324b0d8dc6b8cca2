"""Whether a file holds judgments or a run, detected from its content."""

from __future__ import annotations

from gradeval.errors import InputError, InputErrors
from gradeval.formats.detect import detect, format_of, reader
from gradeval.formats.diagnostics import Problems
from gradeval.formats.sources import Source
from gradeval.options import Options

ROLES = {"qrels": "grade", "run": "score"}
"""What a file may be given as, and what the number of its rows is then."""
AS_OTHER = {"qrels": "give --as run", "run": "give --as qrels"}
"""What to do with a file that is not what --as says."""


def role_of(source: Source, options: Options) -> str | None:
    """'qrels' or 'run', None where the content may be either. Raises InputError where it cannot be read.

    A file is what the format allows; else what its first rows can be read as, completely or not.
    """
    kind = options.qrels_format or options.run_format or detect(source, options)
    if format_of(kind).no_qrels is not None:
        return "run"
    if kind == "letor":
        return "run" if options.features else "qrels"
    rows: dict[str, int] = {}
    errors: list[InputError | InputErrors] = []
    for role in ROLES:
        try:
            rows[role] = _first_rows(source, kind, ROLES[role], options)
        except (InputError, InputErrors) as error:
            errors.append(error)
    if not rows:
        raise errors[0]
    most = max(rows.values())
    found = [role for role, count in rows.items() if count == most]
    return found[0] if len(found) == 1 else None


def _first_rows(source: Source, kind: str, number: str, options: Options) -> int:
    """How many rows the first block with any has, read as qrels (number: 'grade') or as a run ('score')."""
    table = reader(kind).table(source, number, options)
    for block in table.source.blocks():
        columns = table.columns(block)
        if columns.problems.final and not len(columns.value):
            problems = Problems(source.name)
            problems.add(columns.problems)
            problems.check()
        if columns.lines:
            return len(columns.value)
    return 0

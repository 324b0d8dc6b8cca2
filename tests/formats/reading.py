"""Files as their readers give them, in small blocks."""

from helpers import error_of
from plain import Cut

from gradeval.errors import GradevalError
from gradeval.formats.detect import kind_of, reader
from gradeval.formats.problems import Problems
from gradeval.options import Options

RATING = "Remove rows without a judgment, or name the column rating: an empty rating is unjudged"


def read(source, number="score", **options):
    """(query, document, number) of each row, and the 0-based line of each. Raises the errors of the file."""
    chosen = Options(**options)
    table = reader(kind_of(source, number, chosen))(source, number, chosen)
    problems = Problems(source.name)
    rows, lines = [], []
    for before, part in problems.until_enough(map(table.columns, table.blocks())):
        queries = [
            one
            for one, n in zip(part.queries.tolist(), part.bounds[1:] - part.bounds[:-1], strict=True)
            for _ in range(n)
        ]
        texts = [
            [one.decode("utf-8", "surrogateescape") for one in column]
            for column in (queries, part.documents.tolist())
        ]
        rows += zip(*texts, part.value.tolist(), strict=True)
        lines += (part.line + before).tolist()
    problems.check()
    return rows, lines


def errors_of(source, number="score", **options):
    error = error_of(GradevalError, read, source, number, **options)
    return [line.removeprefix(source.name).removeprefix(":") for line in error.splitlines()]


class Small(Cut):
    """A source whose chunks have this size too."""

    def chunks(self, size=0):
        return super().chunks(size or self.size)

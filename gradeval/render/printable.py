"""Results as text: what every printable result can do, and its document written in a format.

The module of a writer, and the layout of a result, are found by their names and imported when they are used.
"""

from __future__ import annotations

import sys
import warnings
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from itertools import chain
from typing import Any, ClassVar, TypeVar

from gradeval.errors import GradevalError, OptionError, described, inert
from gradeval.notices import EvaluationWarning, Notice, lines
from gradeval.options import check_known, whole
from gradeval.render import WRITERS, Digits, Format
from gradeval.render.document import OutputDocument, RenderOptions, Rows

LABELLED = [name for name, writer in WRITERS.items() if writer.part in ("rows", "records")]
"""The formats that labels are in front of."""


def write(document: OutputDocument, options: RenderOptions) -> str:
    """The document in a format, with '\\n' at the end of each line. Raises OptionError."""
    formats = [name for name, writer in WRITERS.items() if getattr(document, writer.part) is not None]
    formats = formats if document.page is None else ["html"]
    if not isinstance(options.format, str) or options.format not in formats:
        raise OptionError(f"unknown format '{options.format}': choose from {', '.join(formats)}")
    if options.label and options.format not in LABELLED:
        raise OptionError(f"label requires one of the formats {', '.join(LABELLED)}")
    if document.page is not None:
        return document.page()
    writer = WRITERS[options.format]
    write = getattr(import_module(f"gradeval.render.{writer.module}"), f"write_{options.format}")
    text: str = write(_labelled_part(document, writer.part, options.label), options)
    if not document.is_log:
        return text
    return inert(text, r"\u00") if writer.part in ("content", "records") else inert(text)


def _labelled_part(document: OutputDocument, name: str, label: Mapping[str, str]) -> Any:
    """The part of this name, with the columns of the label in front. Raises OptionError."""
    part = getattr(document, name)()
    if not label:
        return part
    return [_labelled(rows, label) for rows in part] if name == "rows" else _labelled(part, label, True)


def _labelled(
    part: Iterable[Mapping[str, Any]] | Rows, label: Mapping[str, str], in_json: bool = False
) -> list[dict[str, Any]] | Rows:
    """The rows or records with columns in front, which have the same value in all. Raises OptionError."""
    records = [] if isinstance(part, Rows) else list(part)
    columns = part.head if isinstance(part, Rows) else chain.from_iterable(records)
    if taken := [name for name in columns if name in label]:
        raise OptionError(f"label {taken[0]}: the output has a column of this name")
    if not isinstance(part, Rows):
        return [{**label, **record} for record in records]
    from json import dumps  # which few commands need

    values = [dumps(value) if in_json else value for value in label.values()]
    parts = ([[*values, *row] for row in rows] for rows in part.parts)
    names = (*range(len(label)), *(column + len(label) for column in part.names))
    return Rows((*label, *part.head), parts, frozenset(names))


class Printable:
    """A result that can be printed. layout: the module whose document() does it, imported only then."""

    layout: ClassVar[str]
    default_format: ClassVar[Format] = "table"
    # public names, with those of its bases, that are for layouts and commands: completion leaves them out
    _for_layouts: ClassVar[tuple[str, ...]] = ("layout", "default_format", "runs_read")

    def __dir__(self) -> list[str]:
        hidden = {name for base in type(self).__mro__ for name in vars(base).get("_for_layouts", ())}
        return [name for name in super().__dir__() if name not in hidden]

    def render(
        self,
        format: Format | None = None,
        *,
        digits: Digits = 4,
        colour: bool = False,
        width: int | None = None,
        spreadsheet: bool = False,
        header: bool = True,
        label: Mapping[str, str] | None = None,
        **choices: Any,
    ) -> str:
        """The result as text in one of its formats, by default a table, with '\\n' at the end of each line.

        digits: decimals, or 'full' for the shortest representation that round-trips; json and jsonl are always
        exact. colour, width: of tables: terminal codes, and the width of the terminal (None: no limit).
        spreadsheet: for csv: a single quote before text that a spreadsheet would read as a formula. header:
        whether tsv and csv have a line of column names. label: the names and the values of columns in front, in
        tsv, csv and jsonl. choices: what to print, arguments of the layout's document(). Raises OptionError.
        Encode the text with errors='surrogateescape' to write ids as the bytes that were read.
        """
        digits = digits if digits == "full" else whole("digits", digits, 0, 100)
        format = self.default_format if format is None else format
        options = RenderOptions(
            digits, colour, width, spreadsheet, format=format, header=header, label=label or {}
        )
        layout = import_module(self.layout).document  # whose choices all have defaults
        keywords: list[dict[str, Any] | None] = [self.render.__kwdefaults__, layout.__kwdefaults__]
        check_known(choices, [*chain(*(defaults or {} for defaults in keywords))])
        return write(layout(self, options, **choices), options)

    def __str__(self) -> str:
        return self.render()

    def _repr_html_(self) -> str:
        html = import_module("gradeval.render.markup")
        document: OutputDocument = import_module(self.layout).document(self, RenderOptions())
        if document.page is not None:
            return str(html.page(document.page()))
        caveats = [line for line in self._caveats() if not _is_shown(line)]
        return str(html.write_html(document.blocks() if document.blocks else (), caveats))

    def _caveats(self) -> list[str]:
        """Lines below the result."""
        return []


class WithNotices(Printable):
    """A result with caveats, which str() prints below it."""

    @property
    def notices(self) -> Sequence[Notice]:
        """What a user should know about it."""
        return ()

    @property
    def runs_read(self) -> int:
        """How many runs the notices may be about."""
        return 1

    @property
    def warnings(self) -> tuple[str, ...]:
        """The notices as text, a line for each kind."""
        return tuple(lines(self.notices, self.runs_read, in_python=True))

    def sentences(self, informational: bool, shown: Iterable[Notice] = ()) -> list[str]:
        """The warnings, or the notes, as text. shown: those that are left out."""
        return list(lines(of_kind(self.notices, informational, shown), self.runs_read, in_python=True))

    def __str__(self) -> str:
        return "".join([self.render(), *(f"{line}\n" for line in self._caveats())])

    def _caveats(self) -> list[str]:
        warnings = [f"warning: {text}" for text in self.sentences(False)]
        return warnings + [f"note: {text}" for text in self.sentences(True)]


class WithNoticeGroups(WithNotices):
    """A result of several evaluations, whose caveats have a line for each kind and evaluation."""

    @property
    def noticed(self) -> tuple[tuple[Notice, ...], ...]:
        """The notices in groups, each with a line for each kind."""
        return ()

    @property
    def notices(self) -> tuple[Notice, ...]:
        return tuple(chain(*self.noticed))

    @property
    def warnings(self) -> tuple[str, ...]:
        return (*self.sentences(False), *self.sentences(True))

    def sentences(self, informational: bool, shown: Iterable[Notice] = ()) -> list[str]:
        groups = (of_kind(notices, informational, shown) for notices in self.noticed)
        return list(dict.fromkeys(chain(*(lines(group, self.runs_read, in_python=True) for group in groups))))


def of_kind(notices: Iterable[Notice], informational: bool, shown: Iterable[Notice] = ()) -> list[Notice]:
    """The notes, or the others, that were not shown, of the same run or of none."""
    shown = set(shown)
    return [
        notice
        for notice in notices
        if notice.informational is informational and shown.isdisjoint((notice, notice.replace(subject="")))
    ]


Noticed = TypeVar("Noticed", bound=WithNotices)


def warned(result: Noticed, shown: Iterable[Notice] = ()) -> Noticed:
    """The result, after warnings without notes. shown: given before."""
    for text in result.sentences(False, shown=shown):
        warn(text)
    return result


_CELLS: dict[str, int] = {}  # each warning in a notebook: the cell that showed it last


def _cell() -> int | None:
    """The number of the cell of a notebook that is executed, None elsewhere."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return None if shell is None else int(shell.execution_count)


def _is_shown(line: str) -> bool:
    """Whether the cell has shown a line below a result as a warning of Python."""
    shown = _CELLS.get(line.removeprefix("warning: "))
    return shown is not None and shown == _cell()


def warn(text: str) -> None:
    """Warn at the line that called gradeval."""
    if (cell := _cell()) is not None:
        rules = (rule for rule in warnings.filters if issubclass(EvaluationWarning, rule[2]))
        actions = [action for action, message, _, module, _ in rules if message is None and module is None]
        if "ignore" not in actions[:1]:
            _CELLS[text] = cell
    frame = sys._getframe()
    level = 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "gradeval":
        frame = frame.f_back
        level = level + 1
    warnings.warn(text, EvaluationWarning, stacklevel=level)


# --- rows as data frames of other libraries, which are imported when they are asked for

_EXTRAS = {"pyarrow": "gradeval[arrow]", "jinja2": "gradeval[report]"}


class Tabular:
    """A result with rows, which are frames too."""

    @abstractmethod
    def rows(self) -> Sequence[Mapping[str, Any]]:
        """A dict for each row."""

    def to_pandas(self) -> Any:
        """A pandas.DataFrame with its rows()."""
        return library("pandas").DataFrame(list(self.rows()))

    def to_polars(self) -> Any:
        """A polars.DataFrame with its rows()."""
        return library("polars").DataFrame(list(self.rows()), infer_schema_length=None)


def frame_of(columns: Mapping[str, Sequence[Any]], name: str, index: Sequence[str]) -> Any:
    """The columns as a frame of pandas, with these as its index, or of polars, which has none."""
    if name == "pandas":
        return library(name).DataFrame(columns).set_index(list(index) if len(index) > 1 else index[0])
    if name == "polars":
        return library(name).DataFrame(columns)
    raise OptionError(f"library must be pandas or polars, not {described(name)}")


def library(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        hint = f"pip install '{_EXTRAS.get(name, name)}'"
        raise GradevalError(f"{name} is not installed. Install it with {hint}") from None

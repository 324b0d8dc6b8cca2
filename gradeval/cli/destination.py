"""Where results are printed: the file or the terminal, the format, colours and width."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from gradeval.cli import output as out

if TYPE_CHECKING:
    from gradeval.formats.output_file import OutputFile


def has_colour(on_terminal: bool) -> bool:
    """Whether the table may have colours."""
    return on_terminal and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"


@dataclass(frozen=True)
class Destination:
    """file: None for standard output. format: one of the command's."""

    file: OutputFile | None
    format: str
    on_terminal: bool

    @classmethod
    def of(
        cls,
        file: OutputFile | None,
        format_: str | None,
        formats: Iterable[str],
        *,
        table: str | None = None,
        spreadsheet: bool = False,
        otherwise: str = "tsv",
        more: Sequence[str] = (),
    ) -> Destination:
        """format_, table, spreadsheet: those of the options. otherwise: the format where nothing sets it. more:
        endings of what is written by others, which messages name. Raises UsageError, OptionError.
        """
        used = format_ or out.default_format(file, formats, otherwise, more=more)
        if table is not None and used not in ("tsv", "csv"):
            raise click.UsageError("--table requires -f tsv or -f csv.")
        if spreadsheet and used != "csv":
            raise click.UsageError("--spreadsheet requires -f csv.")
        return cls(file, used, file is None and out.on_terminal())

    @property
    def has_colour(self) -> bool:
        return has_colour(self.on_terminal)

    @property
    def style(self) -> dict[str, Any]:
        """What the renderers take."""
        return {
            "colour": self.has_colour,
            "width": out.columns() if self.on_terminal else None,
        }

    def write(self, text: str) -> None:
        out.write(text, self.file, styled=self.format == "table")

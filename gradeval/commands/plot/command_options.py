"""What the commands of gradeval plot share: options, and the way from a picture to its output."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from gradeval import process
from gradeval.cli import output as out
from gradeval.cli.arguments import asked_queries, input_files, naming_queries, output_file
from gradeval.cli.destination import Destination
from gradeval.cli.options import output_options, row_option, section, table_option, together
from gradeval.cli.types import OutputPath
from gradeval.commands.compare.options import CompareOptions
from gradeval.commands.plot.file import SUFFIXES
from gradeval.options import parse_number

if TYPE_CHECKING:
    from gradeval.commands.plot.picture import Picture
    from gradeval.formats.output_file import OutputFile
    from gradeval.render.progress import Progress

FORMATS = ("table", "tsv", "csv", "json")
Decorated = TypeVar("Decorated", bound=Callable[..., Any])
_WITHOUT_BLOCKS = ("dumb", "linux")  # terminals whose fonts lack block characters

DRAWING = "Picture"
drawing = section(DRAWING)


class Size(click.ParamType):  # type: ignore[type-arg]
    """Width and height in inches."""

    name = "WxH"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[float, float]:
        if isinstance(value, tuple):
            return value
        width, x, height = value.lower().partition("x")
        try:
            size = parse_number(width), parse_number(height)
        except ValueError:
            size = (0.0, 0.0)
        if not x or not all(0 < one <= 100 for one in size):
            self.fail(f"'{value}' is not a width and height in inches, such as 5x3.", param, ctx)
        return size


def mean_confidence_option(of: str) -> Callable[[Decorated], Decorated]:
    return row_option(
        CompareOptions, "confidence", section=DRAWING, help=f"Of the intervals of {of}. Default: 95."
    )


def picture_options(*tables: str) -> Callable[[Decorated], Decorated]:
    """How the picture is drawn, and the options of the output. tables: the names of those behind it."""
    return together(
        drawing(
            "--save",
            type=OutputPath(),
            metavar="FILE",
            help=f"Save the picture too, atomically. Its ending sets the format: {', '.join(SUFFIXES)}. "
            "Requires matplotlib: pip install 'gradeval[plot]'.",
        ),
        drawing(
            "--size",
            type=Size(),
            metavar="WxH",
            help="Width and height of the saved picture in inches, such as 5x3.",
        ),
        drawing(
            "--ascii",
            is_flag=True,
            help="Draw with ASCII characters only. Default: on terminals without block characters.",
        ),
        table_option(tables),
        output_options(FORMATS, default="table, the picture in characters"),
    )


def run_plot(
    draw: Callable[[Progress, dict[str, Any]], Picture], given: dict[str, Any], inputs: Sequence[str] = ()
) -> int:
    """Draw a picture, print it, and save it. given: its options, and those that all pictures have.

    draw: is given those of its own. inputs: files that are read, though no argument of type File names them.
    """
    common = ("format_", "table", "digits", "output", "save", "size", "ascii", "spreadsheet", "quiet")
    format_, table, digits, output, path, size, ascii_only, spreadsheet, quiet = map(given.pop, common)
    strict, allow = given.pop("strict", False), given.pop("allow", ())
    read = [*input_files(), *inputs]
    asked = asked_queries(given.pop("query_ids", None))
    if asked is not None:
        given["query_ids"] = asked.chosen
    file = output_file(output, read)
    picture_file, kind = _picture_file(path, size, read)
    if file is not None and picture_file is not None and os.path.realpath(output) == os.path.realpath(path):
        raise click.UsageError("--output and --save name the same file.")
    destination = Destination.of(
        file, format_, FORMATS, table=table, spreadsheet=spreadsheet, otherwise="table"
    )

    from gradeval.render.progress import Progress

    out.treat_warnings(quiet, strict)
    process.imported()
    if "jobs" in given:
        given["jobs"] = given["jobs"] or 0
    with naming_queries(asked), Progress(enabled=False if quiet else None) as progress:
        picture = draw(progress, given)
    warnings = list(asked.warnings if asked else ())
    data = b""
    if picture_file is not None:
        from gradeval.commands.plot.file import image, without_glyphs

        data, missing = image(picture, kind, size)
        warnings += [without_glyphs(missing)] if missing else []
    if not out.passes(warnings, picture.notices, picture.runs_read, quiet, strict, allow):
        return 2
    text = picture.render(
        destination.format,
        table=table,
        digits=digits,
        ascii=ascii_only or (destination.on_terminal and _lacks_blocks()),
        spreadsheet=spreadsheet,
        **destination.style,
    )
    if picture_file is not None:
        out.write_data(data, picture_file)
    destination.write(text)
    return 0


def _picture_file(path: str | None, size: object, read: Sequence[str]) -> tuple[OutputFile | None, str]:
    """The file of --save and its format; what would prevent it is found before anything is read."""
    if path is None:
        if size is not None:
            raise click.UsageError("--size requires --save.")
        return None, ""
    from gradeval.commands.plot.file import check_matplotlib, format_of

    kind = format_of(path, "--save")
    check_matplotlib()
    return output_file(path, read, "--save"), kind


def _lacks_blocks() -> bool:
    """Whether the terminal cannot show block characters."""
    encoding = (sys.stdout.encoding or "").lower().replace("-", "").replace("_", "")
    return encoding != "utf8" or os.environ.get("TERM") in _WITHOUT_BLOCKS

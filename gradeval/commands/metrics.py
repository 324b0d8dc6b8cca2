"""gradeval metrics: the list of metrics and their pages."""

from __future__ import annotations

import click

from gradeval.cli.options import Command, complete_metric, option


@click.command("metrics", cls=Command)
@click.argument("names", metavar="[NAME]...", nargs=-1, shell_complete=complete_metric)
@option("--family", "List the metrics of a family.", "NAME", default="")
@option("--graded", "List metrics that distinguish degrees of relevance.")
@option(
    "--search",
    "List metrics whose names or page contain all WORDS, the best matches first.",
    "WORDS",
    default="",
)
def metrics_command(names: tuple[str, ...], family: str, graded: bool, search: str) -> None:
    """List the metrics, or show the formula, parameters, range and source of NAME."""
    from shutil import get_terminal_size

    from gradeval.cli import job as out
    from gradeval.registry.pages import WIDTH, page, table
    from gradeval.registry.spec import load_plugins

    if names and (family or graded or search):
        raise click.UsageError("NAME and --family, --graded or --search are mutually exclusive.")
    width = get_terminal_size().columns if out.on_terminal() else WIDTH
    text = "\n\n".join(page(name, width) for name in names) if names else table(family, search, graded)
    out.write(text + "\n")
    for failed in () if names else load_plugins():
        out.echo_error(f"warning: {failed}")

"""gradeval metrics: what there is, and what each means."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


def complete_metric(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The metric names that begin like this, for the shell."""
    from click.shell_completion import CompletionItem

    from gradeval.metrics import load
    from gradeval.metrics.registry import REGISTRY

    load()
    start = incomplete.lower()
    return [
        CompletionItem(name, help=metric.summary)
        for name, metric in REGISTRY.items()
        if name.lower().startswith(start)
    ]


@click.command("metrics", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("names", metavar="[NAME]...", nargs=-1, shell_complete=complete_metric)
def metrics_command(names: tuple[str, ...]) -> None:
    """List the metrics, or show what NAME means, takes and promises."""
    from gradeval.render.metrics import page, table

    click.echo("\n\n".join(page(name) for name in names) if names else table())

"""gradeval metrics: the list of metrics and their pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from gradeval.cli.command import Command

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


def complete_metric(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The completions of a metric name: our names, aliases, trec_eval's names, groups."""
    from click.shell_completion import CompletionItem

    from gradeval.registry.dialects.trec_eval import names_of
    from gradeval.registry.families import load
    from gradeval.registry.groups import GROUPS
    from gradeval.registry.metric import REGISTRY
    from gradeval.registry.spec import fold

    load()
    names = {fold(metric.name): (metric.name, metric.summary) for metric in REGISTRY.values()}
    for metric in REGISTRY.values():
        for name in (*metric.aliases, *names_of(metric.name)):
            names.setdefault(fold(name), (name, metric.summary))
    names |= {name: (name, group.about) for name, group in GROUPS.items()}
    return [
        CompletionItem(name, help=about)
        for folded, (name, about) in names.items()
        if folded.startswith(fold(incomplete))
    ]


@click.command("metrics", cls=Command, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("names", metavar="[NAME]...", nargs=-1, shell_complete=complete_metric)
def metrics_command(names: tuple[str, ...]) -> None:
    """List the metrics, or show the formula, parameters, range and source of NAME."""
    from gradeval.cli import output as out
    from gradeval.registry.plugins import load_plugins
    from gradeval.render.metrics import page, table

    out.write(("\n\n".join(page(name) for name in names) if names else table()) + "\n")
    for failed in () if names else load_plugins():
        out.echo_error(f"warning: {failed}")

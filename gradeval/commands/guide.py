"""gradeval guide: the user guide, a page for each topic."""

from __future__ import annotations

import re
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gradeval.cli import output as out
from gradeval.cli.job import Job, with_job
from gradeval.cli.options import Command
from gradeval.errors import OptionError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

PAGES = Path(__file__).parents[1] / "guide"
TOPICS = (  # in the order of the list
    *("evaluating", "formats", "ties-and-holes", "warnings", "comparing", "explaining", "pictures", "ci"),
    *("nightly", "python", "spark", "studies", "plugins", "internals"),
)


class Topic(click.ParamType):  # type: ignore[type-arg]
    """The name of a page."""

    name = "topic"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value.lower() in TOPICS:
            return value.lower()
        near = [topic for topic in TOPICS if value.lower() in topic] or get_close_matches(value.lower(), TOPICS)
        hint = f"did you mean {near[0]}?" if near else f"the topics are {', '.join(TOPICS)}"
        raise OptionError(f"unknown topic '{value}': {hint}")

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        return [CompletionItem(name, help=about(name)) for name in TOPICS if name.startswith(incomplete)]


@click.command(
    "guide",
    cls=Command,
    short_help="Show the user guide.",
    epilog="""\b
Examples:
  gradeval guide                      the topics
  gradeval guide comparing            a page
  gradeval guide warnings | less      its Markdown
  gradeval guide --search bootstrap   the lines with this word""",
)
@click.argument("topic", required=False, type=Topic())
@click.option(
    "--search", "word", metavar="WORD", help="List the lines that contain WORD, with topic and heading."
)
@with_job()
def guide_command(job: Job, topic: str | None, word: str | None) -> None:
    """Show a page of the user guide, or list its topics.

    A page is formatted on a terminal, and plain Markdown in a pipe.
    """
    if word is not None:
        if topic:
            raise click.UsageError("TOPIC and --search are mutually exclusive.")
        if not word.strip():
            raise click.UsageError("--search requires a word.")
        hits = ""
        for name in TOPICS:
            heading, in_block = "", False
            for line in text_of(name).splitlines():
                if line.startswith("```"):
                    in_block = not in_block
                elif not in_block and re.match("#+ ", line):
                    heading = line.lstrip("# ")
                if word.lower() in line.lower():
                    hits += f"{name}: {heading}: {line}\n"
        if not hits:
            raise OptionError(f"no page of the guide contains '{word}'")
        out.write(hits)
    elif topic is None:
        width = max(map(len, TOPICS))
        topics = "".join(f"{name:<{width}}  {about(name)}\n" for name in TOPICS)
        out.write(
            f"{topics}\n'gradeval guide TOPIC' shows a page, 'gradeval guide --search WORD' finds a word.\n"
        )
    elif job.on_terminal:
        from gradeval.render.table import page

        out.write(page(text_of(topic), **job.style), styled=True)
    else:
        out.write(text_of(topic))


def text_of(topic: str) -> str:
    return (PAGES / f"{topic}.md").read_text("utf-8")


def about(topic: str) -> str:
    """The line about a page: its first paragraph."""
    return text_of(topic).split("\n")[2]

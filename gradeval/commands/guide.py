"""gradeval guide: the user guide, a page for each topic."""

from __future__ import annotations

import re
from pathlib import Path

import click

from gradeval.cli.job import Job, with_job
from gradeval.cli.options import Command, option
from gradeval.errors import OptionError

PAGES = Path(__file__).parents[1] / "guide"
TOPICS = (  # in the order of the list
    *("evaluating", "formats", "ties-and-holes", "warnings", "comparing", "explaining", "pictures", "ci"),
    *("nightly", "python", "spark", "studies", "plugins", "internals"),
)


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
@click.argument("topic", required=False, metavar="[TOPIC]", type=click.Choice(TOPICS, case_sensitive=False))
@option("--search word", "List the lines that contain WORD, with topic and heading.", "WORD")
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
        text = ""
        for name in TOPICS:
            heading, in_block = "", False
            for line in text_of(name).splitlines():
                if line.startswith("```"):
                    in_block = not in_block
                elif not in_block and re.match("#+ ", line):
                    heading = line.lstrip("# ")
                if word.lower() in line.lower():
                    text += f"{name}: {heading}: {line}\n"
        if not text:
            raise OptionError(f"no page of the guide contains '{word}'")
    elif topic is None:
        width = max(map(len, TOPICS))
        # the line about a page is its first paragraph
        text = "".join(f"{name:<{width}}  {text_of(name).splitlines()[2]}\n" for name in TOPICS)
        text += "\n'gradeval guide TOPIC' shows a page, 'gradeval guide --search WORD' finds a word.\n"
    elif job.on_terminal:
        from gradeval.render.table import page

        job.format = "table"  # which is styled
        text = page(text_of(topic), **job.style)
    else:
        text = text_of(topic)
    job.write(text)


def text_of(topic: str) -> str:
    return (PAGES / f"{topic}.md").read_text("utf-8")

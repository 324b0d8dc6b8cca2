"""gradeval guide and gradeval metrics: the user guide, and the descriptions of metrics."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from shlex import quote
from typing import Any, NamedTuple

import click
from click.core import ParameterSource

from gradeval.cli import options as cli
from gradeval.cli.job import Job, echo_error, on_terminal, with_job, write
from gradeval.errors import MetricError, OptionError, described
from gradeval.registry.catalogue import hanging
from gradeval.registry.synonyms import is_in, synonyms

PAGES = Path(__file__).parents[1] / "guide"
TOPICS = (  # in the order of the list
    *("evaluating", "formats", "ties-and-holes", "warnings", "comparing", "changing", "judges"),
    *("explaining", "pictures", "ci", "nightly", "schemas", "python", "api", "spark", "studies", "plugins"),
    *("vectors", "promise", "internals", "changelog"),
)

_SCHEMAS = "schemas"
_PAGES = tuple(
    topic for topic in TOPICS if topic != "changelog"
)  # it is searched where no other page has a word


class _Topic(click.Choice):  # type: ignore[type-arg]
    """A page of the guide; an error names the one that is meant."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        near = [topic for topic in TOPICS if topic.startswith(value.lower())]
        near += [topic for topic in TOPICS if value.lower() in topic]
        if value.lower() in TOPICS:
            return super().convert(value, param, ctx)
        meant = next(iter(near), None) or cli.nearest_name(value.lower(), TOPICS)
        hint = f"Did you mean '{meant}'?" if meant else f"Choose from {', '.join(TOPICS)}."
        raise click.UsageError(f"the guide has no page '{value}'. {hint} --search finds words.", ctx)


def _complete_schema(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    return [name for name in _schemas() if name.startswith(incomplete) and ctx.params["topic"] == _SCHEMAS]


@click.command(
    "guide",
    cls=cli.Command,
    short_help="Show the user guide.",
    epilog="""\b
Examples:
  gradeval guide                      the topics
  gradeval guide comparing            a page
  gradeval guide warnings | less      its Markdown
  gradeval guide --search bootstrap   the lines with this word
  gradeval guide schemas results      the JSON Schema of results""",
)
@click.argument("topic", required=False, metavar="[TOPIC]", type=_Topic(TOPICS, case_sensitive=False))
@click.argument("name", required=False, metavar="[NAME]", shell_complete=_complete_schema)
@cli.option(
    "--search word",
    "List the lines that contain WORD, or all of several words, with topic and heading.",
    "WORD",
)
@with_job()
def guide_command(job: Job, topic: str | None, name: str | None, word: str | None) -> None:
    """Show a page of the user guide, or list its topics. With the topic 'schemas', NAME is a JSON Schema.

    A page is formatted on a terminal, in a pager where it is longer than the screen, and plain Markdown in a
    pipe.
    """
    if name is not None:
        text = _schema(name, topic, word)
    elif word is not None:
        lines = _found(word, topic).splitlines()
        text = "".join(f"{hanging(line, 2, job.style['width'])}\n" for line in lines)
    elif topic is None:
        text = _topics(job.style["width"])
    elif job.on_terminal:
        from gradeval.render.table import page

        os.environ.setdefault("LESS", "FRX")  # a page that fits the screen needs no pager
        style = job.style
        click.echo_via_pager(page(text_of(topic), **style), color=style["colour"])
        return
    else:
        text = text_of(topic)
    job.write(text)


def _schema(name: str, topic: str | None, word: str | None) -> str:
    """A JSON Schema. Raises UsageError, OptionError."""
    if topic != _SCHEMAS or word is not None:
        raise click.UsageError("NAME is that of a schema: gradeval guide schemas NAME.")
    schemas = _schemas()
    if name not in schemas:
        raise OptionError(f"there is no schema {described(name)}: choose from {', '.join(schemas)}")
    return schemas[name].read_text("utf-8")


def _schemas() -> dict[str, Path]:
    return {path.stem: path for path in sorted((PAGES / _SCHEMAS).iterdir())}


def _found(word: str, topic: str | None) -> str:
    """The lines with a word. Raises UsageError, OptionError."""
    if topic:
        raise click.UsageError("TOPIC and --search are mutually exclusive.")
    if not word.strip():
        raise click.UsageError("--search requires a word.")
    equivalents = synonyms(word)
    # P@10 before precision … at … 10
    texts = (*equivalents, word) if "@" in "".join(equivalents) else (word, *equivalents)
    lines = [line for text in texts for line in _lines_with(text, _PAGES)]
    lines = lines or _lines_with(word, ("changelog",))
    if not lines:
        raise OptionError(f"no page of the guide contains '{word}'")
    return "".join(dict.fromkeys(lines))


def _topics(width: int | None) -> str:
    """A line for each page, its first paragraph, in lines of this width."""
    size = max(map(len, TOPICS))
    rows = [f"{name:<{size}}  {text_of(name).splitlines()[2]}" for name in TOPICS]
    end = hanging("'gradeval guide TOPIC' shows a page, 'gradeval guide --search WORD' finds a word.", 0, width)
    return "".join(f"{hanging(row, size + 2, width)}\n" for row in rows) + f"\n{end}\n"


def _lines_with(text: str, topics: tuple[str, ...]) -> list[str]:
    """The lines of these pages with this text, else those with all of its words, else the first lines of
    paragraphs with these, else the lines in which the words are parts of others; in lower case or not, after
    their topic and heading.
    """
    text = " ".join(text.lower().split())
    words = text.split()
    lines = _lines(topics)
    if matches := (_matches(lines, [text]) or _matches(lines, words)):
        return list(map(str, matches))
    if matches := [line for line in lines if all(is_in(word, line.paragraph) for word in words)]:
        first = {line.paragraph: str(line) for line in reversed(matches)}
        return list(reversed(first.values()))
    return [str(line) for line in lines if text in line.text.lower()]


def _matches(lines: Iterable[_Line], words: Sequence[str]) -> list[_Line]:
    return [line for line in lines if all(is_in(word, line.text.lower()) for word in words)]


class _Line(NamedTuple):
    """A line of the guide."""

    topic: str
    heading: str
    text: str
    paragraph: str  # the text between empty lines that it is in, in lower case

    def __str__(self) -> str:
        return f"{self.topic}: {self.heading}: {self.text}\n"


@cache
def _lines(topics: tuple[str, ...]) -> list[_Line]:
    lines = []
    for name in topics:
        heading = ""
        in_block = False
        for paragraph in text_of(name).split("\n\n"):
            lowered = paragraph.lower()
            for line in paragraph.splitlines():
                if line.startswith("```"):
                    in_block = not in_block
                elif not in_block and re.match("#+ ", line):
                    heading = line.lstrip("# ")
                lines.append(_Line(name, heading, line, lowered))
    return lines


def text_of(topic: str) -> str:
    return (PAGES / f"{topic}.md").read_text("utf-8")


def _terminal_width() -> int | None:
    from shutil import get_terminal_size

    return get_terminal_size().columns if on_terminal() else None


def _words(context: click.Context, param: click.Parameter, words: str) -> str:
    """Those of --search. Raises UsageError for none."""
    is_given = context.get_parameter_source(str(param.name)) is not ParameterSource.DEFAULT
    if is_given and not words.strip():
        raise click.UsageError("--search requires a word.")
    return words


def _page(name: str, width: int) -> str:
    """The description of a metric. Raises MetricError, which says how to search for words."""
    from gradeval.registry.pages import page

    try:
        return page(name, width)
    except MetricError as error:
        if " " not in name:
            raise
        raise MetricError(error.what, hint=f'"gradeval metrics --search {quote(name)}" finds words') from None


@click.command("metrics", cls=cli.Command)
@click.argument("names", metavar="[NAME]...", nargs=-1, shell_complete=cli.complete_metric)
@cli.option("--family", "List the metrics of a family.", "NAME", default="")
@cli.option("--graded", "List metrics that distinguish degrees of relevance.")
@cli.option(
    "--search",
    "List metrics whose names or page contain all WORDS, the best matches first.",
    "WORDS",
    default="",
    callback=_words,
)
@cli.option("--vectors", "Print conformance vectors as JSON: small inputs with exact values, of NAME or all.")
@cli.option("--bibtex", "Print the sources of NAME, or of all metrics, as BibTeX.")
def metrics_command(
    names: tuple[str, ...], family: str, graded: bool, search: str, vectors: bool, bibtex: bool
) -> None:
    """List the metrics, or show the formula, parameters, range and source of NAME."""
    if (names or vectors or bibtex) and (family or graded or search):
        message = "NAME, --vectors or --bibtex and --family, --graded or --search are mutually exclusive."
        raise click.UsageError(message)
    if vectors and bibtex:
        raise click.UsageError("--vectors and --bibtex are mutually exclusive.")
    if bibtex:
        from gradeval.registry.sources import bibtex_of

        write(bibtex_of(names))
        return
    if vectors:
        from gradeval.registry.vectors import text as text_of_vectors

        write(text_of_vectors(names))
        return
    width = _terminal_width()
    if not (names or graded or search):
        from gradeval.registry import catalogue

        if not catalogue.has_plugins():  # the list of our own needs no numpy
            write(catalogue.table(family, width) + "\n")
            return

    from gradeval.registry.pages import WIDTH, table
    from gradeval.registry.spec import load_plugins

    text = "\n\n".join(_page(name, width or WIDTH) for name in names)
    write((text or table(family, search, graded, width=width)) + "\n")
    if not names:
        for failed in load_plugins():
            echo_error(f"warning: {failed}")

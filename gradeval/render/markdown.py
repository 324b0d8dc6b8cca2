"""Pages in Markdown on a terminal."""

from __future__ import annotations

import re

from rich.console import Console
from rich.markdown import Markdown
from rich.theme import Theme

_LINK = re.compile(r"\[([^\]]+)\]\(([\w-]+)\.md(?:#[\w-]*)?\)")  # to another page
_BLOCK = re.compile(r"^```\w+$", re.MULTILINE)  # whose colours would be those of a language, not of a terminal
_WIDTH = 102  # the most characters of a line; examples have 100
_STYLES = {
    "h1": "bold",
    "h2": "bold cyan",
    "h3": "bold",
    "code": "cyan",
    "table.border": "dim",
    "item.bullet": "",
}


def page(text: str, colour: bool, width: int) -> str:
    """A page of the guide for a terminal; its links to other pages become the commands that show them."""
    text = _BLOCK.sub("```text", _LINK.sub(r"\1 (`gradeval guide \2`)", text))
    console = Console(
        width=min(width, _WIDTH),
        color_system="standard" if colour else None,
        force_terminal=colour,
        theme=Theme({f"markdown.{name}": style for name, style in _STYLES.items()}),
    )
    with console.capture() as capture:
        console.print(Markdown(text, code_theme="ansi_dark", hyperlinks=False))
    return "".join(f"{line.rstrip()}\n" for line in capture.get().splitlines())

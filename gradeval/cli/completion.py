"""Completion in bash, zsh and fish: what a shell is offered keeps what is typed, since it replaces that."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from click import shell_completion as click
from click.shell_completion import CompletionItem, split_arg_string

SCRIPTS = Path(__file__).parent / "completions"


class _Typed(click.ShellComplete):
    """Click's, with our own script; for --option=value, -ovalue and --sort -METRIC the whole word."""

    def source(self) -> str:
        super().source()  # says that a bash is too old
        return (SCRIPTS / f"gradeval.{self.name}").read_text("utf-8")

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem[Any]]:
        is_reversed = args[-1:] == ["--sort"] and incomplete.startswith("-")
        match = re.match("-" if is_reversed else r"(--[^=]+)=-?|(-\w)(?=.)", incomplete)
        if match is None:
            return super().get_completions(args, incomplete)
        option = [name for name in match.groups() if name]
        items = super().get_completions([*args, *option], incomplete[match.end() :])
        for item in items:
            if item.type == "plain":  # the scripts themselves take files behind the =
                item.value = match[0] + item.value
        return items


class Zsh(_Typed, click.ZshComplete):
    pass


class Fish(_Typed, click.FishComplete):
    pass


class Bash(_Typed, click.BashComplete):
    """It replaces what follows the last of COMP_WORDBREAKS, or the quote that is open, as it is typed."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.line = os.environ.get("COMP_LINE", "")[: int(os.environ.get("COMP_POINT") or 0)]
        self.start, self.replaced, self.quote = _last_word(self.line, os.environ.get("COMP_WORDBREAKS", ""))

    def get_completion_args(self) -> tuple[list[str], str]:
        return split_arg_string(self.line[: self.start])[1:], _value(self.line[self.start :])

    def format_completion(self, item: CompletionItem[Any]) -> str:
        if item.type != "plain":
            return super().format_completion(item)
        value = item.value.removeprefix(_value(self.line[self.start : self.replaced]))
        typed = self.line[self.replaced :]
        added = value.removeprefix(_value(self.quote + typed))
        return f"plain,{typed if added != value else ''}{self._quoted(added)}"

    def _quoted(self, text: str) -> str:
        special = {"'": "(?!)", '"': r'["$`\\]'}.get(self.quote, r"[^\w@%+=:,./~^\-]")
        return re.sub(f"({special})", r"\\\1", text)


def _last_word(line: str, breaks: str) -> tuple[int, int, str]:
    """Where the last word begins, where the part of it begins that bash replaces, and the open quote or ''."""
    start = replaced = 0
    quote = ""
    is_escaped = False
    for index, char in enumerate(line, 1):
        if is_escaped:
            is_escaped = False
        elif char == "\\" and quote != "'":
            is_escaped = True
        elif char in (quote or "'\""):
            quote = "" if quote else char
            replaced = index
        elif not quote and char.isspace():
            start = replaced = index
        elif not quote and char in breaks:
            replaced = index - (char == "@")  # it begins the word: the name of a host
    return start, replaced, quote


def _value(typed: str) -> str:
    """A word without its quotes and backslashes."""
    return "".join(split_arg_string(typed)[:1])


def use() -> None:
    """Makes these the classes that click uses."""
    for shell in (Bash, Zsh, Fish):
        click.add_completion_class(shell)

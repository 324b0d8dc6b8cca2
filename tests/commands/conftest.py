"""Folders with qrels and runs in them, which are the current ones."""

from cli.conftest import folder as folder

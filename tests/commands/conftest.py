"""Folders with qrels and runs in them, which are the current ones."""

from __future__ import annotations

from cli.conftest import folder as folder

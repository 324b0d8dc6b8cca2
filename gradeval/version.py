"""The version, where everything can import it, and how JSON documents name it and their schema."""

from __future__ import annotations

__version__ = "1.0.0rc1"


def schema_of(name: str) -> str:
    """What a JSON document says it follows: one of the schemas in guide/schemas."""
    return f"gradeval/{name}/1"


def document_head(name: str, format_key: str = "format") -> dict[str, str | int]:
    """The first keys of a JSON document. format_key: of its version, which is older than the schemas."""
    return {"gradeval": __version__, "schema": schema_of(name), format_key: 1}

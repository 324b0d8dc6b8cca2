"""The conformance vectors: small inputs with the exact values of each metric, for other implementations."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from gradeval.errors import MetricError
from gradeval.registry.spec import metric_of

_FILE = Path(__file__).with_name("vectors.json")  # made by tests/vectors.py


def vectors(names: Collection[str] = ()) -> dict[str, Any]:
    """The vectors of metrics, of all by default, as 'gradeval guide vectors' describes them.
    Raises MetricError for an unknown name, or one that has none: plugins, and the tag of a run.
    """
    stored = json.loads(_FILE.read_text("utf-8"))
    wanted = [metric_of(name).name for name in names]
    for name in wanted:
        if name not in stored["sources"]:
            raise MetricError(f"{name} has no vectors", hint="all built-in metrics except runid have vectors")
    return {"version": stored["version"], "vectors": list(_expanded(stored, wanted or stored["sources"]))}


def _expanded(stored: dict[str, Any], wanted: Collection[str]) -> Iterator[dict[str, Any]]:
    """The vectors of these metrics, each with its data, which many share in the file."""
    for vector in stored["vectors"]:
        name = vector["name"]
        if name in wanted:
            yield {
                "metric": vector["metric"],
                "options": vector["options"],
                **stored["collections"][vector["collection"]],
                "queries": vector["queries"],
                "mean": vector["mean"],
                "source": stored["sources"][name],
            }


def text(names: Collection[str] = ()) -> str:
    """The vectors as JSON, one in each line."""
    document = vectors(names)
    lines = ",\n".join(json.dumps(vector, ensure_ascii=False) for vector in document["vectors"])
    return f'{{"version": {document["version"]}, "vectors": [\n{lines}\n]}}\n'

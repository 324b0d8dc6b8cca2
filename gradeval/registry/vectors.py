"""The conformance vectors: small inputs with the exact values of each metric, for other implementations."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

from gradeval.errors import MetricError
from gradeval.registry.spec import group_of, metric_of, parse

_FILE = Path(__file__).with_name("vectors.json")  # made by tests/vectors.py


def vectors(names: Collection[str] = ()) -> dict[str, Any]:
    """The vectors of metrics, of all by default, as 'gradeval guide vectors' describes them: of a name without
    parameters all of its metric, of a group those of its metrics.
    Raises MetricError for an unknown name, or one that has none: plugins, and the tag of a run.
    """
    stored = json.loads(_FILE.read_text("utf-8"))
    wanted = {name for text in names for name in _wanted(text, stored)}
    chosen = [
        _expanded(vector, stored)
        for vector in stored["vectors"]
        if not names or wanted & {vector["name"], vector["metric"]}
    ]
    return {"version": stored["version"], "vectors": chosen}


def _wanted(text: str, stored: dict[str, Any]) -> list[str]:
    """The metrics of a name or a group, or the name with its parameters. Raises MetricError."""
    if group := group_of(text):
        metrics = (metric_of(name).name for name in group.measures)
        return [name for name in metrics if name in stored["sources"]]
    metric = metric_of(text).name
    if metric not in stored["sources"]:
        raise MetricError(f"{metric} has no vectors", hint="all built-in metrics except runid have vectors")
    if not ("@" in text or "(" in text):
        return [metric]
    specs = list(map(str, parse(text)))
    existing = dict.fromkeys(vector["metric"] for vector in stored["vectors"] if vector["name"] == metric)
    for spec in specs:
        if spec not in existing:
            raise MetricError(f"{spec} has no vectors", hint=f"{metric} has those of {', '.join(existing)}")
    return specs


def _expanded(vector: dict[str, Any], stored: dict[str, Any]) -> dict[str, Any]:
    """A vector with its data, which many share in the file."""
    return {
        "metric": vector["metric"],
        "options": vector["options"],
        **stored["collections"][vector["collection"]],
        "queries": vector["queries"],
        "mean": vector["mean"],
        "source": stored["sources"][vector["name"]],
    }


def text(names: Collection[str] = ()) -> str:
    """The vectors as JSON, one in each line."""
    document = vectors(names)
    lines = ",\n".join(json.dumps(vector, ensure_ascii=False) for vector in document["vectors"])
    return f'{{"version": {document["version"]}, "vectors": [\n{lines}\n]}}\n'

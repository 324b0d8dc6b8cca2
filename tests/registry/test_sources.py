"""The sources of metrics as BibTeX."""

import re

from cli.command import gradeval as command
from helpers import raises

import gradeval
from gradeval.registry.catalogue import by_name, declarations
from gradeval.registry.metric import REGISTRY
from gradeval.registry.sources import _entries, bibtex, bibtex_of, entries_of, source_of
from gradeval.registry.spec import load_plugins, metric_of


def test_every_source_has_an_entry_and_every_entry_a_source() -> None:
    load_plugins()
    used = set()
    for metric in REGISTRY.values():
        source = source_of(metric)
        entries = entries_of(source)
        assert len(entries) >= max(1, len(re.findall('"[^"]+"', source))), (metric.name, source)
        used.update(entries)
    assert used == {entry for entry, _, _ in _entries()}


def test_entries_are_whole() -> None:
    keys = [re.match(r"@\w+\{(\w+),\n", entry) for entry, _, _ in _entries()]
    assert all(keys) and len({key[1] for key in keys if key}) == len(keys)
    for entry, _, _ in _entries():
        assert entry.count("{") == entry.count("}") and entry.endswith("}\n")
        fields = dict(re.findall(r"^  (\w+) = \{(.*)\},?$", entry, re.MULTILINE))
        needed = {"title"} if entry.startswith("@misc") else {"author", "title", "year"}
        assert needed <= {*fields} and re.fullmatch(r"10\.\d{4}/\S+", fields.get("doi", "10.1000/x"))
        assert entry.count(" = ") == len(fields) and entry.count(",\n") == len(fields)


def test_names_of_our_own_need_no_numpy() -> None:
    """They are those of the registry, and so are their sources."""
    metrics = {name: metric_of(name) for name in by_name()}
    assert {name: metric.name for name, metric in metrics.items()} == {
        name: declared.name for name, declared in by_name().items()
    }
    assert [metric.name for metric in declarations()] == [
        metric.name for metric in REGISTRY.values() if metric.is_ours
    ]
    assert all(source_of(metrics[name]) == source_of(declared) for name, declared in by_name().items())


def test_of_results_and_the_command() -> None:
    results = gradeval.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, "nDCG@5,10 DCG@10 muAP")
    entries = results.bibtex()
    assert re.findall(r"^@\w+\{(\w+)", entries, re.MULTILINE) == [
        "jarvelin2002cumulated", "burges2005learning", "qin2010letor", "scheel2011performance"
    ]  # fmt: skip
    assert command("metrics", "--bibtex", "nDCG@5", "DCG", "muAP").out == entries
    assert command("metrics", "--bibtex", "beir").out.count("@") > 2
    assert command("metrics", "--bibtex").out.count("@") > 35
    assert bibtex([REGISTRY["AP"].replace(function=lambda judgments: judgments.grade)]) == "% AP: no source\n"
    assert "mutually exclusive" in command("metrics", "--bibtex", "--graded").err
    raises(gradeval.MetricError, "unknown metric", bibtex_of, ["x"])

"""Manifests of batches: what they say, and what is wrong with them."""

import os
from pathlib import Path
from typing import Any

import pytest
from helpers import each, error_of

from gradeval.commands.batch.manifest import read_manifest
from gradeval.errors import InputError

WHOLE = """\
metrics = ["nDCG@10", "AP"]
qrels = "qrels/{collection}.txt"
runs = "runs/{system}/{collection}.run"
features = "1,3-4"

[options]
rel = 2
query_ids = "q1,q2"

[systems]
bm25 = "runs/bm25.{collection}"
"my dense" = "d/{collection}/{system}"

[collections.covid]

[collections."a b"]
qrels = "other.txt"
metrics = "RR"
runs = { bm25 = "x.run" }
options = { rel = 1, groups = "sizes" }
"""


def read(text: str, path: str = "m.toml") -> Any:
    Path(path).write_text(text)
    return read_manifest(path)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_everything() -> None:
    os.mkdir("sub")
    found = read(WHOLE, "sub/m.toml")
    assert found.systems == ("bm25", "my dense", "feature1", "feature3", "feature4")
    assert found.features == {"feature1": 1, "feature3": 3, "feature4": 4}
    covid, other = found.collections
    assert (covid.name, covid.qrels, [*map(str, covid.specs)]) == (
        "covid",
        "sub/qrels/covid.txt",
        ["nDCG@10", "AP"],
    )
    assert covid.runs == {"bm25": "sub/runs/bm25.covid", "my dense": "sub/d/covid/my dense"}
    assert (covid.options.rel, covid.options.query_ids) == (2, ("q1", "q2"))
    assert (other.name, other.qrels, [*map(str, other.specs)]) == ("a b", "sub/other.txt", ["RR"])
    assert other.runs == {"bm25": "sub/x.run", "my dense": "sub/d/a b/my dense"}
    assert (other.options.rel, other.options.groups) == (1, "sub/sizes")


GOOD = {
    "qrels": "q/{collection}",
    "runs": "r/{collection}/{system}",
    "systems": ["x", "y"],
    "collections": ["a"],
}


@each("more, what", [
    ({"metric": "AP"}, "unknown key 'metric'. Did you mean 'metrics'?"),
    ({"zzz": 1}, "unknown key 'zzz'. The keys are qrels, runs, metrics, systems, features, collections"),
    ({"collections": {"a": {"qrel": "x"}}}, "unknown key 'qrel' in [collections.a]. Did you mean 'qrels'?"),
    ({"options": {"dept": 3}}, "unknown key 'dept' in [options]. Did you mean 'depth'?"),
    ({"collections": {"a": {"options": {"jobs": 3}}}}, "unknown key 'jobs' in [collections.a.options]"),
    ({"options": {"features": "1"}}, "unknown key 'features' in [options]. The keys are rel"),
    ({"options": {"columns": "foo"}}, "columns must be some of query=NAME, document=NAME, grade=NAME, "
     "score=NAME, subtopic=NAME, each once, not 'foo'"),
    ({"options": {"rel": "high"}}, "rel must be a finite number, not 'high'"),
    ({"collections": {"a": 3}}, "[collections.a] must be a table"),
    ({"collections": []}, "no collections given"),
    ({"collections": ["a", "a"]}, "collections has a name twice"),
    ({"collections": "a"}, "collections must be a list of names, or a table"),
    ({"collections": ["average"]}, "'average' cannot be a name of collections"),
    ({"systems": None}, "no systems given"),
    ({"systems": ["x", "feature3"], "features": 3}, "system 'feature3' is a feature too"),
    ({"qrels": None}, "collection 'a' has no qrels. Add qrels = \"PATH\" to it"),
    ({"runs": None}, "no path of the runs of 'x' on 'a'. Add runs = \"runs/{collection}/{system}.run\""),
    ({"runs": "r/{collection}"}, "runs has no {system}: all systems have the same file"),
    ({"runs": "{colection}/{system}"}, "unknown placeholder {colection} in runs. runs may have {collection}"),
    ({"qrels": "{system}"}, "unknown placeholder {system} in qrels. qrels may have {collection}"),
    ({"qrels": 3}, "qrels must be a path, not 3"),
    ({"collections": {"a": {"runs": {"z": "p"}}}}, "'z' in runs of [collections.a] is not one of"),
])  # fmt: skip
def test_what_is_wrong(more: dict[str, Any], what: str) -> None:
    content = {key: value for key, value in {**GOOD, **more}.items() if value is not None}
    assert error_of(InputError, read_manifest, content).startswith(f"manifest: {what}")


def test_the_line_of_what_is_wrong() -> None:
    for text, message in (
        (WHOLE.replace("metrics = \"RR\"", "metric = \"RR\""), "m.toml:18: unknown key 'metric' in"),
        (WHOLE.replace("rel = 2", "relevance = 2"), "m.toml:7: unknown key 'relevance' in [options]"),
        ("# relative\n" + WHOLE.replace("rel = 2", "rel = 'x'"), "m.toml:8: rel must be"),
        (WHOLE.replace("rel = 2", "rel = "), "m.toml:7: this is not TOML"),
    ):  # fmt: skip
        assert error_of(InputError, read, text).startswith(message)


# Patterns


def files_of_runs(*paths: str) -> None:
    for path in paths:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        Path(path).touch()


PATTERN = """\
qrels = "{collection}/qrels*"
runs = "{collection}/{system}-*.run"
systems = ["x", "y"]
collections = ["a", "b[1]"]
"""


def test_patterns() -> None:
    """Names are no patterns; where nothing matches, the path is that of a missing file."""
    files_of_runs("sub/a/qrels.txt", "sub/a/x-1.run", "sub/b[1]/qrels.gz", "sub/b[1]/y-2.run", "sub/b1/x-1.run")
    a, b = read(PATTERN, "sub/m.toml").collections
    assert (a.qrels, b.qrels) == ("sub/a/qrels.txt", "sub/b[1]/qrels.gz")
    assert a.runs == {"x": "sub/a/x-1.run", "y": "sub/a/y-*.run"}
    assert b.runs == {"x": "sub/b[1]/x-*.run", "y": "sub/b[1]/y-2.run"}
    # a file with the name of the pattern
    files_of_runs("a/qrels", "a/x-*.run", "a/x-1.run")
    assert read(PATTERN).collections[0].runs["x"] == "a/x-*.run"
    # a pattern that matches several files
    os.remove("a/x-*.run")
    files_of_runs(*(f"a/x-{k}.run" for k in range(7)))
    assert error_of(InputError, read, PATTERN) == (
        "m.toml:2: runs: a/x-*.run matches 7 files: a/x-0.run, a/x-1.run, a/x-2.run, a/x-3.run, a/x-4.run, …. "
        "A pattern must match one file for each collection and system"
    )

"""--signature: what decides the values, in a line for each metric, whose parts are options."""

import hashlib
import json
from pathlib import Path

import pytest
from helpers import each

from cli.command import QRELS, RUN, gradeval
from gradeval.version import __version__

IDENTIFIES = ("query_ids", "qrels", "groups", "n", "gradeval")  # parts that are no options


@pytest.fixture(autouse=True)
def files(folder):
    (folder / "short").write_text(RUN.split("q2 ")[0])


def signatures(*call):
    done = gradeval(*call, "--signature", "--quiet")
    assert done.code == 0
    return done.lines


def parts(text):
    metric, *rest = text.split("|")
    return metric, dict(part.split(":", 1) for part in rest)


def test_a_line_for_each_metric():
    digits = hashlib.sha256(QRELS.encode()).hexdigest()[:8]
    common = f"ties:trec|queries:judged|no_relevant:0|qrels:sha256:{digits}|n:3|gradeval:{__version__}"
    assert signatures("q", "r", "-m", "nDCG@10 AP(rel=2) nDCG(gain=exp)@5") == [
        f"nDCG@10|gain:linear|rel:>0|{common}",
        f"AP(rel=2)|rel:2|{common}",
        f"nDCG(gain=exp)@5|gain:exp|rel:>0|{common}",
    ]


OPTIONS = {
    "": {},
    "--rel 1.5 --ties best --queries both --no-relevant skip":
        {"rel": "1.5", "ties": "best", "queries": "both", "no_relevant": "skip"},
    "--depth 2 -J --top-grade 9 --zero-grade 1 --ignore-identical-ids":
        {"depth": "2", "judged_only": "true", "top_grade": "9", "zero_grade": "1",
         "ignore_identical_ids": "true"},
    "--ties expected --no-relevant 1": {"ties": "expected", "no_relevant": "1"},
    "--query-ids q1,q2": {"n": "2", "query_ids": "sha256:" + hashlib.sha256(b"q1\nq2").hexdigest()[:8]},
    "--tie-range -j 1 -M 9": {"depth": "9"},
}  # fmt: skip


@each("options, expected", OPTIONS.items())
def test_every_part_is_taken_back(options, expected):
    for metric in ("nDCG(gain=exp)@5", "AP") if options else ("nDCG(gain=0:0/1:1/2:3/3:9)",):
        [text] = signatures("q", "r", "-m", metric, *options.split())
        name, values = parts(text)
        assert values.items() >= expected.items()
        again = ["-m", name]
        for key, value in values.items():
            if key == "gain":
                assert signatures("q", "r", "-m", f"nDCG(gain={value})")[0].split("|")[1] == f"gain:{value}"
            elif key not in IDENTIFIES:
                flag = [f"--{key.replace('_', '-')}", *([] if value == "true" else [value])]
                again += flag
        again += ["--query-ids", "q1,q2"] if "query_ids" in values else []
        assert signatures("q", "r", *again) == [text]


def test_of_letor_undefined_values_and_several_runs():
    [text] = signatures("l", "s", "-m", "nDCG@2", "--qrels-feature", "2")
    _, values = parts(text)
    assert values["ties"] == "input"
    assert values["qrels_feature"] == "2"
    [text] = signatures("l", "s", "-m", "nDCG@2")
    assert "qrels_feature" not in parts(text)[1]
    # undefined values are not counted
    assert parts(signatures("q", "r", "-m", "rankDCG")[0])[1]["n"] == "2"  # q3 has one grade only
    # runs that differ
    first, second = signatures("q", "r", "short", "-m", "AP", "--queries", "both")
    assert first.startswith("r: AP|") and "|n:2|" in first
    assert second.startswith("short: AP|") and "|n:1|" in second
    assert len(signatures("q", "r", "short", "-m", "AP")) == 1
    # of weighted means
    Path("w").write_text("q1\t2\nq2\t1\nq3\t0.5\n")
    [text] = signatures("q", "r", "-m", "AP", "--query-weights", "w")
    digits = hashlib.sha256(b"q1\t2.0\nq2\t1.0\nq3\t0.5").hexdigest()[:8]
    assert parts(text)[1]["query_weights"] == f"sha256:{digits}"


def test_where_it_is_printed():
    call = ("q", "r", "-m", "AP", "--quiet", "-f")
    [text] = signatures(*call, "table")
    done = gradeval(*call, "jsonl", "--signature")
    assert (done.lines, done.out) == ([text], gradeval(*call, "jsonl").out)
    for format, block in (("md", f"```\n{text}\n```\n"), ("latex", f"\n{text}\n\\end{{verbatim}}\n")):
        done = gradeval(*call, format, "--signature")
        assert done.err == "" and done.out.endswith(block)
    content = json.loads(gradeval(*call, "json", "--signature").out)
    assert content["runs"][0]["signatures"] == {"AP": text}
    assert "signatures" not in gradeval(*call, "json").out
    # of comparisons
    call = ("compare", "q", "r", "short", "-m", "AP nDCG@5", "--quiet", "-f")
    expected = signatures(*call[1:], "tsv")
    assert signatures(*call, "tsv") == expected
    assert json.loads(gradeval(*call, "json", "--signature").out)["signatures"] == expected
    assert "\n".join(expected) in gradeval(*call, "md", "--signature").out
    done = gradeval("compare", "--values", "a.csv", "b.csv", "--signature")
    assert done.lines[0].startswith("gradeval: --signature and --values are mutually exclusive")


MANIFEST = """\
metrics = "AP nDCG@5"
systems = ["full", "short"]
[collections.one]
qrels = "q"
runs = {full = "r", short = "short"}
[collections.two]
qrels = "q"
runs = {full = "r", short = "short"}
options = {queries = "both", query_ids = ["q1", "q2"]}
[collections.three]
qrels = "l"
runs = {full = "s"}
options = {qrels_feature = 2}
"""


def test_of_batches():
    """Those of the evaluations, after the names of collections, and of systems where they differ."""
    Path("m.toml").write_text(MANIFEST)
    one = [f"one: {text}" for text in signatures("q", "r", "short", "-m", "AP nDCG@5")]
    two = signatures("q", "r", "short", "-m", "AP nDCG@5", "--queries", "both", "--query-ids", "q1,q2")
    two = [f"two/{text.replace('r: ', 'full: ', 1) if text.startswith('r:') else text}" for text in two]
    three = signatures("l", "s", "-m", "AP nDCG@5", "--qrels-feature", "2")
    expected = one + two + [f"three: {text}" for text in three]
    assert signatures("batch", "m.toml") == expected
    assert "\n".join(expected) in gradeval("batch", "m.toml", "-f", "md", "--signature", "--quiet").out
    call = ("batch", "m.toml", "-o", "out.json", "--resume", "--quiet")
    assert gradeval(*call).code == 0
    assert "signatures" not in json.loads(Path("out.json").read_text())
    for _ in range(2):  # cells that are kept have them too
        assert gradeval(*call, "--signature").code == 0
        assert json.loads(Path("out.json").read_text())["signatures"] == expected

"""gradeval batch: tables, formats, what is missing or wrong, exit codes."""

import csv
import io
import json
import os
from pathlib import Path

import pytest
from cli.command import fails
from helpers import each

from gradeval.commands.batch.command import FORMATS

from .calls import MANIFEST, batch, values

pytestmark = pytest.mark.usefixtures("batch_files")


def test_the_table() -> None:
    done = batch("m.toml", "--baseline", "good", "--quiet", terminal=True)
    lines = done.out.splitlines()
    assert lines[0] == "\x1b[1mAP\x1b[0m"
    assert lines[1].split() == ["system", "north", "south", "average"]
    assert lines[3].split()[0] == "good" and "\x1b[1m" in lines[3]
    assert lines[4].count("▼") == 2 and "\x1b" not in lines[4]
    legend = " ".join(done.out.split())
    assert "▲ ▼: significantly better, worse than good on the same queries (paired t-test, two-sided" in legend
    assert "Holm correction for 4 comparisons; alpha = 0.05). Average: the mean of the collections." in legend
    assert "Missing" not in legend
    done = batch("m.toml", "--pool", "-f", "table")
    assert "all queries" in done.out and "average" not in done.out
    Path("m.toml").write_text(MANIFEST.replace(', "south"', ""))
    assert {collection for collection, _, _ in values()} == {"north"}
    assert "verage" not in batch("m.toml", "-f", "table").out


@each("option, name", [("--query-weights", "query_weights"), ("--ties", "ties"), ("-J", "judged_only")])
def test_options_of_the_evaluation_belong_in_the_manifest(option: str, name: str) -> None:
    what = f"{option} is not an option of batch: write {name} = … in [options] of the manifest"
    assert what in fails("batch", "m.toml", option, "x")


@each("format", FORMATS)
def test_formats(format: str) -> None:
    Path("south/bad <b>.run").unlink(missing_ok=True)
    done = batch("m.toml", "--baseline", "good", "-f", format)
    assert done.lines[0] == (
        "warning: 1 of 4 cells has no run: south/bad <b> (south/bad <b>.run does not exist); "
        "no average of bad <b> [missing_runs]"
    )
    out = done.out
    assert out.endswith("\n") and "nan" not in out.replace("\tnan", "").replace(",nan", "")
    if format == "json":
        content = json.loads(out)
        assert [cell["status"] for cell in content["cells"]] == ["done", "done", "done", "missing"]
        assert content["averages"]["bad <b>"] == {"AP": None, "P@2": None}
        assert (content["average"], content["baseline"]) == ("macro", "good")
        assert content["cells"][1]["comparisons"]["AP"]["verdict"] == "worse"
    elif format == "jsonl":
        rows = [json.loads(line) for line in out.splitlines()]
        assert [row.get("collection") for row in rows] == ["north", "north", "south", "south", None, None]
        assert rows[-1] == {"average": "macro", "system": "bad <b>", "values": {"AP": None, "P@2": None}}
    elif format in ("tsv", "csv"):
        rows = list(csv.DictReader(io.StringIO(out), delimiter="\t" if format == "tsv" else ","))
        assert [(row["value"], row["status"]) for row in rows if row["system"] != "good"][2:] == [
            ("nan", "missing"), ("nan", "missing"), ("nan", "incomplete"), ("nan", "incomplete")
        ]  # fmt: skip
        assert [row["verdict"] for row in rows[:4]] == ["", "", "worse", ""]
    elif format == "md":
        assert r"bad \<b\>" in out and "Missing: there is no run." in out
        assert "▼ | missing |" in " ".join(out.split())
    elif format == "latex":
        assert r"good (a) & \textbf{" in out and "$^{b}$" in out and "& missing & {-}" in out
    else:
        assert "missing        -" in out and "Missing: there is no run." in out


# What is missing or wrong


def test_a_failed_run_is_reported_and_the_rest_goes_on() -> None:
    Path("north/good.run").write_text("q1 Q0 d1 1 x t\n")
    done = batch("m.toml", "--quiet", "--baseline", "good", code=2)
    assert done.err == "north/good.run:1: the score 'x' is not a number\n"
    assert "north\tgood\tAP\tnan\t0\tfailed" in done.out
    assert "Failed: the run cannot be evaluated." in batch("m.toml", "--quiet", "-f", "table", code=2).out
    assert batch("m.toml", "--strict", "--quiet", code=2).out == ""


def test_failed_qrels_are_reported_once() -> None:
    os.remove("north/qrels")
    done = batch("m.toml", "--quiet", code=2)
    assert done.err == "north/qrels: no such file. Check the path\n"
    assert done.out.count("failed") == 4
    Path("m.toml").write_text(MANIFEST.replace('"south"]', '"south", "west"]'))  # which has no runs either
    assert batch("m.toml", "--quiet", code=2).lines[-1] == "west/qrels: no such file. Check the path"
    Path("m.toml").write_text(MANIFEST + '[options]\nquery_ids = "q1,q35"\n')
    done = batch("m.toml", "--quiet", code=2)
    assert done.err == "north/qrels: no such file. Check the path\n"
    Path("north/qrels").write_text("q1 0 d1 1\n")
    assert batch("m.toml", "--quiet", code=2).lines == [
        f"m.toml:{len(MANIFEST.splitlines()) + 2}: north: query 'q35' is not in north/qrels. "
        "In a configuration query_ids is a list of ids, not the name of a file"
    ]
    Path("m.toml").write_text(MANIFEST + '[options]\n# groups\ngroups = "none"\n')
    assert batch("m.toml", "--quiet", code=2).lines[-1] == (
        f"m.toml:{len(MANIFEST.splitlines()) + 3}: south: "
        "groups requires a LETOR file as qrels, but south/qrels is not one"
    )


def test_a_metric_that_cannot_be_computed() -> None:
    Path("m.toml").write_text(MANIFEST.replace("AP P@2", "nDCG(gain=exp)"))
    with open("north/qrels", "a") as qrels:
        qrels.write("q1 0 d8 5000\n")
    done = batch("m.toml", "--quiet", code=2)
    assert done.err.startswith("m.toml: north: nDCG(gain=exp): gain=exp: the gain 2^5000 is too large")
    assert done.out.count("\tfailed") == 2


def test_nothing_can_be_evaluated() -> None:
    Path("m.toml").write_text(MANIFEST.replace("{system}.run", "{system}.txt"))
    assert fails("batch", "m.toml", "--quiet") == (
        "m.toml: none of its runs exists, such as north/good.txt. Check the paths"
    )
    Path("m.toml").write_text(MANIFEST.replace("{collection}/qrels", "none"))
    assert fails("batch", "m.toml", "--quiet") == "none: no such file. Check the path"


def test_missing_runs_are_warnings() -> None:
    os.remove("north/good.run")
    said = fails("batch", "m.toml", "--strict", "--quiet")
    assert (
        said.splitlines()[-1]
        == "gradeval: warnings are treated as errors (--strict); --allow missing_runs accepts this kind"
    )
    allowed = batch("m.toml", "--strict", "--allow", "missing_runs", "-f", "json")
    assert json.loads(allowed.out)["warnings"] == [
        "1 of 4 cells has no run: north/good (north/good.run does not exist); no average of good"
    ]


@each("args, what", [
    ([], "gradeval: Missing argument 'MANIFEST'. Try 'gradeval batch --help'."),
    (["m.toml", "m.toml"], "gradeval: Got unexpected extra argument (m.toml)."),
    (["none.toml"], "none.toml: no such file. Check the path"),
    (["m.toml", "--baseline", "x"], "gradeval: no system x for the baseline: they are good, bad <b>"),
    (["m.toml", "--resume"], "gradeval: --resume requires -o FILE in json or jsonl."),
    (["m.toml", "--resume", "-o", "x.csv"], "gradeval: --resume requires -o FILE in json or jsonl."),
    (["m.toml", "--resume", "-o", "x.jsonl", "--label", "a=b"], "gradeval: --resume and --label are"),
    (["m.toml", "-o", "north/good.run"], "gradeval: --output north/good.run: it is one of the input files"),
])  # fmt: skip
def test_what_is_refused(args: list[str], what: str) -> None:
    assert fails("batch", *args).startswith(what)


def test_a_wrong_manifest() -> None:
    Path("m.toml").write_text(MANIFEST.replace("metrics = ", "metric = "))
    assert fails("batch", "m.toml") == "m.toml:1: unknown key 'metric'. Did you mean 'metrics'?"
    Path("m.toml").write_text(MANIFEST.replace("AP P@2", "nDGC@10"))
    assert fails("batch", "m.toml") == "m.toml: metrics of north: nDGC@10: did you mean nDCG@10?"
    Path("m.toml").write_text(MANIFEST.replace("AP P@2", "runid"))
    assert fails("batch", "m.toml") == "m.toml: metrics of north: runid has no summary value"


def test_a_system_that_a_table_of_runs_lacks_is_missing() -> None:
    tables = '[collections.north]\n[collections.south]\nruns = { good = "south/good.run" }\n'
    text = MANIFEST.replace('collections = ["north", "south"]\n', "")
    text = text.replace('runs = "{collection}/{system}.run"\n', "")
    runs = '[collections.north.runs]\ngood = "north/good.run"\n"bad <b>" = "north/bad <b>.run"\n'
    Path("m.toml").write_text(text + tables + runs)
    done = batch("m.toml")
    assert done.lines[0].startswith("warning: 1 of 4 cells has no run: south/bad <b> (no path given)")
    assert "south\tbad <b>\tAP\tnan\t0\tmissing" in done.out
    Path("m.toml").write_text(text + "[collections.north]\n")
    assert "no path of the runs of 'good' on 'north'" in fails("batch", "m.toml")


def test_metrics_of_the_command_line() -> None:
    """For all collections, whatever the manifest says of them."""
    text = MANIFEST.replace(
        'collections = ["north", "south"]', "[collections.north]\n[collections.south]\nmetrics = 'RR'"
    )
    Path("m.toml").write_text(text)
    assert {(collection, metric) for collection, _, metric in values("-m", "nDCG@5,10")} >= {
        (collection, metric) for collection in ("north", "south") for metric in ("nDCG@5", "nDCG@10")
    }
    assert {metric for _, _, metric in values("-m", "nDCG@5", "--baseline", "good")} == {"nDCG@5"}
    assert fails("batch", "m.toml", "-m", "runid") == "gradeval: runid has no summary value"
    assert fails("batch", "m.toml", "-m", "nDGC") == "gradeval: nDGC: did you mean nDCG?"
    Path("m.toml").write_text(text.replace("'RR'", "'RRR'"))
    assert "RRR" in fails("batch", "m.toml", "-m", "AP")


def test_a_baseline_without_a_run() -> None:
    os.remove("south/bad <b>.run")
    done = batch("m.toml", "--baseline", "bad <b>", "-f", "table")
    warning = (
        "warning: nothing is compared on 1 of 2 collections (south): the baseline bad <b> has no value there "
        "[no_baseline]"
    )
    assert warning in done.lines and "Holm correction for 2 comparisons" in " ".join(done.out.split())
    os.remove("north/bad <b>.run")
    done = batch("m.toml", "--baseline", "bad <b>", "-f", "table")
    assert "nothing is compared on 2 of 2 collections (north, south)" in done.err and "Holm" not in done.out

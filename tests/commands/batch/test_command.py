"""gradeval batch: tables, formats, what is missing or wrong, exit codes, saved results as runs, --resume."""

import csv
import io
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from cli.command import Done, fails, gradeval
from helpers import each

from gradeval.commands.batch import batch as batch_module
from gradeval.commands.batch.command import FORMATS
from gradeval.evaluation.plan import Plan
from gradeval.formats.sources import Source

MANIFEST = """\
metrics = "AP P@2"
qrels = "{collection}/qrels"
runs = "{collection}/{system}.run"
systems = ["good", "bad <b>"]
collections = ["north", "south"]
"""


@pytest.fixture(autouse=True)
def files(folder: Path) -> None:
    """Two collections of 30 and 40 queries. good ranks the relevant documents first, bad does not always."""
    for name, size in (("north", 30), ("south", 40)):
        os.mkdir(name)
        pairs = [(q, d) for q in range(size) for d in range(6)]
        Path(f"{name}/qrels").write_text("".join(f"q{q} 0 d{d} {int(d < 2)}\n" for q, d in pairs))
        for system, wrong in (("good", 97), ("bad <b>", 2)):
            scores = ((d - 6 if (q * 7 + d) % wrong else d) - d / 100 - (d > 1) * 3 for q, d in pairs)
            lines = (f"q{q} Q0 d{d} 1 {score} t\n" for (q, d), score in zip(pairs, scores, strict=True))
            Path(f"{name}/{system}.run").write_text("".join(lines))
    Path("m.toml").write_text(MANIFEST)


def batch(*args: object, code: int = 0, terminal: bool = False) -> Done:
    done = gradeval("batch", *args, terminal=terminal)
    assert done.code == code, done.err
    return done


def values(*args: object) -> dict[tuple[str, str, str], float]:
    out = batch("m.toml", "--quiet", "--digits", "full", *args).out
    rows = csv.DictReader(io.StringIO(out), delimiter="\t")
    return {(row["collection"], row["system"], row["metric"]): float(row["value"]) for row in rows}


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
        missing = [("nan", "missing")] * 2 + [("nan", "incomplete")] * 2
        assert [(row["value"], row["status"]) for row in rows if row["system"] != "good"][2:] == missing
        assert [row["verdict"] for row in rows[:4]] == ["", "", "worse", ""]
    else:
        parts = {
            "md": [r"bad \<b\>", "▼ | missing |", "Missing: there is no run."],
            "latex": [r"good (a) & \textbf{", "$^{b}$", "& missing & {-}"],
            "table": ["missing - ", "Missing: there is no run."],
        }
        assert [part for part in parts[format] if part not in " ".join(out.split())] == []


def test_a_failed_run_is_reported_and_the_rest_goes_on() -> None:
    Path("north/good.run").write_text("q1 Q0 d1 1 x t\n")
    done = batch("m.toml", "--quiet", "--baseline", "good", code=2)
    assert done.err == "north/good.run:1: the score 'x' is not a number\n"
    assert "north\tgood\tAP\tnan\t0\tfailed" in done.out
    assert "Failed: the run cannot be evaluated." in batch("m.toml", "--quiet", "-f", "table", code=2).out
    assert batch("m.toml", "--strict", "--quiet", code=2).out == ""
    # a metric that cannot be computed
    with open("south/qrels", "a") as qrels:
        qrels.write("q1 0 d8 5000\n")
    done = batch("m.toml", "-m", "nDCG(gain=exp)", "--quiet", code=2)
    assert done.lines[-1].startswith("m.toml: south: nDCG(gain=exp): gain=exp: the gain 2^5000 is too large")
    assert done.out.count("\tfailed") == 3


def test_failed_qrels_are_reported_once() -> None:
    def said(text: str) -> list[str]:
        Path("m.toml").write_text(text)
        return batch("m.toml", "--quiet", code=2).lines

    os.remove("north/qrels")
    absent, line = "north/qrels: no such file. Check the path", len(MANIFEST.splitlines())
    assert said(MANIFEST) == [absent] and batch("m.toml", "--quiet", code=2).out.count("failed") == 4
    west = MANIFEST.replace('"south"]', '"south", "west"]')  # which has no runs either
    assert said(west)[-1] == "west/qrels: no such file. Check the path"
    ids = MANIFEST + '[options]\nquery_ids = "q1,q35"\n'
    assert said(ids) == [absent]
    Path("north/qrels").write_text("q1 0 d1 1\n")
    assert said(ids) == [
        f"m.toml:{line + 2}: north: query 'q35' is not in north/qrels. "
        "In a configuration query_ids is a list of ids, not the name of a file"
    ]
    not_letor = "groups requires a LETOR file as qrels, but south/qrels is not one"
    groups = said(MANIFEST + '[options]\n# groups\ngroups = "none"\n')
    assert groups[-1] == f"m.toml:{line + 3}: south: {not_letor}"


def test_missing_runs_are_warnings() -> None:
    os.remove("north/good.run")
    said = fails("batch", "m.toml", "--strict", "--quiet").splitlines()[-1]
    assert said == "gradeval: warnings are treated as errors (--strict); --allow missing_runs accepts this kind"
    allowed = batch("m.toml", "--strict", "--allow", "missing_runs", "-f", "json")
    assert json.loads(allowed.out)["warnings"] == [
        "1 of 4 cells has no run: north/good (north/good.run does not exist); no average of good"
    ]
    # one of the baseline
    done = batch("m.toml", "--baseline", "good", "-f", "table")
    nothing = "warning: nothing is compared on 1 of 2 collections (north): the baseline good has no value there"
    assert f"{nothing} [no_baseline]" in done.lines
    assert "Holm correction for 2 comparisons" in " ".join(done.out.split())
    os.remove("south/good.run")
    done = batch("m.toml", "--baseline", "good", "-f", "table")
    assert "nothing is compared on 2 of 2 collections (north, south)" in done.err and "Holm" not in done.out


@each("args, what", [
    ("", "gradeval: Missing argument 'MANIFEST'. Try 'gradeval batch --help'."),
    ("m.toml --baseline x", "gradeval: no system x for the baseline: they are good, bad <b>"),
    ("m.toml --resume", "gradeval: --resume requires -o FILE in json or jsonl."),
    ("m.toml --resume -o x.jsonl --label a=b", "gradeval: --resume and --label are"),
    ("m.toml -o north/good.run", "gradeval: --output north/good.run: it is one of the input files"),
    ("m.toml --ties x", "gradeval: No such option"),
])  # fmt: skip
def test_what_is_refused(args: str, what: str) -> None:
    assert fails("batch", *args.split()).startswith(what)


@each("old, new, what", [
    ("metrics = ", "metric = ", "m.toml:1: unknown key 'metric'. Did you mean 'metrics'?"),
    ("AP P@2", "nDGC@10", "m.toml: metrics of north: nDGC@10: did you mean nDCG@10?"),
    (".run", ".txt", "m.toml: none of its runs exists, such as north/good.txt. Check the paths"),
    ("{collection}/qrels", "none", "none: no such file. Check the path"),
])  # fmt: skip
def test_a_wrong_manifest(old: str, new: str, what: str) -> None:
    Path("m.toml").write_text(MANIFEST.replace(old, new))
    assert fails("batch", "m.toml", "--quiet") == what


def test_metrics_of_the_command_line() -> None:
    """For all collections, whatever the manifest says of them."""
    of_south = "[collections.north]\n[collections.south]\nmetrics = 'RR'"
    text = MANIFEST.replace('collections = ["north", "south"]', of_south)
    Path("m.toml").write_text(text)
    assert {(collection, metric) for collection, _, metric in values("-m", "nDCG@5,10")} >= {
        (collection, metric) for collection in ("north", "south") for metric in ("nDCG@5", "nDCG@10")
    }
    assert {metric for _, _, metric in values("-m", "nDCG@5", "--baseline", "good")} == {"nDCG@5"}
    Path("m.toml").write_text(text.replace("'RR'", "'RRR'"))
    assert "RRR" in fails("batch", "m.toml", "-m", "AP")


def save(*systems: str, path: str, metrics: str = "AP P@2") -> None:
    runs = [f"north/{system}.run" for system in systems]
    gradeval("north/qrels", *runs, "-m", metrics, "-q", "-f", "json", "-o", path, "--quiet")


def test_a_saved_result_is_as_good_as_its_run() -> None:
    options = ("m.toml", "--baseline", "good", "-f", "csv", "--digits", "full", "--quiet")
    expected = batch(*options).out
    for system in ("bad <b>", "good"):
        save(system, path="saved.json")
        save(system, path="one.json", metrics="AP")
        save(system, system, path="two.json")
        os.replace("saved.json", f"north/{system}.run")
        assert batch(*options).out == expected
    for path, error in (
        ("two.json", "it has 2 runs, and a system has one"),
        ("one.json", "it has no values of P@2, only of AP. Choose other metrics, or evaluate the run again"),
    ):
        os.replace(path, "north/bad <b>.run")
        done = batch("m.toml", "-f", "tsv", "--quiet", code=2)
        [line] = done.lines
        assert line.startswith(f"north/bad <b>.run: {error}") and "good" in done.out


def test_an_interrupted_batch_is_resumed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The file of -o has the collections that were there, and loses nothing that it had."""
    evaluate, seen = batch_module.evaluate_all, []

    def watched(plan: Plan, qrels: Source, *args: Any) -> object:
        seen.append(qrels.name)
        if qrels.name == stop:
            raise KeyboardInterrupt
        return evaluate(plan, qrels, *args)

    monkeypatch.setattr(batch_module, "evaluate_all", watched)
    call, stop = ("m.toml", "-o", "out.json", "--resume", "--quiet"), "south/qrels"
    batch(*call, code=130)
    assert [cell["collection"] for cell in json.loads(Path("out.json").read_text())["cells"]] == ["north"] * 2
    seen, stop = [], ""
    batch(*call)
    assert seen == ["south/qrels"]
    assert Path("out.json").read_text() == batch("m.toml", "-f", "json", "--quiet").out
    Path("m.toml").write_text(MANIFEST.replace('["north", "south"]', '["north", "east", "south"]'))
    shutil.copytree("south", "east")
    batch(*call)
    for name in ("north", "east"):  # of south nothing changes
        Path(f"{name}/good.run").write_text("q1 Q0 d1 1 1 t\n")
    stop = "east/qrels"
    batch(*call, code=130)
    cells = json.loads(Path("out.json").read_text())["cells"]
    kept = [("east", "bad <b>"), ("south", "good"), ("south", "bad <b>")]
    assert [(cell["collection"], cell["system"]) for cell in cells][2:] == kept
    assert cells[0]["values"]["P@2"]["mean"] == pytest.approx(0.5 / 30)


@each("name", ["out.json", "out.jsonl"])
def test_edited_cells_are_evaluated_again(name: str) -> None:
    batch("m.toml", "-o", name, "--quiet")
    whole = Path(name).read_text()
    cell = json.loads(whole.split("\n")[0]) if name == "out.jsonl" else json.loads(whole)["cells"][0]
    metric, value = next(iter(cell["values"].items()))
    mean, n = json.dumps(value["mean"]), f'"n": {value["n"]}'
    for old, new in (
        (mean, f'"{value["mean"]}"'),
        (mean, "0.123"),
        (mean, "null"),
        (n, '"n": 7'),
        (n, '"m": 30'),
        (f'"{cell["sha256"]}"', "5"),
        (f'"{metric}": ', '"RR": '),
    ):
        assert whole.count(old), old
        Path(name).write_text(whole.replace(old, new, 1))
        batch("m.toml", "-o", name, "--resume", "--quiet")
        assert Path(name).read_text() == whole
    # what is not JSON is an error
    line = ":1" * (name == "out.jsonl")
    place = 1 + whole[: whole.index('"n": ')].count("\n")
    for new, what in (
        ('"n": 1, "n": ', f"{line}: the key 'n' is in the object twice"),
        ('"x": NaN, "n": ', f"{line}: NaN is not JSON"),
        ('"n": ]', f":{place}: not valid JSON (Expecting value in column"),
    ):
        Path(name).write_text(whole.replace('"n": ', new, 1))
        assert fails("batch", "m.toml", "-o", name, "--resume").startswith(f"{name}{what}")


def test_group_sizes_that_changed_are_evaluated_again() -> None:
    Path("x").write_text("2 1:3 2:1\n0 1:2 2:5\n1 1:1 2:2\n0 1:0 2:4\n2 1:2 2:2\n")
    Path("m.toml").write_text('metrics = "AP"\nqrels = "x"\ncollections = ["c"]\nfeatures = "1,2"\n')
    for sizes in ("3\n2\n", "1\n4\n"):
        Path("x.query").write_text(sizes)
        batch("m.toml", "-o", "out.json", "--resume", "--quiet")
        assert Path("out.json").read_text() == batch("m.toml", "-f", "json", "--quiet").out

"""gradeval batch: tables, formats, what is missing or wrong, exit codes, --resume, --init."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
from pathlib import Path

import pytest

from gradeval.formats.sources import Source
from gradeval.render.batch import FORMATS

from .command import Done, fails, gradeval

MANIFEST = """\
metrics = "AP P@2"
qrels = "{collection}/qrels"
runs = "{collection}/{system}.run"
systems = ["good", "bad <b>"]
collections = ["north", "south"]
"""


@pytest.fixture(autouse=True)
def files(folder: Path) -> Path:
    """Two collections of 30 and 40 queries. good ranks the relevant documents first, bad does not always."""
    for name, size in (("north", 30), ("south", 40)):
        os.mkdir(name)
        qrels = (f"q{q} 0 d{d} {int(d < 2)}\n" for q in range(size) for d in range(6))
        Path(f"{name}/qrels").write_text("".join(qrels))
        for system, wrong in (("good", 97), ("bad <b>", 2)):
            rows = (
                f"q{q} Q0 d{d} 1 {(d - 6 if (q * 7 + d) % wrong else d) - d / 100 - (d > 1) * 3} t\n"
                for q in range(size)
                for d in range(6)
            )
            Path(f"{name}/{system}.run").write_text("".join(rows))
    Path("m.toml").write_text(MANIFEST)
    return folder


def batch(*args: object, code: int = 0, **more: object) -> Done:
    done = gradeval("batch", *args, **more)  # type: ignore[arg-type]
    assert done.code == code, done.err
    return done


def values(*args: object) -> dict[tuple[str, str, str], float]:
    found = csv.DictReader(
        io.StringIO(batch("m.toml", "--quiet", "--digits", "full", *args).out), delimiter="\t"
    )
    return {(row["collection"], row["system"], row["metric"]): float(row["value"]) for row in found}


def test_values_are_those_of_eval() -> None:
    found = values()
    for name in ("north", "south"):
        for system in ("good", "bad <b>"):
            done = gradeval(
                f"{name}/qrels", f"{name}/{system}.run", "-m", "AP P@2", "--digits", "full", "--quiet"
            )
            for line in done.out.splitlines()[1:]:
                _, _, metric, value = line.split("\t")
                assert found[name, system, metric] == float(value)
    macro = (found["north", "bad <b>", "AP"] + found["south", "bad <b>", "AP"]) / 2
    assert found["average", "bad <b>", "AP"] == pytest.approx(macro)
    pooled = (30 * found["north", "bad <b>", "AP"] + 40 * found["south", "bad <b>", "AP"]) / 70
    assert values("--pool")["pool", "bad <b>", "AP"] == pytest.approx(pooled)


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


def test_one_collection_has_no_average() -> None:
    Path("m.toml").write_text(MANIFEST.replace(', "south"', ""))
    assert {collection for collection, _, _ in values()} == {"north"}
    assert "verage" not in batch("m.toml", "-f", "table").out


@pytest.mark.parametrize("format", FORMATS)
def test_formats(format: str) -> None:
    os.remove("south/bad <b>.run")
    done = batch("m.toml", "--baseline", "good", "-f", format)
    assert done.lines[0] == ("warning: 1 of 4 cells has no run (south/bad <b>); their systems have no average")
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


def test_spreadsheet() -> None:
    os.rename("north", "=north")
    Path("m.toml").write_text(MANIFEST.replace('"north"', '"=north"'))
    assert "\n'=north,good," in batch("m.toml", "-f", "csv", "--spreadsheet", "--quiet").out
    assert "--spreadsheet requires -f csv" in fails("batch", "m.toml", "--spreadsheet")


# What is missing or wrong


def test_a_failed_run_is_reported_and_the_rest_goes_on() -> None:
    Path("north/good.run").write_text("q1 Q0 d1 1 x t\n")
    done = batch("m.toml", "--quiet", "--baseline", "good", code=2)
    assert done.err == "north/good.run:1: the score 'x' is not a number\n"
    assert "north\tgood\tAP\tnan\t0\tfailed" in done.out
    assert "Failed: the run cannot be evaluated." in batch("m.toml", "--quiet", "-f", "table", code=2).out


def test_strict_prints_nothing_where_a_run_failed() -> None:
    Path("north/good.run").write_text("no run\n")
    done = batch("m.toml", "--strict", "--quiet", code=2)
    assert (done.out, done.err.startswith("north/good.run:1: ")) == ("", True)


def test_failed_qrels_are_reported_once() -> None:
    os.remove("north/qrels")
    done = batch("m.toml", "--quiet", code=2)
    assert done.err == "north/qrels: no such file. Check the path\n"
    assert done.out.count("failed") == 4
    Path("m.toml").write_text(MANIFEST + '[options]\nquery_ids = "q1,q35"\n')
    done = batch("m.toml", "--quiet", code=2)
    assert done.err == "north/qrels: no such file. Check the path\n"
    Path("north/qrels").write_text("q1 0 d1 1\n")
    assert batch("m.toml", "--quiet", code=2).err == "m.toml: north: query 'q35' is not in north/qrels\n"


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
    assert said.splitlines()[-1] == "gradeval: warnings are treated as errors (--strict)"
    allowed = batch("m.toml", "--strict", "--allow", "missing_runs", "-f", "json")
    assert json.loads(allowed.out)["warnings"] == [
        "1 of 4 cells has no run (north/good); their systems have no average"
    ]


def test_notices_name_collection_and_system() -> None:
    for name in ("north", "south"):
        with open(f"{name}/qrels", "a") as qrels:
            qrels.write("q99 0 d1 0\n")
    done = batch("m.toml")
    assert (
        "warning: north/qrels: 1 query has no relevant document, counted as 0 in the mean of AP "
        "(and 1 other qrels alike); --no-relevant decides"
    ) in done.lines
    assert "warning: 4 of 4 runs lack judged queries, up to 1 (north/good), counted as 0" in done.lines


@pytest.mark.parametrize(
    ("args", "what"),
    [
        ([], "gradeval: Missing argument 'MANIFEST'. Try 'gradeval batch --help'."),
        (["m.toml", "m.toml"], "gradeval: batch takes one MANIFEST. Try 'gradeval batch --help'."),
        (["none.toml"], "none.toml: no such file. Check the path"),
        (["m.toml", "--baseline", "x"], "gradeval: no system x for the baseline: they are good, bad <b>"),
        (["m.toml", "--resume"], "gradeval: --resume requires -o FILE in json or jsonl."),
        (["m.toml", "--resume", "-o", "x.csv"], "gradeval: --resume requires -o FILE in json or jsonl."),
        (["--init"], "gradeval: --init takes the folders of qrels and runs."),
        (["--init", "none"], "none: this is not a folder. --init takes the folders of qrels and runs"),
        (["--init", "north", "-o", "m.toml"], "gradeval: --output m.toml: the file exists, and --init"),
        (["m.toml", "-o", "north/good.run"], "gradeval: --output north/good.run: it is one of the input files"),
    ],
)  # fmt: skip
def test_what_is_refused(args: list[str], what: str) -> None:
    assert fails("batch", *args).startswith(what)


def test_a_wrong_manifest() -> None:
    Path("m.toml").write_text(MANIFEST.replace("metrics = ", "metric = "))
    assert fails("batch", "m.toml") == "m.toml:1: unknown key 'metric'. Did you mean 'metrics'?"
    Path("m.toml").write_text(MANIFEST.replace("AP P@2", "nDGC@10"))
    assert fails("batch", "m.toml") == "m.toml: metrics of north: nDGC@10: did you mean nDCG@10?"
    Path("m.toml").write_text(MANIFEST.replace("AP P@2", "runid"))
    assert fails("batch", "m.toml") == "m.toml: metrics of north: runid has no summary value"


# Saved results as runs


def save(*systems: str, path: str, metrics: str = "AP P@2") -> None:
    runs = [f"north/{system}.run" for system in systems]
    gradeval("north/qrels", *runs, "-m", metrics, "-q", "-f", "json", "-o", path, "--quiet")


def test_a_saved_result_is_as_good_as_its_run() -> None:
    options = ("m.toml", "--baseline", "good", "-f", "csv", "--digits", "full", "--quiet")
    expected = batch(*options).out
    save("bad <b>", path="saved.json")
    os.replace("saved.json", "north/bad <b>.run")
    assert batch(*options).out == expected
    save("good", path="saved.json")
    os.replace("saved.json", "north/good.run")
    assert batch(*options).out == expected


def test_a_saved_result_is_kept_until_it_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    save("bad <b>", path="saved.json")
    os.replace("saved.json", "north/bad <b>.run")
    options = ("m.toml", "--baseline", "good", "-o", "out.json", "--resume", "--quiet")
    batch(*options)
    first = Path("out.json").read_text()
    with monkeypatch.context() as patch:
        patch.setattr("gradeval.analysis.batch_cells.evaluate_with_saved", None)
        batch(*options)
    save("good", path="saved.json")
    os.replace("saved.json", "north/bad <b>.run")
    batch(*options)
    assert Path("out.json").read_text() != first


@pytest.mark.parametrize(
    ("systems", "metrics", "error"),
    [
        (["good", "bad <b>"], "AP P@2", "it has 2 runs, and a system has one"),
        (
            ["bad <b>"],
            "AP",
            "it has no values of P@2, only of AP. Choose other metrics, or evaluate the run again",
        ),
    ],
)
def test_saved_results_that_are_no_cell(systems: list[str], metrics: str, error: str) -> None:
    save(*systems, path="saved.json", metrics=metrics)
    os.replace("saved.json", "north/bad <b>.run")
    done = gradeval("batch", "m.toml", "-f", "tsv", "--quiet")
    assert done.code == 2
    [line] = done.lines
    assert line.startswith(f"north/bad <b>.run: {error}")
    assert "good" in done.out


# Earlier outputs


@pytest.mark.parametrize("name", ["out.json", "out.jsonl"])
def test_resume(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    options = ("m.toml", "--baseline", "good", "--quiet")
    batch(*options, "-o", "new." + name.split(".")[1])
    batch(*options, "-o", name, "--resume")
    whole = Path("new." + name.split(".")[1]).read_text()
    assert Path(name).read_text() == whole
    monkeypatch.setattr("gradeval.analysis.batch_cells.evaluate_with_saved", None)
    batch(*options, "-o", name, "--resume")
    assert Path(name).read_text() == whole


def test_an_interrupted_batch_is_resumed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The file of -o has the collections that were there."""
    from gradeval.analysis import batch_cells as module

    evaluate = module.evaluate_with_saved

    def interrupted(qrels: Source, *args: object, **more: object) -> object:
        if qrels.name == "south/qrels":
            raise KeyboardInterrupt
        return evaluate(qrels, *args, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "evaluate_with_saved", interrupted)
    assert gradeval("batch", "m.toml", "-o", "out.json", "--resume", "--quiet").code == 130
    assert [cell["collection"] for cell in json.loads(Path("out.json").read_text())["cells"]] == ["north"] * 2
    seen = []
    monkeypatch.setattr(
        module, "evaluate_with_saved", lambda *a, **more: (seen.append(a[0].name), evaluate(*a, **more))[1]
    )
    batch("m.toml", "-o", "out.json", "--resume", "--quiet")
    assert seen == ["south/qrels"]
    assert Path("out.json").read_text() == batch("m.toml", "-f", "json", "--quiet").out


def test_an_interrupted_batch_loses_nothing_that_was_there(monkeypatch: pytest.MonkeyPatch) -> None:
    from gradeval.analysis import batch_cells as module

    Path("m.toml").write_text(MANIFEST.replace('["north", "south"]', '["north", "east", "south"]'))
    shutil.copytree("south", "east")
    batch("m.toml", "-o", "out.json", "--quiet")
    for name in ("north", "east"):  # of south nothing changes
        Path(f"{name}/good.run").write_text("q1 Q0 d1 1 1 t\n")
    evaluate = module.evaluate_with_saved

    def interrupted(qrels: Source, *args: object, **more: object) -> object:
        if qrels.name == "east/qrels":
            raise KeyboardInterrupt
        return evaluate(qrels, *args, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "evaluate_with_saved", interrupted)
    gradeval("batch", "m.toml", "-o", "out.json", "--resume", "--quiet")
    cells = json.loads(Path("out.json").read_text())["cells"]
    kept = [("east", "bad <b>"), ("south", "good"), ("south", "bad <b>")]
    assert [(cell["collection"], cell["system"]) for cell in cells][2:] == kept
    assert cells[0]["values"]["P@2"]["mean"] == pytest.approx(0.5 / 30)


def test_resume_from_another_file() -> None:
    Path("out.json").write_text('{"a": 1}')
    assert fails("batch", "m.toml", "-o", "out.json", "--resume").startswith(
        "out.json: this is not an output of gradeval batch. Save one with"
    )
    Path("out.json").write_text("")
    assert batch("m.toml", "-o", "out.json", "--resume", "--quiet").code == 0


# Manifests of folders


def test_init() -> None:
    batch("--init", "north", "south", "-o", "new.toml")
    expected = batch("m.toml", "--quiet").out.splitlines()
    Path("new.toml").write_text(Path("new.toml").read_text().replace('nDCG@10", "AP', 'AP", "P@2'))
    assert sorted(batch("new.toml", "--quiet").out.splitlines()) == sorted(expected)
    assert batch("--init", "north", "south").out.startswith("# What 'gradeval batch' evaluates.")


def test_help() -> None:
    out = batch("--help").out
    assert "gradeval batch --init data/ -o batch.toml" in out and "--resume" in out


def test_qrels_that_do_not_exist_are_an_error_without_runs_too() -> None:
    Path("m.toml").write_text(MANIFEST.replace('"south"]', '"south", "west"]'))
    done = batch("m.toml", "--quiet", code=2)
    assert done.lines == ["west/qrels: no such file. Check the path"]
    assert "west\tgood\tAP\tnan\t0\tfailed" in done.out


def test_a_system_that_a_table_of_runs_lacks_is_missing() -> None:
    tables = '[collections.north]\n[collections.south]\nruns = { good = "south/good.run" }\n'
    text = MANIFEST.replace('collections = ["north", "south"]\n', "")
    text = text.replace('runs = "{collection}/{system}.run"\n', "")
    runs = '[collections.north.runs]\ngood = "north/good.run"\n"bad <b>" = "north/bad <b>.run"\n'
    Path("m.toml").write_text(text + tables + runs)
    done = batch("m.toml")
    assert done.lines[0].startswith("warning: 1 of 4 cells has no run (south/bad <b>)")
    assert "south\tbad <b>\tAP\tnan\t0\tmissing" in done.out
    Path("m.toml").write_text(text + "[collections.north]\n")
    assert "no path of the runs of 'good' on 'north'" in fails("batch", "m.toml")


def test_a_baseline_without_a_run() -> None:
    os.remove("south/bad <b>.run")
    done = batch("m.toml", "--baseline", "bad <b>", "-f", "table")
    warning = (
        "warning: nothing is compared on 1 of 2 collections (south): the baseline bad <b> has no value there"
    )
    assert warning in done.lines and "Holm correction for 2 comparisons" in " ".join(done.out.split())
    os.remove("north/bad <b>.run")
    done = batch("m.toml", "--baseline", "bad <b>", "-f", "table")
    assert "nothing is compared on 2 of 2 collections (north, south)" in done.err and "Holm" not in done.out


def test_metrics_are_in_the_order_of_the_manifest() -> None:
    tables = '[collections.north]\nmetrics = ["P@2", "RR"]\n[collections.south]\n'
    Path("m.toml").write_text(MANIFEST.replace('collections = ["north", "south"]\n', tables))
    done = batch("m.toml", "--quiet", "-f", "table")
    assert [line for line in done.out.splitlines() if line in ("AP", "P@2", "RR")] == ["AP", "P@2", "RR"]

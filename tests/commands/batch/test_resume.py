"""Saved results as runs of a batch, and earlier outputs: --resume."""

import json
import os
import shutil
from pathlib import Path

import pytest
from cli.command import fails, gradeval
from helpers import each

from gradeval.commands.batch import batch as batch_module

from .conftest import MANIFEST, batch

pytestmark = pytest.mark.usefixtures("batch_files")


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


# Earlier outputs


def test_an_interrupted_batch_is_resumed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The file of -o has the collections that were there, and loses nothing that it had."""
    evaluate, seen = batch_module.evaluate_all, []

    def watched(qrels: str, *args: object, **more: object) -> object:
        seen.append(qrels)
        if qrels == stop:
            raise KeyboardInterrupt
        return evaluate(qrels, *args, **more)  # type: ignore[arg-type]

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
        ('"n": 1, "n": ', f"{line}: 'n' is in an object twice"),
        ('"x": NaN, "n": ', f"{line}: NaN is not JSON"),
        ('"n": ]', f":{place}: not valid JSON (Expecting value)"),
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

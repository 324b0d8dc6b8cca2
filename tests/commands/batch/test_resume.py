"""Saved results as runs of a batch, and earlier outputs: --resume."""

import json
import os
import shutil
from pathlib import Path

import pytest
from cli.command import fails, gradeval

from gradeval.commands.batch import cells as batch_cells

from .calls import MANIFEST, batch

pytestmark = pytest.mark.usefixtures("batch_files")


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


@pytest.mark.parametrize("systems, metrics, error", [
    (["good", "bad <b>"], "AP P@2", "it has 2 runs, and a system has one"),
    (
        ["bad <b>"],
        "AP",
        "it has no values of P@2, only of AP. Choose other metrics, or evaluate the run again",
    ),
])  # fmt: skip
def test_saved_results_that_are_no_cell(systems: list[str], metrics: str, error: str) -> None:
    save(*systems, path="saved.json", metrics=metrics)
    os.replace("saved.json", "north/bad <b>.run")
    done = gradeval("batch", "m.toml", "-f", "tsv", "--quiet")
    assert done.code == 2
    [line] = done.lines
    assert line.startswith(f"north/bad <b>.run: {error}")
    assert "good" in done.out


# Earlier outputs


def interrupt(monkeypatch: pytest.MonkeyPatch, at: str) -> None:
    """Interrupt the batch when these qrels are evaluated."""
    evaluate = batch_cells.evaluate_all

    def interrupted(qrels: str, *args: object, **more: object) -> object:
        if qrels == at:
            raise KeyboardInterrupt
        return evaluate(qrels, *args, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(batch_cells, "evaluate_all", interrupted)


def test_an_interrupted_batch_is_resumed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The file of -o has the collections that were there."""
    evaluate = batch_cells.evaluate_all
    interrupt(monkeypatch, "south/qrels")
    assert gradeval("batch", "m.toml", "-o", "out.json", "--resume", "--quiet").code == 130
    assert [cell["collection"] for cell in json.loads(Path("out.json").read_text())["cells"]] == ["north"] * 2
    seen = []
    monkeypatch.setattr(
        batch_cells, "evaluate_all", lambda *a, **more: (seen.append(a[0]), evaluate(*a, **more))[1]
    )
    batch("m.toml", "-o", "out.json", "--resume", "--quiet")
    assert seen == ["south/qrels"]
    assert Path("out.json").read_text() == batch("m.toml", "-f", "json", "--quiet").out


def test_an_interrupted_batch_loses_nothing_that_was_there(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("m.toml").write_text(MANIFEST.replace('["north", "south"]', '["north", "east", "south"]'))
    shutil.copytree("south", "east")
    batch("m.toml", "-o", "out.json", "--quiet")
    for name in ("north", "east"):  # of south nothing changes
        Path(f"{name}/good.run").write_text("q1 Q0 d1 1 1 t\n")
    interrupt(monkeypatch, "east/qrels")
    gradeval("batch", "m.toml", "-o", "out.json", "--resume", "--quiet")
    cells = json.loads(Path("out.json").read_text())["cells"]
    kept = [("east", "bad <b>"), ("south", "good"), ("south", "bad <b>")]
    assert [(cell["collection"], cell["system"]) for cell in cells][2:] == kept
    assert cells[0]["values"]["P@2"]["mean"] == pytest.approx(0.5 / 30)


@pytest.mark.parametrize("name", ["out.json", "out.jsonl"])
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


def test_group_sizes_that_changed_are_evaluated_again() -> None:
    Path("x").write_text("2 1:3 2:1\n0 1:2 2:5\n1 1:1 2:2\n0 1:0 2:4\n2 1:2 2:2\n")
    Path("m.toml").write_text('metrics = "AP"\nqrels = "x"\ncollections = ["c"]\nfeatures = "1,2"\n')
    for sizes in ("3\n2\n", "1\n4\n"):
        Path("x.query").write_text(sizes)
        batch("m.toml", "-o", "out.json", "--resume", "--quiet")
        assert Path("out.json").read_text() == batch("m.toml", "-f", "json", "--quiet").out


def test_an_earlier_output_that_is_not_json() -> None:
    for name in ("out.json", "out.jsonl"):
        batch("m.toml", "-o", name, "--quiet")
        whole = Path(name).read_text()
        line = ":1" * (name == "out.jsonl")
        place = 1 + whole[: whole.index('"n": ')].count("\n")
        for new, what in (
            ('"n": 1, "n": ', f"{line}: 'n' is in an object twice"),
            ('"x": NaN, "n": ', f"{line}: NaN is not JSON"),
            ('"n": ]', f":{place}: not valid JSON (Expecting value)"),
        ):
            Path(name).write_text(whole.replace('"n": ', new, 1))
            assert fails("batch", "m.toml", "-o", name, "--resume").startswith(f"{name}{what}")

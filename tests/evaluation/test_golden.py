"""Files that earlier versions saved stay readable: a saved result, a gate and its baseline, a batch.

Each folder of golden/ has those of a version, made from a few queries of sample_data/search with

    gradeval qrels.txt bm25.run hybrid.run -m 'nDCG@10 AP num_q rankDCG relstring' -q -f json -o saved.json
    gradeval gate qrels.txt bm25.run --config gate.toml --update-baseline --force
    gradeval batch batch.toml --baseline bm25 -f json -o batch.json
"""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from cli.command import gradeval as command
from helpers import each, error_of

import gradeval
from gradeval.commands.batch import batch as batch_module
from gradeval.errors import InputError
from gradeval.evaluation.evaluation import complete, evaluate_all
from gradeval.evaluation.plan import Plan
from gradeval.evaluation.results import Results
from gradeval.evaluation.runs import with_saved
from gradeval.options import Options, integer, option
from gradeval.registry.spec import parse

GOLDEN = Path(__file__).parent / "golden"
VERSIONS = sorted(path.name for path in GOLDEN.iterdir())


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def copy(version: str) -> None:
    shutil.copytree(GOLDEN / version, ".", dirs_exist_ok=True)


def add_option(monkeypatch: pytest.MonkeyPatch, **fields: Any) -> None:
    """What a later version may have: min_score, an option that decides values."""
    row = option(integer(0, 9), "Input", "Leave out scores below this.", **fields)
    row.__set_name__(Options, "min_score")
    monkeypatch.setitem(Options.table, "min_score", row)


def read(path: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(Path(path).read_text())
    return content


@pytest.mark.usefixtures("folder")
@each("version", VERSIONS)
def test_a_saved_result(version: str) -> None:
    copy(version)
    content = read("saved.json")
    metrics = [name for name in content["metrics"] if name != "relstring"]
    results = gradeval.evaluate("qrels.txt", "saved.json", metrics)
    for r, run in enumerate(content["runs"]):
        assert {metric: results.mean(r, metric) for metric in metrics} == run["summary"]
    of_saved = {notice["kind"] for notice in content["notices"]}
    assert of_saved >= {notice.kind.value for notice in results.notices} > set()


@pytest.mark.usefixtures("folder")
def test_an_option_that_did_not_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has the value under which the results were made, which is declared where it is not the default."""
    copy("0.1.0")
    add_option(monkeypatch, default=5, before=2)

    def evaluated(min_score: int) -> Results:
        options = Options(min_score=min_score)
        return complete(
            evaluate_all(Plan(parse("AP"), options), *with_saved("qrels.txt", [(None, "saved.json")]))
        )

    assert evaluated(2).mean(0, "AP") == read("saved.json")["runs"][0]["summary"]["AP"]
    what = "saved.json: it was made with --min-score 2, and here it is 5"
    assert error_of(InputError, evaluated, 5).startswith(what)


@pytest.mark.usefixtures("folder")
@each("version", VERSIONS)
def test_a_gate_and_its_baseline(version: str) -> None:
    copy(version)
    done = command("gate", "qrels.txt", "hybrid.run", "--config", "gate.toml", "-f", "json", "--quiet")
    assert done.code == 0, done.err
    means = {check["metric"]: check["baseline_mean"] for check in json.loads(done.out)["checks"]}
    [baseline] = read("baseline.json")["runs"]
    assert {metric: baseline["summary"][metric] for metric in ("AP", "nDCG@5")} == means


@pytest.mark.usefixtures("folder")
@each("version", VERSIONS)
def test_a_batch(version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cells of another version are evaluated again; those of the same are kept, and have a new option."""
    copy(version)
    add_option(monkeypatch, default=0)
    options: dict[str, Any] = {"baseline": "bm25", "resume": "batch.json", "min_coverage": 0}
    assert {cell.status for cell in gradeval.batch("batch.toml", **options).cells.values()} == {"done"}
    monkeypatch.setattr(batch_module, "__version__", version)
    monkeypatch.setattr(batch_module, "evaluate_all", lambda *arguments: pytest.fail("it is evaluated again"))
    kept = gradeval.batch("batch.toml", **options).to_dict()["cells"]
    for cell, saved in zip(kept, read("batch.json")["cells"], strict=True):
        assert all(cell[name] == saved[name] for name in ("status", "path", "sha256", "values", "judged"))
        newer = dict.fromkeys(("top_grade", "unjudged_grade", "exclude", "unlabelled", "merge"))
        assert cell["options"] == {**saved["options"], **newer, "min_score": 0}
        assert [one["kind"] for one in cell["notices"]] == [one["kind"] for one in saved["notices"]]
        assert [*cell["comparisons"]] == [*saved["comparisons"]]

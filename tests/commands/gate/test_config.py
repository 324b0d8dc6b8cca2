"""Files of checks: --config, pyproject.toml, and --init, which writes them."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from cli.command import fails, gradeval
from helpers import each, error_of

from gradeval.commands.gate.config import GateConfig, _bound, open_config, read_config
from gradeval.commands.gate.verdicts import KINDS
from gradeval.errors import InputError

from .conftest import gate, save
from .test_verdicts import AP, LOWER

pytestmark = pytest.mark.usefixtures("gate_files")


def config(text: str, name: str = "gates.toml") -> GateConfig:
    Path(name).write_text(text)
    return read_config(open_config(name))


BODY = """
require = ["AP >= 0.4", "num_q >= 50"]
max-drop = 'nDCG@10 2%'
baseline = "old/run.json"
min-coverage = 95
"""


def test_files() -> None:
    found = config(BODY)
    assert list(map(str, found.checks)) == ["AP >= 0.4", "num_q >= 50", "max-drop nDCG@10 2%"]
    assert (found.baseline, found.min_coverage) == ("old/run.json", 95.0)
    assert config(f"[tool.ruff]\nx = 1\n[tool.gradeval.gate]\n{BODY}", "pyproject.toml") == found
    Path("ci").mkdir()
    assert config(BODY, "ci/gates.toml").baseline == "ci/old/run.json"
    assert config('baseline = "/old"', "ci/gates.toml").baseline == "/old"
    assert config("") == GateConfig()
    Path("pyproject.toml").write_text("[tool.ruff]\nline-length = 99\n")  # that of others
    assert read_config(open_config(None)) == GateConfig()
    # the command line comes first
    both = found.joined({"require": ["AP >= 0.4"], "no-worse": ["AP"]}, "new", 50.0)
    assert [*map(str, both.checks)] == ["AP >= 0.4", "num_q >= 50", "max-drop nDCG@10 2%", "no-worse AP"]
    assert (both.baseline, both.min_coverage) == ("new", 50.0)
    assert found.joined({}, None, None) == found


@each("text, message", [
    ("\nmax_drop = 'AP 1'", "gates.toml:2: unknown key 'max_drop'. Did you mean 'max-drop'?"),
    ("checks = 1", "gates.toml:1: unknown key 'checks'. The keys are require, max-drop, no-worse, "
     "non-inferior, max-query-drop, baseline, min-coverage"),
    ("require = 5", "gates.toml:1: require must be a string or a list of strings such as "
     "'nDCG@10 >= 0.45', not 5"),
    ("require = [5]", "gates.toml:1: require must be a string or a list of strings"),
    ("require = [\n'AP > 0',\n'AP 0']", "gates.toml:3: require 'AP 0' is not of the form"),
    ("no-worse = 'nDGC@5'", "gates.toml:1: nDGC@5: did you mean nDCG@5?"),
    ("baseline = 5", "gates.toml:1: baseline must be the path of a file, not 5"),
    ("baseline = '-'", "gates.toml:1: baseline must be the path of a file, not '-'"),
    ("min-coverage = true", "gates.toml:1: min-coverage must be a percentage from 0 to 100, not true"),
    ("[tool.gradeval.gate]\nrequire = 'AP > 0'", "gates.toml:1: unknown key 'tool'"),
    ("[options]\nrell = 2\n", "gates.toml:2: unknown key 'rell' in [options]. Did you mean 'rel'?"),
    ("[options]\nrel = 'x'\n", "gates.toml:2: rel must be a finite number, not 'x'"),
    ("options = 3\n", "gates.toml:1: options must be a table, not 3"),
])  # fmt: skip
def test_refused_files(text: str, message: str) -> None:
    assert error_of(InputError, config, text).startswith(message)


@each("text, message", [
    ("[tool.gradeval.gates]\nx = 1", "pyproject.toml:1: unknown key 'gates' in [tool.gradeval]. Did you mean"),
    ("[tool.gradeval.other]\nx = 1", "pyproject.toml:1: unknown key 'other' in [tool.gradeval]. The keys are"),
    ("[tool.gradeval]\ngate = 5", "pyproject.toml: it has no table [tool.gradeval.gate]"),
    ("[tool.x]\nmaxdrop = 1\n[tool.gradeval.gate]\nmaxdrop = 1", "pyproject.toml:4: unknown key 'maxdrop'"),
])  # fmt: skip
def test_refused_pyprojects(text: str, message: str) -> None:
    assert error_of(InputError, config, text, "pyproject.toml").startswith(message)


# on the command line


def test_checks_in_a_file() -> None:
    save("poor")
    Path("ci").mkdir()
    Path("ci/gates.toml").write_text('require = "AP > 0.1"\nno-worse = ["AP"]\nbaseline = "../poor.json"\n')
    done = gate("qrels good.run --config ci/gates.toml")
    assert done.out.endswith("gate held: 2 of 2 checks held\n")
    done = gate("qrels poor.run --config ci/gates.toml --baseline good.run --require 'num_q > 1'")
    assert done.out.endswith("gate failed: 1 of 3 checks did not hold (1 failed)\n")
    Path("ci/gates.toml").write_text("min-coverage = 90\nrequire = 'AP > 0.1'\n")
    assert gate("qrels part.run --config ci/gates.toml").code == 0
    assert gate("qrels part.run --config ci/gates.toml --min-coverage 99").code == 2


def test_init() -> None:
    def init(line: str) -> str:
        done = gradeval("gate", "qrels", *line.split(), "--init", "--quiet")
        assert (done.code, done.err) == (0, ""), line
        return done.out

    assert "nDCG@10 >= 0." in init("good.run -o own.toml") + Path("own.toml").read_text()
    assert gate("qrels poor.run --config own.toml").code == 1
    Path("ci").mkdir()
    assert init("good.run --baseline poor.run -m AP(rel=2),Judged@5,num_rel_ret -o ci/gates.toml") == ""
    text = Path("ci/gates.toml").read_text()
    assert '\nbaseline = "../poor.run"\n' in text and '\n  "Judged@5 >= 1",  # 1.0000\n' in text
    # everything that is commented out can be used too
    full = "".join(f"{line}\n".removeprefix("# ") if "= [" in line or "min-" in line else f"{line}\n"
                   for line in text.splitlines())  # fmt: skip
    assert full.count("\n# ") < text.count("\n# ")
    Path("ci/gates.toml").write_text(full)
    done = gate("qrels good.run --config ci/gates.toml")
    assert done.code == 0 and "max-query-drop num_rel_ret 0.5 in 5%" in done.out
    assert all(kind in full for kind in KINDS)
    # saved results
    save("part")
    save("poor")
    init("part.json -o part.toml")
    for line in ('\n  "num_q >= 60",\n', '"RR >= ', "\nmin-coverage = 90.0\n"):
        assert line in Path("part.toml").read_text()
    assert gate("qrels part.run --config part.toml").code == 0
    # gm_map has no value for each query
    assert '\nno-worse = ["AP"]\n' in init("good.run --baseline poor.json -m AP,gm_map")
    # bounds are rounded to what holds
    assert (_bound(AP, 0.6865), _bound(LOWER, 0.6865)) == (">= 0.68", "<= 0.69")
    # what has no bound
    text = init("good.run -m num_q,Judged@5,unj@5,num_rel_ret")
    assert text.count("num_q >=") == 1 and '\n  "Judged@5 >= 1",' in text and '\n  # "unj@5 >= 0",' in text
    said = fails("gate", "qrels", "good.run", "--init", "-m", "relstring")
    assert said == "gradeval: relstring is text and cannot be checked"


def test_options_in_a_file() -> None:
    """As in a manifest; those of the command line replace them."""

    def found(line: str) -> tuple[list[Any], list[Any]]:
        content = json.loads(gate(f"qrels good.run -f json {line}").out)
        return content["checks"], [content["options"][name] for name in ("rel", "queries", "depth")]

    Path("gates.toml").write_text("require = 'AP > 0'\n[options]\nrel = 3\nqueries = 'both'\ndepth = 5\n")
    expected = found("--require 'AP > 0' -l 3 --queries both --depth 5 --min-coverage 0")
    assert found("--config gates.toml --min-coverage 0") == expected and expected[1] == [3, "both", 5]
    assert found("--config gates.toml -c -l 2 -M 4")[1] == [2, "judged", 4]
    ids = "[tool.gradeval.gate.options]\nquery_ids = ['q01', 'q02']\n"
    Path("pyproject.toml").write_text(f"[tool.gradeval.gate]\nrequire = 'AP > 0'\n{ids}")
    assert found("")[0][0]["n"] == 2 and found("--query-ids q03")[0][0]["n"] == 1
    Path("ci").mkdir()
    Path("ci/gates.toml").write_text("require = 'AP > 0'\noptions = { groups = 'sizes' }\n")
    Path("ci/sizes").write_text("9\n" * 60)
    Path("l").write_text("".join(f"{d % 3} 1:{d % 3}\n" for _ in range(60) for d in range(9)))
    assert gate("l --feature 1 --config ci/gates.toml").code == 0
    Path("q.ids").write_text("q1\n")
    groups = "requires a LETOR file as qrels, but qrels is not one"
    for options, more, said in (
        ("query_ids = 'q.ids'", "", "x.toml:3: query 'q.ids' is not in qrels. In a configuration query_ids is "
         "a list of ids, not the name of a file"),
        ("query_weights = { q01 = 1 }", "", "x.toml:3: query_weights: "),
        ("groups = 'sizes'", "", f"x.toml:3: groups {groups}"),
        ("groups = 'sizes'", "--groups ci/sizes", f"gradeval: --groups {groups}"),
    ):  # fmt: skip
        Path("x.toml").write_text(f"require = 'AP > 0'\n[options]\n{options}\n")
        assert gate(f"qrels good.run --config x.toml {more}").lines[0].startswith(said)


def test_init_writes_the_options() -> None:
    """The file alone is as good as the command line that it was made with."""
    options = "-l 2 --queries both --zero-grade 1 -J --query-ids q01,q02,q03 --ties best --columns score=s"
    args = ("gate", "qrels", "good.run", "--init", *options.split(), "-m", "AP", "--quiet", "-o", "own.toml")
    assert gradeval(*args).code == 0
    written = Path("own.toml").read_text().partition("[options]\n")[2].splitlines()
    assert sorted(written) == [
        *('columns = { score = "s" }', "judged_only = true", 'queries = "both"'),
        *('query_ids = ["q01", "q02", "q03"]', "rel = 2", 'ties = "best"', "zero_grade = 1"),
    ]
    found = json.loads(gate("qrels good.run --config own.toml -f json").out)
    assert found["exit_code"] == 0 and found["checks"][0]["value"] == 3
    name = os.fsdecode(b"\xff.run")
    Path(name).write_text(Path("good.run").read_text())
    message = fails("gate", "qrels", name, "--baseline", name, "--init", "--quiet")
    assert message == r"gradeval: \udcff.run is not UTF-8 and cannot be written to TOML"
    again = gradeval(*args)
    assert again.code == 2 and "own.toml: the file exists; --init does not overwrite." in again.err

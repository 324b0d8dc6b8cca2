"""The checks of a gate as text, and as TOML."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers import each

from gradeval.commands.gate.checks import parse_checks
from gradeval.commands.gate.config import GateConfig, open_config, read_config
from gradeval.errors import GradevalError, InputError
from gradeval.formats.lines import read_toml
from gradeval.formats.sources import Source


@each(
    ("kind", "text", "written"),
    [
        ("require", "nDCG@10 >= 0.45", ["nDCG@10 >= 0.45"]),
        ("require", " ndcg_cut_10>0.45 ", ["nDCG@10 > 0.45"]),
        ("require", "AP(rel=2)@5<=45%", ["AP(rel=2)@5 <= 0.45"]),
        ("require", "num_q < 1e3", ["num_q < 1000"]),
        ("require", "µAP >= -.5", ["muAP >= -0.5"]),
        ("require", "Coverage >= 95 %", ["coverage >= 0.95"]),
        ("require", "Judged@10 >= .7", ["Judged@10 >= 0.7"]),
        ("require", "nDCG@5,10 >= 0", ["nDCG@5 >= 0", "nDCG@10 >= 0"]),
        ("max-drop", "nDCG@10 0.01", ["max-drop nDCG@10 0.01"]),
        ("max-drop", "P(rel=2, cutoff=5)   2%", ["max-drop P(rel=2)@5 2%"]),
        ("max-drop", "AP 2 %", ["max-drop AP 2%"]),
        ("no-worse", "nDCG@10 AP", ["no-worse nDCG@10", "no-worse AP"]),
        ("non-inferior", "AP 0.01", ["non-inferior AP 0.01"]),
        ("max-query-drop", "RR 0.5 in 5%", ["max-query-drop RR 0.5 in 5%"]),
        ("max-query-drop", "RR 0.5", ["max-query-drop RR 0.5 in 0%"]),
    ],
)
def test_checks(kind: str, text: str, written: list[str]) -> None:
    checks = parse_checks(kind, text)
    assert list(map(str, checks)) == written
    for check in checks:
        again = str(check).removeprefix(f"{kind} ")
        assert parse_checks(kind, again) == [check]


@each(
    ("kind", "text", "message"),
    [
        ("require", "", "require '' is not of the form 'nDCG@10 >= 0.45'"),
        ("require", "AP", "require 'AP' is not of the form"),
        ("require", "AP = 0.4", "require 'AP = 0.4' is not of the form"),
        ("require", "AP == 0.4", "is not of the form"),
        ("require", "AP => 0.4", "is not of the form"),
        ("require", ">= 0.4", "is not of the form"),
        ("require", "AP >= ", "is not of the form"),
        ("require", "AP >= nan", "has 'nan' where a number belongs, as in 'nDCG@10 >= 0.45'"),
        ("require", "AP >= inf", "has 'inf' where a number belongs"),
        ("require", "AP >= 1_0", "has '1_0' where a number belongs"),
        ("require", "AP >= 0.4 0.5", "is not of the form"),
        ("require", "nDGC@10 >= 0.4", "nDGC@10: did you mean nDCG@10?"),
        ("require", "coverge >= 0.4", "coverge: did you mean coverage?"),
        ("require", "coverage >= 95", "coverage is a share from 0 to 1; write 95% or 0.95"),
        ("require", "relstring >= 1", "relstring is text and cannot be checked"),
        ("max-drop", "AP", "max-drop 'AP' is not of the form 'nDCG@10 0.01' or 'nDCG@10 2%'"),
        ("max-drop", "AP x", "has 'x' where a number belongs"),
        ("max-drop", "AP -0.1", "the amount must not be below 0: improvement never fails"),
        ("max-drop", "num_q 1", "num_q has no value for each query, so runs cannot be compared by it: use "
         "require"),
        ("max-drop", "coverage 1%", "coverage: coverage is checked with require"),
        ("no-worse", "", "is not of the form"),
        ("no-worse", "AP 0.01", "0.01: unknown metric"),
        ("non-inferior", "AP 2%", "is not of the form 'nDCG@10 0.01'"),
        ("max-query-drop", "RR 0.5 in 101%", "the share of queries must be from 0% to 100%"),
        ("max-query-drop", "RR 0.5 in 5", "is not of the form"),
        ("max-query-drop", "RR 0.5 in x%", "has 'x' where a number belongs"),
        ("max-query-drop", "RR 50%", "is not of the form"),
    ],
)  # fmt: skip
def test_refused(kind: str, text: str, message: str) -> None:
    with pytest.raises(GradevalError) as raised:
        parse_checks(kind, text)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def config(text: str, name: str = "gates.toml") -> GateConfig:
    Path(name).write_text(text)
    return read_config(read_toml(Source(name)))


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


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


def test_the_command_line_comes_first() -> None:
    file = config(BODY)
    own = GateConfig((*parse_checks("require", "AP >= 0.4"), *parse_checks("no-worse", "AP")), "new", 50.0)
    both = file.with_more(own)
    assert [*map(str, both.checks)] == ["AP >= 0.4", "num_q >= 50", "max-drop nDCG@10 2%", "no-worse AP"]
    assert (both.baseline, both.min_coverage) == ("new", 50.0)
    assert file.with_more(GateConfig()) == file


def test_a_pyproject_of_others() -> None:
    Path("pyproject.toml").write_text("[tool.ruff]\nline-length = 99\n")
    assert open_config(None) is None
    Path("pyproject.toml").write_text("tool = 5\n")
    assert open_config(None) is None
    Path("pyproject.toml").write_text("[tool.gradeval.gates]\n")
    assert open_config(None) is not None


@each(
    ("text", "message"),
    [
        ("\nmax_drop = 'AP 1'", "gates.toml:2: unknown key 'max_drop'. Did you mean 'max-drop'?"),
        ("checks = 1", "gates.toml:1: unknown key 'checks'. There are require, max-drop, no-worse, "
         "non-inferior, max-query-drop, baseline, min-coverage"),
        ("require = 5", "gates.toml:1: require must be a string or a list of strings such as "
         "'nDCG@10 >= 0.45', not 5"),
        ("require = [5]", "gates.toml:1: require must be a string or a list of strings"),
        ("require = [\n'AP > 0',\n'AP 0']", "gates.toml:3: require 'AP 0' is not of the form"),
        ("no-worse = 'nDGC@5'", "gates.toml:1: nDGC@5: did you mean nDCG@5?"),
        ("baseline = 5", "gates.toml:1: baseline must be the path of a file, not 5"),
        ("baseline = ''", "gates.toml:1: baseline must be the path of a file, not ''"),
        ("baseline = '-'", "gates.toml:1: baseline must be the path of a file, not '-'"),
        ("min-coverage = true", "gates.toml:1: min-coverage must be a percentage from 0 to 100, not True"),
        ("min-coverage = nan", "gates.toml:1: min-coverage must be a percentage from 0 to 100, not nan"),
        ("min-coverage = 101", "gates.toml:1: min-coverage must be a percentage"),
        ("[tool.gradeval.gate]\nrequire = 'AP > 0'", "gates.toml:1: unknown key 'tool'"),
    ],
)  # fmt: skip
def test_refused_files(text: str, message: str) -> None:
    with pytest.raises(InputError) as raised:
        config(text)
    assert str(raised.value).startswith(message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[tool.gradeval.gates]\nx = 1", "pyproject.toml:1: unknown table 'gates'. Did you mean 'gate'?"),
        ("[tool.gradeval.other]\nx = 1", "pyproject.toml:1: unknown table 'other'. There is gate"),
        ("[tool.gradeval]\ngate = 5", "pyproject.toml: it has no table [tool.gradeval.gate]"),
        ("[tool.ruff]\nx = 1", "pyproject.toml: it has no table [tool.gradeval.gate]"),
        ("[tool.x]\nmaxdrop = 1\n[tool.gradeval.gate]\nmaxdrop = 1", "pyproject.toml:4: unknown key 'maxdrop'"),
    ],
)
def test_refused_pyprojects(text: str, message: str) -> None:
    with pytest.raises(InputError) as raised:
        config(text, "pyproject.toml")
    assert str(raised.value).startswith(message)

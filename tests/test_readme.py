"""README and the guide describe the program correctly: their examples are run, their tables and lists compared.

Commands and Python lines are run in the order of a page, in a copy of sample_data/search.
`python tests/test_readme.py` updates the output of the commands.
"""

import doctest
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock
from xml.etree import ElementTree

import click
import numpy as np
import pytest
from cli.command import gradeval
from helpers import own_metrics_only
from registry import test_invariants, test_metric

import gradeval as package
from gradeval.cli import COMMANDS, app
from gradeval.commands.batch.command import batch_command
from gradeval.commands.compare.command import compare_command
from gradeval.commands.eval import eval_command
from gradeval.commands.gate.command import gate_command
from gradeval.file_formats import FORMATS, WRITTEN_FORMATS
from gradeval.options import DEFAULT_METRICS
from gradeval.registry.dialects import BENCHMARKS, TREC_EVAL
from gradeval.registry.metric import REGISTRY, load
from gradeval.registry.pages import page
from gradeval.render import WRITERS

ROOT = Path(__file__).resolve().parents[1]
PAGES = {path.name: path for path in (ROOT / "README.md", *sorted((ROOT / "gradeval/guide").glob("*.md")))}
TEXT = "\n".join(path.read_text("utf-8") for path in PAGES.values())
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ENVIRONMENT = {"COLUMNS": "100", "NO_COLOR": "1", "TERM": "xterm", "LC_ALL": "C.UTF-8"}

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the commands are for a POSIX shell")


@contextmanager
def samples() -> Iterator[None]:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.chdir(shutil.copytree(ROOT / "sample_data", Path(folder, "sample_data")) / "search")
        for name, value in ENVIRONMENT.items():
            patch.setenv(name, value)
        patch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")
        yield


def blocks(kind: str, text: str = TEXT) -> list[str]:
    return [content for name, content in BLOCK.findall(text) if name == kind]


def commands(block: str) -> Iterator[tuple[str, str]]:
    """(command, output shown) of each '$ ' line of a block."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, output = part.partition("\n")
        yield command, output


def bash(script: str, stdin: bytes = b"") -> bytes:
    done = subprocess.run(["bash", "-c", script], input=stdin, stdout=subprocess.PIPE, timeout=60, check=False)
    return done.stdout


def run(command: str) -> str:
    """Standard output and standard error of a command on a terminal without colours.

    gradeval runs in this process, in loops too; bash expands its arguments, where they need it, and runs other
    programs.
    """
    if loop := re.fullmatch(r"for (\w+) in (.*); do (.*); done", command):
        return "".join(run(re.sub(rf"\${loop[1]}\b", value, loop[3])) for value in loop[2].split())
    pipeline, *rest = re.split("(?=; echo | && echo )", command)
    if substituted := re.search(r"<\((.*?)\)", pipeline):
        Path(".substituted").write_text(run(substituted[1]))
        pipeline = pipeline.replace(substituted[0], ".substituted")
    pipeline, *written = re.split(r" (>>?) (?=[\w.]+$)", pipeline)
    stages = pipeline.split(" | ")
    err, out, code = "", b"", 0  # the errors that the last stage does not print
    for number, stage in enumerate(stages, 1):
        program, _, words = stage.partition(" ")
        if program != "gradeval":
            out = bash(stage, out)
            continue
        words, given = words.removesuffix("2>&1"), words
        args = shlex.split(words)
        if set(words) & {*"*?[$~{`"}:
            args = bash(f"printf '%s\\0' {words}").decode().split("\0")[:-1]
        Path(".stdin").write_bytes(out)
        on_terminal = number == len(stages) and not written
        is_whole = on_terminal or given.endswith("2>&1")
        done = gradeval(*args, stdin=".stdin", terminal=on_terminal, together=is_whole)
        code, out = done.code, done.out.encode()
        err += "" if is_whole else done.err
    if written:
        redirection, name = written
        with Path(name).open("ab" if redirection == ">>" else "wb") as file:
            file.write(out)
        out = b""
    return out.decode() + err + b"".join(bash(f"(exit {code}){script}") for script in rest).decode()


def shown(text: str) -> str:
    def with_outputs(match: re.Match[str]) -> str:
        if match[1] != "console":
            return match[0]
        return "```console\n" + "".join(f"$ {line}\n{run(line)}" for line, _ in commands(match[2])) + "```"

    return BLOCK.sub(with_outputs, text)


@pytest.mark.parametrize("name", PAGES)
def test_examples(name: str) -> None:
    text = PAGES[name].read_text("utf-8")
    report: list[str] = []
    with samples():
        assert shown(text) == text
        example = doctest.DocTestParser().get_doctest("\n".join(blocks("pycon", text)), {}, name, name, 0)
        doctest.DocTestRunner().run(example, out=report.append)
    assert report == []


def test_links() -> None:
    """Each leads to a file, and to a heading of it. README is short."""
    for path in PAGES.values():
        for target, heading in re.findall(r"\]\(([\w./-]*)(?:#([\w-]+))?\)", path.read_text("utf-8")):
            file = path.parent / target if target else path
            assert file.exists(), (path, target)
            if heading:
                headings = re.findall(r"^#+ (.*)$", file.read_text("utf-8"), re.MULTILINE)
                anchors = {re.sub(r"[^\w -]", "", text.lower()).replace(" ", "-") for text in headings}
                assert heading in anchors, (path, target, heading)
    readme = PAGES["README.md"].read_text("utf-8")
    assert len(readme.splitlines()) <= 300
    named = set(
        re.findall(r"`(?:gradeval )?(\w+)", "".join(re.findall(r"^\| `gradeval .*?\|", readme, re.MULTILINE)))
    )
    assert named - {"QRELS"} == COMMANDS.keys() - {"eval"}


def test_options() -> None:
    """Those of commands in sentences and of the table exist, and each option of the main commands is named."""
    assert not any(re.search(r"^gradeval ", block, re.MULTILINE) for block in blocks("sh")), "not run"
    for line in re.findall(r"(?<!`)`gradeval ([^`]+)`", BLOCK.sub("", TEXT)):
        words = shlex.split(line.replace(r"\|", "|"))
        command = app.get_command(click.Context(app), words[0]) or eval_command
        commands = [command, *getattr(command, "commands", {}).values()]
        options = {option for each in commands for param in each.params for option in param.opts} | {"--help"}
        unknown = {word for word in words if re.match("--?[a-zA-Z]", word)} - options
        assert not unknown, (line, unknown)
    options = {option for param in eval_command.params for option in param.opts}
    cells = " ".join(row[1] for row in table("group", "option", "description"))
    named = set(re.findall(r"`(--?[a-zA-Z-]+)", cells))
    assert named - {"-h", "--help", "--version"} == options - {"qrels", "runs"}
    for command in (eval_command, compare_command, gate_command, batch_command):
        options = {
            option for param in command.params if param.param_type_name == "option" for option in param.opts
        }
        assert {
            option for option in options if f"`{option}`" not in TEXT and f"`{option} " not in TEXT
        } == set()


GATE = next(line for block in blocks("console") for line, _ in commands(block) if "good enough" in line)
NOT_GOOD_ENOUGH: list[dict[str, str]] = [
    {"hybrid": "bm25"},  # it is below
    {"hybrid": "dense"},  # it lacks two queries
    {"hybrid.run": "{hybrid,dense}.run"},
    {"0.65": "0.7"},
    {"nDCG@10": "rankDCG", "qrels.txt": "equal.txt", "hybrid.run": "equal.run"},  # undefined
]


def test_the_gate_of_readme() -> None:
    """It passes only if the run has a value that is high enough, for all queries."""
    with samples():
        Path("equal.txt").write_text("401 0 a 1\n")
        Path("equal.run").write_text("401 Q0 a 1 2 t\n")
        assert run(GATE).endswith("good enough\n")
        for change in NOT_GOOD_ENOUGH:
            command = GATE
            for old, new in change.items():
                assert old in command
                command = command.replace(old, new)
            assert not run(command).endswith("good enough\n"), change


def ci_file(name: str) -> str:
    """The block of the page on CI for the file of this name."""
    [text] = [
        text for _, text in BLOCK.findall(PAGES["ci.md"].read_text("utf-8")) if text.startswith(f"# {name}\n")
    ]
    return text


def ci(commands: str | list[str], system: str) -> subprocess.CompletedProcess[str]:
    """Run commands of CI, but for the one that installs gradeval, where rank.sh prints the run of a system."""
    lines = [commands] if isinstance(commands, str) else commands
    assert lines == [commands] or lines.count("pip install ./third_party/gradeval") == 1
    Path("rank.sh").write_text(f"#!/bin/sh\ncat {system}.run\n")
    Path("rank.sh").chmod(0o755)
    Path("new.run").unlink(missing_ok=True)
    script = "\n".join(line for line in lines if not line.startswith("pip "))
    return subprocess.run(["sh", "-ec", script], capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("make"), reason="there is no make")
def test_examples_for_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    yaml = pytest.importorskip("yaml")
    with samples():
        for name in ("gates.toml", "Makefile"):
            Path(name).write_text(ci_file(name))
        done = ci("make -s baseline", "hybrid")
        assert (done.returncode, done.stdout) == (0, "")
        done = ci("make -s gate", "bm25")
        assert done.returncode == 2  # make's, for any error
        assert "gate failed: 3 of 6 checks did not hold (3 failed)" in done.stdout
        done = ci("make -s gate", "nowhere")
        assert done.returncode == 2 and not Path("new.run").exists()

        workflow = yaml.safe_load(ci_file(".github/workflows/ranking.yml"))
        assert {*workflow} == {"name", True, "permissions", "jobs"}  # to YAML 1.1 'on' is true
        assert workflow[True] == "pull_request"
        [job] = workflow["jobs"].values()
        assert {*job} == {"runs-on", "steps"}
        assert all(("run" in step) != ("uses" in step) for step in job["steps"])
        monkeypatch.setenv("GITHUB_STEP_SUMMARY", "summary.md")
        done = ci([step["run"] for step in job["steps"] if "run" in step], "hybrid")
        assert done.returncode == 0, done.stderr
        assert "::notice title=gradeval gate search::gate held: 6 of 6 checks held" in done.stderr
        assert "**gate held: 6 of 6 checks held**" in Path("summary.md").read_text()
        [upload] = [step for step in job["steps"] if "upload" in step.get("uses", "")]
        assert Path(upload["with"]["path"]).is_file() and upload["if"] == "always()"

        [job] = yaml.safe_load(ci_file(".gitlab-ci.yml")).values()
        assert {*job} == {"image", "variables", "script", "artifacts"}
        done = ci(job["script"], "dense")  # which lacks two queries
        assert done.returncode == 2
        assert done.stdout.splitlines()[-1] == "the gate could not decide: 6 of 6 checks could not be judged"
        assert job["artifacts"]["when"] == "always"
        report = ElementTree.parse(job["artifacts"]["reports"]["junit"]).getroot()
        assert report.attrib["errors"] == "6"


def table(*head: str) -> list[list[str]]:
    """The cells of the rows of the table with this head line."""
    lines = f"| {' | '.join(head)} |\n| {' | '.join(['---'] * len(head))} |\n"
    rows = TEXT[TEXT.index(lines) + len(lines) :].partition("\n\n")[0].splitlines()
    return [re.split(r" *(?<!\\)\| *", row)[1:-1] for row in rows]


def test_names_are_those_of_the_code() -> None:
    endings = {name: f"`{writer.ending}`" if writer.ending else "" for name, writer in WRITERS.items()}
    rows = table("format", "description", "ending of `-o`")
    assert {name.strip("`"): ending for name, _, ending in rows} == endings
    roles: dict[str, set[str]] = {}
    for content, role, _ in table("content", "as", "lines"):
        for name in re.findall("`([a-z]+)`", content):
            roles.setdefault(name, set()).update(("qrels", "run") if role == "both" else [role.lower()])
    assert roles == {name: {*row.reads} for name, row in FORMATS.items()}
    only = {name: f" ({row.writes[0]} only)" for name, row in FORMATS.items() if len(row.writes) == 1}
    *names, last = (name + only.get(name, "") for name in WRITTEN_FORMATS)
    assert f"in another format: {', '.join(names)} or {last}. The ending" in TEXT.replace("\n", " ")

    load()
    lists = re.findall(r"^- [a-z ]+: (`\w+`(?:, `\w+`)+)", TEXT, re.MULTILINE)
    names = [name for line in lists for name in re.findall(r"`(\w+)`", line)]
    assert len(lists) == 6 and len(set(names)) == len(names)
    assert (
        {metric.split("@")[0] for metric in DEFAULT_METRICS.split()} - {"num_q"} <= set(names) <= set(REGISTRY)
    )
    assert f"`{DEFAULT_METRICS}`" in TEXT

    for after, groups in (("are trec_eval's", TREC_EVAL), ("are\\s+what\\s+benchmarks\\s+report", BENCHMARKS)):
        [group_names] = re.findall(rf"The\s+groups\s+([^.]*?)\s+{after}", TEXT)
        assert set(re.findall(r"`([\w-]+)`", group_names)) == set(groups)
    for shell in ("bash", "zsh", "fish"):  # tests/cli/test_completion.py has the scripts
        assert any(f"_GRADEVAL_COMPLETE={shell}_source gradeval" in block for block in blocks("sh"))


def test_the_metric_that_is_added() -> None:
    """It passes its own test and those that find it by themselves."""
    function, test, with_details = blocks("python")
    names: dict[str, Any] = {"__name__": "readme"}
    with own_metrics_only():
        exec(function, names)
        exec(test, names)
        names["test_graded_reciprocal_rank"]()
        metric = REGISTRY["GRR"]
        for check in (test_metric.test_page, test_metric.test_parameters):
            check.__wrapped__(metric)  # type: ignore[attr-defined]
        assert len(metric.invariants) == 3
        for invariant in metric.invariants:
            [tried] = [one for one in test_invariants.TRIALS if one.about == invariant.about]
            with mock.patch.dict(test_invariants.CLAIMS, {tried: [metric]}):
                test_invariants.test_holds.__wrapped__(tried)  # type: ignore[attr-defined]
        exec(with_details, names)
        [explained] = package.explain({"q": {"a": 1, "b": 4}}, {"q": {"a": 2, "b": 1}}, "ShareDCG", "q")
        assert [(term.scaled, term.gain) for term in explained.terms or ()] == [(0.25, 0.0625), (1, 1)]
        assert " grade/m " in explained.render()
        test_metric.test_page.__wrapped__(REGISTRY["ShareDCG"])  # type: ignore[attr-defined]
        assert page("grr").startswith("GRR\n\nGraded reciprocal rank.\n\nUse when the user wants one result")


@pytest.mark.skipif(not shutil.which("make"), reason="there is no make")
def test_make_has_the_commands_that_are_named() -> None:
    help_text = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    named = set(re.findall(r"\bmake (demo|test|thorough|lint|bench|clean|help)\b", TEXT))
    assert {"demo", "test", "thorough", "lint", "bench"} <= named
    assert named <= set(re.findall(r"make (\w+)", help_text))


RNG = np.random.default_rng(2)
SIZES = RNG.integers(5, 30, 40)
QUERY = np.repeat(np.arange(40), SIZES)
GRADE = RNG.integers(0, 4, len(QUERY))
FEATURES = np.column_stack([QUERY, GRADE + RNG.normal(size=len(QUERY)), RNG.normal(size=len(QUERY))])


def recipes() -> dict[str, Any]:
    [text] = [block for block in blocks("py", PAGES["python.md"].read_text("utf-8")) if "lightgbm" in block]
    names: dict[str, Any] = {"gradeval": package, "np": np}
    exec(text, names)
    return names


def expected(scores, metric="nDCG@10", **how):
    return package.score_arrays(metric, grade=GRADE, score=scores, query=QUERY, **how)[metric]


def test_names():
    assert {"lightgbm_ndcg", "xgboost_ndcg", "sklearn_ndcg"} <= {*recipes()}


def check(found: dict[str, list[float]], scores: Any, own: float) -> None:
    """What a library recorded of its model: by the recipe, and by its own nDCG as near as it computes it."""
    assert found["nDCG@10"][-1] == pytest.approx(expected(scores), abs=1e-6)
    ours = expected(scores, "nDCG(gain=exp)@10", no_relevant=1, ties="input")
    assert found["ndcg@10"][-1] == pytest.approx(ours, abs=own)


def test_lightgbm():
    lightgbm = pytest.importorskip("lightgbm")
    data = lightgbm.Dataset(FEATURES[:, 1:], GRADE, group=SIZES)
    found: dict[str, Any] = {}
    params = {"objective": "lambdarank", "metric": "ndcg", "eval_at": [10], "verbose": -1, "num_threads": 1}
    more = {"feval": recipes()["lightgbm_ndcg"], "callbacks": [lightgbm.record_evaluation(found)]}
    model = lightgbm.train(params, data, 5, valid_sets=[data], valid_names=["valid"], **more)
    check(found["valid"], model.predict(FEATURES[:, 1:]), 1e-6)


def test_xgboost():
    xgboost = pytest.importorskip("xgboost")
    data = xgboost.DMatrix(FEATURES[:, 1:], GRADE)
    data.set_group(SIZES)
    found: dict[str, Any] = {}
    params = {"objective": "rank:ndcg", "eval_metric": "ndcg@10", "nthread": 1}
    more = {"custom_metric": recipes()["xgboost_ndcg"], "evals_result": found, "verbose_eval": False}
    model = xgboost.train(params, data, 5, evals=[(data, "valid")], **more)
    check(found["valid"], model.predict(data), 1e-5)


def test_scikit_learn():
    pytest.importorskip("sklearn")
    from sklearn.linear_model import LinearRegression
    from sklearn.metrics import ndcg_score
    from sklearn.model_selection import GroupKFold, cross_val_score

    folds = cross_val_score(
        LinearRegression(), FEATURES, GRADE, groups=QUERY, cv=GroupKFold(4), scoring=recipes()["sklearn_ndcg"]
    )
    assert len(folds) == 4 and (folds > 0.5).all()
    scores = LinearRegression().fit(FEATURES, GRADE).predict(FEATURES)
    rows = np.split(np.arange(len(QUERY)), np.cumsum(SIZES)[:-1])
    own = [ndcg_score([GRADE[of]], [scores[of]], k=10) for of in rows]
    assert np.mean(own) == pytest.approx(expected(scores), abs=1e-12)


if __name__ == "__main__":
    with samples():
        for file in PAGES.values():
            file.write_text(shown(file.read_text("utf-8")), "utf-8")

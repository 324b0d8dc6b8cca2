"""The typed keywords of the public functions are those of the tables of options.

`python tests/test_keywords.py` makes gradeval/keywords.pyi, __init__.pyi and guide/api.md anew.
"""

import inspect
import pkgutil
import re
import shutil
import textwrap
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args, get_type_hints

import api
import pytest
from helpers import each, error_of, raises

import gradeval
from gradeval.commands.files.convert import WrittenFormat
from gradeval.compare_options import OF_SUMS
from gradeval.errors import OptionError
from gradeval.evaluation.evaluator import Evaluator
from gradeval.evaluation.results import Results
from gradeval.file_formats import WRITTEN_FORMATS
from gradeval.options import FILES, PROCESS, Option, Options
from gradeval.render import WRITERS, Format

PACKAGE = Path(gradeval.__file__).parent
FUNCTIONS: dict[str, list[Callable[..., Any]]] = {
    "Evaluate": [gradeval.evaluate, Evaluator.__init__],
    "Compare": [gradeval.compare],
    "ReportKeywords": [gradeval.report],
    "CompareResults": [gradeval.compare_tables, Results.compare],
    "Runs": [
        gradeval.explain,
        gradeval.plot.curve,
        gradeval.plot.means,
        gradeval.plot.queries,
        gradeval.study.levels,
    ],
    "SwapsKeywords": [gradeval.study.swaps, gradeval.plot.swaps],
    "Divergence": [gradeval.study.divergence],
    "Agreement": [gradeval.study.agreement],
    "ReuseKeywords": [gradeval.study.reuse],
    "EstimateKeywords": [gradeval.estimate],
    "PoolKeywords": [gradeval.pool],
    "DiffKeywords": [gradeval.diff],
    "GateKeywords": [gradeval.gate],
    "FuseKeywords": [gradeval.fuse],
    "PhiKeywords": [gradeval.plot.phi],
    "Files": [gradeval.convert],
    "Validate": [gradeval.validate],
    "ReadQrels": [gradeval.read_qrels],
    "ReadRun": [gradeval.read_run],
}
OF_SPARK: dict[str, dict[str, Option]] = {
    "OnSpark": Options.rows(without=(FILES, PROCESS)),
    "CompareOnSpark": OF_SUMS,
}
HEAD = '''"""The keywords of public functions for type checkers. Made by tests/test_keywords.py, not by hand."""

# fmt: off
# ruff: noqa
import os
from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypedDict

from typing_extensions import Unpack as Unpack
'''


STUB = '''"""The public names for type checkers and editors. Made by tests/test_keywords.py, not by hand."""

# fmt: off
# ruff: noqa
'''


def stub() -> str:
    """The public names of the package, each from its module, which it imports when it is used."""
    lines = [f"from gradeval import {name} as {name}" for name in gradeval._MODULES]
    named = ((module, name) for module, names in gradeval._NAMES.items() for name in names.split())
    lines += [f"from gradeval.{module} import {name} as {name}" for module, name in named]
    names = "".join(f"    {name!r},\n" for name in sorted(gradeval.__all__))
    return "\n".join([STUB, *lines, "", f"__all__ = [\n{names}]\n"])


def keywords(function: Callable[..., Any]) -> list[tuple[str, str, Any]]:
    """(name, type, default) of what its signature has beyond the parameters that are written."""
    code = inspect.unwrap(function).__code__
    written = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    parameters = inspect.signature(function).parameters.values()
    return [(one.name, one.annotation, one.default) for one in parameters if one.name not in written]


def module() -> str:
    sets = {name: keywords(functions[0]) for name, functions in FUNCTIONS.items()}
    for name, rows in OF_SPARK.items():
        sets[name] = [(option, row.annotation, row.default) for option, row in rows.items()]
    text, made = HEAD, dict[str, list[tuple[str, str, Any]]]()
    for name, rows in sorted(sets.items(), key=lambda item: len(item[1])):
        bases, own = [], rows
        for base in reversed(made):  # the largest that are part of it; type checkers want no field in two bases
            if all(row in own for row in made[base]):
                bases, own = [*bases, base], [row for row in own if row not in made[base]]
        made[name] = rows
        lines = "".join(f"    {option}: {type}  # {default!r}\n" for option, type, default in own)
        text += f"\n\nclass {name}({', '.join(bases) or 'TypedDict'}, total=False):\n{lines or '    pass'}"
    return text


MADE = {"__init__.pyi": stub, "keywords.pyi": module, "guide/api.md": api.page}


def test_the_module_is_of_the_tables() -> None:
    assert {name: (PACKAGE / name).read_text() for name in MADE} == {
        name: make() for name, make in MADE.items()
    }
    assert (PACKAGE / "py.typed").exists()
    public = [getattr(gradeval, name) for name in gradeval.__all__]
    public += [value for module in (gradeval.plot, gradeval.study) for value in vars(module).values()]
    functions = [one for one in public if inspect.isfunction(one) and not one.__name__.startswith("_")]
    taking = {one for one in functions if "**options" in inspect.getsource(one).split('"""')[0]}
    assert taking == {one for of in FUNCTIONS.values() for one in of} - {Evaluator.__init__, Results.compare}
    assert set(get_args(Format)) == {*WRITERS, "html"}
    assert get_args(WrittenFormat) == WRITTEN_FORMATS
    parameters = inspect.signature(gradeval.Evaluator).parameters  # at run time
    assert list(parameters)[:2] == ["qrels", "metrics"] and parameters["confidence"].default == 95.0
    assert "Literal['trec', 'input', 'best', 'worst', 'expected'] | None" in str(parameters["ties"])
    assert get_type_hints(gradeval.read_qrels)["return"].__name__ == "OpenedQrels"


@each(("name", "function"), [*api.functions().items()])
def test_docstrings_are_whole(name: str, function: Callable[..., Any]) -> None:
    """Parameters, what is raised, an example that is Python: the page of the API is made of them."""
    section = api.Section(name, function)
    assert not {*section.own} - section.documented and "Raises" in section.pieces
    assert section.examples and all(compile(example, name, "exec") for example in section.examples)


SAMPLES = PACKAGE.parent / "sample_data"
CLASSES = {
    name: getattr(gradeval, name) for name in gradeval.__all__ if inspect.isclass(getattr(gradeval, name))
}


@each("name", [*CLASSES])
def test_examples_of_classes_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if name == "Report":
        pytest.importorskip("jinja2")
    for folder in (SAMPLES, SAMPLES / "search"):  # the manifest is beside the folders
        shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    parts = inspect.cleandoc(CLASSES[name].__doc__ or "").split("\n\n")
    [example] = [textwrap.dedent(part) for part in parts if part.lstrip().startswith(">>>")]
    code = re.sub(r"^(>>>|\.\.\.) ?", "", example, flags=re.MULTILINE)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(code, {"gradeval": gradeval, "warnings": warnings})


@each(("name", "function"), [(name, one) for name, of in FUNCTIONS.items() for one in of])
def test_functions_show_their_options_and_refuse_others(name: str, function: Callable[..., Any]) -> None:
    assert re.search(rf"\*\*options: Unpack\[{name}(Options)?\]", inspect.getsource(function))
    assert keywords(function) == keywords(FUNCTIONS[name][0])
    first, *options = [option for option, _, _ in keywords(function)]
    assert all(f"\n    {option}: " in (function.__doc__ or "") for option in (first, *options))
    assert "options" not in inspect.signature(function).parameters
    message = error_of(OptionError, function, **{f"{first}x": 1})
    assert message.startswith(f"unknown option {first}x: did you mean {first}? The options are ")
    assert all(option in message for option in options)


@each(
    ("call", "what"),
    [
        (lambda: gradeval.explain("q", "r", "AP", "1", query_ids="2"), "those that worst chooses from"),
        (lambda: gradeval.study.divergence("q", "r", seed=2), "seed is for random scores"),
        (lambda: gradeval.study.divergence("q", "r", "AP RR", cutoff=5), "cutoff is that of the default"),
        (lambda: gradeval.study.divergence(ties="best"), "ties requires qrels"),
        (lambda: gradeval.study.agreement("q", qrels2="p", splits=9), "splits requires runs"),
        (lambda: gradeval.study.agreement("q", qrels2="p", rel=2), "rel requires runs"),
        (lambda: gradeval.evaluate("q", "r", confidence=90), "confidence requires interval"),
        (lambda: gradeval.study.criteria(seed=1), "unknown option seed: the options are metrics$"),
        (lambda: gradeval.study.swaps(foo=3), "unknown option foo: the options are progress, levels, "),
        (
            lambda: gradeval.plot.swaps(foo=3),
            "unknown option foo: the options are confidence, progress, levels, ",
        ),
        (lambda: gradeval.compare_tables([], baselin="a"), "did you mean baseline.* query_ids"),
        (lambda: gradeval.compare_tables([], querys="both"), "did you mean queries"),
    ],
)
def test_an_option_without_effect_is_an_error(call: Callable[[], object], what: str) -> None:
    raises(OptionError, what, call)


@pytest.mark.filterwarnings("ignore")  # of jedi
def test_completion_of_public_names() -> None:
    jedi = pytest.importorskip("jedi")

    def completed(code: str) -> set[str]:
        return {name.name for name in jedi.Script(code).complete()}

    # an editor lists modules in the folder too; a session or a notebook does not
    modules = {module.name for module in pkgutil.iter_modules(gradeval.__path__)} | {"guide", "keywords"}
    names = {name for name in completed("import gradeval\ngradeval.") if name[0] != "_"}
    assert {*gradeval.__all__} - {"__version__"} == names - (modules - {*gradeval.__all__})
    in_session = jedi.Interpreter("gradeval.", [{"gradeval": gradeval}]).complete()
    assert {*gradeval.__all__} == {name.name for name in in_session}
    assert completed("from gradeval import score") == {"score_arrays"}
    for module in ("plot", "study"):
        names = completed(f"import gradeval\ngradeval.{module}.")
        assert {name for name in names if name[0] != "_"} == {*getattr(gradeval, module).__all__}


CALLS = Path(__file__).with_name("calls.py")
WRONG = [
    "from gradeval import evalute",
    "from gradeval.plot import curv",
    "gradeval.compair(QRELS, RUNS)",
    "gradeval.plot.mean(QRELS, RUNS)",
    "gradeval.study.swap()",
    "results.means_frames()",
    "comparison.comparison",
    'gradeval.gate(QRELS, "bm25.run", requires="AP >= 0.2")',
    'gradeval.fuse(RUNS, method="rff")',
    "report.exitcode",
    'gradeval.evaluate("qrels", "a.run", tie="worst")',
    'gradeval.evaluate("qrels", "a.run", ties="wrst")',
    'gradeval.compare("qrels", ["a", "b"], test="wilcoxn")',
    'gradeval.compare("qrels", ["a", "b"], tie_range=True)',
    'gradeval.explain("qrels", "a.run", jobs="all")',
    'gradeval.read_qrels("qrels", run_format="trec")',
    'gradeval.plot.phi("qrels", depth=3)',
    'gradeval.report("qrels", "a.run", worst=3)',
    'gradeval.evaluate("qrels", "a.run", [10])',
    'gradeval.score_arrays("AP", grade=[1], score=[1], ties="inputt")',
    'results.render("mdd")',
    'gradeval.convert("a.run", "b.csv", to="cvs")',
    'gradeval.convert("a.run", "b.csv", role="runs")',
    'gradeval.convert("a.run", "b.csv", ties="trek")',
    'gradeval.compare_tables("a.csv", queries="bth")',
    'gradeval.list_metrics()[0]["nme"]',
]


@pytest.mark.slow
def test_type_checkers_find_what_is_misspelt(tmp_path: Path) -> None:
    api = pytest.importorskip("mypy.api")
    right = CALLS.read_text("utf-8").splitlines()
    unused = [name for name in gradeval.__all__ if not re.search(rf"\b{name}\b", "\n".join(right))]
    assert unused == []
    (tmp_path / "calls.py").write_text("\n".join([*right, *WRONG, ""]))
    (tmp_path / "mypy.ini").write_text("[mypy]\n")
    options = ["--strict", "--config-file", str(tmp_path / "mypy.ini"), "--cache-dir", str(tmp_path / "cache")]
    output, problems, _ = api.run([*options, "--follow-imports=silent", str(tmp_path / "calls.py")])
    lines = {int(line.split(":")[1]) for line in output.splitlines() if ": error: " in line}
    assert problems == "" and lines == {len(right) + number for number in range(1, len(WRONG) + 1)}, output


if __name__ == "__main__":
    for name, make in MADE.items():
        (PACKAGE / name).write_text(make())

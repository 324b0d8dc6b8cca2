"""gradeval evaluates rankings against graded relevance judgments.

    >>> import gradeval
    >>> results = gradeval.evaluate("qrels.txt", ["bm25.run", "dense.run"], "nDCG@10 muAP")

Everything heavy is imported when it is first used.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as in typing, whose import would keep __main__ waiting
if TYPE_CHECKING:
    from typing import Any

    from gradeval import spark as spark
    from gradeval.commands.batch.batch import Batch as Batch
    from gradeval.commands.batch.batch import batch as batch
    from gradeval.commands.compare.compare import Comparison as Comparison
    from gradeval.commands.compare.compare import compare as compare
    from gradeval.commands.compare.tables import compare_tables as compare_tables
    from gradeval.commands.estimate.estimate import Estimates as Estimates
    from gradeval.commands.estimate.estimate import estimate as estimate
    from gradeval.commands.explain.explain import Explanation as Explanation
    from gradeval.commands.explain.explain import explain as explain
    from gradeval.commands.files.convert import convert as convert
    from gradeval.commands.files.validate import Validation as Validation
    from gradeval.commands.files.validate import validate as validate
    from gradeval.commands.fuse.fuse import Fusion as Fusion
    from gradeval.commands.fuse.fuse import fuse as fuse
    from gradeval.commands.gate.gate import GateReport as GateReport
    from gradeval.commands.gate.gate import gate as gate
    from gradeval.commands.plot import pictures as plot  # noqa: F401
    from gradeval.commands.pool.pool import Pool as Pool
    from gradeval.commands.pool.pool import pool as pool
    from gradeval.commands.report.report import Report as Report
    from gradeval.commands.report.report import report as report
    from gradeval.commands.study import experiments as study  # noqa: F401
    from gradeval.errors import GradevalError as GradevalError
    from gradeval.errors import InputError as InputError
    from gradeval.errors import MetricError as MetricError
    from gradeval.errors import OptionError as OptionError
    from gradeval.evaluation.evaluator import Evaluator as Evaluator
    from gradeval.evaluation.evaluator import evaluate as evaluate
    from gradeval.evaluation.loaded import load as load
    from gradeval.evaluation.results import Results as Results
    from gradeval.evaluation.training import score_arrays as score_arrays
    from gradeval.notices import EvaluationWarning as EvaluationWarning
    from gradeval.registry.pages import list_metrics as list_metrics
    from gradeval.tables.load import read_qrels as read_qrels
    from gradeval.tables.load import read_run as read_run
    from gradeval.version import __version__ as __version__

# every public name once, by module; the imports above are for type checkers, and a test compares them
_NAMES = {
    "commands.batch.batch": "Batch batch",
    "commands.compare.compare": "Comparison compare",
    "commands.compare.tables": "compare_tables",
    "commands.estimate.estimate": "Estimates estimate",
    "commands.explain.explain": "Explanation explain",
    "commands.files.convert": "convert",
    "commands.files.validate": "Validation validate",
    "commands.gate.gate": "GateReport gate",
    "commands.fuse.fuse": "Fusion fuse",
    "commands.pool.pool": "Pool pool",
    "commands.report.report": "Report report",
    "errors": "GradevalError InputError MetricError OptionError",
    "evaluation.evaluator": "Evaluator evaluate",
    "evaluation.results": "Results",
    "evaluation.loaded": "load",
    "evaluation.training": "score_arrays",
    "notices": "EvaluationWarning",
    "registry.pages": "list_metrics",
    "tables.load": "read_qrels read_run",
    "version": "__version__",
}
_MODULES = {"plot": "commands.plot.pictures", "spark": "spark", "study": "commands.study.experiments"}
_HOME = {**_MODULES, **{name: module for module, names in _NAMES.items() for name in names.split()}}

__all__ = list(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'gradeval' has no attribute '{name}'")
    from importlib import import_module

    module = import_module(f"gradeval.{_HOME[name]}")
    value = module if name in _MODULES else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(_HOME)

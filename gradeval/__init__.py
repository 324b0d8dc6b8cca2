"""gradeval evaluates rankings against graded relevance judgments.

    >>> import gradeval
    >>> results = gradeval.evaluate("qrels.txt", ["bm25.run", "dense.run"], "nDCG@10 muAP")

Everything heavy is imported when it is first used.
"""

# every public name once, by module; `python tests/test_keywords.py` writes them for type checkers and editors
_NAMES = {
    "commands.batch.batch": "Batch batch",
    "commands.compare.compare": "Comparison compare",
    "commands.compare.tables": "compare_tables",
    "commands.diff.diff": "Diff diff",
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
    "tables.read": "read_qrels read_run",
    "version": "__version__",
}
_MODULES = ("plot", "pytrec_eval", "spark", "study")
_HOME = {
    **{name: name for name in _MODULES},
    **{name: module for module, names in _NAMES.items() for name in names.split()},
}

__all__ = list(_HOME)


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'gradeval' has no attribute '{name}'")
    from importlib import import_module

    module = import_module(f"gradeval.{_HOME[name]}")
    value = module if name in _MODULES else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(_HOME)

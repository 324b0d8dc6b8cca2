"""The public names for type checkers and editors. Made by tests/test_keywords.py, not by hand."""

# fmt: off
# ruff: noqa

from gradeval import plot as plot
from gradeval import pytrec_eval as pytrec_eval
from gradeval import spark as spark
from gradeval import study as study
from gradeval.commands.batch.batch import Batch as Batch
from gradeval.commands.batch.batch import batch as batch
from gradeval.commands.compare.compare import Comparison as Comparison
from gradeval.commands.compare.compare import compare as compare
from gradeval.commands.compare.tables import compare_tables as compare_tables
from gradeval.commands.diff.diff import Diff as Diff
from gradeval.commands.diff.diff import diff as diff
from gradeval.commands.estimate.estimate import Estimates as Estimates
from gradeval.commands.estimate.estimate import estimate as estimate
from gradeval.commands.explain.explain import Explanation as Explanation
from gradeval.commands.explain.explain import explain as explain
from gradeval.commands.files.convert import convert as convert
from gradeval.commands.files.validate import Validation as Validation
from gradeval.commands.files.validate import validate as validate
from gradeval.commands.gate.gate import GateReport as GateReport
from gradeval.commands.gate.gate import gate as gate
from gradeval.commands.fuse.fuse import Fusion as Fusion
from gradeval.commands.fuse.fuse import fuse as fuse
from gradeval.commands.pool.pool import Pool as Pool
from gradeval.commands.pool.pool import pool as pool
from gradeval.commands.report.report import Report as Report
from gradeval.commands.report.report import report as report
from gradeval.errors import GradevalError as GradevalError
from gradeval.errors import InputError as InputError
from gradeval.errors import MetricError as MetricError
from gradeval.errors import OptionError as OptionError
from gradeval.evaluation.evaluator import Evaluator as Evaluator
from gradeval.evaluation.evaluator import evaluate as evaluate
from gradeval.evaluation.results import Results as Results
from gradeval.evaluation.loaded import load as load
from gradeval.evaluation.training import score_arrays as score_arrays
from gradeval.notices import EvaluationWarning as EvaluationWarning
from gradeval.registry.pages import list_metrics as list_metrics
from gradeval.tables.read import read_qrels as read_qrels
from gradeval.tables.read import read_run as read_run
from gradeval.version import __version__ as __version__

__all__ = [
    'Batch',
    'Comparison',
    'Diff',
    'Estimates',
    'EvaluationWarning',
    'Evaluator',
    'Explanation',
    'Fusion',
    'GateReport',
    'GradevalError',
    'InputError',
    'MetricError',
    'OptionError',
    'Pool',
    'Report',
    'Results',
    'Validation',
    '__version__',
    'batch',
    'compare',
    'compare_tables',
    'convert',
    'diff',
    'estimate',
    'evaluate',
    'explain',
    'fuse',
    'gate',
    'list_metrics',
    'load',
    'plot',
    'pool',
    'pytrec_eval',
    'read_qrels',
    'read_run',
    'report',
    'score_arrays',
    'spark',
    'study',
    'validate',
]

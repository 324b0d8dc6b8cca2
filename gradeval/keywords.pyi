"""The keywords of public functions for type checkers. Made by tests/test_keywords.py, not by hand."""

# fmt: off
# ruff: noqa
import os
from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypedDict

from typing_extensions import Unpack as Unpack


class CompareOnSpark(TypedDict, total=False):
    baseline: str | int | None  # None
    all_pairs: bool  # False
    correction: Literal['holm', 'bonferroni', 'bh', 'maxt', 'none'] | None  # None
    confidence: float  # 95.0
    min_coverage: float  # 50.0


class SwapsKeywords(TypedDict, total=False):
    levels: Iterable[int]  # (2, 10, 20, 50)
    items: int  # 100
    repeats: int  # 100
    swaps: int  # 99
    seed: int  # 1
    jobs: int  # 0


class PhiKeywords(TypedDict, total=False):
    zero_grade: float  # 0.0
    jobs: int  # 0
    qrels_format: Literal['trec', 'letor', 'beir', 'csv', 'tsv', 'json', 'lists', 'jsonl', 'parquet', 'arrow'] | None  # None
    qrels_feature: int | None  # None
    groups: str | bytes | os.PathLike[str] | None  # None
    unlabelled: Literal['error', 'unjudged'] | None  # None
    merge: Literal['mean', 'median', 'max', 'min', 'majority', 'first'] | None  # None
    columns: str | Mapping[str, str] | Iterable[tuple[str, str]]  # ()
    exclude: str | bytes | os.PathLike[str] | Mapping[Any, Iterable[object]] | Iterable[tuple[object, object]] | None  # None


class ReadQrels(TypedDict, total=False):
    jobs: int  # 0
    qrels_format: Literal['trec', 'letor', 'beir', 'csv', 'tsv', 'json', 'lists', 'jsonl', 'parquet', 'arrow'] | None  # None
    features: int | str | Iterable[int | str]  # ()
    qrels_feature: int | None  # None
    groups: str | bytes | os.PathLike[str] | None  # None
    unlabelled: Literal['error', 'unjudged'] | None  # None
    merge: Literal['mean', 'median', 'max', 'min', 'majority', 'first'] | None  # None
    columns: str | Mapping[str, str] | Iterable[tuple[str, str]]  # ()
    exclude: str | bytes | os.PathLike[str] | Mapping[Any, Iterable[object]] | Iterable[tuple[object, object]] | None  # None


class ReadRun(TypedDict, total=False):
    jobs: int  # 0
    run_format: Literal['trec', 'letor', 'scores', 'ranklib', 'msmarco', 'beir', 'csv', 'tsv', 'json', 'lists', 'jsonl', 'responses', 'parquet', 'arrow'] | None  # None
    features: int | str | Iterable[int | str]  # ()
    groups: str | bytes | os.PathLike[str] | None  # None
    columns: str | Mapping[str, str] | Iterable[tuple[str, str]]  # ()
    split: str | None  # None
    ignore_identical_ids: bool  # False
    exclude: str | bytes | os.PathLike[str] | Mapping[Any, Iterable[object]] | Iterable[tuple[object, object]] | None  # None
    max_passage: str | None  # None
    duplicates: Literal['error', 'best']  # 'error'
    query_ids: str | Iterable[object] | None  # None


class Files(ReadRun, total=False):
    qrels_format: Literal['trec', 'letor', 'beir', 'csv', 'tsv', 'json', 'lists', 'jsonl', 'parquet', 'arrow'] | None  # None
    qrels_feature: int | None  # None
    unlabelled: Literal['error', 'unjudged'] | None  # None
    merge: Literal['mean', 'median', 'max', 'min', 'majority', 'first'] | None  # None


class Validate(Files, total=False):
    rel: float | Literal['>0'] | None  # None


class CompareResults(CompareOnSpark, total=False):
    test: Literal['t', 'randomization', 'bootstrap', 'wilcoxon', 'sign', 'tukey']  # 't'
    samples: int  # 100000
    seed: int  # 1
    by: str | bytes | os.PathLike[str] | Mapping[Any, Any] | Iterable[tuple[object, Iterable[object]]]  # ()
    replicates: str | bytes | os.PathLike[str] | Mapping[str, str]  # ()
    sort: str | None  # None
    worst: int  # 0
    best: int  # 0
    bounds: bool  # False
    power: bool  # False
    anova: bool  # False
    jobs: int  # 0


class OnSpark(TypedDict, total=False):
    rel: float | Literal['>0'] | None  # None
    depth: int | None  # None
    judged_only: bool  # False
    queries: Literal['judged', 'both']  # 'judged'
    query_ids: str | Iterable[object] | None  # None
    ties: Literal['trec', 'input', 'best', 'worst', 'expected'] | None  # None
    tie_range: bool  # False
    interval: Literal['t', 'bootstrap'] | None  # None
    confidence: float  # 95.0
    bounds: bool  # False
    query_weights: str | bytes | os.PathLike[str] | Mapping[Any, float] | None  # None
    top_grade: float | None  # None
    zero_grade: float  # 0.0
    unjudged_grade: float | None  # None
    no_relevant: Literal['0', '1', 'skip', 0, 1] | None  # None
    by_level: bool  # False
    columns: str | Mapping[str, str] | Iterable[tuple[str, str]]  # ()
    ignore_identical_ids: bool  # False
    exclude: str | bytes | os.PathLike[str] | Mapping[Any, Iterable[object]] | Iterable[tuple[object, object]] | None  # None
    max_passage: str | None  # None
    duplicates: Literal['error', 'best']  # 'error'


class Runs(Validate, total=False):
    depth: int | None  # None
    judged_only: bool  # False
    queries: Literal['judged', 'both']  # 'judged'
    ties: Literal['trec', 'input', 'best', 'worst', 'expected'] | None  # None
    top_grade: float | None  # None
    zero_grade: float  # 0.0
    unjudged_grade: float | None  # None
    no_relevant: Literal['0', '1', 'skip', 0, 1] | None  # None


class ReuseKeywords(Runs, total=False):
    pool_depth: int  # 100


class GateKeywords(Runs, total=False):
    query_weights: str | bytes | os.PathLike[str] | Mapping[Any, float] | None  # None


class EstimateKeywords(Runs, total=False):
    lambda_: float | None  # None
    confidence: float  # 95.0


class Divergence(Runs, total=False):
    cutoff: int  # 10
    items: int  # 100
    draws: int  # 1000
    seed: int  # 1


class DiffKeywords(Runs, total=False):
    p: float  # 0.9
    rbo_ties: Literal['b', 'w', 'a']  # 'b'
    k: int | Iterable[int]  # (10,)
    diff_depth: int  # 1000
    worst: int  # 0


class Evaluate(GateKeywords, total=False):
    tie_range: bool  # False
    interval: Literal['t', 'bootstrap'] | None  # None
    confidence: float  # 95.0
    bounds: bool  # False
    by_level: bool  # False


class PoolKeywords(ReuseKeywords, total=False):
    order: Literal['depth', 'rrf', 'effect', 'decide', 'sample'] | None  # None
    top: int | None  # None
    per_query: int | None  # None
    size: int | None  # None
    seed: int  # 1


class Agreement(Runs, total=False):
    test: Literal['t', 'randomization', 'wilcoxon', 'sign', 'tukey']  # 't'
    correction: Literal['holm', 'bonferroni', 'bh', 'maxt', 'none']  # 'holm'
    alpha: float  # 0.05
    samples: int  # 100000
    splits: int  # 100
    rescale: Iterable[float]  # (0.5, 2.0)
    seed: int  # 1


class FuseKeywords(Validate, total=False):
    method: Literal['rrf', 'sum', 'wsum']  # 'rrf'
    norm: Literal['minmax', 'zmuv', 'none'] | None  # None
    weights: str | Iterable[float] | None  # None
    k: int | None  # None
    depth: int | None  # None
    top: int | None  # None
    tune: str | None  # None
    folds: int | None  # None
    step: float | None  # None
    judged_only: bool  # False
    queries: Literal['judged', 'both']  # 'judged'
    top_grade: float | None  # None
    zero_grade: float  # 0.0
    unjudged_grade: float | None  # None
    no_relevant: Literal['0', '1', 'skip', 0, 1] | None  # None
    query_weights: str | bytes | os.PathLike[str] | Mapping[Any, float] | None  # None


class ReportKeywords(GateKeywords, CompareOnSpark, total=False):
    test: Literal['t', 'randomization', 'bootstrap', 'wilcoxon', 'sign', 'tukey']  # 't'
    samples: int  # 100000
    seed: int  # 1
    sort: str | None  # None
    by: str | bytes | os.PathLike[str] | Mapping[Any, Any] | Iterable[tuple[object, Iterable[object]]]  # ()
    bounds: bool  # False


class Compare(ReportKeywords, total=False):
    replicates: str | bytes | os.PathLike[str] | Mapping[str, str]  # ()
    worst: int  # 0
    best: int  # 0
    power: bool  # False
    anova: bool  # False

"""The results of an evaluation: values of runs × metrics × queries, and their means."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, pairwise
from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np

from gradeval.arrays import Bools, Floats, Ints, cached_property
from gradeval.compare_options import CompareOptions
from gradeval.errors import GradevalError, InputError, MetricError, OptionError, first_names, named
from gradeval.evaluation.score import summarize, summarize_expected
from gradeval.file_formats import LabelledRun, ending_of
from gradeval.notices import Notice, Notices
from gradeval.options import ANY_RELEVANT, DEFAULT_TIES, VALUES, Options, checked_path, takes, with_read
from gradeval.records import Record
from gradeval.registry.spec import Metrics, OneMetric, OneRun, Spec, is_num_q, parse
from gradeval.render import WRITERS
from gradeval.render.printable import WithNotices, frame_of, library, warned

if TYPE_CHECKING:
    from gradeval.commands.compare.compare import Comparison
    from gradeval.evaluation.plan import EvaluationSetting
    from gradeval.keywords import CompareResults, Unpack
    from gradeval.tables.reduction import Reduced

    class LaterNotices(Protocol):
        """What finds notices on first access."""

        @property
        def notices(self) -> Notices: ...


Number = float | int | None
_PUBLIC = (  # what Results show to users; the rest is for commands
    "bibtex", "bounds", "compare", "counted_queries", "failed", "interval", "mean", "means", "means_frame",
    "notices", "only", "options", "per_query", "per_query_frame", "qrels", "qrels_sha256", "queries", "range",
    "ranks", "render", "run", "runs", "save", "signature", "signatures", "sorted_by", "specs", "texts",
    "tie_ranges", "to_arrow", "to_dict", "to_pandas", "to_polars", "undefined", "values", "warnings",
)  # fmt: skip
TIE_RANGE = ("low", "high", "expected")  # columns: of the limits of values over the orders of ties,
INTERVAL = TIE_RANGE[:2]  # of those of intervals,
BOUNDS = ("lower_bound", "upper_bound")  # and over missing judgments


class MetricColumn(Record):
    """One metric's values for the counted queries of a run, or its summary value."""

    spec: Spec
    values: Floats  # (n,)
    texts: Sequence[str] | None = None  # the values of a text metric instead
    # as of Summary, but for means over the orders without a closed form; bounds are NaN for a metric without
    limits: Mapping[str, MetricColumn] = {}

    @property
    def exact(self) -> Number | str:
        """The one value for JSON: a count is an int, and a value that is not finite None."""
        if self.texts is not None:
            return self.texts[0]
        value = float(self.values[0]) + 0.0  # which makes -0.0 a plain 0.0
        if not math.isfinite(value):
            return None
        return int(value) if self.spec.metric.is_count else value


class Summary(Record):
    """The summary of a run."""

    queries: int  # how many are counted
    means: Floats  # (M,)
    undefined: Ints  # how many values, (M,)
    # those of the means, (M,) each, by the names of their columns: TIE_RANGE or INTERVAL, and BOUNDS
    limits: Mapping[str, Floats]
    texts: Mapping[int, str]  # position of a text metric -> the text to print


class RunResult(Record, eq=False):
    """The values of one run."""

    name: str  # as in tables
    path: str  # as the user gave it
    sha256: str | None  # of the file, None if there is no file
    values: Floats  # (M, Q), NaN where undefined
    counted: Bools  # which queries are printed and averaged, (Q,)
    texts: Mapping[int, Sequence[str]] = {}  # position of a text metric -> the text of each query
    # the lowest and the highest values over the orders of ties tried, and the mean over all, (3, M, Q), NaN
    # without a closed form of it; None without Options.tie_range
    tie_range: Floats | None = None
    ties: str = DEFAULT_TIES  # the order of tied scores
    # the lowest and the highest values over missing judgments, (2, M, Q), NaN for metrics without bounds; None
    # without Options.bounds
    bounds: Floats | None = None
    summary: Summary | None = None  # where the values of the queries are not kept, which are empty then
    # the deciles, quartiles and the median of the documents that are evaluated of a query, if known
    depths: Quantiles | None = None
    interval: tuple[str, float] | None = None  # of the means: the method, and the confidence in percent
    weights: Floats | None = None  # of the queries in the means, (Q,), None where all count alike
    missing: Bools | None = None  # which of the queries that are evaluated it lacks, (Q,), None where unknown
    judged: float | None = None  # the share of its first ranks that is judged, if known
    reduced: Reduced | None = None  # of all queries of the qrels, with unjudged documents, as Results.setting
    # the saved summaries of metrics that have no values of queries, by name
    stated: Mapping[str, float] = {}
    stated_limits: Mapping[str, Mapping[str, float]] = {}  # likewise, by the names of TIE_RANGE and BOUNDS
    read_with: Mapping[str, Any] = {}  # what read_run() read it with

    def __repr__(self) -> str:
        return f"RunResult(name={self.name!r}, path={self.path!r}, queries={self.queries})"

    @property
    def queries(self) -> int:
        """How many queries are counted."""
        return int(self.counted.sum()) if self.summary is None else self.summary.queries

    @property
    def limits(self) -> dict[str, Floats]:
        """The limits of its values, (M, Q) each, by the names of their columns."""
        limits = {} if self.tie_range is None else dict(zip(TIE_RANGE, self.tie_range, strict=True))
        return limits if self.bounds is None else {**limits, **dict(zip(BOUNDS, self.bounds, strict=True))}

    def summarized(self, specs: Sequence[Spec]) -> Summary:
        """The summary of its values, or the one that is kept without them."""
        if self.summary is not None:
            return self.summary
        means = summarize(specs, self.values, self.counted, self.weights)
        stated = [m for m, spec in enumerate(specs) if str(spec) in self.stated]
        means[stated] = [self.stated[str(specs[m])] for m in stated]
        limits = {
            name: summarize(specs, values, self.counted, self.weights) for name, values in self.limits.items()
        }
        if self.tie_range is not None:
            limits["expected"] = summarize_expected(
                specs, self.tie_range[2], self.values, self.counted, weights=self.weights
            )
        for limit, means_of in self.stated_limits.items():
            limits[limit][stated] = [means_of.get(str(specs[m]), math.nan) for m in stated]
        if self.interval is not None:
            limits |= zip(INTERVAL, self._intervals(specs, means), strict=True)
        undefined = (self.counted & np.isnan(self.values)).sum(axis=1)
        undefined[stated] = 0
        texts = {m: (self.counted_texts(m) or [""])[0] for m in self.texts}
        return Summary(self.queries, means, undefined, limits, texts)

    def _intervals(self, specs: Sequence[Spec], means: Floats) -> Floats:
        """The lower and the upper limit of each mean, (2, M); NaN where there are too few values."""
        from gradeval.statistics.tests import interval_of_mean

        limits = np.full((2, len(specs)), np.nan)
        for m, spec in enumerate(specs):
            if spec.metric.has_interval and self.interval is not None:
                method, confidence = self.interval
                values = np.where(self.counted, self.values[m], np.nan)
                bounds = spec.metric.limits
                limits[:, m] = interval_of_mean(
                    values, float(means[m]), method, confidence, bounds=bounds, weights=self.weights
                )
        return limits

    def counted_texts(self, m: int) -> list[str]:
        return [self.texts[m][q] for q in np.flatnonzero(self.counted).tolist()]

    def taken(self, queries: Ints) -> RunResult:
        """The values of some of the queries, in this order."""
        names = "values", "counted", "tie_range", "bounds", "weights", "missing"  # whose last axis is Q
        arrays = {name: array for name in names if (array := getattr(self, name)) is not None}
        return self.replace(
            **{name: array[..., queries] for name, array in arrays.items()},
            texts={m: [texts[q] for q in queries.tolist()] for m, texts in self.texts.items()},
            stated=self.stated if len(queries) == len(self.counted) else {},
        )


class FailedRun(Record):
    """A run that could not be evaluated. path: as the user gave it."""

    path: str
    error: GradevalError


def failed_to_dicts(failed: Iterable[FailedRun]) -> list[dict[str, Any]]:
    """Runs that could not be evaluated, as JSON has them."""
    return [{"path": run.path, "errors": str(run.error).split("\n")} for run in failed]


Quantiles = tuple[int, int, int, int, int]
"""Those of the documents per query: the first deciles, the quartiles and the median, the last deciles."""
Runs = Sequence[LabelledRun]
"""(name, run) pairs; a run may be a SavedResult, or a FailedRun instead of one that cannot be read."""


class SavedRun(Record, eq=False):
    """One run of a saved result. name, sha256: of the run when it was evaluated. values: those of each metric
    for these queries, (n,), NaN where undefined. ties, depths: as of RunResult, None where unknown. bounds:
    those of each metric that has some, (2, n); None where they were not saved.
    """

    name: str
    sha256: str | None
    queries: tuple[str, ...]
    values: Mapping[str, Floats]
    ties: str | None = None
    depths: Quantiles | None = None
    summary: Summary | None = None  # where it was saved without the values of queries
    bounds: Mapping[str, Floats] | None = None
    stated: Mapping[str, float] = {}  # as of RunResult
    stated_limits: Mapping[str, Mapping[str, float]] = {}  # likewise
    read_with: Mapping[str, Any] = {}  # likewise
    tie_range: Mapping[str, Floats] | None = None  # as of RunResult, (3, n) of each metric
    texts: Mapping[str, Sequence[str]] = {}  # of each text metric, (n,)

    def placed(self, specs: Sequence[Spec], rows: Sequence[int], queries: int) -> RunResult:
        """Its values of these metrics for so many queries, of which its own are these rows."""
        values = np.full((len(specs), queries), np.nan)
        bounds = np.full((2, *values.shape), np.nan)
        tie_range = np.full((3, *values.shape), np.nan)
        texts = dict[int, Sequence[str]]()
        for m, spec in enumerate(specs):
            values[m, rows] = 1.0 if is_num_q(spec) else self.values.get(str(spec), np.nan)
            bounds[:, m, rows] = (self.bounds or {}).get(str(spec), np.nan)
            tie_range[:, m, rows] = 1.0 if is_num_q(spec) else (self.tie_range or {}).get(str(spec), np.nan)
            if str(spec) in self.texts:
                by_row = dict(zip(rows, self.texts[str(spec)], strict=True))
                texts[m] = [by_row.get(row, "") for row in range(queries)]
        counted = np.zeros(queries, np.bool_)
        counted[rows] = True
        result = RunResult(self.name, self.name, self.sha256, values, counted, ties=self.ties or DEFAULT_TIES)
        return result.replace(
            depths=self.depths,
            bounds=None if self.bounds is None else bounds,
            tie_range=None if self.tie_range is None else tie_range,
            texts=texts,
            stated_limits=self.stated_limits,
            read_with=self.read_with,
        )


class SavedResult(Record, eq=False):
    """A saved result as read. path, sha256: its own; qrels_sha256, options: what it was made from (None for
    data in memory). groups_sha256: of the group sizes of qrels without qid, None for others. metrics:
    canonical names.
    """

    _has_documents = False

    path: str
    sha256: str
    qrels_sha256: str | None
    groups_sha256: str | None
    options: Mapping[str, Any]
    metrics: tuple[str, ...]
    runs: tuple[SavedRun, ...]
    notices: Notices = Notices()

    def __repr__(self) -> str:  # in the error of what takes runs alone
        return f"SavedResult({self.path}: {first_names(run.name for run in self.runs)})"

    @classmethod
    def of(cls, results: Results) -> SavedResult:
        """Results that are in the place of a run. Raises InputError for those without the values of queries."""
        results.check_values()
        numbers = [(m, spec) for m, spec in enumerate(results.specs) if has_numbers(spec)]
        runs = []
        for r, run in enumerate(results.runs):
            values = {str(spec): run.values[m, run.counted] for m, spec in numbers}
            queries = tuple(results.counted_queries(r))
            saved = SavedRun(
                run.name, run.sha256, queries, values, run.ties, run.depths, read_with=run.read_with
            )
            if run.bounds is not None:
                of_specs = {str(spec): run.bounds[:, m, run.counted] for m, spec in numbers}
                saved = saved.replace(bounds=of_specs)
            runs.append(saved)
        return cls(
            "results",
            sha256="",
            qrels_sha256=results.qrels_sha256,
            groups_sha256=results.groups_sha256,
            options=results.options,
            metrics=tuple(map(str, results.specs)),
            runs=tuple(runs),
            notices=results.notices,
        )


class RunMeans(dict[str, float]):
    """The summary values of a run by the names of metrics, found by any spelling of them."""

    def __init__(self, specs: Sequence[Spec], means: Mapping[str, float]) -> None:
        super().__init__(means)
        self._specs = specs

    def __getitem__(self, metric: OneMetric) -> float:
        if isinstance(metric, str) and super().__contains__(metric):
            return super().__getitem__(metric)
        name = str(self._specs[position_of(metric, self._specs)])
        if not super().__contains__(name):
            raise MetricError(f"{name} has no summary")
        return super().__getitem__(name)

    def __contains__(self, metric: object) -> bool:
        return self.get(metric) is not None

    def get(self, metric: Any, default: Any = None) -> Any:
        try:
            return self[metric]
        except (GradevalError, TypeError):
            return default


class Results(Record, WithNotices, eq=False):
    """The values of R runs for M metrics on Q queries. A run is selected by its name or position, a metric by
    any spelling that the command accepts or its position. Text metrics (runid, relstring): in texts() only.

        >>> results = gradeval.evaluate("qrels.txt", ["bm25.run", "dense.run"], "nDCG@10 AP")
        >>> results.mean("bm25", "nDCG@10"), results.per_query("dense", "AP"), results.to_dict()

    queries: ids in qrels order, bytes that are not UTF-8 as surrogates (surrogateescape). qrels: its path.
    options: those of the evaluation, as JSON types. failed: the runs that could not be evaluated.
    groups_sha256: of the group sizes of qrels without qid. chosen: how many queries are evaluated, with those
    that runs lack.
    """

    layout = "gradeval.evaluation.layout"
    _has_documents = False  # as qrels and runs have

    qrels: str
    qrels_sha256: str | None
    queries: Sequence[str]
    specs: tuple[Spec, ...]
    runs: tuple[RunResult, ...]
    options: Mapping[str, object] = {}
    given_notices: Notices = Notices()
    failed: tuple[FailedRun, ...] = ()
    groups_sha256: str | None = None
    chosen: int = 0
    without_relevant: Bools | None = None  # which queries have nothing relevant to each metric, (M, Q)
    asked: Mapping[Spec, str] = {}  # what a metric was called by who asked for it, where that is another name
    later: LaterNotices | None = None  # of Evaluator.evaluate(), which keeps what was evaluated
    setting: EvaluationSetting | None = None  # of the runs, for bounds of their differences; None without

    @cached_property
    def notices(self) -> Notices:
        """What a user should know about the results; for those of an Evaluator found on first access."""
        return self.given_notices if self.later is None else self.later.notices

    def __getstate__(self) -> dict[str, Any]:
        """With the notices, not with what they are found in, which holds the judgments."""
        return {**self.__dict__, "given_notices": self.notices, "later": None}

    def check_values(self) -> None:
        """Raise InputError where a run has no values of queries."""
        for run in self.runs:
            if run.summary is not None:
                hint = "Evaluate again, or save with Results.save() or 'gradeval -q -f json'"
                raise InputError("results", f"run {named(run.name)} has no values of queries", hint=hint)

    @property
    def judged_by(self) -> dict[str, str | None]:
        """The qrels as in JSON, with the SHA-256 of the files that they are from."""
        of_groups = {} if self.groups_sha256 is None else {"groups_sha256": self.groups_sha256}
        return {"path": self.qrels, "sha256": self.qrels_sha256, **of_groups}

    @property
    def runs_read(self) -> int:
        return len(self.runs)

    @cached_property
    def _summaries(self) -> tuple[Summary, ...]:
        return tuple(run.summarized(self.specs) for run in self.runs)

    @cached_property
    def means(self) -> Floats:
        """The summary value of each run and metric, (R, M): the mean over the counted queries, or the sum.
        Undefined values are excluded; the mean of no values is NaN, and so is that of texts.
        """
        means = np.array([run.means for run in self._summaries]).reshape(len(self.runs), len(self.specs))
        means.flags.writeable = False  # it is cached
        return means

    @property
    def tie_ranges(self) -> Floats:
        """The lowest and the highest summary value over the orders of ties tried, and the mean over all orders,
        NaN without a closed form of it, (3, R, M). Raises OptionError for results without tie_range.
        """
        if any(run.tie_range is None for run in self.runs):
            raise OptionError("the ranges over ties were not computed: evaluate with tie_range=True")
        limits = [[summary.limits[name] for summary in self._summaries] for name in TIE_RANGE]
        return np.array(limits).reshape(len(TIE_RANGE), len(self.runs), len(self.specs))

    @property
    def counted_by_any(self) -> Bools:
        """Which queries count for any run, (Q,)."""
        counted = np.zeros(len(self.queries), np.bool_)
        for run in self.runs:
            counted |= run.counted
        return counted

    def by_id(self) -> Results:
        """The same results with the queries ordered by their ids as bytes, as in trec_eval."""
        ids = [query.encode("utf-8", "surrogateescape") for query in self.queries]
        return self.taken(np.array(sorted(range(len(ids)), key=ids.__getitem__), np.int64))

    def taken(self, positions: Ints) -> Results:
        """The same results of some of the queries, in this order; the notices stay those of all."""
        queries = tuple(self.queries[q] for q in positions.tolist())
        runs = tuple(run.taken(positions) for run in self.runs)
        empty = None if self.without_relevant is None else self.without_relevant[:, positions]
        return self.replace(queries=queries, runs=runs, without_relevant=empty)

    def with_metrics(self, specs: Iterable[Spec]) -> Results:
        """The same results with these metrics too, undefined where they were not evaluated."""
        new = [spec for spec in specs if spec not in self.specs]
        runs = []
        for run in self.runs:
            nothing = np.full((len(new), run.values.shape[1]), np.nan)
            runs.append(run.replace(values=np.concatenate([run.values, nothing]), tie_range=None, bounds=None))
        return self.replace(specs=(*self.specs, *new), runs=tuple(runs), without_relevant=None)

    def sorted_by(self, metric: OneMetric, *, worst_first: bool = False) -> Results:
        """The same results with the runs ordered by the summary value of a metric, the best first. For a metric
        where neither high nor low is better, such as a count, the highest is first. Undefined values are last,
        and runs with equal values stay in order.
        """
        m = self._numeric(metric)
        descending = (self.specs[m].metric.higher_is_better is not False) != worst_first
        order = np.argsort(-self.means[:, m] if descending else self.means[:, m], kind="stable")  # NaN last
        return self.replace(runs=tuple(self.runs[r] for r in order.tolist()))

    def run(self, run: OneRun) -> RunMeans:
        """The summary value of each metric of a run, by its name: results.run("bm25")["nDCG@10"]. A metric is
        found by any spelling, and by what it was asked for. Raises GradevalError.
        """
        r = self._run(run)
        numeric = (m for m, spec in enumerate(self.specs) if is_summarized(spec))
        return RunMeans(self.specs, {str(self.specs[m]): float(self.means[r, m]) for m in numeric})

    def only(self, *runs: OneRun) -> Results:
        """The same results with these runs alone, in this order, by name or position: results.only("bm25") can
        be given to gate(). Raises GradevalError.
        """
        chosen = tuple(self.runs[self._run(run)] for run in runs)
        left_out = {run.name for run in self.runs} - {run.name for run in chosen} | {""}
        notices = Notices(notice for notice in self.notices if notice.subject not in left_out)
        return self.replace(runs=chosen, given_notices=notices, failed=(), later=None)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write them atomically as JSON with the values of queries, which load() and every command in the place
        of a run read; without these where they were loaded without. A further ending compresses: .json.gz,
        .bz2, .xz, .zst. Raises GradevalError.
        """
        from gradeval.formats.output import OutputFile

        name = os.fsdecode(checked_path("path", path))
        ending = ending_of(name)
        if ending not in ("", ".json") and ending in [writer.ending for writer in WRITERS.values()]:
            hint = f"Name it .json or .json.gz; render() makes the text of {ending} files"
            raise OptionError(f"save {name}: results are saved as JSON. {hint}")
        has_values = all(run.summary is None for run in self.runs)
        text = self.render("json", per_query=has_values)
        OutputFile(name, (), "save").write(text.encode("utf-8", "surrogateescape"))

    def bibtex(self) -> str:
        """The sources of the metrics as BibTeX entries, each once."""
        from gradeval.registry.sources import bibtex

        return bibtex(spec.metric for spec in self.specs)

    def ranks(self, metric: OneMetric, digits: int | Literal["full"] = 4) -> list[int | None]:
        """The rank of each run by its mean of a metric, 1 for the best; means that are printed alike with these
        digits share a rank. Where neither high nor low is better the highest is the first. None: undefined.
        """
        m = self._numeric(metric)
        means = self.means[:, m] if digits == "full" else np.array([round(x, digits) for x in self.means[:, m]])
        gains = -means if self.specs[m].metric.higher_is_better is False else means
        return [None if math.isnan(gain) else int((gains > gain).sum()) + 1 for gain in gains.tolist()]

    def summarized(self) -> Results:
        """The same results without the values of the queries."""
        nothing = np.empty(0, np.int64)
        pairs = zip(self.runs, self._summaries, strict=True)
        return self.replace(runs=tuple(run.taken(nothing).replace(summary=summary) for run, summary in pairs))

    def mean(self, run: OneRun, metric: OneMetric) -> float:
        """The summary value: the mean over the counted queries where it is defined, or the sum of a count."""
        return float(self.means[self._run(run), self._numeric(metric)])

    def range(self, run: OneRun, metric: OneMetric) -> tuple[float, float]:
        """The lowest and the highest summary value over the orders of tied scores that were tried. For a metric
        with the invariant PROMOTION_HELPS these are the limits over all orders. Raises OptionError for results
        that were evaluated without tie_range.
        """
        low, high, _ = self.tie_ranges[:, self._run(run), self._numeric(metric)].tolist()
        return low, high

    @property
    def has_bounds(self) -> bool:
        """Whether values have bounds over missing judgments."""
        return any(run.bounds is not None for run in self.runs)

    def bounds(self, run: OneRun, metric: OneMetric) -> tuple[float, float]:
        """The lowest and the highest summary value that judgments of the unjudged documents retrieved could
        give; (NaN, NaN) for a metric without bounds. These are worst cases, not an interval of confidence.
        Raises OptionError for results that were evaluated without bounds.
        """
        r, m = self._run(run), self._numeric(metric)
        if self.runs[r].bounds is None:
            raise OptionError("bounds were not computed: evaluate with bounds=True")
        lower, upper = (float(self._summaries[r].limits[name][m]) for name in BOUNDS)
        return lower, upper

    def interval(
        self,
        run: OneRun,
        metric: OneMetric,
        confidence: float | None = None,
        method: str | None = None,
    ) -> tuple[float, float]:
        """The confidence interval of a mean, for the queries as a sample; (NaN, NaN) for fewer than two values
        and for a summary that is not a mean, such as a count. confidence: in percent. method: 't', cut to the
        metric's range, or 'bootstrap' (BCa). By default those of the evaluation, else 95 and 't'. Raises
        OptionError.
        """
        from gradeval.statistics.tests import interval_of_mean

        r, m = self._run(run), self._numeric(metric)
        of_evaluation = self.runs[r].interval or ("t", 95.0)
        method = of_evaluation[0] if method is None else method
        confidence = of_evaluation[1] if confidence is None else confidence
        Options(interval=method, confidence=confidence)
        if not self.specs[m].metric.has_interval:
            return math.nan, math.nan
        values = self.values(r, m)
        mean = self.mean(r, m)
        bounds = self.specs[m].metric.limits
        return interval_of_mean(values, mean, method, float(confidence), bounds=bounds, weights=self.weights)

    @property
    def weights(self) -> Floats | None:
        """The weights of the queries in means, (Q,), the same for all runs; None where all count alike."""
        return self.runs[0].weights if self.runs else None

    def inseparable(self, method: str, confidence: float) -> tuple[int, int]:
        """How many pairs of runs that are neighbours by a mean may differ by 0, of how many."""
        from gradeval.statistics.sampling import Sampling
        from gradeval.statistics.tests import paired_differences, paired_tests

        of_runs = [np.where(run.counted, run.values, np.nan) for run in self.runs]
        pairs = []
        for m, spec in enumerate(self.specs):
            order = np.argsort(self.means[:, m], kind="stable")[: np.count_nonzero(~np.isnan(self.means[:, m]))]
            if spec.metric.has_interval and spec.metric.higher_is_better is not None:
                pairs += [paired_differences(of_runs[a][m], of_runs[b][m]) for a, b in pairwise(order)]
        if not pairs:
            return 0, 0
        differences = np.array(pairs).T
        alpha = 1 - confidence / 100
        tested = paired_tests(method, differences, alpha, Sampling(), self.weights)
        limits = [(outcome.low, outcome.high) for outcome in tested if not math.isnan(outcome.low)]
        return sum(low <= 0 <= high for low, high in limits), len(limits)

    def signature(self, run: OneRun, metric: OneMetric) -> str:
        """What decides a mean, in one line: 'nDCG@10|gain:linear|rel:>0|ties:trec|…|n:50|gradeval:0.9.0'. The
        metric; gain (where it has one), rel, ties, queries, no_relevant; other options where they are not the
        defaults; the first 8 digits of the SHA-256 of query_ids, query_weights, the qrels and group sizes,
        where known; n, the values in the mean; and the version.
        """
        r, m = self._run(run), self._numeric(metric)
        n = self.runs[r].queries - self.undefined(r, m)
        hashes = {"qrels": self.qrels_sha256, "groups": self.groups_sha256}
        options = with_read(self.options, self.runs[r].read_with)
        return signature_of(self.specs[m], options, self.runs[r].ties, hashes, n)

    def signatures(self, specs: Iterable[Spec] | None = None) -> list[str]:
        """The signatures of these metrics, by default of all that have numbers. One for each metric; where runs
        differ in it, one for each run, after its name.
        """
        texts: list[str] = []
        for spec in self.specs if specs is None else specs:
            if not spec.metric.text:
                of_runs = {run.name: self.signature(r, spec) for r, run in enumerate(self.runs)}
                same = list(dict.fromkeys(of_runs.values()))
                texts += same if len(same) == 1 else [f"{name}: {text}" for name, text in of_runs.items()]
        return texts

    def undefined(self, run: OneRun, metric: OneMetric) -> int:
        """The number of counted queries whose value is undefined, and excluded from the mean."""
        return int(self._summaries[self._run(run)].undefined[self._numeric(metric)])

    def values(self, run: OneRun, metric: OneMetric) -> Floats:
        """The value of each query in qrels order, (Q,): NaN where undefined or not counted."""
        result = self.runs[self._run(run)]
        return np.where(result.counted, result.values[self._numeric(metric)], np.nan)

    def per_query(self, run: OneRun, metric: OneMetric) -> dict[str, float]:
        """Query id -> value, for the counted queries in qrels order."""
        result = self.runs[self._run(run)]
        values = result.values[self._numeric(metric), result.counted]
        return dict(zip(self.counted_queries(run), values.tolist(), strict=True))

    def texts(self, run: OneRun, metric: OneMetric) -> dict[str, str]:
        """Query id -> value of a text metric, for the counted queries in qrels order."""
        result = self.runs[self._run(run)]
        m = position_of(metric, self.specs)
        if m not in result.texts:
            raise MetricError(f"{self.specs[m]} is numeric", hint="use Results.values()")
        return dict(zip(self.counted_queries(run), result.counted_texts(m), strict=True))

    def counted_queries(self, run: OneRun) -> list[str]:
        """The ids of the queries that are printed and averaged for this run, in qrels order."""
        counted = self.runs[self._run(run)].counted
        if counted.all():
            return list(self.queries)
        return [self.queries[q] for q in np.flatnonzero(counted).tolist()]

    def columns(self, run: OneRun, *, per_query: bool) -> list[MetricColumn]:
        """The values to print for a run: of each counted query, or the summary of each metric that has one."""
        r = self._run(run)
        result = self.runs[r]
        if per_query:
            values = result.values[:, result.counted]
            limits = {name: limit[:, result.counted] for name, limit in result.limits.items()}
            texts = {m: result.counted_texts(m) for m in result.texts}
        else:
            summary = self._summaries[r]
            values = summary.means[:, None]
            limits = {name: limit[:, None] for name, limit in summary.limits.items()}
            texts = {m: [text] for m, text in summary.texts.items()}
        return [
            MetricColumn(spec, values[m], texts.get(m), self._limits(r, m, limits))
            for m, spec in enumerate(self.specs)
            if (spec.metric.per_query if per_query else spec.metric.has_summary)
        ]

    def _limits(self, r: int, m: int, limits: Mapping[str, Floats]) -> dict[str, MetricColumn]:
        """Those of a metric, of (M, n) each, without a mean over the orders that has no closed form."""
        spec = self.specs[m]
        shown = set() if spec.metric.text else set(limits)
        if self.runs[r].interval is not None and not spec.metric.has_interval:
            shown -= set(INTERVAL)
        if "expected" in shown and np.isnan(limits["expected"][m]).all():
            shown.remove("expected")
        return {name: MetricColumn(spec, limit[m]) for name, limit in limits.items() if name in shown}

    def __getitem__(self, metric: OneMetric) -> dict[str, float]:
        """The mean of a metric for each run, by name."""
        m = self._numeric(metric)
        return dict(zip([run.name for run in self.runs], self.means[:, m].tolist(), strict=True))

    __iter__ = None  # it is no sequence

    def means_frame(self, library: Literal["pandas", "polars"] = "pandas") -> Any:
        """The means as a data frame: a row for each run, the index in pandas, a column for each metric, by the
        name that it was asked for. That of a measure of ir_measures is str(measure): frame[str(nDCG@10)].
        """
        columns: dict[str, Any] = {"run": [run.name for run in self.runs]}
        shown = ((m, spec) for m, spec in enumerate(self.specs) if is_summarized(spec))
        columns |= {self.asked.get(spec, str(spec)): self.means[:, m] for m, spec in shown}
        return frame_of(columns, library, ["run"])

    def per_query_frame(self, library: Literal["pandas", "polars"] = "pandas") -> Any:
        """The values as a data frame: a row for each query and run (the index in pandas), a column a metric,
        named as in means_frame(); where values have bounds, those of AP are 'AP lower_bound' and
        'AP upper_bound'.
        """
        _check_utf8("run", [run.name for run in self.runs])
        _check_utf8("query", self.queries)
        pairs = [(run.name, query) for r, run in enumerate(self.runs) for query in self.counted_queries(r)]
        columns: dict[str, Any] = {"run": [run for run, _ in pairs], "query": [query for _, query in pairs]}
        of_runs = columns_by_spec(self, per_query=True)
        for spec in filter(has_numbers, self.specs):
            name = self.asked.get(spec, str(spec))
            for column, values in self._numbers([of_run[spec] for of_run in of_runs]).items():
                columns[f"{name} {column}".removesuffix(" value")] = np.concatenate([np.empty(0), *values])
        return frame_of(columns, library, ["run", "query"])

    def to_pandas(self) -> Any:
        """A pandas.DataFrame with the columns run, query, metric and value, and where values have bounds
        lower_bound and upper_bound; a row for each value of a query. Metrics that have no number for a query,
        such as num_q and runid, have no rows.
        """
        pandas = library("pandas")
        return pandas.DataFrame(self._long_form(lambda names, code: np.array(names, object)[code]))

    def to_polars(self) -> Any:
        """The same as a polars.DataFrame."""
        polars = library("polars")
        return polars.DataFrame(
            self._long_form(lambda names, code: polars.Series(names, dtype=polars.String).gather(code))
        )

    def to_arrow(self) -> Any:
        """The same as a pyarrow.Table."""
        arrow = library("pyarrow")
        return arrow.table(
            self._long_form(lambda names, code: arrow.array(names, arrow.string()).take(arrow.array(code)))
        )

    def _long_form(self, column: Callable[[list[str], Ints], Any]) -> dict[str, Any]:
        """The columns run, query, metric, value and bounds, if any: a row for each value, or without queries
        for each mean of runs that are summaries. column: makes one from its different strings and which of
        these each row has.
        """
        is_of_means = bool(self.runs) and all(run.summary is not None for run in self.runs)
        specs = list(filter(is_summarized if is_of_means else has_numbers, self.specs))
        of_runs = columns_by_spec(self, per_query=not is_of_means)
        by_run = [self._numbers([columns[spec] for spec in specs]) for columns in of_runs]
        numbers = {}
        for name in self._numbers(()):  # by query, then by metric
            parts = (np.array(of_run[name]).T.ravel() for of_run in by_run)
            numbers[name] = np.concatenate([np.empty(0), *parts])
        run = np.repeat(np.arange(len(self.runs)), [np.size(of_run["value"]) for of_run in by_run])
        words = {"run": ([result.name for result in self.runs], run)}
        if not is_of_means:
            counted = [np.flatnonzero(result.counted) for result in self.runs]
            queries = np.concatenate([np.empty(0, np.int64), *counted])
            words["query"] = (list(self.queries), np.repeat(queries, len(specs)))
        words["metric"] = (list(map(str, specs)), np.arange(len(run)) % max(len(specs), 1))
        for name, (texts, _) in words.items():
            _check_utf8(name, texts)
        return {**{name: column(*texts) for name, texts in words.items()}, **numbers}

    def _numbers(self, columns: Sequence[MetricColumn]) -> dict[str, list[Floats]]:
        """The values of these metrics, and their bounds, by the names of the columns of frames."""
        numbers = {"value": [column.values for column in columns]}
        for name in BOUNDS if self.has_bounds else ():
            numbers[name] = [column.limits[name].values for column in columns]
        return numbers

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The same for any library that reads Arrow's C stream, as duckdb.sql('from results') does."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def to_dict(self, *, per_query: bool = False, summary: bool = True) -> dict[str, Any]:
        """The object that the json format prints. Numbers are exact, counts are int, undefined is None."""
        import json

        content: dict[str, Any] = json.loads(self.render("json", per_query=per_query, summary=summary))
        return content

    @takes(CompareOptions.table)
    def compare(self, metrics: Metrics | None = None, **options: Unpack[CompareResults]) -> Comparison:
        """Compare the runs with a baseline, or all with each other.

        metrics: names; by default those with a number for each query. options: see below. Raises GradevalError.
        """
        from gradeval.commands.compare.compare import compare_results

        chosen = CompareOptions(**options)
        return warned(compare_results(self, specs_of(self, metrics), chosen), self.notices)

    def __dir__(self) -> list[str]:
        return [*_PUBLIC]

    def __repr__(self) -> str:
        counts = f"runs={len(self.runs)}, metrics={len(self.specs)}, queries={len(self.queries)}"
        counts += f", failed={len(self.failed)}" if self.failed else ""
        return f"Results(qrels={self.qrels!r}, {counts}, notices={len(self.warnings)})"

    def _caveats(self) -> list[str]:
        """The errors of failed runs, then the warnings and notes."""
        errors = (f"error: {line}" for run in self.failed for line in str(run.error).split("\n"))
        return [*errors, *super()._caveats()]

    def _run(self, run: OneRun) -> int:
        if isinstance(run, Integral):
            return _position(run, len(self.runs), "run")
        names = [result.name for result in self.runs]
        if run not in names:
            raise GradevalError(f"unknown run '{run}': the runs are {', '.join(names) or 'none'}")
        return names.index(run)

    def _numeric(self, metric: OneMetric) -> int:
        m = position_of(metric, self.specs)
        if self.specs[m].metric.text:
            raise MetricError(f"{self.specs[m]} is text", hint="use Results.texts()")
        return m


def columns_by_spec(results: Results, *, per_query: bool) -> list[dict[Spec, MetricColumn]]:
    """Those of each run."""
    runs = range(len(results.runs))
    return [{column.spec: column for column in results.columns(r, per_query=per_query)} for r in runs]


def _check_utf8(label: str, names: Sequence[str]) -> None:
    try:
        "".join(names).encode()
    except UnicodeEncodeError:
        wrong = next(name for name in names if any("\ud800" <= letter <= "\udfff" for letter in name))
        message = f"{label} {named(wrong)}: data frames need names in UTF-8. Results.per_query() takes any"
        raise GradevalError(message) from None


def notices_warned(qrels: Any, *runs: Any) -> list[Notice]:
    """What was warned of when Results among these were evaluated, if they were saved since too. Where all runs
    are Results it is of no run too: they may be named otherwise.
    """
    items = [item for data in runs if data is not None for item in _items(data)] or _items(qrels)
    results = [item for item in items if isinstance(item, Results)]
    notices = [*chain.from_iterable(result.notices for result in results)]
    is_all = len(results) == len(items)
    return [*notices, *(notice.replace(subject="") for notice in notices if is_all)]


def _items(data: Any) -> Sequence[Any]:
    """The runs that these data may be."""
    if isinstance(data, Mapping):
        return [*data.values()] if Results in set(map(type, data.values())) else [data]
    return data if isinstance(data, (list, tuple)) else [data]


def is_summarized(spec: Spec) -> bool:
    """Whether the summary of the metric is a number."""
    return spec.metric.has_summary and not spec.metric.text


def has_numbers(spec: Spec) -> bool:
    """Whether the metric has a number for each query."""
    return spec.metric.per_query and not spec.metric.text


def specs_of(results: Results, metrics: Metrics | None) -> list[Spec] | None:
    """These metrics of the results, None for None. Raises MetricError for one that was not evaluated."""
    if metrics is None:
        return None
    return [results.specs[position_of(spec, results.specs)] for spec in parse(metrics)]


def position_of(metric: OneMetric, specs: Sequence[Spec]) -> int:
    """The position of a metric among those that were evaluated. Raises MetricError."""
    if isinstance(metric, Integral):
        return _position(metric, len(specs), "metric")
    chosen = [metric] if isinstance(metric, Spec) else parse(metric)  # type: ignore[arg-type]  # no integer
    if len(chosen) > 1:
        raise MetricError(f"{metric} is {len(chosen)} metrics", hint="give one")
    try:
        return specs.index(chosen[0])
    except ValueError:
        names = ", ".join(map(str, specs))
        raise MetricError(f"{chosen[0]} was not evaluated", hint=f"the metrics are {names}") from None


def signature_of(
    spec: Spec, options: Mapping[str, Any], ties: str, hashes: Mapping[str, str | None], n: int
) -> str:
    """A signature, as Results.signature() describes it. hashes: of files. n: the values in the mean."""
    from gradeval.version import __version__

    texts = _options_in_signature({**options, "ties": ties, "rel": spec.params.get("rel", options.get("rel"))})
    for name, digest in {**_hashes_of_queries(options), **hashes}.items():
        if digest:
            texts[name] = f"sha256:{digest[:8]}"
    texts |= {"n": str(n), "gradeval": __version__}
    gain = spec.metric.by_name.get("gain")
    first = [] if gain is None else [f"gain:{gain.text(spec.params.get('gain', gain.default))}"]
    return "|".join([str(spec), *first, *(f"{name}:{text}" for name, text in texts.items())])


def _options_in_signature(options: Mapping[str, Any]) -> dict[str, str]:
    """The options that every signature has, then others that are not the defaults."""
    hashed = ("query_ids", "exclude")
    rows = {name: row for name, row in Options.table.items() if VALUES in row.scope and name not in hashed}
    values = {name: options.get(name, row.default) for name, row in rows.items()}
    texts = {name: option_text(values[name]) for name in ("rel", "ties", "queries", "no_relevant")}
    for name, value in values.items():
        if option_text(value) != option_text(rows[name].default):
            texts[name] = option_text(value)
    return texts


def _hashes_of_queries(options: Mapping[str, Any]) -> dict[str, str]:
    """The SHA-256 of the query ids, the weights of queries and the excluded documents, where they are given."""
    from hashlib import sha256

    weights = options.get("query_weights") or {}
    excluded = options.get("exclude") or {}
    lines = {
        "exclude": sorted(f"{query}\t{document}" for query in excluded for document in excluded[query]),
        "query_ids": sorted(options.get("query_ids") or ()),
        "query_weights": sorted(f"{query}\t{weight!r}" for query, weight in weights.items()),
    }
    return {
        name: sha256("\n".join(of_option).encode("utf-8", "surrogateescape")).hexdigest()
        for name, of_option in lines.items()
        if of_option
    }


def option_text(value: Any) -> str:
    """The value of an option in a signature, as the command line takes it."""
    if value is None:
        return ANY_RELEVANT
    if isinstance(value, float):
        return repr(value).removesuffix(".0")
    if isinstance(value, (list, tuple)):
        return ",".join(item if isinstance(item, str) else "=".join(item) for item in value)
    if isinstance(value, Mapping):  # documents of queries
        return f"of {sum(map(len, value.values())):,} documents"
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return f"'{text}'" if "|" in text else text


def _position(position: Integral, count: int, label: str) -> int:
    """The position from 0 of one that may be counted from the end."""
    if not -count <= int(position) < count:
        raise GradevalError(f"{label} {position} is out of range: there are {count}")
    return int(position) % count

"""pytrec_eval's interface: the same results for code that imports this module in its place.

    from gradeval import pytrec_eval

    evaluator = pytrec_eval.RelevanceEvaluator(qrels, {"map", "ndcg_cut.10"})
    results = evaluator.evaluate(run)

Scores are rounded to 32 bits, as pytrec_eval keeps them; only here. Wrong types and unsupported measures raise
TypeError and ValueError, as there. So do scores that are NaN, which pytrec_eval sorts anywhere, and input that
makes it crash or of which it reads a part: measures with wrong values, such as utility without four weights,
ids with a NUL or a lone surrogate. Interpolated precision of an empty ranking is NaN where pytrec_eval divides
0 by 0; runid and relstring are 0. A query whose grades are all below 0 has no relevant document; pytrec_eval
agrees where the highest is -1, but for the first query of a process, and crashes where it is lower.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from gradeval.arrays import Floats, Ints
from gradeval.arrays.segments import natural_log
from gradeval.arrays.strings import Texts
from gradeval.arrays.threads import default_jobs
from gradeval.errors import GradevalError, described, named
from gradeval.evaluation.score import Judge, scored
from gradeval.formats.memory import Nested, Numeric, are_mappings, types_of
from gradeval.metrics.precision import RECALLS
from gradeval.options import Options
from gradeval.registry.dialects import MEASURES, TREC_EVAL
from gradeval.registry.measures import PrintedSpec, parse_trec_eval
from gradeval.registry.metric import GEOMETRIC_MIN, Kind
from gradeval.registry.spec import Spec, parse
from gradeval.tables.load import open_qrels, run_of_data

__all__ = [
    "RelevanceEvaluator",
    "compute_aggregated_measure",
    "parse_qrel",
    "parse_run",
    "supported_measures",
    "supported_nicknames",
]


def __dir__() -> list[str]:
    return __all__


_LATER = {"dcg", "ideal_dcg", "ndcg_p", "yaap", "rbp", "rbp_resid", "unj"}  # of trec_eval 10
supported_measures: set[str] = {*MEASURES} - _LATER
supported_nicknames: dict[str, set[str]] = {
    name: supported_measures.intersection(group.measures) for name, group in TREC_EVAL.items()
}

_PARAMETERS = re.compile(r"[._]([0-9]+(?:\.[0-9]+)?(?:,[0-9]+(?:\.[0-9]+)?)*)")
_INTERPOLATED = {"iprec_at_recall", "11pt_avg"}
_COUNTS = parse(["num_ret", "num_rel"])
_AT_MOST = 1e39  # above any 32-bit float: the score of a document whose score is infinite


class RelevanceEvaluator:
    """Evaluates runs as trec_eval does.

    query_relevance: {query: {document: grade}}. measures: names, as 'map', 'ndcg_cut.10', 'P_5,10', or
    nicknames of several. relevance_level: the lowest grade that is relevant. judged_docs_only_flag: whether
    unjudged documents are removed from the rankings.
    """

    def __init__(
        self,
        query_relevance: Mapping[str, Mapping[str, int]],
        measures: Iterable[str],
        relevance_level: int = 1,
        judged_docs_only_flag: bool = False,
    ) -> None:
        self._measures = _measures(measures)
        self.measures = {measure.printed for measure in self._measures}
        if not isinstance(relevance_level, int) or relevance_level < 1:
            raise TypeError(f"relevance_level must be a positive integer, not {described(relevance_level)}")
        _check(query_relevance, "grade", (int,), "qrels")
        judged = {query: grades for query, grades in query_relevance.items() if grades}
        self._options = Options(rel=float(relevance_level), judged_only=bool(judged_docs_only_flag))
        self._qrels = _of_values(open_qrels, judged, self._options).qrels if judged else None
        queries = Texts(self._qrels.queries) if self._qrels else ()
        self._index = {query: index for index, query in enumerate(queries)}

    def evaluate(self, scores: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, float]]:
        """{query: {measure: value}} for the queries of the run that are judged. scores: the run."""
        numbers = _check(scores, "score", (int, float), "scores") if scores else []
        queries = [query for query in scores if query in self._index]
        if self._qrels is None or not queries:
            return {}
        data = Nested("scores", scores, "score", Numeric(_floats(numbers)), _rounded)
        reduced = _of_values(run_of_data(data, "scores").reduce, self._qrels, default_jobs())
        judge = Judge(self._qrels, reduced, self._options)
        specs = [measure.spec for measure in self._measures]
        if any(spec.metric.name in _INTERPOLATED for spec in specs):
            specs += _COUNTS
        by_spec = self._by_spec(judge, specs, np.array([self._index[query] for query in queries]))
        columns = [
            _as_theirs(measure.spec, values, by_spec[-len(_COUNTS) :])
            for measure, values in zip(self._measures, by_spec.copy(), strict=False)
        ]
        names = [measure.printed for measure in self._measures]
        rows = zip(*columns, strict=True) if columns else [()] * len(queries)
        return {query: dict(zip(names, row, strict=True)) for query, row in zip(queries, rows, strict=True)}

    def _by_spec(self, judge: Judge, specs: Sequence[Spec], positions: Ints) -> Floats:
        """The values of the queries at these positions, (M, n)."""
        if 2 * len(positions) > len(self._index):  # what depends on the grades of all queries is known already
            return judge.scored(specs, default_jobs()).values[:, positions]
        ascending = np.sort(positions)
        return scored(judge(ascending), specs).values[:, np.searchsorted(ascending, positions)]


def _as_theirs(spec: Spec, values: Floats, counts: Floats) -> list[float]:
    """The values of queries as pytrec_eval returns them. counts: those of _COUNTS, (2, n), if any metric is
    interpolated.
    """
    metric = spec.metric
    if metric.text:
        return [0.0] * len(values)  # it has no words
    if metric.name in _INTERPOLATED:  # 0 / 0 for an empty ranking, at a recall of no documents
        levels = spec.params.get("points", RECALLS)
        lowest = spec.params["recall"] if "recall" in spec.params else min(levels)
        retrieved, relevant = counts
        values[(retrieved == 0) & (lowest * relevant + 0.9 < 1)] = np.nan
    if metric.kind is Kind.GEOMETRIC:
        values = natural_log(np.maximum(values, GEOMETRIC_MIN))
    converted: list[float] = values.tolist()
    return converted


def _of_values(function: Any, *arguments: Any) -> Any:
    try:
        return function(*arguments)
    except GradevalError as error:
        raise ValueError(str(error)) from None


def _check(data: Mapping[str, Mapping[str, Any]], label: str, kinds: tuple[type, ...], name: str) -> list[Any]:
    """The numbers of {query: {document: number}}. Raises TypeError for what pytrec_eval does not take."""
    if not isinstance(data, Mapping):
        raise TypeError(f"{name} must be a dict, not {described(data)}")
    is_plain = types_of(data) <= {str} and are_mappings(data.values())
    if is_plain and types_of(chain.from_iterable(data.values())) <= {str}:
        numbers = list(chain.from_iterable(documents.values() for documents in data.values()))
        if all(issubclass(kind, kinds) for kind in types_of(numbers)):
            return numbers
    # one by one: the first of a wrong type is an error, subclasses are right
    for query, documents in data.items():
        if not isinstance(query, str):
            raise TypeError(f"{name}: the query id {described(query)} is not a string")
        scope = f"{name}: query {named(query)}"
        if not isinstance(documents, Mapping):
            raise TypeError(f"{scope} needs a dict of documents, not {described(documents)}")
        for document, number in documents.items():
            if not isinstance(document, str):
                raise TypeError(f"{scope}: the document id has the wrong type: {described(document)}")
            if not isinstance(number, kinds):
                subject = f"the {label} of document {named(document)}"
                raise TypeError(f"{scope}: {subject} has the wrong type: {described(number)}")
    return list(chain.from_iterable(documents.values() for documents in data.values()))


def _floats(scores: list[Any]) -> Floats:
    try:
        return _rounded(np.fromiter(scores, np.float64, len(scores)))
    except OverflowError:
        raise ValueError("scores: an integer is too large for a floating-point number") from None


def _rounded(values: Floats) -> Floats:
    with np.errstate(over="ignore"):
        values = values.astype(np.float32).astype(np.float64)
    return np.clip(values, -_AT_MOST, _AT_MOST)


def _measures(names: Iterable[str]) -> list[PrintedSpec]:
    """The measures of these names, as pytrec_eval reads them. Raises ValueError and TypeError."""
    values_of = _values_of_measures(names)
    texts = [f"{name}.{','.join(sorted(values))}" if values else name for name, values in values_of.items()]
    measures = []
    for spec, printed in _of_values(parse_trec_eval, texts):
        # trec_eval 9's rule for how many documents a recall is
        params = spec.params | ({"rounding": "up"} if "rounding" in spec.metric.by_name else {})
        ordered = tuple((name, params[name]) for name in spec.metric.by_name if name in params)
        # a cutoff or a level follows the name of a measure, other parameters do not
        base = max((name for name in MEASURES if f"{printed}_".startswith(f"{name}_")), key=len)
        measures.append(PrintedSpec(Spec(spec.metric, ordered), printed if MEASURES[base].values else base))
    return measures


def _values_of_measures(names: Iterable[str]) -> dict[str, set[str]]:
    """The values of the parameter of each measure, none for its default. Raises ValueError and TypeError."""
    values_of: dict[str, set[str]] = defaultdict(set)
    for nickname in names:
        if not isinstance(nickname, str):
            raise TypeError(f"a measure is named by a string, not {described(nickname)}")
        for name in supported_nicknames.get(nickname, (nickname,)):
            base, values = (name, "") if name in supported_measures else _base_and_values(name)
            values_of[base].update(values.split(",") if values and MEASURES[base].param else ())
    return values_of


def _base_and_values(name: str) -> tuple[str, str]:
    """'ndcg_cut_5,10' -> 'ndcg_cut', '5,10'. Raises ValueError."""
    for base in MEASURES:
        match = _PARAMETERS.match(name, len(base)) if name.startswith(base) else None
        if match and base in supported_measures:
            return base, match[1]
    raise ValueError(f"unsupported measure {name}")


def parse_run(f_run: Iterable[str]) -> dict[str, dict[str, float]]:
    """{query: {document: score}} of the lines of a TREC run."""
    run: dict[str, dict[str, float]] = defaultdict(dict)
    for line in f_run:
        query, _, document, _, score, _ = line.split()
        assert document not in run[query], f"duplicate document {document} for query {query}"
        run[query][document] = float(score)
    return run


def parse_qrel(f_qrel: Iterable[str]) -> dict[str, dict[str, int]]:
    """{query: {document: grade}} of the lines of TREC qrels."""
    qrels: dict[str, dict[str, int]] = defaultdict(dict)
    for line in f_qrel:
        query, _, document, grade = line.split()
        assert document not in qrels[query], f"duplicate document {document} for query {query}"
        qrels[query][document] = int(grade)
    return qrels


def compute_aggregated_measure(measure: str, values: list[float]) -> float:
    """The sum of the values of queries for num_…, a geometric mean of logarithms for gm_…, else the mean."""
    if measure.startswith("num_"):
        return float(np.sum(values))
    if measure.startswith("gm_"):
        return float(np.exp(np.sum(values) / len(values)))
    return float(np.mean(values))

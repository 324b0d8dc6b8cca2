"""φ of nDCGφ over the grades of a collection, or of queries, with its control points."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from gradeval.arrays import Floats, Ints, cached_property
from gradeval.arrays.segments import Segments, distinct
from gradeval.arrays.strings import Texts
from gradeval.arrays.threads import default_jobs
from gradeval.commands.explain.details import phi_of
from gradeval.commands.explain.result import Phi
from gradeval.commands.plot.picture import Axis, Line, Panel, Picture, Point
from gradeval.commands.study.tabled import Row, Table
from gradeval.errors import MetricError, UnknownQueryError
from gradeval.formats.sources import Source
from gradeval.metrics.ndcg_phi import fitted_phi
from gradeval.options import Options
from gradeval.registry.spec import Spec, parse
from gradeval.tables.judgments import Judgments
from gradeval.tables.load import open_qrels
from gradeval.tables.qrels import Qrels

METRIC = "nDCGphi"
POOLED = "all judgments as one query"
MEDIAN = "median of queries that reach it"
_SAMPLES = 201  # of a curve
_QUARTILES = (0.5, 0.25, 0.75)


@dataclass(frozen=True, eq=False)
class Spread:
    """φ of the queries at some grades: median and quartiles, (G,) each.

    queries: how many there are, without those that have no grade above 0. grade: the grades. reach: at each,
    how many queries have that grade or a higher one, int64 (G,); φ of the others would be 1 for no document.
    """

    queries: int
    grade: Floats
    reach: Ints
    median: Floats
    q1: Floats
    q3: Floats


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Phis(Picture):
    """φ of some queries, or of a collection.

    curves: name -> φ. spread: over the queries of the collection, None where φ is that of some queries, or the
    same for all.
    """

    name: ClassVar[str] = "phi"
    curves: dict[str, Phi]
    spread: Spread | None

    @cached_property
    def panels(self) -> tuple[Panel, ...]:
        lines = []
        for name, phi in self.curves.items():
            x, y = np.array(phi.curve).T
            lines.append(Line(name, x, y, points=tuple(Point(*point) for point in phi.points)))
        if self.spread is not None:
            of = self.spread
            lines.append(Line(MEDIAN, of.grade, of.median, of.q1, of.q3))
        title = "" if len(lines) > 1 else lines[0].name
        whole = all(grade.is_integer() for phi in self.curves.values() for grade, *_ in phi.values)
        return (Panel(title, Axis("Grade", whole=whole), Axis("φ", 0.0, 1.0), tuple(lines)),)

    @cached_property
    def tables(self) -> tuple[Table, ...]:
        phis: list[Row] = [(name, *row) for name, phi in self.curves.items() for row in phi.values[::-1]]
        points: list[Row] = []
        for name, phi in self.curves.items():
            points += [(name, *point, True) for point in phi.points]
            if phi.whisker is not None and all(point[0] != "whisker" for point in phi.points):
                points.append((name, "whisker", phi.whisker, None, False))
        tables = [
            Table("phi", "φ and gain 2^φ - 1 of each grade", ("curve", "grade", "judged", "phi", "gain"), phis),
            Table("points", "Control points of φ", ("curve", "point", "grade", "phi", "control"), points),
        ]
        if self.spread is not None:
            of = self.spread
            columns = (one.tolist() for one in (of.grade, of.q1, of.median, of.q3, of.reach))
            rows = list(zip(*columns, strict=True))
            title = f"φ of {of.queries} queries, of each grade over those that have it or a higher one"
            tables.append(Table("quartiles", title, ("grade", "q1", "median", "q3", "queries"), rows))
        return tuple(tables)


def phi(qrels: Any, metric: str = METRIC, query: str | Sequence[str] = (), **options: Any) -> Phis:
    """φ of nDCGφ by grade, with its control points.

    qrels, options: as evaluate() takes them. metric: nDCGphi with its parameters. query: an id, or several,
    whose φ are drawn; by default φ of all judgments as one query, and the median and the quartiles of φ over
    the queries that have the grade or a higher one. Raises GradevalError.
    """
    queries = [query] if isinstance(query, str) else [str(one) for one in query]
    return draw_phi(qrels, phi_spec(metric), Options.of(**options), queries=queries)


def phi_spec(metric: str | Sequence[str]) -> Spec:
    """nDCGphi with its parameters. Raises MetricError."""
    specs = parse(metric)
    for spec in specs:
        if spec.metric.name != METRIC:
            raise MetricError(f"{spec} has no φ", hint=f"only {METRIC} has")
    if len(specs) > 1:
        raise MetricError(f"φ of one metric is drawn at a time, not of {', '.join(map(str, specs))}")
    return specs[0]


def draw_phi(
    qrels: Any,
    spec: Spec,
    options: Options,
    *,
    queries: Sequence[str] = (),
    watch: Callable[[Source], None] | None = None,
) -> Phis:
    """The same with parsed arguments. watch: is shown the source before it is read."""
    judged = open_qrels(qrels, options, options.jobs or default_jobs(), watch).qrels
    judged = judged.shift_grades(options.zero_grade)
    params = {name: value for name, value in spec.given if name in ("variant", "points")}
    spread = None
    if queries:
        curves = {
            f"query {name}": phi_of(_table(judged.grade[rows]), params, _SAMPLES)
            for name, rows in _rows(judged, queries).items()
        }
    else:
        curves = {POOLED: phi_of(_table(judged.grade), params, _SAMPLES)}
        if "points" in params:
            curves = {"all queries": curves[POOLED]}
        else:
            spread = _spread(_table(judged.grade, judged.offsets), params.get("variant", "paper"))
    return Phis(
        options={"metrics": [str(spec)], "qrels": judged.path, "evaluation": options.to_dict()},
        noticed=(judged.notices,),
        note="" if spread is None else f"quartiles over the queries that reach the grade, of {spread.queries}",
        curves=curves,
        spread=spread,
    )


def _rows(qrels: Qrels, queries: Sequence[str]) -> dict[str, slice]:
    """The rows of each query. Raises UnknownQueryError."""
    known = {query: position for position, query in enumerate(Texts(qrels.queries))}
    unknown = [query for query in queries if query not in known]
    if unknown:
        raise UnknownQueryError(unknown, qrels.path)
    return {q: slice(qrels.offsets[known[q]], qrels.offsets[known[q] + 1]) for q in dict.fromkeys(queries)}


def _table(grade: Floats, offsets: Ints | None = None) -> Judgments:
    """Judgments of which nothing is retrieved; without offsets, of one query."""
    count = len(grade)
    segments = Segments(np.array([0, count]) if offsets is None else offsets)
    nowhere, nothing = np.full(count, np.inf), np.zeros(segments.count, np.int64)
    return Judgments(segments, grade, nowhere, -nowhere, np.arange(count), nothing)


def _spread(judgments: Judgments, variant: str) -> Spread:
    fitted, queries = fitted_phi(judgments, variant), np.flatnonzero(judgments.highest > 0)
    grade = distinct(np.maximum(judgments.grade, 0.0))
    if len(grade) > _SAMPLES:
        grade = np.linspace(grade[0], grade[-1], _SAMPLES)
    highest = judgments.highest[queries]
    found, reach = np.full((len(_QUARTILES), len(grade)), np.nan), np.zeros(len(grade), np.int64)
    for g, one in enumerate(grade.tolist() if len(queries) else ()):
        own = queries[highest >= one]
        reach[g] = len(own)
        found[:, g] = np.quantile(fitted(np.full(len(own), one), own), _QUARTILES)
    return Spread(len(queries), grade, reach, *found)

"""φ of nDCGφ over the grades of a collection, or of queries, with its control points."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from gradeval.arrays import Floats, Ints
from gradeval.arrays.segments import Segments, distinct
from gradeval.commands.explain.contributions import phi_of
from gradeval.commands.explain.explain import positions_of
from gradeval.commands.explain.result import Phi
from gradeval.commands.plot.picture import Axis, Line, Panel, Picture
from gradeval.commands.study.tables import Row, Table, spaced
from gradeval.errors import MetricError
from gradeval.formats.sources import Source
from gradeval.metrics.ndcg_phi import fitted_phi
from gradeval.options import OF_RUNS, Options, takes
from gradeval.registry.spec import Spec, parse
from gradeval.render.document import warned
from gradeval.tables.judgments import Judgments
from gradeval.tables.load import open_qrels

if TYPE_CHECKING:
    from gradeval.keywords import Runs, Unpack

METRIC = "nDCGphi"
POOLED = "all judgments as one query"
MEDIAN = "median of queries that reach it"
_SAMPLES = 201  # of a curve
_SHOWN = 20  # grades that people see


@takes(OF_RUNS)
def phi(qrels: Any, metric: str = METRIC, query: str | Sequence[str] = (), **options: Unpack[Runs]) -> Picture:
    """φ of nDCGφ by grade, with its control points.

    qrels, options: as evaluate() takes them. metric: nDCGphi with its parameters. query: an id, or several,
    whose φ are drawn; by default φ of all judgments as one query, and the median and the quartiles of φ over
    the queries that have the grade or a higher one. Raises GradevalError.
    """
    queries = [query] if isinstance(query, str) else list(map(str, query))
    return warned(draw_phi(qrels, phi_spec(metric), Options.of(**options), queries=queries))


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
) -> Picture:
    """The same with parsed arguments. watch: is shown the source before it is read."""
    judged = open_qrels(qrels, options, watch).qrels
    params = {name: value for name, value in spec.given if name in ("variant", "points")}
    quartiles = None
    if queries:
        curves = {}
        for query, q in zip(dict.fromkeys(queries), positions_of(judged, queries).tolist(), strict=True):
            grades = judged.grade[judged.offsets[q] : judged.offsets[q + 1]]
            curves[f"query {query}"] = phi_of(_table(grades), params, _SAMPLES)
    else:
        all_judgments = phi_of(_table(judged.grade), params, _SAMPLES)
        curves = {"all queries" if "points" in params else POOLED: all_judgments}
        if "points" not in params:
            quartiles = _quartiles(_table(judged.grade, judged.offsets), params.get("variant", "paper"))
    lines = []
    for name, drawn in curves.items():
        x, y = np.array(drawn.curve).T
        lines.append(Line(name, x, y, points=drawn.points))
    tables, note = _tables(curves), ""
    if quartiles is not None:
        grade, q1, median, q3, reach = quartiles
        lines.append(Line(MEDIAN, grade, median, q1, q3))
        count = int(reach.max(initial=0))
        note = f"quartiles over the queries that reach the grade, of {count}"
        tables.append(
            Table(
                "quartiles",
                f"φ of {count} queries, of each grade over those that have it or a higher one",
                ("grade", "q1", "median", "q3", "queries"),
                list(zip(*(column.tolist() for column in quartiles), strict=True)),
                shown=len(grade) <= _SHOWN,
            )
        )
    is_whole = all(grade.is_integer() for drawn in curves.values() for grade, *_ in drawn.values)
    title = "" if len(lines) > 1 else lines[0].name
    return Picture(
        name="phi",
        options={"metrics": [str(spec)], "qrels": judged.path, "evaluation": options.to_dict()},
        noticed=(judged.notices,),
        note=note,
        tables=tuple(tables),
        panels=(Panel(title, Axis("Grade", whole=is_whole), Axis("φ", 0.0, 1.0), tuple(lines)),),
    )


def _tables(curves: Mapping[str, Phi]) -> list[Table]:
    """φ of each grade, of at most _SHOWN of them for people, and the control points."""
    columns = ("curve", "grade", "judged", "phi", "gain")
    title = "φ and gain 2^φ - 1 of each grade"
    rows = {name: [(name, *row) for row in drawn.values[::-1]] for name, drawn in curves.items()}
    longest = max(map(len, rows.values()))
    points: list[Row] = []
    for name, drawn in curves.items():
        points += [(name, *point, True) for point in drawn.points]
        if drawn.whisker is not None and all(point[0] != "whisker" for point in drawn.points):
            points.append((name, "whisker", drawn.whisker, None, False))
    return [
        Table("phi", title, columns, [*chain(*rows.values())], shown=longest <= _SHOWN),
        Table(
            "overview",
            f"{title}, {_SHOWN} of up to {longest} grades",
            columns,
            [of_curve[place] for of_curve in rows.values() for place in spaced(len(of_curve), _SHOWN)],
            data=False,
            shown=longest > _SHOWN,
        ),
        Table("points", "Control points of φ", ("curve", "point", "grade", "phi", "control"), points),
    ]


def _table(grade: Floats, offsets: Ints | None = None) -> Judgments:
    """Judgments of which nothing is retrieved; without offsets, of one query."""
    count = len(grade)
    segments = Segments(np.array([0, count]) if offsets is None else offsets)
    nowhere, nothing = np.full(count, np.inf), np.zeros(segments.count, np.int64)
    return Judgments(segments, grade, nowhere, -nowhere, np.arange(count), nothing)


def _quartiles(judgments: Judgments, variant: str) -> tuple[Floats, Floats, Floats, Floats, Ints]:
    """φ of the queries at some grades: the grades, q1, median, q3, and how many queries have the grade or a
    higher one, without those that have no grade above 0; φ of the others would be 1 for no document.
    """
    fitted, queries = fitted_phi(judgments, variant), np.flatnonzero(judgments.highest > 0)
    grade = distinct(np.maximum(judgments.grade, 0.0))
    if len(grade) > _SAMPLES:
        grade = np.linspace(grade[0], grade[-1], _SAMPLES)
    highest = judgments.highest[queries]
    quartiles, reach = np.full((3, len(grade)), np.nan), np.zeros(len(grade), np.int64)
    for g, value in enumerate(grade.tolist() if len(queries) else ()):
        reaching = queries[highest >= value]
        reach[g] = len(reaching)
        phis = fitted(np.full(len(reaching), value), reaching)
        quartiles[:, g] = np.quantile(phis, (0.25, 0.5, 0.75))
    return grade, *quartiles, reach

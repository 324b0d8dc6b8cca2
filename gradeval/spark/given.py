"""What is asked for and given, checked before Spark has anything to do: metrics, options and data frames."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from numbers import Integral
from typing import TYPE_CHECKING, Any, NamedTuple

from gradeval.commands.compare.options import CompareOptions
from gradeval.commands.compare.values import comparable_metrics, judged_spec, left_out_of_groups
from gradeval.errors import InputError, MetricError, OptionError, described
from gradeval.evaluation.runs import check_labels
from gradeval.formats.names import ARGUMENT
from gradeval.notices import Notice
from gradeval.options import FILES, PROCESS, Options, check_known
from gradeval.registry.spec import Spec, usable
from gradeval.spark.frames import MOST_BUCKETS, split_columns
from gradeval.spark.sessions import check_modules

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Request(NamedTuple):
    """What is to be evaluated, and how.

    specs: the metrics, whose values are numbers. own: the names of the columns of the roles 'run' and 'order'.
    buckets: how many, None for as many as the rows need. naming: how the user names a column. compared: how the
    runs are compared in the same pass, None where they are not. judged: a metric that only the comparison
    needs. notices: about the metrics.
    """

    specs: tuple[Spec, ...]
    options: Options
    own: Mapping[str, str]
    buckets: int | None = None
    naming: str = ARGUMENT
    compared: CompareOptions | None = None
    judged: Spec | None = None
    notices: tuple[Notice, ...] = ()

    @classmethod
    def of(
        cls,
        metrics: str | Iterable[str],
        options: Mapping[str, Any],
        buckets: int | None = None,
        naming: str = ARGUMENT,
        compared: CompareOptions | None = None,
    ) -> Request:
        """options: those of Options, whose columns may have the roles 'run' and 'order' too. Raises
        GradevalError.
        """
        columns, own = split_columns(options.get("columns", ()))
        chosen = Options.of(**{**options, "columns": columns})
        if compared is None:
            specs, left_out = usable(
                metrics,
                lambda spec: not spec.metric.text,
                lambda spec: MetricError(f"{spec} is text", hint="on Spark, metrics are numbers"),
            )
            notices = left_out_of_groups(left_out)
        else:
            specs, notices = comparable_metrics(metrics)
        if chosen.ties == "input" and "order" not in own:
            what = "ties 'input' requires a column that orders the rows of the runs: a shuffle keeps no order"
            raise OptionError(f"{what}. Name it with {naming.format('order')}")
        if buckets is not None and (
            not isinstance(buckets, Integral) or isinstance(buckets, bool) or not 1 <= buckets <= MOST_BUCKETS
        ):
            raise OptionError(f"buckets must be an integer from 1 to {MOST_BUCKETS}, not {described(buckets)}")
        count = None if buckets is None else int(buckets)  # Spark takes no other integers
        judged = None if compared is None or chosen.judged_only else judged_spec(specs, ())
        if judged in specs:
            judged = None
        return cls(tuple(specs), chosen, own, count, naming, compared, judged, notices)

    @property
    def evaluated(self) -> tuple[Spec, ...]:
        """The metrics, with that which the comparison needs."""
        return self.specs if self.judged is None else (*self.specs, self.judged)


def check_options(options: Iterable[str]) -> None:
    """Raise OptionError for an option that evaluate() does not have."""
    check_known(options, [*Options.names(without=(FILES, PROCESS)), "buckets"])


def given_frames(qrels: Any, runs: Any) -> tuple[DataFrame, list[tuple[str | None, DataFrame]]]:
    """The qrels, and the runs with their names: None for a data frame that may have several.

    Raises GradevalError for anything else, and without PySpark.
    """
    check_modules()
    judged = _frame(qrels, "qrels")
    if isinstance(runs, (list, tuple)):
        hint = "Give a dict of data frames by the names of the runs, or one data frame with a column of runs"
        raise InputError("runs", f"a {type(runs).__name__} has no names of runs", hint=hint)
    if not isinstance(runs, Mapping):
        return judged, [(None, _frame(runs, "runs"))]
    if not runs:
        raise InputError("runs", "no runs given")
    named: list[tuple[str | None, DataFrame]] = [
        (str(name), _frame(frame, str(name))) for name, frame in runs.items()
    ]
    check_labels(named)
    return judged, named


def _frame(given: Any, what: str) -> DataFrame:
    from pyspark.sql import DataFrame

    if isinstance(given, DataFrame):
        return given
    if isinstance(given, (str, bytes, os.PathLike)):
        hint = "Read it with spark.read.parquet(PATH), or run 'gradeval spark QRELS RUN', which reads files"
        raise InputError(what, f"{described(given)} is not a data frame of Spark", hint=hint)
    module = type(given).__module__.partition(".")[0]
    kind = type(given).__name__ if module in ("builtins", "__main__") else f"{module}.{type(given).__name__}"
    hint = "Give spark.createDataFrame(…), or use gradeval.evaluate(), which takes other data"
    raise InputError(what, f"a {kind} is not a data frame of Spark", hint=hint)

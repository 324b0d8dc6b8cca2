"""What an evaluation is to give, and of which queries: the arguments that go down to the kernel."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress

import numpy as np

from gradeval.arrays import Bools, Floats, cached_property
from gradeval.arrays.strings import Texts
from gradeval.errors import InputError, UnsuitableOptionError, first_names, named
from gradeval.formats.sources import Source
from gradeval.notices import many
from gradeval.options import LaterIds, Options
from gradeval.records import Record
from gradeval.registry.spec import Spec, parse
from gradeval.tables.excluded import with_excluded
from gradeval.tables.qrels import Qrels


class Plan(Record, eq=False):
    """What is evaluated, and what is wanted of it."""

    metrics: Sequence[Spec]  # those that were asked for
    options: Options
    extra: Sequence[Spec] = ()  # evaluated too, though a saved result may lack them
    shows_extra: bool = True  # whether the user sees the extra ones; notices are about metrics that are seen
    shows_queries: bool = False  # whether the user sees values of queries; notices of ties are about them too
    expected_of_ties: bool = True  # whether notices of ties have the expected mean, which takes as long as they
    keeps_values: bool = True  # whether the results have the values of queries, not only the summaries
    hashes: bool = False  # whether the SHA-256 of the files is taken
    hashes_qrels: bool = False  # whether that of the qrels is, whose signature names it
    is_part: bool = False  # whether other runs of the call may have the columns that options name
    names_responses: bool = False  # as load.names_responses()
    as_trec_eval: bool = False  # whether the lines of runs are read as trec_eval reads them
    weights_path: str = ""  # of the file that the weights of queries are from
    keeps_unjudged: bool = False  # whether the results keep what the bounds of differences of runs follow from

    @cached_property
    def optional(self) -> tuple[Spec, ...]:
        """The metrics that a saved result may lack."""
        return tuple(spec for spec in self.extra if spec not in self.metrics)

    @cached_property
    def specs(self) -> tuple[Spec, ...]:
        """All that are evaluated."""
        return (*self.metrics, *self.optional)

    @property
    def shown(self) -> Sequence[Spec]:
        """The metrics that the user sees."""
        return self.specs if self.shows_extra else self.metrics

    def with_files(self) -> Plan:
        """With the weights of queries and the excluded documents of files. Raises InputError(s)."""
        path = self.options.query_weights
        plan = self.replace(options=with_files(self.options))
        return plan.replace(weights_path=path) if isinstance(path, str) else plan

    def judged_by(self, qrels: Qrels) -> Plan:
        """With what is known only when the judgments are: the query ids that are chosen, and the levels."""
        metrics = self.metrics
        if self.options.by_level:
            metrics = [spec for spec in with_levels(self.specs, qrels.scale) if spec not in self.optional]
        return self.replace(
            metrics=tuple(metrics), options=with_ids(self.options, qrels, is_part=self.names_responses)
        )


def with_weights(options: Options) -> Options:
    """The options, with the weights of queries read where they are those of a file. Raises InputError(s)."""
    if not isinstance(options.query_weights, str):
        return options
    from gradeval.formats.lines import read_weights  # imported only when needed

    return options.replace(query_weights=tuple(read_weights(Source(options.query_weights)).items()))


def with_files(options: Options) -> Options:
    """The options, with what files of queries and documents have. Raises InputError(s)."""
    return with_excluded(with_weights(options))


def with_ids(options: Options, qrels: Qrels, *, is_part: bool = False) -> Options:
    """The options, with the query ids that are chosen when the judgments are known. is_part: of LaterIds."""
    if not isinstance(options.query_ids, LaterIds):
        return options
    ids = options.query_ids.choose(Texts(qrels.queries), qrels.path, is_part=is_part)
    return options.replace(query_ids=ids)


def with_levels(specs: Sequence[Spec], grades: Floats) -> list[Spec]:
    """AP(rel=t) for each of the grades t above 0, before muAP (or first)."""
    levels = [spec for t in grades[grades > 0].tolist() for spec in parse(f"AP(rel={t!r})")]
    names = [spec.metric.name for spec in specs]
    at = names.index("muAP") if "muAP" in names else 0
    return list(dict.fromkeys([*specs[:at], *levels, *specs[at:]]))


class EvaluationSetting(Record, eq=False):
    """A plan and the judgments: what is the same for all runs of an evaluation."""

    plan: Plan
    qrels: Qrels
    chosen: Bools  # which queries are evaluated, (Q,)
    weights: Floats | None  # of the queries in the means, (Q,); None where all count alike

    @cached_property
    def queries(self) -> Texts:
        """The ids of the queries of the qrels."""
        return Texts(self.qrels.queries)

    @classmethod
    def of(cls, plan: Plan, qrels: Qrels) -> EvaluationSetting:
        """Raises GradevalError."""
        chosen = chosen_queries(qrels, plan.options, is_part=plan.names_responses)
        if not chosen.any():
            chosen_queries(qrels, plan.options)  # an error
        return cls(
            plan, qrels, chosen, weights_of(Texts(qrels.queries), chosen, plan.options, plan.weights_path)
        )

    def counted(self, has_lines: Bools) -> Bools:
        """Which queries are printed and averaged, (Q,), of a run that has these."""
        return counted_queries(self.chosen, has_lines, self.plan.options)


def chosen_queries(qrels: Qrels, options: Options, *, is_part: bool = False) -> Bools:
    """Which queries are evaluated, (Q,). is_part: the qrels may lack query ids. Raises UnknownQueryError."""
    chosen = np.ones(len(qrels.queries), np.bool_)
    if options.query_ids is not None:
        chosen[:] = False
        chosen[qrels.positions(options.query_ids, is_part=is_part)] = True
    return chosen


def counted_queries(chosen: Bools, has_lines: Bools, options: Options) -> Bools:
    """Which of the chosen queries are printed and averaged, (Q,). has_lines: which queries the run has."""
    return chosen & has_lines if options.queries == "both" else chosen


def weights_of(queries: Sequence[str], chosen: Bools, options: Options, path: str = "") -> Floats | None:
    """The weights of the queries in means, (Q,), if any. path: of their file. Raises GradevalError."""
    if options.query_weights is None:
        return None
    weight_of: dict[str, float] = dict(options.query_weights)  # type: ignore[arg-type]  # a file has been read
    lacking = [query for query in compress(queries, chosen) if query not in weight_of]
    if lacking:
        count = many(len(lacking), "query has", "queries have")
        message = f"{count} no weight: {first_names(map(named, lacking), 5)}"
        hint = f"Write a weight for each, such as '{lacking[0]} TAB 1'; 0 leaves a query out of the means"
        if path:
            raise InputError(path, message, hint=hint)
        raise UnsuitableOptionError("query_weights", f"query_weights: {message}. {hint}")
    return np.array([weight_of.get(query, 0.0) for query in queries])

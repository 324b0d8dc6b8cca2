"""gradeval study: the experiments of the papers, on their data or the user's."""

from __future__ import annotations

import os
import warnings as python_warnings
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import click

from gradeval.cli import output as out
from gradeval.cli.command import Command
from gradeval.cli.eval import eval_command
from gradeval.cli.types import File, Integer
from gradeval.options import GROUP_SUFFIXES, parse_number
from gradeval.render.study import FORMATS

if TYPE_CHECKING:
    from gradeval.analysis.study.tables import Study
    from gradeval.render.progress import Progress

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

_SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
_MOST = 10**6
_EVALUATION = ("rel", "zero_grade", "depth", "judged_only", "ties", "queries", "no_relevant")
_INPUT = ("qrels_format", "run_format", "features", "qrels_feature", "groups")
_OUTPUT = ("digits", "output")
_OTHER = ("jobs", "quiet", "strict", "allow")
_SEPARATOR = "\b\nExamples:\n"


class _Group(Command, click.Group):
    """A group of commands whose help, where none is given, goes to standard error."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args and not ctx.resilient_parsing:
            click.echo(ctx.get_help(), err=True)
            ctx.exit(2)
        return super().parse_args(ctx, args)


def _as_eval_has(*names: str) -> Callable[[Decorated], Decorated]:
    """The options of gradeval eval with these parameters' names."""

    def decorate(function: Decorated) -> Decorated:
        own = {param.name: param for param in eval_command.params}
        # click lists the options of a function in the reverse order
        added: list[click.Parameter] = getattr(function, "__click_params__", [])
        function.__click_params__ = [*added, *(own[name] for name in reversed(names))]  # type: ignore[attr-defined]
        return function

    return decorate


def _printed(*tables: str) -> Callable[[Decorated], Decorated]:
    """The options of the output. tables: the names of those that the study has."""

    def decorate(function: Decorated) -> Decorated:
        for option in (
            _as_eval_has(*_OUTPUT),
            click.option(
                "--table",
                type=click.Choice(tables),
                help="The table that -f tsv and -f csv print. Default: the first. -f json has all.",
            ),
            click.option(
                "-f",
                "--format",
                "format_",
                type=click.Choice(tuple(FORMATS)),
                help="Default: table on a terminal, tsv elsewhere.",
            ),
        ):
            function = option(function)
        return function

    return decorate


def _metrics(default: str) -> Callable[[Decorated], Decorated]:
    from gradeval.cli.metrics import complete_metric

    return click.option(
        "-m",
        "--metric",
        "metrics",
        multiple=True,
        metavar="NAME",
        shell_complete=complete_metric,
        help=f"One or several metrics; 'gradeval metrics' lists them. Default: {default}.",
    )


def _count(
    name: str, default: int, text: str, low: int = 1, high: int = _MOST
) -> Callable[[Decorated], Decorated]:
    return click.option(
        name, type=Integer(low, high), default=default, show_default=True, metavar="N", help=text
    )


_seed = partial(_count, "--seed", 1, low=0, high=2**63 - 1)


class _Numbers(click.ParamType):  # type: ignore[type-arg]
    """Comma-separated numbers."""

    name = "LIST"

    def __init__(self, number: Callable[[str], float], what: str) -> None:
        self.number, self.what = number, what

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[float, ...]:
        if isinstance(value, tuple):
            return value
        try:
            return tuple(self.number(one.strip()) for one in value.split(","))
        except ValueError:
            self.fail(f"'{value}' is not a comma-separated list of {self.what}.", param, ctx)


def _integer(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise ValueError(text)
    return int(text)


def _example(*examples: str) -> str:
    return _SEPARATOR + "\n".join(f"  {example}" for example in examples)


@click.group(
    "study",
    cls=_Group,
    short_help="Study metrics: the experiments of their papers.",
    context_settings=_SETTINGS,
)
def study_command() -> None:
    """Study metrics: the experiments of the papers they come from, on generated data or on yours.

    All random numbers depend on --seed alone. In Python: gradeval.study.swaps(...) and so on.
    """


@study_command.command(
    "swaps",
    cls=Command,
    short_help="Swap pairs of an ideal ranking: does a metric depend on the number of levels?",
    context_settings=_SETTINGS,
    epilog=_example(
        "gradeval study swaps",
        "gradeval study swaps -m 'rankDCG nDCGphi tau' --levels 3,5 --items 50",
        "gradeval study swaps -f tsv --table curves -o curves.tsv",
    ),
)
@_metrics("muAP NDCNG nDCG(gain=exp)")
@click.option(
    "--levels",
    type=_Numbers(_integer, "integers"),
    default="2,10,20,50",
    show_default=True,
    metavar="LIST",
    help="Numbers of relevance levels.",
)
@_count("--items", 100, "Documents of a ranking.", low=2)
@_count("--repeats", 100, "Rankings that are averaged.")
@_count("--swaps", 99, "The largest number of swaps.")
@_seed("Seed of the random numbers.")
@_printed("distances", "curves")
@_as_eval_has("jobs", "quiet")
def swaps_command(metrics: tuple[str, ...], **given: Any) -> int:
    """How metrics fall as random pairs of an ideal ranking are swapped.

    The documents have 2, 10, 20 or 50 grades, evenly or unevenly used. A metric that does not depend on the
    number of relevance levels has the same curve for all; the largest distance between its curves shows it
    (Scheel et al. 2011, figures 4 and 5).
    """

    def run(progress: Progress, options: dict[str, Any]) -> Study:
        from gradeval.analysis.study.swaps import METRICS, swaps

        return swaps(metrics or METRICS, **options, progress=progress.steps)

    return _study(run, given)


@study_command.command(
    "levels",
    cls=Command,
    short_help="AP at every threshold, and the metrics that combine them.",
    context_settings=_SETTINGS,
    epilog=_example(
        "gradeval study levels qrels.txt bm25.run dense.run",
        "gradeval study levels test.letor --feature 1,5,9",
        "gradeval study levels test.letor --feature 1,5,9 --qrels-feature 9",
        "cat Fold*.txt.gz | gradeval study levels - --feature 1-5 -f tsv",
    ),
)
@click.argument("qrels", type=File())
@click.argument("runs", metavar="[RUN]...", type=File(), nargs=-1)
@_metrics("muAP nDCG(gain=exp) NDCNG")
@_as_eval_has(*_EVALUATION)
@_printed("values", "orders")
@_as_eval_has(*_INPUT, *_OTHER)
def levels_command(qrels: str, runs: tuple[str, ...], metrics: tuple[str, ...], **given: Any) -> int:
    """Average precision at every threshold, and the metrics that combine the thresholds.

    With --qrels-feature a feature of a LETOR file is a virtual assessor; as a run it scores 1 (Scheel et al.
    2011, figures 6 to 8).
    """

    def run(progress: Progress, options: dict[str, Any]) -> Study:
        from gradeval.analysis.study.levels import METRICS, levels

        return levels(qrels, runs or None, metrics or METRICS, **options, watch=progress.watch)

    return _study(run, given, [qrels, *runs], needs_runs=True)


@study_command.command(
    "divergence",
    cls=Command,
    short_help="nDCG beside nDCGφ, whose gains follow the gaps between grades.",
    context_settings=_SETTINGS,
    epilog=_example(
        "gradeval study divergence",
        "gradeval study divergence --cutoff 5 --draws 200 -f json",
        "gradeval study divergence shares.qrels my.run",
        "gradeval study divergence shares.qrels my.run -m 'nDCG@10 nDCGphi@10' --table queries -f tsv",
    ),
)
@click.argument("qrels", type=File(), required=False)
@click.argument("runs", metavar="[RUN]...", type=File(), nargs=-1)
@_metrics("nDCG(gain=exp,top=10/25/50) and nDCGphi at the cutoff")
@_count("--cutoff", 10, "The cutoff of the default metrics, and the rank of the errors.")
@_count("--items", 100, "Without QRELS: documents of a ranking.", low=2)
@_count("--draws", 1000, "Without QRELS: random rankings.")
@_seed("Without QRELS: seed of the random numbers.")
@_as_eval_has(*_EVALUATION)
@_printed("quartiles", "impact", "draws", "differences", "queries")
@_as_eval_has(*_INPUT, *_OTHER)
def divergence_command(qrels: str | None, runs: tuple[str, ...], metrics: tuple[str, ...], **given: Any) -> int:
    """nDCG beside nDCGφ, whose gains follow the gaps between the grades.

    Without QRELS: random scores, balanced or imbalanced, and two errors in their ideal ranking: ranks 10 and 11
    swapped, or the first 10 reversed (Moniz et al. 2016, figure 2).

    With QRELS and RUN: the difference of two metrics over the queries (figure 4).
    """

    def run(progress: Progress, options: dict[str, Any]) -> Study:
        from gradeval.analysis.study.divergence import divergence

        if qrels is not None:
            return divergence(qrels, runs or None, metrics or None, **options, watch=progress.watch)
        return divergence(metrics=metrics or None, **options)

    own, other = ("items", "draws", "seed"), (*_EVALUATION, *_INPUT)
    _check_apart(other if qrels is None else own, "requires QRELS" if qrels is None else "is for random scores")
    given = {name: value for name, value in given.items() if name not in (other if qrels is None else own)}
    return _study(run, given, [] if qrels is None else [qrels, *runs], needs_runs=qrels is not None)


@study_command.command(
    "criteria",
    cls=Command,
    short_help="Which of four criteria for orderings a metric meets.",
    context_settings=_SETTINGS,
    epilog=_example(
        "gradeval study criteria",
        "gradeval study criteria -m 'muAP NDCNG nDCGphi rankDCG rho'",
        "gradeval study criteria -f tsv",
    ),
)
@_metrics("tau AP(rel=2) nDCG rankDCG")
@_printed("verdicts", "values")
def criteria_command(metrics: tuple[str, ...], **given: Any) -> int:
    """Which of four criteria for metrics of orderings a metric meets.

    \b
    ties      documents with equal grades are interchangeable
    skew      values fall with the error, however often each grade occurs
    emphasis  misplacing a high grade costs more than by counting pairs
    range     the best and the worst ordering have the ends of the range

    The verdicts follow from six lists of predicted scores (Katerenchuk and Rosenberg 2016, table 1); the
    evidence is in the first table of -f tsv. Tables: verdicts, values.
    """

    def run(progress: Progress, options: dict[str, Any]) -> Study:
        from gradeval.analysis.study.criteria import METRICS, criteria

        return criteria(metrics or METRICS, **options)

    return _study(run, given)


@study_command.command(
    "agreement",
    cls=Command,
    short_help="Do metrics, or two sets of judgments, order systems alike?",
    context_settings=_SETTINGS,
    epilog=_example(
        "gradeval study agreement qrels.txt *.run",
        "gradeval study agreement qrels.txt *.run -m 'nDCG@10 AP' --test tukey",
        "gradeval study agreement people.qrels --qrels2 llm.qrels *.run",
        "gradeval study agreement qrels.txt *.run -f tsv --table power",
    ),
)
@click.argument("qrels", type=File())
@click.argument("runs", metavar="RUN...", type=File(), nargs=-1)
@_metrics("muAP NDCNG@10 nDCGphi@10 rankDCG nDCG@10 AP")
@click.option("--qrels2", type=File(), metavar="FILE", help="A second set of judgments, to compare with QRELS.")
@click.option(
    "--test",
    type=click.Choice(("t", "randomization", "wilcoxon", "sign", "tukey")),
    default="t",
    show_default=True,
    help="The paired test of two systems; tukey is the randomized Tukey HSD test of all pairs.",
)
@click.option(
    "--correction",
    type=click.Choice(("holm", "bonferroni", "bh", "maxt", "none")),
    default="holm",
    show_default=True,
    help="Of p for the number of pairs of systems.",
)
@click.option(
    "--alpha",
    type=_Numbers(parse_number, "numbers"),
    default="0.05",
    show_default=True,
    metavar="P",
    help="A pair is separated where its corrected p is below it.",
)
@_count("--samples", 100_000, "Permutations of the tests randomization and tukey, and of maxt.", high=10**9)
@_count("--splits", 100, "Random halves of the queries.", high=10**5)
@click.option(
    "--rescale",
    type=_Numbers(parse_number, "numbers"),
    default="0.5,2",
    show_default=True,
    metavar="LIST",
    help="Factors by which all grades are multiplied.",
)
@_seed("Seed of the random numbers.")
@_as_eval_has(*_EVALUATION)
@_printed("correlations", "power", "halves", "rescaled", "systems", "judgments", "kappa", "confusion")
@_as_eval_has(*_INPUT, *_OTHER)
def agreement_command(qrels: str, runs: tuple[str, ...], metrics: tuple[str, ...], **given: Any) -> int:
    """Whether metrics order systems alike, how well they separate them, how stable their orders are.

    For each pair of metrics: Kendall's tau and the AP correlation between the orders of the systems. For each
    metric: the share of pairs of systems that it separates (discriminative power), the agreement of random
    halves of the queries, and what multiplying all grades changes. Tables: correlations, power, halves,
    rescaled, systems.

    With --qrels2: all of it for both sets of judgments on their common queries, the agreement of the orders of
    systems by each metric, and the confusion matrix and Cohen's kappa of the grades.
    """

    def run(progress: Progress, options: dict[str, Any]) -> Study:
        from gradeval.analysis.study.agreement import METRICS, agreement

        return agreement(qrels, runs or None, metrics or METRICS, **options, watch=progress.watch)

    if len(given["alpha"]) != 1:
        raise click.BadParameter("give one number.", param_hint="'--alpha'")
    [given["alpha"]] = given["alpha"]
    if given["test"] == "tukey":
        _check_apart(("correction",), "does not go with --test tukey, which corrects for all pairs")
    return _study(run, given, [qrels, *filter(None, [given["qrels2"]]), *runs], needs_runs=True)


def _check_apart(names: Iterable[str], why: str) -> None:
    """Raise UsageError where one of these options is given."""
    from click.core import ParameterSource

    context = click.get_current_context()
    for param in context.command.params:
        if param.name in names and context.get_parameter_source(param.name) is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"{max(param.opts, key=len)} {why}.")


def _study(
    run: Callable[[Progress, dict[str, Any]], Study],
    given: dict[str, Any],
    files: Sequence[str] = (),
    needs_runs: bool = False,
) -> int:
    """Run a study, and print it. given: its options, and those that all studies have."""
    format_, table, digits = (given.pop(name) for name in ("format_", "table", "digits"))
    output, quiet, strict = (given.pop(name, None) for name in ("output", "quiet", "strict"))
    allow = given.pop("allow", ())
    if needs_runs and len(files) < 2 and not given["features"]:
        raise click.UsageError("Missing argument 'RUN...' (or --feature, for LETOR files).")
    inputs = [*files, *filter(None, [given.get("groups")])]
    if inputs.count("-") > 1:
        raise click.UsageError("'-' can be given once only: there is one standard input.")
    file = None
    if output is not None and output != "-":
        from gradeval.cli.output_file import OutputFile

        file = OutputFile(output, [*inputs, *(path + suffix for path in files for suffix in GROUP_SUFFIXES)])
    on_terminal = file is None and out.on_terminal()
    format_ = format_ or out.default_format(file, FORMATS)
    if table is not None and format_ not in ("tsv", "csv"):
        raise click.UsageError("--table requires -f tsv or -f csv.")

    from gradeval.render.progress import Progress
    from gradeval.render.study import render

    if quiet or strict:  # the warnings of other code, such as a plugin's, too
        python_warnings.simplefilter("error" if strict else "ignore")
    if "jobs" in given:
        given["jobs"] = given["jobs"] or 0
    with Progress(enabled=False if quiet else None) as progress:
        study = run(progress, given)
    warnings = study.messages(informational=False)
    if not quiet or strict:
        for warning in warnings:
            out.echo_error(f"warning: {warning}")
    if not quiet:
        for note in study.messages(informational=True):
            out.echo_error(f"note: {note}")
    if strict and any(notice.kind not in allow for notice in study.notices if not notice.informational):
        out.echo_error("gradeval: warnings are treated as errors (--strict)")
        return 2
    text = render(
        study,
        format_,
        table=table,
        digits=digits,
        colour=on_terminal and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb",
        width=out.columns() if on_terminal else None,
    )
    out.write(text, file, styled=format_ == "table")
    return 0

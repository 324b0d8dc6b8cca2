"""What the commands of gradeval study share: their options, and the way from a study to its output."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import click

from gradeval.cli import output as out
from gradeval.cli.arguments import check_runs, input_files, output_file
from gradeval.cli.destination import Destination
from gradeval.cli.options import digits_option, metric_option, output_option, table_option, together
from gradeval.cli.types import Integer
from gradeval.commands.eval import eval_command
from gradeval.render import WRITERS

if TYPE_CHECKING:
    from gradeval.commands.study.tables import Study
    from gradeval.render.progress import Progress

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

EVALUATION = ("rel", "zero_grade", "depth", "judged_only", "ties", "queries", "no_relevant")
INPUT = (
    *("qrels_format", "run_format", "features", "qrels_feature", "groups"),
    *("columns", "split", "ignore_identical_ids"),
)
OTHER = ("jobs", "quiet", "strict", "allow")
_MOST = 10**6
_SEPARATOR = "\b\nExamples:\n"


def as_has(command: click.Command, *names: str) -> Callable[[Decorated], Decorated]:
    """The options of another command with these parameters' names."""

    def decorate(function: Decorated) -> Decorated:
        own = {param.name: param for param in command.params}
        # click lists the options of a function in the reverse order
        added: list[click.Parameter] = getattr(function, "__click_params__", [])
        function.__click_params__ = [*added, *(own[name] for name in reversed(names))]  # type: ignore[attr-defined]
        return function

    return decorate


as_eval_has = partial(as_has, eval_command)


FORMATS = ("table", "tsv", "csv", "json")


def printed(*tables: str) -> Callable[[Decorated], Decorated]:
    """The options of the output. tables: the names of those that the study has."""
    endings = ", ".join(WRITERS[name].ending for name in FORMATS)
    return together(
        click.option(
            "-f",
            "--format",
            "format_",
            type=click.Choice(tuple(FORMATS)),
            help="Default: table on a terminal, tsv elsewhere.",
        ),
        table_option(tables),
        digits_option(),
        output_option(f"Write to this file, atomically. Its ending sets the format: {endings}."),
    )


def metrics_option(default: str) -> Callable[[Decorated], Decorated]:
    return metric_option(f"One or several metrics; 'gradeval metrics' lists them. Default: {default}.")


def count_option(
    name: str, default: int, text: str, low: int = 1, high: int = _MOST
) -> Callable[[Decorated], Decorated]:
    return click.option(
        name, type=Integer(low, high), default=default, show_default=True, metavar="N", help=text
    )


seed_option = partial(count_option, "--seed", 1, low=0, high=2**63 - 1)


class Numbers(click.ParamType):  # type: ignore[type-arg]
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


def integer(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise ValueError(text)
    return int(text)


def example(*examples: str) -> str:
    return _SEPARATOR + "\n".join(f"  {example}" for example in examples)


def check_apart(names: Iterable[str], why: str) -> None:
    """Raise UsageError where one of these options is given."""
    from click.core import ParameterSource

    context = click.get_current_context()
    for param in context.command.params:
        if param.name in names and context.get_parameter_source(param.name) is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"{max(param.opts, key=len)} {why}.")


def run_study(
    run: Callable[[Progress, dict[str, Any]], Study],
    given: dict[str, Any],
    runs: Sequence[str] | None = None,
) -> int:
    """Run a study, and print it. given: its options, and those that all studies have. runs: None where it needs
    none.
    """
    format_, table, digits = (given.pop(name) for name in ("format_", "table", "digits"))
    output, quiet, strict = (given.pop(name, None) for name in ("output", "quiet", "strict"))
    allow = given.pop("allow", ())
    if runs is not None:
        check_runs(runs, given["features"])
    file = output_file(output, input_files())
    destination = Destination.of(file, format_, FORMATS, table=table)

    from gradeval.render.progress import Progress

    out.treat_warnings(quiet, strict)
    if "jobs" in given:
        given["jobs"] = given["jobs"] or 0
    with Progress(enabled=False if quiet else None) as progress:
        study = run(progress, given)
    is_wrong = any(notice.kind not in allow for notice in study.notices if not notice.informational)
    warnings, notes = study.messages(informational=False), study.messages(informational=True)
    if not out.passes_with(warnings, notes, is_wrong, quiet, strict):
        return 2
    destination.write(study.render(destination.format, table=table, digits=digits, **destination.style))
    return 0

"""A report as one page of HTML, which needs nothing else.

__init__     the page: what its template is given
tables       the tables that are there without JavaScript
data         what the script draws explanations and charts from
page/        the template, the style, and the parts of the script
"""

from __future__ import annotations

from base64 import b64encode
from functools import partial
from hashlib import sha256
from importlib import resources
from typing import TYPE_CHECKING, Any

from gradeval.errors import GradevalError, visible
from gradeval.notices import lines
from gradeval.render import Digits, checked_digits

if TYPE_CHECKING:
    from gradeval.commands.report.result import Report

TITLE = "Ranking evaluation"
# parts of one script, in order
SCRIPTS = ("numbers.js", "queries.js", "chart.js", "explanations.js", "start.js")


def check_installed() -> None:
    """Raise GradevalError where the library for templates is missing."""
    try:
        import jinja2  # noqa: F401
    except ImportError:
        hint = "Install it with pip install 'gradeval[report]'"
        raise GradevalError(f"jinja2 is not installed, and reports require it. {hint}") from None


def render(report: Report, *, digits: Digits = 4) -> str:
    """The page. digits: decimals, or 'full' for the shortest representation that round-trips."""
    check_installed()
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    from gradeval.commands.report import tables
    from gradeval.commands.report.data import compressed, plain

    digits = checked_digits(digits)
    style, script = _file("page.css"), "\n".join(map(_file, SCRIPTS))
    environment = Environment(
        loader=PackageLoader(__name__, "page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=_shown,
    )
    values = report.values
    text: str = environment.get_template("page.html").render(
        title=visible(report.title) or TITLE,
        style=Markup(style),
        script=Markup(script),
        policy=_policy(style, script),
        report=report,
        subtitle=tables.subtitle(report),
        marked=partial(tables.marked, report),
        plot_width=tables.PLOT_WIDTH,
        coverage_legend=tables.COVERAGE,
        runs=[visible(run) for run in values.runs],
        metrics=[visible(column.display) for column in values.metrics],
        summary=tables.summary(report, digits),
        legend=tables.legend(report, digits),
        coverage=tables.coverage(report, digits),
        queries=tables.queries(report, digits),
        notices=list(lines(report.notices, len(values.runs))),
        made=tables.made(report),
        inputs=tables.inputs(report),
        data=Markup(plain(report, digits)),
        explanations=compressed(report, digits),
    )
    return text


def _file(name: str) -> str:
    return resources.files(__name__).joinpath("page").joinpath(name).read_text("utf-8")


def _policy(style: str, script: str) -> str:
    """What the browser lets the page do: run this script and use this style, and load nothing."""
    hashes = [b64encode(sha256(text.encode()).digest()).decode() for text in (script, style)]
    rules = (
        "default-src 'none'",
        f"script-src 'sha256-{hashes[0]}'",
        f"style-src 'sha256-{hashes[1]}'",
        "base-uri 'none'",
        "form-action 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
    return "; ".join(rules)


def _shown(value: Any) -> Any:
    """Text with escapes for bytes that were no UTF-8, since a page is UTF-8."""
    if isinstance(value, str) and not value.isprintable():
        return type(value)(value.encode("utf-8", "backslashreplace").decode())
    return value

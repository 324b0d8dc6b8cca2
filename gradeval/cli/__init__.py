"""The command line: options in, exit code out."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import click

from gradeval import __version__
from gradeval.cli.eval import eval_command
from gradeval.cli.metrics import metrics_command
from gradeval.errors import GradevalError, InputError, InputErrors

EPILOG = """\b
Examples:
  gradeval qrels.txt bm25.run                     the default metrics
  gradeval qrels.txt bm25.run dense.run           several runs, best values in bold
  gradeval -m 'nDCG@5,10 P(rel=2)@5' -q q.txt r.run
  gradeval test.letor model.scores                a LETOR file and its scores
  gradeval test.letor --feature 1-5,9             its features as runs
  zcat r.run.gz | gradeval q.txt - -f json        machine readable, from a pipe
  gradeval metrics nDCG                           what a metric means and takes
\b
Exit codes: 0 done, 1 a gate that was asked for did not hold, 2 usage or input was wrong.
"""


class _EvalByDefault(click.Group):
    """A group in which `gradeval QRELS RUN` means `gradeval eval QRELS RUN`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        own = {option for param in self.get_params(ctx) for option in param.opts}
        if args and args[0] not in self.commands and args[0] not in own:
            args = ["eval", *args]
        return super().parse_args(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows = [row for param in eval_command.params if (row := param.get_help_record(ctx))]
        with formatter.section("Options of eval"):
            formatter.write_dl(rows)
        super().format_options(ctx, formatter)


@click.group(
    cls=_EvalByDefault,
    epilog=EPILOG,
    subcommand_metavar="[eval] QRELS RUN... | COMMAND",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="gradeval")
def app() -> None:
    """Evaluate rankings against relevance judgments.

    QRELS and RUN are TREC or LETOR files, packed or not; '-' is standard input.
    """


app.add_command(eval_command)
app.add_command(metrics_command)


def main(args: Sequence[str] | None = None) -> None:
    """Run the command line and exit with its code."""
    sys.exit(run(args))


def run(args: Sequence[str] | None = None) -> int:
    """Run the command line; the one place where errors become text."""
    try:
        code = app.main(args, prog_name="gradeval", standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        error.show()
        return 2
    except (InputError, InputErrors) as error:
        click.echo(str(error), err=True)
        return 2
    except GradevalError as error:
        click.echo(f"gradeval: {error}", err=True)
        return 2
    except (KeyboardInterrupt, click.Abort):
        return 130
    except BrokenPipeError:
        # who reads us has seen enough; what Python still holds must not fail at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        click.echo(f"gradeval: the output cannot be written ({error.strerror or error})", err=True)
        return 2
    return code if isinstance(code, int) else 0

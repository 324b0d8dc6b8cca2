"""The command line: options in, exit code out."""

from __future__ import annotations

import _signal as signal  # type: ignore[import-not-found]  # the module signal takes 2 ms, as in __main__
import atexit
import os
import re
import sys
import warnings
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, NoReturn

import click

from gradeval import process
from gradeval.cli.job import echo_error, instead_of_files, lines_of, show_warning
from gradeval.cli.options import CommandGroup, nearest_name, version_option
from gradeval.errors import GradevalError
from gradeval.file_formats import with_ending

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

# name -> (its module, imported when it is used; its usage in the help of `gradeval`, '' if left out there)
COMMANDS = {
    "eval": ("gradeval.commands.eval", ""),
    "compare": ("gradeval.commands.compare.command", "[OPTIONS] QRELS RUN RUN..."),
    "explain": ("gradeval.commands.explain.command", "[OPTIONS] QRELS RUN"),
    "estimate": ("gradeval.commands.estimate.command", "[OPTIONS] QRELS RUN... --model-qrels FILE"),
    "diff": ("gradeval.commands.diff.command", "[OPTIONS] OLD NEW..."),
    "fuse": ("gradeval.commands.fuse.command", "[OPTIONS] RUN RUN... [-o OUT]"),
    "gate": ("gradeval.commands.gate.command", "[OPTIONS] QRELS RUN"),
    "batch": ("gradeval.commands.batch.command", "[OPTIONS] MANIFEST"),
    "guide": ("gradeval.commands.guide", "[TOPIC]"),
    "metrics": ("gradeval.commands.guide", "[NAME]..."),
    "pool": ("gradeval.commands.pool.command", "[OPTIONS] [QRELS] RUN..."),
    "plot": ("gradeval.commands.plot.command", "PICTURE [OPTIONS]..."),
    "report": ("gradeval.commands.report.command", "[OPTIONS] QRELS RUN..."),
    "spark": ("gradeval.spark.command", "[OPTIONS] QRELS RUN..."),
    "study": ("gradeval.commands.study.command", "STUDY [OPTIONS]..."),
    "validate": ("gradeval.commands.files.command", "[OPTIONS] [QRELS] [RUN]..."),
    "convert": ("gradeval.commands.files.command", "[OPTIONS] IN OUT"),
    "trec_eval": ("gradeval.commands.other_tools", ""),
    "ir_measures": ("gradeval.commands.other_tools", ""),
}
EPILOG = """\b
Examples:
  gradeval qrels.txt bm25.run                     the default metrics
  gradeval qrels.txt bm25.run dense.run           several runs, the best values in bold
  gradeval -m 'nDCG@5,10 P(rel=2)@5' -q q.txt r.run
                                                  selected metrics, for each query too
  gradeval test.letor model.scores                a LETOR file and scores
  gradeval test.letor --feature 1-5,9             its features as runs
  zcat r.run.gz | gradeval q.txt - -f json        JSON, from a pipe
  gradeval compare qrels.txt bm25.run dense.run   is the second run better than the first
  gradeval explain qrels.txt bm25.run --worst 1   the query with the lowest nDCG@10, and why
  gradeval plot curve qrels.txt bm25.run          nDCG by cutoff, drawn in the terminal
  gradeval report qrels.txt bm25.run dense.run -o report.html
                                                  a page of HTML about both runs
  gradeval gate qrels.txt bm25.run --require 'AP >= 0.2'
                                                  exit code 1 if it is lower
  gradeval batch batch.toml                       several systems on several collections
  gradeval pool qrels.txt bm25.run dense.run      the documents to judge next
  gradeval diff bm25.run dense.run                what changed between rankings
  gradeval fuse bm25.run dense.run -o fused.run   one run from both
  gradeval metrics                                all metrics, one per line
  gradeval metrics nDCG                           the description of a metric
  gradeval guide                                  the user guide
  gradeval validate qrels.txt bm25.run            all that is wrong with files
  gradeval convert bm25.run - --to json           another format

\b
To read a file that has the name of a command, give its path: gradeval ./metrics my.run
Exit codes: 0 success, 1 a check of a gate did not hold, 2 wrong usage or input, 3 warnings
with --fail-on-warning.
"""
INTRODUCTION = """\
gradeval evaluates rankings against relevance judgments, as trec_eval does.

  gradeval qrels.txt bm25.run                     the default metrics
  gradeval qrels.txt bm25.run dense.run -m basic  several, by common metrics
  gradeval compare qrels.txt bm25.run dense.run   is the second better

More:
  gradeval -h           the most important options
  gradeval --help       all options and commands, with examples
  gradeval COMMAND -h   compare, explain, gate, batch, plot, report and others
  gradeval metrics      all metrics
  gradeval guide        the user guide
"""
INTERRUPTED: int = 128 + signal.SIGINT


def _command(name: str) -> click.Command:
    command: click.Command = getattr(import_module(COMMANDS[name][0]), f"{name}_command")
    return command


def _refuse_unknown(word: str) -> None:
    """Raise UsageError for a word that can only be a command, or that is nearly one."""
    near = nearest_name(word, [*COMMANDS, "help", "version"])
    if not (near or re.fullmatch(r"[A-Za-z]{1,30}(@\d+)?", word)):
        return
    from gradeval.registry.spec import is_metric

    if is_metric(word):
        typed = f"gradeval QRELS RUN -m {word}, and 'gradeval metrics {word}' describes it"
        raise click.UsageError(f"{word} is a metric, not a file or command: {typed}.")
    if near or (len(word) > 1 and "@" not in word):
        suggestion = f" Did you mean '{near}'?" if near else f" {with_ending(word)}".rstrip()
        raise click.UsageError(f"{word}: no such command or file.{suggestion}")


class _EvalByDefault(CommandGroup):
    """A group in which `gradeval QRELS RUN` means `gradeval eval QRELS RUN`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return _command(cmd_name) if cmd_name in COMMANDS else None

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta["gradeval.args"] = list(args)
        if not args and not ctx.resilient_parsing:
            click.echo(INTRODUCTION, nl=False, err=True)
            ctx.exit(2)
        return super().parse_args(ctx, self._with_command(ctx, args))

    def _with_command(self, ctx: click.Context, args: list[str]) -> list[str]:
        """The arguments, of which the first is a command or an option of the group. Raises UsageError."""
        options = {option for param in self.get_params(ctx) for option in param.opts}
        if not args or args[0] in COMMANDS or args[0] in options:
            return args
        if ctx.resilient_parsing and args == ["help"]:
            return []
        if not (ctx.resilient_parsing or args[0].startswith("-") or os.path.lexists(args[0])):
            if args[0] in ("help", "version"):  # as of other programs
                return [*args[1:2], "--help"] if args[0] == "help" else ["--version"]
            _refuse_unknown(args[0])
        return ["eval", *args]

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write_usage("gradeval", "[OPTIONS] QRELS RUN...")
        for name, (_, usage) in COMMANDS.items():
            if usage:
                formatter.write_usage("gradeval", f"{name} {usage}", prefix="       ")

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        _command("eval").format_options(ctx, formatter)
        with formatter.section("About"):
            formatter.write_dl([row for param in self.params if (row := param.get_help_record(ctx))])
        self.format_commands(ctx, formatter)

    def brief_help(self, ctx: click.Context) -> str:
        """That of eval, and the names of the commands."""
        from gradeval.registry.catalogue import hanging

        text = _command("eval").brief_help(ctx)  # type: ignore[attr-defined]
        commands = f"Commands: {', '.join(self.list_commands(ctx))}."
        return f"{text}\n{hanging(commands, 2, ctx.make_formatter().width)}"

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Completions of the first word: options of the group and of eval, files, commands."""
        from click.shell_completion import CompletionItem

        is_help = ctx.meta["gradeval.args"] == ["help"]
        items = super().shell_complete(ctx, incomplete) if incomplete or is_help else []
        if is_help:
            return items
        if not incomplete.startswith("-"):
            return [CompletionItem(incomplete, type="file"), *items]
        of_eval = _command("eval").shell_complete(ctx, incomplete)
        return list({item.value: item for item in (*of_eval, *items)}.values())


@click.group(
    cls=_EvalByDefault,
    epilog=EPILOG,
    context_settings={"help_option_names": ["--help"], "max_content_width": 100},
)
@version_option("--version")
def app() -> None:
    """Evaluate rankings against relevance judgments.

    QRELS and each RUN are files of TREC, LETOR, BEIR, MS MARCO, MTEB, CSV, TSV, JSON, Parquet or Arrow, plain
    or compressed; a RUN may be a directory or a pattern of these too. '-' is standard input. NAME=RUN labels a
    run.
    """


def main(args: Sequence[str] | None = None) -> None:
    """Run the command line and exit with its code."""
    process.keep_freed()
    process.may_fork = True
    warnings.showwarning = show_warning  # type: ignore[assignment]
    # prints nothing, and allocates nothing where a thread could not start for lack of memory
    sys.unraisablehook = bool
    code = run(args)
    if code == INTERRUPTED:
        # end by the signal, so that a shell's loop ends too, without waiting for a thread's read
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    end(code)


def end(code: int) -> NoReturn:
    """End the process with this code, without taking modules and arrays apart: 17 ms of 107 for a small job."""
    atexit._run_exitfuncs()  # those of plugins, logging and coverage
    with suppress(AttributeError, OSError, ValueError):  # None, a reader that is gone, or closed
        sys.stdout.flush()
    os._exit(code)


def _of_system(error: OSError | MemoryError | ImportError) -> str:
    """What to say of a lack of memory, which a library that is loaded late may need too, or of files."""
    if isinstance(error, OSError):
        return f"gradeval: {error.filename or 'standard output'}: {error.strerror or error}"
    if isinstance(error, ImportError) and "failed to map segment" not in str(error):
        raise error
    return "gradeval: out of memory"


def run(args: Sequence[str] | None = None) -> int:
    """Run the command line; the one place where errors become text."""
    try:
        if "_GRADEVAL_COMPLETE" in os.environ:
            from gradeval.cli.completion import use

            use()
        code = app.main(args, prog_name="gradeval", standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except click.UsageError as error:
        lines = [_usage(error)]
    except GradevalError as error:
        lines = lines_of(error)
    except (KeyboardInterrupt, click.Abort):
        return INTERRUPTED
    except (BrokenPipeError, SystemExit):  # click exits if the pipe it writes to is closed
        return 0  # the consumer closed the pipe
    except (OSError, MemoryError, ImportError) as error:
        lines = [_of_system(error)]
    for line in lines:
        echo_error(line)
    return 2


def _usage(error: click.UsageError) -> str:
    if isinstance(error, click.NoSuchOption):
        error = _no_such_option(error)
    path = error.ctx.command_path.split() if error.ctx is not None else []
    command = "gradeval" if path[1:2] in ([], ["eval"]) else " ".join(path)
    hint = "" if type(error) is click.BadParameter else f" Try '{command} --help'."
    message = error.format_message()
    if error.ctx and (extra := re.fullmatch(r"Got unexpected extra arguments? \((.*)\)", message)):
        message = instead_of_files([extra[1]], error.ctx) or message
    if wrong := re.search("'([^']*)' is not one of (.*).$", message):
        near = nearest_name(wrong[1], re.findall("'([^']*)'", wrong[2]))
        message += f" Did you mean '{near}'?" if near else ""
    stop = "" if message.endswith((".", "?")) else "."  # click leaves it out here and there
    return f"gradeval: {message}{stop}{hint}"


def _no_such_option(error: click.NoSuchOption) -> click.UsageError:
    """The error with the option that is meant: click suggests some that are no typo of it, and none for -q."""
    from difflib import get_close_matches

    from gradeval.registry.spec import nearest

    params = error.ctx.command.params if error.ctx else ()
    options = {name.lstrip("-"): name for param in params for name in param.opts if name.startswith("--")}
    typed = error.option_name.lstrip("-")  # dashes are no letters that match
    begun = [name for name in options if len(typed) == 1 and name.startswith(typed)]
    close = begun or get_close_matches(typed, options, 1, 0.8)
    near = nearest(typed, options) or next(iter(close), None)
    meant = f" Did you mean '{options[near]}'?" if near else ""
    return click.UsageError(f"No such option '{error.option_name}'.{meant}", error.ctx)

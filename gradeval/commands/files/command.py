"""gradeval validate and gradeval convert: what files are, what is wrong with them, and other formats."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from gradeval.cli import options as cli
from gradeval.cli.job import Job, echo_error, expand_runs, input_files, on_terminal, stream, with_job
from gradeval.file_formats import FORMATS, WRITTEN_FORMATS
from gradeval.notices import lines, many
from gradeval.options import OF_FILES, Options

if TYPE_CHECKING:
    from gradeval.commands.files.convert import Converted

VALIDATE_EPILOG = """\b
Examples:
  gradeval validate qrels.txt bm25.run      both, and whether they go together
  gradeval validate qrels.txt runs/*.run    several runs
  gradeval validate my.run.gz               one file: qrels or a run by its content
  gradeval validate --as run scores.json    where the content may be either
  zcat r.run.gz | gradeval validate qrels.txt - -f json
                                            JSON, from a pipe
  gradeval validate --strict q.txt r.run && gradeval q.txt r.run
                                            evaluate only without errors and warnings
  gradeval validate --fail-on-warning --allow duplicates q.txt
                                            duplicate judgments are accepted

Exit codes: 0 no errors, 2 errors, or with --strict warnings; with --fail-on-warning
3 for warnings.
"""
_ENDINGS = " ".join(ending for row in FORMATS.values() for ending in row.endings[:3])
_FOR_QRELS = ", ".join(name for name in WRITTEN_FORMATS if FORMATS[name].writes == ("qrels",))
CONVERT_EPILOG = f"""\b
Examples:
  gradeval convert bm25.run bm25.json          for pytrec_eval, ranx, BEIR
  gradeval convert qrels.tsv qrels.txt --to trec
  gradeval convert bm25.run bm25.tsv --to msmarco
                                               query, document and rank
  gradeval convert run.json run.trec.gz --as run --tag bm25
                                               compressed by the ending
  gradeval convert --top 100 big.run.gz - --to trec | gradeval qrels.txt -
                                               the first 100 of each query
  gradeval convert test.letor f25.run --feature 25
                                               a feature as a run
  gradeval convert scores.txt model.run --qrels test.letor
                                               scores of its lines, RankLib's too
  gradeval convert ann.qrels bob.qrels all.qrels --merge mean
                                               one grade of several judges

\b
Formats by the ending of OUT, before .gz, .bz2, .xz or .zst:
{_ENDINGS}
"""
REPORTS = ("table", "json")
_checks = cli.section("Checks")
_target = cli.section("Output")
_rows = cli.section("Documents")
_role = click.Choice(("qrels", "run"))


@cli.sectioned_command("validate", "Check files without scoring them.", VALIDATE_EPILOG)
@click.argument("files", metavar="[QRELS] [RUN]...", type=cli.File(), nargs=-1, callback=expand_runs)
@_checks("--as role", "What all FILES are. Default: by the content.", type=_role)
@_checks(
    "--max-errors",
    "How many errors, and how many warnings, are listed for each file; all are counted. Default: 20, with "
    "--verbose or -f json 10000.",
    "N|all",
    type=cli.Integer(0, 10**9, all=10**9),
)
@cli.row_option(Options, "rel", section="Checks")
@cli.row_option(Options, "query_ids", section="Input", help=OF_FILES["query_ids"].about)
@cli.output("-f --format format_", "Format.", type=click.Choice(REPORTS), default="table", show_default=True)
@cli.output_option("Write to this file, atomically.")
@cli.input_options
@cli.row_option(Options, "jobs")
@cli.other("--quiet", "Do not show the progress bar.")
@cli.other("--verbose", "Describe each file, however many there are, and list its errors and warnings.")
@cli.other("--strict", "Treat warnings as errors: exit with code 2.")
@cli.allow_option
@cli.fail_on_warning_option
@with_job(REPORTS, otherwise="table")
def validate_command(
    job: Job, files: tuple[str, ...], role: str | None, max_errors: int | None, **options: Any
) -> int:
    """Check QRELS and RUNs without scoring them.

    The first errors and warnings with their lines, and how many there are of each kind; what each file is and
    why it was taken for that; the queries, judgments and grades of qrels; of runs, the documents per query,
    tied scores, ranks against scores, duplicates and what of them is judged. Of more than five files a table
    comes first, and then only the first files with errors.
    """
    if not files:
        raise click.UsageError("Missing argument '[QRELS] [RUN]...': no files given.")
    job.open()
    with job.running():
        from gradeval.commands.files.validate import DEFAULT_MAX_ERRORS, Checks

        roles = [role or ("run" if index else None) for index in range(len(files))]
        limit = DEFAULT_MAX_ERRORS if max_errors is None else max_errors
        report = Checks(Options(**options), limit, job.watch).validation(files, roles)
    is_accepted = job.accepts(report.notices)
    is_wrong = bool(report.errors) or not is_accepted
    shown: dict[str, Any] = {"verbose": job.verbose, "listed": max_errors}
    if job.strict and is_wrong:  # nothing on standard output
        for line in report.render(**shown).splitlines():
            echo_error(line)
    else:
        job.print(report, **shown)
    if not is_accepted:
        job.refuse()
    return 2 if is_wrong else 0


@cli.sectioned_command("convert", "Convert qrels and runs to other formats.", CONVERT_EPILOG)
@click.argument("sources", metavar="IN...", type=cli.File(), nargs=-1)
@click.argument("target", metavar="OUT", type=cli.OutputPath(), required=False)
@_target(
    "--to",
    f"Format of OUT; {_FOR_QRELS} is for qrels. Default: by its ending.",
    type=click.Choice(WRITTEN_FORMATS),
)
@_target("--tag", "The run tag. Default: that of IN, or gradeval.", "NAME")
@_rows("--as role", "What IN is. Default: by its content.", type=_role)
@_rows("--sort", "Sort the documents of each query by score or grade, highest first.")
@_rows("--top", "Keep the N highest scores of each query.", type=cli.Integer(1, 10**9))
@_rows(
    "--ties",
    "Order of tied scores for ranks, --sort and --top. Default: as in an evaluation.",
    type=click.Choice(("trec", "input")),
)
@cli.inputs("--qrels", "The LETOR file whose lines IN has scores of.", type=cli.File())
@cli.row_option(Options, "query_ids", section="Input", help=OF_FILES["query_ids"].about)
@cli.input_options
@cli.row_option(Options, "jobs")
@cli.quiet_option
@with_job()
def convert_command(
    job: Job, sources: tuple[str, ...], target: str | None, to: str | None, qrels: str | None, **options: Any
) -> int:
    """Convert the qrels or the run IN to another format, and write OUT atomically.

    Ids and numbers are kept: each number is written as the shortest text that reads back equal. All of IN is
    checked first as for an evaluation; what the format of OUT cannot hold is an error, and OUT is not written.
    Several qrels, of several judges, become one with --merge. '-' is standard input or output.
    """
    from dataclasses import fields

    from gradeval.commands.files.convert import Conversion, convert_file
    from gradeval.formats.format import format_by_ending, writer_of
    from gradeval.formats.sources import Source

    if not sources or target is None:  # of one word alone, OUT is missing
        raise click.UsageError(f"Missing argument '{'OUT' if target else 'IN...'}'.")
    if to is None and target == "-":
        raise click.UsageError("standard output has no ending: choose a format with --to.")
    settings = {field.name: options.pop(field.name) for field in fields(Conversion) if field.name in options}
    conversion = Conversion(to or format_by_ending(target), **settings)
    if target == "-" and on_terminal() and not writer_of(conversion.to).is_compressible:
        raise click.UsageError(f"a {conversion.to} file is not for a terminal: name OUT.")
    file = job.output_file(target, input_files(), "OUT")
    chosen = Options(**options)
    opened = [Source(source, job.watch) for source in sources]
    letor = None if qrels is None else Source(qrels, job.watch)
    with job.running(), stream(file) as sink:
        name = "" if file is None else target
        converted = convert_file(opened, sink, name, conversion, chosen, qrels=letor)
    if not job.quiet:
        names = " + ".join(source.name for source in opened)
        job.report(_remarks(converted, names, conversion.to, chosen))
    return 0


def _remarks(converted: Converted, name: str, to: str, options: Options) -> Iterator[str]:
    """The notices, what was left out, and what other tools do not read."""
    for notice in converted.notices:
        yield from (f"{'note' if notice.informational else 'warning'}: {line}" for line in lines([notice]))
    if count := converted.duplicates:
        duplicates = many(count, "duplicate judgment", "duplicate judgments")
        yield f"warning: {name}: {duplicates} with the same grade, written once"
    if count := converted.unlabelled:
        yield f"note: {name}: {many(count, 'judgment has', 'judgments have')} no label, left out"
    if count := converted.excluded:
        yield f"note: {name}: {many(count, 'row', 'rows')} of excluded documents left out"
    if count := converted.subtopics:
        subtopics = many(count, "judgment of a further subtopic", "judgments of further subtopics")
        yield f"note: {name}: {subtopics}; the highest grade of a document is written"
    if count := converted.collapsed:
        noun = "duplicate" if options.max_passage is None else "passage"
        explanation = "each document is written once, with its best score"
        yield f"note: {name}: {many(count, noun, f'{noun}s')} collapsed: {explanation}"
    if to == "trec" and (count := converted.real):
        grades = many(count, "grade is no integer", "grades are no integers")
        yield f"warning: {name}: {grades}; trec_eval reads integers only"

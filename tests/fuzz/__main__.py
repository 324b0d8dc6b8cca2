"""`make fuzz`, or `python -m tests.fuzz`: attacks gradeval with random cases for some minutes.

A case follows from the seed and its number alone: one that fails can be run again, and its files are kept.
Only when a signal or a pause hits a process is left to chance.
"""

import argparse
import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from .attack import Done, Tally, attack_of, cases, run

ATTACKS = {
    "numbers": "text fields against float()",
    "template": "the quick scanner of runs against the general one",
    "options": "metrics and options against a slow pipeline",
    "commands": "comparisons, fusions, pools, gates and histories with any options",
    "damage": "damaged files of every format",
    "saved": "edited saved results",
    "arrow": "Arrow buffers damaged",
    "lists": "JSON lists against JSON Lines of the same rows",
    "borders": "blocks of any size",
    "marks": "byte order marks inside files",
    "growing": "files that grow behind a read",
    "keys": "colliding keys of ids",
    "arguments": "any words on the command line",
    "outputs": "outputs onto every kind of input",
    "streams": "processes with pipes, full outputs and signals",
    "racing": "files that another process writes",
    "resources": "many threads in little memory",
    "fork": "children of a process with threads",
}
KEPT = Path(".fuzz")  # where the files of failing cases stay
SHOWN = 40  # lines of a failure


def show(name: str, seed: int, failure: Done, base: Path) -> None:
    """Print a failure, and keep the files of its case, with what is wrong beside them."""
    again = f"python -m tests.fuzz --only {name} --seed {seed} --case {failure.number}"
    folder = KEPT / f"{name}-{seed}-{failure.number}"
    shutil.rmtree(folder, ignore_errors=True)
    if (base / str(failure.number)).exists():  # a process may die before its first case
        shutil.copytree(base / str(failure.number), folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "failure.txt").write_text(f"{again}\n\n{failure.failure}\n", errors="replace")
    lines = failure.failure.rstrip().splitlines()
    lines = lines[:SHOWN] + ["…"] * (len(lines) > SHOWN)
    print(f"FAILED: {name}, case {failure.number} of seed {seed}")
    print("\n".join(f"    {line}" for line in lines).encode(errors="backslashreplace").decode())
    print(f"    again: {again}\n    files: {folder}", flush=True)


def attack(name: str, seed: int, jobs: int, seconds: float, case: int | None) -> Tally:
    """Run an attack for so long. case: the one that is run alone."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="gradeval-fuzz-") as folder:
        base, tally = Path(folder), Tally()
        if case is None:
            tally = run(name, seed, jobs, seconds, base)
            unit = attack_of(name).UNIT
            units = "" if unit == "cases" else f", {tally.units:,} {unit}"
            failed = f"; {tally.failed:,} FAILED" if tally.failed else ""
            took = f"{time.monotonic() - began:.0f} s"
            print(f"{name:<10} {tally.cases:,} cases{units} in {took}{failed}", flush=True)
        else:
            [done] = cases(name, seed, [case], 0, base)
            tally.add(done, base)
        for failure in tally.kinds.values():
            show(name, seed, failure, base)
    return tally


def arguments(given: Sequence[str] | None) -> argparse.Namespace:
    def names(text: str) -> list[str]:
        if unknown := [name for name in text.split(",") if name not in ATTACKS]:
            known = ", ".join(ATTACKS)
            raise argparse.ArgumentTypeError(f"unknown attack {', '.join(unknown)}; there are {known}")
        return text.split(",")

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    listed = "\n".join(f"  {name:<10} {what}" for name, what in ATTACKS.items())
    parser = argparse.ArgumentParser(
        prog="python -m tests.fuzz",
        description=f"{__doc__}\nattacks:\n{listed}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--minutes", type=float, default=3, metavar="N", help="all attacks together (3)")
    parser.add_argument("--seed", type=int, metavar="S", help="of the cases (by default another one each time)")
    parser.add_argument("--only", type=names, default=list(ATTACKS), metavar="a,b", help="these attacks")
    parser.add_argument("--case", type=int, metavar="N", help="this case alone, of the one attack")
    parser.add_argument("--jobs", type=int, default=cores, metavar="N", help=f"processes at a time ({cores})")
    options = parser.parse_args(given)
    if options.minutes <= 0 or options.jobs < 1:
        parser.error("--minutes and --jobs must be above 0")
    if options.case is not None and (len(options.only) != 1 or options.seed is None):
        parser.error("--case needs --seed, and one attack in --only")
    return options


def main(given: Sequence[str] | None = None) -> int:
    options = arguments(given)
    seed = random.SystemRandom().randrange(10**6) if options.seed is None else options.seed
    if options.case is None:
        print(f"{options.minutes:g} minutes of seed {seed} in {options.jobs} processes", flush=True)
    seconds = 60 * options.minutes / len(options.only)
    tallies = [attack(name, seed, options.jobs, seconds, options.case) for name in options.only]
    failed = sum(tally.failed for tally in tallies)
    print(f"{sum(tally.cases for tally in tallies) - failed} passed, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())

"""Runs the cases of an attack, many of them in processes of their own.

An attack is a module of this package. UNIT: what its cases count, such as values. make(rng): a case, from the
seed alone: the arguments of check(), which tries it in the current folder, which is empty, and returns how many
units or raises Wrong.
"""

import faulthandler
import itertools
import multiprocessing
import os
import random
import re
import shutil
import signal
import time
import traceback
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from importlib import import_module
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, NamedTuple

from gradeval.notices import EvaluationWarning

PATIENCE = 150  # seconds for a case, after which it hangs
MOST_KINDS = 30  # of failures, after which an attack has shown enough


class Wrong(Exception):
    """A result or a behaviour that is wrong. what: for a person, beginning with a line that names the fault."""


class Done(NamedTuple):
    """A case that was run. units: how many were checked. failure: what is wrong, '' where nothing is."""

    number: int
    units: int
    failure: str


@dataclass
class Tally:
    """Of an attack. kinds: the first failure of each kind."""

    cases: int = 0
    units: int = 0
    failed: int = 0
    kinds: dict[str, Done] = field(default_factory=dict)

    def add(self, done: Done, base: Path) -> None:
        """base: where the folders of failures are; only those of the first of a kind stay."""
        self.cases += 1
        self.units += done.units
        if done.failure:
            self.failed += 1
            if self.kinds.setdefault(kind_of(done.failure), done) is not done:
                shutil.rmtree(base / str(done.number), ignore_errors=True)


def attack_of(name: str) -> Any:
    return import_module(f"{__package__}.{name}")


def rng_of(name: str, seed: int, number: int) -> random.Random:
    """The random numbers of a case: any case can be run again by itself."""
    return random.Random(f"{name} {seed} {number}")


def attempt(name: str, seed: int, number: int, folder: Path) -> Done:
    attack, before = attack_of(name), os.getcwd()
    os.chdir(folder)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # none but those about results may reach a user
            warnings.simplefilter("ignore", EvaluationWarning)
            return Done(number, attack.check(*attack.make(rng_of(name, seed, number))), "")
    except Wrong as wrong:
        return Done(number, 0, str(wrong))
    except Exception:
        return Done(number, 0, traceback.format_exc())
    finally:
        os.chdir(before)


def kind_of(failure: str) -> str:
    """What failures of one fault have in common: where an exception comes from, or what a first line says."""
    if failure.startswith("Traceback"):
        frames = re.findall(r'File ".*?([^/"]+)", line \d+, in (\S+)', failure)
        last = failure.rstrip().rsplit("\n", 1)[-1].split(":")[0]
        return f"{last} in {frames[-1]}"
    first = failure.split("\n", 1)[0]
    return re.sub(r"'[^']*'|\S*\d\S*", "…", first)


def cases(name: str, seed: int, numbers: Iterable[int], seconds: float, base: Path) -> Iterator[Done]:
    """Run one case after another for so long, one at least. A failure's folder is left in `base`."""
    until = time.monotonic() + seconds
    for number in numbers:
        folder = base / str(number)
        folder.mkdir()
        done = attempt(name, seed, number, folder)
        if not done.failure:
            shutil.rmtree(folder, ignore_errors=True)
        yield done
        if time.monotonic() >= until:
            return


def _work(sender: Connection, name: str, seed: int, numbers: Iterable[int], seconds: float, base: Path) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # also where the shell has us ignore it
    try:
        faulthandler.dump_traceback_later(PATIENCE, exit=True)
        for done in cases(name, seed, numbers, seconds, base):
            sender.send(done)
            faulthandler.dump_traceback_later(PATIENCE, exit=True)
    except KeyboardInterrupt:
        pass


def run(name: str, seed: int, jobs: int, seconds: float, base: Path) -> Tally:
    """Attack for so long, with so many processes at a time.

    A process that dies or hangs has failed in its case; another goes on behind it.
    """
    tally = Tally()
    until = time.monotonic() + seconds
    context = multiprocessing.get_context("spawn")
    running: dict[Any, tuple[Any, int]] = {}  # by their pipes: each process, and the case that it runs

    def begin(first: int) -> None:
        """A process that runs every case of this number or `jobs` after it."""
        receiver, sender = context.Pipe(duplex=False)
        numbers, left = itertools.count(first, jobs), until - time.monotonic()
        process = context.Process(target=_work, args=(sender, name, seed, numbers, left, base))
        process.start()
        sender.close()
        running[receiver] = process, first

    for number in range(jobs):
        begin(number)
    try:
        while running and len(tally.kinds) < MOST_KINDS:
            for receiver in wait(list(running)):
                process, number = running[receiver]
                try:
                    done = receiver.recv()
                    running[receiver] = process, done.number + jobs
                except EOFError:
                    process.join()
                    del running[receiver]
                    code = process.exitcode
                    if not code:
                        continue
                    by_signal = code < 0 and f"is ended by {signal.Signals(-code).name}"
                    end = by_signal or f"hangs for {PATIENCE} seconds, or exits"
                    done = Done(number, 0, f"the process {end}")
                    if time.monotonic() < until:
                        begin(number + jobs)
                tally.add(done, base)
    finally:
        for process, _ in running.values():
            process.terminate()
            process.join()
    return tally

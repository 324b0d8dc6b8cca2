"""Runs the cases of an attack in processes of their own, for as long as there is time."""

from __future__ import annotations

import faulthandler
import itertools
import multiprocessing
import shutil
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from importlib import import_module
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, NamedTuple

from .attack import Attack, attempt, kind_of

PATIENCE = 150  # seconds for a case, after which it hangs
MOST_KINDS = 30  # of failures, after which an attack has shown enough


class Done(NamedTuple):
    """A case that was run. units: how many were checked. failure: what is wrong, '' where nothing is."""

    number: int
    units: int
    failure: str


class Found(NamedTuple):
    """A failure: the case, what is wrong, and the folder with its files."""

    number: int
    failure: str
    folder: Path


@dataclass
class Tally:
    """Of an attack. kinds: the first failure of each kind."""

    cases: int = 0
    units: int = 0
    failed: int = 0
    kinds: dict[str, Found] = field(default_factory=dict)

    @property
    def passed(self) -> int:
        return self.cases - self.failed

    def add(self, done: Done, base: Path) -> None:
        """base: where the folders of failures are; only those of the first of a kind stay."""
        self.cases += 1
        self.units += done.units
        if done.failure:
            self.failed += 1
            found = Found(done.number, done.failure, base / str(done.number))
            if self.kinds.setdefault(kind_of(done.failure), found) is not found:
                shutil.rmtree(found.folder, ignore_errors=True)


def attack_of(name: str) -> Attack:
    """The module of this name."""
    module: Attack = import_module(f"{__package__}.{name}")
    return module


def cases(name: str, seed: int, numbers: Iterable[int], seconds: float, base: Path) -> Iterator[Done]:
    """Run one case after another for so long, one at least. A failure's folder is left in `base`."""
    attack = attack_of(name)
    until = time.monotonic() + seconds
    for number in numbers:
        folder = base / str(number)
        folder.mkdir()
        units, failure = attempt(attack, name, seed, number, folder)
        if not failure:
            shutil.rmtree(folder, ignore_errors=True)
        yield Done(number, units, failure)
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


class _Worker:
    """A process that runs every `step`-th case. number: the one that it runs now."""

    def __init__(self, name: str, seed: int, first: int, step: int, seconds: float, base: Path) -> None:
        context = multiprocessing.get_context("spawn")
        self.receiver, sender = context.Pipe(duplex=False)
        self.number, numbers = first, itertools.count(first, step)
        self.process = context.Process(target=_work, args=(sender, name, seed, numbers, seconds, base))
        self.process.start()
        sender.close()


def run(
    name: str,
    seed: int,
    jobs: int,
    seconds: float,
    base: Path,
    watch: Callable[[Tally], object] = lambda tally: None,
) -> Tally:
    """Attack for so long, with so many processes at a time. watch: sees the tally after each case.

    A process that dies or hangs has failed in its case; another goes on behind it.
    """
    tally = Tally()
    until = time.monotonic() + seconds
    workers: dict[Any, _Worker] = {}

    def begin(number: int) -> None:
        worker = _Worker(name, seed, number, jobs, until - time.monotonic(), base)
        workers[worker.receiver] = worker

    for number in range(jobs):
        begin(number)
    try:
        while workers and len(tally.kinds) < MOST_KINDS:
            for receiver in wait(list(workers)):
                worker = workers[receiver]
                try:
                    done = worker.receiver.recv()
                except EOFError:
                    worker.process.join()
                    del workers[receiver]
                    code = worker.process.exitcode
                    if not code:
                        continue
                    done = Done(worker.number, 0, _end_of(code))
                    if time.monotonic() < until:
                        begin(worker.number + jobs)
                worker.number = done.number + jobs
                tally.add(done, base)
                watch(tally)
    finally:
        for worker in workers.values():
            worker.process.terminate()
            worker.process.join()
    return tally


def _end_of(code: int) -> str:
    """What became of a process that has not ended by itself."""
    if code < 0:
        return f"the process is ended by {signal.Signals(-code).name}"
    return f"the process hangs for {PATIENCE} seconds, or exits"


def one(name: str, seed: int, number: int, base: Path) -> Tally:
    """Run a single case, in this process."""
    tally = Tally()
    for done in cases(name, seed, [number], 0, base):
        tally.add(done, base)
    return tally

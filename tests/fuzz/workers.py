"""Runs the cases of an attack in processes of their own, for as long as there is time."""

from __future__ import annotations

import faulthandler
import itertools
import multiprocessing
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib import import_module
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import NamedTuple

from .attack import Attack, attempt, kind_of

PATIENCE = 150  # seconds for a case, after which it hangs
MOST_KINDS = 30  # of failures, after which an attack has shown enough


class Found(NamedTuple):
    """A failure: the case, what is wrong, and the folder with its files, if there still is one."""

    number: int
    failure: str
    folder: Path | None


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

    def add(self, number: int, units: int, failure: str, folder: Path | None) -> None:
        self.cases += 1
        self.units += units
        if failure:
            self.failed += 1
            found = Found(number, failure, folder)
            if self.kinds.setdefault(kind_of(failure), found) is not found and folder:
                shutil.rmtree(folder, ignore_errors=True)


def attack_of(name: str) -> Attack:
    """The module of this name."""
    module: Attack = import_module(f"{__package__}.{name}")
    return module


def cases(
    name: str, seed: int, numbers: Iterator[int], until: float, base: Path
) -> Iterator[tuple[int, int, str]]:
    """Run one case after another until then: (number, units, failure). A failure's folder is left in `base`."""
    attack = attack_of(name)
    for number in numbers:
        if time.monotonic() >= until:
            return
        folder = base / str(number)
        folder.mkdir()
        units, failure = attempt(attack, name, seed, number, folder)
        if not failure:
            shutil.rmtree(folder, ignore_errors=True)
        yield number, units, failure


def _work(sender: Connection, name: str, seed: int, numbers: Iterator[int], until: float, base: Path) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # also where the shell has us ignore it
    try:
        faulthandler.dump_traceback_later(PATIENCE, exit=True)
        for done in cases(name, seed, numbers, until, base):
            sender.send(done)
            faulthandler.dump_traceback_later(PATIENCE, exit=True)
    except KeyboardInterrupt:
        pass


class _Worker:
    """A process that runs every `step`-th case. number: the one that it runs now."""

    def __init__(self, name: str, seed: int, first: int, step: int, until: float, base: Path) -> None:
        context = multiprocessing.get_context("spawn")
        self.receiver, sender = context.Pipe(duplex=False)
        self.number, self.step = first, step
        numbers = itertools.count(first, step)
        self.process = context.Process(target=_work, args=(sender, name, seed, numbers, until, base))
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
    workers = {
        worker.receiver: worker for worker in (_Worker(name, seed, n, jobs, until, base) for n in range(jobs))
    }
    try:
        while workers:
            for receiver in wait(list(workers)):
                worker = workers[receiver]  # type: ignore[index]
                try:
                    number, units, failure = worker.receiver.recv()
                    worker.number = number + jobs
                except EOFError:
                    worker.process.join()
                    del workers[worker.receiver]
                    if not worker.process.exitcode:
                        continue
                    number, units = worker.number, 0
                    failure = f"the process hangs or dies with exit code {worker.process.exitcode}"
                    if time.monotonic() < until:
                        other = _Worker(name, seed, number + jobs, jobs, until, base)
                        workers[other.receiver] = other
                tally.add(number, units, failure, base / str(number) if failure else None)
                watch(tally)
            if len(tally.kinds) >= MOST_KINDS:
                break
    finally:
        for worker in workers.values():
            worker.process.terminate()
            worker.process.join()
    return tally


def one(name: str, seed: int, number: int) -> Tally:
    """Run a single case, in this process."""
    tally = Tally()
    base = Path(tempfile.mkdtemp(prefix="gradeval-fuzz-"))
    for done in cases(name, seed, iter([number]), time.monotonic() + 1e9, base):
        tally.add(*done, base / str(number))
    return tally

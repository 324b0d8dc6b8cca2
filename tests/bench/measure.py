"""Commands as whole processes: wall time, CPU time, peak memory, and what they printed."""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
RSS_UNIT = 1 if sys.platform == "darwin" else 1024


@dataclass(frozen=True)
class Sample:
    """One process. `peak` is its largest resident set, in bytes.

    The kernel keeps the peak of each process, and gradeval and every peer are one process (gradeval has
    threads, no workers), so nothing they use is left out. But a child starts with the peak its parent had
    when it was started: the runner therefore stays small (no numpy; files are made elsewhere), and a peak
    that is not above that of `true`, measured by floor(), may be the runner's.
    """

    wall: float
    user: float
    system: float
    peak: int

    @property
    def cpu(self) -> float:
        return self.user + self.system


class CommandFailedError(Exception):
    """A command did not exit with 0."""


def environment() -> dict[str, str]:
    """A user's: with compiled modules cached, whatever the machine that builds has set."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def measure(command: Sequence[str]) -> tuple[Sample, str]:
    """Run a command in the project's folder: what it took, and its standard output."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        start = time.perf_counter()
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=errors, cwd=ROOT, env=environment()
        )
        try:
            _, status, usage = os.wait4(process.pid, 0)
        except BaseException:
            process.kill()
            raise
        wall = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        errors.seek(0)
        if process.returncode:
            said = errors.read().decode(errors="replace").strip().splitlines()
            raise CommandFailedError(f"exit code {process.returncode}: {said[-1] if said else 'no message'}")
        sample = Sample(wall, usage.ru_utime, usage.ru_stime, usage.ru_maxrss * RSS_UNIT)
        return sample, output.read().decode()


def floor() -> int:
    """The least peak that differs visibly from the runner's own: that of a process which does nothing."""
    return measure(["true"])[0].peak


@dataclass
class Result:
    """All samples of one tool, and all it printed."""

    samples: list[Sample] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    failure: str = ""

    def median(self, name: str) -> float:
        return float(statistics.median(getattr(sample, name) for sample in self.samples))


def in_turn(commands: Mapping[str, Sequence[str]], repeats: Mapping[str, int]) -> dict[str, Result]:
    """Each command once a round, forwards and backwards by turns, so that a drift hits all of them alike.

    A command that fails is not run again.
    """
    results = {name: Result() for name in commands}
    for turn in range(max(repeats.values(), default=0)):
        for name in list(commands)[:: -1 if turn % 2 else 1]:
            result = results[name]
            if turn >= repeats[name] or result.failure:
                continue
            try:
                sample, output = measure(commands[name])
            except (CommandFailedError, OSError) as error:
                result.failure = str(error)
            else:
                result.samples.append(sample)
                result.outputs.append(output)
    return results


def warm(folder: Path) -> int:
    """Read every file once, so that all are in the page cache; their size in bytes."""
    size = 0
    for path in sorted(folder.iterdir()):
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                size += len(block)
    return size

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
    that is not above that of `true` may be the runner's.
    """

    wall: float
    user: float
    system: float
    peak: int

    @property
    def cpu(self) -> float:
        return self.user + self.system


@dataclass
class Result:
    """All samples of one tool, and all it printed; failure: why there are no more."""

    samples: list[Sample] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    failure: str = ""

    def of(self, name: str) -> list[float]:
        return [getattr(sample, name) for sample in self.samples]

    def median(self, name: str) -> float:
        return float(statistics.median(self.of(name)))

    def measure(self, command: Sequence[str]) -> None:
        """Run a command in the project's folder, as a user does: with compiled modules cached."""
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
            files = {"stdin": subprocess.DEVNULL, "stdout": output, "stderr": errors}
            start = time.perf_counter()
            try:
                process = subprocess.Popen(command, **files, cwd=ROOT, env=environment)
            except OSError as error:
                self.failure = str(error)
                return
            try:
                _, status, usage = os.wait4(process.pid, 0)
            except BaseException:
                process.kill()
                raise
            wall = time.perf_counter() - start
            output.seek(0)
            errors.seek(0)
            process.returncode = os.waitstatus_to_exitcode(status)
            if process.returncode:
                said = errors.read().decode(errors="replace").strip().splitlines() or ["no message"]
                self.failure = f"exit code {process.returncode}: {said[-1]}"
                return
            self.samples.append(Sample(wall, usage.ru_utime, usage.ru_stime, usage.ru_maxrss * RSS_UNIT))
            self.outputs.append(output.read().decode())


def in_turn(commands: Mapping[str, Sequence[str]], repeats: Mapping[str, int]) -> dict[str, Result]:
    """Each command once a round, forwards and backwards by turns, so that a drift hits all of them alike.

    A command that fails is not run again.
    """
    results = {name: Result() for name in commands}
    for turn in range(max(repeats.values(), default=0)):
        for name in list(commands)[:: -1 if turn % 2 else 1]:
            if turn < repeats[name] and not results[name].failure:
                results[name].measure(commands[name])
    return results

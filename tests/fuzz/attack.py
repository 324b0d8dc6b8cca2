"""What an attack is, and how one of its cases is run."""

from __future__ import annotations

import os
import random
import re
import traceback
import warnings
from pathlib import Path
from typing import Any, NamedTuple, Protocol


class Attack(Protocol):
    """A module of this package. UNIT: what its cases count, such as values."""

    UNIT: str

    def make(self, rng: random.Random) -> Any:
        """A case, from the seed alone."""

    def check(self, case: Any) -> int:
        """Try the case in the current folder, which is empty. Returns how many units; raises Wrong."""


class Wrong(Exception):
    """A result or a behaviour that is wrong. what: for a person, beginning with a line that names the fault."""


class Outcome(NamedTuple):
    """Of a case: how many units were checked, and what is wrong, '' where nothing is."""

    units: int
    failure: str


def rng_of(name: str, seed: int, number: int) -> random.Random:
    """The random numbers of a case: any case can be run again by itself."""
    return random.Random(f"{name} {seed} {number}")


def attempt(attack: Attack, name: str, seed: int, number: int, folder: Path) -> Outcome:
    """Run a case in this folder."""
    before = os.getcwd()
    os.chdir(folder)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # none may reach a user
            return Outcome(attack.check(attack.make(rng_of(name, seed, number))), "")
    except Wrong as wrong:
        return Outcome(0, str(wrong))
    except Exception:
        return Outcome(0, traceback.format_exc())
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

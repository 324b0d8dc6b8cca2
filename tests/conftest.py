"""How many random examples a property is tried on; --hypothesis-profile chooses. A worker has a processor.

Compiled files are kept in .venv/pycache where PYTHONDONTWRITEBYTECODE is set, as by make: compiling takes 10 s.
Temporary files, of which tests write thousands, are kept in memory where Linux has room and TMPDIR is not set.
"""

import gc
import os
import shutil
import sys
import tempfile
from pathlib import Path

if os.environ.pop("PYTHONDONTWRITEBYTECODE", None) and not sys.pycache_prefix:
    sys.dont_write_bytecode = False
    sys.pycache_prefix = str(Path(sys.prefix, "pycache"))
    os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix

import pytest
from hypothesis import HealthCheck, Phase, settings  # which pytest compiles

gc.set_threshold(20_000)  # garbage is looked for a few hundred times, not thousands
pytest.register_assert_rewrite("helpers")
MEMORY = "/dev/shm"
if (
    not {"TMPDIR", "TEMP", "TMP"} & os.environ.keys()
    and os.access(MEMORY, os.W_OK | os.X_OK)
    and shutil.disk_usage(MEMORY).free > 1 << 30
    and not os.statvfs(MEMORY).f_flag & os.ST_NOEXEC
):
    os.environ["TMPDIR"] = tempfile.tempdir = MEMORY  # of processes that tests start, and of this one

COMMON = {
    "deadline": None,  # a busy machine is no reason to fail
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.filter_too_much],
    "phases": [phase for phase in Phase if phase is not Phase.explain],  # it takes longer than the rest
}
settings.register_profile("quick", max_examples=5, derandomize=True, **COMMON)
settings.register_profile("thorough", max_examples=250, print_blob=True, **COMMON)
settings.load_profile("quick")


def pytest_configure(config: pytest.Config) -> None:
    """Of several workers each has a processor of its own: threads for all of them would wait for each other."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "").removeprefix("gw")
    if worker and hasattr(os, "sched_setaffinity"):
        processors = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {processors[int(worker) % len(processors)]})


def pytest_collection_finish() -> None:
    """What is imported and collected stays: the garbage collector need not look through it again."""
    gc.collect()
    gc.freeze()

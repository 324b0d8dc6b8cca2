"""The statistics import numpy alone; what else they need is imported by the function that needs it."""

from __future__ import annotations

import subprocess
import sys
from pkgutil import iter_modules

from gradeval import statistics


def test_numpy_alone_is_imported() -> None:
    modules = [f"gradeval.statistics.{module.name}" for module in iter_modules(statistics.__path__)]
    code = f"import sys, {', '.join(modules)}\n"
    code += "print(*(name for name in ('scipy', 'click', 'rich', 'numpy.random') if name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() in ([], ["numpy.random"])  # older versions of numpy import it themselves

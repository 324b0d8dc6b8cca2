"""Studies need numpy alone, until a test or a statistic needs scipy."""

from __future__ import annotations

import subprocess
import sys


def test_numpy_alone_is_imported() -> None:
    code = "import gradeval, sys; gradeval.study.criteria('rankDCG')\n"
    code += "print(*(name for name in ('scipy', 'click', 'rich') if name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []

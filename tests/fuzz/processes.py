"""gradeval as a process of its own, for the attacks from outside: its streams, its signals, its limits."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gradeval

from .attack import Wrong

COMMAND = [sys.executable, "-m", "gradeval"]
HOME = str(Path(gradeval.__file__).parents[1])
WAIT = 30  # seconds after which a process hangs
LEFT_OVER = (".gradeval-*", "tmp/*")


def environment(**more: str) -> dict[str, str]:
    """Its temporary files are in the folder tmp of the case."""
    Path("tmp").mkdir(exist_ok=True)
    path = os.pathsep.join(filter(None, [HOME, os.environ.get("PYTHONPATH", "")]))
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("COV_", "PYTHON"))}
    return kept | {"PYTHONPATH": path, "TMPDIR": str(Path("tmp").resolve())} | more


def start(args: Sequence[str], before: str = "", after: str = "", **more: Any) -> subprocess.Popen[bytes]:
    """Start it from a shell, whose process it becomes. before: what the shell does first, as 'ulimit -c 0;'.
    after: what stands behind the command, as '>&-'.
    """
    script = f'{before} exec "$@" {after}'
    return subprocess.Popen(["sh", "-c", script, "sh", *COMMAND, *args], **{"env": environment()} | more)


def require(is_right: bool, what: str, how: str, code: int, out: bytes, err: bytes) -> None:
    """how: the command, as a shell takes it, with what stands around it in words."""
    if not is_right:
        errors = err[-3000:].decode(errors="replace")
        raise Wrong(f"{what}\n{how}\nexit code {code}\nstdout: {out[:2000]!r}\nstderr: {errors}")


def check_manners(how: str, code: int, out: bytes, err: bytes) -> None:
    """No traceback, nothing of Python's own, and no file left over."""
    noise = re.search(rb"Traceback|Exception ignored|Fatal Python|RuntimeWarning|Error in sys|core dumped", err)
    errors = re.findall(rb"^\w+(?:Error|Exception|Interrupt|Warning)\b[^'\n]*", err, re.MULTILINE) or [b""]
    require(noise is None, f"a traceback: {errors[-1].decode()}", how, code, out, err)
    left = [path.name for pattern in LEFT_OVER for path in Path().glob(pattern)]
    require(not left, f"{len(left)} files are left over", how, code, out, err)


def typed(args: Sequence[str], before: str = "", after: str = "") -> str:
    command = " ".join(filter(None, [before, shlex.join(["gradeval", *args]), after]))
    return f"({command})" if before else command

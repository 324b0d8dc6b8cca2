"""Completion in real shells, on a terminal of their own: what is typed stays, and grows."""

import os
import pty
import select
import shutil
import sys
import time
from pathlib import Path

import pytest

BIN = Path(sys.executable).parent
SHELLS = {
    "bash": ["--norc", "--noprofile", "-i"],
    "zsh": ["-f", "-i"],
}
# what makes the shell complete gradeval; readline and zle need no colours and no bells
SET_UP = {
    "bash": "bind 'set enable-bracketed-paste off'; PS1='> '; ",
    "zsh": "autoload -Uz compinit; compinit -u -D; unsetopt zle_bracketed_paste 2>/dev/null; PS1='> '; "
    "zstyle ':completion:*' menu no; LISTMAX=0; ",
}


class Terminal:
    """A shell on a terminal of its own."""

    def __init__(self, shell: str, folder: Path) -> None:
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            path = f"{BIN}:{os.environ['PATH']}"
            os.environ |= {"PATH": path, "TERM": "dumb", "HISTFILE": "", "INPUTRC": "/dev/null"}
            os.execvp(shell, [shell, *SHELLS[shell]])
        self.text = ""

    def read_until(self, expected: str, seconds: float = 20.0) -> str:
        until = time.monotonic() + seconds
        while expected not in self.text and time.monotonic() < until:
            if select.select([self.terminal], [], [], 0.1)[0]:
                self.text += os.read(self.terminal, 1 << 16).decode("utf-8", "replace")
        return self.text

    def type(self, text: str) -> None:
        self.text = ""
        os.write(self.terminal, text.encode())

    def close(self) -> None:
        os.close(self.terminal)
        os.waitpid(self.pid, 0)


TYPED = {
    'gradeval q r -m "AP rankd': '"AP rankdCG',  # in the case that is typed
    "gradeval q r --allow ties,same_": "ties,same_ranking",
}


@pytest.mark.parametrize("shell", SHELLS)
def test_what_is_typed_stays(shell: str, folder: Path) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    terminal = Terminal(shell, folder)
    try:
        terminal.type(SET_UP[shell] + f'eval "$(_GRADEVAL_COMPLETE={shell}_source gradeval)"; echo re""ady\n')
        assert "> " in terminal.read_until("ready\r\n").partition("ready")[2] or terminal.read_until("> ")
        for typed, completed in TYPED.items():
            terminal.type(f"{typed}\t")
            assert completed in terminal.read_until(completed), terminal.text
            terminal.type("\x15")  # empties the line
    finally:
        terminal.type("\x15\x03\nexit\n")
        terminal.close()

"""Completion in real shells, on a terminal of their own: what is typed stays, and grows.

test_completion has what the shells are answered. Here their scripts are tried on each kind of answer, and,
among the slow tests, on all.
"""

import os
import pty
import select
import shutil
import subprocess
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

    def read_until(self, expected: str, seconds: float = 10.0) -> str:
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
    'gradeval q r -m "AP rankd': '-m "AP rankdCG',  # in the case that is typed
    "gradeval q r --allow=ties,same_": "--allow=ties,same_ranking",
    "gradeval q r --by=folder/gro": "--by=folder/groups.tsv",
    "gradeval folder/gro": "gradeval folder/groups.tsv",
    "gradeval q old=folder/gro": "old=folder/groups.tsv",
    "gradeval q r -m AP\\ rankD": "-m AP\\ rankDCG",
    "gradeval q r --query-ids 7,42": "--query-ids 7,420",  # a file or an id
}
MORE = {
    "gradeval q r --allow ties,same_": "ties,same_ranking",
    "gradeval q r --metric=rankd": "--metric=rankdCG",
    "gradeval q r --metric=nDCNG@2": "--metric=nDCNG@20",
    "gradeval q r -mrankd": "-mrankdCG",
    "gradeval q r --sort -rankd": "--sort -rankdCG",
    "gradeval guide schemas res": "schemas results",
    "gradeval q r --ties=exp": "--ties=expected",
    "gradeval explain q r --query 42": "--query 420",
    "gradeval help comp": "help compare",
}
ALL = [TYPED, pytest.param(TYPED | MORE, marks=pytest.mark.slow)]


@pytest.fixture
def of_420(folder: Path) -> Path:
    (folder / "q").write_text("7 0 a 1\n420 0 a 1\n")
    (folder / "lr=0.1.run").touch()
    (folder / "folder").mkdir()
    (folder / "folder" / "groups.tsv").write_text("420\tx\n")
    return folder


@pytest.mark.parametrize("lines", ALL, ids=["kinds", "all"])
@pytest.mark.parametrize("shell", SHELLS)
def test_what_is_typed_stays(shell: str, lines: dict[str, str], of_420: Path) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    terminal = Terminal(shell, of_420)
    try:
        terminal.type(SET_UP[shell] + f'eval "$(_GRADEVAL_COMPLETE={shell}_source gradeval)"; echo re""ady\n')
        assert "> " in terminal.read_until("ready\r\n").partition("ready")[2] or terminal.read_until("> ")
        for typed, completed in lines.items():
            terminal.type(f"{typed}\t")
            text = terminal.read_until(completed)
            assert completed in text.replace("\x08", ""), text
            terminal.type("\x15")  # empties the line
    finally:
        terminal.type("\x15\x03\nexit\n")
        terminal.close()


@pytest.mark.parametrize("lines", ALL, ids=["kinds", "all"])
def test_fish_offers_what_begins_as_typed(lines: dict[str, str], of_420: Path) -> None:
    if shutil.which("fish") is None:
        pytest.skip("fish is not installed")
    lines = {typed: completed for typed, completed in lines.items() if not set(typed) & set('\\"')}
    lines["gradeval q r -m AP,RR,rankd"] = "AP,RR,rankdCG"
    lines["gradeval q lr=0"] = "lr=0.1.run"  # the name of a file, not NAME=RUN
    asked = "; ".join(f"complete -C '{typed}'" for typed in lines)
    script = f"_GRADEVAL_COMPLETE=fish_source gradeval | source; {asked}"
    env = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}", "HOME": str(of_420)}
    ended = subprocess.run(["fish", "-N", "-c", script], capture_output=True, env=env, text=True, check=True)
    offered = [line.partition("\t")[0] for line in ended.stdout.splitlines()]
    assert offered == [completed.split()[-1] for completed in lines.values()]

"""Attack: outputs onto every kind of input: what a command opens to read stays as it is."""

import os
import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from unittest import mock

from cli.command import gradeval

from .call import require

UNIT = "calls"

QRELS = "".join(f"q{q} 0 d{d} {(q * d) % 3}\n" for q in range(4) for d in range(4))
RUN = "".join(f"q{q} Q0 d{d} {d + 1} {4 - d} t\n" for q in range(4) for d in range(4))
PLAIN = "".join(f"{d % 3} 1:{d} 2:{9 - d}\n" for d in range(8))
FILES = {
    "q": QRELS,
    "r": RUN,
    "other": RUN.replace(" 4 t", " 0 t"),
    "runs/one.run": RUN,
    "l": PLAIN,
    "l.query": "4\n4\n",
    "m": PLAIN,
    "m.group": "4\n4\n",
    "scores": "".join(f"{d}\n" for d in range(8)),
    "sizes": "3\n5\n",
    "sizes.svg": "3\n5\n",
    "ids": "q1\nq2\n",
    "groups": "q1\tone\nq2\tone\n",
    "list": "# runs\nB=r\nother\n",
    "titles": "d1\tA title\n",
    "gates.toml": "require = 'AP > 0'\nmax-drop = 'AP 90%'\nbaseline = 'other'\n",
    "wrong.toml": "reqire = 'AP > 0'\nbaseline = 'other'\n",
    "pyproject.toml": "[tool.gradeval.gate]\nrequire = 'AP > 0'\n",
    "letor.toml": "features = '1,2'\n[collections.c]\nqrels = 'l'\n"
    "[collections.d]\nqrels = 'm'\noptions = { groups = 'sizes' }\n",
}
COMMANDS = """
q r -f tsv
q runs --runs-from list -f tsv
l scores --groups sizes -f tsv
q saved.json r -m AP -f tsv
compare q r other --by groups -f tsv
compare q r saved.json -m AP -f tsv
compare l --feature 1,2 -f tsv
pool q r other -f csv
estimate q r other --model-qrels q -f tsv
explain q r --worst 1 --text titles -f json
explain q r --query q1 --against A=other -f json
explain l --feature 1 --worst 1 --groups sizes -f json
report q r --baseline other --text titles --explain 1
validate q r other -f json
convert l OUT --to csv
convert scores OUT --qrels l --to trec
plot queries q r other --query-ids ids -f tsv
plot curve l --feature 1,2 --groups sizes.svg -f tsv
study levels l scores -f tsv
study agreement q r other --qrels2 q -f tsv
gate q r --require AP>0 --baseline other -f tsv
gate q r --config gates.toml -f tsv
gate q r -f tsv
gate q saved.json --require AP>0 -f tsv
gate m --feature 1 --query-ids q1 -f tsv
batch letor.toml -f tsv
"""
ALIASES = ("itself", "itself", "./", "absolute", "symbolic link", "hard link", "another file")


def make(rng: random.Random) -> tuple[list[str], str, str, str]:
    args = rng.choice(COMMANDS.strip().splitlines()).split()
    options = {
        "convert": ["OUT"],
        "gate": ["-o", "--junit", "GITHUB_STEP_SUMMARY"],
        "plot": ["-o", "--save"],
    }.get(args[0], ["-o"])
    option = rng.choice(options)
    targets = [*FILES, "saved.json"]
    near = [name for name in targets if name.partition(".")[0] in args]  # group sizes beside its files too
    target = "sizes.svg" if option == "--save" else rng.choice(rng.choice([targets, near or targets]))
    return args, option, target, rng.choice(ALIASES)


def check(args: list[str], option: str, target: str, alias: str) -> int:
    """option: what names the output: an option, OUT of the arguments, or a variable of the environment. target:
    the file; alias: how it is named.
    """
    os.mkdir("runs")
    for name, text in FILES.items():
        Path(name).write_text(text)
    gradeval("q", "other", "-m", "AP", "-q", "-f", "json", "-o", "saved.json", "--quiet")
    output, variables = _named(target, alias), {}
    args = [word.replace(">", " > ") for word in args]
    if option == "OUT":
        args = [output if word == "OUT" else word for word in args]
    elif option.startswith("-"):
        args += [option, output]
    else:
        args, variables = [*args, "--github"], {option: output}
    before = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    allowed = {path for path in before if os.path.exists(output) and path.samefile(output)}
    with mock.patch.dict(os.environ, variables), _read() as read:
        done = gradeval(*args)
    what = [*(f"{name}={value}" for name, value in variables.items()), *args]
    require(done.code in (0, 1, 2), f"exit code {done.code}", what, done)
    changed = {path for path, content in before.items() if not path.exists() or path.read_bytes() != content}
    lost = sorted(str(path) for path in changed if os.path.realpath(path) in read)
    require(not lost, f"{lost} is read and overwritten", what, done)
    others = sorted(map(str, changed - allowed))
    require(not others, f"{others} is changed, and is no output", what, done)
    is_new = alias == "another file"
    require(not is_new or "input files" not in done.err, "another file is taken for an input", what, done)
    return 1


def _named(target: str, alias: str) -> str:
    if alias == "symbolic link":
        os.symlink(target, "alias.svg")
    elif alias == "hard link":
        os.link(target, "alias.svg")
    elif alias == "./":
        return f"./{target}"
    elif alias != "another file":
        return os.path.abspath(target) if alias == "absolute" else target
    return "alias.svg"


@contextmanager
def _read() -> Iterator[set[str]]:
    """The files that are opened for reading meanwhile, by their real paths."""
    reads = _watched()
    reads.append(found := set[str]())
    try:
        yield found
    finally:
        reads.remove(found)


@cache
def _watched() -> list[set[str]]:
    """What Python's audit hook adds the files to; a hook stays for good."""
    reads: list[set[str]] = []

    def hook(event: str, args: tuple) -> None:
        if reads and event == "open" and isinstance(args[0], (str, bytes)):
            is_read = args[2] & (os.O_WRONLY | os.O_RDWR | getattr(os, "O_PATH", 0)) == 0
            for found in reads if is_read else ():
                found.add(os.path.realpath(os.fsdecode(args[0])))

    sys.addaudithook(hook)
    return reads

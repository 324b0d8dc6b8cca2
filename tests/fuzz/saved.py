"""Attack: saved results, edited: refused with their name, or as good as the runs that they were made from."""

import json
import random
from pathlib import Path
from typing import Any

from . import damage, data
from .call import gradeval, printed, require, same

UNIT = "files"

METRICS = ("AP", "nDCG@3", "nDCG@10", "P@2", "tau", "num_rel", "num_q", "Judged@10", "relstring", "rankDCG")
VALUES: tuple[Any, ...] = (
    None, True, False, 0, 0.0, -0.0, 1, -1, 0.5, 1e-12, 1e308, -1e308, 10**400, float("nan"), float("inf"),
    "", "0.5", "x", "AP", "trec", "\udcff", "\x1b[2J", "\0", [], [5], [[]], {}, {"q1": 1}, [None], ["AP"],
)  # fmt: skip
UNREAD = ("relstring",)  # a text, which is not read back
COMMANDS = ("eval", "eval", "compare", "gate", "batch")


def make(rng: random.Random) -> tuple[Any, ...]:
    collection = data.made(rng, runs=2)
    files = {"q": data.dressed(rng, data.qrels_rows(collection.qrels))}
    files |= {
        name: data.dressed(rng, data.run_rows(lines)) for name, lines in zip("ab", collection.runs, strict=True)
    }
    saving = ["-m", ",".join([*rng.sample(METRICS, rng.randint(2, 5)), "AP"])]
    saving += rng.choice([[], [], ["--queries", "both"], ["-l", "2"], ["--ties", "best"]])
    return files, saving, rng.randrange(2**32), rng.choice(COMMANDS), rng.random() < 0.25


def places(content: Any) -> list[tuple[Any, Any]]:
    if not isinstance(content, (dict, list)):
        return []
    items = list(content.items() if isinstance(content, dict) else enumerate(content))
    return [place for key, value in items for place in ((content, key), *places(value))]


def edited(rng: random.Random, content: dict[str, Any]) -> dict[str, Any]:
    """The content with a few changes, many of them among the values of queries."""
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        every = places(content)
        values = [place for place in every if isinstance(place[0], dict) and "AP" in place[0]]
        choices = values if values and rng.random() < 0.6 else every
        if not choices:
            break
        container, key = rng.choice(choices)
        kind = rng.random()
        if kind < 0.2:
            del container[key]
        elif kind < 0.3 and isinstance(container, dict):
            container[rng.choice(["x", "q1", "AP", "zz"])] = container[key]
        elif (kind < 0.7 and container[key] in range(100)) or isinstance(container[key], float):
            container[key] = rng.choice([container[key] * (1 + 1e-6), 2 * container[key], 1 - container[key]])
        else:
            container[key] = rng.choice(VALUES)
    return content


def check(files: dict[str, bytes], saving: list[str], seed: int, command: str, by_text: bool) -> int:
    """saving: options of the saved result. seed: of its changes. command: that reads it. by_text: whether bytes
    change, not the content.
    """
    for name, content in files.items():
        Path(name).write_bytes(content)
    options = saving[2:]
    plain = gradeval("q", "a", *saving, "-q", "-f", "json", "--quiet")
    metrics = ",".join(name for name in saving[1].split(",") if name not in UNREAD)
    expected = gradeval("q", "a", "-m", metrics, "-q", "--digits", "full", "--quiet", *options)
    if plain.code or expected.code:
        return 0
    rng = random.Random(seed)
    if by_text:
        text = damage.changed(rng, plain.out.encode())
    else:
        text = json.dumps(edited(rng, json.loads(plain.out))).encode()
    if b'"summary"' not in text:  # as with -n: nothing shows whether values are those that were saved
        return 0
    Path("s.json").write_bytes(text)
    call = _call(command, metrics, options)
    done = gradeval(*call)
    if command == "eval" and done.code == 0:
        found, wanted = (list(printed(one.out, "tsv")) for one in (done, expected))
        alike = [row[:2] for row in found] == [row[:2] for row in wanted] and all(
            same(float(one[2]), float(other[2]), 1e-8) for one, other in zip(found, wanted, strict=True)
        )
        if not alike and json.loads(text)["runs"][0]["summary"] != json.loads(plain.out)["runs"][0]["summary"]:
            return 0  # a mean that was changed together with its values
        require(alike, f"another value than that of the run\n{expected.out}", call, done)
    if command != "eval" and done.code == 0:
        own = gradeval(*(["a" if word == "s.json" else word for word in call]))
        require(own.code == 0, "a saved result is taken where its run is not", call, own)
    if done.code == 2:
        lines = [line for line in done.lines if not line.startswith(("warning: ", "note: "))]
        named = ("s.json", "the gate could not decide", "gradeval: ", "b:", "a:")
        require(all(line.startswith(named) for line in lines), "an error does not name its file", call, done)
    return 1


def _call(command: str, metrics: str, options: list[str]) -> list[str]:
    if command == "eval":
        return ["q", "s.json", "-m", metrics, "-q", "--digits", "full", "--quiet", *options]
    if command == "compare":
        return ["compare", "q", "a", "s.json", "-m", "AP", "--quiet", *options]
    if command == "gate":
        return ["gate", "q", "s.json", "--require", "AP >= 0", "--min-coverage", "0", "--quiet", *options]
    text = 'metrics = "AP"\nqrels = "q"\nruns = "{system}"\nsystems = ["a", "s.json"]\ncollections = ["c"]\n'
    names = {"--queries": "queries", "-l": "rel", "--ties": "ties"}
    pairs = zip(options[::2], options[1::2], strict=True)
    lines = (f"{names[flag]} = {value if flag == '-l' else json.dumps(value)}\n" for flag, value in pairs)
    Path("m.toml").write_text(text + "[options]\n" + "".join(lines))
    return ["batch", "m.toml", "--baseline", "a", "--quiet"]

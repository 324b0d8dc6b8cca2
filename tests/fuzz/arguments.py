"""Attack: any words as arguments, and any text as the name of a metric: done, or refused with a word why."""

import random
from itertools import pairwise
from pathlib import Path

from gradeval.registry.dialects import GROUPS
from gradeval.registry.metric import REGISTRY, load

from . import damage
from .call import gradeval, require

load()

UNIT = "calls"

_WORDS = """
    q r l s i none - . -- -m AP -q -n -l -M -J -c --queries both --query-ids q1 ./i --ties best --zero-grade 1 0
    -1 1.5 --by-level -f json table md latex csv trec --digits full 3 -j 2 --qrels-format trec letor scores
    --run-format --feature 1,2 --qrels-feature --groups g --quiet --strict eval metrics nDCG nDCGphi@5 --help -h
    trec_eval ir_measures -m map.5 -N -Z z -p -o out qrels -T --all ndcg_cut.5,10 relstring runid --depth=1 -R
    --version --rel=1e400 --jobs=64 x=y --tie-range
"""
WORDS = [*_WORDS.split(), ""]
PIECES = [*"@@,,.5_()=/:+-eµφ\0\udcff", *"rel gain exp gain= 0:1/2:3 k= true 1e999 nan k".split()]


def make(rng: random.Random) -> tuple[list[str]]:
    kind = rng.random()
    if kind < 0.5:
        files = rng.choice([[], ["q", "r"], ["q", "-"], ["l", "s"], ["trec_eval", "q", "r"]])
        return ([*files, *(rng.choice(WORDS) for _ in range(rng.randrange(9)))],)
    name = rng.choice([*REGISTRY, *GROUPS, "map", "ndcg_cut", "P", "", "x"])
    tail = "".join(rng.choice([*PIECES, *"0123456789"]) for _ in range(rng.randrange(8)))
    if rng.random() < 0.5 and name in REGISTRY:
        params = [param.name for param in REGISTRY[name].params]
        tail = f"({rng.choice(params)}={tail}){rng.choice(['', '@5', '@' + tail])}"
    at = rng.randrange(len(name) + 1) if rng.random() < 0.1 else len(name)
    text = name[:at] + tail + name[at:]
    if kind < 0.6:
        return (["metrics", "--", text],)
    return (["q", "r", "-q", rng.choice([f"-m{text}", f"--metric={text}"])],)


def check(args: list[str]) -> int:
    for name, content in damage.FILES.items():
        Path(name).write_bytes(content)
    before = set(Path().iterdir())
    done = gradeval(*args, stdin="r")
    words = [word for word in args if word in ("-", "--") or not word.startswith("-")]
    several = len(words) > 2 or words[:1] == ["metrics"]  # of which those that are sound are printed
    require(several or not (done.code and done.out), "half an answer", args, done)
    new = {path.name for path in set(Path().iterdir()) - before}
    require(not any(name.startswith(".") for name in new), "a file is left over", args, done)
    changed = {name for name, content in damage.FILES.items() if Path(name).read_bytes() != content}
    outputs = [word.removeprefix("./") for option, word in pairwise(args) if option == "-o"]
    inputs = [word.removeprefix("./") for word in args] + ["r"] * ("-" in args)
    read = {name for name in changed if inputs.count(name) > outputs.count(name)}
    require(changed <= set(outputs) and not read, f"{sorted(changed)} is overwritten", args, done)
    return 1

"""Attack: commands that compare, fuse, pool, gate and log runs, with any of their options: done, or refused
with a word why. Their TSV has as many fields in each line, and bounds enclose what they are of.
"""

import json
import random
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path

from cli.command import gradeval

from . import data
from .call import obeyed, require

UNIT = "calls"

METRICS = (
    "nDCG nDCG@2 nDCG(gain=exp)@3 AP AP(rel=2)@3 muAP RR P@2 P@5 R@3 F@4 Rprec Success@1 ERR@3 DCG CG@2 gP@3 "
)
METRICS += "RBP bpref Judged@2 NDCNG@3 nDCGphi rankDCG tau infAP num_ret R_cap@2 Compat SDCG@3"
RANKINGS = "RBO overlap@2 jaccard@1,3 AO@5 same@1 same_set@2".split()

# of each option its values; '' is a flag
EVALUATION = {
    "--bounds": [""],
    "--top-grade": ["0", "1", "2", "3.5", "5"],
    "--zero-grade": ["0", "1", "-1", "0.5"],
    "--unjudged-grade": ["0", "1", "2"],
    "--exclude": ["ex"],
    "--rel": ["0", "1", "2"],
    "--depth": ["1", "2", "3", "9"],
    "--judged-only": [""],
    "--ties": ["trec", "input", "best", "worst", "expected"],
    "--no-relevant": ["0", "1", "skip"],
    "--queries": ["both"],
    "--query-weights": ["weights"],
    "--merge": ["first", "max", "min", "mean"],
}
OWN = {
    "": {"--by": ["groups"], "--history": ["h"], "--interval": [""], "--tie-range": [""], "-q": [""]},
    "compare": {"--by": ["groups"], "--all-pairs": [""], "--test": ["t", "wilcoxon", "sign"], "-q": [""]},
    "diff": {
        "-p": ["0.5", "0.98"],
        "--rbo-ties": ["w", "a", "b"],
        "-k": ["1", "2,3", "9"],
        "--depth": ["1", "3", "20"],
        "--worst": ["1", "3"],
        "--qrels": ["q"],
        "-q": [""],
    },
    "fuse": {
        "--method": ["rrf", "sum", "wsum"],
        "--norm": ["minmax", "zmuv", "none"],
        "--weights": ["1,2", "0,1", "0.3,0.3,0.4"],
        "--k": ["1", "60"],
        "--depth": ["1", "3"],
        "--top": ["1", "4"],
        "--tune": ["nDCG@3", "AP", "num_ret"],
        "--qrels": ["q"],
        "--folds": ["2", "3"],
        "--step": ["0.5", "0.25"],
        "-o": ["fused.run", "-"],
    },
    "pool": {
        "--order": ["depth", "rrf", "effect", "decide", "sample"],
        "--depth": ["1", "2", "50"],
        "--top": ["1", "5"],
        "--per-query": ["1", "2"],
        "--size": ["1", "2"],
        "--seed": ["3"],
    },
    "estimate": {"--model-qrels": ["other"], "--lambda": ["0", "1", "0.5"]},
    "gate": {
        "--require": ["nDCG@2 >= 0.3", "AP > 0", "coverage >= 50%", "Judged@2 >= 0.5", "RR[one] >= 0.1"],
        "--max-drop": ["AP 5%", "P@2 0.1", "bpref 0.2"],
        "--no-worse": ["nDCG", "muAP"],
        "--non-inferior": ["AP 0.01"],
        "--max-query-drop": ["RR 0.5 in 20%"],
        "--by": ["groups"],
        "--history": ["h"],
        "--window": ["3"],
        "--min-coverage": ["0", "50"],
        "--allow": ["undefined"],
    },
    "study reuse": {"--depth": ["1", "2", "10"], "--teams": ["teams"]},
    "plot history": {"-m": ["AP", "RBO nDCG@2"], "--last": ["1", "3"]},
}  # fmt: skip
CODES = {"gate": (0, 1, 2)}  # of others 0 and 2


def make(rng: random.Random) -> tuple[dict[str, bytes], list[str], str]:
    files = _files(rng)
    runs = [name for name in files if name.startswith("r")]
    name = rng.choice([*OWN, "", "compare", "gate", "pool"])
    args = [*name.split(), *_inputs(rng, name, runs)]
    metrics = [["-m", " ".join(rng.sample(METRICS.split(), rng.randint(1, 4)))]]
    options = {**OWN[name]}
    if name not in ("diff", "plot history", "fuse"):
        options |= EVALUATION
    share = rng.choice([0.05, 0.15, 0.3])
    chosen = [[option, rng.choice(values)] for option, values in options.items() if rng.random() < share]
    if name == "gate" and not any(option[:4] in ("--re", "--ma", "--no") for option, _ in chosen):
        chosen.append(["--require", rng.choice(OWN[name]["--require"])])
    if name in ("", "compare", "study reuse", "estimate") or (name in ("pool", "diff") and rng.random() < 0.3):
        chosen += metrics
    form = rng.choice(["tsv", "tsv", "tsv", "json", "table"])
    words = [word for pair in chosen for word in pair if word]
    return files, [*args, *words, "-f", form, "--digits=full"], name


def _files(rng: random.Random) -> dict[str, bytes]:
    collection = data.made(rng, runs=rng.choice([2, 2, 3]))
    judged = collection.qrels
    some = {query: of for query, of in judged.items() if rng.random() < 0.7} or judged
    other = {query: {d: rng.choice([b"0", b"1", b"2"]) for d in of} for query, of in judged.items()}
    names = [line[:2] for run in collection.runs for line in run]
    excluded = rng.sample(names, min(len(names), rng.randrange(4)))
    files = {"q": _trec(data.qrels_rows(some)), "other": _trec(data.qrels_rows(other)), "ex": _trec(excluded)}
    for number, run in enumerate(collection.runs):
        files[f"r{number}"] = _trec(data.run_rows(run))
    files["groups"] = _tabbed((query, rng.choice([b"one", b"two"])) for query in judged)
    files["weights"] = _tabbed((query, rng.choice([b"0", b"1", b"2.5"])) for query in judged)
    files["teams"] = _tabbed((b"r%d" % n, rng.choice([b"a", b"b"])) for n in range(len(collection.runs)))
    line = {"run": "r0", "query": "all", "metric": "AP", "value": 0.5}
    values = [{**line, "value": rng.random(), "metric": rng.choice(["AP", "RBO", "P@2"])} for _ in range(4)]
    files["h"] = "".join(json.dumps(value) + "\n" for value in values).encode()
    return files


def _trec(rows: Iterable[Sequence[bytes]]) -> bytes:
    return b"".join(b" ".join(row) + b"\n" for row in rows)


def _tabbed(rows: Iterable[Sequence[bytes]]) -> bytes:
    return b"".join(b"\t".join(row) + b"\n" for row in rows)


def _inputs(rng: random.Random, name: str, runs: list[str]) -> list[str]:
    """What the command reads: judgments where it takes some, and runs."""
    if name == "plot history":
        return ["h"]
    if name == "gate":
        measures = [f"{rng.choice(RANKINGS)} >= 0.5{rng.choice(['', ' in 50%'])}"] * (rng.random() < 0.5)
        checks = [word for measure in measures for word in ("--require", measure)]
        qrels = [] if checks and rng.random() < 0.5 else ["q"]
        return [*qrels, "r0", *(["--baseline", "r1"] if rng.random() < 0.9 else []), *checks]
    qrels = [] if name in ("diff", "fuse") or (name == "pool" and rng.random() < 0.3) else ["q"]
    return [*qrels, *runs[: rng.choice([1, 2, 2, 3, 3])]]


def check(files: dict[str, bytes], args: list[str], name: str) -> int:
    for path, content in files.items():
        Path(path).write_bytes(content)
    done = gradeval(*args)
    require(done.code in CODES.get(name, (0, 2)), f"exit code {done.code}", args, done)
    require(done.code == 0 or bool(done.err) or name == "gate", "it fails without a word", args, done)
    require(not obeyed(done.err), "a message that a terminal would obey", args, done)
    is_json, is_tsv = (f"-f\n{form}\n" in "\n".join(args) for form in ("json", "tsv"))
    if is_json and done.out and "-" not in args:
        json.loads(done.out)
    if is_tsv and done.out and "-" not in args and not (name == "fuse" and "-o" not in args):
        for rows in _tables(done.out):
            _check_rows(rows, args, done)
    return 1


def _tables(text: str) -> list[list[list[str]]]:
    """The rows of each table; an empty line is between them."""
    parts = groupby(text.split("\n"), key=bool)
    return [[line.split("\t") for line in lines] for has_text, lines in parts if has_text]


def _check_rows(rows: list[list[str]], args: list[str], done: object) -> None:
    head, *body = rows
    require(all(len(row) == len(head) for row in body), "rows of other lengths than the head", args, done)
    names = [name for name in ("margin", "difference", "value") if name in head]
    judged_0_is_relevant = "--rel\n0\n" in "\n".join(args)  # so that bounds lack the value, where it is not
    if "lower_bound" not in head or not names or judged_0_is_relevant:
        return
    for row in body:
        fields = dict(zip(head, row, strict=True))
        low, value, high = (fields[name] for name in ("lower_bound", names[0], "upper_bound"))
        if low and value not in ("", "nan"):
            is_between = float(low) - 1e-9 <= float(value) <= float(high) + 1e-9
            require(is_between, f"bounds without their value: {fields}", args, done)

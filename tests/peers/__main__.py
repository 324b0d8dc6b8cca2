"""make peers: a table of the largest differences from everybody who computes our metrics too.

Arguments: pairs of files, QRELS RUN, to compare on besides the random collections.
"""

import argparse
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import gradeval
from gradeval.registry.spec import parse

from .adapters import PEERS, Peer
from .data import ORDERS, Collection, deep, made, read, without_ties


@dataclass
class Comparison:
    """How far a metric of ours ever is from a peer's, over how many values; and where."""

    metric: str
    peer: Peer
    largest: float = 0.0
    values: int = 0
    where: str = ""

    @property
    def agrees(self) -> bool:
        return self.largest <= self.peer.tolerance

    @property
    def cell(self) -> str:
        return "0" if self.largest == 0 else f"{self.largest:.0e}" + ("" if self.agrees else " ✗")


@dataclass
class Comparisons:
    """All of them, by metric and peer, in order."""

    found: dict[tuple[str, str], Comparison] = field(default_factory=dict)

    def add(self, peer: Peer, given: Collection) -> None:
        """Compare on a collection, where the peer can take it."""
        if not peer.fits(given) or (given.ties and not peer.ties):
            return
        names = list(peer.names)
        theirs = peer.evaluate(names, given)
        specs = [parse(peer.names[name])[0] for name in names]
        mine = without_ties(given, peer.ties) if peer.ties in ORDERS else given
        metrics = list(dict.fromkeys(map(str, specs)))
        results = gradeval.evaluate(given.qrels, {"run": mine.run}, metrics, no_relevant=peer.no_relevant)
        for name, spec in zip(names, specs, strict=True):
            key = (str(spec), peer.name)
            row = self.found.setdefault(key, Comparison(str(spec), peer))
            ours = results.per_query(0, spec)
            for query, value in theirs[name].items():
                off = distance(ours[query], value)
                row.values += 1
                if off > row.largest:
                    row.largest = off
                    row.where = f"{given.name}, query {query}: {ours[query]!r}, {name} {value!r}"

    def disagreeing(self) -> list[Comparison]:
        return [one for one in self.found.values() if not one.agrees]

    def markdown(self, peers: Sequence[Peer]) -> str:
        """A row for each metric, a column for each peer, there or not: the largest difference."""
        metrics = sorted(dict.fromkeys(metric for metric, _ in self.found), key=str.lower)
        heads = [peer.name + " (not installed)" * (not peer.there) for peer in peers]
        rows = [["metric", *heads], ["---", *(["---:"] * len(peers))]]
        for metric in metrics:
            found = (self.found.get((metric, peer.name)) for peer in peers)
            rows.append([f"`{metric}`", *("" if one is None else one.cell for one in found)])
        return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def distance(a: float, b: float) -> float:
    """|a - b|; nothing where both are undefined."""
    if math.isnan(a) or math.isnan(b):
        return 0.0 if math.isnan(a) and math.isnan(b) else math.inf
    return abs(a - b)


def main() -> int:
    parser = argparse.ArgumentParser(prog="make peers", description=__doc__)
    parser.add_argument("files", nargs="*", type=Path, metavar="QRELS RUN", help="more to compare on")
    parser.add_argument("--rounds", type=int, default=3, help="of random collections (3)")
    args = parser.parse_args()
    if len(args.files) % 2:
        parser.error("files come in pairs: QRELS RUN")
    given: list[Collection] = []
    for seed in range(args.rounds):
        given += [made(seed, ties=ties, complete=full) for ties in (False, True) for full in (False, True)]
        given.append(deep(seed))
    for pair in zip(args.files[::2], args.files[1::2], strict=True):
        one = read(*pair)
        given += [one, without_ties(one)] if one.ties else [one]
    compared = Comparisons()
    for peer in (peer for peer in PEERS if peer.there):
        for one in given:
            compared.add(peer, one)
        print(f"{peer.name}: done", file=sys.stderr)
    print(compared.markdown(PEERS))
    values = sum(one.values for one in compared.found.values())
    print(f"{values:,} values on {len(given)} collections, {sum(len(one.run) for one in given):,} queries.")
    for one in compared.disagreeing():
        print(f"{one.metric} is not that of {one.peer.name}: {one.where}", file=sys.stderr)
    return 1 if compared.disagreeing() else 0


if __name__ == "__main__":
    sys.exit(main())

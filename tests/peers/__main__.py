"""make peers: a table of the largest differences from everybody who computes our metrics too.

Arguments: pairs of files, QRELS RUN, to compare on besides the random collections.
"""

import argparse
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import gradeval
from gradeval.registry.spec import parse

from .adapters import PEERS, Peer
from .data import ORDERS, Collection, deep, made, of_vectors, read, without_ties


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

    def __str__(self) -> str:
        return "0" if self.largest == 0 else f"{self.largest:.0e}" + ("" if self.agrees else " ✗")


class Comparisons(dict[tuple[str, str], Comparison]):
    """All of them, by metric and peer, in order."""

    def add(self, peer: Peer, given: Collection) -> None:
        """Compare on a collection, where the peer can take it."""
        if not peer.fits(given) or (given.ties and not peer.ties):
            return
        specs = {name: parse(ours)[0] for name, ours in peer.names.items()}
        theirs = peer.evaluate(list(specs), given)
        mine = without_ties(given, peer.ties) if peer.ties in ORDERS else given
        metrics = list(dict.fromkeys(map(str, specs.values())))
        results = gradeval.evaluate(given.qrels, {"run": mine.run}, metrics, no_relevant=peer.no_relevant)
        for name, spec in specs.items():
            row = self.setdefault((str(spec), peer.name), Comparison(str(spec), peer))
            ours = results.per_query(0, spec)
            for query, value in theirs[name].items():
                off = abs(ours[query] - value)
                if math.isnan(off):  # nothing where both are undefined
                    off = 0.0 if math.isnan(ours[query]) and math.isnan(value) else math.inf
                row.values += 1
                if off > row.largest:
                    row.largest = off
                    row.where = f"{given.name}, query {query}: {ours[query]!r}, {name} {value!r}"

    def disagreeing(self) -> list[Comparison]:
        return [row for row in self.values() if not row.agrees]

    def markdown(self, peers: Sequence[Peer]) -> str:
        """A row for each metric, a column for each peer, there or not: the largest difference."""
        rows = [["metric", *(peer.name + " (not installed)" * (not peer.there) for peer in peers)]]
        rows.append(["---", *(["---:"] * len(peers))])
        for metric in sorted(dict.fromkeys(metric for metric, _ in self), key=str.lower):
            rows.append([f"`{metric}`", *(str(self.get((metric, peer.name), "")) for peer in peers)])
        return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def main() -> int:
    parser = argparse.ArgumentParser(prog="make peers", description=__doc__)
    parser.add_argument("files", nargs="*", type=Path, metavar="QRELS RUN", help="more to compare on")
    parser.add_argument("--rounds", type=int, default=3, help="of random collections (3)")
    args = parser.parse_args()
    if len(args.files) % 2:
        parser.error("files come in pairs: QRELS RUN")
    given = [of_vectors(), without_ties(of_vectors())]
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
    values = sum(row.values for row in compared.values())
    print(f"{values:,} values on {len(given)} collections, {sum(len(one.run) for one in given):,} queries.")
    for row in compared.disagreeing():
        print(f"{row.metric} is not that of {row.peer.name}: {row.where}", file=sys.stderr)
    return int(bool(compared.disagreeing()))


if __name__ == "__main__":
    sys.exit(main())

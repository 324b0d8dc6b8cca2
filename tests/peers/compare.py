"""Our values beside a peer's, query by query."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import gradeval
from gradeval.registry.spec import parse

from .adapters import Peer
from .data import ORDERS, Collection, without_ties


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
        lines = [row(["metric", *heads]), row(["---", *(["---:"] * len(peers))])]
        for metric in metrics:
            cells = (self.found.get((metric, peer.name)) for peer in peers)
            lines.append(row([f"`{metric}`", *("" if one is None else cell(one) for one in cells)]))
        return "\n".join(lines) + "\n"


def distance(a: float, b: float) -> float:
    """|a - b|; nothing where both are undefined."""
    if math.isnan(a) or math.isnan(b):
        return 0.0 if math.isnan(a) and math.isnan(b) else math.inf
    return abs(a - b)


def cell(one: Comparison) -> str:
    return "0" if one.largest == 0 else f"{one.largest:.0e}" + ("" if one.agrees else " ✗")


def row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"

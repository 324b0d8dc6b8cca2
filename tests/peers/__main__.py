"""make peers: a table of the largest differences from everybody who computes our metrics too.

Arguments: pairs of files, QRELS RUN, to compare on besides the random collections.
"""

import argparse
import sys
from pathlib import Path

from .adapters import PEERS
from .compare import Comparisons
from .data import Collection, deep, made, read, without_ties


def main() -> int:
    parser = argparse.ArgumentParser(prog="make peers", description=__doc__)
    parser.add_argument("files", nargs="*", type=Path, metavar="QRELS RUN", help="more to compare on")
    parser.add_argument("--rounds", type=int, default=3, help="of random collections (3)")
    args = parser.parse_args()
    if len(args.files) % 2:
        parser.error("files come in pairs: QRELS RUN")
    given: list[Collection] = []
    for seed in range(args.rounds):
        for ties in (False, True):
            for complete in (False, True):
                given.append(made(seed, ties=ties, complete=complete))
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

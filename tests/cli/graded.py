"""Qrels with grades 0 to 3, and runs that order their documents with more or less noise."""

from collections.abc import Mapping, Sequence
from pathlib import Path

DOCUMENTS = range(9)


def query_ids(count: int) -> list[str]:
    return [f"q{q:02}" for q in range(count)]


def write_graded(queries: Sequence[str], noise: Mapping[str, int], divisor: int = 1) -> None:
    """The file qrels, and for each name a run, whose scores are the grades, noise / divisor and d / 10."""

    def grade(q: int, d: int) -> int:
        return (q * 7 + d * 3) % 4

    rows = [(query, q, d) for q, query in enumerate(queries) for d in DOCUMENTS]
    Path("qrels").write_text("".join(f"{query} 0 d{d} {grade(q, d)}\n" for query, q, d in rows))
    for name, most in noise.items():
        scores = (grade(q, d) + (q * d * most) % (2 * most + 1) / divisor + d / 10 for _, q, d in rows)
        lines = (f"{query} Q0 d{d} 1 {score} t\n" for (query, _, d), score in zip(rows, scores, strict=True))
        Path(f"{name}.run").write_text("".join(lines))

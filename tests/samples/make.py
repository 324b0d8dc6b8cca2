"""Makes sample_data: `python -m tests.samples.make`. The same bytes each time, on any machine.

Only random() is drawn from, and only sums and roundings are made of it, so that no C library is involved.
"""

import re
import shlex
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from random import Random
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
FOLDER = "sample_data"
SEED = 20110408


class Case(NamedTuple):
    """A command whose output stands beside the data. expected: the file of it, below sample_data."""

    expected: str
    shows: str
    command: str


def cases() -> list[Case]:
    """The commands of sample_data/README.md, from its tables."""
    readme = (ROOT / FOLDER / "README.md").read_text("utf-8")
    rows = re.findall(r"^\| (.+?) \| `(gradeval .+?)` \| `(\S+\.expected\.tsv)` \|$", readme, re.MULTILINE)
    return [Case(expected, shows, command) for shows, command, expected in rows]


def run(case: Case, root: Path = ROOT) -> bytes:
    """What the program of this Python prints for a case; warnings go where ours go."""
    command = [sys.executable, "-m", "gradeval", *shlex.split(case.command)[1:]]
    return subprocess.run(command, cwd=root, stdout=subprocess.PIPE, check=True).stdout


def data() -> dict[str, str]:
    """Path below sample_data -> text, of everything but the README and the expected output."""
    return {**papers(), **search(), **questions(), **popularity(), **letor(), "batch.toml": BATCH}


def papers() -> dict[str, str]:
    """The tables of the papers."""
    scheel = dict(zip("ABCDEFGH", (1, 0, 3, 3, 2, 0, 1, 4), strict=True))
    truth = (9, 4, 4, 2, 2, 2, 1, 1, 1, 1)
    hypotheses = [
        (9, 4, 4, 2, 2, 1, 2, 1, 1, 1),
        (4, 4, 2, 9, 2, 2, 1, 1, 1, 1),
        (1, 4, 4, 2, 2, 2, 9, 1, 1, 1),
        (1, 4, 4, 2, 2, 2, 1, 1, 1, 9),
        truth[::-1],
        truth,
    ]
    names = [f"d{place:02}" for place in range(1, 11)]
    items = [f"item{place}" for place in range(1, 6)]
    days = {"day1": (100, 80, 90, 15, 10), "day2": (100, 20, 90, 15, 10)}
    files = {
        "papers/scheel.qrels": qrels(("table1", *pair) for pair in scheel.items()),
        "papers/scheel-doubled.qrels": qrels(("table1", d, 2 * grade) for d, grade in scheel.items()),
        "papers/scheel.run": trec_run("scheel", {"table1": {d: 8.0 - i for i, d in enumerate(scheel)}}, 0),
        "papers/katerenchuk.qrels": qrels(("table1", *pair) for pair in zip(names, truth, strict=True)),
        "papers/moniz.qrels": qrels((day, *row) for day in days for row in zip(items, days[day], strict=True)),
        "papers/moniz.run": trec_run(
            "moniz", {day: {d: 5.0 - i for i, d in enumerate(items)} for day in days}, 0
        ),
    }
    for number, row in enumerate(hypotheses, 1):
        scores = dict(zip(names, map(float, row), strict=True))
        files[f"papers/h{number}.run"] = trec_run(f"h{number}", {"table1": scores}, 0)
    return files


DEPTH = 25
# how much each grade adds to the score: bm25 tells relevant from not, dense the best from the good
SYSTEMS = {
    "bm25": (0.0, 1.3, 1.5, 1.6, 1.7),
    "dense": (0.0, 0.5, 1.1, 2.0, 2.9),
    "hybrid": (0.0, 1.1, 1.6, 2.1, 2.6),
}


def search() -> dict[str, str]:
    """Three systems on fifty topics."""
    random = Random(SEED)
    judged: list[tuple[str, str, float]] = []
    runs: dict[str, dict[str, dict[str, float]]] = {name: {} for name in SYSTEMS}
    for topic in range(401, 451):
        documents = _newswire(random, 60)
        grades = [_grade(random) for _ in range(28)]
        if topic == 417:
            grades = [0] * 28  # nothing was relevant
        if topic == 433:
            grades = [1] * 6  # one grade only: rankDCG has no value
        graded = [*zip(documents, grades + [0] * (60 - len(grades)), strict=True)]
        judged += [(str(topic), *pair) for pair in sorted(graded[: len(grades)])]
        for name in SYSTEMS:
            runs[name][str(topic)] = _best(_scores(random, name, graded), DEPTH)
    del runs["dense"]["408"], runs["dense"]["429"]  # found nothing
    runs["hybrid"]["451"] = _best({d: _noise(random) for d in _newswire(random, 60)}, DEPTH)  # not judged
    bm25 = {topic: {d: round(4 * s + 9, 2) for d, s in of.items()} for topic, of in runs["bm25"].items()}
    return {
        "search/qrels.txt": qrels(judged),
        "search/bm25.run": trec_run("bm25", bm25, 2),  # so few decimals that there are ties
        "search/dense.run": trec_run("dense", runs["dense"], 5),
        "search/hybrid.run": trec_run("hybrid", runs["hybrid"], 5),
        **judges(judged, runs["dense"]),
    }


def judges(judged: list[tuple[str, str, float]], favoured: dict[str, dict[str, float]]) -> dict[str, str]:
    """People's judgments of twelve topics that were drawn, and a model's of all, which is lenient, and likes
    what a system has among its first ten.
    """
    random = Random(SEED + 5)
    topics = sorted({topic for topic, _, _ in judged})
    drawn = {topics.pop(int(random.random() * len(topics))) for _ in range(12)}
    of_model = []
    for topic, document, grade in judged:
        liked = document in list(favoured.get(topic, {}))[:10]
        change = (random.random() < (0.4 if liked else 0.15)) - (random.random() < 0.1)
        of_model.append((topic, document, min(max(int(grade) + change, 0), 4)))
    return {
        "search/people.qrels": qrels(row for row in judged if row[0] in drawn),
        "search/llm.qrels": qrels(of_model),
    }


BATCH = """\
# What 'gradeval batch' evaluates. Paths are relative to this file.
metrics = ["nDCG@10", "AP"]
qrels = "{collection}/qrels.txt"
runs = "{collection}/{system}.run"
systems = ["bm25", "dense", "hybrid"]
collections = ["search", "questions"]
"""


def questions() -> dict[str, str]:
    """A second collection, on which dense was not run."""
    random = Random(SEED + 3)
    judged: list[tuple[str, str, float]] = []
    runs: dict[str, dict[str, dict[str, float]]] = {"bm25": {}, "hybrid": {}}
    for question in range(1, 31):
        documents = [f"passage{question * 100 + place}" for place in range(20)]
        grades = [2, 1, *(_grade(random) for _ in range(10)), *[0] * 8]
        graded = [*zip(documents, grades, strict=True)]
        judged += [(f"Q{question}", *pair) for pair in graded[:12]]
        for name, of_question in runs.items():
            of_question[f"Q{question}"] = _best(_scores(random, name, graded), 10)
    return {
        "questions/qrels.txt": qrels(judged),
        **{f"questions/{name}.run": trec_run(name, of, 5) for name, of in runs.items()},
    }


def _grade(random: Random) -> int:
    draw = random.random()
    return sum(draw < limit for limit in (0.42, 0.24, 0.12, 0.05))


def _scores(random: Random, system: str, graded: list[tuple[str, int]]) -> dict[str, float]:
    return {document: SYSTEMS[system][grade] + _noise(random) for document, grade in graded}


def _noise(random: Random) -> float:
    """About normal, mean 0, standard deviation 1."""
    return sum(random.random() for _ in range(12)) - 6.0


def _newswire(random: Random, count: int) -> list[str]:
    """Ids such as newswire collections have, each once, in no order."""
    ids: dict[str, None] = {}
    while len(ids) < count:
        kind, number = int(random.random() * 3), int(random.random() * 15000)
        month, day, year = (1 + int(random.random() * limit) for limit in (12, 28, 4))
        forms = f"FT9{year}{year}-{number}", f"LA{month:02}{day:02}90-{number % 200:04}", f"FBIS3-{number}"
        ids[forms[kind]] = None
    return list(ids)


def _best(scores: dict[str, float], count: int) -> dict[str, float]:
    return dict(sorted(scores.items(), key=lambda row: -row[1])[:count])


def popularity() -> dict[str, str]:
    """Most items are shared by nobody, and a few by thousands."""
    random = Random(SEED + 1)
    judged: list[tuple[str, str, float]] = []
    runs: dict[str, dict[str, dict[str, float]]] = {"order": {}, "bands": {}}
    for hour in ("06", "09", "12", "15", "18", "21"):
        topic = f"2016-03-01T{hour}"
        items = [f"news{int(hour) * 1000 + place}" for place in range(60)]
        shares = _shares(random, len(items))
        truth = dict(zip(items, shares, strict=True))
        judged += [
            (topic, item, truth[item]) for item in sorted(items, key=lambda item: (random.random(), item))
        ]
        # right about the order, but the tenth item is one that should not be there
        order = [*items[:9], items[12], *items[10:12], items[9], *items[13:]]
        # right about which items are the ten best, and wrong about their order
        bands = [*items[:10][::-1], *items[10:]]
        for name, ranked in (("order", order), ("bands", bands)):
            runs[name][topic] = {item: float(len(items) - place) for place, item in enumerate(ranked)}
    return {
        "popularity/qrels.txt": qrels(judged),
        **{f"popularity/{name}.run": trec_run(name, of, 0) for name, of in runs.items()},
    }


def _shares(random: Random, count: int) -> list[int]:
    """From the most: two fifths differ over four orders of magnitude, the rest are 0."""
    found: set[int] = set()
    while len(found) < count * 2 // 5:
        magnitude = random.random() * (0.3 + 0.7 * random.random()) * 4.2  # small ones are commoner
        whole = int(magnitude)
        found.add(int(10**whole * (1 + 9 * (magnitude - whole))))
    return sorted(found, reverse=True) + [0] * (count - len(found))


STRENGTHS = (0.3, 0.9, 0.0, 0.6, 0.45)


def letor() -> dict[str, str]:
    random = Random(SEED + 2)
    lines, scores = [], []
    for query in range(1, 13):
        for place in range(1, 11):
            grade = min(2, int(random.random() * random.random() * 5))
            values = [round((strength * grade + 2 * random.random()) / 4, 6) for strength in STRENGTHS]
            features = " ".join(f"{number}:{value:.6f}" for number, value in enumerate(values, 1))
            name = f"MED-{query * 100 + place:05}"
            lines.append(f"{grade} qid:{query} {features} # docid = {name}\n")
            scores.append(f"{sum(s * v for s, v in zip(STRENGTHS, values, strict=True)):.6f}\n")
    return {"letor/test.letor": "".join(lines), "letor/model.scores": "".join(scores)}


def qrels(rows: Iterable[tuple[str, str, float]]) -> str:
    return "".join(f"{query} 0 {document} {grade}\n" for query, document, grade in rows)


def trec_run(tag: str, queries: dict[str, dict[str, float]], digits: int) -> str:
    return "".join(
        f"{query} Q0 {document} {place} {score:.{digits}f} {tag}\n"
        for query, scores in queries.items()
        for place, (document, score) in enumerate(_best(scores, len(scores)).items(), 1)
    )


def main() -> None:
    folder = ROOT / FOLDER
    for path, text in data().items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(text.encode())
    for case in cases():
        (folder / case.expected).write_bytes(run(case))


if __name__ == "__main__":
    main()

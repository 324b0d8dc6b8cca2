"""gradeval batch on two collections and two systems."""

import csv
import io

from cli.command import Done, gradeval

MANIFEST = """\
metrics = "AP P@2"
qrels = "{collection}/qrels"
runs = "{collection}/{system}.run"
systems = ["good", "bad <b>"]
collections = ["north", "south"]
"""


def batch(*args: object, code: int = 0, **more: object) -> Done:
    done = gradeval("batch", *args, **more)  # type: ignore[arg-type]
    assert done.code == code, done.err
    return done


def values(*args: object) -> dict[tuple[str, str, str], float]:
    found = csv.DictReader(
        io.StringIO(batch("m.toml", "--quiet", "--digits", "full", *args).out), delimiter="\t"
    )
    return {(row["collection"], row["system"], row["metric"]): float(row["value"]) for row in found}

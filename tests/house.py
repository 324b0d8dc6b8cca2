"""The limits of the house: what makes a function hard to review is counted, and `make lint` fails above one.

python tests/house.py prints the counts; --list also where each is, above its limit; --list all of all.
"""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from radon.complexity import cc_visit

ROOT = Path(__file__).parents[1]
VAGUE = frozenset("of how what told each found one place ends left rest known others".split())
MOST_POSITIONAL = 5
MOST_RETURNED = 3
COMPLEX, TOO_COMPLEX = 15, 20  # as radon counts

LIMITS = {
    "functions of a complexity above 20": 0,
    "functions of a complexity above 15": 30,
    "chained conditional expressions": 0,
    "calls with more than five positional arguments": 20,
    "return types of a tuple of more than three": 0,
    "parameters **how": 0,
    "uses of names that name nothing": 25,
    "public class names borne twice": 0,
}


def modules() -> Iterator[tuple[str, str, ast.Module]]:
    """The path, the text and the syntax tree of each module."""
    for path in sorted((ROOT / "gradeval").rglob("*.py")):
        text = path.read_text("utf-8")
        yield str(path.relative_to(ROOT)), text, ast.parse(text)


def findings() -> dict[str, list[str]]:
    """For each limit the places that count towards it."""
    places: dict[str, list[str]] = {name: [] for name in LIMITS}
    classes: dict[str, list[str]] = defaultdict(list)
    for path, text, tree in modules():
        for block in cc_visit(text):
            place = f"{path}:{block.lineno}: {block.name} {block.complexity}"
            if block.complexity > TOO_COMPLEX:
                places["functions of a complexity above 20"].append(place)
            if block.complexity > COMPLEX:
                places["functions of a complexity above 15"].append(place)
        for node in ast.walk(tree):
            for name in faults(node):
                places[name].append(f"{path}:{getattr(node, 'lineno', 0)}: {ast.unparse(node)[:80]}")
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                classes[node.name].append(f"{path}:{node.lineno}: {node.name}")
    twice = (bearers for bearers in classes.values() if len(bearers) > 1)
    places["public class names borne twice"] = [", ".join(bearers) for bearers in twice]
    return places


def faults(node: ast.AST) -> Iterator[str]:
    """The limits that a node of the tree counts towards."""
    if isinstance(node, ast.IfExp) and any(isinstance(part, ast.IfExp) for part in ast.iter_child_nodes(node)):
        yield "chained conditional expressions"
    if isinstance(node, ast.Call) and len(node.args) > MOST_POSITIONAL:
        yield "calls with more than five positional arguments"
    if isinstance(node, ast.Name) and node.id in VAGUE:
        yield "uses of names that name nothing"
    if isinstance(node, ast.arg) and node.arg in VAGUE:
        yield "uses of names that name nothing"
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        if node.args.kwarg is not None and node.args.kwarg.arg == "how":
            yield "parameters **how"
        if returns_many(node.returns):
            yield "return types of a tuple of more than three"


def returns_many(annotation: ast.expr | None) -> bool:
    is_tuple = (
        isinstance(annotation, ast.Subscript)
        and isinstance(annotation.value, ast.Name)
        and annotation.value.id == "tuple"
    )
    return is_tuple and isinstance(annotation.slice, ast.Tuple) and len(annotation.slice.elts) > MOST_RETURNED


def main() -> int:
    """Print the counts; 1 if one is above its limit."""
    listed, shows_all = "--list" in sys.argv, "all" in sys.argv
    is_above = False
    for name, places in findings().items():
        exceeds = len(places) > LIMITS[name]
        is_above |= exceeds
        print(f"{len(places):>5} of at most {LIMITS[name]:>3}  {name}{'  <- too many' if exceeds else ''}")
        if listed and (exceeds or shows_all):
            print(*(f"      {place}" for place in places), sep="\n")
    return int(is_above)


if __name__ == "__main__":
    sys.exit(main())

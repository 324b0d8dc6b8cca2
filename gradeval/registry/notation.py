"""The notation of metrics as text: lists of names, and a name with its parameters and cutoffs."""

from __future__ import annotations

from gradeval.errors import MetricError


def split(text: str) -> list[str]:
    """'AP nDCG@5,10, P(rel=2)@5' -> the single names, separated by spaces, or by commas before a letter."""
    names, start, depth = [], 0, 0
    for i, char in enumerate(text):
        depth = max(depth + (char == "(") - (char == ")"), 0)
        following = text[i + 1 : i + 2]
        if depth == 0 and (char.isspace() or (char == "," and (following.isalpha() or following.isspace()))):
            names.append(text[start:i])
            start = i + 1
    names.append(text[start:])
    return [name.strip().rstrip(",") for name in names if name.strip(" ,\t\n")]


def parts_of(text: str) -> tuple[str, str, str | None]:
    """'nDCG(gain=exp)@10' -> 'nDCG', 'gain=exp', '10'; None where there is no '@'."""
    opened, closed = text.find("("), text.rfind(")")
    if opened < 0:
        if closed >= 0:
            raise MetricError(f"{text}: ')' without '('")
        name, at, cutoffs = text.partition("@")
        inside = ""
    else:
        if closed < opened:
            raise MetricError(f"{text}: '(' is not closed")
        name, inside, rest = text[:opened], text[opened + 1 : closed], text[closed + 1 :]
        for char in "()":
            if char in inside:
                raise MetricError(f"{text}: '{char}' inside the parentheses")
        if "@" in name:
            raise MetricError(f"{text}: the cutoff comes last", hint=example("nDCG(gain=exp)@10"))
        left, at, cutoffs = rest.partition("@")
        if left:
            raise MetricError(f"{text}: '{left}' after ')'", hint=example("nDCG(gain=exp)@10"))
    if not name:
        raise MetricError(f"{text}: the metric name is missing", hint=example("nDCG@10"))
    return name, inside, cutoffs if at else None


def items_of(inside: str) -> list[tuple[str, str | None]]:
    """'a=1, b={0:0,1:5}, c="x,y"' -> key and value of each; commas in quotes and braces do not separate."""
    found, start, closing = [], 0, ""
    for i, char in enumerate(inside):
        if closing:
            closing = "" if char == closing else closing
        elif char in "{'\"":
            closing = "}" if char == "{" else char
        elif char == ",":
            found.append(inside[start:i])
            start = i + 1
    found = [*found, inside[start:]] if inside.strip() else []
    pairs = [[part.strip() for part in item.partition("=")] for item in found]
    return [(key, _unquoted(value) if equals else None) for key, equals, value in pairs]


def _unquoted(value: str) -> str:
    """A value in Python's notation, in ours: without quotes, {0:0,1:5} as 0:0/1:5."""
    if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
        return value[1:-1]
    if value.startswith("{") and value.endswith("}"):
        return "/".join(sorted(("".join(one.split()) for one in value[1:-1].split(",")), key=_grade))
    return value


def _grade(pair: str) -> float:
    try:
        return float(pair.partition(":")[0])
    except ValueError:
        return 0.0  # the error is raised where the value is parsed


def example(text: str) -> str:
    return f"for example {text}"

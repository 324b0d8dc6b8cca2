"""The page of the guide about the Python API, made of docstrings; tests/test_keywords.py writes it."""

import inspect
import re
import textwrap
from collections.abc import Callable, Iterator
from functools import cached_property
from importlib import import_module
from typing import Any

import gradeval

HEAD = """# API

Every public function and class of Python: parameters, what is returned and raised, and an example.

`python tests/test_keywords.py` makes this page of the docstrings, which `help()` shows too. [Python](python.md)
introduces them; `**options` are those that are listed, named as the command's options, with `_` for `-`.
Classes that functions return, and that have no public name, are last. `gradeval.spark` has a page of its own:
[Spark](spark.md).
"""
OPTIONS = "\nOptions, each with its default:\n"
WIDTH = 122
SHOWN_MODULES = ("plot", "study")
RETURNED = {  # classes without a public name, by module
    "commands.explain.explain": "Explanations",
    "commands.plot.pictures": "Picture",
    "commands.study.experiments": "Swaps",
    "commands.study.tables": "Study",
    "evaluation.training": "Scores",
    "tables.load": "OpenedQrels RunTable",
}


def functions() -> dict[str, Callable[..., Any]]:
    """The public functions by name, those of modules last."""
    names = sorted(gradeval.__all__, key=lambda name: (name != "evaluate", name))
    values = {f"gradeval.{name}": getattr(gradeval, name) for name in names}
    for module in SHOWN_MODULES:
        of_module = getattr(gradeval, module)
        values |= {f"gradeval.{module}.{name}": getattr(of_module, name) for name in of_module.__all__}
    return {name: value for name, value in values.items() if inspect.isfunction(value)}


def page() -> str:
    """A section for each function, then for each class."""
    explained: dict[str, str] = {}  # the line of each option -> the function that has it first
    parts = [Section(name, function).text(explained) for name, function in functions().items()]
    values = ((name, getattr(gradeval, name)) for name in sorted(gradeval.__all__))
    classes = (of_class(f"gradeval.{name}", value) for name, value in values if inspect.isclass(value))
    returned = (
        of_class(f"{name}, which functions return", getattr(import_module(f"gradeval.{module}"), name))
        for module, names in RETURNED.items()
        for name in names.split()
    )
    return "\n".join([HEAD, *parts, *classes, *returned])


class Section:
    """What the docstring of a function says, in its parts."""

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        self.name = name
        self.code = inspect.unwrap(function).__code__
        self.signature = inspect.signature(function)
        about, _, options = (function.__doc__ or "").partition(OPTIONS)
        self.options = dict(re.findall(r"^    (\w+): (.*)$", options, re.MULTILINE))
        self.paragraphs = inspect.cleandoc(about).split("\n\n")

    @cached_property
    def own(self) -> list[str]:
        """The parameters that are written, not those of **options."""
        names = self.code.co_varnames[: self.code.co_argcount + self.code.co_kwonlyargcount]
        return [name for name in names if name != "self"]

    @cached_property
    def examples(self) -> list[str]:
        blocks = [textwrap.dedent(text) for text in self.paragraphs if text.lstrip().startswith(">>>")]
        return [re.sub(r"^(>>>|\.\.\.) ?", "", block, flags=re.MULTILINE) for block in blocks]

    @cached_property
    def prose(self) -> list[str]:
        """The paragraphs without examples, each in one line."""
        texts = (" ".join(text.split()) for text in self.paragraphs if not text.lstrip().startswith(">>>"))
        return [text for text in texts if text]

    @cached_property
    def pieces(self) -> dict[str, str]:
        """The names of parameters, 'Returns', 'Raises' and 'Source' -> what is said of them; '': the rest."""
        names = "|".join(map(re.escape, [*self.own, "options", *self.options]))
        lead = rf"(?:^|(?<=[.)] ))((?:{names})(?:, (?:{names}))*): "
        lead += r"|(?:^|(?<=\. ))(Returns|Raises|Source:?)(?= )"
        pieces: dict[str, str] = {"": self.prose[0]}
        for paragraph in self.prose[1:]:
            before, *parts = re.split(lead, paragraph)
            if before.strip():
                pieces[""] += "\n\n" + before.strip()
            for of_names, word, text in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
                key = of_names or (word or "").rstrip(":")
                pieces[key] = f"{pieces[key]} {text.strip()}" if key in pieces else text.strip()
        return pieces

    @property
    def documented(self) -> set[str]:
        """The parameters of which there is a line."""
        return {name for key in self.pieces for name in key.split(", ")}

    def text(self, explained: dict[str, str]) -> str:
        pieces = dict(self.pieces)
        about = pieces.pop("")
        further = {key: pieces.pop(key, "") for key in ("Returns", "Raises", "Source")}
        result = str(self.signature.return_annotation).strip("'")
        further["Returns"] = f"`{result}`" + (f": {further['Returns']}" if further["Returns"] else "")
        lines = [f"- {listed(names)}: {text}" for names, text in pieces.items()]
        by_function: dict[str, list[str]] = {}
        for name, option in self.options.items():
            by_function.setdefault(explained.setdefault(f"{name}: {option}", self.name), []).append(name)
        own = by_function.pop(self.name, [])
        lines += [f"- `{name}`: {self.options[name]}" for name in own if name not in pieces]
        lines += [f"- as in `{where}`: {listed(', '.join(of))}" for where, of in by_function.items()]
        parts = [f"## {self.name}", "```py\n" + "\n".join(self.examples) + "\n```", *about.split("\n\n")]
        parts.append(f"Parameters of `{self.call}`:")
        parts += ["\n".join(map(wrapped, lines))] if lines else ["none"]
        parts.append("\n".join(wrapped(f"- {key}: {text}") for key, text in further.items() if text))
        is_made = ("```", "- ", "## ")
        return "\n\n".join(text if text.startswith(is_made) else wrapped(text) for text in parts) + "\n"

    @property
    def call(self) -> str:
        """compare(qrels, runs=None, metrics=None, **options)"""
        words: list[str] = []
        for name, parameter in self.signature.parameters.items():
            if name not in self.own:
                continue
            if parameter.kind is parameter.KEYWORD_ONLY and "*" not in words:
                words.append("*")
            has_default = parameter.default is not parameter.empty
            words.append(f"{name}={parameter.default!r}" if has_default else name)
        words += ["**options"] if self.options else []
        return f"{self.name.rpartition('.')[2]}({', '.join(words)})"


def of_class(name: str, cls: type) -> str:
    """A class, and a line for each of its public methods and properties."""
    about = inspect.cleandoc(cls.__doc__ or "").split("\n\n")
    parts = [f"## {name}"]
    for text in about:
        is_example = text.lstrip().startswith(">>>")
        code = re.sub(r"^(>>>|\.\.\.) ?", "", textwrap.dedent(text), flags=re.MULTILINE)
        parts.append(f"```py\n{code}\n```" if is_example else wrapped(" ".join(text.split())))
    if members := [*lines_of_members(cls)]:
        parts.append("\n".join(map(wrapped, members)))
    return "\n\n".join(parts) + "\n"


def lines_of_members(cls: type) -> Iterator[str]:
    """Of those of gradeval that have docstrings, for users."""
    public = getattr(inspect.getmodule(cls), "_PUBLIC", None) if cls is gradeval.Results else None
    for name, value in inspect.getmembers(cls):
        if name.startswith("_") or (public is not None and name not in public):
            continue
        attributes = (getattr(value, attribute, None) for attribute in ("fget", "function", "func"))
        function = next(filter(None, attributes), value)
        if not (inspect.isfunction(function) and function.__doc__ and function.__module__[:9] == "gradeval."):
            continue
        is_method = inspect.isfunction(value) or inspect.ismethod(value)
        shown = Section(f".{name}", value).call.replace("(self, ", "(") if is_method else name
        about = inspect.cleandoc(function.__doc__.partition(OPTIONS)[0])
        prose = (text for text in about.split("\n\n") if not text.lstrip().startswith(">>>"))
        yield f"- `{shown}`: " + " ".join(" ".join(prose).split())


def listed(names: str) -> str:
    return ", ".join(f"`{name}`" for name in names.split(", "))


def wrapped(text: str) -> str:
    indent = "  " if text.startswith("- ") else ""
    return textwrap.fill(text, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)

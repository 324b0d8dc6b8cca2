"""gradeval guide: its pages, the list of topics, the search, and that no kind of notice is missing."""

import re
from pathlib import Path

import pytest
from cli.command import fails, gradeval
from click.shell_completion import ShellComplete
from helpers import some

import gradeval as package
from gradeval.cli import app
from gradeval.commands.guide import TOPICS
from gradeval.notices import Notice, NoticeKind, lines
from gradeval.version import __version__

GUIDE = Path(package.__file__).parent / "guide"
ROOT = Path(package.__file__).parents[1]


def test_each_page_is_a_topic() -> None:
    assert sorted(path.stem for path in GUIDE.glob("*.md")) == sorted(TOPICS)
    done = gradeval("guide")
    assert [line.split()[0] for line in done.out.splitlines()[: len(TOPICS)]] == [*TOPICS]
    readme = (ROOT / "README.md").read_text("utf-8")
    for topic in TOPICS:
        text = (GUIDE / f"{topic}.md").read_text("utf-8")
        assert gradeval("guide", topic) == (0, text, "")
        title, _, about, *_ = text.split("\n")
        assert title.startswith("# ") and about in done.out and about in readme


def test_the_version_has_an_entry() -> None:
    headings = re.findall(r"^## (.*)$", (GUIDE / "changelog.md").read_text("utf-8"), re.MULTILINE)
    assert __version__ in headings
    assert set(headings[: headings.index(__version__)]) <= {"Unreleased"}


def test_on_a_terminal_it_is_formatted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "90")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    styled = gradeval("guide", "comparing", terminal=True).out
    assert "\x1b[1mComparing runs\x1b[0m" in styled
    monkeypatch.setenv("NO_COLOR", "1")
    for topic in some(TOPICS, 4):
        plain = gradeval("guide", topic, terminal=True).out
        assert "\x1b" not in plain and "```" not in plain and "](" not in plain
        assert max(map(len, plain.splitlines())) <= 90


def test_search() -> None:
    [line] = gradeval("guide", "--search", "bca BOOTSTRAP").out.splitlines()
    assert line.startswith("comparing: ") and "--test bootstrap" in line
    assert all(
        line.startswith("warnings: ") for line in gradeval("guide", "--search", "not_in_both").out.splitlines()
    )
    for line in gradeval("guide", "--search", "baseline =").out.splitlines():
        assert line.startswith("ci: ") and ": #" not in line  # a comment of a block is no heading
    assert fails("guide", "--search", "xyzzy") == "gradeval: no page of the guide contains 'xyzzy'"
    assert "mutually exclusive" in fails("guide", "ci", "--search", "x")
    assert fails("guide", "--search", "").startswith("gradeval: --search requires a word.")
    # topics are completed
    completed = ShellComplete(app, {}, "gradeval", "_GRADEVAL_COMPLETE").get_completions(["guide"], "p")
    assert [item.value for item in completed] == ["pictures", "python", "plugins", "promise"]


def test_search_by_words_and_synonyms() -> None:
    """All words in a line, or in a paragraph, or other words for the same."""
    lines = gradeval("guide", "--search", "weights traffic").out.splitlines()
    assert lines and all("weights" in line.lower() and "traffic" in line.lower() for line in lines)
    for words in (
        "leaderboard",
        "rank correlation",
        "chunk",
        "LLM",
        "early stopping",
    ):
        assert gradeval("guide", "--search", words).out, words
    for words, said in {
        "statistical significance": "comparing: ",
        "statistical test": "comparing: ",
        "shared ranks": "`--rank`",
        "shared task": "--teams",
        "repair": "gradeval validate",
        "names from tags": "--name-by",
        "significance": "comparing: Comparing runs: Is B better than A",
        "mean reciprocal rank": "RR@10",
    }.items():
        assert said in gradeval("guide", "--search", words).out.splitlines()[0], words
    text = gradeval("guide", "--search", "RBO").out
    assert "RBO" in text.splitlines()[0] and "--verbose" not in text
    assert "P@10" in gradeval("guide", "--search", "precision at 10").out.splitlines()[0]
    for words, same in (("leader board", "leaderboard"), ("early-stopping", "early stopping")):
        assert gradeval("guide", "--search", same).out in gradeval("guide", "--search", words).out
    first = {"rank correlation": "tau", "RBO": "Compat", "hit rate": "Success"}
    for words, metric in first.items():
        listed = gradeval("metrics", "--search", words).out.splitlines()
        assert metric in [line.split()[0] for line in listed[1:5] if line], words
    assert gradeval("metrics", "--search", "precision at 10").out.splitlines()[1].split()[0] == "P"
    assert "\"gradeval guide --search 'early stopping'\"" in fails("metrics", "--search", "early stopping")
    assert "\"gradeval metrics --search 'early precision'\" finds" in fails("metrics", "early precision")


def test_unknown_topics() -> None:
    assert "--search requires a word" in fails("metrics", "--search", " ")
    assert gradeval("guide", "CI").out == gradeval("guide", "ci").out
    assert "Choose from evaluating, formats, " in fails("guide", "zzz")


def has_message(example: str, kind: NoticeKind) -> bool:
    """Whether three words of the example, or all, stand together in a sentence of the kind."""
    words = re.findall(r"[a-z]+|N", re.sub(r"[\d.,]+", "N", example))[:12]
    sentences = [line for n in (1, 3) for line in lines([Notice(kind, "qrels", n, "AP@5", rule="2", total=9)])]
    said = " ".join(re.findall(r"[a-z]+|N", re.sub(r"[\d.,]+", "N", " ".join(sentences))))
    return any(" ".join(words[i : i + 3]) in said for i in range(max(len(words) - 2, 1)))


def test_no_kind_of_notice_is_missing() -> None:
    """Each has a section: whether it is a note, and the options that accept it."""
    text = (GUIDE / "warnings.md").read_text("utf-8")
    sections = dict(re.findall(r"^### (\w+)\n\n(.*?)(?=\n##|\Z)", text, re.MULTILINE | re.DOTALL))
    assert sections.keys() == {kind.value for kind in NoticeKind}
    for kind in NoticeKind:
        section, row = " ".join(sections[kind.value].split()), kind.row
        is_made_elsewhere = row.text == "{rule}"  # the whole sentence is that of a command
        assert is_made_elsewhere or has_message(section.split("*")[1], kind), f"{kind.value}: no example"
        assert (f"`--allow {kind.value}`" in section) != row.is_note, kind
        assert ("* A note" in section) == row.is_note, kind
    assert "`--no-relevant" in sections["no_relevant"] and "`--ties" in sections["ties"]

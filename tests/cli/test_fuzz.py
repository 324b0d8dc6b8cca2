"""Random bytes, and valid files with random changes: never an exception, and stdout is empty where it fails."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from .command import LETOR, QRELS, RUN, gradeval

FILES = {"q": QRELS.encode(), "r": RUN.encode(), "l": LETOR.encode(), "s": b"1\n2\n0.5\n-1e-3\n"}
CALLS = [("q", "r"), ("l", "s"), ("l", "--feature", "1,2"), ("q", "l", "--feature", "1"), ("l", "r")]
PIECES = [
    b"\0", b"\n", b"\r", b"\t", b" ", b"  ", b"#", b":", b"qid:", b"qid:1", b"docid", b"docid = ", b"=",
    b".", b"-", b"+", b"e", b"1e", b"e5", b"nan", b"inf", b"1e999", b"1e-999", b"0x1", b"1_0", b"9" * 25,
    b"0." + b"1" * 40, b"\xff", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\xe2\x80\x83", b"\x85", b"\x0b", b"\x0c",
    b"\x1c", b"\x1b[2J", b"q1", b"q1 0 a 3\n", b"q1 Q0 a 1 7 t\n", b"2 qid:1 1:3 # a\n", b"1 1:1\n", b"1\n",
    b"99999999:1", b"123456789:1", b"-1:1", b"\x1f\x8b", b"BZh", b"\xfd7zXZ\0", b"PK\3\4", b"\x28\xb5\x2f\xfd",
]  # fmt: skip
WORDS = """
q r l s none - . -- -m AP -q -n -l -M -J -c --queries both --query-ids q1 --ties best --zero-grade 1 0 -1
--by-level -f json table --digits full -j 2 --qrels-format trec letor --run-format scores --feature
--qrels-feature --groups --quiet --strict eval metrics nDCG --help --version
"""
PLACE = st.integers(0, 10**4)
CHANGE = st.tuples(PLACE, st.integers(0, 12), st.sampled_from([b"", *PIECES]) | st.binary(max_size=6))
TEXT = st.binary(max_size=200) | st.lists(st.sampled_from(PIECES), max_size=40).map(b"".join)


@pytest.fixture(scope="module", autouse=True)
def _folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    before = os.getcwd()
    os.chdir(tmp_path_factory.mktemp("fuzz"))
    yield
    os.chdir(before)


def check(call: tuple[str, ...], files: dict[str, bytes], *more: str) -> None:
    for name, text in (FILES | files).items():
        Path(name).write_bytes(text)
    done = gradeval(*call, "-q", "-j", "1", *more)
    assert done.code in (0, 2)
    runs = 2 if "1,2" in call else 1  # of several the good ones are printed
    assert done.out or done.code == 2
    assert not done.out or done.code == 0 or runs > 1
    assert done.code == 0 or done.err


def changed(text: bytes, changes: list[tuple[int, int, bytes]]) -> bytes:
    for place, length, new in changes:
        at = place % (len(text) + 1)
        text = text[:at] + new + text[at + length :]
    return text


@pytest.mark.parametrize("call", CALLS, ids=" ".join)
@pytest.mark.parametrize("place", [0, 1])
@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_changed_files(call: tuple[str, ...], place: int, data: st.DataObject) -> None:
    name = call[place if call[1] in FILES else 0]
    text = changed(FILES[name], data.draw(st.lists(CHANGE, min_size=1, max_size=5)))
    check(call, {name: text})


@pytest.mark.parametrize("call", CALLS, ids=" ".join)
@pytest.mark.parametrize("place", [0, 1])
@settings(deadline=None, max_examples=40)
@given(text=TEXT)
def test_random_files(call: tuple[str, ...], place: int, text: bytes) -> None:
    check(call, {call[place if call[1] in FILES else 0]: text})


@settings(deadline=None, max_examples=60)
@given(changes=st.lists(CHANGE, min_size=1, max_size=3), cut=st.integers(0, 40), run=st.booleans())
def test_changed_archives(changes: list[tuple[int, int, bytes]], cut: int, run: bool) -> None:
    name = "r" if run else "q"
    packed = changed(gzip.compress(FILES[name] * 9, mtime=0), changes)
    check(("q", "r"), {name: packed[: len(packed) - cut]})


@pytest.mark.parametrize("option", ["--qrels-format", "--run-format"])
@settings(deadline=None, max_examples=60)
@given(text=TEXT, data=st.data())
def test_forced_formats(option: str, text: bytes, data: st.DataObject) -> None:
    form = data.draw(st.sampled_from(["trec", "letor", "scores"][: 2 if option == "--qrels-format" else 3]))
    call = data.draw(st.sampled_from(CALLS))
    check(call, {call[0 if option == "--qrels-format" or call[1] not in FILES else 1]: text}, option, form)


@settings(deadline=None, max_examples=150)
@given(
    name=st.text("nDCGAPR@@10,,.5_()=rel gain=exp:/-+eµφ\0\udcff", max_size=14)
    | st.sampled_from(["AP", "nDCG", "ndcg_cut", "P", "nDCGphi", "set_F", "scaled_utility"]).flatmap(
        lambda name: st.text("@(),=.:_/0159-erlxgain ", max_size=10).map(lambda more: name + more)
    )
)
def test_names_of_metrics(name: str) -> None:
    check(("q", "r"), {}, f"--metric={name}")
    done = gradeval("metrics", "--", name)
    assert done.code in (0, 2)


@settings(deadline=None, max_examples=100)
@given(args=st.lists(st.sampled_from(WORDS.split()), max_size=7))
def test_any_arguments(args: list[str]) -> None:
    for name, text in FILES.items():
        Path(name).write_bytes(text)
    done = gradeval(*args, stdin="r")
    assert done.code in (0, 2)
    assert done.code == 0 or done.err

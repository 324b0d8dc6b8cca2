"""Memory that is kept, where the C library can be told so."""

import ctypes
import gc
from types import SimpleNamespace

import pytest

from gradeval import process


def test_what_the_library_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    told: dict[int, int] = {}
    monkeypatch.setattr(ctypes, "CDLL", lambda _: SimpleNamespace(mallopt=told.__setitem__))
    monkeypatch.setattr(process.os, "cpu_count", lambda: 3)
    environment: dict[str, str] = {}
    monkeypatch.setattr(process.os, "environ", environment)
    process.keep_freed()
    assert told == {-3: 32 << 20, -1: 512 << 20, -8: 3}  # M_MMAP_THRESHOLD, M_TRIM_THRESHOLD, M_ARENA_MAX
    assert environment == {"ARROW_DEFAULT_MEMORY_POOL": "system"}
    environment["ARROW_DEFAULT_MEMORY_POOL"] = "mimalloc"  # what a user has set
    process.keep_freed()
    assert environment == {"ARROW_DEFAULT_MEMORY_POOL": "mimalloc"}


@pytest.mark.parametrize("error", [OSError, TypeError, None])
def test_other_libraries(error: type[Exception] | None, monkeypatch: pytest.MonkeyPatch) -> None:
    def library(_: None) -> SimpleNamespace:
        if error:
            raise error
        return SimpleNamespace()

    monkeypatch.setattr(ctypes, "CDLL", library)
    process.keep_freed()


def test_garbage_is_searched_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    for name in ("freeze", "enable"):
        monkeypatch.setattr(gc, name, lambda name=name: done.append(name))
    process.imported()
    assert done == []  # nobody has stopped the search
    monkeypatch.setattr(gc, "isenabled", lambda: False)
    process.imported()
    assert done == ["freeze", "enable"]

"""A map over threads that keeps the order and reads no further ahead than it must."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


def default_jobs() -> int:
    """The processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def ordered_map(function: Callable[[T], R], items: Iterable[T], jobs: int) -> Iterator[R]:
    """function(item) for each item, in order, made by `jobs` threads that take the items in turn.

    The items are drawn by the threads themselves, so that a slow iterator is read while others compute.
    At most 2 * jobs results wait to be taken. An error of the function or the iterator is raised in its place.
    """
    if jobs == 1:
        yield from map(function, items)
        return
    source = iter(items)
    drawing = threading.Lock()
    changed = threading.Condition()
    ready: dict[int, tuple[R | None, BaseException | None]] = {}
    state = {"drawn": 0, "taken": 0, "total": -1, "stop": False}

    def work() -> None:
        while True:
            with drawing:
                place = state["drawn"]
                with changed:
                    changed.wait_for(lambda: state["stop"] or state["drawn"] < state["taken"] + 2 * jobs)
                    if state["stop"] or state["total"] >= 0:
                        return
                try:
                    item = next(source)
                except BaseException as error:
                    with changed:
                        if not isinstance(error, StopIteration):
                            ready[place] = (None, error)
                            place += 1
                        state["total"] = place
                        changed.notify_all()
                    return
                state["drawn"] = place + 1
            try:
                outcome: tuple[R | None, BaseException | None] = (function(item), None)
            except BaseException as error:
                outcome = (None, error)
            with changed:
                ready[place] = outcome
                changed.notify_all()

    threads = [threading.Thread(target=work, daemon=True) for _ in range(jobs)]
    for thread in threads:
        thread.start()
    try:
        while True:
            with changed:
                changed.wait_for(lambda: state["taken"] in ready or state["taken"] == state["total"])
                if state["taken"] == state["total"]:
                    return
                result, error = ready.pop(state["taken"])
                state["taken"] += 1
                changed.notify_all()
            if error is not None:
                raise error
            yield result  # type: ignore[misc]
    except KeyboardInterrupt:
        threads.clear()  # one may be waiting for what a pipe brings next: who interrupts waits for none
        raise
    finally:
        with changed:
            state["stop"] = True
            changed.notify_all()
        for thread in threads:
            thread.join()

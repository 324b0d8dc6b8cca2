"""An ordered map over threads with bounded read-ahead."""

from __future__ import annotations

import _thread
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


def default_jobs() -> int:
    """The number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def with_fewer(make: Callable[[int], R], jobs: int) -> R:
    """make(jobs), or make(1) if there is not enough memory for this many threads."""
    try:
        return make(jobs)
    except MemoryError:
        if jobs == 1:
            raise
    return make(1)  # outside the handler, which keeps the threads' memory alive


def map_all(function: Callable[[T, int], R], items: Sequence[T], jobs: int) -> list[R]:
    """function(item, threads) of each item, in order: several at a time, which share the threads, or one by one
    if there is not enough memory.
    """

    def of_all(jobs: int) -> list[R]:
        concurrent = max(1, min(jobs, len(items)))
        return list(ordered_map(lambda item: function(item, jobs // concurrent), items, concurrent))

    return with_fewer(of_all, jobs)


class _Threads:
    """Worker threads: as many as wanted, or as the system allows.

    threading.Thread.start() waits until the thread runs: forever, if lack of memory ends it before. These are
    not waited for to begin, and join() waits only for those that have begun.
    """

    def __init__(self, work: Callable[[], None], count: int) -> None:
        self.at_work: list[_thread.LockType] = []  # each is held by a thread from its beginning to its end
        self.members: set[int] = set()

        def run(at_work: _thread.LockType) -> None:
            if not at_work.acquire(blocking=False):  # it begins after join()
                return
            try:
                self.members.add(_thread.get_ident())
                work()
            except MemoryError:  # the caller's thread and the others do the work
                pass
            finally:
                at_work.release()

        for _ in range(count):
            try:
                self.at_work.append(_thread.allocate_lock())
                _thread.start_new_thread(run, (self.at_work[-1],))
            except (RuntimeError, MemoryError):  # can't start new thread
                break

    def join(self) -> None:
        """Wait for the threads that have begun; others do nothing when they begin."""
        if _thread.get_ident() in self.members:  # the garbage collector closes the map in one of them
            return
        for lock in self.at_work:
            lock.acquire()


def ordered_map(function: Callable[[T], R], items: Iterable[T], jobs: int) -> Iterator[R]:
    """function(item) for each item, in order, computed by `jobs` threads that take the items in turn.

    One of them is the caller's, which works too while it waits for a result. The threads draw the items
    themselves, so that a slow iterator is read while others compute. At most 2 * jobs results wait to be taken.
    An error of the function or the iterator is raised at its position. jobs is at least 1.

    concurrent.futures.ThreadPoolExecutor with a deque of futures took 8 % longer with a run of 67 MB, since the
    caller's thread only reads and waits there. It starts its threads by threading.Thread.start(): see _Threads.
    """
    if jobs < 1:
        raise ValueError(f"jobs must be at least 1, not {jobs}")
    if jobs == 1 or (isinstance(items, Sized) and len(items) < 2):
        yield from map(function, items)
        return
    source = iter(items)
    drawing = threading.Lock()
    changed = threading.Condition()
    ready: dict[int, tuple[R | None, BaseException | None]] = {}
    # lost: a result, with its thread
    state = {"drawn": 0, "taken": 0, "total": -1, "stop": False, "lost": False}

    def may_draw() -> bool:
        return not is_over() and state["drawn"] < state["taken"] + 2 * jobs

    def is_over() -> bool:
        return bool(state["stop"]) or state["total"] >= 0

    def is_next_there() -> bool:
        return state["taken"] in ready or state["taken"] == state["total"] or bool(state["lost"])

    def notify() -> None:
        with changed:
            changed.notify_all()

    def wait(until: Callable[[], bool]) -> None:
        """For a second at most: lack of memory may keep a thread from notifying the others."""
        with changed:
            changed.wait_for(until, timeout=1)

    def draw() -> tuple[int, T] | None:
        """The next item and its position, if there is one to draw."""
        if not may_draw():
            return None
        place = state["drawn"]
        try:
            item = next(source)
        except KeyboardInterrupt:  # of the caller's thread, which stops
            raise
        except StopIteration:
            state["total"] = place
            return None
        except BaseException as error:
            state["total"] = place + 1
            ready[place] = None, error
            return None
        state["drawn"] = place + 1
        return place, item

    def make_one(is_callers: bool) -> None:
        """Draw an item and make its result. The caller draws none while another thread does so."""
        if not drawing.acquire(blocking=not is_callers):
            return
        try:
            try:
                drawn = None if is_callers and is_next_there() else draw()
            finally:
                drawing.release()
                notify()
            if drawn is None:
                return
            place, item = drawn
            try:
                ready[place] = function(item), None
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                ready[place] = None, error
            notify()
        except MemoryError:
            state["lost"] = True
            raise

    def work() -> None:
        while not is_over():
            make_one(is_callers=False)
            wait(lambda: is_over() or may_draw())

    threads = _Threads(work, jobs - 1)
    is_interrupted = False
    try:
        while True:
            while not is_next_there():
                if may_draw():
                    make_one(is_callers=True)
                wait(lambda: is_next_there() or (may_draw() and not drawing.locked()))
            if state["taken"] == state["total"]:
                return
            if state["taken"] not in ready:
                raise MemoryError
            result, error = ready.pop(state["taken"])
            state["taken"] += 1
            notify()
            if error is not None:
                raise error
            yield result  # type: ignore[misc]
    except KeyboardInterrupt:
        is_interrupted = True  # a thread may be blocked on a pipe: do not wait for it
        raise
    finally:
        state["stop"] = True
        if not sys.is_finalizing():  # then Python has ended the threads, maybe while they held a lock
            notify()
            if not is_interrupted:
                threads.join()

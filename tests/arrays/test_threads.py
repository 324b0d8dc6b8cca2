"""The maps over threads and processes: order, how far one reads ahead, errors, and how they end; properties
computed once.
"""

import _thread
import contextlib
import itertools
import os
import random
import signal
import subprocess
import sys
import textwrap
import threading
import time
import warnings
from pathlib import Path
from types import SimpleNamespace

import pytest
from helpers import each, raises

from gradeval import process
from gradeval.arrays import cached_property
from gradeval.arrays import threads as parallel
from gradeval.arrays.threads import default_jobs, forked_map, ordered_map, with_fewer
from gradeval.errors import InputError

JOBS = [1, 2, 8]


@pytest.fixture(autouse=True)
def no_thread_is_left():
    before = _thread._count()
    yield
    until = time.monotonic() + 5
    while _thread._count() > before:  # one that has done its work may be about to end
        assert time.monotonic() < until
        time.sleep(0.001)


@each("jobs", JOBS)
@each("count", [0, 1, 2, 100])
def test_order_is_that_of_the_items(jobs, count):
    pause = random.Random(1)

    def function(item):
        time.sleep(pause.random() * 0.002)
        return item, item * item

    assert list(ordered_map(function, range(count), jobs)) == [(n, n * n) for n in range(count)]
    together = threading.Barrier(jobs, timeout=30)  # items are worked on at the same time
    assert len(list(ordered_map(lambda item: together.wait(), range(2 * jobs), jobs))) == 2 * jobs
    raises(ValueError, "jobs must be at least 1", list, ordered_map(str, [1, 2, 3], 0))


@each("jobs", JOBS)
def test_items_are_drawn_one_at_a_time_and_not_far_ahead(jobs):
    drawn = taken = 0
    drawing = threading.Lock()

    def items():
        nonlocal drawn
        for item in range(60):
            assert drawing.acquire(blocking=False)
            drawn += 1
            assert drawn <= taken + 1 + 2 * jobs  # one may be on its way to us
            drawing.release()
            yield item

    for item in ordered_map(lambda item: item, items(), jobs):
        assert item == taken
        time.sleep(0.001)  # slower than the items come
        taken += 1
    assert taken == drawn == 60


@each("jobs", JOBS)
@each("bad", [0, 5, 29])
def test_an_error_comes_in_its_place(jobs, bad):
    def checked(item):
        if item >= bad:
            raise ValueError(item)

    for results in (ordered_map(checked, range(30), jobs), ordered_map(str, map(checked, range(30)), jobs)):
        assert [next(results) for _ in range(bad)] in ([None] * bad, ["None"] * bad)
        raises(ValueError, f"^{bad}$", next, results)
        assert list(results) == []


def test_an_interrupt_does_not_wait_for_what_comes_next():
    before = set(threading.enumerate())
    come = threading.Event()

    def items():
        yield 0
        if threading.current_thread() is threading.main_thread():
            raise KeyboardInterrupt  # as it comes to who is reading
        come.wait(timeout=30)
        yield 1

    results = ordered_map(lambda item: item, items(), 2)
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        assert next(results) == 0
        results.throw(KeyboardInterrupt)
    assert time.monotonic() - begin < 20
    come.set()
    for thread in set(threading.enumerate()) - before:
        thread.join()


@each("jobs", JOBS)
@each(("taken", "pause"), [(0, 0), (1, 0.05), (7, 0)])
def test_closing_early_leaves_no_thread_and_draws_no_more(jobs, taken, pause):
    """Nor does a result wait for those who draw, one after the other."""
    drawn = []

    def items():
        for item in range(10**9):
            drawn.append(item)
            yield item
            time.sleep(pause)

    results = ordered_map(lambda item: time.sleep(pause / 5) or item, items(), jobs)
    assert [next(results) for _ in range(taken)] == list(range(taken))
    assert len(drawn) <= (4 if pause else taken + 2 * jobs)
    results.close()
    assert len(drawn) <= taken + 2 * jobs
    assert list(results) == []


def test_an_iterator_that_is_left_behind_does_not_keep_python_from_exiting():
    """Its threads have been ended when the garbage collector closes it."""
    script = """
        import gc, threading
        from gradeval.arrays.threads import ordered_map

        def function(item):
            if threading.current_thread() is not threading.main_thread():
                begun.set()

        gc.disable()
        begun = threading.Event()
        left = type("Left", (), {})()
        left.cycle, left.results = left, ordered_map(function, range(10**9), 2)
        next(left.results)
        begun.wait()
        del left
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(script)], check=True, timeout=30)


def test_closed_in_one_of_its_own_threads():
    """As the garbage collector does, which runs in any thread."""
    closed = threading.Event()

    def close(item):
        if threading.current_thread() is not threading.main_thread():
            taken.wait(timeout=30)
            results.close()
            closed.set()
        return item

    taken = threading.Event()
    results = ordered_map(close, range(10**9), 2)
    assert next(results) == 0
    taken.set()
    assert closed.wait(timeout=30)


@each("fails", range(6))
def test_a_thread_that_ends_for_lack_of_memory_keeps_nobody_waiting(fails, monkeypatch):
    calls, main = itertools.count(), threading.get_ident()

    class WithoutMemory(threading.Condition):
        def notify_all(self):
            if threading.get_ident() != main and next(calls) >= fails:
                raise MemoryError
            super().notify_all()

    # that of the map alone: threads of the test runner have conditions too
    monkeypatch.setattr(parallel, "threading", SimpleNamespace(Condition=WithoutMemory, Lock=threading.Lock))
    with contextlib.suppress(MemoryError):
        assert list(ordered_map(lambda n: time.sleep(0.001) or n, range(50), 2)) == list(range(50))


@each("allowed", [0, 1, 3])
def test_threads_that_the_system_does_not_allow(allowed, monkeypatch):
    start, started = parallel._thread.start_new_thread, []

    def limited(function, args):
        if len(started) == allowed:
            raise RuntimeError("can't start new thread")
        started.append(start(function, args))

    monkeypatch.setattr(parallel._thread, "start_new_thread", limited)
    assert list(ordered_map(lambda n: n * n, range(100), 64)) == [n * n for n in range(100)]
    assert len(started) == allowed
    # those that die before they begin, as they do for lack of memory: nobody waits for them
    late = []
    monkeypatch.setattr(parallel._thread, "start_new_thread", lambda *call: late.append(call))
    assert list(ordered_map(lambda n: n * n, range(100), 64)) == [n * n for n in range(100)]
    begin, args = late[0]
    begin(*args)  # one that begins when all is over does nothing


@each(("fits", "asked"), [(16, [16]), (15, [16, 1]), (1, [16, 1]), (0, [1]), (0, [3, 1])])
def test_fewer_threads_where_memory_is_short(fits, asked):
    tried = []

    def make(jobs):
        tried.append(jobs)
        if jobs > fits:
            raise MemoryError
        return "made"

    with contextlib.nullcontext() if fits else pytest.raises(MemoryError):
        assert with_fewer(make, asked[0]) == "made"
    assert tried == asked


@pytest.fixture
def forks(monkeypatch):
    """This process may fork others, none of which is left beside those of other tests (jedi's)."""
    if not process.ON_LINUX:
        pytest.skip("processes are forked on Linux only")
    monkeypatch.setattr(parallel.process, "may_fork", True)
    monkeypatch.setattr(parallel.threading, "active_count", lambda: 1)  # pytest-xdist has some
    children = Path(f"/proc/self/task/{os.getpid()}/children")  # which some kernels do not have
    before = children.read_text() if children.exists() else ""
    yield monkeypatch
    assert (children.read_text() if children.exists() else "") == before


@pytest.mark.usefixtures("forks")
@each("processes", [1, 2, 5])
def test_the_order_of_processes(processes):
    """Their results are longer than what a pipe holds; what they tell comes before. None waits for others."""
    told = []

    def function(number, tell):
        tell("begins", number)
        tell("ends", number)
        return number, os.getpid(), bytes(100_000)

    pids = []
    for number, (result, pid, zeros) in enumerate(
        forked_map(function, 7, processes, lambda *it: told.append(it))
    ):
        assert (result, zeros) == (number, bytes(100_000))
        assert told.index(("begins", number)) < told.index(("ends", number))
        pids.append(pid)
    assert len({*pids} - {os.getpid()}) <= processes
    assert len([*forked_map(function, 2, processes, None)]) == 2
    if processes > 1:  # the others are not the first one's, which takes longest
        lengths = {0: 0.5}
        pids = [*forked_map(lambda number, tell: time.sleep(lengths.get(number, 0)) or os.getpid(), 4, 2, None)]
        assert pids[0] not in pids[1:]


@pytest.mark.usefixtures("forks")
def test_a_warning_of_several_processes_is_shown_once():
    class OfTwo(UserWarning):
        """A local class, whose instances cannot be pickled."""

        def __init__(self, text, code):
            super().__init__(text)

    def function(number, tell):
        warnings.warn(OfTwo("careful", number), stacklevel=1)
        return number

    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("default")
        assert [*forked_map(function, 4, 3, None)] == [0, 1, 2, 3]
    assert [(str(warning.message), warning.category.__name__) for warning in shown] == [("careful", "OfTwo")]


@pytest.mark.usefixtures("forks")
def test_errors_of_processes_come_in_their_place():
    def function(number, tell):
        if number == 2:
            raise InputError("file", "what", line=3, hint="Do so")
        return number

    results = forked_map(function, 5, 2, None)
    assert [next(results), next(results)] == [0, 1]
    raises(InputError, "^file:3: what. Do so$", next, results)
    results = forked_map(lambda number, tell: time.sleep(60 * number), 2, 2, None)
    next(results)
    results.close()  # nobody waits for the others


@pytest.mark.usefixtures("forks")
@each("processes", [2, 3])
def test_a_process_that_ends_takes_one_result(processes):
    """The others compute what is left; where none is, that is lost too."""

    def function(number, tell):
        if number in (1, 4):
            os.kill(os.getpid(), signal.SIGKILL)
        return number

    results = [*forked_map(function, 40, processes, None)]
    lost = {number for number, result in enumerate(results) if result is None}
    assert all(result == number for number, result in enumerate(results) if number not in lost)
    if processes > 2:
        assert lost == {1, 4}
    else:  # the last process may take 4 before the item that waits beside it, or up to 2 * processes after it
        assert lost >= {1, 4, *range(5 + 2 * processes, 40)}

    def killed(number, tell):
        if number == 0:
            tell(b"the reader is busy")
            threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGKILL)).start()
            tell(bytes(1 << 20))
        return number

    for processes in (1, 2):
        results = [*forked_map(killed, 3, processes, lambda text: time.sleep(0.3))]
        assert results == ([None] * 3 if processes == 1 else [None, 1, 2])


def test_a_process_that_has_ended_before_takes_no_result(forks):
    write, refused = os.write, []

    def to_one(descriptor, data):
        if data == bytes(8) and not refused:  # the first item
            refused.append(descriptor)
            raise BrokenPipeError
        return write(descriptor, data)

    with forks.context() as pipes:
        pipes.setattr(os, "write", to_one)
        assert [*forked_map(lambda number, tell: number, 5, 2, None)] == [0, 1, 2, 3, 4]
    assert refused


def test_where_no_process_is_forked(forks):
    fork, pids = os.fork, []

    def limited():
        if pids:
            raise BlockingIOError("Resource temporarily unavailable")
        pids.append(fork())
        return pids[0]

    assert [*forked_map(lambda *_: None, 0, 3, None)] == []
    with forks.context() as limits:
        limits.setattr(os, "fork", limited)
        assert forked_map(lambda *_: time.sleep(60), 3, 3, None) is None
    for name in ("ON_LINUX", "may_fork"):
        with forks.context() as elsewhere:
            elsewhere.setattr(parallel.process, name, False)
            assert forked_map(lambda *_: None, 3, 3, None) is None
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # as a parent may have left it: then nobody can wait for it
    assert forked_map(lambda *_: None, 3, 3, None) is None
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    forks.setattr(parallel.threading, "active_count", lambda: 2)
    assert forked_map(lambda *_: None, 3, 3, None) is None


def test_default_jobs(monkeypatch):
    monkeypatch.setattr(process.os, "sched_getaffinity", lambda process: {0, 3, 5}, raising=False)
    monkeypatch.setattr(process, "ON_LINUX", True)
    assert default_jobs() == 3
    monkeypatch.setattr(process, "ON_LINUX", False)
    assert default_jobs() == (os.cpu_count() or 1)
    monkeypatch.setattr(process.os, "cpu_count", lambda: None)
    assert default_jobs() == 1


def test_another_instance_is_not_waited_for():
    """A process that is forked meanwhile would wait forever: there the other thread does not exist."""
    has_begun, may_end = threading.Event(), threading.Event()

    class Table:
        is_slow = False

        @cached_property
        def value(self):
            if self.is_slow:
                has_begun.set()
                assert may_end.wait(60)
            return []

    slow, quick = Table(), Table()
    slow.is_slow = True
    threads = [threading.Thread(target=lambda table=table: table.value) for table in (slow, quick)]
    threads[0].start()
    assert has_begun.wait(60)
    threads[1].start()
    threads[1].join(10)
    is_done = "value" in vars(quick)
    may_end.set()
    threads[0].join()
    assert is_done and slow.value is slow.value


def test_threads_share_one_value():
    both = threading.Barrier(2, timeout=60)

    class Table:
        @cached_property
        def value(self):
            both.wait()
            return []

    table, found = Table(), []
    threads = [threading.Thread(target=lambda: found.append(table.value)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found[0] is found[1] is table.value

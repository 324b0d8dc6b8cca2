"""Ordered maps: over threads, with bounded read-ahead, and over forked processes."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # signal takes 2 ms to import
import _thread
import os
import pickle
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from typing import IO, Any, Generic, NoReturn, TypeVar

from gradeval import process
from gradeval.process import default_jobs as default_jobs
from gradeval.records import Record

T = TypeVar("T")
R = TypeVar("R")


def with_fewer(make: Callable[[int], R], jobs: int) -> R:
    """make(jobs), or make(1) if there is not enough memory for this many threads."""
    try:
        return make(jobs)
    except MemoryError:
        if jobs == 1:
            raise
    return make(1)  # outside the handler, which keeps the threads' memory alive


def map_all(function: Callable[[T, int], R], items: Sequence[T], jobs: int) -> list[R]:
    """function(item, threads) of each item, in order: several at a time, which share the threads."""
    concurrent = max(1, min(jobs, len(items)))
    return list(ordered_map(lambda item: function(item, jobs // concurrent), items, concurrent))


class _Map(Generic[T, R]):
    """The work of an ordered_map, and its threads besides the caller's: as many as the system allows.
    threading.Thread.start() waits until the thread runs: forever, if lack of memory ends it before. These are
    not waited for to begin, and join() waits only for those that have begun.
    """

    def __init__(self, function: Callable[[T], R], items: Iterable[T], jobs: int) -> None:
        self.function = function
        self.source = iter(items)
        self.ahead = 2 * jobs
        self.drawing = threading.Lock()
        self.changed = threading.Condition()
        self.ready: dict[int, tuple[R | None, BaseException | None]] = {}
        self.drawn = 0  # items
        self.taken = 0  # results
        self.total = -1  # of items; -1 until the last is drawn
        self.is_stopped = self.is_lost = False  # lost: a result, with its thread
        self.at_work: list[_thread.LockType] = []  # each is held by a thread from its beginning to its end
        self.members: set[int] = set()
        for _ in range(jobs - 1):
            try:
                self.at_work.append(_thread.allocate_lock())
                _thread.start_new_thread(self.run, (self.at_work[-1],))
            except (RuntimeError, MemoryError):  # can't start new thread
                break

    def run(self, at_work: _thread.LockType) -> None:
        """The work of a thread."""
        if not at_work.acquire(blocking=False):  # it begins after join()
            return
        try:
            self.members.add(_thread.get_ident())
            while not self.is_over():
                self.make_one(is_callers=False)
                self.wait(lambda: self.is_over() or self.may_draw())
        except MemoryError:  # the caller's thread and the others do the work
            pass
        finally:
            at_work.release()

    def join(self) -> None:
        """Wait for the threads that have begun; others do nothing when they begin."""
        if _thread.get_ident() in self.members:  # the garbage collector closes the map in one of them
            return
        for lock in self.at_work:
            lock.acquire()

    def is_over(self) -> bool:
        return self.is_stopped or self.total >= 0

    def may_draw(self) -> bool:
        return not self.is_over() and self.drawn < self.taken + self.ahead

    def is_next_there(self) -> bool:
        return self.taken in self.ready or self.taken == self.total or self.is_lost

    def notify(self) -> None:
        with self.changed:
            self.changed.notify_all()

    def wait(self, until: Callable[[], bool]) -> None:
        """For a second at most: lack of memory may keep a thread from notifying the others."""
        with self.changed:
            self.changed.wait_for(until, timeout=1)

    def make_one(self, is_callers: bool) -> None:
        """Draw an item and make its result. The caller draws none while another thread does so. It waits for
        a moment, so that a thread that has the lock gets the interpreter's too, which it would keep for 5 ms.
        """
        if not self.drawing.acquire(timeout=1e-6 if is_callers else -1):
            return
        try:
            index = self.drawn
            is_drawn = False
            try:
                if self.may_draw() and not (is_callers and self.is_next_there()):
                    item = next(self.source)
                    self.drawn = index + 1
                    is_drawn = True
            except KeyboardInterrupt:  # of the caller's thread, which stops
                raise
            except StopIteration:
                self.total = index
            except BaseException as error:
                self.total = index + 1
                self.ready[index] = (None, error)
            finally:
                self.drawing.release()
                self.notify()
            if not is_drawn:
                return
            try:
                self.ready[index] = self.function(item), None
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                self.ready[index] = None, error
            self.notify()
        except MemoryError:
            self.is_lost = True
            raise

    def take(self) -> Iterator[R]:
        """The results, by the caller's thread."""
        while True:
            while not self.is_next_there():
                if self.may_draw():
                    self.make_one(is_callers=True)
                self.wait(lambda: self.is_next_there() or (self.may_draw() and not self.drawing.locked()))
            if self.taken == self.total:
                return
            if self.taken not in self.ready:
                raise MemoryError
            result, error = self.ready.pop(self.taken)
            self.taken += 1
            self.notify()
            if error is not None:
                raise error
            yield result  # type: ignore[misc]


def ordered_map(function: Callable[[T], R], items: Iterable[T], jobs: int) -> Iterator[R]:
    """function(item) for each item, in order, computed by `jobs` threads that take the items in turn.

    One of them is the caller's, which works too while it waits for a result. The threads draw the items
    themselves, so that a slow iterator is read while others compute. At most 2 * jobs results wait to be taken.
    An error of the function or the iterator is raised at its position. jobs is at least 1.

    concurrent.futures.ThreadPoolExecutor with a deque of futures took 8 % longer with a run of 67 MB, since the
    caller's thread only reads and waits there. It starts its threads by threading.Thread.start(): see _Map.
    """
    if jobs < 1:
        raise ValueError(f"jobs must be at least 1, not {jobs}")
    if jobs == 1 or (isinstance(items, Sized) and len(items) < 2):
        yield from map(function, items)
        return
    work = _Map(function, items, jobs)
    is_interrupted = False
    try:
        yield from work.take()
    except KeyboardInterrupt:
        is_interrupted = True  # a thread may be blocked on a pipe: do not wait for it
        raise
    finally:
        work.is_stopped = True
        if not sys.is_finalizing():  # then Python has ended the threads, maybe while they held a lock
            work.notify()
            if not is_interrupted:
                work.join()


class _Child(Record, eq=False):
    """A forked process."""

    id: int
    numbers: int  # where to write that of its next item
    answers: IO[bytes]  # what it sends


def forked_map(
    function: Callable[..., R], count: int, processes: int, on_tell: Any
) -> Iterator[R | None] | None:
    """function(k, tell) for each k below `count`, in order, computed by forked processes; None where there
    can be none. What tell() is called with in one of them, on_tell() is called with here, by a thread. Threads
    share the interpreter lock: twenty runs of 50,000 lines took two as long as one. Results are pickled. The
    result that a process owes when it ends, as where memory is short, is None; the others compute what is left.
    """
    is_reaped = _signal.getsignal(_signal.SIGCHLD) != _signal.SIG_DFL  # by others: its id may be another's
    if not process.can_fork() or threading.active_count() > 1 or is_reaped:
        return None
    children, inherited, spare = list[_Child](), list[int](), list[int]()  # descriptors of the parent
    try:
        for _ in range(processes):
            spare += os.pipe()
            spare += os.pipe()
            numbers, ask, answers, answer = spare
            inherited += ask, answers
            with warnings.catch_warnings():  # of threads, which libraries may have
                warnings.simplefilter("ignore")
                child = os.fork()
            if not child:
                _work(function, numbers, answer, inherited)
            os.close(numbers)
            os.close(answer)
            children.append(_Child(child, ask, open(answers, "rb")))  # noqa: SIM115
            spare.clear()
    except OSError:  # too many processes or files
        _end(children)
        for descriptor in spare:
            os.close(descriptor)
        return None
    return _results(children, count, on_tell)


def _work(function: Callable[..., Any], numbers: int, answer: int, inherited: list[int]) -> NoReturn:
    """What a forked process does; it ends when its parent does."""
    try:
        process.end_with_parent()
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)  # the parent tidies up
        for descriptor in inherited:  # where the parent has ended already, no other has them
            os.close(descriptor)
        sending = threading.Lock()  # files are read by several threads

        def send(kind: str, value: Any) -> None:
            data = pickle.dumps((kind, value), pickle.HIGHEST_PROTOCOL)
            with sending, open(answer, "wb", buffering=0, closefd=False) as pipe:
                process.write_all(pipe, data)

        def showwarning(message: Warning | str, category: type[Warning], *where: Any) -> None:
            send("warned", (str(message), category.__name__, *where[:2]))  # a plugin's may not be pickled

        warnings.showwarning = showwarning  # type: ignore[assignment]
        while number := os.read(numbers, 8):
            try:
                result = function(int.from_bytes(number, "little"), lambda *values: send("told", values))
            except Exception as error:
                send("failed", error)
            else:
                send("made", result)
    finally:
        os._exit(0)


class _Processes:
    """The forked processes: each computes one result at a time, for a thread. on_tell: of forked_map()."""

    def __init__(self, children: Sequence[_Child], on_tell: Any) -> None:
        from queue import SimpleQueue  # which few need

        self.running = [*children]
        self.on_tell = on_tell
        self.free = SimpleQueue[_Child | None]()  # None: no process is left
        for child in children:
            self.free.put(child)
        self.registry = dict[Any, int]()
        self.categories = dict[str, type[Warning]]()

    def remove(self, child: _Child) -> None:
        self.running.remove(child)
        if not self.running:
            self.free.put(None)

    def answer_of(self, child: _Child) -> tuple[str, Any]:
        """The result or the error of its item; what comes before is passed on."""
        while True:
            kind, value = pickle.load(child.answers)
            if kind == "warned":
                message, name, path, line = value
                category = self.categories.setdefault(name, type(name, (Warning,), {}))
                warnings.warn_explicit(message, category, path, line, registry=self.registry)
            elif kind != "told":
                return kind, value
            elif self.on_tell is not None:
                self.on_tell(*value)

    def result_of(self, number: int) -> Any:
        while (child := self.free.get()) is not None:
            try:
                os.write(child.numbers, number.to_bytes(8, "little"))
            except BrokenPipeError:  # it has ended since its last result: another one computes this
                self.remove(child)
                continue
            try:
                kind, value = self.answer_of(child)
            except BaseException as error:
                self.remove(child)
                if isinstance(error, (EOFError, pickle.UnpicklingError)):  # it has ended
                    return None
                raise
            self.free.put(child)
            if kind == "failed":
                raise value
            return value
        self.free.put(None)
        return None


def _results(children: Sequence[_Child], count: int, on_tell: Any) -> Iterator[Any]:
    try:
        results = ordered_map(_Processes(children, on_tell).result_of, range(count), len(children))
        for result in results:  # noqa: UP028  # to close these is to wait for threads, and so for processes
            yield result
    finally:
        _end(children)


def _end(children: Sequence[_Child]) -> None:
    for child in children:
        os.kill(child.id, _signal.SIGKILL)
        os.waitpid(child.id, 0)
        os.close(child.numbers)
        child.answers.close()

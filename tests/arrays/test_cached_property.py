"""Cached properties, which hold no lock."""

import threading

from gradeval.arrays import cached_property


def test_another_instance_is_not_waited_for():
    """A process that is forked meanwhile would wait forever: there the other thread does not exist."""
    has_begun, may_end = threading.Event(), threading.Event()

    class Table:
        def __init__(self, is_slow):
            self.is_slow = is_slow

        @cached_property
        def value(self):
            if self.is_slow:
                has_begun.set()
                assert may_end.wait(60)
            return [self.is_slow]

    slow, quick = Table(True), Table(False)
    threads = [threading.Thread(target=lambda table=table: table.value) for table in (slow, quick)]
    threads[0].start()
    assert has_begun.wait(60)
    threads[1].start()
    threads[1].join(10)
    is_done = "value" in vars(quick)
    may_end.set()
    for thread in threads:
        thread.join()
    assert is_done
    assert slow.value is slow.value


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

"""Tests of the garbage collection of a process that builds many projects."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest

from mcpgen import garbage


class Node:
    """An object in a cycle, which only the garbage collector frees."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture(autouse=True)
def unfrozen() -> Iterator[None]:
    """Restore what the tests of a process have in common."""
    was_enabled = gc.isenabled()
    gc.enable()
    yield
    gc.unfreeze()
    gc.collect()
    gc.freeze()
    if not was_enabled:
        gc.disable()


def make_frozen_cycle() -> weakref.ref[Node]:
    with garbage.pause_garbage_collection():
        node = weakref.ref(Node())
    gc.collect()
    assert node() is not None
    return node


def test_garbage_of_earlier_stages_is_freed_if_it_is_much(monkeypatch: pytest.MonkeyPatch) -> None:
    node = make_frozen_cycle()
    monkeypatch.setattr(garbage, "_MOST_FROZEN_OBJECTS", gc.get_freeze_count() - 1)
    garbage.collect_frozen_garbage()
    assert node() is None
    assert gc.get_freeze_count() > 0  # the next collection visits no module


def test_little_garbage_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    node = make_frozen_cycle()
    monkeypatch.setattr(garbage, "_MOST_FROZEN_OBJECTS", gc.get_freeze_count())
    garbage.collect_frozen_garbage()
    assert node() is not None


def test_a_stage_in_a_stage_leaves_the_collector_off() -> None:
    with garbage.pause_garbage_collection():
        with garbage.pause_garbage_collection():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()

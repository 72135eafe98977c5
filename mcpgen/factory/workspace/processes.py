"""The processes that work on the servers of a workspace side by side."""

from __future__ import annotations

import multiprocessing
import os

_FORKED = "forkserver"  # from one clean process, which has the generator imported already
_PRELOADED = [
    "mcpgen.factory.workspace.tasks",  # which every process would import to know its task
    "mcpgen.pipeline.commands.generate",
    "mcpgen.pipeline.build",
    "mcpgen.pipeline.project.read_inputs",
]


def usable_cores() -> int:
    """Give how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def context() -> multiprocessing.context.BaseContext:
    """Give what makes the processes; each begins with nothing of this one."""
    if _FORKED not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    forked = multiprocessing.get_context(_FORKED)
    forked.set_forkserver_preload(_PRELOADED)
    return forked


def begin() -> None:
    """Have the process that others are forked from import, while this one finds out its work."""
    if usable_cores() > 1 and context().get_start_method() == _FORKED:
        from multiprocessing import forkserver

        forkserver.ensure_running()

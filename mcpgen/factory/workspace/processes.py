"""Processes that run the tasks of a workspace in parallel.

A command starts the fork server before it imports anything else, so this module imports little.
"""

from __future__ import annotations

import multiprocessing
import os

_FORKED = "forkserver"  # from one clean process that has imported the generator
_PRELOADED = [
    "mcpgen.factory.workspace.tasks",  # every process imports it for its task
    "mcpgen.pipeline.commands.generate",
    "mcpgen.pipeline.build",
    "mcpgen.pipeline.project.read_inputs",
]


def usable_cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def context() -> multiprocessing.context.BaseContext:
    """Return the multiprocessing context; a new process inherits no state from this one."""
    if _FORKED not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    forked = multiprocessing.get_context(_FORKED)
    forked.set_forkserver_preload(_PRELOADED)
    return forked


def begin() -> None:
    """Start the fork server in the background, so that its imports are done early."""
    if usable_cores() > 1 and context().get_start_method() == _FORKED:
        from multiprocessing import forkserver

        forkserver.ensure_running()

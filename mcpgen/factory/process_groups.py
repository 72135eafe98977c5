"""Ends of processes together with those that they started."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from typing import Final

OWN_GROUP: Final = None if sys.platform == "win32" else 0
"""The `process_group` of a process that `end_group` ends."""

_GROUP_SECONDS: Final = 3.0
_POLL_SECONDS: Final = 0.05


async def end_group(process: asyncio.subprocess.Process) -> None:
    """End a process that was started with `OWN_GROUP`, and those that it started."""
    if sys.platform == "win32":
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        return
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
        for _ in range(round(_GROUP_SECONDS / _POLL_SECONDS)):
            await asyncio.sleep(_POLL_SECONDS)
            os.killpg(process.pid, 0)
        os.killpg(process.pid, signal.SIGKILL)

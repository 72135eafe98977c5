"""The kinds of event loops that servers run on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from importlib.util import find_spec

LOOPS: dict[str, Callable[[], asyncio.AbstractEventLoop]] = {"asyncio": asyncio.new_event_loop}
if find_spec("uvloop") is not None:
    from uvloop import new_event_loop

    LOOPS["uvloop"] = new_event_loop

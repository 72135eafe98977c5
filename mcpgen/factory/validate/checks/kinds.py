"""Types of checks.

An active check talks to the server. A passive check examines the frames of all active checks of
the same revision and transport, and runs after them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from mcpgen.factory.validate.probe import Probe
from mcpgen.factory.validate.verdicts import Outcome
from mcpgen.factory.wire.frames import Frame

ActiveCheck: TypeAlias = Callable[[Probe], Awaitable[Outcome]]
PassiveCheck: TypeAlias = Callable[[Probe, Sequence[Frame]], Outcome]

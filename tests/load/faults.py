"""Faults of a load run: hostile peers, killed replicas, a restarted store."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final

from tests.support.attack.wires import Wires, listen, post_head, tool_call

PEERS: Final = 40  # connections of an attacker at a time
SECONDS: Final = 2.0  # of an attack
_HEALTH: Final = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
_ATTACKS: Final[dict[str, tuple[bytes, bytes]]] = {
    "stalled heads": (b"POST /mcp HTTP/1.1\r\nHost: 127", b""),
    "stalled bodies": (post_head(("Content-Length", "1000")) + b"{", b""),
    "floods of requests that are not read": (b"", _HEALTH * 100),
    "garbage": (b"\x16\x03\x01\x02\x00garbage\r\n\r\n", b"\x00" * 1000),
    "garbage in frames": (post_head(("Content-Length", "1000")), b"{]" * 500),
    "endless chunks": (post_head(("Transfer-Encoding", "chunked")), b"1\r\n \r\n" * 1000),
    "streams that are not read": (listen(), b""),
    "unknown tools": (b"", tool_call("no_such_tool") * 20),
}


def attack(name: str, port: int) -> None:
    """Run one attack for some seconds, then reset all of its connections."""
    start, repeated = _ATTACKS[name]
    with Wires(port) as wires:
        opened = wires.open(PEERS, start, receive_buffer=4096)
        until = time.monotonic() + SECONDS
        for wire in opened:
            wire.setblocking(False)
        while time.monotonic() < until:
            for wire in opened if repeated else ():
                try:
                    wire.send(repeated)
                except OSError:  # full, or closed by the server
                    continue
            time.sleep(0.01)
        for wire in opened:
            wire.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


class Faults:
    """The faults, injected in turn and counted."""

    def __init__(self, ports: Callable[[], Sequence[int]]) -> None:
        self.counts: Counter[str] = Counter()
        self._ports = ports

    async def attack_until(self, until: float, pause_seconds: float) -> None:
        """Attack the replicas in turn until a deadline."""
        number = 0
        while time.monotonic() < until:
            name = list(_ATTACKS)[number % len(_ATTACKS)]
            ports = self._ports()
            with contextlib.suppress(OSError):  # the replica is being restarted
                await asyncio.to_thread(attack, name, ports[number % len(ports)])
            self.counts[name] += 1
            number += 1
            await asyncio.sleep(pause_seconds)

    async def repeat(
        self, name: str, fault: Callable[[], None], until: float, every: float
    ) -> None:
        """Inject a fault repeatedly, but not within the last period."""
        while time.monotonic() + 2 * every < until:
            await asyncio.sleep(every)
            await asyncio.to_thread(fault)
            self.counts[name] += 1

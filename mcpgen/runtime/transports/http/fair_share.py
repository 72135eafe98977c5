"""Fair division of a limit among callers, so that no caller can exhaust it."""

from __future__ import annotations

from functools import lru_cache
from ipaddress import IPv6Address
from typing import Final

MAX_RATIO: Final = 9
"""Maximum ratio of a caller's share to the free rest: a single caller gets nine tenths."""

_REMEMBERED: Final = 64
"""Callers that keep an entry of 0: adding one for each call costs more."""


class FairShare:
    """A shared limit. A caller may take more while it has less than `MAX_RATIO` times the rest.

    Exhausting the limit takes many callers: the first gets nine tenths, the second nine tenths of
    the rest, and so on.
    """

    __slots__ = ("_by_caller", "_free", "max_amount")

    def __init__(self, limit: int) -> None:
        self.max_amount = limit
        self._free = limit
        self._by_caller: dict[str, int] = {}

    def take(self, caller: str, amount: int = 1) -> bool:
        """Take an amount; return False, without taking any, if it exceeds the caller's share."""
        taken = self._by_caller.get(caller, 0)
        if amount > self._free or taken >= MAX_RATIO * self._free:
            return False
        self._by_caller[caller] = taken + amount
        self._free -= amount
        return True

    def release(self, caller: str, amount: int = 1) -> None:
        """Return an amount that `take` took."""
        self._free += amount
        left = self._by_caller[caller] - amount
        if left or len(self._by_caller) <= _REMEMBERED:
            self._by_caller[caller] = left
        else:
            del self._by_caller[caller]


@lru_cache(maxsize=4096)
def identify_client(host: str) -> str:
    """Return the network that counts as one client: an IPv4 address, or the /64 of an IPv6 one."""
    if ":" not in host:
        return host
    address = IPv6Address(host.partition("%")[0])  # without the name of an interface
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return address.exploded[:19]

"""Delivery of a store's messages to the subscribers in this process."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field
from typing import Final

from mcpgen.runtime.state.store import StoreUnavailableError

MAX_MESSAGES: Final = 10_000  # in the queue of a subscriber
MAX_MESSAGE_BYTES: Final = 16 * 1024 * 1024


@dataclass(slots=True, eq=False)
class _Mailbox:
    messages: deque[tuple[str, bytes]] = field(default_factory=deque)
    size: int = 0  # of the messages, in bytes
    failure: str = ""
    is_changed: asyncio.Event = field(default_factory=asyncio.Event)

    async def receive(self) -> tuple[str, bytes]:
        while not self.messages:
            if self.failure:
                raise StoreUnavailableError(self.failure)
            self.is_changed.clear()
            await self.is_changed.wait()
        channel, data = self.messages.popleft()
        self.size -= len(data)
        return channel, data

    def fail(self, reason: str) -> None:
        self.failure = reason
        self.is_changed.set()


class Channels:
    """Bounded message queues of subscribers, by channel."""

    def __init__(self) -> None:
        self._mailboxes: dict[str, dict[_Mailbox, None]] = {}

    @property
    def has_subscribers(self) -> bool:
        """Whether there is a subscriber."""
        return bool(self._mailboxes)

    async def subscribe(self, channels: Sequence[str]) -> AsyncGenerator[tuple[str, bytes], None]:
        """Yield the messages that are delivered from the first iteration on.

        Raises:
            StoreUnavailableError: `fail` was called, or the subscriber is too slow.
        """
        mailbox = _Mailbox()
        for channel in channels:
            self._mailboxes.setdefault(channel, {})[mailbox] = None
        try:
            while True:
                yield await mailbox.receive()
        finally:
            for channel in set(channels):
                subscribers = self._mailboxes.get(channel, {})
                subscribers.pop(mailbox, None)
                if not subscribers:
                    self._mailboxes.pop(channel, None)

    def deliver(self, channel: str, message: bytes) -> None:
        """Queue a message for the subscribers of a channel; a full queue ends its subscription."""
        for mailbox in self._mailboxes.get(channel, ()):
            if mailbox.failure:
                continue
            has_room = mailbox.size + len(message) <= MAX_MESSAGE_BYTES
            if len(mailbox.messages) >= MAX_MESSAGES or not has_room:
                mailbox.fail("a subscriber was too slow and lost messages")
                continue
            mailbox.messages.append((channel, message))
            mailbox.size += len(message)
            mailbox.is_changed.set()

    def fail(self, reason: str) -> None:
        """End every subscription with an error, after its queued messages."""
        for subscribers in self._mailboxes.values():
            for mailbox in subscribers:
                mailbox.fail(reason)

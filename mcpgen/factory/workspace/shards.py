"""Shards: the servers of a workspace, split over several machines."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from msgspec import Struct

from mcpgen.factory.workspace.members import Server
from mcpgen.ir.file_set import LOCK_FILE
from mcpgen.pipeline.project.project_folder import read_file

_MOST: Final = 1_000
_SLACK_PERCENT: Final = 10  # of the average work of a shard
_SHARD: Final = re.compile(r"(\d{1,4})/(\d{1,4})", re.ASCII)


class ShardError(ValueError):
    """Raised for a text that is not of the form I/N."""

    help = "use I/N, the shard I of N, such as 2/3; N is at most 1,000"


class Shard(Struct, frozen=True):
    """One part of `count` parts; the first has the index 1."""

    index: int
    count: int

    def __str__(self) -> str:
        return f"{self.index}/{self.count}"

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Read "2/3".

        Raises:
            ShardError: it is something else.
        """
        found = _SHARD.fullmatch(text)
        index, count = map(int, found.groups()) if found else (0, 0)
        if not 1 <= index <= count <= _MOST:
            raise ShardError(f"invalid shard `{text}`")
        return cls(index, count)

    def select(self, servers: Sequence[Server]) -> tuple[Server, ...]:
        """Return the servers of this shard, in their order."""
        work = {server.path: measure_work(server) for server in servers}
        placed = split_work(work, self.count)
        return tuple(server for server in servers if placed[server.path] == self.index)


def measure_work(server: Server) -> int:
    """Estimate the work of a server: the size of its lock, the same on every machine.

    A lock names every file and operation. Line ends do not count.
    """
    lock = read_file(server.target, LOCK_FILE) or b""
    return 1 + len(lock.replace(b"\r\n", b"\n"))


def split_work(work: Mapping[str, int], count: int) -> dict[str, int]:
    """Place servers in shards 1 to `count`; `work` has the work of each server, by path.

    This is rendezvous hashing with bounded load. Each server prefers the shards in an order of its
    own, which follows from hashes of its path. In the order of another hash, each goes to the first
    shard that its work leaves within 110 % of the average, else to the shard with the least work.

    - All machines compute the same split: it depends on the paths and the work alone.
    - A new server moves few others, on average about one in 30, so that caches of a shard stay
      useful. Dealing servers out by size would be slightly more even, but could move any of them.
    - No shard has more than 110 % of the average, or the average and one server.
    """
    total = sum(work.values())
    load = dict.fromkeys(range(1, count + 1), 0)
    placed: dict[str, int] = {}
    for path in sorted(work, key=lambda each: (_digest(each), each)):
        preferred = sorted(load, key=partial(_digest, path))
        for shard in preferred:
            if (load[shard] + work[path]) * count * 100 <= total * (100 + _SLACK_PERCENT):
                break
        else:
            shard = min(preferred, key=load.__getitem__)
        load[shard] += work[path]
        placed[path] = shard
    return placed


def _digest(path: str, shard: int = 0) -> bytes:
    """Hash a path in the form that is equal on all file systems."""
    text = f"{shard}\0{unicodedata.normalize('NFC', path)}"
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).digest()

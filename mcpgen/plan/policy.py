"""What the operator decided about a server, apart from what its document says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Policy:
    """Which operations are served, under which names.

    `include` and `exclude` are globs over a tag, a path, an operationId or an operation's key
    ("GET /pets*"); without `include` all operations are meant. `issued_names` are the tool names
    that earlier runs gave, by operation key; they never move.
    """

    name: str  # "petstore": ^[a-z][a-z0-9]*(-[a-z0-9]+)*$
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    models: bool = True
    issued_names: Mapping[str, str] = field(default_factory=dict)

"""Toolsets: which of a server's tools a person wants listed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from mcpgen.runtime.errors import UnknownToolsetError
from mcpgen.runtime.toolset_names import EVERYTHING, plain_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcpgen.runtime.protocol.jsonrpc import JsonObject


def chosen_lines(
    names: Iterable[str], toolsets: Mapping[str, JsonObject], lines: Sequence[bytes]
) -> list[bytes]:
    """Give the lines of the tools that are in one of these toolsets.

    A name may be written as its tag is: `Code Scanning` and `code-scanning` are `code_scanning`.

    Raises:
        UnknownToolsetError: there is no such toolset.
    """
    known = {plain_name(name): toolset["tools"] for name, toolset in toolsets.items()}
    wanted: set[str] = set()
    for name in names:
        if plain_name(name) in known:
            wanted.update(known[plain_name(name)])
        elif plain_name(name) == EVERYTHING:
            return list(lines)
        else:
            raise UnknownToolsetError(_unknown(name.strip(), sorted(known)))
    return [line for line in lines if json.loads(line)["name"] in wanted]


def _unknown(name: str, known: list[str]) -> str:
    from difflib import get_close_matches  # only on the way to an error

    close = get_close_matches(plain_name(name), known, n=1)
    hint = f"did you mean `{close[0]}`?" if close else f"there are {', '.join(known)}"
    return f"no toolset is called `{name}`; {hint}"

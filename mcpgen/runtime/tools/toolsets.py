"""Toolsets: selection of the tools that a server lists."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from mcpgen.contract.toolset_names import EVERYTHING, normalize_toolset_name
from mcpgen.runtime.errors import UnknownToolsetError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcpgen.runtime.protocol.jsonrpc import JsonObject


def select_lines(
    names: Iterable[str], toolsets: Mapping[str, JsonObject], lines: Sequence[bytes]
) -> list[bytes]:
    """Return the lines of the tools that belong to one of these toolsets.

    Names are normalized: `Code Scanning` and `code-scanning` stand for `code_scanning`.

    Raises:
        UnknownToolsetError: there is no such toolset.
    """
    known = {normalize_toolset_name(name): toolset["tools"] for name, toolset in toolsets.items()}
    wanted: set[str] = set()
    for name in names:
        if normalize_toolset_name(name) in known:
            wanted.update(known[normalize_toolset_name(name)])
        elif normalize_toolset_name(name) == EVERYTHING:
            return list(lines)
        else:
            raise UnknownToolsetError(_describe_unknown(name.strip(), sorted(known)))
    return [line for line in lines if json.loads(line)["name"] in wanted]


def _describe_unknown(name: str, known: list[str]) -> str:
    from difflib import get_close_matches  # only on the way to an error

    close = get_close_matches(normalize_toolset_name(name), known, n=1)
    hint = f"did you mean `{close[0]}`?" if close else f"there are {', '.join(known)}"
    return f"unknown toolset `{name}`; {hint}"

"""mcp-contract as a judge: the changes that it finds between two `tools/list` results.

Runs in mcp-contract's own environment. Each line of stdin is {"before": [TOOL, ...], "after":
[TOOL, ...]}, each line of stdout the list of changes.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from mcp_contract.compare import compare
from mcp_contract.model import Behaviour, Contract
from mcp_contract.probe import surface_from_schema


def read_contract(tools: list[dict[str, Any]]) -> Contract:
    """Read a list of tools as mcp-contract reads that of a running server."""
    contract = Contract()
    for tool in tools:
        hints = tool.get("annotations", {})
        contract.tools.append(
            surface_from_schema(
                tool["name"],
                tool.get("description", ""),
                tool["inputSchema"],
                tool.get("outputSchema"),
                contract.unrecorded,
                tool.get("title", ""),
                Behaviour(
                    read_only=hints.get("readOnlyHint"),
                    destructive=hints.get("destructiveHint"),
                    idempotent=hints.get("idempotentHint"),
                    open_world=hints.get("openWorldHint"),
                ),
            )
        )
    return contract


def main() -> None:
    for line in sys.stdin:
        pair = json.loads(line)
        report = compare(read_contract(pair["before"]), read_contract(pair["after"]))
        print(json.dumps([change.to_dict() for change in report.sorted_changes()]), flush=True)


if __name__ == "__main__":
    main()

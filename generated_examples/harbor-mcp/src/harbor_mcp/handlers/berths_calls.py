"""Hand-written overrides of the `berths_calls` tools."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from mcpgen.runtime import Context, ToolError, before

from harbor_mcp.handlers.check_digits import is_imo_number


@before("berths:POST /calls")
async def check_call(ctx: Context, arguments: Mapping[str, Any]) -> None:
    """Reject a call of a vessel that cannot exist, or that leaves before it arrives.

    The port reserves a berth for any seven digits, and charges for it.
    """
    body = arguments["body"]
    if not is_imo_number(body["imo"]):
        raise ToolError(f"{body['imo']} is no IMO number: find the vessel with `find_vessels`")
    if datetime.fromisoformat(body["leaves_at"]) <= datetime.fromisoformat(body["arrives_at"]):
        raise ToolError("`leaves_at` must be after `arrives_at`")

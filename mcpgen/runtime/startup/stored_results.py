"""The stored results of a server with handles, and where they are stored."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcpgen.contract.limits import BYTES_PER_TOKEN
from mcpgen.runtime.state.memory_store import MemoryStore
from mcpgen.runtime.stored_results.service import StoredResults
from mcpgen.runtime.stored_results.table import ResultTable

if TYPE_CHECKING:
    from mcpgen.contract.limits import Limits
    from mcpgen.runtime.content import JsonObject
    from mcpgen.runtime.state.store import Store
    from mcpgen.runtime.tools.registry import ToolRegistry


def make_stored_results(
    registry: ToolRegistry,
    contract: JsonObject,
    listed: JsonObject,
    limits: Limits,
    store: Store | None,
) -> StoredResults:
    """Return the stored results, which the registry uses from now on.

    They are in the store of the replicas, or else in the memory of this process. `listed` is the
    tool that reads them.
    """
    table = ResultTable(
        store or MemoryStore(max_bytes=2 * limits.max_stored_bytes),
        max_bytes=limits.max_stored_bytes,
        ttl_seconds=limits.result_ttl_seconds,
    )
    registry.results = StoredResults(
        table,
        server=contract["name"],
        listed=listed,
        tools=registry.listed,
        max_bytes=limits.max_result_tokens * BYTES_PER_TOKEN,
        check_scopes=registry.check_scopes,
    )
    return registry.results

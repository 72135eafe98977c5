"""Stored results of one process and its clients: the tool that reads them, and their resources."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from mcpgen.runtime.content import (
    EmbeddedResource,
    JsonObject,
    ResourceContents,
    ResourceResult,
    Text,
    ToolResult,
)
from mcpgen.runtime.errors import ResourceNotFoundError, StoreUnavailableError, ToolError
from mcpgen.runtime.handlers.context import Context
from mcpgen.runtime.handlers.features import Features
from mcpgen.runtime.process.log import log
from mcpgen.runtime.process.memory_budget import (
    LARGE_RESPONSE_BYTES,
    decoding_budget,
    run_in_worker,
)
from mcpgen.runtime.protocol.jsonrpc import encode_json
from mcpgen.runtime.stored_results.parts import (
    Reading,
    check_offset,
    describe_part,
    find_value,
    skip,
    take_bytes,
    take_text,
)
from mcpgen.runtime.stored_results.prepared import BYTES, JSON, Preparer, StorageTerms
from mcpgen.runtime.stored_results.table import ResultTable, StoredResult
from mcpgen.runtime.tools.continuation import NextCall, describe_calls
from mcpgen.runtime.tools.projection import leave_room, shorten, shorten_text
from mcpgen.runtime.tools.results import NEXT_CALLS_KEY, TRUNCATED_KEY
from mcpgen.runtime.upstream.response.json_decoding import (
    LONG_BYTES,
    MAX_DEPTH,
    TooComplexError,
    decode_json,
)

if TYPE_CHECKING:
    from mcpgen.runtime.auth.access import Access
    from mcpgen.runtime.protocol.request import Request
    from mcpgen.runtime.tools.tool import Tool
    from mcpgen.runtime.upstream.response.redaction import Redactor

_MAX_HANDLE: Final = 200  # characters
_MAX_SHOWN: Final = 100  # of an unknown one
_SECONDS: Final = 60  # of a minute


class StoredResults:
    """The stored results of a server, as one of its processes sees them."""

    def __init__(
        self,
        table: ResultTable,
        *,
        server: str,
        listed: JsonObject,
        tools: Mapping[str, Tool],
        max_bytes: int,
        check_scopes: Callable[[str, Access | None], None],
    ) -> None:
        """`listed` is the tool that reads results, as clients see it.

        `max_bytes` bounds what one call or one `resources/read` returns. `check_scopes` raises
        ToolError if a caller may not call a tool: then it may not read a result of it either.
        """
        self.tool: str = listed["name"]
        self._table = table
        self._tools = tools
        self._max_bytes = max_bytes
        self._check_scopes = check_scopes
        minutes = round(table.ttl_seconds / _SECONDS, 1)
        self._terms = StorageTerms(server, self.tool, table.max_result_bytes, minutes)
        self._uri = re.compile(
            rf"{re.escape(self._terms.make_uri(''))}([\w.-]{{1,200}})(?:\?offset=([0-9]{{1,12}}))?",
            re.ASCII,
        )
        self._own = Features()
        self._own.tool(
            self.tool, description=listed["description"], input_schema=listed["inputSchema"]
        )(self._read)

    def start(self, tool: Tool, redactor: Redactor) -> Preparer:
        """Return what prepares the result of a call for the store, if it is too long."""
        return Preparer(self._terms, tool.name, redactor)

    async def save(self, preparer: Preparer, request: Request) -> ToolResult | None:
        """Store what was prepared, and return the result for the client; None without either."""
        prepared = preparer.prepared
        if prepared is None:
            return None
        record = StoredResult(
            _hash_caller(request.access),
            prepared.tool,
            prepared.kind,
            prepared.mime_type,
            self._table.expires_at,
        )
        try:
            await self._table.add(prepared.handle, _hash(request.caller), record, prepared.content)
        except StoreUnavailableError as error:
            log("warning", f"a result of `{prepared.tool}` could not be stored: {error}")
            return None
        return preparer.result

    async def call(self, arguments: JsonObject, context: Context) -> ToolResult:
        """Call the tool that reads results.

        Raises:
            InvalidArgumentsError: the arguments break its schema.
        """
        return await self._own.call_tool(self.tool, arguments, context)

    def has(self, uri: str) -> bool:
        """Return whether a URI may be that of a stored result."""
        return self._uri.fullmatch(uri) is not None

    async def read_resource(self, uri: str, context: Context) -> ResourceResult:
        """Return the first part of a result, or the one that a URI names, and where the next is.

        Raises:
            ResourceNotFoundError: there is no such result for this caller, or no such part.
        """
        matched = self._uri.fullmatch(uri)
        handle, offset = ("", 0) if matched is None else (matched[1], int(matched[2] or 0))
        try:
            record, content = await self._find(handle, context.owner)
            if len(content) > LONG_BYTES:
                part = await run_in_worker(self._take_part, record, content, offset)
            else:
                part = self._take_part(record, content, offset)
        except StoreUnavailableError:
            raise
        except ToolError as error:
            raise ResourceNotFoundError(uri, str(error)) from None
        data, shown, end = part
        text, blob = (data, None) if isinstance(data, str) else (None, data)
        contents = [ResourceContents(uri, record.mime_type, text=text, blob=blob)]
        if end is not None:
            following = f"{self._terms.make_uri(handle)}?offset={end}"
            note = f"Cut: {shown}. The next part is the resource {following}"
            contents.append(ResourceContents(following, "text/plain", text=note))
        return ResourceResult(tuple(contents))

    async def _read(
        self,
        ctx: Context,
        *,
        handle: str,
        pointer: str | None = None,
        query: str | None = None,
        offset: int = 0,
    ) -> ToolResult:
        """Return a part of a stored result."""
        record, content = await self._find(handle, ctx.owner)
        is_long = len(content) > LONG_BYTES
        if pointer is None and query is None:
            if is_long:
                return await run_in_worker(self._show_part, handle, record, content, offset)
            return self._show_part(handle, record, content, offset)
        if pointer is not None and query is not None:
            raise ToolError("Use `pointer` or `query`, not both.")
        if record.kind != JSON:
            raise ToolError(f"This result is {record.mime_type}, and no JSON: read it by `offset`.")
        reading = Reading(self.tool, handle, pointer or "", query)
        if len(content) > LARGE_RESPONSE_BYTES:
            await decoding_budget.take(ctx.owner, len(content))  # until the request ends
        if is_long or query is not None:
            return await run_in_worker(self._show_value, reading, content, offset)
        return self._show_value(reading, content, offset)

    async def _find(self, handle: str, request: Request) -> tuple[StoredResult, bytes]:
        """Return a result that this caller may read.

        Raises:
            ToolError: there is none; a result of another caller is as unknown as any other.
        """
        is_handle = len(handle) <= _MAX_HANDLE and handle.isprintable()
        found = await self._table.find(handle) if is_handle else None
        if found is None or found[0].caller != _hash_caller(request.access):
            raise ToolError(self._describe_missing(handle))
        self._check_scopes(found[0].tool, request.access)
        return found

    def _describe_missing(self, handle: str) -> str:
        """Return what to do without a result, from nothing but its handle."""
        text = (
            f"No result is stored under `{handle[:_MAX_SHOWN]}`: it has expired, which happens"
            f" after {self._terms.minutes:g} minutes, or it has given way to others."
        )
        tool = self._tools.get(handle.rpartition(".")[0])
        if tool is None:
            return f"{text} Call the tool that returned the handle again."
        if tool.contract["listing"].get("annotations", {}).get("readOnlyHint"):
            return f"{text} Call `{tool.name}` again with the same arguments."
        return (
            f"{text} `{tool.name}` may change something: do not call it again only for its result,"
            " but read what it changed by another tool."
        )

    def _show_value(self, reading: Reading, content: bytes, offset: int) -> ToolResult:
        """Return the value that a pointer leads to, or that a query selects."""
        try:
            value = decode_json(content)
        except (TooComplexError, RecursionError) as error:
            why = f"more than {MAX_DEPTH} levels" if isinstance(error, RecursionError) else error
            raise ToolError(f"The stored JSON has {why}: read it by `offset` alone.") from None
        if reading.query is None:
            value = find_value(value, reading.pointer or "")
        else:
            from mcpgen.runtime.stored_results.query import QueryError, evaluate  # few calls

            try:
                value = evaluate(reading.query, value)
            except QueryError as error:
                raise ToolError(str(error)) from None
        shown = skip(value, offset)
        cut = shorten_text if isinstance(shown, str) else shorten
        short = cut(shown, self._max_bytes, has_notes=True)
        return _make_result(Text(short.text), [*reading.list_calls(short.cuts, value, offset)])

    def _show_part(
        self, handle: str, record: StoredResult, content: bytes, offset: int
    ) -> ToolResult:
        """Return the text or the bytes of a result, from an offset on."""
        data, shown, end = self._take_part(record, content, offset)
        if isinstance(data, str):
            block: Text | EmbeddedResource = Text(data)
        else:
            uri = f"{self._terms.make_uri(handle)}?offset={offset}"
            block = EmbeddedResource(uri, record.mime_type, blob=data)
        if end is None:
            return _make_result(block, [])
        call = {"name": self.tool, "arguments": {"handle": handle, "offset": end}}
        return _make_result(block, [NextCall(f"Cut: {shown}", call)])

    def _take_part(
        self, record: StoredResult, content: bytes, offset: int
    ) -> tuple[str | bytes, str, int | None]:
        """Return a part, which one it is, and where the next begins; None after the last one."""
        room = leave_room(self._max_bytes)
        whole: str | bytes = content
        if record.kind != BYTES:
            whole = content.decode("utf-8", "surrogatepass")
        check_offset(offset, len(whole))
        if isinstance(whole, str):
            part: str | bytes = take_text(whole, offset, room)
        else:
            part = take_bytes(whole, offset, room)
        end = offset + len(part)
        unit = "bytes" if record.kind == BYTES else "characters"
        is_last = end >= len(whole)
        return part, describe_part(unit, offset, end, len(whole)), None if is_last else end


def _make_result(block: Text | EmbeddedResource, calls: list[NextCall]) -> ToolResult:
    """Return a part, with the calls that return what it lacks."""
    if not calls:
        return ToolResult((block,))
    notes = map(Text, describe_calls(calls, {}))
    meta = {TRUNCATED_KEY: True, NEXT_CALLS_KEY: [it.call for it in calls if it.call is not None]}
    return ToolResult((block, *notes), meta=meta)


def _hash_caller(access: Access | None) -> str:
    """Return the hash of who may read a result: a principal, with its own credentials if any.

    Callers whom nothing distinguishes have the same hash: for them, the handle is the only key.
    """
    if access is None:
        return _hash("")
    return _hash(encode_json([access.principal, *sorted(access.headers.items())]).decode())


def _hash(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:32]

"""Conversion of results to the shape of a revision: unknown content becomes text or is omitted."""

from __future__ import annotations

from binascii import b2a_base64
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from mcpgen.runtime.content import (
    Annotations,
    Audio,
    Completion,
    Content,
    EmbeddedResource,
    Image,
    ModelMessage,
    PromptResult,
    ResourceContents,
    ResourceLink,
    ResourceResult,
    SamplingContent,
    Text,
    ToolResult,
    ToolUse,
    ToolUseResult,
)
from mcpgen.runtime.errors import ClientCannotError
from mcpgen.runtime.protocol.jsonrpc import JsonObject
from mcpgen.runtime.protocol.versions import Revision

MAX_COMPLETION_VALUES: Final = 100


def shape(result: object, revision: Revision) -> JsonObject:
    """Convert a handler's result to the JSON object of a revision.

    Raises:
        TypeError: the value is not a result.
    """
    try:
        shaper = _RESULTS[type(result)]
    except KeyError:
        raise TypeError(f"invalid result of a handler: {type(result).__name__}") from None
    return shaper(result, revision)


def shape_model_messages(messages: Sequence[ModelMessage], revision: Revision) -> list[JsonObject]:
    """Convert the messages for the client's model; unsupported blocks become text.

    A message of several blocks becomes several messages if the revision allows one block each.

    Raises:
        ClientCannotError: this revision does not support tools in sampling.
        ValueError: the tool results do not match the tool uses before them.
    """
    blocks_of = [(role, it if isinstance(it, tuple) else (it,)) for role, it in messages]
    _check_tool_results(blocks_of)
    shaped: list[JsonObject] = []
    for role, blocks in blocks_of:
        contents = [_shape_sampling_content(block, revision) for block in blocks]
        if len(contents) > 1 and revision.has_sampling_tools:
            shaped.append({"role": role, "content": contents})
        else:
            shaped += [{"role": role, "content": content} for content in contents]
    return shaped


def _check_tool_results(messages: Iterable[tuple[str, Sequence[SamplingContent]]]) -> None:
    """Check the order of tool uses and results (MCP 2025-11-25, "Sampling", Message Content)."""
    awaited: list[str] = []
    for role, blocks in messages:
        answered = [block.tool_use_id for block in blocks if isinstance(block, ToolUseResult)]
        if (awaited or answered) and (role != "user" or sorted(answered) != sorted(awaited)):
            raise ValueError(
                "after tool uses of the model comes one message of the user, with the result of"
                f" each: {awaited or 'none'} are to be answered, and {answered or 'none'} are"
            )
        if answered and len(answered) < len(blocks):
            raise ValueError("a message with tool results must contain nothing else")
        awaited = [block.id for block in blocks if isinstance(block, ToolUse)]
        if awaited and role != "assistant":
            raise ValueError("a tool use must be in a message of the assistant")
    if awaited:
        raise ValueError(f"missing tool results for the tool uses {awaited}")


def _shape_sampling_content(block: SamplingContent, revision: Revision) -> JsonObject:
    if isinstance(block, ToolUse | ToolUseResult):
        if not revision.has_sampling_tools:
            raise ClientCannotError(
                f"MCP {revision.name}, the revision of this client, has no tools in sampling",
                {"sampling": {"tools": {}}},
            )
        if isinstance(block, ToolUse):
            return _shape_tool_use(block)
        return _shape_tool_use_result(block, revision)
    return _shape_block(block, revision, revision.sampling_content_types)


def _shape_tool_use(block: ToolUse) -> JsonObject:
    shaped: JsonObject = {
        "type": "tool_use",
        "id": block.id,
        "name": block.name,
        "input": block.input,
    }
    if block.meta:
        shaped["_meta"] = block.meta
    return shaped


def _shape_tool_use_result(block: ToolUseResult, revision: Revision) -> JsonObject:
    types = revision.content_types
    shaped: JsonObject = {
        "type": "tool_result",
        "toolUseId": block.tool_use_id,
        "content": [_shape_block(content, revision, types) for content in block.content],
    }
    if block.structured_content is not None:
        shaped["structuredContent"] = block.structured_content
    if block.is_error:
        shaped["isError"] = True
    return shaped


def _shape_block(block: Content, revision: Revision, types: frozenset[str]) -> JsonObject:
    """Convert a content block; to text if its type is none of these."""
    shaped = _BLOCKS[type(block)](block)
    if shaped["type"] not in types:
        return {"type": "text", "text": _convert_to_text(block)}
    if block.annotations is not None:
        shaped["annotations"] = _shape_annotations(block.annotations, revision)
    return shaped


def _shape_tool_result(result: ToolResult, revision: Revision) -> JsonObject:
    types = revision.content_types
    shaped: JsonObject = {
        "content": [
            {"type": "text", "text": block.text}  # nearly always, and without a call
            if type(block) is Text and block.annotations is None
            else _shape_block(block, revision, types)
            for block in result.content
        ]
    }
    if result.structured_content is not None and revision.has_structured_content:
        if type(result.structured_content) is not dict:
            raise TypeError("structured content must be an object")
        shaped["structuredContent"] = result.structured_content
    if result.is_error:
        shaped["isError"] = True
    if result.meta:
        shaped["_meta"] = result.meta
    return shaped


def _shape_prompt(result: PromptResult, revision: Revision) -> JsonObject:
    types = revision.content_types
    shaped: JsonObject = {
        "messages": [
            {"role": message.role, "content": _shape_block(message.content, revision, types)}
            for message in result.messages
        ]
    }
    if result.description:
        shaped["description"] = result.description
    return shaped


def _shape_resource(result: ResourceResult, _: Revision) -> JsonObject:
    return {"contents": [_shape_contents(contents) for contents in result.contents]}


def _shape_completion(result: Completion, _: Revision) -> JsonObject:
    values = list(result.values[:MAX_COMPLETION_VALUES])
    total = len(result.values) if result.total is None else result.total
    return {"completion": {"values": values, "total": total, "hasMore": total > len(values)}}


def _shape_contents(contents: ResourceContents | EmbeddedResource) -> JsonObject:
    shaped: JsonObject = {"uri": contents.uri}
    if contents.mime_type:
        shaped["mimeType"] = contents.mime_type
    if contents.blob is not None:
        shaped["blob"] = _encode_base64(contents.blob)
    else:
        shaped["text"] = contents.text or ""
    return shaped


def _shape_link(block: ResourceLink) -> JsonObject:
    shaped: JsonObject = {"type": "resource_link", "uri": block.uri, "name": block.name}
    if block.title:
        shaped["title"] = block.title
    if block.description:
        shaped["description"] = block.description
    if block.mime_type:
        shaped["mimeType"] = block.mime_type
    if block.size is not None:
        shaped["size"] = block.size
    return shaped


def _convert_to_text(block: Content) -> str:
    if isinstance(block, ResourceLink):
        text = f"{block.title or block.name}: {block.uri}"
        return f"{text}\n{block.description}" if block.description else text
    if isinstance(block, Image | Audio):
        kind = type(block).__name__.lower()
        return f"[{kind}, {block.mime_type}, {len(block.data)} bytes]"
    if isinstance(block, EmbeddedResource):
        kind = f"resource {block.uri}, {block.mime_type or 'bytes'}"
        return f"[{kind}, {len(block.blob)} bytes]" if block.blob is not None else block.text or ""
    raise TypeError(f"{type(block).__name__} is in every revision")


def _shape_annotations(annotations: Annotations, revision: Revision) -> JsonObject:
    shaped: JsonObject = {}
    if annotations.audience:
        shaped["audience"] = list(annotations.audience)
    if annotations.priority is not None:
        shaped["priority"] = annotations.priority
    if annotations.last_modified and "lastModified" in revision.annotation_keys:
        shaped["lastModified"] = annotations.last_modified
    return shaped


def _encode_base64(data: bytes) -> str:
    return b2a_base64(data, newline=False).decode()


_RESULTS: Final[dict[type, Callable[[Any, Revision], JsonObject]]] = {
    ToolResult: _shape_tool_result,
    PromptResult: _shape_prompt,
    ResourceResult: _shape_resource,
    Completion: _shape_completion,
}
_BLOCKS: Final[dict[type, Callable[[Any], JsonObject]]] = {
    Text: lambda block: {"type": "text", "text": block.text},
    Image: lambda block: {
        "type": "image",
        "data": _encode_base64(block.data),
        "mimeType": block.mime_type,
    },
    Audio: lambda block: {
        "type": "audio",
        "data": _encode_base64(block.data),
        "mimeType": block.mime_type,
    },
    EmbeddedResource: lambda block: {"type": "resource", "resource": _shape_contents(block)},
    ResourceLink: _shape_link,
}

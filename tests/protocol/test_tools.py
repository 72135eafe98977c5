"""Tests of tools/call: arguments, results, errors, and content in every revision."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcpgen.runtime.content import (
    Annotations,
    Audio,
    Content,
    EmbeddedResource,
    Image,
    ResourceLink,
    Text,
    ToolResult,
)
from mcpgen.runtime.errors import InvalidArgumentsError, ProtocolError, UnknownToolError
from tests.support.protocol_client import ALL, MODERN, Peer, definition

NOTED = Annotations(("user", "assistant"), 0.5, "2025-01-01T00:00:00Z")
BLOCKS: dict[str, tuple[Content, str]] = {  # and the revision that brought it
    "text": (Text("words", NOTED), "2024-11-05"),
    "image": (Image(b"\x89PNG", "image/png", NOTED), "2024-11-05"),
    "audio": (Audio(b"RIFF", "audio/wav", NOTED), "2025-03-26"),
    "resource": (EmbeddedResource("test://x", "text/plain", text="words"), "2024-11-05"),
    "blob": (EmbeddedResource("test://x", "image/png", blob=b"\x00\xff"), "2024-11-05"),
    "resource_link": (
        ResourceLink("test://x", "x", "X", "An x.", "text/plain", 3, NOTED),
        "2025-06-18",
    ),
}


def answered(revision: str, result: ToolResult) -> dict[str, Any]:
    peer = Peer(revision)
    peer.call().succeed(result)
    (frame,) = peer.frames()
    return dict(frame["result"])


@pytest.mark.requirement("L098", "L099", "L100")
@pytest.mark.parametrize("revision", ALL)
@pytest.mark.parametrize("kind", BLOCKS)
def test_content_unknown_to_the_revision_becomes_text(revision: str, kind: str) -> None:
    block, since = BLOCKS[kind]
    (shaped,) = answered(revision, ToolResult((block,)))["content"]
    expected = "resource" if kind == "blob" else kind
    assert shaped["type"] == (expected if revision >= since else "text")


@pytest.mark.parametrize("revision", ["2024-11-05", "2025-03-26"])
def test_the_replacement_text_describes_the_original_content(revision: str) -> None:
    blocks = (BLOCKS["audio"][0], BLOCKS["resource_link"][0])
    audio, link = answered(revision, ToolResult(blocks))["content"]
    if revision == "2024-11-05":
        assert audio["text"] == "[audio, audio/wav, 4 bytes]"
    assert link["text"] == "X: test://x\nAn x."


@pytest.mark.requirement("L094", "L098", "L099", "L100", "N110")
def test_bytes_are_sent_as_base64_with_their_media_type() -> None:
    image, embedded = answered(
        MODERN, ToolResult((Image(b"\x00\xffpng", "image/png"), BLOCKS["blob"][0]))
    )["content"]
    assert image == {"type": "image", "data": "AP9wbmc=", "mimeType": "image/png"}
    assert embedded["resource"] == {"uri": "test://x", "mimeType": "image/png", "blob": "AP8="}


@pytest.mark.parametrize("revision", ALL)
def test_annotations_have_only_the_fields_of_the_revision(revision: str) -> None:
    (shaped,) = answered(revision, ToolResult((Text("x", NOTED),)))["content"]
    keys = {"audience", "priority"} | ({"lastModified"} if revision >= "2025-06-18" else set())
    assert shaped["annotations"].keys() == keys


@pytest.mark.requirement("L079", "N095")
@pytest.mark.parametrize("revision", ALL)
def test_structured_content_is_sent_only_in_revisions_that_have_it(revision: str) -> None:
    result = answered(revision, ToolResult((Text('{"a":1}'),), {"a": 1}))
    assert result.get("structuredContent") == ({"a": 1} if revision >= "2025-06-18" else None)
    assert result["content"] == [{"type": "text", "text": '{"a":1}'}]


@pytest.mark.requirement("N004", "N005", "N017")
def test_a_modern_result_has_a_result_type_and_server_info() -> None:
    result = answered(MODERN, ToolResult((), meta={"example.com/note": 1}))
    assert result["resultType"] == "complete"
    assert result["_meta"] == {
        "io.modelcontextprotocol/serverInfo": {"name": "test-server", "version": "1.2.3"},
        "example.com/note": 1,
    }
    assert "ttlMs" not in result
    assert "cacheScope" not in result


@pytest.mark.parametrize("revision", ALL[:-1])
def test_a_legacy_result_has_only_content(revision: str) -> None:
    assert answered(revision, ToolResult((Text("x"),))).keys() == {"content"}


@pytest.mark.requirement("L087", "N099")
@pytest.mark.parametrize("revision", ALL)
def test_a_tool_error_is_a_result_with_is_error(revision: str) -> None:
    result = answered(revision, ToolResult((Text("no pet has this id"),), is_error=True))
    assert result["isError"] is True


@pytest.mark.requirement("L087", "N099")
@pytest.mark.parametrize("revision", ALL)
def test_an_unknown_tool_is_a_protocol_error(revision: str) -> None:
    peer = Peer(revision)
    peer.call(name="nope", stream="post").fail(UnknownToolError("nope"))
    (outgoing,) = peer.outgoing()
    (frame,) = peer._decoded(outgoing)
    assert frame["error"]["code"] == -32602
    assert "nope" in frame["error"]["message"]
    assert outgoing.http_status == (400 if revision == MODERN else 200)


@pytest.mark.requirement("L075", "L087", "N098", "N099")
@pytest.mark.parametrize("revision", ALL)
def test_invalid_arguments_are_a_result_or_an_error_depending_on_the_revision(
    revision: str,
) -> None:
    peer = Peer(revision)
    peer.call().fail(InvalidArgumentsError("tool_0", ("`/limit` must be at least 1, not 0",)))
    (frame,) = peer.frames()
    if revision >= "2025-11-25":
        assert frame["result"]["isError"] is True
        assert "`/limit` must be at least 1" in frame["result"]["content"][0]["text"]
    else:
        assert frame["error"]["code"] == -32602
        assert frame["error"]["data"] == {"problems": ["`/limit` must be at least 1, not 0"]}


@pytest.mark.requirement("L087", "N099")
@pytest.mark.parametrize("revision", ALL)
@pytest.mark.parametrize(
    "params",
    [
        {},
        {"name": None},
        {"name": 7},
        {"name": "tool_0", "arguments": []},
        {"name": "tool_0", "arguments": "x"},
        {"name": "tool_0", "arguments": None},
    ],
    ids=json.dumps,
)
def test_a_malformed_call_is_a_protocol_error(revision: str, params: dict[str, Any]) -> None:
    assert Peer(revision).error("tools/call", **params)["code"] == -32602


@pytest.mark.parametrize("revision", ALL)
def test_a_call_without_arguments_is_accepted(revision: str) -> None:
    assert Peer(revision).call(name="tool_0").params["name"] == "tool_0"


@pytest.mark.requirement("L131")
def test_task_parameters_are_ignored_if_tasks_are_not_declared() -> None:
    peer = Peer("2025-11-25")
    peer.call(task={"ttl": 1000}).succeed(ToolResult((Text("done"),)))
    (frame,) = peer.frames()
    assert frame["result"]["content"][0]["text"] == "done"


@pytest.mark.parametrize("revision", ALL)
def test_a_handler_can_fail_with_a_custom_protocol_error(revision: str) -> None:
    peer = Peer(revision)
    peer.call().fail(ProtocolError(7, "out of paper", {"tray": 2}))
    (frame,) = peer.frames()
    assert frame["error"] == {"code": 7, "message": "out of paper", "data": {"tray": 2}}


@pytest.mark.requirement("L073", "N088")
@pytest.mark.parametrize("revision", ALL)
def test_tools_call_is_an_unknown_method_without_tools(revision: str) -> None:
    peer = Peer(revision, definition(tools=None))
    assert peer.error("tools/call", name="x")["code"] == -32601

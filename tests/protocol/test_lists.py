"""Tests of tools/list, prompts/list, resources/list and resources/templates/list."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcpgen.runtime.protocol.server import ServerProtocol
from tests.support.protocol_client import ALL, LEGACY, MODERN, TOOLS, Peer, definition, listing

LISTS = {
    "tools/list": "tools",
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
}


@pytest.mark.requirement("L082", "L087", "N088", "N091", "N100", "N108")
@pytest.mark.parametrize("revision", ALL)
@pytest.mark.parametrize("method", LISTS)
def test_list_items_have_the_fields_of_the_revision(revision: str, method: str) -> None:
    result = Peer(revision).result(method)
    items = result[LISTS[method]]
    assert items
    assert "nextCursor" not in result
    for item in items:
        assert item["description"]
        assert ("title" in item) == (revision >= "2025-06-18")
        assert "icons" not in item or revision >= "2025-11-25"
        assert "_meta" not in item or revision >= "2025-06-18"


@pytest.mark.parametrize("revision", ALL)
def test_optional_tool_fields_depend_on_the_revision(revision: str) -> None:
    tool = Peer(revision).result("tools/list")["tools"][0]
    assert ("annotations" in tool) == (revision >= "2025-03-26")
    assert ("outputSchema" in tool) == (revision >= "2025-06-18")
    assert ("icons" in tool) == (revision >= "2025-11-25")


@pytest.mark.parametrize("revision", ALL)
def test_nested_fields_depend_on_the_revision(revision: str) -> None:
    peer = Peer(revision)
    (prompt,) = peer.result("prompts/list")["prompts"]
    assert ("title" in prompt["arguments"][0]) == (revision >= "2025-06-18")
    resource = peer.result("resources/list")["resources"][0]
    assert ("lastModified" in resource["annotations"]) == (revision >= "2025-06-18")


@pytest.mark.requirement("L112", "N087", "L086", "N092")
@pytest.mark.parametrize("revision", ALL)
@pytest.mark.parametrize("method", LISTS)
def test_pages_join_to_the_complete_list(revision: str, method: str) -> None:
    whole = Peer(revision).result(method)[LISTS[method]]
    peer = Peer(revision, definition(page_size=2))
    pages: list[Any] = []
    cursor: dict[str, str] = {}
    while True:
        result = peer.result(method, **cursor)
        assert 1 <= len(result[LISTS[method]]) <= 2
        pages += result[LISTS[method]]
        if "nextCursor" not in result:
            break
        cursor = {"cursor": result["nextCursor"]}
    assert pages == whole


@pytest.mark.requirement("L112", "N087")
@pytest.mark.parametrize("revision", ALL)
@pytest.mark.parametrize("cursor", ["", "2", "AAAAAg", "é", 2, ["x"]], ids=repr)
def test_an_unknown_cursor_is_rejected(revision: str, cursor: object) -> None:
    error = Peer(revision, definition(page_size=2)).error("tools/list", cursor=cursor)
    assert error["code"] == -32602


def test_a_null_cursor_is_treated_as_absent() -> None:
    assert Peer(MODERN).result("tools/list", cursor=None)["tools"]


@pytest.mark.requirement("L112", "N087")
def test_a_cursor_with_a_changed_character_is_rejected() -> None:
    peer = Peer(MODERN, definition(page_size=2))
    cursor = peer.result("tools/list")["nextCursor"]
    for index, character in enumerate(cursor):
        for other in "AB-_9=":
            if other != character:
                changed = cursor[:index] + other + cursor[index + 1 :]
                assert peer.error("tools/list", cursor=changed)["code"] == -32602, changed


@pytest.mark.requirement("N087")
def test_a_cursor_of_another_list_is_rejected() -> None:
    peer = Peer(MODERN, definition(page_size=1))
    cursor = peer.result("tools/list")["nextCursor"]
    assert peer.error("resources/list", cursor=cursor)["code"] == -32602


@pytest.mark.requirement("L112", "N012", "N087")
def test_a_cursor_is_valid_in_another_process_with_the_same_list() -> None:
    cursor = Peer(MODERN, definition(page_size=2)).result("tools/list")["nextCursor"]
    elsewhere = Peer(MODERN, definition(page_size=2))
    assert elsewhere.result("tools/list", cursor=cursor)["tools"][0]["name"] == "tool_2"


@pytest.mark.requirement("N084", "N085")
@pytest.mark.parametrize("method", LISTS)
def test_every_page_carries_the_same_cache_hints(method: str) -> None:
    peer = Peer(MODERN, definition(page_size=1))
    first = peer.result(method)
    hints = (first["ttlMs"], first["cacheScope"])
    assert hints == (3_600_000, "public")
    if "nextCursor" in first:
        second = peer.result(method, cursor=first["nextCursor"])
        assert (second["ttlMs"], second["cacheScope"]) == hints


@pytest.mark.parametrize("revision", LEGACY)
@pytest.mark.parametrize("method", LISTS)
def test_a_legacy_list_has_no_result_type_and_no_cache_hints(revision: str, method: str) -> None:
    assert Peer(revision).result(method).keys() == {LISTS[method]}


@pytest.mark.requirement("L002", "N002")
@pytest.mark.parametrize("id", [0, -1, 7, 2**53, "", "id", 'a "quoted" id', "日本"], ids=repr)
@pytest.mark.parametrize("revision", [LEGACY[0], MODERN])
def test_a_prepared_list_repeats_the_request_id_exactly(revision: str, id: Any) -> None:
    response = Peer(revision).ask("tools/list", id=id)
    assert response["id"] == id
    assert type(response["id"]) is type(id)


@pytest.mark.requirement("N089")
def test_every_revision_lists_tools_in_the_prepared_order() -> None:
    for revision in ALL:
        names = [tool["name"] for tool in Peer(revision).result("tools/list")["tools"]]
        assert names == [tool["name"] for tool in TOOLS]


def test_the_newest_revision_is_sent_without_decoding_the_items() -> None:
    broken = listing("tools", []).__class__("tools", [b'{"name":"x",'])
    protocol = ServerProtocol(definition(tools=broken))
    peer = Peer(MODERN, protocol=protocol)
    protocol.receive(peer.request("tools/list", id=1))
    (outgoing,) = protocol.messages_to_send()
    assert b'[{"name":"x",]' in outgoing.data


@pytest.mark.requirement("L073", "L088", "L096", "N046")
@pytest.mark.parametrize("revision", ALL)
@pytest.mark.parametrize("method", LISTS)
def test_a_list_that_is_not_supported_is_an_unknown_method(revision: str, method: str) -> None:
    nothing = definition(tools=None, prompts=None, resources=None, resource_templates=None)
    assert Peer(revision, nothing).error(method)["code"] == -32601


def test_an_empty_list_is_returned_as_an_empty_array() -> None:
    peer = Peer(MODERN, definition(tools=listing("tools", [])))
    assert json.dumps(peer.result("tools/list")["tools"]) == "[]"

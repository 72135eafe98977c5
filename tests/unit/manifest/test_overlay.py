"""Tests of the effect of overlays on a document (OpenAPI Overlay Specification 1.1.0)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from mcpgen.diagnostics import Problems, RejectedError
from mcpgen.ir.document import Document
from mcpgen.manifest.overlay import apply_overlays, read_overlay
from mcpgen.openapi.source.load import load

DOCUMENT = """\
openapi: 3.1.0
info: {title: Shop, version: "1"}
tags: [{name: a}, {name: b}, {name: c}]
paths:
  /pets:
    get: {summary: Old, tags: [a], x-note: {deep: {kept: 1}}}
  /toys:
    get: {summary: Toys}
"""


@pytest.fixture
def document(tmp_path: Path) -> Document:
    (tmp_path / "shop.yaml").write_text(DOCUMENT)
    return load(str(tmp_path / "shop.yaml"), Problems())


def changed(document: Document, *actions: dict[str, Any], problems: Problems | None = None) -> Any:
    told = Problems() if problems is None else problems
    text = yaml.safe_dump(
        {"overlay": "1.1.0", "info": {"title": "T", "version": "1"}, "actions": list(actions)},
        sort_keys=False,
    )
    return apply_overlays(document, [read_overlay(text.encode(), "mend.yaml", told)], told)


def test_an_update_merges_objects_and_replaces_scalars(document: Document) -> None:
    update = {"summary": "New", "x-note": {"deep": {"more": 2}}, "tags": ["b"]}
    after = changed(document, {"target": "$.paths['/pets'].get", "update": update})
    assert after.root["paths"]["/pets"]["get"] == {
        "summary": "New",
        "tags": ["a", "b"],
        "x-note": {"deep": {"kept": 1, "more": 2}},
    }
    assert document.root["paths"]["/pets"]["get"]["summary"] == "Old", "the document was touched"


def test_every_match_is_changed(document: Document) -> None:
    after = changed(document, {"target": "$.paths.*.get", "update": {"deprecated": True}})
    assert [item["get"]["deprecated"] for item in after.root["paths"].values()] == [True, True]


def test_an_update_appends_one_or_several_items_to_an_array(document: Document) -> None:
    after = changed(
        document,
        {"target": "$.tags", "update": {"name": "d"}},
        {"target": "$.tags", "update": [{"name": "e"}, {"name": "f"}]},
    )
    assert "".join(tag["name"] for tag in after.root["tags"]) == "abcdef"


def test_a_plain_value_is_replaced(document: Document) -> None:
    after = changed(document, {"target": "$.info.title", "update": "Store"})
    assert after.root["info"]["title"] == "Store"


def test_remove_deletes_several_items_and_members(document: Document) -> None:
    after = changed(
        document,
        {"target": "$.tags[?@.name != 'b']", "remove": True, "update": {"never": 1}},
        {"target": "$.paths['/toys']", "remove": True},
    )
    assert after.root["tags"] == [{"name": "b"}]
    assert list(after.root["paths"]) == ["/pets"]


def test_a_copy_is_merged_into_its_target(document: Document) -> None:
    after = changed(document, {"target": "$.paths['/toys'].get", "copy": "$.paths['/pets'].get"})
    assert after.root["paths"]["/toys"]["get"]["tags"] == ["a"]
    assert after.root["paths"]["/toys"]["get"]["summary"] == "Old"


def test_actions_see_the_results_of_earlier_actions(document: Document) -> None:
    after = changed(
        document,
        {"target": "$.paths", "update": {"/new": {"get": {}}}},
        {"target": "$.paths['/new'].get", "update": {"summary": "Found"}},
    )
    assert after.root["paths"]["/new"]["get"]["summary"] == "Found"


def test_locations_point_to_the_overlay_or_the_document(document: Document) -> None:
    after = changed(
        document,
        {"target": "$.tags[0]", "remove": True},
        {"target": "$.tags", "update": {"name": "d"}},
        {"target": "$.paths['/pets'].get", "update": {"summary": "New"}},
    )
    moved, written = after.locate("/tags/1/name"), after.locate("/tags/2/name")
    assert (Path(moved.file).name, moved.pointer) == ("shop.yaml", "/tags/2/name")
    assert (written.file, written.pointer) == ("mend.yaml", "/actions/1/update/name")
    summary = after.locate("/paths/~1pets/get/summary")
    assert (summary.file, summary.pointer) == ("mend.yaml", "/actions/2/update/summary")
    tags = after.locate("/paths/~1pets/get/tags/0")
    assert Path(tags.file).name == "shop.yaml"


def test_item_locations_are_updated_after_insertions_and_removals(document: Document) -> None:
    after = changed(
        document,
        {"target": "$.tags", "update": {"name": "d"}},
        {"target": "$.tags[1]", "remove": True},
    )
    assert [tag["name"] for tag in after.root["tags"]] == ["a", "c", "d"]
    assert after.locate("/tags/2/name").file == "mend.yaml"
    assert after.locate("/tags/1/name").pointer == "/tags/2/name"


def test_an_action_without_a_match_is_reported(document: Document) -> None:
    problems = Problems()
    after = changed(document, {"target": "$.paths['/gone']", "remove": True}, problems=problems)
    (told,) = problems
    assert after.root == document.root
    assert told.code == "overlay-without-match"
    assert told.at is not None
    assert told.at.pointer == "/actions/0/target"


@pytest.mark.parametrize(
    ("action", "message"),
    [
        ({"target": "$.paths[", "remove": True}, "invalid JSONPath"),
        ({"target": "$.info"}, "action without effect"),
        ({"target": "$.info", "update": "text"}, "cannot be merged"),
        ({"target": "$.info.title", "update": {"a": 1}}, "cannot be merged"),
        ({"target": "$", "remove": True}, "cannot be removed"),
        ({"target": "$.info", "copy": "$.tags[*]"}, "leads to 3 values"),
    ],
)
def test_an_invalid_action_is_reported_as_one_error(
    document: Document, action: dict[str, Any], message: str
) -> None:
    problems = Problems()
    with pytest.raises(RejectedError):
        changed(document, action, problems=problems)
    (told,) = problems
    assert message in told.message
    assert told.at is not None
    assert told.at.pointer.startswith("/actions/0")


def test_an_overlay_of_1_0_has_no_copy() -> None:
    problems = Problems()
    text = (
        b'overlay: 1.0.0\ninfo: {title: t, version: "1"}\nactions: [{target: $.info, copy: $.x}]\n'
    )
    with pytest.raises(RejectedError):
        read_overlay(text, "mend.yaml", problems)
    (told,) = problems
    assert told.message == "Overlay 1.0.0 has no `copy`"
    assert told.at is not None
    assert told.at.pointer == "/actions/0/copy"


def test_an_unknown_overlay_key_is_rejected_with_a_suggestion() -> None:
    problems = Problems()
    text = (
        b'overlay: 1.0.0\ninfo: {title: t, version: "1"}\nextends: shop.yaml\nx-ours: 1\n'
        b"actions: [{target: $.info, updat: {title: T}, x-why: it}]\n"
    )
    with pytest.raises(RejectedError):
        read_overlay(text, "mend.yaml", problems)
    (told,) = problems
    assert told.at is not None
    assert told.at.pointer == "/actions/0/updat"
    assert told.help == "did you mean `update`?"

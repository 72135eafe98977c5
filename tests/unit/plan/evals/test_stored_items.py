"""Tests of the collections that the mock stores."""

from __future__ import annotations

from typing import Any

import pytest

from mcpgen.jsonschema.samples import make_samples
from mcpgen.plan.evals import stored_items
from mcpgen.plan.evals.stored_items import ItemCollections
from tests.unit.conftest import Make
from tests.unit.plan.evals.test_first_tasks import describe


def test_a_collection_is_examined_once_and_only_when_it_is_needed(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    read_example = stored_items.read_example

    def record(operation: Any, answered: Any) -> Any:
        read.append(operation.key)
        return read_example(operation, answered)

    monkeypatch.setattr(stored_items, "read_example", record)
    plan = make(describe()).plan()
    collections = ItemCollections(plan.tools, make_samples(plan.api.schemas)[1])
    ((key, tools),) = collections.iterate()
    assert (key[1], sorted(tools)) == ("/pets", ["DELETE", "GET"])
    assert read == []
    stored = collections.find(key)
    assert stored is not None
    assert (stored.parameter, stored.id_member, stored.known_id) == ("petId", "id", 4)
    assert collections.find(key) is stored
    assert read == ["POST /pets", "GET /pets/{petId}"]
    by_name = {tool.name: tool for tool in plan.tools}
    assert collections.find_target(by_name["add_pet"]) is stored
    assert collections.find_target(by_name["feed_pet"]) is None
    assert collections.find(("", "/owners")) is None

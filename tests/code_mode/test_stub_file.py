"""Tests of the stubs that snippets are type-checked with, and of those that a model reads."""

from __future__ import annotations

import pytest

from mcpgen.runtime.code.stubs import StubFile

TEXT = '''"""About the file."""

from typing import Any, TypedDict


def get_pet(*, pet_id: int) -> Pet:
    """Fetch an Order."""


def secret(*, body: Order) -> None:
    """Not for clients."""


class Order(TypedDict):
    pet: Pet


class Owner(TypedDict, total=False):
    name: str
    pets: list[Pet]


class Pet(TypedDict, total=False):
    id: int
    owner: Owner
'''


@pytest.fixture
def stubs() -> StubFile:
    return StubFile(TEXT, {"get_pet": "get_pet", "missing": "missing"})


def test_a_snippet_gets_what_it_names_and_the_types_of_that(stubs: StubFile) -> None:
    selected = stubs.select("x = get_pet(pet_id=1)\nsecret()")

    assert selected.startswith("from typing import Any, TypedDict\n\n\ndef get_pet(")
    assert "class Pet" in selected
    assert "class Owner" in selected
    assert "class Order" not in selected  # only the docstring names it
    assert "secret" not in selected


def test_functions_that_may_not_be_called_are_unknown(stubs: StubFile) -> None:
    assert [*stubs.functions] == ["get_pet"]
    with pytest.raises(KeyError, match="secret"):
        stubs.describe(["get_pet", "secret"])


def test_types_that_do_not_fit_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcpgen.runtime.code.stubs._MAX_INNER_BYTES", 20)
    stubs = StubFile(TEXT, {"get_pet": "get_pet"})
    shown = stubs.describe(["get_pet"])

    assert "class Pet" in shown
    assert "# Not shown; describe them by name: Owner" in shown.splitlines()
    assert "class Owner" in stubs.describe(["Owner"])


def test_members_and_signatures_are_found(stubs: StubFile) -> None:
    assert stubs.find_signature("get_pet") == "def get_pet(*, pet_id: int) -> Pet"
    assert stubs.find_members("Pet") == ["id", "owner"]
    assert stubs.suggest("get_pets") == ["get_pet"]


def test_calls_can_be_started_unless_a_tool_has_that_name() -> None:
    plain = StubFile(TEXT, {"get_pet": "get_pet"})
    with_start = TEXT.strip("\n") + "\n\n\ndef start() -> Any:\n    ...\n"
    own = StubFile(with_start, {"get_pet": "get_pet", "start": "start"})

    assert "def start[**P, T]" in plain.select("start(get_pet, pet_id=1)")
    assert "def start[**P, T]" not in plain.select("get_pet(pet_id=1)")
    assert "asyncio.gather" in plain.describe(["get_pet"])
    assert "asyncio.gather" not in plain.describe(["Owner"])
    assert own.select("start()").count("def start") == 1
    assert "def start() -> Any" in own.select("start()")
    assert "asyncio.gather" not in own.describe(["get_pet"])

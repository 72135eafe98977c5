"""Tests that no attempt to escape from the sandbox succeeds, and that each fails as expected."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mcpgen.runtime.content import JsonObject
from mcpgen.runtime.package import ServerPackage
from mcpgen.testing.client.client import MODERN
from tests.code_mode.attempts import ATTEMPTS, Attempt
from tests.code_mode.conftest import API_KEY, Scene, answer_of, list_workers, text_of

DENIED = ("/store/inventory", "/store/orders", "DELETE")
"""Parts of requests that no attempt may cause."""


def decline(_: JsonObject) -> JsonObject:
    return {"action": "decline"}


def test_there_are_sixty_attempts() -> None:
    assert len({attempt.code for attempt in ATTEMPTS}) >= 60


@pytest.mark.parametrize("attempt", ATTEMPTS, ids=lambda attempt: attempt.name)
def test_an_attempt_fails_for_its_reason(
    scene: Scene, attempt: Attempt, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CODESHOP_API_KEY", API_KEY)
    result: dict[str, Any] = scene.run(
        attempt.code, revision=MODERN, answers={"elicitation/create": decline}
    )

    whole = json.dumps(result)
    assert API_KEY not in whole
    assert "root:" not in whole  # of /etc/passwd
    assert not Path("/tmp/escaped").exists()
    assert not [it for it in scene.shop.requests if any(word in it for word in DENIED)]
    if attempt.reason:
        assert result["isError"] is True
        assert attempt.reason in text_of(result)
    else:
        answer = answer_of(result)
        assert answer["result"] == attempt.value
        assert answer["calls"] == []


@pytest.mark.parametrize(
    "disguise", ["t", "t[::-1]", "[c for c in t]", "t.encode().hex()", "' '.join(t)"]
)
def test_a_secret_that_the_api_repeats_never_reaches_the_code(scene: Scene, disguise: str) -> None:
    """Code could disguise the secret in its result, so it is masked before code receives it."""
    scene.shop.told = API_KEY
    code = f"def read(pet):\n    return pet['batch']\nt = read(get_pet(pet_id=1))\n[t, {disguise}]"

    told, disguised = answer_of(scene.run(code))["result"]

    assert API_KEY not in told
    assert "4711" not in told
    if isinstance(disguised, list):
        disguised = "".join(disguised)
    for text in (API_KEY, API_KEY[::-1], API_KEY.encode().hex(), " ".join(API_KEY)):
        assert text not in disguised


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs the processes of Linux")
@pytest.mark.parametrize("code", ["1", "1 / 0", "while True:\n    pass", "'a' * 10**10"])
def test_no_process_is_left_after_a_run(scene: Scene, code: str) -> None:
    scene.run(code)

    assert list_workers() == set()


def test_a_function_in_the_stubs_is_no_permission(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The registry decides which tools may be called, not the stub file that the model reads."""
    read = ServerPackage._read

    def add(package: ServerPackage, name: str) -> bytes:
        more = b"\n\n\ndef get_inventory() -> Any:\n    ...\n" if name.endswith(".pyi") else b""
        return read(package, name) + more

    monkeypatch.setattr(ServerPackage, "_read", add)

    for code in ("get_inventory()", "eval('get_inventory()')"):
        assert "get_inventory" in text_of(scene.run(code))
    assert scene.shop.requests == []

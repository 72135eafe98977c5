"""Tests of user accounts: one renewal for all replicas, complete, and only with consent."""

from __future__ import annotations

import asyncio
import json
from base64 import urlsafe_b64encode
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from mcpgen.runtime.auth.access import Access
from mcpgen.runtime.errors import ConnectionNeededError, ToolError
from mcpgen.runtime.state.key_ring import KeyRing
from mcpgen.runtime.state.memory_store import MemoryStore
from mcpgen.runtime.state.store import StoreUnavailableError
from mcpgen.runtime.upstream.auth.account_store import AccountStore
from mcpgen.runtime.upstream.auth.renewal import LOCK_SECONDS
from mcpgen.runtime.upstream.auth.token_endpoint import GrantRefusedError, TokenGrant
from mcpgen.runtime.upstream.auth.user_scheme import UserScheme

ADA = Access(principal="https://id.example sub ada")


async def send(_: Any) -> Any:
    raise AssertionError("the client of this test sends nothing")


class FakeClient:
    """An authorization server that answers when the test decides."""

    def __init__(self) -> None:
        self.refreshed: list[str] = []
        self.revoked: list[str] = []
        self.go_on = asyncio.Event()
        self.go_on.set()
        self.error: Exception | None = None

    async def refresh(self, _: Any, token: str) -> TokenGrant:
        self.refreshed.append(token)
        await self.go_on.wait()
        if self.error is not None:
            raise self.error
        return make_grant(len(self.refreshed) + 1)

    async def revoke(self, _: Any, token: str, __: str) -> bool:
        self.revoked.append(token)
        return True


def make_grant(number: int, lifetime: float = 100.0, *, user: str = "") -> TokenGrant:
    """Return a grant; with `user`, it has an ID token with this subject."""
    claims = json.dumps({"iss": "https://api.example", "sub": user}).encode()
    id_token = f"e30.{urlsafe_b64encode(claims).decode().rstrip('=')}.c2ln" if user else ""
    return TokenGrant(f"access-{number}", lifetime, f"refresh-{number}", id_token=id_token)


class Scene:
    """Replicas with a shared store and clock."""

    def __init__(self, store: MemoryStore | None = None) -> None:
        self.now = 1000.0
        self.client = FakeClient()
        self.store = store or MemoryStore(clock=lambda: self.now)
        self.slept = 0.0

    async def sleep(self, seconds: float) -> None:
        self.slept += seconds
        self.now += seconds
        await asyncio.sleep(0)

    def replica(self) -> UserScheme:
        ring = KeyRing((b"k" * 32,), purpose=b"test")
        client: Any = self.client
        return UserScheme(
            "login",
            client,
            AccountStore(self.store, ring, server="test"),
            variables=("LOGIN_CLIENT_ID",),
            now=lambda: self.now,
            sleep=self.sleep,
        )


async def connect_and_expire(store: MemoryStore | None = None) -> tuple[Scene, UserScheme]:
    """Return a replica that must renew the token of Ada's account."""
    scene = Scene(store)
    scheme = scene.replica()
    await scheme.connect(ADA.principal, make_grant(1), ["read"])
    scene.now += 99
    return scene, scheme


async def token_of(scheme: UserScheme, *scopes: str, access: Access | None = ADA) -> str:
    applied = await scheme.apply(send, scopes, access)
    return applied.headers[0][1]


async def until(condition: Callable[[], Any]) -> None:
    while not condition():  # noqa: ASYNC110  (bounded by `run`)
        await asyncio.sleep(0)


def test_a_cancelled_call_does_not_cancel_the_renewal(run) -> None:
    async def scenario() -> None:
        scene, scheme = await connect_and_expire()
        scene.client.go_on.clear()
        call = asyncio.create_task(token_of(scheme, "read"))
        await until(lambda: scene.client.refreshed)
        call.cancel()
        scene.client.go_on.set()
        assert await token_of(scheme, "read") == "Bearer access-2"
        assert scene.client.refreshed == ["refresh-1"]

    run(scenario())


def test_replicas_wait_for_the_one_that_renews(run) -> None:
    async def scenario() -> None:
        scene, one = await connect_and_expire()
        two = scene.replica()
        scene.client.go_on.clear()
        first = asyncio.create_task(token_of(one, "read"))
        await until(lambda: scene.client.refreshed)
        second = asyncio.create_task(token_of(two, "read"))
        await until(lambda: scene.slept)
        scene.client.go_on.set()
        assert await first == await second == "Bearer access-2"
        assert scene.client.refreshed == ["refresh-1"]

    run(scenario())


def test_the_lock_of_a_replica_that_died_expires(run) -> None:
    async def scenario() -> None:
        scene, scheme = await connect_and_expire()
        lock = scheme._accounts.make_key(ADA.principal, "login", "account-lock")
        await scene.store.add(lock, b"the dead", LOCK_SECONDS)
        assert await token_of(scheme, "read") == "Bearer access-2"
        assert scene.slept >= LOCK_SECONDS

    run(scenario())


def test_an_account_that_is_disconnected_during_a_renewal_stays_disconnected(run) -> None:
    async def scenario() -> None:
        scene, one = await connect_and_expire()
        two = scene.replica()
        scene.client.go_on.clear()
        call = asyncio.create_task(token_of(one, "read"))
        await until(lambda: scene.client.refreshed)
        assert await two.disconnect(ADA.principal, send)
        scene.client.go_on.set()
        with pytest.raises(ConnectionNeededError):
            await call
        assert await two.find_account(ADA.principal) is None
        assert scene.client.revoked == ["refresh-1", "refresh-2"]

    run(scenario())


def test_tokens_that_are_renewed_during_the_disconnection_are_revoked(
    run, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario() -> None:
        scene, one = await connect_and_expire()
        two = scene.replica()

        async def renew_first(operation: Callable[[str], Any], key: str) -> Any:
            found = await scene.store.get(key) if operation == get else None
            monkeypatch.undo()
            await token_of(one, "read")
            return found or await operation(key)

        get, take = scene.store.get, scene.store.take
        monkeypatch.setattr(scene.store, "get", partial(renew_first, get))
        monkeypatch.setattr(scene.store, "take", partial(renew_first, take))
        assert await two.disconnect(ADA.principal, send)
        assert scene.client.revoked == ["refresh-2"]
        assert await one.find_account(ADA.principal) is None

    run(scenario())


def test_a_lock_that_cannot_be_released_does_not_fail_the_call(
    run, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: Any) -> bool:
        raise StoreUnavailableError("the store is gone")

    async def scenario() -> None:
        scene, scheme = await connect_and_expire()
        monkeypatch.setattr(scene.store, "delete_if", fail)
        assert await token_of(scheme, "read") == "Bearer access-2"

    run(scenario())


def test_an_account_that_is_connected_again_during_a_renewal_wins(run) -> None:
    async def scenario() -> None:
        scene, scheme = await connect_and_expire()
        scene.client.go_on.clear()
        call = asyncio.create_task(token_of(scheme, "read"))
        await until(lambda: scene.client.refreshed)
        await scheme.connect(ADA.principal, make_grant(7), ["read", "write"])
        scene.client.go_on.set()
        assert await call == "Bearer access-7"
        assert scene.client.revoked == []

    run(scenario())


@pytest.mark.parametrize(("subject", "revoked"), [("work", ["refresh-2"]), ("home", [])])
def test_tokens_renewed_while_another_account_is_connected_are_revoked(
    run, subject: str, revoked: list[str]
) -> None:
    async def scenario() -> None:
        scene = Scene()
        scheme = scene.replica()
        await scheme.connect(ADA.principal, make_grant(1, user="home"), ["read"])
        scene.now += 99
        scene.client.go_on.clear()
        call = asyncio.create_task(token_of(scheme, "read"))
        await until(lambda: scene.client.refreshed)
        await scheme.connect(ADA.principal, make_grant(7, user=subject), ["read"])
        scene.client.go_on.set()
        assert await call == "Bearer access-7"
        assert scene.client.revoked == revoked

    run(scenario())


@pytest.mark.parametrize(
    ("first", "second", "is_returned"),
    [("home", "work", True), ("home", "home", False), ("", "work", False), ("home", "", False)],
)
def test_the_account_of_another_user_that_is_replaced_is_returned(
    run, first: str, second: str, is_returned: bool
) -> None:
    async def scenario() -> None:
        scheme = Scene().replica()
        await scheme.connect(ADA.principal, make_grant(1, user=first), ["read"])
        replaced = await scheme.connect(ADA.principal, make_grant(2, user=second), ["read"])
        assert (replaced is not None and replaced.access_token == "access-1") is is_returned

    run(scenario())


def test_renewed_tokens_survive_a_short_outage_of_the_store(run) -> None:
    class Flaky(MemoryStore):
        failures = 2

        async def replace(self, *given: Any, **more: Any) -> bool:
            if self.failures:
                self.failures -= 1
                raise StoreUnavailableError("no connection")
            return await super().replace(*given, **more)

    async def scenario() -> None:
        _, scheme = await connect_and_expire(Flaky())
        assert await token_of(scheme, "read") == "Bearer access-2"
        assert await token_of(scheme, "read") == "Bearer access-2"

    run(scenario())


def test_only_an_invalid_grant_disconnects(run) -> None:
    async def scenario() -> None:
        scene, scheme = await connect_and_expire()
        scene.client.error = GrantRefusedError("No access token.", "invalid_client")
        with pytest.raises(ToolError, match="No access token"):
            await token_of(scheme, "read")
        assert await scheme.find_account(ADA.principal) is not None
        scene.client.error = GrantRefusedError("No access token.", "invalid_grant")
        with pytest.raises(ConnectionNeededError) as needed:
            await token_of(scheme, "read")
        assert needed.value.scopes == {"read"}
        assert await scheme.find_account(ADA.principal) is None

    run(scenario())


def test_a_token_without_a_refresh_token_is_used_until_the_api_refuses_it(run) -> None:
    async def scenario() -> None:
        scene = Scene()
        scheme = scene.replica()
        await scheme.connect(ADA.principal, TokenGrant("access-1", 100.0), ["read"])
        scene.now += 10_000
        applied = await scheme.apply(send, ["read"], ADA)
        assert applied.headers[0][1] == "Bearer access-1"
        assert scheme.forget(ADA, applied)
        with pytest.raises(ConnectionNeededError):
            await token_of(scheme, "read")
        assert scene.client.refreshed == []

    run(scenario())


def test_a_refusal_just_after_the_connection_does_not_disconnect(run) -> None:
    async def scenario() -> None:
        scene = Scene()
        scheme = scene.replica()
        await scheme.connect(ADA.principal, TokenGrant("access-1", 100.0), ["read"])
        scheme.forget(ADA, await scheme.apply(send, ["read"], ADA))
        assert await token_of(scheme, "read") == "Bearer access-1"

    run(scenario())


def test_a_refused_token_that_was_renewed_meanwhile_is_not_renewed_again(run) -> None:
    async def scenario() -> None:
        scene = Scene()
        scheme = scene.replica()
        await scheme.connect(ADA.principal, make_grant(1), ["read"])
        old = await scheme.apply(send, ["read"], ADA)
        scheme.forget(ADA, old)
        assert await token_of(scheme, "read") == "Bearer access-2"
        scheme.forget(ADA, old)  # of a call that took longer
        assert await token_of(scheme, "read") == "Bearer access-2"
        assert scene.client.refreshed == ["refresh-1"]

    run(scenario())


def test_nobody_has_an_account_without_authorization(run) -> None:
    scheme = Scene().replica()
    for access in (None, Access()):
        assert not scheme.is_available(access)
        with pytest.raises(ToolError, match="does not authorize"):
            run(token_of(scheme, access=access))


def test_a_missing_scope_asks_for_all_that_are_needed(run) -> None:
    async def scenario() -> None:
        scheme = Scene().replica()
        await scheme.connect(ADA.principal, make_grant(1), ["read"])
        with pytest.raises(ConnectionNeededError, match="more permissions") as needed:
            await token_of(scheme, "write")
        assert needed.value.scopes == {"read", "write"}

    run(scenario())

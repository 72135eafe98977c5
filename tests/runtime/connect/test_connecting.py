"""Tests of users who connect accounts, observed from clients, browsers, the API and its issuer."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from mcpgen.runtime.package import ServerPackage
from mcpgen.runtime.state.memory_store import MemoryStore
from mcpgen.runtime.state.open_store import open_store
from tests.support.connecting import (
    KEYS,
    Browser,
    World,
    account_of,
    find_free_port,
    is_asked,
    running_world,
)
from tests.support.connecting_processes import CALL, open_event_stream, open_session

BOUND_SECONDS = 60.0
NEW_KEYS = "n" * 40

Scenario = Callable[[World], Awaitable[None]]


def observe(package: ServerPackage, scenario: Scenario, **options: Any) -> None:
    """Run a scenario in a new world, with a time limit."""

    async def bounded() -> None:
        async with asyncio.timeout(BOUND_SECONDS), running_world(package, **options) as world:
            await scenario(world)

    asyncio.run(bounded())


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_twenty_users_on_three_replicas_refresh_each_token_once(
    package: ServerPackage, tmp_path: Path, kind: str
) -> None:
    users = [f"user{number}" for number in range(20)]

    async def scenario(world: World) -> None:
        world.provider.lifetime_seconds = 1e-6
        for user in users:
            await world.connect(user)
        world.provider.lifetime_seconds = 3600
        tokens = {user: world.token(user) for user in users}
        under_way = asyncio.Semaphore(100)

        async def call(number: int) -> tuple[str, str]:
            user = users[number * 7 % len(users)]
            async with under_way:
                answer = await world.call(user, token=tokens[user])
            return user, account_of(answer)

        answers = await asyncio.gather(*map(call, range(1000)))
        assert all(user == account for user, account in answers)
        assert len(world.provider.calls) == 1000
        assert all(token.startswith(f"access-{who}-") for who, token in world.provider.calls)
        assert len({token for _, token in world.provider.calls}) == len(users)
        assert list(world.provider.refreshes.values()) == [1] * len(users)
        for store in stores:
            await store.aclose()

    stores = []
    if kind == "sqlite":
        url = f"sqlite:///{tmp_path / 'state.db'}"
        stores = [open_store(url, server="animals") for _ in range(3)]
    observe(package, scenario, replicas=3, stores=stores)


def test_an_account_serves_its_own_user_only(package: ServerPackage) -> None:
    async def scenario(world: World) -> None:
        await world.connect("ada", account="ada.lovelace")
        assert account_of(await world.call("ada")) == "ada.lovelace"
        assert is_asked(await world.call("bob"))

    observe(package, scenario)


def test_a_client_that_answers_finds_the_account_and_one_that_does_not_is_asked_again(
    package: ServerPackage,
) -> None:
    async def scenario(world: World) -> None:
        asked = (await world.call("ada"))["result"]
        ((key, request),) = asked["inputRequests"].items()
        answer = {"inputResponses": {key: {"action": "accept"}}}
        again = await world.call("ada", **answer, requestState=asked["requestState"])
        assert is_asked(again)  # the user has not been there yet
        assert again["result"]["inputRequests"][key]["params"]["url"] == request["params"]["url"]
        await Browser(world, "ada").connect(request["params"]["url"])
        done = await world.call("ada", **answer, requestState=again["result"]["requestState"])
        assert account_of(done) == "ada"

    observe(package, scenario)


def test_a_user_who_declines_is_not_asked_again_in_this_call(package: ServerPackage) -> None:
    async def scenario(world: World) -> None:
        asked = (await world.call("ada"))["result"]
        (key,) = asked["inputRequests"]
        answer = {"inputResponses": {key: {"action": "decline"}}}
        refused = await world.call("ada", **answer, requestState=asked["requestState"])
        assert refused["result"]["isError"]

    observe(package, scenario)


def test_a_client_that_cannot_open_urls_is_told_the_url(package: ServerPackage) -> None:
    async def scenario(world: World) -> None:
        answer = (await world.call("ada", meta={}))["result"]
        assert answer["isError"]
        text: str = answer["content"][0]["text"]
        url = next(word for word in text.split() if "/connect/" in word)
        await Browser(world, "ada").connect(url)
        assert account_of(await world.call("ada", meta={})) == "ada"

    observe(package, scenario)


def test_a_client_of_2025_11_25_is_sent_to_the_url_and_told_when_it_is_done(
    package: ServerPackage,
) -> None:
    async def scenario(world: World) -> None:
        base = world.replicas[0].base_url
        session = await open_session(world, "ada", "2025-11-25", base)
        error = (await world.post(CALL, session, base=base))["error"]
        assert error["code"] == -32042
        (elicitation,) = error["data"]["elicitations"]
        async with open_event_stream(base, session) as stream:
            await Browser(world, "ada").connect(elicitation["url"])
            told = await stream.read("elicitation/complete")
        assert told["params"] == {"elicitationId": elicitation["elicitationId"]}
        assert account_of(await world.post(CALL, session, base=base)) == "ada"

    observe(package, scenario)


@pytest.mark.parametrize("revision", ["2025-03-26", "2025-06-18"])
def test_a_client_of_an_earlier_revision_is_told_the_url(
    package: ServerPackage, revision: str
) -> None:
    async def scenario(world: World) -> None:
        base = world.replicas[0].base_url
        session = await open_session(world, "ada", revision, base)
        result = (await world.post(CALL, session, base=base))["result"]
        assert result["isError"]
        assert f"{base}/connect/" in result["content"][0]["text"]

    observe(package, scenario)


def test_more_scopes_are_asked_for_when_a_tool_needs_them(package: ServerPackage) -> None:
    async def scenario(world: World) -> None:
        await world.connect("ada")
        url = await world.ask_for_link("ada", "add_pet")
        page = await Browser(world, "ada").open(url)
        assert "<code>read</code>" in page.text
        assert "<code>write</code>" in page.text
        await world.connect("ada", "add_pet")
        assert account_of(await world.call("ada", "add_pet")) == "ada"
        requested = [it.query["scope"] for it in world.provider.requests if "scope" in it.query]
        assert requested == [["read"], ["read write"]]

    observe(package, scenario)


def test_a_stolen_link_connects_nothing_and_stays_usable_for_its_user(
    package: ServerPackage,
) -> None:
    async def scenario(world: World) -> None:
        url = await world.ask_for_link("ada")
        thief = Browser(world, "mallory")
        page = await thief.open(url)
        assert page.status == 404
        _, fields = page.form()  # a form token of the thief's session
        posted = await thief.open(url, {"form_token": fields["form_token"], "action": "connect"})
        assert posted.status == 404
        assert world.provider.count("/authorize") == 0
        assert is_asked(await world.call("ada"))
        assert is_asked(await world.call("mallory"))
        assert "is connected" in (await Browser(world, "ada").connect(url)).text

    observe(package, scenario)


def test_the_link_of_another_user_is_as_unknown_as_an_invented_one(
    package: ServerPackage,
) -> None:
    async def scenario(world: World) -> None:
        link = await world.ask_for_link("ada")
        invented = link[:-8] + "A" * 8
        thief = Browser(world, "mallory")
        fresh = [await Browser(world, "mallory").open_once(url) for url in (link, invented)]
        assert [it.status for it in fresh] == [303, 303]  # to sign in
        own = await thief.open(f"{world.public_url.removesuffix('/mcp')}/connections")
        _, fields = own.form()
        forms = (None, {**fields, "action": "connect"}, {**fields, "action": "cancel"})
        for form in (*forms, {"action": "connect"}):  # the last one without its form token
            known, unknown = [await thief.open(url, form) for url in (link, invented)]
            assert known.status == (404 if form is None or "form_token" in form else 403)
            assert (known.status, known.text) == (unknown.status, unknown.text)
            assert _drop_date(known.headers) == _drop_date(unknown.headers)
        assert (await thief.open(f"{link}%0d%0aset-cookie:%20x=y")).status == 404
        assert "is connected" in (await Browser(world, "ada").connect(link)).text

    observe(package, scenario)


def _drop_date(headers: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in headers.items() if name != "date"}


def test_a_victim_who_opens_an_attackers_link_connects_nothing(package: ServerPackage) -> None:
    """MCP, "Security Best Practices": the user who opens a URL must be the one who was asked."""

    async def scenario(world: World) -> None:
        url = await world.ask_for_link("mallory")
        page = await Browser(world, "ada").open(url)
        assert page.status == 404
        assert "form_token" in page.text  # to sign out, and to nothing else
        assert "connect/" not in page.text
        assert is_asked(await world.call("mallory"))

    observe(package, scenario)


def test_a_link_is_used_up_by_consent_and_not_by_a_preview(package: ServerPackage) -> None:
    async def scenario(world: World) -> None:
        url = await world.ask_for_link("ada")
        browser = Browser(world, "ada")
        first = await browser.open(url)
        second = await browser.open(url)
        assert first.status == second.status == 200
        await browser.submit(second, action="connect")
        assert (await browser.open(url)).status == 404
        assert (await browser.submit(first, action="connect")).status == 404

    observe(package, scenario)


def test_a_cancelled_link_connects_nothing(package: ServerPackage) -> None:
    async def scenario(world: World) -> None:
        url = await world.ask_for_link("ada")
        browser = Browser(world, "ada")
        page = await browser.submit(await browser.open(url), action="cancel")
        assert page.title == "Cancelled"
        assert (await browser.open(url)).status == 404
        assert world.provider.count("/authorize") == 0

    observe(package, scenario)


def test_links_and_requests_expire_after_ten_minutes(package: ServerPackage) -> None:
    clock = [1000.0]

    async def scenario(world: World) -> None:
        url = await world.ask_for_link("ada")
        browser = Browser(world, "ada")
        page = await browser.open(url)
        clock[0] += 601
        assert (await browser.submit(page, action="connect")).status == 404
        page = await browser.open(await world.ask_for_link("ada"))
        opening = await browser.submit(page, action="connect")
        clock[0] += 601
        assert (await browser.follow_refresh(opening)).status == 400
        assert is_asked(await world.call("ada"))

    observe(package, scenario, stores=[MemoryStore(clock=lambda: clock[0])])


def test_a_replayed_callback_changes_nothing(package: ServerPackage) -> None:
    async def scenario(world: World) -> None:
        browser = Browser(world, "ada")
        await browser.connect(await world.ask_for_link("ada"))
        callback = browser.history[-1]
        assert "/callback?" in callback
        requests = world.provider.count("/token")
        page = await browser.open(callback)
        assert page.status == 400
        assert world.provider.count("/token") == requests

    observe(package, scenario)


def test_a_callback_in_another_browser_is_refused_and_not_used_up(package: ServerPackage) -> None:
    """The reverse attack: the attacker's account must not become that of the victim."""

    async def scenario(world: World) -> None:
        mallory = Browser(world, "mallory")
        page = await mallory.open(await world.ask_for_link("mallory"))
        opening = await mallory.submit(page, action="connect")
        location = opening.text.partition("0;url=")[2].partition('"')[0].replace("&amp;", "&")
        response = await world.send("GET", location, headers={"cookie": "account=mallory"})
        callback = response.header("location")
        victim = Browser(world, "ada")
        await victim.open(f"{world.public_url.removesuffix('/mcp')}/connections")  # signs in
        assert (await victim.open(callback)).status == 400
        assert (await Browser(world, "ada").open(callback)).status == 400
        assert is_asked(await world.call("ada"))
        assert "is connected" in (await mallory.open(callback)).text

    observe(package, scenario)


@pytest.mark.parametrize(
    "change", [{"iss": "https://evil.example"}, {"iss": ""}, {"code": "other"}, {"error": "x"}]
)
def test_a_forged_redirect_connects_nothing(package: ServerPackage, change: dict[str, str]) -> None:
    async def scenario(world: World) -> None:
        browser = Browser(world, "ada")
        page = await browser.open(await world.ask_for_link("ada"))
        opening = await browser.submit(page, action="connect")
        location = opening.text.partition("0;url=")[2].partition('"')[0].replace("&amp;", "&")
        response = await world.send("GET", location, headers={"cookie": "account=ada"})
        callback = urlsplit(response.header("location"))
        given = {name: values[0] for name, values in parse_qs(callback.query).items()}
        query = "&".join(f"{name}={value}" for name, value in {**given, **change}.items() if value)
        page = await browser.open(callback._replace(query=query).geturl())
        assert page.status >= 400
        assert is_asked(await world.call("ada"))

    observe(package, scenario)


def test_a_user_who_denies_access_is_told_so(package: ServerPackage) -> None:
    async def scenario(world: World) -> None:
        world.provider.denies = True
        page = await Browser(world, "ada").connect(await world.ask_for_link("ada"))
        assert page.status == 400
        assert "access_denied" in page.text

    observe(package, scenario)


def test_a_user_disconnects_an_account_and_its_tokens_are_revoked(package: ServerPackage) -> None:
    async def scenario(world: World) -> None:
        await world.connect("ada")
        await world.connect("bob")
        browser = Browser(world, "ada")
        listed = await browser.open(f"{world.public_url.removesuffix('/mcp')}/connections")
        assert "Connected on" in listed.text
        page = await browser.submit(listed, action="disconnect")
        assert "Disconnected." in page.text
        assert "No account is connected" in page.text
        assert [token.split("-")[:2] for token in world.provider.revoked] == [["refresh", "ada"]]
        assert is_asked(await world.call("ada"))
        assert account_of(await world.call("bob")) == "bob"

    observe(package, scenario, replicas=2)


@pytest.mark.parametrize(
    ("has_id_tokens", "second_account", "is_revoked"),
    [(True, "work", True), (True, "home", False), (False, "work", False)],
    ids=["another account", "the same account", "an unknown user"],
)
def test_tokens_that_are_replaced_are_revoked_if_the_new_ones_stay_valid(
    package: ServerPackage, has_id_tokens: bool, second_account: str, is_revoked: bool
) -> None:
    """This authorization server revokes all tokens of an account together with one of them."""

    async def scenario(world: World) -> None:
        world.provider.has_id_tokens = has_id_tokens
        await world.connect("ada", account="home")
        await world.connect("ada", "add_pet", account=second_account)
        expected = ["refresh-home-1"] if is_revoked else []
        assert world.provider.revoked == expected
        assert account_of(await world.call("ada", "add_pet")) == second_account

    observe(package, scenario)


def test_a_revocation_that_fails_does_not_fail_the_connection(package: ServerPackage) -> None:
    async def scenario(world: World) -> None:
        world.provider.has_id_tokens = True
        await world.connect("ada", account="home")
        del world.provider.routes["/revoke"]
        await world.connect("ada", "add_pet", account="work")
        assert world.provider.count("/revoke") == 1
        assert account_of(await world.call("ada", "add_pet")) == "work"

    observe(package, scenario)


def test_an_account_withdrawn_at_the_api_is_asked_for_again(package: ServerPackage) -> None:
    async def scenario(world: World) -> None:
        await world.connect("ada")
        world.provider.withdraw("ada")
        assert is_asked(await world.call("ada"))
        await world.connect("ada")
        assert account_of(await world.call("ada")) == "ada"

    observe(package, scenario)


def test_a_token_that_the_api_refuses_is_renewed_once(package: ServerPackage) -> None:
    async def scenario(world: World) -> None:
        await world.connect("ada")
        await world.call("ada")
        world.provider.refused.add(world.provider.calls[-1][1])
        answers = await asyncio.gather(*(world.call("ada") for _ in range(20)))
        assert {account_of(answer) for answer in answers} == {"ada"}
        assert sum(world.provider.refreshes.values()) == 1

    observe(package, scenario, replicas=3)


def test_an_account_survives_an_authorization_server_that_is_down(package: ServerPackage) -> None:
    async def scenario(world: World) -> None:
        world.provider.lifetime_seconds = 1e-6
        await world.connect("ada")
        world.provider.is_down = True
        failed = (await world.call("ada"))["result"]
        assert failed["isError"]
        assert "503" in failed["content"][0]["text"]
        world.provider.is_down = False
        assert account_of(await world.call("ada")) == "ada"

    observe(package, scenario)


@pytest.mark.parametrize(("keys", "is_readable"), [(f"{NEW_KEYS},{KEYS}", True), (NEW_KEYS, False)])
def test_keys_are_rotated(package: ServerPackage, keys: str, is_readable: bool) -> None:
    store = MemoryStore()

    async def connect(world: World) -> None:
        world.provider.lifetime_seconds = 1e-6
        await world.connect("ada")
        accounts.update(world.provider._accounts)

    async def use(world: World) -> None:
        world.provider._accounts = accounts
        answer = await world.call("ada")
        assert is_asked(answer) != is_readable
        if is_readable:
            assert account_of(answer) == "ada"
        accounts.update(world.provider._accounts)

    async def use_new_key_only(world: World) -> None:
        world.provider._accounts = accounts
        assert account_of(await world.call("ada")) == "ada"

    accounts: dict[str, str] = {}
    same = {"stores": [store], "port": find_free_port()}
    observe(package, connect, **same)
    observe(package, use, **same, keys=keys)
    if is_readable:  # the renewal has encrypted it with the new key
        observe(package, use_new_key_only, **same, keys=NEW_KEYS)


def test_no_credential_reaches_a_log_a_result_or_an_error(
    package: ServerPackage, capfd: pytest.CaptureFixture[str]
) -> None:
    shown: list[str] = []

    async def scenario(world: World) -> None:
        await world.connect("ada")
        world.provider.refused |= {f"access-ada-{number}" for number in range(10)}
        answer = await world.call("ada")  # the API repeats the token in its error
        assert answer["result"]["isError"]
        shown.append(json.dumps(answer))
        world.provider.is_down = True
        shown.append(json.dumps(await world.call("ada")))
        page = await Browser(world, "ada").open(
            f"{world.public_url.removesuffix('/mcp')}/connections"
        )
        shown.append(page.text)

    observe(package, scenario)
    output = "".join(capfd.readouterr())
    for secret in ("access-ada", "refresh-ada", "a-client-secret", "eyJ", KEYS):
        assert secret not in output
        assert secret not in "".join(shown)
    assert "/connect/" not in output


class RecordingStore(MemoryStore):
    """A store whose values a test can read and replace."""

    def __init__(self) -> None:
        super().__init__()
        self.stored: dict[str, bytes] = {}

    async def put(self, key: str, value: bytes, ttl_seconds: float) -> None:
        self.stored[key] = value
        await super().put(key, value, ttl_seconds)


def test_nothing_in_the_store_can_be_read_or_moved_to_another_user(package: ServerPackage) -> None:
    store = RecordingStore()
    ada, bob = "ada-lovelace", "bob-of-accounting"  # so long that no random key contains one

    async def scenario(world: World) -> None:
        await world.connect(ada)
        await world.ask_for_link(bob)
        for secret in (ada, bob):
            assert all(secret.encode() not in value for value in store.stored.values())
            assert all(secret not in key for key in store.stored)
        (of_ada,) = [key for key in store.stored if key.startswith("account:")]
        await world.connect(bob)
        (of_bob,) = [key for key in store.stored if key.startswith("account:") and key != of_ada]
        await store.put(of_bob, store.stored[of_ada], 60)
        assert account_of(await world.call(ada)) == ada
        assert is_asked(await world.call(bob))

    observe(package, scenario, stores=[store])

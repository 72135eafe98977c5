"""Tests of the connect pages in a browser: headers, sign-in, forms, hostile text."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from mcpgen.runtime.auth.static_tokens import make_token
from mcpgen.runtime.connect import html
from mcpgen.runtime.connect.html import Layout
from mcpgen.runtime.connect.links import make_base_url
from mcpgen.runtime.package import ServerPackage
from mcpgen.runtime.state.memory_store import MemoryStore
from mcpgen.runtime.state.store import StoreUnavailableError
from tests.support.connecting import Browser, World, account_of, running_world

BOUND_SECONDS = 60.0


def observe(
    package: ServerPackage, scenario: Callable[[World], Awaitable[None]], **options: Any
) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(BOUND_SECONDS), running_world(package, **options) as world:
            await scenario(world)

    asyncio.run(bounded())


def connections_of(world: World) -> str:
    return f"{world.public_url.removesuffix('/mcp')}/connections"


def test_no_page_can_be_framed_stored_scripted_or_traced(package: ServerPackage) -> None:
    async def scenario(world: World) -> None:
        browser = Browser(world, "ada")
        for page in (
            await browser.open(await world.ask_for_link("ada")),
            await browser.open(connections_of(world)),
            await browser.open(connections_of(world).replace("connections", "connect/unknown")),
        ):
            headers = page.headers
            assert headers["content-type"] == "text/html; charset=utf-8"
            assert headers["cache-control"] == "no-store"
            assert headers["x-frame-options"] == "DENY"
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["referrer-policy"] == "same-origin"
            policy = headers["content-security-policy"]
            assert policy.startswith("default-src 'none'; style-src 'sha256-")
            assert "frame-ancestors 'none'" in policy
            assert "<script" not in page.text
            assert "http-equiv" not in page.text

    observe(package, scenario)


def test_the_cookie_is_for_this_server_only(package: ServerPackage) -> None:
    async def scenario(world: World) -> None:
        response = await world.send("GET", connections_of(world))
        cookie = response.header("set-cookie")
        assert cookie.startswith("animals-connect=")
        assert cookie.endswith("; Path=/; Max-Age=1800; HttpOnly; SameSite=Lax")

    observe(package, scenario)


def test_signing_in_changes_the_cookie(package: ServerPackage) -> None:
    """Session fixation: whoever set the first cookie must not get the session."""

    async def scenario(world: World) -> None:
        browser = Browser(world, "ada")
        response = await world.send("GET", connections_of(world))
        name, _, rest = response.header("set-cookie").partition("=")
        browser.own_cookies[name] = rest.partition(";")[0]
        await browser.open(response.header("location"))
        assert browser.own_cookies[name] != rest.partition(";")[0]
        other = Browser(world, "")
        other.own_cookies[name] = rest.partition(";")[0]
        assert (await other.open(connections_of(world))).status >= 400

    observe(package, scenario)


def test_a_sign_in_in_another_browser_is_refused(package: ServerPackage) -> None:
    """Login CSRF: a victim must not be signed in as the attacker."""

    async def scenario(world: World) -> None:
        started = await world.send("GET", connections_of(world))
        response = await world.send(
            "GET", started.header("location"), headers={"cookie": "user=mallory"}
        )
        signed_in = response.header("location")
        assert "/signed-in?" in signed_in
        victim = Browser(world, "ada")
        assert (await victim.open(signed_in)).status == 400
        assert "Signed in as ada" in (await victim.open(connections_of(world))).text

    observe(package, scenario)


@pytest.mark.parametrize(
    "claims",
    [{"nonce": "other"}, {"iss": "https://evil.example"}, {"aud": "another"}, {"exp": 1}],
)
def test_an_id_token_for_something_else_signs_nobody_in(
    package: ServerPackage, claims: dict[str, Any]
) -> None:
    async def scenario(world: World) -> None:
        sign = world.people.token

        def forged(audience: Any, **more: Any) -> str:
            changed = {name: value for name, value in claims.items() if name != "aud"}
            return sign(claims.get("aud", audience), **{**more, **changed})

        world.people.token = forged  # type: ignore[method-assign]  # the test is the issuer
        page = await Browser(world, "ada").open(connections_of(world))
        assert page.status >= 400
        assert "Signed in" not in page.text

    observe(package, scenario)


def test_a_form_without_the_token_of_the_session_changes_nothing(package: ServerPackage) -> None:
    async def scenario(world: World) -> None:
        await world.connect("ada")
        browser = Browser(world, "ada")
        await browser.open(connections_of(world))
        for token in ("", "wrong"):
            fields = {"form_token": token, "action": "disconnect", "scheme": "account"}
            assert (await browser.open(connections_of(world), fields)).status == 403
        assert account_of(await world.call("ada")) == "ada"

    observe(package, scenario)


def test_a_form_of_another_origin_is_refused(package: ServerPackage) -> None:
    async def scenario(world: World) -> None:
        browser = Browser(world, "ada")
        page = await browser.open(connections_of(world))
        _, fields = page.form(action="sign-out")
        response = await world.send(
            "POST",
            connections_of(world),
            urlencode(fields).encode(),
            {
                "origin": "https://evil.example",
                "content-type": "application/x-www-form-urlencoded",
                "cookie": "; ".join(f"{k}={v}" for k, v in browser.own_cookies.items()),
            },
        )
        assert response.status == 403

    observe(package, scenario)


def test_a_user_signs_out(package: ServerPackage) -> None:
    async def scenario(world: World) -> None:
        browser = Browser(world, "ada")
        page = await browser.submit(await browser.open(connections_of(world)), action="sign-out")
        assert page.title == "Signed out"
        response = await world.send(
            "GET",
            connections_of(world),
            headers={"cookie": "; ".join(f"{k}={v}" for k, v in browser.own_cookies.items())},
        )
        assert response.status == 303  # to sign in again

    observe(package, scenario)


def test_users_with_static_tokens_sign_in_with_them(package: ServerPackage, tmp_path: Path) -> None:
    token, line = make_token("ada", [])
    other, other_line = make_token("bob", [])
    file = tmp_path / "tokens"
    file.write_text(f"{line}\n{other_line}\n")
    file.chmod(0o600)

    async def scenario(world: World) -> None:
        answer = await world.call("ada", token=token)
        (request,) = answer["result"]["inputRequests"].values()
        browser = Browser(world, "ada")
        form = await browser.open(request["params"]["url"])
        assert form.title == "Sign in"
        wrong = await browser.submit(form, token="wrong")
        assert "This token is not valid." in wrong.text
        thief = await browser.submit(wrong, token=other)
        assert (thief.status, thief.title) == (404, "This link is not valid")
        own = Browser(world, "ada")
        page = await own.submit(await own.open(request["params"]["url"]), token=token)
        done = await own.follow_refresh(await own.submit(page, action="connect"))
        assert "is connected" in done.text
        assert account_of(await world.call("ada", token=token)) == "ada"
        assert token not in page.text + done.text

    observe(package, scenario, AUTH_ISSUER="", CONNECT_CLIENT_ID="", AUTH_TOKENS_FILE=str(file))


def test_pages_say_that_the_store_is_unavailable(package: ServerPackage) -> None:
    class BrokenStore(MemoryStore):
        is_broken = False

        async def get(self, key: str) -> bytes | None:
            if self.is_broken:
                raise StoreUnavailableError("no connection")
            return await super().get(key)

    store = BrokenStore()

    async def scenario(world: World) -> None:
        await world.connect("ada")
        store.is_broken = True
        browser = Browser(world, "ada")
        browser.own_cookies["animals-connect"] = "x" * 43
        assert (await browser.open(connections_of(world))).status == 503
        failed = (await world.call("ada"))["result"]
        assert failed["isError"]
        assert "state store" in failed["content"][0]["text"]
        store.is_broken = False
        assert account_of(await world.call("ada")) == "ada"

    observe(package, scenario, stores=[store])


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("POST", "/callback", 405),
        ("PUT", "/connections", 405),
        ("GET", "/sign-in", 405),
        ("GET", "/callback?state=a&state=b", 400),
        ("GET", "/callback?state=%ff", 400),
        ("GET", "/callback/other?state=a", 404),
        ("GET", f"/connect/{'a' * 3000}", 404),
        ("GET", "/connect/", 404),
        ("GET", "/signed-in", 400),
        ("POST", "/sign-in", 400),
    ],
)
def test_a_strange_request_gets_a_page_and_no_fault(
    package: ServerPackage, method: str, path: str, status: int
) -> None:
    async def scenario(world: World) -> None:
        response = await world.send(method, world.public_url.removesuffix("/mcp") + path)
        assert response.status == status
        assert response.header("content-type").startswith("text/html")

    observe(package, scenario)


def test_text_of_a_document_or_a_user_is_escaped_and_bounded() -> None:
    hostile = "<script>alert(1)</script>\"'&\u202e" + "x" * 5000
    page = (
        Layout(hostile)
        .render(
            hostile,
            html.facts([(hostile, html.show(hostile))]),
            refresh='https://a.example/?"><b>',
        )
        .decode()
    )
    assert "<script" not in page
    assert "><b>" not in page
    assert "\u202e" not in str(html.show(hostile))
    assert len(html.show(hostile)) < 700


@pytest.mark.parametrize(
    ("public", "base"),
    [
        ("https://mcp.example/mcp", "https://mcp.example"),
        ("https://mcp.example/pets/mcp/", "https://mcp.example/pets"),
        ("https://mcp.example", "https://mcp.example"),
    ],
)
def test_pages_are_beside_the_public_endpoint(public: str, base: str) -> None:
    assert make_base_url(public) == base

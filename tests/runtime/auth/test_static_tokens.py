"""Tests of static bearer tokens from a file that is read again when it changes."""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path

import pytest

from mcpgen.runtime.auth.errors import IssuerUnavailableError
from mcpgen.runtime.auth.static_tokens import (
    CHECK_SECONDS,
    InvalidTokensFileError,
    StaticTokens,
    make_token,
)
from tests.support.authorized import AuthorizedServer, run_authorized


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "tokens"
    path.write_text("")
    path.chmod(0o644)
    return path


def test_a_new_token_is_random_and_only_its_hash_is_stored(file: Path) -> None:
    token, line = make_token("ada@example.com", ["pets:read", "pets:write"])
    assert len(token) == 43
    assert token not in line
    assert make_token("ada", [])[0] != token
    file.write_text(f"# The team\n\n{line}\n")
    found = StaticTokens(str(file), setting="S").find(token)
    assert found is not None
    assert found.principal == "tokens-file name ada@example.com"
    assert found.scopes == {"pets:read", "pets:write"}
    assert found.token == ""
    assert StaticTokens(str(file), setting="S").find(token + "x") is None


@pytest.mark.parametrize("name", ["", "a b", "-x", "é", "x" * 101, "a\n"])
def test_invalid_names_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="expected a name"):
        make_token(name, [])


@pytest.mark.parametrize("scope", ["", "a b", 'a"', "a\\"])
def test_invalid_scopes_are_refused(scope: str) -> None:
    with pytest.raises(ValueError, match="expected scopes"):
        make_token("a", [scope])


@pytest.mark.parametrize(
    "content",
    [
        "ada",
        "ada 1234",
        f"ada {'g' * 64}",
        f"ada {'A' * 64}",
        f"{'0' * 64} ada",
        f'ada {"0" * 64} a"b',
        f"ada {'0' * 64}\nada {'1' * 64}",
        "x" * 2_000_000,
        "\n".join(f"n{number} {number:064x}" for number in range(1001)),
    ],
)
def test_an_invalid_file_is_refused(file: Path, content: str) -> None:
    file.write_text(content)
    with pytest.raises(InvalidTokensFileError, match="S names a file") as caught:
        StaticTokens(str(file), setting="S")
    assert caught.value.setting == "S"


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidTokensFileError, match="S must name a readable file"):
        StaticTokens(str(tmp_path / "missing"), setting="S")
    with pytest.raises(InvalidTokensFileError):
        StaticTokens(str(tmp_path), setting="S")


@pytest.mark.skipif(os.name != "posix", reason="the file system has no such permissions")
@pytest.mark.parametrize("mode", [0o664, 0o646])
def test_a_file_that_others_may_write_is_refused(file: Path, mode: int) -> None:
    file.chmod(mode)
    with pytest.raises(InvalidTokensFileError, match="chmod go-w"):
        StaticTokens(str(file), setting="S")


def test_a_changed_file_is_read_again(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    old, new = make_token("old", []), make_token("new", [])
    file.write_text(old[1])
    tokens = StaticTokens(str(file), setting="S", clock=clock)
    file.write_text(new[1] + "\n")
    assert tokens.find(old[0]) is not None
    clock.now += CHECK_SECONDS
    assert tokens.find(old[0]) is None
    assert tokens.find(new[0]) is not None
    # A broken file makes every token invalid: the broken line may be about the one to revoke.
    file.write_text("broken line")
    clock.now += CHECK_SECONDS
    for _ in range(2):
        with pytest.raises(IssuerUnavailableError):
            tokens.find(new[0])
        clock.now += CHECK_SECONDS
    assert capsys.readouterr().err.count("no static token is accepted") == 1
    file.write_text(new[1])
    clock.now += CHECK_SECONDS
    assert tokens.find(new[0]) is not None


def test_static_tokens_alone_need_no_issuer_and_have_no_metadata(file: Path) -> None:
    token, line = make_token("ci", ["mcp"])
    file.write_text(line)

    async def scenario(server: AuthorizedServer) -> None:
        assert (await server.ask(token)).status == 200
        response = await server.ask("other")
        assert response.status == 401
        assert response.headers["www-authenticate"].endswith('scope="mcp"')
        path = "/.well-known/oauth-protected-resource"
        assert (await server.served.client.send("GET", path=path).complete()).status == 404

    run_authorized(
        scenario, settings=lambda _: {"AUTH_TOKENS_FILE": str(file), "AUTH_SCOPES": "mcp"}
    )


def test_static_tokens_and_an_issuer_work_beside_each_other(file: Path) -> None:
    file.write_text(f"ci {sha256(b'static').hexdigest()}")

    async def scenario(server: AuthorizedServer) -> None:
        assert (await server.ask("static")).status == 200
        assert (await server.ask(server.token())).status == 200
        assert (await server.ask("other")).status == 401
        file.write_text("broken")  # noqa: ASYNC240  (a few bytes)
        static = server.served.app._authorization._authorizer._static  # type: ignore[union-attr]
        assert static is not None
        static._next_check = 0
        assert (await server.ask("static")).status == 503
        assert (await server.ask(server.token(subject="bob"))).status == 200

    run_authorized(
        scenario,
        settings=lambda issuer: {
            "AUTH_ISSUER": issuer.identifier,
            "AUTH_TOKENS_FILE": str(file),
        },
    )

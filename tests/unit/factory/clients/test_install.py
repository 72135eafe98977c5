"""Tests of installing servers into the file of each client, and removing them, without loss."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from mcpgen.factory.clients import install as install_module
from mcpgen.factory.clients.config_text import ConfigText
from mcpgen.factory.clients.entries import (
    EntryError,
    InstalledServer,
    Value,
    build_entry,
    parse_env,
    parse_headers,
)
from mcpgen.factory.clients.install import (
    ChangedSinceError,
    ExistingEntryError,
    Installer,
    RejectedFileError,
    SecretInRepositoryError,
    undo,
)
from mcpgen.factory.clients.records import Records
from mcpgen.factory.clients.registry import InstallClient, Scope, read_install_clients
from tests.unit.factory.clients import client_files as files

CLIENTS = read_install_clients()
VERIFIED = [each for each in CLIENTS.values() if each.is_verified]
TEXTS = {"json": files.JSON_TEXTS, "toml": files.TOML_TEXTS, "yaml": files.YAML_TEXTS}
SERVER = InstalledServer(
    name="petstore",
    command=("/opt/my servers/petstore-mcp", "--flag", "a b"),
    env={"MODE": Value("fast, and safe", "MODE", is_secret=False)},
)
REMOTE = InstalledServer(name="petstore", url="https://mcp.petstore.example/mcp")
SECRET = InstalledServer(
    name="petstore", command=("x",), env={"API_KEY": Value("s3cret", "API_KEY", is_secret=True)}
)
_TEXTS_OF_A_CLIENT = 5  # test_config_text.py has every text of every format


def choose_texts(number: int, client: InstallClient) -> list[str]:
    """Return some of the texts, different ones for each client."""
    texts = files.YAML_LISTS if client.is_list else TEXTS[client.format]
    return [texts[(number * 3 + step) % len(texts)] for step in range(_TEXTS_OF_A_CLIENT)]


FILES_OF_CLIENTS = [
    pytest.param(client, scope, text, id=f"{client.id}-{scope}-{step}")
    for number, client in enumerate(VERIFIED)
    for scope in (["user", "project"] if client.project else ["user"])
    for step, text in enumerate(choose_texts(number, client))
]


def install(
    server: InstalledServer,
    *clients: InstallClient,
    scope: Scope = "user",
    replaces: bool = False,
    inline_secrets: bool = False,
) -> Installer:
    installer = Installer(Records(), Path.cwd())
    for client in clients:
        installer.add(server, client, scope, replaces=replaces, inline_secrets=inline_secrets)
    installer.write()
    return installer


def remove(name: str, *clients: InstallClient, scope: Scope = "user") -> None:
    installer = Installer(Records(), Path.cwd())
    for client in clients:
        assert installer.remove(name, client, scope) is not None
    installer.write()


def file_of(client: InstallClient, scope: Scope = "user") -> Path:
    path = client.find_file(scope, "petstore", Path.cwd())
    assert path is not None
    return path


def read_tree(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and ".local/state" not in str(path)
    }


@pytest.mark.parametrize(("client", "scope", "text"), FILES_OF_CLIENTS)
def test_every_file_of_every_client_is_restored(
    client: InstallClient, scope: Scope, text: str, home: Path
) -> None:
    path = file_of(client, scope)
    path.parent.mkdir(parents=True, exist_ok=True)
    content = text.replace("KEY", client.keys[0]).encode()
    path.write_bytes(content)
    path.chmod(0o640)

    install(SERVER, client, scope=scope)

    config = ConfigText(path.read_bytes(), client.format, client.keys, is_list=client.is_list)
    assert "petstore" in config.read_servers()
    assert path.stat().st_mode & 0o777 == 0o640
    remove("petstore", client, scope=scope)
    assert path.read_bytes() == content
    assert path.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("server", [SERVER, SECRET, REMOTE], ids=["plain", "secret", "remote"])
@pytest.mark.parametrize("client", VERIFIED, ids=lambda it: it.id)
def test_a_file_that_did_not_exist_is_deleted_with_its_folders(
    client: InstallClient, server: InstalledServer, home: Path
) -> None:
    before = sorted(home.rglob("*"))
    try:
        install(server, client)
    except EntryError:  # this client has no remote servers, or cannot refer to a secret
        return
    assert file_of(client).stat().st_mode & 0o777 == 0o600
    remove("petstore", client)
    state = home / ".local"
    left = [path for path in sorted(home.rglob("*")) if path not in [state, *state.rglob("*")]]
    assert left == before


def test_all_clients_at_once_are_one_operation(home: Path) -> None:
    install(SERVER, *VERIFIED)
    assert len(read_tree(home)) == len({file_of(client) for client in VERIFIED})
    assert undo(Records())
    assert read_tree(home) == {}
    assert undo(Records()) == []


def test_secrets_are_never_written_in_clear_text(home: Path) -> None:
    for client in VERIFIED:
        if client.variable or client.forwards or client.inputs:
            install(SECRET, client)
        else:
            with pytest.raises(EntryError) as found:
                install(SECRET, client)
            assert "--inline-secrets" in found.value.help
    for content in read_tree(home).values():
        assert b"s3cret" not in content
    assert b"s3cret" not in Records()._file.read_bytes()


def test_each_client_refers_to_a_secret_in_its_own_way() -> None:
    found = {
        client.id: build_entry(SECRET, client, inline_secrets=False).content
        for client in VERIFIED
        if client.variable or client.forwards or client.inputs
    }
    assert found["claude-code"]["env"] == {"API_KEY": "${API_KEY}"}
    assert found["cursor"]["env"] == {"API_KEY": "${env:API_KEY}"}
    assert found["vscode"]["env"] == {"API_KEY": "${input:petstore-api-key}"}
    assert found["codex"] == {"command": "x", "args": [], "env_vars": ["API_KEY"]}
    assert found["goose"]["env_keys"] == ["API_KEY"]
    assert found["opencode"]["environment"] == {"API_KEY": "{env:API_KEY}"}
    assert found["gemini"]["env"] == {"API_KEY": "$API_KEY"}


def test_a_bearer_token_keeps_its_scheme() -> None:
    headers = parse_headers(["Authorization=Bearer s3cret"], "petstore")
    server = InstalledServer(name="petstore", url="https://x.example/mcp", headers=headers)
    entry = build_entry(server, CLIENTS["cursor"], inline_secrets=False)
    assert entry.content["headers"] == {"Authorization": "Bearer ${env:PETSTORE_AUTHORIZATION}"}
    assert entry.variables == ("PETSTORE_AUTHORIZATION",)


def test_values_of_variables_are_never_split() -> None:
    found = parse_env(["LIST=a,b=c d", "EMPTY=", "TAKEN"], frozenset())
    assert [value.value for value in found.values()] == ["a,b=c d", "", None]
    with pytest.raises(EntryError):
        parse_env(["=x"], frozenset())


def test_an_entry_of_somebody_else_is_not_replaced(home: Path) -> None:
    path = file_of(CLIENTS["cursor"])
    path.parent.mkdir()
    text = '{"mcpServers": {"petstore": {"command": "theirs"}}}'
    path.write_text(text)
    with pytest.raises(ExistingEntryError):
        install(SERVER, CLIENTS["cursor"])
    assert path.read_text() == text
    install(SERVER, CLIENTS["cursor"], replaces=True)
    assert "theirs" not in path.read_text()
    undo(Records())
    assert path.read_text() == text


def test_our_own_entry_is_updated(home: Path) -> None:
    cursor = CLIENTS["cursor"]
    install(SERVER, cursor)
    first = file_of(cursor).read_bytes()
    install(SERVER, cursor)
    assert file_of(cursor).read_bytes() == first
    install(REMOTE, cursor)
    assert b"mcp.petstore.example" in file_of(cursor).read_bytes()
    remove("petstore", cursor)
    assert not file_of(cursor).exists()


def test_two_clients_share_the_file_of_a_project(home: Path) -> None:
    claude, copilot = CLIENTS["claude-code"], CLIENTS["copilot-cli"]
    install(SERVER, claude, copilot, scope="project")
    path = file_of(claude, "project")
    assert path == file_of(copilot, "project")
    remove("petstore", claude, scope="project")
    assert b"petstore" in path.read_bytes()
    remove("petstore", copilot, scope="project")
    assert not path.exists()


def test_a_link_stays_a_link(home: Path, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.json"
    real.write_text("{}\n")
    path = file_of(CLIENTS["cursor"])
    path.parent.mkdir()
    path.symlink_to(real)
    change = install(SERVER, CLIENTS["cursor"]).changes[0]
    assert change.link == path
    assert path.is_symlink()
    assert "petstore" in real.read_text()
    remove("petstore", CLIENTS["cursor"])
    assert path.is_symlink()
    assert real.read_text() == "{}\n"


def test_a_file_that_cannot_be_read_stays_and_the_entry_is_shown(home: Path) -> None:
    for client in VERIFIED:
        path = file_of(client)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{ [ broken = ")
        with pytest.raises(RejectedFileError) as found:
            install(SERVER, client)
        assert path.read_text() == "{ [ broken = "
        assert "petstore" in found.value.snippet
        path.unlink()


def test_a_secret_is_not_written_into_a_repository(home: Path) -> None:
    project = Path.cwd()
    subprocess.run(["git", "init", "--quiet", str(project)], check=True)
    junie = CLIENTS["junie"]
    with pytest.raises(SecretInRepositoryError):
        install(SECRET, junie, scope="project", inline_secrets=True)
    assert read_tree(project / ".junie") == {}
    (project / ".gitignore").write_text(".junie/\n")
    install(SECRET, junie, scope="project", inline_secrets=True)
    assert b"s3cret" in file_of(junie, "project").read_bytes()


def test_what_was_changed_since_is_not_undone(home: Path) -> None:
    cursor, codex = CLIENTS["cursor"], CLIENTS["codex"]
    install(SERVER, codex, cursor)
    file_of(cursor).write_text(file_of(cursor).read_text() + "\n")
    before = read_tree(home)
    with pytest.raises(ChangedSinceError):
        undo(Records())
    assert read_tree(home) == before


def test_a_file_that_its_client_wrote_meanwhile_is_left_as_it_is(home: Path) -> None:
    cursor, codex = CLIENTS["cursor"], CLIENTS["codex"]
    installer = Installer(Records(), Path.cwd())
    for client in (codex, cursor):
        installer.add(SERVER, client, "user", replaces=False, inline_secrets=False)
    file_of(cursor).parent.mkdir()
    file_of(cursor).write_text('{"new": 1}')
    with pytest.raises(ChangedSinceError):
        installer.write()
    assert read_tree(home) == {".cursor/mcp.json": b'{"new": 1}'}
    assert undo(Records()) == []


def test_removals_are_undone_too(home: Path) -> None:
    vscode = CLIENTS["vscode"]
    install(SECRET, vscode)
    before = read_tree(home)
    remove("petstore", vscode)
    assert read_tree(home) == {}
    undo(Records())
    assert read_tree(home) == before
    remove("petstore", vscode)
    assert read_tree(home) == {}


def test_questions_of_the_user_stay_in_vscode(home: Path) -> None:
    path = file_of(CLIENTS["vscode"])
    path.parent.mkdir(parents=True)
    text = '{\n  "inputs": [\n    {"id": "theirs"}, // keep\n  ],\n  "servers": {}\n}\n'
    path.write_text(text)
    install(SECRET, CLIENTS["vscode"])
    assert '"petstore-api-key"' in path.read_text()
    remove("petstore", CLIENTS["vscode"])
    assert path.read_text() == text


def test_opencode_uses_the_newer_place_if_the_file_has_it(home: Path) -> None:
    path = file_of(CLIENTS["opencode"])
    path.parent.mkdir(parents=True)
    text = '{"mcp": {"servers": {"a": {"type": "local", "command": ["x"]}}}}'
    path.write_text(text)
    install(SERVER, CLIENTS["opencode"])
    found = ConfigText(path.read_bytes(), "json", ("mcp", "servers")).read_servers()
    entry = found["petstore"]
    assert isinstance(entry, dict)
    assert "enabled" not in entry
    remove("petstore", CLIENTS["opencode"])
    assert path.read_text() == text


@pytest.mark.parametrize("step", range(1, 12))
def test_a_crash_at_any_write_loses_nothing(
    step: int, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each file has its old or its new content, and undo restores all of them."""
    chosen = [CLIENTS[name] for name in ("cursor", "codex", "goose")]
    before: dict[Path, bytes] = {}
    for client, text in zip(chosen, ["{ } // c", 'a = "b"', "A: 1"], strict=True):
        path = file_of(client)
        path.parent.mkdir(parents=True, exist_ok=True)
        before[path] = text.encode()
        path.write_bytes(before[path])
    calls = 0

    def crash(name: str) -> None:
        real = getattr(os, name)

        def call(*args: object, **options: object) -> object:
            nonlocal calls
            calls += 1
            if calls == step:
                raise KeyboardInterrupt
            return real(*args, **options)

        monkeypatch.setattr(f"os.{name}", call)

    for name in ("fsync", "replace"):
        crash(name)
    try:
        install(SERVER, *chosen)
    except KeyboardInterrupt:
        pass
    else:
        assert step > calls
    monkeypatch.undo()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    for path, content in before.items():
        assert content in path.read_bytes() or b"petstore" in path.read_bytes()
        assert [each.name for each in path.parent.iterdir()] == [path.name]
    undo(Records())
    assert {path: path.read_bytes() for path in before} == before


def test_nothing_is_written_if_one_file_is_rejected(home: Path) -> None:
    path = file_of(CLIENTS["codex"])
    path.parent.mkdir()
    path.write_text("broken =")
    with pytest.raises(RejectedFileError):
        install(SERVER, CLIENTS["cursor"], CLIENTS["codex"])
    assert read_tree(home) == {".codex/config.toml": b"broken ="}


def list_names(clients: Sequence[InstallClient] = ()) -> list[tuple[str, str, bool]]:
    listed = install_module.list_servers(Records(), Path.cwd(), clients)
    return [
        (each.client.id, each.name, each.is_ours)
        for each in listed
        if not isinstance(each, RejectedFileError)
    ]


def test_servers_are_listed_with_their_origin(home: Path) -> None:
    path = file_of(CLIENTS["cursor"])
    path.parent.mkdir()
    path.write_text('{"mcpServers": {"theirs": {"url": "https://x.example"}, "odd": 1}}')
    install(SERVER, CLIENTS["cursor"], CLIENTS["continue"])
    assert list_names() == [
        ("cursor", "theirs", False),
        ("cursor", "petstore", True),
        ("continue", "petstore", True),
    ]


def test_rows_of_clients_are_complete() -> None:
    for client in CLIENTS.values():
        assert client.after
        assert bool(client.source) == client.is_verified
        if client.is_verified:
            assert client.candidates("user", "x", Path())
        placeholders = [it for it in client.stdio.values() if str(it).startswith("$")]
        assert "$args" in placeholders or "$command_line" in placeholders

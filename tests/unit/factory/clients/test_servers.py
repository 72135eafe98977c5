"""Tests of servers from command lines: names, commands and credentials."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from mcpgen.factory.clients.entries import EntryError, InstalledServer
from mcpgen.factory.clients.limits import find_long_names
from mcpgen.factory.clients.servers import find_servers
from mcpgen.factory.packages import NoPackageError
from tests.support.paths import EXAMPLES


def find(*words: str, name: str = "", env: tuple[str, ...] = ()) -> InstalledServer:
    (server,) = find_servers(words, name=name, env=env, headers=())
    return server


@pytest.mark.parametrize(
    ("words", "name", "command"),
    [
        (("npx", "-y", "@a/mcp-server-time@1.2"), "time", ("npx", "-y", "@a/mcp-server-time@1.2")),
        (("uvx", "mcp-server-git"), "git", ("uvx", "mcp-server-git")),
        (("uv", "tool", "run", "weather"), "weather", ("uv", "tool", "run", "weather")),
        (("my-server --root 'a b'",), "my-server", ("my-server", "--root", "a b")),
        (("/opt/a b/serve.py",), "serve", ("/opt/a", "b/serve.py")),
        (("python3", "server.py"), "server", ("python3", "server.py")),
    ],
)  # fmt: skip
def test_a_command_is_named_after_its_program(
    words: tuple[str, ...], name: str, command: tuple[str, ...], home: Path
) -> None:
    server = find(*words, name=name if "a b" in words[0] and words[0].startswith("/") else "")
    assert (server.name, server.command) == (name, command)


def test_a_path_with_spaces_is_one_word_if_the_file_exists(home: Path, tmp_path: Path) -> None:
    program = tmp_path / "my servers" / "run me"
    program.parent.mkdir()
    program.write_text("")
    assert find(str(program), name="x").command == (str(program),)


def test_a_relative_program_becomes_absolute(home: Path) -> None:
    program = Path("bin/serve")
    program.parent.mkdir()
    program.write_text("")
    assert find("bin/serve", "--fast").command == (str(program.absolute()), "--fast")


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://mcp.petstore.example/mcp", "petstore"),
        ("https://api.acme.io/mcp", "acme"),
        ("http://localhost:8000/mcp", "localhost"),
    ],
)
def test_a_url_is_named_after_its_host(url: str, name: str) -> None:
    assert find(url).name == name


def test_a_package_brings_its_command_tools_and_credentials(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PETSTORE_API_KEY", "s3cret")
    server = find(str(EXAMPLES / "petstore-mcp"), env=("PETSTORE_BEARER=other",))
    assert server.name == "petstore"
    assert Path(server.command[0]).is_absolute()
    assert "list_pets" in server.tools
    assert server.env["PETSTORE_API_KEY"].value is None
    assert all(server.env[name].is_secret for name in ("PETSTORE_API_KEY", "PETSTORE_BEARER"))


def test_the_script_in_the_environment_of_the_package_is_preferred(
    home: Path, tmp_path: Path
) -> None:
    package = shutil.copytree(EXAMPLES / "petstore-mcp", tmp_path / "petstore-mcp")
    script = package / ".venv" / "bin" / "petstore-mcp"
    script.parent.mkdir(parents=True)
    script.write_text("")
    server = find(str(package))
    assert server.command == (str(script),)
    assert "PYTHONPATH" not in server.env


@pytest.mark.parametrize(
    ("words", "options", "message"),
    [
        (("https://x.example/mcp", "more"), {}, "unexpected argument"),
        (("https://x.example/mcp",), {"env": ["A=b"]}, "--env needs a command"),
        (("serve",), {"headers": ["A=b"]}, "--header needs a URL"),
        (("serve 'open",), {}, "invalid command"),
        (("serve",), {"name": "no spaces"}, "invalid server name"),
    ],
)
def test_contradictions_are_rejected(
    words: tuple[str, ...], options: dict[str, list[str] | str], message: str, home: Path
) -> None:
    given = {"name": "", "env": [], "headers": [], **options}
    with pytest.raises(EntryError, match=message):
        find_servers(words, **given)  # type: ignore[arg-type]


def test_a_folder_without_a_server_is_rejected(home: Path) -> None:
    with pytest.raises(NoPackageError):
        find_servers((), name="", env=(), headers=())


def test_tools_whose_names_get_too_long_are_found() -> None:
    server = InstalledServer(name="a" * 40, tools=("t" * 30, "short"))
    assert find_long_names(server, "cursor") == ["t" * 30]
    assert find_long_names(server, "zed") == []

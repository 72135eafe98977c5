"""Tests of `merged` in mcpgen.yaml: one tool of several operations, down to the requests sent."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from mcpgen.changelog.compare import compare
from mcpgen.changelog.package_surface import derive_surface, is_surface_source
from mcpgen.cli.app import run
from mcpgen.ir.surface import Surface
from mcpgen.runtime.package import ServerPackage
from mcpgen.runtime.telemetry.listing import list_tool_facts
from mcpgen.testing import MODERN
from mcpgen.testing.client.client import RpcError
from tests.manifest.conftest import Shop
from tests.support.imports import importing_anew

DOCUMENT = Path(__file__).with_name("data") / "forge.yaml"
HEAD = "server: {name: forge}\nsources: [{document: openapi.yaml}]\nmodels: false\n"
SECRETS = """
merged:
  list_secrets: {operations: {org: listOrgSecrets, repo: "GET /repos/{owner}/{repo}/secrets"}}
  get_profile: {operations: {me: getMe, user: getUser}}
"""


class Forge(Shop):
    """A project of `forge.yaml`, and its server with a mock API."""

    package = "forge_mcp"
    base_url = "https://forge.example/v1"

    def generate(self, manifest: str, *more: str, head: str = HEAD) -> int:
        return super().generate(manifest, *more, head=head)

    def list_tools(self) -> dict[str, Any]:
        (result,), _, _ = self.talk(("tools/list", {}))
        return {tool["name"]: tool for tool in result["tools"]}

    def read_surface(self) -> Surface:
        paths = (it for it in self.folder.rglob("*.json") if it.is_file())
        files = {path.relative_to(self.folder).as_posix(): path.read_bytes() for path in paths}
        surface = derive_surface({it: text for it, text in files.items() if is_surface_source(it)})
        assert surface is not None
        return surface

    def read_generated(self, name: str) -> Any:
        return json.loads((self.folder / "src/forge_mcp/_generated" / name).read_bytes())


@pytest.fixture(scope="module")
def made_forge(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("merged") / "forge-mcp"
    assert run(["new", str(DOCUMENT), str(folder), "--name", "forge", "--no-models", "-q"]) == 0
    return folder


@pytest.fixture
def forge(made_forge: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Forge]:
    folder = shutil.copytree(made_forge, tmp_path / "forge-mcp")
    monkeypatch.syspath_prepend(folder / "src")
    with importing_anew("forge_mcp"):
        yield Forge(folder)


def describe(requests: Sequence[Any]) -> list[tuple[str, str, Any, bytes]]:
    """Return the parts of requests that an API can distinguish."""
    return [(it.method, it.url, sorted(it.headers), it.body) for it in requests]


def test_without_an_entry_nothing_is_merged(forge: Forge) -> None:
    assert forge.generate("") == 0
    before = {it: it.read_bytes() for it in forge.folder.rglob("*") if it.is_file()}
    assert forge.generate("merged: {}\n") == 0
    changed = {it.name for it, text in before.items() if it.read_bytes() != text}
    assert changed == {"mcpgen.yaml", "mcpgen.lock"}  # the lock has a hash of the manifest
    assert not (forge.folder / "src/forge_mcp/_generated/merged.json").exists()


def test_one_tool_stands_in_place_of_its_operations(forge: Forge) -> None:
    assert forge.generate(SECRETS) == 0
    tools = forge.list_tools()
    assert {"list_secrets", "get_profile", "set_org_secret"} < tools.keys()
    assert not {"list_org_secrets", "list_repo_secrets", "get_me", "get_user"} & tools.keys()
    schema = tools["list_secrets"]["inputSchema"]
    assert schema["required"] == ["scope"]
    assert schema["properties"]["scope"]["enum"] == ["org", "repo"]
    assert schema["properties"]["owner"]["description"] == "Only for `repo`."
    assert {"page", "per_page", "max_pages"} < schema["properties"].keys()
    assert "`repo`: List repository secrets" in tools["list_secrets"]["description"]
    assert "total" in tools["list_secrets"]["outputSchema"]["properties"]
    assert forge.run_suite() == ""


@pytest.mark.parametrize(
    ("merged", "plain", "arguments"),
    [
        ("list_secrets", "list_org_secrets", {"scope": "org", "org": "a/b", "page": 2}),
        ("list_secrets", "list_repo_secrets", {"scope": "repo", "owner": "o", "repo": "r"}),
        ("get_profile", "get_me", {"scope": "me"}),
        ("get_profile", "get_user", {"scope": "user", "username": "mona"}),
    ],
)
def test_the_request_is_that_of_the_operation(
    forge: Forge, merged: str, plain: str, arguments: dict[str, Any]
) -> None:
    assert forge.generate("") == 0
    own = {name: value for name, value in arguments.items() if name != "scope"}
    before, expected = forge.call(plain, own)
    assert forge.generate(SECRETS) == 0
    with importing_anew("forge_mcp"):
        after, sent = forge.call(merged, arguments)
    assert describe(sent) == describe(expected)
    assert len(sent) == 1
    assert after["structuredContent"] == before["structuredContent"]


@pytest.mark.parametrize("arguments", ["flat", "nested"])
def test_a_merged_tool_takes_the_body_as_its_operations_do(forge: Forge, arguments: str) -> None:
    entry = "  set_secret: {operations: {org: setOrgSecret, repo: setRepoSecret}}\n"
    assert forge.generate(f"arguments: {arguments}\n{SECRETS}{entry}") == 0
    body: dict[str, Any] = {"value": "v"}
    given = {"scope": "org", "org": "o", "name": "n"}
    result, sent = forge.call(
        "set_secret", {**given, **(body if arguments == "flat" else {"body": body})}
    )
    assert not result.get("isError"), result
    assert [json.loads(it.body) for it in sent] == [body]
    assert forge.run_suite() == ""


@pytest.mark.parametrize("listing", ["", "budget: 1000\n", "code: true\n"])
def test_calls_of_merged_tools_are_audited_however_they_are_listed(
    forge: Forge, listing: str
) -> None:
    entry = "  set_secret: {operations: {org: setOrgSecret, repo: setRepoSecret}}\n"
    assert forge.generate(f"{listing}{SECRETS}{entry}") == 0
    facts = list_tool_facts(ServerPackage.load("forge_mcp"))
    assert (facts["set_secret"].operation, facts["set_secret"].is_changing) == (
        "merged:set_secret",
        True,
    )
    assert "list_secrets" in facts


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({}, "`/scope` is required, one of `org`, `repo`"),
        ({"scope": "team"}, "`/scope` is not one of `org`, `repo`"),
        ({"scope": 7}, "`/scope` is not one of `org`, `repo`"),
        ({"scope": "org"}, "`/org` is required for `scope` `org` and was not given"),
        ({"scope": "repo", "owner": "o"}, "`/repo` is required for `scope` `repo`"),
        ({"scope": "org", "org": "x", "repo": "r"}, "`/repo` is not for `scope` `org`, only for"),
        ({"scope": "org", "org": "x", "per_page": 999}, "/per_page"),
        ({"scope": "org", "org": "x", "pgae": 1}, "pgae"),
    ],
)
def test_invalid_arguments_are_named_and_nothing_is_sent(
    forge: Forge, arguments: dict[str, Any], told: str
) -> None:
    assert forge.generate(SECRETS) == 0
    (result,), mock, _ = forge.talk(
        ("tools/call", {"name": "list_secrets", "arguments": arguments}), revision=MODERN
    )
    assert result["isError"]
    assert told in result["content"][0]["text"]
    assert "`list_secrets`" in result["content"][0]["text"]
    assert "list_org_secrets" not in result["content"][0]["text"]
    assert not mock.requests


def test_what_the_schema_allows_is_a_result_in_every_revision(forge: Forge) -> None:
    assert forge.generate(SECRETS) == 0
    call = ("tools/call", {"name": "list_secrets", "arguments": {"scope": "org"}})
    (result,), mock, _ = forge.talk(call, revision="2025-06-18")
    assert result["isError"]
    assert "`/org` is required for `scope` `org`" in result["content"][0]["text"]
    assert not mock.requests


def test_a_cut_result_names_the_merged_tool_as_the_next_call(forge: Forge) -> None:
    assert forge.generate(SECRETS + "operations: {listOrgSecrets: {result: {max_items: 1}}}\n") == 0
    secrets = [{"name": "a", "created_at": ""}, {"name": "b", "created_at": ""}]
    forge.replies = [{"status": 200, "body": {"total": 2, "secrets": secrets}}] * 2
    first, _ = forge.call("list_secrets", {"scope": "org", "org": "x"})
    note = first["content"][-1]["text"]
    assert "Next call: `list_secrets`" in note
    following = json.loads(note[note.index("{") : note.rindex("}") + 1])
    assert following["scope"] == "org"
    rest, _ = forge.call("list_secrets", following)
    assert [it["name"] for it in rest["structuredContent"]["secrets"]] == ["b"]


def test_hints_are_the_most_cautious_and_confirmation_stays(forge: Forge) -> None:
    manifest = """
merged: {change: {operations: {set: setOrgSecret, remove: deleteOrgSecret}}}
operations: {deleteOrgSecret: {confirm: Delete it?}}
"""
    assert forge.generate(manifest) == 0
    hints = forge.list_tools()["change"]["annotations"]
    assert (hints["readOnlyHint"], hints["destructiveHint"]) == (False, True)
    arguments = {"scope": "remove", "org": "x", "name": "n"}
    call = ("tools/call", {"name": "change", "arguments": arguments})
    (result,), mock, received = forge.talk(
        call, answers={"elicitation/create": lambda _: {"action": "decline"}}
    )
    assert result["isError"]
    assert not mock.requests
    assert any("Delete it?" in json.dumps(it) for it in received)


def test_former_names_are_unknown(forge: Forge) -> None:
    assert forge.generate(SECRETS) == 0
    with pytest.raises(RpcError, match="list_org_secrets"):
        forge.call("list_org_secrets", {"org": "x"})


def test_toolsets_scopes_and_search_know_the_tool(forge: Forge) -> None:
    manifest = f"""{SECRETS}
toolsets: {{keys: {{tools: [listOrgSecrets]}}}}
authorization:
  scopes:
    listOrgSecrets: [read, org]
    "GET /repos/{{owner}}/{{repo}}/secrets": [read, repo]
budget: 1000
"""
    assert forge.generate(manifest) == 0
    assert forge.read_generated("toolsets.json")["keys"]["tools"] == ["list_secrets"]
    assert "list_secrets" in forge.read_generated("toolsets.json")["secrets"]["tools"]
    scopes = forge.read_generated("contract.json")["authorization"]["scopes"]
    assert scopes["list_secrets"] == ["read"]
    assert scopes["list_org_secrets"] == ["org", "read"]
    found, _ = forge.call("search_tools", {"query": "secrets of a repository", "limit": 1})
    assert json.loads(found["content"][0]["text"])["tools"][0]["name"] == "list_secrets"
    arguments = {"name": "list_secrets", "arguments": {"scope": "org", "org": "x"}}
    result, (sent,) = forge.call("call_tool", arguments)
    assert not result.get("isError")
    assert "/v1/orgs/x/secrets" in sent.url


def test_steps_and_handlers_still_use_the_operations(forge: Forge) -> None:
    manifest = f"""{SECRETS}
workflows:
  look:
    steps: [{{id: me, operation: getMe, outputs: {{name: $response.body#/login}}}}]
    output: $steps.me.outputs.name
"""
    assert forge.generate(manifest) == 0
    handler = forge.folder / "src/forge_mcp/handlers/mine.py"
    handler.write_text(
        "from mcpgen.runtime import Context, Features\n\nfeatures = Features()\n\n\n"
        "@features.tool()\nasync def both(ctx: Context) -> str:\n"
        '    """Call the merged tool."""\n'
        "    run = await ctx.run_tool('get_profile', {'scope': 'user', 'username': 'm'}, 'one')\n"
        "    return run.operation\n"
    )
    (result, other), mock, _ = forge.talk(
        ("tools/call", {"name": "look", "arguments": {}}),
        ("tools/call", {"name": "both", "arguments": {}}),
    )
    assert not result.get("isError")
    assert other["content"][0]["text"] == "GET /users/{username}"
    assert [it.url.partition("/v1")[2] for it in mock.requests] == ["/me", "/users/m"]


def test_merging_and_splitting_are_major_changes(forge: Forge) -> None:
    assert forge.generate("") == 0
    split = forge.read_surface()
    assert forge.generate(SECRETS) == 0
    merged = forge.read_surface()
    for before, after in ((split, merged), (merged, split)):
        changes = compare(before, after)
        assert changes.level.name == "MAJOR"
    removed = {it.tool: it.message for it in compare(split, merged).changes}
    assert "which is part of `get_profile`" in removed["get_me"]
    assert (
        "which was part of `get_profile`"
        in {it.tool: it.message for it in compare(merged, split).changes}["get_me"]
    )


def test_another_operation_behind_a_choice_is_a_change(forge: Forge) -> None:
    assert forge.generate(SECRETS) == 0
    before = forge.read_surface()
    assert (
        forge.generate(SECRETS.replace("me: getMe, user: getUser", "me: getUser, user: getMe")) == 0
    )
    rules = {it.rule for it in compare(before, forge.read_surface()).changes}
    assert "operation-changed" in rules


def test_the_operations_keep_their_names_for_a_split(forge: Forge) -> None:
    assert forge.generate("") == 0
    names = {it for it in forge.list_tools() if "secret" in it}
    assert forge.generate(SECRETS) == 0
    assert forge.generate("") == 0
    assert {it for it in forge.list_tools() if "secret" in it} == names


@pytest.mark.parametrize(
    ("entry", "code", "told"),
    [
        ("{org: listOrgSecrets, repo: nope}", "merged-operation", "`nope` is not an operation"),
        ("{org: listOrgSecrets, a: listOrgSecrets}", "merged-operation", "is already part of"),
        ("{org: listOrgSecrets, repo: setRepoSecret}", "merged-schemas", "the results of"),
        ("{org: renameLabel, other: listOrgSecrets}", "merged-schemas", "differ"),
        ("{org: listOrgSecrets}", "manifest", "operations"),
    ],
)
def test_an_entry_that_cannot_be_followed_is_rejected(
    forge: Forge, capsys: pytest.CaptureFixture[str], entry: str, code: str, told: str
) -> None:
    assert forge.generate(f"merged: {{one: {{operations: {entry}}}}}\n") == 3
    said = capsys.readouterr().err
    assert f"error[{code}]" in said
    assert told in said
    assert "mcpgen.yaml:" in said


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ("operations: {getMe: {expose: resource}}", "is exposed as a resource"),
        ("operations: {getMe: {aliases: [whoami]}}", "has the alias `whoami`"),
        ("operations: {getMe: {view: record}}", "has a view"),
        ("select: [{exclude: getMe}]", "is not an operation of this server"),
    ],
)
def test_settings_that_contradict_a_merge_are_rejected(
    forge: Forge, capsys: pytest.CaptureFixture[str], more: str, told: str
) -> None:
    assert forge.generate(f"{SECRETS}{more}\n") == 3
    assert told in capsys.readouterr().err


def test_arguments_of_the_same_name_must_agree(
    forge: Forge, capsys: pytest.CaptureFixture[str]
) -> None:
    document = forge.folder / "openapi.yaml"
    parameter = "{$ref: '#/components/parameters/page'}"
    other = "{name: page, in: query, schema: {type: string}}"
    changed = document.read_text().replace(parameter, other, 1)
    document.write_text(changed)
    assert forge.generate(SECRETS) == 3
    said = capsys.readouterr().err
    assert "error[merged-schemas]: the argument `page` of" in said
    assert "parameters: {page: {name: ...}}" in said
    assert (
        forge.generate(
            SECRETS + "operations: {listOrgSecrets: {parameters: {page: {name: cursor}}}}\n"
        )
        == 0
    )


def test_an_argument_may_have_the_name_of_the_selecting_one(
    forge: Forge, capsys: pytest.CaptureFixture[str]
) -> None:
    entry = (
        "merged: {one: {argument: %s, operations: {org: listOrgSecrets, repo: listRepoSecrets}}}\n"
    )
    assert forge.generate(entry % "page") == 3
    assert "has an argument `page` of its own" in capsys.readouterr().err
    assert forge.generate(entry % "level") == 0
    assert "level" in forge.list_tools()["one"]["inputSchema"]["properties"]


def test_a_name_belongs_to_one_tool(forge: Forge, capsys: pytest.CaptureFixture[str]) -> None:
    assert forge.generate(SECRETS.replace("get_profile", "get_user")) == 3
    assert "error[name-collision]: `get_user` is already the tool of" in capsys.readouterr().err


def test_explain_shows_the_operations(forge: Forge, capsys: pytest.CaptureFixture[str]) -> None:
    assert forge.generate(SECRETS) == 0
    capsys.readouterr()
    assert run(["tools", str(forge.folder), "--explain", "get_profile", "--json"]) == 0
    settings = {it["setting"]: it for it in json.loads(capsys.readouterr().out)["settings"]}
    assert settings["operations.user"]["value"] == "GET /users/{username} (tool get_user)"
    assert settings["operations.user"]["file"] == "mcpgen.yaml"
    assert settings["annotations.readOnlyHint"]["rule"] == "merged"


def test_new_proposes_what_can_be_merged(made_forge: Path) -> None:
    text = (made_forge / "mcpgen.yaml").read_text()
    lines = text[text.index("# merged:") :].splitlines()
    entries = [
        it.removeprefix("# ") for it in lines if it.startswith(("#   ", "# merged", "# workflows"))
    ]
    proposed = yaml.safe_load("\n".join(entries))
    assert set(proposed["merged"]) == {
        "delete_secret",
        "get_user_by_scope",
        "list_secrets",
        "set_secret",
    }
    assert proposed["merged"]["list_secrets"] == {
        "operations": {"org": "listOrgSecrets", "repo": "listRepoSecrets"}
    }
    assert set(proposed["workflows"]) == {"rename_label_by_name"}


@pytest.mark.parametrize(
    ("labels", "acts"), [([{"id": 4}], True), ([], False), ([{"id": 4}, {"id": 5}], False)]
)
def test_a_proposed_workflow_acts_on_exactly_one(
    made_forge: Path, forge: Forge, labels: list[Any], acts: bool
) -> None:
    text = (made_forge / "mcpgen.yaml").read_text()
    entry = text[text.index("# workflows:") :]
    assert forge.generate("\n".join(it.removeprefix("# ") for it in entry.splitlines()) + "\n") == 0
    forge.replies = [{"status": 200, "body": labels}, {"status": 200, "body": {"id": 4}}]
    arguments = {"name": "old", "body": {"name": "new"}}
    result, sent = forge.call("rename_label_by_name", arguments)
    assert not result.get("isError")
    assert result["structuredContent"]["matches"] == labels
    assert [it.method for it in sent] == (["GET", "PATCH"] if acts else ["GET"])
    assert ("result" in result["structuredContent"]) is acts
    if acts:
        assert sent[1].url.endswith("/v1/labels/4")

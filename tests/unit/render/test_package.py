"""Tests of the generated files of a whole package."""

from __future__ import annotations

import hashlib
import json

from msgspec.structs import replace

from mcpgen.contract.snapshot import estimate_tokens, snapshot_entry
from mcpgen.emit.format import format_files
from mcpgen.ir.api import Encoding, MediaType, Server
from mcpgen.ir.file_set import Owner
from mcpgen.ir.tool_plan import ServerPlan
from mcpgen.render.package import render, render_calls, render_cases
from tests.support.plans import (
    AT,
    argument,
    operation,
    parameter,
    petstore_tools,
    server_plan,
    tool,
)

GENERATED = "src/petstore_mcp/_generated"


def rendered(plan: ServerPlan) -> dict[str, str]:
    return {file.path: file.content.decode() for file in format_files(render(plan))}


def contract_of(plan: ServerPlan, name: str) -> dict[str, object]:
    return json.loads(rendered(plan)[f"{GENERATED}/tools/pets.json"])["tools"][name]


def test_the_package_has_the_expected_files_and_owners() -> None:
    plan = server_plan()
    files = render(plan) + render_cases(plan, [], [])
    assert sorted(file.path for file in files) == [
        f"{GENERATED}/__init__.py",
        f"{GENERATED}/contract.json",
        f"{GENERATED}/listing.json",
        f"{GENERATED}/tools/__init__.py",
        f"{GENERATED}/tools/pets.json",
        f"{GENERATED}/tools/pets.py",
        f"{GENERATED}/toolsets.json",
        "tests/generated/cases.json",
        "tests/generated/test_tools.py",
        "tests/generated/tools.json",
        "tests/generated/upstream.json",
    ]
    assert {file.owner for file in files} == {Owner.GENERATED}


def test_the_snapshot_is_that_of_the_listing_as_a_server_reads_it() -> None:
    odd = tool("odd", operation("GET", "/odd"), description="half a pair: \ud800", output_schema={})
    files = {file.path: file.content for file in render(server_plan(*petstore_tools(), odd))}
    listed = json.loads(files[f"{GENERATED}/listing.json"])
    assert "half a pair: ?" in [entry["description"] for entry in listed]
    recorded = json.loads(files["tests/generated/tools.json"])["tools"]
    kept = [{key: it[key] for key in it if key != "departs"} for it in recorded]
    assert kept == list(map(snapshot_entry, listed))
    assert [it["tokens"] for it in recorded] == list(map(estimate_tokens, listed))
    text = json.dumps(listed[0]["inputSchema"], separators=(",", ":"), sort_keys=True)
    assert recorded[0]["inputSchema"] == hashlib.sha256(text.encode()).hexdigest()


def test_the_types_of_calls_are_named_after_their_operations() -> None:
    plan = replace(
        server_plan(),
        named_call_types=frozenset(
            {"GetPetsCall", "GetPetsPetIdCall", "PostPetsCall", "OtherCall"}
        ),
    )
    (file,) = format_files(render_calls(plan))
    text = file.content.decode()
    assert file.path == f"{GENERATED}/calls.py"
    assert (
        text.partition("import Pet\n\n\n")[2]
        == '''\
class GetPetsCall(Protocol):
    async def __call__(
        self,
        ctx: Context,
        *,
        limit: int | Absent = ABSENT,
        status: Literal["available", "sold"] | Absent = ABSENT,
        x_trace: str | Absent = ABSENT,
    ) -> list[Pet]:
        """`GET /pets`."""
        ...


class GetPetsPetIdCall(Protocol):
    async def __call__(self, ctx: Context, *, pet_id: int) -> Pet:
        """`GET /pets/{petId}`."""
        ...


class PostPetsCall(Protocol):
    async def __call__(self, ctx: Context, *, body: Pet) -> None:
        """`POST /pets`."""
        ...
'''
    )


def test_only_call_types_used_by_user_code_are_rendered() -> None:
    plan = replace(server_plan(), named_call_types=frozenset({"GetPetsPetIdCall"}))
    (file,) = render_calls(plan)
    assert file.content.count(b"(Protocol)") == 1
    assert render_calls(server_plan()) == ()


def test_rendered_handlers_have_the_expected_text() -> None:
    text = rendered(server_plan())[f"{GENERATED}/tools/pets.py"]
    assert (
        text.partition('"""\n\n')[2]
        == '''\
from typing import Literal

from mcpgen.runtime import ABSENT, Absent, Context, ToolGroup

from petstore_mcp._generated.models import Pet

tools = ToolGroup.load(__name__, "pets.json")


@tools.handler("create_pet")
async def create_pet(ctx: Context, *, body: Pet) -> None:
    """Add a pet to the store: `POST /pets`."""
    await ctx.api.request("POST", "/pets", body=body, returns=None)


@tools.handler("get_pet")
async def get_pet(ctx: Context, *, pet_id: int) -> Pet:
    """Fetch one pet: `GET /pets/{petId}`."""
    return await ctx.api.request("GET", "/pets/{petId}", path_params={"petId": pet_id}, returns=Pet)


@tools.handler("list_pets")
async def list_pets(
    ctx: Context,
    *,
    limit: int | Absent = ABSENT,
    status: Literal["available", "sold"] | Absent = ABSENT,
    x_trace: str | Absent = ABSENT,
) -> list[Pet]:
    """List pets, newest first: `GET /pets`."""
    return await ctx.api.request(
        "GET",
        "/pets",
        query={"limit": limit, "status": status},
        headers={"X-Trace": x_trace},
        returns=list[Pet],
    )
'''
    )


def test_the_listing_is_sorted_by_tool_name() -> None:
    tools = json.loads(rendered(server_plan())[f"{GENERATED}/listing.json"])
    assert [tool["name"] for tool in tools] == ["create_pet", "get_pet", "list_pets"]


def test_the_contract_does_not_repeat_the_listing() -> None:
    contract = contract_of(server_plan(), "get_pet")
    assert not contract.keys() & {"listing", "title", "description"}


def test_a_parameter_has_its_serialisation_and_its_argument() -> None:
    contract = contract_of(server_plan(), "get_pet")
    assert contract["request"] == {
        "method": "GET",
        "path": "/pets/{petId}",
        "accept": ["application/json"],
        "parameters": [
            {
                "argument": "petId",
                "explode": False,
                "in": "path",
                "name": "petId",
                "style": "simple",
            }
        ],
        "security": [{"api_key": []}],
    }
    assert contract["arguments"] == {"petId": "pet_id"}


def test_a_parameter_that_became_no_argument_is_not_in_the_contract() -> None:
    op = operation("GET", "/t", parameter("kept", "query"), parameter("Host", "header"))
    contract = contract_of(server_plan(tool("t", op, argument("kept", "kept", "query"))), "t")
    assert [each["name"] for each in contract["request"]["parameters"]] == ["kept"]


def test_a_form_contains_its_schema_and_all_referenced_schemas() -> None:
    form = MediaType(
        "multipart/form-data",
        {"type": "object", "properties": {"pet": {"$ref": "#/$defs/Pet"}}},
        AT,
        encoding={"pet": Encoding(style="deepObject", explode=True)},
    )
    plan = server_plan(
        tool("t", operation("POST", "/t"), argument("body", "body", "body"), body=(form,))
    )
    [media_type] = contract_of(plan, "t")["request"]["body"]["media_types"]
    assert media_type["encoding"] == {"pet": {"style": "deepObject", "explode": True}}
    assert list(media_type["schema"]["$defs"]) == ["Pet"]


def test_json_bodies_need_no_schema_to_be_written() -> None:
    body = contract_of(server_plan(), "create_pet")["request"]["body"]
    assert body == {
        "argument": "body",
        "required": True,
        "media_types": [{"media_type": "application/json", "encoding": {}}],
    }


def test_only_servers_of_the_operation_are_in_its_request() -> None:
    own = operation("GET", "/own", servers=(Server("https://other.example"),))
    shared = operation("GET", "/shared", servers=(Server("https://petstore.example/v1"),))
    plan = server_plan(tool("own", own), tool("shared", shared))
    assert contract_of(plan, "own")["request"]["servers"] == [
        {"url": "https://other.example", "variables": {}}
    ]
    assert "servers" not in contract_of(plan, "shared")["request"]


def test_the_mock_data_comes_from_the_api_and_not_from_the_tools() -> None:
    plan = server_plan()
    renamed = replace(
        plan,
        groups=(
            replace(
                plan.groups[0],
                tools=tuple(
                    replace(each, title="Other", arguments=()) for each in petstore_tools()
                ),
            ),
        ),
    )
    path = "tests/generated/upstream.json"
    assert rendered(plan)[path] == rendered(renamed)[path]
    [create, get, found] = json.loads(rendered(plan)[path])["operations"]
    assert (create["method"], create["path"]) == ("POST", "/pets")
    assert get["parameters"][0]["location"] == "path"
    assert "at" not in found


def test_a_lone_surrogate_does_not_stop_the_run() -> None:
    plan = server_plan(tool("t", operation("GET", "/t"), description="bad \ud800 text"))
    [listed] = json.loads(rendered(plan)[f"{GENERATED}/listing.json"])
    assert listed["description"] == "bad ? text"


def test_the_contract_has_only_the_limits_that_the_manifest_states() -> None:
    path = f"{GENERATED}/contract.json"
    assert "limits" not in json.loads(rendered(server_plan())[path])
    plan = replace(server_plan(), limits={"timeout_seconds": 20.0, "max_attempts": 1})
    assert json.loads(rendered(plan)[path])["limits"] == {"max_attempts": 1, "timeout_seconds": 20}

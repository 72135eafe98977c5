"""Small handwritten plans, for tests of the stages that render them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from mcpgen.diagnostics import Location, Place
from mcpgen.ir.api import (
    Api,
    MediaType,
    Operation,
    Parameter,
    RequestBody,
    Response,
    SchemeUse,
    SecurityScheme,
    Server,
)
from mcpgen.ir.tool_plan import (
    Annotation,
    Argument,
    EnvironmentVariable,
    ModelPlan,
    ServerPlan,
    ToolGroupPlan,
    ToolPlan,
)
from mcpgen.plan.naming.names import assign_call_types
from mcpgen.text.identifiers import Identifier

AT = Place("", lambda _: Location("petstore.yaml", 1, 1))
PET = {
    "type": "object",
    "properties": {
        "id": {"type": "integer"},
        "name": {"type": "string"},
        "tag": {"type": ["string", "null"]},
        "owner": {"type": "object", "properties": {"email": {"type": "string"}}},
    },
    "required": ["id", "name"],
}
MODELS = {
    "Pet": {
        "type": "object",
        "properties": {
            "id": {"type": "integer"},
            "name": {"type": "string"},
            "owner": {"$ref": "#/$defs/PetOwner"},
            "tag": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        },
        "required": ["id", "name"],
    },
    "PetOwner": {"type": "object", "properties": {"email": {"type": "string"}}, "required": []},
}
PET_TYPE = Annotation("Pet", (Identifier("Pet"),))
PET_JSON = MediaType("application/json", {"$ref": "#/$defs/Pet"}, AT)
_STYLES = {"path": "simple", "query": "form", "header": "simple", "cookie": "form"}


def parameter(name: str, location: str, *, required: bool = True, **more: Any) -> Parameter:
    """Make a parameter with the default serialization of OpenAPI."""
    schema = more.pop("schema", {"type": "string"})
    explode = location in {"query", "cookie"}
    return Parameter(name, location, required, schema, _STYLES[location], explode, AT, **more)


def operation(method: str, path: str, *parameters: Parameter, **more: Any) -> Operation:
    """Make an operation of the tag `pets` that answers 200."""
    fields: dict[str, Any] = {
        "operation_id": "",
        "tag": "pets",
        "summary": "",
        "description": "",
        "request_body": None,
        "responses": (Response("200", "Fine", (), AT),),
        "security": (),
        "servers": (),
        "at": AT,
    }
    return Operation(method=method, path=path, parameters=parameters, **(fields | more))


def argument(
    name: str, identifier: str, location: str, *, required: bool = True, type: str = "str"
) -> Argument:
    """Make an argument whose wire name is its own, as a parameter's is."""
    annotation = PET_TYPE if type == "Pet" else Annotation(type)
    wire_name = "" if location in {"body", "content_type"} else name
    return Argument(name, Identifier(identifier), location, wire_name, required, annotation, {})


def tool(name: str, operation: Operation, *arguments: Argument, **more: Any) -> ToolPlan:
    """Make a tool without a result."""
    fields: dict[str, Any] = {
        "title": name.replace("_", " ").title(),
        "description": f"Do {name}.",
        "input_schema": {"type": "object", "properties": {}},
        "full_input_schema": None,
        "output_schema": None,
        "result_key": "",
        "returns": Annotation("None"),
        "annotations": {"readOnlyHint": True},
        "accept": ("application/json",),
        "token_cost": 10,
    }
    return ToolPlan(
        name=name,
        function=Identifier(name),
        call_type=assign_call_types([operation])[operation.key],
        operation=operation,
        arguments=arguments,
        **(fields | more),
    )


def petstore_tools() -> tuple[ToolPlan, ...]:
    """Make three tools: with a body, with a path parameter, and with optional ones."""
    body = RequestBody(True, (PET_JSON,), AT)
    create = operation("POST", "/pets", request_body=body)
    get = operation(
        "GET", "/pets/{petId}", parameter("petId", "path"), security=((SchemeUse("api_key"),),)
    )
    found = operation(
        "GET",
        "/pets",
        parameter("limit", "query", required=False),
        parameter("status", "query", required=False),
        parameter("X-Trace", "header", required=False),
    )
    return (
        tool(
            "create_pet",
            create,
            argument("body", "body", "body", type="Pet"),
            description="Add a pet to the store. It must have a name.",
            body=(PET_JSON,),
        ),
        tool(
            "get_pet",
            get,
            argument("petId", "pet_id", "path", type="int"),
            description="Fetch one pet (`GET /pets/{petId}`).",
            returns=PET_TYPE,
        ),
        tool(
            "list_pets",
            found,
            argument("limit", "limit", "query", required=False, type="int"),
            argument(
                "status",
                "status",
                "query",
                required=False,
                type="Literal['available', 'sold']",
            ),
            argument("X-Trace", "x_trace", "header", required=False),
            description="List pets, newest first.",
            returns=Annotation("list[Pet]", (Identifier("Pet"),)),
        ),
    )


def server_plan(*tools: ToolPlan, models: Mapping[str, Any] | None = None) -> ServerPlan:
    """Make a plan of a server with one group of tools, by default those of the petstore."""
    tools = tools or petstore_tools()
    definitions = MODELS if models is None else models
    api = Api(
        title="Petstore",
        version="1.0",
        description="A store of pets.",
        servers=(Server("https://petstore.example/v1"),),
        security_schemes=(SecurityScheme("api_key", "apiKey", AT, "header", "X-Key"),),
        operations=tuple(each.operation for each in tools),
        schemas={"Pet": PET},
    )
    return ServerPlan(
        name="petstore",
        distribution="petstore-mcp",
        package=Identifier("petstore_mcp"),
        env_prefix="PETSTORE_",
        title="Petstore",
        description="A store of pets.",
        instructions="",
        api=api,
        base_servers=api.servers,
        environment=(
            EnvironmentVariable("PETSTORE_API_KEY", "The key", False, True, "api_key", "value"),
            EnvironmentVariable("PETSTORE_BASE_URL", "Where the API is", False, False),
        ),
        groups=(ToolGroupPlan("pets", Identifier("pets"), "", tools),),
        models={Identifier(name): ModelPlan(each) for name, each in definitions.items()},
    )


def with_text(plan: ServerPlan, text: str) -> ServerPlan:
    """Put `text` into all places of a plan that can contain prose of a document."""
    groups = tuple(
        replace(
            group,
            tag=text,
            description=text,
            tools=tuple(replace(each, title=text, description=text) for each in group.tools),
        )
        for group in plan.groups
    )
    environment = tuple(
        replace(variable, description=text, example=text) for variable in plan.environment
    )
    return replace(
        plan,
        title=text,
        description=text,
        instructions=text,
        groups=groups,
        environment=environment,
    )

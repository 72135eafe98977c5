"""Types of Arazzo 1.0 documents, from which they are validated and decoded."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import UNSET, Meta, Struct, UnsetType

from mcpgen.ir.manifest_entries import JsonSchema, Text

Name: TypeAlias = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_\-]+$")]


class _Object(Struct, frozen=True, kw_only=True, rename="camel"):
    """An object of the document; its `x-` members are ignored."""


class SourceDescription(_Object, frozen=True):
    """A Source Description Object: an API description with the operations of steps."""

    name: Name
    url: Text
    type: Literal["openapi", "arazzo"] = "openapi"


class Parameter(_Object, frozen=True, rename={"in_": "in"}):
    """A Parameter Object, or a Reusable Object that refers to one."""

    name: str = ""
    in_: Literal["path", "query", "header", "cookie"] | UnsetType = UNSET
    value: Any = None
    reference: str = ""


class Replacement(_Object, frozen=True):
    """A Payload Replacement Object."""

    target: str
    value: Any


class RequestBody(_Object, frozen=True):
    """A Request Body Object."""

    content_type: str = ""
    payload: Any = None
    replacements: tuple[Replacement, ...] = ()


class Criterion(_Object, frozen=True):
    """A Criterion Object; `type` may be an object."""

    condition: Text
    context: str = ""
    type: Any = "simple"


class Action(_Object, frozen=True):
    """A Success or Failure Action Object, or a Reusable Object that refers to one."""

    name: str = ""
    type: Literal["end", "goto", "retry"] | UnsetType = UNSET
    step_id: str = ""
    workflow_id: str = ""
    retry_after: Annotated[float, Meta(ge=0, le=60)] = 0.0  # seconds
    retry_limit: Annotated[int, Meta(ge=0, le=10)] = 1
    criteria: tuple[Criterion, ...] = ()
    reference: str = ""


class Step(_Object, frozen=True):
    """A Step Object."""

    step_id: Name
    description: str = ""
    operation_id: str = ""
    operation_path: str = ""
    workflow_id: str = ""
    parameters: tuple[Parameter, ...] = ()
    request_body: RequestBody | None = None
    success_criteria: tuple[Criterion, ...] = ()
    on_success: tuple[Action, ...] = ()
    on_failure: tuple[Action, ...] = ()
    outputs: dict[str, str] = {}


class Workflow(_Object, frozen=True):
    """A Workflow Object."""

    workflow_id: Name
    steps: Annotated[tuple[Step, ...], Meta(min_length=1)]
    summary: str = ""
    description: str = ""
    inputs: JsonSchema = {}
    depends_on: tuple[str, ...] = ()
    success_actions: tuple[Action, ...] = ()
    failure_actions: tuple[Action, ...] = ()
    parameters: tuple[Parameter, ...] = ()
    outputs: dict[str, str] = {}


class Components(_Object, frozen=True):
    """A Components Object."""

    inputs: dict[str, JsonSchema] = {}
    parameters: dict[str, Parameter] = {}
    success_actions: dict[str, Action] = {}
    failure_actions: dict[str, Action] = {}


class ArazzoDocument(_Object, frozen=True):
    """An Arazzo document."""

    arazzo: Annotated[str, Meta(pattern=r"^1\.0\.[0-9]+$", description="The version: 1.0.x.")]
    info: dict[str, Any]
    source_descriptions: Annotated[tuple[SourceDescription, ...], Meta(min_length=1)]
    workflows: Annotated[tuple[Workflow, ...], Meta(min_length=1)]
    components: Components = Components()

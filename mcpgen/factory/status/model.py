"""Status of a server: its stages, figures and waivers, and its next needs.

`status`, `review` and `dashboard` show these types. Their JSON form is the interface of
`mcpgen status --json` and of the data in the dashboard: members have the names of the fields.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct, field

from mcpgen.jsonschema.types import JsonObject


class State(StrEnum):
    """State of a stage, by its evidence."""

    PASSED = "passed"
    FAILED = "failed"
    STALE = "stale"  # the inputs of the evidence have changed since
    UNKNOWN = "unknown"  # there is no evidence


class StageName(StrEnum):
    """The stages of a server, in their order."""

    DECLARED = "declared"  # there is a manifest
    GENERATED = "generated"  # the hashes in the lock match the files
    LINTED = "linted"
    TESTED = "tested"  # against the mock
    CONFORMANT = "conformant"  # in each revision that the server supports
    LIVE = "live"  # optional: the real API was called
    PACKAGED = "packaged"
    PUBLISHED = "published"  # the version in the registry is the local one


OPTIONAL_STAGES = frozenset({StageName.LIVE})
"""Stages that a server may skip on its way to the next one."""


class Proof(Struct, frozen=True, kw_only=True):
    """State of one check, with its evidence."""

    state: State  # as shown by the evidence
    summary: str  # one line, such as "450 passed; 188 of 188 faults found"
    evidence: str = ""  # the file, relative to the server's folder; "" if there is none
    time: str = ""  # when it was recorded, as RFC 3339 in UTC; "" if unknown
    changed: tuple[str, ...] = ()  # the inputs that have changed since: "document", "manifest", …
    command: str = ""  # what to run next, relative to the workspace; "" if nothing is needed


class Stage(Struct, frozen=True):
    """A stage, and whether the server has reached it."""

    name: StageName  # in their order
    proof: Proof  # why the server has reached it, or has not


class Score(Struct, frozen=True):
    """The result of `mcpgen validate` for one revision."""

    score: int  # 0 to 100
    coverage: float  # the exercised share of the applicable requirements, 0 to 1
    verdict: str  # "PASS" or "FAIL"
    is_reliable: bool  # whether enough was exercised for the score to count


class ClientCell(Struct, frozen=True):
    """Effect of a client's limits on the tools of a server."""

    effect: str  # the worst `Effect` of the client's limits, "ok" if there is none
    tools: int = 0  # the tools that are affected
    limits: tuple[str, ...] = ()  # the limits that are exceeded, one line each


class Operation(Struct, frozen=True):
    """An operation of the document, and the tool that serves it."""

    id: str  # "GET /pets/{petId}"
    tool: str = ""  # "" if none
    reason: str = ""  # why there is no tool: "excluded by `select`", or the skip's diagnostic
    is_excluded: bool = False  # by the manifest; else an operation without a tool is unmapped


class Tool(Struct, frozen=True, kw_only=True):
    """A tool as clients see it."""

    name: str  # "get_pet"
    title: str = ""  # for users
    description: str = ""  # for models
    operation: str = ""  # "" for a workflow, or a tool written by hand
    tokens: int = 0  # cost of its entry in the list
    annotations: Mapping[str, bool] = field(default_factory=dict)  # `readOnlyHint` and others
    input_schema: JsonObject = field(default_factory=dict)  # of its arguments
    output_schema: JsonObject | None = None  # of its structured results
    cases: int | None = None  # test cases in its last run


class WaiverState(Struct, frozen=True):
    """An entry of waivers.yaml, and the number of findings that it accepts now."""

    rule: str  # of lint or validate, or of a change
    reason: str  # why its findings are accepted
    owner: str  # who accepted them
    expires: str  # a date: "2026-12-31"
    is_expired: bool  # `expires` is in the past
    findings: int  # number of findings that it covers now
    tool: str = ""  # a glob; "" for all tools and the server itself


class NeedKind(StrEnum):
    """Reasons why a server needs its owner's attention, the most urgent first."""

    FAILING = "failing"
    CONFLICT = "conflict"  # a generated file was edited by hand
    BREAKING = "breaking"  # a breaking change waits for approval
    WAIVER_EXPIRED = "waiver expired"
    REGENERATE = "regenerate"  # the document or the manifest has changed
    STALE = "stale"
    UNKNOWN = "unknown"
    WAIVED = "waived"
    READY = "ready to publish"


class Need(Struct, frozen=True):
    """One line of the attention queue."""

    kind: NeedKind  # the most urgent one is listed first here
    message: str  # one line
    command: str  # to resolve it, relative to the workspace
    evidence: str = ""  # the file that shows the need, relative to the server's folder


class ServerStatus(Struct, frozen=True, kw_only=True):
    """Status of one server."""

    server: str  # its path in the workspace; the name of its folder outside one
    name: str  # of the distribution: "petstore-mcp"
    api: str = ""  # the title of the API
    version: str = ""  # of the package
    owners: tuple[str, ...] = ()  # by the workspace file
    stages: tuple[Stage, ...]  # all of them, in their order
    reached: StageName | None  # the last stage that passed, with all required ones before it
    source: str = ""  # where the document comes from
    drift: Proof  # whether the document differs from its source
    tools: int | None = None  # the listed ones
    tokens: int | None = None  # cost of their list
    scores: Mapping[str, Score] = field(default_factory=dict)  # by revision, if current
    kill_rate: float | None = None  # 0 to 1, if current
    clients: Mapping[str, ClientCell] = field(default_factory=dict)  # by client id, if current
    published: str = ""  # the version in the registry, if it is known
    waivers: tuple[WaiverState, ...] = ()  # of `waivers.yaml`
    needs: tuple[Need, ...] = ()  # the most urgent first


class ServerDetails(Struct, frozen=True, kw_only=True):
    """Contents of the page of one server in addition to its status."""

    status: ServerStatus  # as `mcpgen status` prints it
    tools: tuple[Tool, ...] = ()  # listed ones first, then those behind search tools
    operations: tuple[Operation, ...] = ()  # of the documents, those with a tool first
    findings: tuple[JsonObject, ...] = ()  # of lint: `rule`, `severity`, `tool`, `message`, `help`
    requirements: Mapping[str, JsonObject] = field(default_factory=dict)  # results, by revision
    history: tuple[JsonObject, ...] = ()  # `check`, `time`, `outcome`, `result`; the latest first
    install: Mapping[str, str] = field(default_factory=dict)  # configuration to paste, by client id


class Fleet(Struct, frozen=True):
    """The servers of a workspace, or one server alone."""

    title: str  # the name of the workspace's folder, or of the server
    root: str  # the name of the folder in which the commands are run; never a whole path
    servers: tuple[ServerDetails, ...]  # in the order of their paths
    clients: Mapping[str, str] = field(default_factory=dict)  # titles of clients, by id
    now: str = ""  # when the fleet was examined, as RFC 3339 in UTC

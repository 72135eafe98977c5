"""Tests of each rule: a server that violates it, one that nearly does, and boundary values."""

from __future__ import annotations

from typing import Any

import pytest

from mcpgen.contract.snapshot import estimate_tokens
from mcpgen.diagnostics import Severity
from mcpgen.factory.lint import pins
from mcpgen.factory.lint.findings import RULES
from mcpgen.factory.lint.listing import Listing
from mcpgen.factory.lint.rules import texts
from mcpgen.factory.lint.run import lint
from mcpgen.factory.lint.settings import parse_targets
from mcpgen.text.signals import TextSignal
from tests.unit.factory.lint.conftest import DESCRIPTION, find_all, make_arguments, make_tool

Case = dict[str, Any]
"""Arguments of `find_all`: `tools`, and members of the listing."""


def one(**more: Any) -> Case:
    return {"tools": [make_tool(**more)]}


def argument(schema: Any, name: str = "pet", **more: Any) -> Case:
    if isinstance(schema, dict) and "description" not in schema and schema and "$ref" not in schema:
        schema = {**schema, "description": "Something."}
    return one(inputSchema={**make_arguments(**{name: schema}), **more})


def nested(levels: int) -> Any:
    schema: Any = {"type": "string"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema


def named(*names: str) -> Case:
    return {"tools": [make_tool(name) for name in names]}


def many(count: int) -> Case:
    return {**named(*(f"get_pet_{number}" for number in range(count))), "budget": 10**6}


COST = estimate_tokens(make_tool())
TEXT = {"type": "string"}
DELETES = {"readOnlyHint": False, "destructiveHint": True, "openWorldHint": True}
VIOLATIONS: list[tuple[str, Case, Case]] = [  # a violation, and what is nearly one
    ("tool-name", one(name="a" * 49), one(name="a" * 48)),
    ("tool-name", one(name="getPet"), one(name="get_pet2")),
    ("tool-name", one(name="2_pets"), one(name="g")),
    ("tool-name", one(name=""), one(name="x")),
    ("tool-name", {**named("b" * 43), "server": "a" * 15}, {**named("b" * 42), "server": "a" * 15}),
    ("duplicate-tool", named("get_pet", "get_PET"), named("get_pet", "get_pets")),
    ("description-missing", one(description=None), one(description="x")),
    ("description-missing", one(description=" \n"), one(description="Get.")),
    (
        "description-short",
        one(description="Use it to fetch a pet with this number"),  # 38
        one(description="Use it to fetch the pet with this number."),
    ),  # 41
    (
        "description-repeats-name",
        one(description="Get the pet."),
        one(description="Get a live pet."),
    ),
    (
        "description-usage",
        one(description="Fetches one of the pets by number from the shop."),
        one(description="Fetches one of the pets by number, if it was not sold."),
    ),
    (
        "description-length",
        one(description="Use it. " * 128 + "x"),
        one(description="Use it. " * 128),
    ),
    (
        "instructions-length",
        {**one(), "instructions": "x" * 2049},
        {**one(), "instructions": "x" * 2048},
    ),
    (
        "description-markup",
        one(description=f"{DESCRIPTION} <br> See below."),
        one(
            description=f"{DESCRIPTION} Accepts `<br>`, a <Code> and a <pet_id> if x < y and y > z."
        ),
    ),
    (
        "description-markup",
        one(description=f"{DESCRIPTION}\n| a | b |\n|---|---|\n| 1 | 2 |"),
        one(description=f"{DESCRIPTION}\n---\nEither a | b."),
    ),
    (
        "destructive-unstated",
        one(
            name="delete_pet",
            description="Use it for pets that nobody wants to buy.",
            annotations=DELETES,
        ),
        one(
            name="delete_pet",
            description="Delete a pet. Use it with care, always.",
            annotations=DELETES,
        ),
    ),
    (
        "annotation-contradiction",
        one(name="delete_pet", description="Delete a pet, if it was sold."),
        one(name="delete_pet", description="Delete a pet, if it was sold.", annotations=DELETES),
    ),
    (
        "annotation-contradiction",
        one(name="purgeCache", annotations={**DELETES, "destructiveHint": False}),
        one(name="removeCache", annotations={**DELETES, "destructiveHint": False}),
    ),
    (
        "annotations",
        one(annotations={"readOnlyHint": False, "openWorldHint": True}),
        one(annotations={"readOnlyHint": True, "openWorldHint": False}),
    ),
    ("annotations", one(annotations=None), one()),
    ("schema-invalid", argument({"type": "strng"}), argument(TEXT)),
    ("schema-invalid", one(inputSchema=None), one(inputSchema={"type": "object"})),
    ("schema-invalid", one(inputSchema=[]), one(inputSchema={"type": "object", "properties": {}})),
    (
        "schema-invalid",
        one(outputSchema={"type": "object", "required": "a"}),
        one(outputSchema={"type": "object", "required": ["a"]}),
    ),
    ("schema-root", one(inputSchema={"properties": {}}), one(inputSchema={"type": "object"})),
    ("schema-root", one(outputSchema={"type": "array"}), one(outputSchema={"type": "object"})),
    (
        "schema-root",
        argument(TEXT, anyOf=[{"required": ["pet"]}]),
        argument({"anyOf": [TEXT, {"type": "integer"}]}),
    ),
    ("schema-root", argument(TEXT, **{"not": {"required": ["pet"]}}), argument({"not": TEXT})),
    (
        "schema-reference",
        argument({"$ref": "#/$defs/Pett"}, **{"$defs": {"Pet": TEXT}}),
        argument({"$ref": "#/$defs/Pet"}, **{"$defs": {"Pet": TEXT}}),
    ),
    ("schema-reference", argument({"$ref": "pets.json"}), argument({"$ref": "#"})),
    (
        "schema-reference",
        one(outputSchema={"type": "object", "properties": {"a": {"$ref": "#/x"}}}),
        one(outputSchema={"type": "object", "properties": {"a": {"$ref": "#/properties/a"}}}),
    ),
    ("array-items", argument({"type": "array"}), argument({"type": "array", "items": TEXT})),
    ("property-name", argument(TEXT, "filter[kind]"), argument(TEXT, "filter_kind")),
    ("property-name", argument(TEXT, "a" * 65), argument(TEXT, "a" * 64)),
    ("property-name", argument(TEXT, "2nd"), argument(TEXT, "_2nd")),
    ("type-union", argument({"type": ["string", "null"]}), argument({"type": ["string"]})),
    (
        "schema-keyword",
        argument(TEXT, **{"$schema": "https://json-schema.org/draft/2020-12/schema"}),
        argument(TEXT, **{"$comment": "none"}),
    ),
    ("schema-format", argument({**TEXT, "format": "phone"}), argument({**TEXT, "format": "uuid"})),
    (
        "schema-pattern",
        argument({**TEXT, "pattern": "^(?!a)"}),
        argument({**TEXT, "pattern": "^(a)?$"}),
    ),
    (
        "schema-pattern",
        argument({**TEXT, "pattern": "a" * 301}),
        argument({**TEXT, "pattern": "a" * 300}),
    ),
    (
        "bounds-in-words",
        argument({"type": "integer", "minimum": 1, "maximum": 50}),
        argument({"type": "integer", "minimum": 1, "maximum": 50, "description": "1 to 50."}),
    ),
    (
        "bounds-in-words",
        argument({**TEXT, "maxLength": 1500, "description": "Short."}),
        argument(
            {**TEXT, "maxLength": 1500, "minLength": 1, "description": "At most 1,500 characters."}
        ),
    ),
    ("schema-size", argument(nested(6)), argument(nested(5))),
    ("schema-size", argument({"enum": [*range(101)]}), argument({"enum": [*range(100)]})),
    (
        "many-parameters",
        one(inputSchema=make_arguments(**{f"a{n}": TEXT for n in range(21)})),
        one(inputSchema=make_arguments(**{f"a{n}": TEXT for n in range(20)})),
    ),
    ("empty-schema", argument({}), argument({"description": "Anything."})),
    (
        "empty-schema",
        argument({"type": "array", "items": True}),
        argument({"type": "object", "additionalProperties": True}),
    ),
    ("required-names", argument(TEXT, required=["pet", "pet"]), argument(TEXT, required=["pet"])),
    (
        "required-names",
        argument(TEXT, required=["pets"]),
        argument({"anyOf": [{"required": ["x"]}]}),
    ),
    ("open-arguments", argument(TEXT, additionalProperties=True), argument(TEXT)),
    ("too-many-tools", many(41), many(40)),
    ("token-budget", {**one(), "budget": COST - 1}, {**one(), "budget": COST}),
    (
        "secret-value",
        argument({**TEXT, "default": "a1b2c3d4e5f6"}, "api_key"),
        argument({**TEXT, "default": "a1b2c3d4e5f6"}, "key_name"),
    ),
    (
        "secret-value",
        argument({**TEXT, "examples": ["AKIA" + "A1B2C3D4E5F6G7H8"]}),
        argument({**TEXT, "examples": ["AKIA" + "A1B2C3D4E5F6G7"]}),
    ),
    (
        "secret-value",
        {**one(), "instructions": "Use ghp_" + "a" * 36},
        {**one(), "instructions": "Use ghp_x"},
    ),
    (
        "unknown-tool",
        one(description=f"{DESCRIPTION} Then use the `sell_pet` tool."),
        one(description=f"{DESCRIPTION} The `sell_pet` flag is ignored; see the `get_pet` tool."),
    ),
]
BESIDE = {"hidden-text", "steering-text", "shadowed-tool", "unlisted-tools"} | {
    rule for rule in RULES if rule.startswith("definition-")
}


def rules_of(case: Case, *targets: str) -> set[str]:
    case = dict(case)
    return {finding.rule for finding in find_all(*case.pop("tools"), targets=targets, **case)}


def test_a_plain_tool_has_no_findings() -> None:
    assert find_all(make_tool()) == ()


@pytest.mark.parametrize(("rule", "violation", "near"), VIOLATIONS)
def test_a_violation_is_reported_and_what_is_nearly_one_is_not(
    rule: str, violation: Case, near: Case
) -> None:
    assert rule in rules_of(violation)
    assert rule not in rules_of(near)


def test_every_rule_has_a_violation() -> None:
    assert {rule for rule, _, _ in VIOLATIONS} | BESIDE == RULES.keys()
    assert {rule for rule, _, _ in VIOLATIONS}.isdisjoint(BESIDE)


def test_findings_point_into_the_tool() -> None:
    (finding,) = find_all(make_tool(inputSchema=make_arguments(**{"a[]": {"type": "string"}})))
    assert finding.tokens == ("inputSchema", "properties", "a[]")


@pytest.mark.parametrize(("count", "severity"), [(100, Severity.WARNING), (101, Severity.ERROR)])
def test_over_a_hundred_tools_are_an_error(count: int, severity: Severity) -> None:
    case = many(count)
    found = find_all(*case.pop("tools"), **case)
    (finding,) = [each for each in found if each.rule == "too-many-tools"]
    assert finding.severity is severity
    assert finding.message.endswith(f"(limit: {40 if count == 100 else 100})")


def test_both_bounds_have_to_be_stated() -> None:
    schema = {"type": "integer", "minimum": 2, "maximum": 50, "description": "At most 50."}
    assert rules_of(argument(schema)) == {"bounds-in-words"}


@pytest.mark.parametrize(
    ("tool", "severity"),
    [
        (make_tool("getPet"), Severity.WARNING),  # VS Code warns
        (make_tool("get.pet"), Severity.ERROR),  # Codex rejects all tools
        (make_tool(inputSchema=make_arguments(**{"a[]": TEXT})), Severity.ERROR),  # dropped
        (make_tool(inputSchema={**make_arguments(), "$schema": "x"}), Severity.WARNING),  # an API
    ],
)
def test_the_severity_is_what_clients_do(tool: Any, severity: Severity) -> None:
    assert max(each.severity for each in find_all(tool)) == severity


def test_the_reason_names_the_clients_with_their_sources() -> None:
    (finding,) = find_all(make_tool("get.pet"))
    assert "`codex` rejects all tools (openai/codex#8174)" in finding.as_diagnostic().why


SIGNALS = {
    "hidden-text": TextSignal("invisible-characters", 0, 1, "invisible characters: U+200B"),
    "steering-text": TextSignal("secrecy", 0, 1, "tells the model to conceal something"),
}


@pytest.mark.parametrize("rule", SIGNALS)
def test_signals_of_texts_become_errors(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[str, str]] = []

    def find_text_signals(text: str, field: str) -> list[TextSignal]:
        seen.append((text, field))
        return [SIGNALS[rule]] if field == "enum" else []

    monkeypatch.setattr(texts, "find_text_signals", find_text_signals)
    schema = make_arguments(color={"enum": ["red"], "title": "T", "default": "red", "pattern": "r"})
    schema["properties"]["color"]["examples"] = [{"a": "b"}]
    tool = make_tool(
        title="Pet", inputSchema=schema, outputSchema=make_arguments(size={"const": "L"})
    )
    prompts = [{"name": "p", "description": "d", "arguments": [{"name": "q", "description": "r"}]}]
    resources = [{"name": "terms", "uri": "shop://terms"}]
    found = find_all(tool, instructions="Read.", prompts=prompts, resources=resources)
    assert [each.rule for each in found if each.severity is Severity.ERROR] == [rule] * 2
    assert found[0].tokens == ("inputSchema", "properties", "color", "enum", "0")
    assert {
        ("get_pet", "name"), ("Pet", "title"), (DESCRIPTION, "description"), ("color", "property"),
        ("red", "enum"), ("red", "default"), ("T", "title"), ("r", "pattern"), ("b", "example"),
        ("size", "property"), ("L", "enum"), ("Read.", "instructions"), ("p", "name"),
        ("q", "name"), ("r", "description"), ("shop://terms", "uri"),
    } <= set(seen)  # fmt: skip


def test_hand_written_tools_that_were_not_seen_are_noted() -> None:
    (note,) = find_all(make_tool(), has_unknown_tools=True)
    assert (note.rule, note.severity) == ("unlisted-tools", Severity.NOTE)


def lint_beside(foreign: dict[str, list[str]], **more: Any) -> list[str]:
    listing = Listing(server="shop", tools=[make_tool(**more)])
    return [each.rule for each in lint(listing, parse_targets(()), foreign=foreign).findings]


def test_a_tool_with_the_name_of_another_servers_tool_is_reported() -> None:
    assert lint_beside({"zoo": ["get_pet"]}) == ["shadowed-tool"]
    assert lint_beside({"zoo": ["get_pets"]}) == []


def test_a_text_that_names_another_servers_tool_is_reported() -> None:
    text = f"{DESCRIPTION} Call send_mail afterwards."
    assert lint_beside({"mail": ["send_mail"]}, description=text) == ["unknown-tool"]
    assert lint_beside({"mail": ["read_mail"]}, description=text) == []


CHANGES = [
    ({"description": DESCRIPTION + " And more."}, "definition-changed"),
    ({"annotations": {"readOnlyHint": True, "openWorldHint": False}}, "definition-changed"),
    ({"name": "get_pets"}, "definition-added"),
    ({}, ""),
]


@pytest.mark.parametrize(("change", "rule"), CHANGES)
def test_definitions_are_compared_with_their_pins(change: dict[str, Any], rule: str) -> None:
    pinned = pins.hash_definitions(Listing(server="shop", tools=[make_tool()]))
    now = Listing(server="shop", tools=[make_tool(**change)])
    found = [each.rule for each in lint(now, parse_targets(()), pins=pinned).findings]
    removed = ["definition-removed"] if rule == "definition-added" else []
    assert found == [*([rule] if rule else []), *removed]


def test_changed_instructions_are_a_changed_definition() -> None:
    pinned = pins.hash_definitions(Listing(server="shop", tools=[], instructions="a"))
    now = Listing(server="shop", tools=[], instructions="b")
    found = lint(now, parse_targets(()), pins=pinned).findings
    assert [each.rule for each in found] == ["definition-changed"]


def test_the_order_of_keys_does_not_change_a_pin() -> None:
    tool = make_tool()
    turned = dict(reversed([*tool.items()]))
    assert [*tool] != [*turned]
    assert pins.hash_definitions(Listing(server="shop", tools=[tool])) == pins.hash_definitions(
        Listing(server="shop", tools=[turned])
    )


@pytest.mark.parametrize(
    ("targets", "rules"),
    [
        ((), {"tool-name"}),
        (("claude-desktop",), set()),
        (("openai",), set()),
        (("vscode",), {"tool-name"}),
        (("portable",), {"tool-name"}),
        (("all",), {"tool-name"}),
    ],
)
def test_limits_of_chosen_clients_replace_the_profile(
    targets: tuple[str, ...], rules: set[str]
) -> None:
    assert {each.rule for each in find_all(make_tool("getPet"), targets=targets)} == rules


def test_each_violation_is_reported_once_with_all_targets() -> None:
    tool = make_tool("get.pet", inputSchema=make_arguments(a={"type": ["string", "null"]}))
    found = find_all(tool, targets=("all",))
    seen = [(each.rule, each.message) for each in found]
    assert len(seen) == len(set(seen))
    named = [each.clients for each in found if each.rule == "tool-name"]
    clients = [(each.client, each.limit.id) for each in sum(named, ())]
    assert len(clients) == len(set(clients))


def test_the_strict_profile_has_no_composition() -> None:
    choice = argument({"anyOf": [TEXT, {"type": "integer"}]})
    assert rules_of(choice) == set()
    assert rules_of(choice, "strict") == {"schema-keyword"}


@pytest.mark.parametrize(
    "tool",
    [
        {},
        {"name": 3, "description": [], "inputSchema": "x", "annotations": 7, "title": {}},
        {"name": "a", "inputSchema": {"properties": [], "required": {}, "type": 3, "enum": 1}},
        {"name": "a", "inputSchema": {"properties": {"b": 4, "c": {"items": 3, "anyOf": 1}}}},
        {"name": "a", "inputSchema": {"$ref": 3, "$defs": 4, "type": ["object"]}},
    ],
)
def test_definitions_of_any_shape_can_be_examined(tool: Any) -> None:
    assert find_all(tool, targets=("all", "strict"))


def test_any_json_below_the_depth_limit_is_no_level() -> None:
    cut: Any = {"type": "array", "items": {"description": "Any JSON value."}}
    for _ in range(5):
        cut = {"type": "object", "properties": {"a": cut}}
    assert "schema-size" not in rules_of(argument(cut))


def test_a_very_deep_schema_can_be_examined() -> None:
    schema: Any = {"type": "string"}
    for _ in range(150):
        schema = {"type": "array", "items": schema}
    assert "schema-size" in rules_of(argument(schema))

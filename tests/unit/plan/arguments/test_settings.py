"""Tests of settings that provide parameters: names, types and contradictions."""

from __future__ import annotations

from typing import Any

import pytest

from mcpgen.diagnostics import Problems, RejectedError
from mcpgen.ir.tool_plan import ServerPlan
from mcpgen.manifest.manifest import read_manifest
from mcpgen.plan.plan import plan_tools
from mcpgen.plan.policy import Policy

HEAD = "server: {name: shop}\nsources: [{document: openapi.yaml}]\noperations:\n"


class Planned:
    """The plan of two operations with `operations` of a manifest."""

    def __init__(self, make: Any, operations: str) -> None:
        root = make.document()
        responses = {"204": {"description": "done"}}
        shop = {
            "name": "shop",
            "in": "query",
            "required": True,
            "description": "The shop. One of many.",
            "schema": {"type": "integer", "example": 7},
        }
        names = {"type": "array", "items": {"type": "string"}}
        root["paths"] = {
            "/pets": {
                "get": {
                    "operationId": "listPets",
                    "parameters": [
                        shop,
                        {"name": "name", "in": "query", "schema": names},
                        {"name": "access_token", "in": "query", "schema": {"type": "string"}},
                        {"name": "pin", "in": "query", "schema": {"format": "password"}},
                    ],
                    "responses": responses,
                },
                "post": {
                    "operationId": "addPet",
                    "parameters": [{**shop, "schema": {"type": "string"}, "required": False}],
                    "responses": responses,
                },
            }
        }
        self.problems = Problems()
        intent = read_manifest(f"{HEAD}{operations}".encode(), self.problems)
        self.plan: ServerPlan = plan_tools(make(root).api, Policy(intent), self.problems)

    def settings(self) -> dict[str, Any]:
        """The environment variables for parameters, by name."""
        return {it.name: it for it in self.plan.environment if it.schema is not None}


def one(parameters: str) -> str:
    return f"  listPets: {{parameters: {parameters}}}\n"


def test_a_setting_has_the_type_and_description_of_its_parameter(make: Any) -> None:
    planned = Planned(make, one("{shop: {from_environment: SHOP_ID}, name: {from_environment: N}}"))
    shop, name = planned.settings()["SHOP_ID"], planned.settings()["N"]
    assert (shop.description, shop.example) == ("The shop. An integer.", "7")
    assert shop.usage.describe_counts() == "needed by 1 of 2 tools"
    assert shop.reads_as == {"type": "integer"}
    assert name.reads_as == {"type": "array"}
    assert not name.required
    assert name.description.endswith("A list, separated by commas.")
    assert not list(planned.problems)


def test_the_manifest_overrides_the_description_of_a_setting(make: Any) -> None:
    wish = "{from_environment: SHOP_ID, description: Your shop, default: 3, secret: true}"
    setting = Planned(make, one(f"{{shop: {wish}}}")).settings()["SHOP_ID"]
    assert setting.description == "Your shop. An integer."
    assert (setting.required, setting.secret, setting.example) == (False, True, "")


def test_credentials_are_secret_unless_the_manifest_overrides_it(make: Any) -> None:
    planned = Planned(
        make,
        one(
            "{access_token: {from_environment: A}, pin: {from_environment: B},"
            " name: {from_environment: C}}"
        ),
    )
    secrets = {name: setting.secret for name, setting in planned.settings().items()}
    assert secrets == {"A": True, "B": True, "C": False}
    planned = Planned(make, one("{access_token: {from_environment: A, secret: false}}"))
    assert not planned.settings()["A"].secret


@pytest.mark.parametrize(
    ("operations", "code", "message", "help"),
    [
        (one("{shop: {from_environment: X, fixed: 3}}"), "parameter-entry", "`fixed`", "keep"),
        (one("{shop: {from_environment: X, hidden: true}}"), "parameter-entry", "`hidden`", "keep"),
        (one("{shop: {from_environment: X, name: y}}"), "parameter-entry", "`name`", "keep"),
        (one("{shop: {secret: true}}"), "parameter-entry", "`secret` without", "remove"),
        (one("{shop: {from_environment: X, default: a}}"), "parameter-entry", "value", "integer"),
        (
            one("{shop: {from_environment: SHOP_BASE_URL}}"),
            "setting-name",
            "the setting `SHOP_BASE_URL` already has another meaning",
            "choose another name",
        ),
        (
            one("{shop: {from_environment: X}}")
            + "  addPet: {parameters: {shop: {from_environment: X}}}\n",
            "setting-type",
            "parameters of different types use the setting `X`",
            "another environment variable",
        ),
    ],
)
def test_an_invalid_setting_is_rejected_at_its_location(
    make: Any, operations: str, code: str, message: str, help: str
) -> None:
    (problem,) = Planned(make, operations).problems
    assert (problem.code, problem.severity) == (code, "error")
    assert message in problem.message
    assert help in problem.help
    assert problem.at is not None
    assert problem.at.line in (4, 5)


@pytest.mark.parametrize("name", ["team_id", "1X", "A-B"])
def test_an_invalid_environment_variable_name_is_rejected(name: str) -> None:
    text = HEAD + one(f"{{shop: {{from_environment: {name}}}}}")
    with pytest.raises(RejectedError):
        read_manifest(text.encode(), Problems())

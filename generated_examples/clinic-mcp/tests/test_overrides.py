"""Tests of overrides: updates name a version and keep numbers, and patient numbers are masked."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from mcpgen.runtime.package import ServerPackage
from mcpgen.testing import Client, MockUpstream, Reply

from clinic_mcp.handlers.patients import mask

UPSTREAM = Path(__file__).parent / "generated" / "upstream.json"
SETTINGS = {"CLINIC_ACCESS_TOKEN": "token-of-the-mock"}
PATIENT = {
    "resourceType": "Patient",
    "id": "pt-40817",
    "meta": {"versionId": "3"},
    "name": [{"family": "Bergmann"}],
    "birthDate": "1984-06-02",
}


def call(
    tool: str, arguments: dict[str, Any], answer: Any = None, *, accepts: bool = True
) -> tuple[dict[str, Any], MockUpstream]:
    """Call a tool in memory; return its result, and the mock API with its requests."""
    upstream = MockUpstream(json.loads(UPSTREAM.read_bytes()))
    if answer is not None:
        upstream.reply_with(Reply.from_json({"body": answer}))
    reply = {"action": "accept", "content": {}} if accepts else {"action": "decline"}

    async def run() -> dict[str, Any]:
        package = ServerPackage.load("clinic_mcp")
        async with Client.in_memory(
            package,
            SETTINGS,
            send=upstream.send,
            answers={"elicitation/create": lambda asked: reply},
        ) as client:
            return await client.call_tool(tool, arguments)

    return asyncio.run(run()), upstream


def change(tool: str, identifier: str, version: str, path: str = "/telecom/0/value") -> Any:
    patch = [{"op": "replace", "path": path, "value": "x"}]
    return call(tool, {"id": identifier, "if_match": version, "body": patch})


@pytest.mark.parametrize("version", ["3", '"3"', 'W/"3"', " 3 "])
@pytest.mark.parametrize(
    ("tool", "identifier"), [("change_patient", "pt-40817"), ("change_appointment", "ap-9917")]
)
def test_a_change_names_the_version_as_an_etag(tool: str, identifier: str, version: str) -> None:
    result, upstream = change(tool, identifier, version)
    assert not result.get("isError"), result
    [request] = upstream.requests
    headers = {name.lower(): value for name, value in request.headers}
    assert headers["if-match"] == 'W/"3"'
    assert headers["content-type"] == "application/json-patch+json"


@pytest.mark.parametrize("version", ["*", '"3", "4"', "the last one"])
def test_what_is_no_version_is_refused(version: str) -> None:
    result, upstream = change("change_patient", "pt-40817", version)
    assert result["isError"] is True
    assert "meta.versionId" in result["content"][0]["text"]
    assert not upstream.requests


@pytest.mark.parametrize("path", ["/identifier/0/value", "/meta/versionId", "/id"])
def test_numbers_of_patients_are_not_changed(path: str) -> None:
    result, upstream = change("change_patient", "pt-40817", "3", path)
    assert result["isError"] is True
    assert "registration desk" in result["content"][0]["text"]
    assert not upstream.requests


def test_numbers_of_patients_are_not_moved() -> None:
    patch = [{"op": "move", "path": "/name/0/text", "from": "/identifier/0/value"}]
    result, upstream = call("change_patient", {"id": "pt-40817", "if_match": "3", "body": patch})
    assert result["isError"] is True
    assert not upstream.requests


def test_a_test_of_a_number_is_no_change() -> None:
    patch = [
        {"op": "test", "path": "/identifier/0/value", "value": "A123456789"},
        {"op": "remove", "path": "/telecom/1"},
    ]
    result, upstream = call("change_patient", {"id": "pt-40817", "if_match": "3", "body": patch})
    assert not result.get("isError"), result
    assert json.loads(upstream.requests[0].body) == patch


def test_a_change_that_the_user_declines_is_not_sent() -> None:
    patch = [{"op": "replace", "path": "/status", "value": "cancelled"}]
    arguments = {"id": "ap-9917", "if_match": "1", "body": patch}
    _, upstream = call("change_appointment", arguments, accepts=False)
    assert not upstream.requests


def test_numbers_of_a_patient_are_masked() -> None:
    numbers = [
        {"system": "urn:lindenhof:insurance", "value": "A123456789"},
        {"system": "urn:lindenhof:chart", "value": "40"},
    ]
    result, _ = call("get_patient", {"id": "pt-40817"}, {**PATIENT, "identifier": numbers})
    shown = [it["value"] for it in result["structuredContent"]["identifier"]]
    assert shown == ["*******789", "**"]


def test_a_patient_without_numbers_is_shown() -> None:
    result, _ = call("get_patient", {"id": "pt-40817"}, PATIENT)
    assert result["structuredContent"] == PATIENT


@pytest.mark.parametrize(("number", "masked"), [("1234", "***4"), ("123", "***"), ("", "")])
def test_short_numbers_are_hidden(number: str, masked: str) -> None:
    assert mask(number) == masked


def test_dates_and_codes_of_a_search_are_sent_as_fhir_spells_them() -> None:
    arguments = {
        "patient": "Patient/pt-40817",
        "code": ["http://loinc.org|4548-4", "http://loinc.org|718-7"],
        "date": ["ge2027-01-01", "lt2028-01-01"],
    }
    _, upstream = call("list_observations", arguments)
    query = upstream.requests[0].url.partition("?")[2].split("&")
    assert "date=ge2027-01-01" in query
    assert "date=lt2028-01-01" in query
    assert "code=http%3A%2F%2Floinc.org%7C4548-4,http%3A%2F%2Floinc.org%7C718-7" in query

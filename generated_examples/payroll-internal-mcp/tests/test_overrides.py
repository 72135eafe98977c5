"""Tests of overrides: masked numbers, leave with two dates, and consent to a private network."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from mcpgen.runtime.package import ServerPackage
from mcpgen.testing import Client, MockUpstream, Reply

from payroll_internal_mcp.handlers.employees import mask

UPSTREAM = Path(__file__).parent / "generated" / "upstream.json"
BASE_URL = "https://10.20.0.15:8443/payroll/v1"
CERTIFICATE = {
    "PAYROLL_INTERNAL_CLIENT_CERTIFICATE_CERTIFICATE_FILE": "client.pem",
    "PAYROLL_INTERNAL_CLIENT_CERTIFICATE_KEY_FILE": "client.key",
}
SETTINGS = {
    **CERTIFICATE,
    "PAYROLL_INTERNAL_SERVICE_TOKEN": "token-of-the-mock",
    "PAYROLL_INTERNAL_DEPARTMENT": "OPS",
    "PAYROLL_INTERNAL_BASE_URL": BASE_URL,
}


def call(
    tool: str, arguments: dict[str, Any], answer: object = None, **settings: str
) -> tuple[dict[str, Any], list[Any]]:
    """Call a tool in memory; return the result, and the requests as they would be sent.

    `settings` replace those of the server; an empty one is not set.
    """
    upstream = MockUpstream(json.loads(UPSTREAM.read_bytes()), base_url=BASE_URL)
    if answer is not None:
        upstream.reply_with(Reply.from_json({"status": 200, "body": answer}))
    requests: list[Any] = []
    environ = {name: value for name, value in {**SETTINGS, **settings}.items() if value}

    async def send(request: Any) -> Any:
        requests.append(request)
        return await upstream.send(request)

    async def run() -> dict[str, Any]:
        package = ServerPackage.load("payroll_internal_mcp")
        async with Client.in_memory(package, environ, send=send) as client:
            return await client.call_tool(tool, arguments)

    return asyncio.run(run()), requests


def test_numbers_of_banks_and_of_the_tax_office_are_masked() -> None:
    ada = {"number": "104217", "name": "Ada Okafor", "department": "OPS"}
    secret = {"taxNumber": "47036892816", "iban": "DE89370400440532013000"}
    result, _ = call("get_employee", {"number": "104217"}, {**ada, **secret})
    masked = {"taxNumber": "*******2816", "iban": "******************3000"}
    assert result["structuredContent"] == {**ada, **masked}
    assert "DE89" not in json.dumps(result)


def test_an_employee_without_such_numbers_is_shown() -> None:
    ada = {"number": "104217", "name": "Ada Okafor", "department": "OPS"}
    assert call("get_employee", {"number": "104217"}, ada)[0]["structuredContent"] == ada


@pytest.mark.parametrize(
    ("number", "shown"),
    [
        ("", ""),
        ("123", "***"),
        ("1234", "****"),
        ("123456", "****56"),
        ("1234567890", "******7890"),
    ],
)
def test_at_most_four_digits_are_shown_and_four_are_hidden(number: str, shown: str) -> None:
    assert mask(number) == shown


def test_lists_have_no_such_numbers_at_all() -> None:
    page = {"employees": [{"number": "104217", "name": "Ada", "iban": "DE89"}], "total": 1}
    result, _ = call("search_employees", {"name": "Ada"}, page)
    [employee] = result["structuredContent"]["employees"]
    assert employee == {"number": "104217", "name": "Ada"}


def leave(first: str, last: str, **more: Any) -> tuple[dict[str, Any], list[Any]]:
    days = {"first_day": first, "last_day": last, **more}
    return call("request_absence", {"number": "104217", **days})


@pytest.mark.parametrize(
    ("first", "last", "more"),
    [
        ("2028-08-07", "2028-08-18", {}),
        ("2028-08-07", "2028-08-07", {"half_day": True}),
        ("2028-08-07", "2028-08-18", {"half_day": False}),
    ],
)
def test_leave_is_requested(first: str, last: str, more: dict[str, Any]) -> None:
    result, requests = leave(first, last, **more)
    assert not result.get("isError")
    [request] = requests
    assert json.loads(request.body)["kind"] == "leave"


@pytest.mark.parametrize(
    ("first", "last", "more", "why"),
    [
        ("2028-08-18", "2028-08-07", {}, "before firstDay"),
        ("2028-08-07", "2028-08-08", {"half_day": True}, "a single day"),
    ],
)
def test_other_days_are_refused(first: str, last: str, more: dict[str, Any], why: str) -> None:
    result, requests = leave(first, last, **more)
    assert result["isError"] is True
    assert why in result["content"][0]["text"]
    assert not requests


def test_no_leave_is_requested_that_is_not_left() -> None:
    balance = {"year": 2028, "entitled": 30, "left": 2}
    days = {"first_day": "2028-08-07", "last_day": "2028-08-18", "days": 10}
    result, requests = call("request_leave", {"number": "104217", **days}, balance)
    assert result["structuredContent"] == {"left": 2}
    assert [request.method for request in requests] == ["GET"]


def test_the_operators_address_is_used_with_the_certificate() -> None:
    _, [request] = call("get_leave_balance", {"number": "104217"})
    assert request.url.startswith(BASE_URL)
    assert request.private_addresses_setting == ""
    files = request.client_certificate
    assert (files.certificate_file, files.key_file) == ("client.pem", "client.key")


def test_the_address_of_the_document_is_not_used_without_consent() -> None:
    result, requests = call("get_leave_balance", {"number": "104217"}, PAYROLL_INTERNAL_BASE_URL="")
    assert "To permit it, set PAYROLL_INTERNAL_BASE_URL" in result["content"][0]["text"]
    assert not requests


@pytest.mark.parametrize("missing", [*CERTIFICATE, "PAYROLL_INTERNAL_DEPARTMENT"])
def test_nothing_is_sent_without_a_certificate_or_a_department(missing: str) -> None:
    result, requests = call("get_leave_balance", {"number": "104217"}, **{missing: ""})
    assert result["isError"] is True
    assert not requests

"""Tests of overrides: a maximum for payments, balanced entries, and masked account numbers."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from mcpgen.runtime.package import ServerPackage
from mcpgen.testing import Client, MockUpstream, Reply

from ledger_mcp.handlers.masks import mask_iban

UPSTREAM = Path(__file__).parent / "generated" / "upstream.json"
SETTINGS = {"LEDGER_API_KEY": "key-of-the-mock"}
ACCEPT = {"action": "accept", "content": {}}
IBAN, MASKED = "DE02120300000000202051", "DE" + "*" * 16 + "2051"
ACCOUNT = {
    "id": "acc_9",
    "name": "Current account",
    "iban": IBAN,
    "currency": "EUR",
    "balance": "8211.07",
}


def call(
    tool: str, arguments: dict[str, Any], answer: Any = None, user: Any = ACCEPT, **settings: str
) -> tuple[dict[str, Any], MockUpstream, list[Any]]:
    """Call a tool in memory; return its result, the mock API, and what the user was asked."""
    upstream = MockUpstream(json.loads(UPSTREAM.read_bytes()))
    asked: list[Any] = []
    if answer is not None:
        upstream.reply_with(Reply.from_json({"body": answer}))

    def reply(question: Any) -> Any:
        asked.append(question)
        return user

    async def run() -> dict[str, Any]:
        package = ServerPackage.load("ledger_mcp")
        async with Client.in_memory(
            package,
            {**SETTINGS, **settings},
            send=upstream.send,
            answers={"elicitation/create": reply},
        ) as client:
            return await client.call_tool(tool, arguments)

    return asyncio.run(run()), upstream, asked


def pay(amount: str, user: Any = ACCEPT, **settings: str) -> tuple[Any, MockUpstream, list[Any]]:
    payment = {
        "account_id": "acc_9",
        "beneficiary_id": "ben_31",
        "amount": amount,
        "currency": "EUR",
        "purpose": "Invoice 2028-117",
    }
    return call("order_payment", payment, user=user, **settings)


@pytest.mark.parametrize("amount", ["0.01", "1999.99", "2000.00"])
def test_a_payment_up_to_the_ceiling_is_ordered_with_it(amount: str) -> None:
    result, upstream, asked = pay(amount)
    assert not result.get("isError"), result
    [request] = upstream.requests
    sent = json.loads(request.body)
    assert (sent["amount"], sent["ceiling"]) == (amount, "2000.00")
    assert {name.lower() for name, _ in request.headers} >= {"idempotency-key"}
    assert len(asked) == 1


def test_a_payment_above_the_ceiling_is_not_sent() -> None:
    result, upstream, _ = pay("2000.01")
    assert result["isError"] is True
    assert "do not split it" in result["content"][0]["text"]
    assert not upstream.requests


@pytest.mark.parametrize(("amount", "sent"), [("50.00", 1), ("50.01", 0)])
def test_the_operator_sets_the_ceiling(amount: str, sent: int) -> None:
    _, upstream, _ = pay(amount, LEDGER_PAYMENT_CEILING="50.00")
    assert len(upstream.requests) == sent


@pytest.mark.parametrize("amount", ["1240.5", "1,240.50", "-5.00", "0.00"])
def test_what_is_no_amount_is_refused(amount: str) -> None:
    result, upstream, _ = pay(amount)
    assert result["isError"] is True
    assert not upstream.requests


def test_a_payment_that_the_user_declines_is_not_sent() -> None:
    _, upstream, asked = pay("10.00", user={"action": "decline"})
    assert len(asked) == 1
    assert not upstream.requests


def enter(*entries: tuple[str, str, str, str], **more: str) -> tuple[dict[str, Any], MockUpstream]:
    names = ("account", "side", "amount", "currency")
    body = {"day": "2028-02-29", "text": "Rent", **more}
    lines = [dict(zip(names, entry, strict=True)) for entry in entries]
    result, upstream, _ = call("enter_transaction", {**body, "entries": lines})
    return result, upstream


RENT = ("6310", "debit", "0.30", "EUR")


def test_equal_sides_are_entered_as_a_draft() -> None:
    result, upstream = enter(
        RENT, ("1800", "credit", "0.10", "EUR"), ("1810", "credit", "0.20", "EUR")
    )
    assert not result.get("isError"), result
    assert json.loads(upstream.requests[0].body)["state"] == "draft"


def test_a_transaction_is_posted_if_that_is_asked_for() -> None:
    _, upstream = enter(RENT, ("1800", "credit", "0.30", "EUR"), state="posted")
    assert json.loads(upstream.requests[0].body)["state"] == "posted"


@pytest.mark.parametrize(
    ("entry", "text"),
    [
        (("1800", "credit", "0.29", "EUR"), "debits are 0.01 EUR more"),
        (("1800", "credit", "0.35", "EUR"), "credits are 0.05 EUR more"),
        (("1800", "credit", "0.30", "CHF"), "debits are 0.30 EUR more"),
        (("1800", "debit", "0.30", "EUR"), "debits are 0.60 EUR more"),
    ],
)
def test_sides_that_differ_are_not_entered(entry: tuple[str, str, str, str], text: str) -> None:
    result, upstream = enter(RENT, entry)
    assert result["isError"] is True
    assert text in result["content"][0]["text"]
    assert not upstream.requests


def test_numbers_of_accounts_are_masked() -> None:
    one, _, _ = call("get_account", {"account_id": "acc_9"}, ACCOUNT)
    assert one["structuredContent"]["iban"] == MASKED
    many, _, _ = call("list_accounts", {}, {"accounts": [ACCOUNT, ACCOUNT]})
    assert [it["iban"] for it in many["structuredContent"]["accounts"]] == [MASKED] * 2
    others = {"beneficiaries": [{"id": "ben_31", "name": "Hafen Immobilien", "iban": IBAN}]}
    found, _, _ = call("list_beneficiaries", {"q": "Hafen"}, others)
    assert [it["iban"] for it in found["structuredContent"]["beneficiaries"]] == [MASKED]
    for result in (one, many, found):
        assert IBAN not in json.dumps(result)


@pytest.mark.parametrize(
    ("iban", "masked"),
    [("DE02 1203 0000 0000 2020 51", MASKED), ("DE12345678", "DE****5678"), ("DE1234567", "*" * 9)],
)
def test_short_numbers_are_hidden(iban: str, masked: str) -> None:
    assert mask_iban(iban) == masked


def test_a_statement_comes_as_csv() -> None:
    result, upstream, _ = call("export_statement", {"account_id": "acc_9", "month": "2028-02"})
    assert upstream.requests[0].url.endswith("/accounts/acc_9/statements/2028-02")
    assert result["content"][0]["text"].startswith("day;amount;currency;balance;")

"""Tests of an internal API with servers per operation and `<PREFIX>ALLOW_PRIVATE=1`."""

from __future__ import annotations

import pytest

from mcpgen.runtime.errors import ConfigurationError
from mcpgen.runtime.upstream.request.rules import RequestRules

ORDERS = RequestRules("GET", "/orders", servers=({"url": "http://10.0.0.7:8080/orders/v1"},))
STOCK = RequestRules("GET", "/stock", servers=({"url": "http://stock.internal/v2"},))


@pytest.fixture(autouse=True)
def main_server_is_private(contract) -> None:
    contract["servers"] = [{"url": "http://192.168.0.1/main"}]


def test_each_operation_reaches_its_own_server(make_client, upstream, run) -> None:
    client = make_client({"PETSTORE_ALLOW_PRIVATE": "1"})
    for rules in (ORDERS, STOCK, RequestRules("GET", "/pets")):
        run(client.bind("t", rules).request("GET", rules.path, returns=dict))
    assert [request.url for request in upstream.requests] == [
        "http://10.0.0.7:8080/orders/v1/orders",
        "http://stock.internal/v2/stock",
        "http://192.168.0.1/main/pets",
    ]
    assert {request.private_addresses_setting for request in upstream.requests} == {""}


def test_without_the_setting_no_private_address_is_reached(make_client, upstream, run) -> None:
    with pytest.raises(ConfigurationError, match="PETSTORE_ALLOW_PRIVATE=1"):
        run(make_client().bind("t", ORDERS).request("GET", "/orders", returns=dict))
    run(make_client().bind("t", STOCK).request("GET", "/stock", returns=dict))
    (request,) = upstream.requests  # a name, whose addresses are checked when it is resolved
    assert "PETSTORE_ALLOW_PRIVATE=1" in request.private_addresses_setting

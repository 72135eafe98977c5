"""Tests of the client certificate of a server that is started with a mock API."""

from __future__ import annotations

import ssl
from pathlib import Path

from mcpgen.factory.packages import GeneratedPackage
from mcpgen.runtime.upstream.http.connecting import load_client_certificate

PARTS = ("certificate_file", "key_file")


def test_a_mock_environment_has_a_certificate_that_a_server_can_load() -> None:
    variables = [{"name": f"SHOP_{part.upper()}", "scheme": "tls", "part": part} for part in PARTS]
    contract = {"env_prefix": "SHOP_", "environment": variables}
    package = GeneratedPackage(Path(), "shop_mcp", contract)

    found = package.mock_environment("http://127.0.0.1:9", environ={})
    certificate, key = found["SHOP_CERTIFICATE_FILE"], found["SHOP_KEY_FILE"]

    load_client_certificate(ssl.create_default_context(), certificate, key)  # raises otherwise
    own = {"SHOP_CERTIFICATE_FILE": "own.pem", "SHOP_KEY_FILE": "own.key"}
    assert not own.keys() & package.mock_environment("http://127.0.0.1:9", environ=own).keys()

"""Credentials of callers (`from: header`, `exchange`, `user`), taken from settings instead.

Nobody has an account at a mock API, so tests and commands that use one supply placeholders.
`python -m mcpgen.testing.callers_credentials PACKAGE [OPTION…]` starts the server of a package so.
"""

from __future__ import annotations

import sys

from mcpgen.contract.needs import sufficient_parts
from mcpgen.runtime.content import JsonObject
from mcpgen.runtime.serving import serve


def take_from_settings(contract: JsonObject) -> None:
    """Change a contract so that the credentials of callers come from settings."""
    contract["environment"] = [
        *contract.get("environment", ()),
        *list_substitute_settings(contract),
    ]
    contract.pop("credentials", None)


def list_substitute_settings(contract: JsonObject) -> list[JsonObject]:
    """Return the settings that replace the credentials of callers, as the contract has others."""
    settings: list[JsonObject] = []
    for number, scheme in enumerate(contract.get("credentials", ())):
        ways = sufficient_parts(contract["security_schemes"][scheme])
        settings += [
            {
                "name": f"{contract['env_prefix']}CALLER_{number}_{part.upper()}",
                "scheme": scheme,
                "part": part,
                "secret": True,
            }
            for part in (("access_token",) if ("access_token",) in ways else ways[0])
        ]
    return settings


if __name__ == "__main__":
    sys.exit(serve(sys.argv[1], sys.argv[2:], adapt_contract=take_from_settings))

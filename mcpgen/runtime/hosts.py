"""Hosts that are nobody's business but the operator's."""

from __future__ import annotations

import ipaddress


def is_private(host: str) -> bool:
    """Whether `host` is spelled as this machine, or as an address that is not public."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return not ipaddress.ip_address(host).is_global
    except ValueError:
        return False

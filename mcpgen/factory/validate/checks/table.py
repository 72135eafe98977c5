"""The check of each requirement, by its id."""

from __future__ import annotations

from collections.abc import Mapping

from mcpgen.factory.validate.checks import auth, http, lifecycle, stdio
from mcpgen.factory.validate.checks.kinds import ActiveCheck, PassiveCheck

_MODULES = (lifecycle, stdio, http, auth)

ACTIVE: Mapping[str, ActiveCheck] = {
    requirement: check for module in _MODULES for requirement, check in module.ACTIVE.items()
}
PASSIVE: Mapping[str, PassiveCheck] = {
    requirement: check for module in _MODULES for requirement, check in module.PASSIVE.items()
}

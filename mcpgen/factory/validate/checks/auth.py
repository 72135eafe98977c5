"""Checks of authorization over HTTP."""

from __future__ import annotations

from collections.abc import Mapping

from mcpgen.factory.validate.checks.kinds import ActiveCheck, PassiveCheck

ACTIVE: Mapping[str, ActiveCheck] = {}
PASSIVE: Mapping[str, PassiveCheck] = {}

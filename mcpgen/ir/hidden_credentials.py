"""Credentials that an API needs and its document does not declare as a security scheme."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from mcpgen.diagnostics import Place
from mcpgen.ir.json_types import JsonObject


class HiddenCredential(Struct, frozen=True):
    """One credential, the tools that need it, and the entries of the manifest that supply it."""

    code: str  # of the finding: "no-credentials", "credential-header" or "secret-argument"
    subject: str  # "the query parameter `api_key`"; "" where no parameter carries the credential
    tools: tuple[str, ...]  # by name
    is_certain: bool  # whether the document leaves no doubt
    at: Place | None = None
    is_argument: bool = False  # whether the model has to supply it today
    schemes: Mapping[str, JsonObject] = field(default_factory=dict)  # `sources[].security_schemes`
    security: tuple[Mapping[str, tuple[str, ...]], ...] = ()  # `sources[].security`
    parameters: Mapping[str, Mapping[str, JsonObject]] = field(default_factory=dict)
    """Entries of `operations.KEY.parameters`, by operation and argument."""

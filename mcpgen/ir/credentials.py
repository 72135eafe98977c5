"""Types: credentials that a document hides, and other origins that would receive credentials."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from mcpgen.diagnostics import Place
from mcpgen.jsonschema.types import JsonObject


class HiddenCredential(Struct, frozen=True):
    """One credential, the tools that need it, and the manifest entries that supply it."""

    code: str  # diagnostic code: "no-credentials", "credential-header" or "secret-argument"
    subject: str  # "the query parameter `api_key`"; "" if no parameter carries the credential
    tools: tuple[str, ...]  # sorted names
    is_certain: bool  # the document leaves no doubt
    at: Place | None = None
    schemes: Mapping[str, JsonObject] = field(default_factory=dict)  # `sources[].security_schemes`
    security: tuple[Mapping[str, tuple[str, ...]], ...] = ()  # `sources[].security`
    parameters: Mapping[str, Mapping[str, JsonObject]] = field(default_factory=dict)
    """Entries of `operations.KEY.parameters`, by operation and argument."""

    @property
    def is_denied(self) -> bool:
        """Whether the manifest states that the API needs no credential."""
        return self.is_certain and not (self.schemes or self.security or self.parameters)

    @property
    def sentence(self) -> str:
        """A sentence on what the document declares, and the consequence."""
        number = len(self.tools)
        tools = f"{number:,} tool{'' if number == 1 else 's'}"
        if self.code == "credential-header":
            return (
                f"The document declares {self.subject} for {tools} as a parameter, which only a"
                " security scheme can set."
            )
        if self.code == "secret-argument":
            return (
                f"The document declares {self.subject} of {tools}, a credential, as a parameter,"
                " so that the model would supply it."
            )
        if self.schemes:
            return (
                "The document declares no security scheme, and its texts or responses mention"
                " authentication."
            )
        return "The document declares security schemes, and no operation uses them."


class CredentialDestination(Struct, frozen=True):
    """An origin in the document that would receive credentials."""

    origin: str  # "https://auth.example.com"; `{region}` stands for a server variable
    source: str  # `ApiSource.name`
    tools: tuple[str, ...]  # names of the tools whose credentials it would receive
    at: Place
    scheme: str = ""  # the scheme whose tokens are requested there; "": requests of the tools
    is_confirmed: bool = False

    @property
    def subject_phrase(self) -> str:
        """The requests that go to the origin, as the subject of a sentence."""
        number = len(self.tools)
        tools = f"{number:,} tool{'' if number == 1 else 's'}"
        if self.scheme:
            return f"Token requests of the security scheme `{self.scheme}`, for {tools},"
        return f"Requests of {tools}"

"""Other origins than the API's main server to which requests with credentials would go."""

from __future__ import annotations

from msgspec import Struct

from mcpgen.diagnostics import Place


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

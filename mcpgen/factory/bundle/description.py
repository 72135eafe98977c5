"""The description of a server that all bundles are built from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

from msgspec import Struct

from mcpgen.jsonschema.types import JsonObject

Kind: TypeAlias = Literal["string", "number", "boolean", "file"]


class Setting(Struct, frozen=True, kw_only=True):
    """A setting of the server: an environment variable."""

    name: str  # of the variable: "BOOKSHOP_SHOP_KEY"
    title: str  # "Shop key"
    description: str
    kind: Kind
    is_required: bool = False
    is_secret: bool = False
    default: str | float | bool = ""  # "": none, and the variable may be empty
    minimum: float | None = None
    maximum: float | None = None
    example: str = ""

    @property
    def key(self) -> str:
        """Key in formats that require lower case: "bookshop_shop_key"."""
        return self.name.lower()


class Tool(Struct, frozen=True):
    """A tool that clients list."""

    name: str
    description: str
    input_schema: JsonObject


class BundleDescription(Struct, frozen=True, kw_only=True):
    """Contents of the bundles of a server.

    `files` are the files of its Python project and `skills` the files of its skills, by path in
    the bundle: "src/bookshop_mcp/__main__.py", "skills/bookshop/SKILL.md".
    """

    name: str  # in clients: "bookshop"
    distribution: str  # of its Python project, and its command: "bookshop-mcp"
    package: str  # "bookshop_mcp"
    version: str
    title: str
    summary: str  # at most 100 characters
    description: str
    author: str
    author_email: str = ""
    license: str = ""
    homepage: str = ""
    repository: str = ""
    requires_python: str = ""  # ">=3.11,<4"
    keywords: Sequence[str] = ()
    public_url: str = ""  # of a deployed server; "" for none
    source_commit: str = ""  # of `repository`; "" if it is not stated
    settings: Sequence[Setting] = ()
    tools: Sequence[Tool] = ()
    has_unknown_tools: bool = False  # hand-written tools, or tools that a setting adds to the list
    has_prompts: bool = False
    files: Mapping[str, bytes] = {}
    skills: Mapping[str, bytes] = {}
    registry_entry: JsonObject = {}  # the project's own `server.json`

    @property
    def environment(self) -> dict[str, str]:
        """The environment variables with references to a client's settings: `${user_config.…}`."""
        return {it.name: f"${{user_config.{it.key}}}" for it in self.settings}

    def uv_arguments(self, root: str) -> list[str]:
        """Return the arguments with which `uv` starts the server from its files in `root`."""
        has_wheels = any(path.startswith("vendor/") for path in self.files)
        wheels = ["--find-links", f"{root}/vendor"] if has_wheels else []
        return ["run", "--directory", root, *wheels, self.distribution]


class Bundle(Struct, frozen=True):
    """One bundle: its path below the output folder, and its content, or its files by path."""

    format: str
    path: str
    content: bytes | Mapping[str, bytes]

"""Skills in memory, for tests of the runtime that serves them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from mcpgen.contract.skills import describe_content, make_uri
from mcpgen.runtime.errors import ConfigurationError
from mcpgen.runtime.protocol.prepared_list import PreparedList
from mcpgen.runtime.protocol.server_definition import ServerDefinition
from mcpgen.runtime.skills.files import SkillFiles
from tests.support.protocol_client import definition

SKILL = b'---\nname: "pets"\ndescription: "Care for pets."\n---\n\n# Pets\n'
TREE = {
    "pets/SKILL.md": SKILL,
    "pets/references/food.md": b"# Food\n",
    "pets/references/more/dogs.json": b"{}\n",
    "pets/picture.png": b"\x89PNG\xff",
    "shop/SKILL.md": b'---\nname: "shop"\ndescription: "Sell pets."\n---\n\n# Shop\n',
}
FRONTMATTER = {
    "pets": {"name": "pets", "description": "Care for pets."},
    "shop": {"name": "shop", "description": "Sell pets."},
}


def make_package(tree: Mapping[str, bytes] = TREE) -> dict[str, bytes]:
    """Return the files of a package with generated skills, by path."""
    entries: list[dict[str, Any]] = [
        {
            "uri": make_uri(f"{name}/SKILL.md"),
            "frontmatter": FRONTMATTER[name],
            "resources": [
                describe_content(path, data)
                for path, data in tree.items()
                if path.startswith(f"{name}/")
            ],
        }
        for name in FRONTMATTER
    ]
    files = {f"_generated/skills/{path}": data for path, data in tree.items()}
    return {**files, "_generated/skills.json": json.dumps(entries).encode()}


def open_files(package: Mapping[str, bytes], own_folder: str = "") -> SkillFiles:
    """Open the skills of a package in memory."""

    def read(path: str) -> bytes:
        if path not in package:
            raise ConfigurationError(f"`{path}` of `pets_mcp` is missing")
        return package[path]

    has_generated = "_generated/skills.json" in package
    return SkillFiles(read, has_generated=has_generated, own_folder=own_folder)


def serve(package: Mapping[str, bytes], **changes: Any) -> ServerDefinition:
    """Return the definition of a server with the skills of a package."""
    files = open_files(package)
    listing = PreparedList("skills", files.list_entries, page_size=changes.pop("page_size", 100))
    return definition(skills=listing, open_skill_files=lambda: files, **changes)

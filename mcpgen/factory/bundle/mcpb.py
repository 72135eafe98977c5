"""MCPB: an archive that desktop clients install (manifest 0.4 of modelcontextprotocol/mcpb)."""

from __future__ import annotations

import re

from mcpgen.factory.bundle.description import Bundle, BundleDescription
from mcpgen.factory.bundle.json_file import encode_file, omit_empty
from mcpgen.factory.bundle.user_config import make_user_config
from mcpgen.ir.archive import make_archive
from mcpgen.jsonschema.types import JsonObject

_COMPARISON = re.compile(r"(?:>=|<=|>|<)\s*\d+(?:\.\d+)*")


def build_mcpb(description: BundleDescription) -> Bundle:
    """Return the archive: the manifest, then the files of the Python project by path."""
    manifest = encode_file(_make_manifest(description))
    files = {"manifest.json": manifest, **dict(sorted(description.files.items()))}
    name = f"{description.distribution}-{description.version}.mcpb"
    return Bundle("mcpb", name, make_archive(files))


def _make_manifest(description: BundleDescription) -> JsonObject:
    repository = description.repository
    python = _convert_python_range(description.requires_python)
    return omit_empty(
        {
            "manifest_version": "0.4",
            "name": description.distribution,
            "display_name": description.title,
            "version": description.version,
            "description": description.summary,
            "long_description": description.description,
            "author": omit_empty({"name": description.author, "email": description.author_email}),
            "repository": {"type": "git", "url": repository} if repository else None,
            "homepage": description.homepage,
            "license": description.license,
            "keywords": [*description.keywords],
            "server": {
                "type": "uv",
                "entry_point": f"src/{description.package}/__main__.py",
                "mcp_config": omit_empty(
                    {
                        "command": "uv",
                        "args": description.uv_arguments("${__dirname}"),
                        "env": description.environment,
                    }
                ),
            },
            "tools": [{"name": it.name, "description": it.description} for it in description.tools],
            "tools_generated": description.has_unknown_tools,
            "prompts_generated": True if description.has_prompts else None,
            "compatibility": omit_empty(
                {
                    "platforms": ["darwin", "linux", "win32"],
                    "runtimes": {"python": python} if python else None,
                }
            ),
            "user_config": make_user_config(description),
        }
    )


def _convert_python_range(requires: str) -> str:
    """Return a range of PEP 440 in the form of npm's semver; "" if it cannot be expressed."""
    parts = [part.strip() for part in requires.split(",") if part.strip()]
    return " ".join(parts) if all(map(_COMPARISON.fullmatch, parts)) else ""

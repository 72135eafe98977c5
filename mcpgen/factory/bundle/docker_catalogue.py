"""Docker's catalogue of MCP servers: an entry of `servers/` in docker/mcp-registry."""

from __future__ import annotations

import re
from typing import Any

import yaml

from mcpgen.factory.bundle.description import Bundle, BundleDescription, Setting
from mcpgen.factory.bundle.json_file import encode_file, omit_empty
from mcpgen.jsonschema.types import JsonObject, JsonValue

_NOT_IN_TITLES = re.compile(r"\b(?:MCP|Server)\b")
_TYPES = {"file": "string"}  # of a setting's kind in JSON Schema


class _Dumper(yaml.SafeDumper):
    """Writes YAML as Prettier formats it, which the catalogue checks."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002 - lists are always indented
        super().increase_indent(flow, False)

    def choose_scalar_style(self) -> Any:
        style = super().choose_scalar_style()
        value = self.event.value if isinstance(self.event, yaml.ScalarEvent) else ""
        if style != "'":
            return style
        return "'" if value.count('"') > value.count("'") else '"'


def build_docker_catalogue(description: BundleDescription) -> Bundle:
    """Return the folder: `server.yaml` and `tools.json`, by which no server needs to be started."""
    files = {
        "server.yaml": _encode_yaml(_make_entry(description)),
        "tools.json": encode_file(
            [
                {
                    "name": tool.name,
                    "description": tool.description,
                    "arguments": _list_arguments(tool.input_schema),
                }
                for tool in description.tools
            ]
        ),
    }
    return Bundle("docker", f"docker/{description.distribution}", files)


def _make_entry(description: BundleDescription) -> JsonObject:
    name = description.distribution
    source = {"project": description.repository, "commit": description.source_commit}
    return omit_empty(
        {
            "name": name,
            "image": f"mcp/{name}",
            "type": "server",
            "meta": {"tags": [*description.keywords] or [description.name]},
            "about": {
                "title": _make_title(description.title) or description.name.capitalize(),
                "description": description.summary,
            },
            "source": omit_empty(source) if description.repository else None,
            "config": _make_config(description),
        }
    )


def _make_title(title: str) -> str:
    """Return a title in the catalogue's form: capitalized words, without "MCP" and "Server"."""
    words = _NOT_IN_TITLES.sub("", title).split()
    return " ".join(
        word if word in ("and", "for") else word[0].upper() + word[1:] for word in words
    )


def _make_config(description: BundleDescription) -> JsonObject:
    # Paths are those of the container, in which the user has no files.
    settings = [it for it in description.settings if it.kind != "file"]
    plain = [it for it in settings if not it.is_secret]
    name = description.distribution
    config = omit_empty(
        {
            "secrets": [
                omit_empty(
                    {
                        "name": f"{name}.{it.key}",
                        "env": it.name,
                        "example": f"<{it.name}>",
                        "description": it.description,
                        "required": it.is_required,
                    }
                )
                for it in settings
                if it.is_secret
            ],
            "env": [
                omit_empty(
                    {
                        "name": it.name,
                        "example": it.example or _write_value(it.default),
                        "value": f"{{{{{name}.{it.key}}}}}",
                    }
                )
                for it in plain
            ],
            "parameters": _make_parameters(plain) if plain else None,
        }
    )
    return {"description": f"Settings of {description.title}", **config} if config else {}


def _make_parameters(settings: list[Setting]) -> JsonObject:
    properties = {
        it.key: omit_empty(
            {
                "type": _TYPES.get(it.kind, it.kind),
                "description": it.description,
                "default": it.default,
            }
        )
        for it in settings
    }
    required = [it.key for it in settings if it.is_required]
    return omit_empty({"type": "object", "properties": properties, "required": required})


def _write_value(value: str | float | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _list_arguments(schema: JsonObject) -> list[JsonObject]:
    properties: JsonValue = schema.get("properties", {})
    return [
        {
            "name": name,
            "type": _find_type(value),
            "desc": _find_text(value) or name.replace("_", " ").capitalize(),
        }
        for name, value in properties.items()
    ]


def _find_text(schema: JsonValue) -> str:
    found = schema.get("description") or schema.get("title") if isinstance(schema, dict) else ""
    return found if isinstance(found, str) else ""


def _find_type(schema: JsonValue) -> str:
    """Return the type of an argument; of several, the first that is not null."""
    if not isinstance(schema, dict):
        return "object"
    stated = schema.get("type", ())
    names = [stated] if isinstance(stated, str) else list(stated)
    for keyword in ("anyOf", "oneOf"):
        names += [_find_type(branch) for branch in schema.get(keyword, ())]
    return next((name for name in names if name != "null"), "object")


def _encode_yaml(value: JsonObject) -> bytes:
    text = yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=float("inf"))
    return str(text).encode()

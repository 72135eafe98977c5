"""Prompts of the vendor extension `x-mcp-prompts` at the root of a document.

Each has a name, a description, arguments and messages, in whose text `{{name}}` stands for an
argument (Mustache). Prompts and arguments are a list, or an object by name. Some have `resolve` in
place of messages: a path of the API that renders them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from mcpgen.diagnostics import Problems
from mcpgen.ir.api import ExtensionPrompt
from mcpgen.ir.tool_plan import DeclaredPlan
from mcpgen.jsonschema.types import JsonObject, JsonValue

_NAME = re.compile(r"[A-Za-z0-9_.\-]{1,64}\Z")
_TAG = re.compile(r"\{\{\{?\s*(\S*?)\s*\}?\}\}")
_BRACED = re.compile(r"\{(\w+)\}")


class _Message(msgspec.Struct):
    role: str
    content: str


class _CannotFollowError(Exception):
    """An unsupported part of a prompt."""


def plan_extension_prompts(
    wanted: Iterable[ExtensionPrompt], problems: Problems
) -> tuple[DeclaredPlan, ...]:
    """Return the prompts of a document, by name; report unsupported parts."""
    found: dict[str, DeclaredPlan] = {}
    for prompt in wanted:
        try:
            found.setdefault(prompt.name, _plan_prompt(prompt))
        except _CannotFollowError as error:
            problems.note(
                "peer-extension",
                f"the prompt `{prompt.name}` of `x-mcp-prompts` is not followed: {error}",
                at=prompt.at,
                why="it is meant for generators of MCP servers, and mcpgen knows another form",
                help="write it under `prompts` of mcpgen.yaml",
            )
        else:
            problems.note(
                "peer-extension",
                f"the prompt `{prompt.name}` of `x-mcp-prompts` is followed",
                at=prompt.at,
                why="it is meant for generators of MCP servers",
                help="an entry in `prompts` of mcpgen.yaml wins over it",
            )
    return tuple(found[name] for name in sorted(found))


def _plan_prompt(prompt: ExtensionPrompt) -> DeclaredPlan:
    stated = prompt.stated
    if not _NAME.match(prompt.name):
        raise _CannotFollowError("its name is not up to 64 letters, digits, `_`, `.` and `-`")
    if "resolve" in stated:
        raise _CannotFollowError("its messages come from the API (`resolve`)")
    try:
        messages = msgspec.convert(stated.get("messages"), list[_Message])
    except msgspec.ValidationError as error:
        raise _CannotFollowError(f"`messages`: {error}") from None
    arguments = _read_arguments(stated.get("arguments"))
    names = {argument["name"] for argument in arguments}
    texts = [
        {"role": _check_role(each.role), "text": _convert_placeholders(each.content, names)}
        for each in messages
    ]
    if not texts:
        raise _CannotFollowError("it has no messages")
    listing: JsonObject = {"name": prompt.name}
    description = stated.get("description")
    if isinstance(description, str) and description.strip():
        listing["description"] = description.strip()
    if arguments:
        listing["arguments"] = arguments
    return DeclaredPlan(listing, {"messages": texts})


def _check_role(role: str) -> str:
    if role.lower() not in ("user", "assistant"):
        raise _CannotFollowError(f"the role `{role}` is not MCP's")
    return role.lower()


def _read_arguments(stated: JsonValue) -> list[JsonObject]:
    """Return the arguments in the form of MCP, from a list or from an object by name."""
    if isinstance(stated, dict):
        stated = [
            {"name": name, **(about if isinstance(about, dict) else {})}
            for name, about in stated.items()
        ]
    found: list[JsonObject] = []
    for about in stated if isinstance(stated, list) else ():
        name = about.get("name") if isinstance(about, dict) else None
        if not isinstance(name, str) or not name.isidentifier():
            raise _CannotFollowError("an argument has no name that is an identifier")
        argument: JsonObject = {"name": name}
        if isinstance(about.get("description"), str) and about["description"].strip():
            argument["description"] = about["description"].strip()
        found.append(argument | {"required": about.get("required") is True})
    return found


def _convert_placeholders(text: str, arguments: set[str]) -> str:
    """Convert the variables of a Mustache text to placeholders: `{{name}}` to `{name}`."""
    found, at = "", 0
    for tag in _TAG.finditer(text):
        if tag[1] not in arguments:
            raise _CannotFollowError(f"`{tag[0]}` stands for no argument")
        found += _BRACED.sub(r"{{\1}}", text[at : tag.start()]) + f"{{{tag[1]}}}"
        at = tag.end()
    return found + _BRACED.sub(r"{{\1}}", text[at:])

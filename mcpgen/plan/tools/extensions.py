"""Vendor extensions for other generators of MCP servers, which mcpgen supports in part.

They may rename, describe or hide a tool, and mark it as more dangerous than its method implies.
Only the manifest can mark it as harmless, and the manifest always takes precedence.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from mcpgen.diagnostics import Problems
from mcpgen.ir.api import VENDOR_EXTENSIONS, ExtensionPrompt, Operation, VendorExtensions
from mcpgen.ir.manifest_entries import AnnotationsEntry, OperationEntry
from mcpgen.ir.tool_plan import DeclaredPlan
from mcpgen.jsonschema.types import JsonObject, JsonValue

_SWITCHES = ("x-mcp", "x-enable-mcp-operation")
_OBJECTS = ("x-mcp", "x-speakeasy-mcp", "x-gram")
_SCOPED = "x-speakeasy-mcp"
_ANNOTATIONS = "x-mcp-annotations"
_PROMPTS = "x-mcp-prompts"
_TEXTS = ("name", "title", "description")
_CAUTIOUS: Mapping[str, tuple[str, bool]] = {  # the values that a document may state
    "readOnlyHint": ("read_only", False),
    "destructiveHint": ("destructive", True),
    "idempotentHint": ("idempotent", False),
    "openWorldHint": ("open_world", True),
}
_FOLLOWED = frozenset(
    {
        *_TEXTS, *_CAUTIOUS, *(f"{member}_hint" for member, _ in _CAUTIOUS.values()),
        "annotations", "disabled", "enabled", "skip",
    }
)  # fmt: skip
_INSTEAD = {
    "responseFilterType": "`result: {select: [...]}` of an operation in mcpgen.yaml says, for "
    "every call, what of its response is given back",
}
_SCOPE = re.compile(r"[A-Za-z0-9_.\-]+\Z")
_MAX_NAMED = 3


class ExtensionSettings(Struct):
    """The settings in the extensions of one operation; "" and None if not set."""

    name: str = ""
    title: str = ""
    description: str = ""
    is_hidden: bool = False
    annotations: AnnotationsEntry | None = None
    read: set[str] = field(default_factory=set)  # the extensions that asked for something
    refused: tuple[str, ...] = ()  # hints that would make it look harmless


def _read_settings(operation: Operation) -> ExtensionSettings:
    """Read the extensions of an operation; the closest switch decides whether it is hidden."""
    found = ExtensionSettings()
    for stated in (operation.extensions, *(outer.stated for outer in operation.outer_extensions)):
        switches = {
            key: is_on
            for key in VENDOR_EXTENSIONS
            if (is_on := _read_switch(key, stated)) is not None
        }
        if switches:  # the closest one decides
            found.is_hidden = not all(switches.values())
            found.read |= {key for key, is_on in switches.items() if not is_on}
            break
    for key in _OBJECTS:
        about = operation.extensions.get(key)
        if isinstance(about, dict):
            _read_object(key, about, found)
    hints = operation.extensions.get(_ANNOTATIONS)
    if isinstance(hints, dict):
        _read_hints(_ANNOTATIONS, hints, found)
    return found


def list_scopes(operation: Operation) -> tuple[str, ...]:
    """Return the scopes that `x-speakeasy-mcp` puts an operation into, such as `read`."""
    about = operation.extensions.get(_SCOPED)
    if not isinstance(about, dict) or not _are_scopes(about.get("scopes")):
        return ()
    return tuple(about["scopes"])


def _are_scopes(stated: JsonValue) -> bool:
    return isinstance(stated, list) and all(
        isinstance(scope, str) and _SCOPE.match(scope) for scope in stated
    )


def _read_switch(key: str, extensions: Mapping[str, JsonValue]) -> bool | None:
    """Return whether an extension enables a tool; None if it does not state that."""
    stated = extensions.get(key)
    if key in _SWITCHES and isinstance(stated, bool):
        return stated
    if key not in _OBJECTS or not isinstance(stated, dict):
        return None
    flags = [not stated[off] for off in ("disabled", "skip") if isinstance(stated.get(off), bool)]
    flags += [stated["enabled"]] if isinstance(stated.get("enabled"), bool) else []
    return all(flags) if flags else None


def _read_object(key: str, stated: JsonObject, found: ExtensionSettings) -> None:
    for member in _TEXTS:
        text = stated.get(member)
        if isinstance(text, str) and text.strip() and not getattr(found, member):
            setattr(found, member, text.strip())
            found.read.add(key)
    _read_hints(key, stated, found)
    annotations = stated.get("annotations")
    if isinstance(annotations, dict):
        _read_hints(key, annotations, found)


def _read_hints(key: str, stated: JsonObject, found: ExtensionSettings) -> None:
    hints: dict[str, bool] = {}
    for name, (member, cautious) in _CAUTIOUS.items():
        value: JsonValue = stated.get(name, stated.get(f"{member}_hint"))
        if not isinstance(value, bool):
            continue
        if value is cautious:
            hints[member] = value
            found.read.add(key)
        else:
            found.refused += (f"{name}: {str(value).lower()}",)
    if hints:
        found.annotations = AnnotationsEntry(**hints)


def apply_extension_names(operations: Iterable[Operation]) -> tuple[Operation, ...]:
    """Return the operations with the tool names of their extensions."""
    return tuple(
        replace(operation, extension_name=_read_settings(operation).name)
        if not operation.extensions.keys().isdisjoint(_OBJECTS)
        else operation
        for operation in operations
    )


def apply_extensions(
    entries: Mapping[str, OperationEntry], operations: Sequence[Operation], problems: Problems
) -> dict[str, OperationEntry]:
    """Return the manifest's entries with missing settings from extensions."""
    merged = dict(entries)
    read: dict[str, list[Operation]] = {}
    refused: list[tuple[Operation, tuple[str, ...]]] = []
    for operation in operations:
        if not operation.extensions and not operation.outer_extensions:
            continue
        settings = _read_settings(operation)
        for key in settings.read:
            read.setdefault(key, []).append(operation)
        entry = entries.get(operation.key)
        if settings.read:
            merged[operation.key] = _merge_settings(entry, settings)
        is_stated = entry is not None and entry.annotations is not None
        if settings.refused and not is_stated:
            refused.append((operation, settings.refused))
    misplaced = [operation for operation in operations if _PROMPTS in operation.extensions]
    _report_followed(read, refused, misplaced, problems)
    _report_ignored(operations, problems)
    return merged


def _merge_settings(entry: OperationEntry | None, settings: ExtensionSettings) -> OperationEntry:
    if entry is None:
        entry = OperationEntry(expose="off" if settings.is_hidden else "tool")
    return replace(
        entry,
        title=entry.title or settings.title,
        description=entry.description or settings.description,
        annotations=entry.annotations or settings.annotations,
    )


def _report_followed(
    read: Mapping[str, list[Operation]],
    refused: list[tuple[Operation, tuple[str, ...]]],
    misplaced: list[Operation],
    problems: Problems,
) -> None:
    for key in sorted(read):
        operations = read[key]
        problems.note(
            "peer-extension",
            f"`{key}` is followed on {_format_operations(operations)}",
            at=operations[0].at,
            why="it is meant for generators of MCP servers",
            help="an entry in `operations` of mcpgen.yaml wins over it",
        )
    if misplaced:
        problems.note(
            "peer-extension",
            f"`{_PROMPTS}` is not followed on {_format_operations(misplaced)}",
            at=misplaced[0].at,
            why="its prompts stand at the root of a document, and belong to no operation",
            help="write it there, or `prompts` in mcpgen.yaml",
        )
    if refused:
        hints = sorted({hint for _, stated in refused for hint in stated})
        problems.note(
            "peer-annotations",
            f"{', '.join(hints)} is not taken from the document, on"
            f" {_format_operations([operation for operation, _ in refused])}",
            at=refused[0][0].at,
            why="clients ask less before a tool that looks harmless, so only you can say that",
            help="state it under `operations` of mcpgen.yaml, as `annotations`",
        )


def _report_ignored(operations: Sequence[Operation], problems: Problems) -> None:
    """Report the members of extensions that are not supported."""
    left: dict[tuple[str, str], list[Operation]] = {}
    holders: dict[tuple[str, str], VendorExtensions] = {}
    for operation in operations:
        holders |= {
            (operation.source, each.at.pointer): each for each in operation.outer_extensions
        }
        for key, member in _iterate_ignored(operation.extensions, _is_followed):
            left.setdefault((key, member), []).append(operation)
    for (key, member), found in sorted(left.items()):
        problems.note(
            "peer-extension",
            f"`{member}` of `{key}` is not followed on {_format_operations(found)}",
            at=found[0].at,
            why="it is meant for another generator of MCP servers",
            help=_INSTEAD.get(member, "where mcpgen has an equal, mcpgen.yaml can say it"),
        )
    for holder in holders.values():
        left_there = _iterate_ignored(holder.stated, _is_switch)
        if members := [f"`{member}` of `{key}`" for key, member in left_there]:
            problems.note(
                "peer-extension",
                f"{', '.join(members)} is not followed at {holder.holder}",
                at=holder.at,
                why="of what stands there, only whether there are tools is taken over",
                help="write it at the operations that it is about, or in mcpgen.yaml",
            )


def _iterate_ignored(
    extensions: Mapping[str, JsonValue], is_followed: Callable[[str, str, JsonValue], bool]
) -> Iterator[tuple[str, str]]:
    """Yield the members of extensions that are ignored."""
    for key in (*_OBJECTS, _ANNOTATIONS):
        stated = extensions.get(key)
        if isinstance(stated, dict):
            for member, value in stated.items():
                if not is_followed(key, member, value):
                    yield key, member


def _is_followed(key: str, member: str, value: JsonValue) -> bool:
    if member == "responseFilterType":
        return bool(value == "none")
    if (key, member) == (_SCOPED, "scopes"):
        return _are_scopes(value)
    return member in _FOLLOWED


def _is_switch(_: str, member: str, __: JsonValue) -> bool:
    return member in ("disabled", "enabled", "skip")


def _format_operations(operations: list[Operation]) -> str:
    named = ", ".join(f"`{operation.key}`" for operation in operations[:_MAX_NAMED])
    more = len(operations) - _MAX_NAMED
    return named + (f" and {more} more" if more > 0 else "")


_NAME = re.compile(r"[A-Za-z0-9_.\-]{1,64}\Z")
_TAG = re.compile(r"\{\{\{?\s*(\S*?)\s*\}?\}\}")
_BRACED = re.compile(r"\{(\w+)\}")


class _Message(msgspec.Struct):
    role: str
    content: str


class _CannotFollowError(Exception):
    """An unsupported part of a prompt."""


def plan_extension_prompts(
    prompts: Iterable[ExtensionPrompt], problems: Problems
) -> tuple[DeclaredPlan, ...]:
    """Return the prompts of a document, by name; report unsupported parts."""
    found: dict[str, DeclaredPlan] = {}
    for prompt in prompts:
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
            raise _CannotFollowError(f"`{tag[0]}` is not an argument")
        found += _BRACED.sub(r"{{\1}}", text[at : tag.start()]) + f"{{{tag[1]}}}"
        at = tag.end()
    return found + _BRACED.sub(r"{{\1}}", text[at:])

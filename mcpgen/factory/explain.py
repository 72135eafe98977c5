"""The settings of one tool, each with its value and its source (file and line)."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec import UNSET, Struct

from mcpgen.contract.flat_bodies import FlatBody
from mcpgen.contract.limits import DEFAULT_LIMITS
from mcpgen.diagnostics import Location, Problems, RejectedError
from mcpgen.ir.file_set import LOCK_FILE
from mcpgen.ir.limits import list_stated_limits
from mcpgen.ir.manifest import LocatedManifest
from mcpgen.ir.manifest_entries import KEY_METHODS
from mcpgen.ir.tool_plan import HINTS, Argument, ToolPlan
from mcpgen.jsonschema.types import JsonValue
from mcpgen.pipeline.build import plan_project
from mcpgen.pipeline.options import GenerateOptions, Progress
from mcpgen.pipeline.project.project_folder import find_lock
from mcpgen.pipeline.project.read_inputs import read_inputs, read_intent


class Setting(Struct, frozen=True):
    """One setting of a tool."""

    setting: str  # "timeout_seconds", "parameters.limit"
    value: JsonValue
    source: str  # "manifest", "document", "lock", "rule" or "default"
    at: Location | None = None
    entry: str = ""  # its key below `operations`
    rule: str = ""  # the id of the rule that decides the hint
    evidence: str = ""  # what of the operation the rule is about


class ExplainedTool(Struct, frozen=True):
    """A tool and all its settings."""

    name: str
    operation: str
    settings: tuple[Setting, ...]


def explain(
    target: Path, name: str, problems: Problems, progress: Progress
) -> ExplainedTool | tuple[str, ...]:
    """Plan the project in `target` and explain the settings of one of its tools.

    Return the names of all tools if none has this name.

    Raises:
        RejectedError: the project cannot be planned; `problems` contains the reasons.
    """
    found = find_lock(target, problems)
    if found is None:
        raise RejectedError
    intent = read_intent(target, problems)
    inputs = read_inputs(target, intent, GenerateOptions(), lock=found.lock)
    plan = plan_project(inputs, problems, progress).plan
    for tool in plan.merged:
        if name in (tool.name, tool.key):
            settings = _explain_merged_tool(tool, intent)
            return ExplainedTool(tool.name, tool.key, tuple(settings))
    for tool in plan.tools:
        if name in (tool.name, tool.operation.key, *tool.aliases):
            is_published = tool.name in found.lock.operations.values()
            settings = _Explainer(tool, intent, is_published=is_published).settings()
            return ExplainedTool(tool.name, tool.operation.key, tuple(settings))
    return tuple(sorted(tool.name for tool in (*plan.tools, *plan.merged)))


def _explain_merged_tool(tool: ToolPlan, intent: LocatedManifest) -> Iterator[Setting]:
    """Explain a merged tool: its operations, and the hints of the most dangerous one.

    Everything else is a setting of its operations, which have names of their own.
    """
    entry = ("merged", tool.name)
    yield Setting("name", tool.name, "manifest", intent.locate(entry))
    for key, value in (("title", tool.title), ("description", tool.description)):
        is_stated = bool(intent.value_at((*entry, key)))
        at = intent.locate((*entry, key)) if is_stated else None
        source = "manifest" if is_stated else "document"
        yield Setting(key, value.partition("\n")[0], source, at)
    yield Setting("argument", tool.scope, *_locate_argument(tool, intent))
    for member in tool.merges:
        shown = f"{member.operation.key} (tool {member.tool})"
        at = intent.locate((*entry, "operations", member.choice))
        yield Setting(f"operations.{member.choice}", shown, "manifest", at)
    for hint in HINTS:
        reason = tool.hint_reasons[hint]
        yield Setting(
            f"annotations.{hint}",
            tool.annotations[hint],
            "rule",
            intent.locate(entry),
            rule=reason.rule,
            evidence=reason.evidence,
        )


def _locate_argument(tool: ToolPlan, intent: LocatedManifest) -> tuple[str, Location | None]:
    tokens = ("merged", tool.name, "argument")
    stated = intent.value_at(tokens) is not None
    return ("manifest", intent.locate(tokens)) if stated else ("default", None)


class _Explainer:
    """Derivation of the settings of one tool."""

    def __init__(self, tool: ToolPlan, intent: LocatedManifest, *, is_published: bool) -> None:
        self._tool = tool
        self._intent = intent
        self._is_published = is_published

    def settings(self) -> Iterator[Setting]:
        tool, policies, pages = self._tool, self._tool.policies, self._tool.pagination
        if self._is_published and not self._is_stated("name"):
            yield Setting("name", tool.name, "lock", Location(LOCK_FILE))
        else:
            yield self._explain_text("name", tool.name)
        yield self._explain_text("title", tool.title)
        yield self._explain_text("description", tool.description.partition("\n")[0])
        yield self._explain_policy("expose", tool.exposed_as)
        if any(argument.location == "body" for argument in tool.arguments):
            yield self._explain_form()
            if tool.flat_body is not None and not tool.flat_body.required:
                yield _explain_empty_body(tool)
        yield from self._explain_parameters()
        yield from self._explain_annotations()
        yield from self._explain_headers()
        yield from self._explain_credentials()
        yield self._explain_limit("timeout_seconds", "timeout_seconds", policies.timeout_seconds)
        yield self._explain_policy("max_concurrent", policies.max_concurrent)
        yield self._explain_limit("retry.attempts", "max_attempts", policies.attempts)
        if tool.operation.method in KEY_METHODS:
            yield self._explain_idempotency_header()
        is_off = tool.stated.entry.paginate is False
        joined = {"max_pages": pages.most} if pages else False if is_off else None
        yield self._explain_pages(joined)
        yield self._explain_policy("confirm", policies.confirm)
        yield self._explain_policy("poll", msgspec.to_builtins(tool.stated.entry.poll))
        yield self._explain_policy("task", policies.task or "never")
        entry = tool.stated.entry.result
        yield self._explain_policy("result.select", list(entry.select) if entry else [])
        yield self._explain_policy("result.max_items", policies.max_items)
        yield self._explain_policy("result.max_bytes", policies.max_bytes)
        yield self._explain_policy("view", msgspec.to_builtins(tool.stated.entry.view))

    def _explain_limit(self, setting: str, limit: str, own: float | None) -> Setting:
        """Explain a limit that the operation, or else `limits` of the manifest, may state."""
        if own is not None:
            return self._explain_policy(setting, own)
        stated = list_stated_limits(self._intent.manifest.limits)
        if limit in stated:
            return Setting(
                setting, stated[limit], "manifest", self._intent.locate(("limits", limit))
            )
        return self._explain_policy(setting, getattr(DEFAULT_LIMITS, limit))

    def _explain_form(self) -> Setting:
        """Explain whether the members of the body are arguments."""
        value = "nested" if self._tool.flat_body is None else "flat"
        stated = self._explain_policy("arguments", value)
        if stated.source == "manifest":
            return stated
        if self._intent.manifest.arguments:
            return Setting("arguments", value, "manifest", self._intent.locate(("arguments",)))
        return Setting("arguments", value, "lock", Location(LOCK_FILE))

    def _explain_idempotency_header(self) -> Setting:
        header = self._tool.idempotency_header
        explained = self._explain_policy("idempotency_header", header)
        if explained.source == "default" and header:
            found = (it.at for it in self._tool.operation.parameters if it.is_generated)
            return Setting("idempotency_header", header, "document", next(found).location())
        return explained

    def _explain_annotations(self) -> Iterator[Setting]:
        """Explain each hint: by the manifest, an extension of the document, or a rule."""
        tool = self._tool
        hints = msgspec.to_builtins(tool.stated.entry.annotations) or {}
        for hint in HINTS:
            value = tool.annotations[hint]
            explained = self._explain_policy(f"annotations.{hint}", value)
            if explained.source == "default" and hints.get(hint) is not None:
                explained = self._explain_text(explained.setting, value)  # by an extension
            if explained.source == "default":
                reason, at = tool.hint_reasons[hint], tool.operation.at.location()
                explained = Setting(
                    explained.setting, value, "rule", at, rule=reason.rule, evidence=reason.evidence
                )
            yield explained

    def _explain_parameters(self) -> Iterator[Setting]:
        """Explain whether each parameter is an argument, a fixed value, or hidden."""
        entries = self._tool.stated.entry.parameters
        for name in entries:
            yield self._explain_entry(("parameters", name), self._describe_outcome(name))
        described = {
            (parameter.location, parameter.name): parameter.at
            for parameter in self._tool.operation.parameters
        }
        body = self._tool.operation.request_body
        if body is not None:
            described["body", ""] = body.at
        renamed = {entry.name for entry in entries.values()}
        flat = self._tool.flat_body
        for argument in self._tool.arguments:
            if flat is not None and argument.location == "body":
                yield from self._explain_members(flat, entries)
                continue
            if argument.name not in entries and argument.name not in renamed:
                place = described.get((argument.location, argument.wire_name))
                at = (place or self._tool.operation.at).location()
                shown = f"parameters.{argument.name}"
                yield Setting(shown, _describe_argument(argument), "document", at)

    def _explain_members(self, flat: FlatBody, entries: Collection[str]) -> Iterator[Setting]:
        """Explain the arguments that are members of the body."""
        required = self._tool.input_schema.get("required", ())
        for name, member in flat.members.items():
            place = f"body.{self._tool.wire_names.get(member, member)}"
            if place not in entries:
                value = "argument, required" if name in required else "argument"
                value += f" {name}" if f"body.{name}" != place else ""
                at = self._tool.operation.at.location()
                yield Setting(f"parameters.{place}", value, "document", at)

    def _explain_headers(self) -> Iterator[Setting]:
        """Explain the default headers of the tool's requests."""
        for header in self._tool.fixed:
            if header.is_default_header:
                setting = header.setting
                value = header.value if setting is None else f"environment {setting.name}"
                yield Setting(f"headers.{header.wire_name}", value, "manifest", header.at)

    def _explain_credentials(self) -> Iterator[Setting]:
        """Explain the sources of the tool's credentials that the manifest states."""
        entries = self._intent.manifest.credentials
        used = {use.scheme for way in self._tool.security for use in way}
        for name in sorted(used & entries.keys()):
            value = f"{entries[name].from_} {entries[name].header}".rstrip()
            at = self._intent.locate(("credentials", name))
            yield Setting(f"credentials.{name}", value, "manifest", at)

    def _describe_outcome(self, name: str) -> str:
        entry = self._tool.stated.entry.parameters[name]
        if entry.from_environment:
            return f"environment {entry.from_environment}"
        if entry.fixed is not UNSET:
            return f"fixed {_encode(entry.fixed)}"
        if entry.hidden:
            return "hidden"
        words = [f"argument {entry.name}" if entry.name else "argument"]
        if entry.default is not UNSET:
            words.append(f"default {_encode(entry.default)}")
        return ", ".join(words)

    def _explain_text(self, setting: str, value: JsonValue) -> Setting:
        """Explain a setting from the document unless it is in the manifest."""
        if self._is_stated(setting):
            return self._explain_entry((setting,), value)
        return Setting(setting, value, "document", self._tool.operation.at.location())

    def _explain_pages(self, joined: JsonValue) -> Setting:
        """Explain how many pages a call joins, and what shows that the list has pages."""
        explained, pages = self._explain_policy("paginate", joined), self._tool.pagination
        if pages is None or explained.source != "default":
            return explained
        rule = f"{'assumed' if pages.is_assumed else 'declared'}-{pages.kind}"
        at = self._tool.operation.at.location()
        return Setting("paginate", joined, "rule", at, rule=rule, evidence=pages.evidence)

    def _explain_policy(self, name: str, value: JsonValue) -> Setting:
        """Explain a setting with a default unless it is in the manifest."""
        inside = tuple(name.split("."))
        is_decided = value is not None and self._intent.value_at(self._tokens(*inside)) is not None
        return self._explain_entry(inside, value) if is_decided else Setting(name, value, "default")

    def _tokens(self, *inside: str) -> tuple[str, ...]:
        return self._tool.stated.tokens(*inside)

    def _is_stated(self, *inside: str) -> bool:
        tokens = self._tokens(*inside)
        holder = self._intent.value_at(tokens[:-1])
        return isinstance(holder, dict) and tokens[-1] in holder

    def _explain_entry(self, inside: tuple[str, ...], value: JsonValue) -> Setting:
        tokens = self._tokens(*inside)
        at = self._intent.locate(tokens)
        return Setting(".".join(inside), value, "manifest", at, entry=tokens[1])


def _explain_empty_body(tool: ToolPlan) -> Setting:
    """Explain that no arguments send an empty object as an optional body."""
    return Setting(
        "arguments.empty_body",
        "not sent",
        "rule",
        tool.operation.at.location(),
        rule="flat-optional-body",
        evidence="a call without members of the body sends none; with `arguments: nested`, a"
        " caller can send `{}`",
    )


def _describe_argument(argument: Argument) -> str:
    if argument.default is not UNSET:
        return f"argument, default {_encode(argument.default)}"
    return "argument, required" if argument.required else "argument"


def _encode(value: Any) -> str:
    return msgspec.json.encode(value).decode()

"""Rules for texts: hidden or steering text, credentials, and mentions of other tools."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Final

from mcpgen.factory.lint.findings import Finding, flag
from mcpgen.factory.lint.listing import Listing, Text, iterate_texts
from mcpgen.ir.client_checks import read_text
from mcpgen.jsonschema.features import iterate_schemas
from mcpgen.text.secret_values import REDACTED, find_token, is_secret_default
from mcpgen.text.signals import HIDDEN_KINDS, find_text_signals

_NAME: Final = r"[a-z][a-z0-9]*(?:_[a-z0-9]+)+"
# A tool is meant only if the text has the word "tool": arguments have such names as well.
_MENTION: Final = re.compile(rf"[`'\"]({_NAME})[`'\"](?:\(\))? tool\b|\btool [`'\"]({_NAME})[`'\"]")
_WHOLE_NAME: Final = re.compile(rf"(?<![\w./-]){_NAME}(?![\w./-])")


def check_signals(listing: Listing) -> Iterator[Finding]:
    """Report hidden text and text that steers a model."""
    for text in iterate_texts(listing):
        for signal in find_text_signals(text.text, text.field):
            rule = "hidden-text" if signal.kind in HIDDEN_KINDS else "steering-text"
            yield flag(
                rule,
                f"{text.what}: {signal.reason}",
                tool=text.owner,
                tokens=text.tokens,
                detail=signal.kind,
            )


def check_secrets(listing: Listing) -> Iterator[Finding]:
    """Report credentials in texts, and defaults of secret arguments."""
    for text in iterate_texts(listing):
        if find_token(text.text):
            yield _report_secret(text.what, text.owner, text.tokens)
    for tool in listing.all_tools:
        name = read_text(tool, "name")
        for node in iterate_schemas(tool.get("inputSchema")):
            schema = node.schema
            if node.keyword != "properties" or not isinstance(schema, dict):
                continue
            value = schema.get("default")
            if value == REDACTED or not is_secret_default(node.tokens[-1], value):
                continue
            if isinstance(value, str) and not find_token(value):
                at = ("inputSchema", *node.tokens, "default")
                yield _report_secret(f"the default of `{node.tokens[-1]}` of `{name}`", name, at)


def _report_secret(what: str, tool: str, tokens: tuple[str, ...]) -> Finding:
    message = f"{what} contains a credential"
    return flag("secret-value", message, tool=tool, tokens=tokens, detail="a credential")


def check_mentions(listing: Listing, foreign: Mapping[str, Collection[str]]) -> Iterator[Finding]:
    """Report mentions of tools that the server lacks; `foreign` are tools of other servers."""
    own = {read_text(tool, "name") for tool in listing.all_tools}
    others = {name: server for server, names in foreign.items() for name in names if "_" in name}
    arguments = {text.text for text in iterate_texts(listing) if text.field == "property"}
    for text in iterate_texts(listing):
        if text.field not in ("description", "instructions"):
            continue
        for name in _find_mentions(text, others):
            if name in own or (name in arguments and name not in others):
                continue
            if listing.has_unknown_tools and name not in others:
                continue
            of = f", which belongs to `{others[name]}`" if name in others else ""
            yield flag(
                "unknown-tool",
                f"{text.what} mentions the tool `{name}`{of}",
                tool=text.owner,
                tokens=text.tokens,
                detail="mentions another tool",
            )


def _find_mentions(text: Text, others: Mapping[str, str]) -> list[str]:
    found = [first or second for first, second in _MENTION.findall(text.text)]
    if others:
        found += [name for name in _WHOLE_NAME.findall(text.text) if name in others]
    return list(dict.fromkeys(found))


def check_shadowing(listing: Listing, foreign: Mapping[str, Collection[str]]) -> Iterator[Finding]:
    """Report tools that have the name of a tool of another server."""
    for tool in listing.all_tools:
        name = read_text(tool, "name")
        for server, names in foreign.items():
            if name in names:
                yield flag(
                    "shadowed-tool",
                    f"`{name}` is also a tool of `{server}`",
                    tool=name,
                    tokens=("name",),
                    detail=f"a tool of `{server}`",
                )

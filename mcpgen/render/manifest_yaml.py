"""Entries of a first manifest: credentials that the document hides, and commented examples."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, repeat

from mcpgen.ir.credentials import CredentialDestination, HiddenCredential
from mcpgen.ir.first_steps import FirstSteps
from mcpgen.ir.manifest_entries import CredentialEntry
from mcpgen.jsonschema.types import JsonValue
from mcpgen.render.environment import quote
from mcpgen.text.invisible import SafeText
from mcpgen.text.prose import one_line, shorten

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_]*\Z")
_WORDS = frozenset({"false", "n", "no", "null", "off", "on", "true", "y", "yes"})  # YAML 1.1
_WIDTH = 92


def in_flow(value: JsonValue) -> str:
    """Return a value as YAML on one line: `{type: apiKey, in: query, name: key}`."""
    if isinstance(value, Mapping):
        members = (f"{_text(str(name))}: {in_flow(item)}" for name, item in value.items())
        return f"{{{', '.join(members)}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(in_flow, value))}]"
    return _text(value) if isinstance(value, str) else json.dumps(value)


def _text(text: str) -> str:
    return text if _PLAIN.match(text) and text.lower() not in _WORDS else str(quote(text))


def source_entries(credentials: Sequence[HiddenCredential]) -> SafeText:
    """Return the keys of a source, each credential with a comment: as entries, or in comments."""
    certain = [it for it in credentials if it.is_certain and (it.schemes or it.security)]
    doubtful = [it for it in credentials if not it.is_certain and (it.schemes or it.security)]
    lines: list[str] = []
    for credential in certain:
        lines += _comment(f"{one_line(credential.sentence)}", "    # ")
    schemes = {name: scheme for it in certain for name, scheme in it.schemes.items()}
    if schemes:
        lines += ["    security_schemes:"]
        lines += [f"      {_text(name)}: {in_flow(scheme)}" for name, scheme in schemes.items()]
    if any(credential.is_denied for credential in credentials):
        lines += ["    # The API needs no credential.", "    security: []"]
    if security := join_security(certain):
        lines += [f"    security: {in_flow(list(security))}"]
    for credential in doubtful:
        lines += _comment(
            f"{one_line(credential.sentence)} To send a credential, remove the `# ` of the next"
            " lines, correct them, and run `mcpgen generate`.",
            "    # ",
        )
        if credential.schemes and not schemes:
            lines += ["    # security_schemes:"]
        lines += [f"    #   {_text(k)}: {in_flow(v)}" for k, v in credential.schemes.items()]
        if credential.security and not security:
            lines += [f"    # security: {in_flow(list(credential.security))}"]
    return SafeText("".join(f"{line}\n" for line in lines))


def base_url_entry(base_url: str) -> SafeText:
    """Return the key `base_url` of a source."""
    return SafeText(f"    base_url: {quote(base_url)}\n" if base_url else "")


def credential_entries(sources: Mapping[str, CredentialEntry]) -> SafeText:
    """Return the key `credentials`: the source of the credential of each security scheme."""
    if not sources:
        return SafeText("")
    lines = ["", "", "credentials:"]  # the first ends the line before it
    for scheme, entry in sources.items():
        stated = {"from": entry.from_} | ({"header": entry.header} if entry.header else {})
        lines.append(f"  {_text(scheme)}: {in_flow(stated)}")
    return SafeText("\n".join(lines))


def origin_entries(destinations: Sequence[CredentialDestination]) -> SafeText:
    """Return the key `credential_origins` of a source; origins to be confirmed are a comment."""
    stated = [it for it in destinations if it.is_confirmed]
    confirmed = sorted({it.origin for it in stated})
    open_ = sorted({it.origin for it in destinations if not it.is_confirmed})
    lines: list[str] = []
    if confirmed:
        lines += ["    # Origins beside that of the API that may receive its credentials."]
        lines += [f"    credential_origins: {in_flow(confirmed)}"]
    if open_:
        action = "add them to the line above" if confirmed else "remove the `# ` of the next line"
        lines += _comment(
            "The document names other origins for requests with credentials. These calls are"
            " refused until you confirm the origins: check that they belong to the API,"
            f" {action}, and run `mcpgen generate`.",
            "    # ",
        )
        key = "" if confirmed else "credential_origins: "
        lines += [f"    # {key}{in_flow(open_)}"]
    return SafeText("".join(f"{line}\n" for line in lines))


def parameter_entries(credentials: Sequence[HiddenCredential]) -> SafeText:
    """Return the key `operations`, for credentials that are members of bodies or in paths."""
    certain = [it for it in credentials if it.parameters and it.is_certain]
    doubtful = [it for it in credentials if it.parameters and not it.is_certain]
    if not (certain or doubtful):
        return SafeText("")
    lines = ["", ""]  # the first ends the line before it
    for credential in (*certain, *doubtful):
        lines += _comment(one_line(credential.sentence), "# ")
    if certain:
        lines += ["operations:", *_operations(certain)]
    if doubtful:
        shown = [] if certain else ["operations:"]
        lines += [f"# {line}" for line in (*shown, *_operations(doubtful))]
    return SafeText("".join(f"{line}\n" for line in lines))


def _operations(credentials: Sequence[HiddenCredential]) -> Iterator[str]:
    entries: dict[str, dict[str, JsonValue]] = {}
    for credential in credentials:
        for operation, parameters in credential.parameters.items():
            entries.setdefault(operation, {}).update(parameters)
    for operation, parameters in entries.items():
        yield f"  {quote(operation)}:"
        yield "    parameters:"
        yield from (f"      {quote(name)}: {in_flow(it)}" for name, it in parameters.items())


def join_security(
    credentials: Sequence[HiddenCredential],
) -> tuple[Mapping[str, tuple[str, ...]], ...]:
    """Return `security` for several credentials: parameters all together, and alternatives."""
    together: dict[str, tuple[str, ...]] = {}
    ways: list[Mapping[str, tuple[str, ...]]] = []
    for credential in credentials:
        if credential.code == "no-credentials":
            ways += credential.security
        else:
            for requirement in credential.security:
                together |= requirement
    return (*([together] if together else []), *ways)


def _comment(text: str, prefix: str) -> list[str]:
    """Break a text into comment lines."""
    return textwrap.wrap(
        shorten(text, 600),
        _WIDTH,
        initial_indent=prefix,
        subsequent_indent=prefix,
        break_long_words=False,
        break_on_hyphens=False,
    )


_MEANINGS = {
    "name": "the name of the tool",
    "fixed": "sent with every call, and hidden from clients",
    "default": "sent if the call leaves the argument out",
    "confirm": "asked before anything is sent",
}


def comment_exclude(steps: FirstSteps) -> list[str]:
    """Return the lines of a rule that excludes an operation, to be inserted below `select:`."""
    if not steps.exclude:
        return []
    return [f"#   - exclude: {quote(steps.exclude)}  # no tool for this operation"]


def comment_operations(steps: FirstSteps, *, has_operations: bool) -> SafeText:
    """Return the entries of operations; with `has_operations`, the key is already above them."""
    if not steps.operations:
        return SafeText("")
    lines = [] if has_operations else ["operations:"]
    for operation, entry in steps.operations.items():
        lines.append(f"  {quote(operation)}:")
        lines += _settings(entry)
    start = "" if has_operations else "\n"
    return SafeText(start + "".join(f"# {line}\n" for line in lines))


def _settings(entry: Mapping[str, JsonValue]) -> Iterator[str]:
    for setting, value in entry.items():
        if setting != "parameters":
            yield f"    {setting}: {in_flow(value)}  # {_MEANINGS[setting]}"
            continue
        yield "    parameters:"
        for name, change in value.items():
            meaning = " and ".join(_MEANINGS[key] for key in change)
            yield f"      {in_flow(name)}: {in_flow(change)}  # {meaning}"


def comment_proposals(steps: FirstSteps) -> SafeText:
    """Return the proposed entries of merged tools and of workflows, as comments."""
    lines: list[str] = []
    for key, about in (("merged", _ABOUT_MERGED), ("workflows", _ABOUT_WORKFLOWS)):
        entries, unshown = _select_proposals(steps, key)
        if entries:
            more = f" {unshown} others are not shown." if unshown else ""
            lines += ["", *_comment(f"{about}{more}", "# ")]
            lines += [f"# {line}" for line in spell_proposals(steps, key)]
    return SafeText("".join(f"{line}\n" for line in lines))


def spell_proposals(steps: FirstSteps, key: str) -> list[str]:
    """Return the lines of the proposed entries of "merged" or "workflows", its key first."""
    entries, _ = _select_proposals(steps, key)
    blocks = _BLOCKS_OF_MERGED if key == "merged" else _BLOCKS_OF_WORKFLOWS
    lines = [line for name, entry in entries.items() for line in _spell(name, entry, "  ", blocks)]
    return [f"{key}:", *lines] if lines else []


def _select_proposals(steps: FirstSteps, key: str) -> tuple[Mapping[str, JsonValue], int]:
    """Return the entries of "merged" or "workflows", and how many others are not shown."""
    if key == "merged":
        return steps.merged, steps.more_merged
    return steps.workflows, steps.more_workflows


_ABOUT_MERGED = (
    "Similar operations, each group of which can become one tool. An argument (`scope`) then"
    " selects the operation. Nothing is merged unless you remove the `# ` of an entry and of"
    " `merged:`. To do so is a major change for clients of a published server."
)
_ABOUT_WORKFLOWS = (
    "Workflows that find something and then act on it in one call. They are further tools, if you"
    " remove the `# ` of an entry and of `workflows:`."
)
_BLOCKS_OF_MERGED = frozenset({"operations"})
_BLOCKS_OF_WORKFLOWS = frozenset({"inputs", "properties", "steps"})


def _spell(name: str, value: JsonValue, indent: str, blocks: frozenset[str]) -> Iterator[str]:
    """Yield the lines of an entry; the members in `blocks` are written over several lines."""
    yield f"{indent}{_text(name)}:"
    for key, member in value.items():
        if key not in blocks:
            yield f"{indent}  {_text(key)}: {in_flow(member)}"
        elif isinstance(member, list):
            yield f"{indent}  {_text(key)}:"
            for item in member:
                yield from _spell_item(item, f"{indent}    ")
        else:
            yield from _spell(key, member, f"{indent}  ", blocks)


def _spell_item(item: Mapping[str, JsonValue], indent: str) -> Iterator[str]:
    starts = chain([f"{indent}- "], repeat(f"{indent}  "))
    for start, (key, member) in zip(starts, item.items(), strict=False):
        yield f"{start}{_text(key)}: {in_flow(member)}"

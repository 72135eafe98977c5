"""Entries of a first manifest: credentials that the document hides, and commented examples."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence

from mcpgen.ir.credentials import CredentialDestination, HiddenCredential
from mcpgen.ir.first_steps import FirstSteps
from mcpgen.jsonschema.types import JsonValue
from mcpgen.render.environment import quote
from mcpgen.text.invisible import SafeText
from mcpgen.text.prose import one_line, shorten

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_]*\Z")
_WORDS = frozenset({"false", "n", "no", "null", "off", "on", "true", "y", "yes"})  # YAML 1.1
_WIDTH = 92


def in_flow(value: JsonValue) -> str:
    """Spell a value as YAML on one line: `{type: apiKey, in: query, name: key}`."""
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
    """Return the lines of a rule that leaves an operation out, to stand below `select:`."""
    if not steps.exclude:
        return []
    return [f"#   - exclude: {quote(steps.exclude)}  # no tool for this operation"]


def comment_operations(steps: FirstSteps, *, has_operations: bool) -> SafeText:
    """Return the entries of operations; with `has_operations`, the key stands above them."""
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

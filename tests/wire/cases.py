"""Wire cases: one folder per clause, with a document and the calls made with it."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tests.wire.upstream import Answer

FOLDER = Path(__file__).parent
_KEYS = frozenset(
    {
        "name", "section", "tool", "arguments", "environ", "sends", "headers", "body", "answer",
        "then", "result", "refused", "configured",
    }
)  # fmt: skip
JSON_ACCEPTED = {"Accept": "application/json"}


@dataclass(frozen=True, slots=True)
class Exchange:
    """The expected request, byte for byte, and the response to it."""

    sends: str  # "GET /pets?limit=3"; with an absolute URL if the case is about hosts
    headers: Mapping[str, str]  # without those that every HTTP client adds
    body: bytes | None
    answer: Answer

    @classmethod
    def from_yaml(cls, entry: Mapping[str, Any]) -> Exchange:
        return cls(
            entry["sends"],
            entry.get("headers", JSON_ACCEPTED),
            _bytes(entry["body"]) if "body" in entry else None,
            _answer(entry.get("answer", {})),
        )


@dataclass(frozen=True, slots=True)
class Case:
    """A call of a tool with its expected outcome, from a section of a specification."""

    clause: str
    name: str
    section: str
    tool: str
    arguments: dict[str, Any]
    environ: Mapping[str, str]
    exchanges: tuple[Exchange, ...]  # empty if nothing may be sent
    refused: tuple[str, ...] = ()  # texts in the error: the argument and the rule
    result: Mapping[str, Any] | None = field(default=None)
    is_configured: bool = True  # whether the base URL is that of the listener

    def __str__(self) -> str:
        return f"{self.clause}: {self.name}"

    @classmethod
    def from_yaml(cls, clause: str, entry: Mapping[str, Any]) -> Case:
        unknown = entry.keys() - _KEYS
        assert not unknown, f"{clause}: {entry['name']}: {unknown}"
        exchanges = [entry] if "sends" in entry else []
        exchanges += entry.get("then", ())
        refused = entry.get("refused", ())
        return cls(
            clause,
            entry["name"],
            entry["section"],
            entry["tool"],
            entry.get("arguments", {}),
            entry.get("environ", {}),
            tuple(map(Exchange.from_yaml, exchanges)),
            tuple([refused] if isinstance(refused, str) else refused),
            entry.get("result"),
            entry.get("configured", "://" not in entry.get("sends", "")),
        )


def _bytes(value: str | Mapping[str, str]) -> bytes:
    """Return text as UTF-8, or decode `{hex: …}`, `{base64: …}` or `{crlf: …}` (CRLF line ends)."""
    if isinstance(value, str):
        return value.encode()
    ((kind, text),) = value.items()
    if kind == "hex":
        return bytes.fromhex(text)
    if kind == "crlf":
        return text.replace("\n", "\r\n").encode()
    assert kind == "base64"
    return base64.b64decode(text)


def _answer(entry: Mapping[str, Any]) -> Answer:
    plain = Answer()
    headers = entry.get("headers")
    return Answer(
        entry.get("status", plain.status),
        plain.headers if headers is None else tuple(headers.items()),
        _bytes(entry["body"]) if "body" in entry else (b"" if headers == {} else plain.body),
    )


def all_cases() -> Iterator[Case]:
    """Return all cases, sorted by folder."""
    for path in sorted(FOLDER.glob("*/cases.yaml")):
        for entry in yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader):
            yield Case.from_yaml(path.parent.name, entry)

"""How a value travels as a request body, by media type, to the exact bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from mcpgen.runtime.content import JsonObject
from mcpgen.runtime.errors import ConfigurationError
from mcpgen.runtime.upstream.parameters import UnsendableError, is_json


@dataclass(frozen=True, slots=True)
class MediaTypeRule:
    """One way in which the body can travel. `schema` stands where the serialiser needs it."""

    media_type: str
    encoding: Mapping[str, JsonObject] = field(default_factory=dict)
    schema: JsonObject | None = None


@dataclass(frozen=True, slots=True)
class BodyRule:
    """The `request.body` of a tool's contract; media types are ordered, the best first."""

    argument: str
    required: bool
    media_types: tuple[MediaTypeRule, ...]
    content_type_argument: str = ""

    @classmethod
    def from_json(cls, entry: JsonObject) -> BodyRule:
        """Read `body` as it stands in `tools/<tag>.json`.

        Raises:
            ConfigurationError: it names a media type that cannot be written.
        """
        rules = tuple(
            MediaTypeRule(media["media_type"], media.get("encoding", {}), media.get("schema"))
            for media in entry["media_types"]
        )
        for rule in rules:
            if not is_json(rule.media_type):
                raise ConfigurationError(f"a body of type `{rule.media_type}` cannot be written")
        return cls(
            argument=entry["argument"],
            required=entry.get("required", False),
            media_types=rules,
            content_type_argument=entry.get("content_type_argument", ""),
        )

    def choose(self, content_type: str) -> MediaTypeRule:
        """The rule for a media type that a caller selected; "" stands for the best one.

        Raises:
            UnsendableError: the operation does not take this media type.
        """
        if not content_type:
            return self.media_types[0]
        for rule in self.media_types:
            if rule.media_type == content_type:
                return rule
        offered = ", ".join(f"`{rule.media_type}`" for rule in self.media_types)
        raise UnsendableError(f"must be one of {offered}")


@dataclass(frozen=True, slots=True)
class EncodedBody:
    """Bytes, and the `Content-Type` that says what they are."""

    content_type: str
    content: bytes = field(repr=False)


def encode_body(rule: MediaTypeRule, value: Any) -> EncodedBody:
    """Write a body in the way that `rule` says.

    Raises:
        UnsendableError: the value has no spelling in this media type.
    """
    return EncodedBody(rule.media_type, _json_bytes(value))


def _json_bytes(value: Any) -> bytes:
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        raise UnsendableError("has half of a surrogate pair, which is no character") from None

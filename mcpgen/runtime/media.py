"""Bytes with a media type: what a tool returns when the API answers with neither JSON nor text."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Media:
    """A picture, a sound, a document: `data` as it arrived, decompressed."""

    data: bytes = field(repr=False)
    media_type: str  # without parameters, in lower case: "image/png"

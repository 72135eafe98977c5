"""Bytes with a media type: the value of a response that is neither JSON nor text."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Media:
    """An image, audio or a document: `data` as received, decompressed."""

    data: bytes = field(repr=False)
    media_type: str  # without parameters, in lower case: "image/png"
    note: str = ""  # for the model, where it may have expected something else

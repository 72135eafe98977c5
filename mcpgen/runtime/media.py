"""Bytes with a media type: the value of a response that is neither JSON nor text."""

from __future__ import annotations

from msgspec import Struct


class Media(Struct, frozen=True):
    """An image, audio or a document: `data` as received, decompressed."""

    data: bytes
    media_type: str  # without parameters, in lower case: "image/png"
    note: str = ""  # for the model, where it may have expected something else

    def __repr__(self) -> str:
        return f"Media({len(self.data)} bytes, {self.media_type!r}, {self.note!r})"

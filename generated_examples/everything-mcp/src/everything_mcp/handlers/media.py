"""A small image and a short sound, used by other modules."""

import struct
import zlib


def _chunk(kind: bytes, data: bytes) -> bytes:
    checksum = struct.pack(">I", zlib.crc32(kind + data))
    return struct.pack(">I", len(data)) + kind + data + checksum


def _red_dot() -> bytes:
    header = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)  # 1 x 1, 8 bits, RGB
    pixels = zlib.compress(b"\x00\xff\x00\x00")
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        (_chunk(b"IHDR", header), _chunk(b"IDAT", pixels), _chunk(b"IEND", b""))
    )


def _silence() -> bytes:
    samples = bytes(16)
    form = b"fmt " + struct.pack("<IHHIIHH", 16, 1, 1, 8000, 8000, 1, 8)  # PCM, mono, 8 kHz
    body = b"WAVE" + form + b"data" + struct.pack("<I", len(samples)) + samples
    return b"RIFF" + struct.pack("<I", len(body)) + body


RED_DOT = _red_dot()
SILENCE = _silence()

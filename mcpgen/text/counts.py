"""Numbers of things in messages."""

from __future__ import annotations


def format_count(number: int, noun: str) -> str:
    """Format a number of things: "1 tool", "1,223 operations"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def format_size(size: int) -> str:
    """Format a number of bytes: "800 bytes", "24 kB", "12.4 MB"."""
    if size < 1_000:
        return format_count(size, "byte")
    return f"{size / 1_000:.0f} kB" if size < 1_000_000 else f"{size / 1_000_000:.1f} MB"

"""The error of every command that cannot do what it was asked to: exit code 2."""

from __future__ import annotations


class UsageError(Exception):
    """What was typed makes no sense; says what was expected, and `help` what to type instead."""

    def __init__(self, message: str, *, help: str = "") -> None:
        super().__init__(message)
        self.help = help

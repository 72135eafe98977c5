"""The error of an invalid server configuration."""

from __future__ import annotations


class ConfigurationError(Exception):
    """A configuration with which the server cannot start or a call cannot be sent.

    The message says what to set. `setting` is the missing or invalid environment variable, or "".
    """

    def __init__(self, message: str, *, setting: str = "") -> None:
        super().__init__(message)
        self.setting = setting

"""Checks of the environment variables that OpenSSL and Python's `ssl` module read."""

from __future__ import annotations

import os
from collections.abc import Mapping

from mcpgen.runtime.errors import ConfigurationError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

# `os.path` below, since importing pathlib costs a cold start 9 ms.
_PEM: Final = (b"-----BEGIN CERTIFICATE-----", b"-----BEGIN TRUSTED CERTIFICATE-----")
_MAX_BYTES: Final = 16 * 1024 * 1024  # of certificates; the system's are a quarter of a megabyte


def find_invalid_tls_settings(environ: Mapping[str, str]) -> list[ConfigurationError]:
    """Return an error for each variable that makes connections fail."""
    return [
        ConfigurationError(f"{name} must name {expected}", setting=name)
        for name, is_valid, expected in _CHECKS
        if environ.get(name) and not is_valid(environ[name])
    ]


def _can_append(path: str) -> bool:
    """Return whether `ssl` can append the keys of connections; if not, every connection fails."""
    try:
        # Non-blocking, since opening a named pipe would wait for its reader.
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NONBLOCK", 0)
        os.close(os.open(path, flags, 0o600))
    except (OSError, ValueError):
        return False
    return True


def _has_certificate(path: str) -> bool:
    """Return whether a file has a certificate; without one OpenSSL would trust no server."""
    try:
        if not os.path.isfile(path):  # noqa: PTH113
            return False
        with open(path, "rb") as file:  # noqa: PTH123
            content = file.read(_MAX_BYTES)
    except OSError:
        return False
    return any(begin in content for begin in _PEM)


def _has_readable_folder(paths: str) -> bool:
    """Return whether one of the folders is readable, or none is named."""
    folders = [folder for folder in paths.split(os.pathsep) if folder]
    readable = (os.path.isdir(it) and os.access(it, os.R_OK) for it in folders)  # noqa: PTH112
    return not folders or any(readable)


_CHECKS: Final = (
    ("SSLKEYLOGFILE", _can_append, "a writable file"),
    ("SSL_CERT_FILE", _has_certificate, "a readable file with certificates in PEM"),
    ("SSL_CERT_DIR", _has_readable_folder, "a readable folder"),
)

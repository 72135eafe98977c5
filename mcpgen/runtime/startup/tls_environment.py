"""Checks of the environment variables that OpenSSL and Python's `ssl` module read."""

from __future__ import annotations

import os
from collections.abc import Mapping

from mcpgen.runtime.errors import ConfigurationError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

_KEY_LOG_FILE: Final = "SSLKEYLOGFILE"
_CERTIFICATES_FILE: Final = "SSL_CERT_FILE"
_CERTIFICATES_FOLDERS: Final = "SSL_CERT_DIR"
# `os.path` below, since importing pathlib costs a cold start 9 ms.
_PEM: Final = (b"-----BEGIN CERTIFICATE-----", b"-----BEGIN TRUSTED CERTIFICATE-----")
_MAX_BYTES: Final = 16 * 1024 * 1024  # of certificates; the system's are a quarter of a megabyte


def find_invalid_tls_settings(environ: Mapping[str, str]) -> list[ConfigurationError]:
    """Return an error for each variable that makes connections fail."""
    found = []
    for check in (_check_key_log_file, _check_certificates_file, _check_certificates_folders):
        try:
            check(environ)
        except ConfigurationError as error:
            found.append(error)
    return found


def _check_key_log_file(environ: Mapping[str, str]) -> None:
    """Check that the file to which `ssl` appends the keys of connections can be written.

    Raises:
        ConfigurationError: it cannot be written, so every connection would fail.
    """
    path = environ.get(_KEY_LOG_FILE, "")
    if not path:
        return
    try:
        # Non-blocking, since opening a named pipe would wait for its reader.
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NONBLOCK", 0)
        os.close(os.open(path, flags, 0o600))
    except (OSError, ValueError):
        raise ConfigurationError(
            f"{_KEY_LOG_FILE} must name a writable file", setting=_KEY_LOG_FILE
        ) from None


def _check_certificates_file(environ: Mapping[str, str]) -> None:
    """Check that the file of trusted certificates is readable and contains a certificate.

    OpenSSL ignores an unreadable file, and then trusts no certificate.

    Raises:
        ConfigurationError: the file is unreadable or contains no certificate.
    """
    path = environ.get(_CERTIFICATES_FILE, "")
    if not path:
        return
    try:
        is_valid = os.path.isfile(path)  # noqa: PTH113
        if is_valid:
            with open(path, "rb") as file:  # noqa: PTH123
                content = file.read(_MAX_BYTES)
            is_valid = any(begin in content for begin in _PEM)
    except OSError:
        is_valid = False
    if not is_valid:
        raise ConfigurationError(
            f"{_CERTIFICATES_FILE} must name a readable file with certificates in PEM",
            setting=_CERTIFICATES_FILE,
        )


def _check_certificates_folders(environ: Mapping[str, str]) -> None:
    """Check that at least one folder of trusted certificates is readable.

    Raises:
        ConfigurationError: no folder is readable.
    """
    folders = [
        folder for folder in environ.get(_CERTIFICATES_FOLDERS, "").split(os.pathsep) if folder
    ]
    if folders and not any(map(_is_readable_folder, folders)):
        raise ConfigurationError(
            f"{_CERTIFICATES_FOLDERS} must name a readable folder", setting=_CERTIFICATES_FOLDERS
        )


def _is_readable_folder(path: str) -> bool:
    return os.path.isdir(path) and os.access(path, os.R_OK)  # noqa: PTH112

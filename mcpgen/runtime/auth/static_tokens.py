"""Static bearer tokens of a small team, stored as hashes in a file.

A random token of 256 bits cannot be found from its hash, so the file may be readable by others, as
mounted files often are. It must not be writable by others, who could add a token.
"""

from __future__ import annotations

import hmac
import os
import re
import secrets
import stat
import time
from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Final

from mcpgen.runtime.auth.access import Access
from mcpgen.runtime.auth.errors import IssuerUnavailableError
from mcpgen.runtime.errors import ConfigurationError
from mcpgen.runtime.process.log import log
from mcpgen.runtime.startup.secret_files import read_regular_file

MAX_FILE_BYTES: Final = 1024 * 1024
MAX_TOKENS: Final = 1000
CHECK_SECONDS: Final = 1.0  # between two looks at the file
NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,99}\Z")
_HASH: Final = re.compile(r"[0-9a-f]{64}\Z")
_SCOPE: Final = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]+\Z")  # RFC 6749, section 3.3
_ISSUER: Final = "tokens-file"  # takes the place of the issuer's URL in a principal


class InvalidTokensFileError(ConfigurationError):
    """The file of tokens is missing, malformed or writable by others."""


class StaticTokens:
    """The tokens of a file, which is read again when it changes."""

    def __init__(
        self, path: str, *, setting: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Read the file that `setting` names.

        Raises:
            InvalidTokensFileError: it is missing, malformed or writable for others.
        """
        self._path = path
        self._setting = setting
        self._clock = clock
        self._is_valid = True
        self._entries: dict[bytes, Access] = {}
        self._content: bytes | None = None
        self._next_check = clock() + CHECK_SECONDS
        self._load()

    def find(self, token: str) -> Access | None:
        """Return the access of a token; None if it is not in the file.

        Raises:
            IssuerUnavailableError: the file has become invalid, so that no token can be checked.
        """
        self._reload_if_due()
        if not self._is_valid:
            raise IssuerUnavailableError("the file of access tokens is invalid")
        digest = sha256(token.encode()).digest()
        found = None
        for (
            known,
            access,
        ) in (
            self._entries.items()
        ):  # no early exit: the time does not depend on which token matches
            if hmac.compare_digest(known, digest):
                found = access
        return found

    def is_listed(self, token: str) -> bool:
        """Return whether a token that was valid before is still in the file."""
        self._reload_if_due()
        return self._is_valid and sha256(token.encode()).digest() in self._entries

    def _reload_if_due(self) -> None:
        now = self._clock()
        if now < self._next_check:
            return
        self._next_check = now + CHECK_SECONDS
        try:
            self._load()
        except InvalidTokensFileError as error:
            if self._is_valid:
                log("error", f"{error}; no static token is accepted until that is corrected")
            # A line that was removed must not stay valid because another line is wrong.
            self._is_valid = False

    def _load(self) -> None:
        try:
            content, mode = read_regular_file(self._path, MAX_FILE_BYTES + 1)
        except (OSError, ValueError):
            raise self._make_error("must name a readable file") from None
        if os.name == "posix" and mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise self._make_error("names a file that others can write to: run `chmod go-w` on it")
        if content != self._content or not self._is_valid:
            self._entries = self._parse(content)
            self._content, self._is_valid = content, True

    def _parse(self, content: bytes) -> dict[bytes, Access]:
        if len(content) > MAX_FILE_BYTES:
            raise self._make_error("names a file that is too long")
        entries: dict[bytes, Access] = {}
        names: set[str] = set()
        lines = content.decode("utf-8", "replace").splitlines()
        for number, line in enumerate(lines, start=1):
            fields = [] if line.startswith("#") else line.split()
            if not fields:
                continue
            if not _is_entry(fields) or fields[0] in names or len(entries) >= MAX_TOKENS:
                raise self._make_error(
                    f"names a file whose line {number} is invalid: expected a unique name, the"
                    " SHA-256 of a token in hexadecimal digits, and scopes"
                )
            name, digest, *scopes = fields
            names.add(name)
            entries[bytes.fromhex(digest)] = Access(
                f"{_ISSUER} name {name}", frozenset(scopes), expires_at=float("inf")
            )
        return entries

    def _make_error(self, text: str) -> InvalidTokensFileError:
        return InvalidTokensFileError(f"{self._setting} {text}", setting=self._setting)


def _is_entry(fields: Sequence[str]) -> bool:
    if len(fields) < 2 or not NAME.match(fields[0]) or not _HASH.match(fields[1]):
        return False
    return all(_SCOPE.match(scope) for scope in fields[2:])


def make_token(name: str, scopes: Sequence[str]) -> tuple[str, str]:
    """Return a new token and the line of the file that makes it valid.

    Raises:
        ValueError: the name or a scope is invalid; the message states the expected form.
    """
    if not NAME.match(name):
        raise ValueError("expected a name of letters, digits and `._@-`")
    if not all(_SCOPE.match(scope) for scope in scopes):
        raise ValueError("expected scopes without spaces and quotation marks")
    token = secrets.token_urlsafe(32)
    return token, " ".join([name, sha256(token.encode()).hexdigest(), *scopes])

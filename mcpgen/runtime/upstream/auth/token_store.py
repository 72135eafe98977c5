"""Storage of the local user's tokens: the system's keyring, else a file of mode 600."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import os
import stat
import sys
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final, Protocol

from mcpgen.runtime.errors import ConfigurationError

LOCK_SECONDS: Final = 30.0
"""After this time, a lock is that of a process that has ended."""
_POLL_SECONDS: Final = 0.05
_FILE: Final = "accounts.json"


@dataclass(frozen=True, slots=True)
class Tokens:
    """Tokens of one security scheme; times are seconds since the epoch."""

    access_token: str = field(repr=False)
    renew_at: float
    refresh_token: str = field(default="", repr=False)
    scopes: tuple[str, ...] = ()


class TokenStore(Protocol):
    """Storage of the tokens of one server, by security scheme."""

    @property
    def place(self) -> str:
        """Where the tokens are, for a sentence."""

    def load(self, scheme: str) -> Tokens | None:
        """Return the tokens of a scheme; None if nobody is logged in."""

    def save(self, scheme: str, tokens: Tokens) -> None:
        """Store the tokens of a scheme."""

    def delete(self, scheme: str) -> None:
        """Forget the tokens of a scheme."""


class KeyringTokens:
    """Tokens in the keyring of the operating system (library `keyring`)."""

    place = "the keyring of this system"

    def __init__(self, keyring: Any, program: str) -> None:
        """Store under the name of the program; `keyring` is the backend."""
        self._keyring = keyring
        self._program = program

    def load(self, scheme: str) -> Tokens | None:
        """Return the tokens of a scheme; None if nobody is logged in."""
        return _decode(self._keyring.get_password(self._program, scheme))

    def save(self, scheme: str, tokens: Tokens) -> None:
        """Store the tokens of a scheme."""
        self._keyring.set_password(self._program, scheme, json.dumps(asdict(tokens)))

    def delete(self, scheme: str) -> None:
        """Forget the tokens of a scheme."""
        if self.load(scheme) is not None:
            self._keyring.delete_password(self._program, scheme)


class FileTokens:
    """Tokens in a file that only its owner can read."""

    def __init__(self, folder: Path) -> None:
        """Store in this folder, which is created when it is needed."""
        self._path = folder / _FILE

    @property
    def place(self) -> str:
        """Where the tokens are, for a sentence."""
        return f"the file {self._path}, which only you can read"

    def load(self, scheme: str) -> Tokens | None:
        """Return the tokens of a scheme; None if nobody is logged in.

        Raises:
            ConfigurationError: other users can read the file.
        """
        entry = self._read().get(scheme)
        return None if entry is None else _decode(json.dumps(entry))

    def save(self, scheme: str, tokens: Tokens) -> None:
        """Store the tokens of a scheme."""
        self._write({**self._read(), scheme: asdict(tokens)})

    def delete(self, scheme: str) -> None:
        """Forget the tokens of a scheme."""
        entries = {name: entry for name, entry in self._read().items() if name != scheme}
        if entries:
            self._write(entries)
        else:
            self._path.unlink(missing_ok=True)

    def _read(self) -> dict[str, Any]:
        try:
            with self._path.open("rb") as file:
                mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
                if os.name == "posix" and mode & 0o077:
                    raise ConfigurationError(
                        f"other users can read {self._path}, so its tokens are not used: run"
                        f" `chmod 600 {self._path}`"
                    )
                entries = json.loads(file.read())
        except (FileNotFoundError, ValueError):
            return {}
        return entries if isinstance(entries, dict) else {}

    def _write(self, entries: Mapping[str, Any]) -> None:
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        new = self._path.with_suffix(f".{os.getpid()}")
        new.unlink(missing_ok=True)
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(json.dumps(entries).encode())
        new.replace(self._path)


def open_token_store(program: str, environ: Mapping[str, str]) -> TokenStore:
    """Return the keyring if there is a usable one, else a file in the user's state folder."""
    keyring = _find_keyring()
    if keyring is not None:
        return KeyringTokens(keyring, program)
    return FileTokens(find_state_folder(program, environ))


def _find_keyring() -> Any:
    """Return the backend of the system's keyring; None without the extra `login` or a keyring."""
    try:
        import keyring
    except ImportError:
        return None
    backend = keyring.get_keyring()
    return backend if backend.priority > 0 else None  # 0 and below: for tests, or none


def find_state_folder(program: str, environ: Mapping[str, str]) -> Path:
    """Return the folder of a program's state, by the conventions of the operating system."""
    if sys.platform == "win32":
        base = Path(environ.get("LOCALAPPDATA") or Path.home() / "AppData/Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library/Application Support"
    else:
        base = Path(environ.get("XDG_STATE_HOME") or Path.home() / ".local/state")
    return base / program


@asynccontextmanager
async def hold_lock(folder: Path, name: str) -> AsyncIterator[None]:
    """Hold a lock among the processes of the user, so that one of them renews a token at a time."""
    path = folder / f"{hashlib.sha256(name.encode()).hexdigest()[:16]}.lock"
    while not _try_lock(path):  # noqa: ASYNC110  (another process releases it)
        await asyncio.sleep(_POLL_SECONDS)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


def _try_lock(path: Path) -> bool:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        with contextlib.suppress(FileNotFoundError):
            if time.time() - path.stat().st_mtime > LOCK_SECONDS:
                path.unlink()  # its process was killed
        return False
    return True


def _decode(text: str | None) -> Tokens | None:
    try:
        entry = json.loads(text or "null")
        return Tokens(
            str(entry["access_token"]),
            float(entry["renew_at"]),
            str(entry["refresh_token"]),
            tuple(map(str, entry["scopes"])),
        )
    except (KeyError, TypeError, ValueError):
        return None

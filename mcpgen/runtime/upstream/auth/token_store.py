"""Storage of the local user's tokens: the system's keyring, else files of mode 600."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import os
import stat
import sys
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, Protocol

from mcpgen.runtime.errors import ConfigurationError, ToolError
from mcpgen.runtime.state.state_folder import find_state_folder

LOCK_SECONDS: Final = 30.0
"""Time for which `hold_lock` waits for another process; a renewal takes at most 20 s."""
_POLL_SECONDS: Final = 0.05


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
        """Location of the tokens, for a sentence."""

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
        """Return the tokens of a scheme; None if nobody is logged in.

        Raises:
            ConfigurationError: the keyring is locked, or does not answer.
        """
        with _report_keyring_errors():
            return _decode(self._keyring.get_password(self._program, scheme))

    def save(self, scheme: str, tokens: Tokens) -> None:
        """Store the tokens of a scheme."""
        with _report_keyring_errors():
            self._keyring.set_password(self._program, scheme, json.dumps(asdict(tokens)))

    def delete(self, scheme: str) -> None:
        """Forget the tokens of a scheme."""
        if self.load(scheme) is not None:
            with _report_keyring_errors():
                self._keyring.delete_password(self._program, scheme)


class FileTokens:
    """Tokens in files that only their owner can read, one for each scheme."""

    def __init__(self, folder: Path) -> None:
        """Store in this folder, which is created when it is needed."""
        self._folder = folder

    @property
    def place(self) -> str:
        """Location of the tokens, for a sentence."""
        return f"a file in {self._folder}, which only you can read"

    def load(self, scheme: str) -> Tokens | None:
        """Return the tokens of a scheme; None if nobody is logged in.

        Raises:
            ConfigurationError: other users can read the file, or you cannot.
        """
        path = self._find_path(scheme)
        try:
            with path.open("rb") as file:
                mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
                content = file.read()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise ConfigurationError(f"{path} cannot be read: {error.strerror}") from None
        if os.name == "posix" and mode & 0o077:
            raise ConfigurationError(
                f"other users can read {path}, so its tokens are not used: run `chmod 600 {path}`"
            )
        return _decode(content.decode(errors="replace"))

    def save(self, scheme: str, tokens: Tokens) -> None:
        """Store the tokens of a scheme.

        Raises:
            ConfigurationError: the file cannot be written.
        """
        path = self._find_path(scheme)
        new = path.with_suffix(f".{os.getpid()}")
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            new.unlink(missing_ok=True)
            descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(json.dumps(asdict(tokens)).encode())
            new.replace(path)
        except OSError as error:
            raise ConfigurationError(f"{path} cannot be written: {error.strerror}") from None

    def delete(self, scheme: str) -> None:
        """Forget the tokens of a scheme.

        Raises:
            ConfigurationError: the file cannot be deleted.
        """
        path = self._find_path(scheme)
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise ConfigurationError(f"{path} cannot be deleted: {error.strerror}") from None

    def _find_path(self, scheme: str) -> Path:
        return self._folder / f"account-{_digest(scheme)}.json"


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


@asynccontextmanager
async def hold_lock(folder: Path, scheme: str) -> AsyncIterator[None]:
    """Lock the tokens of a scheme: one process of the user renews or replaces them at a time.

    The operating system releases the lock of a process that ends.

    Raises:
        ToolError: another process has not released the lock for `LOCK_SECONDS`.
        ConfigurationError: the file of the lock cannot be opened.
    """
    path = _find_lock(folder, scheme)
    handle = _open_lock(path)
    try:
        until = time.monotonic() + LOCK_SECONDS
        while not _try_lock(handle):
            if time.monotonic() >= until:
                raise ToolError(
                    f"Another process has used the account for {LOCK_SECONDS:g} seconds: try again,"
                    f" and if that does not help, end the processes that have {path} open."
                )
            await asyncio.sleep(_POLL_SECONDS)
        yield
    finally:
        os.close(handle)  # releases the lock


def mark_change(folder: Path, scheme: str) -> int:
    """Notify running servers that stored tokens have changed; return the mark.

    Call this after the change, while the tokens are locked.
    """
    now = time.time_ns()
    with contextlib.suppress(OSError):  # without a mark, tokens are used until they expire
        os.utime(_find_lock(folder, scheme), ns=(now, now))
    return find_change(folder, scheme)


def find_change(folder: Path, scheme: str) -> int:
    """Return the mark of the last change; 0 if there is none. It costs one `stat`.

    The keyring cannot be asked in this time, so the mark is the time of the file of the lock.
    """
    try:
        return _find_lock(folder, scheme).stat().st_mtime_ns
    except OSError:
        return 0


@lru_cache(maxsize=16)
def _find_lock(folder: Path, scheme: str) -> Path:
    return folder / f"account-{_digest(scheme)}.lock"


def _open_lock(path: Path) -> int:
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be opened: {error.strerror}") from None


def _try_lock(handle: int) -> bool:
    """Lock an open file; return False if another one has locked it."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    except OSError:
        return True  # the file system has no locks
    return True


def _digest(scheme: str) -> str:
    """Return a name for files: that of a scheme may have any characters."""
    return hashlib.sha256(scheme.encode()).hexdigest()[:16]


@contextlib.contextmanager
def _report_keyring_errors() -> Iterator[None]:
    from keyring.errors import KeyringError

    try:
        yield
    except KeyringError as error:
        raise ConfigurationError(
            f"the keyring of this system cannot be used ({type(error).__name__}): unlock it"
        ) from None


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

"""Install servers into the files of clients, remove them, and undo the last change."""

from __future__ import annotations

import contextlib
import difflib
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct, field

from mcpgen.factory.clients.config_text import ConfigText
from mcpgen.factory.clients.entries import Entry, EntryError, InstalledServer, build_entry
from mcpgen.factory.clients.records import (
    FileRecord,
    Installed,
    Operation,
    Records,
    hash_content,
)
from mcpgen.factory.clients.registry import InstallClient, Scope, read_install_clients
from mcpgen.factory.clients.texts import ConfigSyntaxError, Traces, UneditableError
from mcpgen.jsonschema.types import JsonObject
from mcpgen.pipeline.project.disk import write_atomically


class RejectedFileError(Exception):
    """A file of a client that was left as it is; `snippet` is the entry to add by hand."""

    def __init__(
        self, path: Path, message: str, *, line: int = 0, column: int = 0, snippet: str = ""
    ) -> None:
        super().__init__(message)
        self.path = path
        self.line = line
        self.column = column
        self.snippet = snippet


class ExistingEntryError(Exception):
    """An entry of the same name that mcpgen did not write."""

    def __init__(self, path: Path, name: str) -> None:
        super().__init__(f"`{name}` exists in {path}, and mcpgen did not write it")


class ChangedSinceError(Exception):
    """A file that was changed by somebody else meanwhile, and was therefore left as it is."""


class SecretInRepositoryError(Exception):
    """A secret in clear text would be written into a git work tree."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"{path} is in a git work tree, and would contain a secret")


class Change(Struct):
    """The change of one file, not written yet."""

    path: Path  # a link is resolved
    before: bytes | None  # None: the file does not exist
    after: bytes | None  # None: the file is deleted
    record: FileRecord
    link: Path | None = None  # that leads to `path`
    is_private: bool = True  # a new file is readable by the user alone
    clients: list[InstallClient] = field(default_factory=list)
    variables: list[str] = field(default_factory=list)  # that the client's environment needs

    @property
    def is_empty(self) -> bool:
        """Whether the file has the content already."""
        return self.before == self.after

    def diff(self) -> str:
        """Return the change as a unified diff."""
        old, new = (
            (content or b"").decode(errors="replace").splitlines(keepends=True)
            for content in (self.before, self.after)
        )
        name = str(self.link or self.path)
        found = difflib.unified_diff(
            old, new, name, name if self.after is not None else "/dev/null"
        )
        return "".join(line if line.endswith("\n") else f"{line}\n" for line in found)


def make_snippet(client: InstallClient, name: str, entry: Entry) -> str:
    """Return an entry as a text to paste into the file of a client."""
    config = ConfigText(b"", client.format, client.keys, is_list=client.is_list)
    config.insert(name, entry.content, Traces())
    for each in entry.inputs:
        config.add_input(client.inputs, each, Traces())
    return config.text


class Installer:
    """Prepares changes, several of which can concern one file; `write` writes them."""

    def __init__(self, records: Records, folder: Path) -> None:
        self._records = records
        self._folder = folder
        self._changes: dict[Path, Change] = {}

    @property
    def changes(self) -> list[Change]:
        """The prepared changes that change something."""
        return [each for each in self._changes.values() if not each.is_empty]

    def add(
        self,
        server: InstalledServer,
        client: InstallClient,
        scope: Scope,
        *,
        replaces: bool,
        inline_secrets: bool,
    ) -> Change:
        """Prepare an entry.

        Raises:
            EntryError: the client cannot have this server.
            RejectedFileError: its file cannot be read or edited.
            ExistingEntryError: the file has another entry of this name, without `replaces`.
            SecretInRepositoryError: a secret would be written into a git work tree.
        """
        path = client.find_file(scope, server.name, self._folder)
        if path is None:
            raise EntryError(
                f"{client.title} has no file for this scope",
                "use --scope user" if scope == "project" else "use --scope project",
            )
        omits = client.project_omits if scope == "project" else ()
        entry = build_entry(server, client, inline_secrets=inline_secrets, omits=omits)
        if entry.has_secret and _is_in_work_tree(path):
            raise SecretInRepositoryError(path)
        change = self._open(path)
        change.is_private = scope == "user"
        if change.before is None and not change.clients and scope == "project":
            change.record.initial = client.spell_project_head(server.name)
            change.after = change.record.initial.encode() or None
        try:
            config, is_nested = self._parse(change, client)
            if is_nested and client.nested is not None:
                omits = (*omits, *client.nested.omits)
                entry = build_entry(server, client, inline_secrets=inline_secrets, omits=omits)
            known = change.record.entries.get(server.name)
            if server.name in config.read_servers():
                if known is None and not replaces:
                    raise ExistingEntryError(path, server.name)
                self._remove(change, config, server.name)
            traces = change.record.traces
            inserted = config.insert(server.name, entry.content, traces)
            for each in entry.inputs:
                config.add_input(client.inputs, each, traces)
        except (ConfigSyntaxError, UneditableError) as error:
            snippet = make_snippet(client, server.name, entry)
            raise _reject(path, error, snippet) from None
        change.after = config.content
        ids = [str(each["id"]) for each in entry.inputs]
        clients = [*(known.clients if known is not None else ()), client.id]
        change.record.entries[server.name] = Installed([*dict.fromkeys(clients)], inserted, ids)
        change.clients.append(client)
        change.variables += entry.variables
        return change

    def remove(self, name: str, client: InstallClient, scope: Scope) -> Change | None:
        """Prepare the removal of an entry that mcpgen wrote; None if there is none.

        Raises:
            RejectedFileError: the file cannot be read or edited.
        """
        for path in client.candidates(scope, name, self._folder):
            resolved = path.resolve()
            known = self._records.find(resolved).entries.get(name)
            if known is None or client.id not in known.clients:
                continue
            change = self._open(path)
            change.clients.append(client)
            own = change.record.entries[name]
            own.clients.remove(client.id)
            if own.clients:  # another client reads the same file
                return change
            try:
                config, _ = self._parse(change, client)
                if name in config.read_servers():
                    self._remove(change, config, name)
                    needed = {it for each in change.record.entries.values() for it in each.inputs}
                    config.remove_inputs(
                        client.inputs, {*own.inputs} - needed, change.record.traces
                    )
                    change.after = config.content
                else:  # the user removed it
                    del change.record.entries[name]
            except (ConfigSyntaxError, UneditableError) as error:
                raise _reject(path, error) from None
            is_initial = config.text.strip() == change.record.initial.strip()
            if change.record.is_created and not change.record.entries and is_initial:
                change.after = None
            return change
        return None

    def write(self) -> None:
        """Write all changes, after their backups.

        Raises:
            ChangedSinceError: a file was changed after it was read; nothing was written.
            RecordsError: the backups cannot be stored; nothing was written.
            OSError: a file cannot be written; files before it are.
        """
        changes = self.changes
        for change in changes:  # a client may write its file while the user confirms
            if _read_content(change.path) != change.before:
                raise ChangedSinceError(str(change.path))
            if change.before is None:
                change.record.created_folders = [
                    str(each) for each in change.path.parents if not each.exists()
                ]
        files = [(str(it.path), it.before, hash_content(it.after)) for it in changes]
        self._records.begin(Operation(files, {}), [it.record for it in self._changes.values()])
        for change in changes:
            put_content(change.path, change.after, is_private=change.is_private)
            if change.after is None:
                remove_folders(change.record)

    def _open(self, path: Path) -> Change:
        resolved = path.resolve()
        if resolved not in self._changes:
            try:
                content = _read_content(resolved)
            except OSError as error:
                raise RejectedFileError(path, error.strerror or str(error)) from None
            record = self._records.find(resolved)
            if content is None:
                record.is_created = True
            link = path if path.is_symlink() else None
            self._changes[resolved] = Change(resolved, content, content, record, link)
        return self._changes[resolved]

    def _parse(self, change: Change, client: InstallClient) -> tuple[ConfigText, bool]:
        """Return the configuration, and whether it has the nested key of the client."""
        content = change.after or b""
        config = ConfigText(content, client.format, client.keys, is_list=client.is_list)
        if client.nested is not None:
            inner = config.read_servers().get(client.nested.key)
            if isinstance(inner, dict) and not {"type", "command", "url"} & inner.keys():
                keys = (*client.keys, client.nested.key)
                return ConfigText(content, client.format, keys), True
        return config, False

    def _remove(self, change: Change, config: ConfigText, name: str) -> None:
        known = change.record.entries.pop(name, None)
        is_last = known is not None and not change.record.entries
        inserted = known.inserted if known is not None else ""
        config.remove(name, inserted, change.record.traces, is_last=is_last)


def _reject(path: Path, error: ValueError, snippet: str = "") -> RejectedFileError:
    line, column = getattr(error, "line", 0), getattr(error, "column", 0)
    return RejectedFileError(path, str(error), line=line, column=column, snippet=snippet)


def _read_content(path: Path) -> bytes | None:
    """Return the content of a file; None if it does not exist."""
    return path.read_bytes() if path.exists() else None


def put_content(path: Path, content: bytes | None, *, is_private: bool = True) -> None:
    """Write a file and its folders, or delete it; a private one is the user's alone.

    Raises:
        OSError: the file cannot be written.
    """
    if content is None:
        path.unlink(missing_ok=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, content, mode=0o600 if is_private else 0o644)


def remove_folders(record: FileRecord) -> None:
    """Remove the folders that were made for a file, if they are empty."""
    for folder in record.created_folders:
        with contextlib.suppress(OSError):
            Path(folder).rmdir()


def undo(records: Records) -> list[Path]:
    """Restore the files of the last operation and return their paths; [] if there is none.

    Raises:
        ChangedSinceError: a file was changed since; nothing was restored.
        RecordsError: the records cannot be written.
        OSError: a file cannot be written.
    """
    operation = records.last
    if operation is None:
        return []
    for text, before, after in operation.files:
        path = Path(text)
        if hash_content(_read_content(path)) not in (after, hash_content(before)):
            raise ChangedSinceError(str(path))
    for text, before, _ in operation.files:
        record = records.find(Path(text))
        put_content(Path(text), before)
        if before is None:
            remove_folders(record)
    records.end_undo()
    return [Path(text) for text, _, _ in operation.files]


class Listed(Struct, frozen=True):
    """One server in the file of a client."""

    client: InstallClient
    scope: Scope
    path: Path
    name: str
    entry: JsonObject
    is_ours: bool


def list_servers(
    records: Records, folder: Path, clients: Sequence[InstallClient] = ()
) -> Iterator[Listed | RejectedFileError]:
    """Yield the servers in the files of clients, and the files that cannot be read."""
    for client in clients or read_install_clients().values():
        scopes: tuple[Scope, ...] = ("user", "project")
        for scope in scopes:
            for path in _list_files(client, scope, folder):
                try:
                    yield from _list_file(records, client, scope, path)
                except ConfigSyntaxError as error:
                    yield RejectedFileError(path, str(error), line=error.line, column=error.column)
                except OSError as error:
                    yield RejectedFileError(path, error.strerror or str(error))


def _list_files(client: InstallClient, scope: Scope, folder: Path) -> list[Path]:
    found = []
    for path in client.candidates(scope, "*", folder):
        found += sorted(path.parent.glob(path.name)) if "*" in path.name else [path]
    return [each for each in found if each.is_file()]


def _list_file(
    records: Records, client: InstallClient, scope: Scope, path: Path
) -> Iterator[Listed]:
    config = ConfigText(path.read_bytes(), client.format, client.keys, is_list=client.is_list)
    servers = config.read_servers()
    if client.nested is not None and isinstance(inner := servers.get(client.nested.key), dict):
        servers = {**servers, **inner}
    ours = records.find(path.resolve()).entries
    for name, entry in servers.items():
        if isinstance(entry, dict) and _is_server(entry):
            is_ours = name in ours and client.id in ours[name].clients
            yield Listed(client, scope, path, name, entry, is_ours)


def _is_server(entry: Mapping[str, object]) -> bool:
    return bool(entry.keys() & {"command", "cmd", "url", "uri", "serverUrl", "httpUrl"})


def describe_entry(entry: JsonObject) -> str:
    """Return the command or the URL of an entry in one line."""
    for key in ("url", "uri", "serverUrl", "httpUrl"):
        if isinstance(entry.get(key), str):
            return str(entry[key])
    command = entry.get("command", entry.get("cmd"))
    words = [*command] if isinstance(command, list) else [command, *entry.get("args", ())]
    return " ".join(str(word) for word in words)


def _is_in_work_tree(path: Path) -> bool:
    """Whether git would track a file: it is in a work tree, and not ignored."""
    folder = next((each for each in path.resolve().parents if each.is_dir()), None)
    if folder is None or not any((each / ".git").exists() for each in (folder, *folder.parents)):
        return False
    try:
        ignored = subprocess.run(  # noqa: S603  (a fixed command and a path)
            ["git", "-C", str(folder), "check-ignore", "--quiet", str(path.resolve())],  # noqa: S607  (git of PATH)
            check=False,
            capture_output=True,
        )
    except OSError:
        return True
    return ignored.returncode != 0

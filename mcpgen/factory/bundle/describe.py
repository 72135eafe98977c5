"""Reads the description of a server from its project."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from msgspec import Struct

from mcpgen.contract.server_settings import SERVER_SETTINGS, list_applicable
from mcpgen.contract.setting_kinds import ServerSetting
from mcpgen.diagnostics import Location, Problems, RejectedError
from mcpgen.factory.bundle.description import BundleDescription, Kind, Setting, Tool
from mcpgen.factory.bundle.project_files import (
    collect_project_files,
    collect_skills,
    report_secrets,
)
from mcpgen.factory.lint.listing import Listing
from mcpgen.factory.packages import GeneratedPackage
from mcpgen.jsonschema.types import JsonObject
from mcpgen.pipeline.project.project_folder import read_file
from mcpgen.pipeline.project.surfaces import find_package_version
from mcpgen.text.hosts import is_private
from mcpgen.text.prose import one_line, shorten

_LIMIT: Final = 100  # characters of `title` and `description` in the MCP registry
_REGISTRY_NAME: Final = re.compile(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+")
_VERSION: Final = re.compile(r"\d+(?:\.\d+)*[a-zA-Z0-9.+-]*")
_COMMIT: Final = re.compile(r"[0-9a-f]{40}")
_EXAMPLE_NAMESPACES: Final = ("com.example/", "org.example/")
_KINDS: Final[dict[str, Kind]] = {
    "boolean": "boolean",
    "integer": "number",
    "number": "number",
    "switch": "boolean",
}
_BY_NAME: Final = {setting.name: setting for setting in SERVER_SETTINGS}
_REPOSITORY_LABELS: Final = ("repository", "source", "source code", "github")
_HOMEPAGE_LABELS: Final = ("homepage", "home page", "documentation")


class _Project(Struct, frozen=True):
    """Metadata in `pyproject.toml`."""

    name: str
    author: str
    author_email: str
    license: str
    requires_python: str
    keywords: tuple[str, ...]
    urls: dict[str, str]  # by label in lower case

    def find_url(self, labels: tuple[str, ...]) -> str:
        return next((self.urls[label] for label in labels if label in self.urls), "")


def describe_server(
    package: GeneratedPackage,
    listing: Listing,
    problems: Problems,
    *,
    public_url: str = "",
    source_commit: str = "",
) -> BundleDescription:
    """Return the description of a server that lists these tools.

    Raises:
        RejectedError: its project contradicts itself or a format, as reported to `problems`.
    """
    _check_options(public_url, source_commit, problems)
    project = _read_project(package.directory, problems)
    entry = _read_registry_entry(package.directory, project, problems)
    version = find_package_version(partial(read_file, package.directory))
    if not _VERSION.fullmatch(version):
        problems.error(
            "bundle-metadata",
            f"invalid version `{version}`" if version else "the package has no version",
            at=Location("pyproject.toml"),
            help='state it in `src/PACKAGE/__init__.py`: `__version__ = "0.1.0"`',
        )
    files = collect_project_files(package, problems)
    skills = collect_skills(package, problems)
    report_secrets(package, {**files, **skills}, problems)
    if problems.has_errors:
        raise RejectedError
    _report_gaps(project, entry, files, problems)
    if listing.has_unknown_tools:
        _report_unknown_tools(problems)
    contract = package.contract
    title = one_line(str(entry.get("title") or contract.get("title") or contract["name"]))
    return BundleDescription(
        name=contract["name"],
        distribution=project.name,
        package=package.name,
        version=version,
        title=shorten(title, _LIMIT),
        summary=entry["description"],
        description=one_line(str(contract.get("description") or entry["description"])),
        author=project.author or entry["name"].partition("/")[0],
        author_email=project.author_email,
        license=project.license,
        homepage=project.find_url(_HOMEPAGE_LABELS),
        repository=project.find_url(_REPOSITORY_LABELS),
        requires_python=project.requires_python,
        keywords=project.keywords,
        public_url=public_url,
        source_commit=source_commit,
        settings=tuple(_list_settings(contract)),
        tools=tuple(
            Tool(it["name"], it.get("description", ""), it.get("inputSchema", {}))
            for it in listing.tools
        ),
        has_unknown_tools=listing.has_unknown_tools or listing.has_search,
        has_prompts=bool(listing.prompts),
        files=files,
        skills=skills,
        registry_entry=entry,
    )


def _check_options(public_url: str, source_commit: str, problems: Problems) -> None:
    if public_url:
        try:
            parts = urlsplit(public_url)
            host = parts.hostname or ""
            is_valid = parts.scheme == "https" and bool(host) and not parts.username
        except ValueError:
            is_valid, host = False, ""
        if not is_valid or "#" in public_url or is_private(host):
            problems.error(
                "public-url",
                "expected an https URL of a public host, without user name and fragment",
                why="clients on other machines connect to it",
                help="give the URL of the MCP endpoint: `--public-url https://mcp.example.com/mcp`",
            )
    if source_commit and not _COMMIT.fullmatch(source_commit):
        problems.error(
            "source-commit",
            "expected a commit of 40 hexadecimal digits",
            why="the catalogue builds the image from this very commit",
            help="`--source-commit $(git rev-parse HEAD)`",
        )


def _read_project(directory: Path, problems: Problems) -> _Project:
    """Read `pyproject.toml`.

    Raises:
        RejectedError: it cannot be read.
    """
    try:
        table = tomllib.loads((read_file(directory, "pyproject.toml") or b"").decode())["project"]
        author = (table.get("authors") or [{}])[0]
        license_ = table.get("license", "")
        return _Project(
            name=str(table["name"]),
            author=str(author.get("name", "")),
            author_email=str(author.get("email", "")),
            license=license_ if isinstance(license_, str) else str(license_.get("text", "")),
            requires_python=str(table.get("requires-python", "")),
            keywords=tuple(map(str, table.get("keywords", ()))),
            urls={str(label).lower(): str(url) for label, url in table.get("urls", {}).items()},
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        problems.error(
            "bundle-metadata",
            "`pyproject.toml` is missing or invalid",
            at=Location("pyproject.toml"),
            why="it has the name and the author of the package",
            help="`mcpgen generate` writes it again if it is missing",
        )
        raise RejectedError from None


def _read_registry_entry(directory: Path, project: _Project, problems: Problems) -> JsonObject:
    """Read `server.json`, and check it and the README by the rules of the MCP registry.

    Raises:
        RejectedError: it cannot be read.
    """
    try:
        entry: Any = json.loads(read_file(directory, "server.json") or b"")
        is_complete = all(isinstance(entry[key], str) for key in ("name", "description"))
        lists = [entry.get(key, []) for key in ("packages", "remotes")]
        items = [item for each in lists for item in each]
        is_complete = is_complete and all(isinstance(item, dict) for item in items)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        entry, is_complete = {}, False
    if not is_complete:
        problems.error(
            "bundle-metadata",
            "`server.json` is missing or invalid",
            at=Location("server.json"),
            why="it has the name and the description of the server",
            help="`mcpgen generate` writes it again if it is missing",
        )
        raise RejectedError
    for message in _list_faults(entry, project):
        problems.error(
            "bundle-metadata",
            message,
            at=Location("server.json"),
            why="the MCP registry rejects it",
            help="edit `server.json`",
        )
    if f"mcp-name: {entry['name']}" not in (read_file(directory, "README.md") or b"").decode(
        "utf-8", errors="replace"
    ):
        problems.error(
            "mcp-name",
            f"README.md does not contain `mcp-name: {entry['name']}`",
            at=Location("README.md"),
            why="the MCP registry finds there that the package belongs to this server",
            help=f"add `<!-- mcp-name: {entry['name']} -->` before you publish the package",
        )
    return dict(entry)


def _list_faults(entry: JsonObject, project: _Project) -> Iterator[str]:
    name, title = entry["name"], entry.get("title", "")
    if not _REGISTRY_NAME.fullmatch(name) or len(name) > 200:
        yield f"invalid name `{name}`: expected a reverse domain name, one `/` and a name"
    if not 1 <= len(entry["description"]) <= _LIMIT:
        yield f"`description` has {len(entry['description'])} characters; 1 to {_LIMIT} are allowed"
    if isinstance(title, str) and len(title) > _LIMIT:
        yield f"`title` has {len(title)} characters; at most {_LIMIT} are allowed"
    own = [
        it.get("identifier") for it in entry.get("packages", ()) if it.get("registryType") == "pypi"
    ]
    if own and project.name not in own:
        yield f"no package has the identifier `{project.name}`, the name in `pyproject.toml`"


def _report_gaps(
    project: _Project, entry: JsonObject, files: dict[str, bytes], problems: Problems
) -> None:
    """Note what the owner should state before publishing."""
    namespace = entry["name"].partition("/")[0]
    if entry["name"].startswith(_EXAMPLE_NAMESPACES):
        problems.note(
            "example-namespace",
            f"the server is published as `{entry['name']}`, in a namespace for examples",
            help="change the name in `server.json` and README.md to a domain of yours, in reverse",
        )
    if not project.author:
        problems.note(
            "missing-author",
            f"pyproject.toml states no author, so `{namespace}` is named",
            help='add to `[project]`: `authors = [{name = "…", email = "…"}]`',
        )
    if not project.license and not any(path.startswith("LICEN") for path in files):
        problems.note(
            "missing-license",
            "the package states no license",
            why="the directory of Claude Code plugins requires one",
            help='add a file `LICENSE`, or `license = "…"` to `[project]` of pyproject.toml',
        )
    if not project.find_url(_REPOSITORY_LABELS):
        problems.note(
            "missing-repository",
            "pyproject.toml states no repository, so server.yaml has no `source`",
            help='add `[project.urls]` with `Repository = "https://…"`',
        )
    if not any(path.startswith("vendor/") for path in files):
        problems.note(
            "runtime-not-vendored",
            "the bundles do not contain mcpgen, whose runtime the server imports",
            why="`uv` installs it from the package index of the user's machine",
            help="`mcpgen generate --vendor-runtime` adds it",
        )


def _report_unknown_tools(problems: Problems) -> None:
    problems.note(
        "hand-written-tools",
        "the lists of tools do not contain the hand-written tools",
        why="only the running server knows them",
        help="`--start` starts the server and lists its tools",
    )


def _list_settings(contract: JsonObject | Any) -> Iterator[Setting]:
    """Yield the settings of a server over stdio: of its API first, then those of the runtime."""
    prefix: str = contract["env_prefix"]
    limits = contract.get("limits", {})
    for item in contract["environment"]:
        setting = _BY_NAME.get(item["name"].removeprefix(prefix))
        if setting is None or not setting.over_http:
            yield _describe_own(prefix, item)
    declared = {item["name"] for item in contract["environment"]}
    for setting in list_applicable(prefix, declared):
        if setting.for_users:
            yield _describe_common(prefix, setting, limits.get(setting.limit, setting.default))


def _describe_own(prefix: str, item: JsonObject) -> Setting:
    """Return a setting of the contract."""
    part = item.get("part", "")
    kind = _KINDS.get(part) or _KINDS.get(item.get("schema", {}).get("type", ""), "string")
    if part.endswith("_file"):
        kind = "file"
    is_required = bool(item.get("required"))
    if not is_required and kind != "file" and part != "switch":
        kind = "string"  # the only kind that can be left empty
    return Setting(
        name=item["name"],
        title=_make_title(prefix, item["name"]),
        description=one_line(item.get("description", "")) or item["name"],
        kind=kind,
        is_required=is_required,
        is_secret=bool(item.get("secret")),
        default=False if kind == "boolean" and not is_required else "",
        example="" if item.get("secret") else one_line(str(item.get("example", ""))),
    )


def _describe_common(prefix: str, setting: ServerSetting, default: str | float) -> Setting:
    """Return a setting of the runtime; `default` is that of the server."""
    name = prefix + setting.name
    is_number = _KINDS.get(setting.kind) == "number" and default != ""
    choices = f" One of {', '.join(setting.choices)}." if setting.choices else ""
    is_secret = setting.secret
    number = float(default) if is_number else 0.0
    return Setting(
        name=name,
        title=_make_title(prefix, name),
        description=f"{setting.description}{choices}",
        kind="number" if is_number else "string",
        is_secret=is_secret,
        default=(int(number) if number.is_integer() else number) if is_number else str(default),
        minimum=_round_finite(setting.minimum) if is_number else None,
        maximum=_round_finite(setting.maximum) if is_number else None,
    )


def _round_finite(value: float) -> float | None:
    """Return a bound, as an integer if possible; None if it is infinite."""
    if value in (float("inf"), float("-inf")):
        return None
    return int(value) if float(value).is_integer() else value


def _make_title(prefix: str, name: str) -> str:
    return name.removeprefix(prefix).replace("_", " ").capitalize()

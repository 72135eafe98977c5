"""Loader of a generated package: its definition at start-up, its handlers at the first call."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from types import ModuleType

from mcpgen.contract.limits import DEFAULT_LIMITS, Limits
from mcpgen.runtime.errors import ConfigurationError
from mcpgen.runtime.process.log import hide_in_log, locate_error
from mcpgen.runtime.protocol.jsonrpc import TASKS_EXTENSION
from mcpgen.runtime.protocol.prepared_list import PreparedList, split_tools
from mcpgen.runtime.protocol.server_definition import ServerDefinition
from mcpgen.runtime.protocol.versions import REVISIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from mcpgen.runtime.auth.scopes import ScopeRules
    from mcpgen.runtime.code.run_code import CodeMode
    from mcpgen.runtime.content import JsonObject
    from mcpgen.runtime.handlers.context import ToolProvider
    from mcpgen.runtime.handlers.declared import Declared
    from mcpgen.runtime.handlers.dispatcher import Dispatcher
    from mcpgen.runtime.handlers.features import Features
    from mcpgen.runtime.skills.files import SkillFiles
    from mcpgen.runtime.state.store import Store
    from mcpgen.runtime.tools.registry import ToolRegistry, UserConnections
    from mcpgen.runtime.tools.tool import ToolGroup
    from mcpgen.runtime.upstream.http.messages import Sender

SKILLS_EXTENSION = "io.modelcontextprotocol/skills"
SKILLS_ON_A_PAGE = 100
_FEATURE_WORDS = (b"Features",)
_HOOK_WORDS = (b"override", b"before", b"after")


class ServerPackage:
    """A generated package: its definition, handlers and hand-written features.

    Loading it reads two files and imports nothing but the package, unless its `handlers/` add
    tools, resources or prompts. The handlers of the tools, and what `handlers/` overrides of them,
    come with `load_hot`.
    """

    def __init__(self, module: ModuleType, *, generated_only: bool = False) -> None:
        self.name = module.__name__
        self._generated_only = generated_only
        self.version = str(getattr(module, "__version__", "0"))
        self._module = module
        self.contract = self._read_contract()
        self._listing = self._read_list("search_listing" if self.has_search else "listing")
        self.features = self._load_features()
        self.declared = self._load_declared()
        self._skill_files: SkillFiles | None = None
        self.definition = self._make_definition()
        self._environ: Mapping[str, str] | None = None
        self._variables: Sequence[str] = ()
        self._secret_file_problems: Sequence[ConfigurationError] = ()
        self._limits: Limits | None = None

    @property
    def environ(self) -> Mapping[str, str]:
        """The environment of the process with the secrets that are in files, read once."""
        if self._environ is None:
            self._read_environment()
        return self._environ or {}

    @property
    def variables(self) -> Sequence[str]:
        """Names in the environment of the process that settings of this server may have."""
        if self._environ is None:
            self._read_environment()
        return self._variables

    @property
    def secret_file_problems(self) -> Sequence[ConfigurationError]:
        """Reasons why files that contain secrets cannot be used."""
        if self._environ is None:
            self._read_environment()
        return self._secret_file_problems

    @property
    def limits(self) -> Limits:
        """The limits of the server, read once.

        Raises:
            ConfigurationError: a setting has an invalid value.
        """
        if self._limits is None:
            if "limits" in self.contract or self.variables:
                from mcpgen.runtime.startup.limits import read_limits

                self._limits = read_limits(self.contract, self.environ)
            else:  # most servers
                self._limits = DEFAULT_LIMITS
        return self._limits

    @classmethod
    def load(cls, package: str, *, generated_only: bool = False) -> ServerPackage:
        """Find the importable package of this name and read its definition.

        `generated_only` ignores `handlers/`.

        Raises:
            ConfigurationError: a file of `_generated` is missing or damaged, or a module of
                `handlers/` cannot be imported.
        """
        return cls(import_module(package), generated_only=generated_only)

    def list_toolsets(self, names: Iterable[str]) -> None:
        """List only the tools of these toolsets; `all` stands for every tool.

        Tools that are not listed can still be called.

        Raises:
            UnknownToolsetError: there is no toolset of one of these names.
        """
        from mcpgen.runtime.tools.tool import select_lines

        toolsets = json.loads(self._read("_generated/toolsets.json"))
        always = self.contract.get("handles", {}).values()
        self._listing = select_lines(names, toolsets, self._read_list("listing"), always=always)
        self.definition = self._make_definition()

    @property
    def program(self) -> str:
        """The name of its command: "petstore-mcp"."""
        return self.name.removesuffix("_mcp").replace("_", "-") + "-mcp"

    @property
    def caller_headers(self) -> tuple[str, ...] | None:
        """The headers of MCP requests with credentials of callers for the API, sorted.

        None if callers have no credentials of their own.
        """
        if "credentials" not in self.contract:
            return None
        sources = self.contract["credentials"].values()
        return tuple(sorted({source["header"] for source in sources if "header" in source}))

    def read_tool_contracts(self) -> dict[str, JsonObject]:
        """Read the contracts of the generated tools, by name, without their handlers."""
        return {
            name: tool
            for group in self.contract.get("groups", ())
            for name, tool in json.loads(self._read(f"_generated/tools/{group}.json"))[
                "tools"
            ].items()
        }

    def read_merged_contracts(self) -> dict[str, JsonObject]:
        """Read the contracts of the merged tools, by name; their operations have tools as well."""
        if not self.contract.get("merged"):
            return {}
        tools: dict[str, JsonObject] = json.loads(self._read("_generated/merged.json"))["tools"]
        return tools

    def import_tool_groups(self) -> list[ToolGroup]:
        """Import the generated handlers of the tools, by group."""
        return [
            import_module(f"{self.name}._generated.tools.{group}").tools
            for group in self.contract.get("groups", ())
        ]

    def read_handler_sources(self) -> dict[str, bytes]:
        """Read the modules of `handlers/`, by path in the package, sorted."""
        if self._generated_only:
            return {}
        folder = f"{self._module.__path__[0]}/handlers"
        try:
            names = sorted(os.listdir(folder))  # noqa: PTH208  (importing pathlib costs 9 ms)
        except OSError:
            return {}
        return {
            f"handlers/{name}": self._read(f"handlers/{name}")
            for name in names
            if name.endswith(".py") and os.path.isfile(f"{folder}/{name}")  # noqa: PTH113
        }

    def load_hot(
        self,
        environ: Mapping[str, str] | None = None,
        *,
        send: Sender | None = None,
        store: Store | None = None,
        connect: UserConnections | None = None,
    ) -> ToolRegistry:
        """Import the handlers of the tools and return the tool registry.

        `store` is what the replicas of the server share. `connect` has the accounts of users, over
        HTTP.

        Raises:
            ConfigurationError: handlers and contract disagree, or the environment has a value
                that cannot be used.
        """
        from mcpgen.runtime.handlers.overrides import list_hooks
        from mcpgen.runtime.tools.registry import ToolRegistry
        from mcpgen.runtime.upstream.client import ApiClient

        groups = self.import_tool_groups()
        if self.contract.get("workflows"):
            groups.append(import_module(f"{self.name}._generated.workflows").tools)
        merged = None
        if self.contract.get("merged"):
            from mcpgen.runtime.tools.tool import ToolGroup

            merged = ToolGroup.load(f"{self.name}._generated", "merged.json")
        client = ApiClient(
            self.contract,
            self.environ if environ is None else environ,
            send=send,
            accounts=None if connect is None else connect.accounts,
            store=store,
        )
        hooks = list_hooks(map(_import_handlers, self._list_handler_modules(_HOOK_WORDS)))
        aliases = self.contract.get("aliases", {})
        scopes = self._load_scopes()
        declared = None
        if self.declared is not None:
            from mcpgen.runtime.handlers.declared_calls import DeclaredFeatures

            declared = DeclaredFeatures(self.declared, self.features, self._read)
        registry = ToolRegistry(
            groups,
            client,
            hooks,
            merged=merged,
            aliases=aliases,
            features=self.features if declared is None else declared,
            scopes=scopes,
        )
        if declared is not None:
            declared.registry = registry
        if connect is not None:
            connect.client, registry.connector = client, connect.connector
        return registry

    @property
    def has_shared_store(self) -> bool:
        """Whether STATE_URL names a store that this process shares with others."""
        prefix = self.contract.get("env_prefix", "")
        return self.environ.get(f"{prefix}STATE_URL", "").strip() not in {"", "memory:"}

    def open_store(self, environ: Mapping[str, str] | None = None) -> Store | None:
        """Open the store that this process shares with others; None if STATE_URL names none.

        Raises:
            ConfigurationError: it cannot be used.
        """
        environ = self.environ if environ is None else environ
        prefix = self.contract.get("env_prefix", "")
        if not environ.get(f"{prefix}STATE_URL", "").strip():
            return None
        from mcpgen.runtime.state.open_store import open_shared_store

        return open_shared_store(self.contract, environ)

    def make_dispatcher(
        self,
        environ: Mapping[str, str] | None = None,
        *,
        send: Sender | None = None,
        store: Store | None = None,
        connect: UserConnections | None = None,
    ) -> Dispatcher:
        """Load the handlers and return a dispatcher, one for all connections of a process.

        The dispatcher closes the store.

        Raises:
            ConfigurationError: as `load_hot`.
        """
        from mcpgen.runtime.handlers.dispatcher import Dispatcher
        from mcpgen.runtime.process.memory_budget import decoding_budget, response_budget
        from mcpgen.runtime.startup.limits import read_limits
        from mcpgen.runtime.startup.rate_limit import read_rate_limiter
        from mcpgen.runtime.state.request_state import KeyRingCipher

        limits = self.limits if environ is None else read_limits(self.contract, environ)
        environ = self.environ if environ is None else environ
        response_budget.resize(limits.max_buffered_bytes)
        decoding_budget.resize(limits.max_response_bytes)
        registry = self.load_hot(environ, send=send, store=store, connect=connect)
        tools = self.add_search(registry, environ)
        keys = f"{self.contract.get('env_prefix', '')}STATE_KEYS"
        state_cipher = KeyRingCipher.from_environment(
            keys, environ, lifetime_seconds=limits.question_timeout_seconds, store=store
        )
        hide_in_log(lambda text: registry.redactor().clean(text))
        dispatcher = Dispatcher(
            tools,
            registry.features,
            state_cipher=state_cipher,
            limits=limits,
            rate_limiter=read_rate_limiter(self.contract, environ, store),
            redactor=registry.redactor,
            store=store,
        )
        if self.definition.has_tasks:
            from mcpgen.runtime.startup.tasks import make_task_service

            dispatcher.task_service = make_task_service(
                dispatcher, self.definition, self.contract, self.program, environ, limits=limits
            )
        if "handles" in self.contract:
            from mcpgen.runtime.startup.stored_results import make_stored_results

            listed = self._find_tool_object(self.contract["handles"]["tool"])
            dispatcher.results = make_stored_results(registry, self.contract, listed, limits, store)
        return dispatcher

    def _find_tool_object(self, name: str) -> JsonObject:
        """Return the Tool object of a generated tool."""
        for line in self._listing:
            tool: JsonObject
            if (tool := json.loads(line))["name"] == name:
                return tool
        raise ConfigurationError(f"the tool list of `{self.name}` lacks `{name}`")

    @property
    def has_search(self) -> bool:
        """Whether clients search for tools instead of listing them."""
        return "search" in self.contract

    def add_search(self, registry: ToolRegistry, environ: Mapping[str, str]) -> ToolProvider:
        """Wrap the registry in tool search, if the server has it.

        Raises:
            ConfigurationError: SEARCH_MODEL has an invalid value.
        """
        if not self.has_search:
            return registry
        from mcpgen.runtime.startup.search_model import find_model
        from mcpgen.runtime.tools.search import ToolSearch

        return ToolSearch(
            registry,
            registry.features,
            PreparedList("tools", self._read_list("search_listing")).items,
            self.contract["search"],
            read_index=lambda: self._read("_generated/search_index.jsonl"),
            code=self._make_code_mode(registry) if "code" in self.contract else None,
            model=find_model(self.contract, environ),
        )

    def _make_code_mode(self, registry: ToolRegistry) -> CodeMode:
        from msgspec import convert

        from mcpgen.contract.code_mode import STUBS_FILE, CodeBounds
        from mcpgen.runtime.code.run_code import CodeMode

        return CodeMode(
            registry,
            convert(self.contract["code"], CodeBounds),
            lambda: self._read(f"_generated/{STUBS_FILE}"),
            describe=self.contract["search"]["describe"],
        )

    def _make_definition(self) -> ServerDefinition:
        contract = self.contract
        info = {"name": contract["name"], "version": self.version}
        keys = ("title", "description", "icons")
        info |= {key: contract[key] for key in keys if contract.get(key)}
        definition = ServerDefinition(
            info, contract.get("instructions", ""), PreparedList("tools", self._listing)
        )
        if "revisions" in contract:
            served = tuple(row for row in REVISIONS if row.name in contract["revisions"])
            definition = definition.replace(revisions=served)
        if self.features is not None:
            aliases = contract.get("aliases", {})
            definition = self.features.extend(definition, self._listing, aliases)
        if self.declared is not None:
            definition = self.declared.extend(definition)
        if "tasks" in contract or (self.features is not None and self.features.has_tasks):
            definition = definition.replace(
                extensions={**definition.extensions, TASKS_EXTENSION: {}}
            )
        if "skills" in contract or self._has_own_skills:
            definition = self._add_skills(definition)
        if "handles" in contract and definition.resources is None:
            definition = definition.replace(
                resources=PreparedList("resources"),  # those of stored results are not listed
                resource_templates=PreparedList("resourceTemplates"),
            )
        if self.features is not None:
            self.features.check_completions(definition)
        if "views" in contract:
            from mcpgen.runtime.apps.views import ServerViews  # few servers have views

            views = ServerViews(contract["name"], json.loads(self._read("_generated/views.json")))
            definition = definition.replace(views=views)
        return definition

    @property
    def _own_skills(self) -> str:
        """The folder of the skills that the owner wrote."""
        return f"{self._module.__path__[0]}/skills"

    @property
    def _has_own_skills(self) -> bool:
        return not self._generated_only and os.path.isdir(self._own_skills)  # noqa: PTH112  (importing pathlib costs 9 ms)

    def _add_skills(self, definition: ServerDefinition) -> ServerDefinition:
        """Return the definition with the skills, which are read when a client requests them."""
        others = definition.resources

        def list_resources() -> list[bytes]:
            return [
                *(() if others is None else others.lines),
                *self.open_skill_files().list_resources(),
            ]

        return definition.replace(
            resources=PreparedList("resources", list_resources),
            resource_templates=definition.resource_templates or PreparedList("resourceTemplates"),
            extensions={**definition.extensions, SKILLS_EXTENSION: {"directoryRead": True}},
            skills=PreparedList(
                "skills", lambda: self.open_skill_files().list_entries(), page_size=SKILLS_ON_A_PAGE
            ),
            open_skill_files=self.open_skill_files,
        )

    def open_skill_files(self) -> SkillFiles:
        """Load the skills, once.

        Raises:
            ProtocolError: the index of the generated skills is missing or damaged.
        """
        if self._skill_files is None:
            from mcpgen.runtime.skills.files import SkillFiles

            self._skill_files = SkillFiles(
                self._read,
                has_generated="skills" in self.contract,
                own_folder=self._own_skills if self._has_own_skills else "",
            )
        return self._skill_files

    def _load_declared(self) -> Declared | None:
        """Read the resources and prompts of the manifest; most servers have none."""
        if "declares" not in self.contract:
            return None
        from mcpgen.runtime.handlers.declared import Declared

        resources, prompts = (
            json.loads(self._read(f"_generated/{kind}.json")) for kind in ("resources", "prompts")
        )
        return Declared(resources, prompts)

    def _load_scopes(self) -> ScopeRules | None:
        """Return the scopes that tools require of authorized callers; few servers have any."""
        if "authorization" not in self.contract:
            return None
        from mcpgen.runtime.auth.scopes import ScopeRules, make_tool_scopes

        includes = self.contract["authorization"].get("includes")
        return ScopeRules((), make_tool_scopes(self.contract), includes)

    def _load_features(self) -> Features | None:
        """Import the modules of `handlers/` that add features; most servers have none."""
        modules = self._list_handler_modules(_FEATURE_WORDS)
        if not modules:
            return None
        from mcpgen.runtime.handlers.features import Features

        return Features.join(map(_import_handlers, modules))

    def _list_handler_modules(self, words: tuple[bytes, ...]) -> list[str]:
        """Name the modules of `handlers/` whose source has one of these words, sorted."""
        return [
            f"{self.name}.{path.removesuffix('.py').replace('/', '.')}".removesuffix(".__init__")
            for path, source in self.read_handler_sources().items()
            if any(word in source for word in words)
        ]

    def _read_environment(self) -> None:
        environ = dict(os.environ)  # a copy: each look at `os.environ` decodes what it finds
        self._environ = environ
        declared = {setting["name"] for setting in self.contract.get("environment", ())}
        prefixes = (self.contract.get("env_prefix", ""), "OTEL_")
        self._variables = [
            name
            for name in environ
            if name.startswith(prefixes) or name.removesuffix("_FILE") in declared
        ]
        if any(name.endswith("_FILE") for name in self._variables):
            from mcpgen.runtime.startup.secret_files import ResolvedEnvironment

            resolved = ResolvedEnvironment(self.contract, environ)
            self._environ, self._secret_file_problems = resolved.environ, resolved.problems

    def _read_contract(self) -> dict[str, Any]:
        name = "_generated/contract.json"
        try:
            contract = json.loads(self._read(name))
        except ValueError as error:
            raise ConfigurationError(f"`{name}` of `{self.name}` is damaged: {error}") from None
        if not isinstance(contract, dict) or "name" not in contract:
            raise ConfigurationError(f"`{name}` of `{self.name}` is damaged: it names no server")
        return contract

    def _read_list(self, name: str) -> list[bytes]:
        """Read the Tool objects of a generated list, each as compact JSON."""
        path = f"_generated/{name}.json"
        try:
            return split_tools(self._read(path))
        except ValueError as error:
            raise ConfigurationError(f"`{path}` of `{self.name}` is damaged: {error}") from None
        except ConfigurationError as missing:
            try:  # packages of earlier versions have a file of JSON Lines instead
                return self._read(f"{path}l").splitlines()
            except ConfigurationError:
                raise missing from None

    def _read(self, name: str) -> bytes:
        spec = self._module.__spec__
        try:
            # The loader reads from a zip archive as well as from a folder.
            data: bytes = spec.loader.get_data(f"{self._module.__path__[0]}/{name}")  # type: ignore[union-attr]  # a module that was imported has a loader
        except OSError:
            raise ConfigurationError(f"`{name}` of `{self.name}` is missing") from None
        return data


def _import_handlers(module: str) -> ModuleType:
    try:
        return import_module(module)
    except Exception as error:  # the boundary: a module may raise anything
        path, line = locate_error(error)
        if isinstance(error, SyntaxError):
            path, line = error.filename or path, error.lineno or line
        if not isinstance(error, ConfigurationError):
            text = f"`{module}` cannot be imported: {type(error).__name__}: {error}"
        elif str(error).startswith(f"{path}:"):
            raise
        else:
            text = str(error)
        raise ConfigurationError(f"{path}:{line}: {text}") from error

"""The wizard of `mcpgen new`: it asks for values without an option, and prints those options."""

from __future__ import annotations

import glob
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from mcpgen.cli import prompts, questions
from mcpgen.diagnostics import Problems
from mcpgen.ir.api import SAFE_METHODS, Operation
from mcpgen.ir.manifest import SelectRule
from mcpgen.ir.manifest_entries import CredentialEntry
from mcpgen.text.counts import format_count

if TYPE_CHECKING:
    from mcpgen.ir.credentials import CredentialDestination, HiddenCredential
    from mcpgen.pipeline.options import Options
    from mcpgen.pipeline.survey import Survey

_INTRODUCTION = (
    "Enter takes the default, ? explains a question, Ctrl-C ends without writing anything."
)
_ALL, _READING, _TAGS, _READING_TAGS = "all", "reading", "tags", "reading of tags"
_ABOUT_SOURCE = (
    "The OpenAPI or Swagger document of the API, in JSON or YAML: the path of a file, or an http(s)"
    " URL. The path of a manifest (mcpgen.yaml) is possible too. Argument: SOURCE."
)
_ABOUT_NAME = (
    "Lower-case words of letters and digits, joined by `-`. The name becomes part of the package"
    " NAME_mcp, of the command NAME-mcp and of the settings NAME_BASE_URL and so on. Option:"
    " --name; in mcpgen.yaml: `server.name`."
)
_ABOUT_FOLDER = (
    "The folder of the new project. It is created; one that exists must be empty. Argument: DIR."
)
_ABOUT_OPERATIONS = (
    "Each operation becomes a tool. Clients put the list of tools into the context of the model, so"
    " it costs tokens in every conversation. A list over the budget is replaced by three tools that"
    " search, describe and call all others (search mode); models then need more steps. Options:"
    " --include and --exclude; in mcpgen.yaml: `select`, `budget` and `toolsets`."
)
_ABOUT_BASE_URL = (
    "Requests go to this URL, followed by the path of the operation. The environment variable"
    " NAME_BASE_URL replaces it when the server starts. Option: --base-url; in mcpgen.yaml:"
    " `base_url` of the source."
)
_ABOUT_SCHEME = (
    "From the environment, all callers share the credential of the operator. With accounts, each"
    " user logs in at the API (OAuth 2): over stdio with `NAME-mcp login`, over HTTP in the"
    " browser, which needs authorization of callers. Option: --credential SCHEME=user; in"
    " mcpgen.yaml: `credentials`."
)
_ABOUT_PROJECT = (
    "The files around the code: the Python version of the container, workflows of GitHub Actions,"
    " pre-commit, files for deployment, the namespace in the MCP registry. Option: --data"
    " KEY=VALUE."
)


class Wizard:
    """One run of the wizard; it collects the answers that have no option."""

    def __init__(self) -> None:
        self._is_introduced = False
        self._without_option: list[str] = []  # keys of the manifest
        self._confirmed: list[str] = []

    def ask_source(self) -> str:
        """Ask where the API description is."""
        self._introduce()
        return prompts.ask_text(
            "Where is the API description? A file or a URL:",
            "",
            _ABOUT_SOURCE,
            find_fault=_find_source_fault,
            is_path=True,
        )

    def choose(
        self, survey: Survey, options: Options, target: Path | None
    ) -> tuple[Options, Path | None]:
        """Ask for the name, the folder, the operations, the base URL, credentials and templates.

        Raises:
            KeyboardInterrupt: the user cancels.
        """
        self._introduce()
        name = options.name or prompts.ask_text(
            "Name of the server, from the title of the API:",
            survey.suggested_name,
            _ABOUT_NAME,
            find_fault=_find_name_fault,
        )
        if target is None:
            target = Path(
                prompts.ask_text(
                    "Folder of the project:",
                    f"{name}-mcp",
                    _ABOUT_FOLDER,
                    find_fault=_find_folder_fault,
                    is_path=True,
                )
            )
        options = replace(options, name=name)
        if not (options.include or options.exclude):
            include, exclude = _ask_operations(survey)
            options = replace(options, include=include, exclude=exclude)
        if not options.base_url:
            options = replace(options, base_url=_ask_base_url(survey, name))
        credentials = {**options.credentials, **_ask_schemes(survey, options.credentials)}
        answers = _ask_template(options.answers)
        return replace(options, credentials=credentials, answers=answers), target

    def decide(self, credential: HiddenCredential) -> HiddenCredential:
        """Ask how to treat a parameter that looks like an undeclared credential."""
        decided = questions.decide_credential(credential)
        if decided != credential:
            self._without_option += [
                key
                for key, entries in (
                    ("sources.security_schemes", credential.schemes or decided.schemes),
                    ("sources.security", credential.security or decided.security),
                    ("operations.parameters", credential.parameters),
                )
                if entries and key not in self._without_option
            ]
        return decided

    def confirm(self, destination: CredentialDestination) -> bool:
        """Ask whether an origin may receive credentials."""
        is_confirmed = questions.confirm_origin(destination)
        if is_confirmed:
            self._confirmed.append(destination.origin)
        return is_confirmed

    def repeat(self, source: str, target: Path, options: Options) -> list[str]:
        """Return the command that gives the same answers, and what it cannot express."""
        origins = (*options.confirmed_origins, *self._confirmed)
        command = spell_command(source, target, replace(options, confirmed_origins=origins))
        if not self._without_option:
            return [command]
        keys = ", ".join(f"`{key}`" for key in self._without_option)
        return [command, f"# then write {keys} as in this mcpgen.yaml"]

    def _introduce(self) -> None:
        if not self._is_introduced:
            self._is_introduced = True
            prompts.show(_INTRODUCTION)


def spell_command(source: str, target: Path, options: Options) -> str:
    """Return the `new` command with these options, which asks nothing."""
    words = ["mcpgen", "new", source, target.as_posix(), "--defaults", "--name", options.name]
    repeated: list[tuple[str, Sequence[str]]] = [
        ("--include", options.include),
        ("--exclude", options.exclude),
        ("--base-url", [options.base_url] if options.base_url else []),
        ("--credential", [_spell_credential(*item) for item in options.credentials.items()]),
        ("--confirm-origin", options.confirmed_origins),
        ("--data", [f"{key}={value}" for key, value in _list_changed_answers(options.answers)]),
    ]
    words += [word for option, values in repeated for value in values for word in (option, value)]
    words += [] if options.models else ["--no-models"]
    words += ["--code"] if options.code else []
    words += ["--strict"] if options.strict else []
    return shlex.join(words)


def _spell_credential(scheme: str, entry: CredentialEntry) -> str:
    return f"{scheme}={entry.from_}{f':{entry.header}' if entry.header else ''}"


def _list_changed_answers(answers: Mapping[str, str]) -> list[tuple[str, str]]:
    template = questions.read_template_questions()
    defaults = {key: str(question.get("default", "")) for key, question in template.items()}
    return [(key, value) for key, value in answers.items() if value != defaults.get(key)]


def _find_source_fault(answer: str) -> str:
    if answer.startswith(("http://", "https://")) or Path(answer).is_file():
        return ""
    return "there is no such file, and it is no http(s) URL"


def _find_name_fault(answer: str) -> str:
    from mcpgen.manifest.manifest import NAME_RULE, is_server_name

    return "" if is_server_name(answer) else NAME_RULE


def _find_folder_fault(answer: str) -> str:
    from mcpgen.pipeline.project.project_folder import refuse_target

    problems = Problems()
    refuse_target(Path(answer), problems)
    return next((problem.message for problem in problems), "")


def _ask_operations(survey: Survey) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Ask which operations become tools; return the globs to include and to exclude."""
    operations = survey.api.operations
    reading = tuple(it for it in operations if it.method in SAFE_METHODS)
    tags = sorted({tag for it in operations for tag in it.tags or (it.tag,)})
    choices = [(_ALL, f"all: {_describe(survey, operations)}")]
    if 0 < len(reading) < len(operations):
        choices.append((_READING, f"only those that read: {_describe(survey, reading)}"))
    if len(tags) > 1:
        choices.append((_TAGS, f"those of some of the {len(tags)} tags"))
    if len(choices) == 3:
        choices.append((_READING_TAGS, "only those that read, of some tags"))
    if len(choices) == 1:
        return (), ()
    chosen = prompts.ask_choice("Which operations become tools?", choices, _ALL, _ABOUT_OPERATIONS)
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    if chosen == _READING:
        include = _list_methods(reading)
    if chosen == _READING_TAGS:
        exclude = _list_methods([it for it in operations if it.method not in SAFE_METHODS])
    if chosen in (_TAGS, _READING_TAGS):
        include = _ask_tags(survey, tags, exclude)
        prompts.show(f"{_describe(survey, survey.select(_make_rules(include, exclude)))}.")
    return include, exclude


def _ask_tags(survey: Survey, tags: Sequence[str], exclude: tuple[str, ...]) -> tuple[str, ...]:
    shown: list[tuple[str, str]] = []
    for tag in tags:
        pattern = glob.escape(tag)
        operations = survey.select(_make_rules((pattern,), exclude))
        tokens = survey.measure(operations)
        if operations:
            about = f"{format_count(len(operations), 'operation')}, about {tokens:,} tokens"
            shown.append((pattern, f"{tag}: {about}"))
    return tuple(prompts.ask_choices("Which tags?", shown, _ABOUT_OPERATIONS))


def _make_rules(include: Sequence[str], exclude: Sequence[str]) -> list[SelectRule]:
    """Return the rules in the order in which a first manifest has them."""
    return [
        *(SelectRule(exclude=pattern) for pattern in exclude),
        *(SelectRule(include=pattern) for pattern in include),
    ]


def _list_methods(operations: Sequence[Operation]) -> tuple[str, ...]:
    return tuple(f"{method} *" for method in sorted({it.method for it in operations}))


def _describe(survey: Survey, operations: Sequence[Operation]) -> str:
    """Describe a selection with its cost: "14 operations, about 3,442 tokens"."""
    tokens = survey.measure(operations)
    cost = f"{format_count(len(operations), 'operation')}, about {tokens:,} tokens"
    if tokens <= survey.budget:
        return cost
    return f"{cost}, over the budget of {survey.budget:,}: in search mode"


def _ask_base_url(survey: Survey, name: str) -> str:
    """Ask for the base URL, unless the document has exactly one, an absolute one.

    "" means the first URL of the document.
    """
    absolute = [url for url in survey.servers if _is_absolute(url)]
    if len(survey.servers) == 1 and absolute:
        return ""
    if len(absolute) > 1:
        choices = [(url, url) for url in absolute]
        chosen = prompts.ask_choice(
            f"Which of the {len(absolute)} servers of the document?",
            choices,
            absolute[0],
            _ABOUT_BASE_URL,
        )
        return "" if chosen == survey.servers[0] else chosen
    variable = f"{name.replace('-', '_').upper()}_BASE_URL"
    return prompts.ask_text(
        f"Base URL of the API, since the document has none (Enter: {variable} states it later):",
        "",
        _ABOUT_BASE_URL,
        find_fault=lambda answer: (
            "" if not answer or _is_absolute(answer) else "expected http://… or https://…"
        ),
    )


def _is_absolute(url: str) -> bool:
    return url.startswith(("http://", "https://"))


def _ask_schemes(
    survey: Survey, decided: Mapping[str, CredentialEntry]
) -> dict[str, CredentialEntry]:
    """Ask where the credential comes from, for schemes by which users can connect accounts."""
    answers: dict[str, CredentialEntry] = {}
    for scheme in survey.user_schemes:
        if scheme.id in decided:
            continue
        chosen = prompts.ask_choice(
            f"Where does the credential of the security scheme `{scheme.id}` come from?",
            [
                ("environment", "the environment of the server: one account for all callers"),
                ("user", "each user, who logs in at the API (OAuth 2)"),
            ],
            "environment",
            _ABOUT_SCHEME,
        )
        if chosen == "user":
            answers[scheme.id] = CredentialEntry(from_="user")
    return answers


def _ask_template(preset: Mapping[str, str]) -> dict[str, str]:
    """Ask for the answers to the questions of the project's template."""
    answers = dict(preset)
    left = {
        key: question
        for key, question in questions.read_template_questions().items()
        if key not in answers
    }
    if not left:
        return answers
    defaults = {key.replace("_", " "): question.get("default") for key, question in left.items()}
    shown = ", ".join(f"{key} {value}" for key, value in defaults.items() if value != "no")
    if prompts.ask_yes(f"Default project files ({shown})?", _ABOUT_PROJECT, default=True):
        return answers
    for key, question in left.items():
        answers[key] = _ask_template_question(key, question)
    return answers


def _ask_template_question(key: str, question: Mapping[str, Any]) -> str:
    default, text = str(question.get("default", "")), str(question["help"])
    about = f"{text} Option: --data {key}=…"
    if choices := question.get("choices"):
        return prompts.ask_choice(text, [(it, it) for it in choices], default, about)
    return prompts.ask_text(text, default, about)

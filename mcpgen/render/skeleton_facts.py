"""Variables of the copier template of the project skeleton, escaped for the file with them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from itertools import groupby

from mcpgen.contract.server_settings import GROUPS, list_applicable
from mcpgen.contract.setting_kinds import ServerSetting
from mcpgen.ir.credentials import CredentialDestination, HiddenCredential
from mcpgen.ir.first_steps import FirstSteps
from mcpgen.ir.manifest_entries import CredentialEntry
from mcpgen.ir.tool_plan import EnvironmentVariable, ServerPlan, ToolPlan, ToolSearch
from mcpgen.jsonschema.types import JsonObject, JsonValue
from mcpgen.render.environment import (
    Markdown,
    markdown_code,
    markdown_paragraph,
    markdown_text,
    quote,
    scalar_text,
)
from mcpgen.render.manifest_yaml import (
    base_url_entry,
    comment_exclude,
    comment_operations,
    comment_proposals,
    credential_entries,
    origin_entries,
    parameter_entries,
    source_entries,
)
from mcpgen.render.views import purpose, short_title
from mcpgen.text.invisible import SafeText
from mcpgen.text.prose import first_phrase, one_line, shorten

_FORMATS = {"boolean": "boolean", "integer": "number", "number": "number"}  # of server.json
_NO_STEPS = FirstSteps()
_NO_SOURCES: Mapping[str, CredentialEntry] = {}
_ABOUT_STEPS = (
    "# Examples of common changes. To use a line, remove the `# ` of the line and of the keys",
    "# above it. `mcpgen schema manifest` describes all keys.",
)
_ABOUT_HANDLES = (
    "# A result that is cut is stored for 30 minutes, and `read_result` reads the rest.",
)
_REGISTRY_TEXT_LIMIT = 100  # of `description` and `title` in server.json (MCP registry)


def skeleton_facts(
    plan: ServerPlan,
    document: str,
    *,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    base_url: str = "",
    sources: Mapping[str, CredentialEntry] = _NO_SOURCES,
    credentials: Sequence[HiddenCredential] = (),
    steps: FirstSteps = _NO_STEPS,
    schema_file: str = "",
) -> dict[str, SafeText]:
    """Return everything of the plan that the skeleton's templates show, by name.

    `document` is the vendored document's path, "" for none; `include`, `exclude`, `base_url`,
    `sources` (of credentials, by security scheme), `credentials`, `steps` and `schema_file` are
    what the first manifest records of the command line, of the document and of the workspace.
    """
    title = shorten(one_line(plan.title) or plan.name, _REGISTRY_TEXT_LIMIT)
    description = one_line(plan.description) or f"{title}, as MCP tools"
    summary = first_phrase(description) or title
    return {
        "title_markdown": markdown_text(title),
        "title_docstring": short_title(plan),
        "title_json": _json(title),
        "description_markdown": markdown_paragraph(description),
        "description_toml": quote(shorten(summary, 200)),
        "short_description_json": _json(shorten(summary, _REGISTRY_TEXT_LIMIT)),
        "api": SafeText("yes" if plan.has_document else ""),
        "document": quote(document) if document else SafeText(""),
        "environment_file": _environment_file(plan),
        "environment_json": _environment_json(plan),
        "environment_markdown": _environment_table(plan),
        "env_prefix": SafeText(plan.env_prefix),
        "operation_settings_markdown": _operation_settings(plan),
        "extras": SafeText(",".join(plan.required_extras)),
        "mcpgen_version": SafeText(version("mcpgen")),
        "parameters_yaml": parameter_entries(credentials),
        "steps_yaml": SafeText(
            comment_operations(
                steps, has_operations=any(credential.parameters for credential in credentials)
            )
            + comment_proposals(steps)
        ),
        "schema_comment": _schema_comment(schema_file),
        "security_yaml": SafeText(
            base_url_entry(base_url)
            + source_entries(credentials)
            + origin_entries(_to_confirm(plan))
        ),
        "selection_yaml": SafeText(
            credential_entries(sources) + _selection(plan, include, exclude, steps)
        ),
        "tools_markdown": _about_tools(plan),
    }


def _schema_comment(schema_file: str) -> SafeText:
    """Return the comment by which editors find the JSON Schema of the manifest."""
    if schema_file:
        return SafeText(f"# yaml-language-server: $schema={one_line(schema_file)}")
    return SafeText("# `mcpgen schema --help` states how an editor completes and checks this file.")


def _to_confirm(plan: ServerPlan) -> list[CredentialDestination]:
    """Return the destinations that the first manifest states: confirmed by the user, or open."""
    stated = plan.credential_origins.get("", ())
    return [
        it
        for it in plan.destinations
        if not it.source and (not it.is_confirmed or it.origin in stated)
    ]


def _json(value: JsonValue, indent: int | None = None) -> SafeText:
    return SafeText(json.dumps(value, indent=indent))


def _environment_file(plan: ServerPlan) -> SafeText:
    entries: list[str] = []
    for variable in plan.environment:
        use = variable.use.capitalize()
        secret = ", secret" if variable.secret else ""
        comment = shorten(one_line(variable.description), 160)
        end = "" if comment.endswith((".", "!", "?", "…")) else "."
        example = f" Example: {one_line(variable.example)}" if variable.example else ""
        entries.append(f"# {comment}{end} {use}{secret}.{example}\n{_name(variable)}=")
    return SafeText("\n\n".join([*entries, *_optional_settings(plan)]))


def _optional_settings(plan: ServerPlan) -> Iterator[str]:
    """Yield the settings of the runtime as comments with their defaults, each group as one text."""
    yield (
        "# The settings below are optional. A secret may also be in a file: NAME_FILE contains its"
        "\n# path in place of NAME, as for the secrets above."
    )
    for group, settings in _group_settings(plan):
        lines = [f"# {GROUPS[group]}"]
        for setting in settings:
            default = plan.limits.get(setting.limit, setting.default)
            secret = " Secret." if setting.secret else ""
            lines += ["#", f"# {setting.description}{secret}"]
            lines.append(f"# {plan.env_prefix}{setting.name}={default}")
        yield "\n".join(lines)


def _group_settings(plan: ServerPlan) -> Iterator[tuple[str, list[ServerSetting]]]:
    """Yield the settings of the server other than its own, by group."""
    declared = {variable.name for variable in plan.environment}
    applicable = list_applicable(plan.env_prefix, declared)
    for group, settings in groupby(applicable, lambda setting: setting.group):
        yield group, list(settings)


def _environment_json(plan: ServerPlan) -> SafeText:
    entries: list[JsonObject] = [
        {
            "name": _name(variable),
            "description": shorten(scalar_text(one_line(variable.description)), 200),
            "isRequired": variable.required,
            "isSecret": variable.secret,
            "format": _FORMATS.get(variable.reads_as.get("type", ""), "string"),
        }
        for variable in plan.environment
    ]
    for _, settings in _group_settings(plan):
        entries += [_describe_setting(plan, setting) for setting in settings if setting.for_users]
    return SafeText(_json(entries, indent=2).replace("\n", "\n      "))


def _describe_setting(plan: ServerPlan, setting: ServerSetting) -> JsonObject:
    default = plan.limits.get(setting.limit, setting.default)
    return (
        {
            "name": plan.env_prefix + setting.name,
            "description": shorten(setting.description, 200),
            "isRequired": False,
            "isSecret": setting.secret,
            "format": _FORMATS.get(setting.kind, "string"),
        }
        | ({"default": f"{default}"} if default != "" else {})
        | ({"choices": list(setting.choices)} if setting.choices else {})
    )


def _operation_settings(plan: ServerPlan) -> Markdown:
    """Return a table of the settings of the runtime: a row for each group."""
    rows = [
        f"| {GROUPS[group]} | {', '.join(markdown_code(setting.name) for setting in settings)} |"
        for group, settings in _group_settings(plan)
    ]
    return Markdown("\n".join(["| group | settings |", "|---|---|", *rows]))


def _environment_table(plan: ServerPlan) -> Markdown:
    rows = [
        f"| {markdown_code(_name(variable))} | {markdown_text(variable.description)} |"
        f" {markdown_text(variable.use)} |"
        for variable in plan.environment
    ]
    table = "\n".join(["| variable | description | use |", "|---|---|---|", *rows])
    return Markdown(f"{table}{_about_credentials(plan)}")


def _about_credentials(plan: ServerPlan) -> str:
    """Return a paragraph on the headers with credentials of callers; "" if there are none."""
    rows = [
        f"| {markdown_code(scheme.credential.header)} | {markdown_code(scheme.id)} |"
        for scheme in plan.api.security_schemes
        if scheme.credential.header
    ]
    if not rows:
        return ""
    sentence = "Each MCP request over HTTP needs the caller's own credentials, in these headers:"
    return "\n".join(["", "", sentence, "", "| header | security scheme |", "|---|---|", *rows])


def _about_tools(plan: ServerPlan) -> Markdown:
    table, search = _tool_table(plan), plan.search
    if search is None:
        return table
    if search.run:
        return _about_code_mode(plan, search, table)
    shown = [markdown_code(name) for name in search.names]
    listed = "".join(f", {markdown_code(name)}" for name in search.also_listed)
    return Markdown(
        f"They are too many to list. Clients see {shown[0]}, {shown[1]} and {shown[2]}{listed},\n"
        "by which a model finds, reads and calls the others."
        f" `{plan.distribution} --toolset NAME,NAME`\n"
        "lists the tools of some tags in their place, and `--toolset all` every tool.\n\n"
        f"{table}"
    )


def _about_code_mode(plan: ServerPlan, search: ToolSearch, table: Markdown) -> Markdown:
    shown = [markdown_code(name) for name in (*search.names, *search.also_listed)]
    return Markdown(
        f"The server is in code mode. Clients see {', '.join(shown)}: a model finds tools, reads\n"
        f"them as Python functions, and calls several of them in one run of {shown[3]}.\n"
        f"`{plan.distribution} --toolset NAME,NAME` lists the tools of some tags in their place,\n"
        f"and `--toolset all` every tool.\n\n{table}"
    )


def _tool_table(plan: ServerPlan) -> Markdown:
    entries = {tool.name: (_name_operations(tool), purpose(tool)) for tool in plan.listed_tools}
    entries |= {
        workflow.name: (
            f"workflow of {len(workflow.steps)} steps",
            first_phrase(workflow.description),
        )
        for workflow in plan.workflows
    }
    rows = [
        f"| {markdown_code(name)} | {markdown_code(operation)} |"
        f" {markdown_text(shorten(does, 120))} |"
        for name, (operation, does) in sorted(entries.items())
    ]
    return Markdown("\n".join(["| tool | operation | does |", "|---|---|---|", *rows]))


def _name_operations(tool: ToolPlan) -> str:
    return f"{len(tool.merges)} operations" if tool.merges else tool.operation.key


def _selection(
    plan: ServerPlan, include: Sequence[str], exclude: Sequence[str], steps: FirstSteps
) -> SafeText:
    lines = [] if plan.has_models else ["", "models: false"]
    if plan.handles is not None:
        lines += ["", *_ABOUT_HANDLES, "results:", "  handles: true"]
    lines += [] if plan.code_bounds is None else ["", "code: true"]
    commented = comment_exclude(steps)
    if commented or steps.operations:
        lines += ["", *_ABOUT_STEPS]
    if include or exclude:
        lines += ["", "select:", *commented]
        lines += [f"  - exclude: {quote(pattern)}" for pattern in exclude]
        lines += [f"  - include: {quote(pattern)}" for pattern in include]
    elif commented:
        lines += ["# select:", *commented]
    return SafeText("\n".join(lines))


def _name(variable: EnvironmentVariable) -> str:
    if not variable.name.isidentifier() or not variable.name.isascii():
        raise ValueError(f"not the name of an environment variable: {variable.name!r}")
    return variable.name

"""Variables of the copier template of the project skeleton, escaped for the file with them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from importlib.metadata import version

from mcpgen.ir.credentials import CredentialDestination, HiddenCredential
from mcpgen.ir.first_steps import FirstSteps
from mcpgen.ir.tool_plan import EnvironmentVariable, ServerPlan
from mcpgen.jsonschema.types import JsonValue
from mcpgen.render.environment import (
    Markdown,
    markdown_code,
    markdown_paragraph,
    markdown_text,
    quote,
    scalar_text,
)
from mcpgen.render.manifest_yaml import (
    comment_exclude,
    comment_operations,
    origin_entries,
    parameter_entries,
    source_entries,
)
from mcpgen.render.views import purpose, short_title
from mcpgen.text.invisible import SafeText
from mcpgen.text.prose import first_phrase, one_line, shorten

_FORMATS = {"boolean": "boolean", "integer": "number", "number": "number"}  # of server.json
_NO_STEPS = FirstSteps()
_ABOUT_STEPS = (
    "# Examples of common changes. To use a line, remove the `# ` of the line and of the keys",
    "# above it. `mcpgen schema manifest` describes all keys.",
)
_REGISTRY_TEXT_LIMIT = 100  # of `description` and `title` in server.json (MCP registry)


def skeleton_facts(
    plan: ServerPlan,
    document: str,
    *,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    credentials: Sequence[HiddenCredential] = (),
    steps: FirstSteps = _NO_STEPS,
    schema_file: str = "",
) -> dict[str, SafeText]:
    """Return everything of the plan that the skeleton's templates show, by name.

    `document` is the vendored document's path, "" for none; `include`, `exclude`, `credentials`,
    `steps` and `schema_file` are what the first manifest records of the command
    line, of the document and of the workspace.
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
        "environment_file": _environment_file(plan.environment),
        "environment_json": _environment_json(plan.environment),
        "environment_markdown": _environment_table(plan),
        "extras": SafeText(",".join(plan.required_extras)),
        "mcpgen_version": SafeText(version("mcpgen")),
        "parameters_yaml": parameter_entries(credentials),
        "steps_yaml": comment_operations(
            steps, has_operations=any(credential.parameters for credential in credentials)
        ),
        "schema_comment": _schema_comment(schema_file),
        "security_yaml": SafeText(source_entries(credentials) + origin_entries(_to_confirm(plan))),
        "selection_yaml": _selection(plan, include, exclude, steps),
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


def _environment_file(environment: Iterable[EnvironmentVariable]) -> SafeText:
    entries: list[str] = []
    for variable in environment:
        use = variable.use.capitalize()
        secret = ", secret" if variable.secret else ""
        comment = shorten(one_line(variable.description), 160)
        end = "" if comment.endswith((".", "!", "?", "…")) else "."
        example = f" Example: {one_line(variable.example)}" if variable.example else ""
        entries.append(f"# {comment}{end} {use}{secret}.{example}\n{_name(variable)}=")
    return SafeText("\n\n".join(entries))


def _environment_json(environment: Iterable[EnvironmentVariable]) -> SafeText:
    entries = [
        {
            "name": _name(variable),
            "description": shorten(scalar_text(one_line(variable.description)), 200),
            "isRequired": variable.required,
            "isSecret": variable.secret,
            "format": _FORMATS.get(variable.reads_as.get("type", ""), "string"),
        }
        for variable in environment
    ]
    return SafeText(_json(entries, indent=2).replace("\n", "\n      "))


def _environment_table(plan: ServerPlan) -> Markdown:
    rows = [
        f"| {markdown_code(_name(variable))} | {markdown_text(variable.description)} |"
        f" {markdown_text(variable.use)} |"
        for variable in plan.environment
    ]
    return Markdown("\n".join(["| variable | description | use |", "|---|---|---|", *rows]))


def _about_tools(plan: ServerPlan) -> Markdown:
    table, search = _tool_table(plan), plan.search
    if search is None:
        return table
    shown = [markdown_code(name) for name in (search.search, search.describe, search.call)]
    listed = "".join(f", {markdown_code(name)}" for name in search.also_listed)
    return Markdown(
        f"They are too many to list. Clients see {shown[0]}, {shown[1]} and {shown[2]}{listed},\n"
        "by which a model finds, reads and calls the others."
        f" `{plan.distribution} --toolset NAME,NAME`\n"
        "lists the tools of some tags in their place, and `--toolset all` every tool.\n\n"
        f"{table}"
    )


def _tool_table(plan: ServerPlan) -> Markdown:
    told = {tool.name: (tool.operation.key, purpose(tool)) for tool in plan.listed_tools}
    told |= {
        workflow.name: (
            f"workflow of {len(workflow.steps)} steps",
            first_phrase(workflow.description),
        )
        for workflow in plan.workflows
    }
    rows = [
        f"| {markdown_code(name)} | {markdown_code(operation)} |"
        f" {markdown_text(shorten(does, 120))} |"
        for name, (operation, does) in sorted(told.items())
    ]
    return Markdown("\n".join(["| tool | operation | does |", "|---|---|---|", *rows]))


def _selection(
    plan: ServerPlan, include: Sequence[str], exclude: Sequence[str], steps: FirstSteps
) -> SafeText:
    lines = [] if plan.has_models else ["", "models: false"]
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

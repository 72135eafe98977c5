"""Lists of the resources and prompts that the manifest declares."""

from __future__ import annotations

from mcpgen.runtime.errors import ConfigurationError
from mcpgen.runtime.protocol.jsonrpc import JsonObject, encode_json
from mcpgen.runtime.protocol.prepared_list import PreparedList
from mcpgen.runtime.protocol.server_definition import ServerDefinition

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class Declared:
    """The content of `resources.json` and `prompts.json`.

    An entry has its `listing`, and one of `text`, `file` (in the package), `tool` (that returns it)
    and `messages`; `values` complete its arguments.
    """

    def __init__(self, resources: list[JsonObject], prompts: list[JsonObject]) -> None:
        listed = [(entry["listing"], entry) for entry in resources]
        self.resources = {about["uri"]: entry for about, entry in listed if "uri" in about}
        self.templates = {
            about["uriTemplate"]: entry for about, entry in listed if "uriTemplate" in about
        }
        self.prompts: dict[str, JsonObject] = {entry["listing"]["name"]: entry for entry in prompts}

    def find_resource(self, uri: str) -> tuple[JsonObject | None, dict[str, str]]:
        """Return the entry of a resource and the variables of its template; None if unknown."""
        if uri in self.resources:
            return self.resources[uri], {}
        if self.templates:
            from mcpgen.text.uri_template import UriTemplate  # not before a resource is read

            for template, entry in self.templates.items():
                variables = UriTemplate(template).match(uri)
                if variables is not None:
                    return entry, variables
        return None, {}

    def extend(self, definition: ServerDefinition) -> ServerDefinition:
        """Return the definition with these added to those of `handlers/`.

        Raises:
            ConfigurationError: `handlers/` has one of the same name or URI.
        """
        resources = _join("resources", definition.resources, self.resources)
        templates = _join("resourceTemplates", definition.resource_templates, self.templates)
        if resources is not None or templates is not None:  # one is not offered without the other
            resources = resources or PreparedList("resources")
            templates = templates or PreparedList("resourceTemplates")
        return definition.replace(
            prompts=_join("prompts", definition.prompts, self.prompts),
            resources=resources,
            resource_templates=templates,
            has_completions=definition.has_completions or any("values" in it for it in self),
        )

    def __iter__(self) -> Iterator[JsonObject]:
        for table in (self.resources, self.templates, self.prompts):
            yield from table.values()


def _join(
    kind: str, others: PreparedList | None, mine: dict[str, JsonObject]
) -> PreparedList | None:
    """Join both lists, those of `handlers/` last; None if both are empty."""
    if not mine:
        return others
    written: Iterable[JsonObject] = () if others is None else others.items.values()
    if others is not None and (twice := sorted(mine.keys() & others.items.keys())):
        raise ConfigurationError(f"`handlers/` and the manifest both have the {kind} {twice[0]!r}")
    listed = [*(entry["listing"] for entry in mine.values()), *written]
    return PreparedList(kind, map(encode_json, listed))

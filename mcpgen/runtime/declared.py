"""Resources and prompts that stand in `_generated/`, as the manifest declares them: their lists."""

from __future__ import annotations

from mcpgen.runtime.errors import ConfigurationError
from mcpgen.runtime.protocol.jsonrpc import JsonObject, encode_json
from mcpgen.runtime.protocol.listing import Listing
from mcpgen.runtime.protocol.offering import Offering

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class Declared:
    """What `resources.json` and `prompts.json` hold; `mcpgen.runtime.declared_calls` answers it.

    An entry has its `listing`, and one of `text`, `file` (in the package), `tool` (that gives it)
    and `messages`; `values` complete its arguments.
    """

    def __init__(self, resources: list[JsonObject], prompts: list[JsonObject]) -> None:
        listed = [(entry["listing"], entry) for entry in resources]
        self.resources = {about["uri"]: entry for about, entry in listed if "uri" in about}
        self.templates = {
            about["uriTemplate"]: entry for about, entry in listed if "uriTemplate" in about
        }
        self.prompts: dict[str, JsonObject] = {entry["listing"]["name"]: entry for entry in prompts}

    def extend(self, offering: Offering) -> Offering:
        """Give the offering with these beside what `handlers/` adds.

        Raises:
            ConfigurationError: `handlers/` has one of the same name or URI.
        """
        resources = _joined("resources", offering.resources, self.resources)
        templates = _joined("resourceTemplates", offering.resource_templates, self.templates)
        if resources is not None or templates is not None:  # one is not offered without the other
            resources = resources or Listing("resources")
            templates = templates or Listing("resourceTemplates")
        return offering.replaced(
            prompts=_joined("prompts", offering.prompts, self.prompts),
            resources=resources,
            resource_templates=templates,
            offers_completions=offering.offers_completions or any("values" in it for it in self),
        )

    def __iter__(self) -> Iterator[JsonObject]:
        for table in (self.resources, self.templates, self.prompts):
            yield from table.values()


def _joined(kind: str, others: Listing | None, mine: dict[str, JsonObject]) -> Listing | None:
    """One list of both, those of `handlers/` last; None where there is neither."""
    if not mine:
        return others
    written: Iterable[JsonObject] = () if others is None else others.items.values()
    if others is not None and (twice := sorted(mine.keys() & others.items.keys())):
        raise ConfigurationError(f"`handlers/` and the manifest both have the {kind} {twice[0]!r}")
    listed = [*(entry["listing"] for entry in mine.values()), *written]
    return Listing(kind, map(encode_json, listed))

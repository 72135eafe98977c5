"""Facts about a document that a user of `new` needs for a choice: its operations and costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from mcpgen.diagnostics import Problems, RejectedError
from mcpgen.ir.api import Api, Operation, SecurityScheme
from mcpgen.ir.listing_form import NEW_SERVERS
from mcpgen.ir.manifest import LocatedManifest, SelectRule
from mcpgen.manifest.credential_sources import has_user_flow
from mcpgen.pipeline.found import describe_document
from mcpgen.pipeline.options import Progress, count_operations
from mcpgen.pipeline.parse import ParsedDocument
from mcpgen.plan.plan import plan_tools
from mcpgen.plan.policy import Policy
from mcpgen.plan.tools.select import is_selected


class Survey(Struct, frozen=True):
    """The API of a document, and the tokens of each tool, for the questions of `mcpgen new`."""

    api: Api
    suggested_name: str
    servers: tuple[str, ...]  # URLs, absolute or relative
    costs: Mapping[str, int]  # tokens in the list of tools, by operation key
    budget: int  # the most tokens of the list

    def select(self, rules: Sequence[SelectRule]) -> tuple[Operation, ...]:
        """Return the operations that these rules select."""
        return tuple(it for it in self.api.operations if is_selected(it, rules))

    def measure(self, operations: Sequence[Operation]) -> int:
        """Return the tokens that a list of the tools for these operations takes."""
        return sum(self.costs.get(operation.key, 0) for operation in operations)

    @property
    def user_schemes(self) -> tuple[SecurityScheme, ...]:
        """The used security schemes with which each user can connect an account."""
        used = {use.scheme for it in self.api.operations for way in it.security for use in way}
        return tuple(
            scheme
            for scheme in self.api.security_schemes
            if scheme.id in used and has_user_flow(scheme)
        )


def take_survey(
    parsed: ParsedDocument, name: str, manifest: LocatedManifest, progress: Progress
) -> Survey:
    """Plan every operation of a document; what cannot be planned costs nothing."""
    try:
        count = count_operations(progress)
        plan = plan_tools(parsed.api, Policy(manifest, form=NEW_SERVERS), Problems(), count)
        costs = {tool.key: tool.token_cost for tool in plan.tools}
    except RejectedError:  # the build reports the reason
        costs = {}
    servers = describe_document(parsed).servers
    return Survey(parsed.api, name, servers, costs, manifest.manifest.budget)

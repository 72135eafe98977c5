"""Hand-written overrides of the `firewalls` tools."""

from collections.abc import Iterable, Iterator
from ipaddress import ip_network

from mcpgen.runtime import Context, ToolError, before

from cloud_mcp._generated.calls import (
    PostProjectsProjectIdNetworksFirewallsCall,
    PostProjectsProjectIdNetworksFirewallsFirewallIdRulesCall,
    PutProjectsProjectIdNetworksFirewallsFirewallIdRulesCall,
)
from cloud_mcp._generated.models import (
    CreateFirewallBody,
    NewFirewallRule,
    ReplaceFirewallRulesBody,
)

FOR_FEW = {
    22: "SSH",
    1433: "SQL Server",
    3306: "MySQL",
    3389: "RDP",
    5432: "PostgreSQL",
    6379: "Valkey",
}
WIDEST_PREFIX = 8


@before(
    "POST /projects/{project_id}/networks/firewalls/{firewall_id}/rules",
    call=PostProjectsProjectIdNetworksFirewallsFirewallIdRulesCall.__call__,
)
async def check_added_rule(ctx: Context, *, body: NewFirewallRule, **others: object) -> None:
    """Refuse to open a port for administration to the internet."""
    refuse_open_ports([body])


@before(
    "PUT /projects/{project_id}/networks/firewalls/{firewall_id}/rules",
    call=PutProjectsProjectIdNetworksFirewallsFirewallIdRulesCall.__call__,
)
async def check_new_rules(
    ctx: Context, *, body: ReplaceFirewallRulesBody, **others: object
) -> None:
    """Refuse to open a port for administration to the internet."""
    refuse_open_ports(body["rules"])


@before(
    "POST /projects/{project_id}/networks/firewalls",
    call=PostProjectsProjectIdNetworksFirewallsCall.__call__,
)
async def check_new_firewall(ctx: Context, *, body: CreateFirewallBody, **others: object) -> None:
    """Refuse to open a port for administration to the internet."""
    refuse_open_ports(body.get("rules", []))


def refuse_open_ports(rules: Iterable[NewFirewallRule]) -> None:
    """Check that no rule lets the internet reach a port that only few people need.

    Raises:
        ToolError: a rule does; it names the port and what to do instead.
    """
    for rule in rules:
        if rule["direction"] != "in" or rule["action"] != "allow" or rule["protocol"] == "icmp":
            continue
        wide = next((peer for peer in rule["peers"] if is_wide(peer)), None)
        port = next(iter(open_ports(rule.get("ports"))), None)
        if wide is not None and port is not None:
            raise ToolError(
                f"{wide} would reach port {port} ({FOR_FEW[port]}). Name the addresses that need it, "
                "or use a VPN; a person can open it in the console."
            )


def is_wide(peer: str) -> bool:
    """Return whether a prefix covers a good part of the internet; False if it is none."""
    try:
        network = ip_network(peer, strict=False)
    except ValueError:
        return False  # the API says what is wrong with it
    return network.prefixlen < WIDEST_PREFIX


def open_ports(ports: str | None) -> Iterator[int]:
    """Yield the ports for few that a text such as `80,443,5000-6000` contains; None is all."""
    for part in (ports or "0-65535").split(","):
        first, _, last = part.partition("-")
        yield from (port for port in FOR_FEW if int(first) <= port <= int(last or first))

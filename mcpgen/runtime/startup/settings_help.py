"""The commands and the settings of a server, as `--help` prints them."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterator
from itertools import groupby
from typing import Final

from mcpgen.contract.server_settings import GROUPS, list_applicable
from mcpgen.contract.setting_kinds import ServerSetting
from mcpgen.runtime.content import JsonObject

_COLUMN: Final = 36  # where descriptions begin, if the name is not longer


def format_commands(contract: JsonObject) -> Iterator[str]:
    """Yield the lines of the commands that the first argument may name."""
    setting = f"{contract.get('env_prefix', '')}AUTH_TOKENS_FILE"
    yield "commands (as the first argument; without one, the server is started):"
    yield from _format_entry("token NAME [SCOPE…]", f"print a new token of a caller for {setting}")
    sources = contract.get("credentials", {}).values()
    if any(source["from"] == "user" for source in sources):
        yield from _format_entry("login", "log in to the API with your account, in a browser")
        yield from _format_entry("logout", "revoke and delete the tokens of your account")


def format_settings(contract: JsonObject) -> Iterator[str]:
    """Yield the lines of the settings: the server's own first, then the others by group."""
    prefix = contract.get("env_prefix", "")
    own = contract.get("environment", ())
    yield "settings (environment variables; mcpgen.yaml may set other defaults):"
    for setting in own:
        yield from _format_entry(setting["name"], setting.get("description", ""))
    applicable = list_applicable(prefix, {setting["name"] for setting in own})
    limits = contract.get("limits", {})
    for group, settings in groupby(applicable, lambda it: it.group):
        yield ""
        yield f"{GROUPS[group]}:"
        for row in settings:
            default = limits.get(row.limit, row.default)
            yield from _format_entry(prefix + row.name, describe_setting(row, default))
    yield ""
    yield from _fill("A secret may be in a file: NAME_FILE contains its path in place of NAME.", 0)


def describe_setting(setting: ServerSetting, default: object) -> str:
    """Return the description with what else an operator must know: the option, the default."""
    facts = [f"default: {default}"] if default != "" else []
    facts += [f"option: {setting.option}"] if setting.option else []
    facts += ["with --http"] if setting.over_http else []
    return f"{setting.description} ({'; '.join(facts)})" if facts else setting.description


def _format_entry(name: str, description: str) -> Iterator[str]:
    lines = list(_fill(" ".join(description.split()), _COLUMN))
    if len(name) + 4 > _COLUMN or not lines:
        yield f"  {name}"
        yield from lines
    else:
        yield f"  {name}".ljust(_COLUMN) + lines[0].lstrip()
        yield from lines[1:]


def _fill(text: str, indent: int) -> list[str]:
    width = shutil.get_terminal_size().columns - 2  # as argparse does
    return textwrap.wrap(
        text,
        max(width, _COLUMN + 20),
        initial_indent=" " * indent,
        subsequent_indent=" " * indent,
        break_on_hyphens=False,
        break_long_words=False,
    )

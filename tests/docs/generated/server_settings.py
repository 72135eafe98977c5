"""Tables of the settings that every server has, from the table that the runtime reads."""

from __future__ import annotations

import math
from itertools import groupby

from mcpgen.contract.server_settings import GROUPS, SERVER_SETTINGS
from mcpgen.contract.setting_kinds import ServerSetting


def setting_tables() -> str:
    """Return a section with a table for each group of settings."""
    sections = []
    for group, settings in groupby(SERVER_SETTINGS, lambda setting: setting.group):
        rows = ["| setting | meaning | values | default |", "|---|---|---|---|"]
        rows += [_row(setting) for setting in settings]
        sections.append(f"### {GROUPS[group]}\n\n" + "\n".join(rows))
    return "\n\n".join(sections)


def _row(setting: ServerSetting) -> str:
    facts = ["With `--http`."] if setting.over_http else []
    facts += [f"Option `{setting.option}`."] if setting.option else []
    facts += ["Secret."] if setting.secret else []
    meaning = " ".join([setting.description, *facts]).replace("|", "\\|")
    default = f"`{setting.default}`" if setting.default else ""
    return f"| `{setting.name}` | {meaning} | {_describe_values(setting)} | {default} |"


def _describe_values(setting: ServerSetting) -> str:
    if setting.choices:
        return ", ".join(f"`{choice}`" for choice in setting.choices)
    if setting.kind not in ("integer", "number"):
        return {"switch": "`0`, `1`", "rate": "`N/second`, `/minute`, `/hour`, `/day`"}.get(
            setting.kind, ""
        )
    if math.isinf(setting.maximum):
        return f"from {setting.minimum:g}"
    return f"{setting.minimum:.15g} to {setting.maximum:,.15g}"

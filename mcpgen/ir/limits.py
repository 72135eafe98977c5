"""The type of `limits` in `mcpgen.yaml`, made from the table of settings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from msgspec import UNSET, Meta, UnsetType, defstruct, structs

from mcpgen.contract.server_settings import SERVER_SETTINGS
from mcpgen.contract.setting_kinds import ServerSetting
from mcpgen.ir.manifest_entries import Entry, key


def _make_field(setting: ServerSetting) -> tuple[str, Any, Any]:
    kind: Any = int if setting.kind == "integer" else float
    bounded: Any = Annotated[kind, Meta(ge=setting.minimum, le=setting.maximum)]
    about = key(setting.description, kind(setting.default))
    return (setting.limit, Annotated[bounded | UnsetType, about], UNSET)


if TYPE_CHECKING:

    class LimitsEntry(Entry, frozen=True):
        """Defaults of the server's limits. The operator's settings replace them."""

else:
    LimitsEntry = defstruct(
        "LimitsEntry",
        [_make_field(setting) for setting in SERVER_SETTINGS if setting.limit],
        bases=(Entry,),
        frozen=True,
        kw_only=True,
        forbid_unknown_fields=True,
        module=__name__,
        namespace={
            "__doc__": "Defaults of the server's limits. The operator's settings replace them."
        },
    )


def list_stated_limits(entry: LimitsEntry) -> dict[str, float]:
    """Return the limits that the manifest states, by name."""
    return {name: value for name, value in structs.asdict(entry).items() if value is not UNSET}

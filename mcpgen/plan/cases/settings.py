"""The values that generated tests give to the settings of a server."""

from __future__ import annotations

from collections.abc import Iterable

from mcpgen.contract.needs import sample_setting, text_of_setting
from mcpgen.ir.tool_plan import Fixed, ServerPlan, ToolPlan
from mcpgen.jsonschema.samples import Samples
from mcpgen.jsonschema.types import JsonObject, JsonValue


class SettingSamples:
    """A value for each setting that requests carry."""

    def __init__(self, plan: ServerPlan, samples: Samples) -> None:
        """Initialize with a plan and the samples of its requests."""
        self._schemas = {variable.name: variable.schema for variable in plan.environment}
        self._samples = samples
        self._values: dict[str, JsonValue] = {}

    def value(self, fixed: Fixed) -> JsonValue:
        """Return what is sent in place of an argument.

        Raises:
            CannotSampleError: it is a setting, and no value was found for it.
        """
        if fixed.setting is None:
            return fixed.value
        name = fixed.setting.name
        if name not in self._values:
            schema = self._schemas[name]
            self._values[name] = sample_setting(
                name, True if schema is None else schema, self._samples
            )
        return self._values[name]

    def environment(self, tools: Iterable[ToolPlan]) -> JsonObject:
        """Return the environment variables that these tools read, with their texts.

        Raises:
            CannotSampleError: no value was found for one of them.
        """
        return {
            fixed.setting.name: text_of_setting(self.value(fixed))
            for tool in tools
            for fixed in tool.fixed
            if fixed.setting is not None
        }
